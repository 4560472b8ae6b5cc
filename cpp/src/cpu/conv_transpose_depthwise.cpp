// Transposed convolution with one filter per channel. Outputs that lie a stride apart read neighbouring inputs through the same
// taps: each such phase of a row is a row of an ordinary depthwise convolution.
#include <algorithm>
#include <numeric>

#include "base/aligned.h"
#include "cpu/conv_way.h"
#include "cpu/kernels/dwconv/dwconv.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

/// Taps first, first + step, … of one axis: those that meet an output at all, from the one that reads the largest input index
/// downwards.
struct Taps {
  std::int64_t first = 0, count = 0;
  std::int64_t input = 0;  // of the first
};

class TransposedDepthwise final : public ConvWay {
 public:
  TransposedDepthwise(const ConvProblem& problem, std::size_t threads)
      : problem_(problem), geometry_(problem.geometry), channels_(problem.groups) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t common = std::gcd(geometry_.stride[axis], geometry_.dilation[axis]);
      tap_step_[axis] = geometry_.stride[axis] / common;
      input_step_[axis] = geometry_.dilation[axis] / common;
    }
    kernel = std::string(kernel_.name) + "_transposed";
    packing = kernel;
    packed_floats = geometry_.taps() * kernels::dwconv_padded(kernel_, channels_);
    sums_ = align_up(static_cast<std::size_t>(geometry_.output[2]) * channels_ * sizeof(float));
    workspace = threads * sums_;
  }

  void pack(const float* source, float* packed) const override {
    kernels::pack_dwconv(kernel_, geometry_.kernel, channels_, source, problem_.channel_stride, problem_.tap_stride, packed);
    // Along the width, the taps of a phase are brought together.
    const auto width = static_cast<std::size_t>(geometry_.kernel[2]), step = static_cast<std::size_t>(tap_step_[2]);
    const std::size_t lanes = kernel_.lanes;
    std::vector<float> row(width * lanes);
    for (float* at = packed; at < packed + packed_floats; at += width * lanes) {
      float* to = row.data();
      for (std::size_t phase = 0; phase < std::min(step, width); ++phase) {
        for (std::size_t k = phase; k < width; k += step) to = std::copy_n(at + k * lanes, lanes, to);
      }
      std::copy(row.begin(), row.end(), at);
    }
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    const std::int64_t rows = geometry_.batch * geometry_.output[0] * geometry_.output[1], width = geometry_.output[2];
    const auto outputs = static_cast<std::ptrdiff_t>(channels_);
    const double taps_met = static_cast<double>(geometry_.taps()) /
                            static_cast<double>(geometry_.stride[0] * geometry_.stride[1] * geometry_.stride[2]);
    const double cost = static_cast<double>(width) * static_cast<double>(channels_) * (taps_met + 1) * 0.06;
    parallel_ranges(run, rows, piece_size(cost), [&](std::int64_t begin, std::int64_t end, std::size_t worker) {
      auto* sums = reinterpret_cast<float*>(conv.workspace + worker * sums_);
      for (std::int64_t row = begin; row < end; ++row) {
        sum_row(conv, row, sums);
        kernel_.epilogue(kernels::shifted(conv.epilogue, row * width, 0), static_cast<std::size_t>(width), channels_, sums,
                         outputs, conv.y + row * width * conv.y_stride, conv.y_stride);
      }
    });
  }

  std::string why() const override {
    return "one filter a channel: each phase of a row as a depthwise convolution, vectorised over " + std::to_string(channels_) +
           " channels";
  }

 private:
  /// The taps that bring inputs to `output`: without those whose input lies outside.
  Taps taps_of(std::size_t axis, std::int64_t output) const {
    const std::int64_t stride = geometry_.stride[axis], dilation = geometry_.dilation[axis];
    const std::int64_t at = output + geometry_.pad_begin[axis], size = geometry_.input[axis];
    Taps taps;
    for (std::int64_t k = 0; k < geometry_.kernel[axis]; k += taps.count == 0 ? 1 : tap_step_[axis]) {
      const std::int64_t from = at - k * dilation;
      if (from < 0) break;
      if (from % stride != 0 || from / stride >= size) continue;
      if (taps.count++ == 0) taps.first = k, taps.input = from / stride;
    }
    return taps;
  }

  void sum_row(const ConvRun& conv, std::int64_t row, float* sums) const {
    const std::int64_t h = row % geometry_.output[1], d = row / geometry_.output[1] % geometry_.output[0];
    const std::int64_t image = row / geometry_.output[1] / geometry_.output[0];
    const Taps depth = taps_of(0, d), height = taps_of(1, h);
    const auto& step = geometry_.input_stride;
    const auto lanes = static_cast<std::ptrdiff_t>(kernel_.lanes);
    const std::ptrdiff_t row_taps = geometry_.kernel[2] * lanes, plane_taps = geometry_.kernel[1] * row_taps;
    const auto outputs = static_cast<std::ptrdiff_t>(channels_);
    kernels::DwRun run;
    run.taps[0] = depth.count;
    run.taps[1] = height.count;
    for (std::size_t axis = 0; axis < 3; ++axis) run.tap_stride[axis] = -input_step_[axis] * step[axis];
    run.pixel_step = step[2];
    run.w_depth_stride = tap_step_[0] * plane_taps;
    run.w_row_stride = tap_step_[1] * row_taps;
    run.w_vector_stride = geometry_.kernel[0] * plane_taps;
    run.channels = channels_;
    run.y_stride = geometry_.stride[2] * outputs;
    const float* x = conv.x + image * geometry_.input_batch_stride + depth.input * step[0] + height.input * step[1];
    const float* weights = conv.weights + depth.first * plane_taps + height.first * row_taps;
    for (std::int64_t phase = 0; phase < std::min(geometry_.stride[2], geometry_.output[2]); ++phase) {
      for (std::int64_t w = phase; w < geometry_.output[2];) {
        const Taps taps = taps_of(2, w);
        const std::int64_t pixels = same_taps(taps, w);
        run.taps[2] = depth.count == 0 || height.count == 0 ? 0 : taps.count;
        run.x = x + taps.input * step[2];
        run.w = weights + packed_place(taps.first) * lanes;
        run.pixels = static_cast<std::size_t>(pixels);
        run.y = sums + w * outputs;
        kernel_.run(run);
        w += pixels * geometry_.stride[2];
      }
    }
  }

  /// How many outputs, a stride apart from `w` on, read through the same taps.
  std::int64_t same_taps(const Taps& taps, std::int64_t w) const {
    const std::int64_t stride = geometry_.stride[2], left = (geometry_.output[2] - 1 - w) / stride + 1;
    // Only where no tap of the phase falls off either end.
    const std::int64_t all = taps.count == 0 ? 0 : (geometry_.kernel[2] - 1 - taps.first) / tap_step_[2] + 1;
    if (taps.count == 0 || taps.first >= tap_step_[2] || taps.count != all) return 1;
    return std::min(left, geometry_.input[2] - taps.input);
  }

  std::int64_t packed_place(std::int64_t tap) const {
    const std::int64_t phase = tap % tap_step_[2], width = geometry_.kernel[2];
    // Before it lie the phases below: each has its share of the whole rounds, and of what is left over.
    return phase * (width / tap_step_[2]) + std::min(phase, width % tap_step_[2]) + tap / tap_step_[2];
  }

  ConvProblem problem_;
  kernels::ConvGeometry geometry_;
  const kernels::DwConvKernel& kernel_ = kernels::dwconv_kernel(active_isa());
  std::size_t channels_;
  kernels::Spatial tap_step_{1, 1, 1};    // between the taps of a phase
  kernels::Spatial input_step_{1, 1, 1};  // between their inputs
  std::size_t sums_ = 0;
};

}  // namespace

std::unique_ptr<ConvWay> transposed_depthwise(const ConvProblem& problem, std::size_t threads) {
  if (problem.channels != 1 || problem.filters != 1 || problem.groups == 1) return nullptr;
  return std::make_unique<TransposedDepthwise>(problem, threads);
}

}  // namespace jitney::cpu
