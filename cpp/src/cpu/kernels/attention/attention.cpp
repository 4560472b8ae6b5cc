// Attention: the list of kernels, and the loops over blocks of keys and rows.
#include "cpu/kernels/attention/attention.h"

#include <algorithm>
#include <limits>

#include "cpu/kernels/best_kernel.h"
#include "cpu/kernels/copy/tile.h"

namespace jitney::kernels {

#define JITNEY_ATTENTION_KERNEL(name, isa, lanes, type) extern const AttentionKernel name;
#include "cpu/kernels/attention/kernels.inc"
#undef JITNEY_ATTENTION_KERNEL

namespace {

#define JITNEY_ATTENTION_KERNEL(name, isa, lanes, type) &name,
constexpr const AttentionKernel* kKernels[] = {
#include "cpu/kernels/attention/kernels.inc"
};
#undef JITNEY_ATTENTION_KERNEL

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Rows whose scores with a block of keys are held at a time: 12 KB.
constexpr std::size_t kRows = 24;
/// Up to so many queries in all, packing keys and values for register tiles costs more than it saves.
constexpr std::size_t kFewQueries = 4;
/// Scores of a row begin at multiples of so many floats; no vector is longer.
constexpr std::size_t kPadding = 16;

/// Keys per block: what is packed of them should stay in the second-level cache.
std::size_t block_of_keys(const AttentionArgs& args) noexcept { return args.depth + args.columns <= 256 ? 128 : 64; }

std::size_t round_up(std::size_t n, std::size_t step) noexcept { return (n + step - 1) / step * step; }

bool unpacked(const AttentionArgs& args) noexcept { return args.queries <= kFewQueries && args.k_depth == 1; }

/// The parts of a workspace.
struct Workspace {
  Workspace(const GemmKernel& gemm, const AttentionArgs& args, void* memory) noexcept
      : next(reinterpret_cast<std::uintptr_t>(memory)) {
    const std::size_t block = std::min(block_of_keys(args), round_up(args.keys, kPadding));
    stride = block;
    sum = take<double>(kMostAttentionRows);
    top = take<float>(kMostAttentionRows);
    factor = take<float>(kRows);
    scores = take<float>(kRows * block);
    if (unpacked(args)) return;
    k = take<float>(packed_b_size(gemm, args.depth, block));
    v = take<float>(packed_b_size(gemm, block, args.columns));
  }

  template <typename T>
  T* take(std::size_t count) noexcept {
    const std::uintptr_t start = next;
    next += round_up(count * sizeof(T), 64);
    return reinterpret_cast<T*>(start);
  }

  std::uintptr_t next;  // an address; of a workspace that is not there yet, the bytes that it takes
  std::size_t stride = 0;
  double* sum = nullptr;
  float *top = nullptr, *factor = nullptr, *scores = nullptr, *k = nullptr, *v = nullptr;
};

/// A block of keys as panels of B = Kᵀ·scale.
void pack_keys(const AttentionKernel& kernel, std::size_t nr, const AttentionArgs& args, const float* k, std::size_t keys,
               float* packed) noexcept {
  if (args.k_depth != 1 && args.k_key == 1) {
    kernel.pack_rows(args.depth, keys, k, args.k_depth, nr, packed);
  } else {
    for (std::size_t first = 0; first < keys; first += nr) {
      const std::size_t used = std::min(nr, keys - first);
      float* const panel = packed + first * args.depth;
      transpose(reinterpret_cast<const Element<4>*>(k + static_cast<std::ptrdiff_t>(first) * args.k_key), args.k_key,
                reinterpret_cast<Element<4>*>(panel), static_cast<std::int64_t>(nr), static_cast<std::int64_t>(used),
                static_cast<std::int64_t>(args.depth));
      for (std::size_t i = 0; used < nr && i < args.depth; ++i) std::fill(panel + i * nr + used, panel + i * nr + nr, 0.0f);
    }
  }
  if (args.scale != 1.0f) kernel.scale(round_up(keys, nr) * args.depth, args.scale, packed);
}

/// C = A · B, or C += A · B, for packed B.
void multiply(const GemmKernel& gemm, std::size_t m, std::size_t n, std::size_t k, const float* a, std::ptrdiff_t lda,
              const float* b, float* c, std::ptrdiff_t ldc, bool add) noexcept {
  PanelRun run;
  run.groups = RowGroups(m, gemm.mr);
  run.a = a;
  run.lda = lda;
  run.k = k;
  run.ldc = ldc;
  for (std::size_t j = 0; j < n; j += gemm.nr) {
    Epilogue epilogue;
    run.columns = std::min(gemm.nr, n - j);
    run.b = b + j * k;
    run.c = c + j;
    if (add) epilogue.residual = run.c;
    epilogue.residual_stride = ldc;
    run_panel(gemm, run, epilogue, kNoClamp);
  }
}

/// The sums over all keys, divided by those of the weights. A row that may see no key has a sum of 0 or NaN.
void finish_row(const AttentionKernel& kernel, const AttentionArgs& args, double sum, float* y) noexcept {
  if (args.nan_to_zero && !(sum > 0)) {
    std::fill_n(y, args.columns, 0.0f);
    for (std::size_t j = 0; j < args.keys; ++j) {
      const float* v = args.v + static_cast<std::ptrdiff_t>(j) * args.v_row;
      for (std::size_t c = 0; c < args.columns; ++c) y[c] += 0.0f * v[c];
    }
    return;
  }
  kernel.scale(args.columns, static_cast<float>(1.0 / sum), y);
}

/// One block of keys for some rows of Q.
class Block {
 public:
  Block(const AttentionKernel& kernel, const GemmKernel& gemm, const AttentionArgs& args, const Workspace& space,
        std::size_t first, std::size_t keys) noexcept
      : kernel_(kernel), gemm_(gemm), args_(args), space_(space), first_(first), keys_(keys) {
    k_ = args.k + static_cast<std::ptrdiff_t>(first) * args.k_key;
    v_ = args.v + static_cast<std::ptrdiff_t>(first) * args.v_row;
    if (unpacked(args)) return;
    pack_keys(kernel, gemm.nr, args, k_, keys, space.k);
    kernel.pack_rows(keys, args.columns, v_, args.v_row, gemm.nr, space.v);
  }

