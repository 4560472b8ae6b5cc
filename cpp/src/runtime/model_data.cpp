// Loads a model: structure, schemas, shapes, and the descriptions that users see.
#include "runtime/model_data.h"

#include <algorithm>

#include "graph/reader.h"
#include "ops/infer.h"
#include "plan/key_inputs.h"

namespace jitney::detail {
namespace {

std::vector<std::vector<const OpDef*>> resolve_ops(const ModelGraph& model) {
  std::vector<std::vector<const OpDef*>> ops;
  for (const Graph& graph : model.graphs) {
    auto& list = ops.emplace_back();
    for (const Node& node : graph.nodes) list.push_back(&check_node(node));
  }
  return ops;
}

std::vector<std::vector<std::size_t>> key_inputs_of(const ModelGraph& model, const std::vector<std::vector<const OpDef*>>& ops) {
  std::vector<std::vector<std::size_t>> keys(model.graphs.size());
  keys[0] = find_key_inputs(model, ops);
  for (const Graph& graph : model.graphs) {
    for (const Node& node : graph.nodes) {
      if (node.op != "loop") continue;
      const std::uint32_t body = node.graph("body");
      keys[body] =
          find_key_inputs(model, ops, body, 2 + static_cast<std::size_t>(std::max<std::int64_t>(node.integer("carried"), 0)));
    }
  }
  return keys;
}

TensorInfo describe(const Value& value, const Facts& facts, const std::vector<std::string>& symbols) {
  TensorInfo info;
  info.name = value.name;
  info.dtype = facts.dtype;
  const SymShape& shape = value.shape.ranked ? value.shape : facts.shape;
  info.ranked = shape.ranked;
  for (const Dim& dim : shape.dims) {
    if (dim.is_constant()) {
      info.shape.emplace_back(dim.value());
    } else {
      info.shape.emplace_back(to_string(dim, symbols));
    }
  }
  return info;
}

std::size_t position_of(const std::vector<ValueId>& ids, ValueId id) {
  return static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
}

}  // namespace

ModelData::ModelData(std::shared_ptr<const MappedFile> mapped)
    : file(std::move(mapped)),
      graph(read_model(*file)),
      ops(resolve_ops(graph)),
      key_inputs(key_inputs_of(graph, ops)),
      weights(file, graph) {
  const std::vector<Facts> facts = infer_model(graph);
  const Graph& main = graph.main();
  for (const ValueId id : main.inputs) {
    const Value& value = main.values[static_cast<std::size_t>(id)];
    if (value.dtype == DType::undefined)
      throw Error(ErrorCode::invalid_model, "input '" + value.name + "' has no dtype", "convert the model again");
    inputs.push_back(describe(value, facts[static_cast<std::size_t>(id)], graph.symbols));
  }
  for (const ValueId id : main.outputs) {
    const auto index = static_cast<std::size_t>(id);
    outputs.push_back(describe(main.values[index], facts[index], graph.symbols));
  }
  for (const auto& [input, output] : main.states) {
    const SymShape& shape = main.values[static_cast<std::size_t>(input)].shape;
    states.push_back({position_of(main.inputs, input), position_of(main.outputs, output)});
    state_infos.push_back({inputs[states.back().input].name, outputs[states.back().output].name});
    if (!shape.ranked || !shape.is_constant())
      throw Error(ErrorCode::invalid_model,
                  "the state '" + state_infos.back().input + "' has open sizes, so that it cannot be kept",
                  "fix them when you convert: --shape NAME=1,3,224,224");
  }
  for (const Constant& constant : graph.constants) weight_bytes += constant.bytes;
  packs.expect(weight_bytes);
}

const Value& ModelData::input(std::size_t index) const {
  return graph.main().values[static_cast<std::size_t>(graph.main().inputs[index])];
}

const Value& ModelData::output(std::size_t index) const {
  return graph.main().values[static_cast<std::size_t>(graph.main().outputs[index])];
}

}  // namespace jitney::detail
