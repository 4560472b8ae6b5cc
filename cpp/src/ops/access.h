// Elements of any dtype as double, int64 or uint64; walks over strided views; small operands as lists.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "jitney/tensor.h"

namespace jitney {

/// The type that a dtype's elements are computed in: float64 for floats, uint64 for uint64, int64 for all other integers and
/// bool.
enum class NumberClass : std::uint8_t { floating, integer, unsigned64, none };
NumberClass number_class(DType dtype) noexcept;
inline bool is_floating(DType dtype) noexcept { return number_class(dtype) == NumberClass::floating; }
/// Any integer type, bool excluded.
bool is_integer(DType dtype) noexcept;
bool is_signed_integer(DType dtype) noexcept;
/// Smallest and largest value of an integer type other than uint64 (bool: 0 and 1).
std::int64_t lowest_of(DType dtype) noexcept;
std::int64_t highest_of(DType dtype) noexcept;

/// Moves `count` elements between memory with any stride and a dense buffer. Loads and stores convert as ONNX's Cast does:
/// integers wrap; floats round half to even, and saturate on the narrow types that have a largest number but no infinity if
/// `saturate`; from float to integer the fraction is dropped, what does not fit becomes the nearest end of the range, NaN 0.
void load_run(DType dtype, const void* from, std::int64_t stride, std::size_t count, double* to);
void load_run(DType dtype, const void* from, std::int64_t stride, std::size_t count, std::int64_t* to);
void load_run(DType dtype, const void* from, std::int64_t stride, std::size_t count, std::uint64_t* to);
void store_run(DType dtype, void* to, std::int64_t stride, std::size_t count, const double* from, bool saturate = true);
void store_run(DType dtype, void* to, std::int64_t stride, std::size_t count, const std::int64_t* from, bool saturate = true);
void store_run(DType dtype, void* to, std::int64_t stride, std::size_t count, const std::uint64_t* from, bool saturate = true);

/// One element, at `offset` elements from the view's data.
template <typename T>
T load(const TensorView& view, std::int64_t offset) {
  T value;
  load_run(view.dtype, view.as<const std::byte>() + offset * static_cast<std::int64_t>(size_of(view.dtype)), 1, 1, &value);
  return value;
}
template <typename T>
void store(const TensorView& view, std::int64_t offset, T value) {
  store_run(view.dtype, view.as<std::byte>() + offset * static_cast<std::int64_t>(size_of(view.dtype)), 1, 1, &value);
}
inline double load_double(const TensorView& view, std::int64_t offset) { return load<double>(view, offset); }
inline std::int64_t load_int64(const TensorView& view, std::int64_t offset) { return load<std::int64_t>(view, offset); }
inline std::uint64_t load_uint64(const TensorView& view, std::int64_t offset) { return load<std::uint64_t>(view, offset); }
inline void store_double(const TensorView& view, std::int64_t offset, double value) { store(view, offset, value); }
inline void store_int64(const TensorView& view, std::int64_t offset, std::int64_t value) { store(view, offset, value); }
inline void store_uint64(const TensorView& view, std::int64_t offset, std::uint64_t value) { store(view, offset, value); }

/// Address of the element at `offset`.
inline std::byte* address(const TensorView& view, std::int64_t offset) noexcept {
  return view.as<std::byte>() + offset * static_cast<std::int64_t>(size_of(view.dtype));
}

/// All elements in row-major order.
std::vector<std::int64_t> read_integers(const TensorView& view);
std::vector<double> read_numbers(const TensorView& view);

/// Calls body with a value of the type that elements of this dtype are computed in.
template <typename Body>
void with_number_type(DType dtype, Body&& body) {
  switch (number_class(dtype)) {
    case NumberClass::floating:
      return body(double{});
    case NumberClass::integer:
      return body(std::int64_t{});
    case NumberClass::unsigned64:
      return body(std::uint64_t{});
    case NumberClass::none:
      return;
  }
}

/// A walk over the same index space in several strided operands at once. Axes of size 1 are dropped, and neighbouring axes that
/// every operand can walk as one are merged.
template <std::size_t N>
struct Walk {
  Shape sizes;
  std::array<Shape, N> strides;
  bool empty = false;
  std::int64_t run = 1;                       // length of the innermost axis
  std::array<std::int64_t, N> run_strides{};  // strides along it

