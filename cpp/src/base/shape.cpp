// Shapes: bounded rank, checked products, dense strides.
#include <algorithm>

#include "base/checked.h"
#include "jitney/error.h"
#include "jitney/tensor.h"

namespace jitney {

namespace {

std::uint8_t checked_rank(std::size_t rank) {
  if (rank > kMaxRank) {
    throw Error(ErrorCode::invalid_input,
                "rank " + std::to_string(rank) + " is more than the " + std::to_string(kMaxRank) + " that a tensor may have");
  }
  return static_cast<std::uint8_t>(rank);
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> dims) : rank_(checked_rank(dims.size())) {
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

Shape::Shape(std::size_t rank, std::int64_t fill) : rank_(checked_rank(rank)) { std::fill(begin(), end(), fill); }

void Shape::push_back(std::int64_t dim) {
  rank_ = checked_rank(size() + 1);
  dims_[rank_ - 1u] = dim;
}

void Shape::resize(std::size_t rank, std::int64_t fill) {
  const std::size_t old = rank_;
  rank_ = checked_rank(rank);
  if (rank > old) std::fill(begin() + old, end(), fill);
}

bool Shape::operator==(const Shape& other) const noexcept { return std::equal(begin(), end(), other.begin(), other.end()); }

std::int64_t Shape::elements() const {
  // Zeros are counted apart, so that no partial product of a shape that passes here can overflow.
  std::int64_t product = 1;
  bool zero = false;
  for (const std::int64_t dim : *this) {
    if (dim < 0) throw Error(ErrorCode::invalid_input, "shape " + to_string(*this) + " has a negative dimension");
    if (dim == 0) {
      zero = true;
      continue;
    }
    const auto next = checked_mul(product, dim);
    if (!next) throw Error(ErrorCode::invalid_input, "shape " + to_string(*this) + " has more elements than 63 bits can count");
    product = *next;
  }
  return zero ? 0 : product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

Shape dense_strides(const Shape& shape) {
  (void)shape.elements();  // throws where a product below would overflow
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * std::max<std::int64_t>(shape[i - 1], 1);
  return strides;
}

}  // namespace jitney
