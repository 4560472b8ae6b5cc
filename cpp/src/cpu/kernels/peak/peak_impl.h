// Twelve chains of multiply-adds, as many as two units with a latency of six cycles can have under way.
// Included after vec_<isa>.h.
#pragma once

#include <cstddef>

namespace jitney::kernels {
namespace {

/// next(chain, f, a): one multiply-add that needs no move.
// Named accumulators: gcc keeps these in registers, but not the elements of an array.
template <typename Next>
float peak(std::size_t rounds, float factor, float addend, const Next& next) {
  const V f = set(factor), a = set(addend);
  V c0 = set(0.F), c1 = set(1.F), c2 = set(2.F), c3 = set(3.F), c4 = set(4.F), c5 = set(5.F);
  V c6 = set(6.F), c7 = set(7.F), c8 = set(8.F), c9 = set(9.F), c10 = set(10.F), c11 = set(11.F);
  for (std::size_t i = 0; i < rounds; ++i) {
    c0 = next(c0, f, a);
    c1 = next(c1, f, a);
    c2 = next(c2, f, a);
    c3 = next(c3, f, a);
    c4 = next(c4, f, a);
    c5 = next(c5, f, a);
    c6 = next(c6, f, a);
    c7 = next(c7, f, a);
    c8 = next(c8, f, a);
    c9 = next(c9, f, a);
    c10 = next(c10, f, a);
    c11 = next(c11, f, a);
  }
  float lanes[kLanes];
  store(lanes, ((c0 + c1) + (c2 + c3)) + ((c4 + c5) + (c6 + c7)) + ((c8 + c9) + (c10 + c11)));
  return lanes[0];
}

}  // namespace
}  // namespace jitney::kernels