  Walk(const Shape& shape, const std::array<Shape, N>& operand_strides) {
    Shape kept;
    std::array<Shape, N> kept_strides;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 0) empty = true;
      if (shape[axis] == 1) continue;
      bool merges = !kept.empty();
      for (std::size_t k = 0; merges && k < N; ++k) merges = kept_strides[k].back() == operand_strides[k][axis] * shape[axis];
      if (merges) {
        kept[kept.size() - 1] *= shape[axis];
      } else {
        kept.push_back(shape[axis]);
        for (std::size_t k = 0; k < N; ++k) kept_strides[k].push_back(0);
      }
      for (std::size_t k = 0; k < N; ++k) kept_strides[k][kept.size() - 1] = operand_strides[k][axis];
    }
    if (!kept.empty()) {
      run = kept.back();
      kept.resize(kept.size() - 1);
      for (std::size_t k = 0; k < N; ++k) {
        run_strides[k] = kept_strides[k].back();
        kept_strides[k].resize(kept.size());
      }
    }
    sizes = kept;
    strides = kept_strides;
  }

  /// Calls body(offsets) for the start of every innermost run, in row-major order.
  template <typename Body>
  void for_each_run(Body&& body) const {
    if (empty) return;
    Shape index(sizes.size(), 0);
    std::array<std::int64_t, N> offsets{};
    while (true) {
      body(static_cast<const std::array<std::int64_t, N>&>(offsets));
      std::size_t axis = sizes.size();
      while (axis > 0) {
        --axis;
        for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][axis];
        if (++index[axis] < sizes[axis]) break;
        for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][axis] * sizes[axis];
        index[axis] = 0;
        if (axis == 0) return;
      }
      if (sizes.empty()) return;
    }
  }

  /// Calls body(offsets) for every element, in row-major order.
  template <typename Body>
  void for_each(Body&& body) const {
    for_each_run([&](std::array<std::int64_t, N> offsets) {
      for (std::int64_t i = 0; i < run; ++i) {
        body(static_cast<const std::array<std::int64_t, N>&>(offsets));
        for (std::size_t k = 0; k < N; ++k) offsets[k] += run_strides[k];
      }
    });
  }

  /// Calls body(offsets, count) for pieces of runs of at most `kPiece` elements, for kernels that work through buffers.
  static constexpr std::int64_t kPiece = 256;
  template <typename Body>
  void for_each_piece(Body&& body) const {
    for_each_run([&](std::array<std::int64_t, N> offsets) {
      for (std::int64_t done = 0; done < run; done += kPiece) {
        const std::int64_t count = std::min(kPiece, run - done);
        body(static_cast<const std::array<std::int64_t, N>&>(offsets), static_cast<std::size_t>(count));
        for (std::size_t k = 0; k < N; ++k) offsets[k] += run_strides[k] * count;
      }
    });
  }
};

/// A walk whose order does not matter: along the memory of the last operand, so that most axes merge however they lie.
template <std::size_t N>
Walk<N> memory_order_walk(const Shape& shape, const std::array<Shape, N>& strides) {
  std::array<std::size_t, kMaxRank> axes{};
  const auto stride = [&](std::size_t axis) { return std::abs(strides[N - 1][axis]); };
  for (std::size_t i = 0; i < shape.size(); ++i) {  // insertion sort: stable, and allocates nothing
    std::size_t at = i;
    for (; at > 0 && stride(axes[at - 1]) < stride(i); --at) axes[at] = axes[at - 1];
    axes[at] = i;
  }
  Shape sizes;
  std::array<Shape, N> permuted;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    sizes.push_back(shape[axes[i]]);
    for (std::size_t k = 0; k < N; ++k) permuted[k].push_back(strides[k][axes[i]]);
  }
  return Walk<N>(sizes, permuted);
}

/// Strides with which `view` is walked when it broadcasts to `shape`.
Shape broadcast_strides(const TensorView& view, const Shape& shape);

}  // namespace jitney
