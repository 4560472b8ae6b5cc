// A backend that runs several nodes as one step: what is outer and inner to a group, and that results stay the same.
#include <functional>

#include "base/thread_pool.h"
#include "doctest/doctest.h"
#include "network_builder.h"
#include "runtime/executor.h"
#include "runtime/model_data.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

/// Runs a group's nodes one after another with the plain kernels, inner results in memory of its own.
class ChainStep : public Step {
 public:
  explicit ChainStep(Group group) : nodes_(group.begin(), group.end()) { kernel = "chain_of_" + std::to_string(group.size()); }

  void run(const StepRun& run) const override {
    std::vector<std::vector<TensorView>> results(nodes_.size());
    std::vector<Tensor> inner;
    std::size_t next_input = 0, next_output = 0;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      std::vector<TensorView> inputs;
      for (const Operand& operand : nodes_[k].inputs) {
        if (operand.producer < 0) {
          inputs.push_back({run.inputs[next_input++], operand.dtype, operand.shape, operand.strides});
        } else {
          inputs.push_back(results[static_cast<std::size_t>(operand.producer)][0]);
        }
      }
      for (const Operand& operand : nodes_[k].outputs) {
        if (operand.inner) {
          results[k].push_back(inner.emplace_back(operand.dtype, operand.shape).view());
        } else {
          results[k].push_back({run.outputs[next_output++], operand.dtype, operand.shape, operand.strides});
        }
      }
      const ComputeContext::Allocate none;
      nodes_[k].op->compute(ComputeContext(*nodes_[k].node, inputs, results[k], none));
    }
    CHECK(next_input == run.inputs.size());
    CHECK(next_output == run.outputs.size());
  }

 private:
  std::vector<NodeRequest> nodes_;
};

/// Takes each chain in which a node's first operand is the result of the one before.
class ChainBackend : public Backend {
 public:
  std::string_view name() const override { return "chain"; }
  std::size_t widest_group(const NodeRequest&) const override { return 4; }
  std::size_t claim(Group nodes) const override {
    std::size_t count = 1;
    while (count < nodes.size() && nodes[count].inputs[0].producer == static_cast<std::int32_t>(count) - 1) ++count;
    return count;
  }
  NodeLayout layout(Group group) const override {
    NodeLayout layout;
    for (const NodeRequest& node : group) {
      for (const Operand& operand : node.inputs)
        if (operand.producer < 0) layout.inputs.emplace_back();
      for (const Operand& operand : node.outputs)
        if (!operand.inner) layout.outputs.push_back(row_major_order(operand.shape.size()));
    }
    return layout;
  }
  std::unique_ptr<Step> prepare(Group group, PackCache&, std::size_t) const override {
    return std::make_unique<ChainStep>(group);
  }
};

struct Outcome {
  std::vector<std::vector<float>> outputs;
  std::vector<std::string> kernels, ops;
};

Outcome run(const NetworkBuilder& network, const Tensor& x) {
  const Model model = network.load();
  const ChainBackend backend;
  PlanCache plans(1 << 20);
  const Engine engine{*model.data(), backend, plans, ThreadPool::process(), 1, nullptr};
  ExecutionContext context;
  PlanKey key;
  const std::vector<Shape> shapes{x.shape()};
  const std::vector<const void*> values{x.data()};
  const auto plan = find_plan(engine, shapes, values, key);
  context.inputs = {const_cast<void*>(x.data())};
  std::vector<Tensor> results;
  execute(engine, plan, context, [&](std::span<const TensorView> outputs) {
    for (const TensorView& output : outputs) context.outputs.push_back(results.emplace_back(output.dtype, output.shape).data());
  });
  Outcome outcome;
  for (const Tensor& result : results) outcome.outputs.push_back(elements<float>(result));
  for (const PlannedStep& step : plan->plan->steps) {
    outcome.kernels.push_back(step.step->kernel);
    outcome.ops.push_back(step.op);
  }
  return outcome;
}

}  // namespace

TEST_CASE("a chain is one step without inner buffers") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {3});
  b.output(b.node("neg", {b.node("add", {b.node("relu", {x}), x})}), "y");
  const Outcome outcome = run(b, tensor<float>(DType::float32, {3}, {1, -2, 3}));
  CHECK(outcome.outputs[0] == std::vector<float>{-2, 2, -6});
  CHECK(outcome.kernels == std::vector<std::string>{"chain_of_3"});
  CHECK(outcome.ops == std::vector<std::string>{"relu+add+neg"});
}

TEST_CASE("a result that is read outside keeps its place") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {2});
  const auto middle = b.node("relu", {x});
  const auto end = b.node("neg", {middle});
  b.output(middle, "m");
  b.output(b.node("mul", {b.floats({2}, {2, 3}), b.node("add", {middle, end})}), "y");
  const Outcome outcome = run(b, tensor<float>(DType::float32, {2}, {4, -5}));
  CHECK(outcome.outputs[0] == std::vector<float>{4, 0});
  CHECK(outcome.outputs[1] == std::vector<float>{0, 0});
  CHECK(outcome.kernels == std::vector<std::string>{"chain_of_2", "chain_of_1", "chain_of_1"});
}

TEST_CASE("movement and the group's width end a group") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {2, 2});
  ValueId v = x;
  for (int i = 0; i < 5; ++i) v = b.node("neg", {v});
  b.output(b.node("neg", {b.node("transpose", {v}, {{"perm", std::vector<std::int64_t>{1, 0}}})}), "y");
  const Outcome outcome = run(b, tensor<float>(DType::float32, {2, 2}, {1, 2, 3, 4}));
  CHECK(outcome.outputs[0] == std::vector<float>{1, 3, 2, 4});
  CHECK(outcome.kernels == std::vector<std::string>{"chain_of_4", "chain_of_1", "chain_of_1"});
}
