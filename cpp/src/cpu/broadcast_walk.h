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
  static constexpr std::size_t kOperands = 10;  // outputs, the leading one first, and inputs
  using Offsets = std::array<std::int64_t, kOperands>;

  /// Axes are sorted by the first operand's strides (a result's, which has the whole shape) and merged where all agree.
  /// `fold`: many short rows become *runs* of one long row, along which operands may leap from run to run.
  BroadcastWalk(std::span<const Operand* const> operands, bool fold);
  BroadcastWalk(const Operand& output, std::span<const Operand> inputs);

  /// Units of work: rows, or pieces of long rows (of whole runs).
  std::int64_t units() const noexcept { return units_; }
  std::int64_t elements() const noexcept { return elements_; }
  std::int64_t unit_elements() const noexcept { return piece_; }
  /// Per operand, the stride along a row, or within a run.
  const Offsets& row_strides() const noexcept { return row_strides_; }
  /// Elements of a run; of a row if nothing was folded.
  std::int64_t run() const noexcept { return run_; }
  /// Per operand, the distance between runs.
  const Offsets& run_strides() const noexcept { return run_strides_; }
  /// Whether the operand keeps its stride from run to run.
  bool even(std::size_t operand) const noexcept { return run_ == row_ || run_strides_[operand] == row_strides_[operand] * run_; }

  /// body(offsets, count) for each unit in [begin, end); offsets in elements, the output's first.
  template <typename Body>
  void for_each(std::int64_t begin, std::int64_t end, const Body& body) const {
    std::array<std::int64_t, kMaxRank> index{};
    Offsets offsets{};
    std::int64_t row = begin / pieces_, piece = begin % pieces_;
    for (std::size_t i = rank_; i-- > 0;) {
      index[i] = row % sizes_[i];
      row /= sizes_[i];
      for (std::size_t k = 0; k < count_; ++k) offsets[k] += index[i] * strides_[k][i];
    }
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t start = piece * piece_, count = std::min(piece_, row_ - start);
      const std::int64_t runs = start / run_, rest = start % run_;
      Offsets at = offsets;
      for (std::size_t k = 0; k < count_; ++k) at[k] += runs * run_strides_[k] + rest * row_strides_[k];
      body(at, count);
      if (++piece < pieces_) continue;
      piece = 0;
      for (std::size_t i = rank_; i-- > 0;) {
        for (std::size_t k = 0; k < count_; ++k) offsets[k] += strides_[k][i];
        if (++index[i] < sizes_[i]) break;
        for (std::size_t k = 0; k < count_; ++k) offsets[k] -= sizes_[i] * strides_[k][i];
        index[i] = 0;
      }
    }
  }

 private:
  void arrange(std::span<const Operand* const> operands, bool fold);
  void fold_rows();

  std::array<std::int64_t, kMaxRank> sizes_{};
  std::array<std::array<std::int64_t, kMaxRank>, kOperands> strides_{};
  std::size_t count_ = 0;  // operands
  std::size_t rank_ = 0;   // axes outside a row
  std::int64_t row_ = 1, run_ = 1;
  Offsets row_strides_{}, run_strides_{};
  std::int64_t piece_ = 1, pieces_ = 1;
  std::int64_t units_ = 0, elements_ = 0;
};

/// Shorter rows are folded: a call to a kernel costs as much as so many elements.
inline constexpr std::int64_t kShortRow = 128;

/// Layout of an op whose output is computed element by element from operands that broadcast: the order of the inputs that have
/// the output's shape; such inputs in another order are asked to change to it if reading them would leap through memory.
NodeLayout elementwise_layout(const NodeRequest& node);

}  // namespace jitney::cpu
