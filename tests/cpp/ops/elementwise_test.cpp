// Unary and binary ops, cast, clip and where against hand-made and std:: results.
#include <cmath>
#include <functional>
#include <limits>

#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using List = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> whole(const std::string& op, Attributes attributes, const Tensors& inputs) {
  return read_integers(run_one(op, std::move(attributes), inputs).view());
}

/// Equal, where NaN equals NaN.
void check_same(const List& got, const List& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK((std::isnan(wanted[i]) ? std::isnan(got[i]) : got[i] == wanted[i]));
  }
}

}  // namespace

TEST_CASE("functions of one float") {
  const std::vector<std::pair<std::string, std::function<double(double)>>> functions = {
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"softplus", [](double x) { return std::log(1 + std::exp(x)); }},
      {"softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"hard_swish", [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"mish", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }},
      {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
  };
  const List inputs = {-3.75, -1, -0.5, 0.25, 0.5, 1, 2.5, 7};
  for (const auto& [name, function] : functions) {
    CAPTURE(name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      List wanted;
      for (const double x : inputs) wanted.push_back(function(x));
      const List got = numbers(run_one(name, {}, {tensor(dtype, {2, 2, 2}, inputs)}));
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(inputs[i]);
        if (std::isnan(wanted[i])) {
          CHECK(std::isnan(got[i]));
        } else {
          CHECK((got[i] == wanted[i] || got[i] == doctest::Approx(wanted[i]).epsilon(1e-7)));
        }
      }
    }
    run_one(name, {}, {pattern(DType::float16, {3, 5})});
    run_one(name, {}, {pattern(DType::bfloat16, {0, 5})});
  }
}

TEST_CASE("functions with attributes") {
  const Tensor x = floats({4}, {-2, -0.5, 0.5, 2});
  check_close(run_one("leaky_relu", {number("alpha", 0.1)}, {x}), {-0.2, -0.05, 0.5, 2});
  check_close(run_one("elu", {number("alpha", 2)}, {x}), {2 * std::expm1(-2), 2 * std::expm1(-0.5), 0.5, 2});
  check_close(run_one("celu", {number("alpha", 2)}, {x}), {2 * std::expm1(-1), 2 * std::expm1(-0.25), 0.5, 2});
  check_close(run_one("selu", {number("alpha", 2), number("gamma", 3)}, {x}), {6 * std::expm1(-2), 6 * std::expm1(-0.5), 1.5, 6});
  check_close(run_one("thresholded_relu", {number("alpha", 0.5)}, {x}), {0, 0, 0, 2});
  check_close(run_one("hard_sigmoid", {number("alpha", 0.5), number("beta", 0.25)}, {x}), {0, 0, 0.5, 1});
  check_close(run_one("gelu", {text("approximate", "tanh")}, {floats({1}, {1})}), {0.841192}, 1e-5);
  check_same(numbers(run_one("is_inf", {}, {floats({3}, {-kInfinity, kNaN, kInfinity})})), {1, 0, 1});
  check_same(numbers(run_one("is_inf", {integer("negative", 0), integer("positive", 1)}, {floats({2}, {-kInfinity, kInfinity})})),
             {0, 1});
  check_same(numbers(run_one("is_nan", {}, {floats({3}, {-kInfinity, kNaN, 0})})), {0, 1, 0});
}

TEST_CASE("rounding is half to even, and NaN and infinity pass") {
  check_same(numbers(run_one("round", {}, {floats({6}, {0.5, 1.5, -0.5, -2.5, kNaN, kInfinity})})),
             {0, 2, 0, -2, kNaN, kInfinity});
  check_same(numbers(run_one("relu", {}, {floats({3}, {kNaN, -kInfinity, kInfinity})})), {kNaN, 0, kInfinity});
  check_same(numbers(run_one("sign", {}, {floats({4}, {kNaN, -0.5, 0, 9})})), {kNaN, -1, 0, 1});
  check_same(numbers(run_one("sigmoid", {}, {floats({3}, {-1e6, 1e6, kNaN})})), {0, 1, kNaN});
  check_same(numbers(run_one("softplus", {}, {floats({2}, {-1e6, 1e6})})), {0, 1e6});
  check_same(numbers(run_one("hard_sigmoid", {number("alpha", 1), number("beta", 0)}, {floats({1}, {kNaN})})), {kNaN});
  check_same(numbers(run_one("max", {}, {floats({3}, {kNaN, 1, 2}), floats({3}, {0, kNaN, 3})})), {kNaN, kNaN, 3});
  check_same(numbers(run_one("min", {}, {floats({3}, {kNaN, 1, 2}), floats({3}, {0, kNaN, 3})})), {kNaN, kNaN, 2});
}

