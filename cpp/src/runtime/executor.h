// Runs plans: binds addresses, walks the steps, and at a cut plans the rest and goes on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "plan/backend.h"
#include "runtime/context.h"
#include "runtime/model_data.h"
#include "runtime/plan_cache.h"
#include "runtime/recorder.h"

namespace jitney {

/// What stays the same for all runs of a session.
struct Engine {
  detail::ModelData& model;
  const Backend& backend;
  PlanCache& plans;
  ThreadPool& pool;
  std::size_t threads;
  Recorder* recorder;  // null unless the session profiles
  std::function<void()> while_looping = {};
  const MeasuredWays* measured = nullptr;
  bool prefer_speed = false;  // to memory
};

/// Key items for a shape, and for the elements of a dense tensor (bit patterns for floats).
void append_shape(PlanKey& key, const Shape& shape);
void append_values(PlanKey& key, const TensorView& view);

/// The model's plan for inputs of these shapes; `values[i]` is the dense data of input i, or null where it is not at hand.
/// `key` is scratch space.
std::shared_ptr<CachedPlan> find_plan(const Engine& engine, std::span<const Shape> shapes, std::span<const void* const> values,
                                      PlanKey& key);

/// Makes and keeps the plan of a graph, the model or a loop's body, that is not in the cache under this key.
std::shared_ptr<CachedPlan> make_graph_plan(const Engine& engine, const PlanKey& key, std::uint32_t graph,
                                            std::span<const ProgramInput> inputs);

/// Called when the shapes of the graph's outputs are known: fills context.outputs with addresses.
using BindOutputs = std::function<void(std::span<const TensorView> outputs)>;

/// Runs the plan with context.inputs bound.
void execute(const Engine& engine, std::shared_ptr<CachedPlan> first, ExecutionContext& context, const BindOutputs& bind);

}  // namespace jitney
