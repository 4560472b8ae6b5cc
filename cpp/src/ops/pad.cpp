// Padding; negative pads cut.
#include <algorithm>

#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

void infer_pad(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  ctx.expect_dtype(1, {DType::int64});
  if (ctx.has(2)) {
    expect_same_dtype(ctx, 0, 2);
    expect_one_element(ctx, 2);
  }
  if (ctx.has(3)) expect_index(ctx, 3);
  const auto pads = ctx.elements(1);
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  auto axes = ctx.integers(3);
  if (!ctx.has(3)) {
    axes.emplace();
    for (std::size_t i = 0; i < x.rank(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  std::vector<Dim> dims(x.rank());
  if (!axes || !pads) return ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  if (pads->size() != 2 * axes->size()) {
    ctx.fail("has " + std::to_string(pads->size()) + " pads, but " + std::to_string(axes->size()) + " axes take two each");
  }
  (void)marked_axes(ctx, *axes, x.rank());
  for (const Dim& pad : *pads) {
    constexpr std::int64_t most = std::int64_t{1} << 60;  // sums of two pads and a size stay within 64 bits
    if (pad.is_constant() && (pad.value() > most || pad.value() < -most))
      ctx.fail("cannot pad by " + std::to_string(pad.value()));
  }
  dims = x.dims;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = dims[ctx.axis((*axes)[i], x.rank())];
    const Dim before = (*pads)[i], after = (*pads)[axes->size() + i];
    const Dim padded = dim + before + after;
    if (padded.is_constant() && padded.value() > 0 && dim.is_constant() && ctx.node().text("mode", "constant") != "constant") {
      const auto cut = [](const Dim& pad) { return pad.is_constant() ? std::min<std::int64_t>(pad.value(), 0) : 0; };
      if (dim.value() + cut(before) + cut(after) <= 0) {
        ctx.fail("an axis of which nothing is left cannot be padded in mode '" + ctx.node().text("mode") + "'");
      }
    }
    dim = padded;
  }
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
}

/// Pads before each axis.
Shape pads_before(const ComputeContext& ctx) {
  const std::vector<std::int64_t> pads = read_integers(ctx.input(1));
  const auto rank = ctx.input(0).shape.size();
  Shape before(rank, 0);
  if (!ctx.has(3)) {
    for (std::size_t i = 0; i < rank; ++i) before[i] = pads[i];
    return before;
  }
  const std::vector<std::int64_t> axes = read_integers(ctx.input(3));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    before[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i])] = pads[i];
  }
  return before;
}

void pad_with_value(const ComputeContext& ctx, const Shape& before) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  const std::size_t bytes = size_of(y.dtype);
  const std::byte zero[16] = {};
  copy_region(bytes, y.shape, ctx.has(2) ? ctx.input(2).data : zero, Shape(y.shape.size(), 0), y.data, y.strides);
  Shape kept;
  std::int64_t from = 0, to = 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const std::int64_t first = std::max<std::int64_t>(0, -before[i]);
    const std::int64_t last = std::min(x.shape[i], y.shape[i] - before[i]);
    if (last <= first) return;
    kept.push_back(last - first);
    from += first * x.strides[i];
    to += (first + before[i]) * y.strides[i];
  }
  copy_region(bytes, kept, address(x, from), x.strides, address(y, to), y.strides);
}

std::int64_t source_index(std::string_view mode, std::int64_t index, std::int64_t size) {
  if (mode == "edge") return std::clamp<std::int64_t>(index, 0, size - 1);
  const std::int64_t period = mode == "wrap" ? size : std::max<std::int64_t>(1, 2 * (size - 1));
  const std::int64_t at = ((index % period) + period) % period;
  return at < size ? at : period - at;
}

/// Neighbours of one axis of the result that come from elements of x one step apart: 1, −1, or 0 for copies of one element.
struct Stretch {
  std::int64_t to, from, step, length;
};

std::vector<Stretch> stretches(std::string_view mode, std::int64_t before, std::int64_t x_size, std::int64_t y_size) {
  // What negative pads cut away is gone before the rest is reflected or repeated.
  const std::int64_t first = std::max<std::int64_t>(-before, 0);
  const std::int64_t kept = x_size - first - std::max<std::int64_t>(x_size + before - y_size, 0);
  std::vector<Stretch> found;
  for (std::int64_t i = 0; i < y_size; ++i) {
    const std::int64_t source = first + source_index(mode, i - std::max<std::int64_t>(before, 0), kept);
    if (!found.empty()) {
      Stretch& last = found.back();
      const std::int64_t step = source - (last.from + (last.length - 1) * last.step);
      if (last.length == 1 && step >= -1 && step <= 1) last.step = step;
      if (step == last.step) {
        ++last.length;
        continue;
      }
    }
    found.push_back({i, source, 0, 1});
  }
  return found;
}

void pad_from_tensor(const ComputeContext& ctx, const Shape& before, std::string_view mode) {
  const TensorView& x = ctx.input(0);
  const TensorView& y = ctx.output(0);
  if (y.shape.elements() == 0) return;
  const std::size_t rank = y.shape.size();
  std::vector<std::vector<Stretch>> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(stretches(mode, before[axis], x.shape[axis], y.shape[axis]));
  // A region for every choice of one stretch per axis.
  std::vector<std::size_t> choice(rank, 0);
  while (true) {
    Shape sizes, strides;
    std::int64_t from = 0, to = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const Stretch& stretch = axes[axis][choice[axis]];
      sizes.push_back(stretch.length);
      strides.push_back(stretch.step * x.strides[axis]);
      from += stretch.from * x.strides[axis];
      to += stretch.to * y.strides[axis];
    }
    copy_region(size_of(y.dtype), sizes, address(x, from), strides, address(y, to), y.strides);
    std::size_t axis = rank;
    while (axis > 0 && ++choice[axis - 1] == axes[axis - 1].size()) choice[--axis] = 0;
    if (axis == 0) return;
  }
}

void compute_pad(const ComputeContext& ctx) {
  const Shape before = pads_before(ctx);
  const std::string_view mode = ctx.node().text("mode", "constant");
  if (mode == "constant") {
    pad_with_value(ctx, before);
  } else {
    pad_from_tensor(ctx, before, mode);
  }
}

constexpr AttributeSpec kPad[] = {{"mode", AttributeType::text, false, "constant|reflect|edge|wrap"}};

constexpr OpDef kOps[] = {
    {"pad", {2, 4}, {1, 1}, kPad, infer_pad, compute_pad, nullptr, 0b1010},
};

}  // namespace

std::span<const OpDef> pad_ops() { return kOps; }

}  // namespace jitney
