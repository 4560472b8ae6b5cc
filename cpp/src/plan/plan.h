// A plan: prepared steps and where each of their operands lies. Immutable and address-free, so that any number of runs share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/backend.h"
#include "plan/cost.h"
#include "plan/program.h"

namespace jitney {

/// What a buffer is at run time.
enum class Home : std::uint8_t {
  arena,     // bytes of the execution context's arena
  input,     // the caller's input of that index
  output,    // the caller's output of that index
  weight,    // Plan::weights of that index
  known,     // Plan::known of that index
  external,  // Plan::externals of that index: computed before the cut that this plan continues from
};

struct Buffer {
  Home home = Home::arena;
  std::uint32_t index = 0;  // meaning depends on home
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in the arena
  // Arena buffers live from step `first` to step `last`, both included.
  std::size_t first = 0;
  std::size_t last = 0;
};

/// A part of a buffer.
struct Place {
  std::int32_t buffer = -1;  // -1: the operand was left out
  std::int64_t offset = 0;   // bytes
};

struct PlannedStep {
  std::unique_ptr<Step> step;
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  Place workspace;
  std::string node;  // the author's name for the node
  std::string op;
  std::string_view backend;
  std::vector<Shape> output_shapes;
  StepCost cost;
};

/// A value of the program together with its place, for what is read after the steps have run.
struct PlacedValue {
  FlatId id = -1;
  Place place;
  TensorView view;  // dtype, shape and strides; no data
};

struct Plan {
  Program program;
  std::vector<Buffer> buffers;
  std::vector<PlannedStep> steps;
  std::vector<std::shared_ptr<Weight>> weights;
  std::vector<const void*> weight_data;  // by weight; null if every step that takes it has packed it
  std::vector<std::shared_ptr<const Tensor>> known;
  std::vector<FlatId> externals;
  std::vector<TensorView> outputs;  // dtype and shape of the model's outputs; empty if there is a cut

  // If program.cut: what is read at the cut, and what the continuation may read.
  std::vector<PlacedValue> observed;
  std::vector<PlacedValue> dynamic_inputs;  // place.buffer is -1 where left out
  std::vector<PlacedValue> live;

  std::uint64_t arena_bytes = 0;
  std::uint64_t lower_bound_bytes = 0;
  std::string_view strategy;
  std::uint64_t footprint_bytes = 0;  // an estimate of what the plan itself occupies
};

struct PlanOptions {
  const Backend& backend;
  PackCache& cache;
  std::size_t threads = 1;
  /// Where each external value lies relative to its own buffer; strides are those of the plan before the cut.
  const std::vector<PlacedValue>* live_before = nullptr;
  const MeasuredWays* measured = nullptr;
  bool prefer_speed = false;
};

/// Stages 2 to 5: storage orders, views and in-place, prepared steps, memory.
std::unique_ptr<Plan> make_plan(Program program, const PlanOptions& options);

}  // namespace jitney
