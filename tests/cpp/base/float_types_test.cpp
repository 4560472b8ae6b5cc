// Narrow floats against a decoder and a nearest-value search that share no code with them.
#include "base/float_types.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "doctest/doctest.h"

namespace {

using namespace jitney;

/// Straight from the definitions in ONNX's documentation; NaN where the code is one.
template <typename T>
double decode(std::uint32_t bits, int exponent_bits, int mantissa_bits, int bias, FloatSpecials specials) {
  const std::uint32_t sign = 1u << (exponent_bits + mantissa_bits);
  const bool negative = (bits & sign) != 0;
  const std::uint32_t code = bits & (sign - 1);
  const std::uint32_t exponent = code >> mantissa_bits, mantissa = code & ((1u << mantissa_bits) - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (specials == FloatSpecials::ieee && exponent == (1u << exponent_bits) - 1) {
    if (mantissa != 0) return nan;
    return negative ? -INFINITY : INFINITY;
  }
  if (specials == FloatSpecials::nan_only && code == sign - 1) return nan;
  if (specials == FloatSpecials::no_zero && bits == sign) return nan;
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
  return negative ? -magnitude : magnitude;
}

template <typename T>
std::uint32_t bits_of(T value) {
  return value.bits;
}

template <typename T>
void check_format(int exponent_bits, int mantissa_bits, int bias, FloatSpecials specials) {
  const std::uint32_t codes = 2u << (exponent_bits + mantissa_bits);
  const std::uint32_t sign = codes / 2;
  int wrong = 0;
  std::vector<double> finite;  // of the positive codes, ascending
  for (std::uint32_t bits = 0; bits < codes; ++bits) {
    const T value{static_cast<decltype(T::bits)>(bits)};
    const double wanted = decode<T>(bits, exponent_bits, mantissa_bits, bias, specials);
    const float given = to_float(value);
    if (std::isnan(wanted)) {
      wrong += !std::isnan(given) || !std::isnan(to_float(from_double<T>(given)));
      continue;
    }
    wrong += !(given == wanted) || std::signbit(given) != std::signbit(wanted);
    wrong += bits_of(from_double<T>(wanted, false)) != bits;
    if (bits < sign && std::isfinite(wanted)) finite.push_back(wanted);
  }
  CHECK(wrong == 0);

  // Between two neighbours: below the middle, at it, above it; with both signs.
  for (std::size_t i = 0; i + 1 < finite.size(); ++i) {
    const double middle = (finite[i] + finite[i + 1]) / 2;
    const std::uint32_t low = static_cast<std::uint32_t>(i), high = low + 1, even = i % 2 == 0 ? low : high;
    const auto negative = [&](std::uint32_t code) { return specials == FloatSpecials::no_zero && code == 0 ? 0 : code | sign; };
    const double below = std::nextafter(middle, 0.0), above = std::nextafter(middle, INFINITY);
    wrong += bits_of(from_double<T>(middle)) != even || bits_of(from_double<T>(-middle)) != negative(even);
    wrong += bits_of(from_double<T>(below)) != low || bits_of(from_double<T>(-below)) != negative(low);
    wrong += bits_of(from_double<T>(above)) != high || bits_of(from_double<T>(-above)) != negative(high);
  }
  CHECK(wrong == 0);

  // Past the largest number: half a step further still rounds to it (unless the tie goes up).
  const double largest = finite.back(), step = largest - finite[finite.size() - 2];
  CHECK(to_float(from_double<T>(std::nextafter(largest + step / 2, 0.0), false)) == largest);
  const float beyond = to_float(from_double<T>(largest + step, false));
  const float saturated = to_float(from_double<T>(largest + step, true)), infinite = to_float(from_double<T>(-INFINITY, true));
  if (specials == FloatSpecials::none) {
    CHECK(beyond == largest);
  } else if (specials == FloatSpecials::ieee) {
    CHECK(beyond == INFINITY);
  } else {
    CHECK(std::isnan(beyond));
  }
  const bool saturates = sizeof(T) == 1;
  CHECK(saturated == (saturates ? largest : INFINITY));
  CHECK(infinite == (saturates ? -largest : -INFINITY));
}

TEST_CASE("every code of every format decodes, encodes and rounds as defined") {
  check_format<Float16>(5, 10, 15, FloatSpecials::ieee);
  check_format<BFloat16>(8, 7, 127, FloatSpecials::ieee);
  check_format<Float8E4M3FN>(4, 3, 7, FloatSpecials::nan_only);
  check_format<Float8E4M3FNUZ>(4, 3, 8, FloatSpecials::no_zero);
  check_format<Float8E5M2>(5, 2, 15, FloatSpecials::ieee);
  check_format<Float8E5M2FNUZ>(5, 2, 16, FloatSpecials::no_zero);
}

TEST_CASE("float4 has eight magnitudes and no NaN") {
  const float magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (std::uint8_t i = 0; i < 8; ++i) {
    CHECK(to_float(Float4E2M1{i}) == magnitudes[i]);
    CHECK(to_float(Float4E2M1{static_cast<std::uint8_t>(i | 8)}) == -magnitudes[i]);
    CHECK(from_double<Float4E2M1>(magnitudes[i]).bits == i);
  }
  CHECK(from_double<Float4E2M1>(5).bits == 6);     // tie: to even
  CHECK(from_double<Float4E2M1>(0.25).bits == 0);  // tie: to even
  CHECK(from_double<Float4E2M1>(1e30).bits == 7);
  CHECK(from_double<Float4E2M1>(-INFINITY, false).bits == 15);
  CHECK(from_double<Float4E2M1>(NAN).bits == 8);
}

TEST_CASE("special values follow the tables of ONNX's Cast") {
  CHECK(from_double<Float8E4M3FN>(-0.0).bits == 0x80);
  CHECK(from_double<Float8E4M3FNUZ>(-0.0).bits == 0);
  CHECK(from_double<Float8E5M2FNUZ>(-1e-30).bits == 0);
  CHECK(from_double<Float8E4M3FN>(INFINITY, true).bits == 0x7e);
  CHECK(from_double<Float8E4M3FN>(-INFINITY, false).bits == 0xff);
  CHECK(from_double<Float8E4M3FNUZ>(INFINITY, true).bits == 0x7f);
  CHECK(from_double<Float8E4M3FNUZ>(INFINITY, false).bits == 0x80);
  CHECK(from_double<Float8E5M2>(INFINITY, true).bits == 0x7b);
  CHECK(from_double<Float8E5M2>(-INFINITY, false).bits == 0xfc);
  CHECK(from_double<Float8E5M2>(61440, false).bits == 0x7c);
  CHECK(from_double<Float8E4M3FN>(464).bits == 0x7e);
  CHECK(from_double<Float8E4M3FN>(465, false).bits == 0x7f);
  CHECK(from_double<Float16>(65519.99).bits == 0x7bff);
  CHECK(from_double<Float16>(65520).bits == 0x7c00);
  CHECK(from_double<Float16>(-INFINITY).bits == 0xfc00);
  CHECK(from_double<BFloat16>(std::numeric_limits<double>::denorm_min()).bits == 0);
  CHECK(from_double<BFloat16>(1e300).bits == 0x7f80);
}

TEST_CASE("rounding from double happens once") {
  // Rounded to float first, the value would be a tie and go to even.
  const double just_above_tie = 1 + std::ldexp(1, -11) + std::ldexp(1, -40);
  CHECK(from_double<Float16>(just_above_tie).bits == 0x3c01);
}

TEST_CASE("NaNs keep sign and payload and become quiet") {
  const std::uint16_t signalling = 0xfc01;
  CHECK(from_double<Float16>(to_float(Float16{signalling})).bits == 0xfe01);
  CHECK(std::isnan(to_float(Float16{signalling})));
}

TEST_CASE("e8m0 scales are powers of two") {
  for (int bits = 0; bits < 255; ++bits) {
    const Float8E8M0 value{static_cast<std::uint8_t>(bits)};
    CHECK(to_float(value) == std::ldexp(1.0, bits - 127));
    CHECK(scale_from_double(to_float(value)).bits == bits);
  }
  CHECK(std::isnan(to_float(Float8E8M0{255})));
  CHECK(scale_from_double(1.25).bits == 128);
  CHECK(scale_from_double(-1.25, true, ScaleRounding::down).bits == 127);
  CHECK(scale_from_double(1.25, true, ScaleRounding::nearest).bits == 127);
  CHECK(scale_from_double(1.5, true, ScaleRounding::nearest).bits == 128);
  CHECK(scale_from_double(0).bits == 0);
  CHECK(scale_from_double(0, false).bits == 255);
  CHECK(scale_from_double(INFINITY).bits == 254);
  CHECK(scale_from_double(INFINITY, false).bits == 255);
  CHECK(scale_from_double(1e300).bits == 254);
  CHECK(scale_from_double(NAN).bits == 255);
}

}  // namespace
