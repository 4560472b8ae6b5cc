// Elementwise kernels, written once for whichever V was included before. Included by f32_elementwise_*.cpp only.
#pragma once

#include <limits>

#include "cpu/kernels/elementwise/elementwise.h"

namespace jitney::kernels {
namespace {

/// log(1 + f) + exponent·ln 2 for f in (√½ − 1, √2 − 1): Cephes' polynomial.
inline V log_of_parts(V f, V exponent) {
  const V z = f * f;
  V p = set(7.0376836292e-2f);
  p = fma(p, f, set(-1.1514610310e-1f));
  p = fma(p, f, set(1.1676998740e-1f));
  p = fma(p, f, set(-1.2420140846e-1f));
  p = fma(p, f, set(1.4249322787e-1f));
  p = fma(p, f, set(-1.6668057665e-1f));
  p = fma(p, f, set(2.0000714765e-1f));
  p = fma(p, f, set(-2.4999993993e-1f));
  p = fma(p, f, set(3.3333331174e-1f));
  V y = p * f * z;
  y = fma(exponent, set(-2.12194440e-4f), y);
  y = fma(z, set(-0.5f), y);
  return fma(exponent, set(0.693359375f), f + y);
}

inline V log(V x) {
  constexpr float kLeast = std::numeric_limits<float>::min(), kInfinity = std::numeric_limits<float>::infinity();
  const Mask small = x < set(kLeast);
  const V normal = select(small, x * set(8388608.0f), x);  // 2^23
  V exponent = exponent_of(normal) - select(small, set(23.0f), zero());
  V f = fraction_of(normal);
  const Mask low = f < set(0.70710678118654752f);
  exponent = exponent - select(low, set(1.0f), zero());
  f = select(low, f + f, f) - set(1.0f);
  V y = log_of_parts(f, exponent);
  y = select(zero() < x, y, select(x < zero(), set(std::numeric_limits<float>::quiet_NaN()), set(-kInfinity)));
  y = y + x * zero();  // NaN stays NaN
  return select(set(std::numeric_limits<float>::max()) < x, x, y);
}

/// log(1 + u) for u in [0, 1].
inline V log_one_more(V u) {
  const Mask high = set(0.41421356237f) < u;
  const V f = select(high, (u - set(1.0f)) * set(0.5f), u);
  return log_of_parts(f, select(high, set(1.0f), zero()));
}

inline V softplus(V x) { return relu(x) + log_one_more(exp(negate(abs(x)))); }

inline V elu(V x, V alpha) { return select(x < zero(), alpha * exp_minus_one(at_most(x, zero())), x); }
inline V celu(V x, V alpha) { return select(x < zero(), alpha * exp_minus_one(at_most(x / alpha, zero())), x); }
inline V sign(V x) { return select(zero() < x, set(1.0f), select(x < zero(), set(-1.0f), x)); }

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
  X(clip, clip(x, alpha, beta))                 \
  X(log, log(x))                                \
  X(softplus, softplus(x))                      \
  X(mish, x* tanh(softplus(x)))                 \
  X(softsign, x / (set(1.0f) + abs(x)))         \
  X(sign, sign(x))                              \
  X(elu, elu(x, alpha))                         \
  X(celu, celu(x, alpha))                       \
  X(selu, beta* elu(x, alpha))                  \
  X(thresholded_relu, select(alpha < x, x, zero()))

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
