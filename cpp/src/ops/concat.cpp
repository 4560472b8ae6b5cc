// Concatenation along an axis.
#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

void infer_concat(InferContext& ctx) {
  std::optional<SymShape> joined;
  for (std::size_t i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has(i)) ctx.fail("operand " + std::to_string(i) + " is left out, but is not optional");
    expect_same_dtype(ctx, 0, i);
    if (ctx.shape(i).ranked && !joined) joined = ctx.shape(i);
  }
  if (!joined) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
  const std::size_t axis = ctx.axis(ctx.node().integer("axis"), joined->rank());
  Dim length(0);
  for (std::size_t i = 0; i < ctx.input_count(); ++i) {
    const SymShape& shape = ctx.shape(i);
    if (!shape.ranked) {
      length = Dim::unknown();
      continue;
    }
    expect_rank(ctx, i, joined->rank());
    const bool fits = !length.is_constant() || !shape.dims[axis].is_constant() || !(length + shape.dims[axis]).is_unknown();
    if (!fits) ctx.fail("the concatenated size does not fit 64 bits");
    length = length + shape.dims[axis];
    for (std::size_t k = 0; k < shape.rank(); ++k) {
      if (k == axis) continue;
      const auto dim = unify(joined->dims[k], shape.dims[k]);
      if (!dim)
        ctx.fail("shapes " + describe(*joined) + " and " + describe(shape) + " differ beside axis " + std::to_string(axis));
      joined->dims[k] = *dim;
    }
  }
  joined->dims[axis] = length;
  ctx.set(0, ctx.dtype(0), *joined);
  if (joined->rank() != 1 || is_floating(ctx.dtype(0))) return;
  std::vector<Dim> elements;
  bool any = false;
  for (std::size_t i = 0; i < ctx.input_count(); ++i) {
    const auto part = ctx.elements(i);
    const Dim count = element_count(ctx.shape(i));
    any = any || part.has_value();
    if (!count.is_constant() || count.value() > 1024) return;
    const std::vector<Dim> open(static_cast<std::size_t>(count.value()));
    elements.insert(elements.end(), part ? part->begin() : open.begin(), part ? part->end() : open.end());
  }
  if (any) ctx.set_elements(0, std::move(elements));
}

std::optional<std::vector<Region>> concat_regions(const Node& node, std::span<const TensorView> inputs,
                                                  std::span<const TensorView> outputs, std::size_t) {
  const TensorView& y = outputs[0];
  const std::size_t axis = axis_of(node, y.shape.size());
  std::vector<Region> regions;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    regions.push_back({i, inputs[i].shape, 0, inputs[i].strides, begin * y.strides[axis], y.strides});
    begin += inputs[i].shape[axis];
  }
  return regions;
}

constexpr AttributeSpec kConcat[] = {{"axis", AttributeType::integer, true}};

constexpr OpDef kOps[] = {
    {"concat", {1, kAnyNumber}, {1, 1}, kConcat, infer_concat, compute_movement<concat_regions>, concat_regions},
};

}  // namespace

std::span<const OpDef> concat_ops() { return kOps; }

}  // namespace jitney
