// Softmax, log_softmax, layer_norm and instance_norm in float32.
#include "cpu/row_steps.h"

#include <algorithm>
#include <array>

#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/parallel.h"
#include "cpu/staged_output.h"
#include "cpu/storage.h"
#include "ops/operands.h"

namespace jitney::cpu {
namespace {

std::size_t axis_of(const NodeRequest& node) {
  const std::int64_t axis = node.node->integer("axis", -1);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(node.inputs[0].shape.size()) : axis);
}

/// The input's order with one axis made the innermost.
Order with_innermost(const Operand& x, std::size_t axis) {
  Order order;
  for (const std::int64_t other : storage_order(x.shape, x.strides)) {
    if (other != static_cast<std::int64_t>(axis)) order.push_back(other);
  }
  order.push_back(static_cast<std::int64_t>(axis));
  return order;
}

class SoftmaxStep final : public Step {
 public:
  explicit SoftmaxStep(const NodeRequest& node) : node_(node) {
    const Shape& shape = node.inputs[0].shape;
    length_ = shape[axis_of(node)];
    rows_ = length_ == 0 ? 0 : shape.elements() / length_;
    logarithm_ = node.node->op == "log_softmax";
    kernel = kernels_.name;
  }

  void run(const StepRun& run) const override {
    const float* x = input_data(run, node_, 0);
    auto* y = static_cast<float*>(run.outputs[0]);
    const auto n = static_cast<std::size_t>(length_);
    parallel_ranges(run, rows_, piece_size(static_cast<double>(length_) * 2 + 20),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t row = begin; row < end; ++row) {
                        (logarithm_ ? kernels_.log_row : kernels_.row)(n, x + row * length_, y + row * length_);
                      }
                    });
  }

 private:
  NodeRequest node_;
  const kernels::SoftmaxKernel& kernels_ = kernels::softmax_kernel(active_isa());
  std::int64_t length_ = 0, rows_ = 0;
  bool logarithm_ = false;
};

std::optional<NodeLayout> softmax_layout(const NodeRequest& node) {
  const Operand& x = node.inputs[0];
  if (x.dtype != DType::float32) return std::nullopt;
  const Order order = with_innermost(x, axis_of(node));
  NodeLayout layout;
  layout.inputs.resize(1);
  if (!dense_in(x.shape, x.strides, order)) layout.inputs[0] = order;
  layout.outputs.push_back(order);
  layout.in_place = 1;
  return layout;
}

std::unique_ptr<Step> prepare_softmax(const NodeRequest& node, PackCache&, std::size_t) {
  if (node.inputs[0].dtype != DType::float32) return nullptr;
  return std::make_unique<SoftmaxStep>(node);
}

class LayerNormStep final : public Step {
 public:
  explicit LayerNormStep(const NodeRequest& node) : node_(node), epsilon_(node.node->number("epsilon", 1e-5)) {
    const Shape& shape = node.inputs[0].shape;
    rows_ = product(shape, 0, axis_of(node));
    length_ = product(shape, axis_of(node), shape.size());
    kernel = kernels_.name;
  }

  void run(const StepRun& run) const override {
    const float *x = input_data(run, node_, 0), *scale = input_data(run, node_, 1), *bias = input_data(run, node_, 2);
    const auto output = [&](std::size_t i) { return i < run.outputs.size() ? static_cast<float*>(run.outputs[i]) : nullptr; };
    float *y = output(0), *mean = output(1), *inv_std = output(2);
    const auto n = static_cast<std::size_t>(length_);
    parallel_ranges(run, rows_, piece_size(static_cast<double>(length_) + 20),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t row = begin; row < end; ++row) {
                        const kernels::Moments moments = kernels_.row_moments(n, x + row * length_, epsilon_);
                        if (y != nullptr) kernels_.normalise_row(n, x + row * length_, moments, scale, bias, y + row * length_);
                        if (mean != nullptr) mean[row] = moments.mean;
                        if (inv_std != nullptr) inv_std[row] = moments.inv_std;
                      }
                    });
  }

 private:
  NodeRequest node_;
  const kernels::NormKernel& kernels_ = kernels::norm_kernel(active_isa());
  double epsilon_;
  std::int64_t rows_ = 0, length_ = 0;
};

/// Scale and bias must have one number per normalised element.
bool takes_layer_norm(const NodeRequest& node) {
  const Shape& shape = node.inputs[0].shape;
  const std::int64_t length = product(shape, axis_of(node), shape.size());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (present(node.inputs, i) && node.inputs[i].shape.elements() != length) return false;
    // A row axis of size 1 in front is harmless, a longer one gives each row its own numbers.
    if (present(node.inputs, i) && node.inputs[i].shape.size() > shape.size() - axis_of(node)) {
      const Shape& part = node.inputs[i].shape;
      if (product(part, 0, part.size() - (shape.size() - axis_of(node))) != 1) return false;
    }
  }
  return node.inputs[0].dtype == DType::float32;
}

