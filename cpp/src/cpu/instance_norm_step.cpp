// Instance and group normalisation in float32.
#include "cpu/instance_norm_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/kernels/norm/norm.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

/// Channels per task at least: what lies in one cache line.
constexpr std::int64_t kLeastColumns = 16;
constexpr std::int64_t kMostColumns = static_cast<std::int64_t>(kernels::kNormColumns);
constexpr std::size_t kTasksPerThread = 4;

/// Images, channels, pixels of a channel, and channels of a group.
struct Sizes {
  explicit Sizes(const NodeRequest& node) {
    const Shape& shape = node.inputs[0].shape;
    images = shape[0];
    channels = shape[1];
    pixels = product(shape, 2, shape.size());
    const std::int64_t groups = node.node->integer("groups", 0);
    group = groups == 0 ? 1 : std::max<std::int64_t>(channels / groups, 1);
  }
  bool empty() const noexcept { return images == 0 || channels == 0 || pixels == 0; }
  std::int64_t images = 0, channels = 0, pixels = 0, group = 1;
};

/// Whether each image is dense, plane after plane: for the images' own sake, whatever lies between them.
bool planar(const Operand& x) {
  Shape image = x.shape;
  image[0] = 1;
  return dense_in(image, x.strides, row_major_order(image.size()));
}

/// A group of planes is one row of numbers.
class PlanarNormStep final : public Step {
 public:
  explicit PlanarNormStep(const NodeRequest& node) : node_(node), sizes_(node), epsilon_(node.node->number("epsilon", 1e-5)) {
    x_image_ = node.inputs[0].strides[0];
    y_image_ = node.outputs[0].strides[0];
    kernel = kernels_.name;
  }

  void run(const StepRun& run) const override {
    if (sizes_.empty()) return;
    const float *x = input_data(run, node_, 0), *scale = input_data(run, node_, 1), *bias = input_data(run, node_, 2);
    auto* y = static_cast<float*>(run.outputs[0]);
    const std::int64_t length = sizes_.group * sizes_.pixels, groups = sizes_.channels / sizes_.group;
    // Several rows at a time only where they are short: they should stay in the cache from the first look to the last.
    const std::int64_t block = std::min(kernels::rows_at_a_time(length), groups), blocks = (groups + block - 1) / block;
    parallel_ranges(run, sizes_.images * blocks, piece_size(static_cast<double>(block * length) * 0.3 + 20),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t image = i / blocks, first = i % blocks * block;
                        some_groups(x + image * x_image_, scale, bias, y + image * y_image_, first,
                                    std::min(block, groups - first));
                      }
                    });
  }

 private:
  /// Of one image.
  void some_groups(const float* x, const float* scale, const float* bias, float* y, std::int64_t first,
                   std::int64_t count) const {
    std::array<kernels::Moments, kernels::kNormRows> moments;
    const std::int64_t pixels = sizes_.pixels, length = sizes_.group * pixels;
    kernels_.row_moments(static_cast<std::size_t>(count), static_cast<std::size_t>(length), x + first * length, epsilon_,
                         moments.data());
    for (std::int64_t channel = first * sizes_.group; channel < (first + count) * sizes_.group; ++channel) {
      const kernels::Moments& own = moments[static_cast<std::size_t>(channel / sizes_.group - first)];
      kernels_.shift_row(static_cast<std::size_t>(pixels), x + channel * pixels, own.mean, own.inv_std * scale[channel],
                         bias[channel], y + channel * pixels);
    }
  }

  NodeRequest node_;
  const kernels::NormKernel& kernels_ = kernels::norm_kernel(active_isa());
  Sizes sizes_;
  double epsilon_;
  std::int64_t x_image_ = 0, y_image_ = 0;
};

/// Mean and squares of deviations over several columns of as many numbers each, joined one by one.
class Joined {
 public:
  void add(double mean, double variance, double count) noexcept {
    const double moved = mean - mean_, total = count_ + count;
    squares_ += variance * count + moved * moved * (count_ * count / total);
    mean_ += moved * (count / total);
    count_ = total;
  }
  float mean() const noexcept { return static_cast<float>(mean_); }
  float inv_std(double epsilon) const noexcept { return static_cast<float>(1.0 / std::sqrt(squares_ / count_ + epsilon)); }

 private:
  double mean_ = 0, squares_ = 0, count_ = 0;
};

/// A task takes neighbouring columns of an image: whole groups.
class ColumnsNormStep final : public Step {
 public:
  ColumnsNormStep(const NodeRequest& node, std::size_t threads)
      : node_(node), sizes_(node), output_(node.outputs[0]), epsilon_(node.node->number("epsilon", 1e-5)) {
    stride_ = *uniform_pixel_stride(node.inputs[0].shape, node.inputs[0].strides);
    output_.reserve(workspace);
    kernel = kernels_.name;
    // The cut never changes results: each column is summed by itself, and those of a group are joined in their order.
    const auto wanted = static_cast<std::int64_t>(threads <= 1 ? 1 : threads * kTasksPerThread);
    const std::int64_t each = sizes_.channels * sizes_.images / wanted;
    width_ = std::max(std::clamp(each, kLeastColumns, kMostColumns) / sizes_.group, std::int64_t{1}) * sizes_.group;
  }

