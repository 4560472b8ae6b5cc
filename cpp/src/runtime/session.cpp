// The public face of running a model.
#include "jitney/session.h"

#include <algorithm>
#include <optional>

#include "cpu/cpu_backend.h"
#include "cpu/reference_backend.h"
#include "jitney/error.h"
#include "ops/region_copy.h"
#include "runtime/context.h"
#include "runtime/dense.h"
#include "runtime/executor.h"
#include "runtime/input_check.h"
#include "runtime/model_data.h"
#include "runtime/report.h"
#include "runtime/stream_state.h"

namespace jitney {
namespace {

std::unique_ptr<Backend> make_backend(const std::string& name) {
  if (name == "cpu" || name == "auto") return make_cpu_backend();
  if (name == "reference") return make_reference_backend();
  if (name == "vulkan" || name == "opencl")
    throw Error(ErrorCode::unsupported, "this build has no " + name + " backend", "use backend=\"cpu\" or \"auto\"");
  throw Error(ErrorCode::invalid_input, "unknown backend '" + name + "'", "the backends are: auto, cpu, reference");
}

constexpr std::size_t kMostThreads = 1024;

bool prefers_speed(const std::string& name) {
  if (name != "memory" && name != "speed")
    throw Error(ErrorCode::invalid_input, "prefer is '" + name + "'", "there are: memory, speed");
  return name == "speed";
}

}  // namespace

struct Session::Impl {
  Impl(Model of, SessionOptions with)
      : model(std::move(of)),
        options(std::move(with)),
        backend(make_backend(options.backend)),
        backend_name(backend->name()),
        plans(options.plan_cache_bytes),
        contexts(std::max<std::size_t>(1, options.max_contexts)),
        state(std::make_shared<State::Buffers>(model.data())),
        engine{*model.data(),
               *backend,
               plans,
               ThreadPool::process(),
               std::max<std::size_t>(1, options.threads),
               options.profile ? &recorder : nullptr,
               options.while_looping,
               options.tuning.empty() ? nullptr : &options.tuning,
               prefers_speed(options.prefer)} {}

  Model model;
  SessionOptions options;
  std::unique_ptr<Backend> backend;
  std::string backend_name;
  PlanCache plans;
  ContextPool contexts;
  State state;  // for runs that name none
  Recorder recorder;
  Engine engine;
};

Session::Session(Model model, SessionOptions options) {
  if (options.threads == 0) options.threads = ThreadPool::default_threads();
  if (options.threads > kMostThreads)
    throw Error(ErrorCode::invalid_input,
                "threads is " + std::to_string(options.threads) + ", at most " + std::to_string(kMostThreads) + " make sense",
                "use 0 for one per fast core that is available");
  if (options.check) model.check_weights();
  impl_ = std::make_shared<Impl>(std::move(model), std::move(options));
}

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Model& Session::model() const { return impl_->model; }
const std::string& Session::backend() const { return impl_->backend_name; }
std::size_t Session::threads() const { return impl_->engine.threads; }

namespace {

/// Shapes in the model's order; symbols that the caller leaves open count as 1.
std::vector<Shape> complete_shapes(const detail::ModelData& model, const std::map<std::string, Shape>& given) {
  std::vector<Shape> shapes(model.inputs.size());
  std::vector<bool> seen(shapes.size(), false);
  for (const auto& [name, shape] : given) {
    const std::size_t index = find_by_name(model.inputs, name, "input");
    shapes[index] = shape;
    seen[index] = true;
  }
  std::vector<std::optional<std::int64_t>> ones(model.graph.symbols.size(), 1);
  // Symbols that a given shape fixes hold for the other inputs too.
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const SymShape& declared = model.input(i).shape;
    for (std::size_t axis = 0; seen[i] && axis < std::min(declared.rank(), shapes[i].size()); ++axis) {
      const Dim& dim = declared.dims[axis];
      if (dim.is_symbolic() && dim.terms().size() == 1 && dim.terms()[0].coefficient == 1)
        ones[dim.terms()[0].symbol] = shapes[i][axis] - dim.constant();
    }
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (seen[i]) continue;
    for (const Dim& dim : model.input(i).shape.dims) {
      const Dim size = dim.substitute(ones);
      shapes[i].push_back(size.is_constant() ? size.value() : 1);
    }
  }
  check_shapes(model, shapes);
  return shapes;
}

/// The node at which the program is cut, in words.
std::string end_of(const Program& program, const ModelGraph& model) {
  if (!program.cut) return {};
  const Frame& frame = program.cut->cursor.back();
  const Node& node = program.cut->dynamic ? *program.cut->dynamic->node : model.graphs[frame.graph].nodes[frame.next];
  return node.op + " node '" + node.name + "'";
}

/// The inputs that are given, and the states that are not.
std::vector<NamedView> with_states(const detail::ModelData& model, std::span<const NamedView> inputs, State::Buffers* state) {
  std::vector<NamedView> all(inputs.begin(), inputs.end());
  for (std::size_t k = 0; k < model.states.size(); ++k) {
    const std::string& name = model.state_infos[k].input;
    if (std::ranges::find(inputs, name, &NamedView::name) == inputs.end())
      all.push_back({name, state->entries[k].current.view()});
  }
  return all;
}

/// Where a run writes state `k`, provided that it keeps its type.
void* next_of(const detail::ModelData& model, State::Buffers& state, std::size_t k, const TensorView& result) {
  Tensor& next = state.entries[k].next;
  if (result.dtype != next.dtype() || !(result.shape == next.shape()))
    throw Error(ErrorCode::invalid_input, "output '" + model.state_infos[k].output + "' is " +
                                              std::string(to_string(result.dtype)) + " " + to_string(result.shape) +
                                              ", but the state '" + model.state_infos[k].input + "' that it becomes is " +
                                              std::string(to_string(next.dtype())) + " " + to_string(next.shape()));
  return next.data();
}

}  // namespace

