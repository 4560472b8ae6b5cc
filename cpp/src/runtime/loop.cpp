// Iterates: carried values alternate between two buffers each, gathered ones are written where they stay.
#include "runtime/loop.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "ops/access.h"
#include "ops/infer.h"
#include "ops/region_copy.h"
#include "plan/key_inputs.h"
#include "runtime/dense.h"

namespace jitney {

namespace {

/// Memory that grows and is kept.
struct Store {
  AlignedBuffer memory;
  std::size_t capacity = 0;

  /// At least `wanted` bytes, of which the first `kept` stay as they are.
  std::byte* reserve(std::size_t wanted, std::size_t kept = 0) {
    if (memory && wanted <= capacity) return memory.get();
    const std::size_t size = std::max(wanted, capacity + capacity / 2);
    if (kept == 0) memory.reset();
    AlignedBuffer larger = make_aligned(size);
    if (kept != 0) std::memcpy(larger.get(), memory.get(), kept);
    memory = std::move(larger);
    capacity = size;
    return memory.get();
  }
};

struct Carried {
  Store stores[2];
  TensorView view;  // dense; the initial value may lie outside the stores
};

/// Results of the iterations one after another: stacked along a new first axis, or joined along their own.
struct Gathered {
  Store store;
  bool joined = false;
  DType dtype = DType::undefined;
  Shape shape;              // of an element; its first axis does not count if they are joined
  std::int64_t length = 0;  // iterations, or the sum of their first axes
  std::size_t bytes = 0;    // in use
};

std::size_t bytes_of(const TensorView& view) {
  const auto bytes = checked_mul(view.shape.elements(), static_cast<std::int64_t>(size_of(view.dtype)));
  if (!bytes) throw Error(ErrorCode::out_of_memory, "a tensor of shape " + to_string(view.shape) + " is too large");
  return static_cast<std::size_t>(*bytes);
}

/// For loops of unknown length, and those whose length is no promise: reserved at first for what is gathered.
constexpr std::size_t kFirstBytes = std::size_t{1} << 20;

}  // namespace

struct LoopState {
  ExecutionContext context;
  std::vector<Carried> carried;
  std::vector<Gathered> gathered;
  std::vector<Tensor> copies;  // of operands that are not dense
  std::vector<ProgramInput> inputs;
  PlanKey key;
  std::int64_t iteration = 0;
  std::uint8_t condition = 1;
  std::uint8_t next_condition = 1;
};

namespace {

using Clock = std::chrono::steady_clock;
/// So often is SessionOptions::while_looping called.
constexpr Clock::duration kTellingInterval = std::chrono::milliseconds(50);

class Loop {
 public:
  Loop(const Engine& engine, const Plan& plan, ExecutionContext::Level& level, LoopState& state)
      : engine_(engine),
        plan_(plan),
        level_(level),
        state_(state),
        flat_(*plan.program.cut->dynamic),
        node_(*flat_.node),
        graph_(node_.graph("body")),
        body_(engine.model.graph.graphs[graph_]),
        count_(static_cast<std::size_t>(node_.integer("carried"))) {}

  void run() {
    start();
    const std::int64_t trips = given(0) ? read_integers(level_.dynamic[0]).front() : std::numeric_limits<std::int64_t>::max();
    std::uint8_t go = given(1) ? static_cast<std::uint8_t>(read_integers(level_.dynamic[1]).front() != 0) : std::uint8_t{1};
    std::int64_t& i = state_.iteration;
    for (i = 0; i < trips && go != 0; ++i) {
      trips_left_ = trips - i;
      step();
      go = state_.next_condition;
      tell_of_time();
    }
    finish();
  }

 private:
  static constexpr std::size_t kCarried = 2;  // the first carried operand, and the body's first carried input

  void tell_of_time() {
    if (!engine_.while_looping) return;
    const auto now = Clock::now();
    if (now < next_telling_) return;
    engine_.while_looping();
    next_telling_ = now + kTellingInterval;
  }

