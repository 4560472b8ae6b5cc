// Cross checks of a parsed model: SSA form, order, states, names, quantisation, nesting of subgraphs.
#include "graph/structure.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "graph/byte_reader.h"

namespace jitney {

namespace {

class GraphCheck {
 public:
  GraphCheck(ModelGraph& model, std::size_t index) : model_(model), graph_(model.graphs[index]), index_(index) {}

  void run() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) check_value(static_cast<ValueId>(i));
    check_definitions();
    check_states();
    if (index_ == 0) {
      check_names(graph_.inputs, "inputs");
      check_names(graph_.outputs, "outputs");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_invalid("graph section: graph " + std::to_string(index_) + ": " + what);
  }

  const Value& at(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }

  std::string name(ValueId id) const { return "value " + std::to_string(id) + " (" + quoted(at(id).name) + ")"; }

  static std::string name(const Node& node) { return "node " + quoted(node.name) + " (" + quoted(node.op) + ")"; }

  void check_value(ValueId id) {
    Value& value = graph_.values[static_cast<std::size_t>(id)];
    if (value.constant >= 0) {
      const Constant& constant = model_.constants[static_cast<std::size_t>(value.constant)];
      if (value.dtype == DType::undefined) value.dtype = constant.dtype;
      if (value.dtype != constant.dtype) {
        fail(name(id) + " is " + std::string(to_string(value.dtype)) + ", but its constant is " +
             std::string(to_string(constant.dtype)));
      }
      const std::vector<Dim> dims(constant.shape.begin(), constant.shape.end());
      if (value.shape.ranked &&
          !std::equal(dims.begin(), dims.end(), value.shape.dims.begin(), value.shape.dims.end(),
                      [](const Dim& wanted, const Dim& given) { return !given.is_constant() || given.same(wanted); })) {
        fail(name(id) + " has another shape than its constant, " + to_string(constant.shape));
      }
      value.shape = SymShape::of(dims);
    }
    if (value.quantisation) check_quantisation(id, *value.quantisation);
  }

  void check_quantisation(ValueId id, const Quantisation& quantisation) const {
    const Value& value = at(id);
    const auto exists = [this](std::int32_t index) { return static_cast<std::size_t>(index) < model_.constants.size(); };
    if (quantisation.scale < 0 || !exists(quantisation.scale)) fail(name(id) + " has a scale that is no constant");
    if (quantisation.zero_point < -1 || (quantisation.zero_point >= 0 && !exists(quantisation.zero_point))) {
      fail(name(id) + " has a zero point that is no constant");
    }
    if (quantisation.axis < -1 || (value.shape.ranked && quantisation.axis >= static_cast<std::int64_t>(value.shape.rank()))) {
      fail(name(id) + " is quantised along axis " + std::to_string(quantisation.axis) + ", which it does not have");
    }
    const Constant& scale = model_.constants[static_cast<std::size_t>(quantisation.scale)];
    if (scale.dtype != DType::float32)
      fail(name(id) + " has a scale of " + std::string(to_string(scale.dtype)) + ", not float32");
    const std::int64_t count = scale.shape.elements();
    if (quantisation.axis < 0 && count != 1) fail(name(id) + " has " + std::to_string(count) + " scales, not one");
    if (quantisation.axis >= 0 && value.shape.ranked) {
      const Dim& extent = value.shape.dims[static_cast<std::size_t>(quantisation.axis)];
      if (extent.is_constant() && extent.value() != count) {
        fail(name(id) + " has " + std::to_string(count) + " scales for an axis of " + std::to_string(extent.value()));
      }
    }
    if (quantisation.zero_point < 0) return;
    const Constant& zero_point = model_.constants[static_cast<std::size_t>(quantisation.zero_point)];
    if (zero_point.shape.elements() != count) fail(name(id) + " has another number of zero points than of scales");
    if (value.dtype != DType::undefined && zero_point.dtype != value.dtype) {
      fail(name(id) + " is " + std::string(to_string(value.dtype)) + ", but its zero point is " +
           std::string(to_string(zero_point.dtype)));
    }
  }

