// Elementwise float32 arithmetic over contiguous runs. The caller cuts broadcasting shapes into such runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/cpu_features.h"

namespace jitney::kernels {

// Names are those of the IR; see docs/ir.md for the meaning of alpha and beta. clip: alpha and beta are the bounds (±inf
// allowed), selu: alpha and gamma (as beta). gelu_tanh is gelu with `approximate` = tanh.
// clang-format off
#define JITNEY_UNARY_OPS(X)                                                                                   \
  X(neg) X(abs) X(exp) X(log) X(sqrt) X(reciprocal) X(floor) X(ceil) X(round) X(sign) X(erf) X(sigmoid)       \
  X(tanh) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh)             \
  X(relu) X(softplus) X(softsign) X(hard_swish) X(silu) X(mish) X(leaky_relu) X(elu) X(thresholded_relu)      \
  X(celu) X(selu) X(hard_sigmoid) X(gelu) X(gelu_tanh) X(clip)
// clang-format on

#define JITNEY_BINARY_OPS(X) X(add) X(sub) X(mul) X(div) X(max) X(min) X(pow) X(prelu)

#define JITNEY_ENUMERATOR(name) name,
enum class UnaryOp : std::uint8_t { JITNEY_UNARY_OPS(JITNEY_ENUMERATOR) };
enum class BinaryOp : std::uint8_t { JITNEY_BINARY_OPS(JITNEY_ENUMERATOR) };
#undef JITNEY_ENUMERATOR

std::optional<UnaryOp> unary_op_named(std::string_view name) noexcept;
std::optional<BinaryOp> binary_op_named(std::string_view name) noexcept;
std::string_view to_string(UnaryOp op) noexcept;
std::string_view to_string(BinaryOp op) noexcept;

/// Which operands of a binary run are vectors and which are one number for the whole run.
enum class RunMode : std::uint8_t { vector_vector, vector_scalar, scalar_vector };

/// y[i] = op(x[i]); y may be x, otherwise they must not overlap.
using UnaryKernel = void (*)(std::size_t n, const float* x, float* y, float alpha, float beta);
/// y[i] = op(a[i], b[i]), a scalar operand being a[0] or b[0]; y may be a or b.
using BinaryKernel = void (*)(std::size_t n, const float* a, const float* b, float* y);

/// A set of kernels for one level; an entry is null where the level has none of its own.
struct ElementwiseKernels {
  const char* name;
  Isa isa;
  UnaryKernel (*unary)(UnaryOp op) noexcept;
  BinaryKernel (*binary)(BinaryOp op, RunMode mode) noexcept;
};

/// All sets that this architecture has, weakest first; the first (scalar) is complete.
std::span<const ElementwiseKernels* const> elementwise_kernels() noexcept;
/// The best kernel that may run at this level; never null.
UnaryKernel unary_kernel(Isa active, UnaryOp op) noexcept;
BinaryKernel binary_kernel(Isa active, BinaryOp op, RunMode mode) noexcept;

}  // namespace jitney::kernels
