// Writes by index into a copy of a tensor: scatter_elements, scatter_nd. Where indices repeat without a reduction, the last wins.
#include <array>
#include <cstring>

#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/region_copy.h"
#include "ops/rules.h"

namespace jitney {

namespace {

using namespace arithmetic;

/// Combines elements of the updates into elements of the result.
class Combine {
 public:
  Combine(const Node& node, DType dtype) : bytes_(size_of(dtype)) {
    const std::string_view word = node.text("reduction", "none");
    kind_ = word == "add"   ? Kind::add
            : word == "mul" ? Kind::mul
            : word == "max" ? Kind::max
            : word == "min" ? Kind::min
                            : Kind::none;
  }

  bool replaces() const noexcept { return kind_ == Kind::none; }

  void operator()(const TensorView& updates, std::int64_t from, const TensorView& y, std::int64_t to) const {
    if (replaces()) {
      std::memcpy(address(y, to), address(updates, from), bytes_);
    } else {
      run(updates, from, 1, y, to, 1, 1);
    }
  }

  /// The same for up to Walk::kPiece elements, apart by the strides; only with a reduction.
  void run(const TensorView& updates, std::int64_t from, std::int64_t from_stride, const TensorView& y, std::int64_t to,
           std::int64_t to_stride, std::size_t count) const {
    with_number_type(y.dtype, [&](auto type) {
      using T = decltype(type);
      std::array<T, static_cast<std::size_t>(Walk<2>::kPiece)> a, b;
      load_run(y.dtype, address(y, to), to_stride, count, a.data());
      load_run(y.dtype, address(updates, from), from_stride, count, b.data());
      for (std::size_t i = 0; i < count; ++i) a[i] = combined(a[i], b[i]);
      store_run(y.dtype, address(y, to), to_stride, count, a.data());
    });
  }

 private:
  enum class Kind : std::uint8_t { none, add, mul, max, min };

  template <typename T>
  T combined(T a, T b) const {
    switch (kind_) {
      case Kind::add:
        return Add::of(a, b);
      case Kind::mul:
        return Mul::of(a, b);
      case Kind::max:
        return Max::of(a, b);
      case Kind::min:
        return Min::of(a, b);
      case Kind::none:
        break;
    }
    return b;
  }

