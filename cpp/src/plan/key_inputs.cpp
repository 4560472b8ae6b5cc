// A forward pass that carries, for each value, the set of inputs from which it could be computed at plan time.
#include "plan/key_inputs.h"

#include <algorithm>
#include <optional>
#include <set>

namespace jitney {
namespace {

using InputSet = std::set<std::size_t>;
/// The inputs that determine a value; nullopt if it cannot be known at plan time.
using Knowable = std::optional<InputSet>;

}  // namespace

bool may_decide(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return true;
    default:
      return false;
  }
}

namespace {

class Slicer {
 public:
  Slicer(const ModelGraph& graph, const std::vector<std::vector<const OpDef*>>& ops, std::size_t changing)
      : graph_(graph), ops_(ops), changing_(changing) {}

  std::vector<Knowable> walk(std::uint32_t index, const std::vector<Knowable>& inputs) {
    const Graph& graph = graph_.graphs[index];
    std::vector<Knowable> known(graph.values.size());
    for (std::size_t i = 0; i < graph.values.size(); ++i)
      if (graph.values[i].constant >= 0) known[i] = InputSet{};
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) known[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) visit(graph.nodes[n], *ops_[index][n], known);
    std::vector<Knowable> results;
    for (const ValueId id : graph.outputs) results.push_back(known[static_cast<std::size_t>(id)]);
    return results;
  }

  InputSet result;

 private:
  static void merge(Knowable& into, const Knowable& other) {
    if (!into) return;
    if (other) {
      into->insert(other->begin(), other->end());
    } else {
      into.reset();
    }
  }

  void visit(const Node& node, const OpDef& op, std::vector<Knowable>& known) {
    std::vector<Knowable> operands;
    Knowable all = InputSet{};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      operands.push_back(id == kNoValue ? Knowable(InputSet{}) : known[static_cast<std::size_t>(id)]);
      const bool decides = i < 32 && (op.value_inputs >> i & 1) != 0 && operands[i];
      const bool left = node.op == "if" && operands[i] && !operands[i]->empty() && *operands[i]->begin() < changing_;
      if (decides && !left) result.insert(operands[i]->begin(), operands[i]->end());
      merge(all, operands.back());
    }
    std::vector<Knowable> results(node.outputs.size(), all);
    if (node.op == "shape" || node.op == "size") {
      results.assign(node.outputs.size(), InputSet{});
    } else if (node.op == "if") {
      const std::vector<Knowable> captured(operands.begin() + 1, operands.end());
      const std::vector<Knowable> then_results = walk(node.graph("then"), captured);
      const std::vector<Knowable> else_results = walk(node.graph("else"), captured);
      for (std::size_t i = 0; i < results.size(); ++i) {
        results[i] = operands[0];
        merge(results[i], then_results[i]);
        merge(results[i], else_results[i]);
      }
    } else if (op.compute == nullptr || !op.pure || op.data_dependent) {
      results.assign(node.outputs.size(), std::nullopt);
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      if (node.outputs[i] != kNoValue) known[static_cast<std::size_t>(node.outputs[i])] = results[i];
  }

  const ModelGraph& graph_;
  const std::vector<std::vector<const OpDef*>>& ops_;
  const std::size_t changing_;
};

}  // namespace

std::vector<std::size_t> find_key_inputs(const ModelGraph& model, const std::vector<std::vector<const OpDef*>>& ops,
                                         std::uint32_t index, std::size_t changing) {
  const Graph& graph = model.graphs[index];
  std::vector<Knowable> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const DType dtype = graph.values[static_cast<std::size_t>(graph.inputs[i])].dtype;
    // Inputs of bodies need not declare what they are.
    inputs.push_back(dtype == DType::undefined || may_decide(dtype) ? Knowable(InputSet{i}) : std::nullopt);
  }
  Slicer slicer(model, ops, changing);
  slicer.walk(index, inputs);
  return {slicer.result.begin(), slicer.result.end()};
}

}  // namespace jitney
