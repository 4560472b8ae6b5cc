// What every product kernel (gemm, conv, dwconv) does to its sums before they are stored: scale, bias, residual, activation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace jitney::kernels {

enum class Activation : std::uint8_t {
  none,
  relu,
  clip,          // alpha: lower bound, beta: upper bound (±inf allowed)
  leaky_relu,    // alpha: slope below zero
  prelu,         // slope, see Epilogue
  hard_swish,    // x * max(0, min(1, x/6 + 1/2))
  hard_sigmoid,  // max(0, min(1, alpha·x + beta))
  silu,
  sigmoid,
  tanh,
  gelu,       // with erf
  gelu_tanh,  // the approximation by tanh
};

/// The activation of that name in the IR, or nullopt.
std::optional<Activation> activation_named(std::string_view name) noexcept;

/// y = act(scale·acc + bias + residual), or act(scale·acc + bias) + residual if `residual_after`.
/// NaN gives NaN. `residual` may be the output itself; bias and slope may not overlap it.
struct Epilogue {
  Activation activation = Activation::none;
  bool residual_after = false;
  float scale = 1.0f;
  float alpha = 0.0f;
  float beta = 0.0f;
  const float* bias = nullptr;         // one number per column; null: none
  const float* slope = nullptr;        // prelu: one number per column, or one for all if slope_stride is 0
  std::ptrdiff_t slope_stride = 1;     // 0 or 1
  const float* residual = nullptr;     // same shape as the output; null: none
  std::ptrdiff_t residual_stride = 0;  // elements between two rows (pixels) of the residual
};

/// The same epilogue for the part of the output that starts at this row and column.
inline Epilogue shifted(const Epilogue& whole, std::ptrdiff_t row, std::ptrdiff_t column) noexcept {
  Epilogue part = whole;
  if (part.bias != nullptr) part.bias += column;
  if (part.slope != nullptr) part.slope += column * part.slope_stride;
  if (part.residual != nullptr) part.residual += row * part.residual_stride + column;
  return part;
}

/// Applies `epilogue` to a block of raw sums: c[row][column] = act(...acc[row][column]...).
using EpilogueKernel = void (*)(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc,
                                std::ptrdiff_t acc_stride, float* c, std::ptrdiff_t c_stride);

void epilogue_scalar(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                     float* c, std::ptrdiff_t c_stride);
void epilogue_avx2(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                   float* c, std::ptrdiff_t c_stride);
void epilogue_avx512(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                     float* c, std::ptrdiff_t c_stride);
void epilogue_neon(const Epilogue& epilogue, std::size_t rows, std::size_t columns, const float* acc, std::ptrdiff_t acc_stride,
                   float* c, std::ptrdiff_t c_stride);

/// Bounds between which a cheap epilogue clamps its results right in the registers.
struct Clamp {
  float low;
  float high;
};
inline constexpr Clamp kNoClamp{-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};

/// The clamp that says the same as the activation; nullopt unless scale is 1, the activation is none, relu or clip, and the
/// residual is added before it (or there is no activation).
std::optional<Clamp> as_clamp(const Epilogue& epilogue) noexcept;

}  // namespace jitney::kernels
