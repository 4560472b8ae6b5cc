// Every first-layer kernel against a plain convolution in double: planar, interleaved and odd strides, floats and bytes.
#include "cpu/kernels/firstconv/firstconv.h"

#include "cpu/kernels_conv.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

template <typename Body>
void for_each_kernel(Body body) {
  for (const FirstConvKernel* kernel : firstconv_kernels()) {
    if (!runnable(kernel->isa)) continue;
    CAPTURE(kernel->name);
    body(*kernel);
  }
}

/// How the image lies: the order of axes from outermost to innermost, and what is reversed or gapped.
enum class Lie { planar, interleaved, interleaved_backwards, planar_backwards, gapped, upside_down };
constexpr Lie kLies[] = {Lie::planar,           Lie::interleaved, Lie::interleaved_backwards,
                         Lie::planar_backwards, Lie::gapped,      Lie::upside_down};

/// The image of a problem, which is interleaved and dense there, laid otherwise; elsewhere NaN (255 for bytes).
template <typename T>
struct Image {
  std::vector<T> memory;
  std::size_t origin = 0;
  FirstConvArgs args;

  Image(const ConvProblem& p, Lie lie, T outside) {
    const ConvGeometry& g = p.geometry;
    const auto channels = static_cast<std::ptrdiff_t>(p.channels);
    args.geometry = g;
    args.channels = p.channels;
    args.filters = p.filters;
    Spatial& stride = args.geometry.input_stride;
    std::ptrdiff_t& channel = args.channel_stride;
    std::ptrdiff_t& batch = args.geometry.input_batch_stride;
    const bool planar = lie == Lie::planar || lie == Lie::planar_backwards;
    const std::ptrdiff_t gap = lie == Lie::gapped ? 3 : 0;
    stride[2] = planar ? 1 : channels + gap;
    stride[1] = stride[2] * g.input[2] + gap;
    stride[0] = stride[1] * g.input[1];
    channel = planar ? stride[0] * g.input[0] : 1;
    batch = planar ? channel * channels : stride[0] * g.input[0];
    memory.assign(static_cast<std::size_t>(batch * g.batch), outside);
    const auto turn = [&](std::ptrdiff_t& step, std::ptrdiff_t size) {
      if (size > 0) origin += static_cast<std::size_t>(step * (size - 1));
      step = -step;
    };
    if (lie == Lie::interleaved_backwards || lie == Lie::planar_backwards) turn(channel, channels);
    if (lie == Lie::upside_down) turn(stride[1], g.input[1]);
    args.type = sizeof(T) == 1 ? PixelType::uint8 : PixelType::float32;
    args.input = memory.data() + origin;
  }

  T& at(std::ptrdiff_t n, std::ptrdiff_t c, std::ptrdiff_t z, std::ptrdiff_t y, std::ptrdiff_t x) {
    const ConvGeometry& g = args.geometry;
    return memory[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(origin) + n * g.input_batch_stride +
                                           c * args.channel_stride + z * g.input_stride[0] + y * g.input_stride[1] +
                                           x * g.input_stride[2])];
  }

  /// body(element here, element of the problem)
  template <typename Body>
  void for_each_element(ConvProblem& p, Body body) {
    const ConvGeometry& g = p.geometry;
    float* next = p.input.data();
    for (std::ptrdiff_t n = 0; n < g.batch; ++n) {
      for (std::ptrdiff_t z = 0; z < g.input[0]; ++z) {
        for (std::ptrdiff_t y = 0; y < g.input[1]; ++y) {
          for (std::ptrdiff_t x = 0; x < g.input[2]; ++x) {
            for (std::ptrdiff_t c = 0; c < static_cast<std::ptrdiff_t>(p.channels); ++c) body(at(n, c, z, y, x), *next++, c);
          }
        }
      }
    }
  }
};

