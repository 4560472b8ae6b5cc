// Elementwise ops whose operands or results are not all float32, as rows of the typed kernels.
#include "cpu/typed_step.h"

#include <array>
#include <cstdint>

#include "cpu/broadcast_walk.h"
#include "cpu/kernels/typed/typed.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"

namespace jitney::cpu {
namespace {

kernels::TypedRowKernel find_row(const NodeRequest& node) {
  const Node& n = *node.node;
  // Infinities of one sign only are left to the reference.
  if (n.op == "is_inf" && (n.integer("negative", 1) == 0 || n.integer("positive", 1) == 0)) return nullptr;
  return kernels::typed_kernels(active_isa()).find(n.op, node.inputs[0].dtype, node.outputs[0].dtype);
}

class TypedStep final : public Step {
 public:
  TypedStep(const NodeRequest& node, kernels::TypedRowKernel row) : node_(node), row_(row), walk_(node.outputs[0], node.inputs) {
    bytes_[0] = static_cast<std::int64_t>(size_of(node.outputs[0].dtype));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) bytes_[i + 1] = static_cast<std::int64_t>(size_of(node.inputs[i].dtype));
    kernel = "typed_" + node.node->op;
  }

  void run(const StepRun& run) const override {
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    std::array<const std::byte*, 3> inputs{};
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) inputs[i] = input_data<std::byte>(run, node_, i);
    const auto row = [&](const BroadcastWalk::Offsets& at, std::int64_t count) {
      const auto operand = [&](std::size_t i) -> const void* {
        return inputs[i] != nullptr ? inputs[i] + at[i + 1] * bytes_[i + 1] : nullptr;
      };
      row_({count, walk_.row_strides().data(), y + at[0] * bytes_[0], operand(0), operand(1), operand(2)});
    };
    const std::int64_t piece = piece_size(static_cast<double>(walk_.unit_elements()) * 0.2 + 5);
    parallel_ranges(run, walk_.units(), piece,
                    [&](std::int64_t begin, std::int64_t end, std::size_t) { walk_.for_each(begin, end, row); });
  }

 private:
  NodeRequest node_;
  kernels::TypedRowKernel row_;
  BroadcastWalk walk_;
  std::array<std::int64_t, BroadcastWalk::kOperands> bytes_{};
};

std::optional<NodeLayout> layout(const NodeRequest& node) { return elementwise_layout(node); }

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t) { return prepare_typed(node); }

// Those without typed rows still keep the inputs' storage order.
constexpr auto kOps = std::to_array<FastOp>({
    {"where", layout, prepare},         {"cast", layout, prepare},       {"equal", layout, prepare},
    {"less", layout, prepare},          {"less_equal", layout, prepare}, {"greater", layout, prepare},
    {"greater_equal", layout, prepare}, {"and", layout, prepare},        {"or", layout, prepare},
    {"xor", layout, prepare},           {"not", layout, prepare},        {"bitwise_not", layout, prepare},
    {"bitwise_and", layout, prepare},   {"bitwise_or", layout, prepare}, {"bitwise_xor", layout, prepare},
    {"bit_shift", layout, prepare},     {"mod", layout, prepare},        {"is_nan", layout, prepare},
    {"is_inf", layout, prepare},
});

}  // namespace

std::span<const FastOp> typed_steps() noexcept { return kOps; }

std::unique_ptr<Step> prepare_typed(const NodeRequest& node) {
  const kernels::TypedRowKernel row = find_row(node);
  if (row == nullptr) return nullptr;
  return std::make_unique<TypedStep>(node, row);
}

}  // namespace jitney::cpu
