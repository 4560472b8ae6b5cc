// Transposed convolution in float32 whose windows do not overlap. An input pixel times the weights of all taps is a row of the
// product; a few hundred pixels' rows stay in the cache until the epilogue has written them to the places of their taps.
#include <algorithm>
#include <cstring>

#include "base/aligned.h"
#include "cpu/conv_transpose_weights.h"
#include "cpu/parallel.h"

namespace jitney::cpu {
namespace {

/// Floats of one block's products, and the fewest pixels of a block: what is multiplied by weights from farther caches.
constexpr std::int64_t kBlockFloats = 16 * 1024;
constexpr std::int64_t kLeastPixels = 48;
/// Wide products are cut into one per row of taps, so that small images are work for several threads.
constexpr std::size_t kWide = 64;
/// Rows of fewer numbers than this are brought to the epilogue several at a time.
constexpr std::size_t kEpilogueColumns = 32;

class TransposedBlocks final : public ConvWay {
 public:
  TransposedBlocks(const ConvProblem& problem, std::size_t threads)
      : problem_(problem), geometry_(problem.geometry), channels_(problem.channels), filters_(problem.filters) {
    const auto across = static_cast<std::size_t>(geometry_.kernel[2]);
    const auto tap_rows = static_cast<std::size_t>(geometry_.kernel[0] * geometry_.kernel[1]);
    slices_ = across * filters_ >= kWide ? tap_rows : 1;
    slice_rows_ = tap_rows / slices_;
    columns_ = slice_rows_ * across * filters_;
    pixel_stride_ = *problem.pixel_stride;
    matrix_ = kernels::packed_b_size(gemm_, channels_, columns_);
    kernel = std::string(gemm_.name) + "_blocks";
    packing = "transposed_blocks/" + kernel;
    packed_floats = matrix_ * slices_;
    copies_ = (std::max(kEpilogueColumns, across * filters_) + filters_ - 1) / filters_;
    block_ = std::clamp(kBlockFloats / std::max<std::int64_t>(static_cast<std::int64_t>(columns_), 1), kLeastPixels,
                        std::int64_t{1024});
    scratch_ = align_up(static_cast<std::size_t>(block_) * columns_ * sizeof(float));
    workspace = threads * scratch_;
    repeated_at_ = workspace;
    workspace += 2 * align_up(copies_ * filters_ * sizeof(float));
  }

  void pack(const float* source, float* target) const override {
    for (std::size_t slice = 0; slice < slices_; ++slice)
      pack_transposed(gemm_, problem_, 0, slice * slice_rows_, slice_rows_, source, target + slice * matrix_);
  }

  void run(const StepRun& run, const ConvRun& conv) const override {
    const auto filters = static_cast<std::int64_t>(filters_);
    const std::int64_t residual_stride = conv.epilogue.residual != nullptr ? conv.epilogue.residual_stride : filters;
    const bool gapless = conv.y_stride == filters && residual_stride == filters;
    Target target{conv.epilogue, conv.y, conv.y_stride, gapless ? static_cast<std::size_t>(geometry_.kernel[2]) : 1,
                  gapless ? copies_ : 1};
    repeat(target, reinterpret_cast<float*>(conv.workspace + repeated_at_));
    const std::int64_t pixels = geometry_.batch * geometry_.input[0] * geometry_.input[1] * geometry_.input[2];
    const auto blocks = static_cast<std::size_t>((pixels + block_ - 1) / block_);
    const double cost = product_nanoseconds(static_cast<double>(pixels), static_cast<double>(columns_ * slices_),
                                            static_cast<double>(channels_) + 16);
    parallel_tasks(run, blocks * slices_, cost, [&](std::size_t task, std::size_t worker) {
      const std::size_t slice = task / blocks;
      const std::int64_t begin = static_cast<std::int64_t>(task % blocks) * block_, end = std::min(begin + block_, pixels);
      auto* products = reinterpret_cast<float*>(conv.workspace + worker * scratch_);
      kernels::GemmArgs args;
      args.m = static_cast<std::size_t>(end - begin);
      args.n = columns_;
      args.k = channels_;
      args.a = conv.x + begin * pixel_stride_;
      args.lda = pixel_stride_;
      args.b = conv.weights + slice * matrix_;
      args.c = products;
      args.ldc = static_cast<std::ptrdiff_t>(columns_);
      kernels::gemm_tile(gemm_, args, 0, args.m, 0, args.n);
      place(products, slice, begin, end, target);
    });
  }

  std::string why() const override {
    return tap_words(geometry_) + " taps that do not overlap: products of " + std::to_string(block_) +
           " pixels at a time, written in place";
  }

 private:
  /// Where results go, and what is done to them on the way.
  struct Target {
    kernels::Epilogue epilogue;
    float* y;
    std::int64_t stride;   // between pixels
    std::size_t run_taps;  // neighbouring taps whose results lie together
    std::size_t repeat;    // copies of bias and slope
  };

