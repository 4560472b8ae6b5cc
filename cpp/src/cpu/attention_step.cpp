// Attention in float32: operands are read as they lie, the result is written for heads to be merged.
#include "cpu/attention_step.h"

#include <algorithm>
#include <array>

#include "base/aligned.h"
#include "cpu/kernels/attention/attention.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/attention.h"

namespace jitney::cpu {
namespace {

constexpr std::size_t kBias = 3, kMask = 4;
/// Tasks per thread, so that one which starts late can be relieved, where heads alone do not make as many.
constexpr std::size_t kTasksPerThread = 4;
/// Fewer rows would not be worth packing the keys for.
constexpr std::size_t kLeastRows = 96;

TensorView as_view(const Operand& operand) { return {nullptr, operand.dtype, operand.shape, operand.strides}; }

class AttentionStep final : public Step {
 public:
  AttentionStep(const NodeRequest& node, std::size_t threads) : node_(node) {
    const Shape &q = node.inputs[0].shape, &v = node.inputs[2].shape;
    const std::size_t rank = q.size();
    args_.queries = static_cast<std::size_t>(q[rank - 2]);
    args_.depth = static_cast<std::size_t>(q[rank - 1]);
    args_.keys = static_cast<std::size_t>(v[rank - 2]);
    args_.columns = static_cast<std::size_t>(v[rank - 1]);
    args_.scale = static_cast<float>(node.node->number("scale", 1.0));
    args_.masked = static_cast<float>(node.node->number("masked", 0.0));
    args_.nan_to_zero = node.node->integer("nan_to_zero", 0) != 0;
    const auto stride = [&](std::size_t i, std::size_t from_end) { return attention_stride(as_view(node.inputs[i]), from_end); };
    args_.q_row = stride(0, 1);
    args_.k_key = stride(1, 1);
    args_.k_depth = args_.depth == 1 ? 1 : stride(1, 0);
    args_.v_row = stride(2, 1);
    args_.y_row = attention_stride(as_view(node.outputs[0]), 1);
    if (present(node.inputs, kBias)) std::tie(args_.bias_row, args_.bias_key) = std::pair(stride(kBias, 1), stride(kBias, 0));
    if (present(node.inputs, kMask)) std::tie(args_.mask_row, args_.mask_key) = std::pair(stride(kMask, 1), stride(kMask, 0));

    const Shape batch(node.outputs[0].shape.span().first(rank - 2));
    for_each_head(batch, [&](const Shape& index) {
      Head head;
      for (std::size_t i = 0; i < head.inputs.size(); ++i) {
        if (present(node.inputs, i)) head.inputs[i] = head_offset(as_view(node.inputs[i]), index, batch);
      }
      head.output = head_offset(as_view(node.outputs[0]), index, batch);
      heads_.push_back(head);
    });
    if (args_.queries == 0 || args_.columns == 0) heads_.clear();
    const std::size_t wanted = threads <= 1 ? 1 : threads * kTasksPerThread;
    const std::size_t parts = heads_.empty() ? 1 : (wanted + heads_.size() - 1) / heads_.size();
    rows_ = std::max((args_.queries + parts - 1) / parts, std::min(args_.queries, kLeastRows));
    rows_ = std::clamp<std::size_t>(rows_, 1, kernels::kMostAttentionRows);
    each_ = align_up(kernels::attention_workspace(gemm_, args_));
    workspace = each_ * std::max<std::size_t>(threads, 1);
    kernel = kernel_.name;
  }

  std::string why() const override {
    return std::to_string(heads_.size()) + " times [" + std::to_string(args_.queries) + "×" + std::to_string(args_.keys) +
           "] scores, of which " + std::to_string(rows_) + " rows at a time are kept";
  }

  void run(const StepRun& run) const override {
    const float *q = input_data(run, node_, 0), *k = input_data(run, node_, 1), *v = input_data(run, node_, 2),
                *bias = input_data(run, node_, kBias);
    const auto* mask = input_data<std::uint8_t>(run, node_, kMask);
    auto* y = static_cast<float*>(run.outputs[0]);
    const std::size_t parts = (args_.queries + rows_ - 1) / rows_;
    const auto scores = static_cast<double>(args_.queries * args_.keys) * static_cast<double>(heads_.size());
    const double cost = scores * (0.5 + 0.03 * static_cast<double>(args_.depth + args_.columns));
    parallel_tasks(run, heads_.size() * parts, cost, [&](std::size_t task, std::size_t worker) {
      const Head& head = heads_[task / parts];
      kernels::AttentionArgs args = args_;
      args.q = q + head.inputs[0];
      args.k = k + head.inputs[1];
      args.v = v + head.inputs[2];
      if (bias != nullptr) args.bias = bias + head.inputs[kBias];
      if (mask != nullptr) args.mask = mask + head.inputs[kMask];
      args.y = y + head.output;
      const std::size_t first = task % parts * rows_;
      kernels::attention_rows(kernel_, gemm_, args, first, std::min(first + rows_, args_.queries),
                              static_cast<std::byte*>(run.workspace) + worker * each_);
    });
  }

 private:
  struct Head {
    std::array<std::int64_t, 5> inputs{};
    std::int64_t output = 0;
  };

  NodeRequest node_;
  const kernels::AttentionKernel& kernel_ = kernels::attention_kernel(active_isa());
  const kernels::GemmKernel& gemm_ = kernels::gemm_kernel(active_isa());
  kernels::AttentionArgs args_;
  std::vector<Head> heads_;
  std::size_t rows_ = 1;  // per task
  std::size_t each_ = 0;  // workspace of a thread
};

bool takes(const NodeRequest& node) { return node.inputs[0].dtype == DType::float32; }

/// Whether elements along the axis `from_end` before the last are neighbours in memory.
bool contiguous(const Operand& operand, std::size_t from_end) {
  const std::size_t axis = operand.shape.size() - 1 - from_end;
  return operand.shape[axis] <= 1 || operand.strides[axis] == 1;
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  if (!takes(node)) return std::nullopt;
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!present(node.inputs, i) || node.inputs[i].shape.empty()) continue;
    const Operand& operand = node.inputs[i];
    if (contiguous(operand, 0) || (i == 1 && contiguous(operand, 1))) continue;
    layout.inputs[i] = row_major_order(operand.shape.size());
  }
  // Heads inside rows: what follows merges them, and that is a view then.
  Order order = row_major_order(node.outputs[0].shape.size());
  if (order.size() >= 3) std::swap(order[order.size() - 3], order[order.size() - 2]);
  layout.outputs.push_back(order);
  layout.strided_output = true;
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t threads) {
  if (!takes(node)) return nullptr;
  return std::make_unique<AttentionStep>(node, threads);
}

constexpr std::array<FastOp, 1> kOps = {{{"attention", layout, prepare}}};

}  // namespace

std::span<const FastOp> attention_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
