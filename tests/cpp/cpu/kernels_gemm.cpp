// Every GEMM kernel against a plain product in double: ragged sizes, strides, tails, epilogues, special values, tilings.
#include <algorithm>

#include "cpu/kernels/gemm/gemm.h"
#include "cpu/kernels_random.h"
#include "doctest/doctest.h"

namespace jitney::kernels {
namespace {

/// A product with all its operands, B packed for one kernel.
struct Problem {
  const GemmKernel& kernel;
  std::size_t m, n, k;
  std::size_t lda, ldc;
  std::vector<float> a, b, packed, bias, slope, residual, c;
  Epilogue epilogue;

  Problem(const GemmKernel& used, std::size_t rows, std::size_t columns, std::size_t depth, std::uint32_t seed = 1)
      : kernel(used), m(rows), n(columns), k(depth), lda(depth + seed % 3), ldc(columns + seed % 5) {
    a = random_floats(m * lda, seed);
    b = random_floats(k * n, seed + 1);
    bias = random_floats(n, seed + 2);
    slope = random_floats(n, seed + 3);
    residual = random_floats(m * n, seed + 4);
    c.assign(m * ldc, kNan);
    pack();
  }
  void pack() {
    packed.assign(packed_b_size(kernel, k, n), kNan);
    pack_b(kernel, k, n, b.data(), static_cast<std::ptrdiff_t>(n), 1, packed.data());
  }
  GemmArgs args() {
    return {m,       n, k, a.data(), static_cast<std::ptrdiff_t>(lda), packed.data(), c.data(), static_cast<std::ptrdiff_t>(ldc),
            epilogue};
  }
  void run() { gemm_tile(kernel, args(), 0, m, 0, n); }
  /// With scratch for a copy of rows, which must give the same bits.
  void run_copying() {
    std::vector<float> copy(row_copy_bytes(kernel, m, n, k) / sizeof(float), kNan);
    gemm_tile(kernel, args(), 0, m, 0, n, copy.empty() ? nullptr : copy.data());
  }
  void use_residual(bool after) {
    epilogue.residual = residual.data();
    epilogue.residual_stride = static_cast<std::ptrdiff_t>(n);
    epilogue.residual_after = after;
  }

  /// The number of results outside their bounds, or written where there is no result.
  std::size_t wrong() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        Sum sum;
        for (std::size_t p = 0; p < k; ++p) sum.add(a[i * lda + p], b[p * n + j]);
        const Expected expected = epilogue_reference(epilogue, sum, i, j);
        const double given = c[i * ldc + j];
        count += !(std::abs(given - expected.value) <= expected.bound);
      }
      for (std::size_t j = n; j < ldc; ++j) count += !std::isnan(c[i * ldc + j]);
    }
    return count;
  }
};

template <typename Body>
void for_each_kernel(Body body) {
  for (const GemmKernel* kernel : gemm_kernels()) {
    if (!runnable(kernel->isa)) continue;
    CAPTURE(kernel->name);
    body(*kernel);
  }
}

TEST_CASE("gemm: the list begins with the portable kernel and each level finds its own") {
  CHECK(gemm_kernels()[0]->isa == Isa::scalar);
  for (const GemmKernel* kernel : gemm_kernels())
    CHECK(gemm_kernel(kernel->isa, kernel->core == Core::any ? Core::out_of_order : kernel->core).name == kernel->name);
}

TEST_CASE("gemm: ragged sizes are within 2 gamma_K sum|a||b| of the product in double") {
  for_each_kernel([](const GemmKernel& kernel) {
    std::uint32_t seed = 0;
    for (const std::size_t m : {1, 2, 3, 4, 5, 6, 7, 11, 13}) {
      for (const std::size_t n : {1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130}) {
        for (const std::size_t k : {1, 2, 3, 4, 5, 8, 19}) {
          Problem problem(kernel, m, n, k, ++seed);
          problem.run();
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          REQUIRE(problem.wrong() == 0);
          const std::vector<float> plain = problem.c;
          std::fill(problem.c.begin(), problem.c.end(), kNan);
          problem.run_copying();
          REQUIRE(std::equal(plain.begin(), plain.end(), problem.c.begin(), same_bits));
        }
      }
    }
    Problem deep(kernel, 7, 21, 700);
    deep.run();
    CHECK(deep.wrong() == 0);
  });
}

