// The loops of the typed rows. Included by typed_*.cpp only: each builds its own, so that no code is shared between levels.
#pragma once

#include <limits>
#include <type_traits>

#include "cpu/kernels/typed/typed.h"

// A result may lie over an operand, element for element: no iteration waits for another.
#if defined(__clang__)
#define JITNEY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define JITNEY_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace jitney::kernels {
namespace {

template <typename Y, typename A, typename Fn>
inline void each(const TypedRow& row, Fn fn) {
  const std::int64_t count = row.count, to_step = row.strides[0], step = row.strides[1];
  auto* to = static_cast<Y*>(row.y);
  const auto* from = static_cast<const A*>(row.a);
  if (to_step == 1 && step == 1) {
    JITNEY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = fn(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = fn(from[i * step]);
  }
}

template <typename Y, typename T, typename Fn>
inline void each_pair(const TypedRow& row, Fn fn) {
  const std::int64_t count = row.count, to_step = row.strides[0], left_step = row.strides[1], right_step = row.strides[2];
  auto* to = static_cast<Y*>(row.y);
  const auto *left = static_cast<const T*>(row.a), *right = static_cast<const T*>(row.b);
  if (count == 0) return;
  if (to_step == 1 && left_step == 1 && right_step == 1) {
    JITNEY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = fn(left[i], right[i]);
  } else if (to_step == 1 && left_step == 1 && right_step == 0) {
    const T value = *right;
    JITNEY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = fn(left[i], value);
  } else if (to_step == 1 && left_step == 0 && right_step == 1) {
    const T value = *left;
    JITNEY_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = fn(value, right[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = fn(left[i * left_step], right[i * right_step]);
  }
}

/// What wraps in two's complement is computed unsigned.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

#define JITNEY_PAIR(name, result, expression)                                            \
  template <typename T>                                                                  \
  void name##_row(const TypedRow& row) {                                                 \
    using U [[maybe_unused]] = Wrapping<T>;                                              \
    each_pair<result, T>(row, [](T a, T b) { return static_cast<result>(expression); }); \
  }
JITNEY_PAIR(add, T, static_cast<U>(a) + static_cast<U>(b))
JITNEY_PAIR(sub, T, static_cast<U>(a) - static_cast<U>(b))
JITNEY_PAIR(mul, T, static_cast<U>(a) * static_cast<U>(b))
JITNEY_PAIR(min, T, b < a ? b : a)
JITNEY_PAIR(max, T, a < b ? b : a)
JITNEY_PAIR(equal, std::uint8_t, a == b)
JITNEY_PAIR(less, std::uint8_t, a < b)
JITNEY_PAIR(less_equal, std::uint8_t, a <= b)
JITNEY_PAIR(greater, std::uint8_t, a > b)
JITNEY_PAIR(greater_equal, std::uint8_t, a >= b)
JITNEY_PAIR(and, T, a& b)
JITNEY_PAIR(or, T, a | b)
JITNEY_PAIR(xor, T, a ^ b)
#undef JITNEY_PAIR

#define JITNEY_ONE(name, result, expression)                                   \
  template <typename T>                                                        \
  void name##_row(const TypedRow& row) {                                       \
    using U [[maybe_unused]] = Wrapping<T>;                                    \
    each<result, T>(row, [](T a) { return static_cast<result>(expression); }); \
  }
JITNEY_ONE(neg, T, U{0} - static_cast<U>(a))
JITNEY_ONE(abs, T, a < 0 ? U{0} - static_cast<U>(a) : static_cast<U>(a))
JITNEY_ONE(not, std::uint8_t, a == 0)
JITNEY_ONE(is_nan, std::uint8_t, a != a)
JITNEY_ONE(is_inf, std::uint8_t, a == std::numeric_limits<T>::infinity() || a == -std::numeric_limits<T>::infinity())
#undef JITNEY_ONE

/// Dense rows a piece at a time, an operand of one element as a row of copies: one loop that becomes vectors.
template <typename T>
void where_row(const TypedRow& row) {
  const std::int64_t *strides = row.strides, count = row.count;
  auto* to = static_cast<T*>(row.y);
  const auto* chosen = static_cast<const std::uint8_t*>(row.a);
  const auto *left = static_cast<const T*>(row.b), *right = static_cast<const T*>(row.c);
  const auto is_plain = [](std::int64_t stride) { return stride == 0 || stride == 1; };
  if (strides[0] != 1 || !is_plain(strides[1]) || !is_plain(strides[2]) || !is_plain(strides[3])) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i * strides[0]] = chosen[i * strides[1]] != 0 ? left[i * strides[2]] : right[i * strides[3]];
    }
    return;
  }
  if (count == 0) return;
  if (strides[1] == 0) {
    const T* from = *chosen != 0 ? left : right;
    const std::int64_t step = *chosen != 0 ? strides[2] : strides[3];
    if (step == 0) {
      const T value = *from;
      for (std::int64_t i = 0; i < count; ++i) to[i] = value;
    } else {
      JITNEY_INDEPENDENT
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    }
    return;
  }
  constexpr std::int64_t kPiece = 128;
  T copies_left[kPiece], copies_right[kPiece];
  if (strides[2] == 0) {
    for (T& copy : copies_left) copy = *left;
  }
  if (strides[3] == 0) {
    for (T& copy : copies_right) copy = *right;
  }
  for (std::int64_t done = 0; done < count; done += kPiece) {
    const T* from_left = strides[2] == 0 ? copies_left : left + done;
    const T* from_right = strides[3] == 0 ? copies_right : right + done;
    const std::int64_t end = count - done < kPiece ? count - done : kPiece;
    JITNEY_INDEPENDENT
    for (std::int64_t i = 0; i < end; ++i) {
      // Both are read, so that no branch is left.
      const T yes = from_left[i], no = from_right[i];
      to[done + i] = chosen[done + i] != 0 ? yes : no;
    }
  }
}

