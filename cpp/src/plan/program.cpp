// The walk that unrolls a graph for concrete inputs (stage 1 of planning).
#include "plan/program.h"

#include <algorithm>
#include <cstring>

#include "base/operand_text.h"

namespace jitney {
namespace {

constexpr FlatId kUndefined = -2;
// Results above these sizes are left to run time, or to the model's derived weights.
constexpr std::int64_t kMostKnownElements = 16384;
constexpr std::int64_t kMostFactElements = 65536;

class Walker {
 public:
  Walker(const ModelView& model, Program& program, Cursor cursor)
      : model_(model), program_(program), cursor_(std::move(cursor)) {}

  void walk() {
    while (!cursor_.empty()) {
      Frame& frame = cursor_.back();
      const Graph& graph = model_.graph.graphs[frame.graph];
      if (frame.next == graph.nodes.size()) {
        leave(graph);
        continue;
      }
      const Node& node = graph.nodes[frame.next];
      try {
        if (!visit(node, *model_.ops[frame.graph][frame.next])) break;
      } catch (const Error& error) {
        throw error.at(node.name, node.op, given(node));
      }
    }
    remove_dead_nodes();
  }

 private:
  /// What the node that is being visited was given, as far as it is known.
  std::vector<std::string> given(const Node& node) const {
    FlatNode flat;
    for (const ValueId id : node.inputs)
      flat.inputs.push_back(id == kNoValue ? -1 : std::max(cursor_.back().map[static_cast<std::size_t>(id)], -1));
    return jitney::given(program_, flat);
  }

  FlatId lookup(Frame& frame, ValueId id) {
    if (id == kNoValue) return -1;
    FlatId& flat = frame.map[static_cast<std::size_t>(id)];
    if (flat != kUndefined) return flat;
    const Value& value = model_.graph.graphs[frame.graph].values[static_cast<std::size_t>(id)];
    if (value.constant < 0) throw Error(ErrorCode::internal, "value '" + value.name + "' is read before it is defined");
    const Constant& constant = model_.graph.constants[static_cast<std::size_t>(value.constant)];
    FlatValue made;
    made.name = value.name;
    made.dtype = constant.dtype;
    made.shape = constant.shape;
    made.weight = model_.weights.constant(static_cast<std::uint32_t>(value.constant));
    flat = add(std::move(made));
    return flat;
  }

  FlatId add(FlatValue value) {
    program_.values.push_back(std::move(value));
    return static_cast<FlatId>(program_.values.size() - 1);
  }

  FlatValue& at(FlatId id) { return program_.values[static_cast<std::size_t>(id)]; }

  /// Binds a finished graph's outputs to its owner's results, or to the model's outputs.
  void leave(const Graph& graph) {
    std::vector<FlatId> results;
    for (const ValueId id : graph.outputs) results.push_back(lookup(cursor_.back(), id));
    const Node* owner = cursor_.back().owner;
    cursor_.pop_back();
    if (cursor_.empty()) {
      program_.outputs = std::move(results);
      return;
    }
    Frame& outer = cursor_.back();
    for (std::size_t i = 0; i < owner->outputs.size(); ++i) {
      if (owner->outputs[i] != kNoValue) outer.map[static_cast<std::size_t>(owner->outputs[i])] = results[i];
    }
  }

  /// The bytes of a value where they are known and cheap to have; `needed` asks for them whatever their size.
  std::optional<TensorView> bytes_of(FlatId id, bool needed) {
    const FlatValue& value = at(id);
    if (value.known) return value.known->view();
    if (value.weight && (needed || value.shape.elements() <= kMostFactElements)) return value.weight->view();
    return std::nullopt;
  }

  /// False: the program ends here, in a cut.
  bool visit(const Node& node, const OpDef& op) {
    FlatNode flat{&node, &op, {}, {}};
    flat.inputs.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) flat.inputs.push_back(lookup(cursor_.back(), id));

