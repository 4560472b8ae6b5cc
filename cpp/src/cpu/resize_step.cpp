// Resize of the spatial axes, channels-last, or plane by plane where channels are few and lie apart.
#include "cpu/resize_step.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

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
/// Pixels of fewer channels are no vectors; rows of them are.
constexpr std::int64_t kFewChannels = 8;

/// All output indices along one axis: taps with weights other than 0, one index after another.
struct AxisTaps {
  std::vector<std::int64_t> offset;  // elements; along the last axis, pixels
  std::vector<float> weight;
  std::vector<std::size_t> first{0};  // by output index: its first tap
  std::size_t most = 1;               // taps of one index

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

/// Whether the picture is resized plane by plane: few channels that lie apart already. Others go channels-last.
bool by_planes(const Operand& x) {
  return x.shape[1] < kFewChannels && dense_in(x.shape, x.strides, row_major_order(x.shape.size())) &&
         !dense_in(x.shape, x.strides, channels_last_order(x.shape.size()));
}

class ResizeStep final : public Step {
 public:
  ResizeStep(const NodeRequest& node, const std::vector<ResizeAxis>& axes, std::size_t threads) : node_(node) {
    const Operand &x = node.inputs[0], &y = node.outputs[0];
    nearest_ = node.node->text("mode", "nearest") == "nearest";
    bytes_ = static_cast<std::int64_t>(size_of(x.dtype));
    const bool planes = by_planes(x);
    planes_ = planes ? x.shape[1] : 1;
    channels_ = planes ? 1 : x.shape[1];
    images_ = x.shape[0] * planes_;
    x_image_ = {x.strides[0], x.strides[1]};
    y_image_ = {y.strides[0], y.strides[1]};
    for (std::size_t i = 2; i < axes.size(); ++i) {
      const std::size_t axis = 3 + i - axes.size();
      size_[axis] = y.shape[i];
      // Along axes of size 1 any stride will do: that of dense pixels keeps rows whole.
      x_stride_[axis] = x.shape[i] == 1 ? channels_ : x.strides[i];
      y_stride_[axis] = y.shape[i] == 1 ? channels_ : y.strides[i];
      add_taps(taps_[axis], axes[i], y.shape[i], axis == 2 ? 1 : x_stride_[axis]);
      if (axis == 2) width_ = x.shape[i];
    }
    for (AxisTaps& taps : taps_) {
      if (taps.first.size() > 1) continue;  // else the picture has no such axis
      taps.add(0, 1.0F);
      taps.end_index();
      taps.most = 1;
    }
    stretches_ = !axes.back().identity;
    if (!nearest_) plan_blending();
    workspace = threads * scratch_;
    kernel = nearest_ ? "resize_nearest" : "f32_resize";
    kernel += planes ? "_planes" : "_nhwc";
  }

  void run(const StepRun& run) const override {
    const auto* x = input_data<std::byte>(run, node_, 0);
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    const std::int64_t rows = images_ * size_[0] * size_[1];
    const double cost = static_cast<double>(size_[2]) * (static_cast<double>(channels_) * (nearest_ ? 0.2 : 1.0) + 3);
    parallel_ranges(run, rows, piece_size(cost), [&](std::int64_t begin, std::int64_t end, std::size_t worker) {
      auto* scratch = static_cast<std::byte*>(run.workspace) + worker * scratch_;
      const std::byte *source = nullptr, *copied = nullptr;
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t h = row % size_[1], d = row / size_[1] % size_[0], image = row / size_[1] / size_[0];
        const std::int64_t n = image / planes_, plane = image % planes_;
        const std::int64_t from = n * x_image_[0] + plane * x_image_[1];
        const std::int64_t to = n * y_image_[0] + plane * y_image_[1] + d * y_stride_[0] + h * y_stride_[1];
        if (!nearest_) {
          blend_row(reinterpret_cast<const float*>(x) + from, reinterpret_cast<float*>(y) + to, d, h, scratch);
          continue;
        }
        const std::byte* here = x + (from + taps_[0].first_offset(d) + taps_[1].first_offset(h)) * bytes_;
        std::byte* target = y + to * bytes_;
        if (here == source && y_stride_[2] == channels_) {
          std::memcpy(target, copied, static_cast<std::size_t>(size_[2] * channels_ * bytes_));
        } else {
          copy_row(here, target);
        }
        source = here;
        copied = target;
      }
    });
  }

 private:
  static void add_taps(AxisTaps& taps, const ResizeAxis& axis, std::int64_t size, std::int64_t stride) {
    for (std::int64_t o = 0; o < size; ++o) {
      for (std::int64_t t = 0; !axis.identity && t < axis.taps; ++t) {
        const auto at = static_cast<std::size_t>(o * axis.taps + t);
        const double weight = axis.weight.empty() ? 1.0 : axis.weight[at];
        if (weight != 0) taps.add(axis.index[at] * stride, static_cast<float>(weight));
      }
      if (axis.identity) taps.add(o * stride, 1.0F);
      taps.end_index();
      taps.most = std::max(taps.most, taps.end(o) - taps.begin(o));
    }
  }

