// Depthwise convolution tap by tap: cuts output rows into runs whose taps all lie inside the image.
#include <algorithm>

#include "cpu/kernels/dwconv/dwconv_tiles.h"

namespace jitney::kernels {
namespace {

/// The outputs along the width, from `position` on, that have the same taps inside.
std::ptrdiff_t same_taps(const ConvGeometry& g, const TapRange& taps, std::ptrdiff_t position) noexcept {
  if (taps.first != 0 || taps.count != g.kernel[2]) return 1;
  const std::ptrdiff_t reach = (g.kernel[2] - 1) * g.dilation[2];
  const std::ptrdiff_t last = (g.input[2] - 1 - reach + g.pad_begin[2]) / g.stride[2];
  return std::min(last, g.output[2] - 1) - position + 1;
}

/// Runs with an epilogue that is no clamp: raw sums of a few pixels and channels at a time, then the epilogue on them.
void run_with_epilogue(const DwConvKernel& kernel, const DwRun& whole, const Epilogue& epilogue) noexcept {
  constexpr std::size_t kPixels = 4;
  constexpr std::size_t kChannels = 128;
  alignas(64) float sums[kPixels * kChannels];
  DwRun part = whole;
  part.y = sums;
  part.y_stride = kChannels;
  part.bias = nullptr;
  part.clamp = kNoClamp;
  for (std::size_t p = 0; p < whole.pixels; p += kPixels) {
    const std::ptrdiff_t pixel = static_cast<std::ptrdiff_t>(p);
    part.pixels = std::min(kPixels, whole.pixels - p);
    for (std::size_t c = 0; c < whole.channels; c += kChannels) {
      const std::ptrdiff_t channel = static_cast<std::ptrdiff_t>(c);
      part.channels = std::min(kChannels, whole.channels - c);
      part.x = whole.x + pixel * whole.pixel_step + channel;
      part.w = whole.w + static_cast<std::ptrdiff_t>(c / kernel.lanes) * whole.w_vector_stride;
      kernel.run(part);
      kernel.epilogue(shifted(epilogue, pixel, channel), part.pixels, part.channels, sums, kChannels,
                      whole.y + pixel * whole.y_stride + channel, whole.y_stride);
    }
  }
}

}  // namespace

void run_tile(const DwConvKernel& kernel, const DwConvArgs& args, std::size_t r0, std::size_t r1, std::size_t c0,
              std::size_t c1) noexcept {
  const ConvGeometry& g = args.geometry;
  const std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(kernel.lanes);
  const std::ptrdiff_t channel = static_cast<std::ptrdiff_t>(c0);
  const std::optional<Clamp> clamp = args.epilogue.residual == nullptr ? as_clamp(args.epilogue) : std::nullopt;
  DwRun run;
  run.w_row_stride = g.kernel[2] * lanes;
  run.w_depth_stride = g.kernel[1] * run.w_row_stride;
  run.w_vector_stride = g.kernel[0] * run.w_depth_stride;
  for (std::size_t axis = 0; axis < 3; ++axis) run.tap_stride[axis] = g.dilation[axis] * g.input_stride[axis];
  run.pixel_step = g.stride[2] * g.input_stride[2];
  run.channels = c1 - c0;
  run.y_stride = args.output_stride;
  const float* weights = args.weights + static_cast<std::ptrdiff_t>(c0 / kernel.lanes) * run.w_vector_stride;
  for (std::size_t r = r0; r < r1; ++r) {
    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(r);
    const std::ptrdiff_t image = row / (g.output[0] * g.output[1]);
    const TapRange depth = taps_inside(g, 0, row / g.output[1] % g.output[0]);
    const TapRange height = taps_inside(g, 1, row % g.output[1]);
    for (std::ptrdiff_t position = 0; position < g.output[2];) {
      const TapRange width = taps_inside(g, 2, position);
      const std::ptrdiff_t pixels = same_taps(g, width, position);
      const std::ptrdiff_t pixel = row * g.output[2] + position;
      run.taps[0] = depth.count;
      run.taps[1] = height.count;
      run.taps[2] = width.count;
      run.x = args.input + channel + image * g.input_batch_stride + depth.input * g.input_stride[0] +
              height.input * g.input_stride[1] + width.input * g.input_stride[2];
      run.w = weights + depth.first * run.w_depth_stride + height.first * run.w_row_stride + width.first * lanes;
      run.pixels = static_cast<std::size_t>(pixels);
      run.y = args.output + pixel * args.output_stride + channel;
      if (clamp) {
        run.bias = args.epilogue.bias == nullptr ? nullptr : args.epilogue.bias + channel;
        run.clamp = *clamp;
        kernel.run(run);
      } else {
        run_with_epilogue(kernel, run, shifted(args.epilogue, pixel, channel));
      }
      position += pixels;
    }
  }
}

}  // namespace jitney::kernels
