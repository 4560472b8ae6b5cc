// The executor.
#include "runtime/executor.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ops/region_copy.h"
#include "plan/key_inputs.h"
#include "runtime/arena_guard.h"
#include "runtime/loop.h"

namespace jitney {

void append_values(PlanKey& key, const TensorView& view) {
  const auto count = static_cast<std::size_t>(view.shape.elements());
  const std::size_t size = size_of(view.dtype);
  const auto* bytes = view.as<const std::byte>();
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t item = 0;
    std::memcpy(&item, bytes + i * size, size < 8 ? size : 8);
    key.push_back(item);
  }
}

void append_shape(PlanKey& key, const Shape& shape) {
  key.push_back(static_cast<std::int64_t>(shape.size()));
  key.insert(key.end(), shape.begin(), shape.end());
}

namespace {

/// Operands in words of the (first) node that a step of that name runs.
std::vector<std::string> given_to(const Program& program, std::string_view step) {
  for (const FlatNode& node : program.nodes) {
    const std::string& name = node.node->name;
    if (!name.empty() && step.starts_with(name) && (step.size() == name.size() || step[name.size()] == '+'))
      return given(program, node);
  }
  return {};
}

/// `error`, with the opset that the model was written in.
Error of_model(const Error& error, const detail::ModelData& model) {
  const auto found = model.graph.metadata.find("onnx.opset");
  return found == model.graph.metadata.end() ? error : error.of_opset(found->second);
}

class Run {
 public:
  Run(const Engine& engine, ExecutionContext& context, const BindOutputs& bind)
      : engine_(engine), context_(context), bind_(bind) {
    if (engine.recorder != nullptr && engine.threads > 1) watch_.emplace(engine.threads);
  }

  void go(std::shared_ptr<CachedPlan> plan) {
    for (std::size_t depth = 0; plan; ++depth) {
      ExecutionContext::Level& level = context_.level(depth);
      level.plan = plan;
      bind(*plan->plan, level);
      walk(plan, level);
      plan = plan->plan->program.cut ? after_cut(*plan, level, depth) : nullptr;
    }
  }

 private:
  void bind(const Plan& plan, ExecutionContext::Level& level) {
    if (!plan.program.cut) bind_(plan.outputs);
    if (level.arena_bytes < plan.arena_bytes) {
      level.arena.reset();
      level.arena_bytes = 0;
      level.arena = make_aligned(plan.arena_bytes);
      level.arena_bytes = plan.arena_bytes;
    }
    level.bases.resize(plan.buffers.size());
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& buffer = plan.buffers[i];
      switch (buffer.home) {
        case Home::arena:
          level.bases[i] = level.arena.get() + buffer.offset;
          break;
        case Home::input:
          level.bases[i] = context_.inputs[buffer.index];
          break;
        case Home::output:
          level.bases[i] = context_.outputs[buffer.index];
          break;
        case Home::weight:
          level.bases[i] = const_cast<void*>(plan.weight_data[buffer.index]);
          break;
        case Home::known:
          level.bases[i] = const_cast<void*>(plan.known[buffer.index]->data());
          break;
        case Home::external:
          level.bases[i] = context_.outer[static_cast<std::size_t>(plan.externals[buffer.index])];
          break;
      }
    }
  }

  static void* address(const ExecutionContext::Level& level, const Place& place) {
    if (place.buffer < 0) return nullptr;
    auto* base = static_cast<std::byte*>(level.bases[static_cast<std::size_t>(place.buffer)]);
    return base == nullptr ? nullptr : base + place.offset;
  }

  static TensorView located(const ExecutionContext::Level& level, const PlacedValue& value) {
    TensorView view = value.view;
    view.data = address(level, value.place);
    return view;
  }

