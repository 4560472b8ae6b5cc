// The weights of a transposed convolution as right-hand sides of matrix products.
#pragma once

#include "cpu/conv_way.h"

namespace jitney::cpu {

/// Packs B for one group: rows are its channels, columns [tap][filter] of the rows of taps [first, first + rows), a row being the
/// taps along the width at one place along depth and height.
void pack_transposed(const kernels::GemmKernel& gemm, const ConvProblem& problem, std::size_t group, std::size_t first,
                     std::size_t rows, const float* source, float* target);

}  // namespace jitney::cpu
