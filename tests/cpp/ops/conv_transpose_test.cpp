// conv_transpose as the adjoint of conv, with forced sizes and output padding.
#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEST_CASE("conv_transpose is the adjoint of conv") {
  // <conv(x, w), y> = <x, conv_transpose(y, w)> for every x and y, which fixes conv_transpose; whole numbers make it exact.
  struct Case {
    Shape x, w;
    std::int64_t group;
    std::vector<std::int64_t> strides, dilations, pads, output_padding;
  };
  const std::vector<Case> cases = {
      {{1, 2, 5}, {3, 2, 3}, 1, {1}, {1}, {0, 0}, {0}},
      {{2, 4, 7, 6}, {6, 2, 3, 2}, 2, {2, 3}, {1, 1}, {1, 0, 1, 1}, {0, 2}},
      {{1, 3, 9, 9}, {3, 1, 3, 3}, 3, {2, 2}, {2, 1}, {2, 1, 2, 1}, {0, 0}},
      {{1, 1, 4, 3, 5}, {2, 1, 2, 3, 1}, 1, {1, 1, 2}, {1, 1, 1}, {0, 1, 0, 1, 1, 0}, {0, 0, 0}},
  };
  for (const Case& c : cases) {
    const Tensor x = pattern(DType::float32, c.x, 3);
    const Tensor w = pattern(DType::float32, c.w, 5);
    const Attributes shared = {integer("group", c.group), integers("strides", c.strides), integers("dilations", c.dilations),
                               integers("pads", c.pads)};
    const Tensor forward = run_one("conv", shared, {x, w});
    const Tensor y = pattern(DType::float32, forward.shape(), 11);
    Attributes attributes = shared;
    attributes.push_back(integers("output_padding", c.output_padding));
    const Tensor back = run_one("conv_transpose", attributes, {y, w});
    REQUIRE(back.shape() == c.x);
    CHECK(dot(numbers(forward), numbers(y)) == dot(numbers(x), numbers(back)));
  }
}

TEST_CASE("conv_transpose by hand") {
  const Tensor x = floats({1, 1, 3}, {1, 2, 3});
  const Tensor w = floats({1, 1, 2}, {1, 10});
  const auto result = [&](Attributes attributes) { return numbers(run_one("conv_transpose", std::move(attributes), {x, w})); };
  CHECK(result({}) == std::vector<double>{1, 12, 23, 30});
  CHECK(result({integers("strides", {2})}) == std::vector<double>{1, 10, 2, 20, 3, 30});
  CHECK(result({integers("strides", {3}), integers("output_padding", {1})}) == std::vector<double>{1, 10, 0, 2, 20, 0, 3, 30, 0});
  CHECK(result({integers("pads", {1, 1})}) == std::vector<double>{12, 23});
  CHECK(result({text("auto_pad", "same_upper")}) == std::vector<double>{1, 12, 23});
  CHECK(result({text("auto_pad", "same_lower")}) == std::vector<double>{12, 23, 30});
  CHECK(result({integers("output_shape", {3})}) == std::vector<double>{12, 23, 30});
  CHECK(result({integers("output_shape", {6})}) == std::vector<double>{1, 12, 23, 30, 0, 0});
  const Tensor y = run_one("conv_transpose", {text("activation", "relu")}, {x, floats({1, 2, 1}, {1, -1}), floats({2}, {-1, 2})});
  CHECK(numbers(y) == std::vector<double>{0, 1, 2, 1, 0, 0});
}

TEST_CASE("conv_transpose's shapes") {
  const Dim n = Dim::symbol(0);
  const Facts w = unknown(DType::float32, {3, 4, 2, 3});
  const auto shape = [&](std::vector<Dim> x, Attributes attributes) {
    return shape_text(
        infer(make_node("conv_transpose", 2, 1, std::move(attributes)), {unknown(DType::float32, std::move(x)), w})[0]);
  };
  CHECK(shape({n, 3, 5, n}, {integers("strides", {2, 2})}) == "[N, 4, 10, 2*N + 1]");
  CHECK(shape({n, 3, n, n}, {integers("strides", {2, 3}), text("auto_pad", "same_upper")}) == "[N, 4, 2*N, 3*N]");
  CHECK(shape({n, 3, n, n}, {integers("output_shape", {9, 7})}) == "[N, 4, 9, 7]");
  CHECK(shape({0, 3, 1, 1}, {}) == "[0, 4, 2, 3]");
  CHECK(run_one("conv_transpose", {integers("strides", {2})}, {Tensor(DType::float32, {1, 1, 0}), floats({1, 1, 2}, {1, 1})})
            .shape() == Shape{1, 1, 0});
}

TEST_CASE("conv_transpose refuses what contradicts itself") {
  const Facts x = unknown(DType::float32, {1, 3, 4});
  const Facts w = unknown(DType::float32, {3, 4, 2});
  const auto why = [](Attributes attributes, const Facts& input, const Facts& weights) {
    return failure(make_node("conv_transpose", 2, 1, std::move(attributes)), {input, weights});
  };
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  CHECK(says(why({}, unknown(DType::float32, {1, 2, 4}), w), "2 channels"));
  CHECK(says(why({integer("group", 2)}, x, w), "does not divide the 3"));
  CHECK(says(why({integers("pads", {3, 3})}, x, w), "size -1"));
  CHECK(says(why({integers("output_shape", {3, 3})}, x, w), "output_shape has 2"));
  CHECK(says(why({integers("output_padding", {-1})}, x, w), "output_padding holds -1"));
  CHECK(says(why({integers("strides", {2147483647})}, unknown(DType::float32, {1, 3, std::int64_t{1} << 50}), w), "too large"));
}
