// The narrow floating-point types of ONNX as bit patterns, with exact conversions to float and correctly rounded ones from
// double.
#pragma once

#include <bit>
#include <cstdint>

namespace jitney {

struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Float8E4M3FN {
  std::uint8_t bits;
};
struct Float8E4M3FNUZ {
  std::uint8_t bits;
};
struct Float8E5M2 {
  std::uint8_t bits;
};
struct Float8E5M2FNUZ {
  std::uint8_t bits;
};
/// Four bits in the low half of a byte: ±{0, 0.5, 1, 1.5, 2, 3, 4, 6}.
struct Float4E2M1 {
  std::uint8_t bits;
};
/// A power of two from 2^-127 to 2^127, or NaN; no sign and no zero.
struct Float8E8M0 {
  std::uint8_t bits;
};

/// What the codes beside the ordinary numbers mean.
enum class FloatSpecials {
  ieee,      ///< the highest exponent: infinity, NaNs
  nan_only,  ///< all ones: NaN; no infinity
  no_zero,   ///< the code of −0: NaN; no infinity, one zero
  none,      ///< neither infinity nor NaN
};

template <typename T>
struct FloatFormat;

template <int exponent, int mantissa, int exponent_bias, FloatSpecials kind>
struct FloatFormatOf {
  static constexpr int exponent_bits = exponent;
  static constexpr int mantissa_bits = mantissa;
  static constexpr int bias = exponent_bias;
  static constexpr FloatSpecials specials = kind;
  static constexpr std::uint32_t sign = 1u << (exponent + mantissa);
  static constexpr std::uint32_t mantissa_mask = (1u << mantissa) - 1;
  /// The code of +infinity; ieee only.
  static constexpr std::uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  static constexpr std::uint32_t largest = kind == FloatSpecials::ieee       ? infinity - 1
                                           : kind == FloatSpecials::nan_only ? sign - 2
                                                                             : sign - 1;
};

template <>
struct FloatFormat<Float16> : FloatFormatOf<5, 10, 15, FloatSpecials::ieee> {};
template <>
struct FloatFormat<BFloat16> : FloatFormatOf<8, 7, 127, FloatSpecials::ieee> {};
template <>
struct FloatFormat<Float8E4M3FN> : FloatFormatOf<4, 3, 7, FloatSpecials::nan_only> {};
template <>
struct FloatFormat<Float8E4M3FNUZ> : FloatFormatOf<4, 3, 8, FloatSpecials::no_zero> {};
template <>
struct FloatFormat<Float8E5M2> : FloatFormatOf<5, 2, 15, FloatSpecials::ieee> {};
template <>
struct FloatFormat<Float8E5M2FNUZ> : FloatFormatOf<5, 2, 16, FloatSpecials::no_zero> {};
template <>
struct FloatFormat<Float4E2M1> : FloatFormatOf<2, 1, 1, FloatSpecials::none> {};

/// Exact. A NaN keeps its sign and payload and becomes quiet.
template <typename T>
constexpr float to_float(T value) noexcept {
  using F = FloatFormat<T>;
  const bool negative = (value.bits & F::sign) != 0;
  const std::uint32_t code = value.bits & (F::sign - 1);
  const std::uint32_t mantissa = code & F::mantissa_mask;
  bool nan = false;
  if constexpr (F::specials == FloatSpecials::ieee) {
    if (code == F::infinity) return std::bit_cast<float>(negative ? 0xff800000u : 0x7f800000u);
    nan = code > F::infinity;
  } else if constexpr (F::specials == FloatSpecials::nan_only) {
    nan = code > F::largest;
  } else if constexpr (F::specials == FloatSpecials::no_zero) {
    nan = negative && code == 0;
  }
  if (nan) {
    return std::bit_cast<float>((negative ? 0xffc00000u : 0x7fc00000u) | (mantissa << (23 - F::mantissa_bits)));
  }
  const std::uint32_t exponent = code >> F::mantissa_bits;
  const std::uint32_t significand = exponent == 0 ? mantissa : mantissa | (1u << F::mantissa_bits);
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - F::bias - F::mantissa_bits;
  const double magnitude = significand * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + scale) << 52);
  return static_cast<float>(negative ? -magnitude : magnitude);
}

