// GEMM register tile of 6×16 floats for AVX2 and FMA: 12 accumulators, 2 registers of B, one broadcast of A at a time.
#include "cpu/kernels/vec_avx2.h"
//
#include "cpu/kernels/vec_part.h"
//
#define JITNEY_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define JITNEY_TILE [[gnu::always_inline]] inline
#include "cpu/kernels/gemm/panel_impl.h"

namespace jitney::kernels {

extern const GemmKernel f32_gemm_6x16_avx2;  // const alone would hide it from other files
constinit const GemmKernel f32_gemm_6x16_avx2{"f32_gemm_6x16_avx2", Isa::avx2, kRows,         kColumns, {},
                                              kWidePanels,          wide_row,  epilogue_avx2, run_panel};

}  // namespace jitney::kernels
