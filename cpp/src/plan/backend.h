// The face that a backend shows the planner: storage orders, claims, and prepared steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "base/worker_watch.h"
#include "jitney/tensor.h"
#include "jitney/tuning.h"
#include "ops/op.h"

namespace jitney {

/// Axes from outermost to innermost in memory; {0,1,2,3} is row-major, {0,2,3,1} channels-last.
using Order = Shape;

Order row_major_order(std::size_t rank);
/// {0, 2, …, rank-1, 1}; row-major below rank 3.
Order channels_last_order(std::size_t rank);
/// Strides of a dense tensor of that logical shape stored in that order.
Shape strides_for(const Shape& shape, const Order& order);

/// Bytes known at plan time: a constant of the file, or something computed from constants once per model.
class Weight {
 public:
  virtual ~Weight() = default;
  /// Dense row-major; computed or checksum-verified on first use. Called under the model's planning lock only.
  virtual TensorView view() = 0;
  /// The bytes at view() will not be read again soon (they were packed): mapped pages may be dropped.
  virtual void release() {}
  /// The bytes at view() are read by running plans from now on: release() must leave them.
  virtual void pin() {}
  /// Unique within the process for as long as the model lives.
  std::uint64_t id = 0;
};

/// Memory shared by all sessions of a model: packed weights, keyed by weight, layout and ISA.
class PackCache {
 public:
  using Blob = std::shared_ptr<const void>;
  virtual ~PackCache() = default;
  /// The blob for `key`, made by `fill` (given 64-byte aligned, zeroed memory of `bytes` bytes) if it is not there yet.
  virtual Blob get(const std::string& key, std::size_t bytes, const std::function<void(void*)>& fill) = 0;
};

/// One operand of a node with all fixed at plan time but the address. dtype `undefined`: left out.
struct Operand {
  DType dtype = DType::undefined;
  Shape shape;
  Shape strides;
  std::shared_ptr<Weight> weight;       // null unless it is a constant of the model
  std::shared_ptr<const Tensor> known;  // bytes known for this plan only (a shape, a bound): read them, but pack nothing by them
  std::int32_t producer = -1;           // of an input: the node of the same group that computes it; -1: it comes from outside
  bool inner = false;                   // of an output: read within the group only, so that it needs no place
  std::size_t reads = 0;                // of an output, when claimed: how often nodes, or the model's caller, will read it

  /// The bytes, dense row-major, if they are known in either way.
  std::optional<TensorView> bytes() const {
    if (weight) return weight->view();
    if (known) return known->view();
    return std::nullopt;
  }
};

struct NodeRequest {
  const Node* node = nullptr;
  const OpDef* op = nullptr;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  const MeasuredWays* measured = nullptr;  // null: nothing was measured
  bool prefer_speed = false;               // weights may be kept in forms of several times their bytes
};

/// Work for which a backend has several ways, and the one that it took.
struct Choice {
  std::string work;  // with its shape per item; the key of MeasuredWays
  std::string way;
  std::vector<std::string> ways;  // all that fit
};

/// Nodes that follow one another and run as one step. Its *outer* inputs are the operands with producer < 0, its outer outputs
/// the results that are not inner, each node by node; a group of one node has all its operands outer, those left out included.
using Group = std::span<const NodeRequest>;

/// How a backend wants a group's outer operands stored.
struct NodeLayout {
  /// Per input: the order in which it must be dense, or nullopt if its present strides will do.
  std::vector<std::optional<Order>> inputs;
  /// Per output: the order in which it is written (dense, unless strided_output and the planner chooses otherwise).
  std::vector<Order> outputs;
  /// Bit i: output 0 may be written over input i, provided that both have the same dtype and strides.
  std::uint32_t in_place = 0;
  /// Output 0 may be written with gaps: the innermost axis stays dense, outer strides may exceed dense ones.
  bool strided_output = false;
};

/// Addresses and resources of one execution of a step: the group's outer operands.
struct StepRun {
  std::span<void* const> inputs;   // null where left out
  std::span<void* const> outputs;  // null where nobody reads
  void* workspace = nullptr;       // 64-byte aligned, Step::workspace bytes, contents undefined
  ThreadPool* pool = nullptr;
  std::size_t threads = 1;
  WorkerWatch* watch = nullptr;  // notes who works when, if the session profiles
};

/// A node (or several) made ready to run: kernel chosen, weights packed, all sizes fixed. Immutable; runs on many threads at
/// once.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const StepRun& run) const = 0;
  /// Why this kernel, with the figures that decided, in words for `info --plan`: "Winograd: 31 M multiply-adds, direct 55 M".
  /// Empty if there was no choice. Called for reports only, so that planning need not pay for it.
  virtual std::string why() const { return {}; }
  /// What there was to choose from; for reports and `jitney tune`.
  virtual std::optional<Choice> choice() const { return std::nullopt; }
  std::size_t workspace = 0;
  /// Bit i: run() does not read input i, which was packed (or is known) when the step was prepared; its address may then be null.
  std::uint32_t packed = 0;
  std::string kernel;  // e.g. "f32_gemm_6x16_avx2"; for `info --plan`, the profiler and the tests
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// The most nodes that claim() can take at a time if this one, whose operands are all known, is the first; it is shown no more.
  virtual std::size_t widest_group(const NodeRequest& first) const {
    (void)first;
    return 1;
  }
  /// How many of these consecutive nodes, from the first, this backend runs as one step; 0: it cannot run the first at all.
  /// Shapes are final; what the nodes themselves compute has no strides yet.
  virtual std::size_t claim(Group nodes) const = 0;
  /// Outer inputs have their present strides; outputs have shapes but no strides yet.
  virtual NodeLayout layout(Group group) const = 0;
  /// All outer strides are final. `threads` is the most that run() will be given.
  virtual std::unique_ptr<Step> prepare(Group group, PackCache& cache, std::size_t threads) const = 0;
};

}  // namespace jitney
