// Binds jitney::Session: run without the interpreter's lock, and reports as plain dictionaries.
#include "jitney/session.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>

#include "bindings.h"
#include "plain_run.h"
#include "without_gil.h"

namespace jitney::bindings {
namespace {

using Names = std::vector<std::string>;

/// A session and what its Python face remembers.
struct BoundSession {
  Session session;
  PlainArguments arguments;
  /// The inputs of the last run or prepare; read and written under Python's lock.
  std::vector<std::pair<std::string, Shape>> shapes = {};

  void remember(std::span<const NamedView> inputs) {
    shapes.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      shapes[i].first = inputs[i].name;
      shapes[i].second = inputs[i].view.shape;
    }
  }
};

/// Lets a signal end a run, above all Ctrl-C. Python handles signals on its main thread alone: others need not wait for its lock.
void handle_signals(unsigned long main_thread) {
  if (PyThread_get_thread_ident() != main_thread) return;
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::unique_ptr<BoundSession> make(const Model& model, std::string backend, std::size_t threads, bool check, bool profile,
                                   std::size_t plan_cache_bytes, std::size_t max_contexts,
                                   const std::map<std::string, std::string>& tuning, std::string prefer) {
  SessionOptions options;
  options.backend = std::move(backend);
  options.threads = threads;
  options.check = check;
  options.profile = profile;
  options.plan_cache_bytes = plan_cache_bytes;
  options.max_contexts = max_contexts;
  options.tuning.insert(tuning.begin(), tuning.end());
  options.prefer = std::move(prefer);
  const py::object main_thread = py::module_::import("threading").attr("main_thread")();
  options.while_looping = [main = main_thread.attr("ident").cast<unsigned long>()] { handle_signals(main); };
  const auto session = [&] {
    const WithoutGil released;
    return Session(model, std::move(options));
  };
  return std::make_unique<BoundSession>(session(), PlainArguments(model));
}

/// The results, or None if the arguments are not just as wanted.
py::object run_plain(BoundSession& bound, const py::object& inputs, const py::object& outputs) {
  const std::optional<PlainRun> plain = bound.arguments.match(inputs, outputs);
  if (!plain) return py::none();
  bound.remember(plain->inputs);
  std::vector<Tensor> results;
  {
    const WithoutGil released;
    results = bound.session.run(plain->inputs, plain->outputs);
  }
  py::dict answer;
  for (std::size_t i = 0; i < results.size(); ++i) answer[plain->names[i]] = to_array(std::move(results[i]));
  return answer;
}

py::dict run(BoundSession& bound_session, const py::dict& inputs, const std::optional<Names>& outputs,
             const std::optional<py::dict>& out, std::optional<State> state) {
  Session& session = bound_session.session;
  std::vector<BorrowedArray> arrays;
  Names names;
  arrays.reserve(inputs.size());
  names.reserve(inputs.size());
  for (const auto& [name, array] : inputs) {
    names.push_back(name.cast<std::string>());
    arrays.push_back(borrow(names.back(), array));
  }
  std::vector<NamedView> fed;
  fed.reserve(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) fed.push_back({names[i], arrays[i].view});
  bound_session.remember(fed);

  Names wanted;
  if (outputs) {
    wanted = *outputs;
  } else {
    for (const TensorInfo& output : session.outputs()) wanted.push_back(output.name);
  }
  std::vector<BorrowedArray> targets(wanted.size());
  std::vector<NamedView> bound;
  bound.reserve(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (out && out->contains(wanted[i])) targets[i] = borrow_for_writing(wanted[i], (*out)[wanted[i].c_str()]);
    bound.push_back({wanted[i], targets[i].view});
  }

  std::vector<Tensor> results;
  {
    const WithoutGil released;
    results = state ? session.run(fed, bound, *state) : session.run(fed, bound);
  }
  py::dict answer;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool given = targets[i].view.dtype != DType::undefined;
    answer[py::str(wanted[i])] = given ? targets[i].array : to_array(std::move(results[i]));
  }
  return answer;
}

py::list describe(const std::vector<StepReport>& reports) {
  py::list steps;
  for (const StepReport& step : reports) {
    py::list shapes;
    for (const Shape& shape : step.outputs) shapes.append(to_tuple(shape));
    py::dict entry;
    entry["node"] = step.node;
    entry["op"] = step.op;
    entry["kernel"] = step.kernel;
    entry["backend"] = step.backend;
    entry["why"] = step.why;
    entry["work"] = step.work;
    entry["way"] = step.way;
    entry["ways"] = step.ways;
    entry["outputs"] = shapes;
    entry["flops"] = step.flops;
    entry["bytes"] = step.bytes;
    entry["runs"] = step.runs;
    entry["nanoseconds"] = step.nanoseconds;
    steps.append(entry);
  }
  return steps;
}

py::dict describe(const PlanReport& report) {
  py::list buffers;
  for (const BufferReport& buffer : report.buffers) {
    py::dict entry;
    entry["written_by"] = buffer.written_by;
    entry["offset"] = buffer.offset;
    entry["bytes"] = buffer.bytes;
    entry["first"] = buffer.first;
    entry["last"] = buffer.last;
    buffers.append(entry);
  }
  py::dict result;
  result["arena_bytes"] = report.memory.arena_bytes;
  result["lower_bound_bytes"] = report.memory.lower_bound_bytes;
  result["weight_bytes"] = report.memory.weight_bytes;
  result["packed_bytes"] = report.memory.packed_bytes;
  result["strategy"] = report.memory.strategy;
  result["ends_at"] = report.memory.ends_at;
  result["steps"] = describe(report.steps);
  result["buffers"] = buffers;
  return result;
}

void prepare(BoundSession& bound, const py::dict& shapes) {
  const auto converted = to_shapes(shapes);
  {
    const WithoutGil released;
    bound.session.prepare(converted);
  }
  bound.shapes.assign(converted.begin(), converted.end());
}

/// Without shapes: for those of the last run or prepare.
py::dict plan_report(BoundSession& bound, const std::optional<py::dict>& shapes) {
  const auto converted = shapes ? to_shapes(*shapes) : std::map<std::string, Shape>(bound.shapes.begin(), bound.shapes.end());
  PlanReport report;
  {
    const WithoutGil released;
    report = bound.session.plan_report(converted);
  }
  return describe(report);
}

py::dict take_profile(BoundSession& bound) {
  const Profile profile = bound.session.take_profile();
  py::list events;
  for (const ProfileEvent& event : profile.events)
    events.append(py::make_tuple(event.step, event.thread, event.start, event.end));
  py::list work;
  for (const WorkerEvent& event : profile.work)
    work.append(py::make_tuple(event.step, event.thread, event.worker, event.start, event.end, event.busy));
  py::dict result;
  result["work"] = work;
  result["steps"] = describe(profile.steps);
  result["events"] = events;
  result["dropped"] = profile.dropped;
  return result;
}

}  // namespace