void Session::prepare(const std::map<std::string, Shape>& shapes) { plan_report(shapes); }

std::vector<NamedView> Session::default_outputs() const {
  const detail::ModelData& data = *model().data();
  std::vector<NamedView> outputs;
  for (std::size_t i = 0; i < data.outputs.size(); ++i) {
    const bool kept = std::ranges::any_of(data.states, [i](const detail::StateIndex& state) { return state.output == i; });
    if (!kept) outputs.push_back({data.outputs[i].name, {}});
  }
  return outputs;
}

std::vector<Tensor> Session::run(std::span<const NamedView> inputs) { return run(inputs, default_outputs()); }

std::vector<Tensor> Session::run(std::span<const NamedView> inputs, std::span<const NamedView> outputs) {
  return run_with(inputs, outputs, impl_->state.buffers_.get());
}

std::vector<Tensor> Session::run(std::span<const NamedView> inputs, std::span<const NamedView> outputs, State& state) {
  if (!state.buffers_ || state.buffers_->model != model().data())
    throw Error(ErrorCode::invalid_input, "the state belongs to another model", "get one from the new_state() of this session");
  return run_with(inputs, outputs, state.buffers_.get());
}

std::vector<Tensor> Session::run(std::initializer_list<NamedView> inputs, State& state) {
  return run(std::span(inputs.begin(), inputs.size()), default_outputs(), state);
}

State Session::new_state() const { return State(std::make_shared<State::Buffers>(model().data())); }

void Session::reset_state() { impl_->state.reset(); }

std::map<std::string, Tensor> Session::run(const std::map<std::string, Tensor>& inputs) {
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
  const std::vector<NamedView> outputs = default_outputs();
  std::vector<Tensor> results = run(views, outputs);
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < results.size(); ++i) named.emplace(outputs[i].name, std::move(results[i]));
  return named;
}

