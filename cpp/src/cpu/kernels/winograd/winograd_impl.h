// Winograd's transforms, written once for whichever V was included before. Included by f32_winograd_*.cpp only.
//
// Along one axis results come in pairs that share what they are made of. The transforms of inputs and weights take a pair of rows
// at a time, from what they load again for each, so that what is between the two axes stays in 16 registers.
#pragma once

#include <iterator>
#include <numbers>
#include <type_traits>
#include <utility>

#include "cpu/kernels/winograd/winograd.h"

namespace jitney::kernels {
namespace {

/// F(4, 3) along one axis. `at(i)` is element i of what is transformed.
struct Tile4 {
  static constexpr std::size_t kTile = 4, kReach = 6;
  static constexpr float kA = std::numbers::sqrt2_v<float> / 2, kB = std::numbers::sqrt2_v<float>;  // the points
  // The products of their distances to the others.
  static constexpr float kScaleA = static_cast<float>(-1 / 1.5), kScaleB = static_cast<float>(1 / 6.0);

  static constexpr std::size_t kPoints[][2] = {{0, 5}, {1, 2}, {3, 4}};
  /// Bᵀ·d
  template <std::size_t kPair, typename At>
  static void input(At at, V& first, V& second) {
    if constexpr (kPair == 0) {
      first = fma(at(2), set(-2.5f), at(0)) + at(4);
      second = fma(at(3), set(-2.5f), at(1)) + at(5);
    } else {
      constexpr float kPoint = kPair == 1 ? kA : kB, kSquare = kPair == 1 ? -2.0f : -0.5f;
      const V even = fma(at(2), set(kSquare), at(4)), odd = fma(at(1), set(kSquare), at(3));
      first = fma(odd, set(kPoint), even);
      second = fma(odd, set(-kPoint), even);
    }
  }
  /// G·g
  template <std::size_t kPair, typename At>
  static void weights(At at, V& first, V& second) {
    if constexpr (kPair == 0) {
      first = at(0);
      second = at(2);
    } else {
      constexpr float kPoint = kPair == 1 ? kA : kB, kSquare = kPair == 1 ? 0.5f : 2.0f;
      const V even = fma(at(2), set(kSquare), at(0)), odd = at(1);
      first = fma(odd, set(kPoint), even);
      second = fma(odd, set(-kPoint), even);
    }
  }

  static constexpr std::size_t kResults[][2] = {{0, 2}, {1, 3}};
  /// Aᵀ·s
  template <std::size_t kPair, typename At>
  static void output(At at, V& first, V& second) {
    if constexpr (kPair == 0) {
      const V a = at(1) + at(2), b = at(3) + at(4);
      first = fma(b, set(kScaleB), fma(a, set(kScaleA), at(0)));
      second = fma(b, set(kScaleB * 2), a * set(kScaleA / 2));
    } else {
      const V a = at(1) - at(2), b = at(3) - at(4);
      first = fma(b, set(kScaleB * kB), a * set(kScaleA * kA));
      second = fma(b, set(kScaleB * 2 * kB), fma(a, set(kScaleA / 2 * kA), at(5)));
    }
  }
};

/// F(2, 3) along one axis, with the points 0, ±1 and infinity.
struct Tile2 {
  static constexpr std::size_t kTile = 2, kReach = 4;

  static constexpr std::size_t kPoints[][2] = {{0, 3}, {1, 2}};
  template <std::size_t kPair, typename At>
  static void input(At at, V& first, V& second) {
    if constexpr (kPair == 0) {
      first = at(0) - at(2);
      second = at(3) - at(1);
    } else {
      const V even = at(2), odd = at(1);
      first = even + odd;
      second = even - odd;
    }
  }
  template <std::size_t kPair, typename At>
  static void weights(At at, V& first, V& second) {
    if constexpr (kPair == 0) {
      first = at(0);
      second = at(2);
    } else {
      const V even = at(0) + at(2), odd = at(1);
      first = even + odd;
      second = even - odd;
    }
  }

