// What the CPU backend runs as one step when a planner offers it: a picture's preparation with the first convolution, a pointwise
// convolution with the depthwise one after it, and near misses of both. Under AddressSanitizer the arena is guarded meanwhile.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "doctest/doctest.h"
#include "jitney/session.h"
#include "network_builder.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

using Sizes = std::vector<std::int64_t>;

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> data(count);
  for (float& x : data) x = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
  return data;
}

ValueId weights(NetworkBuilder& b, const Shape& shape, unsigned seed = 7) {
  return b.floats(shape, random_floats(static_cast<std::size_t>(shape.elements()), seed));
}

/// The ops of the steps that the model is planned to take at this shape of its input x; "identity" is a copy into another order.
std::string steps(const NetworkBuilder& b, const Shape& shape) {
  Session session(b.load(), {.backend = "cpu", .threads = 1});
  std::string ops;
  for (const StepReport& step : session.plan_report({{"x", shape}}).steps)
    if (step.op != "identity") ops += (ops.empty() ? "" : " ") + step.op;
  return ops;
}

/// The model gives what the plain kernels give, with one thread and with three.
void check_agrees(const NetworkBuilder& b, const Tensor& x) {
  const std::map<std::string, Tensor> inputs{{"x", x}};
  const auto expected = Session(b.load(), {.backend = "reference", .threads = 1}).run(inputs);
  for (const std::size_t threads : {1, 3}) {
    const auto actual = Session(b.load(), {.backend = "cpu", .threads = threads}).run(inputs);
    REQUIRE(actual.size() == expected.size());
    for (const auto& [name, wanted] : expected) {
      REQUIRE(actual.at(name).shape() == wanted.shape());
      const auto a = actual.at(name).span<float>(), e = wanted.span<float>();
      float worst = 0, largest = 1;
      for (std::size_t i = 0; i < e.size(); ++i) {
        worst = std::max(worst, std::fabs(a[i] - e[i]));
        largest = std::max(largest, std::fabs(e[i]));
      }
      CHECK(worst <= 1e-5F * largest);
    }
  }
}

// --- A picture's preparation and the first convolution ---------------------------------------------------------------------

struct Prepared {
  NetworkBuilder b;
  ValueId x, pixels, shifted;
};

/// x as uint8 → cast → add or sub of a number per channel.
Prepared prepare(const std::string& op, const Sizes& dims, Shape shift = {1, 3, 1, 1}) {
  Prepared made;
  made.x = made.b.input("x", DType::uint8, dims);
  made.pixels = made.b.node("cast", {made.x}, {{"to", static_cast<std::int64_t>(DType::float32)}});
  made.shifted = made.b.node(op, {made.pixels, weights(made.b, shift)});
  return made;
}

Tensor picture(const Shape& shape) {
  std::vector<std::uint8_t> data(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 37 + i / 11);
  return tensor<std::uint8_t>(DType::uint8, shape, data);
}

const NamedAttribute kPadded{"pads", Sizes{1, 1, 1, 1}};

ValueId first_conv(NetworkBuilder& b, ValueId x) { return b.node("conv", {x, weights(b, {5, 3, 3, 3})}, {kPadded}); }

// --- Pointwise and depthwise -------------------------------------------------------------------------------------------------

constexpr std::int64_t kNarrow = 16, kWide = 96, kSide = 56;  // 1.2 MB between the two: just more than a chain must save

ValueId pointwise(NetworkBuilder& b, ValueId x, std::int64_t in = kNarrow, std::int64_t out = kWide) {
  return b.node("conv", {x, weights(b, {out, in, 1, 1})}, {{"activation", std::string("relu")}});
}

ValueId depthwise(NetworkBuilder& b, ValueId x, std::int64_t channels = kWide, std::int64_t stride = 2) {
  return b.node("conv", {x, weights(b, {channels, 1, 3, 3}, 8)},
                {{"group", channels}, kPadded, {"strides", Sizes{stride, stride}}});
}

}  // namespace

TEST_CASE("first convolution: the preparation before it is its own") {
  const Shape shape{2, 3, 9, 13};
  for (const char* op : {"add", "sub"}) {
    for (const Shape& shift : {Shape{1, 3, 1, 1}, Shape{3, 1, 1}, Shape{1}, Shape{}}) {
      Prepared p = prepare(op, {2, 3, 9, 13}, shift);
      p.b.output(first_conv(p.b, p.shifted), "y");
      CHECK(steps(p.b, shape) == "cast+" + std::string(op) + "+conv");
      check_agrees(p.b, picture(shape));
    }
  }
  Prepared p = prepare("add", {2, 3, 9, 13});
  p.b.output(first_conv(p.b, p.pixels), "y");
  CHECK(steps(p.b, shape) == "cast+conv");
  check_agrees(p.b, picture(shape));
}

TEST_CASE("first convolution: sizes that are known late") {
  Prepared p = prepare("sub", {-1, 3, -1, -1});
  p.b.output(first_conv(p.b, p.shifted), "y");
  for (const Shape& shape : {Shape{1, 3, 8, 8}, Shape{2, 3, 5, 21}, Shape{1, 3, 8, 8}}) {
    CHECK(steps(p.b, shape) == "cast+sub+conv");
    check_agrees(p.b, picture(shape));
  }
  check_agrees(p.b, picture({0, 3, 8, 8}));
}

