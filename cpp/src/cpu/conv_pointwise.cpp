// Convolution with one tap over evenly spaced pixels: a matrix product on rows that lie in memory already.
#include "cpu/conv_way.h"
#include "cpu/kernel_ways.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

class PointwiseConv final : public ConvWay {
 public:
  PointwiseConv(const ConvProblem& problem, const kernels::GemmKernel& gemm, std::size_t threads)
      : problem_(problem), gemm_(gemm) {
    kernel = gemm_.name;
    packing = kernel;
    group_floats_ = kernels::packed_b_size(gemm_, problem.channels, problem.filters);
    packed_floats = group_floats_ * problem.groups;
    grid_ = kernels::gemm_tiles(gemm_, problem.geometry.pixels(), problem.filters, problem.channels, threads);
    copy_ = kernels::row_copy_bytes(gemm_, grid_.row_step, grid_.column_step, problem.channels);
    workspace = threads * copy_;
  }

  void pack(const float* source, float* packed) const override {
    for (std::size_t group = 0; group < problem_.groups; ++group) {
      kernels::pack_b(gemm_, problem_.channels, problem_.filters,
                      source + static_cast<std::int64_t>(group * problem_.filters) * problem_.filter_stride,
                      problem_.channel_stride, problem_.filter_stride, packed + group * group_floats_);
    }
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    const std::size_t tiles = grid_.count();
    parallel_tasks(run, tiles * problem_.groups, problem_.nanoseconds(), [&](std::size_t index, std::size_t worker) {
      const std::size_t group = index / tiles;
      const std::size_t column = group * problem_.filters;
      const auto tile = grid_.tile(index % tiles);
      const kernels::GemmArgs args{problem_.geometry.pixels(),
                                   problem_.filters,
                                   problem_.channels,
                                   conv.x + group * problem_.channels,
                                   *problem_.pixel_stride,
                                   conv.weights + group * group_floats_,
                                   conv.y + column,
                                   conv.y_stride,
                                   kernels::shifted(conv.epilogue, 0, static_cast<std::ptrdiff_t>(column))};
      auto* copy = copy_ == 0 ? nullptr : reinterpret_cast<float*>(conv.workspace + worker * copy_);
      kernels::gemm_tile(gemm_, args, tile.row, tile.row_end, tile.column, tile.column_end, copy);
    });
  }

  std::string why() const override { return "one tap: the product " + product_words(problem_) + " on rows as they lie"; }

 private:
  ConvProblem problem_;
  const kernels::GemmKernel& gemm_;
  kernels::TileGrid grid_;
  std::size_t group_floats_ = 0;
  std::size_t copy_ = 0;  // bytes per worker for copies of rows
};

}  // namespace

bool is_pointwise(const ConvProblem& problem) noexcept {
  return problem.geometry.taps() == 1 && problem.geometry.stride == kernels::Spatial{1, 1, 1} && problem.no_padding &&
         problem.pixel_stride.has_value();
}

std::unique_ptr<ConvWay> pointwise_conv(const ConvProblem& problem, std::size_t threads, std::string_view wanted) {
  if (!is_pointwise(problem)) return nullptr;
  const kernels::GemmKernel& gemm = kernel_of(kernels::gemm_kernels(), &kernels::gemm_kernel(active_isa()), wanted);
  return std::make_unique<PointwiseConv>(problem, gemm, threads);
}

}  // namespace jitney::cpu
