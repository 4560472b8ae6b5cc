// Every Winograd kernel against a plain convolution in double.
#include "cpu/kernels/winograd/winograd.h"

#include "base/aligned.h"
#include "cpu/kernels_conv.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

struct Method {
  const WinogradKernel& kernel;
  const GemmKernel& gemm;
};

template <typename Body>
void for_each_kernel(Body body) {
  for (const WinogradKernel* kernel : winograd_kernels()) {
    if (!runnable(kernel->isa)) continue;
    CAPTURE(kernel->name);
    body(Method{*kernel, gemm_kernel(kernel->isa)});
  }
}

void run(const Method& method, ConvProblem& p, const WinogradBlocks& blocks) {
  std::vector<float> packed(packed_winograd_size(method.gemm, p.channels, p.filters), kNan);
  pack_winograd(method.gemm, p.channels, p.filters, p.weights.data(), static_cast<std::ptrdiff_t>(p.channels) * 9, 9,
                p.tap_stride(), packed.data());
  // Exactly the scratch that was asked for, so that a sanitizer sees a byte too many.
  const AlignedBuffer scratch = make_aligned(winograd_scratch(blocks, p.channels));
  const ConvArgs args{p.geometry,    p.channels,      p.filters,         p.input.data(), p.zeros.data(),
                      packed.data(), p.output.data(), p.output_stride(), p.epilogue};
  for (std::size_t i = 0; i < blocks.count(); ++i) winograd_block(method.kernel, method.gemm, args, blocks, i, scratch.get());
}

WinogradBlocks blocks_of(const Method& method, const ConvProblem& p, std::size_t threads) {
  return winograd_blocks(method.gemm, p.geometry, p.channels, p.filters, threads);
}

/// Elements whose error exceeds Winograd's: a result's error comes from all inputs of its tile, which lie in [-1, 1] as the
/// weights do, not only from those below its taps. Activations have slopes below 1.2.
std::size_t wrong(const ConvProblem& p) {
  const double bound = 0x1p-24 * (9 * 4 * static_cast<double>(p.channels) + 16);
  std::size_t count = 0;
  for (std::size_t pixel = 0; pixel < p.geometry.pixels(); ++pixel) {
    for (std::size_t f = 0; f < p.filters; ++f) {
      const Expected expected = epilogue_reference(p.epilogue, p.sum(pixel, f), pixel, f);
      const double given = p.output[pixel * (p.filters + p.gap) + f];
      count += !(std::abs(given - expected.value) <= 1.2 * bound + expected.bound);
    }
    for (std::size_t f = p.filters; f < p.filters + p.gap; ++f) count += !std::isnan(p.output[pixel * (p.filters + p.gap) + f]);
  }
  return count;
}

ConvCase image(std::ptrdiff_t batch, std::ptrdiff_t height, std::ptrdiff_t width, std::ptrdiff_t pad, std::size_t channels,
               std::size_t filters, std::size_t gap = 0) {
  return {batch, {1, height, width}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, pad, pad}, channels, filters, gap};
}

TEST_CASE("winograd: every kernel, size, padding and thread count") {
  const std::vector<ConvCase> cases = {
      image(1, 4, 4, 1, 8, 16),    image(2, 7, 9, 1, 5, 9, 3), image(1, 13, 6, 0, 17, 33), image(3, 3, 3, 1, 40, 24, 1),
      image(1, 21, 30, 2, 33, 47), image(1, 1, 1, 1, 3, 5),    image(1, 2, 11, 3, 64, 1),  image(0, 8, 8, 1, 4, 4),
      image(1, 8, 8, 1, 3, 0),     image(1, 8, 8, 1, 0, 3),    image(1, 5, 5, -1, 4, 8),   image(1, 40, 40, 1, 130, 20),
  };
  for_each_kernel([&](const Method& method) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const std::size_t threads : {1, 3}) {
        ConvProblem problem(cases[i], false, static_cast<std::uint32_t>(i));
        problem.epilogue.bias = problem.bias.data();
        REQUIRE(winograd_fits(problem.geometry));
        run(method, problem, blocks_of(method, problem, threads));
        CAPTURE(i);
        CHECK(wrong(problem) == 0);
      }
    }
  });
}

TEST_CASE("winograd: activations and residuals") {
  for_each_kernel([](const Method& method) {
    for (const Activation activation : kActivations) {
      for (const bool after : {false, true}) {
        ConvProblem problem(image(1, 5, 6, 1, 4, 21), false);
        problem.epilogue.activation = activation;
        problem.epilogue.alpha = 0.1f;
        problem.epilogue.beta = 0.6f;
        problem.epilogue.slope = problem.slope.data();
        problem.use_residual(after);
        run(method, problem, blocks_of(method, problem, 1));
        CAPTURE(static_cast<int>(activation));
        CHECK(wrong(problem) == 0);
      }
    }
  });
}

TEST_CASE("winograd: an image gives the same bits alone and in a batch, whatever the blocks") {
  for_each_kernel([](const Method& method) {
    ConvProblem batch(image(7, 9, 10, 1, 24, 40), false);
    run(method, batch, blocks_of(method, batch, 1));
    const std::vector<float> whole = batch.output;
    const std::size_t tiles = blocks_of(method, batch, 1).tiles;
    for (const std::size_t rows : {std::size_t{1}, std::size_t{5}, tiles}) {
      for (const std::size_t columns : {method.gemm.nr, std::size_t{48}}) {
        run(method, batch, {tiles, rows, columns});
        CHECK(std::equal(whole.begin(), whole.end(), batch.output.begin(), same_bits));
      }
    }
    for (std::size_t n = 0; n < 7; ++n) {
      ConvProblem one(image(1, 9, 10, 1, 24, 40), false);
      const std::size_t size = batch.input.size() / 7, results = whole.size() / 7;
      std::copy_n(batch.input.begin() + static_cast<std::ptrdiff_t>(n * size), size, one.input.begin());
      one.weights = batch.weights;
      run(method, one, blocks_of(method, one, 1));
      CHECK(
          std::equal(one.output.begin(), one.output.end(), whole.begin() + static_cast<std::ptrdiff_t>(n * results), same_bits));
    }
  });
}

TEST_CASE("winograd: what it cannot do") {
  const auto fits = [](Spatial kernel, Spatial stride, Spatial dilation, Spatial input) {
    return winograd_fits(ConvProblem({1, input, kernel, stride, dilation, {0, 1, 1}, 4, 4, 0}, false).geometry);
  };
  CHECK(fits({1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 8, 8}));
  CHECK_FALSE(fits({1, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 8, 8}));
  CHECK_FALSE(fits({1, 3, 3}, {1, 1, 1}, {1, 1, 2}, {1, 8, 8}));
  CHECK_FALSE(fits({1, 3, 5}, {1, 1, 1}, {1, 1, 1}, {1, 8, 8}));
  CHECK_FALSE(fits({1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {2, 8, 8}));
  CHECK_FALSE(fits({3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {3, 8, 8}));
}

}  // namespace
}  // namespace jitney::kernels
