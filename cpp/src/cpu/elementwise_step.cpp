// Elementwise float32 arithmetic with broadcasting: rows go to the kernels as they are, or through buffers where they have gaps.
#include "cpu/elementwise_step.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "cpu/broadcast_walk.h"
#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "cpu/typed_step.h"

namespace jitney::cpu {
namespace {

using kernels::BinaryOp;
using kernels::RunMode;
using kernels::UnaryOp;

constexpr std::int64_t kBuffer = 256;

/// Elements [0, count) as a dense list: where they lie if they are dense, else gathered into the buffer.
const float* dense(const float* from, std::int64_t stride, std::int64_t count, float* buffer) {
  if (stride == 1 || count == 1) return from;
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = from[i * stride];
  return buffer;
}

void scatter(const float* from, float* to, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

template <typename Body>
void walk(const BroadcastWalk& walk, const StepRun& run, double nanoseconds, const Body& body) {
  const std::int64_t piece = piece_size(nanoseconds * static_cast<double>(walk.unit_elements()) + 5);
  parallel_ranges(run, walk.units(), piece,
                  [&](std::int64_t begin, std::int64_t end, std::size_t) { walk.for_each(begin, end, body); });
}

class UnaryStep final : public Step {
 public:
  UnaryStep(const NodeRequest& node, UnaryOp op) : node_(node), walk_(node.outputs[0], {node.inputs.data(), 1}), op_(op) {
    alpha_ = static_cast<float>(node.node->number("alpha", 1.0));
    beta_ = static_cast<float>(node.node->number("beta", node.node->number("gamma", 0.0)));
    kernel = "f32_" + std::string(to_string(op));
  }

  void run(const StepRun& run) const override {
    float alpha = alpha_, beta = beta_;
    if (op_ == UnaryOp::clip) {
      const float *low = input_data(run, node_, 1), *high = input_data(run, node_, 2);
      alpha = low != nullptr ? *low : -std::numeric_limits<float>::infinity();
      beta = high != nullptr ? *high : std::numeric_limits<float>::infinity();
    }
    const float* x = input_data(run, node_, 0);
    auto* y = static_cast<float*>(run.outputs[0]);
    const std::int64_t x_stride = walk_.row_strides()[1], y_stride = walk_.row_strides()[0];
    walk(walk_, run, 1.0, [&](const BroadcastWalk::Offsets& at, std::int64_t count) {
      const float* from = x + at[1];
      float* to = y + at[0];
      if ((x_stride == 1 && y_stride == 1) || count == 1) {
        kernel_(static_cast<std::size_t>(count), from, to, alpha, beta);
        return;
      }
      std::array<float, kBuffer> buffer, result;
      for (std::int64_t done = 0; done < count; done += kBuffer) {
        const std::int64_t some = std::min(kBuffer, count - done);
        kernel_(static_cast<std::size_t>(some), dense(from + done * x_stride, x_stride, some, buffer.data()), result.data(),
                alpha, beta);
        scatter(result.data(), to + done * y_stride, y_stride, some);
      }
    });
  }

 private:
  NodeRequest node_;
  BroadcastWalk walk_;
  UnaryOp op_;
  kernels::UnaryKernel kernel_ = kernels::unary_kernel(active_isa(), op_);
  float alpha_ = 0, beta_ = 0;
};

class BinaryStep final : public Step {
 public:
  BinaryStep(const NodeRequest& node, BinaryOp op) : node_(node), walk_(node.outputs[0], {node.inputs.data(), 2}) {
    const auto& strides = walk_.row_strides();
    RunMode mode = RunMode::vector_vector;
    if (strides[1] == 0 && strides[2] != 0) mode = RunMode::scalar_vector;
    if (strides[2] == 0 && strides[1] != 0) mode = RunMode::vector_scalar;
    scalar_a_ = mode == RunMode::scalar_vector;
    scalar_b_ = mode == RunMode::vector_scalar;
    direct_ = strides[0] == 1 && (scalar_a_ || strides[1] == 1) && (scalar_b_ || strides[2] == 1);
    kernel_ = kernels::binary_kernel(active_isa(), op, mode);
    kernel = "f32_" + std::string(to_string(op));
  }

  void run(const StepRun& run) const override {
    const float *a = input_data(run, node_, 0), *b = input_data(run, node_, 1);
    auto* y = static_cast<float*>(run.outputs[0]);
    const auto& strides = walk_.row_strides();
    walk(walk_, run, 0.5, [&](const BroadcastWalk::Offsets& at, std::int64_t count) {
      const float *from_a = a + at[1], *from_b = b + at[2];
      float* to = y + at[0];
      if (direct_ || count == 1) {
        kernel_(static_cast<std::size_t>(count), from_a, from_b, to);
        return;
      }
      std::array<float, kBuffer> buffer_a, buffer_b, result;
      for (std::int64_t done = 0; done < count; done += kBuffer) {
        const std::int64_t some = std::min(kBuffer, count - done);
        const float* part_a = from_a + done * strides[1];
        const float* part_b = from_b + done * strides[2];
        if (!scalar_a_) part_a = dense(part_a, strides[1], some, buffer_a.data());
        if (!scalar_b_) part_b = dense(part_b, strides[2], some, buffer_b.data());
        kernel_(static_cast<std::size_t>(some), part_a, part_b, result.data());
        scatter(result.data(), to + done * strides[0], strides[0], some);
      }
    });
  }

 private:
  NodeRequest node_;
  BroadcastWalk walk_;
  kernels::BinaryKernel kernel_ = nullptr;
  bool scalar_a_ = false, scalar_b_ = false;
  bool direct_ = false;  // rows can be given to the kernel as they lie
};

std::optional<UnaryOp> unary_op(const NodeRequest& node) {
  const Node& n = *node.node;
  if (node.inputs[0].dtype != DType::float32 || node.outputs[0].dtype != DType::float32) return std::nullopt;
  if (n.op == "gelu") return n.text("approximate", "none") == "tanh" ? UnaryOp::gelu_tanh : UnaryOp::gelu;
  return kernels::unary_op_named(n.op);
}

std::optional<BinaryOp> binary_op(const NodeRequest& node) {
  if (node.inputs[0].dtype != DType::float32 || node.inputs[1].dtype != DType::float32 ||
      node.outputs[0].dtype != DType::float32) {
    return std::nullopt;
  }
  return kernels::binary_op_named(node.node->op);
}

// Reference kernels keep storage orders, too, so the layout does not depend on the dtype.
std::optional<NodeLayout> unary_layout(const NodeRequest& node) {
  NodeLayout layout = elementwise_layout(node);
  layout.in_place &= 1U;
  return layout;
}

std::optional<NodeLayout> binary_layout(const NodeRequest& node) { return elementwise_layout(node); }

std::unique_ptr<Step> prepare_unary(const NodeRequest& node, PackCache&, std::size_t) {
  const auto op = unary_op(node);
  if (!op) return nullptr;
  return std::make_unique<UnaryStep>(node, *op);
}

std::unique_ptr<Step> prepare_binary(const NodeRequest& node, PackCache&, std::size_t) {
  const auto op = binary_op(node);
  if (!op) return prepare_typed(node);
  return std::make_unique<BinaryStep>(node, *op);
}

// gelu_tanh is spelled as an attribute of gelu in the IR, so the entry of that name is never asked for.
#define JITNEY_UNARY_STEP(name) FastOp{#name, unary_layout, prepare_unary},
#define JITNEY_BINARY_STEP(name) FastOp{#name, binary_layout, prepare_binary},
constexpr auto kOps = std::to_array<FastOp>({JITNEY_UNARY_OPS(JITNEY_UNARY_STEP) JITNEY_BINARY_OPS(JITNEY_BINARY_STEP)});
#undef JITNEY_UNARY_STEP
#undef JITNEY_BINARY_STEP

}  // namespace

std::span<const FastOp> elementwise_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
