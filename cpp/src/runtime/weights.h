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

/// Packed weights, shared by all sessions of a model. They lie side by side as far as the expected bytes reach, so that the
/// system can use large pages for them; what nobody packs is never touched and takes no memory.
class PackStore : public PackCache {
 public:
  /// About as many bytes as the model's weights have; to be said before the first blob.
  void expect(std::uint64_t bytes) noexcept { expected_ = bytes; }
  Blob get(const std::string& key, std::size_t bytes, const std::function<void(void*)>& fill) override;
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<void> allocate(std::size_t bytes);

  std::uint64_t expected_ = 0;
  std::mutex mutex_;
  std::unordered_map<std::string, Blob> blobs_;
  std::shared_ptr<void> room_;
  std::size_t used_ = 0;  // of room_
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace jitney