TEST_CASE("gemm: empty products") {
  for_each_kernel([](const GemmKernel& kernel) {
    Problem no_depth(kernel, 7, 70, 0);
    no_depth.epilogue.bias = no_depth.bias.data();
    no_depth.run();
    CHECK(no_depth.wrong() == 0);
    Problem one_row(kernel, 1, 70, 0);
    one_row.run();
    CHECK(one_row.c[0] == 0.0f);
    Problem no_rows(kernel, 0, 5, 3);
    no_rows.run();
    Problem no_columns(kernel, 5, 0, 3);
    no_columns.run();
    CHECK(no_columns.wrong() == 0);
    for (const std::size_t threads : {1, 2}) {
      CHECK(gemm_tiles(kernel, 0, 5, 3, threads).count() == 0);
      CHECK(gemm_tiles(kernel, 5, 0, 3, threads).count() == 0);
      CHECK(gemm_tiles(kernel, 5, 5, 0, threads).count() > 0);
    }
  });
}

TEST_CASE("gemm: every activation with bias, scale and residual, in whole and partial panels") {
  for_each_kernel([](const GemmKernel& kernel) {
    for (const Activation activation : kActivations) {
      for (const std::size_t m : {1, 8}) {
        for (int variant = 0; variant < 12; ++variant) {
          Problem problem(kernel, m, 75, 9, 20);
          Epilogue& e = problem.epilogue;
          e.activation = activation;
          e.alpha = activation == Activation::clip ? -0.75f : 0.2f;
          e.beta = activation == Activation::clip ? 0.5f : 0.4f;
          if (activation == Activation::prelu) {
            e.slope = problem.slope.data();
            e.slope_stride = variant % 2;
          }
          if (variant % 2 != 0) e.bias = problem.bias.data();
          if (variant / 2 % 3 != 0) problem.use_residual(variant / 2 % 3 == 2);
          if (variant >= 6) e.scale = 0.3f;
          problem.run();
          CAPTURE(static_cast<int>(activation));
          CAPTURE(variant);
          CHECK(problem.wrong() == 0);
          std::fill(problem.c.begin(), problem.c.end(), kNan);
          problem.run_copying();
          CHECK(problem.wrong() == 0);
        }
      }
    }
  });
}

TEST_CASE("gemm: rows that lie a multiple of a page apart, copied or not") {
  for_each_kernel([](const GemmKernel& kernel) {
    for (const std::size_t m : {7, 13, 49}) {
      Problem problem(kernel, m, 40, 1024, 3);
      REQUIRE(problem.lda == 1024);
      problem.run();
      CHECK(problem.wrong() == 0);
      std::fill(problem.c.begin(), problem.c.end(), kNan);
      problem.run_copying();
      CHECK(problem.wrong() == 0);
    }
  });
}

TEST_CASE("gemm: the residual may be the output itself") {
  for_each_kernel([](const GemmKernel& kernel) {
    for (const Activation activation : {Activation::relu, Activation::silu}) {
      Problem apart(kernel, 9, 37, 12, 5);
      apart.ldc = apart.n;
      apart.c.assign(apart.m * apart.n, kNan);
      apart.epilogue.activation = activation;
      apart.use_residual(false);
      apart.run();
      Problem same(kernel, 9, 37, 12, 5);
      same.ldc = same.n;
      same.c = same.residual;
      same.epilogue.activation = activation;
      same.use_residual(false);
      same.epilogue.residual = same.c.data();
      same.run();
      CHECK(std::equal(apart.c.begin(), apart.c.end(), same.c.begin(), same_bits));
    }
  });
}

TEST_CASE("gemm: NaN and infinity give what IEEE arithmetic gives") {
  for_each_kernel([](const GemmKernel& kernel) {
    for (const Activation activation : kActivations) {
      Problem problem(kernel, 8, 75, 6, 3);
      problem.epilogue.activation = activation;
      problem.epilogue.alpha = -0.1f;
      problem.epilogue.beta = 0.5f;
      problem.epilogue.slope = problem.slope.data();
      problem.a[2 * problem.lda + 3] = kNan;
      problem.a[7 * problem.lda + 1] = kNan;
      problem.run();
      for (std::size_t j = 0; j < problem.n; ++j) {
        CHECK(std::isnan(problem.c[2 * problem.ldc + j]));
        CHECK(std::isnan(problem.c[7 * problem.ldc + j]));
        CHECK(std::isfinite(problem.c[3 * problem.ldc + j]));
      }
    }
    Problem infinite(kernel, 2, 20, 3, 3);
    infinite.a[0] = kInf;
    infinite.a[infinite.lda] = -kInf;
    std::fill(infinite.b.begin(), infinite.b.end(), 1.0f);
    infinite.pack();
    infinite.epilogue.activation = Activation::relu;
    infinite.run();
    for (std::size_t j = 0; j < infinite.n; ++j) {
      CHECK(infinite.c[j] == kInf);
      CHECK(infinite.c[infinite.ldc + j] == 0.0f);
    }
  });
}

