// Ops that keep the elements and their order and change the shape: reshape, flatten, squeeze, unsqueeze.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

void set_reshaped(InferContext& ctx, std::vector<Dim> dims) {
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
  if (const auto elements = ctx.elements(0)) ctx.set_elements(0, *elements);
}

std::optional<std::vector<Region>> reshape_regions(const Node&, std::span<const TensorView> inputs,
                                                   std::span<const TensorView> outputs, std::size_t) {
  const TensorView& x = inputs[0];
  const TensorView& y = outputs[0];
  if (const auto strides = reshaped_strides(x.shape, x.strides, y.shape)) {
    return std::vector<Region>{{0, y.shape, 0, *strides, 0, y.strides}};
  }
  if (const auto strides = reshaped_strides(y.shape, y.strides, x.shape)) {
    return std::vector<Region>{{0, x.shape, 0, x.strides, 0, *strides}};
  }
  return std::nullopt;
}

/// A product of dims: an integer times primitive expressions (those without a common integer factor). Zeros are counted apart, so
/// that they cancel like other factors: [0, 3] reshaped to [0, -1] is [0, 3].
struct Product {
  std::int64_t factor = 1;
  std::int64_t zeros = 0;
  std::int64_t unknowns = 0;
  std::vector<Dim> primitives;

  bool known() const { return unknowns == 0; }

  void multiply(const Dim& dim) {
    if (dim.is_unknown()) {
      ++unknowns;
    } else if (dim.is_constant() && dim.value() == 0) {
      ++zeros;
    } else if (dim.is_constant()) {
      scale(dim.value());
    } else {
      constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();  // which gcd cannot take
      std::int64_t common = 0;
      for (const Dim::Term& term : dim.terms()) common = term.coefficient == lowest ? 1 : std::gcd(common, term.coefficient);
      common = dim.constant() == lowest ? 1 : std::gcd(common, dim.constant());
      scale(common);
      primitives.push_back(floor_div(dim, Dim(common)));
    }
  }

  void scale(std::int64_t by) {
    const Dim scaled = Dim(factor) * Dim(by);
    if (scaled.is_constant()) {
      factor = scaled.value();
    } else {
      ++unknowns;
    }
  }
};

/// Drops from both what they have in common.
void cancel(Product& a, Product& b) {
  for (auto it = a.primitives.begin(); it != a.primitives.end();) {
    const auto twin = std::find_if(b.primitives.begin(), b.primitives.end(), [&](const Dim& dim) { return dim.same(*it); });
    if (twin == b.primitives.end()) {
      ++it;
    } else {
      b.primitives.erase(twin);
      it = a.primitives.erase(it);
    }
  }
  const std::int64_t zeros = std::min(a.zeros, b.zeros);
  a.zeros -= zeros;
  b.zeros -= zeros;
}

/// The dim written −1: what is left of x's elements after the other dims took theirs.
Dim remaining_dim(const InferContext& ctx, Product all, Product others) {
  cancel(all, others);
  const auto fail = [&] {
    ctx.fail("shape " + describe(ctx.shape(0)) + " cannot be reshaped so that one dimension takes what the others leave");
  };
  if (!all.known() || !others.known()) return Dim::unknown();
  if (all.primitives.empty() && others.primitives.empty()) {
    if (others.zeros > 0) fail();
    if (all.zeros > 0) return Dim(0);
    if (all.factor % others.factor != 0) fail();
    return Dim(all.factor / others.factor);
  }
  if (others.zeros > 0 || !others.primitives.empty()) return Dim::unknown();
  if (all.zeros > 0) return Dim(0);
  Dim rest(all.factor);
  for (const Dim& primitive : all.primitives) rest = rest * primitive;
  const Dim quotient = floor_div(rest, Dim(others.factor));
  return (quotient * Dim(others.factor)).same(rest) ? quotient : Dim::unknown();
}

