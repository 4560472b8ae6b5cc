// layer_norm, rms_norm, instance_norm and lrn against their definitions.
#include <cmath>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using List = std::vector<double>;

/// (x − mean) / √(variance + ε) over consecutive runs of `length`.
List standardised(const List& x, std::size_t length, double epsilon) {
  List y;
  for (std::size_t first = 0; first < x.size(); first += length) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < length; ++i) mean += x[first + i] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) square += x[first + i] * x[first + i] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) y.push_back((x[first + i] - mean) / std::sqrt(square - mean * mean + epsilon));
  }
  return y;
}

}  // namespace

TEST_CASE("layer_norm over trailing axes") {
  const Tensor x = pattern(DType::float32, {2, 3, 5});
  check_close(run_one("layer_norm", {}, {x}), standardised(numbers(x), 5, 1e-5));
  check_close(run_one("layer_norm", {integer("axis", 1), number("epsilon", 0.1)}, {x}), standardised(numbers(x), 15, 0.1));
  check_close(run_one("layer_norm", {integer("axis", -3)}, {x}), standardised(numbers(x), 30, 1e-5));
}

TEST_CASE("layer_norm's scale, bias and moments") {
  const Tensor x = floats({2, 2}, {1, 3, -10, 10});
  const Tensors y = run(make_node("layer_norm", 3, 3, {number("epsilon", 0)}), {x, floats({2}, {2, 3}), floats({2}, {0.5, -1})});
  check_close(y[0], {-1.5, 2, -1.5, 2});
  CHECK(y[1].shape() == Shape{2, 1});
  check_close(y[1], {2, 0});
  check_close(y[2], {1, 0.1});
  const Tensors half = run(make_node("layer_norm", 1, 2, {}), {tensor(DType::float16, {1, 2}, {1, 3})});
  CHECK(half[0].dtype() == DType::float16);
  CHECK(half[1].dtype() == DType::float32);
  // One number for all, and a bias without a scale.
  check_close(run_one("layer_norm", {number("epsilon", 0)}, {x, Tensor(), floats({1}, {5})}), {4, 6, 4, 6});
  CHECK(run_one("layer_norm", {}, {Tensor(DType::float32, {0, 4})}).shape() == Shape{0, 4});
}

TEST_CASE("instance_norm over spatial axes") {
  const Tensor x = pattern(DType::float64, {2, 3, 2, 4});
  const Tensor scale = tensor(DType::float64, {3}, {1, 2, -1});
  const Tensor bias = tensor(DType::float64, {3}, {0, 1, 2});
  List wanted = standardised(numbers(x), 8, 1e-3);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * numbers(scale)[i / 8 % 3] + numbers(bias)[i / 8 % 3];
  check_close(run_one("instance_norm", {number("epsilon", 1e-3)}, {x, scale, bias}), wanted);
  CHECK(run_one("instance_norm", {}, {Tensor(DType::float64, {0, 3, 5}), scale, bias}).shape() == Shape{0, 3, 5});
}

TEST_CASE("rms_norm divides by the root of the mean square") {
  const Tensor x = floats({2, 2}, {3, 4, 0, -1});
  const double first = std::sqrt(12.5), second = std::sqrt(0.5);
  check_close(run_one("rms_norm", {number("epsilon", 0)}, {x, floats({2}, {1, 2})}), {3 / first, 8 / first, 0, -2 / second});
  const double all = std::sqrt(26.0 / 4 + 0.5);
  check_close(run_one("rms_norm", {integer("axis", 0), number("epsilon", 0.5)}, {x}), {3 / all, 4 / all, 0, -1 / all});
  CHECK(run_one("rms_norm", {}, {Tensor(DType::float32, {0, 4})}).shape() == Shape{0, 4});
  CHECK(run_one("rms_norm", {}, {Tensor(DType::float32, {4, 0})}).shape() == Shape{4, 0});
}

TEST_CASE("instance_norm over groups of channels") {
  const Tensor x = pattern(DType::float64, {2, 4, 2, 3});
  const Tensor scale = tensor(DType::float64, {4}, {1, 2, -1, 3});
  const Tensor bias = tensor(DType::float64, {4}, {0, 1, 2, 3});
  List wanted = standardised(numbers(x), 12, 1e-3);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = wanted[i] * numbers(scale)[i / 6 % 4] + numbers(bias)[i / 6 % 4];
  check_close(run_one("instance_norm", {number("epsilon", 1e-3), integer("groups", 2)}, {x, scale, bias}), wanted);
}

TEST_CASE("lrn over neighbouring channels") {
  const Tensor x = floats({1, 5, 1}, {1, 2, 3, 4, 5});
  const Attributes odd = {integer("size", 3), number("alpha", 3), number("beta", 1), number("bias", 1)};
  check_close(run_one("lrn", odd, {x}), {1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 51, 5.0 / 42});
  // An even size looks one channel further forward than back.
  const Attributes even = {integer("size", 2), number("alpha", 2), number("beta", 1), number("bias", 0)};
  check_close(run_one("lrn", even, {x}), {1.0 / 5, 2.0 / 13, 3.0 / 25, 4.0 / 41, 5.0 / 25});
  check_close(run_one("lrn", {integer("size", 1000), number("alpha", 1000), number("beta", 0.5), number("bias", 0)}, {x}),
              {1 / std::sqrt(55.0), 2 / std::sqrt(55.0), 3 / std::sqrt(55.0), 4 / std::sqrt(55.0), 5 / std::sqrt(55.0)});
}

TEST_CASE("norms' shapes and refusals") {
  const Dim n = Dim::symbol(0);
  const auto f = [](std::vector<Dim> dims) { return unknown(DType::float32, std::move(dims)); };
  const std::vector<Facts> all = infer(make_node("layer_norm", 1, 3, {integer("axis", 1)}), {f({n, 3, n})});
  CHECK(shape_text(all[0]) == "[N, 3, N]");
  CHECK(shape_text(all[2]) == "[N, 1, 1]");
  CHECK(shape_text(infer(make_node("instance_norm", 3, 1, {}), {f({n, Dim(), 7}), f({4}), f({4})})[0]) == "[N, 4, 7]");
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  CHECK(says(failure(make_node("layer_norm", 2, 1, {}), {f({2, 3}), f({4})}), "does not broadcast"));
  CHECK(says(failure(make_node("layer_norm", 1, 1, {integer("axis", 2)}), {f({2, 3})}), "axis 2"));
  CHECK(says(failure(make_node("rms_norm", 2, 1, {}), {f({2, 3}), f({4})}), "does not broadcast"));
  CHECK(says(failure(make_node("rms_norm", 1, 1, {integer("axis", 2)}), {f({2, 3})}), "axis 2"));
  CHECK(says(failure(make_node("instance_norm", 3, 1, {integer("groups", 3)}), {f({1, 4, 5}), f({4}), f({4})}), "3 groups"));
  CHECK(says(failure(make_node("instance_norm", 3, 1, {integer("groups", -1)}), {f({1, 4, 5}), f({4}), f({4})}), "-1 groups"));
  CHECK(says(failure(make_node("instance_norm", 3, 1, {}), {f({2, 3, 4}), f({2}), f({3})}), "3 channels"));
  CHECK(says(failure(make_node("lrn", 1, 1, {integer("size", 0)}), {f({2, 3, 4})}), "size is 0"));
}
