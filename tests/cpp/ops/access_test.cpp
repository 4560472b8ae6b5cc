// Conversions between dtypes, walks over strided views, and views under new shapes.
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/broadcast.h"
#include "ops/region_copy.h"
#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DType kNumbers[] = {
    DType::float32,    DType::float64,        DType::float16,    DType::bfloat16, DType::float8e4m3fn, DType::float8e4m3fnuz,
    DType::float8e5m2, DType::float8e5m2fnuz, DType::float4e2m1, DType::int8,     DType::int16,        DType::int32,
    DType::int64,      DType::uint8,          DType::uint16,     DType::uint32,   DType::uint64,       DType::int4,
    DType::uint4,      DType::int2,           DType::uint2,      DType::boolean,  DType::float8e8m0};

double through(DType dtype, double value) { return numbers(tensor<double>(dtype, {}, {value})).front(); }
std::int64_t through(DType dtype, std::int64_t value) {
  return read_integers(tensor<std::int64_t>(dtype, {}, {value}).view()).front();
}

}  // namespace

TEST_CASE("every dtype keeps 1") {
  for (const DType dtype : kNumbers) {
    CAPTURE(to_string(dtype));
    CHECK(through(dtype, 1.0) == 1.0);
    CHECK(through(dtype, std::int64_t{1}) == 1);
    const std::uint64_t one = 1;
    std::uint64_t stored = 0, back = 0;
    store_run(dtype, &stored, 1, 1, &one);
    load_run(dtype, &stored, 1, 1, &back);
    CHECK(back == 1);
  }
  std::uint64_t memory = 0;
  double value = 0;
  CHECK_THROWS_AS(load_run(DType::complex64, &memory, 1, 1, &value), Error);
  CHECK_THROWS_AS(load_run(DType::string, &memory, 1, 1, &value), Error);
}

