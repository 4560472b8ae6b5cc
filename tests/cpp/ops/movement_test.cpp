// Ops that only move data: their results, the regions that planners turn into views, and what their rules know.
#include <numeric>

#include "ops/region_copy.h"
#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using Ints = std::vector<std::int64_t>;

Tensor counted(const Shape& shape, DType dtype = DType::int64) {
  Ints values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0);
  return tensor(dtype, shape, values);
}

Tensor vector_of(const Ints& values) { return int64s({static_cast<std::int64_t>(values.size())}, values); }

Ints moved(const std::string& op, Attributes attributes, const Tensors& inputs, const Shape& shape) {
  const Tensor y = run_one(op, std::move(attributes), inputs);
  CHECK(y.shape() == shape);
  return read_integers(y.view());
}

/// The regions of output 0 for an input of these strides and a dense output.
std::optional<std::vector<Region>> regions_of(const Node& node, const TensorView& x, const Tensors& others, const Shape& y) {
  std::vector<TensorView> inputs{x};
  for (const Tensor& other : others) inputs.push_back(other.view());
  const TensorView output{nullptr, x.dtype, y, dense_strides(y)};
  return find_op(node.op)->regions(node, inputs, std::span(&output, 1), 0);
}

}  // namespace

TEST_CASE("transpose") {
  CHECK(moved("transpose", {integers("perm", {2, 0, 1})}, {counted({2, 3, 2})}, {2, 2, 3}) ==
        Ints{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11});
  CHECK(moved("transpose", {integers("perm", {})}, {counted({})}, {}) == Ints{0});
  CHECK(moved("transpose", {integers("perm", {1, 0})}, {counted({0, 3})}, {3, 0}).empty());
  CHECK(inferred("transpose", {integers("perm", {1, 0})}, {unknown(DType::float32, {n(), Dim(3)})}) == "[3, N]");
  CHECK(inferred("transpose", {integers("perm", {1, 0})}, {unranked(DType::float32)}) == "[?, ?]");
  CHECK(fails("transpose", {integers("perm", {0, 0})}, {unknown(DType::float32, {n(), n()})}, "no permutation"));
  CHECK(fails("transpose", {integers("perm", {0, 2})}, {unknown(DType::float32, {n(), n()})}, "no permutation"));
  CHECK(fails("transpose", {integers("perm", {0})}, {unknown(DType::float32, {n(), n()})}, "perm has 1 axes"));
}

TEST_CASE("movement carries every dtype's bytes") {
  for (int number = 1; number <= static_cast<int>(DType::int2); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (size_of(dtype) == 0) continue;
    CAPTURE(to_string(dtype));
    Tensor x(dtype, {2, 3});
    for (std::size_t i = 0; i < x.bytes(); ++i) static_cast<std::uint8_t*>(x.data())[i] = static_cast<std::uint8_t>(251 * i + 7);
    const Tensor y = run_one("transpose", {integers("perm", {1, 0})}, {run_one("transpose", {integers("perm", {1, 0})}, {x})});
    CHECK(std::memcmp(x.data(), y.data(), x.bytes()) == 0);
  }
}

TEST_CASE("reshape") {
  CHECK(moved("reshape", {}, {counted({2, 3, 4}), vector_of({4, -1})}, {4, 6}) == read_integers(counted({24}).view()));
  CHECK(moved("reshape", {}, {counted({2, 3}), vector_of({0, 1, 3})}, {2, 1, 3}).size() == 6);
  CHECK(moved("reshape", {}, {counted({1}), vector_of({})}, {}) == Ints{0});
  CHECK(moved("reshape", {}, {counted({0, 3}), vector_of({0, -1})}, {0, 3}).empty());
  CHECK(moved("reshape", {}, {counted({0, 3}), vector_of({-1, 3})}, {0, 3}).empty());
  CHECK(moved("reshape", {integer("allow_zero", 1)}, {counted({0, 3}), vector_of({3, 0})}, {3, 0}).empty());
  const Facts x = known(counted({2, 3, 4}));
  CHECK(fails("reshape", {}, {x, list({Dim(5), Dim(-1)})}, "cannot be reshaped"));
  CHECK(fails("reshape", {}, {x, list({Dim(5), Dim(5)})}, "numbers of elements differ"));
  CHECK(fails("reshape", {}, {x, list({Dim(-1), Dim(-1)})}, "more than one -1"));
  CHECK(fails("reshape", {}, {x, list({Dim(-2), Dim(12)})}, "-2"));
  CHECK(fails("reshape", {}, {x, list({Dim(0), Dim(0), Dim(0), Dim(0)})}, "lacks"));
  CHECK(fails("reshape", {}, {x, list({Dim(std::int64_t{1} << 62), Dim(std::int64_t{1} << 62)})}));
  CHECK(fails("reshape", {integer("allow_zero", 1)}, {x, list({Dim(0), Dim(24)})}, "differ"));
}