    std::vector<FlatId> unknown;
    if (facts_.size() < flat.inputs.size()) facts_.resize(flat.inputs.size());
    operands_.assign(flat.inputs.size(), nullptr);
    for (std::size_t i = 0; i < flat.inputs.size(); ++i) {
      const FlatId id = flat.inputs[i];
      if (id < 0) continue;
      const bool needed = i < 32 && (op.value_inputs >> i & 1) != 0;
      Facts& facts = facts_[i];
      facts.dtype = at(id).dtype;
      facts.shape.ranked = true;
      facts.shape.dims.assign(at(id).shape.begin(), at(id).shape.end());
      facts.data = bytes_of(id, needed);
      if (needed && at(id).shape.elements() > kMostElements)
        throw Error(ErrorCode::invalid_input, "operand " + std::to_string(i) + " has shape " + to_string(at(id).shape) +
                                                  ", but its values decide a shape, an axis or a branch: at most " +
                                                  std::to_string(kMostElements) + " elements can do so");
      if (needed && !facts.data) unknown.push_back(id);
      operands_[i] = &facts;
    }
    if (!unknown.empty()) {
      cut(std::move(unknown), std::nullopt);
      return false;
    }
    if (node.op == "if") {
      enter_branch(node, flat);
      return true;
    }
    return op.data_dependent ? visit_dynamic(node, flat) : visit_static(node, flat);
  }

  void enter_branch(const Node& node, const FlatNode& flat) {
    const TensorView condition = *bytes_of(flat.inputs[0], true);
    if (condition.dtype != DType::boolean || condition.shape.elements() != 1)
      throw Error(ErrorCode::invalid_input, "the condition must be one bool, not " + std::string(to_string(condition.dtype)) +
                                                " " + to_string(condition.shape));
    ++cursor_.back().next;
    Frame frame;
    frame.graph = node.graph(*condition.as<bool>() ? "then" : "else");
    frame.owner = &node;
    const Graph& branch = model_.graph.graphs[frame.graph];
    frame.map.assign(branch.values.size(), kUndefined);
    for (std::size_t i = 0; i < branch.inputs.size(); ++i)
      frame.map[static_cast<std::size_t>(branch.inputs[i])] = flat.inputs[i + 1];
    cursor_.push_back(std::move(frame));
  }

  /// What the op's rule says of the results, given operands_.
  std::vector<Facts> infer(const Node& node, const FlatNode& flat) {
    std::vector<Facts> results(node.outputs.size());
    const InferContext::SubgraphInference none;
    InferContext context(node, operands_, results, ErrorCode::invalid_input, none);
    flat.op->infer(context);
    return results;
  }

  bool all_known(const FlatNode& flat) {
    return flat.op->compute != nullptr && flat.op->pure && std::ranges::all_of(flat.inputs, [&](FlatId id) {
             return id < 0 || at(id).known || (at(id).weight && at(id).shape.elements() <= kMostFactElements);
           });
  }

  bool all_weights(const FlatNode& flat) {
    return flat.op->compute != nullptr && flat.op->pure && std::ranges::any_of(flat.inputs, [](FlatId id) { return id >= 0; }) &&
           std::ranges::all_of(flat.inputs, [&](FlatId id) { return id < 0 || at(id).weight; });
  }

  bool visit_static(const Node& node, FlatNode& flat) {
    const std::vector<Facts> results = infer(node, flat);
    Frame& frame = cursor_.back();
    bool small = true;
    std::int64_t input_elements = 0;
    for (const FlatId id : flat.inputs)
      if (id >= 0) input_elements += at(id).shape.elements();
    std::int64_t output_elements = 0;
    flat.outputs.reserve(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      flat.outputs.push_back(-1);
      if (node.outputs[i] == kNoValue) continue;
      if (!results[i].shape.is_constant() || !results[i].shape.ranked)
        throw Error(ErrorCode::internal, "the shape rule of '" + node.op + "' leaves the shape of result " + std::to_string(i) +
                                             " open although all its inputs have fixed shapes");
      FlatValue value;
      value.name = model_.graph.graphs[frame.graph].values[static_cast<std::size_t>(node.outputs[i])].name;
      value.dtype = results[i].dtype;
      for (const Dim& dim : results[i].shape.dims) value.shape.push_back(dim.value());
      const std::int64_t elements = value.shape.elements();
      small = small && elements <= kMostKnownElements;
      output_elements += elements;
      if (results[i].elements) value.known = from_elements(value, *results[i].elements);
      flat.outputs.back() = add(std::move(value));
      frame.map[static_cast<std::size_t>(node.outputs[i])] = flat.outputs.back();
    }
    ++frame.next;
    if (output_elements == 0) settle_empty(flat);
    const bool settled = std::ranges::all_of(flat.outputs, [&](FlatId id) { return id < 0 || at(id).known; });
    if (settled) return true;
    // A movement that grows its operand (expand) is free as a view; anything else on weights is computed once per model.
    const bool weights = all_weights(flat) && !(flat.op->regions != nullptr && output_elements > input_elements);
    if (small && all_known(flat)) {
      evaluate(flat);
    } else if (weights) {
      derive(flat);
    } else {
      program_.nodes.push_back(std::move(flat));
    }
    return true;
  }

