// Elementwise kernels in portable C++: the complete set. What is rare goes through the standard library.
#include "cpu/kernels/vec_scalar.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/elementwise/elementwise_impl.h"

namespace jitney::kernels {
namespace {

#define JITNEY_LIBRARY_UNARY(X) \
  X(sin, std::sin(x))           \
  X(cos, std::cos(x))           \
  X(tan, std::tan(x))           \
  X(asin, std::asin(x))         \
  X(acos, std::acos(x))         \
  X(atan, std::atan(x))         \
  X(sinh, std::sinh(x))         \
  X(cosh, std::cosh(x))         \
  X(asinh, std::asinh(x))       \
  X(acosh, std::acosh(x))       \
  X(atanh, std::atanh(x))

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
  if (kMode == RunMode::vector_scalar && n > 0 && (*b == 2.0f || *b == 3.0f)) {
    const bool cube = *b == 3.0f;
    for (std::size_t i = 0; i < n; ++i) y[i] = cube ? a[i] * a[i] * a[i] : a[i] * a[i];
    return;
  }
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
