// Moments and normalisation, written once for whichever V was included before. Included by f32_norm_*.cpp only.
#pragma once

#include <cmath>

#include "cpu/kernels/norm/norm.h"

namespace jitney::kernels {
namespace {

/// Numbers, and rows of columns, that are summed in float32 before they join the total in float64.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kRowBlock = 64;

/// Sum and sum of squares of what numbers differ from a centre.
struct Deviations {
  double sum = 0, squares = 0;
};

double sum_of(V v) {
  alignas(64) float lanes[kLanes];
  store(lanes, v);
  for (std::size_t width = kLanes / 2; width != 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return static_cast<double>(lanes[0]);
}

/// Σ over a row, where add(sum, numbers) adds what counts of each number.
template <typename Add>
double total_of_row(std::size_t n, const float* x, const Add& add) {
  double total = 0;
  while (n >= 4 * kLanes) {
    const std::size_t block = n < kBlock ? n / (4 * kLanes) * (4 * kLanes) : kBlock;
    V a = zero(), b = zero(), c = zero(), d = zero();
    for (std::size_t i = 0; i < block; i += 4 * kLanes) {
      a = add(a, load(x + i));
      b = add(b, load(x + i + kLanes));
      c = add(c, load(x + i + 2 * kLanes));
      d = add(d, load(x + i + 3 * kLanes));
    }
    total += sum_of((a + b) + (c + d));
    x += block;
    n -= block;
  }
  V rest = zero();
  for_each_vector(n, [&](std::size_t i, auto part) { rest = add(rest, part.load(x + i)); });
  return total + sum_of(rest);
}

double sum_row(std::size_t n, const float* x) {
  return total_of_row(n, x, [](V sum, V numbers) { return sum + numbers; });
}

double square_row(std::size_t n, const float* x) {
  return total_of_row(n, x, [](V sum, V numbers) { return fma(numbers, numbers, sum); });
}

Deviations deviations(std::size_t n, const float* x, float centre) {
  const V minus = set(centre);
  Deviations total;
  while (n >= 2 * kLanes) {
    const std::size_t block = n < kBlock ? n / (2 * kLanes) * (2 * kLanes) : kBlock;
    V a = zero(), b = zero(), p = zero(), q = zero();
    for (std::size_t i = 0; i < block; i += 2 * kLanes) {
      const V left = load(x + i) - minus, right = load(x + i + kLanes) - minus;
      a = fma(left, left, a);
      b = fma(right, right, b);
      p = p + left;
      q = q + right;
    }
    total.squares += sum_of(a + b);
    total.sum += sum_of(p + q);
    x += block;
    n -= block;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i] - centre);
    total.sum += d;
    total.squares += d * d;
  }
  return total;
}

struct Exact {
  float mean;
  double variance;
};

/// The moments from the deviations around a mean that is a few units off in the last place: where all numbers are alike, the
/// division by √ε would make an error of hundreds of units of that.
Exact corrected(float mean, const Deviations& around, std::size_t n) {
  const double count = static_cast<double>(n);
  const auto exact = static_cast<float>(static_cast<double>(mean) + around.sum / count);
  const double moved = static_cast<double>(exact) - static_cast<double>(mean);
  const double variance = (around.squares - 2 * moved * around.sum) / count + moved * moved;
  return {exact, variance < 0 ? 0 : variance};
}

float inverse_root(double variance, double epsilon) { return static_cast<float>(1.0 / std::sqrt(variance + epsilon)); }

// All rows' sums first: a row would have to wait for its own.
void row_moments(std::size_t rows, std::size_t n, const float* x, double epsilon, Moments* moments) {
  Deviations around[kNormRows];
  for (std::size_t r = 0; r < rows; ++r) moments[r].mean = static_cast<float>(sum_row(n, x + r * n) / static_cast<double>(n));
  for (std::size_t r = 0; r < rows; ++r) around[r] = deviations(n, x + r * n, moments[r].mean);
  for (std::size_t r = 0; r < rows; ++r) {
    const Exact exact = corrected(moments[r].mean, around[r], n);
    moments[r] = {exact.mean, inverse_root(exact.variance, epsilon)};
  }
}

void row_squares(std::size_t rows, std::size_t n, const float* x, double epsilon, Moments* moments) {
  double squares[kNormRows];
  for (std::size_t r = 0; r < rows; ++r) squares[r] = square_row(n, x + r * n);
  for (std::size_t r = 0; r < rows; ++r) moments[r] = {0.0f, inverse_root(squares[r] / static_cast<double>(n), epsilon)};
}

void shift_row(std::size_t n, const float* x, float mean, float factor, float bias, float* y) {
  const V minus = set(mean), by = set(factor), plus = set(bias);
  for_each_vector(n, [&](std::size_t i, auto part) { part.store(y + i, fma(part.load(x + i) - minus, by, plus)); });
}

void normalise_row(std::size_t n, const float* x, Moments moments, const float* scale, const float* bias, float* y) {
  const V mean = set(moments.mean), factor = set(moments.inv_std);
  for_each_vector(n, [&](std::size_t i, auto part) {
    V v = (part.load(x + i) - mean) * factor;
    if (scale != nullptr) v = v * part.load(scale + i);
    if (bias != nullptr) v = v + part.load(bias + i);
    part.store(y + i, v);
  });
}

void column_moments(std::size_t rows, std::ptrdiff_t row_stride, std::size_t columns, const float* x, float* mean,
                    double* variance) {
  const double count = static_cast<double>(rows);
  for_each_vector(columns, [&](std::size_t first, auto part) {
    const std::size_t used = columns - first < kLanes ? columns - first : kLanes;
    alignas(64) float lanes[2 * kLanes];
    double sums[kLanes] = {};
    const float* from = x + first;
    for (std::size_t done = 0; done < rows; done += kRowBlock) {
      const std::size_t some = rows - done < kRowBlock ? rows - done : kRowBlock;
      V sum = zero();
      for (std::size_t r = 0; r < some; ++r, from += row_stride) sum = sum + part.load(from);
      store(lanes, sum);
      for (std::size_t c = 0; c < used; ++c) sums[c] += static_cast<double>(lanes[c]);
    }
    for (std::size_t c = 0; c < used; ++c) mean[first + c] = static_cast<float>(sums[c] / count);
    const V centre = part.load(mean + first);
    Deviations around[kLanes];
    from = x + first;
    for (std::size_t done = 0; done < rows; done += kRowBlock) {
      const std::size_t some = rows - done < kRowBlock ? rows - done : kRowBlock;
      V sum = zero(), squares = zero();
      for (std::size_t r = 0; r < some; ++r, from += row_stride) {
        const V d = part.load(from) - centre;
        sum = sum + d;
        squares = fma(d, d, squares);
      }
      store(lanes, sum);
      store(lanes + kLanes, squares);
      for (std::size_t c = 0; c < used; ++c) {
        around[c].sum += static_cast<double>(lanes[c]);
        around[c].squares += static_cast<double>(lanes[kLanes + c]);
      }
    }
    for (std::size_t c = 0; c < used; ++c) {
      const Exact exact = corrected(mean[first + c], around[c], rows);
      mean[first + c] = exact.mean;
      variance[first + c] = exact.variance;
    }
  });
}

void normalise_columns(std::size_t rows, std::ptrdiff_t x_stride, std::ptrdiff_t y_stride, std::size_t columns, const float* x,
                       const float* mean, const float* factor, const float* bias, float* y) {
  for (std::size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
    for_each_vector(columns, [&](std::size_t c, auto part) {
      part.store(y + c, fma(part.load(x + c) - part.load(mean + c), part.load(factor + c), part.load(bias + c)));
    });
  }
}

}  // namespace
}  // namespace jitney::kernels