  bool given(std::size_t operand) const {
    return operand < level_.dynamic.size() && level_.dynamic[operand].dtype != DType::undefined;
  }

  [[noreturn]] static void fail(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

  TensorView dense(const TensorView& view) {
    if (is_dense(view)) return view;
    Tensor& copy = state_.copies.emplace_back(view.dtype, view.shape);
    copy_tensor(view, copy.view());
    return copy.view();
  }

  bool decides(std::size_t input) const {
    const std::vector<std::size_t>& keys = engine_.model.key_inputs[graph_];
    return std::ranges::binary_search(keys, input);
  }

  /// Takes the operands over.
  void start() {
    const std::size_t operands = std::max(level_.dynamic.size(), kCarried);
    if (body_.inputs.size() != operands || body_.outputs.size() != 1 + node_.outputs.size() || count_ > operands - kCarried ||
        count_ > node_.outputs.size())
      throw Error(ErrorCode::internal, "a loop and its body do not fit together");
    for (std::size_t operand = 0; operand < kCarried; ++operand)
      if (given(operand) && level_.dynamic[operand].shape.elements() != 1)
        fail("operand " + std::to_string(operand) + " has shape " + to_string(level_.dynamic[operand].shape) +
             ", but must have one element");

    state_.copies.clear();
    state_.carried.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) state_.carried[i].view = dense(level_.dynamic[kCarried + i]);
    const std::vector<std::int64_t>& joined = node_.integers("joined");
    state_.gathered.resize(node_.outputs.size() - count_);
    for (std::size_t i = 0; i < state_.gathered.size(); ++i) {
      Gathered& gathered = state_.gathered[i];
      gathered.joined = i < joined.size() && joined[i] != 0;
      gathered.length = 0;
      gathered.bytes = 0;
      gathered.dtype = DType::undefined;
    }

    state_.inputs.assign(body_.inputs.size(), {});
    ExecutionContext& context = state_.context;
    context.inputs.assign(body_.inputs.size(), nullptr);
    context.inputs[0] = &state_.iteration;
    context.inputs[1] = &state_.condition;
    state_.inputs[0].dtype = DType::int64;
    state_.inputs[1].dtype = DType::boolean;
    // The body runs only where the condition holds.
    Tensor holds(DType::boolean, {});
    holds.span<std::uint8_t>()[0] = 1;
    state_.inputs[1].known = std::make_shared<const Tensor>(std::move(holds));

    state_.key.assign({-static_cast<std::int64_t>(graph_)});
    for (std::size_t input = kCarried + count_; input < body_.inputs.size(); ++input) capture(input);
    captured_key_ = state_.key.size();
  }

  /// Fixes what the body knows of a captured value: a weight stays one, a value that decides shapes is part of the key.
  void capture(std::size_t input) {
    const FlatValue& value = plan_.program.values[static_cast<std::size_t>(flat_.inputs[input])];
    ProgramInput& captured = state_.inputs[input];
    captured.dtype = value.dtype;
    captured.shape = value.shape;
    if (value.weight) {
      captured.weight = value.weight;
      state_.key.push_back(-1);
      state_.key.push_back(static_cast<std::int64_t>(value.weight->id));
      return;
    }
    const TensorView view = dense(level_.dynamic[input]);
    state_.context.inputs[input] = view.data;
    append_input(input, view);
  }

  /// Adds an input to the key, with its value if that decides something.
  void append_input(std::size_t input, const TensorView& view) {
    append_shape(state_.key, view.shape);
    if (!decides(input) || !may_decide(view.dtype) || view.shape.elements() > kMostKeyElements) return;
    append_values(state_.key, view);
    in_key_.push_back({input, view});
  }

