// Conversions between the stored dtypes and the three types that reference kernels compute in.
#include "ops/access.h"

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "base/float_types.h"
#include "jitney/error.h"

namespace jitney {

namespace {

struct Bool {
  std::uint8_t bits;
};

/// An integer of fewer than 8 bits in a byte of its own. Only the low bits count when it is read.
template <int width, bool is_signed>
struct SmallInteger {
  std::uint8_t bits;
};
template <typename T>
struct IsSmallInteger : std::false_type {};
template <int width, bool is_signed>
struct IsSmallInteger<SmallInteger<width, is_signed>> : std::true_type {
  static constexpr std::int64_t lowest = is_signed ? -(1 << (width - 1)) : 0;
  static constexpr std::int64_t highest = lowest + (1 << width) - 1;
};

template <int width, bool is_signed>
constexpr std::int64_t value_of(SmallInteger<width, is_signed> stored) {
  const std::int64_t low = stored.bits & ((1 << width) - 1);
  return is_signed && low >= (1 << (width - 1)) ? low - (1 << width) : low;
}

/// Calls body with a value of the type that stands for the dtype in memory.
template <typename Body>
void with_storage_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float32:
      return body(float{});
    case DType::float64:
      return body(double{});
    case DType::float16:
      return body(Float16{});
    case DType::bfloat16:
      return body(BFloat16{});
    case DType::float8e4m3fn:
      return body(Float8E4M3FN{});
    case DType::float8e4m3fnuz:
      return body(Float8E4M3FNUZ{});
    case DType::float8e5m2:
      return body(Float8E5M2{});
    case DType::float8e5m2fnuz:
      return body(Float8E5M2FNUZ{});
    case DType::float8e8m0:
      return body(Float8E8M0{});
    case DType::float4e2m1:
      return body(Float4E2M1{});
    case DType::boolean:
      return body(Bool{});
    case DType::int8:
      return body(std::int8_t{});
    case DType::int16:
      return body(std::int16_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::int64:
      return body(std::int64_t{});
    case DType::uint8:
      return body(std::uint8_t{});
    case DType::uint16:
      return body(std::uint16_t{});
    case DType::uint32:
      return body(std::uint32_t{});
    case DType::uint64:
      return body(std::uint64_t{});
    case DType::int4:
      return body(SmallInteger<4, true>{});
    case DType::uint4:
      return body(SmallInteger<4, false>{});
    case DType::int2:
      return body(SmallInteger<2, true>{});
    case DType::uint2:
      return body(SmallInteger<2, false>{});
    case DType::undefined:
    case DType::string:
    case DType::complex64:
    case DType::complex128:
      break;
  }
  throw Error(ErrorCode::unsupported, "there is no arithmetic on elements of dtype " + std::string(to_string(dtype)));
}

/// The fraction is dropped; what lies outside [lowest, highest] becomes the nearer end; NaN becomes 0.
template <typename T>
T saturating(double value, T lowest, T highest) {
  if (std::isnan(value)) return 0;
  // The ends may not be doubles, but then the highest rounds up to a power of two that no T reaches.
  if (value <= static_cast<double>(lowest)) return lowest;
  if (value >= static_cast<double>(highest)) return highest;
  return static_cast<T>(value);
}

/// An integer as a double such that rounding it on to a narrower type equals rounding it once: what is lost leaves a sticky bit.
template <std::integral T>
double sticky_double(T value) {
  const bool negative = value < 0;
  std::uint64_t magnitude = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  if (magnitude >> 53 != 0) {
    constexpr std::uint64_t lost = (std::uint64_t{1} << 11) - 1;
    magnitude = (magnitude & ~lost) | ((magnitude & lost) != 0 ? lost + 1 : 0);
  }
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

template <typename To, typename Stored>
To loaded(Stored stored) {
  if constexpr (std::is_arithmetic_v<Stored>) {
    if constexpr (std::is_floating_point_v<Stored> && std::is_integral_v<To>) {
      return saturating<To>(stored, std::numeric_limits<To>::min(), std::numeric_limits<To>::max());
    } else {
      return static_cast<To>(stored);
    }
  } else if constexpr (std::is_same_v<Stored, Bool>) {
    return stored.bits != 0 ? 1 : 0;
  } else if constexpr (IsSmallInteger<Stored>::value) {
    return static_cast<To>(value_of(stored));
  } else {
    return loaded<To>(to_float(stored));
  }
}

template <typename Stored, typename From>
Stored stored(From value, [[maybe_unused]] bool saturate) {
  if constexpr (std::is_same_v<Stored, Bool>) {
    return {static_cast<std::uint8_t>(value != 0 ? 1 : 0)};
  } else if constexpr (std::is_floating_point_v<Stored>) {
    return static_cast<Stored>(value);
  } else if constexpr (std::is_integral_v<Stored>) {
    if constexpr (std::is_floating_point_v<From>) {
      return saturating<Stored>(value, std::numeric_limits<Stored>::min(), std::numeric_limits<Stored>::max());
    } else {
      return static_cast<Stored>(value);
    }
  } else if constexpr (IsSmallInteger<Stored>::value) {
    if constexpr (std::is_floating_point_v<From>) {
      using Range = IsSmallInteger<Stored>;
      return {static_cast<std::uint8_t>(saturating<std::int64_t>(value, Range::lowest, Range::highest))};
    } else {
      // Kept sign-extended, as NumPy's ml_dtypes does.
      return {static_cast<std::uint8_t>(value_of(Stored{static_cast<std::uint8_t>(value)}))};
    }
  } else {
    double number;
    if constexpr (std::is_floating_point_v<From>) {
      number = value;
    } else {
      number = sticky_double(value);
    }
    if constexpr (std::is_same_v<Stored, Float8E8M0>) {
      return scale_from_double(number, saturate);
    } else {
      return from_double<Stored>(number, saturate);
    }
  }
}

template <typename To>
void load_elements(DType dtype, const void* from, std::int64_t stride, std::size_t count, To* to) {
  with_storage_type(dtype, [&](auto type) {
    using Stored = decltype(type);
    const auto* source = static_cast<const Stored*>(from);
    if (stride == 1) {
      for (std::size_t i = 0; i < count; ++i) to[i] = loaded<To>(source[i]);
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = loaded<To>(source[static_cast<std::int64_t>(i) * stride]);
    }
  });
}

template <typename From>
void store_elements(DType dtype, void* to, std::int64_t stride, std::size_t count, const From* from, bool saturate) {
  with_storage_type(dtype, [&](auto type) {
    using Stored = decltype(type);
    auto* target = static_cast<Stored*>(to);
    if (stride == 1) {
      for (std::size_t i = 0; i < count; ++i) target[i] = stored<Stored>(from[i], saturate);
    } else {
      for (std::size_t i = 0; i < count; ++i) target[static_cast<std::int64_t>(i) * stride] = stored<Stored>(from[i], saturate);
    }
  });
}

template <typename T>
std::vector<T> read_all(const TensorView& view) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(view.shape.elements()));
  Walk<1>(view.shape, {view.strides}).for_each([&](const std::array<std::int64_t, 1>& at) {
    values.push_back(load<T>(view, at[0]));
  });
  return values;
}

}  // namespace

