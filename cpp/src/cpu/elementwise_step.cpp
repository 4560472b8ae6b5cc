// Elementwise float32 arithmetic with broadcasting, alone or several nodes as one loop.
#include "cpu/elementwise_step.h"

#include <array>
#include <optional>

#include "cpu/expression.h"
#include "cpu/typed_step.h"

namespace jitney::cpu {
namespace {

class ExpressionStep final : public Step {
 public:
  explicit ExpressionStep(Group group) : expression_(group) { kernel = expression_.name(); }
  void run(const StepRun& run) const override { expression_.run(run); }

 private:
  Expression expression_;
};

// Reference kernels keep storage orders, too, so the layout does not depend on the dtype.
std::optional<NodeLayout> layout(const NodeRequest& node) { return expression_layout({&node, 1}); }

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t) {
  if (!is_expression(node)) return prepare_typed(node);
  return std::make_unique<ExpressionStep>(Group(&node, 1));
}

std::size_t widest(const NodeRequest& first) { return is_expression(first) ? Expression::kMostInstructions : 1; }

std::size_t claim(Group nodes) {
  const std::size_t count = expression_nodes(nodes);
  return count > 1 ? count : 0;
}

std::unique_ptr<Step> prepare_group(Group group, PackCache&, std::size_t) { return std::make_unique<ExpressionStep>(group); }

// gelu_tanh is spelled as an attribute of gelu in the IR, so the entry of that name is never asked for.
#define JITNEY_STEP(name) FastOp{#name, layout, prepare},
constexpr auto kOps = std::to_array<FastOp>({JITNEY_UNARY_OPS(JITNEY_STEP) JITNEY_BINARY_OPS(JITNEY_STEP)});
#undef JITNEY_STEP

}  // namespace

std::span<const FastOp> elementwise_steps() noexcept { return kOps; }

const FusedOp& fused_elementwise() noexcept {
  static constexpr FusedOp fused{widest, claim, expression_layout, prepare_group};
  return fused;
}

}  // namespace jitney::cpu
