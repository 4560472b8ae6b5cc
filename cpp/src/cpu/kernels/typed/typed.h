// Elementwise ops on rows whose operands or results are not all float32: casts, comparisons, logic, choice, integer arithmetic.
//
// The rows are plain loops, built once for each instruction set: compilers turn them into vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu_features.h"
#include "jitney/tensor.h"

namespace jitney::kernels {

/// Result i goes to y[i·strides[0]], operand k's element lies at its address plus i·strides[k + 1]; strides are in elements.
/// The result may lie exactly over an operand of the same dtype and stride, else it overlaps nothing.
struct TypedRow {
  std::int64_t count = 0;
  const std::int64_t* strides = nullptr;
  void* y = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
};
using TypedRowKernel = void (*)(const TypedRow& row);

struct TypedKernels {
  const char* name;
  Isa isa;
  /// The loop for an op of the IR, the dtypes of its first operand and its result; null if there is none. Of a choice
  /// ("where"), the second and third operand have the result's dtype; of all others, both operands have the first's.
  TypedRowKernel (*find)(std::string_view op, DType from, DType to);
};

std::span<const TypedKernels* const> typed_kernels() noexcept;
const TypedKernels& typed_kernels(Isa active) noexcept;

}  // namespace jitney::kernels