  /// Empty results need no step, which might walk axes that are long all the same.
  void settle_empty(const FlatNode& flat) {
    for (const FlatId id : flat.outputs)
      if (id >= 0) at(id).known = std::make_shared<const Tensor>(at(id).dtype, at(id).shape);
  }

  /// Non-null if every element is a number and the dtype is an integer or bool.
  std::shared_ptr<const Tensor> from_elements(const FlatValue& value, const std::vector<Dim>& elements) {
    if (static_cast<std::int64_t>(elements.size()) != value.shape.elements()) return nullptr;
    if (!std::ranges::all_of(elements, [](const Dim& dim) { return dim.is_constant(); })) return nullptr;
    Tensor tensor(value.dtype, value.shape);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::int64_t element = elements[i].value();
      switch (value.dtype) {
        case DType::int64:
          tensor.span<std::int64_t>()[i] = element;
          break;
        case DType::int32:
          tensor.span<std::int32_t>()[i] = static_cast<std::int32_t>(element);
          break;
        case DType::boolean:
          tensor.span<std::uint8_t>()[i] = element != 0;
          break;
        default:
          return nullptr;
      }
    }
    return std::make_shared<const Tensor>(std::move(tensor));
  }

  void evaluate(const FlatNode& flat) {
    std::vector<TensorView> inputs, outputs;
    std::vector<Tensor> results;
    for (const FlatId id : flat.inputs) inputs.push_back(id < 0 ? TensorView{} : *bytes_of(id, true));
    for (const FlatId id : flat.outputs) {
      results.push_back(id < 0 ? Tensor() : Tensor(at(id).dtype, at(id).shape));
      outputs.push_back(id < 0 ? TensorView{} : results.back().view());
    }
    const ComputeContext::Allocate none;
    flat.op->compute(ComputeContext(*flat.node, inputs, outputs, none));
    for (std::size_t i = 0; i < results.size(); ++i)
      if (flat.outputs[i] >= 0) at(flat.outputs[i]).known = std::make_shared<const Tensor>(std::move(results[i]));
  }

  void derive(const FlatNode& flat) {
    std::vector<std::shared_ptr<Weight>> inputs;
    for (const FlatId id : flat.inputs) inputs.push_back(id < 0 ? nullptr : at(id).weight);
    for (std::size_t i = 0; i < flat.outputs.size(); ++i) {
      if (flat.outputs[i] < 0) continue;
      FlatValue& value = at(flat.outputs[i]);
      value.weight = model_.weights.derived(*flat.node, *flat.op, inputs, i, value.dtype, value.shape);
    }
  }

  bool visit_dynamic(const Node& node, FlatNode& flat) {
    // What a loop returns is learned by running it.
    const std::vector<Facts> results = flat.op->compute == nullptr ? std::vector<Facts>(node.outputs.size()) : infer(node, flat);
    Frame& frame = cursor_.back();
    flat.outputs.reserve(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      flat.outputs.push_back(-1);
      if (node.outputs[i] == kNoValue) continue;
      FlatValue value;
      value.name = model_.graph.graphs[frame.graph].values[static_cast<std::size_t>(node.outputs[i])].name;
      value.dtype = results[i].dtype;
      flat.outputs.back() = add(std::move(value));
      frame.map[static_cast<std::size_t>(node.outputs[i])] = flat.outputs.back();
    }
    ++frame.next;
    cut({}, std::move(flat));
    return false;
  }

