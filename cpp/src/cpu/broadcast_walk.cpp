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

BroadcastWalk::BroadcastWalk(std::span<const Operand* const> operands, bool fold)
    : count_(operands.size()), elements_(operands[0]->shape.elements()) {
  if (elements_ != 0) arrange(operands, fold);
}

BroadcastWalk::BroadcastWalk(const Operand& output, std::span<const Operand> inputs)
    : count_(inputs.size() + 1), elements_(output.shape.elements()) {
  std::array<const Operand*, kOperands> all{&output};
  for (std::size_t i = 0; i < inputs.size(); ++i) all[i + 1] = &inputs[i];
  if (elements_ != 0) arrange({all.data(), count_}, false);
}

void BroadcastWalk::arrange(std::span<const Operand* const> operands, bool fold) {
  std::array<Axis, kMaxRank> axes;
  std::size_t count = 0;
  const Operand& output = *operands[0];
  const std::size_t rank = output.shape.size();
  for (std::size_t i = 0; i < rank; ++i) {
    if (output.shape[i] == 1) continue;
    Axis axis{output.shape[i], {output.strides[i]}};
    for (std::size_t k = 1; k < count_; ++k) {
      const Operand& input = *operands[k];
      const std::size_t missing = rank - input.shape.size();
      if (input.dtype == DType::undefined || i < missing || input.shape[i - missing] == 1) continue;
      axis.strides[k] = input.strides[i - missing];
    }
    std::size_t place = count++;
    for (; place > 0 && outside(axis, axes[place - 1]); --place) axes[place] = axes[place - 1];
    axes[place] = axis;
  }
  std::size_t merged = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool merges = merged > 0;
    for (std::size_t k = 0; merges && k < count_; ++k) {
      merges = axes[merged - 1].strides[k] == axes[i].strides[k] * axes[i].size;
    }
    if (merges) {
      axes[merged - 1] = {axes[merged - 1].size * axes[i].size, axes[i].strides};
    } else {
      axes[merged++] = axes[i];
    }
  }
  if (merged > 0) {
    rank_ = merged - 1;
    row_ = axes[rank_].size;
    row_strides_ = axes[rank_].strides;
    for (std::size_t i = 0; i < rank_; ++i) {
      sizes_[i] = axes[i].size;
      for (std::size_t k = 0; k < count_; ++k) strides_[k][i] = axes[i].strides[k];
    }
  } else {
    row_strides_.fill(1);
  }
  run_ = row_;
  if (fold) fold_rows();
  piece_ = std::min(row_, run_ < row_ ? kPieceElements / run_ * run_ : kPieceElements);
  pieces_ = (row_ + piece_ - 1) / piece_;
  units_ = pieces_;
  for (std::size_t i = 0; i < rank_; ++i) units_ *= sizes_[i];
}

void BroadcastWalk::fold_rows() {
  if (rank_ == 0 || row_ >= kShortRow) return;
  const std::size_t outer = rank_ - 1;
  // Gathering what is one number per run pays only for the shortest rows.
  for (std::size_t k = 0; k < count_; ++k) {
    const bool changes = strides_[k][outer] != 0 && strides_[k][outer] != row_strides_[k] * row_;
    if (changes && row_strides_[k] != 1 && row_ >= kShortRow / 8) return;
    run_strides_[k] = strides_[k][outer];
  }
  row_ *= sizes_[outer];
  rank_ = outer;
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