TEST_CASE("reshape with symbols") {
  const Facts x = unknown(DType::float32, {n(), m(), Dim(12), Dim(32)});
  CHECK(inferred("reshape", {}, {x, list({Dim(0), Dim(0), Dim(-1)})}) == "[N, M, 384]");
  CHECK(inferred("reshape", {}, {x, list({n(), m(), Dim(-1)})}) == "[N, M, 384]");
  CHECK(inferred("reshape", {}, {x, list({Dim(0), Dim(-1), Dim(32)})}) == "[N, 12*M, 32]");
  CHECK(inferred("reshape", {}, {x, list({Dim(-1), Dim(384)})}) == "[?, 384]");
  CHECK(inferred("reshape", {}, {x, list({n(), open(), Dim(4)})}) == "[N, ?, 4]");
  CHECK(inferred("reshape", {}, {unknown(DType::float32, {open(), Dim(6)}), list({Dim(0), Dim(2), Dim(-1)})}) == "[?, 2, 3]");
  CHECK(inferred("reshape", {}, {unknown(DType::float32, {n() * Dim(2), Dim(6)}), list({n(), Dim(-1)})}) == "[N, 12]");
  CHECK(inferred("reshape", {}, {unknown(DType::float32, {n() * Dim(4)}), list({Dim(-1), Dim(2)})}) == "[2*N, 2]");
  CHECK(inferred("reshape", {}, {x, unknown(DType::int64, {Dim(3)})}) == "[?, ?, ?]");
  CHECK(inferred("reshape", {}, {x, unknown(DType::int64, {n()})}) == "unranked");
  CHECK(inferred_elements("reshape", {}, {list({n(), Dim(2)}), list({Dim(2), Dim(1)})}) == "[N, 2]");
}

TEST_CASE("flatten, squeeze and unsqueeze") {
  CHECK(moved("flatten", {integer("axis", 2)}, {counted({2, 3, 4})}, {6, 4}).size() == 24);
  CHECK(moved("flatten", {integer("axis", 0)}, {counted({2, 3})}, {1, 6}).size() == 6);
  CHECK(moved("flatten", {integer("axis", -1)}, {counted({2, 3})}, {2, 3}).size() == 6);
  CHECK(moved("flatten", {integer("axis", 3)}, {counted({2, 0, 4})}, {0, 1}).empty());
  CHECK(fails("flatten", {integer("axis", 3)}, {known(counted({2, 3}))}, "axis 3"));
  CHECK(inferred("flatten", {integer("axis", 1)}, {unknown(DType::float32, {n(), Dim(3), Dim(4)})}) == "[N, 12]");

  CHECK(moved("squeeze", {}, {counted({1, 3, 1})}, {3}).size() == 3);
  CHECK(moved("squeeze", {}, {counted({1, 3, 1}), vector_of({-1})}, {1, 3}).size() == 3);
  CHECK(fails("squeeze", {}, {known(counted({1, 3})), list({Dim(1)})}, "cannot be dropped"));
  CHECK(fails("squeeze", {}, {known(counted({1, 3})), list({Dim(2)})}, "outside"));
  CHECK(fails("squeeze", {}, {known(counted({1, 3})), list({Dim(0), Dim(-2)})}, "twice"));
  CHECK(inferred("squeeze", {}, {unknown(DType::float32, {Dim(1), n()})}) == "unranked");
  CHECK(inferred("squeeze", {}, {unknown(DType::float32, {Dim(1), n()}), list({Dim(0)})}) == "[N]");

  CHECK(moved("unsqueeze", {}, {counted({3}), vector_of({0, -1})}, {1, 3, 1}).size() == 3);
  CHECK(moved("unsqueeze", {}, {counted({}), vector_of({0})}, {1}) == Ints{0});
  CHECK(fails("unsqueeze", {}, {known(counted({3})), list({Dim(0), Dim(0)})}, "twice"));
  CHECK(fails("unsqueeze", {}, {known(counted({3})), list({Dim(2)})}, "outside"));
  CHECK(inferred("unsqueeze", {}, {unknown(DType::float32, {n()}), unknown(DType::int64, {Dim(2)})}) == "[?, ?, ?]");
  CHECK(inferred_elements("unsqueeze", {}, {scalar(n()), list({Dim(0)})}) == "[N]");
}

