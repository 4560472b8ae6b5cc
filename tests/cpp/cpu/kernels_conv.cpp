// Every indirect-GEMM kernel against a plain convolution in double.
#include "cpu/kernels_conv.h"

#include <algorithm>
#include <utility>

#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

template <typename Body>
void for_each_kernel(Body body) {
  for (const ConvKernel& kernel : conv_kernels()) {
    if (!runnable(kernel.gemm->isa)) continue;
    CAPTURE(kernel.name);
    body(kernel);
  }
}

std::vector<float> packed_weights(const ConvKernel& kernel, const ConvProblem& p) {
  std::vector<float> packed(packed_conv_size(kernel, p.geometry.taps(), p.channels, p.filters), kNan);
  const std::ptrdiff_t taps = static_cast<std::ptrdiff_t>(p.geometry.taps());
  pack_conv(kernel, p.geometry.kernel, p.channels, p.filters,
            {p.weights.data(), static_cast<std::ptrdiff_t>(p.channels) * taps, taps, p.tap_stride()}, packed.data());
  return packed;
}

void run(const ConvKernel& kernel, ConvProblem& p, const TileGrid& grid) {
  const std::vector<float> packed = packed_weights(kernel, p);
  // Exactly the scratch that was asked for, so that a sanitizer sees a byte too many.
  std::vector<double> scratch((conv_scratch(kernel, p.geometry, p.channels, grid) + 7) / 8);
  ConvArgs args{p.geometry,    p.channels,      p.filters,         p.input.data(), p.zeros.data(),
                packed.data(), p.output.data(), p.output_stride(), p.epilogue};
  const auto run_tiles = [&] {
    for (std::size_t i = 0; i < grid.count(); ++i) {
      const TileGrid::Tile t = grid.tile(i);
      conv_tile(kernel, args, t.row, t.row_end, t.column, t.column_end, scratch.data());
    }
  };
  // Whether rows are copied must not matter.
  const std::vector<float> before = p.output;
  run_tiles();
  const std::vector<float> plain = std::exchange(p.output, before);
  args.output = p.output.data();
  args.tile_rows = grid.row_step;
  run_tiles();
  REQUIRE(std::equal(plain.begin(), plain.end(), p.output.begin(), same_bits));
}

TEST_CASE("conv: every kernel, geometry and thread count is within the bound of the convolution in double") {
  for_each_kernel([](const ConvKernel& kernel) {
    const std::vector<ConvCase> cases = conv_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const std::size_t threads : {1, 3}) {
        ConvProblem problem(cases[i], false, static_cast<std::uint32_t>(i));
        problem.epilogue.bias = problem.bias.data();
        run(kernel, problem, conv_tiles(kernel, problem.geometry, problem.channels, problem.filters, threads));
        CAPTURE(i);
        CHECK(problem.wrong() == 0);
      }
    }
  });
}

TEST_CASE("conv: activations and residuals") {
  for_each_kernel([](const ConvKernel& kernel) {
    for (const Activation activation : kActivations) {
      for (const bool after : {false, true}) {
        ConvProblem problem({1, {1, 5, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 4, 21, 0}, false);
        problem.epilogue.activation = activation;
        problem.epilogue.alpha = 0.1f;
        problem.epilogue.beta = 0.6f;
        problem.epilogue.slope = problem.slope.data();
        problem.use_residual(after);
        run(kernel, problem, conv_tiles(kernel, problem.geometry, problem.channels, problem.filters, 1));
        CAPTURE(static_cast<int>(activation));
        CHECK(problem.wrong() == 0);
      }
    }
  });
}

TEST_CASE("conv: an image gives the same bits alone and in a batch, whatever the tiles") {
  for_each_kernel([](const ConvKernel& kernel) {
    for (const std::size_t channels : {3, 24}) {
      const ConvCase one{1, {1, 5, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, channels, 40, 0};
      ConvCase seven = one;
      seven.batch = 7;
      ConvProblem batch(seven, false);
      for (const std::size_t row_step : {1, 4, 13, 245}) {
        for (const std::size_t column_step : {kernel.gemm->nr, std::size_t{48}}) {
          run(kernel, batch, {batch.geometry.pixels(), 40, row_step, column_step, false});
          for (std::size_t image = 0; image < 7; ++image) {
            ConvProblem alone(one, false);
            alone.weights = batch.weights;
            const std::size_t floats = alone.input.size();
            std::copy_n(batch.input.begin() + static_cast<std::ptrdiff_t>(image * floats), floats, alone.input.begin());
            run(kernel, alone, conv_tiles(kernel, alone.geometry, channels, 40, 1));
            CHECK(std::equal(alone.output.begin(), alone.output.end(),
                             batch.output.begin() + static_cast<std::ptrdiff_t>(image * alone.output.size()), same_bits));
          }
        }
      }
    }
  });
}

TEST_CASE("conv: a NaN spreads to the pixels that see it and to no other") {
  for_each_kernel([](const ConvKernel& kernel) {
    for (const std::size_t channels : {2, 30}) {
      ConvProblem problem({1, {1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, channels, 20, 0}, false);
      problem.input[0] = kNan;
      problem.epilogue.activation = Activation::relu;
      run(kernel, problem, conv_tiles(kernel, problem.geometry, channels, 20, 1));
      for (std::size_t p = 0; p < 36; ++p) {
        const bool sees = p == 0 || p == 1 || p == 6 || p == 7;
        for (std::size_t f = 0; f < 20; ++f) CHECK(std::isnan(problem.output[p * 20 + f]) == sees);
      }
    }
  });
}

}  // namespace
}  // namespace jitney::kernels
