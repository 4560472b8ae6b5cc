// Padding, in any storage order: with a constant, or with what the input has at its edges.
#include "cpu/pad_step.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cpu/kernels/copy/copy.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"
#include "ops/access.h"

namespace jitney::cpu {
namespace {

/// Padding on many axes at once is left to the reference.
constexpr std::size_t kMostParts = 81;

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

/// A stretch of the output along one axis, and the inputs that it repeats: forwards, backwards, or one of them (step 0).
struct Stretch {
  std::int64_t start = 0, size = 0, source = 0, step = 1;
};

/// The stretches of one axis; nullopt where pads are longer than one repetition.
std::optional<std::vector<Stretch>> stretches(std::string_view mode, std::int64_t input, std::int64_t output,
                                              std::int64_t before) {
  const std::int64_t first = std::max<std::int64_t>(0, before), last = std::min(output, before + input), after = output - last;
  if (first >= last || (before < 0 && last <= 0)) return std::nullopt;
  if (mode == "wrap" && (before < 0 || last < before + input)) return std::nullopt;  // what is cut off is not repeated
  std::vector<Stretch> all;
  if (before > 0) {
    if (mode == "edge") {
      all.push_back({0, first, 0, 0});
    } else if (mode == "reflect" && first < input) {
      all.push_back({0, first, first, -1});
    } else if (mode == "wrap" && first <= input) {
      all.push_back({0, first, input - first, 1});
    } else {
      return std::nullopt;
    }
  }
  all.push_back({first, last - first, first - before, 1});
  if (after > 0) {
    if (mode == "edge") {
      all.push_back({last, after, input - 1, 0});
    } else if (mode == "reflect" && after < input) {
      all.push_back({last, after, input - 2, -1});
    } else if (mode == "wrap" && after <= input) {
      all.push_back({last, after, 0, 1});
    } else {
      return std::nullopt;
    }
  }
  return all;
}

/// Padding with what the input itself has: one copy per combination of the axes' stretches.
class RepeatingPadStep final : public Step {
 public:
  RepeatingPadStep(const NodeRequest& node, const std::vector<std::vector<Stretch>>& axes) : node_(node) {
    add(axes, 0, {0, 0, node.outputs[0].shape, node.inputs[0].strides});
    kernel = "pad_" + node.node->text("mode");
  }

  void run(const StepRun& run) const override {
    const auto* x = input_data<std::byte>(run, node_, 0);
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    for (const Part& part : parts_) {
      parallel_tasks(run, part.copy.tasks(), static_cast<double>(part.copy.elements()) * 0.5,
                     [&](std::size_t task, std::size_t) { part.copy.run(x + part.from, y + part.to, task); });
    }
  }

 private:
  struct Part {
    kernels::StridedCopy copy;
    std::int64_t from, to;  // bytes
  };
  struct Box {
    std::int64_t from, to;  // elements
    Shape size, stride;
  };

  void add(const std::vector<std::vector<Stretch>>& axes, std::size_t axis, const Box& box) {
    const Operand &x = node_.inputs[0], &y = node_.outputs[0];
    if (axis == axes.size()) {
      const auto bytes = static_cast<std::int64_t>(size_of(y.dtype));
      parts_.push_back(
          {kernels::StridedCopy(box.size, box.stride, y.strides, size_of(y.dtype)), box.from * bytes, box.to * bytes});
      return;
    }
    for (const Stretch& stretch : axes[axis]) {
      Box part = box;
      part.from += stretch.source * x.strides[axis];
      part.to += stretch.start * y.strides[axis];
      part.size[axis] = stretch.size;
      part.stride[axis] = stretch.step * x.strides[axis];
      add(axes, axis + 1, part);
    }
  }

  NodeRequest node_;
  std::vector<Part> parts_;
};

/// Pads before each axis; nullopt if they are not known before the run.
std::optional<Shape> pads_before(const NodeRequest& node) {
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
  const std::string mode(node.node->text("mode", "constant"));
  if (mode == "constant") return std::make_unique<PadStep>(node, *before);
  std::vector<std::vector<Stretch>> axes;
  std::size_t parts = 1;
  for (std::size_t i = 0; i < before->size(); ++i) {
    auto found = stretches(mode, node.inputs[0].shape[i], node.outputs[0].shape[i], (*before)[i]);
    if (!found) return nullptr;
    parts *= found->size();
    axes.push_back(*std::move(found));
  }
  if (parts > kMostParts) return nullptr;
  return std::make_unique<RepeatingPadStep>(node, axes);
}

constexpr std::array<FastOp, 1> kOps = {{{"pad", layout, prepare}}};

}  // namespace

std::span<const FastOp> pad_steps() noexcept { return kOps; }

}  // namespace jitney::cpu