  /// Rows are blended with each other and stretched, in the order that reads less; pixels of many channels and few taps get all
  /// taps at once.
  void plan_blending() {
    const std::size_t rows = taps_[0].most * taps_[1].most, across = taps_[2].most;
    const std::int64_t outputs = size_[2];
    const auto count = static_cast<std::int64_t>(rows), wide = static_cast<std::int64_t>(across);
    const bool table = channels_ < kFewChannels;
    at_once_ = stretches_ && !table && rows * across <= 4;
    blends_first_ = width_ * (count + 1) + outputs * wide <= outputs * count * (wide + 2);
    if (stretches_ && table) make_table();
    const std::int64_t row_pixels = blends_first_ ? width_ : outputs * count;
    const std::size_t pointers = at_once_ ? rows * across : std::max(rows, across);
    weights_at_ = align_up(pointers * sizeof(const float*));
    row_at_ = weights_at_ + align_up(pointers * sizeof(float));
    scratch_ =
        row_at_ + (at_once_ || !stretches_ ? 0 : align_up(static_cast<std::size_t>(row_pixels * channels_) * sizeof(float)));
  }

  /// One entry per element of a row. Where an index has fewer taps than others, its first one is cut into parts of 1/2, 1/4 …,
  /// which is exact; taps of weight 0 would make NaN of infinity.
  void make_table() {
    const AxisTaps& taps = taps_[2];
    table_.taps = taps.most;
    table_.count = static_cast<std::size_t>(size_[2] * channels_);
    offsets_.resize(table_.taps * table_.count);
    weights_.resize(table_.taps * table_.count);
    // Offsets count elements of the row that is stretched: pixels lie side by side if it was blended first.
    const std::int64_t pixel = blends_first_ ? channels_ : x_stride_[2];
    for (std::int64_t w = 0; w < size_[2]; ++w) {
      const std::size_t begin = taps.begin(w), count = taps.end(w) - begin;
      for (std::int64_t c = 0; c < channels_; ++c) {
        const std::size_t i = static_cast<std::size_t>(w * channels_ + c) * table_.taps;
        float rest = taps.weight[begin];
        for (std::size_t t = 0; t < table_.taps; ++t) {
          const bool own = t > 0 && t < count;
          if (!own && t > 0) rest *= 0.5F;
          offsets_[i + t] = static_cast<std::int32_t>(taps.offset[begin + (own ? t : 0)] * pixel + c);
          weights_[i + t] = own ? taps.weight[begin + t] : rest;
        }
        weights_[i] = rest;
      }
    }
  }

  void copy_row(const std::byte* from, std::byte* to) const {
    const auto pixel = static_cast<std::size_t>(channels_ * bytes_);
    const std::int64_t step = x_stride_[2] * bytes_;
    const auto copy = [&](auto size) {
      for (std::int64_t w = 0; w < size_[2]; ++w)
        std::memcpy(to + w * y_stride_[2] * bytes_, from + taps_[2].offset[static_cast<std::size_t>(w)] * step, size);
    };
    switch (pixel) {
      case 1:
        return copy(std::integral_constant<std::size_t, 1>());
      case 2:
        return copy(std::integral_constant<std::size_t, 2>());
      case 3:
        return copy(std::integral_constant<std::size_t, 3>());
      case 4:
        return copy(std::integral_constant<std::size_t, 4>());
      case 12:
        return copy(std::integral_constant<std::size_t, 12>());
      case 16:
        return copy(std::integral_constant<std::size_t, 16>());
      default:
        return copy(pixel);
    }
  }

  void blend_row(const float* x, float* y, std::int64_t d, std::int64_t h, std::byte* scratch) const {
    auto** rows = reinterpret_cast<const float**>(scratch);
    auto* weight = reinterpret_cast<float*>(scratch + weights_at_);
    auto* row = reinterpret_cast<float*>(scratch + row_at_);
    const auto& [depth, height, width] = taps_;
    std::size_t count = 0;
    for (std::size_t i = depth.begin(d); i < depth.end(d); ++i) {
      for (std::size_t j = height.begin(h); j < height.end(h); ++j) {
        rows[count] = x + depth.offset[i] + height.offset[j];
        weight[count++] = depth.weight[i] * height.weight[j];
      }
    }
    if (!stretches_) {
      blend_pixels(rows, weight, count, size_[2], y, y_stride_[2]);
    } else if (at_once_) {
      blend_at_once(rows, weight, count, y);
    } else if (blends_first_) {
      blend_pixels(rows, weight, count, width_, row, channels_);
      stretch(row, channels_, y, y_stride_[2], rows, weight);
    } else {
      const std::int64_t length = size_[2] * channels_;
      std::array<const float*, kMostTaps> sources;
      std::array<float, kMostTaps> by;
      std::copy_n(rows, count, sources.data());
      std::copy_n(weight, count, by.data());
      for (std::size_t r = 0; r < count; ++r) {
        float* stretched = row + static_cast<std::int64_t>(r) * length;
        stretch(sources[r], x_stride_[2], stretched, channels_, rows, weight);
        sources[r] = stretched;
      }
      for (std::int64_t w = 0; w < (y_stride_[2] == channels_ ? 1 : size_[2]); ++w) {
        const bool whole = y_stride_[2] == channels_;
        kernel_.blend(count, sources.data(), by.data(), static_cast<std::size_t>(whole ? length : channels_),
                      y + w * y_stride_[2]);
        for (std::size_t r = 0; r < count; ++r) sources[r] += channels_;
      }
    }
  }