  static constexpr std::size_t kResults[][2] = {{0, 1}};
  template <std::size_t kPair, typename At>
  static void output(At at, V& first, V& second) {
    first = fma(at(1) + at(2), set(0.5f), at(0));
    second = fma(at(1) - at(2), set(0.5f), at(3));
  }
};

template <std::size_t... kIndex, typename Body>
inline void for_each_index(std::index_sequence<kIndex...>, Body body) {
  (body(std::integral_constant<std::size_t, kIndex>{}), ...);
}
template <std::size_t kCount, typename Body>
inline void unrolled(Body body) {
  for_each_index(std::make_index_sequence<kCount>{}, body);
}

template <typename Tile>
void winograd_input(const float* const* pixels, std::size_t channels, float* v, std::size_t point_stride,
                    std::size_t vector_stride) {
  constexpr std::size_t kReach = Tile::kReach;
  const bool apart = vector_stride != kLanes;  // the last vector has a place of its own
  for_each_vector(channels, [&](std::size_t c, auto part) {
    unrolled<std::size(Tile::kPoints)>([&](auto rows) {
      V line[2][kReach];
      unrolled<kReach>([&](auto j) {
        const auto at = [&](std::size_t i) { return part.load(pixels[kReach * i + j] + c); };
        Tile::template input<rows>(at, line[0][j], line[1][j]);
      });
      unrolled<2>([&](auto half) {
        float* to = v + Tile::kPoints[rows][half] * kReach * point_stride;
        unrolled<std::size(Tile::kPoints)>([&](auto columns) {
          V first, second;
          Tile::template input<columns>([&](std::size_t j) { return line[half][j]; }, first, second);
          const auto keep = [&](std::size_t point, V value) {
            if (apart) {
              store(to + point * point_stride, value);
            } else {
              part.store(to + point * point_stride, value);
            }
          };
          keep(Tile::kPoints[columns][0], first);
          keep(Tile::kPoints[columns][1], second);
        });
      });
    });
    v += vector_stride;
  });
}

template <typename Tile>
void winograd_weights(const float* w, std::size_t tap_stride, std::size_t count, float* u, std::size_t point_stride) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    unrolled<std::size(Tile::kPoints)>([&](auto rows) {
      V line[2][3];
      unrolled<3>([&](auto j) {
        const auto at = [&](std::size_t k) { return load(w + i + (3 * k + j) * tap_stride); };
        Tile::template weights<rows>(at, line[0][j], line[1][j]);
      });
      unrolled<2>([&](auto half) {
        float* to = u + Tile::kPoints[rows][half] * Tile::kReach * point_stride + i;
        unrolled<std::size(Tile::kPoints)>([&](auto columns) {
          V first, second;
          Tile::template weights<columns>([&](std::size_t j) { return line[half][j]; }, first, second);
          store(to + Tile::kPoints[columns][0] * point_stride, first);
          store(to + Tile::kPoints[columns][1] * point_stride, second);
        });
      });
    });
  }
}

/// Aᵀ·s, all of it.
template <typename Tile, typename At>
inline void restore(At at, V (&y)[Tile::kTile]) {
  unrolled<std::size(Tile::kResults)>(
      [&](auto pair) { Tile::template output<pair>(at, y[Tile::kResults[pair][0]], y[Tile::kResults[pair][1]]); });
}

template <typename Tile>
void winograd_output(const WinogradTileOutput& given) {
  constexpr std::size_t kTile = Tile::kTile, kReach = Tile::kReach;
  const WinogradTileOutput tile = given;  // a copy that y cannot overlap, so that its fields stay in registers
  const V low = set(tile.clamp.low), high = set(tile.clamp.high);
  for_each_vector(tile.columns, [&](std::size_t c, auto part) {
    const V bias = tile.bias != nullptr ? part.load(tile.bias + c) : zero();
    V lines[kReach][kTile];  // [column][row], restored along the height
    // Not unrolled: the addresses of all points at once would not fit into registers.
    const float* sums = tile.sums + c;
    for (std::size_t j = 0; j < kReach; ++j, sums += tile.point_stride)
      restore<Tile>([&](std::size_t i) { return load(sums + kReach * i * tile.point_stride); }, lines[j]);
    float* to = tile.y + c;
    const float* residual = tile.residual == nullptr ? nullptr : tile.residual + c;
    for (std::size_t i = 0; i < tile.rows; ++i, to += tile.row_stride) {
      V y[kTile];
      restore<Tile>([&](std::size_t j) { return lines[j][i]; }, y);
      unrolled<kTile>([&](auto j) {
        if (j >= tile.across) return;
        V x = y[j] + bias;
        if (residual != nullptr) x = x + part.load(residual + static_cast<std::ptrdiff_t>(j) * tile.residual_pixel_stride);
        part.store(to + static_cast<std::ptrdiff_t>(j) * tile.pixel_stride, at_most(at_least(x, low), high));
      });
      if (residual != nullptr) residual += tile.residual_row_stride;
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