TEST_CASE("gemm: a row is the same bits alone and at any place of any tiling") {
  for_each_kernel([](const GemmKernel& kernel) {
    for (const Activation activation : {Activation::none, Activation::hard_swish, Activation::gelu}) {
      for (const std::size_t k : {3, 40}) {
        const auto prepare = [&](std::size_t m) {
          Problem problem(kernel, m, 150, k, 9);
          problem.epilogue.activation = activation;
          problem.epilogue.bias = problem.bias.data();
          return problem;
        };
        Problem alone = prepare(1);
        alone.run();
        for (std::size_t place = 0; place < 7; ++place) {
          Problem batch = prepare(7);
          std::copy_n(alone.a.begin(), k, batch.a.begin() + static_cast<std::ptrdiff_t>(place * batch.lda));
          batch.epilogue.bias = alone.bias.data();
          batch.packed = alone.packed;
          for (const std::size_t row_step : {1, 2, 5, 7}) {
            for (const std::size_t column_step : {kernel.nr, 3 * kernel.nr, std::size_t{160}}) {
              std::fill(batch.c.begin(), batch.c.end(), kNan);
              TileGrid grid{batch.m, batch.n, row_step, column_step, true};
              for (std::size_t i = 0; i < grid.count(); ++i) {
                const TileGrid::Tile t = grid.tile(i);
                gemm_tile(kernel, batch.args(), t.row, t.row_end, t.column, t.column_end);
              }
              CHECK(std::equal(alone.c.begin(), alone.c.begin() + 150,
                               batch.c.begin() + static_cast<std::ptrdiff_t>(place * batch.ldc), same_bits));
            }
          }
        }
      }
    }
  });
}

TEST_CASE("gemm: packing reads any strides") {
  for_each_kernel([](const GemmKernel& kernel) {
    constexpr std::size_t k = 70, n = 37;
    const std::vector<float> rows = random_floats(k * n, 1);
    std::vector<float> columns(k * n), spread(2 * k * n + 5);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        columns[j * k + i] = rows[i * n + j];
        spread[5 + 2 * (i * n + (n - 1 - j))] = rows[i * n + j];
      }
    }
    const std::size_t size = packed_b_size(kernel, k, n);
    CHECK(size == (n + kernel.nr - 1) / kernel.nr * kernel.nr * k);
    std::vector<float> a(size, kNan), b(size, kNan), c(size, kNan);
    pack_b(kernel, k, n, rows.data(), n, 1, a.data());
    pack_b(kernel, k, n, columns.data(), 1, k, b.data(), 1, (n + kernel.nr - 1) / kernel.nr);
    pack_b(kernel, k, n, columns.data(), 1, k, b.data(), 0, 1);
    pack_b(kernel, k, n, spread.data() + 5 + 2 * (n - 1), 2 * n, -2, c.data());
    CHECK(a == b);
    CHECK(a == c);
    CHECK(a[kernel.nr] == rows[n]);
    CHECK(a.back() == 0.0f);
  });
}

TEST_CASE("tile grids cover every element once") {
  for_each_kernel([](const GemmKernel& kernel) {
    for (const std::size_t m : {1, 7, 49, 200, 3136}) {
      for (const std::size_t n : {1, 16, 17, 300, 1000}) {
        for (const std::size_t k : {1, 64, 5000}) {
          for (const std::size_t threads : {1, 2, 8}) {
            const TileGrid grid = gemm_tiles(kernel, m, n, k, threads);
            std::size_t covered = 0;
            std::size_t bad = 0;
            for (std::size_t i = 0; i < grid.count(); ++i) {
              const TileGrid::Tile t = grid.tile(i);
              bad += t.row >= t.row_end || t.column >= t.column_end || t.column % kernel.nr != 0;
              covered += (t.row_end - t.row) * (t.column_end - t.column);
            }
            CHECK(covered == m * n);
            CHECK(bad == 0);
          }
        }
      }
    }
    CHECK(gemm_tiles(kernel, 3136, 64, 576, 2).count() >= 4);
    CHECK(gemm_tiles(kernel, 1, 4096, 4096, 2).count() >= 4);
    CHECK(gemm_tiles(kernel, 4, 4, 4, 8).count() == 1);
  });
}

}  // namespace
}  // namespace jitney::kernels
