// Builds the pointer table of a convolution.
#include "cpu/kernels/conv/indirection.h"

#include <algorithm>

namespace jitney::kernels {
namespace {

// Longer runs gain nothing over one pointer per tap.
constexpr std::size_t kLongestMergedRun = 64;

/// Output coordinates that advance pixel by pixel.
struct Pixel {
  std::ptrdiff_t image, depth, height, width;

  Pixel(const ConvGeometry& g, std::size_t index) noexcept {
    const std::ptrdiff_t p = static_cast<std::ptrdiff_t>(index);
    width = p % g.output[2];
    height = p / g.output[2] % g.output[1];
    depth = p / (g.output[2] * g.output[1]) % g.output[0];
    image = p / (g.output[2] * g.output[1] * g.output[0]);
  }
  void advance(const ConvGeometry& g) noexcept {
    if (++width < g.output[2]) return;
    width = 0;
    if (++height < g.output[1]) return;
    height = 0;
    if (++depth < g.output[0]) return;
    depth = 0;
    ++image;
  }
};

bool inside(std::ptrdiff_t i, std::ptrdiff_t size) noexcept {
  return static_cast<std::size_t>(i) < static_cast<std::size_t>(size);
}

/// Calls emit(row, w0) for each (depth, height) tap; row is the start of the input row, null if it lies outside.
template <typename Emit>
void for_each_row(const ConvGeometry& g, const float* input, const Pixel& p, Emit emit) noexcept {
  const float* image = input + p.image * g.input_batch_stride;
  const std::ptrdiff_t d0 = p.depth * g.stride[0] - g.pad_begin[0];
  const std::ptrdiff_t h0 = p.height * g.stride[1] - g.pad_begin[1];
  const std::ptrdiff_t w0 = p.width * g.stride[2] - g.pad_begin[2];
  for (std::ptrdiff_t i = 0; i < g.kernel[0]; ++i) {
    const std::ptrdiff_t d = d0 + i * g.dilation[0];
    for (std::ptrdiff_t j = 0; j < g.kernel[1]; ++j) {
      const std::ptrdiff_t h = h0 + j * g.dilation[1];
      const bool valid = inside(d, g.input[0]) && inside(h, g.input[1]);
      emit(valid ? image + d * g.input_stride[0] + h * g.input_stride[1] : nullptr, w0);
    }
  }
}

void fill_single(const ConvGeometry& g, const float* input, const float* zeros, const Pixel& p, const float** entry,
                 std::size_t mr) noexcept {
  for_each_row(g, input, p, [&](const float* row, std::ptrdiff_t w) {
    for (std::ptrdiff_t i = 0; i < g.kernel[2]; ++i, w += g.dilation[2], entry += mr) {
      *entry = row != nullptr && inside(w, g.input[2]) ? row + w * g.input_stride[2] : zeros;
    }
  });
}

/// Runs that leave the image are copied to `spare`, with zeros outside; returns the first float of it that is still free.
float* fill_merged(const ConvGeometry& g, std::size_t channels, const float* input, const float* zeros, const Pixel& p,
                   const float** entry, std::size_t mr, float* spare) noexcept {
  for_each_row(g, input, p, [&](const float* row, std::ptrdiff_t w) {
    const float*& target = *entry;
    entry += mr;
    const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(-w, 0, g.kernel[2]);
    const std::ptrdiff_t last = std::clamp<std::ptrdiff_t>(g.input[2] - w, 0, g.kernel[2]);
    if (row == nullptr || first >= last) {
      target = zeros;
      return;
    }
    const std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(channels);
    if (first == 0 && last == g.kernel[2]) {
      target = row + w * depth;
      return;
    }
    target = spare;
    spare = std::fill_n(spare, first * depth, 0.0f);
    spare = std::copy_n(row + (w + first) * depth, (last - first) * depth, spare);
    spare = std::fill_n(spare, (g.kernel[2] - last) * depth, 0.0f);
  });
  return spare;
}

}  // namespace

TapRuns tap_runs(const ConvGeometry& g, std::size_t channels) noexcept {
  const std::size_t width = static_cast<std::size_t>(g.kernel[2]);
  if (width > 1 && g.dilation[2] == 1 && g.input_stride[2] == static_cast<std::ptrdiff_t>(channels) &&
      width * channels <= kLongestMergedRun) {
    return {g.taps() / width, width * channels, true};
  }
  return {g.taps(), channels, false};
}

std::size_t indirection_bytes(const TapRuns& taps, std::size_t pixels, std::size_t mr) noexcept {
  const std::size_t entries = RowGroups(pixels, mr).count * mr * taps.runs;
  const std::size_t spare = taps.merged ? (pixels * taps.runs + 1) * taps.length : 0;
  return entries * sizeof(const float*) + spare * sizeof(float);
}

const float* const* fill_indirection(const ConvGeometry& g, const TapRuns& taps, std::size_t channels, const float* input,
                                     const float* zeros, std::size_t p0, std::size_t p1, std::size_t mr, void* scratch) noexcept {
  const RowGroups groups(p1 - p0, mr);
  const float** table = static_cast<const float**>(scratch);
  float* spare = reinterpret_cast<float*>(table + groups.count * mr * taps.runs);
  if (taps.merged) {
    zeros = spare;
    spare = std::fill_n(spare, taps.length, 0.0f);
  }
  Pixel pixel(g, p0);
  const float** group = table;
  for (std::size_t i = 0; i < groups.count; ++i) {
    const std::size_t used = groups.height(i);
    for (std::size_t slot = 0; slot < used; ++slot, pixel.advance(g)) {
      if (taps.merged) {
        spare = fill_merged(g, channels, input, zeros, pixel, group + slot, mr, spare);
      } else {
        fill_single(g, input, zeros, pixel, group + slot, mr);
      }
    }
    for (std::size_t run = 0; run < taps.runs; ++run, group += mr) std::fill(group + used, group + mr, group[used - 1]);
  }
  return table;
}

}  // namespace jitney::kernels
