// The tensor that owns its memory.
#include <cstring>
#include <utility>

#include "base/aligned.h"
#include "base/checked.h"
#include "jitney/error.h"
#include "jitney/tensor.h"

namespace jitney {

namespace {

std::size_t checked_bytes(DType dtype, const Shape& shape) {
  const std::size_t element = size_of(dtype);
  if (element == 0) {
    throw Error(ErrorCode::invalid_input, "a tensor cannot have dtype " + std::string(to_string(dtype)));
  }
  const auto bytes = checked_mul(static_cast<std::uint64_t>(shape.elements()), std::uint64_t{element});
  if (!bytes || *bytes > static_cast<std::uint64_t>(PTRDIFF_MAX)) {
    throw Error(ErrorCode::out_of_memory,
                "a tensor of " + std::string(to_string(dtype)) + " " + to_string(shape) + " exceeds the address space");
  }
  return static_cast<std::size_t>(*bytes);
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape) : data_(allocate_aligned(checked_bytes(dtype, shape))), dtype_(dtype), shape_(shape) {}

Tensor::Tensor(const Tensor& other) {
  if (!other.data_) return;
  *this = Tensor(other.dtype_, other.shape_);
  std::memcpy(data_.get(), other.data_.get(), other.bytes());
}

Tensor& Tensor::operator=(Tensor other) noexcept {
  std::swap(data_, other.data_);
  std::swap(dtype_, other.dtype_);
  std::swap(shape_, other.shape_);
  return *this;
}

std::size_t Tensor::bytes() const { return static_cast<std::size_t>(shape_.elements()) * size_of(dtype_); }

TensorView Tensor::view() const { return {data_.get(), dtype_, shape_, dense_strides(shape_)}; }

void Tensor::check_element(std::size_t bytes) const {
  if (bytes != size_of(dtype_)) {
    throw Error(ErrorCode::invalid_input, "a tensor of " + std::string(to_string(dtype_)) + " (" +
                                              std::to_string(size_of(dtype_)) + " bytes per element) was read as elements of " +
                                              std::to_string(bytes) + " bytes");
  }
}

void Tensor::Free::operator()(void* p) const noexcept { free_aligned(p); }

}  // namespace jitney
