// Data movement steps and strided copies against the reference.
#include "cpu/kernels/copy/copy.h"
#include "doctest/doctest.h"
#include "harness.h"
#include "ops/access.h"

using namespace jitney;
using namespace jitney::test;

TEST_CASE("strided copies: every pair of orders, gaps, reversals, element sizes") {
  std::mt19937 rng(1);
  const std::vector<Shape> shapes = {{},       {5},         {0, 3},        {2, 3, 4, 5}, {1, 3, 17, 18},
                                     {33, 35}, {2, 64, 48}, {3, 1, 40, 3}, {130, 150}};
  for (const Shape& shape : shapes) {
    std::vector<Order> orders = {row_major_order(shape.size()), channels_last_order(shape.size())};
    Order backwards = row_major_order(shape.size());
    std::reverse(backwards.begin(), backwards.end());
    orders.push_back(backwards);
    for (const DType dtype : {DType::uint8, DType::float16, DType::float32, DType::int64, DType::complex128}) {
      for (const Order& from : orders) {
        for (const Order& to : orders) {
          for (const std::int64_t gap : {0, 1}) {
            Stored source = allocate(dtype, shape, {from, gap, gap, gap == 1});
            for (std::byte& byte : source.memory) byte = static_cast<std::byte>(rng());
            Stored target = allocate(dtype, shape, {to, gap, 0, gap == 0});
            const kernels::StridedCopy copy(shape, source.strides, target.strides, size_of(dtype));
            copy.run_all(source.data(), target.data());
            CHECK(to_bytes(source) == to_bytes(target));
          }
        }
      }
    }
  }
}

TEST_CASE("strided copies: sources with strides of 0") {
  std::mt19937 rng(2);
  Stored source = random(rng, DType::float32, {3});
  Stored target = allocate(DType::float32, {4, 3, 5});
  kernels::StridedCopy({4, 3, 5}, {0, 1, 0}, target.strides, 4).run_all(source.data(), target.data());
  const auto* from = static_cast<const float*>(source.data());
  const auto* to = static_cast<const float*>(target.data());
  for (int i = 0; i < 60; ++i) CHECK(to[i] == from[i / 5 % 3]);
}

TEST_CASE("movement: identity, transpose, expand, concat, slice, split, pad and tile keep every bit") {
  std::mt19937 rng(3);
  for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}, Storage{{0, 2, 3, 1}, 2, 1}, Storage{{}, 0, 0, true}}) {
    const auto x = [&](DType dtype) { return random(rng, dtype, {2, 6, 5, 7}, storage); };
    for (const DType dtype : {DType::float32, DType::int64, DType::boolean, DType::float16}) {
      Case identity = make_case("identity", {}, {x(dtype)});
      check_case(identity);
      identity.output_gap = 2;
      check_case(identity);
      Case transpose = make_case("transpose", {{"perm", ints({2, 0, 3, 1})}}, {x(dtype)});
      check_case(transpose);
      Case concat = make_case("concat", {{"axis", std::int64_t{1}}}, {x(dtype), random(rng, dtype, {2, 3, 5, 7}), x(dtype)});
      check_case(concat);
      Case expand = make_case("expand", {}, {random(rng, dtype, {2, 1, 5, 1}), numbers(DType::int64, {5}, {3, 1, 6, 5, 7})});
      expand.inputs[0] = random(rng, dtype, {1, 6, 5, 1});
      check_case(expand);
      Case slice = make_case("slice", {},
                             {x(dtype), numbers(DType::int64, {2}, {4, 1}), numbers(DType::int64, {2}, {-100, 6}),
                              numbers(DType::int64, {2}, {1, 3}), numbers(DType::int64, {2}, {-2, 2})});
      check_case(slice);
      Case split = make_case("split", {{"axis", std::int64_t{1}}}, {x(dtype)});
      split.outputs = 3;
      check_case(split);
      Case reshape = make_case("reshape", {}, {x(dtype), numbers(DType::int64, {3}, {-1, 10, 3})});
      check_case(reshape);
      Case tile = make_case("tile", {}, {x(dtype), numbers(DType::int64, {4}, {1, 2, 1, 3})});
      check_case(tile);
    }
    for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
      Case pad = make_case("pad", {{"mode", std::string(mode)}},
                           {x(DType::float32), numbers(DType::int64, {8}, {0, 1, 2, 0, 1, 0, 2, 3})});
      check_case(pad);
    }
  }
}

TEST_CASE("pad: reflected, repeated and wrapped edges") {
  std::mt19937 rng(6);
  const std::vector<std::vector<double>> pads = {{0, 0, 1, 2, 0, 0, 3, 1}, {0, 2, 0, 0, 0, 1, 0, 4}, {0, 0, -1, 2, 0, 0, 2, -1},
                                                 {1, 0, 0, 0, 0, 0, 0, 6}, {0, 0, 9, 9, 0, 0, 9, 9}, {0, 0, -2, 0, 0, 0, -2, 0}};
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    for (const auto& amounts : pads) {
      for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}, Storage{{0, 2, 3, 1}, 3, 1}}) {
        for (const DType dtype : {DType::float32, DType::uint8}) {
          Case c = make_case("pad", {{"mode", std::string(mode)}},
                             {random(rng, dtype, {2, 3, 5, 7}, storage), numbers(DType::int64, {8}, amounts)});
          check_case(c);
          c.output_gap = 2;
          check_case(c);
        }
      }
    }
  }
  Case sound = make_case("pad", {{"mode", std::string("reflect")}},
                         {random(rng, DType::float32, {1, 1, 40000}), numbers(DType::int64, {6}, {0, 0, 100, 0, 0, 300})});
  CHECK(check_case(sound) == "pad_reflect");
}
