// Depthwise convolution by sliding along rows: pairs output rows, finds their rows of taps, and cuts rows for epilogues.
#include <algorithm>

#include "cpu/kernels/dwconv/dwconv_tiles.h"

namespace jitney::kernels {
namespace {

constexpr std::ptrdiff_t kMostTapRows = 16;
constexpr std::ptrdiff_t kMostRows = 2;
// A line of the cache holds several vectors of channels, which the kernel takes one after another: so many columns stay cached.
constexpr std::ptrdiff_t kPart = 64;

/// Slides along the outputs [first, last) of each phase: those `dilation` columns apart see the same columns.
void slide_part(const DwConvKernel& kernel, const ConvGeometry& g, DwSlide run, std::ptrdiff_t first, std::ptrdiff_t last,
                const float* const* rows, std::ptrdiff_t row_pointers) noexcept {
  const std::ptrdiff_t phases = g.dilation[2];
  if (phases == 1) {
    run.first = first * g.stride[2] - g.pad_begin[2];
    run.outputs = static_cast<std::size_t>(last - first);
    kernel.slide(run);
    return;
  }
  // Columns that are equal modulo the dilation are an image of their own.
  const float* shifted_rows[kMostRows * kMostTapRows];
  const std::ptrdiff_t pixel = run.pixel, y_stride = run.y_stride;
  float* const y = run.y;
  run.rows = shifted_rows;
  run.pixel = pixel * phases;
  run.y_stride = y_stride * phases;
  for (std::ptrdiff_t phase = 0; phase < std::min(phases, last - first); ++phase) {
    const std::ptrdiff_t start = first + phase - g.pad_begin[2];
    const std::ptrdiff_t remainder = (start % phases + phases) % phases;
    for (std::ptrdiff_t i = 0; i < row_pointers; ++i) shifted_rows[i] = rows[i] + remainder * pixel;
    run.first = (start - remainder) / phases;
    run.width = g.input[2] <= remainder ? 0 : (g.input[2] - remainder + phases - 1) / phases;
    run.outputs = static_cast<std::size_t>((last - first - phase + phases - 1) / phases);
    run.y = y + phase * y_stride;
    kernel.slide(run);
  }
}

/// Raw sums of a part of the rows, then the epilogue on them. The output may be the residual, so that sums need a place of their
/// own.
void slide_with_epilogue(const DwConvKernel& kernel, const ConvGeometry& g, const DwSlide& whole, const Epilogue& epilogue,
                         const float* const* rows, std::ptrdiff_t row_pointers) noexcept {
  constexpr std::ptrdiff_t kPixels = 32;
  constexpr std::size_t kChannels = 32;
  alignas(64) float sums[kMostRows * kPixels * static_cast<std::ptrdiff_t>(kChannels)];
  const float* channel_rows[kMostRows * kMostTapRows];
  DwSlide run = whole;
  run.rows = channel_rows;
  run.y = sums;
  run.y_stride = kChannels;
  run.y_row_stride = kPixels * static_cast<std::ptrdiff_t>(kChannels);
  run.bias = nullptr;
  run.clamp = kNoClamp;
  for (std::size_t c = 0; c < whole.channels; c += kChannels) {
    const std::ptrdiff_t channel = static_cast<std::ptrdiff_t>(c);
    run.channels = std::min(kChannels, whole.channels - c);
    run.w = whole.w + static_cast<std::ptrdiff_t>(c / kernel.lanes) * whole.w_vector_stride;
    for (std::ptrdiff_t i = 0; i < row_pointers; ++i) channel_rows[i] = rows[i] + channel;
    for (std::ptrdiff_t first = 0; first < g.output[2]; first += kPixels) {
      const std::ptrdiff_t last = std::min(first + kPixels, g.output[2]);
      slide_part(kernel, g, run, first, last, channel_rows, row_pointers);
      for (std::ptrdiff_t r = 0; r < static_cast<std::ptrdiff_t>(whole.row_count); ++r) {
        kernel.epilogue(shifted(epilogue, r * g.output[2] + first, channel), static_cast<std::size_t>(last - first), run.channels,
                        sums + r * run.y_row_stride, run.y_stride,
                        whole.y + r * whole.y_row_stride + first * whole.y_stride + channel, whole.y_stride);
      }
    }
  }
}

}  // namespace

bool dwconv_slides(const ConvGeometry& g) noexcept {
  const bool width = g.kernel[2] == 3 || g.kernel[2] == 5 || g.kernel[2] == 7;
  const bool step = g.stride[2] == 1 || (g.stride[2] == 2 && g.dilation[2] == 1 && g.kernel[2] != 7);
  return width && step && g.kernel[0] == 1 && g.kernel[1] <= kMostTapRows;
}

void slide_tile(const DwConvKernel& kernel, const DwConvArgs& args, std::size_t r0, std::size_t r1, std::size_t c0,
                std::size_t c1) noexcept {
  const ConvGeometry& g = args.geometry;
  const std::ptrdiff_t lanes = static_cast<std::ptrdiff_t>(kernel.lanes);
  const std::ptrdiff_t channel = static_cast<std::ptrdiff_t>(c0);
  const std::optional<Clamp> clamp = args.epilogue.residual == nullptr ? as_clamp(args.epilogue) : std::nullopt;
  const float* rows[kMostRows * kMostTapRows];
  DwSlide run;
  run.columns = static_cast<std::size_t>(g.kernel[2]);
  run.step = static_cast<std::size_t>(g.stride[2]);
  run.rows = rows;
  run.pixel = g.input_stride[2];
  run.width = g.input[2];
  run.w_vector_stride = g.kernel[1] * g.kernel[2] * lanes;
  run.channels = c1 - c0;
  run.y_stride = args.output_stride;
  run.y_row_stride = g.output[2] * args.output_stride;
  if (clamp) {
    run.bias = args.epilogue.bias == nullptr ? nullptr : args.epilogue.bias + channel;
    run.clamp = *clamp;
  }
  const float* weights = args.weights + static_cast<std::ptrdiff_t>(c0 / kernel.lanes) * run.w_vector_stride;
  const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(r1);
  for (std::ptrdiff_t r = static_cast<std::ptrdiff_t>(r0); r < end;) {
    const std::ptrdiff_t row = r % g.output[1];
    const TapRange depth = taps_inside(g, 0, r / g.output[1] % g.output[0]);
    TapRange taps = taps_inside(g, 1, row);
    if (depth.count == 0) taps.count = 0;
    // Two rows share inputs and weights if all their taps lie inside the image.
    const bool two =
        r + 1 < end && row + 1 < g.output[1] && taps.count == g.kernel[1] && taps_inside(g, 1, row + 1).count == g.kernel[1];
    run.row_count = two ? 2 : 1;
    run.taps = static_cast<std::size_t>(taps.count);
    // Output rows may share their rows of taps; the kernels know the usual case.
    const bool shared = g.dilation[1] == 1 && g.stride[1] == g.stride[2] && g.stride[1] <= g.kernel[1];
    const std::ptrdiff_t jump = shared ? g.stride[1] : g.kernel[1];
    run.jump = static_cast<std::size_t>(jump);
    const std::ptrdiff_t image = r / (g.output[0] * g.output[1]);
    const auto row_at = [&](std::ptrdiff_t offset) {
      const std::ptrdiff_t h = taps.input + offset;
      if (args.input_rows != nullptr) return args.input_rows[h] + channel;
      return args.input + channel + image * g.input_batch_stride + depth.input * g.input_stride[0] + h * g.input_stride[1];
    };
    for (std::ptrdiff_t i = 0; i < taps.count; ++i) {
      rows[i] = row_at(i * g.dilation[1]);
      if (two) rows[jump + i] = row_at(g.stride[1] + i * g.dilation[1]);
    }
    const std::ptrdiff_t row_pointers = two ? jump + taps.count : taps.count;
    run.w = weights + taps.first * g.kernel[2] * lanes;
    const std::ptrdiff_t pixel = r * g.output[2];
    if (clamp) {
      for (std::ptrdiff_t first = 0; first < g.output[2]; first += kPart) {
        run.y = args.output + (pixel + first) * args.output_stride + channel;
        slide_part(kernel, g, run, first, std::min(first + kPart, g.output[2]), rows, row_pointers);
      }
    } else {
      run.y = args.output + pixel * args.output_stride + channel;
      slide_with_epilogue(kernel, g, run, shifted(args.epilogue, pixel, channel), rows, row_pointers);
    }
    r += two ? 2 : 1;
  }
}

}  // namespace jitney::kernels
