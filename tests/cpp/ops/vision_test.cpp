// Sampling, regions, folding and determinants on small tensors; data-dependent ops with memory that they ask for.
#include <limits>

#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

/// A data-dependent node's results; operands of dtype undefined are left out.
Tensors select(const std::string& op, Attributes attributes, const Tensors& inputs, std::size_t outputs) {
  const Node node = make_node(op, inputs.size(), outputs, std::move(attributes));
  std::vector<Facts> facts;
  std::vector<TensorView> views, wanted(outputs);
  for (const Tensor& input : inputs) {
    facts.push_back(input.dtype() == DType::undefined ? Facts{} : known(input));
    views.push_back(input.dtype() == DType::undefined ? TensorView{} : input.view());
  }
  const std::vector<Facts> inferred = infer(node, facts);
  for (std::size_t i = 0; i < outputs; ++i) wanted[i].dtype = inferred[i].dtype;
  Tensors results(outputs);
  const ComputeContext::Allocate allocate = [&](std::size_t output, DType dtype, const Shape& shape) {
    CHECK(dtype == inferred[output].dtype);
    results[output] = Tensor(dtype, shape);
    return results[output].view();
  };
  find_op(op)->compute(ComputeContext(node, views, wanted, allocate));
  return results;
}

std::vector<std::int64_t> whole(const Tensor& tensor) { return read_integers(tensor.view()); }

using Ints = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("grid_sample") {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = floats({1, 1, 3, 2}, {0, 0, -1, -1, 3, 3});
  const auto sample = [&](const char* mode, const char* padding, std::int64_t corners) {
    return run_one("grid_sample", {text("mode", mode), text("padding", padding), integer("align_corners", corners)}, {x, grid});
  };
  check_close(sample("linear", "zeros", 1), {2.5, 1, 0});
  check_close(sample("linear", "zeros", 0), {2.5, 0.25, 0});
  check_close(sample("nearest", "border", 1), {1, 1, 4});
  check_close(sample("linear", "reflection", 1), {2.5, 1, 1});
  check_close(sample("cubic", "border", 1), {2.5, 1, 4});
  CHECK(fails("grid_sample", {}, {known(x), known(floats({1, 1, 3, 3}, std::vector<double>(9)))}, "number of coordinates"));
  CHECK(fails("grid_sample", {}, {known(floats({1, 1}, {0})), known(floats({1, 1}, {0}))}, "spatial"));
  CHECK(inferred("grid_sample", {},
                 {unknown(DType::float16, {n(), Dim(3), open(), open()}), unknown(DType::float32, {n(), m(), Dim(5), Dim(2)})}) ==
        "[N, 3, M, 5]");
}

TEST_CASE("deform_columns without offsets are the windows") {
  const Tensor x = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor still = tensor(DType::float32, {1, 8, 1, 2}, std::vector<double>(16));
  const Tensor kernel = int64s({2}, {2, 2});
  check_close(run_one("deform_columns", {}, {x, still, kernel}), {1, 2, 2, 3, 4, 5, 5, 6});
  const Tensor far = tensor(DType::float32, {1, 8, 1, 2}, std::vector<double>(16, 1e30));
  check_close(run_one("deform_columns", {}, {x, far, kernel}), std::vector<double>(8));
  const Tensor mask = tensor(DType::float32, {1, 4, 1, 2}, std::vector<double>(8, 2.0));
  check_close(run_one("deform_columns", {}, {x, still, kernel, mask}), {2, 4, 4, 6, 8, 10, 10, 12});
  CHECK(fails("deform_columns", {}, {known(x), known(mask), known(kernel)}, "number of offsets"));
  CHECK(fails("deform_columns", {integer("offset_group", 0)}, {known(x), known(still), known(kernel)}, "at least 1"));
  CHECK(fails("deform_columns", {}, {known(x), known(still), known(int64s({0}, {}))}, "0 sizes"));
  CHECK(fails("deform_columns", {}, {known(x), known(still), known(int64s({2}, {2, 1 << 30}))}, ""));
  CHECK(inferred("deform_columns", {},
                 {unknown(DType::float32, {n(), m(), open(), open()}), unknown(DType::float32, {open(), Dim(8), n(), Dim(5)}),
                  known(kernel)}) == "[N, 4*M, N, 5]");
}

TEST_CASE("roi_align and max_roi_pool") {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor all = floats({1, 4}, {0, 0, 2, 2});
  const Attributes halves{integer("output_height", 2), integer("output_width", 2), integer("sampling_ratio", 1)};
  check_close(run_one("roi_align", halves, {x, all, int64s({1}, {0})}), {1, 2, 3, 4});
  const Tensor wild = floats({2, 4}, {-1e30, 0, 1e30, std::numeric_limits<double>::infinity(), 1, 1, 0, 0});
  CHECK(run_one("roi_align", {}, {x, wild, int64s({2}, {0, 0})}).shape() == Shape{2, 1, 1, 1});
  CHECK(fails("roi_align", {}, {known(x), known(all), known(int64s({2}, {0, 0}))}, "number of regions"));
  CHECK(fails("roi_align", {integer("output_width", 0)}, {known(x), known(all), known(int64s({1}, {0}))}, "output_width is 0"));
  CHECK(fails("roi_align", {integer("sampling_ratio", 1 << 20)}, {known(x), known(all), known(int64s({1}, {0}))}, "ratio"));
  CHECK(fails("roi_align", {integer("sampling_ratio", 1 << 9), integer("output_width", 1 << 9)},
              {known(x), known(all), known(int64s({1}, {0}))}, "samples per axis"));
  const Tensor region = floats({1, 5}, {0, 0, 0, 1, 1});
  check_close(run_one("max_roi_pool", {integers("pooled_shape", {1, 2})}, {x, region}), {3, 4});
  CHECK_THROWS_AS(run_one("max_roi_pool", {integers("pooled_shape", {1, 2})}, {x, floats({1, 5}, {1, 0, 0, 1, 1})}), Error);
  CHECK(fails("max_roi_pool", {integers("pooled_shape", {1})}, {known(x), known(region)}, "height and width"));
}