  void walk(const std::shared_ptr<CachedPlan>& cached, ExecutionContext::Level& level) {
    const Plan& plan = *cached->plan;
    const ArenaGuard guard(plan, level.arena.get(), level.arena_bytes);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const PlannedStep& step = plan.steps[i];
      guard.before(i);
      context_.operands.clear();
      for (const Place& place : step.inputs) context_.operands.push_back(address(level, place));
      for (const Place& place : step.outputs) context_.operands.push_back(address(level, place));
      StepRun run;
      run.inputs = std::span(context_.operands).first(step.inputs.size());
      run.outputs = std::span(context_.operands).subspan(step.inputs.size());
      run.workspace = address(level, step.workspace);
      run.pool = &engine_.pool;
      run.threads = engine_.threads;
      run.watch = watch_ ? &*watch_ : nullptr;
      if (watch_) watch_->reset();
      const Recorder::Clock::time_point start = now();
      try {
        step.step->run(run);
      } catch (const Error& error) {
        throw error.at(step.node, step.op, given_to(plan.program, step.node));
      }
      guard.after(i);
      if (engine_.recorder == nullptr) continue;
      const Recorder::Clock::time_point end = now();
      const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(end - start);
      cached->runs[i].fetch_add(1, std::memory_order_relaxed);
      cached->nanoseconds[i].fetch_add(static_cast<std::uint64_t>(spent.count()), std::memory_order_relaxed);
      engine_.recorder->step(cached, i, start, end, run.watch);
    }
  }

  Recorder::Clock::time_point now() const {
    return engine_.recorder != nullptr ? Recorder::Clock::now() : Recorder::Clock::time_point();
  }

  /// Reads what the cut waited for and returns the plan that goes on from there.
  std::shared_ptr<CachedPlan> after_cut(CachedPlan& cached, ExecutionContext::Level& level, std::size_t depth) {
    const Plan& plan = *cached.plan;
    const Cut& cut = *plan.program.cut;
    context_.outer.resize(std::max(context_.outer.size(), plan.program.values.size()), nullptr);
    for (const PlacedValue& value : plan.live) context_.outer[static_cast<std::size_t>(value.id)] = address(level, value.place);

    PlanKey& key = context_.level(depth + 1).key;
    key.assign({static_cast<std::int64_t>(cached.id)});
    std::vector<Learned> learned;
    if (cut.dynamic) {
      const Recorder::Clock::time_point start = now();
      run_dynamic(plan, level);
      if (engine_.recorder != nullptr) engine_.recorder->step(level.plan, plan.steps.size(), start, now());
      for (std::size_t i = 0; i < cut.dynamic->outputs.size(); ++i) {
        const FlatId id = cut.dynamic->outputs[i];
        if (id < 0) continue;
        const TensorView& result = level.results[i];
        append_shape(key, result.shape);
        context_.outer[static_cast<std::size_t>(id)] = result.data;
        learned.push_back({id, result.dtype, result.shape, nullptr});
      }
    } else {
      for (const PlacedValue& value : plan.observed) {
        auto tensor = std::make_shared<Tensor>(value.view.dtype, value.view.shape);
        copy_tensor(located(level, value), tensor->view());
        append_values(key, tensor->view());
        learned.push_back({value.id, value.view.dtype, value.view.shape, std::move(tensor)});
      }
    }
    if (auto found = engine_.plans.find(key)) return found;

    const std::lock_guard lock(engine_.model.planning);
    if (auto found = engine_.plans.find(key)) return found;
    const PlanOptions options{engine_.backend, engine_.model.packs, engine_.threads,
                              &plan.live,      engine_.measured,    engine_.prefer_speed};
    return engine_.plans.insert(key, make_plan(continue_program(engine_.model.view(), plan.program, learned), options));
  }

  void run_dynamic(const Plan& plan, ExecutionContext::Level& level) {
    const FlatNode& node = *plan.program.cut->dynamic;
    level.results.assign(node.outputs.size(), TensorView());
    level.dynamic.clear();
    for (const PlacedValue& value : plan.dynamic_inputs)
      level.dynamic.push_back(value.place.buffer < 0 ? TensorView{} : located(level, value));
    if (node.op->compute == nullptr) {
      run_loop(engine_, plan, level);
      return;
    }
    level.owned.clear();
    level.owned.resize(node.outputs.size());
    std::vector<TensorView> outputs(node.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] >= 0) outputs[i].dtype = plan.program.values[static_cast<std::size_t>(node.outputs[i])].dtype;
    const ComputeContext::Allocate allocate = [&](std::size_t output, DType dtype, const Shape& shape) {
      level.owned[output] = Tensor(dtype, shape);
      level.results[output] = level.owned[output].view();
      return level.results[output];
    };
    try {
      node.op->compute(ComputeContext(*node.node, level.dynamic, outputs, allocate));
    } catch (const Error& error) {
      throw error.at(node.node->name, node.node->op, given(plan.program, node));
    }
  }

  const Engine& engine_;
  ExecutionContext& context_;
  const BindOutputs& bind_;
  std::optional<WorkerWatch> watch_;
};

