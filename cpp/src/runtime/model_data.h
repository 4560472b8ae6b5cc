// All that the sessions of one model share.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/fork_guard.h"
#include "base/mapped_file.h"
#include "graph/graph.h"
#include "jitney/model.h"
#include "plan/program.h"
#include "runtime/weights.h"

namespace jitney::detail {

/// Positions among the model's inputs and outputs.
struct StateIndex {
  std::size_t input;
  std::size_t output;
};

class ModelData {
 public:
  explicit ModelData(std::shared_ptr<const MappedFile> mapped);
  ModelData(const ModelData&) = delete;
  ModelData& operator=(const ModelData&) = delete;

  ModelView view() { return {graph, ops, weights}; }
  const Value& input(std::size_t index) const;
  const Value& output(std::size_t index) const;

  const std::shared_ptr<const MappedFile> file;
  const ModelGraph graph;
  const std::vector<std::vector<const OpDef*>> ops;        // by graph and node; every node has passed its schema
  const std::vector<std::vector<std::size_t>> key_inputs;  // by graph; only the model and bodies of loops have any
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<StateIndex> states;
  std::vector<StateInfo> state_infos;
  std::uint64_t weight_bytes = 0;

  std::mutex planning;  // held while a plan is made; weights may be used under it only
  Weights weights;
  PackStore packs;
  ForkGuard fork_guard{ForkGuard::Order::outer, planning};
};

}  // namespace jitney::detail