TEST_CASE("first convolution: what others read is computed for all") {
  const Shape shape{1, 3, 8, 10};
  SUBCASE("two convolutions read the picture") {
    Prepared p = prepare("add", {1, 3, 8, 10});
    p.b.output(first_conv(p.b, p.shifted), "y");
    p.b.output(first_conv(p.b, p.shifted), "z");
    CHECK(steps(p.b, shape) == "cast add conv conv");
    check_agrees(p.b, picture(shape));
  }
  SUBCASE("the shifted picture is an output") {
    Prepared p = prepare("add", {1, 3, 8, 10});
    p.b.output(p.shifted, "m");
    p.b.output(first_conv(p.b, p.shifted), "y");
    CHECK(steps(p.b, shape).ends_with(" conv"));
    check_agrees(p.b, picture(shape));
  }
  SUBCASE("the pixels as floats are an output: the shift may still be the convolution's") {
    Prepared p = prepare("add", {1, 3, 8, 10});
    p.b.output(p.pixels, "m");
    p.b.output(first_conv(p.b, p.shifted), "y");
    CHECK(steps(p.b, shape) == "cast add+conv");
    check_agrees(p.b, picture(shape));
  }
}

TEST_CASE("first convolution: near misses") {
  const Shape shape{1, 3, 8, 10};
  const auto is_alone = [&](Prepared& p, ValueId shifted) {
    p.b.output(first_conv(p.b, shifted), "y");
    CHECK(steps(p.b, shape).ends_with(" conv"));
    check_agrees(p.b, picture(shape));
  };
  SUBCASE("a shift per row") {
    Prepared p = prepare("add", {1, 3, 8, 10}, {8, 1});
    is_alone(p, p.shifted);
  }
  SUBCASE("a constant less the picture") {
    Prepared p = prepare("add", {1, 3, 8, 10});
    is_alone(p, p.b.node("sub", {weights(p.b, {3, 1, 1}), p.pixels}));
  }
  SUBCASE("the picture added to itself") {
    Prepared p = prepare("add", {1, 3, 8, 10});
    is_alone(p, p.b.node("add", {p.pixels, p.pixels}));
  }
  SUBCASE("scaled, not shifted") {
    Prepared p = prepare("add", {1, 3, 8, 10});
    is_alone(p, p.b.node("mul", {p.pixels, weights(p.b, {3, 1, 1})}));
  }
}

TEST_CASE("conv chain: a wide result between two convolutions is never whole") {
  for (const std::int64_t stride : {1, 2}) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {1, kNarrow, kSide, kSide});
    b.output(depthwise(b, pointwise(b, x), kWide, stride), "y");
    const Shape shape{1, kNarrow, kSide, kSide};
    // With stride 1 as much is written as was saved.
    CHECK(steps(b, shape) == (stride == 2 ? "conv+conv" : "conv conv"));
    check_agrees(b, tensor<float>(DType::float32, shape, random_floats(static_cast<std::size_t>(shape.elements()), 1)));
  }
}

TEST_CASE("conv chain: each size decides for itself") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {-1, kNarrow, -1, -1});
  b.output(depthwise(b, pointwise(b, x)), "y");
  CHECK(steps(b, {1, kNarrow, kSide, kSide}) == "conv+conv");
  CHECK(steps(b, {1, kNarrow, kSide / 2, kSide}) == "conv conv");
  CHECK(steps(b, {2, kNarrow, kSide / 2, kSide}) == "conv conv");  // of one image, whatever the batch: promise 1
  CHECK(steps(b, {2, kNarrow, kSide, kSide + 1}) == "conv+conv");
  const Shape shape{2, kNarrow, kSide, kSide + 1};
  check_agrees(b, tensor<float>(DType::float32, shape, random_floats(static_cast<std::size_t>(shape.elements()), 2)));
}

TEST_CASE("conv chain: near misses") {
  const Shape shape{1, kNarrow, kSide, kSide};
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {1, kNarrow, kSide, kSide});
  SUBCASE("two read the wide result") {
    const auto middle = pointwise(b, x);
    b.output(depthwise(b, middle), "y");
    b.output(b.node("relu", {middle}), "z");
  }
  SUBCASE("the wide result is an output") {
    const auto middle = pointwise(b, x);
    b.output(middle, "m");
    b.output(depthwise(b, middle), "y");
  }
  SUBCASE("the first pads") {
    const auto middle = b.node("conv", {x, weights(b, {kWide, kNarrow, 1, 1})}, {kPadded});
    b.output(depthwise(b, middle), "y");
  }
  SUBCASE("the second is grouped, not depthwise") {
    const auto middle = pointwise(b, x);
    b.output(b.node("conv", {middle, weights(b, {kWide, 2, 3, 3})}, {{"group", kWide / 2}, {"strides", Sizes{2, 2}}}), "y");
  }
  SUBCASE("a residual after the first") {
    const auto side = pointwise(b, x);
    const auto middle = b.node("conv", {x, weights(b, {kWide, kNarrow, 1, 1}, 9), weights(b, {kWide}), side});
    b.output(depthwise(b, middle), "y");
  }
  SUBCASE("something between them") {
    b.output(depthwise(b, b.node("max_pool", {pointwise(b, x)}, {{"kernel", Sizes{1, 1}}})), "y");
  }
  const std::string ops = steps(b, shape);
  CHECK(ops.find("conv+conv") == std::string::npos);
  CHECK(ops.find("conv") != std::string::npos);
}
