// Copies between any two strided layouts: rows by memcpy, transposes in tiles, the rest element by element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jitney/tensor.h"

namespace jitney::kernels {

/// A rectangular copy made ready: dims merged and sorted by the destination's strides, and cut into independent tasks.
class StridedCopy {
 public:
  /// Strides in elements. The destination must not map two indices to one address; the source may (strides of 0).
  StridedCopy(const Shape& sizes, const Shape& src_strides, const Shape& dst_strides, std::size_t element_bytes);

  /// Tasks may run in any order and at the same time.
  std::size_t tasks() const noexcept { return tasks_; }
  void run(const void* src, void* dst, std::size_t task) const;
  void run_all(const void* src, void* dst) const;
  /// Elements copied in all.
  std::int64_t elements() const noexcept { return elements_; }

 private:
  struct Dim {
    std::int64_t size, src, dst;
  };
  enum class Inner { rows, transpose, strided };

  void add(Dim dim);
  void pick_inner();

  Dim dims_[kMaxRank] = {};  // outermost first
  std::size_t rank_ = 0;
  std::size_t outer_ = 0;  // dims walked by the odometer; the others belong to the inner loop
  Inner inner_ = Inner::strided;
  std::int64_t chunk_ = 1;   // indices of the first inner dim per unit
  std::int64_t chunks_ = 1;  // units per odometer position
  std::int64_t units_ = 0, units_per_task_ = 1;
  std::size_t tasks_ = 0;
  std::int64_t elements_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace jitney::kernels