TEST_CASE("col2im and det") {
  const Tensor columns = floats({1, 2, 2}, {1, 2, 3, 4});
  check_close(run_one("col2im", {}, {columns, int64s({1}, {3}), int64s({1}, {2})}), {1, 5, 4});
  CHECK(fails("col2im", {}, {known(columns), known(int64s({1}, {4})), known(int64s({1}, {2}))}, "number of blocks"));
  CHECK(fails("col2im", {}, {known(columns), known(int64s({1}, {-3})), known(int64s({1}, {2}))}, "-3"));
  CHECK(fails("col2im", {}, {known(columns), known(int64s({1}, {3})), known(int64s({2}, {2, 1}))}, "as many"));
  CHECK(fails("col2im", {}, {known(columns), known(int64s({1}, {3})), known(int64s({1}, {0}))}, "kernel"));
  CHECK(inferred("col2im", {},
                 {unknown(DType::float32, {n(), Dim(6), open()}), unknown(DType::int64, {Dim(2)}), list({Dim(3), Dim(1)})}) ==
        "[N, 2, ?, ?]");
  check_close(run_one("det", {}, {floats({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})}), {-1, 0});
  CHECK(inferred("det", {}, {unknown(DType::float32, {n(), m(), m()})}) == "[N]");
}

TEST_CASE("bit_cast") {
  const Tensor bits = run_one("bit_cast", {integer("to", 6)}, {floats({2}, {1, -2})});
  CHECK(whole(bits) == Ints{0x3f800000, -0x40000000});
  for (const std::int64_t to : {std::int64_t{7}, std::int64_t{8}, std::int64_t{0}, std::int64_t{-1}, std::int64_t{262}}) {
    CHECK(fails("bit_cast", {integer("to", to)}, {known(floats({1}, {1}))}, "cannot be read"));
  }
}

TEST_CASE("cumprod") {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  check_close(run_one("cumprod", {}, {x, int64s({}, {0})}), {1, 2, 6, 24});
  check_close(run_one("cumprod", {integer("exclusive", 1), integer("reverse", 1)}, {x, int64s({}, {-1})}), {24, 12, 4, 1});
}

TEST_CASE("non_max_suppression") {
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 2, 2, 2, 2, 0.1, 0, 5, 5, 6, 6});
  const Tensor scores = floats({1, 1, 3}, {0.5, 0.9, 0.7});
  const auto kept = [&](const Tensors& options) {
    Tensors inputs{boxes, scores};
    inputs.insert(inputs.end(), options.begin(), options.end());
    return whole(select("non_max_suppression", {}, inputs, 1)[0]);
  };
  CHECK(kept({int64s({}, {9}), floats({}, {0.5})}) == Ints{0, 0, 1, 0, 0, 2});
  CHECK(kept({int64s({1}, {1}), floats({1}, {0.5})}) == Ints{0, 0, 1});
  CHECK(kept({int64s({}, {9}), floats({}, {1}), floats({}, {0.6})}) == Ints{0, 0, 1, 0, 0, 2});
  CHECK(kept({}).empty());
  CHECK(kept({int64s({}, {std::numeric_limits<std::int64_t>::max()}), Tensor{}, floats({}, {0.8})}) == Ints{0, 0, 1});
  CHECK(fails("non_max_suppression", {}, {known(boxes), known(floats({1, 1, 2}, {0, 0}))}, "number of boxes"));
  CHECK(fails("non_max_suppression", {}, {known(floats({1, 3, 3}, std::vector<double>(9))), known(scores)}, "coordinates"));
}

TEST_CASE("unique") {
  const Tensor x = floats({2, 3}, {3, 1, 3, 3, 1, 3});
  Tensors all = select("unique", {}, {x}, 4);
  check_close(all[0], {1, 3});
  CHECK(whole(all[1]) == Ints{1, 0});
  CHECK(whole(all[2]) == Ints{1, 0, 1, 1, 0, 1});
  CHECK(whole(all[3]) == Ints{2, 4});
  all = select("unique", {integer("axis", 1), integer("sorted", 0)}, {x}, 4);
  CHECK(all[0].shape() == Shape{2, 2});
  check_close(all[0], {3, 1, 3, 1});
  CHECK(whole(all[2]) == Ints{0, 1, 0});
  CHECK(fails("unique", {integer("axis", 2)}, {known(x)}, "axis 2"));
  CHECK(inferred("unique", {integer("axis", 0)}, {unknown(DType::int8, {n(), m()})}) == "[?, M]");
}
