// Hands each node to its fast step, or to the reference kernel if that declines.
#include "cpu/cpu_backend.h"

#include "cpu/op_table.h"
#include "cpu/reference_backend.h"
#include "cpu/region_step.h"

namespace jitney {
namespace {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }

  std::size_t claim(Group nodes) const override { return !nodes.empty() && nodes.front().op->compute != nullptr ? 1 : 0; }

  NodeLayout layout(Group group) const override {
    const NodeRequest& node = group.front();
    if (const cpu::FastOp* fast = cpu::find_fast_op(node.node->op)) {
      if (std::optional<NodeLayout> layout = fast->layout(node)) {
        return *std::move(layout);
      }
    }
    if (std::optional<NodeLayout> layout = cpu::region_layout(node)) return *std::move(layout);
    return reference_layout(node);
  }

  std::unique_ptr<Step> prepare(Group group, PackCache& cache, std::size_t threads) const override {
    const NodeRequest& node = group.front();
    if (const cpu::FastOp* fast = cpu::find_fast_op(node.node->op)) {
      if (std::unique_ptr<Step> step = fast->prepare(node, cache, threads)) {
        return step;
      }
    }
    if (std::unique_ptr<Step> step = cpu::region_step(node)) return step;
    return reference_step(node);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace jitney
