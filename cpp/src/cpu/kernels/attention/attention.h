// Attention of one head in float32, softmax(Q·Kᵀ·scale + bias)·V, without a place for all scores: keys are taken in blocks, and
// what earlier blocks gave is scaled when a larger score turns up.
//
// Blocks of keys are fixed, and each row of Q is computed by itself, so that a result depends on neither the rows around it nor
// on how the caller cuts the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"
#include "cpu/kernels/gemm/gemm.h"

namespace jitney::kernels {

/// Scores of some rows with one block of keys, on their way to weights.
struct SoftenArgs {
  std::size_t rows = 0;
  std::size_t keys = 0;
  float* scores = nullptr;  // [rows][stride]; up to a whole number of vectors, what follows the keys is -inf
  std::ptrdiff_t stride = 0;
  const float* bias = nullptr;  // added to the scores, or null
  std::ptrdiff_t bias_row = 0;
  std::ptrdiff_t bias_key = 1;         // 0 or 1
  const std::uint8_t* mask = nullptr;  // where it is 0, the score becomes `masked`; or null
  std::ptrdiff_t mask_row = 0;
  std::ptrdiff_t mask_key = 1;
  float masked = 0.0f;
  float* top = nullptr;     // per row: the largest score so far
  double* sum = nullptr;    // per row: Σ e^(score − top) so far
  float* factor = nullptr;  // per row, result: what sums over earlier blocks are to be multiplied with
};

struct AttentionKernel {
  const char* name;
  Isa isa;
  /// Scores become e^(score − top); top, sum and factor are brought up to date.
  void (*soften)(const SoftenArgs& args);
  /// scores[j] = scale · (q · k_j) for rows k_j of `depth` contiguous elements.
  void (*scores)(std::size_t depth, const float* q, std::size_t keys, const float* k, std::ptrdiff_t k_row, float scale,
                 float* scores);
  /// y += Σ weights[j] · v_j for rows v_j of `columns` contiguous elements.
  void (*add_weighted)(std::size_t keys, const float* weights, const float* v, std::ptrdiff_t v_row, std::size_t columns,
                       float* y);
  /// x *= factor.
  void (*scale)(std::size_t n, float factor, float* x);
  /// Packs k rows of n contiguous elements into panels of nr columns, filled up with zeros.
  void (*pack_rows)(std::size_t k, std::size_t n, const float* from, std::ptrdiff_t row, std::size_t nr, float* to);
};

/// All sets that this architecture has, weakest first.
std::span<const AttentionKernel* const> attention_kernels() noexcept;
const AttentionKernel& attention_kernel(Isa active) noexcept;

struct AttentionArgs {
  std::size_t queries = 0, keys = 0, depth = 0, columns = 0;
  float scale = 1.0f;
  const float* q = nullptr;  // rows of `depth` contiguous elements
  std::ptrdiff_t q_row = 0;
  const float* k = nullptr;  // k_key or k_depth is 1
  std::ptrdiff_t k_key = 0, k_depth = 1;
  const float* v = nullptr;  // rows of `columns` contiguous elements
  std::ptrdiff_t v_row = 0;
  const float* bias = nullptr;  // as in SoftenArgs
  std::ptrdiff_t bias_row = 0, bias_key = 1;
  const std::uint8_t* mask = nullptr;
  std::ptrdiff_t mask_row = 0, mask_key = 1;
  float masked = 0.0f;
  bool nan_to_zero = false;  // weights that are not numbers, because a row may see no key, count as 0
  float* y = nullptr;        // rows of `columns` contiguous elements, apart from all operands
  std::ptrdiff_t y_row = 0;
};

/// Rows of Q that attention_rows takes at a time at most.
inline constexpr std::size_t kMostAttentionRows = 512;

/// Bytes of workspace for attention_rows, to be aligned to 64.
std::size_t attention_workspace(const GemmKernel& gemm, const AttentionArgs& args) noexcept;

/// Computes rows [first, last) of y.
void attention_rows(const AttentionKernel& kernel, const GemmKernel& gemm, const AttentionArgs& args, std::size_t first,
                    std::size_t last, void* workspace) noexcept;

}  // namespace jitney::kernels