void run(const FirstConvKernel& kernel, FirstConvArgs args, ConvProblem& p, const TileGrid& grid) {
  const std::ptrdiff_t taps = static_cast<std::ptrdiff_t>(p.geometry.taps());
  std::vector<float> packed(packed_firstconv_size(kernel, p.geometry.taps(), p.channels, p.filters), kNan);
  pack_firstconv(kernel, p.geometry.kernel, p.channels, p.filters,
                 {p.weights.data(), static_cast<std::ptrdiff_t>(p.channels) * taps, taps, p.tap_stride()}, packed.data());
  args.weights = packed.data();
  args.output = p.output.data();
  args.output_stride = p.output_stride();
  args.epilogue = p.epilogue;
  // Exactly the scratch that was asked for, so that a sanitizer sees a byte too many.
  std::vector<double> scratch((firstconv_scratch(kernel, p.geometry, p.channels, grid) + 7) / 8, std::bit_cast<double>(-1L));
  for (std::size_t i = 0; i < grid.count(); ++i) {
    const TileGrid::Tile t = grid.tile(i);
    firstconv_tile(kernel, args, t.row, t.row_end, t.column, t.column_end, scratch.data());
  }
}

/// Problems of few channels: the conv family's, with 1 to 4 channels, and wider images for tails and cuts.
std::vector<ConvCase> first_cases() {
  std::vector<ConvCase> cases;
  for (ConvCase c : conv_cases()) {
    if (c.channels == 0 || c.filters == 0) continue;
    c.channels = (c.channels - 1) % kMostFirstChannels + 1;
    cases.push_back(c);
  }
  for (std::size_t channels = 1; channels <= kMostFirstChannels; ++channels) {
    for (const std::size_t filters : {1, 8, 16, 20, 24, 33, 64}) {
      cases.push_back({2, {1, 5, 27}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, channels, filters, channels % 2});
    }
  }
  cases.push_back({1, {1, 20, 23}, {1, 7, 7}, {1, 2, 2}, {1, 1, 1}, {0, 3, 3}, 3, 64, 0});
  cases.push_back({1, {1, 12, 12}, {1, 4, 4}, {1, 4, 4}, {1, 1, 1}, {0, 0, 0}, 3, 40, 0});  // patches
  cases.push_back({1, {1, 13, 14}, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, 3, 16, 0});
  cases.push_back({2, {1, 9, 15}, {1, 3, 2}, {1, 1, 3}, {1, 4, 5}, {0, 4, 5}, 2, 18, 0});    // dilated
  cases.push_back({1, {4, 6, 11}, {3, 3, 3}, {2, 1, 2}, {1, 2, 1}, {1, 2, 1}, 2, 10, 0});    // 3-D
  cases.push_back({1, {1, 1, 300}, {1, 1, 10}, {1, 1, 5}, {1, 1, 1}, {0, 0, 0}, 1, 24, 0});  // sound
  cases.push_back({1, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 6, 6}, 3, 9, 0});      // more padding than image
  return cases;
}

TEST_CASE("firstconv: every kernel, geometry, storage and thread count is within the bound of the convolution in double") {
  for_each_kernel([](const FirstConvKernel& kernel) {
    const std::vector<ConvCase> cases = first_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const Lie lie : kLies) {
        for (const std::size_t threads : {1, 3}) {
          ConvCase sizes = cases[i];
          sizes.gap = 0;
          ConvProblem problem(sizes, false, static_cast<std::uint32_t>(i));
          problem.gap = cases[i].gap;
          problem.output.assign(problem.geometry.pixels() * (problem.filters + problem.gap), kNan);
          problem.epilogue.bias = problem.bias.data();
          Image<float> image(problem, lie, kNan);
          image.for_each_element(problem, [](float& here, float there, std::ptrdiff_t) { here = there; });
          run(kernel, image.args, problem, firstconv_tiles(kernel, problem.geometry, problem.channels, problem.filters, threads));
          CAPTURE(i);
          CAPTURE(static_cast<int>(lie));
          CHECK(problem.wrong() == 0);
        }
      }
    }
  });
}

TEST_CASE("firstconv: bytes, and numbers added to what lies in the image") {
  static constexpr float kShift[kMostFirstChannels] = {-123.68f, -116.5f, 3.25f, -0.5f};
  for_each_kernel([](const FirstConvKernel& kernel) {
    const std::vector<ConvCase> cases = first_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const Lie lie : kLies) {
        for (const bool shifted : {false, true}) {
          ConvCase sizes = cases[i];
          sizes.gap = 0;
          ConvProblem problem(sizes, false, static_cast<std::uint32_t>(i));
          ConvProblem floats = problem;
          Image<std::uint8_t> bytes(problem, lie, 255);
          Image<float> numbers(problem, lie, kNan);
          std::uint8_t value = 7;
          bytes.for_each_element(problem, [&](std::uint8_t& here, float& there, std::ptrdiff_t c) {
            here = value = static_cast<std::uint8_t>(value * 5 + 3);
            there = static_cast<float>(here) + (shifted ? kShift[c] : 0.0f);
          });
          if (shifted) bytes.args.shift = kShift;
          floats.input = problem.input;
          numbers.for_each_element(floats, [&](float& here, float there, std::ptrdiff_t) { here = there; });
          const TileGrid grid = firstconv_tiles(kernel, problem.geometry, problem.channels, problem.filters, 2);
          run(kernel, bytes.args, problem, grid);
          run(kernel, numbers.args, floats, grid);
          CAPTURE(i);
          CAPTURE(static_cast<int>(lie));
          CHECK(problem.wrong() == 0);
          CHECK(std::equal(problem.output.begin(), problem.output.end(), floats.output.begin(), same_bits));
        }
      }
    }
  });
}

