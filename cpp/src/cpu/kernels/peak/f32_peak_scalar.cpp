// The loop of multiply-adds with portable code.
#include "cpu/kernels/vec_scalar.h"

namespace jitney::kernels {
namespace {

// The product of the two others would be the same in all rounds, and be computed once.
inline V next(V chain, V f, V a) { return fma(chain, f, a); }

}  // namespace
}  // namespace jitney::kernels

#include "cpu/kernels/peak/peak_impl.h"

namespace jitney::kernels {

float f32_peak_scalar(std::size_t rounds, float factor, float addend);
float f32_peak_scalar(std::size_t rounds, float factor, float addend) { return peak(rounds, factor, addend); }

}  // namespace jitney::kernels
