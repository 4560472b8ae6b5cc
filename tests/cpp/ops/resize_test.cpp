// resize by hand: nearest modes, coordinates, filters, sizes, crops, dtypes and refusals.
#include "ops/resize_axis.h"

#include <cmath>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using List = std::vector<double>;

Tensor numbers_tensor(const List& values) { return floats({static_cast<std::int64_t>(values.size())}, values); }
Tensor sizes_tensor(const std::vector<std::int64_t>& values) {
  return int64s({static_cast<std::int64_t>(values.size())}, values);
}

/// Resizes the last axis of a vector to a size, or by a scale.
List to_size(const List& x, std::int64_t size, Attributes attributes) {
  return numbers(run_one("resize", std::move(attributes), {numbers_tensor(x), sizes_tensor({size})}));
}
List by_scale(const List& x, double scale, Attributes attributes) {
  return numbers(run_one("resize", std::move(attributes), {numbers_tensor(x), Tensor(), numbers_tensor({scale})}));
}

Attributes nearest(const char* coordinates, const char* mode) {
  return {text("mode", "nearest"), text("coordinates", coordinates), text("nearest_mode", mode)};
}
Attributes filter(const char* mode, const char* coordinates, Attributes more = {}) {
  more.push_back(text("mode", mode));
  more.push_back(text("coordinates", coordinates));
  return more;
}