void infer_reshape(InferContext& ctx) {
  expect_index(ctx, 1);
  expect_rank(ctx, 1, 1);
  const SymShape& x = ctx.shape(0);
  const bool allow_zero = ctx.node().integer("allow_zero", 0) != 0;
  const auto target = ctx.elements(1);
  if (!target) {
    const SymShape& list = ctx.shape(1);
    const bool ranked = list.ranked && list.rank() == 1 && list.dims[0].is_constant();
    if (!ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
    return set_reshaped(ctx, std::vector<Dim>(static_cast<std::size_t>(std::clamp<std::int64_t>(list.dims[0].value(), 0, 64))));
  }
  Product all, others;
  if (!x.ranked) all.multiply(Dim::unknown());
  for (const Dim& dim : x.dims) all.multiply(dim);
  std::vector<Dim> dims;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target->size(); ++i) {
    Dim dim = (*target)[i];
    if (dim.is_constant() && dim.value() == -1) {
      if (open) ctx.fail("the new shape has more than one -1");
      open = i;
      dims.push_back(Dim::unknown());
      continue;
    }
    if (dim.is_constant() && dim.value() == 0 && !allow_zero) {
      if (x.ranked && i >= x.rank()) {
        ctx.fail("entry " + std::to_string(i) + " of the new shape copies a dimension that the operand of shape " + describe(x) +
                 " lacks");
      }
      dim = x.ranked ? x.dims[i] : Dim::unknown();
      if (x.ranked && dim.is_unknown()) {  // the same on both sides, so it cancels whatever it is
        --all.unknowns;
        dims.push_back(dim);
        continue;
      }
    }
    if (dim.is_constant() && dim.value() < 0) ctx.fail("the new shape has a dimension of " + std::to_string(dim.value()));
    others.multiply(dim);
    dims.push_back(dim);
  }
  if (open) {
    dims[*open] = remaining_dim(ctx, all, others);
  } else {
    const bool constant = all.known() && others.known() && all.primitives.empty() && others.primitives.empty();
    const bool equal = (all.zeros > 0) == (others.zeros > 0) && (all.zeros > 0 || all.factor == others.factor);
    if (constant && !equal) {
      ctx.fail("shape " + describe(x) + " cannot be reshaped to " + describe(SymShape::of(dims)) +
               ": the numbers of elements differ");
    }
  }
  set_reshaped(ctx, std::move(dims));
}

void infer_flatten(InferContext& ctx) {
  const SymShape& x = ctx.shape(0);
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::of(std::vector<Dim>(2)));
  const std::int64_t given = ctx.node().integer("axis");
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (given < -rank || given > rank) {
    ctx.fail("axis " + std::to_string(given) + " is outside the range of a tensor of rank " + std::to_string(rank));
  }
  const std::int64_t axis = given < 0 ? given + rank : given;
  Dim dims[2] = {Dim(1), Dim(1)};
  for (std::int64_t i = 0; i < rank; ++i) {
    Dim& dim = dims[i < axis ? 0 : 1];
    dim = dim * x.dims[static_cast<std::size_t>(i)];
  }
  set_reshaped(ctx, {dims[0], dims[1]});
}

void infer_squeeze(InferContext& ctx) {
  if (ctx.has(1)) expect_index(ctx, 1);
  const SymShape& x = ctx.shape(0);
  const auto axes = ctx.integers(1);
  if (!x.ranked || (ctx.has(1) && !axes)) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  std::vector<Dim> dims;
  if (!ctx.has(1)) {
    for (const Dim& dim : x.dims) {
      if (!dim.is_constant()) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
      if (dim.value() != 1) dims.push_back(dim);
    }
    return set_reshaped(ctx, std::move(dims));
  }
  const std::vector<bool> dropped = marked_axes(ctx, *axes, x.rank());
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!dropped[i]) {
      dims.push_back(x.dims[i]);
    } else if (x.dims[i].is_constant() && x.dims[i].value() != 1) {
      ctx.fail("axis " + std::to_string(i) + " of shape " + describe(x) + " cannot be dropped: its size is not 1");
    }
  }
  set_reshaped(ctx, std::move(dims));
}

void infer_unsqueeze(InferContext& ctx) {
  expect_index(ctx, 1);
  const SymShape& x = ctx.shape(0);
  const auto axes = ctx.integers(1);
  if (!x.ranked) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  if (!axes) {
    const SymShape& list = ctx.shape(1);
    const bool counted = list.ranked && list.rank() <= 1 && element_count(list).is_constant();
    if (!counted) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
    const auto added = static_cast<std::size_t>(std::clamp<std::int64_t>(element_count(list).value(), 0, 64));
    return set_reshaped(ctx, std::vector<Dim>(x.rank() + added));
  }
  const std::vector<bool> added = marked_axes(ctx, *axes, x.rank() + axes->size());
  std::vector<Dim> dims;
  std::size_t next = 0;
  for (const bool is_new : added) dims.push_back(is_new ? Dim(1) : x.dims[next++]);
  set_reshaped(ctx, std::move(dims));
}

constexpr AttributeSpec kReshape[] = {{"allow_zero", AttributeType::integer}};
constexpr AttributeSpec kFlatten[] = {{"axis", AttributeType::integer, true}};

constexpr OpDef reshaping(std::string_view name, Arity operands, std::span<const AttributeSpec> attributes,
                          void (*infer)(InferContext&), std::uint32_t value_inputs = 0) {
  return {name, operands, {1, 1}, attributes, infer, compute_movement<reshape_regions>, reshape_regions, value_inputs};
}

constexpr OpDef kOps[] = {
    reshaping("reshape", {2, 2}, kReshape, infer_reshape, 0b10),
    reshaping("flatten", {1, 1}, kFlatten, infer_flatten),
    reshaping("squeeze", {1, 2}, {}, infer_squeeze, 0b10),
    reshaping("unsqueeze", {2, 2}, {}, infer_unsqueeze, 0b10),
};

}  // namespace

std::span<const OpDef> reshape_ops() { return kOps; }

}  // namespace jitney
