// Elementwise steps against the reference: broadcasting, orders, gaps, dtypes, in place.
#include <limits>

#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

const std::vector<std::pair<Shape, Shape>> kShapes = {
    {{2, 6, 5, 7}, {2, 6, 5, 7}},
    {{2, 6, 5, 7}, {6, 1, 1}},
    {{2, 6, 5, 7}, {1}},
    {{2, 6, 5, 7}, {2, 6, 1, 1}},
    {{2, 6, 1, 7}, {1, 5, 1}},
    {{3, 1}, {1, 4}},
    {{}, {2, 3}},
    {{}, {}},
    {{0, 3}, {3}},
    {{2, 1, 5, 7}, {2, 6, 5, 7}},
    {{1, 6, 5, 7}, {7}},
    {{40000}, {40000}},
    {{3, 5000}, {3, 1}},
    {{2, 3, 40, 41}, {2, 1, 40, 41}},
};

Storage fit(const Storage& storage, const Shape& shape) { return shape.size() == 4 ? storage : Storage{}; }

}  // namespace

TEST_CASE("binary ops: shapes, orders, gaps, in place") {
  std::mt19937 rng(1);
  const std::vector<Storage> storages = {{}, {{0, 2, 3, 1}}, {{0, 2, 3, 1}, 3, 1}, {{}, 0, 0, true}};
  for (const auto& [a, b] : kShapes) {
    for (const Storage& left : storages) {
      for (const Storage& right : storages) {
        if (a.elements() > 1000 && (left.gap != 0 || right.gap != 0)) continue;
        for (const char* op : {"add", "sub", "div", "max"}) {
          Case c =
              make_case(op, {}, {random(rng, DType::float32, a, fit(left, a)), random(rng, DType::float32, b, fit(right, b))});
          CHECK(check_case(c, 1e-6) == "f32_" + std::string(op));
          c.in_place = true;
          check_case(c, 1e-6);
          c.in_place = false;
          c.output_gap = 3;
          check_case(c, 1e-6);
        }
      }
    }
  }
}

TEST_CASE("binary ops: other dtypes keep the inputs' order") {
  std::mt19937 rng(2);
  for (const DType dtype : {DType::int64, DType::int32, DType::uint8, DType::float64, DType::float16}) {
    for (const char* op : {"add", "mul", "min", "less", "equal", "greater_equal"}) {
      for (const auto& [a, b] : kShapes) {
        Case c = make_case(op, {}, {random(rng, dtype, a, fit({{0, 2, 3, 1}}, a)), random(rng, dtype, b)});
        check_case(c);
        c.in_place = true;
        check_case(c);
      }
    }
  }
  for (const char* op : {"less", "equal", "greater"}) {
    Case c = make_case(op, {}, {random(rng, DType::float32, {5, 300}), random(rng, DType::float32, {300})});
    static_cast<float*>(c.inputs[0].data())[7] = std::numeric_limits<float>::quiet_NaN();
    check_case(c);
  }
  Case is_nan = make_case("is_nan", {}, {random(rng, DType::float32, {2, 6, 5, 7}, {{0, 2, 3, 1}, 1})});
  static_cast<float*>(is_nan.inputs[0].data())[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(check_case(is_nan) == "typed_is_nan");
  Case negation = make_case("not", {}, {random(rng, DType::boolean, {2, 6, 5, 7}, {{0, 2, 3, 1}, 1})});
  check_case(negation);
  for (const char* op : {"and", "or", "xor"}) {
    Case c = make_case(op, {}, {random(rng, DType::boolean, {5, 300}), random(rng, DType::boolean, {5, 1})});
    check_case(c);
  }
}

TEST_CASE("casts, and integers' own ops") {
  std::mt19937 rng(12);
  const DType types[] = {DType::float32, DType::int64, DType::int32, DType::int8, DType::uint8, DType::boolean};
  for (const DType from : types) {
    for (const DType to : types) {
      Case c = make_case("cast", {{"to", static_cast<std::int64_t>(to)}}, {random(rng, from, {2, 6, 5, 70}, {{0, 2, 3, 1}, 1})});
      CHECK(check_case(c) == "typed_cast");
    }
  }
  for (const char* op : {"neg", "abs"}) {
    for (const DType dtype : {DType::int64, DType::int32}) {
      Case c = make_case(op, {}, {random(rng, dtype, {3, 700})});
      CHECK(check_case(c) == "typed_" + std::string(op));
    }
  }
  Case infinite = make_case("is_inf", {}, {random(rng, DType::float32, {3, 70})});
  static_cast<float*>(infinite.inputs[0].data())[7] = -std::numeric_limits<float>::infinity();
  CHECK(check_case(infinite) == "typed_is_inf");
  infinite.node.attributes.push_back({"negative", std::int64_t{0}});
  CHECK(check_case(infinite) == "reference_is_inf");
  for (const char* op : {"bitwise_and", "bitwise_or", "bitwise_xor"}) {
    for (const DType dtype : {DType::int64, DType::int32, DType::uint8}) {
      Case c = make_case(op, {}, {random(rng, dtype, {1, 70}), random(rng, dtype, {30, 1})});
      CHECK(check_case(c) == "typed_" + std::string(op));
    }
  }
}

TEST_CASE("unary ops") {
  std::mt19937 rng(3);
  for (const char* op : {"neg", "abs", "exp", "sqrt", "floor", "sign", "erf", "sigmoid", "tanh", "relu", "softplus", "hard_swish",
                         "silu", "mish", "log"}) {
    for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}, Storage{{0, 2, 3, 1}, 3, 1}, Storage{{}, 1, 0, true}}) {
      Case c = make_case(op, {}, {random(rng, DType::float32, {2, 6, 15, 20}, storage)});
      CHECK(check_case(c, 2e-6) == "f32_" + std::string(op));
      c.output_gap = 1;
      check_case(c, 2e-6);
      c.in_place = true;
      check_case(c, 2e-6);
    }
    Case other = make_case(op, {}, {random(rng, DType::float64, {2, 6})});
    check_case(other);
    auto* x = static_cast<float*>(nullptr);
    Case special = make_case(op, {}, {random(rng, DType::float32, {8})});
    x = static_cast<float*>(special.inputs[0].data());
    x[0] = std::numeric_limits<float>::quiet_NaN();
    x[1] = std::numeric_limits<float>::infinity();
    x[2] = -x[1];
    x[3] = -0.0F;
    check_case(special, 2e-6);
  }
  for (const char* op : {"leaky_relu", "elu", "celu", "thresholded_relu"}) {
    Case c = make_case(op, {{"alpha", 0.3}}, {random(rng, DType::float32, {700})});
    check_case(c, 2e-6);
  }
  Case selu = make_case("selu", {{"alpha", 1.5}, {"gamma", 1.1}}, {random(rng, DType::float32, {700})});
  check_case(selu, 2e-6);
  Case sigmoid = make_case("hard_sigmoid", {{"alpha", 0.3}, {"beta", 0.4}}, {random(rng, DType::float32, {700})});
  check_case(sigmoid, 2e-6);
  for (const char* approximate : {"none", "tanh"}) {
    Case gelu = make_case("gelu", {{"approximate", std::string(approximate)}}, {random(rng, DType::float32, {700})});
    check_case(gelu, 2e-6);
  }
}

