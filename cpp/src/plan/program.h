// Stage 1 of planning: the graph unrolled for concrete inputs. Shapes are numbers, small integer values are known, decided
// branches are spliced in, dead nodes are gone. Ends early, in a cut, where a size is known only once something has run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/op.h"
#include "plan/backend.h"

namespace jitney {

/// Where the program's values come from; owned by the model.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// The file's constant of that index.
  virtual std::shared_ptr<Weight> constant(std::uint32_t index) = 0;
  /// Result `output` of a node whose operands are all weights: computed by the reference kernel on first use, then kept.
  virtual std::shared_ptr<Weight> derived(const Node& node, const OpDef& op, std::vector<std::shared_ptr<Weight>> inputs,
                                          std::size_t output, DType dtype, const Shape& shape) = 0;
};

/// Index into Program::values.
using FlatId = std::int32_t;

struct FlatValue {
  std::string_view name;  // lies in the model's graph
  DType dtype = DType::undefined;
  Shape shape;
  std::shared_ptr<const Tensor> known;  // bytes known at plan time
  std::shared_ptr<Weight> weight;       // a constant of the model, in the file or derived
  std::int32_t input = -1;              // the model's input of that index
  bool external = false;                // computed before the cut that this program continues from
};

struct FlatNode {
  const Node* node = nullptr;
  const OpDef* op = nullptr;
  std::vector<FlatId> inputs;   // -1: left out
  std::vector<FlatId> outputs;  // -1: nobody reads it
};

struct Program;
/// The node's operands in words, for messages.
std::vector<std::string> given(const Program& program, const FlatNode& node);

/// How far the walk through nested graphs has come: innermost graph last.
struct Frame {
  std::uint32_t graph = 0;
  std::size_t next = 0;         // node to visit
  std::vector<FlatId> map;      // by ValueId; -2: not defined yet
  const Node* owner = nullptr;  // the node of the enclosing frame whose branch this is
};
using Cursor = std::vector<Frame>;

/// The point beyond which planning must wait.
struct Cut {
  Cursor cursor;
  std::vector<FlatId> observed;     // their values decide how to go on
  std::optional<FlatNode> dynamic;  // or: this node's outputs have sizes known only after computing
  std::vector<FlatId> live;         // computed values that are read after the cut
};

struct Program {
  std::vector<FlatValue> values;
  std::vector<FlatNode> nodes;
  std::vector<FlatId> outputs;  // of the model, in order; empty if there is a cut
  std::optional<Cut> cut;
};

/// What planning needs to know of a loaded model.
struct ModelView {
  const ModelGraph& graph;
  const std::vector<std::vector<const OpDef*>>& ops;  // by graph and node
  WeightSource& weights;
};

/// An input of a graph as far as it is known before the graph runs.
struct ProgramInput {
  DType dtype = DType::undefined;
  Shape shape;
  std::shared_ptr<const Tensor> known;  // its value, where that is part of the plan key
  std::shared_ptr<Weight> weight;       // captured by a loop's body: a constant of the model
};

/// What running a program up to its cut has taught of a value. `known` is null for the results of a dynamic node.
struct Learned {
  FlatId id = -1;
  DType dtype = DType::undefined;
  Shape shape;
  std::shared_ptr<const Tensor> known;
};

/// The start of a graph: the model (graph 0), or the body of a loop.
Program begin_program(const ModelView& model, std::uint32_t graph, std::span<const ProgramInput> inputs);

/// Goes on after a cut of `before` with what is learned of its observed values, or of the results of its dynamic node.
Program continue_program(const ModelView& model, const Program& before, std::span<const Learned> learned);

}  // namespace jitney
