// Puts the stages together: layout, prepared steps, memory.
#include <algorithm>

#include "base/operand_text.h"
#include "plan/layout.h"
#include "plan/memory.h"
#include "plan/memory_verify.h"
#include "plan/plan.h"

namespace jitney {
namespace {

/// Names joined by '+'; what has none (copies that the planner adds) is left out.
std::string joined(const std::vector<NodeRequest>& nodes, const std::string Node::* text) {
  std::string all;
  for (const NodeRequest& request : nodes) {
    const std::string& name = request.node->*text;
    if (!name.empty()) all += (all.empty() ? "" : "+") + name;
  }
  return all;
}

std::vector<std::string> given(const NodeRequest& request) {
  std::vector<std::string> texts;
  for (const Operand& operand : request.inputs) add_operand_text(texts, {}, operand.dtype, to_string(operand.shape));
  return texts;
}

void prepare_steps(Plan& plan, std::vector<PlacedGroup> groups, const PlanOptions& options) {
  plan.weight_data.assign(plan.weights.size(), nullptr);
  std::vector<bool> read(plan.weights.size(), false);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    PlacedGroup& group = groups[i];
    PlannedStep planned;
    planned.node = joined(group.nodes, &Node::name);
    planned.op = joined(group.nodes, &Node::op);
    try {
      planned.step = options.backend.prepare(group.nodes, options.cache, options.threads);
    } catch (const Error& error) {
      throw error.at(planned.node, planned.op, given(group.nodes.front()));
    }
    planned.backend = options.backend.name();
    for (const NodeRequest& request : group.nodes)
      for (const Operand& output : request.outputs)
        if (!output.inner) planned.output_shapes.push_back(output.shape);
    planned.cost = step_cost(group.nodes);
    if (planned.step->workspace != 0) {
      Buffer buffer;
      buffer.bytes = planned.step->workspace;
      buffer.first = buffer.last = i;
      plan.buffers.push_back(buffer);
      planned.workspace.buffer = static_cast<std::int32_t>(plan.buffers.size() - 1);
    }
    for (std::size_t k = 0; k < group.inputs.size(); ++k) {
      if (group.inputs[k].buffer < 0 || (k < 32 && (planned.step->packed >> k & 1) != 0)) continue;
      const Buffer& buffer = plan.buffers[static_cast<std::size_t>(group.inputs[k].buffer)];
      if (buffer.home == Home::weight) read[buffer.index] = true;
    }
    planned.inputs = std::move(group.inputs);
    planned.outputs = std::move(group.outputs);
    plan.steps.push_back(std::move(planned));
  }
  const auto read_at_cut = [&](const PlacedValue& value) {
    if (value.place.buffer < 0) return;
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(value.place.buffer)];
    if (buffer.home == Home::weight) read[buffer.index] = true;
  };
  std::ranges::for_each(plan.observed, read_at_cut);
  std::ranges::for_each(plan.dynamic_inputs, read_at_cut);
  std::ranges::for_each(plan.live, read_at_cut);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    plan.weights[i]->pin();
    plan.weight_data[i] = plan.weights[i]->view().data;
  }
}

void place_arena(Plan& plan) {
  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.home != Home::arena) continue;
    lifetimes.push_back({buffer.bytes, buffer.first, buffer.last});
    owners.push_back(i);
  }
  const MemoryPlan memory = plan_memory(lifetimes);
  if (const std::string fault = verify_memory(lifetimes, memory); !fault.empty())
    throw Error(ErrorCode::internal, "the memory plan is wrong: " + fault);
  for (std::size_t i = 0; i < owners.size(); ++i) plan.buffers[owners[i]].offset = memory.offsets[i];
  plan.arena_bytes = memory.bytes;
  plan.lower_bound_bytes = memory_lower_bound(lifetimes);
  plan.strategy = memory.strategy;
}

}  // namespace

std::unique_ptr<Plan> make_plan(Program program, const PlanOptions& options) {
  auto plan = std::make_unique<Plan>();
  plan->program = std::move(program);
  prepare_steps(*plan, Layout(*plan, options).run(), options);
  place_arena(*plan);
  plan->footprint_bytes = sizeof(Plan) + plan->buffers.size() * sizeof(Buffer) + plan->steps.size() * std::size_t{512} +
                          plan->program.values.size() * sizeof(FlatValue);
  for (const auto& known : plan->known) plan->footprint_bytes += known->bytes();
  return plan;
}

}  // namespace jitney
