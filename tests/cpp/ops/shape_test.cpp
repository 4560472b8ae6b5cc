// Shapes as values, generators, and inference of whole graphs with subgraphs.
#include <cmath>

#include "ops/infer.h"
#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using Ints = std::vector<std::int64_t>;

Ints whole(const Tensor& tensor) { return read_integers(tensor.view()); }

Value value(std::string name, DType dtype = DType::undefined, std::vector<Dim> dims = {}, std::int32_t constant = -1) {
  Value made;
  made.name = std::move(name);
  made.dtype = dtype;
  made.shape = SymShape::of(std::move(dims));
  made.constant = constant;
  return made;
}

Node step(std::string op, std::vector<ValueId> inputs, std::vector<ValueId> outputs, Attributes attributes = {}) {
  Node node = make_node(std::move(op), 0, 0, std::move(attributes));
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

}  // namespace

TEST_CASE("shape and size") {
  const Tensor x = floats({2, 0, 3}, {});
  CHECK(whole(run_one("shape", {}, {x})) == Ints{2, 0, 3});
  CHECK(whole(run_one("shape", {integer("start", 1)}, {x})) == Ints{0, 3});
  CHECK(whole(run_one("shape", {integer("start", -2), integer("end", -1)}, {x})) == Ints{0});
  CHECK(whole(run_one("shape", {integer("start", -9), integer("end", 9)}, {x})) == Ints{2, 0, 3});
  CHECK(whole(run_one("shape", {integer("start", 2), integer("end", 1)}, {x})).empty());
  CHECK(whole(run_one("shape", {integer("start", INT64_MIN), integer("end", INT64_MAX)}, {x})) == Ints{2, 0, 3});
  CHECK(whole(run_one("shape", {}, {floats({}, {1})})).empty());
  CHECK(whole(run_one("size", {}, {floats({2, 1}, {1, 2})})) == Ints{2});
  CHECK(inferred_elements("shape", {}, {unknown(DType::float32, {n(), open(), Dim(3)})}) == "[N, ?, 3]");
  CHECK(inferred("shape", {}, {unranked(DType::float32)}) == "[?]");
  CHECK(inferred_elements("size", {}, {unknown(DType::float32, {n(), Dim(3)})}) == "[3*N]");
}

TEST_CASE("constant_of_shape") {
  const Tensor y = run_one("constant_of_shape", {}, {int64s({2}, {2, 3}), tensor<std::int64_t>(DType::int16, {1}, {7})});
  CHECK(y.dtype() == DType::int16);
  CHECK(whole(y) == Ints(6, 7));
  CHECK(whole(run_one("constant_of_shape", {}, {int64s({0}, {}), int64s({}, {7})})) == Ints{7});
  CHECK(run_one("constant_of_shape", {}, {int64s({2}, {0, 3}), int64s({}, {7})}).shape() == Shape{0, 3});
  CHECK(inferred("constant_of_shape", {}, {list({n(), Dim(2)}), known(floats({1}, {0}))}) == "[N, 2]");
  CHECK(inferred("constant_of_shape", {}, {unknown(DType::int64, {Dim(2)}), known(floats({1}, {0}))}) == "[?, ?]");
  CHECK(inferred("constant_of_shape", {}, {unknown(DType::int64, {n()}), known(floats({1}, {0}))}) == "unranked");
  CHECK(inferred_elements("constant_of_shape", {}, {list({Dim(2)}), list({n()})}) == "[N, N]");
  CHECK(fails("constant_of_shape", {}, {list({Dim(-1)}), known(floats({1}, {0}))}, "negative"));
  CHECK(fails("constant_of_shape", {}, {list({Dim(INT64_MAX), Dim(INT64_MAX)}), known(floats({1}, {0}))}, "63 bits"));
  CHECK(fails("constant_of_shape", {}, {list(std::vector<Dim>(13, Dim(1))), known(floats({1}, {0}))}, "rank 13"));
  CHECK(fails("constant_of_shape", {}, {list({Dim(1)}), known(floats({2}, {0, 0}))}, "one element"));
}

TEST_CASE("range") {
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    return whole(run_one("range", {}, {int64s({}, {start}), int64s({}, {limit}), int64s({}, {delta})}));
  };
  CHECK(range(0, 5, 2) == Ints{0, 2, 4});
  CHECK(range(5, 0, -2) == Ints{5, 3, 1});
  CHECK(range(3, 3, 1).empty());
  CHECK(range(3, 0, 1).empty());
  CHECK(range(INT64_MIN, INT64_MAX, INT64_MAX) == Ints{INT64_MIN, -1, INT64_MAX - 1});
  check_close(run_one("range", {}, {floats({}, {1}), floats({}, {2}), floats({}, {0.4})}), {1, 1.4, 1.8});
  CHECK(run_one("range", {}, {floats({}, {1}), floats({}, {0}), floats({}, {0.4})}).shape() == Shape{0});
  CHECK(fails("range", {}, {scalar(Dim(0)), scalar(Dim(1)), scalar(Dim(0))}, "delta is 0"));
  CHECK(fails("range", {}, {scalar(Dim(INT64_MIN)), scalar(Dim(INT64_MAX)), scalar(Dim(1))}, "62 bits"));
  CHECK(fails("range", {}, {known(floats({}, {0})), known(floats({}, {1})), known(floats({}, {std::nan("")}))}, "finite"));
  CHECK(fails("range", {}, {known(floats({}, {0})), known(floats({}, {1e30})), known(floats({}, {1e-3}))}, "finite"));
  CHECK(inferred("range", {}, {scalar(Dim(0)), scalar(n()), scalar(Dim(1))}) == "[N]");
  CHECK(inferred("range", {}, {scalar(Dim(1)), scalar(n() + Dim(3)), scalar(Dim(1))}) == "[N + 2]");
  CHECK(inferred("range", {}, {scalar(Dim(1)), scalar(n()), scalar(Dim(1))}) == "[?]");
  CHECK(inferred("range", {}, {scalar(n() * Dim(2)), scalar(Dim(0)), scalar(Dim(-2))}) == "[N]");
  CHECK(inferred("range", {}, {scalar(open()), scalar(n()), scalar(Dim(1))}) == "[?]");
  CHECK(inferred_elements("range", {}, {scalar(n()), scalar(n() + Dim(2)), scalar(Dim(1))}) == "[N, N + 1]");
}

