// Winograd's transforms, written once for whichever V was included before. Included by f32_winograd_*.cpp only.
#pragma once

#include <numbers>

#include "cpu/kernels/winograd/winograd.h"

namespace jitney::kernels {
namespace {

/// F(4, 3) along one axis.
struct Tile4 {
  static constexpr std::size_t kTile = 4, kReach = 6;
  static constexpr float kA = std::numbers::sqrt2_v<float> / 2, kB = std::numbers::sqrt2_v<float>;  // the points
  // The products of their distances to the others.
  static constexpr float kScaleA = static_cast<float>(-1 / 1.5), kScaleB = static_cast<float>(1 / 6.0);

  /// Bᵀ·d
  static void input(const V (&d)[kReach], V (&t)[kReach]) {
    const V even_a = fma(d[2], set(-2.0f), d[4]), odd_a = fma(d[1], set(-2.0f), d[3]);
    const V even_b = fma(d[2], set(-0.5f), d[4]), odd_b = fma(d[1], set(-0.5f), d[3]);
    t[0] = fma(d[2], set(-2.5f), d[0]) + d[4];
    t[1] = fma(odd_a, set(kA), even_a);
    t[2] = fma(odd_a, set(-kA), even_a);
    t[3] = fma(odd_b, set(kB), even_b);
    t[4] = fma(odd_b, set(-kB), even_b);
    t[5] = fma(d[3], set(-2.5f), d[1]) + d[5];
  }
  /// G·g
  static void weights(const V (&g)[3], V (&u)[kReach]) {
    const V even_a = fma(g[2], set(0.5f), g[0]), even_b = fma(g[2], set(2.0f), g[0]);
    u[0] = g[0];
    u[1] = fma(g[1], set(kA), even_a);
    u[2] = fma(g[1], set(-kA), even_a);
    u[3] = fma(g[1], set(kB), even_b);
    u[4] = fma(g[1], set(-kB), even_b);
    u[5] = g[2];
  }
  /// Aᵀ·s
  static void output(const V (&s)[kReach], V (&y)[kTile]) {
    const V sum_a = s[1] + s[2], difference_a = s[1] - s[2];
    const V sum_b = s[3] + s[4], difference_b = s[3] - s[4];
    y[0] = fma(sum_b, set(kScaleB), fma(sum_a, set(kScaleA), s[0]));
    y[1] = fma(difference_b, set(kScaleB * kB), difference_a * set(kScaleA * kA));
    y[2] = fma(sum_b, set(kScaleB * 2), sum_a * set(kScaleA / 2));
    y[3] = fma(difference_b, set(kScaleB * 2 * kB), fma(difference_a, set(kScaleA / 2 * kA), s[5]));
  }
};

/// F(2, 3) along one axis, with the points 0, ±1 and infinity.
struct Tile2 {
  static constexpr std::size_t kTile = 2, kReach = 4;

