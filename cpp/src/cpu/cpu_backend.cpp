// Hands groups of nodes to fused steps, each other node to its fast step, or to the reference kernel if that declines.
#include "cpu/cpu_backend.h"

#include <algorithm>

#include "cpu/op_table.h"
#include "cpu/reference_backend.h"
#include "cpu/region_step.h"

namespace jitney {
namespace {

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }

  std::size_t widest_group(const NodeRequest& first) const override {
    std::size_t most = 1;
    for (const cpu::FusedOp& fused : cpu::fused_ops()) most = std::max(most, fused.widest(first));
    return most;
  }

  std::size_t claim(Group nodes) const override {
    if (nodes.size() > 1) {
      for (const cpu::FusedOp& fused : cpu::fused_ops()) {
        if (const std::size_t taken = fused.claim(nodes.first(std::min(nodes.size(), fused.widest(nodes.front())))); taken > 1)
          return taken;
      }
    }
    return !nodes.empty() && nodes.front().op->compute != nullptr ? 1 : 0;
  }

  NodeLayout layout(Group group) const override {
    if (group.size() > 1) return claimant(group).layout(group);
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
    if (group.size() > 1) return claimant(group).prepare(group, cache, threads);
    const NodeRequest& node = group.front();
    if (const cpu::FastOp* fast = cpu::find_fast_op(node.node->op)) {
      if (std::unique_ptr<Step> step = fast->prepare(node, cache, threads)) {
        return step;
      }
    }
    if (std::unique_ptr<Step> step = cpu::region_step(node)) return step;
    return reference_step(node);
  }

 private:
  /// The fused step that took this very group.
  static const cpu::FusedOp& claimant(Group group) {
    for (const cpu::FusedOp& fused : cpu::fused_ops())
      if (group.size() <= fused.widest(group.front()) && fused.claim(group) == group.size()) return fused;
    throw Error(ErrorCode::internal, "no fused step takes a group that was claimed");
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace jitney
