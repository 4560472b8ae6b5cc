// non_max_suppression and unique: which boxes or elements stay. How many there are is known only afterwards.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "ops/families.h"
#include "ops/operands.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

// non_max_suppression

constexpr std::size_t kMostBoxes = 2, kMostOverlap = 3, kLeastScore = 4;

void infer_non_max_suppression(InferContext& ctx) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, kMostOverlap, kLeastScore}) {
    if (ctx.has(i)) expect_floating(ctx, i);
  }
  expect_rank(ctx, 0, 3);
  expect_rank(ctx, 1, 3);
  if (ctx.has(kMostBoxes)) expect_index(ctx, kMostBoxes);
  const SymShape &boxes = ctx.shape(0), &scores = ctx.shape(1);
  if (boxes.ranked) (void)merge(ctx, boxes.dims[2], Dim(4), "the number of coordinates of a box");
  if (boxes.ranked && scores.ranked) {
    (void)merge(ctx, boxes.dims[0], scores.dims[0], "the batch");
    (void)merge(ctx, boxes.dims[1], scores.dims[2], "the number of boxes");
  }
  ctx.set(0, DType::int64, SymShape::of({Dim::unknown(), Dim(3)}));
}

/// In float32, as everyone computes overlaps: whether a box goes can hang on the last bit.
struct Box {
  float left, top, right, bottom, area;

  static Box of(const double* numbers, bool centred) {
    const auto at = [&](std::size_t i) { return static_cast<float>(numbers[i]); };
    Box box{};
    if (centred) {
      box = {at(0) - at(2) / 2, at(1) - at(3) / 2, at(0) + at(2) / 2, at(1) + at(3) / 2, 0};
    } else {
      box = {std::min(at(1), at(3)), std::min(at(0), at(2)), std::max(at(1), at(3)), std::max(at(0), at(2)), 0};
    }
    box.area = (box.right - box.left) * (box.bottom - box.top);
    return box;
  }

  bool overlaps(const Box& other, float most) const {
    const float width = std::min(right, other.right) - std::max(left, other.left);
    const float height = std::min(bottom, other.bottom) - std::max(top, other.top);
    if (!(width > 0 && height > 0 && area > 0 && other.area > 0)) return false;
    const float shared = width * height;
    const float together = area + other.area - shared;
    return shared > 0 && together > 0 && shared / together > most;
  }
};

double optional_number(const ComputeContext& ctx, std::size_t input, double fallback) {
  return ctx.has(input) && ctx.input(input).shape.elements() > 0 ? read_numbers(ctx.input(input)).front() : fallback;
}

/// The boxes of one class that stay, best first.
std::vector<std::int64_t> kept_boxes(const Box* boxes, const double* scores, std::size_t count, double least, float most_overlap,
                                     std::size_t most) {
  std::vector<std::int64_t> candidates, kept;
  for (std::size_t i = 0; i < count; ++i) {
    // Unless a threshold is given, a box whose score is no number is the last choice.
    if (std::isnan(least) || scores[i] > least) candidates.push_back(static_cast<std::int64_t>(i));
  }
  const auto score = [&](std::int64_t i) {
    const double given = scores[static_cast<std::size_t>(i)];
    return std::isnan(given) ? -std::numeric_limits<double>::infinity() : given;
  };
  const auto worse = [&](std::int64_t a, std::int64_t b) {
    const double left = score(a), right = score(b);
    return left < right || (left == right && a > b);
  };
  std::make_heap(candidates.begin(), candidates.end(), worse);
  std::vector<Box> chosen;
  for (auto end = candidates.end(); end != candidates.begin() && kept.size() < most; --end) {
    std::pop_heap(candidates.begin(), end, worse);
    const std::int64_t best = *(end - 1);
    const Box& box = boxes[best];
    if (std::any_of(chosen.begin(), chosen.end(), [&](const Box& other) { return box.overlaps(other, most_overlap); })) continue;
    chosen.push_back(box);
    kept.push_back(best);
  }
  return kept;
}

