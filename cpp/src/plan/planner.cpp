// Puts the stages together: layout, prepared steps, memory.
#include <algorithm>

#include "plan/layout.h"
#include "plan/memory.h"
#include "plan/memory_verify.h"
#include "plan/plan.h"

namespace jitney {
namespace {

void prepare_steps(Plan& plan, std::vector<PlacedNode> nodes, const PlanOptions& options) {
  plan.weight_data.assign(plan.weights.size(), nullptr);
  std::vector<bool> read(plan.weights.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PlacedNode& node = nodes[i];
    PlannedStep planned;
    try {
      planned.step = options.backend.prepare({&node.request, 1}, options.cache, options.threads);
    } catch (const Error& error) {
      throw error.at(node.request.node->name, node.request.node->op);
    }
    planned.node = node.request.node->name;
    planned.op = node.request.node->op;
    planned.backend = options.backend.name();
    for (const Operand& output : node.request.outputs) planned.output_shapes.push_back(output.shape);
    if (planned.step->workspace != 0) {
      Buffer buffer;
      buffer.bytes = planned.step->workspace;
      buffer.first = buffer.last = i;
      plan.buffers.push_back(buffer);
      planned.workspace.buffer = static_cast<std::int32_t>(plan.buffers.size() - 1);
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k].buffer < 0 || (k < 32 && (planned.step->packed >> k & 1) != 0)) continue;
      const Buffer& buffer = plan.buffers[static_cast<std::size_t>(node.inputs[k].buffer)];
      if (buffer.home == Home::weight) read[buffer.index] = true;
    }
    planned.inputs = std::move(node.inputs);
    planned.outputs = std::move(node.outputs);
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
  std::vector<PlacedNode> nodes = Layout(*plan, options).run();
  prepare_steps(*plan, std::move(nodes), options);
  place_arena(*plan);
  plan->footprint_bytes = sizeof(Plan) + plan->buffers.size() * sizeof(Buffer) + plan->steps.size() * std::size_t{512} +
                          plan->program.values.size() * sizeof(FlatValue);
  for (const auto& known : plan->known) plan->footprint_bytes += known->bytes();
  return plan;
}

}  // namespace jitney
