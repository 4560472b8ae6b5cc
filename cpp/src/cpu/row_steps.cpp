// Softmax, log_softmax, layer_norm and rms_norm in float32.
#include "cpu/row_steps.h"

#include <algorithm>
#include <array>

#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/parallel.h"
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

/// layer_norm and rms_norm, whose mean counts as 0.
class LayerNormStep final : public Step {
 public:
  explicit LayerNormStep(const NodeRequest& node) : node_(node), epsilon_(node.node->number("epsilon", 1e-5)) {
    const Shape& shape = node.inputs[0].shape;
    rows_ = product(shape, 0, axis_of(node));
    length_ = product(shape, axis_of(node), shape.size());
    moments_ = node.node->op == "rms_norm" ? kernels_.row_squares : kernels_.row_moments;
    kernel = kernels_.name;
  }

  void run(const StepRun& run) const override {
    const float *x = input_data(run, node_, 0), *scale = input_data(run, node_, 1), *bias = input_data(run, node_, 2);
    const auto output = [&](std::size_t i) { return i < run.outputs.size() ? static_cast<float*>(run.outputs[i]) : nullptr; };
    float *y = output(0), *mean = output(1), *inv_std = output(2);
    const auto n = static_cast<std::size_t>(length_);
    const std::int64_t block = kernels::rows_at_a_time(length_);
    const auto some_rows = [&](std::int64_t first, std::int64_t rows) {
      std::array<kernels::Moments, kernels::kNormRows> moments;
      moments_(static_cast<std::size_t>(rows), n, x + first * length_, epsilon_, moments.data());
      for (std::int64_t i = 0; i < rows; ++i) {
        const kernels::Moments& own = moments[static_cast<std::size_t>(i)];
        const std::int64_t row = first + i;
        if (y != nullptr) kernels_.normalise_row(n, x + row * length_, own, scale, bias, y + row * length_);
        if (mean != nullptr) mean[row] = own.mean;
        if (inv_std != nullptr) inv_std[row] = own.inv_std;
      }
    };
    parallel_ranges(run, rows_, piece_size(static_cast<double>(length_) * 0.3 + 20),
                    [&](std::int64_t begin, std::int64_t end, std::size_t) {
                      for (std::int64_t row = begin; row < end; row += block) some_rows(row, std::min(block, end - row));
                    });
  }

 private:
  NodeRequest node_;
  const kernels::NormKernel& kernels_ = kernels::norm_kernel(active_isa());
  decltype(kernels::NormKernel::row_moments) moments_;
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

constexpr std::array<FastOp, 4> kOps = {{{"softmax", softmax_layout, prepare_softmax},
                                         {"log_softmax", softmax_layout, prepare_softmax},
                                         {"layer_norm", layer_norm_layout, prepare_layer_norm},
                                         {"rms_norm", layer_norm_layout, prepare_layer_norm}}};

}  // namespace

std::span<const FastOp> row_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
