// The epilogue on a block of raw sums, written once for whichever V was included before. Included by epilogue_<isa>.cpp only.
#pragma once

#include "cpu/kernels/epilogue.h"

namespace jitney::kernels {
namespace {

template <Activation kActivation>
inline V activate(V x, V alpha, V beta, V slope) {
  if constexpr (kActivation == Activation::relu) return relu(x);
  if constexpr (kActivation == Activation::clip) return clip(x, alpha, beta);
  if constexpr (kActivation == Activation::leaky_relu) return scaled_if_negative(x, alpha);
  if constexpr (kActivation == Activation::prelu) return scaled_if_negative(x, slope);
  if constexpr (kActivation == Activation::hard_swish) return hard_swish(x);
  if constexpr (kActivation == Activation::hard_sigmoid) return hard_sigmoid(x, alpha, beta);
  if constexpr (kActivation == Activation::silu) return silu(x);
  if constexpr (kActivation == Activation::sigmoid) return sigmoid(x);
  if constexpr (kActivation == Activation::tanh) return tanh(x);
  if constexpr (kActivation == Activation::gelu) return gelu(x);
  if constexpr (kActivation == Activation::gelu_tanh) return gelu_tanh(x);
  return x;
}

template <Activation kActivation>
void epilogue_with(const Epilogue& given, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                   float* c, std::ptrdiff_t c_stride) {
  const Epilogue e = given;  // a copy that c cannot overlap, so that its fields stay in registers
  const V scale = set(e.scale);
  const V alpha = set(e.alpha);
  const V beta = set(e.beta);
  const bool scaled = e.scale != 1.0f;
  const float* residual = e.residual;
  for (std::size_t row = 0; row < rows; ++row) {
    for_each_vector(columns, [&](std::size_t j, auto part) {
      V x = part.load(acc + j);
      if (scaled) x = x * scale;
      if (e.bias != nullptr) x = x + part.load(e.bias + j);
      if (residual != nullptr && !e.residual_after) x = x + part.load(residual + j);
      V slope = zero();
      if constexpr (kActivation == Activation::prelu) slope = e.slope_stride == 0 ? set(*e.slope) : part.load(e.slope + j);
      x = activate<kActivation>(x, alpha, beta, slope);
      if (residual != nullptr && e.residual_after) x = x + part.load(residual + j);
      part.store(c + j, x);
    });
    acc += acc_stride;
    c += c_stride;
    if (residual != nullptr) residual += e.residual_stride;
  }
}

inline void apply_epilogue(const Epilogue& e, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                           float* c, std::ptrdiff_t c_stride) {
  switch (e.activation) {
#define JITNEY_CASE(name) \
  case Activation::name:  \
    return epilogue_with<Activation::name>(e, rows, columns, acc, acc_stride, c, c_stride);
    JITNEY_CASE(none)
    JITNEY_CASE(relu)
    JITNEY_CASE(clip)
    JITNEY_CASE(leaky_relu)
    JITNEY_CASE(prelu)
    JITNEY_CASE(hard_swish)
    JITNEY_CASE(hard_sigmoid)
    JITNEY_CASE(silu)
    JITNEY_CASE(sigmoid)
    JITNEY_CASE(tanh)
    JITNEY_CASE(gelu)
    JITNEY_CASE(gelu_tanh)
#undef JITNEY_CASE
  }
}

}  // namespace
}  // namespace jitney::kernels
