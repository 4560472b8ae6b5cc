// attention: softmax(q · kᵀ · scale + bias) · v, with groups of heads that share keys and values.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/access.h"
#include "ops/attention.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/operands.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 3> kAttributes = {{
    {"scale", AttributeType::number},
    {"masked", AttributeType::number},
    {"nan_to_zero", AttributeType::integer},
}};
constexpr std::size_t kBias = 3, kMask = 4;

/// The head axis of the result: as many heads as q has, if those of k and v divide them.
Dim heads_of(const InferContext& ctx, const Dim& q, const Dim& k) {
  const bool known = q.is_constant() && k.is_constant();
  if (known && k.value() > 0 && q.value() % k.value() == 0) return q;
  if (k.is_constant() && k.value() == 1) return q;
  if (q.is_constant() && q.value() == 1) return k;
  if (!known) return unify(q, k).value_or(q);
  if (q.value() == k.value()) return q;
  ctx.fail(to_string(k, {}) + " heads of keys do not divide " + to_string(q, {}) + " heads of queries");
}

/// Fails unless the operand broadcasts to the scores without widening them.
void check_scores(const InferContext& ctx, std::size_t input, const SymShape& scores) {
  if (!ctx.has(input) || !ctx.shape(input).ranked) return;
  const SymShape& part = ctx.shape(input);
  bool fits = part.rank() <= scores.rank();
  for (std::size_t i = 1; fits && i <= part.rank(); ++i) {
    const Dim& size = part.dims[part.rank() - i];
    fits = may_equal(size, Dim(1)) || may_equal(size, scores.dims[scores.rank() - i]);
  }
  if (fits) return;
  ctx.fail("operand " + std::to_string(input) + " has shape " + describe(part) + ", which does not broadcast to the scores' " +
           describe(scores));
}

void infer_attention(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}, kBias}) expect_dtype_of_first(ctx, input);
  if (ctx.has(kMask)) ctx.expect_dtype(kMask, {DType::boolean});
  const SymShape &q = ctx.shape(0), &k = ctx.shape(1), &v = ctx.shape(2);
  if (!q.ranked || !k.ranked || !v.ranked) return ctx.set(0, ctx.dtype(0), {});
  const std::size_t rank = q.rank();
  if (rank < 2 || k.rank() != rank || v.rank() != rank) {
    ctx.fail("q, k and v have shapes " + describe(q) + ", " + describe(k) + " and " + describe(v),
             "they must have the same rank, at least 2");
  }
  merge(ctx, q.dims[rank - 1], k.dims[rank - 1], "the size of a query and a key");
  const Dim keys = merge(ctx, k.dims[rank - 2], v.dims[rank - 2], "the number of keys and values");
  SymShape y = SymShape::of({});
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    Dim size = q.dims[axis];
    for (const SymShape* other : {&k, &v}) {
      if (axis + 3 == rank) {
        size = heads_of(ctx, size, other->dims[axis]);
        continue;
      }
      const std::optional<Dim> both = broadcast_dim(size, other->dims[axis]);
      if (!both) ctx.fail("shapes " + describe(q) + " and " + describe(*other) + " do not broadcast");
      size = *both;
    }
    y.dims.push_back(size);
  }
  y.dims.push_back(q.dims[rank - 2]);
  SymShape scores = y;
  scores.dims.push_back(keys);
  check_scores(ctx, kBias, scores);
  check_scores(ctx, kMask, scores);
  y.dims.push_back(v.dims[rank - 1]);
  ctx.set(0, ctx.dtype(0), std::move(y));
}

/// One head's operands.
struct Head {
  std::int64_t queries, keys, depth, columns;
  bool nan_to_zero;
  double scale, masked;
};

