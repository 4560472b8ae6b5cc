// Transposed convolution in float32: a matrix product per strip of the image, whose columns are then added
// where they belong.
#include "cpu/conv_transpose_step.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
#include "cpu/conv_transpose_blocks_step.h"
#include "cpu/epilogue_operands.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

/// The products of one strip of the image take about so much of the cache.
constexpr std::size_t kStripBytes = std::size_t{1} << 20;

/// A range of outputs along one spatial axis, and the inputs that add to it.
struct Strip {
  std::int64_t begin = 0, end = 0;
  std::int64_t first = 0, count = 0;
};

class ConvTransposeStep final : public Step {
 public:
  ConvTransposeStep(const NodeRequest& node, const WindowGeometry& window, PackCache& cache, std::size_t threads)
      : node_(node), geometry_(conv_geometry(window, node.inputs[0])), output_(node.outputs[0]) {
    const Operand& x = node.inputs[0];
    const Operand& w = node.inputs[1];
    groups_ = static_cast<std::size_t>(node.node->integer("group", 1));
    channels_ = static_cast<std::size_t>(w.shape[0]) / groups_;
    filters_ = static_cast<std::size_t>(w.shape[1]);
    columns_ = filters_ * geometry_.taps();
    axis_ = geometry_.input[0] > 1 || geometry_.output[0] > 1 ? 0 : 1;
    slab_ = static_cast<std::size_t>((axis_ == 0 ? geometry_.input[1] : 1) * geometry_.input[2]);
    pixel_stride_ = *uniform_pixel_stride(x.shape, x.strides);
    matrix_ = kernels::packed_b_size(gemm_, channels_, columns_);
    kernel = std::string(gemm_.name) + "_transposed";
    packed_ = PackedWeight(w, cache, "conv_transpose/" + kernel + "/" + std::to_string(groups_), matrix_ * groups_,
                           [&](const float* source, float* target) { pack(source, target); });
    std::int64_t residual_stride = 0;
    if (present(node.inputs, kResidualOperand)) {
      const Operand& residual = node.inputs[kResidualOperand];
      residual_stride = *uniform_pixel_stride(residual.shape, residual.strides);
    }
    epilogue_ = make_epilogue(node, residual_stride);
    cut_strips();
    std::int64_t most = 0;
    for (const Strip& strip : strips_) most = std::max(most, strip.count);
    workspace = align_up(static_cast<std::size_t>(most) * slab_ * columns_ * groups_ * sizeof(float));
    sums_at_ = workspace;
    sums_ = align_up(static_cast<std::size_t>(geometry_.output[2]) * filters_ * groups_ * sizeof(float));
    workspace += threads * sums_;
    output_.reserve(workspace);
    if (packed_.data() == nullptr) {
      pack_at_ = workspace;
      workspace += align_up(matrix_ * groups_ * sizeof(float));
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
    auto* products = reinterpret_cast<float*>(bytes);
    const kernels::Epilogue epilogue = bind_epilogue(epilogue_, node_, run);
    const std::int64_t pixels = geometry_.input[0] * geometry_.input[1] * geometry_.input[2];
    const auto slab = static_cast<std::int64_t>(slab_);
    for (std::int64_t image = 0; image < geometry_.batch; ++image) {
      for (const Strip& strip : strips_) {
        const std::int64_t first = image * pixels + strip.first * slab;
        multiply(run, x + first * pixel_stride_, static_cast<std::size_t>(strip.count * slab), weights, products);
        add_up(run, image, strip, products, epilogue);
      }
    }
    output_.finish(run);
  }

 private:
  std::ptrdiff_t row_length() const { return static_cast<std::ptrdiff_t>(columns_ * groups_); }

  /// Neighbouring strips share input rows, which are multiplied for both: strips are long enough that these are few.
  void cut_strips() {
    const std::int64_t reach = (geometry_.kernel[axis_] - 1) * geometry_.dilation[axis_], stride = geometry_.stride[axis_];
    const std::size_t slab_bytes = std::max<std::size_t>(slab_ * columns_ * groups_ * sizeof(float), 1);
    const auto fitting = static_cast<std::int64_t>(kStripBytes / slab_bytes);
    const std::int64_t step = std::max(fitting, 4 * (reach / stride + 1)) * stride;
    for (std::int64_t begin = 0; begin < geometry_.output[axis_]; begin += step) {
      Strip strip;
      strip.begin = begin;
      strip.end = std::min(begin + step, geometry_.output[axis_]);
      const std::int64_t lowest = begin + geometry_.pad_begin[axis_] - reach;
      const std::int64_t highest = strip.end - 1 + geometry_.pad_begin[axis_];
      strip.first = std::min(lowest > 0 ? (lowest + stride - 1) / stride : 0, geometry_.input[axis_]);
      const std::int64_t last = highest < 0 ? 0 : std::min(highest / stride + 1, geometry_.input[axis_]);
      strip.count = std::max<std::int64_t>(last - strip.first, 0);
      strips_.push_back(strip);
    }
  }

  /// products[pixel][group][tap][filter]
  void multiply(const StepRun& run, const float* x, std::size_t pixels, const float* weights, float* products) const {
    const kernels::TileGrid grid = kernels::gemm_tiles(gemm_, pixels, columns_, channels_, run.threads);
    const std::size_t tiles = grid.count();
    if (tiles == 0) return;
    const double cost =
        product_nanoseconds(static_cast<double>(pixels), static_cast<double>(columns_ * groups_), static_cast<double>(channels_));
    parallel_tasks(run, tiles * groups_, cost, [&](std::size_t index, std::size_t) {
      const std::size_t group = index / tiles;
      const auto tile = grid.tile(index % tiles);
      kernels::GemmArgs args;
      args.m = pixels;
      args.n = columns_;
      args.k = channels_;
      args.a = x + group * channels_;
      args.lda = pixel_stride_;
      args.b = weights + group * matrix_;
      args.c = products + group * columns_;
      args.ldc = row_length();
      kernels::gemm_tile(gemm_, args, tile.row, tile.row_end, tile.column, tile.column_end);
    });
  }

  /// Gathers, for each output row, what the input pixels contribute: taps in ascending order.
  void add_up(const StepRun& run, std::int64_t image, const Strip& strip, const float* products,
              const kernels::Epilogue& epilogue) const {
    const std::int64_t rows = geometry_.output[0] * geometry_.output[1], width = geometry_.output[2];
    const std::size_t outputs = filters_ * groups_;
    const double taps_met = static_cast<double>(geometry_.taps()) /
                            static_cast<double>(geometry_.stride[0] * geometry_.stride[1] * geometry_.stride[2]);
    const double cost = static_cast<double>(width) * static_cast<double>(outputs) * (taps_met + 1) * 0.5;
    float* y = output_.target(run);
    const std::int64_t inner = axis_ == 0 ? geometry_.output[1] : 1, first_row = strip.begin * inner;
    const std::int64_t count = (strip.end - strip.begin) * inner;
    parallel_ranges(run, count, piece_size(cost), [&](std::int64_t begin, std::int64_t end, std::size_t worker) {
      auto* sums = reinterpret_cast<float*>(static_cast<std::byte*>(run.workspace) + sums_at_ + worker * sums_);
      for (std::int64_t row = first_row + begin; row < first_row + end; ++row) {
        std::fill_n(sums, static_cast<std::size_t>(width) * outputs, 0.0F);
        add_row(products, strip, row / geometry_.output[1], row % geometry_.output[1], sums);
        const std::int64_t first = (image * rows + row) * width;
        gemm_.epilogue(kernels::shifted(epilogue, first, 0), static_cast<std::size_t>(width), outputs, sums,
                       static_cast<std::ptrdiff_t>(outputs), y + first * output_.stride(), output_.stride());
      }
    });
  }

  /// Input index that adds to `output` through a tap, or −1.
  std::int64_t source(std::size_t axis, std::int64_t output, std::int64_t tap) const {
    const std::int64_t at = output + geometry_.pad_begin[axis] - tap * geometry_.dilation[axis];
    if (at < 0 || at % geometry_.stride[axis] != 0) return -1;
    const std::int64_t index = at / geometry_.stride[axis];
    return index < geometry_.input[axis] ? index : -1;
  }

  void add_row(const float* products, const Strip& strip, std::int64_t d, std::int64_t h, float* sums) const {
    const std::int64_t skipped = strip.first * static_cast<std::int64_t>(slab_);
    std::int64_t tap = 0;
    for (std::int64_t i = 0; i < geometry_.kernel[0]; ++i) {
      const std::int64_t depth = source(0, d, i);
      for (std::int64_t j = 0; j < geometry_.kernel[1]; ++j) {
        const std::int64_t height = source(1, h, j);
        for (std::int64_t k = 0; k < geometry_.kernel[2]; ++k, ++tap) {
          if (depth < 0 || height < 0) continue;
          const std::int64_t pixel = (depth * geometry_.input[1] + height) * geometry_.input[2] - skipped;
          const float* row = products + pixel * row_length();
          for (std::int64_t w = 0; w < geometry_.output[2]; ++w) {
            const std::int64_t width = source(2, w, k);
            if (width >= 0) add_pixel(row + width * row_length() + tap * static_cast<std::int64_t>(filters_), sums, w);
          }
        }
      }
    }
  }

  void add_pixel(const float* product, float* sums, std::int64_t w) const {
    float* to = sums + static_cast<std::size_t>(w) * filters_ * groups_;
    for (std::size_t group = 0; group < groups_; ++group, product += columns_, to += filters_) {
      for (std::size_t m = 0; m < filters_; ++m) to[m] += product[m];
    }
  }

  /// Per group, B with the columns [tap][filter]: packed from a dense copy, since no two strides can say that.
  void pack(const float* source, float* target) const {
    const Operand& w = node_.inputs[1];
    const kernels::Spatial tap_stride = spatial3(spatial_sizes(w.strides), 0);
    std::vector<float> rows(channels_ * columns_);
    for (std::size_t group = 0; group < groups_; ++group) {
      float* to = rows.data();
      for (std::size_t c = 0; c < channels_; ++c) {
        const float* channel = source + static_cast<std::int64_t>(group * channels_ + c) * w.strides[0];
        for (std::int64_t i = 0; i < geometry_.kernel[0]; ++i) {
          for (std::int64_t j = 0; j < geometry_.kernel[1]; ++j) {
            for (std::int64_t k = 0; k < geometry_.kernel[2]; ++k) {
              const float* tap = channel + i * tap_stride[0] + j * tap_stride[1] + k * tap_stride[2];
              for (std::size_t m = 0; m < filters_; ++m) *to++ = tap[static_cast<std::int64_t>(m) * w.strides[1]];
            }
          }
        }
      }
      kernels::pack_b(gemm_, channels_, columns_, rows.data(), static_cast<std::ptrdiff_t>(columns_), 1,
                      target + group * matrix_);
    }
  }

  NodeRequest node_;
  kernels::ConvGeometry geometry_;
  StagedOutput output_;
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  std::size_t groups_ = 1, channels_ = 0, filters_ = 0;  // channels and filters of one group
  std::size_t columns_ = 0, matrix_ = 0;                 // taps · filters of a group; its packed floats
  std::size_t axis_ = 1, slab_ = 0;                      // the axis that is cut into strips; input pixels per index of it
  std::vector<Strip> strips_;
  std::int64_t pixel_stride_ = 0;
  kernels::Epilogue epilogue_;
  PackedWeight packed_;
  std::size_t sums_at_ = 0, sums_ = 0, pack_at_ = 0;
};

bool takes(const NodeRequest& node) {
  return is_plain_conv(node, node.inputs[1].shape[1] * node.node->integer("group", 1)) && node.inputs[0].shape.elements() > 0;
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  NodeLayout layout = conv_layout(node);
  const Operand& x = node.inputs[0];
  if (!uniform_pixel_stride(x.shape, x.strides)) layout.inputs[0] = channels_last_order(x.shape.size());
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache& cache, std::size_t threads) {
  if (!takes(node)) return nullptr;
  const WindowGeometry window =
      transposed_window_geometry(*node.node, spatial_sizes(node.inputs[0].shape), spatial_sizes(node.inputs[1].shape));
  if (writes_blocks(node, window)) return prepare_conv_transpose_blocks(node, window, cache, threads);
  return std::make_unique<ConvTransposeStep>(node, window, cache, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"conv_transpose", layout, prepare}}};

}  // namespace

std::span<const FastOp> conv_transpose_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
