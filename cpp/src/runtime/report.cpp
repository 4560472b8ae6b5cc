// Reports on plans.
#include "runtime/report.h"

#include <algorithm>

namespace jitney {

std::vector<StepReport> describe_steps(const CachedPlan& cached) {
  std::vector<StepReport> reports;
  const Plan& plan = *cached.plan;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedStep& step = plan.steps[i];
    StepReport report;
    report.node = step.node;
    report.op = step.op;
    report.kernel = step.step->kernel;
    report.backend = step.backend;
    report.why = step.step->why();
    if (const auto choice = step.step->choice()) {
      report.work = choice->work;
      report.way = choice->way;
      report.ways = choice->ways;
    }
    report.outputs = step.output_shapes;
    report.flops = step.cost.flops;
    report.bytes = step.cost.bytes;
    report.runs = cached.runs[i];
    report.nanoseconds = cached.nanoseconds[i];
    reports.push_back(std::move(report));
  }
  if (plan.program.cut && plan.program.cut->dynamic) {
    const FlatNode& node = *plan.program.cut->dynamic;
    StepReport report;
    report.node = node.node->name;
    report.op = node.node->op;
    report.kernel = node.op->compute == nullptr ? node.node->op : "reference_" + node.node->op;
    report.backend = "runtime";
    report.why = "sizes of its results are known only once it has run";
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<BufferReport> describe_buffers(const Plan& plan) {
  std::vector<BufferReport> reports;
  std::vector<std::size_t> position(plan.buffers.size());
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    position[i] = reports.size();
    if (buffer.home == Home::arena) reports.push_back({"", buffer.offset, buffer.bytes, buffer.first, buffer.last});
  }
  const auto name = [&](const Place& place, const std::string& text) {
    if (place.buffer < 0 || plan.buffers[static_cast<std::size_t>(place.buffer)].home != Home::arena) return;
    std::string& all = reports[position[static_cast<std::size_t>(place.buffer)]].written_by;
    all += (all.empty() ? "" : ", ") + text;
  };
  for (const PlannedStep& step : plan.steps) {
    const std::string& text = step.node.empty() ? step.op : step.node;
    for (const Place& place : step.outputs) name(place, text);
    name(step.workspace, "workspace of " + text);
  }
  return reports;
}

}  // namespace jitney