std::vector<double> weights_of(const ComputeContext& ctx, const Head& head, const std::vector<double>& q,
                               const std::vector<double>& k, std::int64_t bias, std::int64_t mask) {
  std::vector<double> scores(static_cast<std::size_t>(head.keys));
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = 0; j < head.keys; ++j) {
    double score = 0;
    for (std::int64_t i = 0; i < head.depth; ++i) score += q[i] * k[j * head.depth + i];
    score *= head.scale;
    if (ctx.has(kBias)) score += load_double(ctx.input(kBias), bias + j * attention_stride(ctx.input(kBias), 0));
    if (ctx.has(kMask) && load_int64(ctx.input(kMask), mask + j * attention_stride(ctx.input(kMask), 0)) == 0)
      score = head.masked;
    scores[j] = score;
    largest = std::max(largest, score);
  }
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score = head.nan_to_zero && std::isnan(score / sum) ? 0.0 : score / sum;
  return scores;
}

void compute_attention(const ComputeContext& ctx) {
  const TensorView &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2), &y = ctx.output(0);
  const std::size_t rank = q.shape.size();
  const Node& node = ctx.node();
  const Head head{q.shape[rank - 2],
                  k.shape[rank - 2],
                  q.shape[rank - 1],
                  v.shape[rank - 1],
                  node.integer("nan_to_zero", 0) != 0,
                  node.number("scale", 1.0),
                  node.number("masked", 0.0)};
  const Shape batch(y.shape.span().first(rank - 2));
  const auto rows = [](const TensorView& view, std::int64_t offset, std::int64_t count, std::int64_t size) {
    std::vector<double> all(static_cast<std::size_t>(count * size));
    const std::size_t last = view.shape.size() - 1;
    for (std::int64_t i = 0; i < count; ++i)
      load_run(view.dtype, address(view, offset + i * view.strides[last - 1]), view.strides[last], static_cast<std::size_t>(size),
               all.data() + i * size);
    return all;
  };
  std::vector<double> sums(static_cast<std::size_t>(head.columns));
  for_each_head(batch, [&](const Shape& index) {
    const auto offset = [&](const TensorView& view) { return head_offset(view, index, batch); };
    const auto queries = rows(q, offset(q), head.queries, head.depth), keys = rows(k, offset(k), head.keys, head.depth),
               values = rows(v, offset(v), head.keys, head.columns);
    for (std::int64_t i = 0; i < head.queries; ++i) {
      const auto row = [&](std::size_t input) {
        if (!ctx.has(input)) return std::int64_t{0};
        return offset(ctx.input(input)) + i * attention_stride(ctx.input(input), 1);
      };
      const std::vector<double> query(queries.begin() + i * head.depth, queries.begin() + (i + 1) * head.depth);
      const std::vector<double> weights = weights_of(ctx, head, query, keys, row(kBias), row(kMask));
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t j = 0; j < head.keys; ++j) {
        for (std::int64_t c = 0; c < head.columns; ++c) sums[c] += weights[j] * values[j * head.columns + c];
      }
      store_run(y.dtype, address(y, offset(y) + i * y.strides[rank - 2]), y.strides[rank - 1], sums.size(), sums.data());
    }
  });
}

constexpr std::array<OpDef, 1> kOps = {{{"attention", {3, 5}, {1, 1}, kAttributes, infer_attention, compute_attention}}};

}  // namespace

std::int64_t head_offset(const TensorView& view, const Shape& index, const Shape& batch) {
  const std::size_t axes = view.shape.size() < 2 ? 0 : view.shape.size() - 2;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = batch.size() - axes + i;
    // Neighbouring heads of queries share a head of keys.
    if (view.shape[i] > 1) offset += index[axis] / (batch[axis] / view.shape[i]) * view.strides[i];
  }
  return offset;
}

std::int64_t attention_stride(const TensorView& view, std::size_t from_end) {
  if (view.shape.size() <= from_end) return 0;
  const std::size_t axis = view.shape.size() - 1 - from_end;
  return view.shape[axis] == 1 ? 0 : view.strides[axis];
}

std::span<const OpDef> attention_ops() { return kOps; }

}  // namespace jitney
