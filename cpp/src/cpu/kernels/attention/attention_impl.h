// Softening of scores, products of single rows and packing, written once for whichever V was included before. Included by
// f32_attention_*.cpp only.
#pragma once

#include <limits>

#include "cpu/kernels/attention/attention.h"

namespace jitney::kernels {
namespace {

template <typename Join>
inline float across(V v, Join join) {
  alignas(64) float lanes[kLanes];
  store(lanes, v);
  for (std::size_t width = kLanes / 2; width != 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] = join(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

inline float sum_of(V v) {
  return across(v, [](float a, float b) { return a + b; });
}

inline float first_of(V v) {
  alignas(64) float lanes[kLanes];
  store(lanes, v);
  return lanes[0];
}

/// A NaN among them may be lost: its own power will be NaN.
inline float largest(std::size_t n, const float* x) {
  V top = load(x);
  for (std::size_t i = kLanes; i < n; i += kLanes) top = at_least(load(x + i), top);
  return across(top, [](float a, float b) { return a > b ? a : b; });
}

/// Adds the bias to a row of scores, up to a whole number of vectors, and replaces those that the mask hides.
inline void shift_and_hide(const SoftenArgs& a, std::ptrdiff_t row, std::size_t padded, float* x) {
  if (a.bias != nullptr) {
    const float* bias = a.bias + row * a.bias_row;
    if (a.bias_key == 0) {
      for (std::size_t i = 0; i < padded; i += kLanes) store(x + i, load(x + i) + set(*bias));
    } else {
      for_each_vector(a.keys, [&](std::size_t i, auto part) { store(x + i, load(x + i) + part.load(bias + i)); });
    }
  }
  if (a.mask == nullptr) return;
  const std::uint8_t* mask = a.mask + row * a.mask_row;
  if (a.mask_key == 1) {
    for (std::size_t i = 0; i < a.keys; ++i) x[i] = mask[i] != 0 ? x[i] : a.masked;
  } else if (*mask == 0) {
    for (std::size_t i = 0; i < a.keys; ++i) x[i] = a.masked;
  }
}

/// What powers are taken relative to. Where a row has seen no key yet, they are all to be 0, not those of -inf + inf.
inline float base_of(float top) { return top == -std::numeric_limits<float>::infinity() ? 0.0f : top; }

// All tops first: the powers of a row would have to wait for its own.
void soften(const SoftenArgs& a) {
  const std::size_t padded = (a.keys + kLanes - 1) / kLanes * kLanes;
  float* x = a.scores;
  for (std::size_t r = 0; r < a.rows; ++r, x += a.stride) {
    shift_and_hide(a, static_cast<std::ptrdiff_t>(r), padded, x);
    const float block_top = largest(padded, x), old = a.top[r];
    a.top[r] = block_top > old ? block_top : old;
    const float base = base_of(a.top[r]);
    a.factor[r] = old == base ? 1.0f : first_of(exp_decay(set(old - base)));
  }
  x = a.scores;
  for (std::size_t r = 0; r < a.rows; ++r, x += a.stride) {
    const V base = set(base_of(a.top[r]));
    V sum = zero();
    for (std::size_t i = 0; i < padded; i += kLanes) {
      const V power = exp_decay(load(x + i) - base);
      store(x + i, power);
      sum = sum + power;
    }
    a.sum[r] = a.sum[r] * static_cast<double>(a.factor[r]) + static_cast<double>(sum_of(sum));
  }
}

void score_row(std::size_t depth, const float* q, std::size_t keys, const float* k, std::ptrdiff_t k_row, float scale,
               float* scores) {
  std::size_t j = 0;
  for (; j + 4 <= keys; j += 4, k += 4 * k_row) {
    V a = zero(), b = zero(), c = zero(), d = zero();
    for_each_vector(depth, [&](std::size_t i, auto part) {
      const V x = part.load(q + i);
      a = fma(x, part.load(k + i), a);
      b = fma(x, part.load(k + k_row + i), b);
      c = fma(x, part.load(k + 2 * k_row + i), c);
      d = fma(x, part.load(k + 3 * k_row + i), d);
    });
    scores[j] = sum_of(a) * scale;
    scores[j + 1] = sum_of(b) * scale;
    scores[j + 2] = sum_of(c) * scale;
    scores[j + 3] = sum_of(d) * scale;
  }
  for (; j < keys; ++j, k += k_row) {
    V a = zero();
    for_each_vector(depth, [&](std::size_t i, auto part) { a = fma(part.load(q + i), part.load(k + i), a); });
    scores[j] = sum_of(a) * scale;
  }
}

void add_weighted(std::size_t keys, const float* weights, const float* v, std::ptrdiff_t v_row, std::size_t columns, float* y) {
  std::size_t c = 0;
  for (; c + 4 * kLanes <= columns; c += 4 * kLanes) {
    V s0 = load(y + c), s1 = load(y + c + kLanes), s2 = load(y + c + 2 * kLanes), s3 = load(y + c + 3 * kLanes);
    const float* row = v + c;
    for (std::size_t j = 0; j < keys; ++j, row += v_row) {
      const V weight = set(weights[j]);
      s0 = fma(weight, load(row), s0);
      s1 = fma(weight, load(row + kLanes), s1);
      s2 = fma(weight, load(row + 2 * kLanes), s2);
      s3 = fma(weight, load(row + 3 * kLanes), s3);
    }
    store(y + c, s0);
    store(y + c + kLanes, s1);
    store(y + c + 2 * kLanes, s2);
    store(y + c + 3 * kLanes, s3);
  }
  for_each_vector(columns - c, [&](std::size_t i, auto part) {
    V sum = part.load(y + c + i);
    const float* row = v + c + i;
    for (std::size_t j = 0; j < keys; ++j, row += v_row) sum = fma(set(weights[j]), part.load(row), sum);
    part.store(y + c + i, sum);
  });
}

void scale_run(std::size_t n, float factor, float* x) {
  const V by = set(factor);
  for_each_vector(n, [&](std::size_t i, auto part) { part.store(x + i, part.load(x + i) * by); });
}

void pack_rows(std::size_t k, std::size_t n, const float* from, std::ptrdiff_t row, std::size_t nr, float* to) {
  for (std::size_t first = 0; first < n; first += nr, from += nr) {
    const std::size_t used = n - first < nr ? n - first : nr;
    const float* source = from;
    for (std::size_t i = 0; i < k; ++i, source += row, to += nr) {
      std::size_t j = 0;
      for (; j + kLanes <= used; j += kLanes) store(to + j, load(source + j));
      if (j < used) {
        store(to + j, load_part(source + j, used - j));
        j += kLanes;
      }
      for (; j < nr; j += kLanes) store(to + j, zero());
    }
  }
}

}  // namespace
}  // namespace jitney::kernels