  void cut(std::vector<FlatId> observed, std::optional<FlatNode> dynamic) {
    Cut cut;
    cut.observed = std::move(observed);
    cut.dynamic = std::move(dynamic);
    std::vector<bool> read(program_.values.size(), false);
    for (Frame& frame : cursor_) {
      const Graph& graph = model_.graph.graphs[frame.graph];
      const auto mark = [&](ValueId id) {
        if (id == kNoValue) return;
        const FlatId flat = frame.map[static_cast<std::size_t>(id)];
        if (flat >= 0) read[static_cast<std::size_t>(flat)] = true;
      };
      for (std::size_t i = frame.next; i < graph.nodes.size(); ++i) std::ranges::for_each(graph.nodes[i].inputs, mark);
      std::ranges::for_each(graph.outputs, mark);
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      const FlatValue& value = program_.values[i];
      if (read[i] && !value.known && !value.weight && value.input < 0) cut.live.push_back(static_cast<FlatId>(i));
    }
    cut.cursor = cursor_;
    program_.cut = std::move(cut);
  }

  void remove_dead_nodes() {
    std::vector<bool> needed(program_.values.size(), false);
    const auto need = [&](FlatId id) {
      if (id >= 0) needed[static_cast<std::size_t>(id)] = true;
    };
    std::ranges::for_each(program_.outputs, need);
    if (program_.cut) {
      std::ranges::for_each(program_.cut->observed, need);
      std::ranges::for_each(program_.cut->live, need);
      if (program_.cut->dynamic) std::ranges::for_each(program_.cut->dynamic->inputs, need);
    }
    std::vector<FlatNode> kept;
    for (auto node = program_.nodes.rbegin(); node != program_.nodes.rend(); ++node) {
      if (std::ranges::none_of(node->outputs, [&](FlatId id) { return id >= 0 && needed[static_cast<std::size_t>(id)]; }))
        continue;
      for (FlatId& id : node->outputs)
        if (id >= 0 && !needed[static_cast<std::size_t>(id)]) id = -1;
      std::ranges::for_each(node->inputs, need);
      kept.push_back(std::move(*node));
    }
    std::ranges::reverse(kept);
    program_.nodes = std::move(kept);
  }

  const ModelView& model_;
  Program& program_;
  Cursor cursor_;
  // Of the node being visited; kept so that not every node allocates anew.
  std::vector<Facts> facts_;
  std::vector<const Facts*> operands_;
};

}  // namespace

std::vector<std::string> given(const Program& program, const FlatNode& node) {
  std::vector<std::string> texts;
  for (const FlatId id : node.inputs) {
    if (id < 0) {
      add_operand_text(texts, {}, DType::undefined, {});
      continue;
    }
    const FlatValue& value = program.values[static_cast<std::size_t>(id)];
    add_operand_text(texts, value.name, value.dtype, to_string(value.shape));
  }
  return texts;
}

Program begin_program(const ModelView& model, std::uint32_t index, std::span<const ProgramInput> inputs) {
  Program program;
  Frame frame;
  frame.graph = index;
  const Graph& graph = model.graph.graphs[index];
  frame.map.assign(graph.values.size(), kUndefined);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(graph.inputs[i]);
    FlatValue value;
    value.name = graph.values[id].name;
    value.dtype = inputs[i].dtype;
    value.shape = inputs[i].shape;
    value.known = inputs[i].known;
    value.weight = inputs[i].weight;
    value.input = static_cast<std::int32_t>(i);
    frame.map[id] = static_cast<FlatId>(i);
    program.values.push_back(std::move(value));
  }
  Walker(model, program, {std::move(frame)}).walk();
  return program;
}

Program continue_program(const ModelView& model, const Program& before, std::span<const Learned> learned) {
  Program program;
  program.values = before.values;
  for (const FlatId id : before.cut->live) program.values[static_cast<std::size_t>(id)].external = true;
  for (const Learned& fact : learned) {
    FlatValue& value = program.values[static_cast<std::size_t>(fact.id)];
    value.dtype = fact.dtype;
    value.shape = fact.shape;
    value.known = fact.known;
    value.external = value.external || !fact.known;
  }
  Walker(model, program, before.cut->cursor).walk();
  return program;
}

}  // namespace jitney
