// Prepares and walks strided copies.
#include "cpu/kernels/copy/copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "cpu/kernels/copy/tile.h"
#include "jitney/error.h"

namespace jitney::kernels {
namespace {

constexpr std::int64_t kUnitElements = 1 << 14;

}  // namespace

StridedCopy::StridedCopy(const Shape& sizes, const Shape& src_strides, const Shape& dst_strides, std::size_t element_bytes)
    : elements_(sizes.elements()), bytes_(element_bytes) {
  if (elements_ == 0) {
    return;
  }
  std::array<Dim, kMaxRank> sorted;
  std::size_t count = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) {
      sorted[count++] = {sizes[i], src_strides[i], dst_strides[i]};
    }
  }
  const auto outside = [](const Dim& a, const Dim& b) {
    return std::pair(std::abs(a.dst), std::abs(a.src)) > std::pair(std::abs(b.dst), std::abs(b.src));
  };
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = i; j > 0 && outside(sorted[j], sorted[j - 1]); --j) {
      std::swap(sorted[j], sorted[j - 1]);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    add(sorted[i]);
  }
  if (rank_ == 0) {
    dims_[rank_++] = {1, 1, 1};
  }
  pick_inner();
}

void StridedCopy::add(Dim dim) {
  if (rank_ > 0) {
    Dim& outer = dims_[rank_ - 1];
    if (outer.src == dim.src * dim.size && outer.dst == dim.dst * dim.size) {
      outer = {outer.size * dim.size, dim.src, dim.dst};
      return;
    }
  }
  dims_[rank_++] = dim;
}

void StridedCopy::pick_inner() {
  const Dim last = dims_[rank_ - 1];
  outer_ = rank_ - 1;
  std::int64_t unit_columns = 1;
  if (last.src == 1 && last.dst == 1) {
    inner_ = Inner::rows;
  } else if (last.dst == 1 && last.src != 0) {
    // Rows of the source lie along another dim: walk both in tiles.
    for (std::size_t i = 0; i + 1 < rank_; ++i) {
      if (dims_[i].src == 1) {
        std::rotate(dims_ + i, dims_ + i + 1, dims_ + rank_ - 1);
        inner_ = Inner::transpose;
        outer_ = rank_ - 2;
        unit_columns = last.size;
        break;
      }
    }
  }
  const std::int64_t size = dims_[outer_].size;
  chunk_ = std::min(size, std::max<std::int64_t>(kUnitElements / unit_columns / 16 * 16, 16));
  chunks_ = (size + chunk_ - 1) / chunk_;
  std::int64_t positions = 1;
  for (std::size_t i = 0; i < outer_; ++i) {
    positions *= dims_[i].size;
  }
  units_ = positions * chunks_;
  units_per_task_ = std::max<std::int64_t>(kUnitElements / (chunk_ * unit_columns), 1);
  tasks_ = static_cast<std::size_t>((units_ + units_per_task_ - 1) / units_per_task_);
}

namespace {

template <typename Body>
void with_element(std::size_t bytes, Body body) {
  switch (bytes) {
    case 1:
      return body(Element<1>());
    case 2:
      return body(Element<2>());
    case 4:
      return body(Element<4>());
    case 8:
      return body(Element<8>());
    case 16:
      return body(Element<16>());
    default:
      throw Error(ErrorCode::internal, "cannot copy elements of " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace

void StridedCopy::run(const void* src, void* dst, std::size_t task) const {
  const std::int64_t first = static_cast<std::int64_t>(task) * units_per_task_;
  const std::int64_t last = std::min(first + units_per_task_, units_);
  std::array<std::int64_t, kMaxRank> index{};
  std::int64_t position = first / chunks_, chunk = first % chunks_, src_offset = 0, dst_offset = 0;
  for (std::size_t i = outer_; i-- > 0;) {
    index[i] = position % dims_[i].size;
    position /= dims_[i].size;
    src_offset += index[i] * dims_[i].src;
    dst_offset += index[i] * dims_[i].dst;
  }
  const Dim along = dims_[outer_], across = dims_[rank_ - 1];
  with_element(bytes_, [&]<std::size_t Bytes>(Element<Bytes>) {
    const auto* from = static_cast<const Element<Bytes>*>(src);
    auto* to = static_cast<Element<Bytes>*>(dst);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t start = chunk * chunk_, count = std::min(chunk_, along.size - start);
      const Element<Bytes>* s = from + src_offset + start * along.src;
      Element<Bytes>* d = to + dst_offset + start * along.dst;
      switch (inner_) {
        case Inner::rows:
          copy_row(s, d, static_cast<std::size_t>(count) * Bytes);
          break;
        case Inner::transpose:
          transpose(s, across.src, d, along.dst, across.size, count);
          break;
        case Inner::strided:
          copy_strided_row(s, along.src, d, along.dst, count);
          break;
      }
      if (++chunk < chunks_) {
        continue;
      }
      chunk = 0;
      for (std::size_t i = outer_; i-- > 0;) {
        src_offset += dims_[i].src;
        dst_offset += dims_[i].dst;
        if (++index[i] < dims_[i].size) {
          break;
        }
        src_offset -= dims_[i].size * dims_[i].src;
        dst_offset -= dims_[i].size * dims_[i].dst;
        index[i] = 0;
      }
    }
  });
}

void StridedCopy::run_all(const void* src, void* dst) const {
  for (std::size_t task = 0; task < tasks_; ++task) {
    run(src, dst, task);
  }
}

}  // namespace jitney::kernels
