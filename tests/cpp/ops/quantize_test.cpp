// quantize and dequantize: rounding, saturation, granularity, narrow types and refusals.
#include <cmath>
#include <limits>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using List = std::vector<double>;

NamedAttribute to(DType dtype) { return integer("to", static_cast<std::int64_t>(dtype)); }

}  // namespace

TEST_CASE("quantize rounds half to even and saturates") {
  const Tensor x = floats({9}, {-300, -3, -1, 0, 1, 3, 5, 253, 1000});
  const Tensor scale = floats({}, {2});
  CHECK(numbers(run_one("quantize", {to(DType::int8)}, {x, scale})) == List{-128, -2, 0, 0, 0, 2, 2, 126, 127});
  CHECK(numbers(run_one("quantize", {to(DType::uint8)}, {x, scale, tensor(DType::uint8, {}, {128})})) ==
        List{0, 126, 128, 128, 128, 130, 130, 254, 255});
  CHECK(run_one("quantize", {}, {x, scale}).dtype() == DType::uint8);
  CHECK(numbers(run_one("quantize", {to(DType::int4)}, {x, scale})) == List{-8, -2, 0, 0, 0, 2, 2, 7, 7});
  CHECK(numbers(run_one("quantize", {}, {x, scale, tensor(DType::uint4, {}, {7})})) == List{0, 5, 7, 7, 7, 9, 9, 15, 15});
  CHECK(numbers(run_one("quantize", {to(DType::int16)}, {floats({2}, {1e6, -1e6}), scale})) == List{32767, -32768});
  CHECK(numbers(run_one("quantize", {to(DType::uint16)}, {floats({2}, {1e6, -1e6}), scale})) == List{65535, 0});
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(numbers(run_one("quantize", {to(DType::int8)}, {floats({2}, {infinity, -infinity}), scale})) == List{127, -128});
}

TEST_CASE("quantize divides in float32") {
  // The quotients are ties in float32; in double they would be just below 7.5 and just above 8.5.
  CHECK(numbers(run_one("quantize", {to(DType::int8)}, {floats({2}, {0.75, 0.85}), floats({}, {0.1})})) == List{8, 8});
  CHECK(numbers(run_one("quantize", {}, {tensor(DType::int32, {2}, {5, 7}), floats({}, {2})})) == List{2, 4});
}

TEST_CASE("quantize divides in the scale's precision, or in the one that is named") {
  // The quotient is 2.5009 in float32, a tie in float16 and bfloat16.
  const List x = {1.2529296875};
  const List scale = {0.5009765625};
  const auto quantized = [&](DType dtype, Attributes attributes) {
    attributes.push_back(to(DType::int8));
    return numbers(run_one("quantize", std::move(attributes), {tensor(dtype, {1}, x), tensor(dtype, {}, scale)}));
  };
  CHECK(quantized(DType::float16, {}) == List{2});
  CHECK(quantized(DType::float32, {}) == List{3});
  CHECK(quantized(DType::float32, {integer("precision", static_cast<std::int64_t>(DType::bfloat16))}) == List{2});
  CHECK(quantized(DType::float16, {integer("precision", static_cast<std::int64_t>(DType::float32))}) == List{3});
  CHECK(failure(make_node("quantize", 2, 1, {integer("precision", static_cast<std::int64_t>(DType::int8))}),
                {unknown(DType::float32, {1}), unknown(DType::float32, {})})
            .find("cannot divide in dtype int8") != std::string::npos);
}

TEST_CASE("quantize along an axis and in blocks") {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers(run_one("quantize", {to(DType::int8), integer("axis", 0)},
                        {x, floats({2}, {1, 2}), tensor(DType::int8, {2}, {0, 10})})) == List{1, 2, 3, 12, 12, 13});
  CHECK(numbers(run_one("quantize", {to(DType::int8), integer("axis", -1)}, {x, floats({3}, {1, 2, 3})})) ==
        List{1, 1, 1, 4, 2, 2});
  const Tensor blocks = floats({2, 2}, {1, 3, 2, 6});
  CHECK(numbers(run_one("quantize", {to(DType::int8), integer("axis", 1), integer("block", 2)}, {x, blocks})) ==
        List{1, 2, 1, 2, 2, 1});
  const Tensor rows = floats({1, 3}, {1, 2, 3});
  CHECK(numbers(run_one("quantize", {to(DType::int8), integer("axis", 0), integer("block", 2)}, {x, rows})) ==
        List{1, 1, 1, 4, 2, 2});
}

