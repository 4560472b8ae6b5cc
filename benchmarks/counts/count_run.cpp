// Runs a converted model once between two marks, for the tools that count instructions: everything before has been planned,
// packed and touched by a first run.
//
//   count_run MODEL.jny [memory|speed]
#include <cstdint>
#include <cstdio>
#include <exception>
#include <variant>
#include <vector>

#include "jitney/error.h"
#include "jitney/session.h"

// valgrind's --toggle-collect and the QEMU plugin know these functions by their names.
extern "C" {
[[gnu::noinline]] void count_begin() { asm volatile(""); }
[[gnu::noinline]] void count_end() { asm volatile(""); }
[[gnu::noinline]] void count_region(jitney::Session& session, const std::vector<jitney::NamedView>& inputs,
                                    const std::vector<jitney::NamedView>& outputs) {
  session.run(inputs, outputs);
  asm volatile("");
}
}

namespace {

/// Numbers between −1 and 1, the same everywhere.
void fill(jitney::Tensor& tensor) {
  if (tensor.dtype() != jitney::DType::float32) return;  // zeros suit all indices
  std::uint32_t state = 1;
  for (float& x : tensor.span<float>()) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
}

jitney::Shape shape_of(const jitney::TensorInfo& info) {
  jitney::Shape shape;
  for (const jitney::DimInfo& dim : info.shape) {
    const auto* size = std::get_if<std::int64_t>(&dim);
    shape.push_back(size != nullptr ? *size : 1);
  }
  return shape;
}

int count(const char* path, const char* prefer) {
  jitney::Session session(path, {.backend = "cpu", .threads = 1, .prefer = prefer});
  std::vector<jitney::Tensor> tensors;
  tensors.reserve(session.inputs().size());
  std::vector<jitney::NamedView> inputs, outputs;
  for (const jitney::TensorInfo& info : session.inputs()) {
    fill(tensors.emplace_back(info.dtype, shape_of(info)));
    inputs.push_back({info.name, tensors.back().view()});
  }
  for (const jitney::TensorInfo& info : session.outputs()) outputs.push_back({info.name, {}});
  std::vector<jitney::Tensor> results = session.run(inputs, outputs);
  for (std::size_t i = 0; i < results.size(); ++i) outputs[i].view = results[i].view();
  count_begin();
  count_region(session, inputs, outputs);
  count_end();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: count_run MODEL.jny [memory|speed]\n", stderr);
    return 2;
  }
  try {
    return count(argv[1], argc == 3 ? argv[2] : "memory");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "count_run: %s\n", error.what());
    return 1;
  }
}
