// Shape inference of whole graphs.
#include "ops/infer.h"

#include <optional>

#include "base/operand_text.h"
#include "ops/access.h"

namespace jitney {

namespace {

Facts facts_of(const Constant& constant) {
  Facts facts;
  facts.dtype = constant.dtype;
  facts.shape.ranked = true;
  facts.shape.dims.assign(constant.shape.begin(), constant.shape.end());
  facts.data = TensorView{const_cast<std::byte*>(constant.data), constant.dtype, constant.shape, dense_strides(constant.shape)};
  return facts;
}

std::vector<Facts> outputs_of(const Graph& graph, const std::vector<Facts>& facts) {
  std::vector<Facts> outputs;
  for (const ValueId value : graph.outputs) outputs.push_back(facts[static_cast<std::size_t>(value)]);
  return outputs;
}

std::string in_words(const SymShape& shape, const std::vector<std::string>& symbols) {
  if (!shape.ranked) return "[...]";
  std::string text;
  for (const Dim& dim : shape.dims) text += (text.empty() ? "" : ", ") + to_string(dim, symbols);
  return "[" + text + "]";
}

/// Shape rules know symbols by number ("#2"); people know them by name.
std::string with_names(std::string message, const std::vector<std::string>& symbols) {
  for (std::size_t at = message.find('#'); at != std::string::npos; at = message.find('#', at + 1)) {
    std::size_t end = at + 1;
    std::size_t number = 0;
    while (end < message.size() && message[end] >= '0' && message[end] <= '9' && number < symbols.size())
      number = number * 10 + static_cast<std::size_t>(message[end++] - '0');
    if (end > at + 1 && number < symbols.size()) message.replace(at, end - at, symbols[number]);
  }
  return message;
}

std::vector<std::string> given(const ModelGraph& model, const Graph& graph, const Node& node,
                               const std::vector<const Facts*>& inputs) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      add_operand_text(texts, {}, DType::undefined, {});
    } else {
      const std::string& name = graph.values[static_cast<std::size_t>(node.inputs[i])].name;
      add_operand_text(texts, name, inputs[i]->dtype, in_words(inputs[i]->shape, model.symbols));
    }
  }
  return texts;
}

/// Visits to nodes of subgraphs that one inference may take: bodies of loops are visited until their shapes settle, and what is
/// nested in them again each time.
constexpr std::size_t kMostVisits = std::size_t{1} << 17;

std::vector<Facts> infer_nested(const ModelGraph& model, std::uint32_t index, std::span<const Facts> inputs, std::size_t& visits,
                                OnContradiction contradiction);

std::vector<Facts> infer_node(const ModelGraph& model, const Graph& graph, const Node& node, const OpDef& op,
                              const std::vector<const Facts*>& inputs, std::size_t& visits) {
  std::vector<Facts> outputs(node.outputs.size());
  const InferContext::SubgraphInference subgraphs = [&](std::uint32_t index, std::span<const Facts> given) {
    visits += model.graphs.at(index).nodes.size() + 1;
    if (visits > kMostVisits)
      throw Error(ErrorCode::unsupported, "the shapes in its nested loops take too long to find out", "nest loops less deeply");
    return outputs_of(model.graphs.at(index), infer_nested(model, index, given, visits, OnContradiction::fail));
  };
  InferContext ctx(node, inputs, outputs, ErrorCode::invalid_model, subgraphs);
  try {
    op.infer(ctx);
  } catch (const Error& error) {
    // Attributes that no input can satisfy are the model's fault; of what kind the rule cannot know.
    const ErrorCode code = error.code() == ErrorCode::invalid_input ? ErrorCode::invalid_model : error.code();
    throw Error(code, with_names(error.message(), model.symbols), error.hint())
        .at(error.node(), error.op(), error.inputs())
        .at(node.name, node.op, given(model, graph, node, inputs));
  }
  return outputs;
}

/// The results of a node whose operands contradict each other, from the dtypes alone; nothing if these contradict, too.
std::optional<std::vector<Facts>> infer_from_dtypes(const ModelGraph& model, const Graph& graph, const Node& node,
                                                    const OpDef& op, const std::vector<const Facts*>& inputs,
                                                    std::size_t& visits) {
  std::vector<Facts> facts(inputs.size());
  std::vector<const Facts*> pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    facts[i].dtype = inputs[i]->dtype;
    pointers[i] = &facts[i];
  }
  try {
    return infer_node(model, graph, node, op, pointers, visits);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<Facts> infer_results(const ModelGraph& model, const Graph& graph, const Node& node, const std::vector<Facts>& facts,
                                 std::size_t& visits, OnContradiction contradiction) {
  const OpDef& op = check_node(node);
  std::vector<const Facts*> inputs;
  for (const ValueId value : node.inputs) inputs.push_back(value == kNoValue ? nullptr : &facts[static_cast<std::size_t>(value)]);
  if (contradiction == OnContradiction::fail) return infer_node(model, graph, node, op, inputs, visits);
  try {
    return infer_node(model, graph, node, op, inputs, visits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_model) throw;
    auto results = infer_from_dtypes(model, graph, node, op, inputs, visits);
    if (!results) throw;
    return *std::move(results);
  }
}

std::vector<Facts> infer_nested(const ModelGraph& model, std::uint32_t index, std::span<const Facts> inputs, std::size_t& visits,
                                OnContradiction contradiction) {
  const Graph& graph = model.graphs.at(index);
  if (inputs.size() != graph.inputs.size()) {
    throw Error(ErrorCode::invalid_model, "graph '" + graph.name + "' has " + std::to_string(graph.inputs.size()) +
                                              " inputs, but " + std::to_string(inputs.size()) + " values are passed to it");
  }
  std::vector<Facts> facts(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const std::int32_t constant = graph.values[i].constant;
    if (constant >= 0) facts[i] = facts_of(model.constants.at(static_cast<std::size_t>(constant)));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) facts[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Facts> results = infer_results(model, graph, node, facts, visits, contradiction);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (node.outputs[i] != kNoValue) facts[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
  }
  return facts;
}

}  // namespace

std::vector<Facts> infer_graph(const ModelGraph& model, std::uint32_t index, std::span<const Facts> inputs,
                               OnContradiction contradiction) {
  std::size_t visits = 0;
  return infer_nested(model, index, inputs, visits, contradiction);
}

std::vector<Facts> infer_model(const ModelGraph& model, OnContradiction contradiction) {
  std::vector<Facts> inputs;
  for (const ValueId id : model.main().inputs) {
    const Value& value = model.main().values[static_cast<std::size_t>(id)];
    Facts facts;
    facts.dtype = value.dtype;
    facts.shape = value.shape;
    inputs.push_back(std::move(facts));
  }
  return infer_graph(model, 0, inputs, contradiction);
}

}  // namespace jitney
