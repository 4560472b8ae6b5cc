// Pools by hand and against brute force; padding, ceil_mode, indices, dtypes and empty tensors.
#include <cmath>
#include <limits>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using List = std::vector<double>;

List pooled(const char* op, const Tensor& x, Attributes attributes) { return numbers(run_one(op, std::move(attributes), {x})); }

Tensor counted(const Shape& shape) {
  List values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return floats(shape, values);
}

}  // namespace

TEST_CASE("pools along one axis") {
  const Tensor x = counted({1, 1, 7});
  CHECK(pooled("max_pool", x, {integers("kernel", {3})}) == List{3, 4, 5, 6, 7});
  CHECK(pooled("max_pool", x, {integers("kernel", {2}), integers("dilations", {3})}) == List{4, 5, 6, 7});
  CHECK(pooled("average_pool", x, {integers("kernel", {2}), integers("strides", {2})}) == List{1.5, 3.5, 5.5});
  CHECK(pooled("average_pool", x, {integers("kernel", {3}), integers("pads", {1, 1}), integers("strides", {3})}) ==
        List{1.5, 4, 6.5});
  CHECK(pooled("lp_pool", x, {integers("kernel", {2}), integers("strides", {5}), integer("p", 1)}) == List{3, 13});
  check_close(run_one("lp_pool", {integers("kernel", {2}), integers("strides", {2})}, {floats({1, 1, 4}, {3, 4, -6, 8})}),
              {5, 10});
}

TEST_CASE("average_pool counts padding if asked, but never what ceil_mode adds behind it") {
  const Tensor x = counted({1, 1, 7});
  const auto average = [&](std::int64_t count, std::vector<std::int64_t> pads) {
    return pooled("average_pool", x,
                  {integers("kernel", {4}), integers("strides", {4}), integer("ceil_mode", 1),
                   integer("count_include_pad", count), integers("pads", std::move(pads))});
  };
  CHECK(average(0, {0, 0}) == List{2.5, 6});
  CHECK(average(1, {0, 0}) == List{2.5, 6});
  CHECK(average(0, {1, 1}) == List{2, 5.5});
  CHECK(average(1, {1, 1}) == List{1.5, 5.5});
  CHECK(average(1, {3, 0}) == List{0.25, 3.5, 6.5});
  CHECK(pooled("average_pool", x, {integers("kernel", {4}), integers("strides", {2}), text("auto_pad", "same_lower")}) ==
        List{1.5, 2.5, 4.5, 6});
}

TEST_CASE("max_pool over two axes gives the first of equals and its index") {
  const Tensor x = floats({1, 2, 3, 3}, {1, 5, 5, 2, 5, 0, 7, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9});
  const Attributes attributes = {integers("kernel", {2, 2})};
  const Tensors rows = run(make_node("max_pool", 1, 2, attributes), {x});
  CHECK(numbers(rows[0]) == List{5, 5, 7, 5, 0, 0, 0, 9});
  CHECK(rows[1].dtype() == DType::int64);
  CHECK(numbers(rows[1]) == List{1, 1, 6, 4, 9, 10, 12, 17});
  Attributes columns = attributes;
  columns.push_back(integer("storage_order", 1));
  CHECK(numbers(run(make_node("max_pool", 1, 2, columns), {x})[1]) == List{3, 3, 2, 4, 9, 12, 10, 17});
}

TEST_CASE("max_pool over three axes") {
  const Tensor x = counted({1, 1, 3, 4, 5});
  const Tensors y = run(make_node("max_pool", 1, 2, {integers("kernel", {2, 2, 2}), integer("storage_order", 1)}), {x});
  CHECK(y[0].shape() == Shape{1, 1, 2, 3, 4});
  CHECK(numbers(y[0]).front() == 27);  // index (1, 1, 1)
  CHECK(numbers(y[1]).front() == 1 + 3 * (1 + 4 * 1));
}

TEST_CASE("max_pool of every dtype") {
  for (const DType dtype :
       {DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::int8, DType::int16, DType::int32, DType::int64}) {
    const Tensor x = tensor(dtype, {1, 1, 4}, {-4, -3, -2, -5});
    const Tensor y = run_one("max_pool", {integers("kernel", {2}), integers("pads", {1, 1})}, {x});
    CHECK(y.dtype() == dtype);
    CHECK(numbers(y) == List{-4, -3, -2, -2, -5});
  }
  for (const DType dtype : {DType::uint8, DType::uint16, DType::uint32, DType::uint64}) {
    CHECK(numbers(run_one("max_pool", {integers("kernel", {2})}, {tensor(dtype, {1, 1, 3}, {1, 3, 2})})) == List{3, 3});
  }
  // Beyond what a double tells apart.
  const Tensor large = run_one("max_pool", {integers("kernel", {2})}, {int64s({1, 1, 2}, {INT64_MAX - 1, INT64_MAX})});
  CHECK(large.span<std::int64_t>()[0] == INT64_MAX);
}

