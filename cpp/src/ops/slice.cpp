// Parts of tensors as views: slice and split.
#include <algorithm>
#include <limits>

#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

using Regions = std::optional<std::vector<Region>>;

/// Bounds from here on mean "to the end" in exporters' files, whatever the size.
constexpr std::int64_t kEndless = std::numeric_limits<std::int32_t>::max();

/// The part of one axis that a slice takes.
struct Range {
  Dim start;
  Dim count;
};

Dim smaller(const Dim& a, const Dim& b) {
  if (lower_bound(b - a).value_or(-1) >= 0) return a;
  return lower_bound(a - b).value_or(-1) >= 0 ? b : Dim::unknown();
}

Dim larger(const Dim& a, const Dim& b) {
  if (lower_bound(a - b).value_or(-1) >= 0) return a;
  return lower_bound(b - a).value_or(-1) >= 0 ? b : Dim::unknown();
}

/// A bound as written, counted from the front and moved into [low, high].
Dim clamped_bound(Dim bound, const Dim& size, const Dim& low, const Dim& high) {
  if (bound.is_constant() && !size.is_constant()) {
    if (bound.value() >= kEndless) return high;
    if (bound.value() <= -kEndless) return low;
  }
  if (bound.is_constant() ? bound.value() < 0 : !lower_bound(bound)) {
    const bool from_end = bound.is_constant() || lower_bound(Dim(-1) - bound).value_or(-1) >= 0;
    if (!from_end) return Dim::unknown();
    bound = bound + size;
  } else if (!bound.is_constant() && *lower_bound(bound) < 0) {
    return Dim::unknown();  // its sign is open
  }
  // Bounds at the ends of int64 are common, so constants are not compared by their differences.
  if (bound.is_constant() && low.is_constant() && high.is_constant()) {
    return Dim(std::clamp(bound.value(), low.value(), high.value()));
  }
  return bound.same(high) ? high : larger(smaller(bound, high), low);
}

/// ceil(distance / step) for positive numbers.
std::uint64_t steps_within(std::uint64_t distance, std::int64_t step) {
  const std::uint64_t magnitude =
      step < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  return distance / magnitude + (distance % magnitude != 0 ? 1 : 0);
}

Range sliced(const Dim& size, const Dim& start, const Dim& end, std::int64_t step) {
  if (size.is_constant() && size.value() == 0) return {Dim(0), Dim(0)};
  const Dim last = size - Dim(1);
  const Dim from = step > 0 ? clamped_bound(start, size, Dim(0), size) : clamped_bound(start, size, Dim(0), last);
  const Dim to = step > 0 ? clamped_bound(end, size, Dim(0), size) : clamped_bound(end, size, Dim(-1), last);
  const Dim distance = step > 0 ? to - from : from - to;
  if (distance.is_constant()) {
    if (distance.value() <= 0) return {from, Dim(0)};
    return {from, Dim(static_cast<std::int64_t>(steps_within(static_cast<std::uint64_t>(distance.value()), step)))};
  }
  if (lower_bound(distance).value_or(-1) < 0 || step == std::numeric_limits<std::int64_t>::min()) return {from, Dim::unknown()};
  const Dim pace(std::abs(step));
  return {from, floor_div(distance + pace - Dim(1), pace)};
}

void infer_slice(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  for (std::size_t i = 1; i < ctx.input_count(); ++i) {
    if (ctx.has(i)) expect_index(ctx, i);
  }
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  std::vector<Dim> dims(x.rank());
  const auto starts = ctx.elements(1), ends = ctx.elements(2), steps = ctx.elements(4);
  // How many axes are cut follows from whichever operand is known best.
  std::optional<std::vector<std::int64_t>> axes = ctx.integers(3);
  std::optional<std::size_t> count;
  for (std::size_t i = 1; i <= 4; ++i) {
    if (!ctx.has(i)) continue;
    const Dim length = element_count(ctx.shape(i));
    if (!length.is_constant()) continue;
    if (count && *count != static_cast<std::size_t>(length.value())) ctx.fail("starts, ends, axes and steps differ in length");
    count = static_cast<std::size_t>(length.value());
  }
  if (!ctx.has(3) && count) {
    if (*count > x.rank()) ctx.fail("cuts " + std::to_string(*count) + " axes of a tensor of shape " + describe(x));
    axes.emplace();
    for (std::size_t i = 0; i < *count; ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (!axes) return ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  dims = x.dims;
  std::vector<bool> cut(x.rank(), false);
  std::optional<Range> only;
  Dim only_step(1);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::size_t axis = ctx.axis((*axes)[i], x.rank());
    if (cut[axis]) ctx.fail("axis " + std::to_string(axis) + " is cut twice");
    cut[axis] = true;
    const Dim step = ctx.has(4) ? (steps ? (*steps)[i] : Dim::unknown()) : Dim(1);
    if (step.is_constant() && step.value() == 0) ctx.fail("the step along axis " + std::to_string(axis) + " is 0");
    if (!step.is_constant()) {
      dims[axis] = Dim::unknown();
      continue;
    }
    only = sliced(x.dims[axis], starts ? (*starts)[i] : Dim::unknown(), ends ? (*ends)[i] : Dim::unknown(), step.value());
    only_step = step;
    dims[axis] = only->count;
  }
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  const auto elements = ctx.elements(0);
  if (!elements || x.rank() != 1 || !only || !only->start.is_constant() || !only->count.is_constant()) return;
  std::vector<Dim> taken;
  for (std::int64_t i = 0; i < only->count.value(); ++i) {
    taken.push_back((*elements)[static_cast<std::size_t>(only->start.value() + i * only_step.value())]);
  }
  ctx.set_elements(0, std::move(taken));
}

Regions slice_regions(const Node&, std::span<const TensorView> inputs, std::span<const TensorView> outputs, std::size_t) {
  const auto list = [&](std::size_t i) {
    const bool given = i < inputs.size() && inputs[i].dtype != DType::undefined;
    return given ? read_integers(inputs[i]) : std::vector<std::int64_t>{};
  };
  const TensorView& x = inputs[0];
  const std::vector<std::int64_t> starts = list(1), ends = list(2), axes = list(3), steps = list(4);
  Region region{0, outputs[0].shape, 0, x.strides, 0, outputs[0].strides};
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t given = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
    const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    if (region.sizes[axis] == 0) continue;
    region.src_offset += sliced(x.shape[axis], starts[i], ends[i], step).start.value() * x.strides[axis];
    // A step is only taken if there are two elements; it may be huge if there is one.
    if (region.sizes[axis] > 1) region.src_strides[axis] = step * x.strides[axis];
  }
  return std::vector<Region>{region};
}

