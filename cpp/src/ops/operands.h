// What the network ops share: joined attribute lists, checks of operands' dtypes and dims, results written from dense lists.
#pragma once

#include <array>
#include <vector>

#include "ops/access.h"
#include "ops/op.h"

namespace jitney {

/// Fails unless operand `input` is left out or has the dtype of operand 0.
void expect_dtype_of_first(const InferContext& ctx, std::size_t input);

/// Whether two dims may be equal at run time.
bool may_equal(const Dim& a, const Dim& b);

/// The better known of two dims that must be equal; fails, saying "`what` is 3 here and 4 there", if they contradict.
Dim merge(const InferContext& ctx, const Dim& a, const Dim& b, std::string_view what);

/// The dims from axis 2 on.
std::vector<Dim> spatial_dims(const SymShape& shape);
Shape spatial_sizes(const Shape& shape);

/// Product of the sizes of axes [from, to).
std::int64_t product(const Shape& shape, std::size_t from, std::size_t to);

/// Joins the attribute lists of an op and of what it shares with others.
template <std::size_t A, std::size_t B>
constexpr std::array<AttributeSpec, A + B> join(const std::array<AttributeSpec, A>& a, const std::array<AttributeSpec, B>& b) {
  std::array<AttributeSpec, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

/// Writes a row-major list into a view of any strides.
template <typename T>
void write_dense(const TensorView& view, const std::vector<T>& values) {
  const Walk<1> walk(view.shape, {view.strides});
  const T* from = values.data();
  walk.for_each_piece([&](const std::array<std::int64_t, 1>& offsets, std::size_t count) {
    store_run(view.dtype, address(view, offsets[0]), walk.run_strides[0], count, from);
    from += count;
  });
}

}  // namespace jitney
