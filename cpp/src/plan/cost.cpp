// The count of operations by op, and of bytes by operand.
#include "plan/cost.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace jitney {
namespace {

double elements(const Operand& operand) {
  return operand.dtype == DType::undefined ? 0 : static_cast<double>(operand.shape.elements());
}

double input_elements(const NodeRequest& node, std::size_t input) {
  return input < node.inputs.size() ? elements(node.inputs[input]) : 0;
}

double output_elements(const NodeRequest& node) {
  double most = 0;
  for (const Operand& output : node.outputs) most = std::max(most, elements(output));
  return most;
}

double size(const Shape& shape, std::size_t axis) { return axis < shape.size() ? static_cast<double>(shape[axis]) : 1; }

/// q […, M, D], k […, S, D], v […, S, E] → y […, M, E]: both products, and the softmax of the scores.
double attention(const NodeRequest& node) {
  const Shape &q = node.inputs[0].shape, &v = node.inputs[2].shape;
  if (q.size() < 2 || v.size() < 2) return 0;
  const double depth = size(q, q.size() - 1), keys = size(v, v.size() - 2), columns = size(v, v.size() - 1);
  return output_elements(node) / std::max(columns, 1.0) * keys * (2 * depth + 2 * columns + 5);
}

/// Each result of a filter takes all of that filter's weights.
double conv(const NodeRequest& node) {
  const double filters = std::max(1.0, size(node.inputs[1].shape, 0));
  return 2 * output_elements(node) * input_elements(node, 1) / filters;
}

/// Each input of a channel goes into all of that channel's weights.
double conv_transpose(const NodeRequest& node) {
  const double channels = std::max(1.0, size(node.inputs[1].shape, 0));
  return 2 * input_elements(node, 0) * input_elements(node, 1) / channels;
}

double matmul(const NodeRequest& node) {
  const Shape& a = node.inputs[0].shape;
  const bool transposed = node.node->integer("trans_a", 0) != 0 && a.size() >= 2;
  return a.empty() ? 0 : 2 * output_elements(node) * size(a, a.size() - (transposed ? 2 : 1));
}

/// x [steps, batch, inputs], w [directions, gates·hidden, inputs], r [directions, gates·hidden, hidden].
double rnn(const NodeRequest& node) {
  const Shape& x = node.inputs[0].shape;
  return 2 * size(x, 0) * size(x, 1) * (input_elements(node, 1) + input_elements(node, 2));
}

double pool(const NodeRequest& node) {
  double taps = 1;
  for (const std::int64_t length : node.node->integers("kernel")) taps *= static_cast<double>(length);
  return output_elements(node) * taps;
}

/// A weighted sum of 2 (linear) or 4 (cubic) elements along each axis that changes; nothing but copies if nearest.
double resize(const NodeRequest& node) {
  const std::string_view mode = node.node->text("mode", "nearest");
  if (mode == "nearest") return 0;
  double taps = 1;
  for (std::size_t axis = 0; axis < node.inputs[0].shape.size(); ++axis)
    if (size(node.inputs[0].shape, axis) != size(node.outputs[0].shape, axis)) taps *= mode == "linear" ? 2 : 4;
  return 2 * output_elements(node) * taps;
}

double once_per_input(const NodeRequest& node) { return input_elements(node, 0); }

/// The largest, the difference, its exponential, their sum, the quotient.
double softmax(const NodeRequest& node) { return 5 * input_elements(node, 0); }

/// Mean, difference, square, their sum, product and sum with scale and bias.
double norm(const NodeRequest& node) { return 6 * input_elements(node, 0); }

double none(const NodeRequest&) { return 0; }

struct Rule {
  std::string_view op;
  double (*flops)(const NodeRequest& node);
};

/// By name. What is not here counts one operation per result if it computes, and none if it only moves data.
constexpr auto kRules = std::to_array<Rule>({
    {"arg_reduce", once_per_input},
    {"attention", attention},
    {"average_pool", pool},
    {"cast", none},
    {"conv", conv},
    {"conv_transpose", conv_transpose},
    {"instance_norm", norm},
    {"layer_norm", norm},
    {"log_softmax", softmax},
    {"lp_pool", pool},
    {"matmul", matmul},
    {"max_pool", pool},
    {"reduce", once_per_input},
    {"resize", resize},
    {"rms_norm", norm},
    {"rnn", rnn},
    {"softmax", softmax},
});
static_assert(std::ranges::is_sorted(kRules, {}, &Rule::op));

/// Ops that move data without being lists of regions.
constexpr auto kMovers =
    std::to_array<std::string_view>({"bit_cast", "constant_of_shape", "gather", "gather_elements", "gather_nd", "identity", "pad",
                                     "scatter_elements", "scatter_nd", "shape", "size", "where"});
static_assert(std::ranges::is_sorted(kMovers));

double flops(const NodeRequest& node) {
  const std::string_view op = node.node->op;
  const auto rule = std::ranges::lower_bound(kRules, op, {}, &Rule::op);
  if (rule != kRules.end() && rule->op == op) return node.inputs.empty() || node.outputs.empty() ? 0 : rule->flops(node);
  const bool moves = (node.op != nullptr && node.op->regions != nullptr) || std::ranges::binary_search(kMovers, op);
  return moves ? 0 : output_elements(node);
}

std::uint64_t bytes(const Operand& operand) { return static_cast<std::uint64_t>(elements(operand)) * size_of(operand.dtype); }

}  // namespace

StepCost step_cost(Group group) {
  StepCost cost;
  for (const NodeRequest& node : group) {
    cost.flops += flops(node);
    for (const Operand& input : node.inputs)
      if (input.producer < 0) cost.bytes += bytes(input);
    for (const Operand& output : node.outputs)
      if (!output.inner) cost.bytes += bytes(output);
  }
  return cost;
}

}  // namespace jitney