/// `error`, with advice if it has none: sizes that the inputs allow may still not suit what the network does with them.
Error about_sizes(const Error& error, const detail::ModelData& model, std::span<const Shape> shapes) {
  if (error.code() != ErrorCode::invalid_input || !error.hint().empty() || shapes.empty()) return error;
  std::string hint;
  bool picture = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    hint +=
        (i == 0 ? "do the inputs' sizes suit the model? They are " : ", ") + model.inputs[i].name + "=" + to_string(shapes[i]);
    picture = picture || shapes[i].size() == 4;
  }
  if (picture) hint += "; many networks want heights and widths that are multiples of 32";
  return error.with_hint(hint);
}

}  // namespace

std::shared_ptr<CachedPlan> find_plan(const Engine& engine, std::span<const Shape> shapes, std::span<const void* const> values,
                                      PlanKey& key) {
  detail::ModelData& model = engine.model;
  const std::vector<std::size_t>& key_inputs = model.key_inputs[0];
  const auto in_key = [&](std::size_t input) { return values[input] != nullptr && shapes[input].elements() <= kMostKeyElements; };
  key.assign({0});
  for (const Shape& shape : shapes) append_shape(key, shape);
  for (const std::size_t input : key_inputs) {
    key.push_back(in_key(input));
    if (in_key(input))
      append_values(key,
                    {const_cast<void*>(values[input]), model.inputs[input].dtype, shapes[input], dense_strides(shapes[input])});
  }
  if (auto found = engine.plans.find(key)) return found;

  std::vector<ProgramInput> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) inputs.push_back({model.inputs[i].dtype, shapes[i], nullptr, nullptr});
  for (const std::size_t input : key_inputs) {
    if (!in_key(input)) continue;
    Tensor tensor(model.inputs[input].dtype, shapes[input]);
    std::memcpy(tensor.data(), values[input], tensor.bytes());
    inputs[input].known = std::make_shared<const Tensor>(std::move(tensor));
  }
  try {
    return make_graph_plan(engine, key, 0, inputs);
  } catch (const Error& error) {
    throw of_model(about_sizes(error, model, shapes), model);
  }
}

std::shared_ptr<CachedPlan> make_graph_plan(const Engine& engine, const PlanKey& key, std::uint32_t graph,
                                            std::span<const ProgramInput> inputs) {
  detail::ModelData& model = engine.model;
  const std::lock_guard lock(model.planning);
  if (auto found = engine.plans.find(key)) return found;
  const PlanOptions options{engine.backend, model.packs, engine.threads, nullptr, engine.measured, engine.prefer_speed};
  return engine.plans.insert(key, make_plan(begin_program(model.view(), graph, inputs), options));
}

void execute(const Engine& engine, std::shared_ptr<CachedPlan> first, ExecutionContext& context, const BindOutputs& bind) {
  try {
    Run(engine, context, bind).go(std::move(first));
  } catch (const Error& error) {
    throw of_model(error, engine.model);
  }
}

}  // namespace jitney