std::optional<NodeLayout> layer_norm_layout(const NodeRequest& node) {
  if (!takes_layer_norm(node)) return std::nullopt;
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!present(node.inputs, i)) continue;
    const Order rows = row_major_order(node.inputs[i].shape.size());
    if (!dense_in(node.inputs[i].shape, node.inputs[i].strides, rows)) layout.inputs[i] = rows;
  }
  for (const Operand& output : node.outputs) layout.outputs.push_back(row_major_order(output.shape.size()));
  layout.in_place = 1;
  return layout;
}

std::unique_ptr<Step> prepare_layer_norm(const NodeRequest& node, PackCache&, std::size_t) {
  if (!takes_layer_norm(node)) return nullptr;
  return std::make_unique<LayerNormStep>(node);
}

class InstanceNormStep final : public Step {
 public:
  explicit InstanceNormStep(const NodeRequest& node)
      : node_(node), output_(node.outputs[0]), epsilon_(node.node->number("epsilon", 1e-5)) {
    const Operand& x = node.inputs[0];
    batch_ = x.shape[0];
    channels_ = x.shape[1];
    pixels_ = product(x.shape, 2, x.shape.size());
    stride_ = *uniform_pixel_stride(x.shape, x.strides);
    output_.reserve(workspace);
    kernel = kernels_.name;
  }

  void run(const StepRun& run) const override {
    constexpr auto kBlock = static_cast<std::int64_t>(kernels::kNormColumns);
    const float *x = input_data(run, node_, 0), *scale = input_data(run, node_, 1), *bias = input_data(run, node_, 2);
    float* y = output_.target(run);
    const std::int64_t blocks = (channels_ + kBlock - 1) / kBlock;
    const double cost = static_cast<double>(pixels_ * std::min(kBlock, channels_));
    parallel_ranges(run, pixels_ == 0 ? 0 : batch_ * blocks, piece_size(cost),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t image = i / blocks, first = i % blocks * kBlock;
                        const auto count = static_cast<std::size_t>(std::min(kBlock, channels_ - first)),
                                   rows = static_cast<std::size_t>(pixels_);
                        std::array<float, kernels::kNormColumns> mean, factor;
                        const float* from = x + image * pixels_ * stride_ + first;
                        kernels_.column_moments(rows, stride_, count, from, epsilon_, mean.data(), factor.data());
                        for (std::size_t c = 0; c < count; ++c) factor[c] *= scale[first + static_cast<std::int64_t>(c)];
                        kernels_.normalise_columns(rows, stride_, output_.stride(), count, from, mean.data(), factor.data(),
                                                   bias + first, y + image * pixels_ * output_.stride() + first);
                      }
                    });
    output_.finish(run);
  }

 private:
  NodeRequest node_;
  const kernels::NormKernel& kernels_ = kernels::norm_kernel(active_isa());
  StagedOutput output_;
  double epsilon_;
  std::int64_t batch_ = 0, channels_ = 0, pixels_ = 0, stride_ = 0;
};

std::optional<NodeLayout> instance_norm_layout(const NodeRequest& node) {
  const Operand& x = node.inputs[0];
  if (x.dtype != DType::float32 || x.shape.size() < 3) return std::nullopt;
  const Order channels_last = channels_last_order(x.shape.size());
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  if (!uniform_pixel_stride(x.shape, x.strides)) layout.inputs[0] = channels_last;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!dense_in(node.inputs[i].shape, node.inputs[i].strides, {0})) layout.inputs[i] = Order{0};
  }
  layout.outputs.push_back(channels_last);
  layout.in_place = 1;
  layout.strided_output = true;
  return layout;
}

std::unique_ptr<Step> prepare_instance_norm(const NodeRequest& node, PackCache&, std::size_t) {
  if (node.inputs[0].dtype != DType::float32 || node.inputs[0].shape.size() < 3) return nullptr;
  return std::make_unique<InstanceNormStep>(node);
}

constexpr std::array<FastOp, 4> kOps = {{{"softmax", softmax_layout, prepare_softmax},
                                         {"log_softmax", softmax_layout, prepare_softmax},
                                         {"layer_norm", layer_norm_layout, prepare_layer_norm},
                                         {"instance_norm", instance_norm_layout, prepare_instance_norm}}};

}  // namespace

std::span<const FastOp> row_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
