// The unrolled program: what vanishes at plan time, what is cut, and which inputs' values a plan depends on.
#include "plan/program.h"

#include "doctest/doctest.h"
#include "network_builder.h"
#include "plan/key_inputs.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

class PlainWeight : public Weight {
 public:
  explicit PlainWeight(const Constant& constant) : constant_(constant) {}
  TensorView view() override {
    return {const_cast<std::byte*>(constant_.data), constant_.dtype, constant_.shape, dense_strides(constant_.shape)};
  }

 private:
  const Constant& constant_;
};

/// A model without a runtime: derived weights are only counted.
class Fixture : public WeightSource {
 public:
  explicit Fixture(NetworkBuilder& network) : model(network.model) {
    for (const Graph& graph : model.graphs) {
      auto& list = ops.emplace_back();
      for (const Node& node : graph.nodes) list.push_back(&check_node(node));
    }
  }
  std::shared_ptr<Weight> constant(std::uint32_t index) override { return std::make_shared<PlainWeight>(model.constants[index]); }
  std::shared_ptr<Weight> derived(const Node&, const OpDef&, std::vector<std::shared_ptr<Weight>> inputs, std::size_t, DType,
                                  const Shape&) override {
    ++derivations;
    return inputs[0];
  }

  Program begin(const std::vector<Shape>& shapes, std::vector<std::shared_ptr<const Tensor>> known = {}) {
    known.resize(shapes.size());
    std::vector<ProgramInput> inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto id = static_cast<std::size_t>(model.main().inputs[i]);
      inputs.push_back({model.main().values[id].dtype, shapes[i], known[i], nullptr});
    }
    return begin_program({model, ops, *this}, 0, inputs);
  }
  Program resume(const Program& before, const std::vector<Learned>& learned) {
    return continue_program({model, ops, *this}, before, learned);
  }

  const ModelGraph& model;
  std::vector<std::vector<const OpDef*>> ops;
  int derivations = 0;
};

std::vector<std::string> op_names(const Program& program) {
  std::vector<std::string> names;
  for (const FlatNode& node : program.nodes) names.push_back(node.node->op);
  return names;
}

NamedAttribute integer(const char* name, std::int64_t value) { return {name, value}; }

}  // namespace

TEST_CASE("shape arithmetic vanishes") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {-1, 4, -1});
  const auto shape = b.node("shape", {x}, {integer("start", 0)});
  const auto batch = b.node("slice", {shape, b.ints({0}), b.ints({1})});
  const auto target = b.node("concat", {batch, b.ints({2, -1})}, {integer("axis", 0)});
  b.output(b.node("reshape", {x, target}), "y");
  Fixture fixture(b);
  const Program program = fixture.begin({{3, 4, 5}});
  CHECK(op_names(program) == std::vector<std::string>{"reshape"});
  CHECK(program.values[static_cast<std::size_t>(program.outputs[0])].shape == Shape{3, 2, 10});
  CHECK(find_key_inputs(b.model, fixture.ops).empty());
}

TEST_CASE("nodes that nobody reads vanish, and unread results are marked") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {4});
  b.node("exp", {b.node("neg", {x})});
  const auto top = b.nodes("top_k", {x, b.ints({2})}, 2, {integer("axis", 0), integer("largest", 1), integer("sorted", 1)});
  b.output(top[1], "i");
  Fixture fixture(b);
  const Program program = fixture.begin({{4}});
  REQUIRE(op_names(program) == std::vector<std::string>{"top_k"});
  CHECK(program.nodes[0].outputs[0] == -1);
  CHECK(program.nodes[0].outputs[1] >= 0);
}

TEST_CASE("nodes on weights are computed once per model") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {1, 300});
  const auto w = b.floats({300, 300}, std::vector<float>(90000, 1));
  b.output(b.node("matmul", {x, b.node("neg", {w})}), "y");
  Fixture fixture(b);
  CHECK(op_names(fixture.begin({{1, 300}})) == std::vector<std::string>{"matmul"});
  CHECK(fixture.derivations == 1);
}

