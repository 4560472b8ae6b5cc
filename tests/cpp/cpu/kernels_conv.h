// A convolution problem with strides, groups' gaps and padding, and its plain reference in double.
#pragma once

#include <algorithm>

#include "cpu/kernels/conv/conv.h"
#include "cpu/kernels_random.h"

namespace jitney::kernels {

/// Sizes of one case; pads are both begin and end.
struct ConvCase {
  std::ptrdiff_t batch = 1;
  Spatial input{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial stride{1, 1, 1};
  Spatial dilation{1, 1, 1};
  Spatial pad{0, 0, 0};
  std::size_t channels = 1;
  std::size_t filters = 1;  // per group
  std::size_t gap = 0;      // floats between the channels of two pixels, on either side
};

/// Input [batch, spatial, channels + gap], weights [filters, channels, taps], output [pixels, filters + gap]. For a depthwise
/// problem `filters` is ignored: weights are [channels, taps], output [pixels, channels + gap].
struct ConvProblem {
  ConvGeometry geometry;
  std::size_t channels, filters, gap;
  bool depthwise;
  std::vector<float> input, weights, bias, slope, residual, output, zeros;
  Epilogue epilogue;

  ConvProblem(const ConvCase& c, bool one_filter_per_channel, std::uint32_t seed = 1)
      : channels(c.channels),
        filters(one_filter_per_channel ? c.channels : c.filters),
        gap(c.gap),
        depthwise(one_filter_per_channel) {
    ConvGeometry& g = geometry;
    g.batch = c.batch;
    g.input = c.input;
    g.kernel = c.kernel;
    g.stride = c.stride;
    g.dilation = c.dilation;
    g.pad_begin = c.pad;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::ptrdiff_t reach = (c.kernel[i] - 1) * c.dilation[i] + 1;
      g.output[i] = std::max<std::ptrdiff_t>(0, (c.input[i] + 2 * c.pad[i] - reach) / c.stride[i] + 1);
    }
    g.input_stride[2] = static_cast<std::ptrdiff_t>(channels + gap);
    g.input_stride[1] = g.input_stride[2] * c.input[2];
    g.input_stride[0] = g.input_stride[1] * c.input[1];
    g.input_batch_stride = g.input_stride[0] * c.input[0];
    input = random_floats(static_cast<std::size_t>(g.input_batch_stride * c.batch), seed);
    weights = random_floats(filters * (depthwise ? 1 : channels) * g.taps(), seed + 1);
    bias = random_floats(filters, seed + 2);
    slope = random_floats(filters, seed + 3);
    residual = random_floats(g.pixels() * filters, seed + 4);
    output.assign(g.pixels() * (filters + gap), kNan);
    zeros.assign(channels, 0.0f);
  }

  std::ptrdiff_t output_stride() const { return static_cast<std::ptrdiff_t>(filters + gap); }
  Spatial tap_stride() const { return {geometry.kernel[1] * geometry.kernel[2], geometry.kernel[2], 1}; }
  void use_residual(bool after) {
    epilogue.residual = residual.data();
    epilogue.residual_stride = static_cast<std::ptrdiff_t>(filters);
    epilogue.residual_after = after;
  }

  Sum sum(std::size_t pixel, std::size_t filter) const {
    const ConvGeometry& g = geometry;
    std::ptrdiff_t rest = static_cast<std::ptrdiff_t>(pixel);
    Spatial out;
    for (std::size_t i = 3; i-- > 0; rest /= g.output[i]) out[i] = rest % g.output[i];
    Sum result;
    for (std::ptrdiff_t tap = 0; tap < static_cast<std::ptrdiff_t>(g.taps()); ++tap) {
      const Spatial k{tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
      std::ptrdiff_t at = rest * g.input_batch_stride;
      bool inside = true;
      for (std::size_t i = 0; i < 3; ++i) {
        const std::ptrdiff_t position = out[i] * g.stride[i] - g.pad_begin[i] + k[i] * g.dilation[i];
        inside = inside && position >= 0 && position < g.input[i];
        at += position * g.input_stride[i];
      }
      if (!inside) continue;
      const std::ptrdiff_t taps = static_cast<std::ptrdiff_t>(g.taps());
      if (depthwise) {
        const std::ptrdiff_t c = static_cast<std::ptrdiff_t>(filter);
        result.add(input[static_cast<std::size_t>(at + c)], weights[static_cast<std::size_t>(c * taps + tap)]);
        continue;
      }
      for (std::size_t c = 0; c < channels; ++c) {
        result.add(input[static_cast<std::size_t>(at) + c],
                   weights[(filter * channels + c) * static_cast<std::size_t>(taps) + static_cast<std::size_t>(tap)]);
      }
    }
    return result;
  }

  std::size_t wrong() const {
    std::size_t count = 0;
    const std::size_t stride = filters + gap;
    for (std::size_t p = 0; p < geometry.pixels(); ++p) {
      for (std::size_t f = 0; f < filters; ++f) {
        const Expected expected = epilogue_reference(epilogue, sum(p, f), p, f);
        const double given = output[p * stride + f];
        count += !(std::abs(given - expected.value) <= expected.bound);
      }
      for (std::size_t f = filters; f < stride; ++f) count += !std::isnan(output[p * stride + f]);
    }
    return count;
  }
};

/// One to three axes, odd sizes, every stride, dilation and padding that matters; depth multiplies the number of channels.
inline std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> cases = {
      {1, {1, 1, 9}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, 5, 9, 0},      // 1-D
      {2, {3, 4, 5}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0}, 3, 5, 2},      // 3-D
      {1, {1, 7, 7}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, 19, 33, 0},    // 1×1, stride 2
      {2, {1, 6, 11}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 3, 16, 0},    // first layer
      {1, {1, 9, 13}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, 3, 17, 0},    // first layer of ResNet
      {1, {1, 12, 9}, {1, 5, 5}, {1, 2, 1}, {1, 1, 1}, {0, 2, 2}, 1, 8, 0},     // one channel
      {1, {1, 10, 10}, {1, 3, 3}, {1, 1, 1}, {1, 2, 3}, {0, 2, 3}, 20, 16, 1},  // dilated
      {3, {1, 2, 2}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 40, 24, 4},    // kernel larger than the image
      {1, {1, 3, 3}, {1, 2, 2}, {1, 3, 3}, {1, 1, 1}, {0, 3, 3}, 4, 4, 0},      // pixels that see padding only
      {1, {1, 5, 6}, {1, 2, 3}, {1, 1, 1}, {1, 1, 1}, {0, -1, -1}, 6, 7, 3},    // negative padding
      {1, {1, 8, 21}, {1, 3, 5}, {1, 1, 2}, {1, 1, 1}, {0, 1, 2}, 37, 3, 0},
      {1, {1, 5, 30}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, 9, 3, 5},
      {1, {1, 4, 40}, {1, 1, 4}, {1, 1, 3}, {1, 1, 1}, {0, 0, 2}, 50, 20, 0},
      {1, {1, 4, 17}, {1, 3, 3}, {1, 1, 3}, {1, 1, 1}, {0, 1, 1}, 12, 20, 0},
      {0, {1, 4, 4}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 3, 3, 0},  // empty batch
      {1, {1, 0, 4}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 2, 1}, 3, 3, 0},  // empty image, padding only
      {1, {1, 4, 4}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 3, 0, 0},  // no filters
      {1, {1, 4, 4}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 0, 3, 0},  // no channels
  };
  return cases;
}

}  // namespace jitney::kernels