TEST_CASE("max_pool with NaN, infinity and windows of padding alone") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const List y = pooled("max_pool", floats({1, 1, 4}, {1, nan, infinity, 2}), {integers("kernel", {2})});
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(y[2] == infinity);
  const Tensors padded =
      run(make_node("max_pool", 1, 2, {integers("kernel", {1}), integers("pads", {1, 0})}), {counted({1, 1, 1})});
  CHECK(numbers(padded[0]) == List{-infinity, 1});
  CHECK(numbers(padded[1]) == List{-1, 0});
}

TEST_CASE("pools of empty tensors") {
  const Attributes attributes = {integers("kernel", {2, 2}), integers("strides", {2, 2})};
  for (const char* op : {"max_pool", "average_pool", "lp_pool"}) {
    CHECK(run_one(op, attributes, {Tensor(DType::float32, {0, 3, 4, 4})}).shape() == Shape{0, 3, 2, 2});
    CHECK(run_one(op, attributes, {Tensor(DType::float32, {1, 3, 0, 4})}).shape() == Shape{1, 3, 0, 2});
  }
}

TEST_CASE("pools' shapes over symbols") {
  const Dim n = Dim::symbol(0);
  const auto shape = [&](std::vector<Dim> x, Attributes attributes) {
    return shape_text(infer(make_node("max_pool", 1, 1, std::move(attributes)), {unknown(DType::float32, std::move(x))})[0]);
  };
  CHECK(shape({n, 8, n * 2, n}, {integers("kernel", {2, 2}), integers("strides", {2, 2})}) == "[N, 8, N, ?]");
  CHECK(shape({n, 8, n * 2 + 1, n * 2}, {integers("kernel", {3, 3}), integers("strides", {2, 2}), integer("ceil_mode", 1)}) ==
        "[N, 8, N, N]");
  CHECK(shape({n, Dim(), n, 1}, {integers("kernel", {3, 1}), integers("pads", {1, 0, 1, 0})}) == "[N, ?, N, 1]");
  const Facts unranked{DType::float32, SymShape::unranked(), {}, {}};
  CHECK(shape_text(infer(make_node("max_pool", 1, 1, {integers("kernel", {3})}), {unranked})[0]) == "[?, ?, ?]");
}

TEST_CASE("affine ceil_mode sizes agree with concrete ones") {
  const Dim n = Dim::symbol(0);
  for (std::int64_t offset = 0; offset < 3; ++offset) {
    for (std::int64_t pad = 0; pad < 3; ++pad) {
      const Node node =
          make_node("max_pool", 1, 1,
                    {integers("kernel", {3}), integers("strides", {3}), integers("pads", {pad, pad}), integer("ceil_mode", 1)});
      const Dim affine = infer(node, {unknown(DType::float32, {1, 1, n * 3 + offset})})[0].shape.dims[2];
      REQUIRE(affine.is_symbolic());
      for (std::int64_t value = 1; value < 5; ++value) {
        const Dim concrete = infer(node, {unknown(DType::float32, {1, 1, value * 3 + offset})})[0].shape.dims[2];
        CHECK(affine.substitute({value}).same(concrete));
      }
    }
  }
}

TEST_CASE("pools refuse what contradicts itself") {
  const auto why = [](const char* op, Attributes attributes, const Facts& x) {
    return failure(make_node(op, 1, 1, std::move(attributes)), {x});
  };
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  const Facts x = unknown(DType::float32, {1, 1, 4, 4});
  CHECK(says(why("max_pool", {integers("kernel", {2})}, x), "kernel has 1"));
  CHECK(says(why("max_pool", {integers("kernel", {})}, x), "kernel is empty"));
  CHECK(says(why("max_pool", {integers("kernel", {6, 2})}, x), "input of size 4"));
  CHECK(shape_text(infer(make_node("max_pool", 1, 1, {integers("kernel", {5, 2})}), {x})[0]) == "[1, 1, 0, 3]");
  CHECK(says(why("max_pool", {integers("kernel", {0, 2})}, x), "kernel has size 0"));
  CHECK(says(why("max_pool", {integers("kernel", {2, 2})}, unknown(DType::boolean, {1, 1, 4, 4})), "bool"));
  CHECK(says(why("average_pool", {integers("kernel", {2, 2})}, unknown(DType::int8, {1, 1, 4, 4})), "int8"));
  CHECK(says(why("lp_pool", {integers("kernel", {2, 2}), integer("p", 0)}, x), "p is 0"));
}