TEST_CASE("clip: bounds given, left out, crossing, infinite") {
  std::mt19937 rng(4);
  const Stored none;
  const auto bound = [](double x) { return numbers(DType::float32, {}, {x}); };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [low, high] : std::vector<std::pair<Stored, Stored>>{{bound(-0.5), bound(0.5)},
                                                                        {none, bound(0.25)},
                                                                        {bound(0.0), none},
                                                                        {none, none},
                                                                        {bound(1), bound(-1)},
                                                                        {bound(-infinity), bound(6)}}) {
    Case c = make_case("clip", {}, {random(rng, DType::float32, {700}), low, high});
    static_cast<float*>(c.inputs[0].data())[3] = std::numeric_limits<float>::quiet_NaN();
    check_case(c, 0);
    c.in_place = true;
    check_case(c, 0);
  }
  Case integers =
      make_case("clip", {}, {random(rng, DType::int32, {700}), numbers(DType::int32, {}, {-1}), numbers(DType::int32, {}, {2})});
  check_case(integers);
}

TEST_CASE("prelu, pow, where, cast") {
  std::mt19937 rng(5);
  for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}, Storage{{0, 2, 3, 1}, 2}}) {
    Case prelu =
        make_case("prelu", {}, {random(rng, DType::float32, {2, 6, 5, 7}, storage), random(rng, DType::float32, {6, 1, 1})});
    check_case(prelu, 1e-6);
    Case power = make_case("pow", {}, {random(rng, DType::float32, {2, 6, 5, 7}, storage), numbers(DType::float32, {}, {2})});
    check_case(power, 2e-6);
    for (const DType dtype : {DType::float32, DType::int64, DType::boolean, DType::float16}) {
      Case where = make_case(
          "where", {},
          {random(rng, DType::boolean, {2, 1, 5, 7}), random(rng, dtype, {2, 6, 5, 7}, storage), random(rng, dtype, {6, 1, 1})});
      check_case(where);
      where.inputs[1] = random(rng, dtype, {1});
      check_case(where);
      where.inputs[0] = random(rng, DType::boolean, {2, 6, 5, 7}, storage);
      check_case(where);
    }
    for (const DType from :
         {DType::float32, DType::int64, DType::int32, DType::uint8, DType::int8, DType::boolean, DType::float16}) {
      for (const DType to :
           {DType::float32, DType::int64, DType::int32, DType::uint8, DType::int8, DType::boolean, DType::float16}) {
        Case cast = make_case("cast", {{"to", static_cast<std::int64_t>(to)}}, {random(rng, from, {2, 6, 5, 70}, storage)});
        if (from == DType::float32) {
          auto* x = static_cast<float*>(cast.inputs[0].data());
          x[0] = std::numeric_limits<float>::quiet_NaN();
          x[1] = std::numeric_limits<float>::infinity();
          x[2] = -3e20F;
          x[3] = 255.7F;
          x[4] = -1.5F;
        }
        check_case(cast, 0);
      }
    }
  }
}
