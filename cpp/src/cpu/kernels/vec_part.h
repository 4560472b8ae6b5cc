// Whole vectors and the first lanes of one under the same face, so that a tail runs through the same code on padded lanes.
// Included after vec_<isa>.h.
#pragma once

namespace jitney::kernels {
namespace {

struct WholeVector {
  V load(const float* p) const { return kernels::load(p); }
  void store(float* p, V v) const { kernels::store(p, v); }
};
struct PartVector {
  std::size_t lanes;
  V load(const float* p) const { return load_part(p, lanes); }
  void store(float* p, V v) const { store_part(p, v, lanes); }
};

/// Calls body(first, part) for every vector of a run of n floats.
template <typename Body>
inline void for_each_vector(std::size_t n, Body body) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, WholeVector{});
  if (i < n) body(i, PartVector{n - i});
}

}  // namespace
}  // namespace jitney::kernels