void compute_non_max_suppression(const ComputeContext& ctx) {
  const Shape& scores_shape = ctx.input(1).shape;
  const std::int64_t batch = scores_shape[0], classes = scores_shape[1], count = scores_shape[2];
  const bool has_most = ctx.has(kMostBoxes) && ctx.input(kMostBoxes).shape.elements() > 0;
  const std::int64_t most = has_most ? read_integers(ctx.input(kMostBoxes)).front() : 0;
  const auto overlap = static_cast<float>(optional_number(ctx, kMostOverlap, 0.0));
  const double least = optional_number(ctx, kLeastScore, std::numeric_limits<double>::quiet_NaN());
  const bool centred = ctx.node().integer("center_point_box", 0) != 0;
  std::vector<std::int64_t> result;
  if (most > 0) {
    const std::vector<double> numbers = read_numbers(ctx.input(0)), scores = read_numbers(ctx.input(1));
    std::vector<Box> boxes;
    for (std::int64_t image = 0; image < batch; ++image) {
      boxes.clear();
      for (std::int64_t i = 0; i < count; ++i) boxes.push_back(Box::of(numbers.data() + (image * count + i) * 4, centred));
      for (std::int64_t kind = 0; kind < classes; ++kind) {
        const double* of_class = scores.data() + (image * classes + kind) * count;
        for (const std::int64_t box :
             kept_boxes(boxes.data(), of_class, boxes.size(), least, overlap, static_cast<std::size_t>(most))) {
          result.insert(result.end(), {image, kind, box});
        }
      }
    }
  }
  write_dense(ctx.allocate(0, DType::int64, {static_cast<std::int64_t>(result.size() / 3), 3}), result);
}

// unique

/// Whether the node names an axis; otherwise the operand counts as flat.
bool has_axis(const Node& node) { return node.find("axis") != nullptr; }

void infer_unique(InferContext& ctx) {
  if (number_class(ctx.dtype(0)) == NumberClass::none) expect_number(ctx, 0);
  SymShape y = has_axis(ctx.node()) ? ctx.shape(0) : SymShape::of({Dim::unknown()});
  SymShape inverse = SymShape::of({element_count(ctx.shape(0))});
  if (has_axis(ctx.node()) && y.ranked) {
    const std::size_t axis = ctx.axis(ctx.node().integer("axis"), y.rank());
    inverse.dims[0] = y.dims[axis];
    y.dims[axis] = Dim::unknown();
  } else if (has_axis(ctx.node())) {
    inverse.dims[0] = Dim::unknown();
  }
  ctx.set(0, ctx.dtype(0), std::move(y));
  const SymShape open = SymShape::of({Dim::unknown()});
  for (std::size_t i = 1; i < ctx.output_count(); ++i) ctx.set(i, DType::int64, i == 2 ? inverse : open);
}

/// A number whose order is that of the elements: zeros of both signs are equal, all NaN are, too, and come last.
std::vector<std::uint64_t> order_keys(const TensorView& view) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(view.shape.elements()));
  const Walk<1> walk(view.shape, {view.strides});
  std::size_t next = 0;
  switch (number_class(view.dtype)) {
    case NumberClass::floating:
      walk.for_each([&](const std::array<std::int64_t, 1>& at) {
        const double x = load_double(view, at[0]);
        const auto bits = std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);
        keys[next++] = std::isnan(x) ? ~std::uint64_t{0} : (bits & kTop) != 0 ? ~bits : bits | kTop;
      });
      break;
    case NumberClass::unsigned64:
      walk.for_each([&](const std::array<std::int64_t, 1>& at) { keys[next++] = load_uint64(view, at[0]); });
      break;
    default:
      walk.for_each([&](const std::array<std::int64_t, 1>& at) {
        keys[next++] = static_cast<std::uint64_t>(load_int64(view, at[0])) ^ kTop;
      });
  }
  return keys;
}

