// Transposed convolution in float32: chooses among the ways to compute one.
#include "cpu/conv_transpose_step.h"

#include <array>

#include "cpu/conv_shape.h"
#include "cpu/conv_step.h"
#include "cpu/storage.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

ConvProblem transposed_problem(const NodeRequest& node) {
  const Operand& x = node.inputs[0];
  const Operand& w = node.inputs[1];
  ConvProblem problem;
  problem.geometry = conv_geometry(transposed_window_geometry(*node.node, spatial_sizes(x.shape), spatial_sizes(w.shape)), x);
  problem.groups = static_cast<std::size_t>(node.node->integer("group", 1));
  problem.channels = static_cast<std::size_t>(w.shape[0]) / problem.groups;
  problem.filters = static_cast<std::size_t>(w.shape[1]);
  problem.channel_stride = w.strides[0];
  problem.filter_stride = w.strides[1];
  problem.tap_stride = spatial3(spatial_sizes(w.strides), 0);
  problem.pixel_stride = uniform_pixel_stride(x.shape, x.strides);
  return problem;
}

bool takes(const NodeRequest& node) {
  return is_plain_conv(node, node.inputs[1].shape[1] * node.node->integer("group", 1)) && node.inputs[0].shape.elements() > 0;
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  NodeLayout layout = conv_layout(node);
  const Operand& x = node.inputs[0];
  if (!uniform_pixel_stride(x.shape, x.strides)) layout.inputs[0] = channels_last_order(x.shape.size());
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache& cache, std::size_t threads) {
  if (!takes(node)) return nullptr;
  const ConvProblem problem = transposed_problem(node);
  std::unique_ptr<ConvWay> way = transposed_depthwise(problem, threads);
  if (!way) way = transposed_blocks(problem, threads);
  if (!way) way = transposed_sums(problem, threads);
  return std::make_unique<ConvStep>(node, cache, std::move(way));
}

constexpr std::array<FastOp, 1> kOps = {{{"conv_transpose", layout, prepare}}};

}  // namespace

std::span<const FastOp> conv_transpose_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
