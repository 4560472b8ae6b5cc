// Helpers of the kernel tests: repeatable random numbers, runnable kernels, bit comparison.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu_features.h"
#include "cpu/kernels/epilogue.h"

namespace jitney::kernels {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline std::vector<float> random_floats(std::size_t n, std::uint32_t seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 generator(seed);
  std::vector<float> values(n);
  for (float& v : values) v = low + (high - low) * static_cast<float>(generator() >> 8) * 0x1p-24f;
  return values;
}

/// Whether this processor can run kernels of that level; where AVX-512 is emulated, only that is of interest.
inline bool runnable(Isa isa) {
#if defined(JITNEY_EMULATED)
  return isa == Isa::avx512;
#else
  return includes(active_isa(), isa);
#endif
}

inline bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

inline constexpr Activation kActivations[] = {
    Activation::none,    Activation::relu,       Activation::clip,         Activation::leaky_relu,
    Activation::prelu,   Activation::hard_swish, Activation::hard_sigmoid, Activation::silu,
    Activation::sigmoid, Activation::tanh,       Activation::gelu,         Activation::gelu_tanh,
};

/// The activation in double.
inline double activation_reference(Activation activation, double x, double alpha, double beta, double slope) {
  const auto clamp = [](double v, double low, double high) { return v < low ? low : v > high ? high : v; };
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::clip:
      return clamp(x, alpha, beta);
    case Activation::leaky_relu:
      return x < 0 ? alpha * x : x;
    case Activation::prelu:
      return x < 0 ? slope * x : x;
    case Activation::hard_swish:
      return x * clamp(x / 6 + 0.5, 0, 1);
    case Activation::hard_sigmoid:
      return clamp(alpha * x + beta, 0, 1);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

/// A sum that a kernel computes in float, and how far from it the result may lie: 2·γ_K·Σ|a||b|.
struct Sum {
  double value = 0;
  double magnitude = 0;
  std::size_t terms = 0;

  void add(double a, double b) {
    value += a * b;
    magnitude += std::abs(a * b);
    ++terms;
  }
  double bound() const {
    constexpr double kUnit = 0x1p-24;
    const double steps = static_cast<double>(terms + 3) * kUnit;
    return 2 * steps / (1 - steps) * magnitude;
  }
};

/// What the epilogue makes of a sum at (row, column), and the bound that it leaves: activations have slopes below 1.2, and
/// errors of a few ulp of their own.
struct Expected {
  double value;
  double bound;
};
inline Expected epilogue_reference(const Epilogue& e, Sum sum, std::size_t row, std::size_t column) {
  const auto residual = [&] {
    return e.residual[static_cast<std::ptrdiff_t>(row) * e.residual_stride + static_cast<std::ptrdiff_t>(column)];
  };
  double x = sum.value * e.scale;
  sum.magnitude *= std::abs(e.scale);
  if (e.bias != nullptr) {
    x += e.bias[column];
    sum.magnitude += std::abs(e.bias[column]);
  }
  if (e.residual != nullptr && !e.residual_after) {
    x += residual();
    sum.magnitude += std::abs(residual());
  }
  const double slope = e.slope == nullptr ? 0 : e.slope[static_cast<std::ptrdiff_t>(column) * e.slope_stride];
  double y = activation_reference(e.activation, x, e.alpha, e.beta, slope);
  double bound = 1.2 * sum.bound();
  if (e.activation > Activation::clip) bound += 5e-7 * std::max(std::abs(x), std::abs(y));
  if (e.residual != nullptr && e.residual_after) {
    y += residual();
    bound += 1.2e-7 * std::abs(y);
  }
  return {y, bound + 1e-37};
}

}  // namespace jitney::kernels
