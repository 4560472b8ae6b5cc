// col2im: windows, given as columns, added up to a picture.
#include <algorithm>
#include <array>
#include <string>

#include "ops/arithmetic.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/rules.h"
#include "ops/window.h"

namespace jitney {

namespace {

void infer_col2im(InferContext& ctx) {
  if (ctx.dtype(0) != DType::boolean) expect_number(ctx, 0);
  expect_rank(ctx, 0, 3);
  for (std::size_t i = 1; i < 3; ++i) {
    expect_index(ctx, i);
    expect_rank(ctx, i, 1);
  }
  auto image = ctx.elements(1);
  const auto block = ctx.elements(2);
  const SymShape &x = ctx.shape(0), &list = ctx.shape(1);
  if (!image) {
    if (!list.ranked || !list.dims[0].is_constant()) return ctx.set(0, ctx.dtype(0), SymShape::unranked());
    const auto rank = std::clamp<std::int64_t>(list.dims[0].value(), 0, kMaxRank);
    image = std::vector<Dim>(static_cast<std::size_t>(rank));
  }
  if (block && block->size() != image->size()) {
    ctx.fail("image_shape has " + std::to_string(image->size()) + " sizes and block_shape " + std::to_string(block->size()) +
             "; they must have as many");
  }
  std::vector<Dim> dims{x.ranked ? x.dims[0] : Dim::unknown(), Dim::unknown()};
  dims.insert(dims.end(), image->begin(), image->end());
  if (image->empty() || dims.size() > kMaxRank) ctx.fail("image_shape has " + std::to_string(image->size()) + " sizes");
  for (const Dim& size : *image) {
    if (size.is_constant() && size.value() < 0) ctx.fail("image_shape has the size " + std::to_string(size.value()));
  }
  if (block) {
    const std::vector<Dim> windows = infer_window(ctx, *image, *block);
    Dim taps(1), blocks(1);
    for (const Dim& size : *block) taps = taps * size;
    for (const Dim& size : windows) blocks = blocks * size;
    if (x.ranked && x.dims[1].is_constant() && taps.is_constant()) {
      if (x.dims[1].value() % taps.value() != 0) {
        ctx.fail("x has " + std::to_string(x.dims[1].value()) + " rows, no multiple of the " + std::to_string(taps.value()) +
                 " elements of a block");
      }
      dims[1] = Dim(x.dims[1].value() / taps.value());
    }
    if (x.ranked) (void)merge(ctx, x.dims[2], blocks, "the number of blocks");
  }
  ctx.set(0, ctx.dtype(0), SymShape::of(std::move(dims)));
}

void compute_col2im(const ComputeContext& ctx) {
  const TensorView &x = ctx.input(0), &y = ctx.output(0);
  const WindowGeometry geometry = window_geometry(ctx.node(), spatial_sizes(y.shape), Shape(read_integers(ctx.input(2))));
  const std::int64_t planes = y.shape[0] * y.shape[1], pixels = geometry.input.elements();
  const std::int64_t taps = geometry.kernel.elements(), windows = geometry.output.elements();
  if (planes == 0) return;
  // Where each tap of each window goes, tap by tap, as x lists its elements.
  std::vector<std::int64_t> targets(static_cast<std::size_t>(taps * windows)), of_window;
  for (std::int64_t window = 0; window < windows; ++window) {
    tap_sources(geometry, window, of_window);
    for (std::int64_t tap = 0; tap < taps; ++tap) targets[tap * windows + window] = of_window[tap];
  }
  with_number_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<T> result(static_cast<std::size_t>(planes * pixels)), row(static_cast<std::size_t>(windows));
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const std::int64_t image = plane / y.shape[1], channel = plane % y.shape[1];
      T* to = result.data() + plane * pixels;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t from = image * x.strides[0] + (channel * taps + tap) * x.strides[1];
        load_run(x.dtype, address(x, from), x.strides[2], row.size(), row.data());
        const std::int64_t* target = targets.data() + tap * windows;
        for (std::size_t i = 0; i < row.size(); ++i) {
          if (target[i] >= 0) to[target[i]] = arithmetic::Add::of(to[target[i]], row[i]);
        }
      }
    }
    write_dense(y, result);
  });
}

constexpr OpDef kOps[] = {
    {"col2im", {3, 3}, {1, 1}, kWindowAttributes, infer_col2im, compute_col2im, nullptr, 0b110},
};

}  // namespace

std::span<const OpDef> fold_ops() { return kOps; }

}  // namespace jitney
