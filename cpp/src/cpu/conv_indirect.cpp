// Any convolution, as a matrix product whose rows are lists of pointers to taps.
#include <algorithm>

#include "base/aligned.h"
#include "cpu/conv_way.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

class IndirectConv final : public ConvWay {
 public:
  IndirectConv(const ConvProblem& problem, std::size_t threads)
      : problem_(problem), zeros_(make_aligned(problem.channels * sizeof(float))) {
    const kernels::ConvGeometry& geometry = problem.geometry;
    kernel = kernel_.name;
    packing = kernel;
    group_floats_ = kernels::packed_conv_size(kernel_, geometry.taps(), problem.channels, problem.filters);
    packed_floats = group_floats_ * problem.groups;
    grid_ = kernels::conv_tiles(kernel_, geometry, problem.channels, problem.filters, threads);
    scratch_ = align_up(kernels::conv_scratch(kernel_, geometry, problem.channels, grid_));
    workspace = threads * scratch_;
    std::fill_n(reinterpret_cast<float*>(zeros_.get()), problem.channels, 0.0F);
  }

  void pack(const float* source, float* packed) const override {
    for (std::size_t group = 0; group < problem_.groups; ++group) {
      kernels::pack_conv(kernel_, problem_.geometry.kernel, problem_.channels, problem_.filters,
                         problem_.weights(source).from(group * problem_.filters), packed + group * group_floats_);
    }
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    const auto* zeros = reinterpret_cast<const float*>(zeros_.get());
    const std::size_t tiles = grid_.count();
    parallel_tasks(run, tiles * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const std::size_t group = index / tiles;
      const std::size_t column = group * problem_.filters;
      const auto tile = grid_.tile(index % tiles);
      const kernels::ConvArgs args{problem_.geometry,
                                   problem_.channels,
                                   problem_.filters,
                                   conv.x + group * problem_.channels,
                                   zeros,
                                   conv.weights + group * group_floats_,
                                   conv.y + column,
                                   conv.y_stride,
                                   kernels::shifted(conv.epilogue, 0, static_cast<std::ptrdiff_t>(column)),
                                   grid_.row_step};
      kernels::conv_tile(kernel_, args, tile.row, tile.row_end, tile.column, tile.column_end, conv.workspace + worker * scratch_);
    });
  }

  std::string why() const override {
    return tap_words(problem_.geometry) + " taps through pointers, " + product_words(problem_) + "; " +
           winograd_verdict(problem_);
  }

 private:
  ConvProblem problem_;
  const kernels::ConvKernel& kernel_ = kernels::conv_kernel(active_isa());
  kernels::TileGrid grid_;
  AlignedBuffer zeros_;
  std::size_t group_floats_ = 0;
  std::size_t scratch_ = 0;  // bytes per worker
};

}  // namespace

std::unique_ptr<ConvWay> indirect_conv(const ConvProblem& problem, std::size_t threads) {
  return std::make_unique<IndirectConv>(problem, threads);
}

}  // namespace jitney::cpu