TEST_CASE("firstconv: activations and residuals") {
  for_each_kernel([](const FirstConvKernel& kernel) {
    for (const Activation activation : kActivations) {
      for (const int residual : {0, 1, 2}) {
        ConvProblem problem({1, {1, 6, 17}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 3, 41, 0}, false);
        problem.epilogue.activation = activation;
        problem.epilogue.alpha = 0.1f;
        problem.epilogue.beta = 0.6f;
        problem.epilogue.slope = problem.slope.data();
        problem.epilogue.bias = problem.bias.data();
        if (residual != 0) problem.use_residual(residual == 2);
        Image<float> image(problem, Lie::planar, kNan);
        image.for_each_element(problem, [](float& here, float there, std::ptrdiff_t) { here = there; });
        run(kernel, image.args, problem, firstconv_tiles(kernel, problem.geometry, 3, problem.filters, 1));
        CAPTURE(static_cast<int>(activation));
        CHECK(problem.wrong() == 0);
      }
    }
  });
}

TEST_CASE("firstconv: an image gives the same bits alone and in a batch, whatever the tiles") {
  for_each_kernel([](const FirstConvKernel& kernel) {
    const ConvCase one{1, {1, 6, 29}, {1, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, 3, 40, 0};
    ConvCase seven = one;
    seven.batch = 7;
    ConvProblem batch(seven, false);
    Image<float> images(batch, Lie::planar, kNan);
    images.for_each_element(batch, [](float& here, float there, std::ptrdiff_t) { here = there; });
    const std::size_t rows = 7 * static_cast<std::size_t>(batch.geometry.output[1]);
    for (const std::size_t row_step : {std::size_t{1}, std::size_t{2}, rows}) {
      for (const std::size_t column_step : {1, 7, 12, 29}) {
        run(kernel, images.args, batch, {rows, 29, row_step, column_step, true});
        for (std::size_t n = 0; n < 7; ++n) {
          ConvProblem alone(one, false);
          alone.weights = batch.weights;
          const std::size_t floats = alone.input.size();
          std::copy_n(batch.input.begin() + static_cast<std::ptrdiff_t>(n * floats), floats, alone.input.begin());
          Image<float> image(alone, Lie::interleaved, kNan);
          image.for_each_element(alone, [](float& here, float there, std::ptrdiff_t) { here = there; });
          run(kernel, image.args, alone, firstconv_tiles(kernel, alone.geometry, 3, 40, 1));
          CHECK(std::equal(alone.output.begin(), alone.output.end(),
                           batch.output.begin() + static_cast<std::ptrdiff_t>(n * alone.output.size()), same_bits));
        }
      }
    }
  });
}

TEST_CASE("firstconv: a NaN spreads to the pixels that see it and to no other") {
  for_each_kernel([](const FirstConvKernel& kernel) {
    ConvProblem problem({1, {1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 2, 20, 0}, false);
    problem.epilogue.activation = Activation::relu;
    problem.input[0] = kNan;
    Image<float> image(problem, Lie::planar, kNan);
    image.for_each_element(problem, [](float& here, float there, std::ptrdiff_t) { here = there; });
    run(kernel, image.args, problem, firstconv_tiles(kernel, problem.geometry, 2, 20, 1));
    for (std::size_t p = 0; p < 36; ++p) {
      const bool sees = p == 0 || p == 1 || p == 6 || p == 7;
      for (std::size_t f = 0; f < 20; ++f) CHECK(std::isnan(problem.output[p * 20 + f]) == sees);
    }
  });
}

}  // namespace
}  // namespace jitney::kernels
