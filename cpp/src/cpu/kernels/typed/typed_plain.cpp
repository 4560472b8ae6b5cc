// Typed rows for any processor of the architecture.
#include "cpu/kernels/typed/typed_impl.h"

namespace jitney::kernels {

extern const TypedKernels typed_plain;  // const alone would hide it from other files
constinit const TypedKernels typed_plain{"typed_plain", Isa::scalar, find_row};

}  // namespace jitney::kernels
