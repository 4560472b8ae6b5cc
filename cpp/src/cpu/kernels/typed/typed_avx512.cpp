// Typed rows in AVX-512.
#include "cpu/kernels/typed/typed_impl.h"

namespace jitney::kernels {

extern const TypedKernels typed_avx512;  // const alone would hide it from other files
constinit const TypedKernels typed_avx512{"typed_avx512", Isa::avx512, find_row};

}  // namespace jitney::kernels
