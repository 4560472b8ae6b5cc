// Brings image rows to the scratch of a first-layer convolution.
#include "cpu/kernels/firstconv/ring.h"

#include <algorithm>

namespace jitney::kernels {
namespace {

std::ptrdiff_t ring_rows(const ConvGeometry& g) noexcept { return (g.kernel[1] - 1) * g.dilation[1] + 1; }

std::ptrdiff_t ring_columns(const ConvGeometry& g, std::size_t pixels) noexcept {
  return (static_cast<std::ptrdiff_t>(pixels) - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
}

void copy_shifted(const FirstConvKernel& kernel, const float* from, std::size_t n, const float* shifts, bool shift, float* to) {
  if (shift) {
    kernel.floats(from, n, shifts, to);
  } else {
    std::copy_n(from, n, to);
  }
}

void copy_shifted(const FirstConvKernel& kernel, const std::uint8_t* from, std::size_t n, const float* shifts, bool, float* to) {
  kernel.bytes(from, n, shifts, to);
}

}  // namespace

std::size_t ring_bytes(const ConvGeometry& g, std::size_t channels, std::size_t pixels) noexcept {
  return static_cast<std::size_t>(g.kernel[0] * ring_rows(g) * ring_columns(g, pixels)) * channels * sizeof(float);
}

Ring::Ring(const FirstConvKernel& kernel, const FirstConvArgs& args, std::size_t x0, std::size_t pixels, float* rows) noexcept
    : kernel_(kernel), args_(args), rows_(rows), channels_(static_cast<std::ptrdiff_t>(args.channels)) {
  const ConvGeometry& g = args.geometry;
  const bool together = args.channel_stride == 1 || args.channel_stride == -1;
  interleaved_ = channels_ > 1 && together && g.input_stride[2] == channels_;
  columns_ = ring_columns(g, pixels);
  column_step_ = interleaved_ ? channels_ : 1;
  channel_step_ = interleaved_ ? args.channel_stride : columns_;
  first_channel_ = channel_step_ < 0 ? channels_ - 1 : 0;
  slot_floats_ = columns_ * channels_;
  slots_ = ring_rows(g);
  left_ = static_cast<std::ptrdiff_t>(x0) * g.stride[2] - g.pad_begin[2];
  begin_ = std::clamp<std::ptrdiff_t>(-left_, 0, columns_);
  end_ = std::clamp<std::ptrdiff_t>(g.input[2] - left_, begin_, columns_);
  const auto shift = [&](std::ptrdiff_t c) { return args.shift == nullptr ? 0.0f : args.shift[c]; };
  for (std::ptrdiff_t c = 0; c < (interleaved_ ? 1 : channels_); ++c) {
    for (std::size_t i = 0; i < kShiftTable; ++i) {
      const std::ptrdiff_t lane = interleaved_ ? static_cast<std::ptrdiff_t>(i) % channels_ : c;
      shifts_[c][i] = shift(interleaved_ && args.channel_stride < 0 ? channels_ - 1 - lane : lane);
    }
  }
}

float* Ring::slot(std::ptrdiff_t plane, std::ptrdiff_t y) const noexcept {
  const std::ptrdiff_t place = y % slots_;
  return rows_ + (plane * slots_ + (place < 0 ? place + slots_ : place)) * slot_floats_;
}

void Ring::see(std::ptrdiff_t row, const float** taps) noexcept {
  const ConvGeometry& g = args_.geometry;
  const std::ptrdiff_t plane = row / g.output[1], depth = plane % g.output[0];
  const std::ptrdiff_t z0 = depth * g.stride[0] - g.pad_begin[0];
  const std::ptrdiff_t y0 = row % g.output[1] * g.stride[1] - g.pad_begin[1];
  const std::ptrdiff_t from = plane == plane_ ? std::max(loaded_, y0) : y0;
  plane_ = plane;
  loaded_ = y0 + slots_;
  for (std::ptrdiff_t d = 0; d < g.kernel[0]; ++d) {
    const std::ptrdiff_t z = z0 + d * g.dilation[0];
    for (std::ptrdiff_t y = from; y < loaded_; ++y) {
      if (z < 0 || z >= g.input[0] || y < 0 || y >= g.input[1]) {
        std::fill_n(slot(d, y), slot_floats_, 0.0f);
      } else if (args_.type == PixelType::float32) {
        load<float>(plane / g.output[0], z, y, slot(d, y));
      } else {
        load<std::uint8_t>(plane / g.output[0], z, y, slot(d, y));
      }
    }
    for (std::ptrdiff_t i = 0; i < g.kernel[1]; ++i) {
      const float* tap = slot(d, y0 + i * g.dilation[1]) + first_channel_;
      for (std::ptrdiff_t j = 0; j < g.kernel[2]; ++j, tap += g.dilation[2] * column_step_) {
        for (std::ptrdiff_t c = 0; c < channels_; ++c) *taps++ = tap + c * channel_step_;
      }
    }
  }
  begin_fetch(plane / g.output[0]);
}

void Ring::begin_fetch(std::ptrdiff_t image) noexcept {
  const ConvGeometry& g = args_.geometry;
  const bool planes = !interleaved_ && g.input_stride[2] == 1 && args_.type == PixelType::float32;
  next_row_ = end_row_ = 0;
  if (!planes || g.kernel[0] != 1 || g.input[0] != 1 || g.pad_begin[0] != 0 || begin_ == end_) return;
  next_row_ = std::clamp<std::ptrdiff_t>(loaded_, 0, g.input[1]);
  end_row_ = std::clamp<std::ptrdiff_t>(loaded_ + g.stride[1], next_row_, g.input[1]);
  next_channel_ = next_float_ = 0;
  fetch_from_ = static_cast<const float*>(args_.input) + image * g.input_batch_stride + (left_ + begin_) * g.input_stride[2];
}

std::size_t Ring::lines() const noexcept {
  constexpr std::ptrdiff_t kPerLine = 16;
  return static_cast<std::size_t>((end_row_ - next_row_) * channels_ * ((end_ - begin_ + kPerLine - 1) / kPerLine));
}

void Ring::fetch(std::size_t lines) noexcept {
  constexpr std::ptrdiff_t kPerLine = 16;
  for (; lines > 0 && next_row_ < end_row_; --lines) {
    __builtin_prefetch(fetch_from_ + next_row_ * args_.geometry.input_stride[1] + next_channel_ * args_.channel_stride +
                       next_float_);
    next_float_ += kPerLine;
    if (next_float_ < end_ - begin_) continue;
    next_float_ = 0;
    if (++next_channel_ < channels_) continue;
    next_channel_ = 0;
    ++next_row_;
  }
}

template <typename T>
void Ring::load(std::ptrdiff_t image, std::ptrdiff_t z, std::ptrdiff_t y, float* to) const noexcept {
  const ConvGeometry& g = args_.geometry;
  const T* row =
      static_cast<const T*>(args_.input) + image * g.input_batch_stride + z * g.input_stride[0] + y * g.input_stride[1];
  const std::ptrdiff_t step = g.input_stride[2], used = end_ - begin_;
  if (used > 0) row += (left_ + begin_) * step;
  if (interleaved_) {
    std::fill_n(to, begin_ * channels_, 0.0f);
    if (used > 0) {
      const T* first = args_.channel_stride < 0 ? row + (channels_ - 1) * args_.channel_stride : row;
      copy_shifted(kernel_, first, static_cast<std::size_t>(used * channels_), shifts_[0], args_.shift != nullptr,
                   to + begin_ * channels_);
    }
    std::fill(to + end_ * channels_, to + slot_floats_, 0.0f);
    return;
  }
  for (std::ptrdiff_t c = 0; c < channels_; ++c, to += columns_, row += args_.channel_stride) {
    std::fill_n(to, begin_, 0.0f);
    if (step == 1) {
      copy_shifted(kernel_, row, static_cast<std::size_t>(used), shifts_[c], args_.shift != nullptr, to + begin_);
    } else if (args_.shift != nullptr) {
      for (std::ptrdiff_t i = 0; i < used; ++i) to[begin_ + i] = static_cast<float>(row[i * step]) + shifts_[c][0];
    } else {
      for (std::ptrdiff_t i = 0; i < used; ++i) to[begin_ + i] = static_cast<float>(row[i * step]);
    }
    std::fill(to + end_, to + columns_, 0.0f);
  }
}

}  // namespace jitney::kernels