TEST_CASE("integers wrap and never trap") {
  CHECK(whole("neg", {}, {int64s({2}, {5, kLowest})}) == std::vector<std::int64_t>{-5, kLowest});
  CHECK(whole("abs", {}, {int64s({2}, {-5, kLowest})}) == std::vector<std::int64_t>{5, kLowest});
  CHECK(whole("abs", {}, {tensor<std::int64_t>(DType::int8, {1}, {-128})}) == std::vector<std::int64_t>{-128});
  CHECK(whole("sign", {}, {int64s({3}, {-5, 0, 5})}) == std::vector<std::int64_t>{-1, 0, 1});
  CHECK(whole("relu", {}, {int64s({2}, {-5, 5})}) == std::vector<std::int64_t>{0, 5});
  CHECK(whole("add", {}, {int64s({1}, {kHighest}), int64s({1}, {1})}) == std::vector<std::int64_t>{kLowest});
  CHECK(whole("mul", {}, {int64s({1}, {kHighest}), int64s({1}, {2})}) == std::vector<std::int64_t>{-2});
  CHECK(whole("div", {}, {int64s({5}, {7, -7, 7, kLowest, 3}), int64s({5}, {2, 2, -2, -1, 0})}) ==
        std::vector<std::int64_t>{3, -3, -3, kLowest, 0});
  CHECK(whole("sub", {}, {tensor<std::int64_t>(DType::uint8, {1}, {3}), tensor<std::int64_t>(DType::uint8, {1}, {5})}) ==
        std::vector<std::int64_t>{254});
  CHECK(whole("mod", {}, {int64s({6}, {7, -7, 7, -7, 5, kLowest}), int64s({6}, {3, 3, -3, -3, 0, -1})}) ==
        std::vector<std::int64_t>{1, 2, -2, -1, 0, 0});
  CHECK(whole("mod", {integer("fmod", 1)}, {int64s({4}, {7, -7, 7, -7}), int64s({4}, {3, 3, -3, -3})}) ==
        std::vector<std::int64_t>{1, -1, 1, -1});
  check_same(numbers(run_one("mod", {integer("fmod", 1)}, {floats({2}, {-5.5, 5.5}), floats({2}, {2, -2})})), {-1.5, 1.5});
  const Tensor big = tensor<std::uint64_t>(DType::uint64, {2}, {~std::uint64_t{0}, std::uint64_t{1} << 63});
  const Tensor two = tensor<std::uint64_t>(DType::uint64, {}, {2});
  CHECK(run_one("div", {}, {big, two}).span<std::uint64_t>()[0] == kHighest);
  CHECK(run_one("max", {}, {big, two}).span<std::uint64_t>()[1] == std::uint64_t{1} << 63);
  CHECK(whole("greater", {}, {big, two}) == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("powers of mixed dtypes") {
  check_close(run_one("pow", {}, {floats({3}, {2, 9, -2}), floats({3}, {10, 0.5, 3})}), {1024, 3, -8});
  CHECK(whole("pow", {}, {int64s({5}, {3, 2, -1, 0, 1}), int64s({5}, {4, -1, -3, -1, -9})}) ==
        std::vector<std::int64_t>{81, 0, -1, 0, 1});
  CHECK(whole("pow", {}, {int64s({1}, {9}), floats({1}, {0.5})}) == std::vector<std::int64_t>{3});
  check_close(run_one("pow", {}, {floats({1}, {1.5}), int64s({1}, {2})}), {2.25});
  CHECK(whole("pow", {}, {int64s({1}, {3}), int64s({1}, {40})}) == std::vector<std::int64_t>{-6289078614652622815});
}

TEST_CASE("bits and logic") {
  const Tensor a = tensor<std::int64_t>(DType::uint8, {4}, {0b1100, 255, 1, 128}),
               b = tensor<std::int64_t>(DType::uint8, {4}, {0b1010, 1, 9, 7});
  CHECK(whole("bitwise_and", {}, {a, b}) == std::vector<std::int64_t>{0b1000, 1, 1, 0});
  CHECK(whole("bitwise_or", {}, {a, b}) == std::vector<std::int64_t>{0b1110, 255, 9, 135});
  CHECK(whole("bitwise_xor", {}, {a, b}) == std::vector<std::int64_t>{0b0110, 254, 8, 135});
  CHECK(whole("bitwise_not", {}, {a}) == std::vector<std::int64_t>{243, 0, 254, 127});
  CHECK(whole("bit_shift", {text("direction", "left")}, {a, b}) == std::vector<std::int64_t>{0, 254, 0, 0});
  CHECK(whole("bit_shift", {text("direction", "right")}, {a, b}) == std::vector<std::int64_t>{0, 127, 0, 1});
  const Tensor c = tensor<std::int64_t>(DType::int8, {6}, {-8, -1, 4, 64, -8, 1});
  const Tensor d = tensor<std::int64_t>(DType::int8, {6}, {1, 8, 9, 1, -1, 7});
  CHECK(whole("bit_shift", {text("direction", "right")}, {c, d}) == std::vector<std::int64_t>{-4, -1, 0, 32, -1, 0});
  CHECK(whole("bit_shift", {text("direction", "left")}, {c, d}) == std::vector<std::int64_t>{-16, 0, 0, -128, 0, -128});
  const Tensor p = tensor<std::int64_t>(DType::boolean, {4}, {0, 0, 1, 1}),
               q = tensor<std::int64_t>(DType::boolean, {4}, {0, 1, 0, 1});
  CHECK(whole("and", {}, {p, q}) == std::vector<std::int64_t>{0, 0, 0, 1});
  CHECK(whole("or", {}, {p, q}) == std::vector<std::int64_t>{0, 1, 1, 1});
  CHECK(whole("xor", {}, {p, q}) == std::vector<std::int64_t>{0, 1, 1, 0});
  CHECK(whole("not", {}, {p}) == std::vector<std::int64_t>{1, 1, 0, 0});
  CHECK(whole("equal", {}, {p, q}) == std::vector<std::int64_t>{1, 0, 0, 1});
}

TEST_CASE("comparisons, NaN included") {
  const Tensor a = floats({4}, {1, 2, 3, kNaN}), b = floats({4}, {2, 2, 2, kNaN});
  CHECK(whole("equal", {}, {a, b}) == std::vector<std::int64_t>{0, 1, 0, 0});
  CHECK(whole("less", {}, {a, b}) == std::vector<std::int64_t>{1, 0, 0, 0});
  CHECK(whole("less_equal", {}, {a, b}) == std::vector<std::int64_t>{1, 1, 0, 0});
  CHECK(whole("greater", {}, {a, b}) == std::vector<std::int64_t>{0, 0, 1, 0});
  CHECK(whole("greater_equal", {}, {a, b}) == std::vector<std::int64_t>{0, 1, 1, 0});
}

TEST_CASE("operands broadcast both ways") {
  const Tensor y = run_one("add", {}, {floats({2, 1, 2}, {0, 1, 2, 3}), floats({3, 1}, {10, 20, 30})});
  CHECK(y.shape() == Shape{2, 3, 2});
  check_same(numbers(y), {10, 11, 20, 21, 30, 31, 12, 13, 22, 23, 32, 33});
  CHECK(run_one("mul", {}, {floats({0, 3}, {}), floats({}, {2})}).shape() == Shape{0, 3});
  CHECK(run_one("sub", {}, {floats({}, {5}), floats({}, {2})}).shape() == Shape{});
  check_same(numbers(run_one("prelu", {}, {floats({2, 2}, {-1, 2, -3, -4}), floats({2, 1}, {0.5, 10})})), {-0.5, 2, -30, -40});
  const Facts x = unknown(DType::float32, {Dim::symbol(0), Dim(3)});
  CHECK(failure(make_node("add", 2, 1, {}), {x, unknown(DType::float32, {Dim(4)})}).find("do not broadcast") !=
        std::string::npos);
  CHECK(failure(make_node("add", 2, 1, {}), {x, unknown(DType::float64, {Dim(3)})}).find("float64") != std::string::npos);
  CHECK(failure(make_node("exp", 1, 1, {}), {unknown(DType::int32, {})}).find("must be a float") != std::string::npos);
  CHECK(failure(make_node("prelu", 2, 1, {}), {unknown(DType::float32, {Dim(1)}), unknown(DType::float32, {Dim(2)})}) != "");
  CHECK(shape_text(infer(make_node("add", 2, 1, {}), {x, unknown(DType::float32, {Dim(5), Dim(1), Dim(1)})})[0]) == "[5, N, 3]");
}

TEST_CASE("cast") {
  const Tensor x = floats({4}, {-1.5, 0, 2.5, 1e10});
  const auto to = [](DType dtype) { return integer("to", static_cast<std::int64_t>(dtype)); };
  CHECK(whole("cast", {to(DType::int32)}, {x}) == std::vector<std::int64_t>{-1, 0, 2, 2147483647});
  CHECK(whole("cast", {to(DType::int4)}, {floats({4}, {-9, 8, -1.5, 17})}) == std::vector<std::int64_t>{7, -8, -1, 1});
  CHECK(whole("cast", {to(DType::uint2)}, {floats({2}, {-3, 5.9})}) == std::vector<std::int64_t>{1, 1});
  CHECK(elements_text(infer(make_node("cast", 1, 1, {to(DType::uint4)}), {known(floats({1}, {-9}))})[0]) == "[7]");
  CHECK(whole("cast", {to(DType::boolean)}, {x}) == std::vector<std::int64_t>{1, 0, 1, 1});
  CHECK(whole("cast", {to(DType::int8)}, {int64s({2}, {300, -1})}) == std::vector<std::int64_t>{44, -1});
  check_same(numbers(run_one("cast", {to(DType::float8e4m3fn)}, {floats({2}, {1e10, kInfinity})})), {448, 448});
  check_same(numbers(run_one("cast", {to(DType::float8e4m3fn), integer("saturate", 0)}, {floats({1}, {1e10})})), {kNaN});
  check_same(numbers(run_one("cast", {to(DType::float16)}, {tensor(DType::float64, {1}, List{1.00048828125000001})})), {1});
  CHECK(failure(make_node("cast", 1, 1, {integer("to", 99)}), {known(x)}).find("99") != std::string::npos);
  CHECK(failure(make_node("cast", 1, 1, {to(DType::string)}), {known(x)}) != "");
  CHECK(elements_text(infer(make_node("cast", 1, 1, {to(DType::int32)}), {list({n(), Dim(3)})})[0]) == "[N, 3]");
  CHECK(elements_text(infer(make_node("cast", 1, 1, {to(DType::boolean)}), {list({n(), n() + Dim(1), Dim(3)})})[0]) ==
        "[?, 1, 1]");
  CHECK(elements_text(infer(make_node("cast", 1, 1, {to(DType::int64)}), {known(floats({2}, {2.7, -1}))})[0]) == "[2, -1]");
}

TEST_CASE("cast to powers of two rounds as asked") {
  const Tensor x = floats({4}, {1, 1.4, 3, 1e-45});
  const auto rounded = [&](const char* mode, std::int64_t saturate) {
    return numbers(run_one(
        "cast",
        {integer("to", static_cast<std::int64_t>(DType::float8e8m0)), integer("saturate", saturate), text("rounding", mode)},
        {x}));
  };
  const double least = std::ldexp(1.0, -127);
  CHECK(rounded("up", 1) == List{1, 2, 4, least});
  CHECK(rounded("down", 1) == List{1, 1, 2, least});
  CHECK(rounded("nearest", 1) == List{1, 1, 4, least});
  check_same(rounded("nearest", 0), {1, 1, 4, kNaN});
}

TEST_CASE("clip and where") {
  const Tensor x = floats({4}, {-5, 0.5, 5, kNaN});
  check_same(numbers(run_one("clip", {}, {x, floats({}, {-1}), floats({}, {1})})), {-1, 0.5, 1, kNaN});
  check_same(numbers(run_one("clip", {}, {x, {}, floats({1}, {1})})), {-5, 0.5, 1, kNaN});
  check_same(numbers(run_one("clip", {}, {x, floats({}, {3}), floats({}, {1})})), {1, 1, 1, kNaN});
  CHECK(whole("clip", {}, {int64s({3}, {-9, 0, 9}), int64s({}, {-2}), int64s({}, {2})}) == std::vector<std::int64_t>{-2, 0, 2});
  CHECK(failure(make_node("clip", 2, 1, {}), {known(x), known(floats({2}, {1, 2}))}).find("one element") != std::string::npos);
  const Tensor condition = tensor<std::int64_t>(DType::boolean, {2, 1}, {1, 0});
  CHECK(whole("where", {}, {condition, int64s({3}, {1, 2, 3}), int64s({}, {9})}) == std::vector<std::int64_t>{1, 2, 3, 9, 9, 9});
  Facts pick = list({Dim(1), Dim(0), Dim::unknown()});
  pick.dtype = DType::boolean;
  CHECK(elements_text(infer(make_node("where", 3, 1, {}), {pick, list({n()}), list({Dim(1), Dim(2), n()})})[0]) == "[N, 2, N]");
}

TEST_CASE("arithmetic on symbolic sizes") {
  const auto binary = [](const std::string& op, Facts a, Facts b, Attributes attributes = {}) {
    return elements_text(infer(make_node(op, 2, 1, std::move(attributes)), {std::move(a), std::move(b)})[0]);
  };
  CHECK(binary("add", list({n(), Dim(2)}), list({Dim(3)})) == "[N + 3, 5]");
  CHECK(binary("sub", list({n()}), list({n()})) == "[0]");
  CHECK(binary("mul", list({n(), n()}), list({Dim(2), n()})) == "[2*N, ?]");
  CHECK(binary("div", list({n() * Dim(4), n(), Dim(-7)}), list({Dim(2)})) == "[2*N, ?, -3]");
  CHECK(binary("div", list({n() * Dim(2) - Dim(1)}), list({Dim(2)})) == "[?]");  // -1/2 is 0, not -1
  CHECK(binary("mod", list({n() * Dim(4) + Dim(1), Dim(-7)}), list({Dim(2)})) == "[1, 1]");
  CHECK(binary("max", list({n(), n() + Dim(1), Dim(3)}), list({Dim(1), n(), Dim(2)})) == "[?, N + 1, 3]");
  CHECK(binary("min", list({n(), n()}), list({Dim(0), n() + Dim(2)})) == "[0, N]");
  CHECK(binary("equal", list({n(), n(), n(), n()}), list({n(), n() + Dim(1), Dim(-1), Dim(3)})) == "[1, 0, 0, ?]");
  CHECK(binary("less", list({Dim(-1), n(), n()}), list({n(), n(), Dim(0)})) == "[1, 0, ?]");
  CHECK(binary("less", list({Dim(kLowest)}), list({Dim(kHighest)})) == "[1]");
  CHECK(elements_text(infer(make_node("neg", 1, 1, {}), {list({n(), Dim(2)})})[0]) == "[-N, -2]");
  Facts small = list({Dim(2147483647)});
  small.dtype = DType::int32;
  CHECK(binary("add", small, small) == "[?]");
}