/// The operand with the axis that is searched in front; without an axis, all elements in one row.
TensorView rows_of(const Node& node, const TensorView& x) {
  if (!has_axis(node)) return x;
  const std::size_t axis = axis_of(node, x.shape.size());
  TensorView rows{x.data, x.dtype, {x.shape[axis]}, {x.strides[axis]}};
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis) continue;
    rows.shape.push_back(x.shape[i]);
    rows.strides.push_back(x.strides[i]);
  }
  return rows;
}

void write_list(const ComputeContext& ctx, std::size_t output, const std::vector<std::int64_t>& values) {
  if (ctx.wants(output)) write_dense(ctx.allocate(output, DType::int64, {static_cast<std::int64_t>(values.size())}), values);
}

void compute_unique(const ComputeContext& ctx) {
  const Node& node = ctx.node();
  const Tensor rows = make_dense(rows_of(node, ctx.input(0)));
  const std::int64_t count = has_axis(node) ? rows.shape()[0] : rows.elements();
  const std::int64_t length = count == 0 ? 0 : rows.elements() / count;
  const std::vector<std::uint64_t> keys = order_keys(rows.view());
  const auto row = [&](std::int64_t i) { return keys.begin() + i * length; };
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const auto [left, right] = std::mismatch(row(a), row(a) + length, row(b));
    return left == row(a) + length ? a < b : *left < *right;
  });

  // The first index of each group of equal rows, and the group of each row.
  std::vector<std::int64_t> first, group(order.size()), counts;
  for (const std::int64_t i : order) {
    if (first.empty() || !std::equal(row(i), row(i) + length, row(first.back()))) {
      first.push_back(i);
      counts.push_back(0);
    }
    group[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(first.size()) - 1;
    ++counts.back();
  }
  if (node.integer("sorted", 1) == 0) {
    std::vector<std::int64_t> place(first.size()), first_by_appearance, counts_by_appearance;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t g = group[i];
      if (first[g] != i) continue;
      place[g] = static_cast<std::int64_t>(first_by_appearance.size());
      first_by_appearance.push_back(i);
      counts_by_appearance.push_back(counts[g]);
    }
    for (std::int64_t& g : group) g = place[g];
    first = std::move(first_by_appearance);
    counts = std::move(counts_by_appearance);
  }

  if (ctx.wants(0)) {
    Shape shape = has_axis(node) ? ctx.input(0).shape : Shape{0};
    shape[has_axis(node) ? axis_of(node, shape.size()) : 0] = static_cast<std::int64_t>(first.size());
    const TensorView y = rows_of(node, ctx.allocate(0, rows.dtype(), shape));
    const Shape row_shape = has_axis(node) ? Shape(y.shape.span().subspan(1)) : Shape{};
    const Shape to_strides = has_axis(node) ? Shape(y.strides.span().subspan(1)) : Shape{};
    const RegionCopy copy(size_of(y.dtype), row_shape, dense_strides(row_shape), to_strides);
    for (std::size_t i = 0; i < first.size() && length > 0; ++i) {
      copy(address(rows.view(), first[i] * length), address(y, static_cast<std::int64_t>(i) * y.strides[0]));
    }
  }
  write_list(ctx, 1, first);
  write_list(ctx, 2, group);
  write_list(ctx, 3, counts);
}

constexpr AttributeSpec kNonMaxSuppression[] = {{"center_point_box", AttributeType::integer}};
constexpr AttributeSpec kUnique[] = {{"axis", AttributeType::integer}, {"sorted", AttributeType::integer}};

constexpr OpDef kOps[] = {
    {"non_max_suppression",
     {2, 5},
     {1, 1},
     kNonMaxSuppression,
     infer_non_max_suppression,
     compute_non_max_suppression,
     nullptr,
     0,
     true},
    {"unique", {1, 1}, {1, 4}, kUnique, infer_unique, compute_unique, nullptr, 0, true},
};

}  // namespace

std::span<const OpDef> selection_ops() { return kOps; }

}  // namespace jitney
