// What the arithmetic ops do to two numbers and to two Dims. Integers wrap, and dividing one by zero gives 0, so that no input
// can stop a program. NaN wins in max and min.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/broadcast.h"

namespace jitney::arithmetic {

/// Integers do what the same op does on uint64, where nothing overflows.
template <typename Fn>
std::int64_t wrapped(std::int64_t a, std::int64_t b, const Fn& fn) {
  return static_cast<std::int64_t>(fn(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

struct Add {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, std::int64_t>) return wrapped(a, b, of<std::uint64_t>);
    return a + b;
  }
  static Dim rule(const Dim& a, const Dim& b) { return a + b; }
};

struct Sub {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, std::int64_t>) return wrapped(a, b, of<std::uint64_t>);
    return a - b;
  }
  static Dim rule(const Dim& a, const Dim& b) { return a - b; }
};

struct Mul {
  template <typename T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, std::int64_t>) return wrapped(a, b, of<std::uint64_t>);
    return a * b;
  }
  static Dim rule(const Dim& a, const Dim& b) { return a * b; }
};

struct Div {
  static double of(double a, double b) { return a / b; }
  static std::uint64_t of(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : a / b; }
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    if (b == -1) return Sub::of(std::int64_t{0}, a);  // the one quotient that can overflow
    return b == 0 ? 0 : a / b;
  }
  static Dim rule(const Dim& a, const Dim& b) {
    if (a.is_constant() && b.is_constant()) return of(a.value(), b.value());
    const Dim quotient = floor_div(a, b);
    // Rounding down is rounding toward zero only where the quotient is exact or not negative.
    const bool exact = (quotient * b).same(a) && lower_bound(b).value_or(0) > 0;
    return exact || (lower_bound(a).value_or(-1) >= 0 && lower_bound(b).value_or(0) > 0) ? quotient : Dim::unknown();
  }
};

template <bool maximum>
struct Extremum {
  static double of(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    return (a < b) == maximum ? b : a;
  }
  static std::uint64_t of(std::uint64_t a, std::uint64_t b) { return (a < b) == maximum ? b : a; }
  static std::int64_t of(std::int64_t a, std::int64_t b) { return (a < b) == maximum ? b : a; }
  static Dim rule(const Dim& a, const Dim& b) {
    if (a.is_constant() && b.is_constant()) return of(a.value(), b.value());
    if (lower_bound(a - b).value_or(-1) >= 0) return maximum ? a : b;
    if (lower_bound(b - a).value_or(-1) >= 0) return maximum ? b : a;
    return Dim::unknown();
  }
};
using Max = Extremum<true>;
using Min = Extremum<false>;

}  // namespace jitney::arithmetic
