// dft: transforms against their definition, in any layout, and what the shape rule says.
#include <cmath>
#include <numbers>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

/// The definition, for complex x of shape [n, 2].
std::vector<double> defined(const std::vector<double>& x) {
  const std::size_t n = x.size() / 2;
  std::vector<double> y(x.size(), 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k * i % n) / static_cast<double>(n);
      y[2 * k] += x[2 * i] * std::cos(angle) - x[2 * i + 1] * std::sin(angle);
      y[2 * k + 1] += x[2 * i] * std::sin(angle) + x[2 * i + 1] * std::cos(angle);
    }
  }
  return y;
}

}  // namespace

TEST_CASE("dft: lengths with small and with large prime factors") {
  for (const std::int64_t n : {1, 2, 3, 6, 8, 25, 31, 37, 74, 101}) {
    CAPTURE(n);
    const Tensor x = pattern(DType::float64, {n, 2});
    check_close(run_one("dft", {}, {x}), defined(numbers(x)));
  }
}

TEST_CASE("dft: shapes") {
  const auto shape = [](Attributes attributes, Facts x, std::vector<Facts> more) {
    std::vector<Facts> inputs = {std::move(x)};
    inputs.insert(inputs.end(), more.begin(), more.end());
    const Node node = make_node("dft", inputs.size(), 1, std::move(attributes));
    return infer(node, inputs)[0].shape;
  };
  const Dim n = Dim::symbol(0);
  const Tensor length = int64s({}, {9}), axis = int64s({}, {1});
  CHECK(shape({}, unknown(DType::float32, {2, n, 1}), {}).dims[1].same(n));
  CHECK(shape({integer("onesided", 1)}, unknown(DType::float32, {2, n, 1}), {known(length)}).dims[1].same(5));
  const SymShape real = shape({integer("onesided", 1), integer("inverse", 1)}, unknown(DType::float32, {2, n, 2}), {});
  CHECK(real.dims[1].same(n * 2 - 2));
  CHECK(real.dims[2].same(1));
  const SymShape open = shape({}, unknown(DType::float32, {2, n, 1}), {known(length), unknown(DType::int64, {})});
  CHECK(open.dims[0].is_unknown());
  CHECK(open.dims[2].same(2));
  CHECK(shape({}, unknown(DType::float32, {2, 3, 1}), {unknown(DType::int64, {}), known(axis)}).dims[1].is_unknown());
  CHECK_THROWS_AS(shape({}, unknown(DType::float32, {3}), {}), Error);
  CHECK_THROWS_AS(shape({}, unknown(DType::int32, {3, 1}), {}), Error);
}
