// A walk over the elements of an output and of operands that broadcast to it, as rows in which every operand has one stride.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "plan/backend.h"

namespace jitney::cpu {

class BroadcastWalk {
 public:
  static constexpr std::size_t kOperands = 4;  // the output and up to three inputs
  using Offsets = std::array<std::int64_t, kOperands>;

  /// Axes are sorted by the output's strides and merged where all operands agree.
  BroadcastWalk(const Operand& output, std::span<const Operand> inputs);

  /// Units of work: rows, or pieces of long rows.
  std::int64_t units() const noexcept { return units_; }
  std::int64_t elements() const noexcept { return elements_; }
  std::int64_t unit_elements() const noexcept { return piece_; }
  /// Per operand (the output first), the stride along a row.
  const Offsets& row_strides() const noexcept { return row_strides_; }

  /// body(offsets, count) for each unit in [begin, end); offsets in elements, the output's first.
  template <typename Body>
  void for_each(std::int64_t begin, std::int64_t end, const Body& body) const {
    std::array<std::int64_t, kMaxRank> index{};
    Offsets offsets{};
    std::int64_t row = begin / pieces_, piece = begin % pieces_;
    for (std::size_t i = rank_; i-- > 0;) {
      index[i] = row % sizes_[i];
      row /= sizes_[i];
      for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += index[i] * strides_[k][i];
    }
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t start = piece * piece_, count = std::min(piece_, row_ - start);
      Offsets at = offsets;
      for (std::size_t k = 0; k < kOperands; ++k) at[k] += start * row_strides_[k];
      body(at, count);
      if (++piece < pieces_) continue;
      piece = 0;
      for (std::size_t i = rank_; i-- > 0;) {
        for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += strides_[k][i];
        if (++index[i] < sizes_[i]) break;
        for (std::size_t k = 0; k < kOperands; ++k) offsets[k] -= sizes_[i] * strides_[k][i];
        index[i] = 0;
      }
    }
  }

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::array<std::array<std::int64_t, kMaxRank>, kOperands> strides_{};
  std::size_t rank_ = 0;  // axes outside a row
  std::int64_t row_ = 1;
  Offsets row_strides_{};
  std::int64_t piece_ = 1, pieces_ = 1;
  std::int64_t units_ = 0, elements_ = 0;
};

/// Layout of an op whose output is computed element by element from operands that broadcast: the order of the inputs that have
/// the output's shape; such inputs in another order are asked to change to it if reading them would leap through memory.
NodeLayout elementwise_layout(const NodeRequest& node);

}  // namespace jitney::cpu
