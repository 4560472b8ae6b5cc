// Transposed convolution in float32 whose windows do not overlap. An input pixel times the weights of all taps is a row of the
// product; a few hundred pixels' rows stay in the cache until the epilogue has written them to the places of their taps.
#include "cpu/conv_transpose_blocks_step.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
#include "cpu/epilogue_operands.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

/// Floats of one block's products, and the fewest pixels of a block: what is multiplied by weights from farther caches.
constexpr std::int64_t kBlockFloats = 16 * 1024;
constexpr std::int64_t kLeastPixels = 48;
/// Wide products are cut into one per row of taps, so that small images are work for several threads.
constexpr std::size_t kWide = 64;
/// Rows of fewer numbers than this are brought to the epilogue several at a time.
constexpr std::size_t kEpilogueColumns = 32;

class ConvTransposeBlocksStep final : public Step {
 public:
  ConvTransposeBlocksStep(const NodeRequest& node, const WindowGeometry& window, PackCache& cache, std::size_t threads)
      : node_(node), geometry_(conv_geometry(window, node.inputs[0])), output_(node.outputs[0]) {
    const Operand& w = node.inputs[1];
    channels_ = static_cast<std::size_t>(w.shape[0]);
    filters_ = static_cast<std::size_t>(w.shape[1]);
    const auto across = static_cast<std::size_t>(geometry_.kernel[2]);
    const auto tap_rows = static_cast<std::size_t>(geometry_.kernel[0] * geometry_.kernel[1]);
    slices_ = across * filters_ >= kWide ? tap_rows : 1;
    slice_rows_ = tap_rows / slices_;
    columns_ = slice_rows_ * across * filters_;
    pixel_stride_ = *uniform_pixel_stride(node.inputs[0].shape, node.inputs[0].strides);
    matrix_ = kernels::packed_b_size(gemm_, channels_, columns_);
    kernel = std::string(gemm_.name) + "_blocks";
    packed_ = PackedWeight(w, cache, "conv_transpose_blocks/" + kernel, matrix_ * slices_,
                           [&](const float* source, float* target) { pack(source, target); });
    std::int64_t residual_stride = 0;
    if (present(node.inputs, kResidualOperand)) {
      const Operand& residual = node.inputs[kResidualOperand];
      residual_stride = *uniform_pixel_stride(residual.shape, residual.strides);
    }
    epilogue_ = make_epilogue(node, residual_stride);
    const auto filters = static_cast<std::int64_t>(filters_);
    const bool gapless = output_.stride() == filters && (residual_stride == 0 || residual_stride == filters);
    run_taps_ = gapless ? across : 1;
    repeat_ = gapless ? (std::max(kEpilogueColumns, across * filters_) + filters_ - 1) / filters_ : 1;
    block_ = std::clamp(kBlockFloats / std::max<std::int64_t>(static_cast<std::int64_t>(columns_), 1), kLeastPixels,
                        std::int64_t{1024});
    scratch_ = align_up(static_cast<std::size_t>(block_) * columns_ * sizeof(float));
    workspace = threads * scratch_;
    repeated_at_ = workspace;
    workspace += 2 * align_up(repeat_ * filters_ * sizeof(float));
    output_.reserve(workspace);
    if (packed_.data() == nullptr) {
      pack_at_ = workspace;
      workspace += align_up(matrix_ * slices_ * sizeof(float));
    } else {
      packed = 1U << 1;
    }
  }

  void run(const StepRun& run) const override {
    auto* bytes = static_cast<std::byte*>(run.workspace);
    const float* weights = packed_.data();
    if (weights == nullptr) {
      auto* target = reinterpret_cast<float*>(bytes + pack_at_);
      pack(input_data(run, node_, 1), target);
      weights = target;
    }
    const float* x = input_data(run, node_, 0);
    float* y = output_.target(run);
    kernels::Epilogue epilogue = bind_epilogue(epilogue_, node_, run);
    repeat(epilogue, reinterpret_cast<float*>(bytes + repeated_at_));
    const std::int64_t pixels = geometry_.batch * geometry_.input[0] * geometry_.input[1] * geometry_.input[2];
    const auto blocks = static_cast<std::size_t>((pixels + block_ - 1) / block_);
    const double cost = product_nanoseconds(static_cast<double>(pixels), static_cast<double>(columns_ * slices_),
                                            static_cast<double>(channels_) + 16);
    parallel_tasks(run, blocks * slices_, cost, [&](std::size_t task, std::size_t worker) {
      const std::size_t slice = task / blocks;
      const std::int64_t begin = static_cast<std::int64_t>(task % blocks) * block_, end = std::min(begin + block_, pixels);
      auto* products = reinterpret_cast<float*>(bytes + worker * scratch_);
      kernels::GemmArgs args;
      args.m = static_cast<std::size_t>(end - begin);
      args.n = columns_;
      args.k = channels_;
      args.a = x + begin * pixel_stride_;
      args.lda = pixel_stride_;
      args.b = weights + slice * matrix_;
      args.c = products;
      args.ldc = static_cast<std::ptrdiff_t>(columns_);
      kernels::gemm_tile(gemm_, args, 0, args.m, 0, args.n);
      place(products, slice, begin, end, epilogue, y);
    });
    output_.finish(run);
  }

