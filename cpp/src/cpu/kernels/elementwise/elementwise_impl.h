// Elementwise kernels, written once for whichever V was included before. Included by f32_elementwise_*.cpp only.
#pragma once

#include "cpu/kernels/elementwise/elementwise.h"

namespace jitney::kernels {
namespace {

#define JITNEY_VECTOR_UNARY(X)                  \
  X(neg, negate(x))                             \
  X(abs, abs(x))                                \
  X(exp, exp(x))                                \
  X(sqrt, sqrt(x))                              \
  X(reciprocal, set(1.0f) / x)                  \
  X(floor, floor(x))                            \
  X(ceil, ceil(x))                              \
  X(round, round_even(x))                       \
  X(erf, erf(x))                                \
  X(sigmoid, sigmoid(x))                        \
  X(tanh, tanh(x))                              \
  X(relu, relu(x))                              \
  X(hard_swish, hard_swish(x))                  \
  X(silu, silu(x))                              \
  X(leaky_relu, scaled_if_negative(x, alpha))   \
  X(hard_sigmoid, hard_sigmoid(x, alpha, beta)) \
  X(gelu, gelu(x))                              \
  X(gelu_tanh, gelu_tanh(x))                    \
  X(clip, clip(x, alpha, beta))

#define JITNEY_VECTOR_BINARY(X) \
  X(add, a + b)                 \
  X(sub, a - b)                 \
  X(mul, a* b)                  \
  X(div, a / b)                 \
  X(max, max(a, b))             \
  X(min, min(a, b))             \
  X(prelu, scaled_if_negative(a, b))

template <UnaryOp kOp>
inline V apply(V x, [[maybe_unused]] V alpha, [[maybe_unused]] V beta) {
#define JITNEY_APPLY(name, expression) \
  if constexpr (kOp == UnaryOp::name) return expression;
  JITNEY_VECTOR_UNARY(JITNEY_APPLY)
#undef JITNEY_APPLY
}

template <BinaryOp kOp>
inline V apply(V a, V b) {
#define JITNEY_APPLY(name, expression) \
  if constexpr (kOp == BinaryOp::name) return expression;
  JITNEY_VECTOR_BINARY(JITNEY_APPLY)
#undef JITNEY_APPLY
}

template <UnaryOp kOp>
void unary_run(std::size_t n, const float* x, float* y, float alpha, float beta) {
  const V first = set(alpha);
  const V second = set(beta);
  for_each_vector(n, [&](std::size_t i, auto part) { part.store(y + i, apply<kOp>(part.load(x + i), first, second)); });
}

template <BinaryOp kOp, RunMode kMode>
void binary_run(std::size_t n, const float* a, const float* b, float* y) {
  if (n == 0) return;
  const V scalar = set(kMode == RunMode::scalar_vector ? *a : *b);
  for_each_vector(n, [&](std::size_t i, auto part) {
    const V left = kMode == RunMode::scalar_vector ? scalar : part.load(a + i);
    const V right = kMode == RunMode::vector_scalar ? scalar : part.load(b + i);
    part.store(y + i, apply<kOp>(left, right));
  });
}

UnaryKernel vector_unary(UnaryOp op) noexcept {
#define JITNEY_CASE(name, expression) \
  if (op == UnaryOp::name) return unary_run<UnaryOp::name>;
  JITNEY_VECTOR_UNARY(JITNEY_CASE)
#undef JITNEY_CASE
  return nullptr;
}

template <BinaryOp kOp>
BinaryKernel with_mode(RunMode mode) noexcept {
  if (mode == RunMode::vector_scalar) return binary_run<kOp, RunMode::vector_scalar>;
  if (mode == RunMode::scalar_vector) return binary_run<kOp, RunMode::scalar_vector>;
  return binary_run<kOp, RunMode::vector_vector>;
}

BinaryKernel vector_binary(BinaryOp op, RunMode mode) noexcept {
#define JITNEY_CASE(name, expression) \
  if (op == BinaryOp::name) return with_mode<BinaryOp::name>(mode);
  JITNEY_VECTOR_BINARY(JITNEY_CASE)
#undef JITNEY_CASE
  return nullptr;
}

#undef JITNEY_VECTOR_UNARY
#undef JITNEY_VECTOR_BINARY

}  // namespace
}  // namespace jitney::kernels
