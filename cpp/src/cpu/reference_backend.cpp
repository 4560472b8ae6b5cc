// Wraps OpDef::compute as steps.
#include "cpu/reference_backend.h"

#include <new>

namespace jitney {
namespace {

class ReferenceStep final : public Step {
 public:
  explicit ReferenceStep(const NodeRequest& node) : node_(*node.node), compute_(node.op->compute) {
    add(node.inputs);
    input_count_ = node.inputs.size();
    add(node.outputs);
    workspace = views_.size() * sizeof(TensorView);
    kernel = "reference_" + node_.op;
  }

  void run(const StepRun& run) const override {
    // The views live in the workspace so that a run allocates nothing.
    auto* views = static_cast<TensorView*>(run.workspace);
    for (std::size_t i = 0; i < views_.size(); ++i) {
      new (views + i) TensorView(views_[i]);
      const bool is_input = i < input_count_;
      void* address = is_input ? run.inputs[i] : run.outputs[i - input_count_];
      if (address != nullptr) {
        views[i].data = address;
      } else if (!is_input) {
        views[i].dtype = DType::undefined;
      }
    }
    const ComputeContext::Allocate allocate = [](std::size_t, DType, const Shape&) -> TensorView {
      throw Error(ErrorCode::internal, "a step cannot allocate an output whose size is known only after computing");
    };
    std::span<TensorView> outputs(views + input_count_, views_.size() - input_count_);
    compute_(ComputeContext(node_, {views, input_count_}, outputs, allocate));
  }

  std::string why() const override {
    std::string text = "plain kernel, as no fast one takes";
    for (std::size_t i = 0; i < input_count_; ++i) {
      if (views_[i].dtype == DType::undefined) continue;
      text += (i == 0 ? " " : ", ") + std::string(to_string(views_[i].dtype)) + " " + to_string(views_[i].shape);
    }
    return text;
  }

 private:
  void add(const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      void* data = nullptr;
      if (const auto known = operand.bytes()) data = known->data;
      weights_.push_back(operand.weight);
      known_.push_back(operand.known);
      views_.push_back({data, operand.dtype, operand.shape, operand.strides});
    }
  }

  Node node_;
  void (*compute_)(const ComputeContext&);
  std::vector<TensorView> views_;
  std::vector<std::shared_ptr<Weight>> weights_;
  std::vector<std::shared_ptr<const Tensor>> known_;
  std::size_t input_count_ = 0;
};

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::size_t claim(Group nodes) const override { return !nodes.empty() && nodes.front().op->compute != nullptr ? 1 : 0; }
  NodeLayout layout(Group group) const override { return reference_layout(group.front()); }
  std::unique_ptr<Step> prepare(Group group, PackCache&, std::size_t) const override { return reference_step(group.front()); }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

NodeLayout reference_layout(const NodeRequest& node) {
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  for (const Operand& output : node.outputs) {
    layout.outputs.push_back(row_major_order(output.shape.size()));
  }
  return layout;
}

std::unique_ptr<Step> reference_step(const NodeRequest& node) { return std::make_unique<ReferenceStep>(node); }

}  // namespace jitney