TEST_CASE("non_zero allocates what it finds") {
  const auto found = [](const Tensor& x) {
    const Node node = make_node("non_zero", 1, 1, {});
    Tensor y;
    const ComputeContext::Allocate allocate = [&](std::size_t, DType dtype, const Shape& shape) {
      y = Tensor(dtype, shape);
      return y.view();
    };
    std::vector<TensorView> inputs{x.view()}, outputs{TensorView{}};
    find_op("non_zero")->compute(ComputeContext(node, inputs, outputs, allocate));
    return y;
  };
  const Tensor y = found(floats({2, 2}, {0, 1, -2, 0}));
  CHECK(y.shape() == Shape{2, 2});
  CHECK(whole(y) == Ints{0, 1, 1, 0});
  CHECK(found(floats({3}, {0, 0, 0})).shape() == Shape{1, 0});
  CHECK(found(floats({}, {5})).shape() == Shape{1, 1});
  CHECK(found(floats({2, 0}, {})).shape() == Shape{2, 0});
  CHECK(found(tensor<std::int64_t>(DType::boolean, {3}, {1, 0, 1})).shape() == Shape{1, 2});
  CHECK(inferred("non_zero", {}, {unknown(DType::boolean, {n(), m()})}) == "[2, ?]");
  CHECK(find_op("non_zero")->data_dependent);
}

TEST_CASE("shape arithmetic is followed through a graph") {
  // y = reshape(x, concat(shape(x)[0:1], [-1]))
  const std::int64_t numbers_of_file[] = {0, 1, -1};
  ModelGraph model;
  model.symbols = {"N", "M"};
  for (std::size_t i = 0; i < 3; ++i) {
    model.constants.push_back({DType::int64, {1}, reinterpret_cast<const std::byte*>(&numbers_of_file[i]), 8, 0});
  }
  Graph graph;
  graph.values = {value("x", DType::float32, {n(), Dim(3), Dim(4)}),
                  value("zero", DType::int64, {Dim(1)}, 0),
                  value("one", DType::int64, {Dim(1)}, 1),
                  value("rest", DType::int64, {Dim(1)}, 2),
                  value("shape"),
                  value("batch"),
                  value("target"),
                  value("y")};
  graph.inputs = {0};
  graph.outputs = {7};
  graph.nodes = {step("shape", {0}, {4}), step("slice", {4, 1, 2, kNoValue}, {5}),
                 step("concat", {5, 3}, {6}, {integer("axis", 0)}), step("reshape", {0, 6}, {7})};
  model.graphs = {graph};
  const std::vector<Facts> facts = infer_model(model);
  CHECK(elements_text(facts[6]) == "[N, -1]");
  CHECK(shape_text(facts[7]) == "[N, 12]");
  CHECK(facts[7].dtype == DType::float32);
  REQUIRE(facts[1].data.has_value());

  model.graphs[0].nodes[3].name = "here";
  model.graphs[0].values[0].shape = SymShape::of({Dim(7), Dim(3)});
  model.constants[2].data = reinterpret_cast<const std::byte*>(&numbers_of_file[1]);  // [7, 1] has too few elements
  try {
    infer_model(model);
    FAIL("a contradiction was not found");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_model);
    CHECK(error.node() == "here");
  }
}

TEST_CASE("if joins what its branches know") {
  ModelGraph model;
  model.symbols = {"N", "M"};
  Graph main, yes, no;
  main.values = {value("c", DType::boolean), value("x", DType::float32, {n(), Dim(1), Dim(3)}), value("y")};
  main.inputs = {0, 1};
  main.outputs = {2};
  main.nodes = {step("if", {0, 1}, {2}, {{"then", GraphRef{1}}, {"else", GraphRef{2}}})};
  yes.values = {value("x"), value("y")};
  yes.inputs = {0};
  yes.outputs = {1};
  yes.nodes = {step("relu", {0}, {1})};
  no = yes;
  no.nodes = {step("transpose", {0}, {1}, {integers("perm", {0, 2, 1})})};
  model.graphs = {main, yes, no};
  CHECK(shape_text(infer_model(model)[2]) == "[N, ?, ?]");

  Facts condition = unknown(DType::boolean, {});
  condition.elements = std::vector<Dim>{Dim(0)};
  const std::vector<Facts> inputs{condition, unknown(DType::float32, {n(), Dim(1), Dim(3)})};
  CHECK(shape_text(infer_graph(model, 0, inputs)[2]) == "[N, 3, 1]");

  model.graphs[2].nodes = {step("flatten", {0}, {1}, {integer("axis", 1)})};
  CHECK(shape_text(infer_model(model)[2]) == "unranked");
  model.graphs[2].nodes = {step("shape", {0}, {1})};
  CHECK_THROWS_AS(infer_model(model), Error);
  model.graphs[2].nodes = {step("fly", {0}, {1})};
  try {
    infer_model(model);
    FAIL("an unknown op was not found");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(error.op() == "fly");
  }
}
