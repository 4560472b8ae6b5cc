// From a node's epilogue to that of the kernels.
#include "cpu/epilogue_operands.h"

#include "cpu/storage.h"
#include "ops/epilogue.h"

namespace jitney::cpu {

bool epilogue_fits(const NodeRequest& node, std::int64_t channels) {
  for (std::size_t i : {kBiasOperand, kResidualOperand, kSlopeOperand}) {
    if (!present(node.inputs, i)) continue;
    if (node.inputs[i].dtype != DType::float32) return false;
    const std::int64_t elements = node.inputs[i].shape.elements();
    if (i == kBiasOperand && elements != channels) return false;
    if (i == kSlopeOperand && elements != channels && elements != 1) return false;
  }
  const auto activation = kernels::activation_named(node.node->text("activation", "none"));
  return activation && (*activation != kernels::Activation::prelu || present(node.inputs, kSlopeOperand));
}

void epilogue_layout(const NodeRequest& node, NodeLayout& layout) {
  for (std::size_t i : {kBiasOperand, kSlopeOperand}) {
    if (!present(node.inputs, i)) continue;
    const Order dense = row_major_order(node.inputs[i].shape.size());
    if (!dense_in(node.inputs[i].shape, node.inputs[i].strides, dense)) layout.inputs[i] = dense;
  }
}

kernels::Epilogue make_epilogue(const NodeRequest& node, std::int64_t residual_stride, double scale) {
  const Epilogue parsed = parse_epilogue(*node.node);
  kernels::Epilogue epilogue;
  epilogue.activation = *kernels::activation_named(node.node->text("activation", "none"));
  epilogue.residual_after = parsed.residual_after;
  epilogue.scale = static_cast<float>(scale);
  epilogue.alpha = parsed.alpha;
  epilogue.beta = parsed.beta;
  epilogue.slope_stride = present(node.inputs, kSlopeOperand) && node.inputs[kSlopeOperand].shape.elements() != 1 ? 1 : 0;
  epilogue.residual_stride = residual_stride;
  return epilogue;
}

kernels::Epilogue bind_epilogue(const kernels::Epilogue& epilogue, const NodeRequest& node, const StepRun& run) {
  kernels::Epilogue bound = epilogue;
  bound.bias = input_data(run, node, kBiasOperand);
  bound.residual = input_data(run, node, kResidualOperand);
  bound.slope = input_data(run, node, kSlopeOperand);
  return bound;
}

}  // namespace jitney::cpu
