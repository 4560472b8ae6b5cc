// Convolutions that feed one another, computed in bands of rows: what lies between them stays in a few rows of scratch.
#pragma once

#include <array>
#include <cstddef>

#include "cpu/kernels/conv/conv.h"
#include "cpu/kernels/dwconv/dwconv.h"

namespace jitney::cpu {

inline constexpr std::size_t kMostLinks = 2;

/// One convolution of a chain: pointwise (a matrix product over pixels) or depthwise (by sliding).
struct ChainLink {
  bool depthwise = false;
  kernels::ConvGeometry geometry;  // of one image; strides of memory count for the first link only
  std::size_t channels = 0;        // of the input
  std::size_t filters = 0;
  // Its output, for all links but the last: so many rows, one after the other and then again from the first.
  std::size_t kept_rows = 0;
  std::ptrdiff_t pixel = 0;     // floats between pixels
  std::size_t rows_at = 0;      // bytes from the beginning of the scratch
  std::size_t pointers_at = 0;  // the same for pointers to all its rows

  std::ptrdiff_t rows_out() const noexcept { return geometry.output[1]; }
  std::ptrdiff_t columns_out() const noexcept { return geometry.output[2]; }
  /// The input rows [first, end) that output rows [first, end) need.
  std::ptrdiff_t first_input(std::ptrdiff_t row) const noexcept;
  std::ptrdiff_t end_input(std::ptrdiff_t end) const noexcept;
};

/// A chain with its scratch laid out. Results are the same bits as those of the links one by one.
class ConvChain {
 public:
  ConvChain() = default;
  /// Links in order. Sets what they keep.
  ConvChain(const ChainLink* links, std::size_t count);

  std::size_t count() const noexcept { return count_; }
  const ChainLink& link(std::size_t i) const noexcept { return links_[i]; }
  /// Rows of the result computed at a time.
  std::ptrdiff_t step() const noexcept { return step_; }
  /// Bytes for each worker, 64-byte aligned.
  std::size_t scratch() const noexcept { return scratch_; }

  struct Run {
    const float* x = nullptr;
    float* y = nullptr;
    std::ptrdiff_t y_stride = 0;  // between pixels
    std::array<const float*, kMostLinks> weights{};
    std::array<kernels::Epilogue, kMostLinks> epilogues;
  };
  /// Rows [first, end) of the result of one image.
  void run(const Run& run, std::ptrdiff_t image, std::ptrdiff_t first, std::ptrdiff_t end, std::byte* scratch) const;

 private:
  class Band;

  std::array<ChainLink, kMostLinks> links_;
  std::size_t count_ = 0;
  std::ptrdiff_t step_ = 1;
  std::size_t scratch_ = 0;
  const kernels::GemmKernel* gemm_ = nullptr;
  const kernels::DwConvKernel* depthwise_ = nullptr;
};

}  // namespace jitney::cpu
