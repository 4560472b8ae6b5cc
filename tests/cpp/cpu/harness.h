// Builds single-node requests, runs them through a backend as the planner would, and compares with the reference.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "cpu/cpu_backend.h"
#include "cpu/reference_backend.h"
#include "graph/graph.h"
#include "plan/backend.h"

namespace jitney::test {

/// A tensor in memory with any strides; elements between those of the tensor hold a canary.
struct Stored {
  DType dtype = DType::undefined;
  Shape shape, strides;
  std::vector<std::byte> memory;
  std::int64_t offset = 0;  // bytes from memory.data() to element 0

  void* data() { return memory.data() + offset; }
  TensorView view() { return {data(), dtype, shape, strides}; }
};

/// How to lay out an operand.
struct Storage {
  Order order;               // empty: row-major
  std::int64_t gap = 0;      // extra elements after each run of the innermost axis
  std::int64_t row_gap = 0;  // extra runs after all runs of the second axis from inside
  bool reversed = false;     // outermost axis stored backwards (a negative stride)
};

Stored allocate(DType dtype, const Shape& shape, const Storage& storage = {});
/// Elements from a seeded generator: floats in [-2, 2], integers in [-4, 4] (0 to 8 if unsigned), bools.
Stored random(std::mt19937& rng, DType dtype, const Shape& shape, const Storage& storage = {});
/// Row-major list of numbers.
Stored numbers(DType dtype, const Shape& shape, const std::vector<double>& values);
std::vector<double> to_doubles(Stored& tensor);
/// Exact bytes in row-major order.
std::vector<std::byte> to_bytes(Stored& tensor);
/// Sets all elements from their bytes in row-major order.
void from_bytes(Stored& tensor, const std::byte* bytes);

class MapCache final : public PackCache {
 public:
  Blob get(const std::string& key, std::size_t bytes, const std::function<void(void*)>& fill) override;

 private:
  std::map<std::string, Blob> blobs_;
};

struct Case {
  Node node;
  std::vector<Stored> inputs;  // dtype undefined: left out
  std::vector<bool> constant;  // per input; missing: false. Operands whose values the op needs are always known
  std::size_t outputs = 1;
  std::int64_t output_gap = 0, output_row_gap = 0;  // where the layout allows them
  bool in_place = false;                            // over the first input that the layout allows
  std::size_t threads = 1;
};

Case make_case(const std::string& op, std::vector<NamedAttribute> attributes, std::vector<Stored> inputs);

struct Ran {
  std::vector<Stored> outputs;
  std::string kernel;
};

/// Infers outputs, asks for the layout, copies inputs into the wanted orders, prepares, runs, and checks that no canary died.
Ran run_case(const Backend& backend, Case& given);

/// Runs on the CPU backend with 1, 2 and 3 threads (bit-equal) and on the reference; each element of a float output may differ by
/// `tolerance` times (1 + the largest magnitude in the reference), integers not at all. Returns the kernel's name.
std::string check_case(Case& given, double tolerance = 1e-5);

Attribute ints(std::vector<std::int64_t> values);

}  // namespace jitney::test