TEST_CASE("expand and tile") {
  CHECK(moved("expand", {}, {counted({2, 1}), vector_of({2, 1, 3})}, {2, 2, 3}) == Ints{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  CHECK(moved("expand", {}, {counted({2, 3}), vector_of({1})}, {2, 3}).size() == 6);
  CHECK(moved("expand", {}, {counted({1}), vector_of({0})}, {0}).empty());
  CHECK(fails("expand", {}, {known(counted({2})), list({Dim(3)})}, "do not broadcast"));
  CHECK(fails("expand", {}, {known(counted({1})), list({Dim(-1)})}, "-1"));
  CHECK(fails("expand", {}, {known(counted({1})), list({Dim(std::int64_t{1} << 40), Dim(std::int64_t{1} << 40)})}, "63 bits"));
  CHECK(inferred("expand", {}, {unknown(DType::float32, {Dim(1), Dim(4)}), list({n(), Dim(1)})}) == "[N, 4]");
  CHECK(inferred_elements("expand", {}, {list({n()}), list({Dim(2)})}) == "[N, N]");

  CHECK(moved("tile", {}, {counted({2, 2}), vector_of({2, 3})}, {4, 6}) ==
        Ints{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3});
  CHECK(moved("tile", {}, {counted({2}), vector_of({0})}, {0}).empty());
  CHECK(moved("tile", {}, {counted({}), vector_of({})}, {}) == Ints{0});
  CHECK(fails("tile", {}, {known(counted({2})), list({Dim(-1)})}, "-1 times"));
  CHECK(fails("tile", {}, {known(counted({2})), list({Dim(1), Dim(1)})}, "repeats has 2"));
  CHECK(fails("tile", {}, {known(counted({4})), list({Dim(std::int64_t{1} << 62)})}));
  CHECK(inferred("tile", {}, {unknown(DType::float32, {n(), Dim(2)}), list({Dim(3), n()})}) == "[3*N, 2*N]");
  // Rank 12 leaves no room for axes of copies.
  const Shape wide{2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 3};
  const Ints tiled =
      moved("tile", {}, {counted(wide), vector_of({2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2})}, {4, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 6});
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      for (std::int64_t k = 0; k < 6; ++k)
        CHECK(tiled[static_cast<std::size_t>((i * 2 + j) * 6 + k)] == (i % 2 * 2 + j) * 3 + k % 3);
    }
  }
}