/// Bools and float16 in memory, told apart from other integers.
enum class Flag : std::uint8_t {};
enum class Half : std::uint16_t {};

inline std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
inline float from_bits(std::uint32_t x) { return __builtin_bit_cast(float, x); }

/// Exact; a NaN keeps its sign and upper bits. Denormal numbers are made by a subtraction that cancels the leading one.
inline float widened(std::uint16_t half) {
  const std::uint32_t word = static_cast<std::uint32_t>(half) << 16, magnitude = word << 1;
  const float normal = from_bits((magnitude >> 4) + (0xE0U << 23)) * 0x1p-112F;
  const float denormal = from_bits((magnitude >> 17) | (126U << 23)) - 0.5F;
  const std::uint32_t bits = magnitude < (1U << 27) ? bits_of(denormal) : bits_of(normal);
  return from_bits((word & 0x80000000U) | bits);
}

/// To nearest, ties to even; what is too large becomes infinity, a NaN keeps its sign and upper bits. The addition of a power of
/// two drops the bits that have no place.
inline std::uint16_t narrowed(float x) {
  const std::uint32_t word = bits_of(x), twice = word << 1, sign = (word >> 16) & 0x8000U;
  const float base = from_bits(word & 0x7FFFFFFFU) * 0x1p112F * 0x1p-110F;
  const std::uint32_t exponent = twice & 0xFF000000U, least = exponent < 0x71000000U ? 0x71000000U : exponent;
  const std::uint32_t sum = bits_of(from_bits((least >> 1) + 0x07800000U) + base);
  const std::uint32_t magnitude = ((sum >> 13) & 0x7C00U) + (sum & 0x0FFFU);
  return static_cast<std::uint16_t>(sign | (twice > 0xFF000000U ? 0x7E00U | ((word >> 13) & 0x3FFU) : magnitude));
}

