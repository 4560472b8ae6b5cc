// Convolution with one filter per channel.
#include "cpu/conv_way.h"
#include "cpu/kernel_ways.h"
#include "cpu/kernels/dwconv/dwconv.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

class DepthwiseConv final : public ConvWay {
 public:
  DepthwiseConv(const ConvProblem& problem, const kernels::DwConvKernel& by, std::size_t threads)
      : problem_(problem), kernel_(by) {
    kernel = kernel_.name;
    packing = kernel;
    packed_floats = problem.geometry.taps() * kernels::dwconv_padded(kernel_, problem.groups);
    grid_ = kernels::dwconv_tiles(kernel_, problem.geometry, problem.groups, threads);
  }

  void pack(const float* source, float* packed) const override {
    kernels::pack_dwconv(kernel_, problem_.geometry.kernel, problem_.groups, source, problem_.filter_stride, problem_.tap_stride,
                         packed);
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    const kernels::DwConvArgs args{problem_.geometry, problem_.groups, conv.x,        nullptr,
                                   conv.weights,      conv.y,          conv.y_stride, conv.epilogue};
    parallel_tasks(run, grid_.count(), 2 * problem_.nanoseconds(), [&](std::size_t index, std::size_t) {
      const auto tile = grid_.tile(index);
      kernels::dwconv_tile(kernel_, args, tile.row, tile.row_end, tile.column, tile.column_end);
    });
  }

  std::string why() const override {
    return "one filter a channel: " + tap_words(problem_.geometry) + " taps, vectorised over " + std::to_string(problem_.groups) +
           " channels";
  }

 private:
  ConvProblem problem_;
  const kernels::DwConvKernel& kernel_;
  kernels::TileGrid grid_;
};

}  // namespace

bool is_depthwise(const ConvProblem& problem) noexcept { return problem.channels == 1 && problem.filters == 1; }

std::unique_ptr<ConvWay> depthwise_conv(const ConvProblem& problem, std::size_t threads, std::string_view wanted) {
  if (!is_depthwise(problem)) return nullptr;
  const kernels::DwConvKernel& kernel = kernel_of(kernels::dwconv_kernels(), &kernels::dwconv_kernel(active_isa()), wanted);
  return std::make_unique<DepthwiseConv>(problem, kernel, threads);
}

}  // namespace jitney::cpu