void bind_session(py::module_& module) {
  const SessionOptions defaults;
  py::class_<State>(module, "State").def("reset", &State::reset);
  py::class_<BoundSession>(module, "Session")
      .def(py::init(&make), py::arg("model"), py::kw_only(), py::arg("backend") = defaults.backend,
           py::arg("threads") = defaults.threads, py::arg("check") = defaults.check, py::arg("profile") = defaults.profile,
           py::arg("plan_cache_bytes") = defaults.plan_cache_bytes, py::arg("max_contexts") = defaults.max_contexts,
           py::arg("tuning") = py::dict(), py::arg("prefer") = defaults.prefer)
      .def("run_plain", &run_plain, py::arg("inputs"), py::arg("outputs"))
      .def("run", &run, py::arg("inputs"), py::arg("outputs") = py::none(), py::arg("out") = py::none(),
           py::arg("state") = py::none())
      .def("new_state", [](const BoundSession& bound) { return bound.session.new_state(); })
      .def("reset_state", [](BoundSession& bound) { bound.session.reset_state(); })
      .def("prepare", &prepare, py::arg("shapes"))
      .def("plan_report", &plan_report, py::arg("shapes") = py::none())
      .def("take_profile", &take_profile)
      .def(
          "close", [](BoundSession& bound) { bound.session.close(); }, py::call_guard<WithoutGil>())
      .def_property_readonly("backend", [](const BoundSession& bound) { return bound.session.backend(); })
      .def_property_readonly("threads", [](const BoundSession& bound) { return bound.session.threads(); });
}

}  // namespace jitney::bindings