  void step() {
    state_.key.resize(captured_key_);
    const std::size_t captured = in_key_.size();
    append_input(0, {&state_.iteration, DType::int64, {}, {}});
    for (std::size_t i = 0; i < count_; ++i) {
      const TensorView& view = state_.carried[i].view;
      append_input(kCarried + i, view);
      state_.context.inputs[kCarried + i] = view.data;
    }
    std::shared_ptr<CachedPlan> plan = engine_.plans.find(state_.key);
    if (!plan) plan = make_plan();
    in_key_.resize(captured);
    const BindOutputs bind = [this](std::span<const TensorView> outputs) { bind_outputs(outputs); };
    execute(engine_, std::move(plan), state_.context, bind);
    for (std::size_t i = 0; i < count_; ++i) {
      TensorView& view = state_.carried[i].view;
      view.data = state_.context.outputs[1 + i];
      view.shape = shapes_[i];
      view.strides = dense_strides(view.shape);
    }
  }

  std::shared_ptr<CachedPlan> make_plan() {
    for (std::size_t i = 0; i < count_; ++i) {
      const TensorView& view = state_.carried[i].view;
      state_.inputs[kCarried + i] = {view.dtype, view.shape, nullptr, nullptr};
    }
    state_.inputs[0].known.reset();
    for (const auto& [input, view] : in_key_) {
      auto tensor = std::make_shared<Tensor>(view.dtype, view.shape);
      std::memcpy(tensor->data(), view.data, tensor->bytes());
      state_.inputs[input].known = std::move(tensor);
    }
    return make_graph_plan(engine_, state_.key, graph_, state_.inputs);
  }

  void bind_outputs(std::span<const TensorView> outputs) {
    if (outputs[0].dtype != DType::boolean || outputs[0].shape.elements() != 1)
      fail("its body's condition is " + std::string(to_string(outputs[0].dtype)) + " " + to_string(outputs[0].shape) +
           ", but must be one bool");
    state_.context.outputs.assign(outputs.size(), nullptr);
    state_.context.outputs[0] = &state_.next_condition;
    shapes_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      Carried& carried = state_.carried[i];
      const TensorView& output = outputs[1 + i];
      if (output.dtype != carried.view.dtype)
        fail("carried value " + std::to_string(i) + " turns from " + std::string(to_string(carried.view.dtype)) + " into " +
             std::string(to_string(output.dtype)));
      // The present value lies in the other store, or outside.
      state_.context.outputs[1 + i] = carried.stores[state_.iteration & 1].reserve(bytes_of(output));
      shapes_[i] = output.shape;
    }
    for (std::size_t i = 0; i < state_.gathered.size(); ++i)
      state_.context.outputs[1 + count_ + i] = append(i, outputs[1 + count_ + i]);
  }

  /// Room for one more element.
  std::byte* append(std::size_t index, const TensorView& element) {
    Gathered& gathered = state_.gathered[index];
    if (gathered.joined && element.shape.empty()) fail("result " + std::to_string(count_ + index) + " joins scalars");
    Shape shape = element.shape;
    if (gathered.joined) shape[0] = 0;
    const bool first = gathered.dtype == DType::undefined;
    // What adds no rows need not suit the others.
    const bool open = gathered.joined && (gathered.length == 0 || element.shape[0] == 0);
    if (first || (open && gathered.length == 0 && gathered.dtype == element.dtype)) {
      gathered.dtype = element.dtype;
      gathered.shape = shape;
    } else if (gathered.dtype != element.dtype || (!open && !(gathered.shape == shape))) {
      fail("result " + std::to_string(count_ + index) + " gathers tensors of one shape, but iteration " +
           std::to_string(state_.iteration) + " returns " + to_string(element.shape) + ", not " + to_string(gathered.shape));
    }
    const std::size_t bytes = bytes_of(element);
    const auto wanted = checked_add(gathered.bytes, bytes);
    if (!wanted) throw Error(ErrorCode::out_of_memory, "what the loop gathers is too large");
    std::size_t room = *wanted;
    if (first) {
      const auto all = checked_mul(bytes, static_cast<std::size_t>(trips_left_));
      room = std::max(room, std::min(all.value_or(kFirstBytes), kFirstBytes));
    }
    std::byte* place = gathered.store.reserve(room, gathered.bytes) + gathered.bytes;
    gathered.bytes = *wanted;
    gathered.length += gathered.joined ? element.shape[0] : 1;
    return place;
  }

