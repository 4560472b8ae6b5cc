// Chains of convolutions give the same bits as their links one by one, whatever the bands.
#include "cpu/conv_chain.h"

#include "cpu/kernels_random.h"
#include "doctest/doctest.h"

using namespace jitney;
using namespace jitney::kernels;

namespace {

struct ChainCase {
  std::ptrdiff_t height, width;
  std::size_t channels, expanded;
  std::ptrdiff_t kernel, stride, pad, dilation;
  Activation activation;
  std::ptrdiff_t row_gap;  // floats after each row of the input
};

const ChainCase kCases[] = {
    {9, 14, 8, 40, 3, 1, 1, 1, Activation::relu, 0},    {12, 11, 5, 33, 3, 2, 1, 1, Activation::none, 7},
    {7, 70, 24, 64, 5, 1, 2, 1, Activation::silu, 0},   {14, 9, 16, 17, 5, 2, 2, 1, Activation::hard_swish, 0},
    {11, 13, 6, 256, 7, 1, 3, 1, Activation::relu, 16}, {20, 20, 9, 24, 3, 1, 2, 2, Activation::none, 0},
    {3, 5, 7, 20, 3, 1, 0, 1, Activation::gelu, 0},     {2, 2, 12, 16, 5, 1, 2, 1, Activation::relu, 0},
    {1, 40, 5, 18, 3, 1, 1, 1, Activation::sigmoid, 0}, {8, 8, 10, 31, 3, 2, 3, 1, Activation::relu, 0},
};

}  // namespace

TEST_CASE("conv chain: the same bits as one by one") {
  const GemmKernel& gemm = gemm_kernel(active_isa());
  const DwConvKernel& depthwise = dwconv_kernel(active_isa());
  for (const ChainCase& c : kCases) {
    constexpr std::ptrdiff_t kImages = 2;
    const auto channels = static_cast<std::ptrdiff_t>(c.channels), expanded = static_cast<std::ptrdiff_t>(c.expanded);
    cpu::ChainLink links[2];
    ConvGeometry& g = links[0].geometry;
    g.input = g.output = {1, c.height, c.width};
    g.input_stride = {0, c.width * channels + c.row_gap, channels};
    g.input_batch_stride = g.input_stride[1] * c.height;
    links[0].channels = c.channels;
    links[0].filters = c.expanded;
    ConvGeometry& d = links[1].geometry;
    d.input = g.output;
    d.kernel = {1, c.kernel, c.kernel};
    d.stride = {1, c.stride, c.stride};
    d.dilation = {1, c.dilation, c.dilation};
    d.pad_begin = {0, c.pad, c.pad};
    for (std::size_t axis : {1, 2}) d.output[axis] = (d.input[axis] + 2 * c.pad - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
    d.input_stride = {0, c.width * expanded, expanded};
    links[1].depthwise = true;
    links[1].channels = links[1].filters = c.expanded;

    const auto x = random_floats(static_cast<std::size_t>(kImages * g.input_batch_stride), 1);
    const auto w = random_floats(c.channels * c.expanded, 2);
    const auto taps = random_floats(c.expanded * d.taps(), 3);
    const auto bias = random_floats(c.expanded, 4);
    std::vector<float> b(packed_b_size(gemm, c.channels, c.expanded)), packed(d.taps() * dwconv_padded(depthwise, c.expanded));
    pack_b(gemm, c.channels, c.expanded, w.data(), expanded, 1, b.data());
    pack_dwconv(depthwise, d.kernel, c.expanded, taps.data(), static_cast<std::ptrdiff_t>(d.taps()), {0, c.kernel, 1},
                packed.data());
    cpu::ConvChain::Run run;
    for (Epilogue& epilogue : run.epilogues) {
      epilogue.activation = c.activation;
      epilogue.bias = bias.data();
    }

    const std::ptrdiff_t pixels = d.output[1] * d.output[2];
    std::vector<float> middle(static_cast<std::size_t>(c.height * c.width) * c.expanded);
    std::vector<float> expected(static_cast<std::size_t>(kImages * pixels) * c.expanded);
    for (std::ptrdiff_t image = 0; image < kImages; ++image) {
      for (std::ptrdiff_t row = 0; row < c.height; ++row) {
        const GemmArgs args{static_cast<std::size_t>(c.width),
                            c.expanded,
                            c.channels,
                            x.data() + image * g.input_batch_stride + row * g.input_stride[1],
                            channels,
                            b.data(),
                            middle.data() + row * c.width * expanded,
                            expanded,
                            run.epilogues[0]};
        gemm_tile(gemm, args, 0, args.m, 0, args.n);
      }
      const DwConvArgs args{d,        c.expanded,      middle.data(),
                            nullptr,  packed.data(),   expected.data() + image * pixels * expanded,
                            expanded, run.epilogues[1]};
      dwconv_tile(depthwise, args, 0, static_cast<std::size_t>(d.output[1]), 0, c.expanded);
    }

    const cpu::ConvChain chain(links, 2);
    for (const std::ptrdiff_t band : {std::ptrdiff_t{1}, std::ptrdiff_t{3}, std::ptrdiff_t{4}, d.output[1]}) {
      std::vector<float> scratch(chain.scratch() / sizeof(float) + 16, kNan);
      std::vector<float> y(expected.size(), kNan);
      auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
      run.x = x.data();
      run.y = y.data();
      run.y_stride = expanded;
      run.weights = {b.data(), packed.data()};
      for (std::ptrdiff_t image = 0; image < kImages; ++image) {
        for (std::ptrdiff_t row = 0; row < d.output[1]; row += band)
          chain.run(run, image, row, std::min(d.output[1], row + band), aligned);
      }
      CHECK(std::equal(y.begin(), y.end(), expected.begin(), same_bits));
    }
  }
}
