// Reductions and the ops along an axis.
#include <cmath>
#include <limits>

#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using Ints = std::vector<std::int64_t>;
using List = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

Tensor reduced(const std::string& kind, const Tensor& x, Ints axes, std::int64_t keep = 1) {
  const auto count = static_cast<std::int64_t>(axes.size());
  return run_one("reduce", {text("kind", kind), integer("keep_dims", keep)}, {x, int64s({count}, axes)});
}

double all_of(const std::string& kind, const List& x) {
  const Tensor y = run_one("reduce", {text("kind", kind), integer("keep_dims", 0)},
                           {tensor(DType::float64, {static_cast<std::int64_t>(x.size())}, x)});
  CHECK(y.shape() == Shape{});
  return numbers(y)[0];
}

}  // namespace

TEST_CASE("reductions of every kind") {
  const List x = {1, -2, 3, -4};
  CHECK(all_of("sum", x) == -2);
  CHECK(all_of("mean", x) == -0.5);
  CHECK(all_of("max", x) == 3);
  CHECK(all_of("min", x) == -4);
  CHECK(all_of("prod", x) == 24);
  CHECK(all_of("l1", x) == 10);
  CHECK(all_of("l2", x) == doctest::Approx(std::sqrt(30)));
  CHECK(all_of("sum_square", x) == 30);
  CHECK(all_of("log_sum", {1, 2, 3}) == doctest::Approx(std::log(6)));
  CHECK(all_of("log_sum_exp", {1, 2, 3, 0}) == doctest::Approx(std::log(std::exp(1) + std::exp(2) + std::exp(3) + 1)));
}

TEST_CASE("log_sum_exp neither overflows nor loses infinities") {
  CHECK(all_of("log_sum_exp", {1000, 1000}) == doctest::Approx(1000 + std::log(2)));
  CHECK(all_of("log_sum_exp", {-1000, -1001}) == doctest::Approx(-1000 + std::log1p(std::exp(-1))));
  CHECK(all_of("log_sum_exp", {-kInfinity, 2}) == 2);
  CHECK(all_of("log_sum_exp", {-kInfinity, -kInfinity}) == -kInfinity);
  CHECK(all_of("log_sum_exp", {1, kInfinity, 2, kInfinity}) == kInfinity);
  CHECK(std::isnan(all_of("log_sum_exp", {1, kNaN, 2})));
}

