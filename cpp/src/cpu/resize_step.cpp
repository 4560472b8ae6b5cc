// Resize of the spatial axes, channels-last.
#include "cpu/resize_step.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/aligned.h"
#include "cpu/kernels/resize/resize.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/operands.h"
#include "ops/resize_axis.h"

namespace jitney::cpu {
namespace {

/// Filters wider than this are better applied axis by axis, which the reference kernel does.
constexpr std::int64_t kMostTaps = 64;

/// All output indices along one axis: taps with weights other than 0, one index after another.
struct AxisTaps {
  std::vector<std::int64_t> offset;  // elements
  std::vector<float> weight;
  std::vector<std::size_t> first{0};  // by output index: its first tap

  void add(std::int64_t at, float by) {
    offset.push_back(at);
    weight.push_back(by);
  }
  void end_index() { first.push_back(offset.size()); }
  std::size_t begin(std::int64_t index) const { return first[static_cast<std::size_t>(index)]; }
  std::size_t end(std::int64_t index) const { return first[static_cast<std::size_t>(index) + 1]; }
  std::int64_t first_offset(std::int64_t index) const { return offset[begin(index)]; }
};

/// All axes of the request; nullopt unless only spatial axes change, and in a way that this step can do.
std::optional<std::vector<ResizeAxis>> plain_axes(const NodeRequest& node) {
  const Operand& x = node.inputs[0];
  const bool nearest = node.node->text("mode", "nearest") == "nearest";
  if (node.outputs[0].shape.elements() == 0) return std::nullopt;
  if (x.shape.size() < 3 || x.shape.size() > 5 || (!nearest && x.dtype != DType::float32)) return std::nullopt;
  ResizeOperands operands;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!present(node.inputs, i)) continue;
    const auto known = node.inputs[i].bytes();
    if (!known) return std::nullopt;
    (i == 1 ? operands.sizes : i == 2 ? operands.scales : operands.roi) = *known;
  }
  std::vector<ResizeAxis> axes = resize_axes(*node.node, x.shape, operands);
  std::int64_t taps = 1;
  for (const ResizeAxis& axis : axes) {
    if (!axis.outside.empty()) return std::nullopt;
    taps *= axis.identity ? 1 : axis.taps;
  }
  if (!axes[0].identity || !axes[1].identity || taps > kMostTaps) return std::nullopt;
  return axes;
}

class ResizeStep final : public Step {
 public:
  ResizeStep(const NodeRequest& node, const std::vector<ResizeAxis>& axes, std::size_t threads) : node_(node) {
    const Operand &x = node.inputs[0], &y = node.outputs[0];
    nearest_ = node.node->text("mode", "nearest") == "nearest";
    bytes_ = size_of(x.dtype);
    channels_ = x.shape[1];
    images_ = x.shape[0];
    x_batch_ = pixel_strides(x.shape, x.strides)->batch;
    y_batch_ = pixel_strides(y.shape, y.strides)->batch;
    std::size_t most = 1;
    for (std::size_t i = 2; i < axes.size(); ++i) {
      const std::size_t axis = 3 + i - axes.size();
      size_[axis] = y.shape[i];
      y_stride_[axis] = y.strides[i];
      most *= add_taps(taps_[axis], axes[i], y.shape[i], x.strides[i]);
    }
    for (AxisTaps& taps : taps_) {
      if (taps.first.size() > 1) continue;  // else the picture has no such axis
      taps.add(0, 1.0F);
      taps.end_index();
    }
    weights_at_ = align_up(most * sizeof(const float*));
    scratch_ = weights_at_ + align_up(most * sizeof(float));
    workspace = nearest_ ? 0 : threads * scratch_;
    kernel = nearest_ ? "resize_nearest_nhwc" : "f32_resize_nhwc";
  }

