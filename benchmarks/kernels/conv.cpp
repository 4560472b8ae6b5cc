// Convolutions of real networks: by indirect GEMM, and depthwise.
#include "cpu/kernels/conv/conv.h"

#include <memory>

#include "base/aligned.h"
#include "bench.h"
#include "cpu/kernels/dwconv/dwconv.h"

namespace jitney::bench {
namespace {

using kernels::ConvGeometry;

struct Shape {
  std::ptrdiff_t size, channels, filters, taps, stride;
};
constexpr Shape kConvs[] = {{56, 64, 64, 3, 1},   {28, 128, 128, 3, 1}, {14, 256, 256, 3, 1}, {7, 512, 512, 3, 1},
                            {56, 128, 128, 3, 2}, {28, 256, 256, 3, 2}, {56, 256, 512, 1, 2}};
constexpr Shape kDepthwise[] = {{112, 32, 32, 3, 1},  {112, 96, 96, 3, 2},  {56, 144, 144, 3, 1}, {28, 192, 192, 3, 1},
                                {14, 576, 576, 3, 1}, {14, 240, 240, 5, 1}, {7, 960, 960, 3, 1}};

ConvGeometry geometry(const Shape& s) {
  ConvGeometry g;
  const std::ptrdiff_t pad = s.taps / 2, out = (s.size + 2 * pad - s.taps) / s.stride + 1;
  g.input = {1, s.size, s.size};
  g.output = {1, out, out};
  g.kernel = {1, s.taps, s.taps};
  g.stride = {1, s.stride, s.stride};
  g.pad_begin = {0, pad, pad};
  g.input_stride = {s.size * s.size * s.channels, s.size * s.channels, s.channels};
  g.input_batch_stride = g.input_stride[0];
  return g;
}

std::string name(const Shape& s) {
  return std::to_string(s.size) + "x" + std::to_string(s.size) + "x" + std::to_string(s.channels) + "->" +
         std::to_string(s.filters) + " k" + std::to_string(s.taps) + " s" + std::to_string(s.stride);
}

/// Everything but what differs from family to family.
struct Data {
  std::vector<float> x, y, w, bias, zeros;
  AlignedBuffer packed, scratch;
  std::size_t turn = 0;

  Data(const Shape& s, const ConvGeometry& g)
      : x(random_floats(static_cast<std::size_t>(s.size * s.size * s.channels))),
        y(g.pixels() * static_cast<std::size_t>(s.filters)),
        bias(random_floats(static_cast<std::size_t>(s.filters))),
        zeros(static_cast<std::size_t>(s.channels)) {}
};

void add(std::vector<Case>& cases, const kernels::ConvKernel& kernel, const Shape& s) {
  const ConvGeometry g = geometry(s);
  const auto channels = static_cast<std::size_t>(s.channels), filters = static_cast<std::size_t>(s.filters);
  const std::size_t floats = kernels::packed_conv_size(kernel, g.taps(), channels, filters);
  Case c;
  c.family = "conv";
  c.kernel = kernel.name;
  c.isa = kernel.gemm->isa;
  c.shape = name(s);
  c.flops = 2.0 * static_cast<double>(g.pixels() * g.taps() * channels * filters);
  c.bytes = 4.0 * static_cast<double>(static_cast<std::size_t>(s.size * s.size) * channels + g.pixels() * filters + floats);
  c.weight_bytes = floats * sizeof(float);
  c.prepare = [=, &kernel](std::size_t copies) -> std::function<void()> {
    auto data = std::make_shared<Data>(s, g);
    data->packed = make_aligned(copies * floats * sizeof(float));
    auto* packed = reinterpret_cast<float*>(data->packed.get());
    const auto taps = static_cast<std::ptrdiff_t>(g.taps());
    const std::vector<float> w = random_floats(g.taps() * channels * filters);
    for (std::size_t i = 0; i < copies; ++i)
      kernels::pack_conv(kernel, g.kernel, channels, filters, {w.data(), s.channels * taps, taps, {0, s.taps, 1}},
                         packed + i * floats);
    const kernels::TileGrid grid = kernels::conv_tiles(kernel, g, channels, filters, 1);
    data->scratch = make_aligned(kernels::conv_scratch(kernel, g, channels, grid));
    return [=, &kernel] {
      kernels::ConvArgs args{
          g, channels, filters, data->x.data(), data->zeros.data(), packed + data->turn * floats, data->y.data(), s.filters, {}};
      data->turn = (data->turn + 1) % copies;
      args.epilogue.bias = data->bias.data();
      args.epilogue.activation = kernels::Activation::relu;
      for (std::size_t i = 0; i < grid.count(); ++i) {
        const auto t = grid.tile(i);
        kernels::conv_tile(kernel, args, t.row, t.row_end, t.column, t.column_end, data->scratch.get());
      }
    };
  };
  cases.push_back(std::move(c));
}

void add(std::vector<Case>& cases, const kernels::DwConvKernel& kernel, const Shape& s) {
  const ConvGeometry g = geometry(s);
  const auto channels = static_cast<std::size_t>(s.channels);
  Case c;
  c.family = "dwconv";
  c.kernel = kernel.name;
  c.isa = kernel.isa;
  c.shape = name(s);
  c.flops = 2.0 * static_cast<double>(g.pixels() * g.taps() * channels);
  c.bytes = 4.0 * static_cast<double>((static_cast<std::size_t>(s.size * s.size) + g.pixels()) * channels);
  c.prepare = [=, &kernel](std::size_t) -> std::function<void()> {
    auto data = std::make_shared<Data>(s, g);
    data->packed = make_aligned(g.taps() * kernels::dwconv_padded(kernel, channels) * sizeof(float));
    auto* packed = reinterpret_cast<float*>(data->packed.get());
    const std::vector<float> w = random_floats(g.taps() * channels);
    kernels::pack_dwconv(kernel, g.kernel, channels, w.data(), static_cast<std::ptrdiff_t>(g.taps()), {0, s.taps, 1}, packed);
    const kernels::TileGrid grid = kernels::dwconv_tiles(kernel, g, channels, 1);
    return [=, &kernel] {
      kernels::DwConvArgs args{g, channels, data->x.data(), packed, data->y.data(), s.channels, {}};
      args.epilogue.bias = data->bias.data();
      args.epilogue.activation = kernels::Activation::relu;
      for (std::size_t i = 0; i < grid.count(); ++i) {
        const auto t = grid.tile(i);
        kernels::dwconv_tile(kernel, args, t.row, t.row_end, t.column, t.column_end);
      }
    };
  };
  cases.push_back(std::move(c));
}

}  // namespace

void add_conv(std::vector<Case>& cases) {
  for (const kernels::ConvKernel& kernel : kernels::conv_kernels()) {
    for (const Shape& s : kConvs) add(cases, kernel, s);
  }
}

void add_dwconv(std::vector<Case>& cases) {
  for (const kernels::DwConvKernel* kernel : kernels::dwconv_kernels()) {
    for (const Shape& s : kDepthwise) add(cases, *kernel, s);
  }
}

}  // namespace jitney::bench