  /// Rows [row, row + rows), whose state begins at `state`.
  void run(std::size_t row, std::size_t rows, std::size_t state) const noexcept {
    const auto row_offset = static_cast<std::ptrdiff_t>(row);
    const auto key_offset = static_cast<std::ptrdiff_t>(first_);
    const auto stride = static_cast<std::ptrdiff_t>(space_.stride);
    const float* q = args_.q + row_offset * args_.q_row;
    float* y = args_.y + row_offset * args_.y_row;
    const bool tiles = !unpacked(args_);
    if (tiles) {
      multiply(gemm_, rows, keys_, args_.depth, q, args_.q_row, space_.k, space_.scores, stride, false);
    } else {
      for (std::size_t r = 0; r < rows; ++r)
        kernel_.scores(args_.depth, q + static_cast<std::ptrdiff_t>(r) * args_.q_row, keys_, k_, args_.k_key, args_.scale,
                       space_.scores + r * space_.stride);
    }
    for (std::size_t r = 0; keys_ % kPadding != 0 && r < rows; ++r) {
      float* const scores = space_.scores + r * space_.stride;
      std::fill(scores + keys_, scores + round_up(keys_, kPadding), -kInfinity);
    }
    SoftenArgs soften{rows, keys_, space_.scores, stride};
    if (args_.bias != nullptr) soften.bias = args_.bias + row_offset * args_.bias_row + key_offset * args_.bias_key;
    soften.bias_row = args_.bias_row;
    soften.bias_key = args_.bias_key;
    if (args_.mask != nullptr) soften.mask = args_.mask + row_offset * args_.mask_row + key_offset * args_.mask_key;
    soften.mask_row = args_.mask_row;
    soften.mask_key = args_.mask_key;
    soften.masked = args_.masked;
    soften.top = space_.top + state;
    soften.sum = space_.sum + state;
    soften.factor = space_.factor;
    kernel_.soften(soften);
    for (std::size_t r = 0; r < rows; ++r) {
      float* const sums = y + static_cast<std::ptrdiff_t>(r) * args_.y_row;
      if (first_ != 0) {
        if (space_.factor[r] != 1.0f) kernel_.scale(args_.columns, space_.factor[r], sums);
      } else if (!tiles) {
        std::fill_n(sums, args_.columns, 0.0f);
      }
      if (!tiles) kernel_.add_weighted(keys_, space_.scores + r * space_.stride, v_, args_.v_row, args_.columns, sums);
    }
    if (tiles) multiply(gemm_, rows, args_.columns, keys_, space_.scores, stride, space_.v, y, args_.y_row, first_ != 0);
  }

 private:
  const AttentionKernel& kernel_;
  const GemmKernel& gemm_;
  const AttentionArgs& args_;
  const Workspace& space_;
  std::size_t first_, keys_;
  const float *k_, *v_;
};

}  // namespace

std::span<const AttentionKernel* const> attention_kernels() noexcept { return kKernels; }

const AttentionKernel& attention_kernel(Isa active) noexcept { return best_kernel<AttentionKernel>(kKernels, active); }

std::size_t attention_workspace(const GemmKernel& gemm, const AttentionArgs& args) noexcept {
  const Workspace space(gemm, args, nullptr);
  return static_cast<std::size_t>(space.next);
}

void attention_rows(const AttentionKernel& kernel, const GemmKernel& gemm, const AttentionArgs& args, std::size_t first,
                    std::size_t last, void* workspace) noexcept {
  const Workspace space(gemm, args, workspace);
  const std::size_t rows = last - first;
  std::fill_n(space.top, rows, -kInfinity);
  std::fill_n(space.sum, rows, 0.0);
  const std::size_t step = block_of_keys(args);
  for (std::size_t key = 0; key < args.keys; key += step) {
    const Block block(kernel, gemm, args, space, key, std::min(step, args.keys - key));
    for (std::size_t row = 0; row < rows; row += kRows) block.run(first + row, std::min(kRows, rows - row), row);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    float* const y = args.y + static_cast<std::ptrdiff_t>(first + row) * args.y_row;
    if (args.keys == 0) {
      std::fill_n(y, args.columns, 0.0f);
    } else {
      finish_row(kernel, args, space.sum[row], y);
    }
  }
}

}  // namespace jitney::kernels
