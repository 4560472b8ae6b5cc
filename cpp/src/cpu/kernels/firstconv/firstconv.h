// Convolution of images of few channels (a network's first layer) in float32, reading the image as it lies: planar, interleaved
// or with any strides, as floats or as bytes.
//
// The rows that an output row sees are brought to a small ring of scratch rows, as floats, shifted if asked for, with zeros
// where the image ends; the register tile then broadcasts from there. Each output is one chain of multiply-adds over the
// kernel's positions (depth, height, width) and, within a position, the channels, padding included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"
#include "cpu/kernels/conv/conv.h"

namespace jitney::kernels {

inline constexpr std::size_t kMostFirstChannels = 4;

/// Whole register tiles of one output row for one block of filters.
struct FirstTiles {
  const float* const* taps = nullptr;  // per tap: its input for the first pixel
  std::size_t k = 0;                   // taps times channels
  std::ptrdiff_t offset = 0;           // of the first tile from there
  std::ptrdiff_t pixel_step = 0;       // between the inputs of neighbouring pixels
  const float* w = nullptr;            // [k][filters of the block]
  std::size_t tiles = 0;
  float* y = nullptr;
  std::ptrdiff_t y_stride = 0;  // between pixels
  const float* bias = nullptr;  // one per filter, or null
  Clamp clamp = kNoClamp;
};
/// y = clamp(sum + bias).
using FirstTilesKernel = void (*)(const FirstTiles& run);

/// The shifts of channels that lie interleaved, repeated so that a vector can be loaded at each of the first 12 places.
inline constexpr std::size_t kShiftPeriod = 12;  // a multiple of all numbers of channels
inline constexpr std::size_t kShiftTable = kShiftPeriod + 16;
/// to[i] = from[i] + shifts[i mod kShiftPeriod].
using ShiftFloats = void (*)(const float* from, std::size_t n, const float* shifts, float* to);
using ShiftBytes = void (*)(const std::uint8_t* from, std::size_t n, const float* shifts, float* to);

inline constexpr std::size_t kMostFirstVectors = 4;

struct FirstConvKernel {
  const char* name;
  Isa isa;
  std::size_t lanes;
  std::size_t most_vectors;                   // of filters in a block
  std::size_t pixels[kMostFirstVectors];      // of a tile with so many vectors, less one
  FirstTilesKernel tiles[kMostFirstVectors];  // null beyond most_vectors
  ShiftFloats floats;
  ShiftBytes bytes;
  EpilogueKernel epilogue;
};

std::span<const FirstConvKernel* const> firstconv_kernels() noexcept;
/// The best one that may run at this level: the widest vectors, unless narrower ones leave fewer lanes empty.
const FirstConvKernel& firstconv_kernel(Isa active, std::size_t filters) noexcept;

enum class PixelType : std::uint8_t { float32, uint8 };

/// One convolution without groups. Strides of memory (of `geometry`, too) count elements of the input's type; they may be
/// negative.
struct FirstConvArgs {
  ConvGeometry geometry;
  std::size_t channels = 0;  // 1 … kMostFirstChannels
  std::ptrdiff_t channel_stride = 0;
  std::size_t filters = 0;
  PixelType type = PixelType::float32;
  const void* input = nullptr;   // channel 0 at pixel (0,0,0) of image 0
  const float* shift = nullptr;  // one per channel, added to what lies in the image (not to its padding); null: none
  const float* weights = nullptr;
  float* output = nullptr;  // pixel p of the batch at output + p·output_stride
  std::ptrdiff_t output_stride = 0;
  Epilogue epilogue;
};

/// Floats that packed weights take.
std::size_t packed_firstconv_size(const FirstConvKernel& kernel, std::size_t taps, std::size_t channels,
                                  std::size_t filters) noexcept;
/// Packs weights to blocks of filters, [block][taps][channels][filters of the block], zeros in the padding.
void pack_firstconv(const FirstConvKernel& kernel, const Spatial& size, std::size_t channels, std::size_t filters,
                    const FilterWeights& w, float* packed) noexcept;

/// Whether the rows that an output row sees, and the weights, stay in cache: beyond that, other ways are faster.
bool firstconv_fits(const ConvGeometry& geometry, std::size_t channels, std::size_t filters) noexcept;
/// Rows of the grid are output rows (batch·depth·height of them), columns are pixels along the width.
TileGrid firstconv_tiles(const FirstConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels, std::size_t filters,
                         std::size_t threads) noexcept;
/// Bytes of scratch (64-byte aligned) that firstconv_tile needs for any tile of this grid. One per worker.
std::size_t firstconv_scratch(const FirstConvKernel& kernel, const ConvGeometry& geometry, std::size_t channels,
                              const TileGrid& grid) noexcept;
/// Computes output rows [r0, r1), their pixels [x0, x1), all filters.
void firstconv_tile(const FirstConvKernel& kernel, const FirstConvArgs& args, std::size_t r0, std::size_t r1, std::size_t x0,
                    std::size_t x1, void* scratch) noexcept;

}  // namespace jitney::kernels