  void run(const StepRun& run) const override {
    if (sizes_.empty()) return;
    const std::int64_t tasks = (sizes_.channels + width_ - 1) / width_;
    const Pointers at{input_data(run, node_, 0), input_data(run, node_, 1), input_data(run, node_, 2), output_.target(run)};
    const double cost = static_cast<double>(sizes_.images * sizes_.channels * sizes_.pixels) * 0.5;
    parallel_tasks(run, static_cast<std::size_t>(sizes_.images * tasks), cost, [&](std::size_t task, std::size_t) {
      const std::int64_t image = static_cast<std::int64_t>(task) / tasks,
                         first = static_cast<std::int64_t>(task) % tasks * width_;
      const std::int64_t last = std::min(first + width_, sizes_.channels);
      Pointers own = at;
      own.x += image * sizes_.pixels * stride_;
      own.y += image * sizes_.pixels * output_.stride();
      if (sizes_.group > kMostColumns) {
        wide_group(own, first, last);
      } else {
        narrow_groups(own, first, last - first);
      }
    });
    output_.finish(run);
  }

 private:
  struct Pointers {
    const float *x, *scale, *bias;
    float* y;
  };
  template <typename T>
  using PerColumn = std::array<T, kernels::kNormColumns>;

  void moments(const Pointers& at, std::int64_t first, std::int64_t count, PerColumn<float>& mean,
               PerColumn<double>& variance) const {
    kernels_.column_moments(static_cast<std::size_t>(sizes_.pixels), stride_, static_cast<std::size_t>(count), at.x + first,
                            mean.data(), variance.data());
  }

  /// `factor` becomes that of the scale as well.
  void normalise(const Pointers& at, std::int64_t first, std::int64_t count, const PerColumn<float>& mean,
                 PerColumn<float>& factor) const {
    for (std::int64_t c = 0; c < count; ++c) factor[static_cast<std::size_t>(c)] *= at.scale[first + c];
    kernels_.normalise_columns(static_cast<std::size_t>(sizes_.pixels), stride_, output_.stride(),
                               static_cast<std::size_t>(count), at.x + first, mean.data(), factor.data(), at.bias + first,
                               at.y + first);
  }

  void narrow_groups(const Pointers& at, std::int64_t first, std::int64_t count) const {
    PerColumn<float> mean, factor;
    PerColumn<double> variance;
    moments(at, first, count, mean, variance);
    const auto group = static_cast<std::size_t>(sizes_.group);
    for (std::size_t begin = 0; begin < static_cast<std::size_t>(count); begin += group) {
      Joined joined;
      for (std::size_t c = begin; c < begin + group; ++c)
        joined.add(static_cast<double>(mean[c]), variance[c], static_cast<double>(sizes_.pixels));
      std::fill_n(mean.begin() + static_cast<std::ptrdiff_t>(begin), group, joined.mean());
      std::fill_n(factor.begin() + static_cast<std::ptrdiff_t>(begin), group, joined.inv_std(epsilon_));
    }
    normalise(at, first, count, mean, factor);
  }

  /// One group of more columns than a kernel takes at a time.
  void wide_group(const Pointers& at, std::int64_t first, std::int64_t last) const {
    PerColumn<float> mean, factor;
    PerColumn<double> variance;
    Joined joined;
    for (std::int64_t c = first; c < last; c += kMostColumns) {
      const std::int64_t count = std::min(kMostColumns, last - c);
      moments(at, c, count, mean, variance);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        joined.add(static_cast<double>(mean[i]), variance[i], static_cast<double>(sizes_.pixels));
    }
    mean.fill(joined.mean());
    for (std::int64_t c = first; c < last; c += kMostColumns) {
      factor.fill(joined.inv_std(epsilon_));
      normalise(at, c, std::min(kMostColumns, last - c), mean, factor);
    }
  }

  NodeRequest node_;
  const kernels::NormKernel& kernels_ = kernels::norm_kernel(active_isa());
  Sizes sizes_;
  StagedOutput output_;
  double epsilon_;
  std::int64_t stride_ = 0;
  std::int64_t width_ = 1;  // columns per task
};

bool takes(const NodeRequest& node) { return node.inputs[0].dtype == DType::float32 && node.inputs[0].shape.size() >= 3; }

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  const Operand& x = node.inputs[0];
  const Order channels_last = channels_last_order(x.shape.size());
  const bool planes = planar(x);
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  if (!planes && !uniform_pixel_stride(x.shape, x.strides)) layout.inputs[0] = channels_last;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!dense_in(node.inputs[i].shape, node.inputs[i].strides, {0})) layout.inputs[i] = Order{0};
  }
  layout.outputs.push_back(planes ? row_major_order(x.shape.size()) : channels_last);
  layout.in_place = 1;
  layout.strided_output = !planes;
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t threads) {
  if (!takes(node)) return nullptr;
  if (planar(node.inputs[0]) && planar(node.outputs[0])) return std::make_unique<PlanarNormStep>(node);
  return std::make_unique<ColumnsNormStep>(node, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"instance_norm", layout, prepare}}};

}  // namespace

std::span<const FastOp> instance_norm_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