  void define(ValueId id, const std::string& by) {
    if (defined_[static_cast<std::size_t>(id)]) fail(name(id) + " is defined a second time, by " + by);
    defined_[static_cast<std::size_t>(id)] = true;
  }

  void check_definitions() {
    defined_.assign(graph_.values.size(), false);
    for (std::size_t i = 0; i < graph_.values.size(); ++i) defined_[i] = graph_.values[i].constant >= 0;
    for (const ValueId id : graph_.inputs) define(id, "the graph's inputs");
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.inputs) {
        if (id != kNoValue && !defined_[static_cast<std::size_t>(id)]) {
          fail(name(node) + " reads " + name(id) + " before it is defined");
        }
      }
      for (const ValueId id : node.outputs) {
        if (id != kNoValue) define(id, name(node));
      }
    }
    const auto missing = std::find(defined_.begin(), defined_.end(), false);
    if (missing != defined_.end()) fail(name(static_cast<ValueId>(missing - defined_.begin())) + " is never defined");
  }

  void check_states() const {
    std::set<ValueId> inputs, outputs;
    const auto contains = [](const std::vector<ValueId>& ids, ValueId id) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    for (const auto& [input, output] : graph_.states) {
      if (!contains(graph_.inputs, input)) fail("state " + name(input) + " is no input of the graph");
      if (!contains(graph_.outputs, output)) fail("state " + name(output) + " is no output of the graph");
      if (!inputs.insert(input).second) fail("two states have the input " + name(input));
      if (!outputs.insert(output).second) fail("two states have the output " + name(output));
      const DType from = at(output).dtype, to = at(input).dtype;
      if (from != DType::undefined && to != DType::undefined && from != to) {
        fail("state " + name(input) + " is " + std::string(to_string(to)) + ", but its output is " +
             std::string(to_string(from)));
      }
    }
  }

  /// Users call the model's inputs and outputs by name.
  void check_names(const std::vector<ValueId>& ids, const std::string& what) const {
    std::set<std::string_view> names;
    for (const ValueId id : ids) {
      if (at(id).name.empty()) fail(name(id) + ", one of the model's " + what + ", has no name");
      if (!names.insert(at(id).name).second) fail("two of the model's " + what + " are named " + quoted(at(id).name));
    }
  }

  ModelGraph& model_;
  Graph& graph_;
  std::size_t index_;
  std::vector<bool> defined_;
};

/// Users have lower indices than what they use, so there is no cycle and one pass finds every depth.
void check_nesting(const ModelGraph& model) {
  std::vector<std::size_t> depth(model.graphs.size(), 0);
  for (std::size_t user = 0; user < model.graphs.size(); ++user) {
    const std::string name = "graph " + std::to_string(user);
    if (user > 0 && depth[user] == 0) fail_invalid("graph section: " + name + " is used by no node before it");
    for (const Node& node : model.graphs[user].nodes) {
      for (const NamedAttribute& attribute : node.attributes) {
        const auto* used = std::get_if<GraphRef>(&attribute.value);
        if (used == nullptr) continue;
        const std::string subgraph = "graph " + std::to_string(used->index);
        if (used->index <= user) fail_invalid("graph section: " + name + " uses " + subgraph + ", which does not come after it");
        if (depth[used->index] != 0) fail_invalid("graph section: " + subgraph + " is used twice");
        depth[used->index] = depth[user] + 1;
        if (depth[used->index] > kMaxGraphDepth) {
          fail_invalid("graph section: subgraphs nest deeper than " + std::to_string(kMaxGraphDepth));
        }
      }
    }
  }
}

}  // namespace

void check_structure(ModelGraph& model) {
  check_nesting(model);
  for (std::size_t i = 0; i < model.graphs.size(); ++i) GraphCheck(model, i).run();
}

}  // namespace jitney
