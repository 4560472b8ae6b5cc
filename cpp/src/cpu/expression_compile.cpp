// Which elementwise nodes make an expression, and its instructions.
#include <algorithm>
#include <array>
#include <tuple>

#include "cpu/expression.h"
#include "cpu/storage.h"

namespace jitney::cpu {
namespace {

using kernels::BinaryOp;
using kernels::RunMode;
using kernels::UnaryOp;

std::optional<UnaryOp> unary_op(const NodeRequest& node) {
  const Node& n = *node.node;
  if (n.op == "gelu") return n.text("approximate", "none") == "tanh" ? UnaryOp::gelu_tanh : UnaryOp::gelu;
  return kernels::unary_op_named(n.op);
}

bool is_float(const Operand& operand) { return operand.dtype == DType::float32; }

/// Operands that stand for elements; clip's bounds come after them.
std::size_t element_inputs(const NodeRequest& node) { return kernels::binary_op_named(node.node->op) ? 2 : 1; }

/// How often a node's result is read by the nodes of the group.
std::size_t reads_within(Group group, std::size_t producer) {
  std::size_t reads = 0;
  for (const NodeRequest& node : group)
    for (const Operand& input : node.inputs) reads += input.producer == static_cast<std::int32_t>(producer) ? 1 : 0;
  return reads;
}

/// Outer operands that the walk would have.
std::size_t walked_operands(Group group) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < group.size(); ++k) {
    for (std::size_t i = 0; i < element_inputs(group[k]); ++i) count += group[k].inputs[i].producer < 0 ? 1 : 0;
    if (group[k].outputs[0].reads != reads_within(group, k)) ++count;
  }
  return count;
}

/// Whether each node is tied to each other by results that one computes and another reads.
bool hang_together(Group group) {
  std::array<std::size_t, Expression::kMostInstructions> part{};
  for (std::size_t k = 0; k < group.size(); ++k) {
    part[k] = k;
    for (const Operand& input : group[k].inputs) {
      if (input.producer < 0) continue;
      const std::size_t joined = part[static_cast<std::size_t>(input.producer)];
      for (std::size_t j = 0; j < k; ++j) {
        if (part[j] == joined) part[j] = k;
      }
    }
  }
  return std::all_of(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(group.size()),
                     [&](std::size_t one) { return one == part[group.size() - 1]; });
}

}  // namespace

bool is_expression(const NodeRequest& node) {
  if (node.outputs.size() != 1 || !is_float(node.outputs[0]) || node.inputs.empty() || !is_float(node.inputs[0])) return false;
  if (kernels::binary_op_named(node.node->op)) return is_float(node.inputs[1]);
  return unary_op(node).has_value();
}

std::size_t expression_nodes(Group nodes) {
  std::size_t best = 0;
  const Shape& shape = nodes.front().outputs[0].shape;
  for (std::size_t k = 0; k < nodes.size() && k < Expression::kMostInstructions; ++k) {
    if (!is_expression(nodes[k]) || !(nodes[k].outputs[0].shape == shape)) break;
    // Bounds that the group itself computes come too late.
    bool early = true;
    for (std::size_t i = element_inputs(nodes[k]); i < nodes[k].inputs.size(); ++i) early &= nodes[k].inputs[i].producer < 0;
    if (!early) break;
    const Group group = nodes.first(k + 1);
    if (walked_operands(group) <= BroadcastWalk::kOperands && hang_together(group)) best = k + 1;
  }
  return best;
}

NodeLayout expression_layout(Group group) {
  if (group.size() == 1) {
    NodeLayout layout = elementwise_layout(group[0]);
    layout.in_place &= (1U << element_inputs(group[0])) - 1;
    return layout;
  }
  // As one node of all outer inputs. The first result may go over what nobody reads after it was computed.
  NodeRequest whole = {group[0].node, group[0].op, {}, {group[0].outputs[0]}};
  std::uint32_t done_with = 0;
  std::size_t results = 0;
  for (const NodeRequest& node : group) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].producer >= 0) continue;
      const std::size_t index = whole.inputs.size();
      if (results == 0 && i < element_inputs(node) && index < 32) done_with |= 1U << index;
      whole.inputs.push_back(node.inputs[i]);
    }
    results += node.outputs[0].inner ? 0 : 1;
  }
  NodeLayout layout = elementwise_layout(whole);
  layout.in_place &= done_with;
  layout.outputs.resize(results, layout.outputs[0]);
  return layout;
}

Expression::Expression(Group group) {
  compile(group);
  if (walk_->elements() != 0) {
    choose_access();
    share_buffers();
    choose_kernels(group);
  }
}