  void finish() {
    for (std::size_t i = 0; i < count_; ++i) level_.results[i] = state_.carried[i].view;
    if (state_.iteration == 0 && !state_.gathered.empty()) describe_elements();
    for (std::size_t i = 0; i < state_.gathered.size(); ++i) {
      Gathered& gathered = state_.gathered[i];
      TensorView& result = level_.results[count_ + i];
      result.dtype = gathered.dtype;
      result.shape.push_back(gathered.length);
      for (std::size_t axis = gathered.joined ? 1 : 0; axis < gathered.shape.size(); ++axis)
        result.shape.push_back(gathered.shape[axis]);
      result.strides = dense_strides(result.shape);
      result.data = gathered.store.reserve(gathered.bytes, gathered.bytes);
    }
  }

  /// What would have been gathered by a loop that was never entered. Sizes that nobody can know count as 0.
  void describe_elements() {
    std::vector<Facts> operands(std::max(level_.dynamic.size(), kCarried));
    std::vector<const Facts*> pointers(operands.size(), nullptr);
    for (std::size_t i = 0; i < level_.dynamic.size(); ++i) {
      const TensorView& view = level_.dynamic[i];
      if (view.dtype == DType::undefined) continue;
      operands[i].dtype = view.dtype;
      operands[i].shape = SymShape::of(std::vector<Dim>(view.shape.begin(), view.shape.end()));
      if (may_decide(view.dtype) && view.shape.elements() <= kMostElements) operands[i].data = view;
      pointers[i] = &operands[i];
    }
    std::vector<Facts> results(node_.outputs.size());
    const InferContext::SubgraphInference subgraphs = [&](std::uint32_t index, std::span<const Facts> inputs) {
      const std::vector<Facts> facts = infer_graph(engine_.model.graph, index, inputs);
      std::vector<Facts> outputs;
      for (const ValueId id : engine_.model.graph.graphs[index].outputs) outputs.push_back(facts[static_cast<std::size_t>(id)]);
      return outputs;
    };
    InferContext context(node_, pointers, results, ErrorCode::invalid_input, subgraphs);
    flat_.op->infer(context);
    for (std::size_t i = 0; i < state_.gathered.size(); ++i) {
      Gathered& gathered = state_.gathered[i];
      const Facts& facts = results[count_ + i];
      gathered.dtype = facts.dtype;
      gathered.shape = {};
      for (std::size_t axis = gathered.joined ? 0 : 1; axis < facts.shape.rank(); ++axis)
        gathered.shape.push_back(facts.shape.dims[axis].is_constant() ? facts.shape.dims[axis].value() : 0);
    }
  }

  struct KeyValue {
    std::size_t input;
    TensorView view;
  };

  const Engine& engine_;
  const Plan& plan_;
  ExecutionContext::Level& level_;
  LoopState& state_;
  const FlatNode& flat_;
  const Node& node_;
  const std::uint32_t graph_;
  const Graph& body_;
  const std::size_t count_;
  std::int64_t trips_left_ = 0;
  Clock::time_point next_telling_ = Clock::now() + kTellingInterval;
  std::size_t captured_key_ = 0;  // length of the part of the key that stays
  std::vector<KeyValue> in_key_;  // captured ones first
  std::vector<Shape> shapes_;     // of the carried values after this iteration
};

}  // namespace

void run_loop(const Engine& engine, const Plan& plan, ExecutionContext::Level& level) {
  if (!level.loop) level.loop = std::make_shared<LoopState>();
  const Node& node = *plan.program.cut->dynamic->node;
  try {
    Loop(engine, plan, level, *level.loop).run();
  } catch (const Error& error) {
    throw error.at(node.name, node.op);
  }
}

}  // namespace jitney
