// Control flow: shape rules only. The executor runs the branches.
#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

/// What is true of a value that comes from either of two places.
Facts join(const InferContext& ctx, std::size_t output, const Facts& a, const Facts& b) {
  if (a.dtype != b.dtype) {
    ctx.fail("result " + std::to_string(output) + " has dtype " + std::string(to_string(a.dtype)) + " in one branch and " +
             std::string(to_string(b.dtype)) + " in the other");
  }
  Facts joined;
  joined.dtype = a.dtype;
  if (!a.shape.ranked || !b.shape.ranked || a.shape.rank() != b.shape.rank()) return joined;
  joined.shape.ranked = true;
  for (std::size_t i = 0; i < a.shape.rank(); ++i) {
    joined.shape.dims.push_back(a.shape.dims[i].same(b.shape.dims[i]) ? a.shape.dims[i] : Dim::unknown());
  }
  if (a.elements && b.elements && a.elements->size() == b.elements->size()) {
    joined.elements.emplace();
    for (std::size_t i = 0; i < a.elements->size(); ++i) {
      joined.elements->push_back((*a.elements)[i].same((*b.elements)[i]) ? (*a.elements)[i] : Dim::unknown());
    }
  }
  return joined;
}

void infer_if(InferContext& ctx) {
  ctx.expect_dtype(0, {DType::boolean});
  expect_one_element(ctx, 0);
  std::vector<Facts> captured;
  for (std::size_t i = 1; i < ctx.input_count(); ++i) captured.push_back(ctx.has(i) ? ctx.facts(i) : Facts{});
  const auto branch = [&](std::string_view name) {
    std::vector<Facts> results = ctx.infer_subgraph(ctx.node().graph(name), captured);
    if (results.size() != ctx.output_count()) {
      ctx.fail("branch '" + std::string(name) + "' has " + std::to_string(results.size()) + " results, but the node has " +
               std::to_string(ctx.output_count()));
    }
    return results;
  };
  const auto set = [&](std::size_t output, const Facts& facts) {
    ctx.set(output, facts.dtype, facts.shape);
    if (facts.elements) ctx.set_elements(output, *facts.elements);
  };
  const auto condition = ctx.integers(0);
  if (condition && condition->size() == 1) {
    const std::vector<Facts> results = branch((*condition)[0] != 0 ? "then" : "else");
    for (std::size_t i = 0; i < results.size(); ++i) set(i, results[i]);
    return;
  }
  const std::vector<Facts> yes = branch("then"), no = branch("else");
  for (std::size_t i = 0; i < yes.size(); ++i) set(i, join(ctx, i, yes[i], no[i]));
}

constexpr AttributeSpec kIf[] = {{"then", AttributeType::graph, true}, {"else", AttributeType::graph, true}};

constexpr OpDef kOps[] = {
    {"if", {1, kAnyNumber}, {1, kAnyNumber}, kIf, infer_if, nullptr, nullptr, 0b1},
};

}  // namespace

std::span<const OpDef> control_ops() { return kOps; }

}  // namespace jitney