  static void input(const V (&d)[kReach], V (&t)[kReach]) {
    t[0] = d[0] - d[2];
    t[1] = d[2] + d[1];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
  }
  static void weights(const V (&g)[3], V (&u)[kReach]) {
    const V even = g[0] + g[2];
    u[0] = g[0];
    u[1] = even + g[1];
    u[2] = even - g[1];
    u[3] = g[2];
  }
  static void output(const V (&s)[kReach], V (&y)[kTile]) {
    y[0] = fma(s[1] + s[2], set(0.5f), s[0]);
    y[1] = fma(s[1] - s[2], set(0.5f), s[3]);
  }
};

template <typename Tile>
void winograd_input(const float* const* pixels, std::size_t channels, float* v, std::size_t point_stride) {
  constexpr std::size_t kReach = Tile::kReach;
  for_each_vector(channels, [&](std::size_t c, auto part) {
    V lines[kReach][kReach];  // [column][row], transformed along the height
    for (std::size_t j = 0; j < kReach; ++j) {
      V d[kReach];
#pragma GCC unroll 6
      for (std::size_t i = 0; i < kReach; ++i) d[i] = part.load(pixels[kReach * i + j] + c);
      Tile::input(d, lines[j]);
    }
    float* to = v + c;
    for (std::size_t i = 0; i < kReach; ++i) {
      V d[kReach], t[kReach];
#pragma GCC unroll 6
      for (std::size_t j = 0; j < kReach; ++j) d[j] = lines[j][i];
      Tile::input(d, t);
#pragma GCC unroll 6
      for (std::size_t j = 0; j < kReach; ++j, to += point_stride) part.store(to, t[j]);
    }
  });
}

template <typename Tile>
void winograd_weights(const float* w, std::size_t tap_stride, std::size_t count, float* u, std::size_t point_stride) {
  constexpr std::size_t kReach = Tile::kReach;
  for (std::size_t i = 0; i < count; i += kLanes) {
    V lines[3][kReach];  // [column][row], transformed along the height
#pragma GCC unroll 3
    for (std::size_t j = 0; j < 3; ++j) {
      const V g[3] = {load(w + i + j * tap_stride), load(w + i + (3 + j) * tap_stride), load(w + i + (6 + j) * tap_stride)};
      Tile::weights(g, lines[j]);
    }
    float* to = u + i;
#pragma GCC unroll 6
    for (std::size_t k = 0; k < kReach; ++k) {
      const V g[3] = {lines[0][k], lines[1][k], lines[2][k]};
      V t[kReach];
      Tile::weights(g, t);
#pragma GCC unroll 6
      for (std::size_t j = 0; j < kReach; ++j, to += point_stride) store(to, t[j]);
    }
  }
}

template <typename Tile>
void winograd_output(const WinogradTileOutput& given) {
  constexpr std::size_t kTile = Tile::kTile, kReach = Tile::kReach;
  const WinogradTileOutput tile = given;  // a copy that y cannot overlap, so that its fields stay in registers
  const V low = set(tile.clamp.low), high = set(tile.clamp.high);
  for_each_vector(tile.columns, [&](std::size_t c, auto part) {
    V lines[kReach][kTile];  // [column][row], restored along the height
    for (std::size_t j = 0; j < kReach; ++j) {
      V s[kReach];
#pragma GCC unroll 6
      for (std::size_t i = 0; i < kReach; ++i) s[i] = load(tile.sums + (kReach * i + j) * tile.point_stride + c);
      Tile::output(s, lines[j]);
    }
    const V bias = tile.bias != nullptr ? part.load(tile.bias + c) : zero();
    for (std::size_t i = 0; i < tile.rows; ++i) {
      V s[kReach], y[kTile];
#pragma GCC unroll 6
      for (std::size_t j = 0; j < kReach; ++j) s[j] = lines[j][i];
      Tile::output(s, y);
      float* to = tile.y + static_cast<std::ptrdiff_t>(i) * tile.row_stride + c;
      const float* residual = tile.residual;
      if (residual != nullptr)
        residual += static_cast<std::ptrdiff_t>(i) * tile.residual_row_stride + static_cast<std::ptrdiff_t>(c);
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kTile; ++j) {
        if (j >= tile.across) break;
        V x = y[j] + bias;
        if (residual != nullptr) x = x + part.load(residual + static_cast<std::ptrdiff_t>(j) * tile.residual_pixel_stride);
        part.store(to + static_cast<std::ptrdiff_t>(j) * tile.pixel_stride, at_most(at_least(x, low), high));
      }
    }
  });
}

template <typename Tile>
constexpr WinogradKernel winograd_of(const char* name, Isa isa) {
  return {name,
          isa,
          kLanes,
          static_cast<std::ptrdiff_t>(Tile::kTile),
          winograd_input<Tile>,
          winograd_weights<Tile>,
          winograd_output<Tile>};
}

}  // namespace
}  // namespace jitney::kernels
