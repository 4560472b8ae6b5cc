// Typed rows: every level gives what the plain one gives, and casts do what float_types.h and the standard say.
#include "cpu/kernels/typed/typed.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/float_types.h"
#include "cpu/kernels_random.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

constexpr DType kTypes[] = {DType::float32, DType::int64,   DType::int32,  DType::int8,
                            DType::uint8,   DType::boolean, DType::float16};
constexpr std::int64_t kMost = 300;
using Bytes = std::vector<std::uint8_t>;

/// Any bits; bools are 0 or 1.
Bytes any_bytes(DType dtype, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Bytes bytes(static_cast<std::size_t>(3 * kMost) * 8);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(generator() % (dtype == DType::boolean ? 2 : 256));
  return bytes;
}

Bytes run(TypedRowKernel kernel, const TypedRow& given, bool in_place, const Bytes& a) {
  Bytes y = in_place ? a : Bytes(a.size(), 0xAA);
  TypedRow row = given;
  row.y = y.data();
  if (in_place) row.a = y.data();
  kernel(row);
  return y;
}

float cast_float(TypedRowKernel kernel, const void* from) {
  float to = 0;
  const std::int64_t strides[] = {1, 1};
  kernel({1, strides, &to, from, nullptr, nullptr});
  return to;
}

}  // namespace

TEST_CASE("typed rows: all levels agree, whatever length and strides") {
  constexpr const char* kOps[] = {
      "add",    "sub",    "mul", "min", "max", "equal", "less",        "less_equal", "greater",     "greater_equal", "neg", "abs",
      "is_nan", "is_inf", "not", "and", "or",  "xor",   "bitwise_and", "bitwise_or", "bitwise_xor", "where",         "cast"};
  for (const TypedKernels* level : typed_kernels()) {
    if (!runnable(level->isa)) continue;
    std::size_t found = 0;
    for (const char* op : kOps) {
      for (const DType from : kTypes) {
        for (const DType to : kTypes) {
          const TypedRowKernel plain = typed_kernels()[0]->find(op, from, to), kernel = level->find(op, from, to);
          CHECK((plain == nullptr) == (kernel == nullptr));
          if (kernel == nullptr) continue;
          ++found;
          const std::string_view name = op;
          const bool choice = name == "where",
                     flags = name.starts_with("is_") || name.find("equal") < 9 || name == "less" || name == "greater";
          const Bytes a = any_bytes(choice ? DType::boolean : from, 1), b = any_bytes(choice ? to : from, 2),
                      c = any_bytes(to, 3);
          for (const std::int64_t count : {0, 1, 3, 16, 31, 64, 127, 128, 129, 300}) {
            for (const std::array<std::int64_t, 4>& strides : {std::array<std::int64_t, 4>{1, 1, 1, 1},
                                                               {1, 1, 0, 1},
                                                               {1, 0, 1, 0},
                                                               {1, 1, 0, 0},
                                                               {2, 1, 1, 1},
                                                               {1, 3, 1, 2},
                                                               {1, 0, 0, 1}}) {
              const TypedRow row{count, strides.data(), nullptr, a.data(), b.data(), c.data()};
              CHECK(run(kernel, row, false, a) == run(plain, row, false, a));
              if (strides[0] != 1 || strides[1] != 1 || from != to || choice || (flags && size_of(from) > 1)) continue;
              const auto length = count * static_cast<std::int64_t>(size_of(to));
              const Bytes apart = run(kernel, row, false, a), over = run(kernel, row, true, a);
              CHECK(std::equal(apart.begin(), apart.begin() + length, over.begin()));
            }
          }
        }
      }
    }
    CHECK(found > 100);
  }
}

TEST_CASE("typed rows: float16 as float_types.h has it") {
  for (const TypedKernels* level : typed_kernels()) {
    if (!runnable(level->isa)) continue;
    const TypedRowKernel widen = level->find("cast", DType::float16, DType::float32);
    const TypedRowKernel narrow = level->find("cast", DType::float32, DType::float16);
    const std::int64_t strides[] = {1, 1};
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const float wide = cast_float(widen, &half), wanted = to_float(Float16{half});
      CHECK((same_bits(wide, wanted) || (std::isnan(wide) && std::isnan(wanted))));
    }
    std::mt19937 generator(7);
    for (int i = 0; i < 200000; ++i) {
      // Half of them near where float16 is denormal, or ends, or ties.
      auto bits = static_cast<std::uint32_t>(generator());
      if (i % 2 == 0)
        bits = static_cast<std::uint32_t>((bits & 0x80001FFFU & generator()) |
                                          ((0x33000000U + generator() % 0x15000000U) & 0x7FFFE000U));
      const float x = std::bit_cast<float>(bits);
      std::uint16_t half = 0;
      narrow({1, strides, &half, &x, nullptr, nullptr});
      const std::uint16_t wanted = from_double<Float16>(static_cast<double>(x)).bits;
      CHECK(half == wanted);
    }
  }
}

TEST_CASE("typed rows: floats beyond an integer's ends become them, NaN 0") {
  const std::int64_t strides[] = {1, 1};
  const float values[] = {-kInf, -3e38F, -9.3e18F, -2147483648.0F, -129.0F,       -128.5F, -0.9F,   0,    0.9F, 127.5F,
                          128,   255.5F, 256,      2147483520.0F,  2147483648.0F, 9.2e18F, 9.3e18F, kInf, kNan, -kNan};
  const auto check = [&]<typename To>(const TypedKernels& level, DType dtype, To) {
    const TypedRowKernel kernel = level.find("cast", DType::float32, dtype);
    To y[std::size(values)];
    kernel({std::ssize(values), strides, y, values, nullptr, nullptr});
    for (std::size_t i = 0; i < std::size(values); ++i) {
      const auto low = static_cast<long double>(std::numeric_limits<To>::min());
      const auto high = static_cast<long double>(std::numeric_limits<To>::max());
      const To wanted =
          std::isnan(values[i]) ? To{0} : static_cast<To>(std::clamp(static_cast<long double>(values[i]), low, high));
      CHECK(y[i] == wanted);
    }
  };
  for (const TypedKernels* level : typed_kernels()) {
    if (!runnable(level->isa)) continue;
    check(*level, DType::int64, std::int64_t{});
    check(*level, DType::int32, std::int32_t{});
    check(*level, DType::int8, std::int8_t{});
    check(*level, DType::uint8, std::uint8_t{});
  }
}

}  // namespace jitney::kernels
