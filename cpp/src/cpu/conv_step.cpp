// Convolution in float32: pointwise as a matrix product, depthwise, 3×3 by Winograd's method, any other through pointers to taps.
#include "cpu/conv_step.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
#include "cpu/epilogue_operands.h"
#include "cpu/kernels/dwconv/dwconv.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/packed_weight.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/epilogue.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

/// The kernel families behind a convolution. Which one depends on shapes per item and strides alone.
enum class Way { pointwise, depthwise, winograd, indirect };

/// Whether Winograd's method is the faster one for an image of this size: it needs a quarter of the products, but two transforms,
/// and its matrices have a row per tile only.
bool winograd_wins(const kernels::GemmKernel& gemm, const kernels::ConvGeometry& g, std::size_t channels, std::size_t filters) {
  constexpr double kInput = 225, kOutput = 190;  // cost of a channel's and a filter's transform, in multiply-adds
  constexpr double kMargin = 1.3;                // shorter products run less smoothly
  kernels::ConvGeometry image = g;
  image.batch = 1;
  const kernels::WinogradBlocks blocks = kernels::winograd_blocks(gemm, image, channels, filters, 1);
  const auto tiles = static_cast<double>(blocks.tiles);
  const auto rows = static_cast<double>(kernels::RowGroups(blocks.tiles, gemm.mr).count * gemm.mr);
  const auto c = static_cast<double>(channels), f = static_cast<double>(filters);
  const double products = rows * static_cast<double>(kernels::kWinogradPoints) * c * f;
  const double direct = static_cast<double>(image.pixels()) * 9 * c * f;
  return kMargin * products + tiles * (kInput * c + kOutput * f) < direct;
}

class ConvStep final : public Step {
 public:
  ConvStep(const NodeRequest& node, const WindowGeometry& window, PackCache& cache, std::size_t threads)
      : node_(node), geometry_(conv_geometry(window, node.inputs[0])), output_(node.outputs[0]) {
    const Operand& x = node.inputs[0];
    const Operand& w = node.inputs[1];
    groups_ = static_cast<std::size_t>(node.node->integer("group", 1));
    channels_ = static_cast<std::size_t>(w.shape[1]);
    filters_ = static_cast<std::size_t>(w.shape[0]) / groups_;
    way_ = choose(window, x, w);
    if (way_ == Way::depthwise) {
      packed_floats_ = geometry_.taps() * kernels::dwconv_padded(depthwise_, groups_);
      grid_ = kernels::dwconv_tiles(depthwise_, geometry_, groups_, threads);
      kernel = depthwise_.name;
    } else if (way_ == Way::pointwise) {
      pixel_stride_ = *uniform_pixel_stride(x.shape, x.strides);
      packed_floats_ = kernels::packed_b_size(gemm_, channels_, filters_);
      grid_ = kernels::gemm_tiles(gemm_, geometry_.pixels(), filters_, channels_, threads);
      kernel = gemm_.name;
    } else if (way_ == Way::winograd) {
      packed_floats_ = kernels::packed_winograd_size(gemm_, channels_, filters_);
      blocks_ = kernels::winograd_blocks(gemm_, geometry_, channels_, filters_, threads);
      scratch_ = kernels::winograd_scratch(blocks_, channels_);
      kernel = winograd_.name;
    } else {
      packed_floats_ = kernels::packed_conv_size(indirect_, geometry_.taps(), channels_, filters_);
      grid_ = kernels::conv_tiles(indirect_, geometry_, channels_, filters_, threads);
      scratch_ = align_up(kernels::conv_scratch(indirect_, geometry_, channels_, grid_));
      kernel = indirect_.name;
    }
    if (way_ == Way::winograd || way_ == Way::indirect) {
      zeros_ = make_aligned(channels_ * sizeof(float));
      std::fill_n(reinterpret_cast<float*>(zeros_.get()), channels_, 0.0F);
    }
    const std::size_t panels = way_ == Way::depthwise ? 1 : groups_;
    packed_ = PackedWeight(w, cache, "conv/" + kernel + "/" + std::to_string(groups_), packed_floats_ * panels,
                           [&](const float* source, float* target) { pack(source, target); });
    std::int64_t residual_stride = 0;
    if (present(node.inputs, kResidualOperand)) {
      const Operand& residual = node.inputs[kResidualOperand];
      residual_stride = *uniform_pixel_stride(residual.shape, residual.strides);
    }
    epilogue_ = make_epilogue(node, residual_stride);

    workspace = threads * scratch_;
    output_.reserve(workspace);
    if (packed_.data() == nullptr) {
      pack_at_ = workspace;
      workspace += align_up(packed_floats_ * panels * sizeof(float));
    } else {
      packed = 1U << 1;
    }
  }

