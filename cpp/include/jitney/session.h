// Runs a model: plans are made per input shape and cached; run() may be called from many threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jitney/export.h"
#include "jitney/model.h"
#include "jitney/tensor.h"
#include "jitney/tuning.h"

namespace jitney {

struct SessionOptions {
  /// "cpu", "reference" (plain kernels, for checking others), or "auto". A backend that is not there throws Error(unsupported).
  std::string backend = "auto";
  /// Threads per run, the caller's included; 0: one per available core, little ones beside big ones left out.
  std::size_t threads = 0;
  /// Check all weight blocks now rather than when first used.
  bool check = false;
  /// Plans are forgotten, least recently used first, beyond this many bytes.
  std::size_t plan_cache_bytes = std::size_t{64} << 20;
  /// Most runs at a time; further callers wait for a context.
  std::size_t max_contexts = 64;
  /// Record each step's time (see Session::take_profile).
  bool profile = false;
  /// Ways to be followed where several fit (see read_tuning); the backend's own estimates decide the rest.
  MeasuredWays tuning = {};
  /// "memory": memory beside the arena stays within 1.2 times the weights. "speed": what each run would compute anew from the
  /// weights is kept wherever that is expected to be faster, several times their bytes if need be. Others throw
  /// Error(invalid_input).
  std::string prefer = "memory";
  /// Called every now and then, on the thread of the run, while a loop of the model iterates. What it throws ends the run.
  std::function<void()> while_looping = {};
};

/// A tensor passed to a run by name; the view's memory must stay valid during the run.
struct NamedView {
  std::string_view name;
  TensorView view;
};

/// Memory of one plan. All sizes in bytes.
struct MemoryReport {
  std::uint64_t arena_bytes = 0;        ///< one execution context's arena, kernel workspace included
  std::uint64_t lower_bound_bytes = 0;  ///< no plan for the same steps can be smaller
  std::uint64_t weight_bytes = 0;       ///< weights in the file
  std::uint64_t packed_bytes = 0;       ///< copies of weights made for the kernels, shared by all sessions of the model
  std::string strategy;                 ///< which planner strategy won
  /// The node, e.g. "if node 'choose'", before which the plan ends, as values that are known only in a run decide what follows:
  /// memory from there on is not counted. Empty if the plan is whole.
  std::string ends_at;
};

/// One step of a plan.
struct StepReport {
  std::string node;
  std::string op;
  std::string kernel;
  std::string backend;
  std::string why;                ///< why this kernel, with the figures that decided; empty if there was no choice
  std::string work;               ///< if several ways fit: what it is, as a key of MeasuredWays
  std::string way;                ///< the one taken
  std::vector<std::string> ways;  ///< all that fit
  std::vector<Shape> outputs;
  double flops = 0;               ///< operations as the op is defined, a multiply-add counting two; a kernel may need fewer
  std::uint64_t bytes = 0;        ///< of the operands, each read or written once
  std::uint64_t runs = 0;         ///< with SessionOptions::profile
  std::uint64_t nanoseconds = 0;  ///< total over all runs, likewise
};

/// A part of the arena that is taken from one step to another, both included; `last` is the number of steps if it is read after
/// them, as a plan goes on elsewhere.
struct BufferReport {
  std::string written_by;  ///< the nodes that write it, or "workspace of" a node
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct PlanReport {
  MemoryReport memory;
  std::vector<StepReport> steps;
  std::vector<BufferReport> buffers;
};

/// One execution of a step, or a whole run. Nanoseconds since some point in the past.
struct ProfileEvent {
  std::int64_t step = -1;    ///< index into Profile::steps; -1: a whole run
  std::uint32_t thread = 0;  ///< of the caller, counted from 0
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

/// What one thread did in one execution of a step whose loops were spread over several.
struct WorkerEvent {
  std::int64_t step = 0;     ///< index into Profile::steps
  std::uint32_t thread = 0;  ///< of the caller
  std::uint32_t worker = 0;  ///< 0: the caller itself
  std::uint64_t start = 0;   ///< of its first piece of work; nanoseconds as in ProfileEvent
  std::uint64_t end = 0;     ///< of its last one
  std::uint64_t busy = 0;    ///< nanoseconds in all its pieces
};

/// What a session with SessionOptions::profile has seen. Steps of a loop's body lie within the loop's own event.
struct Profile {
  std::vector<StepReport> steps;  ///< of all plans that ran, those of loops' bodies included
  std::vector<ProfileEvent> events;
  std::vector<WorkerEvent> work;
  std::uint64_t dropped = 0;  ///< events beyond a million are counted only
};

class Session;

/// What a model with state (Model::states) remembers between the runs of one stream. Copies share it.
class JITNEY_API State {
 public:
  /// Belongs to no session yet.
  State() = default;
  /// Zeros again, as at the start. Throws Error(invalid_input) while a run uses it.
  void reset();

  struct Buffers;

 private:
  friend class Session;
  explicit State(std::shared_ptr<Buffers> buffers);
  std::shared_ptr<Buffers> buffers_;
};

class JITNEY_API Session {
 public:
  explicit Session(Model model, SessionOptions options = {});
  Session(const std::string& path, SessionOptions options = {}) : Session(Model::open(path), std::move(options)) {}
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const Model& model() const;
  const std::vector<TensorInfo>& inputs() const { return model().inputs(); }
  const std::vector<TensorInfo>& outputs() const { return model().outputs(); }
  const std::string& backend() const;
  std::size_t threads() const;

  /// Makes the plan for these input shapes ahead of the first run.
  void prepare(const std::map<std::string, Shape>& shapes);

  /// All outputs but those that are states, in the model's order. An input that is a state may be left out: what the last run
  /// made of it is used; given, its value is used instead. Throws Error(invalid_input) for a wrong name, dtype, rank or size.
  std::vector<Tensor> run(std::span<const NamedView> inputs);
  std::vector<Tensor> run(std::initializer_list<NamedView> inputs) { return run(std::span(inputs.begin(), inputs.size())); }
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs);

  /// The outputs named, each computed into the memory given (any strides) if its data is not null; otherwise into a new tensor
  /// that is returned at the same position. A given view must have the output's dtype and shape.
  std::vector<Tensor> run(std::span<const NamedView> inputs, std::span<const NamedView> outputs);

  /// The same for one of several streams, each with a state of its own. Streams may run at the same time; two runs on one state,
  /// the session's own included, may not: the second throws Error(invalid_input).
  std::vector<Tensor> run(std::span<const NamedView> inputs, std::span<const NamedView> outputs, State& state);
  std::vector<Tensor> run(std::initializer_list<NamedView> inputs, State& state);

  /// The state for one more stream: zeros.
  State new_state() const;
  /// Zeros again, for runs that name no state.
  void reset_state();

  /// The plan for these input shapes (made if need be); symbols that no shape fixes count as 1.
  PlanReport plan_report(const std::map<std::string, Shape>& shapes = {});

  /// All that was recorded since the last call; empty without SessionOptions::profile.
  Profile take_profile();

  /// Waits for runs in progress, then frees all memory. Later calls throw Error(closed).
  void close();

 private:
  struct Impl;
  std::vector<Tensor> run_with(std::span<const NamedView> inputs, std::span<const NamedView> outputs, State::Buffers* state);
  std::vector<NamedView> default_outputs() const;

  std::shared_ptr<Impl> impl_;
};

}  // namespace jitney
