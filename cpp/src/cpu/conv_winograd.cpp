// Convolution with 3×3 taps and stride 1 by Winograd's method, where that is the faster one.
#include <algorithm>

#include "base/aligned.h"
#include "cpu/conv_way.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

/// Whether Winograd's method is the faster one for an image of this size: it needs a quarter of the products, but two transforms,
/// and its matrices have a row per tile only.
bool winograd_wins(const kernels::GemmKernel& gemm, const ConvProblem& problem) {
  constexpr double kInput = 225, kOutput = 190;  // cost of a channel's and a filter's transform, in multiply-adds
  constexpr double kMargin = 1.3;                // shorter products run less smoothly
  kernels::ConvGeometry image = problem.geometry;
  image.batch = 1;
  const kernels::WinogradBlocks blocks = kernels::winograd_blocks(gemm, image, problem.channels, problem.filters, 1);
  const auto tiles = static_cast<double>(blocks.tiles);
  const auto rows = static_cast<double>(kernels::RowGroups(blocks.tiles, gemm.mr).count * gemm.mr);
  const auto c = static_cast<double>(problem.channels), f = static_cast<double>(problem.filters);
  const double products = rows * static_cast<double>(kernels::kWinogradPoints) * c * f;
  const double direct = static_cast<double>(image.pixels()) * 9 * c * f;
  return kMargin * products + tiles * (kInput * c + kOutput * f) < direct;
}

class WinogradConv final : public ConvWay {
 public:
  WinogradConv(const ConvProblem& problem, std::size_t threads)
      : problem_(problem), zeros_(make_aligned(problem.channels * sizeof(float))) {
    kernel = kernel_.name;
    packing = kernel;
    group_floats_ = kernels::packed_winograd_size(gemm_, problem.channels, problem.filters);
    packed_floats = group_floats_ * problem.groups;
    blocks_ = kernels::winograd_blocks(gemm_, problem.geometry, problem.channels, problem.filters, threads);
    scratch_ = kernels::winograd_scratch(blocks_, problem.channels);
    workspace = threads * scratch_;
    std::fill_n(reinterpret_cast<float*>(zeros_.get()), problem.channels, 0.0F);
  }

  void pack(const float* source, float* packed) const override {
    for (std::size_t group = 0; group < problem_.groups; ++group) {
      kernels::pack_winograd(gemm_, problem_.channels, problem_.filters,
                             source + static_cast<std::int64_t>(group * problem_.filters) * problem_.filter_stride,
                             problem_.filter_stride, problem_.channel_stride, problem_.tap_stride,
                             packed + group * group_floats_);
    }
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    const auto* zeros = reinterpret_cast<const float*>(zeros_.get());
    const std::size_t tiles = blocks_.count();
    parallel_tasks(run, tiles * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const std::size_t group = index / tiles;
      const std::size_t column = group * problem_.filters;
      const kernels::ConvArgs args{problem_.geometry,
                                   problem_.channels,
                                   problem_.filters,
                                   conv.x + group * problem_.channels,
                                   zeros,
                                   conv.weights + group * group_floats_,
                                   conv.y + column,
                                   conv.y_stride,
                                   kernels::shifted(conv.epilogue, 0, static_cast<std::ptrdiff_t>(column))};
      kernels::winograd_block(kernel_, gemm_, args, blocks_, index % tiles, conv.workspace + worker * scratch_);
    });
  }

 private:
  ConvProblem problem_;
  const kernels::WinogradKernel& kernel_ = kernels::winograd_kernel(active_isa());
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  kernels::WinogradBlocks blocks_;
  AlignedBuffer zeros_;
  std::size_t group_floats_ = 0;
  std::size_t scratch_ = 0;  // bytes per worker
};

}  // namespace

std::unique_ptr<ConvWay> winograd_conv(const ConvProblem& problem, std::size_t threads) {
  if (!kernels::winograd_fits(problem.geometry) || !problem.constant_weights) return nullptr;
  const kernels::GemmKernel& gemm = kernels::gemm_kernel(active_isa());
  const std::size_t bytes =
      problem.groups * kernels::packed_winograd_size(gemm, problem.channels, problem.filters) * sizeof(float);
  if (bytes > problem.weight_bytes + problem.spare_bytes || !winograd_wins(gemm, problem)) return nullptr;
  return std::make_unique<WinogradConv>(problem, threads);
}

}  // namespace jitney::cpu
