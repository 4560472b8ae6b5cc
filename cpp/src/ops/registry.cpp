// Finds ops by name and checks nodes against their schemas.
#include <algorithm>
#include <vector>

#include "ops/families.h"
#include "ops/op.h"

namespace jitney {

namespace {

constexpr std::span<const OpDef> (*kFamilies[])() = {
    along_axis_ops,  attention_ops,   binary_ops,    concat_ops, control_ops,     conv_ops,    conv_transpose_ops, dft_ops,
    determinant_ops, elementwise_ops, fold_ops,      gather_ops, grid_sample_ops, matmul_ops,  movement_ops,       norm_ops,
    pad_ops,         pool_ops,        quantize_ops,  random_ops, reduce_ops,      reshape_ops, resize_ops,         rnn_ops,
    roi_ops,         scatter_ops,     selection_ops, shape_ops,  slice_ops,       softmax_ops, unary_ops,
};

std::vector<const OpDef*> sorted_ops() {
  std::vector<const OpDef*> ops;
  for (const auto family : kFamilies) {
    for (const OpDef& op : family()) ops.push_back(&op);
  }
  std::sort(ops.begin(), ops.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return ops;
}

[[noreturn]] void reject(const Node& node, const std::string& message) {
  throw Error(ErrorCode::invalid_model, message, "convert the model again with this version of Jitney").at(node.name, node.op);
}

std::string_view name_of(AttributeType type) {
  switch (type) {
    case AttributeType::integer:
      return "an integer";
    case AttributeType::number:
      return "a number";
    case AttributeType::text:
      return "a text";
    case AttributeType::integers:
      return "a list of integers";
    case AttributeType::numbers:
      return "a list of numbers";
    case AttributeType::texts:
      return "a list of texts";
    case AttributeType::constant:
      return "a constant";
    case AttributeType::graph:
      return "a graph";
  }
  return "unknown";
}

bool contains_word(std::string_view words, std::string_view word) {
  while (true) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
}

void check_arity(const Node& node, std::string_view what, std::size_t count, const Arity& arity) {
  if (count >= arity.least && count <= arity.most) return;
  std::string wanted = std::to_string(arity.least);
  if (arity.most == kAnyNumber) {
    wanted += " or more";
  } else if (arity.most != arity.least) {
    wanted += " to " + std::to_string(arity.most);
  }
  reject(node, "has " + std::to_string(count) + " " + std::string(what) + ", but takes " + wanted);
}

void check_attribute(const Node& node, const OpDef& op, const NamedAttribute& attribute) {
  const auto spec = std::find_if(op.attributes.begin(), op.attributes.end(),
                                 [&](const AttributeSpec& candidate) { return candidate.name == attribute.name; });
  if (spec == op.attributes.end()) reject(node, "has no attribute '" + attribute.name + "'");
  // AttributeType lists the alternatives of Attribute in their order.
  const auto type = static_cast<AttributeType>(attribute.value.index());
  if (type != spec->type) {
    reject(node, "attribute '" + attribute.name + "' is " + std::string(name_of(type)) + ", but must be " +
                     std::string(name_of(spec->type)));
  }
  if (type == AttributeType::text && !spec->words.empty() &&
      !contains_word(spec->words, std::get<std::string>(attribute.value))) {
    reject(node, "attribute '" + attribute.name + "' is '" + std::get<std::string>(attribute.value) + "', but must be one of " +
                     std::string(spec->words));
  }
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = sorted_ops();
  return ops;
}

const OpDef* find_op(std::string_view name) noexcept {
  const auto ops = all_ops();
  const auto found =
      std::lower_bound(ops.begin(), ops.end(), name, [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return found != ops.end() && (*found)->name == name ? *found : nullptr;
}

const OpDef& check_node(const Node& node) {
  const OpDef* op = find_op(node.op);
  if (op == nullptr) {
    throw Error(ErrorCode::unsupported, "op '" + node.op + "' is not known to this version of Jitney",
                "use a newer version of Jitney")
        .at(node.name, node.op);
  }
  check_arity(node, "operands", node.inputs.size(), op->inputs);
  check_arity(node, "results", node.outputs.size(), op->outputs);
  for (std::size_t i = 0; i < op->inputs.least; ++i) {
    if (node.inputs[i] == kNoValue) reject(node, "operand " + std::to_string(i) + " is left out, but is not optional");
  }
  for (const NamedAttribute& attribute : node.attributes) check_attribute(node, *op, attribute);
  for (std::size_t i = 1; i < node.attributes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (node.attributes[i].name == node.attributes[j].name)
        reject(node, "has attribute '" + node.attributes[i].name + "' twice");
    }
  }
  for (const AttributeSpec& spec : op->attributes) {
    if (spec.required && node.find(spec.name) == nullptr) reject(node, "lacks attribute '" + std::string(spec.name) + "'");
  }
  return *op;
}

}  // namespace jitney
