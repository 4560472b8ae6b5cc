// The weights of one model: constants of the file, tensors derived from them once, and their packed forms.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "graph/graph.h"
#include "plan/program.h"

namespace jitney {

/// Used under the model's planning lock only; what plans keep (pointers from view()) stays valid as long as the model.
class Weights : public WeightSource {
 public:
  Weights(std::shared_ptr<const MappedFile> file, const ModelGraph& graph);

  std::shared_ptr<Weight> constant(std::uint32_t index) override;
  std::shared_ptr<Weight> derived(const Node& node, const OpDef& op, std::vector<std::shared_ptr<Weight>> inputs,
                                  std::size_t output, DType dtype, const Shape& shape) override;

 private:
  std::shared_ptr<const MappedFile> file_;
  const ModelGraph& graph_;
  std::vector<std::shared_ptr<Weight>> constants_;
  /// By node, result, and the ids of its operands, which differ where they come from different branches.
  std::map<std::tuple<const Node*, std::size_t, std::vector<std::uint64_t>>, std::shared_ptr<Weight>> derived_;
};

/// Packed weights, shared by all sessions of a model.
class PackStore : public PackCache {
 public:
  Blob get(const std::string& key, std::size_t bytes, const std::function<void(void*)>& fill) override;
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Blob> blobs_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace jitney