  void run(const StepRun& run) const override {
    auto* workspace_bytes = static_cast<std::byte*>(run.workspace);
    const float* weights = packed_.data();
    if (weights == nullptr) {
      auto* target = reinterpret_cast<float*>(workspace_bytes + pack_at_);
      pack(input_data(run, node_, 1), target);
      weights = target;
    }
    const float* x = input_data(run, node_, 0);
    const kernels::Epilogue epilogue = bind_epilogue(epilogue_, node_, run);
    float* y = output_.target(run);
    const std::size_t tiles = way_ == Way::winograd ? blocks_.count() : grid_.count();
    const double cost = product_nanoseconds(static_cast<double>(geometry_.pixels()), static_cast<double>(filters_),
                                            static_cast<double>(channels_ * geometry_.taps()));
    if (way_ == Way::depthwise) {
      kernels::DwConvArgs args{geometry_, groups_, x, weights, y, output_.stride(), epilogue};
      parallel_tasks(run, tiles, cost * static_cast<double>(groups_) * 2, [&](std::size_t index, std::size_t) {
        const auto tile = grid_.tile(index);
        kernels::dwconv_tile(depthwise_, args, tile.row, tile.row_end, tile.column, tile.column_end);
      });
    } else {
      parallel_tasks(run, tiles * groups_, cost * static_cast<double>(groups_), [&](std::size_t index, std::size_t worker) {
        const std::size_t group = index / tiles;
        const auto column = static_cast<std::ptrdiff_t>(group * filters_);
        const float* from = x + group * channels_;
        const float* panel = weights + group * packed_floats_;
        const kernels::Epilogue part = kernels::shifted(epilogue, 0, column);
        if (way_ == Way::pointwise) {
          const auto tile = grid_.tile(index % tiles);
          const kernels::GemmArgs args{geometry_.pixels(), filters_,         channels_, from, pixel_stride_, panel,
                                       y + column,         output_.stride(), part};
          kernels::gemm_tile(gemm_, args, tile.row, tile.row_end, tile.column, tile.column_end);
          return;
        }
        const auto* zeros = reinterpret_cast<const float*>(zeros_.get());
        const kernels::ConvArgs args{geometry_, channels_, filters_, from, zeros, panel, y + column, output_.stride(), part};
        std::byte* scratch = workspace_bytes + worker * scratch_;
        if (way_ == Way::winograd) {
          kernels::winograd_block(winograd_, gemm_, args, blocks_, index % tiles, scratch);
        } else {
          const auto tile = grid_.tile(index % tiles);
          kernels::conv_tile(indirect_, args, tile.row, tile.row_end, tile.column, tile.column_end, scratch);
        }
      });
    }
    output_.finish(run);
  }

 private:
  Way choose(const WindowGeometry& window, const Operand& x, const Operand& w) const {
    if (channels_ == 1 && filters_ == 1) return Way::depthwise;
    bool pointwise = uniform_pixel_stride(x.shape, x.strides).has_value();
    for (std::size_t i = 0; i < window.rank(); ++i) {
      pointwise =
          pointwise && window.kernel[i] == 1 && window.stride[i] == 1 && window.pad_begin[i] == 0 && window.pad_end[i] == 0;
    }
    if (pointwise) return Way::pointwise;
    if (!kernels::winograd_fits(geometry_) || !w.weight) return Way::indirect;
    const std::size_t bytes = groups_ * kernels::packed_winograd_size(gemm_, channels_, filters_) * sizeof(float);
    const std::size_t own = static_cast<std::size_t>(w.shape.elements()) * sizeof(float);
    const bool affordable = bytes <= own + w.weight->spare_bytes;
    return affordable && winograd_wins(gemm_, geometry_, channels_, filters_) ? Way::winograd : Way::indirect;
  }

  void pack(const float* source, float* target) const {
    const Operand& w = node_.inputs[1];
    const Shape tap_strides = spatial_sizes(w.strides);
    const kernels::Spatial taps = spatial3(tap_strides, 0);
    if (way_ == Way::depthwise) {
      kernels::pack_dwconv(depthwise_, geometry_.kernel, groups_, source, w.strides[0], taps, target);
      return;
    }
    for (std::size_t group = 0; group < groups_; ++group) {
      const float* from = source + static_cast<std::int64_t>(group * filters_) * w.strides[0];
      float* to = target + group * packed_floats_;
      if (way_ == Way::pointwise) {
        kernels::pack_b(gemm_, channels_, filters_, from, w.strides[1], w.strides[0], to);
      } else if (way_ == Way::winograd) {
        kernels::pack_winograd(gemm_, channels_, filters_, from, w.strides[0], w.strides[1], taps, to);
      } else {
        kernels::pack_conv(indirect_, geometry_.kernel, channels_, filters_, from, w.strides[0], w.strides[1], taps, to);
      }
    }
  }

  NodeRequest node_;
  kernels::ConvGeometry geometry_;
  StagedOutput output_;
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  const kernels::ConvKernel& indirect_ = kernels::conv_kernel(active_isa());
  const kernels::DwConvKernel& depthwise_ = kernels::dwconv_kernel(active_isa());
  const kernels::WinogradKernel& winograd_ = kernels::winograd_kernel(active_isa());
  Way way_ = Way::indirect;
  std::size_t groups_ = 1, channels_ = 0, filters_ = 0;  // channels and filters of one group
  std::int64_t pixel_stride_ = 0;
  kernels::TileGrid grid_;
  kernels::WinogradBlocks blocks_;
  kernels::Epilogue epilogue_;
  PackedWeight packed_;
  AlignedBuffer zeros_;
  std::size_t packed_floats_ = 0;  // of one group
  std::size_t scratch_ = 0;        // bytes per worker
  std::size_t pack_at_ = 0;
};

bool takes(const NodeRequest& node) { return is_plain_conv(node, node.inputs[1].shape[0]); }

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  return conv_layout(node);
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache& cache, std::size_t threads) {
  if (!takes(node)) return nullptr;
  const WindowGeometry window =
      window_geometry(*node.node, spatial_sizes(node.inputs[0].shape), spatial_sizes(node.inputs[1].shape));
  return std::make_unique<ConvStep>(node, window, cache, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"conv", layout, prepare}}};

}  // namespace

std::span<const FastOp> conv_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
