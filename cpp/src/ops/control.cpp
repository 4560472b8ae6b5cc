// Control flow: shape rules only. The executor runs branches and bodies.
#include <algorithm>

#include "ops/families.h"
#include "ops/rules.h"

namespace jitney {

namespace {

/// What is true of a value that comes from either of two places, with the same dtype.
Facts join(const Facts& a, const Facts& b) {
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

void set(InferContext& ctx, std::size_t output, const Facts& facts) {
  ctx.set(output, facts.dtype, facts.shape);
  if (facts.elements) ctx.set_elements(output, *facts.elements);
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
  // A branch whose shapes contradict each other cannot be run, but perhaps it never is.
  const auto attempt = [&](std::string_view name) -> std::optional<std::vector<Facts>> {
    try {
      return branch(name);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_model && error.code() != ErrorCode::invalid_input) throw;
      return std::nullopt;
    }
  };
  const auto condition = ctx.integers(0);
  if (condition && condition->size() == 1) {
    const std::vector<Facts> results = branch((*condition)[0] != 0 ? "then" : "else");
    for (std::size_t i = 0; i < results.size(); ++i) set(ctx, i, results[i]);
    return;
  }
  std::optional<std::vector<Facts>> possible = attempt("then");
  const std::vector<Facts> no = possible ? attempt("else").value_or(*possible) : branch("else");
  const std::vector<Facts> yes = possible ? *std::move(possible) : no;
  for (std::size_t i = 0; i < yes.size(); ++i) {
    if (yes[i].dtype != no[i].dtype) {
      ctx.fail("result " + std::to_string(i) + " has dtype " + std::string(to_string(yes[i].dtype)) + " in one branch and " +
               std::string(to_string(no[i].dtype)) + " in the other");
    }
    set(ctx, i, join(yes[i], no[i]));
  }
}

bool same(const Facts& a, const Facts& b) {
  const auto same_dims = [](const std::vector<Dim>& x, const std::vector<Dim>& y) {
    return std::ranges::equal(
        x, y, [](const Dim& one, const Dim& other) { return one.is_unknown() ? other.is_unknown() : one.same(other); });
  };
  return a.shape.ranked == b.shape.ranked && same_dims(a.shape.dims, b.shape.dims) &&
         a.elements.has_value() == b.elements.has_value() && (!a.elements || same_dims(*a.elements, *b.elements));
}

constexpr std::size_t kTripCount = 0, kCondition = 1, kCarried = 2;

/// How the operands and results of a loop divide.
struct LoopCounts {
  std::size_t carried, captured, gathered;
};

LoopCounts count_loop(const InferContext& ctx) {
  const std::int64_t carried = ctx.node().integer("carried");
  const std::size_t passed = ctx.input_count() - std::min(ctx.input_count(), kCarried);
  if (carried < 0 || carried > static_cast<std::int64_t>(std::min(passed, ctx.output_count()))) {
    ctx.fail("it cannot carry " + std::to_string(carried) + " values with " + std::to_string(ctx.input_count()) +
             " operands and " + std::to_string(ctx.output_count()) + " results");
  }
  const auto count = static_cast<std::size_t>(carried);
  for (std::size_t i = kCarried; i < ctx.input_count(); ++i)
    if (!ctx.has(i)) ctx.fail("operand " + std::to_string(i) + " is left out, but is carried or captured");
  return {count, passed - count, ctx.output_count() - count};
}

/// One pass over the body. Its results: the condition, the carried values, what is gathered.
std::vector<Facts> infer_body(const InferContext& ctx, const LoopCounts& counts, std::span<const Facts> given) {
  std::vector<Facts> results = ctx.infer_subgraph(ctx.node().graph("body"), given);
  if (results.size() != 1 + ctx.output_count()) {
    ctx.fail("its body has " + std::to_string(results.size()) + " results, but must have " +
             std::to_string(1 + ctx.output_count()) + ": the condition, then one for each result of the loop");
  }
  const Dim conditions = element_count(results[0].shape);
  if (results[0].dtype != DType::boolean || (conditions.is_constant() && conditions.value() != 1))
    ctx.fail("its body must return one bool first, the condition, not " + std::string(to_string(results[0].dtype)) + " " +
             describe(results[0].shape));
  for (std::size_t i = 1; i <= counts.carried; ++i) {
    if (results[i].dtype == given[1 + i].dtype) continue;
    ctx.fail("carried value " + std::to_string(i - 1) + " is " + std::string(to_string(given[1 + i].dtype)) +
             " when it enters the body and " + std::string(to_string(results[i].dtype)) + " when it leaves it");
  }
  return results;
}

/// The number of iterations where it is certain.
Dim iterations(const InferContext& ctx, const Facts& condition) {
  if (!condition.elements || !condition.elements->front().is_constant()) return Dim::unknown();
  if (condition.elements->front().value() == 0) return 0;
  const auto trips = ctx.elements(kTripCount);
  if (!trips || trips->size() != 1) return Dim::unknown();
  const Dim& count = trips->front();
  if (count.is_constant()) return std::max<std::int64_t>(count.value(), 0);
  // Symbols are sizes, so a sum of them cannot be negative.
  const bool certain = count.is_symbolic() && count.constant() >= 0 &&
                       std::ranges::all_of(count.terms(), [](const Dim::Term& term) { return term.coefficient >= 0; });
  return certain ? count : Dim::unknown();
}

SymShape gathered_shape(const SymShape& element, const Dim& count, bool joined) {
  if (!element.ranked) return element;
  std::vector<Dim> dims(element.dims.begin() + (joined ? 1 : 0), element.dims.end());
  dims.insert(dims.begin(), joined ? count * element.dims[0] : count);
  return SymShape::of(std::move(dims));
}

/// Facts of the carried values are weakened until the body leaves them as they are.
void infer_loop(InferContext& ctx) {
  const LoopCounts counts = count_loop(ctx);
  const std::vector<std::int64_t>& joined = ctx.node().integers("joined");
  if (!joined.empty() && joined.size() != counts.gathered)
    ctx.fail("it has " + std::to_string(joined.size()) + " flags in 'joined' for " + std::to_string(counts.gathered) +
             " gathered results");
  ctx.expect_dtype(kTripCount, {DType::int64});
  ctx.expect_dtype(kCondition, {DType::boolean});
  for (const std::size_t operand : {kTripCount, kCondition})
    if (ctx.has(operand)) expect_one_element(ctx, operand);

  std::vector<Facts> given(2 + counts.carried + counts.captured);
  given[0] = {DType::int64, SymShape::of({}), std::nullopt, std::nullopt};
  given[1] = {DType::boolean, SymShape::of({}), std::vector<Dim>{1}, std::nullopt};
  if (ctx.has(kCondition)) given[1].elements = ctx.elements(kCondition);
  for (std::size_t i = 0; i < counts.carried; ++i) {
    const Facts& initial = ctx.facts(kCarried + i);
    given[2 + i] = {initial.dtype, initial.shape, ctx.elements(kCarried + i), std::nullopt};
  }
  for (std::size_t i = 0; i < counts.captured; ++i) given[2 + counts.carried + i] = ctx.facts(kCarried + counts.carried + i);

  // Two rounds settle nearly all loops; after three, nothing is claimed of what is carried.
  std::vector<Facts> results;
  bool settled = false;
  for (int round = 0; !settled; ++round) {
    results = infer_body(ctx, counts, given);
    results[0].shape = given[1].shape;  // [1] is as good as a scalar
    settled = true;
    for (std::size_t i = 0; i <= counts.carried; ++i) {
      Facts joint = join(given[1 + i], results[i]);
      if (same(joint, given[1 + i])) continue;
      given[1 + i] = std::move(joint);
      settled = false;
    }
    if (round < 3 || settled) continue;
    for (std::size_t i = 1; i <= counts.carried; ++i) given[1 + i] = {given[1 + i].dtype, {}, std::nullopt, std::nullopt};
    given[1].elements.reset();
  }
  for (std::size_t i = 0; i < counts.carried; ++i) set(ctx, i, given[2 + i]);
  const Dim count = iterations(ctx, given[1]);
  for (std::size_t i = 0; i < counts.gathered; ++i) {
    const Facts& element = results[1 + counts.carried + i];
    const bool join_them = !joined.empty() && joined[i] != 0;
    if (join_them && element.shape.ranked && element.shape.rank() == 0)
      ctx.fail("result " + std::to_string(counts.carried + i) + " joins along axis 0, but its elements are scalars");
    ctx.set(counts.carried + i, element.dtype, gathered_shape(element.shape, count, join_them));
  }
}

constexpr AttributeSpec kIf[] = {{"then", AttributeType::graph, true}, {"else", AttributeType::graph, true}};

constexpr AttributeSpec kLoop[] = {
    {"body", AttributeType::graph, true}, {"carried", AttributeType::integer, true}, {"joined", AttributeType::integers}};

constexpr OpDef kOps[] = {
    {"if", {1, kAnyNumber}, {1, kAnyNumber}, kIf, infer_if, nullptr, nullptr, 0b1},
    {"loop", {0, kAnyNumber}, {0, kAnyNumber}, kLoop, infer_loop, nullptr, nullptr, 0, true},
};

}  // namespace

std::span<const OpDef> control_ops() { return kOps; }

}  // namespace jitney