  Kind kind_ = Kind::none;
  std::size_t bytes_;
};

void check_operands(const InferContext& ctx) {
  expect_index(ctx, 1);
  expect_same_dtype(ctx, 0, 2);
  if (ctx.node().text("reduction", "none") != "none" && number_class(ctx.dtype(0)) == NumberClass::none) expect_number(ctx, 0);
}

void infer_scatter_elements(InferContext& ctx) {
  check_operands(ctx);
  const SymShape& x = ctx.shape(0);
  const SymShape& indices = ctx.shape(1);
  const SymShape& updates = ctx.shape(2);
  if (x.ranked) {
    const std::size_t axis = ctx.axis(ctx.node().integer("axis"), x.rank());
    expect_rank(ctx, 1, x.rank());
    expect_rank(ctx, 2, x.rank());
    for (std::size_t i = 0; indices.ranked && i < x.rank(); ++i) {
      const Dim excess = indices.dims[i] - x.dims[i];
      if (i != axis && excess.is_constant() && excess.value() > 0) {
        ctx.fail("indices of shape " + describe(indices) + " are larger than the operand of shape " + describe(x));
      }
      if (updates.ranked && !unify(indices.dims[i], updates.dims[i])) {
        ctx.fail("indices have shape " + describe(indices) + ", but updates have shape " + describe(updates));
      }
    }
  }
  ctx.set(0, ctx.dtype(0), x);
}

void compute_scatter_elements(const ComputeContext& ctx) {
  const TensorView& indices = ctx.input(1);
  const TensorView& updates = ctx.input(2);
  const TensorView& y = ctx.output(0);
  copy_tensor(ctx.input(0), y);
  const std::size_t axis = axis_of(ctx.node(), y.shape.size());
  Shape others = y.strides;
  others[axis] = 0;
  const Combine combine(ctx.node(), y.dtype);
  Walk<3>(indices.shape, {indices.strides, updates.strides, others}).for_each([&](const std::array<std::int64_t, 3>& at) {
    const std::int64_t index = checked_index(ctx, load_int64(indices, at[0]), y.shape[axis]);
    combine(updates, at[1], y, at[2] + index * y.strides[axis]);
  });
}

void infer_scatter_nd(InferContext& ctx) {
  check_operands(ctx);
  const SymShape& x = ctx.shape(0);
  const SymShape& indices = ctx.shape(1);
  const SymShape& updates = ctx.shape(2);
  if (indices.ranked && indices.rank() == 0) ctx.fail("indices are a scalar, but must have rank 1 or more");
  if (x.ranked && indices.ranked && indices.dims.back().is_constant()) {
    const std::int64_t depth = indices.dims.back().value();
    if (depth > static_cast<std::int64_t>(x.rank())) {
      ctx.fail("indices of shape " + describe(indices) + " name more axes than the shape " + describe(x) + " has");
    }
    std::vector<Dim> wanted(indices.dims.begin(), indices.dims.end() - 1);
    wanted.insert(wanted.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(depth), x.dims.end());
    bool fits = !updates.ranked || updates.rank() == wanted.size();
    for (std::size_t i = 0; fits && i < updates.rank(); ++i) fits = unify(updates.dims[i], wanted[i]).has_value();
    if (!fits) ctx.fail("updates have shape " + describe(updates) + ", but must have " + describe(SymShape::of(wanted)));
  }
  ctx.set(0, ctx.dtype(0), x);
}

void compute_scatter_nd(const ComputeContext& ctx) {
  const TensorView& indices = ctx.input(1);
  const TensorView& updates = ctx.input(2);
  const TensorView& y = ctx.output(0);
  copy_tensor(ctx.input(0), y);
  const std::size_t outer = indices.shape.size() - 1;
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  Shape sizes, index_strides, update_strides, slab, from_strides, to_strides;
  for (std::size_t i = 0; i < outer; ++i) {
    sizes.push_back(indices.shape[i]);
    index_strides.push_back(indices.strides[i]);
    update_strides.push_back(updates.strides[i]);
  }
  for (std::size_t i = depth; i < y.shape.size(); ++i) {
    slab.push_back(y.shape[i]);
    from_strides.push_back(updates.strides[outer + i - depth]);
    to_strides.push_back(y.strides[i]);
  }
  const Combine combine(ctx.node(), y.dtype);
  const std::int64_t count = slab.elements();
  const Walk<2> within_slab(slab, {from_strides, to_strides});
  const RegionCopy copy(size_of(y.dtype), slab, from_strides, to_strides);
  Walk<2>(sizes, {index_strides, update_strides}).for_each([&](const std::array<std::int64_t, 2>& at) {
    std::int64_t to = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int64_t given = load_int64(indices, at[0] + static_cast<std::int64_t>(k) * indices.strides[outer]);
      to += checked_index(ctx, given, y.shape[k]) * y.strides[k];
    }
    if (count == 1) return combine(updates, at[1], y, to);
    if (combine.replaces()) {
      if (count != 0) copy(address(updates, at[1]), address(y, to));
      return;
    }
    within_slab.for_each_piece([&](const std::array<std::int64_t, 2>& in, std::size_t piece) {
      combine.run(updates, at[1] + in[0], within_slab.run_strides[0], y, to + in[1], within_slab.run_strides[1], piece);
    });
  });
}

constexpr std::string_view kReductions = "none|add|mul|max|min";
constexpr AttributeSpec kScatterElements[] = {{"axis", AttributeType::integer, true},
                                              {"reduction", AttributeType::text, false, kReductions}};
constexpr AttributeSpec kScatterNd[] = {{"reduction", AttributeType::text, false, kReductions}};

constexpr OpDef kOps[] = {
    {"scatter_elements", {3, 3}, {1, 1}, kScatterElements, infer_scatter_elements, compute_scatter_elements},
    {"scatter_nd", {3, 3}, {1, 1}, kScatterNd, infer_scatter_nd, compute_scatter_nd},
};

}  // namespace

std::span<const OpDef> scatter_ops() { return kOps; }

}  // namespace jitney