void check_near(const List& got, const List& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("nearest picks by its rounding rule") {
  const List x = {1, 2, 3, 4};
  // Asymmetric coordinates of 8 outputs: 0, ½, 1, 1½ …
  CHECK(to_size(x, 8, nearest("asymmetric", "floor")) == List{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(to_size(x, 8, nearest("asymmetric", "ceil")) == List{1, 2, 2, 3, 3, 4, 4, 4});
  CHECK(to_size(x, 8, nearest("asymmetric", "round_prefer_floor")) == List{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(to_size(x, 8, nearest("asymmetric", "round_prefer_ceil")) == List{1, 2, 2, 3, 3, 4, 4, 4});
  CHECK(to_size(x, 2, nearest("half_pixel", "round_prefer_floor")) == List{1, 3});
  CHECK(to_size(x, 2, nearest("half_pixel", "round_prefer_ceil")) == List{2, 4});
  CHECK(to_size(x, 3, nearest("align_corners", "round_prefer_floor")) == List{1, 2, 4});
  CHECK(to_size(x, 1, nearest("align_corners", "floor")) == List{1});
  CHECK(to_size(x, 1, nearest("pytorch_half_pixel", "ceil")) == List{1});
  CHECK(to_size(x, 6, nearest("tf_half_pixel_for_nn", "floor")) == List{1, 2, 2, 3, 4, 4});
  // A tie that float32 arithmetic misses by one bit: 4 / (8 / 7) = 3.4999998.
  CHECK(to_size({0, 1, 2, 3, 4, 5, 6}, 8, nearest("asymmetric", "round_prefer_ceil"))[4] == 4);
  // A coordinate that float32 arithmetic brings to a whole number: 11 / (22 / 6) = 3.
  CHECK(to_size({0, 1, 2, 3, 4, 5}, 22, nearest("asymmetric", "floor"))[11] == 3);
}

TEST_CASE("an axis that keeps its size is copied whatever the coordinates") {
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "half_pixel_symmetric"}) {
    CHECK(to_size({1, 2, 3}, 3, nearest(coordinates, "ceil")) == List{1, 2, 3});
  }
}

TEST_CASE("linear interpolates between neighbours and repeats the border") {
  const List x = {0, 10, 30};
  CHECK(to_size(x, 5, filter("linear", "align_corners")) == List{0, 5, 10, 20, 30});
  CHECK(to_size(x, 6, filter("linear", "asymmetric")) == List{0, 5, 10, 20, 30, 30});
  CHECK(to_size(x, 6, filter("linear", "half_pixel")) == List{0, 2.5, 7.5, 15, 25, 30});
  CHECK(to_size(x, 6, filter("linear", "half_pixel", {integer("exclude_outside", 1)})) == List{0, 2.5, 7.5, 15, 25, 30});
  CHECK(to_size(x, 1, filter("linear", "pytorch_half_pixel")) == List{0});
  CHECK(to_size(x, 1, filter("linear", "half_pixel")) == List{10});
  // 3 · 1.5 = 4.5 gives 4 outputs; the symmetric variant centres them.
  check_near(by_scale({0, 10, 20}, 1.5, filter("linear", "half_pixel")), {0, 5, 35.0 / 3, 55.0 / 3});
  check_near(by_scale({0, 10, 20}, 1.5, filter("linear", "half_pixel_symmetric")), {0, 20.0 / 3, 40.0 / 3, 20});
}

TEST_CASE("cubic gives back parabolas inside and its published weights") {
  // Keys' kernel with a = −½ is exact for squares: at ½ between 4 and 9 it gives 6.25.
  const List squares = {0, 1, 4, 9, 16, 25};
  const List y = to_size(squares, 12, filter("cubic", "asymmetric", {number("cubic_a", -0.5)}));
  CHECK(y[5] == doctest::Approx(6.25));
  CHECK(y[4] == 4);
  // a = −¾ at one half: −0.09375, 0.59375, 0.59375, −0.09375.
  const List impulse = to_size({0, 0, 1, 0, 0}, 10, filter("cubic", "asymmetric"));
  check_near(List(impulse.begin() + 1, impulse.begin() + 8), {-0.09375, 0, 0.59375, 1, 0.59375, 0, -0.09375});
  // At the border the taps outside are either the border's again, or dropped and the rest renormalised.
  check_near(to_size({1, 2}, 4, filter("cubic", "asymmetric")), {1, 1.5, 2, 2 + 0.09375});
  const double left_out = (0.59375 * 2 - 0.09375) / (0.59375 - 0.09375);
  check_near(to_size({1, 2}, 4, filter("cubic", "asymmetric", {integer("exclude_outside", 1)})), {1, 1.5, 2, left_out});
}

TEST_CASE("antialiasing averages over all that a pixel covers") {
  const List x = {0, 0, 8, 0, 0, 0, 0, 0};
  // Triangle of half-width 2 around 0.5, 2.5 …: weights ⅛ ⅜ ⅜ ⅛.
  check_near(to_size(x, 4, filter("linear", "half_pixel", {integer("antialias", 1)})), {8 * 0.125, 8 * 0.375, 0, 0});
  CHECK(to_size({1, 2, 3}, 6, filter("linear", "half_pixel", {integer("antialias", 1)})) ==
        to_size({1, 2, 3}, 6, filter("linear", "half_pixel")));
  for (const char* mode : {"linear", "cubic"}) {
    for (const double scale : {0.13, 0.5, 0.77}) {
      for (const double value : by_scale(List(17, 3.0), scale, filter(mode, "half_pixel", {integer("antialias", 1)}))) {
        CHECK(value == doctest::Approx(3));
      }
    }
  }
}

TEST_CASE("tf_crop_and_resize cuts out a region and extrapolates") {
  const Tensor x = numbers_tensor({0, 10, 20, 30, 40});
  const auto cropped = [&](double start, double end, std::int64_t size, const char* mode) {
    return numbers(run_one("resize", filter(mode, "tf_crop_and_resize", {number("extrapolation_value", -7)}),
                           {x, sizes_tensor({size}), Tensor(), numbers_tensor({start, end})}));
  };
  CHECK(cropped(0.25, 0.75, 3, "linear") == List{10, 20, 30});
  CHECK(cropped(0.25, 0.75, 5, "linear") == List{10, 15, 20, 25, 30});
  CHECK(cropped(0.5, 1.5, 3, "linear") == List{20, 40, -7});
  CHECK(cropped(-0.25, 0.25, 3, "nearest") == List{-7, 0, 10});
  CHECK(cropped(0.2, 0.8, 1, "linear") == List{20});
  CHECK(cropped(1, 0, 5, "linear") == List{40, 30, 20, 10, 0});
  CHECK(cropped(0, 1e38, 2, "linear") == List{0, -7});
}

TEST_CASE("axes, sizes and aspect") {
  const Tensor x = pattern(DType::float32, {1, 2, 4, 6});
  const auto shape = [&](Attributes attributes, std::vector<std::int64_t> sizes) {
    return run_one("resize", std::move(attributes), {x, sizes_tensor(sizes)}).shape();
  };
  CHECK(shape({integers("axes", {2, 3})}, {8, 3}) == Shape{1, 2, 8, 3});
  CHECK(shape({integers("axes", {-1, 2})}, {3, 8}) == Shape{1, 2, 8, 3});
  CHECK(shape({integers("axes", {2, 3}), text("aspect", "not_larger")}, {8, 9}) == Shape{1, 2, 6, 9});
  CHECK(shape({integers("axes", {2, 3}), text("aspect", "not_smaller")}, {8, 9}) == Shape{1, 2, 8, 12});
  CHECK(shape({}, {1, 2, 2, 2}) == Shape{1, 2, 2, 2});
  const Tensor y = run_one("resize", {integers("axes", {3, 2}), text("mode", "linear")}, {x, Tensor(), numbers_tensor({0.5, 2})});
  CHECK(y.shape() == Shape{1, 2, 8, 3});
  // Two axes at once are one after the other.
  const Tensor half = run_one("resize", {text("mode", "linear")}, {x, Tensor(), numbers_tensor({1, 1, 1, 0.5})});
  CHECK(numbers(run_one("resize", {text("mode", "linear")}, {half, Tensor(), numbers_tensor({1, 1, 2, 1})})) == numbers(y));
}

TEST_CASE("scaled sizes round down in float32") {
  CHECK(by_scale(List(10, 1), 0.7, {}).size() == 7);
  CHECK(by_scale(List(10, 1), 1.1, {}).size() == 11);
  CHECK(by_scale(List(7, 1), 0.5, {}).size() == 3);
  CHECK(by_scale(List(3, 1), 0.1, {}).empty());
}

TEST_CASE("resize of other dtypes and empty tensors") {
  for (const DType dtype : {DType::boolean, DType::int64, DType::uint8, DType::float16, DType::float64, DType::int4}) {
    const Tensor y = run_one("resize", nearest("asymmetric", "floor"), {tensor(dtype, {2}, {1, 0}), sizes_tensor({4})});
    CHECK(y.dtype() == dtype);
    CHECK(numbers(y) == List{1, 1, 0, 0});
  }
  const Tensor large = run_one("resize", nearest("asymmetric", "floor"), {int64s({1}, {INT64_MAX - 2}), sizes_tensor({2})});
  CHECK(large.span<std::int64_t>()[1] == INT64_MAX - 2);
  // Integers round to the nearest and stay in range.
  CHECK(numbers(run_one("resize", filter("linear", "align_corners"), {tensor(DType::uint8, {2}, {0, 7}), sizes_tensor({4})})) ==
        List{0, 2, 5, 7});
  CHECK(numbers(run_one("resize", filter("cubic", "asymmetric"),
                        {tensor(DType::uint8, {3}, {0, 255, 255}), sizes_tensor({6})})) == List{0, 128, 255, 255, 255, 255});
  CHECK(run_one("resize", {}, {Tensor(DType::float32, {0, 2}), sizes_tensor({0, 5})}).shape() == Shape{0, 5});
  CHECK(run_one("resize", filter("linear", "half_pixel"), {Tensor(DType::float32, {3, 2}), sizes_tensor({0, 5})}).shape() ==
        Shape{0, 5});
}

TEST_CASE("resize's shapes over symbols") {
  const Dim n = Dim::symbol(0);
  const Dim m = Dim::symbol(1);
  const Facts x = unknown(DType::float32, {n, 3, m * 2, 7});
  const Node node = make_node("resize", 3, 1, {});
  CHECK(shape_text(infer(node, {x, Facts{}, known(numbers_tensor({1, 1, 2, 2}))})[0]) == "[N, 3, 4*M, 14]");
  CHECK(shape_text(infer(node, {x, Facts{}, known(numbers_tensor({1, 1, 0.5, 0.3}))})[0]) == "[N, 3, M, ?]");
  Facts sizes = unknown(DType::int64, {4});
  CHECK(shape_text(infer(make_node("resize", 2, 1, {}), {x, sizes})[0]) == "[?, ?, ?, ?]");
  sizes.elements = std::vector<Dim>{n, 3, Dim(), m + 1};
  CHECK(shape_text(infer(make_node("resize", 2, 1, {}), {x, sizes})[0]) == "[N, 3, ?, M + 1]");
  CHECK(shape_text(infer(make_node("resize", 2, 1, {integers("axes", {3})}), {x, unknown(DType::int64, {1})})[0]) ==
        "[N, 3, 2*M, ?]");
}

TEST_CASE("resize refuses what contradicts itself") {
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  const auto why = [](Attributes attributes, const std::vector<Facts>& inputs) {
    return failure(make_node("resize", inputs.size(), 1, std::move(attributes)), inputs);
  };
  const Facts x = unknown(DType::float32, {2, 4});
  const Tensor sizes = sizes_tensor({2, 4});
  const Tensor scales = numbers_tensor({1, 2});
  CHECK(says(why({}, {x, Facts{}}), "neither"));
  CHECK(says(why({}, {x, known(sizes), known(scales)}), "both"));
  CHECK(says(why({}, {x, known(sizes_tensor({2}))}), "vector of 2"));
  CHECK(says(why({integers("axes", {1, -1})}, {x, known(sizes)}), "twice"));
  CHECK(says(why({integers("axes", {1, 2})}, {x, known(sizes)}), "axis 2"));
  CHECK(says(why({}, {x, known(sizes_tensor({-1, 4}))}), "negative"));
  CHECK(says(why({}, {x, Facts{}, known(numbers_tensor({1, 0}))}), "positive"));
  CHECK(says(why({}, {x, Facts{}, known(numbers_tensor({1, std::nan("")}))}), "positive"));
  CHECK(says(why({}, {x, Facts{}, known(numbers_tensor({1, 1e30}))}), "not possible"));
  CHECK(says(why({}, {unknown(DType::float32, {0, 4}), known(sizes)}), "empty"));
  CHECK(says(why({text("coordinates", "tf_crop_and_resize")}, {x, known(sizes)}), "roi"));
  CHECK(says(why({text("mode", "linear")}, {unknown(DType::boolean, {2, 4}), known(sizes)}), "bool"));
  CHECK(says(why({integer("antialias", 1)}, {x, known(sizes)}), "antialias"));
}
