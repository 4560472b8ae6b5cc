// A walk over the elements of an output and of operands that broadcast to it.
#include "cpu/broadcast_walk.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "cpu/storage.h"

namespace jitney::cpu {
namespace {

constexpr std::int64_t kPieceElements = 4096;

struct Axis {
  std::int64_t size = 1;
  BroadcastWalk::Offsets strides{};
};

bool outside(const Axis& a, const Axis& b) {
  for (std::size_t k = 0; k < BroadcastWalk::kOperands; ++k) {
    if (std::abs(a.strides[k]) != std::abs(b.strides[k])) return std::abs(a.strides[k]) > std::abs(b.strides[k]);
  }
  return false;
}

}  // namespace

BroadcastWalk::BroadcastWalk(const Operand& output, std::span<const Operand> inputs) : elements_(output.shape.elements()) {
  if (elements_ == 0) return;
  std::array<Axis, kMaxRank> axes;
  std::size_t count = 0;
  const std::size_t rank = output.shape.size();
  for (std::size_t i = 0; i < rank; ++i) {
    if (output.shape[i] == 1) continue;
    Axis axis{output.shape[i], {output.strides[i]}};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Operand& input = inputs[k];
      const std::size_t missing = rank - input.shape.size();
      if (input.dtype == DType::undefined || i < missing || input.shape[i - missing] == 1) continue;
      axis.strides[k + 1] = input.strides[i - missing];
    }
    std::size_t place = count++;
    for (; place > 0 && outside(axis, axes[place - 1]); --place) axes[place] = axes[place - 1];
    axes[place] = axis;
  }
  std::size_t merged = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool merges = merged > 0;
    for (std::size_t k = 0; merges && k < kOperands; ++k) {
      merges = axes[merged - 1].strides[k] == axes[i].strides[k] * axes[i].size;
    }
    if (merges) {
      axes[merged - 1] = {axes[merged - 1].size * axes[i].size, axes[i].strides};
    } else {
      axes[merged++] = axes[i];
    }
  }
  std::int64_t rows = 1;
  if (merged > 0) {
    rank_ = merged - 1;
    row_ = axes[rank_].size;
    row_strides_ = axes[rank_].strides;
    for (std::size_t i = 0; i < rank_; ++i) {
      sizes_[i] = axes[i].size;
      rows *= sizes_[i];
      for (std::size_t k = 0; k < kOperands; ++k) strides_[k][i] = axes[i].strides[k];
    }
  } else {
    row_strides_ = {1, 1, 1, 1};
  }
  piece_ = std::min(row_, kPieceElements);
  pieces_ = (row_ + piece_ - 1) / piece_;
  units_ = rows * pieces_;
}

NodeLayout elementwise_layout(const NodeRequest& node) {
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  const Operand& output = node.outputs[0];
  const Operand* leader = nullptr;
  const auto full = [&](const Operand& input) { return input.dtype != DType::undefined && input.shape == output.shape; };
  for (const Operand& input : node.inputs) {
    if (input.dtype == DType::undefined || input.shape.size() != output.shape.size()) continue;
    const auto rank_of = [&](const Operand& one) {
      return std::tuple(full(one), !one.bytes().has_value(), one.shape.elements());
    };
    if (leader == nullptr || rank_of(input) > rank_of(*leader)) leader = &input;
  }
  const Order order = leader != nullptr ? storage_order(leader->shape, leader->strides) : row_major_order(output.shape.size());
  for (std::size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    const Operand& input = node.inputs[i];
    if (!full(input)) continue;
    if (input.dtype == output.dtype) layout.in_place |= 1U << i;
    std::size_t inner = order.size();
    while (inner > 0 && output.shape[static_cast<std::size_t>(order[inner - 1])] == 1) --inner;
    const bool leaps = inner > 0 && input.strides[static_cast<std::size_t>(order[inner - 1])] > 1;
    if (leaps && !input.bytes()) layout.inputs[i] = order;
  }
  layout.outputs.push_back(order);
  layout.strided_output = true;
  return layout;
}

}  // namespace jitney::cpu