  void run(const StepRun& run) const override {
    const auto* x = input_data<std::byte>(run, node_, 0);
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    const std::int64_t rows = images_ * size_[0] * size_[1];
    const double cost = static_cast<double>(size_[2]) * (static_cast<double>(channels_) * (nearest_ ? 0.2 : 1.0) + 10);
    parallel_ranges(run, rows, piece_size(cost), [&](std::int64_t begin, std::int64_t end, std::size_t worker) {
      auto* scratch = static_cast<std::byte*>(run.workspace) + worker * scratch_;
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t h = row % size_[1], d = row / size_[1] % size_[0], image = row / size_[1] / size_[0];
        const std::int64_t from = image * x_batch_, to = image * y_batch_ + d * y_stride_[0] + h * y_stride_[1];
        if (nearest_) {
          copy_row(x, y, from, to, d, h);
        } else {
          blend_row(reinterpret_cast<const float*>(x) + from, reinterpret_cast<float*>(y) + to, d, h, scratch);
        }
      }
    });
  }

 private:
  /// The most taps that an index has.
  static std::size_t add_taps(AxisTaps& taps, const ResizeAxis& axis, std::int64_t size, std::int64_t stride) {
    std::size_t widest = 1;
    for (std::int64_t o = 0; o < size; ++o) {
      for (std::int64_t t = 0; !axis.identity && t < axis.taps; ++t) {
        const auto at = static_cast<std::size_t>(o * axis.taps + t);
        const double weight = axis.weight.empty() ? 1.0 : axis.weight[at];
        if (weight != 0) taps.add(axis.index[at] * stride, static_cast<float>(weight));
      }
      if (axis.identity) taps.add(o * stride, 1.0F);
      taps.end_index();
      widest = std::max(widest, taps.end(o) - taps.begin(o));
    }
    return widest;
  }

  void copy_row(const std::byte* x, std::byte* y, std::int64_t from, std::int64_t to, std::int64_t d, std::int64_t h) const {
    const auto bytes = static_cast<std::int64_t>(bytes_);
    const std::byte* row = x + (from + taps_[0].first_offset(d) + taps_[1].first_offset(h)) * bytes;
    for (std::int64_t w = 0; w < size_[2]; ++w) {
      std::memcpy(y + (to + w * y_stride_[2]) * bytes, row + taps_[2].first_offset(w) * bytes,
                  static_cast<std::size_t>(channels_ * bytes));
    }
  }

  void blend_row(const float* x, float* y, std::int64_t d, std::int64_t h, std::byte* scratch) const {
    auto** tap = reinterpret_cast<const float**>(scratch);
    auto* weight = reinterpret_cast<float*>(scratch + weights_at_);
    const auto& [depth, height, width] = taps_;
    for (std::int64_t w = 0; w < size_[2]; ++w) {
      std::size_t count = 0;
      for (std::size_t i = depth.begin(d); i < depth.end(d); ++i) {
        for (std::size_t j = height.begin(h); j < height.end(h); ++j) {
          for (std::size_t k = width.begin(w); k < width.end(w); ++k) {
            tap[count] = x + depth.offset[i] + height.offset[j] + width.offset[k];
            weight[count++] = depth.weight[i] * height.weight[j] * width.weight[k];
          }
        }
      }
      kernels::f32_weighted_sum(count, tap, weight, static_cast<std::size_t>(channels_), y + w * y_stride_[2]);
    }
  }

  NodeRequest node_;
  bool nearest_ = false;
  std::size_t bytes_ = 0;
  std::int64_t channels_ = 0, images_ = 0, x_batch_ = 0, y_batch_ = 0;
  std::array<std::int64_t, 3> size_{1, 1, 1}, y_stride_{};
  std::array<AxisTaps, 3> taps_;
  std::size_t weights_at_ = 0, scratch_ = 0;
};

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!plain_axes(node)) return std::nullopt;
  const Operand& x = node.inputs[0];
  const Order channels_last = channels_last_order(x.shape.size());
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  if (!pixel_strides(x.shape, x.strides)) layout.inputs[0] = channels_last;
  layout.outputs.push_back(channels_last);
  layout.strided_output = true;
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t threads) {
  const auto axes = plain_axes(node);
  if (!axes) return nullptr;
  return std::make_unique<ResizeStep>(node, *axes, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"resize", layout, prepare}}};

}  // namespace

std::span<const FastOp> resize_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