void Expression::compile(Group group) {
  const bool alone = group.size() == 1;
  std::vector<const Operand*> walked;
  std::vector<std::size_t> result(group.size(), kNone);  // value of each node
  for (std::size_t k = 0; k < group.size(); ++k) {
    if (!alone && group[k].outputs[0].inner) continue;
    result[k] = values_.size();
    values_.push_back({Access::gathered, walked.size()});
    walked.push_back(&group[k].outputs[0]);
  }
  outputs_ = values_.size();
  for (std::size_t k = 0; k < group.size(); ++k) {
    const NodeRequest& node = group[k];
    Instruction instruction;
    instruction.op = node.node->op;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Operand& input = node.inputs[i];
      std::size_t value = kNone;
      if (input.producer >= 0) {
        value = result[static_cast<std::size_t>(input.producer)];
      } else {
        if (i < element_inputs(node)) {
          value = values_.size();
          values_.push_back({Access::gathered, walked.size(), kNone, inputs_.size()});
          walked.push_back(&input);
        } else if (input.dtype != DType::undefined) {
          (i == 1 ? instruction.low : instruction.high) = inputs_.size();
        }
        inputs_.push_back(input);
      }
      if (i < element_inputs(node)) (i == 0 ? instruction.a : instruction.b) = value;
    }
    if (result[k] == kNone) {
      result[k] = values_.size();
      values_.push_back({Access::inner});
    }
    instruction.y = result[k];
    instructions_.push_back(instruction);
  }
  walk_.emplace(std::span<const Operand* const>(walked), true);
}

void Expression::choose_access() {
  for (std::size_t v = 0; v < values_.size(); ++v) {
    Value& value = values_[v];
    if (value.operand == kNone) continue;
    const std::int64_t stride = walk_->row_strides()[value.operand];
    const bool one = walk_->unit_elements() == 1;
    if (walk_->even(value.operand) && (stride == 1 || one)) {
      value.access = Access::direct;
    } else if (v >= outputs_ && walk_->even(value.operand) && stride == 0) {
      value.access = Access::single;
    } else if (v >= outputs_ && walk_->run_strides()[value.operand] == 0 && walk_->run() < walk_->unit_elements()) {
      value.access = Access::periodic;
    } else {
      value.access = Access::gathered;
    }
  }
  // Kernels want one vector at least. (An operand of the full shape may be a view that repeats one number.)
  for (const Instruction& instruction : instructions_) {
    Value& a = values_[instruction.a];
    if (a.access != Access::single) continue;
    if (instruction.b == kNone || values_[instruction.b].access == Access::single) a.access = Access::periodic;
  }
}

/// A buffer for each value that needs one; that of a result is free again after its last use.
void Expression::share_buffers() {
  std::vector<std::size_t> last(values_.size(), kNone), free;
  for (std::size_t k = 0; k < instructions_.size(); ++k)
    for (const std::size_t v : {instructions_[k].a, instructions_[k].b})
      if (v != kNone) last[v] = k;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (values_[v].access == Access::periodic || values_[v].access == Access::gathered) values_[v].buffer = buffers_++;
  }
  for (std::size_t k = 0; k < instructions_.size(); ++k) {
    const auto& [a, b, y] = std::tuple(instructions_[k].a, instructions_[k].b, instructions_[k].y);
    for (const std::size_t v : {a, b == a ? kNone : b}) {
      if (v != kNone && values_[v].access == Access::inner && last[v] == k) free.push_back(values_[v].buffer);
    }
    if (values_[y].access != Access::inner) continue;
    if (free.empty()) {
      values_[y].buffer = buffers_++;
    } else {
      values_[y].buffer = free.back();
      free.pop_back();
    }
  }
}

void Expression::choose_kernels(Group group) {
  const Isa isa = active_isa();
  for (std::size_t k = 0; k < group.size(); ++k) {
    Instruction& instruction = instructions_[k];
    const Node& node = *group[k].node;
    if (const auto binary = kernels::binary_op_named(node.op)) {
      const bool single_a = values_[instruction.a].access == Access::single,
                 single_b = values_[instruction.b].access == Access::single;
      const RunMode mode = single_b ? RunMode::vector_scalar : single_a ? RunMode::scalar_vector : RunMode::vector_vector;
      instruction.binary = kernels::binary_kernel(isa, *binary, mode);
      nanoseconds_ += 0.5;
      continue;
    }
    const UnaryOp op = *unary_op(group[k]);
    instruction.unary = kernels::unary_kernel(isa, op);
    instruction.alpha = static_cast<float>(node.number("alpha", 1.0));
    instruction.beta = static_cast<float>(node.number("beta", node.number("gamma", 0.0)));
    if (op == UnaryOp::clip) {
      instruction.alpha = -std::numeric_limits<float>::infinity();
      instruction.beta = std::numeric_limits<float>::infinity();
    }
    nanoseconds_ += 1.0;
  }
  const auto direct = [&](std::size_t v) {
    return v == kNone || values_[v].access == Access::direct || values_[v].access == Access::single;
  };
  const Instruction& first = instructions_[0];
  whole_ = instructions_.size() == 1 && direct(first.a) && direct(first.b) && direct(first.y);
}

std::string Expression::name() const {
  std::string name = "f32_";
  for (const Instruction& instruction : instructions_) {
    if (&instruction != instructions_.data()) name += '+';
    name += instruction.op;
  }
  return name;
}

}  // namespace jitney::cpu
