// Elementwise kernels in portable C++: the complete set. What is rare goes through the standard library.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/elementwise/elementwise_impl.h"

namespace jitney::kernels {
namespace {

float softplus_of(float x) { return x > 0.0f ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
float sign_of(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
float elu_of(float x, float alpha) { return x < 0.0f ? alpha * std::expm1(x) : x; }

#define JITNEY_LIBRARY_UNARY(X)                         \
  X(log, std::log(x))                                   \
  X(sign, sign_of(x))                                   \
  X(sin, std::sin(x))                                   \
  X(cos, std::cos(x))                                   \
  X(tan, std::tan(x))                                   \
  X(asin, std::asin(x))                                 \
  X(acos, std::acos(x))                                 \
  X(atan, std::atan(x))                                 \
  X(sinh, std::sinh(x))                                 \
  X(cosh, std::cosh(x))                                 \
  X(asinh, std::asinh(x))                               \
  X(acosh, std::acosh(x))                               \
  X(atanh, std::atanh(x))                               \
  X(softplus, softplus_of(x))                           \
  X(softsign, x / (1.0f + std::abs(x)))                 \
  X(mish, x* std::tanh(softplus_of(x)))                 \
  X(elu, elu_of(x, alpha))                              \
  X(thresholded_relu, x > alpha ? x : 0.0f)             \
  X(celu, x < 0.0f ? alpha * std::expm1(x / alpha) : x) \
  X(selu, beta* elu_of(x, alpha))

UnaryKernel any_unary(UnaryOp op) noexcept {
  switch (op) {
#define JITNEY_CASE(name, expression)                                                                                   \
  case UnaryOp::name:                                                                                                   \
    return [](std::size_t n, const float* from, float* to, [[maybe_unused]] float alpha, [[maybe_unused]] float beta) { \
      for (std::size_t i = 0; i < n; ++i) {                                                                             \
        const float x = from[i];                                                                                        \
        to[i] = expression;                                                                                             \
      }                                                                                                                 \
    };
    JITNEY_LIBRARY_UNARY(JITNEY_CASE)
#undef JITNEY_CASE
    default:
      return vector_unary(op);
  }
}

template <RunMode kMode>
void power(std::size_t n, const float* a, const float* b, float* y) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = std::pow(a[kMode == RunMode::scalar_vector ? 0 : i], b[kMode == RunMode::vector_scalar ? 0 : i]);
  }
}

BinaryKernel any_binary(BinaryOp op, RunMode mode) noexcept {
  if (op != BinaryOp::pow) return vector_binary(op, mode);
  if (mode == RunMode::vector_scalar) return power<RunMode::vector_scalar>;
  if (mode == RunMode::scalar_vector) return power<RunMode::scalar_vector>;
  return power<RunMode::vector_vector>;
}

}  // namespace

extern const ElementwiseKernels f32_elementwise_scalar;  // const alone would hide it from other files
constinit const ElementwiseKernels f32_elementwise_scalar{"f32_elementwise_scalar", Isa::scalar, any_unary, any_binary};

}  // namespace jitney::kernels
