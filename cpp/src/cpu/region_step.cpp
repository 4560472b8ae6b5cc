// Data movement as a list of strided copies.
#include "cpu/region_step.h"

#include <algorithm>

#include "cpu/kernels/copy/copy.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"

namespace jitney::cpu {
namespace {

class RegionStep final : public Step {
 public:
  RegionStep(const NodeRequest& node, std::span<const std::vector<Region>> regions) : node_(node) {
    for (std::size_t output = 0; output < regions.size(); ++output) {
      const std::size_t bytes = size_of(node.outputs[output].dtype);
      for (const Region& region : regions[output]) {
        kernels::StridedCopy copy(region.sizes, region.src_strides, region.dst_strides, bytes);
        if (copy.tasks() == 0) continue;
        elements_ += copy.elements();
        tasks_ += copy.tasks();
        const auto size = static_cast<std::int64_t>(bytes);
        pieces_.push_back({copy, region.input, output, region.src_offset * size, region.dst_offset * size, tasks_});
      }
    }
    kernel = "region_copy";
  }

  void run(const StepRun& run) const override {
    const auto copy_task = [&](std::size_t task, std::size_t) {
      const auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), task,
                                          [](std::size_t index, const Piece& one) { return index < one.end; });
      auto* dst = static_cast<std::byte*>(run.outputs[piece->output]);
      if (dst == nullptr) return;
      const auto* src = input_data<std::byte>(run, node_, piece->input);
      piece->copy.run(src + piece->src_offset, dst + piece->dst_offset, task - (piece->end - piece->copy.tasks()));
    };
    parallel_tasks(run, tasks_, static_cast<double>(elements_) * 0.5, copy_task);
  }

  std::string why() const override {
    return std::to_string(pieces_.size()) + " strided copies of " + std::to_string(elements_) + " elements in all";
  }

 private:
  struct Piece {
    kernels::StridedCopy copy;
    std::size_t input, output;
    std::int64_t src_offset, dst_offset;  // bytes
    std::size_t end;                      // tasks of this piece and those before it
  };
  NodeRequest node_;
  std::vector<Piece> pieces_;
  std::size_t tasks_ = 0;
  std::int64_t elements_ = 0;
};

/// Operands as regions rules want them: values where the op needs them. nullopt if one of those is not known.
std::optional<std::vector<TensorView>> views_of(const NodeRequest& node, std::span<const Operand> operands, bool inputs) {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    TensorView view{nullptr, operand.dtype, operand.shape, operand.strides};
    if (inputs && i < 32 && (node.op->value_inputs >> i & 1) != 0 && operand.dtype != DType::undefined) {
      const auto known = operand.bytes();
      if (!known) return std::nullopt;
      view = *known;
    }
    views.push_back(view);
  }
  return views;
}

bool same_rank(const NodeRequest& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](const Operand& output) { return output.shape.size() == node.inputs[0].shape.size(); });
}

}  // namespace

std::optional<NodeLayout> region_layout(const NodeRequest& node) {
  if (node.op->regions == nullptr || node.inputs.empty()) return std::nullopt;
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  const Operand& x = node.inputs[0];
  Order order = storage_order(x.shape, x.strides);
  const std::string& op = node.node->op;
  if (op == "transpose") {
    // The same memory under new names: output axis i is input axis perm[i].
    const std::vector<std::int64_t>& perm = node.node->integers("perm");
    Order renamed = order;
    for (std::size_t place = 0; place < order.size(); ++place) {
      for (std::size_t i = 0; i < perm.size(); ++i) {
        if (perm[i] == order[place]) renamed[place] = static_cast<std::int64_t>(i);
      }
    }
    order = renamed;
  }
  const bool keeps_axes = same_rank(node) && op != "reshape" && op != "flatten";
  std::vector<Operand> outputs = node.outputs;
  for (Operand& output : outputs) {
    layout.outputs.push_back(keeps_axes ? order : row_major_order(output.shape.size()));
    output.strides = strides_for(output.shape, layout.outputs.back());
  }
  layout.strided_output = true;
  // Where the present strides cannot be expressed as regions, dense row-major ones can.
  const auto inputs = views_of(node, node.inputs, true);
  const auto targets = views_of(node, outputs, false);
  for (std::size_t i = 0; inputs && i < outputs.size(); ++i) {
    if (outputs[i].dtype == DType::undefined || node.op->regions(*node.node, *inputs, *targets, i)) continue;
    layout.inputs[0] = row_major_order(x.shape.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) layout.outputs[k] = row_major_order(outputs[k].shape.size());
    break;
  }
  return layout;
}

std::unique_ptr<Step> region_step(const NodeRequest& node) {
  if (node.op->regions == nullptr) return nullptr;
  const auto inputs = views_of(node, node.inputs, true);
  const auto outputs = views_of(node, node.outputs, false);
  if (!inputs || !outputs) return nullptr;
  std::vector<std::vector<Region>> regions(node.outputs.size());
  for (std::size_t output = 0; output < node.outputs.size(); ++output) {
    if (node.outputs[output].dtype == DType::undefined) continue;
    auto found = node.op->regions(*node.node, *inputs, *outputs, output);
    if (!found) return nullptr;
    regions[output] = *std::move(found);
  }
  return std::make_unique<RegionStep>(node, regions);
}

}  // namespace jitney::cpu
