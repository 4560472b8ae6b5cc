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

}  // namespace

struct Session::State {
  State(Model of, SessionOptions with)
      : model(std::move(of)),
        options(std::move(with)),
        backend(make_backend(options.backend)),
        backend_name(backend->name()),
        plans(options.plan_cache_bytes),
        contexts(std::max<std::size_t>(1, options.max_contexts)),
        engine{*model.data(),  *backend, plans, ThreadPool::process(), std::max<std::size_t>(1, options.threads),
               options.profile} {}

  Model model;
  SessionOptions options;
  std::unique_ptr<Backend> backend;
  std::string backend_name;
  PlanCache plans;
  ContextPool contexts;
  Engine engine;
};

Session::Session(Model model, SessionOptions options) {
  if (options.threads == 0) options.threads = ThreadPool::available_threads();
  if (options.threads > kMostThreads)
    throw Error(ErrorCode::invalid_input,
                "threads is " + std::to_string(options.threads) + ", at most " + std::to_string(kMostThreads) + " make sense",
                "use 0 for one per available core");
  if (options.check) model.check_weights();
  state_ = std::make_shared<State>(std::move(model), std::move(options));
}

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Model& Session::model() const { return state_->model; }
const std::string& Session::backend() const { return state_->backend_name; }
std::size_t Session::threads() const { return state_->engine.threads; }

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

}  // namespace

void Session::prepare(const std::map<std::string, Shape>& shapes) { plan_report(shapes); }

std::vector<Tensor> Session::run(std::span<const NamedView> inputs) {
  std::vector<NamedView> outputs;
  for (const TensorInfo& info : model().outputs()) outputs.push_back({info.name, {}});
  return run(inputs, outputs);
}

std::map<std::string, Tensor> Session::run(const std::map<std::string, Tensor>& inputs) {
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
  std::vector<Tensor> results = run(views);
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < results.size(); ++i) named.emplace(model().outputs()[i].name, std::move(results[i]));
  return named;
}

std::vector<Tensor> Session::run(std::span<const NamedView> inputs, std::span<const NamedView> outputs) {
  State& state = *state_;
  const detail::ModelData& model = *state.model.data();
  const ContextPool::Lease context = state.contexts.borrow();
  const std::vector<TensorView> views = check_inputs(model, inputs);
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
  std::vector<TensorView> planned;
  const BindOutputs bind = [&](std::span<const TensorView> shaped) {
    planned.assign(shaped.begin(), shaped.end());
    context->outputs.assign(shaped.size(), nullptr);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const TensorView& output = shaped[wanted[i]];
      const TensorView& given = outputs[i].view;
      if (given.data == nullptr) {
        results[i] = Tensor(output.dtype, output.shape);
        context->outputs[wanted[i]] = results[i].data();
        continue;
      }
      if (given.dtype != output.dtype || !(given.shape == output.shape))
        throw Error(ErrorCode::invalid_input, "output '" + std::string(outputs[i].name) + "': the memory given is " +
                                                  std::string(to_string(given.dtype)) + " " + to_string(given.shape) +
                                                  ", the result is " + std::string(to_string(output.dtype)) + " " +
                                                  to_string(output.shape));
      const bool overlaps = std::ranges::any_of(views, [&](const TensorView& view) { return share_memory(view, given); });
      if (is_dense(given) && !overlaps) context->outputs[wanted[i]] = given.data;
    }
    for (std::size_t i = 0; i < shaped.size(); ++i) {
      if (context->outputs[i] != nullptr) continue;
      scratch[i] = Tensor(shaped[i].dtype, shaped[i].shape);
      context->outputs[i] = scratch[i].data();
    }
  };
  execute(state.engine, find_plan(state.engine, shapes, values, context->level(0).key), *context, bind);

  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (outputs[i].view.data == nullptr || scratch[wanted[i]].dtype() == DType::undefined) continue;
    copy_tensor(scratch[wanted[i]].view(), outputs[i].view);
  }
  return results;
}

PlanReport Session::plan_report(const std::map<std::string, Shape>& shapes) {
  State& state = *state_;
  const ContextPool::Lease context = state.contexts.borrow();
  const std::vector<Shape> complete = complete_shapes(*state.model.data(), shapes);
  const std::vector<const void*> values(complete.size(), nullptr);
  const std::shared_ptr<CachedPlan> cached = find_plan(state.engine, complete, values, context->level(0).key);
  const Plan& plan = *cached->plan;
  PlanReport report;
  report.memory = {plan.arena_bytes, plan.lower_bound_bytes, state.model.data()->weight_bytes, state.model.data()->packs.bytes(),
                   std::string(plan.strategy)};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedStep& step = plan.steps[i];
    report.steps.push_back({step.node, step.op, step.step->kernel, std::string(step.backend), step.output_shapes, cached->runs[i],
                            cached->nanoseconds[i]});
  }
  return report;
}

void Session::close() {
  state_->contexts.close();
  state_->plans.clear();
}

}  // namespace jitney
