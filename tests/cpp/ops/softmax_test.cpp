// softmax and log_softmax along every axis, for large numbers, infinities and empty tensors.
#include <cmath>
#include <limits>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

TEST_CASE("softmax along each axis sums to one and keeps ratios") {
  const Shape shape = {2, 3, 4};
  const Tensor x = pattern(DType::float64, shape);
  const std::vector<double> input = numbers(x);
  for (const std::int64_t axis : {0, 1, 2, -1, -3}) {
    const std::vector<double> y = numbers(run_one("softmax", {integer("axis", axis)}, {x}));
    const std::vector<double> logs = numbers(run_one("log_softmax", {integer("axis", axis)}, {x}));
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    const auto stride = static_cast<std::size_t>(dense_strides(shape)[at]);
    for (std::size_t i = 0; i < input.size(); ++i) {
      double sum = 0;
      const std::size_t first = i - i / stride % static_cast<std::size_t>(shape[at]) * stride;
      for (std::size_t k = 0; k < static_cast<std::size_t>(shape[at]); ++k) sum += std::exp(input[first + k * stride]);
      CHECK(y[i] == doctest::Approx(std::exp(input[i]) / sum));
      CHECK(logs[i] == doctest::Approx(input[i] - std::log(sum)));
    }
  }
}

TEST_CASE("softmax neither overflows nor masks") {
  const double infinity = std::numeric_limits<double>::infinity();
  check_close(run_one("softmax", {}, {floats({1, 2}, {1000, 1000})}), {0.5, 0.5});
  check_close(run_one("log_softmax", {}, {floats({1, 2}, {-1000, 0})}), {-1000, 0});
  CHECK(numbers(run_one("softmax", {}, {floats({1, 2}, {-infinity, 0})})) == std::vector<double>{0, 1});
  CHECK(std::isnan(numbers(run_one("softmax", {}, {floats({1, 2}, {infinity, 0})}))[0]));
  CHECK(std::isnan(numbers(run_one("softmax", {}, {floats({1, 2}, {std::nan(""), 0})}))[1]));
}

TEST_CASE("softmax of 16-bit numbers rounds each step, and bears sums that they cannot hold") {
  // exp(-1) is 0.367919921875 in float16; 1 + that is 1.3681640625, and the quotient 0.73095703125 (0.7310585… unrounded).
  const Tensor x = tensor(DType::float16, {2}, {1, 0});
  CHECK(numbers(run_one("softmax", {}, {x})) == std::vector<double>{0.73095703125, 0.268798828125});
  const Tensor many = tensor(DType::float16, {70000}, std::vector<double>(70000, 1.0));
  CHECK(numbers(run_one("softmax", {}, {many}))[0] == doctest::Approx(1.0 / 70000).epsilon(0.01));
}

TEST_CASE("softmax of empty tensors") {
  CHECK(run_one("softmax", {integer("axis", 1)}, {Tensor(DType::float32, {0, 3})}).shape() == Shape{0, 3});
  CHECK(run_one("softmax", {integer("axis", 1)}, {Tensor(DType::float16, {2, 0})}).shape() == Shape{2, 0});
}

TEST_CASE("softmax refuses a wrong axis or dtype") {
  CHECK(failure(make_node("softmax", 1, 1, {integer("axis", 2)}), {unknown(DType::float32, {2, 3})}).find("axis 2") !=
        std::string::npos);
  CHECK(failure(make_node("softmax", 1, 1, {}), {unknown(DType::int32, {2, 3})}).find("int32") != std::string::npos);
}
