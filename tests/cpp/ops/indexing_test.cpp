// gather, scatter and pad: results against plain loops, and indices that lie outside.
#include <numeric>

#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using Ints = std::vector<std::int64_t>;

Tensor counted(const Shape& shape) {
  Ints values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0);
  return int64s(shape, values);
}

Ints result(const std::string& op, Attributes attributes, const Tensors& inputs, const Shape& shape) {
  const Tensor y = run_one(op, std::move(attributes), inputs);
  CHECK(y.shape() == shape);
  return read_integers(y.view());
}

/// What computing says of indices that only computing sees.
std::string index_error(const std::string& op, Attributes attributes, const Tensors& inputs) {
  const Node node = make_node(op, inputs.size(), 1, std::move(attributes));
  std::vector<Facts> facts;
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) {
    facts.push_back(unknown(input.dtype(), std::vector<Dim>(input.shape().begin(), input.shape().end())));
    views.push_back(input.view());
  }
  const Facts inferred = infer(node, facts)[0];
  Shape shape;
  for (const Dim& dim : inferred.shape.dims) shape.push_back(dim.value());
  Tensor y(inferred.dtype, shape);
  std::vector<TensorView> outputs{y.view()};
  try {
    const ComputeContext::Allocate none;
    find_op(op)->compute(ComputeContext(node, views, outputs, none));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("gather") {
  const Tensor x = counted({3, 2, 2});
  CHECK(result("gather", {integer("axis", 0)}, {x, int64s({2}, {2, -3})}, {2, 2, 2}) == Ints{8, 9, 10, 11, 0, 1, 2, 3});
  CHECK(result("gather", {integer("axis", 1)}, {x, int64s({}, {1})}, {3, 2}) == Ints{2, 3, 6, 7, 10, 11});
  CHECK(result("gather", {integer("axis", -1)}, {x, tensor<std::int64_t>(DType::int32, {1, 2}, {1, 0})}, {3, 2, 1, 2}).size() ==
        12);
  CHECK(result("gather", {integer("axis", 0)}, {x, int64s({0}, {})}, {0, 2, 2}).empty());
  CHECK(result("gather", {integer("axis", 1)}, {counted({0, 2}), int64s({1}, {1})}, {0, 1}).empty());
  CHECK(index_error("gather", {integer("axis", 0)}, {x, int64s({1}, {3})})
            .find("index 3 is outside the range of an axis of size 3") != std::string::npos);
  CHECK(index_error("gather", {integer("axis", 0)}, {x, int64s({1}, {-4})}).find("index -4") != std::string::npos);
  CHECK(index_error("gather", {integer("axis", 0)}, {counted({0}), int64s({1}, {0})}).find("size 0") != std::string::npos);
  CHECK(fails("gather", {integer("axis", 3)}, {known(x), known(x)}, "axis 3"));
  CHECK(fails("gather", {integer("axis", 0)}, {known(x), known(floats({1}, {0}))}, "float32"));
  CHECK(fails("gather", {integer("axis", 0)}, {list({n()}), list({Dim(1)})}, "index 1"));
  CHECK(inferred("gather", {integer("axis", 1)},
                 {unknown(DType::float32, {n(), Dim(5), m()}), unknown(DType::int64, {open(), n()})}) == "[N, ?, N, M]");
  CHECK(inferred_elements("gather", {integer("axis", 0)}, {list({n(), m(), Dim(3)}), list({Dim(-1), Dim(0), open()})}) ==
        "[3, N, ?]");
  CHECK(inferred_elements("gather", {integer("axis", 0)}, {list({n(), m()}), scalar(Dim(1))}) == "[M]");
}

TEST_CASE("gather_elements") {
  const Tensor x = counted({2, 3});
  CHECK(result("gather_elements", {integer("axis", 1)}, {x, int64s({2, 2}, {2, 0, -1, 1})}, {2, 2}) == Ints{2, 0, 5, 4});
  CHECK(result("gather_elements", {integer("axis", 0)}, {x, int64s({1, 3}, {1, 0, 1})}, {1, 3}) == Ints{3, 1, 5});
  CHECK(index_error("gather_elements", {integer("axis", 1)}, {x, int64s({1, 1}, {3})}).find("index 3") != std::string::npos);
  CHECK(fails("gather_elements", {integer("axis", 1)}, {known(x), known(counted({3, 1}))}, "larger"));
  CHECK(fails("gather_elements", {integer("axis", 1)}, {known(x), known(counted({3}))}, "rank 2"));
}

TEST_CASE("gather_nd") {
  const Tensor x = counted({2, 2, 2});
  CHECK(result("gather_nd", {}, {x, int64s({2, 3}, {0, 0, 1, 1, -1, 0})}, {2}) == Ints{1, 6});
  CHECK(result("gather_nd", {}, {x, int64s({2, 1}, {1, 0})}, {2, 2, 2}) == Ints{4, 5, 6, 7, 0, 1, 2, 3});
  CHECK(result("gather_nd", {integer("batch_dims", 1)}, {x, int64s({2, 1}, {1, 0})}, {2, 2}) == Ints{2, 3, 4, 5});
  CHECK(result("gather_nd", {}, {x, int64s({1, 0}, {})}, {1, 2, 2, 2}).size() == 8);
  CHECK(index_error("gather_nd", {}, {x, int64s({1, 2}, {0, 2})}).find("index 2") != std::string::npos);
  CHECK(fails("gather_nd", {}, {known(x), known(counted({1, 4}))}, "do not fit"));
  CHECK(fails("gather_nd", {integer("batch_dims", 2)}, {known(x), known(counted({2, 1}))}, "do not fit"));
  CHECK(fails("gather_nd", {integer("batch_dims", 1)}, {known(x), known(counted({3, 1}))}, "batch dims"));
  CHECK(fails("gather_nd", {}, {known(x), known(counted({}))}, "rank 1"));
  CHECK(inferred("gather_nd", {}, {unknown(DType::float32, {n(), m()}), unknown(DType::int64, {open(), Dim(1)})}) == "[?, M]");
}

TEST_CASE("scatter_elements") {
  const Tensor x = int64s({2, 3}, {1, 1, 1, 1, 1, 1});
  const Tensor indices = int64s({2, 2}, {0, 2, -1, -1}), updates = int64s({2, 2}, {5, 6, 7, 8});
  const auto reduced = [&](const std::string& how) {
    return result("scatter_elements", {integer("axis", 1), text("reduction", how)}, {x, indices, updates}, {2, 3});
  };
  CHECK(reduced("none") == Ints{5, 1, 6, 1, 1, 8});
  CHECK(reduced("add") == Ints{6, 1, 7, 1, 1, 16});
  CHECK(reduced("mul") == Ints{5, 1, 6, 1, 1, 56});
  CHECK(reduced("max") == Ints{5, 1, 6, 1, 1, 8});
  CHECK(reduced("min") == Ints{1, 1, 1, 1, 1, 1});
  CHECK(result("scatter_elements", {integer("axis", 0)}, {x, int64s({1, 1}, {1}), int64s({1, 1}, {9})}, {2, 3}) ==
        Ints{1, 1, 1, 9, 1, 1});
  CHECK(index_error("scatter_elements", {integer("axis", 1)}, {x, int64s({1, 1}, {3}), int64s({1, 1}, {9})}).find("index 3") !=
        std::string::npos);
  CHECK(fails("scatter_elements", {integer("axis", 1)}, {known(x), known(indices), known(counted({2, 3}))}, "updates"));
  CHECK(fails("scatter_elements", {integer("axis", 1)}, {known(x), known(counted({3, 1})), known(counted({3, 1}))}, "larger"));
  check_close(run_one("scatter_elements", {integer("axis", 0), text("reduction", "add")},
                      {tensor(DType::float16, {2}, std::vector<double>{1, 2}), int64s({2}, {1, 1}),
                       tensor(DType::float16, {2}, std::vector<double>{0.5, 0.25})}),
              {1, 2.75});
}

TEST_CASE("scatter_nd") {
  const Tensor x = counted({3, 2});
  CHECK(result("scatter_nd", {}, {x, int64s({2, 1}, {2, 0}), int64s({2, 2}, {9, 8, 7, 6})}, {3, 2}) == Ints{7, 6, 2, 3, 9, 8});
  CHECK(result("scatter_nd", {text("reduction", "add")}, {x, int64s({2, 2}, {-1, 0, 2, 0}), int64s({2}, {10, 20})}, {3, 2}) ==
        Ints{0, 1, 2, 3, 34, 5});
  CHECK(result("scatter_nd", {}, {x, int64s({0, 1}, {}), int64s({0, 2}, {})}, {3, 2}) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(index_error("scatter_nd", {}, {x, int64s({1, 1}, {3}), int64s({1, 2}, {0, 0})}).find("index 3") != std::string::npos);
  CHECK(fails("scatter_nd", {}, {known(x), known(counted({1, 3})), known(counted({1}))}, "more axes"));
  CHECK(fails("scatter_nd", {}, {known(x), known(counted({1, 1})), known(counted({1, 3}))}, "updates have shape"));
}

TEST_CASE("pad") {
  const Tensor x = counted({2, 3});
  const Tensor pads = int64s({4}, {1, 0, 0, 2});
  CHECK(result("pad", {text("mode", "constant")}, {x, pads, int64s({}, {9})}, {3, 5}) ==
        Ints{9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9, 9});
  CHECK(result("pad", {}, {x, pads}, {3, 5})[0] == 0);
  CHECK(result("pad", {text("mode", "edge")}, {x, pads}, {3, 5}) == Ints{0, 1, 2, 2, 2, 0, 1, 2, 2, 2, 3, 4, 5, 5, 5});
  CHECK(result("pad", {text("mode", "reflect")}, {x, pads}, {3, 5}) == Ints{3, 4, 5, 4, 3, 0, 1, 2, 1, 0, 3, 4, 5, 4, 3});
  CHECK(result("pad", {text("mode", "wrap")}, {x, pads}, {3, 5}) == Ints{3, 4, 5, 3, 4, 0, 1, 2, 0, 1, 3, 4, 5, 3, 4});
  CHECK(result("pad", {}, {x, int64s({2}, {-1, 1}), int64s({}, {7}), int64s({1}, {-1})}, {2, 3}) == Ints{1, 2, 7, 4, 5, 7});
  CHECK(result("pad", {}, {x, int64s({2}, {-2, 3}), {}, int64s({1}, {0})}, {3, 3}) == Ints(9, 0));
  CHECK(result("pad", {text("mode", "edge")}, {x, int64s({4}, {0, -1, 0, -1})}, {2, 1}) == Ints{1, 4});
  CHECK(result("pad", {text("mode", "reflect")}, {counted({1}), int64s({2}, {2, 1})}, {4}) == Ints{0, 0, 0, 0});
  CHECK(result("pad", {text("mode", "reflect")}, {counted({3}), int64s({2}, {5, 0})}, {8}) == Ints{1, 0, 1, 2, 1, 0, 1, 2});
  CHECK(result("pad", {}, {counted({0}), int64s({2}, {1, 1})}, {2}) == Ints{0, 0});
  CHECK(result("pad", {}, {counted({}), int64s({0}, {})}, {}) == Ints{0});
  const Facts facts = known(x);
  CHECK(fails("pad", {}, {facts, list({Dim(0), Dim(0)})}, "2 pads"));
  CHECK(fails("pad", {}, {facts, list({Dim(-3), Dim(0), Dim(0), Dim(0)})}, "negative"));
  CHECK(fails("pad", {}, {facts, list({Dim(INT64_MAX), Dim(0), Dim(INT64_MAX), Dim(0)})}, "cannot pad by"));
  CHECK(fails("pad", {text("mode", "edge")}, {known(counted({0})), list({Dim(1), Dim(0)})}, "nothing is left"));
  CHECK(inferred("pad", {}, {unknown(DType::float32, {n(), Dim(3)}), list({Dim(1), Dim(0), Dim(1), n()})}) == "[N + 2, N + 3]");
  CHECK(inferred("pad", {}, {unknown(DType::float32, {n(), Dim(3)}), unknown(DType::int64, {Dim(4)})}) == "[?, ?]");
}