TEST_CASE("floats become integers by dropping the fraction and saturating") {
  CHECK(through(DType::int32, 2.9) == 2);
  CHECK(through(DType::int32, -2.9) == -2);
  CHECK(through(DType::int32, 1e30) == 2147483647.0);
  CHECK(through(DType::int32, -kInfinity) == -2147483648.0);
  CHECK(through(DType::int8, 300.0) == 127);
  CHECK(through(DType::uint8, -1.0) == 0);
  CHECK(through(DType::int64, 9.3e18) == 9223372036854775807.0);
  CHECK(through(DType::uint64, 1e20) == 18446744073709551615.0);
  CHECK(through(DType::int16, std::nan("")) == 0);
  CHECK(through(DType::int4, -20.0) == -8);
  CHECK(through(DType::int4, 20.0) == 7);
  CHECK(through(DType::uint4, 20.0) == 15);
  CHECK(through(DType::int2, 5.0) == 1);
  CHECK(through(DType::uint2, -5.0) == 0);
  CHECK(through(DType::boolean, 0.25) == 1);
  CHECK(through(DType::boolean, std::nan("")) == 1);
  CHECK(load<std::int64_t>(floats({}, {1e30}).view(), 0) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("integers wrap into narrower ones") {
  CHECK(through(DType::int8, std::int64_t{200}) == -56);
  CHECK(through(DType::uint8, std::int64_t{-1}) == 255);
  CHECK(through(DType::int32, std::int64_t{1} << 32) == 0);
  CHECK(through(DType::int4, std::int64_t{9}) == -7);
  CHECK(through(DType::uint4, std::int64_t{17}) == 1);
  CHECK(through(DType::int2, std::int64_t{2}) == -2);
  CHECK(through(DType::boolean, std::int64_t{256}) == 1);
}

TEST_CASE("integers are rounded once on their way to floats") {
  // 2^53 + 2^29 + 1 lies just above the middle of two floats, which a detour over double would lose.
  const std::int64_t value = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  CHECK(through(DType::float32, value) == (std::int64_t{1} << 60) + (std::int64_t{1} << 37));
  const std::int64_t brain = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  CHECK(through(DType::bfloat16, brain) == (std::int64_t{1} << 62) + (std::int64_t{1} << 55));
  CHECK(through(DType::float16, 2049.0) == 2048);
  CHECK(through(DType::float16, 2051.0) == 2052);
  CHECK(through(DType::float16, 65520.0) == kInfinity);
  CHECK(through(DType::float8e4m3fn, 1000.0) == 448);
}

TEST_CASE("only the low bits of small integers count") {
  Tensor bytes(DType::int4, {2});
  bytes.span<std::uint8_t>()[0] = 0x0f;
  bytes.span<std::uint8_t>()[1] = 0xf7;
  CHECK(read_integers(bytes.view()) == std::vector<std::int64_t>{-1, 7});
}

TEST_CASE("ranges of dtypes") {
  CHECK(lowest_of(DType::int64) == std::numeric_limits<std::int64_t>::min());
  CHECK(highest_of(DType::int64) == std::numeric_limits<std::int64_t>::max());
  CHECK(lowest_of(DType::int8) == -128);
  CHECK(highest_of(DType::uint32) == 4294967295);
  CHECK(highest_of(DType::uint4) == 15);
  CHECK(lowest_of(DType::int2) == -2);
  CHECK(highest_of(DType::boolean) == 1);
}

TEST_CASE("walks visit every index once, in order, and merge what they can") {
  std::vector<std::int64_t> seen;
  const Walk<1> dense({2, 3, 4}, {Shape{12, 4, 1}});
  CHECK(dense.run == 24);
  dense.for_each([&](const std::array<std::int64_t, 1>& at) { seen.push_back(at[0]); });
  std::vector<std::int64_t> all(24);
  std::iota(all.begin(), all.end(), 0);
  CHECK(seen == all);

  seen.clear();
  Walk<1>({2, 1, 2}, {Shape{-1, 7, 5}}).for_each([&](const std::array<std::int64_t, 1>& at) { seen.push_back(at[0]); });
  CHECK(seen == std::vector<std::int64_t>{0, 5, -1, 4});

  int runs = 0;
  Walk<2>({3, 0, 2}, {Shape{0, 2, 1}, Shape{0, 2, 1}}).for_each_run([&](const auto&) { ++runs; });
  CHECK(runs == 0);
  Walk<1>(Shape{}, {Shape{}}).for_each([&](const auto&) { ++runs; });
  CHECK(runs == 1);

  std::size_t total = 0;
  Walk<1>({1000}, {Shape{1}}).for_each_piece([&](const auto& at, std::size_t count) {
    CHECK(at[0] == static_cast<std::int64_t>(total));
    total += count;
  });
  CHECK(total == 1000);
  // Channels-last memory is one run however its logical axes lie.
  CHECK(memory_order_walk<2>({2, 3, 4, 5}, {Shape{60, 1, 15, 3}, Shape{60, 1, 15, 3}}).run == 120);
}

TEST_CASE("memory can be seen under a new shape only where its axes merge") {
  using Strides = std::optional<Shape>;
  CHECK(reshaped_strides({2, 3, 4}, {12, 4, 1}, {6, 4}) == Strides({4, 1}));
  CHECK(reshaped_strides({2, 3, 4}, {12, 4, 1}, {2, 2, 6}) == Strides({12, 6, 1}));
  CHECK(reshaped_strides({6}, {-2}, {2, 3}) == Strides({-6, -2}));
  CHECK(reshaped_strides({2, 3}, {1, 2}, {6}) == std::nullopt);
  CHECK(reshaped_strides({2, 3}, {1, 2}, {2, 1, 3, 1})->operator[](2) == 2);
  CHECK(reshaped_strides({4, 3}, {1, 4}, {2, 2, 3}) == Strides({2, 1, 4}));
  CHECK(reshaped_strides({}, {}, {1, 1}).has_value());
  CHECK(reshaped_strides({0, 3}, {9, 7}, {5, 0}).has_value());
  CHECK(reshaped_strides({1, 5}, {99, 0}, {5}) == Strides({0}));
}

TEST_CASE("copies of elements of every size and any stride") {
  for (const DType dtype : {DType::uint8, DType::float16, DType::float32, DType::int64, DType::complex128}) {
    CAPTURE(to_string(dtype));
    Tensor from(dtype, {3, 4, 5});
    for (std::size_t i = 0; i < from.bytes(); ++i) static_cast<std::uint8_t*>(from.data())[i] = static_cast<std::uint8_t>(i * 7);
    const Awkward to(dtype, {3, 4, 5});
    copy_tensor(from.view(), to.view);
    const Tensor back = make_dense(to.view);
    CHECK(std::memcmp(from.data(), back.data(), from.bytes()) == 0);
  }
}

TEST_CASE("broadcasting of dims") {
  const Dim n = Dim::symbol(0), m = Dim::symbol(1), open = Dim::unknown();
  CHECK(broadcast_dim(n, Dim(1))->same(n));
  CHECK(broadcast_dim(n, n)->same(n));
  CHECK(broadcast_dim(n, m)->is_unknown());
  CHECK(broadcast_dim(n, Dim(5))->same(Dim(5)));
  CHECK(broadcast_dim(open, Dim(5))->same(Dim(5)));
  CHECK(broadcast_dim(open, Dim(1))->is_unknown());
  CHECK(broadcast_dim(Dim(0), Dim(1))->same(Dim(0)));
  CHECK_FALSE(broadcast_dim(Dim(2), Dim(3)).has_value());
  CHECK_FALSE(broadcast_dim(Dim(2), Dim(0)).has_value());
  CHECK(unify(open, n)->same(n));
  CHECK(unify(n, Dim(4))->same(Dim(4)));
  CHECK_FALSE(unify(n, n + Dim(1)).has_value());
  CHECK(lower_bound(n * Dim(2) + Dim(3)) == 3);
  CHECK_FALSE(lower_bound(Dim(3) - n).has_value());
  CHECK(element_count(SymShape::of({n, Dim(0)})).same(Dim(0)));
  CHECK(element_count(SymShape::of({n, Dim(4)})).same(n * Dim(4)));
}