/// As ONNX's Cast: integers wrap; from float the fraction is dropped, what does not fit becomes the nearest end, NaN 0.
template <typename From, typename To>
inline To converted(From x) {
  if constexpr (std::is_same_v<From, Flag>) {
    return converted<std::uint8_t, To>(static_cast<std::uint8_t>(x));
  } else if constexpr (std::is_same_v<From, Half>) {
    return converted<float, To>(widened(static_cast<std::uint16_t>(x)));
  } else if constexpr (std::is_same_v<To, Half>) {
    return static_cast<Half>(narrowed(static_cast<float>(x)));
  } else if constexpr (std::is_same_v<To, Flag>) {
    return static_cast<Flag>(x != From{0} ? 1 : 0);
  } else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    // Without a branch: first clamped to numbers that can be converted, NaN to the least; then the ends are put in place.
    using Wide = std::conditional_t<sizeof(To) == 8, std::int64_t, std::int32_t>;
    constexpr float least = static_cast<float>(std::numeric_limits<To>::lowest());
    constexpr float above = static_cast<float>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    const float bounded = x > least ? x : least;
    const To whole = static_cast<To>(static_cast<Wide>(bounded < above ? bounded : 0.0F));
    const To limited = x >= above ? std::numeric_limits<To>::max() : whole;
    return x == x ? limited : To{0};
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void cast_row(const TypedRow& row) {
  each<To, From>(row, converted<From, To>);
}

template <typename Body>
TypedRowKernel with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float32:
      return body(float{});
    case DType::int64:
      return body(std::int64_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::int8:
      return body(std::int8_t{});
    case DType::uint8:
      return body(std::uint8_t{});
    case DType::boolean:
      return body(Flag{});
    default:
      return nullptr;
  }
}

TypedRowKernel find_cast(DType from, DType to) {
  if (from == DType::float16) return to == DType::float32 ? cast_row<Half, float> : nullptr;
  if (to == DType::float16) return from == DType::float32 ? cast_row<float, Half> : nullptr;
  return with_type(
      from, [to](auto a) { return with_type(to, [](auto b) -> TypedRowKernel { return cast_row<decltype(a), decltype(b)>; }); });
}

struct NamedRows {
  const char* op;
  TypedRowKernel f32, i64, i32, u8;
};

#define JITNEY_INTEGERS(name) {#name, nullptr, name##_row<std::int64_t>, name##_row<std::int32_t>, name##_row<std::uint8_t>},
#define JITNEY_NUMBERS(name) \
  {#name, name##_row<float>, name##_row<std::int64_t>, name##_row<std::int32_t>, name##_row<std::uint8_t>},
constexpr NamedRows kRows[] = {
    JITNEY_INTEGERS(add) JITNEY_INTEGERS(sub) JITNEY_INTEGERS(mul) JITNEY_INTEGERS(min) JITNEY_INTEGERS(max) JITNEY_NUMBERS(equal)
        JITNEY_NUMBERS(less) JITNEY_NUMBERS(less_equal) JITNEY_NUMBERS(greater)
            JITNEY_NUMBERS(greater_equal){"neg", nullptr, neg_row<std::int64_t>, neg_row<std::int32_t>, nullptr},
    {"abs", nullptr, abs_row<std::int64_t>, abs_row<std::int32_t>, nullptr},
    {"is_nan", is_nan_row<float>, nullptr, nullptr, nullptr},
    {"is_inf", is_inf_row<float>, nullptr, nullptr, nullptr},
    {"not", nullptr, nullptr, nullptr, not_row<std::uint8_t>},
    {"and", nullptr, nullptr, nullptr, and_row<std::uint8_t>},
    {"or", nullptr, nullptr, nullptr, or_row<std::uint8_t>},
    {"xor", nullptr, nullptr, nullptr, xor_row<std::uint8_t>},
    {"bitwise_and", nullptr, and_row<std::int64_t>, and_row<std::int32_t>, and_row<std::uint8_t>},
    {"bitwise_or", nullptr, or_row<std::int64_t>, or_row<std::int32_t>, or_row<std::uint8_t>},
    {"bitwise_xor", nullptr, xor_row<std::int64_t>, xor_row<std::int32_t>, xor_row<std::uint8_t>},
};
#undef JITNEY_INTEGERS
#undef JITNEY_NUMBERS

TypedRowKernel find_where(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return where_row<std::uint8_t>;
    case 2:
      return where_row<std::uint16_t>;
    case 4:
      return where_row<std::uint32_t>;
    case 8:
      return where_row<std::uint64_t>;
    default:
      return nullptr;
  }
}

TypedRowKernel find_row(std::string_view op, DType from, DType to) {
  if (op == "where") return find_where(to);
  if (op == "cast") return find_cast(from, to);
  for (const NamedRows& rows : kRows) {
    if (op != rows.op) continue;
    if (from == DType::float32) return rows.f32;
    if (from == DType::int64) return rows.i64;
    if (from == DType::int32) return rows.i32;
    if (from == DType::uint8 || from == DType::boolean) return rows.u8;
  }
  return nullptr;
}

}  // namespace
}  // namespace jitney::kernels

#undef JITNEY_INDEPENDENT
