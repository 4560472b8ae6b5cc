// Affine dims and attribute getters.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "graph/dim.h"
#include "graph/graph.h"
#include "jitney/error.h"

namespace {

using namespace jitney;

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
const Dim N = Dim::symbol(0), M = Dim::symbol(1);

std::string text(const Dim& dim) { return to_string(dim, {"N", "M"}); }

TEST_CASE("dims print as formulas") {
  CHECK(text(224) == "224");
  CHECK(text(N) == "N");
  CHECK(text(Dim::unknown()) == "?");
  CHECK(text(N * Dim(2) + Dim(1)) == "2*N + 1");
  CHECK(text(Dim(0) - N) == "-N");
  CHECK(text(M - N - Dim(3)) == "-N + M - 3");
  CHECK(text(Dim::affine(kLeast, {{5, kLeast}})) == "-9223372036854775808*#5 - 9223372036854775808");
}

TEST_CASE("affine terms are sorted, merged and stripped of zeros") {
  CHECK(Dim::affine(1, {{1, 2}, {0, 3}, {1, -2}}).same(N * Dim(3) + Dim(1)));
  CHECK((N - N).is_constant());
  CHECK((N - N).value() == 0);
  CHECK((N * Dim(0)).is_constant());
  CHECK(Dim::affine(0, {{0, kMost}, {0, 1}}).is_unknown());
  CHECK_FALSE(N.same(M));
  CHECK_FALSE(Dim::unknown().same(Dim::unknown()));
}

TEST_CASE("arithmetic leaves the affine world as unknown") {
  CHECK((N * M).is_unknown());
  CHECK((N + Dim::unknown()).is_unknown());
  CHECK((Dim(3) - Dim(5)).value() == -2);
  CHECK((Dim(0) - Dim(kLeast)).is_unknown());
  CHECK((Dim(-1) - Dim(kLeast)).value() == kMost);
  CHECK((Dim(kMost) + Dim(1)).is_unknown());
  CHECK((Dim(kMost) * Dim(2)).is_unknown());
  CHECK((N * Dim(kMost) + N).is_unknown());
}

TEST_CASE("floor division is exact or unknown") {
  CHECK(floor_div(7, 2).value() == 3);
  CHECK(floor_div(-7, 2).value() == -4);
  CHECK(floor_div(7, -2).value() == -4);
  CHECK(floor_div(7, 0).is_unknown());
  CHECK(floor_div(kLeast, -1).is_unknown());
  CHECK(floor_div(kMost, -1).value() == -kMost);
  CHECK(floor_div(N * Dim(4) + Dim(3), 2).same(N * Dim(2) + Dim(1)));
  CHECK(floor_div(N * Dim(4) - Dim(1), 2).same(N * Dim(2) - Dim(1)));
  CHECK(floor_div(N + Dim(1), 2).is_unknown());
  CHECK(floor_div(N * Dim(6), N * Dim(2)).value() == 3);
  CHECK(floor_div(N * Dim(6) + Dim(3), N * Dim(2) + Dim(1)).value() == 3);
  CHECK(floor_div(N * Dim(6) + Dim(3), N * Dim(2)).is_unknown());
  CHECK(floor_div(N, M).is_unknown());
  CHECK(floor_div(6, N).is_unknown());
  CHECK(floor_div(0, N).value() == 0);
}

TEST_CASE("substitution fills in what is assigned") {
  const Dim dim = N * Dim(2) + M + Dim(1);
  CHECK(dim.substitute({3, 4}).value() == 11);
  CHECK(dim.substitute({3}).same(M + Dim(7)));
  CHECK(dim.substitute({}).same(dim));
  CHECK(dim.substitute({kMost, 0}).is_unknown());
  CHECK(Dim::unknown().substitute({1}).is_unknown());
  CHECK(SymShape::of({1, 2}).is_constant());
  CHECK_FALSE(SymShape::of({1, N}).is_constant());
  CHECK_FALSE(SymShape::unranked().is_constant());
}

TEST_CASE("attributes are read by type") {
  Node node;
  node.op = "conv";
  node.attributes = {{"group", std::int64_t{3}},    {"alpha", 0.5},
                     {"mode", std::string("same")}, {"pads", std::vector<std::int64_t>{1, 2}},
                     {"then", GraphRef{4}},         {"value", ConstantRef{7}}};
  CHECK(node.integer("group") == 3);
  CHECK(node.integer("other", 9) == 9);
  CHECK(node.number("alpha") == 0.5);
  CHECK(node.number("beta", 2) == 2);
  CHECK(node.text("mode") == "same");
  CHECK(node.text("other", "none") == "none");
  CHECK(node.integers("pads").size() == 2);
  CHECK(node.integers("strides").empty());
  CHECK(node.numbers("scales").empty());
  CHECK(node.graph("then") == 4);
  CHECK(node.constant("value") == 7u);
  CHECK_FALSE(node.constant("other"));
  CHECK_THROWS_AS(node.integer("missing"), Error);
  CHECK_THROWS_AS(node.integer("alpha"), Error);
  CHECK_THROWS_AS(node.graph("missing"), Error);
}

}  // namespace
