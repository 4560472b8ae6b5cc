// Typed rows in AVX2.
#include "cpu/kernels/typed/typed_impl.h"

namespace jitney::kernels {

extern const TypedKernels typed_avx2;  // const alone would hide it from other files
constinit const TypedKernels typed_avx2{"typed_avx2", Isa::avx2, find_row};

}  // namespace jitney::kernels