/// Size of all parts but the last when the file does not give sizes.
std::int64_t equal_part(std::int64_t size, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(parts);
  return size / count + (size % count != 0 ? 1 : 0);
}

void infer_split(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  const std::size_t parts = ctx.output_count();
  if (!x.ranked) {
    for (std::size_t i = 0; i < parts; ++i) ctx.set(i, ctx.dtype(0), SymShape::unranked());
    return;
  }
  const std::size_t axis = ctx.axis(ctx.node().integer("axis"), x.rank());
  const Dim& size = x.dims[axis];
  std::vector<Dim> sizes(parts);
  if (ctx.has(1)) {
    expect_index(ctx, 1);
    const Dim count = element_count(ctx.shape(1));
    if (count.is_constant() && count.value() != static_cast<std::int64_t>(parts)) {
      ctx.fail("has " + std::to_string(parts) + " results, but " + std::to_string(count.value()) + " sizes");
    }
    if (const auto given = ctx.elements(1)) sizes = *given;
  } else if (size.is_constant()) {
    const std::int64_t part = equal_part(size.value(), parts);
    std::fill(sizes.begin(), sizes.end(), Dim(part));
    sizes.back() = size - Dim(part) * Dim(static_cast<std::int64_t>(parts) - 1);
  } else {
    const Dim part = floor_div(size, Dim(static_cast<std::int64_t>(parts)));
    if ((part * Dim(static_cast<std::int64_t>(parts))).same(size)) std::fill(sizes.begin(), sizes.end(), part);
  }
  Dim total(0);
  for (const Dim& part : sizes) {
    if (part.is_constant() && part.value() < 0) {
      ctx.fail("axis " + std::to_string(axis) + " of shape " + describe(x) + " cannot be split into " + std::to_string(parts) +
               " parts");
    }
    total = total + part;
  }
  if (!unify(total, size)) {
    ctx.fail("the parts' sizes add up to " + to_string(total, {}) + ", but axis " + std::to_string(axis) + " has size " +
             to_string(size, {}));
  }
  const auto elements = x.rank() == 1 ? ctx.elements(0) : std::nullopt;
  std::size_t begin = 0;
  bool placed = elements.has_value();
  for (std::size_t i = 0; i < parts; ++i) {
    SymShape shape = x;
    shape.dims[axis] = sizes[i];
    ctx.set(i, ctx.dtype(0), std::move(shape));
    placed = placed && sizes[i].is_constant();
    if (!placed) continue;
    const auto from = elements->begin() + static_cast<std::ptrdiff_t>(begin);
    begin += static_cast<std::size_t>(sizes[i].value());
    if (begin > elements->size()) return;
    ctx.set_elements(i, std::vector<Dim>(from, from + static_cast<std::ptrdiff_t>(sizes[i].value())));
  }
}

Regions split_regions(const Node& node, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                      std::size_t output) {
  const TensorView& x = inputs[0];
  const std::size_t axis = axis_of(node, x.shape.size());
  std::int64_t begin = 0;
  if (inputs.size() > 1 && inputs[1].dtype != DType::undefined) {
    const std::vector<std::int64_t> sizes = read_integers(inputs[1]);
    for (std::size_t i = 0; i < output; ++i) begin += sizes[i];
  } else {
    begin = equal_part(x.shape[axis], outputs.size()) * static_cast<std::int64_t>(output);
  }
  const TensorView& y = outputs[output];
  const std::int64_t offset = y.shape[axis] == 0 ? 0 : begin * x.strides[axis];
  return std::vector<Region>{{0, y.shape, offset, x.strides, 0, y.strides}};
}

constexpr AttributeSpec kSplit[] = {{"axis", AttributeType::integer, true}};

constexpr OpDef kOps[] = {
    {"slice", {3, 5}, {1, 1}, {}, infer_slice, compute_movement<slice_regions>, slice_regions, 0b11110},
    {"split", {1, 2}, {1, kAnyNumber}, kSplit, infer_split, compute_movement<split_regions>, split_regions, 0b10},
};

}  // namespace

std::span<const OpDef> slice_ops() { return kOps; }

}  // namespace jitney