TEST_CASE("a shape from an input's value: in the key, or a cut") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {2, 3});
  const auto shape = b.input("shape", DType::int64, {-1});
  const auto unrelated = b.input("mask", DType::boolean, {2, 3});
  const auto y = b.node("neg", {x});
  b.output(b.node("where", {unrelated, x, y}), "w");
  b.output(b.node("reshape", {y, b.node("neg", {shape})}), "y");
  Fixture fixture(b);
  CHECK(find_key_inputs(b.model, fixture.ops) == std::vector<std::size_t>{1});

  const std::vector<Shape> shapes = {{2, 3}, {1}, {2, 3}};
  const auto value = std::make_shared<const Tensor>(tensor<std::int64_t>(DType::int64, {1}, {-6}));
  const Program known = fixture.begin(shapes, {nullptr, value, nullptr});
  CHECK(!known.cut);
  CHECK(op_names(known) == std::vector<std::string>{"neg", "where", "reshape"});

  const Program open = fixture.begin(shapes);
  REQUIRE(open.cut);
  REQUIRE(open.cut->observed.size() == 1);
  CHECK(open.cut->live.size() == 3);  // w, y, and the reshape's target
  const auto six = std::make_shared<const Tensor>(tensor<std::int64_t>(DType::int64, {1}, {6}));
  const Program rest = fixture.resume(open, {{open.cut->observed[0], DType::int64, {1}, six}});
  CHECK(op_names(rest) == std::vector<std::string>{"reshape"});
  CHECK(rest.values[static_cast<std::size_t>(rest.outputs[1])].shape == Shape{6});
}

TEST_CASE("in a loop's body, branches on what changes are left to run time; shapes are not") {
  NetworkBuilder b;
  const auto number = b.input("number", DType::int64, {1});
  b.input("condition", DType::boolean, {});
  const auto flag = b.input("flag", DType::boolean, {});
  const auto x = b.input("x", DType::float32, {4});
  for (const auto condition : {b.node("less", {number, b.ints({3})}), flag}) {
    const std::uint32_t then_graph = b.add_graph(), else_graph = b.add_graph();
    for (const std::uint32_t graph : {then_graph, else_graph}) {
      b.graph = graph;
      const auto inner = b.value("x");
      b.model.graphs[graph].inputs = {inner};
      b.output(b.node("neg", {inner}));
    }
    b.graph = 0;
    b.output(b.node("if", {condition, x}, {{"then", GraphRef{then_graph}}, {"else", GraphRef{else_graph}}}));
  }
  {
    Fixture fixture(b);
    CHECK(find_key_inputs(b.model, fixture.ops) == std::vector<std::size_t>{0, 2});
    CHECK(find_key_inputs(b.model, fixture.ops, 0, 2) == std::vector<std::size_t>{2});
  }
  b.output(b.node("slice", {x, number, b.ints({4})}));
  Fixture fixture(b);
  CHECK(find_key_inputs(b.model, fixture.ops, 0, 2) == std::vector<std::size_t>{0, 2});
}

TEST_CASE("a decided branch is spliced in; values of the other are never computed") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {2});
  const std::uint32_t then_graph = b.add_graph(), else_graph = b.add_graph();
  for (const auto& [graph, op] : {std::pair{then_graph, "exp"}, std::pair{else_graph, "log"}}) {
    b.graph = graph;
    const auto inner = b.value("x");
    b.model.graphs[graph].inputs = {inner};
    b.output(b.node(op, {inner}));
  }
  b.graph = 0;
  const auto rank_is_one = b.node(
      "equal", {b.node("size", {b.node("shape", {x}, {integer("start", 0)})}), b.constant<std::int64_t>(DType::int64, {}, {1})});
  b.output(b.node("if", {rank_is_one, x}, {{"then", GraphRef{then_graph}}, {"else", GraphRef{else_graph}}}), "y");
  Fixture fixture(b);
  CHECK(op_names(fixture.begin({{2}})) == std::vector<std::string>{"exp"});
}
