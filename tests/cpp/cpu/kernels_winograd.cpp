// Every Winograd kernel against a plain convolution in double.
#include "cpu/kernels/winograd/winograd.h"

#include "base/aligned.h"
#include "cpu/kernels_conv.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

Winograd method_of(const WinogradKernel& kernel, const ConvProblem& p, bool kept = false) {
  return {&kernel, conv_kernel(kernel.isa).gemm, p.geometry, p.channels, p.filters, kept};
}

template <typename Body>
void for_each_kernel(Body body) {
  for (const WinogradKernel* kernel : winograd_kernels()) {
    if (!runnable(kernel->isa)) continue;
    CAPTURE(kernel->name);
    body(*kernel);
  }
}

/// In blocks of so many tiles and panels.
void run(const WinogradKernel& kernel, ConvProblem& p, std::size_t block, std::size_t panels = 1000, bool kept = false) {
  const Winograd method = method_of(kernel, p, kept);
  const ConvKernel& taps = conv_kernel(kernel.isa);
  std::vector<float> packed(kept ? method.weight_floats() : packed_conv_size(taps, 9, p.channels, p.filters), kNan);
  const FilterWeights weights{p.weights.data(), static_cast<std::ptrdiff_t>(p.channels) * 9, 9, p.tap_stride()};
  if (kept) {
    winograd_pack(method, weights, packed.data());
  } else {
    pack_conv(taps, p.geometry.kernel, p.channels, p.filters, weights, packed.data());
  }
  const ConvArgs args{p.geometry,    p.channels,      p.filters,         p.input.data(), p.zeros.data(),
                      packed.data(), p.output.data(), p.output_stride(), p.epilogue};
  const std::size_t tiles = method.tiles(), columns = panels * method.gemm->nr;
  for (std::size_t first = 0; first < tiles; first += block) {
    // Exactly what was asked for, so that a sanitizer sees a byte too many.
    const std::size_t last = std::min(first + block, tiles);
    std::vector<float> inputs(method.input_floats(last - first), kNan);
    const WinogradTiles some{first, last, inputs.data()};
    winograd_inputs(method, args, some, first, last);
    for (std::size_t f = 0; f < p.filters; f += columns) {
      const AlignedBuffer scratch = make_aligned(method.scratch(last - first));
      winograd_results(method, args, some, f, std::min(f + columns, p.filters), scratch.get());
    }
  }
}

void run_in_blocks(const WinogradKernel& kernel, ConvProblem& p, std::size_t threads) {
  run(kernel, p, winograd_block(method_of(kernel, p), threads));
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
      image(1, 9, 9, 1, 300, 17),
  };
  for_each_kernel([&](const WinogradKernel& kernel) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const std::size_t threads : {1, 3}) {
        ConvProblem problem(cases[i], false, static_cast<std::uint32_t>(i));
        problem.epilogue.bias = problem.bias.data();
        REQUIRE(winograd_fits(problem.geometry));
        run_in_blocks(kernel, problem, threads);
        CAPTURE(i);
        CHECK(wrong(problem) == 0);
      }
    }
  });
}

TEST_CASE("winograd: activations and residuals") {
  for_each_kernel([](const WinogradKernel& kernel) {
    for (const Activation activation : kActivations) {
      for (const bool after : {false, true}) {
        ConvProblem problem(image(1, 5, 6, 1, 4, 21), false);
        problem.epilogue.activation = activation;
        problem.epilogue.alpha = 0.1f;
        problem.epilogue.beta = 0.6f;
        problem.epilogue.slope = problem.slope.data();
        problem.use_residual(after);
        run_in_blocks(kernel, problem, 1);
        CAPTURE(static_cast<int>(activation));
        CHECK(wrong(problem) == 0);
      }
    }
  });
}

TEST_CASE("winograd: an image gives the same bits alone and in a batch, whatever the blocks") {
  for_each_kernel([](const WinogradKernel& kernel) {
    ConvProblem batch(image(7, 9, 10, 1, 24, 40), false);
    run_in_blocks(kernel, batch, 1);
    const std::vector<float> whole = batch.output;
    for (const std::size_t block : {1, 5, 1000}) {
      for (const std::size_t panels : {1, 2}) {
        run(kernel, batch, block, panels);
        CHECK(std::equal(whole.begin(), whole.end(), batch.output.begin(), same_bits));
      }
    }
    for (std::size_t n = 0; n < 7; ++n) {
      ConvProblem one(image(1, 9, 10, 1, 24, 40), false);
      const std::size_t size = batch.input.size() / 7, results = whole.size() / 7;
      std::copy_n(batch.input.begin() + static_cast<std::ptrdiff_t>(n * size), size, one.input.begin());
      one.weights = batch.weights;
      run_in_blocks(kernel, one, 1);
      CHECK(
          std::equal(one.output.begin(), one.output.end(), whole.begin() + static_cast<std::ptrdiff_t>(n * results), same_bits));
    }
  });
}

TEST_CASE("winograd: kept weights give the same bits") {
  for_each_kernel([](const WinogradKernel& kernel) {
    for (const ConvCase& shape : {image(1, 9, 11, 1, 5, 9), image(1, 7, 7, 1, 300, 17), image(2, 12, 12, 1, 290, 33),
                                  image(1, 12, 12, 1, 290, 33), image(1, 1, 1, 1, 3, 40), image(1, 5, 5, 1, 0, 3)}) {
      ConvProblem problem(shape, false);
      problem.epilogue.bias = problem.bias.data();
      for (const std::size_t block : {1000, 5}) {
        run(kernel, problem, block);
        const std::vector<float> usual = problem.output;
        std::ranges::fill(problem.output, kNan);
        run(kernel, problem, block, 2, true);
        CHECK(wrong(problem) == 0);
        CHECK(std::equal(usual.begin(), usual.end(), problem.output.begin(), same_bits));
      }
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
