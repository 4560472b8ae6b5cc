// File constants are checked when first read; derived ones are computed when first read, by the reference kernels.
#include "runtime/weights.h"

#include <atomic>
#include <cstring>

#include "base/aligned.h"
#include "graph/reader.h"

namespace jitney {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> counter = 0;
  return ++counter;
}

class FileWeight : public Weight {
 public:
  FileWeight(std::shared_ptr<const MappedFile> file, const Constant& constant) : file_(std::move(file)), constant_(constant) {
    id = next_id();
  }

  TensorView view() override {
    if (!checked_) verify_checksum(constant_);
    checked_ = true;
    // Views are of mutable memory by type only: no kernel writes to an operand that is not its result.
    return {const_cast<std::byte*>(constant_.data), constant_.dtype, constant_.shape, dense_strides(constant_.shape)};
  }

  void release() override { file_->release({constant_.data, static_cast<std::size_t>(constant_.bytes)}); }

 private:
  std::shared_ptr<const MappedFile> file_;
  const Constant& constant_;
  bool checked_ = false;
};

class DerivedWeight : public Weight {
 public:
  DerivedWeight(const Node& node, const OpDef& op, std::vector<std::shared_ptr<Weight>> inputs, std::size_t output, DType dtype,
                const Shape& shape)
      : node_(node), op_(op), inputs_(std::move(inputs)), output_(output), dtype_(dtype), shape_(shape) {
    id = next_id();
  }

  TensorView view() override {
    if (tensor_.dtype() == DType::undefined) compute();
    return tensor_.view();
  }

  void pin() override { pinned_ = true; }

  void release() override {
    if (!pinned_) tensor_ = Tensor();
  }

 private:
  void compute() {
    std::vector<TensorView> inputs;
    for (const auto& input : inputs_) inputs.push_back(input ? input->view() : TensorView{});
    Tensor result(dtype_, shape_);
    std::vector<TensorView> outputs(node_.outputs.size());
    outputs[output_] = result.view();
    const ComputeContext::Allocate none;
    op_.compute(ComputeContext(node_, inputs, outputs, none));
    for (const auto& input : inputs_)
      if (input) input->release();
    tensor_ = std::move(result);
  }

  const Node& node_;
  const OpDef& op_;
  std::vector<std::shared_ptr<Weight>> inputs_;
  std::size_t output_;
  DType dtype_;
  Shape shape_;
  Tensor tensor_;
  bool pinned_ = false;
};

}  // namespace

Weights::Weights(std::shared_ptr<const MappedFile> file, const ModelGraph& graph)
    : file_(std::move(file)), graph_(graph), constants_(graph.constants.size()) {}

std::shared_ptr<Weight> Weights::constant(std::uint32_t index) {
  auto& weight = constants_[index];
  if (!weight) weight = std::make_shared<FileWeight>(file_, graph_.constants[index]);
  return weight;
}

std::shared_ptr<Weight> Weights::derived(const Node& node, const OpDef& op, std::vector<std::shared_ptr<Weight>> inputs,
                                         std::size_t output, DType dtype, const Shape& shape) {
  std::vector<std::uint64_t> operands;
  for (const auto& input : inputs) operands.push_back(input ? input->id : 0);
  auto& weight = derived_[{&node, output, std::move(operands)}];
  if (!weight) weight = std::make_shared<DerivedWeight>(node, op, std::move(inputs), output, dtype, shape);
  return weight;
}

std::shared_ptr<void> PackStore::allocate(std::size_t bytes) {
  const std::size_t padded = align_up(bytes);
  if (!room_ && expected_ >= kLargePage) room_.reset(allocate_aligned(static_cast<std::size_t>(expected_)), free_aligned);
  if (!room_ || padded > expected_ - used_) return {allocate_aligned(bytes), free_aligned};
  std::byte* const start = static_cast<std::byte*>(room_.get()) + used_;
  used_ += padded;
  return {room_, start};
}

PackCache::Blob PackStore::get(const std::string& key, std::size_t bytes, const std::function<void(void*)>& fill) {
  const std::lock_guard lock(mutex_);
  Blob& blob = blobs_[key];
  if (!blob) {
    try {
      const std::shared_ptr<void> made = allocate(bytes);
      std::memset(made.get(), 0, bytes);
      fill(made.get());
      blob = made;
    } catch (...) {
      blobs_.erase(key);
      throw;
    }
    bytes_ += bytes;
  }
  return blob;
}

}  // namespace jitney