 private:
  /// Bias and slope once per number of a run of taps, so that the epilogue sees long rows.
  void repeat(kernels::Epilogue& epilogue, float* target) const {
    const auto copy = [&](const float*& from) {
      if (from == nullptr || repeat_ == 1) return;
      for (std::size_t i = 0; i < repeat_; ++i) std::copy_n(from, filters_, target + i * filters_);
      from = target;
      target += align_up(repeat_ * filters_ * sizeof(float)) / sizeof(float);
    };
    copy(epilogue.bias);
    if (epilogue.slope_stride != 0) copy(epilogue.slope);
  }

  /// Products of input pixels [begin, end), one stretch of an image row at a time.
  void place(const float* products, std::size_t slice, std::int64_t begin, std::int64_t end, const kernels::Epilogue& epilogue,
             float* y) const {
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
                  row * geometry_.output[2] + w * geometry_.stride[2], epilogue, y);
      }
      pixel += count;
    }
  }

  /// One row of taps of `count` pixels, which go to the output pixels from `at` on.
  void place_row(const float* from, std::int64_t count, std::int64_t at, const kernels::Epilogue& epilogue, float* y) const {
    const auto across = geometry_.kernel[2];
    const auto columns = static_cast<std::ptrdiff_t>(columns_);
    const std::size_t length = run_taps_ * filters_;
    float* to = y + at * output_.stride();
    if (run_taps_ > 1 && length < kEpilogueColumns && epilogue.residual == nullptr) {
      // Short runs are moved first and then finished in place, as a few long rows. (A residual may lie where they go.)
      for (std::int64_t i = 0; i < count; ++i) copy_run(from + i * columns, to + i * static_cast<std::int64_t>(length), length);
      const std::size_t all = static_cast<std::size_t>(count) * length, long_row = repeat_ * filters_;
      const auto stride = static_cast<std::ptrdiff_t>(long_row);
      gemm_.epilogue(epilogue, all / long_row, long_row, to, stride, to, stride);
      const std::size_t rest = all % long_row;
      if (rest != 0) gemm_.epilogue(epilogue, 1, rest, to + (all - rest), 0, to + (all - rest), 0);
      return;
    }
    for (std::int64_t tap = 0; tap < across; tap += static_cast<std::int64_t>(run_taps_)) {
      kernels::Epilogue part = epilogue;
      if (part.residual != nullptr) part.residual += (at + tap) * epilogue_.residual_stride;
      part.residual_stride = epilogue_.residual_stride * across;
      gemm_.epilogue(part, static_cast<std::size_t>(count), length, from + tap * static_cast<std::int64_t>(filters_), columns,
                     to + tap * output_.stride(), across * output_.stride());
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

  /// Per slice, B with the columns [tap][filter]: packed from a dense copy, since no two strides can say that.
  void pack(const float* source, float* target) const {
    const Operand& w = node_.inputs[1];
    const kernels::Spatial tap_stride = spatial3(spatial_sizes(w.strides), 0);
    std::vector<float> rows(channels_ * columns_);
    for (std::size_t slice = 0; slice < slices_; ++slice) {
      float* to = rows.data();
      for (std::size_t c = 0; c < channels_; ++c) {
        const float* channel = source + static_cast<std::int64_t>(c) * w.strides[0];
        for (std::size_t r = 0; r < slice_rows_; ++r) {
          const auto tap_row = static_cast<std::int64_t>(slice * slice_rows_ + r);
          for (std::int64_t k = 0; k < geometry_.kernel[2]; ++k) {
            const float* tap = channel + tap_row / geometry_.kernel[1] * tap_stride[0] +
                               tap_row % geometry_.kernel[1] * tap_stride[1] + k * tap_stride[2];
            for (std::size_t m = 0; m < filters_; ++m) *to++ = tap[static_cast<std::int64_t>(m) * w.strides[1]];
          }
        }
      }
      kernels::pack_b(gemm_, channels_, columns_, rows.data(), static_cast<std::ptrdiff_t>(columns_), 1,
                      target + slice * matrix_);
    }
  }

  NodeRequest node_;
  kernels::ConvGeometry geometry_;
  StagedOutput output_;
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  std::size_t channels_ = 0, filters_ = 0;
  std::size_t slices_ = 1, slice_rows_ = 1;  // products that the taps are cut into; rows of taps in each
  std::size_t columns_ = 0, matrix_ = 0;     // of one slice: taps · filters; packed floats
  std::size_t run_taps_ = 1;                 // neighbouring taps whose results lie together in the output
  std::size_t repeat_ = 1;                   // copies of bias and slope
  std::int64_t block_ = 1, pixel_stride_ = 0;
  kernels::Epilogue epilogue_;
  PackedWeight packed_;
  std::size_t scratch_ = 0, repeated_at_ = 0, pack_at_ = 0;
};

}  // namespace

bool writes_blocks(const NodeRequest& node, const WindowGeometry& window) {
  if (node.node->integer("group", 1) != 1 || node.inputs[1].shape[1] == 0) return false;
  for (std::size_t i = 0; i < window.input.size(); ++i) {
    if (window.kernel[i] != window.stride[i] || window.dilation[i] != 1 || window.pad_begin[i] != 0 ||
        window.output[i] != window.input[i] * window.stride[i]) {
      return false;
    }
  }
  return true;
}

std::unique_ptr<Step> prepare_conv_transpose_blocks(const NodeRequest& node, const WindowGeometry& window, PackCache& cache,
                                                    std::size_t threads) {
  return std::make_unique<ConvTransposeBlocksStep>(node, window, cache, threads);
}

}  // namespace jitney::cpu
