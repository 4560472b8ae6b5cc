// random: numbers from the Mersenne twister, the same on every computer and as NumPy's RandomState draws them if a seed is given.
#include <array>
#include <atomic>
#include <cmath>
#include <random>

#include "ops/access.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 5> kAttributes = {{
    {"distribution", AttributeType::text, true, "uniform|normal"},
    {"a", AttributeType::number, true},
    {"b", AttributeType::number, true},
    {"to", AttributeType::integer, true},
    {"seed", AttributeType::integer},
}};

void infer_random(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::int64});
  expect_rank(ctx, 0, 1);
  const auto to = static_cast<DType>(ctx.node().integer("to"));
  if (to != DType::float32 && to != DType::float64 && to != DType::float16 && to != DType::bfloat16) {
    ctx.fail("random numbers have dtype float32, float64, float16 or bfloat16, not number " +
             std::to_string(ctx.node().integer("to")));
  }
  const SymShape& list = ctx.shape(0);
  if (const auto dims = ctx.elements(0)) {
    for (const Dim& dim : *dims) {
      if (dim.is_constant() && dim.value() < 0) ctx.fail("the shape has the size " + std::to_string(dim.value()));
    }
    return ctx.set(0, to, SymShape::of(*dims));
  }
  const bool ranked = list.ranked && list.dims[0].is_constant() && list.dims[0].value() <= static_cast<std::int64_t>(kMaxRank);
  if (!ranked) return ctx.set(0, to, SymShape::unranked());
  ctx.set(0, to, SymShape::of(std::vector<Dim>(static_cast<std::size_t>(list.dims[0].value()))));
}

/// A start that no other node or run has had.
std::mt19937 unseeded() {
  static const std::uint64_t base = [] {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
  }();
  static std::atomic<std::uint64_t> count{0};
  const std::uint64_t start = base + count.fetch_add(1);
  std::seed_seq sequence{static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(start >> 32)};
  return std::mt19937(sequence);
}

class Draw {
 public:
  explicit Draw(const Node& node)
      : twister_(node.find("seed") != nullptr ? std::mt19937(static_cast<std::uint32_t>(node.integer("seed"))) : unseeded()),
        normal_(node.text("distribution") == "normal"),
        a_(node.number("a")),
        b_(node.number("b")) {}

  double operator()() { return normal_ ? a_ + b_ * normal() : a_ + (b_ - a_) * uniform(); }

 private:
  /// In [0, 1), with 53 bits.
  double uniform() {
    const auto high = static_cast<double>(twister_() >> 5), low = static_cast<double>(twister_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  /// By the polar method, which gives two at a time.
  double normal() {
    if (waiting_) {
      waiting_ = false;
      return second_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    second_ = factor * x;
    waiting_ = true;
    return factor * y;
  }

  std::mt19937 twister_;
  bool normal_;
  double a_, b_;  // ends of the range; mean and standard deviation
  bool waiting_ = false;
  double second_ = 0;
};

void compute_random(const ComputeContext& ctx) {
  const TensorView& y = ctx.output(0);
  Draw draw(ctx.node());
  const Walk<1> walk(y.shape, {y.strides});
  std::array<double, Walk<1>::kPiece> piece;
  walk.for_each_piece([&](const std::array<std::int64_t, 1>& at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) piece[i] = draw();
    store_run(y.dtype, address(y, at[0]), walk.run_strides[0], count, piece.data());
  });
}

constexpr std::array<OpDef, 1> kOps = {
    {{"random", {1, 1}, {1, 1}, kAttributes, infer_random, compute_random, nullptr, 0b1, false, /*pure=*/false}}};

}  // namespace

std::span<const OpDef> random_ops() { return kOps; }

}  // namespace jitney
