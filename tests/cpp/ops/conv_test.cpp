// conv against an oracle that pads explicitly, over ragged shapes, groups, dilations and ranks.
#include <functional>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

/// Two spatial axes, straight from the definition: one sum per output element, with zeros outside.
std::vector<double> conv2d(const Tensor& x, const Tensor& w, std::int64_t group, std::vector<std::int64_t> strides,
                           std::vector<std::int64_t> dilations, std::vector<std::int64_t> pads) {
  const std::vector<double> input = numbers(x);
  const std::vector<double> weights = numbers(w);
  const Shape& xs = x.shape();
  const Shape& ws = w.shape();
  const std::int64_t high = (xs[2] + pads[0] + pads[2] - (ws[2] - 1) * dilations[0] - 1) / strides[0] + 1;
  const std::int64_t wide = (xs[3] + pads[1] + pads[3] - (ws[3] - 1) * dilations[1] - 1) / strides[1] + 1;
  std::vector<double> y;
  for (std::int64_t n = 0; n < xs[0]; ++n) {
    for (std::int64_t m = 0; m < ws[0]; ++m) {
      for (std::int64_t oy = 0; oy < high; ++oy) {
        for (std::int64_t ox = 0; ox < wide; ++ox) {
          double sum = 0;
          for (std::int64_t c = 0; c < ws[1]; ++c) {
            for (std::int64_t ky = 0; ky < ws[2]; ++ky) {
              for (std::int64_t kx = 0; kx < ws[3]; ++kx) {
                const std::int64_t iy = oy * strides[0] + ky * dilations[0] - pads[0];
                const std::int64_t ix = ox * strides[1] + kx * dilations[1] - pads[1];
                if (iy < 0 || ix < 0 || iy >= xs[2] || ix >= xs[3]) continue;
                const std::int64_t channel = m / (ws[0] / group) * ws[1] + c;
                sum += input[((n * xs[1] + channel) * xs[2] + iy) * xs[3] + ix] *
                       weights[((m * ws[1] + c) * ws[2] + ky) * ws[3] + kx];
              }
            }
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

Attributes window(std::int64_t group, std::vector<std::int64_t> strides, std::vector<std::int64_t> dilations,
                  std::vector<std::int64_t> pads) {
  return {integer("group", group), integers("strides", std::move(strides)), integers("dilations", std::move(dilations)),
          integers("pads", std::move(pads))};
}

}  // namespace

TEST_CASE("conv equals its definition over ragged shapes") {
  struct Case {
    Shape x, w;
    std::int64_t group;
    std::vector<std::int64_t> strides, dilations, pads;
  };
  const std::vector<Case> cases = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 3, 7, 5}, {4, 3, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 6, 9, 8}, {6, 1, 3, 3}, 6, {2, 2}, {1, 1}, {0, 1, 1, 0}},
      {{3, 4, 6, 11}, {6, 2, 1, 5}, 2, {1, 3}, {1, 2}, {0, 4, 0, 4}},
      {{1, 2, 13, 13}, {5, 2, 5, 3}, 1, {3, 2}, {2, 3}, {4, 0, 1, 6}},
      {{2, 4, 3, 3}, {8, 1, 2, 2}, 4, {1, 1}, {2, 2}, {0, 0, 0, 0}},
  };
  for (const Case& c : cases) {
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      const Tensor x = pattern(dtype, c.x, 3);
      const Tensor w = pattern(dtype, c.w, 5);
      const Tensor y = run_one("conv", window(c.group, c.strides, c.dilations, c.pads), {x, w});
      CHECK(y.dtype() == dtype);
      if (dtype == DType::bfloat16) continue;  // sums need more than 8 bits
      CHECK(numbers(y) == conv2d(x, w, c.group, c.strides, c.dilations, c.pads));
    }
  }
}

TEST_CASE("conv runs over one, three and four spatial axes") {
  check_close(run_one("conv", {}, {floats({1, 1, 4}, {1, 2, 3, 4}), floats({1, 1, 2}, {1, -1})}), {-1, -1, -1});
  // Separable cases: extra axes of size one do not change a 2-D convolution.
  const Tensor x = pattern(DType::float32, {2, 3, 5, 6});
  const Tensor w = pattern(DType::float32, {4, 3, 3, 2}, 7);
  const std::vector<double> flat = numbers(run_one("conv", {}, {x, w}));
  const Tensor y = run_one("conv", {}, {floats({2, 3, 1, 5, 1, 6}, numbers(x)), floats({4, 3, 1, 3, 1, 2}, numbers(w))});
  CHECK(y.shape() == Shape{2, 4, 1, 3, 1, 5});
  CHECK(numbers(y) == flat);
  const Tensor cube =
      run_one("conv", {integers("strides", {2, 1, 1})}, {pattern(DType::float32, {1, 1, 3, 2, 2}), floats({1, 1, 1, 1, 1}, {2})});
  CHECK(cube.shape() == Shape{1, 1, 2, 2, 2});
}

TEST_CASE("conv resolves auto_pad") {
  const Tensor x = floats({1, 1, 5}, {1, 2, 3, 4, 5});
  const Tensor w = floats({1, 1, 2}, {1, 10});
  const auto padded = [&](const char* word) { return numbers(run_one("conv", {text("auto_pad", word)}, {x, w})); };
  CHECK(padded("same_upper") == std::vector<double>{21, 32, 43, 54, 5});
  CHECK(padded("same_lower") == std::vector<double>{10, 21, 32, 43, 54});
  CHECK(padded("valid") == std::vector<double>{21, 32, 43, 54});
  const Tensor strided = run_one("conv", {text("auto_pad", "same_upper"), integers("strides", {2})}, {x, w});
  CHECK(numbers(strided) == std::vector<double>{21, 43, 5});
}

TEST_CASE("conv applies the epilogue") {
  const Tensor x = floats({1, 1, 3}, {-2, 0, 3});
  const Tensor w = floats({2, 1, 1}, {1, -1});
  const Tensor bias = floats({2}, {1, 0.5});
  const Tensor residual = floats({1, 2, 3}, {10, 20, 30, -10, -20, -30});
  const Tensor slope = floats({2}, {0.5, 2});
  const auto result = [&](Attributes attributes, Tensors rest) {
    Tensors operands = {x, w};
    for (Tensor& tensor : rest) operands.push_back(tensor);
    return numbers(run_one("conv", std::move(attributes), operands));
  };
  CHECK(result({}, {bias}) == std::vector<double>{-1, 1, 4, 2.5, 0.5, -2.5});
  CHECK(result({text("activation", "relu")}, {bias}) == std::vector<double>{0, 1, 4, 2.5, 0.5, 0});
  CHECK(result({text("activation", "relu")}, {bias, residual}) == std::vector<double>{9, 21, 34, 0, 0, 0});
  CHECK(result({text("activation", "relu"), text("residual", "after")}, {bias, residual}) ==
        std::vector<double>{10, 21, 34, -7.5, -19.5, -30});
  CHECK(result({text("activation", "relu")}, {Tensor(), residual}) == std::vector<double>{8, 20, 33, 0, 0, 0});
  CHECK(result({text("activation", "prelu")}, {bias, Tensor(), slope}) == std::vector<double>{-0.5, 1, 4, 2.5, 0.5, -5});
  CHECK(result({text("activation", "prelu")}, {bias, Tensor(), floats({1}, {0.5})}) ==
        std::vector<double>{-0.5, 1, 4, 2.5, 0.5, -1.25});
  CHECK(result({text("activation", "clip"), number("alpha", -0.5), number("beta", 2)}, {bias}) ==
        std::vector<double>{-0.5, 1, 2, 2, 0.5, -0.5});
}

TEST_CASE("conv of integers sums exactly, and wraps") {
  const Tensor x = tensor(DType::int32, {1, 2, 2}, {20000001, -3, 7, 1});
  const Tensor w = tensor(DType::int32, {1, 2, 2}, {1, 5, -1, 2});
  const Tensor bias = tensor(DType::int32, {1}, {100});
  const Tensor y = run_one("conv", {}, {x, w, bias});
  CHECK(y.dtype() == DType::int32);
  CHECK(numbers(y) == std::vector<double>{20000001 - 15 - 7 + 2 + 100});
  const Tensor big = tensor(DType::int32, {1, 1, 2}, {2147483647, 2});
  CHECK(numbers(run_one("conv", {}, {big, tensor(DType::int32, {1, 1, 2}, {1, 1})})) == std::vector<double>{-2147483647});
  CHECK(failure(make_node("conv", 2, 1, {text("activation", "relu")}),
                {unknown(DType::int32, {1, 2, 2}), unknown(DType::int32, {1, 2, 2})})
            .find("takes no activation") != std::string::npos);
}

TEST_CASE("conv of empty tensors") {
  const Tensor w = pattern(DType::float32, {2, 3, 3, 3});
  CHECK(run_one("conv", {}, {Tensor(DType::float32, {0, 3, 5, 5}), w}).shape() == Shape{0, 2, 3, 3});
  const Attributes same = {integers("pads", {1, 1, 1, 1})};
  CHECK(run_one("conv", same, {Tensor(DType::float32, {1, 3, 0, 5}), w}).shape() == Shape{1, 2, 0, 5});
  // No input channels: the sum is empty, only the bias is left.
  const Tensor y =
      run_one("conv", {}, {Tensor(DType::float32, {1, 0, 2, 1}), Tensor(DType::float32, {1, 0, 1, 1}), floats({1}, {3})});
  CHECK(numbers(y) == std::vector<double>{3, 3});
}

TEST_CASE("conv's shape over symbols") {
  const Dim n = Dim::symbol(0);
  const Facts w = unknown(DType::float32, {16, 3, 3, 3});
  const auto shape = [&](std::vector<Dim> x, Attributes attributes) {
    return shape_text(infer(make_node("conv", 2, 1, std::move(attributes)), {unknown(DType::float32, std::move(x)), w})[0]);
  };
  CHECK(shape({n, 3, 8, 8}, {}) == "[N, 16, 6, 6]");
  CHECK(shape({1, 3, n, 2 * n + 1}, {integers("pads", {1, 1, 1, 1})}) == "[1, 16, N, 2*N + 1]");
  CHECK(shape({1, 3, n, n * 4}, {integers("strides", {1, 2}), integers("pads", {0, 1, 0, 1})}) == "[1, 16, N - 2, 2*N]");
  CHECK(shape({1, 3, n, n * 4 + 1}, {integers("strides", {2, 2}), integers("pads", {1, 1, 1, 1})}) == "[1, 16, ?, 2*N + 1]");
  CHECK(shape({1, 3, n * 2 + 1, 7}, {integers("strides", {2, 2}), text("auto_pad", "same_upper")}) == "[1, 16, N + 1, 4]");
  CHECK(shape({Dim(), Dim(), 5, Dim()}, {}) == "[?, 16, 3, ?]");
  Facts unranked;
  unranked.dtype = DType::float32;
  CHECK(shape_text(infer(make_node("conv", 2, 1, {}), {unranked, w})[0]) == "[?, 16, ?, ?]");
  CHECK(shape_text(infer(make_node("conv", 2, 1, {}), {unranked, unranked})[0]) == "unranked");
}

TEST_CASE("conv's affine shapes agree with the shapes of concrete sizes") {
  const Dim n = Dim::symbol(0);
  const Facts w = unknown(DType::float32, {1, 1, 3});
  for (const char* word : {"explicit", "same_upper", "same_lower", "valid"}) {
    for (std::int64_t offset = 0; offset < 4; ++offset) {
      Attributes attributes = {integers("strides", {3}), integers("dilations", {2}), text("auto_pad", word),
                               integers("pads", {2, 1})};
      const Node node = make_node("conv", 2, 1, attributes);
      const Dim affine = infer(node, {unknown(DType::float32, {1, 1, n * 3 + offset}), w})[0].shape.dims[2];
      REQUIRE(affine.is_symbolic());
      for (std::int64_t value = 2; value < 6; ++value) {
        const Dim concrete = infer(node, {unknown(DType::float32, {1, 1, value * 3 + offset}), w})[0].shape.dims[2];
        CHECK(affine.substitute({value}).same(concrete));
      }
    }
  }
}

TEST_CASE("conv refuses what contradicts itself, with the numbers") {
  const Facts x = unknown(DType::float32, {1, 3, 8, 8});
  const Facts w = unknown(DType::float32, {4, 3, 3, 3});
  const auto why = [](Attributes attributes, const std::vector<Facts>& inputs) {
    return failure(make_node("conv", inputs.size(), 1, std::move(attributes)), inputs);
  };
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  CHECK(says(why({}, {unknown(DType::float32, {1, 4, 8, 8}), w}), "4 channels"));
  CHECK(says(why({}, {unknown(DType::float32, {1, 3, 2, 8}), w}), "input of size 2"));
  CHECK(says(why({integer("group", 3)}, {unknown(DType::float32, {1, 9, 8, 8}), w}), "does not divide the 4"));
  CHECK(says(why({integer("group", 0)}, {x, w}), "group is 0"));
  CHECK(says(why({integers("strides", {0, 1})}, {x, w}), "strides holds 0"));
  CHECK(says(why({integers("strides", {1})}, {x, w}), "strides has 1 numbers"));
  CHECK(says(why({integers("pads", {0, 0, -1, 0})}, {x, w}), "pads holds -1"));
  CHECK(says(why({integers("dilations", {INT64_MAX, 1})}, {x, w}), "dilations holds"));
  CHECK(says(why({}, {x, unknown(DType::float32, {4, 3, 3})}), "same rank"));
  CHECK(says(why({}, {unknown(DType::float32, {1, 3}), unknown(DType::float32, {4, 3})}), "at least 3"));
  CHECK(says(why({}, {x, unknown(DType::float32, {4, 3, 0, 3})}), "kernel has size 0"));
  CHECK(says(why({}, {x, unknown(DType::float64, {4, 3, 3, 3})}), "float64"));
  CHECK(says(why({}, {unknown(DType::int64, {1, 3, 8, 8}), unknown(DType::int64, {4, 3, 3, 3})}), "int64"));
  CHECK(says(why({}, {x, w, unknown(DType::float32, {3})}), "bias has shape [3]"));
  CHECK(says(why({}, {x, w, Facts{}, unknown(DType::float32, {1, 4, 6, 5})}), "residual has shape"));
  CHECK(says(why({text("activation", "prelu")}, {x, w}), "slope"));
  CHECK(says(why({text("activation", "swish")}, {x, w}), "swish"));
  CHECK(says(why({}, {unknown(DType::float32, {1, 3, INT64_MAX, 8}), w}), "size"));
}
