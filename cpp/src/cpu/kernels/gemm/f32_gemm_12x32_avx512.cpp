// GEMM register tile of 12×32 floats for AVX-512: 24 accumulators, 2 registers of B.
#include "cpu/kernels/vec_avx512.h"
//
#include "cpu/kernels/vec_part.h"
//
#define JITNEY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define JITNEY_TILE [[gnu::noinline]]
#include "cpu/kernels/gemm/panel_impl.h"

namespace jitney::kernels {

extern const GemmKernel f32_gemm_12x32_avx512;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_12x32_avx512{"f32_gemm_12x32_avx512", Isa::avx512, kRows, kColumns, {}, kWidePanels, wide_row,
                                                 epilogue_avx512,         run_panel};

}  // namespace jitney::kernels
