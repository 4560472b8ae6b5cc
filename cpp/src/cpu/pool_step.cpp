// Max and average pooling in float32, channels-last.
#include "cpu/pool_step.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/aligned.h"
#include "cpu/conv_shape.h"
#include "cpu/kernels/pool/pool.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

/// The taps of one window along one axis.
struct Taps {
  std::int64_t first = 0, count = 0;  // those inside the image
  std::int64_t start = 0;             // where the first of them lies
  std::int64_t padded = 0;            // those inside the image or its padding
};

class PoolStep final : public Step {
 public:
  PoolStep(const NodeRequest& node, const WindowGeometry& window, std::size_t threads)
      : node_(node), geometry_(conv_geometry(window, node.inputs[0])), output_(node.outputs[0]) {
    max_ = node.node->op == "max_pool";
    count_padding_ = node.node->integer("count_include_pad", 0) != 0;
    channels_ = node.inputs[0].shape[1];
    pad_end_ = spatial3(window.pad_end, 0);
    for (std::int64_t w = 0; w < geometry_.output[2]; ++w) columns_.push_back(taps(2, w));
    // Kernels may be as large as the image, taps inside it are what counts.
    const auto rows = std::min(geometry_.kernel[0], geometry_.input[0]) * std::min(geometry_.kernel[1], geometry_.input[1]);
    const auto across = std::min(geometry_.kernel[2], geometry_.input[2]);
    starts_ = align_up(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)) * sizeof(const float*));
    scratch_ = starts_;
    // Rows first, for the whole width, then columns: fewer taps where windows overlap.
    const std::int64_t per_row = geometry_.output[2] * across;
    const std::int64_t down_first = geometry_.input[2] * (rows + 1) + per_row;
    taps_ = std::min(down_first, rows * per_row);
    down_first_ = across > 1 && rows > 1 && down_first < rows * per_row;
    if (down_first_) scratch_ += align_up(static_cast<std::size_t>(geometry_.input[2] * channels_) * sizeof(float));
    workspace = threads * scratch_;
    output_.reserve(workspace);
    kernel = max_ ? "f32_max_pool_nhwc" : "f32_average_pool_nhwc";
  }

  void run(const StepRun& run) const override {
    const float* x = input_data(run, node_, 0);
    float* y = output_.target(run);
    const std::int64_t rows = geometry_.batch * geometry_.output[0] * geometry_.output[1];
    const double row_cost = static_cast<double>(taps_ * channels_) * 0.1;
    parallel_ranges(run, rows, piece_size(row_cost), [&](std::int64_t begin, std::int64_t end, std::size_t worker) {
      auto* scratch = static_cast<std::byte*>(run.workspace) + worker * scratch_;
      for (std::int64_t row = begin; row < end; ++row) pool_row(x, y, row, scratch);
    });
    output_.finish(run);
  }

  std::string why() const override {
    return "windows of " + std::to_string(geometry_.taps()) + " taps, vectorised over " + std::to_string(channels_) + " channels";
  }

 private:
  Taps taps(std::size_t axis, std::int64_t output) const {
    const std::int64_t origin = output * geometry_.stride[axis] - geometry_.pad_begin[axis], dilation = geometry_.dilation[axis];
    const auto below = [&](std::int64_t bound) {  // taps before `bound`
      return origin >= bound ? 0 : std::min<std::int64_t>((bound - origin - 1) / dilation + 1, geometry_.kernel[axis]);
    };
    Taps taps;
    taps.first = below(0);
    taps.count = std::max<std::int64_t>(below(geometry_.input[axis]) - taps.first, 0);
    taps.start = origin + taps.first * dilation;
    taps.padded = below(geometry_.input[axis] + pad_end_[axis]) - below(-geometry_.pad_begin[axis]);
    return taps;
  }

  void pool_row(const float* x, float* y, std::int64_t row, std::byte* scratch) const {
    auto** starts = reinterpret_cast<const float**>(scratch);
    const std::int64_t h = row % geometry_.output[1], d = row / geometry_.output[1] % geometry_.output[0];
    const std::int64_t image = row / geometry_.output[1] / geometry_.output[0];
    const Taps depth = taps(0, d), height = taps(1, h);
    const float* origin = x + image * geometry_.input_batch_stride;
    kernels::PoolWindow window;
    window.rows = starts;
    window.channels = static_cast<std::size_t>(channels_);
    for (std::int64_t i = 0; i < depth.count; ++i) {
      for (std::int64_t j = 0; j < height.count; ++j) {
        starts[window.row_count++] = origin + (depth.start + i * geometry_.dilation[0]) * geometry_.input_stride[0] +
                                     (height.start + j * geometry_.dilation[1]) * geometry_.input_stride[1];
      }
    }
    std::int64_t pixel = geometry_.input_stride[2];
    if (down_first_) {
      auto* joined = reinterpret_cast<float*>(scratch + starts_);
      join_rows(window, starts, pixel, joined);
      starts[0] = joined;
      window.row_count = 1;
      pixel = channels_;
    }
    window.column_step = geometry_.dilation[2] * pixel;
    std::int64_t at = 0;  // where the starts point to, in the row
    float* to = y + row * geometry_.output[2] * output_.stride();
    for (const Taps& width : columns_) {
      window.columns = static_cast<std::size_t>(width.count);
      if (width.count > 0) {
        for (std::size_t r = 0; r < window.row_count; ++r) starts[r] += (width.start - at) * pixel;
        at = width.start;
      }
      if (max_) {
        kernel_.max(window, to);
      } else {
        const std::int64_t count =
            count_padding_ ? depth.padded * height.padded * width.padded : depth.count * height.count * width.count;
        kernel_.average(window, static_cast<float>(count), to);
      }
      to += output_.stride();
    }
  }

  /// One row of pixels without gaps from the window's rows.
  void join_rows(kernels::PoolWindow window, const float** starts, std::int64_t pixel, float* joined) const {
    std::int64_t pixels = geometry_.input[2];
    window.columns = 1;
    if (pixel == channels_) {
      window.channels *= static_cast<std::size_t>(pixels);
      pixels = 1;
    }
    for (std::int64_t w = 0; w < pixels; ++w) {
      if (max_) {
        kernel_.max(window, joined + w * channels_);
      } else {
        kernel_.average(window, 1.0F, joined + w * channels_);
      }
      for (std::size_t r = 0; r < window.row_count; ++r) starts[r] += pixel;
    }
  }

  NodeRequest node_;
  kernels::ConvGeometry geometry_;
  StagedOutput output_;
  const kernels::PoolKernel& kernel_ = kernels::pool_kernel(active_isa());
  bool max_ = false, count_padding_ = false, down_first_ = false;
  std::int64_t channels_ = 0, taps_ = 0;  // taps: about so many are joined for a row of outputs
  std::vector<Taps> columns_;             // by output column
  kernels::Spatial pad_end_{};
  std::size_t starts_ = 0, scratch_ = 0;
};

bool takes(const NodeRequest& node) {
  const std::size_t rank = node.inputs[0].shape.size();
  return node.inputs[0].dtype == DType::float32 && rank >= 3 && rank <= 5 && !present(node.outputs, 1) &&
         present(node.outputs, 0);
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  const Order channels_last = channels_last_order(node.inputs[0].shape.size());
  NodeLayout layout;
  layout.inputs.resize(1);
  if (!pixel_strides(node.inputs[0].shape, node.inputs[0].strides)) layout.inputs[0] = channels_last;
  layout.outputs.assign(node.outputs.size(), channels_last);
  layout.strided_output = true;
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t threads) {
  if (!takes(node)) return nullptr;
  const WindowGeometry window =
      window_geometry(*node.node, spatial_sizes(node.inputs[0].shape), Shape(node.node->integers("kernel")));
  return std::make_unique<PoolStep>(node, window, threads);
}

constexpr std::array<FastOp, 2> kOps = {{{"max_pool", layout, prepare}, {"average_pool", layout, prepare}}};

}  // namespace

std::span<const FastOp> pool_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