TEST_CASE("dequantize undoes quantize") {
  CHECK(numbers(run_one("dequantize", {},
                        {tensor(DType::uint8, {3}, {0, 128, 255}), floats({}, {0.5}), tensor(DType::uint8, {}, {128})})) ==
        List{-64, 0, 63.5});
  const Tensor w = tensor(DType::int8, {2, 1, 2}, {-128, 127, 1, 2});
  CHECK(numbers(run_one("dequantize", {integer("axis", 0)}, {w, floats({2}, {0.5, 2}), tensor(DType::int8, {2}, {0, 1})})) ==
        List{-64, 63.5, 0, 2});
  CHECK(numbers(run_one("dequantize", {integer("axis", 2), integer("block", 1)}, {w, floats({2, 1, 2}, {1, 2, 3, 4})})) ==
        List{-128, 254, 3, 8});
  const Tensor half = run_one("dequantize", {}, {tensor(DType::int32, {1}, {3}), tensor(DType::float16, {}, {0.5})});
  CHECK(half.dtype() == DType::float16);
  CHECK(numbers(half) == List{1.5});
  CHECK(run_one("dequantize", {to(DType::float16)}, {w, floats({}, {1})}).dtype() == DType::float16);
  CHECK(numbers(run_one("dequantize", {}, {tensor(DType::int4, {2}, {-8, 7}), floats({1}, {2})})) == List{-16, 14});
}

TEST_CASE("quantize to eight-bit floats") {
  const Tensor x = floats({4}, {1, 2.1, 1000, -1000});
  const Tensor scale = floats({}, {1});
  CHECK(numbers(run_one("quantize", {to(DType::float8e4m3fn)}, {x, scale})) == List{1, 2, 448, -448});
  const List open = numbers(run_one("quantize", {to(DType::float8e5m2), integer("saturate", 0)}, {floats({2}, {1, 1e9}), scale}));
  CHECK(open[0] == 1);
  CHECK(open[1] == std::numeric_limits<double>::infinity());
  CHECK(numbers(run_one("quantize", {to(DType::float8e5m2)}, {floats({1}, {1e9}), scale})) == List{57344});
  CHECK(numbers(run_one("dequantize", {}, {tensor(DType::float8e4m3fn, {2}, {1.5, -3}), floats({}, {2})})) == List{3, -6});
}

TEST_CASE("quantize of empty tensors, and shapes over symbols") {
  CHECK(run_one("quantize", {}, {Tensor(DType::float32, {0, 3}), floats({3}, {1, 1, 1})}).shape() == Shape{0, 3});
  const Dim n = Dim::symbol(0);
  CHECK(shape_text(infer(make_node("quantize", 2, 1, {}),
                         {unknown(DType::float32, {n, 3, Dim()}), unknown(DType::float32, {3})})[0]) == "[N, 3, ?]");
  CHECK(shape_text(infer(make_node("dequantize", 2, 1, {integer("axis", 0), integer("block", 4)}),
                         {unknown(DType::int8, {n, 3}), unknown(DType::float32, {Dim(), 3})})[0]) == "[N, 3]");
}

TEST_CASE("quantize refuses what contradicts itself") {
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  const auto why = [](const char* op, Attributes attributes, const std::vector<Facts>& inputs) {
    return failure(make_node(op, inputs.size(), 1, std::move(attributes)), inputs);
  };
  const Facts x = unknown(DType::float32, {2, 3});
  const auto f = [](std::vector<Dim> dims) { return unknown(DType::float32, std::move(dims)); };
  CHECK(says(why("quantize", {}, {x, f({2})}), "along axis 1"));
  CHECK(says(why("quantize", {integer("axis", 2)}, {x, f({3})}), "axis 2"));
  CHECK(says(why("quantize", {integer("block", 2)}, {x, f({2, 1})}), "blocks of 2"));
  CHECK(says(why("quantize", {integer("block", -2)}, {x, f({2, 1})}), "block is -2"));
  CHECK(says(why("quantize", {to(DType::int8)}, {x, f({}), unknown(DType::uint8, {})}), "zero point has dtype uint8"));
  CHECK(says(why("quantize", {}, {x, f({3}), unknown(DType::uint8, {2})}), "zero point has shape"));
  CHECK(says(why("quantize", {to(DType::float32)}, {x, f({})}), "cannot quantise"));
  CHECK(says(why("quantize", {integer("to", 99)}, {x, f({})}), "99"));
  CHECK(says(why("dequantize", {}, {x, f({})}), "holds no quantised numbers"));
  CHECK(says(why("dequantize", {}, {unknown(DType::int8, {2}), unknown(DType::int8, {})}), "operand 1"));
}