  /// A row of `pixels` as wide as the input's, from input rows.
  void blend_pixels(const float** rows, const float* weight, std::size_t count, std::int64_t pixels, float* y,
                    std::int64_t y_pixel) const {
    if (x_stride_[2] == channels_ && y_pixel == channels_) {
      kernel_.blend(count, rows, weight, static_cast<std::size_t>(pixels * channels_), y);
      return;
    }
    for (std::int64_t w = 0; w < pixels; ++w, y += y_pixel) {
      kernel_.blend(count, rows, weight, static_cast<std::size_t>(channels_), y);
      for (std::size_t r = 0; r < count; ++r) rows[r] += x_stride_[2];
    }
  }

  /// Both scratch lists are free to use.
  void stretch(const float* row, std::int64_t pixel, float* y, std::int64_t y_pixel, const float** taps, float* weight) const {
    if (table_.taps != 0) {
      kernels::StretchTable table = table_;
      table.offset = offsets_.data();
      table.weight = weights_.data();
      if (y_pixel == channels_) {
        kernels::f32_stretch(table, row, y);
        return;
      }
      std::array<float, 128> part;
      const auto size = static_cast<std::int64_t>(part.size()) / channels_ * channels_;
      for (std::int64_t first = 0; first < size_[2] * channels_; first += size) {
        table.count = static_cast<std::size_t>(std::min(size, size_[2] * channels_ - first));
        table.offset = offsets_.data() + static_cast<std::size_t>(first) * table.taps;
        table.weight = weights_.data() + static_cast<std::size_t>(first) * table.taps;
        kernels::f32_stretch(table, row, part.data());
        for (std::size_t i = 0; i < table.count; ++i) {
          const std::int64_t at = first + static_cast<std::int64_t>(i);
          y[at / channels_ * y_pixel + at % channels_] = part[i];
        }
      }
      return;
    }
    const AxisTaps& width = taps_[2];
    for (std::int64_t w = 0; w < size_[2]; ++w) {
      std::size_t count = 0;
      for (std::size_t k = width.begin(w); k < width.end(w); ++k) {
        taps[count] = row + width.offset[k] * pixel;
        weight[count++] = width.weight[k];
      }
      kernel_.blend(count, taps, weight, static_cast<std::size_t>(channels_), y + w * y_pixel);
    }
  }

  /// `rows` and `weight` have room for all taps of a pixel.
  void blend_at_once(const float** rows, float* weight, std::size_t count, float* y) const {
    std::array<const float*, 4> starts{};
    std::array<float, 4> by{};
    std::copy_n(rows, count, starts.data());
    std::copy_n(weight, count, by.data());
    const AxisTaps& width = taps_[2];
    for (std::int64_t w = 0; w < size_[2]; ++w) {
      std::size_t taps = 0;
      for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t k = width.begin(w); k < width.end(w); ++k) {
          rows[taps] = starts[r] + width.offset[k] * x_stride_[2];
          weight[taps++] = by[r] * width.weight[k];
        }
      }
      kernel_.blend(taps, rows, weight, static_cast<std::size_t>(channels_), y + w * y_stride_[2]);
    }
  }

  NodeRequest node_;
  const kernels::ResizeKernel& kernel_ = kernels::resize_kernel(active_isa());
  bool nearest_ = false;
  bool stretches_ = false;     // along the last axis
  bool at_once_ = false;       // all taps of a pixel
  bool blends_first_ = false;  // else stretches first
  std::int64_t bytes_ = 0, channels_ = 0, images_ = 0, planes_ = 1, width_ = 1;
  std::array<std::int64_t, 2> x_image_{}, y_image_{};
  std::array<std::int64_t, 3> size_{1, 1, 1}, x_stride_{}, y_stride_{};
  std::array<AxisTaps, 3> taps_;
  kernels::StretchTable table_;
  std::vector<std::int32_t> offsets_;
  std::vector<float> weights_;
  std::size_t weights_at_ = 0, row_at_ = 0, scratch_ = 0;
};

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!plain_axes(node)) return std::nullopt;
  const Operand& x = node.inputs[0];
  const Order channels_last = channels_last_order(x.shape.size());
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  if (by_planes(x)) {
    layout.outputs.push_back(row_major_order(x.shape.size()));
  } else {
    if (!pixel_strides(x.shape, x.strides)) layout.inputs[0] = channels_last;
    layout.outputs.push_back(channels_last);
  }
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