/// Exact.
constexpr float to_float(Float8E8M0 value) noexcept {
  if (value.bits == 0xff) return std::bit_cast<float>(0x7fc00000u);
  return value.bits == 0 ? std::bit_cast<float>(0x00400000u) : std::bit_cast<float>(std::uint32_t{value.bits} << 23);
}

/// Rounds to nearest, ties to even, in one step. Beyond the largest number: float16 and bfloat16 give infinity; float4 its
/// largest; the float8 types their largest if `saturate`, else infinity where they have it and NaN where not (ONNX's Cast). A
/// float4 has no NaN: it gives −0, as ml_dtypes does.
template <typename T>
constexpr T from_double(double value, bool saturate = true) noexcept {
  using F = FloatFormat<T>;
  using Bits = decltype(T::bits);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const auto code = [negative](std::uint64_t magnitude) {
    if (F::specials == FloatSpecials::no_zero && magnitude == 0) return T{0};
    return T{static_cast<Bits>(magnitude | (negative ? F::sign : 0u))};
  };
  constexpr std::uint64_t kNaN = F::specials == FloatSpecials::ieee ? F::infinity | (1u << (F::mantissa_bits - 1)) : F::sign - 1;

  if (exponent == 0x7ff && fraction != 0) {
    if (F::specials == FloatSpecials::no_zero || F::specials == FloatSpecials::none) return T{static_cast<Bits>(F::sign)};
    if (sizeof(Bits) == 1) return code(F::sign - 1);
    return code(kNaN | (fraction >> (52 - F::mantissa_bits)));
  }
  std::uint64_t magnitude = 0;
  if (exponent == 0x7ff) {
    magnitude = F::sign;  // larger than every number
  } else {
    const int biased = exponent - 1023 + F::bias;
    const int shift = 52 - F::mantissa_bits + (biased <= 0 ? 1 - biased : 0);
    if (shift <= 53) {  // beyond that it is less than half of the smallest number
      const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
      const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
      const std::uint64_t half = std::uint64_t{1} << (shift - 1);
      magnitude = significand >> shift;
      if (rest > half || (rest == half && (magnitude & 1) != 0)) ++magnitude;
      // The leading one of a normal number, or a carry into it, raises the exponent field by itself.
      if (biased > 0) magnitude += static_cast<std::uint64_t>(biased - 1) << F::mantissa_bits;
    }
  }
  if (magnitude <= F::largest) return code(magnitude);
  constexpr bool kFloat8 = sizeof(Bits) == 1 && F::specials != FloatSpecials::none;
  if (F::specials == FloatSpecials::none || (kFloat8 && saturate)) return code(F::largest);
  if (F::specials == FloatSpecials::ieee) return code(F::infinity);
  return F::specials == FloatSpecials::no_zero ? T{static_cast<Bits>(F::sign)} : code(kNaN);
}

enum class ScaleRounding { up, down, nearest };

/// The power of two for a value's magnitude (the sign is dropped). Outside 2^-127 … 2^127, zero and infinity included: the
/// nearest end if `saturate`, else NaN. A tie between two powers goes up.
constexpr Float8E8M0 scale_from_double(double value, bool saturate = true, ScaleRounding rounding = ScaleRounding::up) noexcept {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) & ~(std::uint64_t{1} << 63);
  constexpr std::uint64_t kInfinity = std::uint64_t{0x7ff} << 52;
  if (bits > kInfinity) return {0xff};
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  if (rounding == ScaleRounding::up && fraction != 0) ++exponent;
  if (rounding == ScaleRounding::nearest && (fraction >> 51) != 0) ++exponent;
  if (exponent >= -127 && exponent <= 127) return {static_cast<std::uint8_t>(exponent + 127)};
  if (!saturate) return {0xff};
  return {exponent < 0 ? std::uint8_t{0} : std::uint8_t{0xfe}};
}

}  // namespace jitney