TEST_CASE("depth_to_space and space_to_depth undo each other") {
  const Tensor x = counted({1, 8, 1, 2});
  CHECK(moved("depth_to_space", {integer("block", 2), text("mode", "dcr")}, {x}, {1, 2, 2, 4}) ==
        Ints{0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15});
  CHECK(moved("depth_to_space", {integer("block", 2), text("mode", "crd")}, {x}, {1, 2, 2, 4}) ==
        Ints{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
  const Tensor big = counted({2, 12, 3, 5});
  const Tensor there = run_one("depth_to_space", {integer("block", 2), text("mode", "dcr")}, {big});
  CHECK(moved("space_to_depth", {integer("block", 2)}, {there}, {2, 12, 3, 5}) == read_integers(big.view()));
  CHECK(fails("depth_to_space", {integer("block", 3)}, {known(x)}, "no multiple of 9"));
  CHECK(fails("space_to_depth", {integer("block", 2)}, {known(x)}, "no multiple of 2"));
  CHECK(fails("space_to_depth", {integer("block", 0)}, {known(x)}, "block is 0"));
  CHECK(fails("space_to_depth", {integer("block", 1)}, {known(counted({3}))}, "rank 4"));
  CHECK(inferred("space_to_depth", {integer("block", 2)}, {unknown(DType::float32, {n(), Dim(3), Dim(4), n() * Dim(2)})}) ==
        "[N, 12, 2, N]");
}

TEST_CASE("slice") {
  const Tensor x = counted({4, 5});
  CHECK(moved("slice", {}, {x, vector_of({1, 0}), vector_of({3, 5})}, {2, 5}) == Ints{5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  CHECK(moved("slice", {}, {x, vector_of({-1}), vector_of({-100}), vector_of({0}), vector_of({-2})}, {2, 5}) ==
        Ints{15, 16, 17, 18, 19, 5, 6, 7, 8, 9});
  CHECK(moved("slice", {}, {x, vector_of({1}), vector_of({INT64_MAX}), vector_of({-1}), vector_of({3})}, {4, 2}) ==
        Ints{1, 4, 6, 9, 11, 14, 16, 19});
  CHECK(moved("slice", {}, {x, vector_of({INT64_MAX}), vector_of({INT64_MIN}), vector_of({1}), vector_of({-1})}, {4, 5})[0] == 4);
  CHECK(moved("slice", {}, {x, vector_of({3}), vector_of({1})}, {0, 5}).empty());
  CHECK(moved("slice", {}, {x, vector_of({0}), vector_of({4}), vector_of({0}), vector_of({INT64_MIN})}, {0, 5}).empty());
  CHECK(moved("slice", {}, {x, vector_of({3}), vector_of({0}), vector_of({0}), vector_of({INT64_MIN})}, {1, 5})[0] == 15);
  CHECK(moved("slice", {}, {x, vector_of({0}), vector_of({4}), vector_of({0}), vector_of({INT64_MAX})}, {1, 5})[0] == 0);
  CHECK(moved("slice", {}, {counted({0}), vector_of({-1}), vector_of({-5}), vector_of({0}), vector_of({-1})}, {0}).empty());
  CHECK(moved("slice", {}, {x, vector_of({}), vector_of({})}, {4, 5}).size() == 20);
  const Facts facts = known(x);
  CHECK(fails("slice", {}, {facts, list({Dim(0)}), list({Dim(1)}), list({Dim(0)}), list({Dim(0)})}, "step along axis 0 is 0"));
  CHECK(fails("slice", {}, {facts, list({Dim(0)}), list({Dim(1), Dim(2)})}, "differ in length"));
  CHECK(fails("slice", {}, {facts, list({Dim(0)}), list({Dim(1)}), list({Dim(2)})}, "axis 2"));
  CHECK(fails("slice", {}, {facts, list({Dim(0), Dim(0)}), list({Dim(1), Dim(1)}), list({Dim(1), Dim(-1)})}, "twice"));
  CHECK(fails("slice", {}, {facts, list({Dim(0), Dim(0), Dim(0)}), list({Dim(1), Dim(1), Dim(1)})}, "cuts 3 axes"));
}

TEST_CASE("slice with symbols") {
  const auto cut = [](const Dim& size, const Dim& start, const Dim& end, std::int64_t step = 1) {
    return inferred("slice", {},
                    {unknown(DType::float32, {size}), list({start}), list({end}), list({Dim(0)}), list({Dim(step)})});
  };
  CHECK(cut(n(), Dim(0), Dim(INT64_MAX)) == "[N]");
  CHECK(cut(n(), Dim(0), Dim(INT32_MAX)) == "[N]");
  CHECK(cut(n(), Dim(0), n()) == "[N]");
  CHECK(cut(n(), Dim(1), Dim(INT64_MAX)) == "[?]");  // N may be 0
  CHECK(cut(n() + Dim(3), Dim(1), Dim(INT64_MAX)) == "[N + 2]");
  CHECK(cut(n() + Dim(3), Dim(0), Dim(-1)) == "[N + 2]");
  CHECK(cut(n() + Dim(3), Dim(-2), Dim(INT64_MAX)) == "[2]");
  CHECK(cut(n() + Dim(3), Dim(0), Dim(2)) == "[2]");
  CHECK(cut(n(), Dim(0), Dim(5)) == "[?]");
  CHECK(cut(n() * Dim(2), Dim(0), Dim(INT64_MAX), 2) == "[N]");
  CHECK(cut(n(), Dim(-1), Dim(INT64_MIN), -1) == "[N]");
  CHECK(cut(n() * Dim(2) + m(), m(), Dim(INT64_MAX)) == "[2*N]");
  CHECK(cut(open(), Dim(0), Dim(1)) == "[?]");
  CHECK(cut(n(), open(), n()) == "[?]");
  CHECK(inferred("slice", {},
                 {unknown(DType::float32, {n(), m()}), unknown(DType::int64, {Dim(1)}), list({Dim(2)}), list({Dim(1)})}) ==
        "[N, ?]");
  CHECK(inferred("slice", {},
                 {unknown(DType::float32, {n(), m()}), unknown(DType::int64, {n()}), unknown(DType::int64, {n()})}) == "[?, ?]");
  CHECK(inferred_elements("slice", {},
                          {list({n(), m(), Dim(7)}), list({Dim(-1)}), list({Dim(0)}), list({Dim(0)}), list({Dim(-1)})}) ==
        "[7, M]");
}

TEST_CASE("split") {
  const Tensor x = counted({2, 5});
  const Tensors parts = run(make_node("split", 2, 3, {integer("axis", 1)}), {x, vector_of({2, 0, 3})});
  CHECK(read_integers(parts[0].view()) == Ints{0, 1, 5, 6});
  CHECK(parts[1].shape() == Shape{2, 0});
  CHECK(read_integers(parts[2].view()) == Ints{2, 3, 4, 7, 8, 9});
  const Tensors equal = run(make_node("split", 1, 2, {integer("axis", -1)}), {x});
  CHECK(equal[0].shape() == Shape{2, 3});
  CHECK(read_integers(equal[1].view()) == Ints{3, 4, 8, 9});
  const auto rejected = [&](std::size_t outputs, const std::vector<Facts>& inputs) {
    return failure(make_node("split", inputs.size(), outputs, {integer("axis", 1)}), inputs);
  };
  CHECK(rejected(2, {known(x), list({Dim(2), Dim(2)})}).find("add up to 4") != std::string::npos);
  CHECK(rejected(2, {known(x), list({Dim(6), Dim(-1)})}).find("cannot be split") != std::string::npos);
  CHECK(rejected(2, {known(x), list({Dim(5)})}).find("2 results, but 1 sizes") != std::string::npos);
  CHECK(rejected(4, {known(x)}).find("cannot be split") != std::string::npos);
  const std::vector<Facts> halves =
      infer(make_node("split", 1, 2, {integer("axis", 0)}), {unknown(DType::float32, {n() * Dim(2), m()})});
  CHECK(shape_text(halves[1]) == "[N, M]");
  const std::vector<Facts> lists = infer(make_node("split", 1, 2, {integer("axis", 0)}), {list({n(), m(), Dim(3), Dim(4)})});
  CHECK(elements_text(lists[0]) == "[N, M]");
  CHECK(elements_text(lists[1]) == "[3, 4]");
}

TEST_CASE("concat") {
  CHECK(moved("concat", {integer("axis", 1)}, {counted({2, 1}), counted({2, 0}), counted({2, 2})}, {2, 3}) ==
        Ints{0, 0, 1, 1, 2, 3});
  CHECK(moved("concat", {integer("axis", -2)}, {counted({1, 2}), counted({2, 2})}, {3, 2}) == Ints{0, 1, 0, 1, 2, 3});
  const auto shape = [](std::vector<Dim> dims) { return unknown(DType::float32, std::move(dims)); };
  CHECK(inferred("concat", {integer("axis", 0)}, {shape({n(), open()}), shape({n(), Dim(4)})}) == "[2*N, 4]");
  CHECK(inferred("concat", {integer("axis", 0)}, {unranked(DType::float32), shape({n(), Dim(4)})}) == "[?, 4]");
  CHECK(fails("concat", {integer("axis", 0)}, {shape({Dim(1), Dim(2)}), shape({Dim(1), Dim(3)})}, "differ beside axis 0"));
  CHECK(fails("concat", {integer("axis", 0)}, {shape({Dim(1), Dim(2)}), shape({Dim(1)})}, "rank 2"));
  CHECK(fails("concat", {integer("axis", 0)}, {shape({}), shape({})}, "axis 0"));
  CHECK(fails("concat", {integer("axis", 0)}, {shape({Dim(1)}), unknown(DType::int8, {Dim(1)})}, "int8"));
  CHECK(fails("concat", {integer("axis", 0)}, {shape({Dim(INT64_MAX)}), shape({Dim(INT64_MAX)})}));
  CHECK(inferred_elements("concat", {integer("axis", 0)}, {list({n()}), unknown(DType::int64, {Dim(1)}), list({Dim(3)})}) ==
        "[N, ?, 3]");
}

TEST_CASE("regions say when a result is a view of its operand") {
  const Tensor x = counted({2, 3, 4});
  const auto view = [&](const Node& node, const Tensors& others, const Shape& y) {
    const auto regions = regions_of(node, x.view(), others, y);
    REQUIRE(regions.has_value());
    REQUIRE(regions->size() == 1);
    CHECK(regions->front().sizes == y);
    CHECK(regions->front().dst_offset == 0);
    CHECK(regions->front().dst_strides == dense_strides(y));
    return regions->front();
  };
  CHECK(view(make_node("identity", 1, 1, {}), {}, {2, 3, 4}).src_strides == Shape{12, 4, 1});
  CHECK(view(make_node("transpose", 1, 1, {integers("perm", {2, 0, 1})}), {}, {4, 2, 3}).src_strides == Shape{1, 12, 4});
  CHECK(view(make_node("reshape", 2, 1, {}), {vector_of({6, 4})}, {6, 4}).src_strides == Shape{4, 1});
  const Region part =
      view(make_node("slice", 5, 1, {}), {vector_of({2}), vector_of({0}), vector_of({1}), vector_of({-2})}, {2, 1, 4});
  CHECK(part.src_offset == 8);
  const Region flipped =
      view(make_node("slice", 5, 1, {}), {vector_of({2}), vector_of({-9}), vector_of({1}), vector_of({-2})}, {2, 2, 4});
  CHECK(flipped.src_strides == Shape{12, -8, 1});

  // A transposed operand cannot be seen as a list, but can be copied into one; two awkward sides need a dense copy first.
  TensorView transposed = x.view();
  transposed.shape = {4, 3, 2};
  transposed.strides = {1, 4, 12};
  const Node flat = make_node("reshape", 2, 1, {});
  const auto copied = regions_of(flat, transposed, {vector_of({24})}, {24});
  REQUIRE(copied.has_value());
  CHECK(copied->front().sizes == Shape{4, 3, 2});
  CHECK(copied->front().dst_strides == Shape{6, 2, 1});
  const TensorView gaps{nullptr, DType::int64, {6, 4}, {5, 1}};
  const std::vector<TensorView> inputs{transposed, vector_of({6, 4}).view()};
  CHECK_FALSE(find_op("reshape")->regions(flat, inputs, std::span(&gaps, 1), 0).has_value());
}