NumberClass number_class(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
    case DType::float64:
    case DType::float16:
    case DType::bfloat16:
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz:
    case DType::float8e8m0:
    case DType::float4e2m1:
      return NumberClass::floating;
    case DType::uint64:
      return NumberClass::unsigned64;
    case DType::undefined:
    case DType::string:
    case DType::complex64:
    case DType::complex128:
      return NumberClass::none;
    default:
      return NumberClass::integer;
  }
}

bool is_signed_integer(DType dtype) noexcept {
  return dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 || dtype == DType::int64 ||
         dtype == DType::int4 || dtype == DType::int2;
}

bool is_integer(DType dtype) noexcept {
  const NumberClass kind = number_class(dtype);
  return kind == NumberClass::unsigned64 || (kind == NumberClass::integer && dtype != DType::boolean);
}

namespace {

int width_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::int4:
    case DType::uint4:
      return 4;
    case DType::int2:
    case DType::uint2:
      return 2;
    case DType::boolean:
      return 1;
    default:
      return static_cast<int>(size_of(dtype)) * 8;
  }
}

}  // namespace

std::int64_t lowest_of(DType dtype) noexcept {
  return is_signed_integer(dtype) ? -(std::int64_t{1} << (width_of(dtype) - 2)) * 2 : 0;
}

std::int64_t highest_of(DType dtype) noexcept {
  if (is_signed_integer(dtype)) return -(lowest_of(dtype) + 1);
  return dtype == DType::uint64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << width_of(dtype)) - 1;
}

void load_run(DType dtype, const void* from, std::int64_t stride, std::size_t count, double* to) {
  load_elements(dtype, from, stride, count, to);
}
void load_run(DType dtype, const void* from, std::int64_t stride, std::size_t count, std::int64_t* to) {
  load_elements(dtype, from, stride, count, to);
}
void load_run(DType dtype, const void* from, std::int64_t stride, std::size_t count, std::uint64_t* to) {
  load_elements(dtype, from, stride, count, to);
}
void store_run(DType dtype, void* to, std::int64_t stride, std::size_t count, const double* from, bool saturate) {
  store_elements(dtype, to, stride, count, from, saturate);
}
void store_run(DType dtype, void* to, std::int64_t stride, std::size_t count, const std::int64_t* from, bool saturate) {
  store_elements(dtype, to, stride, count, from, saturate);
}
void store_run(DType dtype, void* to, std::int64_t stride, std::size_t count, const std::uint64_t* from, bool saturate) {
  store_elements(dtype, to, stride, count, from, saturate);
}

std::vector<std::int64_t> read_integers(const TensorView& view) { return read_all<std::int64_t>(view); }
std::vector<double> read_numbers(const TensorView& view) { return read_all<double>(view); }

Shape broadcast_strides(const TensorView& view, const Shape& shape) {
  Shape strides(shape.size(), 0);
  const std::size_t missing = shape.size() - view.shape.size();
  for (std::size_t i = missing; i < shape.size(); ++i) {
    if (view.shape[i - missing] != 1 || shape[i] == 1) strides[i] = view.strides[i - missing];
  }
  return strides;
}

}  // namespace jitney
