// Elementwise functions over blocks that a first- or second-level cache holds.
#include "cpu/kernels/elementwise/elementwise.h"

#include <array>
#include <memory>

#include "bench.h"

namespace jitney::bench {
namespace {

constexpr std::size_t kFloats = 16384;
constexpr std::array kUnary = {kernels::UnaryOp::exp, kernels::UnaryOp::sigmoid, kernels::UnaryOp::tanh,
                               kernels::UnaryOp::erf, kernels::UnaryOp::silu,    kernels::UnaryOp::hard_swish,
                               kernels::UnaryOp::gelu};
constexpr std::array kBinary = {kernels::BinaryOp::add, kernels::BinaryOp::mul, kernels::BinaryOp::div};

struct Data {
  std::vector<float> a = random_floats(kFloats), b = random_floats(kFloats), y = std::vector<float>(kFloats);
};

Case described(const kernels::ElementwiseKernels& set, std::string_view op, double operands) {
  Case c;
  c.family = "elementwise";
  c.kernel = set.name;
  c.isa = set.isa;
  c.shape = std::string(op) + " " + std::to_string(kFloats);
  c.bytes = operands * kFloats * sizeof(float);
  return c;
}

}  // namespace

void add_elementwise(std::vector<Case>& cases) {
  for (const kernels::ElementwiseKernels* set : kernels::elementwise_kernels()) {
    for (const kernels::UnaryOp op : kUnary) {
      const kernels::UnaryKernel run = set->unary(op);
      if (run == nullptr) continue;
      Case c = described(*set, kernels::to_string(op), 2);
      c.prepare = [run](std::size_t) -> std::function<void()> {
        auto data = std::make_shared<Data>();
        return [run, data] { run(kFloats, data->a.data(), data->y.data(), 0, 0); };
      };
      cases.push_back(std::move(c));
    }
    for (const kernels::BinaryOp op : kBinary) {
      const kernels::BinaryKernel run = set->binary(op, kernels::RunMode::vector_vector);
      if (run == nullptr) continue;
      Case c = described(*set, kernels::to_string(op), 3);
      c.prepare = [run](std::size_t) -> std::function<void()> {
        auto data = std::make_shared<Data>();
        return [run, data] { run(kFloats, data->a.data(), data->b.data(), data->y.data()); };
      };
      cases.push_back(std::move(c));
    }
  }
}

}  // namespace jitney::bench
