// The scratch rows that a first-layer convolution reads: the part of the image that an output row sees, as floats, padded.
#pragma once

#include <cstddef>

#include "cpu/kernels/firstconv/firstconv.h"

namespace jitney::kernels {

/// Bytes of a ring for runs of so many output pixels.
std::size_t ring_bytes(const ConvGeometry& geometry, std::size_t channels, std::size_t pixels) noexcept;

/// Input rows are kept in the slot (row mod slots) until the output rows have moved past them, so that each is read once.
class Ring {
 public:
  /// For output pixels [x0, x0 + pixels) of a row; those beyond the output's width see whatever there is, or zeros.
  Ring(const FirstConvKernel& kernel, const FirstConvArgs& args, std::size_t x0, std::size_t pixels, float* rows) noexcept;

  /// Elements between the scratch's columns.
  std::ptrdiff_t column_step() const noexcept { return column_step_; }
  /// Loads what output row `row` (of batch·depth·height) sees, and where each tap's inputs begin. Rows come in ascending order.
  void see(std::ptrdiff_t row, const float** taps) noexcept;
  /// Asks memory for so many cache lines of what the next output row will see beyond this one. Rows of planes come from far
  /// away in short pieces, which the processor does not foresee; asked for all at once, they would hold up the computation.
  void fetch(std::size_t lines) noexcept;
  /// How many of them are left.
  std::size_t lines() const noexcept;

 private:
  float* slot(std::ptrdiff_t plane, std::ptrdiff_t y) const noexcept;
  void begin_fetch(std::ptrdiff_t image) noexcept;
  template <typename T>
  void load(std::ptrdiff_t image, std::ptrdiff_t z, std::ptrdiff_t y, float* to) const noexcept;

  const FirstConvKernel& kernel_;
  const FirstConvArgs& args_;
  float* rows_;
  std::ptrdiff_t channels_;
  bool interleaved_;              // scratch columns hold all channels, as the image's do
  std::ptrdiff_t column_step_;    // of the scratch
  std::ptrdiff_t channel_step_;   // of the scratch
  std::ptrdiff_t first_channel_;  // offset of channel 0 in a slot
  std::ptrdiff_t columns_;        // of a slot
  std::ptrdiff_t slot_floats_;
  std::ptrdiff_t slots_;
  std::ptrdiff_t left_;         // image column of the slots' first
  std::ptrdiff_t begin_, end_;  // slot columns that lie in the image
  std::ptrdiff_t plane_ = -1;   // batch·depth of the rows in the ring
  std::ptrdiff_t loaded_ = 0;   // image rows before this one are in the ring, as many as it holds
  const float* fetch_from_ = nullptr;
  std::ptrdiff_t next_row_ = 0, end_row_ = 0, next_channel_ = 0, next_float_ = 0;
  float shifts_[kMostFirstChannels][kShiftTable];  // one table if interleaved, or one per channel
};

}  // namespace jitney::kernels