  /// Bias and slope once per number of a run of taps, so that the epilogue sees long rows.
  void repeat(Target& target, float* to) const {
    const auto copy = [&](const float*& from) {
      if (from == nullptr || target.repeat == 1) return;
      for (std::size_t i = 0; i < target.repeat; ++i) std::copy_n(from, filters_, to + i * filters_);
      from = to;
      to += align_up(target.repeat * filters_ * sizeof(float)) / sizeof(float);
    };
    copy(target.epilogue.bias);
    if (target.epilogue.slope_stride != 0) copy(target.epilogue.slope);
  }

  /// Products of input pixels [begin, end), one stretch of an image row at a time.
  void place(const float* products, std::size_t slice, std::int64_t begin, std::int64_t end, const Target& target) const {
    const auto& [depth, height, width] = geometry_.input;
    for (std::int64_t pixel = begin; pixel < end;) {
      const std::int64_t w = pixel % width, h = pixel / width % height, d = pixel / width / height % depth;
      const std::int64_t image = pixel / width / height / depth, count = std::min(end - pixel, width - w);
      const float* from = products + (pixel - begin) * static_cast<std::int64_t>(columns_);
      for (std::size_t r = 0; r < slice_rows_; ++r) {
        const auto tap_row = static_cast<std::int64_t>(slice * slice_rows_ + r);
        const std::int64_t out_d = d * geometry_.stride[0] + tap_row / geometry_.kernel[1];
        const std::int64_t out_h = h * geometry_.stride[1] + tap_row % geometry_.kernel[1];
        const std::int64_t row = (image * geometry_.output[0] + out_d) * geometry_.output[1] + out_h;
        place_row(from + r * static_cast<std::size_t>(geometry_.kernel[2]) * filters_, count,
                  row * geometry_.output[2] + w * geometry_.stride[2], target);
      }
      pixel += count;
    }
  }

  /// One row of taps of `count` pixels, which go to the output pixels from `at` on.
  void place_row(const float* from, std::int64_t count, std::int64_t at, const Target& target) const {
    const kernels::Epilogue& epilogue = target.epilogue;
    const auto across = geometry_.kernel[2];
    const auto columns = static_cast<std::ptrdiff_t>(columns_);
    const std::size_t length = target.run_taps * filters_;
    float* to = target.y + at * target.stride;
    if (target.run_taps > 1 && length < kEpilogueColumns && epilogue.residual == nullptr) {
      // Short runs are moved first and then finished in place, as a few long rows. (A residual may lie where they go.)
      for (std::int64_t i = 0; i < count; ++i) copy_run(from + i * columns, to + i * static_cast<std::int64_t>(length), length);
      const std::size_t all = static_cast<std::size_t>(count) * length, long_row = target.repeat * filters_;
      const auto stride = static_cast<std::ptrdiff_t>(long_row);
      gemm_.epilogue(epilogue, all / long_row, long_row, to, stride, to, stride);
      const std::size_t rest = all % long_row;
      if (rest != 0) gemm_.epilogue(epilogue, 1, rest, to + (all - rest), 0, to + (all - rest), 0);
      return;
    }
    for (std::int64_t tap = 0; tap < across; tap += static_cast<std::int64_t>(target.run_taps)) {
      kernels::Epilogue part = epilogue;
      if (part.residual != nullptr) part.residual += (at + tap) * epilogue.residual_stride;
      part.residual_stride = epilogue.residual_stride * across;
      gemm_.epilogue(part, static_cast<std::size_t>(count), length, from + tap * static_cast<std::int64_t>(filters_), columns,
                     to + tap * target.stride, across * target.stride);
    }
  }

  static void copy_run(const float* from, float* to, std::size_t length) {
    if (length == 2) {
      std::memcpy(to, from, 2 * sizeof(float));
    } else if (length == 4) {
      std::memcpy(to, from, 4 * sizeof(float));
    } else {
      for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
    }
  }

  ConvProblem problem_;
  kernels::ConvGeometry geometry_;
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  std::size_t channels_, filters_;
  std::size_t slices_ = 1, slice_rows_ = 1;  // products that the taps are cut into; rows of taps in each
  std::size_t columns_ = 0, matrix_ = 0;     // of one slice: taps · filters; packed floats
  std::size_t copies_ = 1;                   // of bias and slope, where results lie together
  std::int64_t block_ = 1, pixel_stride_ = 0;
  std::size_t scratch_ = 0, repeated_at_ = 0;
};

/// Whether each output belongs to one input pixel and one tap.
bool fits(const ConvProblem& problem) {
  const kernels::ConvGeometry& g = problem.geometry;
  if (problem.groups != 1 || problem.filters == 0) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (g.kernel[i] != g.stride[i] || g.dilation[i] != 1 || g.pad_begin[i] != 0 || g.output[i] != g.input[i] * g.stride[i])
      return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<ConvWay> transposed_blocks(const ConvProblem& problem, std::size_t threads) {
  if (!fits(problem)) return nullptr;
  return std::make_unique<TransposedBlocks>(problem, threads);
}

}  // namespace jitney::cpu
