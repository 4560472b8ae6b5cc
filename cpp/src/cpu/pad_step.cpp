// Padding with a constant, in any storage order.
#include "cpu/pad_step.h"

#include <algorithm>
#include <array>

#include "cpu/kernels/copy/copy.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/access.h"

namespace jitney::cpu {
namespace {

class PadStep final : public Step {
 public:
  PadStep(const NodeRequest& node, const Shape& before) : node_(node) {
    const Operand &x = node.inputs[0], &y = node.outputs[0];
    const auto bytes = static_cast<std::int64_t>(size_of(x.dtype));
    Shape start(x.shape.size(), 0), size = start;  // of the inside, in the output
    for (std::size_t i = 0; i < x.shape.size(); ++i) {
      const std::int64_t first = std::max<std::int64_t>(0, -before[i]), last = std::min(x.shape[i], y.shape[i] - before[i]);
      size[i] = std::max<std::int64_t>(last - first, 0);
      start[i] = first + before[i];
      from_ += first * x.strides[i] * bytes;
      to_ += start[i] * y.strides[i] * bytes;
    }
    inside_.emplace(size, x.strides, y.strides, size_of(x.dtype));
    const bool none = inside_->elements() == 0;
    // The border in slabs: below and above the inside along each axis, within the inside along the axes before it.
    Shape slab = y.shape;
    std::int64_t base = 0;
    for (std::size_t i = 0; i < y.shape.size(); ++i) {
      const std::int64_t low = none ? y.shape[i] : start[i], high = none ? 0 : y.shape[i] - start[i] - size[i];
      slab[i] = low;
      add_border(slab, base);
      slab[i] = high;
      add_border(slab, base + (start[i] + size[i]) * y.strides[i]);
      if (none) break;
      slab[i] = size[i];
      base += start[i] * y.strides[i];
    }
    kernel = "pad_constant";
  }

  void run(const StepRun& run) const override {
    static constexpr std::byte kZero[16] = {};
    const auto* x = input_data<std::byte>(run, node_, 0);
    const auto* value = input_data<std::byte>(run, node_, 2);
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    for (const auto& [copy, offset] : borders_) {
      copy_parallel(run, copy, value != nullptr ? value : kZero, y + offset);
    }
    copy_parallel(run, *inside_, x + from_, y + to_);
  }

 private:
  void add_border(const Shape& slab, std::int64_t offset) {
    const Operand& y = node_.outputs[0];
    const kernels::StridedCopy copy(slab, Shape(slab.size(), 0), y.strides, size_of(y.dtype));
    if (copy.elements() > 0) borders_.emplace_back(copy, offset * static_cast<std::int64_t>(size_of(y.dtype)));
  }

  static void copy_parallel(const StepRun& run, const kernels::StridedCopy& copy, const std::byte* from, std::byte* to) {
    parallel_tasks(run, copy.tasks(), static_cast<double>(copy.elements()) * 0.5,
                   [&](std::size_t task, std::size_t) { copy.run(from, to, task); });
  }

  NodeRequest node_;
  std::optional<kernels::StridedCopy> inside_;
  std::vector<std::pair<kernels::StridedCopy, std::int64_t>> borders_;  // with byte offsets into the output
  std::int64_t from_ = 0, to_ = 0;
};

/// Pads before each axis; nullopt if they are not known before the run, or the mode is another.
std::optional<Shape> pads_before(const NodeRequest& node) {
  if (node.node->text("mode", "constant") != "constant") return std::nullopt;
  const std::size_t rank = node.inputs[0].shape.size();
  const auto pads = node.inputs[1].bytes();
  if (!pads) return std::nullopt;
  const std::vector<std::int64_t> amounts = read_integers(*pads);
  Shape before(rank, 0);
  if (!present(node.inputs, 3)) {
    for (std::size_t i = 0; i < rank; ++i) before[i] = amounts[i];
    return before;
  }
  const auto axes = node.inputs[3].bytes();
  if (!axes) return std::nullopt;
  std::size_t next = 0;
  for (const std::int64_t axis : read_integers(*axes)) {
    before[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = amounts[next++];
  }
  return before;
}

std::optional<NodeLayout> layout(const NodeRequest& node) {
  NodeLayout layout;
  layout.inputs.resize(node.inputs.size());
  layout.outputs.push_back(storage_order(node.inputs[0].shape, node.inputs[0].strides));
  layout.strided_output = true;
  return layout;
}

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t) {
  const auto before = pads_before(node);
  if (!before) return nullptr;
  return std::make_unique<PadStep>(node, *before);
}

constexpr std::array<FastOp, 1> kOps = {{{"pad", layout, prepare}}};

}  // namespace

std::span<const FastOp> pad_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
