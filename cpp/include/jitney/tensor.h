// Dtypes, shapes, and tensors: a view that borrows memory and a tensor that owns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jitney/export.h"

namespace jitney {

/// Element types. The numbers are those of ONNX's TensorProto.DataType, so that files and bindings need no table.
/// Types narrower than a byte occupy one byte per element in memory.
enum class DType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,  // named so that messages can name it; no tensor of strings can exist at run time
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

/// Bytes that one element occupies in memory; 0 for `undefined` and `string`.
JITNEY_API std::size_t size_of(DType dtype) noexcept;
/// Name as in NumPy where NumPy has one, e.g. "float32", "bool", "bfloat16".
JITNEY_API std::string_view to_string(DType dtype) noexcept;

/// Highest rank that any tensor may have.
inline constexpr std::size_t kMaxRank = 12;

/// A short list of int64, used for dims and for strides. Never allocates; throws Error beyond kMaxRank.
class JITNEY_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);
  /// `rank` entries that all equal `fill`.
  Shape(std::size_t rank, std::int64_t fill);

  std::size_t size() const noexcept { return rank_; }
  bool empty() const noexcept { return rank_ == 0; }
  std::int64_t& operator[](std::size_t i) noexcept { return dims_[i]; }
  std::int64_t operator[](std::size_t i) const noexcept { return dims_[i]; }
  std::int64_t* begin() noexcept { return dims_.data(); }
  std::int64_t* end() noexcept { return dims_.data() + rank_; }
  const std::int64_t* begin() const noexcept { return dims_.data(); }
  const std::int64_t* end() const noexcept { return dims_.data() + rank_; }
  std::int64_t back() const noexcept { return dims_[rank_ - 1]; }
  std::span<const std::int64_t> span() const noexcept { return {dims_.data(), rank_}; }
  void push_back(std::int64_t dim);
  void resize(std::size_t rank, std::int64_t fill = 0);
  bool operator==(const Shape& other) const noexcept;

  /// Product of all entries (1 for a scalar); throws Error if it overflows 63 bits or an entry is negative.
  std::int64_t elements() const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::uint8_t rank_ = 0;
};

/// "[1, 3, 224, 224]"
JITNEY_API std::string to_string(const Shape& shape);
/// Strides, in elements, of a dense row-major tensor.
JITNEY_API Shape dense_strides(const Shape& shape);

/// Borrowed memory with a type, a shape and strides (in elements; they may be 0 or negative).
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::undefined;
  Shape shape;
  Shape strides;

  template <typename T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

/// A dense row-major tensor that owns its 64-byte aligned memory. Moves, and copies by sharing nothing.
class JITNEY_API Tensor {
 public:
  Tensor() = default;
  /// Allocates without clearing; throws Error(out_of_memory) if the size overflows or cannot be had.
  Tensor(DType dtype, Shape shape);
  Tensor(const Tensor& other);
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor other) noexcept;
  ~Tensor() = default;

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const;
  void* data() noexcept { return data_.get(); }
  const void* data() const noexcept { return data_.get(); }
  /// Elements as T; throws Error if T does not have the dtype's size.
  template <typename T>
  std::span<T> span() {
    check_element(sizeof(T));
    return {static_cast<T*>(data()), static_cast<std::size_t>(elements())};
  }
  template <typename T>
  std::span<const T> span() const {
    check_element(sizeof(T));
    return {static_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  TensorView view() const;

 private:
  void check_element(std::size_t bytes) const;

  struct Free {
    void operator()(void* p) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  DType dtype_ = DType::undefined;
  Shape shape_;
};

}  // namespace jitney