TEST_CASE("axes, kept or dropped") {
  const Tensor x = floats({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(reduced("sum", x, {1}).shape() == Shape{2, 1, 2});
  CHECK(numbers(reduced("sum", x, {1})) == List{6, 9, 24, 27});
  CHECK(reduced("sum", x, {-1, 0}, 0).shape() == Shape{3});
  CHECK(numbers(reduced("sum", x, {-1, 0}, 0)) == List{14, 22, 30});
  CHECK(numbers(reduced("max", x, {})) == List{11});
  const Tensor same = run_one("reduce", {text("kind", "sum_square"), integer("noop_with_empty_axes", 1)}, {x, int64s({0}, {})});
  CHECK(same.shape() == x.shape());
  CHECK(numbers(same)[11] == 121);
  CHECK(numbers(run_one("reduce", {text("kind", "mean")}, {floats({}, {5})})) == List{5});
  run_one("reduce", {text("kind", "mean")}, {pattern(DType::float16, {2, 300, 3}), int64s({1}, {1})});
}

TEST_CASE("empty reductions") {
  const Tensor x = floats({2, 0}, {});
  CHECK(numbers(reduced("sum", x, {1})) == List{0, 0});
  CHECK(numbers(reduced("prod", x, {1})) == List{1, 1});
  CHECK(numbers(reduced("max", x, {1})) == List{-kInfinity, -kInfinity});
  CHECK(numbers(reduced("min", x, {1})) == List{kInfinity, kInfinity});
  CHECK(numbers(reduced("log_sum_exp", x, {1})) == List{-kInfinity, -kInfinity});
  CHECK(std::isnan(numbers(reduced("mean", x, {1}))[0]));
  CHECK(reduced("sum", x, {0}).shape() == Shape{1, 0});
  CHECK(read_integers(reduced("max", tensor<std::int64_t>(DType::int8, {0}, {}), {0}).view()) == Ints{-128});
  CHECK(read_integers(reduced("min", tensor<std::int64_t>(DType::int8, {0}, {}), {0}).view()) == Ints{127});
  CHECK(read_integers(reduced("mean", int64s({0}, {}), {0}).view()) == Ints{0});
}

TEST_CASE("reductions of integers and of NaN") {
  CHECK(read_integers(reduced("mean", int64s({3}, {-1, -2, -5}), {0}).view()) == Ints{-2});
  CHECK(read_integers(reduced("sum", tensor<std::int64_t>(DType::int8, {3}, {100, 100, 1}), {0}).view()) == Ints{-55});
  CHECK(read_integers(reduced("l1", int64s({2}, {-3, 4}), {0}).view()) == Ints{7});
  CHECK(read_integers(reduced("l2", int64s({2}, {-3, 4}), {0}).view()) == Ints{5});
  CHECK(read_integers(reduced("max", tensor<std::int64_t>(DType::boolean, {2}, {0, 1}), {0}).view()) == Ints{1});
  const Tensor big = tensor<std::uint64_t>(DType::uint64, {2}, {~std::uint64_t{0}, 5});
  CHECK(reduced("max", big, {0}).span<std::uint64_t>()[0] == ~std::uint64_t{0});
  CHECK(reduced("min", big, {0}).span<std::uint64_t>()[0] == 5);
  CHECK(std::isnan(numbers(reduced("max", floats({3}, {1, kNaN, 2}), {0}))[0]));
  CHECK(std::isnan(numbers(reduced("min", floats({3}, {1, 2, kNaN}), {0}))[0]));
}

TEST_CASE("rules of reductions") {
  const Facts x = unknown(DType::float32, {n(), Dim(3), m()});
  CHECK(inferred("reduce", {text("kind", "sum")}, {x, list({Dim(1)})}) == "[N, 1, M]");
  CHECK(inferred("reduce", {text("kind", "sum"), integer("keep_dims", 0)}, {x, list({Dim(-1), Dim(0)})}) == "[3]");
  CHECK(inferred("reduce", {text("kind", "sum")}, {x, unknown(DType::int64, {n()})}) == "[?, ?, ?]");
  CHECK(inferred("reduce", {text("kind", "sum"), integer("keep_dims", 0)}, {x, unknown(DType::int64, {n()})}) == "unranked");
  CHECK(fails("reduce", {text("kind", "sum")}, {x, list({Dim(3)})}, "axis 3"));
  CHECK(fails("reduce", {text("kind", "sum")}, {x, list({Dim(0), Dim(-3)})}, "twice"));
  CHECK(fails("reduce", {text("kind", "sum")}, {unknown(DType::boolean, {n()})}, "number"));
  const auto element = [](const std::string& kind, std::vector<Dim> elements) {
    return inferred_elements("reduce", {text("kind", kind), integer("keep_dims", 0)}, {list(std::move(elements))});
  };
  CHECK(element("prod", {n(), Dim(3)}) == "[3*N]");
  CHECK(element("sum", {n(), n(), Dim(3)}) == "[2*N + 3]");
  CHECK(element("max", {n(), n() + Dim(1)}) == "[N + 1]");
  CHECK(element("max", {n(), m()}) == "[?]");
  CHECK(element("mean", {Dim(1)}) == "none");
}

TEST_CASE("arg_reduce") {
  const auto indices = [](const Tensor& x, const std::string& kind, std::int64_t axis, std::int64_t last = 0,
                          std::int64_t keep = 0) {
    return run_one("arg_reduce",
                   {text("kind", kind), integer("axis", axis), integer("keep_dims", keep), integer("select_last", last)}, {x});
  };
  const Tensor x = floats({2, 3}, {1, 3, 3, -1, -5, -5});
  CHECK(read_integers(indices(x, "max", 1).view()) == Ints{1, 0});
  CHECK(read_integers(indices(x, "max", 1, 1).view()) == Ints{2, 0});
  CHECK(read_integers(indices(x, "min", -1).view()) == Ints{0, 1});
  CHECK(read_integers(indices(x, "min", 1, 1).view()) == Ints{0, 2});
  CHECK(indices(x, "max", 0, 0, 1).shape() == Shape{1, 3});
  CHECK(read_integers(indices(x, "max", 0).view()) == Ints{0, 0, 0});
  const Tensor nan = floats({4}, {1, kNaN, 5, kNaN});
  CHECK(read_integers(indices(nan, "max", 0).view()) == Ints{1});
  CHECK(read_integers(indices(nan, "min", 0).view()) == Ints{1});
  CHECK(read_integers(indices(nan, "max", 0, 1).view()) == Ints{3});
  CHECK(indices(floats({0, 2}, {}), "max", 1).shape() == Shape{0});
  CHECK(fails("arg_reduce", {text("kind", "max"), integer("axis", 0)}, {known(floats({0, 2}, {}))}, "empty"));
  CHECK(fails("arg_reduce", {text("kind", "max"), integer("axis", 0)}, {known(floats({}, {1}))}, "axis 0"));
}

TEST_CASE("cumsum") {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto sums = [&](std::int64_t axis, std::int64_t exclusive, std::int64_t reverse) {
    return numbers(run_one("cumsum", {integer("exclusive", exclusive), integer("reverse", reverse)}, {x, int64s({}, {axis})}));
  };
  CHECK(sums(1, 0, 0) == List{1, 3, 6, 4, 9, 15});
  CHECK(sums(-1, 1, 0) == List{0, 1, 3, 0, 4, 9});
  CHECK(sums(1, 0, 1) == List{6, 5, 3, 15, 11, 6});
  CHECK(sums(1, 1, 1) == List{5, 3, 0, 11, 6, 0});
  CHECK(sums(0, 0, 0) == List{1, 2, 3, 5, 7, 9});
  CHECK(read_integers(run_one("cumsum", {}, {int64s({2}, {INT64_MAX, 1}), int64s({1}, {0})}).view()) ==
        Ints{INT64_MAX, INT64_MIN});
  CHECK(run_one("cumsum", {}, {floats({0, 3}, {}), int64s({}, {0})}).shape() == Shape{0, 3});
  CHECK(fails("cumsum", {}, {known(x), scalar(Dim(2))}, "axis 2"));
}

TEST_CASE("top_k") {
  const auto best = [](const Tensor& x, std::int64_t k, std::int64_t axis, std::int64_t largest = 1) {
    return run(make_node("top_k", 2, 2, {integer("axis", axis), integer("largest", largest), integer("sorted", 1)}),
               {x, int64s({1}, {k})});
  };
  const Tensor x = floats({2, 4}, {3, 1, 3, 2, -1, kNaN, 0, kInfinity});
  const Tensors largest = best(x, 3, 1);
  CHECK(largest[0].shape() == Shape{2, 3});
  CHECK(read_integers(largest[1].view()) == Ints{0, 2, 3, 1, 3, 2});
  CHECK(numbers(largest[0])[2] == 2);
  CHECK(std::isnan(numbers(largest[0])[3]));
  CHECK(read_integers(best(x, 2, -1, 0)[1].view()) == Ints{1, 3, 0, 2});
  CHECK(read_integers(best(x, 1, 0)[1].view()) == Ints{0, 1, 0, 1});
  CHECK(best(x, 0, 1)[0].shape() == Shape{2, 0});
  CHECK(read_integers(best(int64s({3}, {5, INT64_MIN, INT64_MAX}), 3, 0)[1].view()) == Ints{2, 0, 1});
  const Node node = make_node("top_k", 2, 2, {integer("axis", 0)});
  CHECK(failure(node, {known(floats({2}, {1, 2})), list({Dim(3)})}).find("k is 3") != std::string::npos);
  CHECK(failure(node, {known(floats({2}, {1, 2})), list({Dim(-1)})}).find("k is -1") != std::string::npos);
  CHECK(shape_text(infer(node, {unknown(DType::float32, {n(), m()}), unknown(DType::int64, {Dim(1)})})[1]) == "[?, M]");
  CHECK(shape_text(infer(node, {unknown(DType::float32, {n()}), list({m()})})[0]) == "[M]");
}
