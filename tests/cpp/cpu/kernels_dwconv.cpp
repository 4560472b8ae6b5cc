// Every depthwise kernel against a plain depthwise convolution in double.
#include "cpu/kernels/dwconv/dwconv.h"

#include "cpu/kernels_conv.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

template <typename Body>
void for_each_kernel(Body body) {
  for (const DwConvKernel* kernel : dwconv_kernels()) {
    if (!runnable(kernel->isa)) continue;
    CAPTURE(kernel->name);
    body(*kernel);
  }
}

void run(const DwConvKernel& kernel, ConvProblem& p, const TileGrid& grid) {
  std::vector<float> packed(p.geometry.taps() * dwconv_padded(kernel, p.channels), kNan);
  pack_dwconv(kernel, p.geometry.kernel, p.channels, p.weights.data(), static_cast<std::ptrdiff_t>(p.geometry.taps()),
              p.tap_stride(), packed.data());
  const DwConvArgs args{p.geometry,    p.channels,      p.input.data(),    nullptr,
                        packed.data(), p.output.data(), p.output_stride(), p.epilogue};
  for (std::size_t i = 0; i < grid.count(); ++i) {
    const TileGrid::Tile t = grid.tile(i);
    dwconv_tile(kernel, args, t.row, t.row_end, t.column, t.column_end);
  }
}

TEST_CASE("dwconv: every kernel, geometry and thread count is within the bound of the convolution in double") {
  for_each_kernel([](const DwConvKernel& kernel) {
    const std::vector<ConvCase> cases = conv_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const std::size_t extra : {0, 7, 150}) {
        for (const std::size_t threads : {1, 3}) {
          ConvCase sizes = cases[i];
          sizes.channels += extra;
          ConvProblem problem(sizes, true, static_cast<std::uint32_t>(i));
          problem.epilogue.bias = problem.bias.data();
          run(kernel, problem, dwconv_tiles(kernel, problem.geometry, problem.channels, threads));
          CAPTURE(i);
          CHECK(problem.wrong() == 0);
        }
      }
    }
  });
}

TEST_CASE("dwconv: every width of kernel, step and run") {
  for_each_kernel([](const DwConvKernel& kernel) {
    for (const std::ptrdiff_t width : {1, 2, 3, 4, 5, 6, 7}) {
      for (const std::ptrdiff_t stride : {1, 2, 3}) {
        for (const std::ptrdiff_t dilation : {1, 2}) {
          for (std::ptrdiff_t size = 1; size < 16; ++size) {
            ConvProblem problem(
                {1, {1, 4, size}, {1, 3, width}, {1, 2, stride}, {1, 1, dilation}, {0, 1, width / 2 * dilation}, 11, 1, 1}, true);
            problem.epilogue.activation = Activation::clip;
            problem.epilogue.alpha = -0.5f;
            problem.epilogue.beta = 0.5f;
            run(kernel, problem, dwconv_tiles(kernel, problem.geometry, problem.channels, 2));
            CHECK(problem.wrong() == 0);
          }
        }
      }
    }
  });
}

TEST_CASE("dwconv: long rows, several rows at once, taps of every height") {
  for_each_kernel([](const DwConvKernel& kernel) {
    for (const std::ptrdiff_t width : {3, 5, 7}) {
      for (const std::ptrdiff_t height : {1, 3, 4}) {
        for (const std::ptrdiff_t stride : {1, 2}) {
          for (const std::ptrdiff_t dilation : {1, 2, 3}) {
            for (const Activation activation : {Activation::relu, Activation::hard_swish}) {
              ConvProblem problem(
                  {2, {1, 8, 141}, {1, height, width}, {1, stride, 3 - stride}, {1, 3 - stride, dilation}, {0, 2, 3}, 37, 1, 3},
                  true);
              problem.epilogue.activation = activation;
              problem.epilogue.bias = problem.bias.data();
              run(kernel, problem, dwconv_tiles(kernel, problem.geometry, problem.channels, 1));
              CHECK(problem.wrong() == 0);
            }
          }
        }
      }
    }
  });
}

TEST_CASE("dwconv: activations and residuals") {
  for_each_kernel([](const DwConvKernel& kernel) {
    for (const Activation activation : kActivations) {
      for (const int residual : {0, 1, 2}) {
        ConvProblem problem({1, {1, 5, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 141, 1, 2}, true);
        problem.epilogue.activation = activation;
        problem.epilogue.alpha = 0.1f;
        problem.epilogue.beta = 0.6f;
        problem.epilogue.slope = problem.slope.data();
        problem.epilogue.bias = problem.bias.data();
        if (residual != 0) problem.use_residual(residual == 2);
        run(kernel, problem, dwconv_tiles(kernel, problem.geometry, problem.channels, 1));
        CAPTURE(static_cast<int>(activation));
        CHECK(problem.wrong() == 0);
      }
    }
  });
}

TEST_CASE("dwconv: an image gives the same bits alone and in a batch, whatever the tiles") {
  const ConvCase three{1, {1, 5, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 77, 1, 0};
  const ConvCase five{1, {1, 9, 14}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2}, 77, 1, 0};
  const ConvCase four{1, {1, 8, 7}, {1, 4, 4}, {1, 1, 1}, {1, 1, 1}, {0, 2, 1}, 77, 1, 0};
  for_each_kernel([&](const DwConvKernel& kernel) {
    for (const ConvCase& one : {three, five, four}) {
      for (const Activation activation : {Activation::none, Activation::hard_swish}) {
        ConvCase seven = one;
        seven.batch = 7;
        ConvProblem batch(seven, true);
        batch.epilogue.activation = activation;
        const auto rows = static_cast<std::size_t>(7 * batch.geometry.output[1]);
        for (const std::size_t row_step : {std::size_t{1}, std::size_t{4}, rows}) {
          for (const std::size_t column_step : {kernel.lanes, std::size_t{80}}) {
            run(kernel, batch, {rows, 77, row_step, column_step, false});
            for (std::size_t image = 0; image < 7; ++image) {
              ConvProblem alone(one, true);
              alone.epilogue.activation = activation;
              alone.weights = batch.weights;
              const std::size_t floats = alone.input.size();
              std::copy_n(batch.input.begin() + static_cast<std::ptrdiff_t>(image * floats), floats, alone.input.begin());
              run(kernel, alone, dwconv_tiles(kernel, alone.geometry, 77, 1));
              CHECK(std::equal(alone.output.begin(), alone.output.end(),
                               batch.output.begin() + static_cast<std::ptrdiff_t>(image * alone.output.size()), same_bits));
            }
          }
        }
      }
    }
  });
}

TEST_CASE("dwconv: a NaN spreads to the pixels that see it and to no other") {
  for_each_kernel([](const DwConvKernel& kernel) {
    ConvProblem problem({1, {1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, 9, 1, 0}, true);
    problem.input[8] = kNan;
    problem.epilogue.activation = Activation::relu;
    run(kernel, problem, dwconv_tiles(kernel, problem.geometry, 9, 1));
    for (std::size_t p = 0; p < 36; ++p) {
      const bool sees = p == 0 || p == 1 || p == 6 || p == 7;
      for (std::size_t c = 0; c < 9; ++c) CHECK(std::isnan(problem.output[p * 9 + c]) == (sees && c == 8));
    }
  });
}

}  // namespace
}  // namespace jitney::kernels