std::vector<Tensor> Session::run_with(std::span<const NamedView> inputs, std::span<const NamedView> outputs,
                                      State::Buffers* state) {
  Impl& impl = *impl_;
  const detail::ModelData& model = *impl.model.data();
  const ContextPool::Lease context = impl.contexts.borrow();
  std::optional<StateLock> lock;
  if (!model.states.empty()) lock.emplace(*state);
  const std::vector<TensorView> views = check_inputs(model, with_states(model, inputs, state));
  std::vector<std::size_t> wanted;
  for (const NamedView& output : outputs) {
    wanted.push_back(find_by_name(model.outputs, output.name, "output"));
    if (std::ranges::count(wanted, wanted.back()) > 1)
      throw Error(ErrorCode::invalid_input, "output '" + std::string(output.name) + "' is asked for twice");
  }

  // Plans read dense inputs: what is strided is copied here, once.
  std::vector<Shape> shapes;
  std::vector<const void*> values;
  context->inputs.clear();
  context->copies.clear();
  for (const TensorView& view : views) {
    shapes.push_back(view.shape);
    if (is_dense(view)) {
      context->inputs.push_back(view.data);
    } else {
      Tensor copy(view.dtype, view.shape);
      copy_tensor(view, copy.view());
      context->inputs.push_back(copy.data());
      context->copies.push_back(std::move(copy));
    }
    values.push_back(context->inputs.back());
  }

  std::vector<Tensor> results(outputs.size());
  std::vector<Tensor> scratch(model.outputs.size());
  const BindOutputs bind = [&](std::span<const TensorView> shaped) {
    context->outputs.assign(shaped.size(), nullptr);
    for (std::size_t k = 0; k < model.states.size(); ++k)
      context->outputs[model.states[k].output] = next_of(model, *state, k, shaped[model.states[k].output]);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const TensorView& output = shaped[wanted[i]];
      const TensorView& given = outputs[i].view;
      const bool kept = context->outputs[wanted[i]] != nullptr;  // as a state, and copied from there
      if (given.data == nullptr) {
        results[i] = Tensor(output.dtype, output.shape);
        if (!kept) context->outputs[wanted[i]] = results[i].data();
        continue;
      }
      if (given.dtype != output.dtype || !(given.shape == output.shape))
        throw Error(ErrorCode::invalid_input, "output '" + std::string(outputs[i].name) + "': the memory given is " +
                                                  std::string(to_string(given.dtype)) + " " + to_string(given.shape) +
                                                  ", the result is " + std::string(to_string(output.dtype)) + " " +
                                                  to_string(output.shape));
      const bool overlaps = std::ranges::any_of(views, [&](const TensorView& view) { return share_memory(view, given); });
      if (!kept && is_dense(given) && !overlaps) context->outputs[wanted[i]] = given.data;
    }
    for (std::size_t i = 0; i < shaped.size(); ++i) {
      if (context->outputs[i] != nullptr) continue;
      scratch[i] = Tensor(shaped[i].dtype, shaped[i].shape);
      context->outputs[i] = scratch[i].data();
    }
  };
  const auto start = Recorder::Clock::now();
  execute(impl.engine, find_plan(impl.engine, shapes, values, context->level(0).key), *context, bind);
  if (impl.options.profile) impl.recorder.run(start, Recorder::Clock::now());

  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (outputs[i].view.data == nullptr || scratch[wanted[i]].dtype() == DType::undefined) continue;
    copy_tensor(scratch[wanted[i]].view(), outputs[i].view);
  }
  if (model.states.empty()) return results;
  const std::lock_guard change(state->changing);
  for (std::size_t k = 0; k < model.states.size(); ++k) {
    const auto asked = std::ranges::find(wanted, model.states[k].output);
    State::Buffers::Entry& entry = state->entries[k];
    if (asked != wanted.end()) {
      const auto i = static_cast<std::size_t>(asked - wanted.begin());
      copy_tensor(entry.next.view(), outputs[i].view.data != nullptr ? outputs[i].view : results[i].view());
    }
    std::swap(entry.current, entry.next);
  }
  return results;
}

PlanReport Session::plan_report(const std::map<std::string, Shape>& shapes) {
  Impl& impl = *impl_;
  const ContextPool::Lease context = impl.contexts.borrow();
  const std::vector<Shape> complete = complete_shapes(*impl.model.data(), shapes);
  const std::vector<const void*> values(complete.size(), nullptr);
  const std::shared_ptr<CachedPlan> cached = find_plan(impl.engine, complete, values, context->level(0).key);
  const Plan& plan = *cached->plan;
  PlanReport report;
  report.memory = {plan.arena_bytes,
                   plan.lower_bound_bytes,
                   impl.model.data()->weight_bytes,
                   impl.model.data()->packs.bytes(),
                   std::string(plan.strategy),
                   end_of(plan.program, impl.model.data()->graph)};
  report.steps = describe_steps(*cached);
  report.steps.resize(plan.steps.size());
  report.buffers = describe_buffers(plan);
  return report;
}

Profile Session::take_profile() { return impl_->recorder.take(); }

void Session::close() {
  impl_->contexts.close();
  impl_->plans.clear();
}

}  // namespace jitney
