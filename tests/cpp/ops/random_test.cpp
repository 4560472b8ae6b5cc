// random: the Mersenne twister's numbers in any layout, and shapes that are refused.
#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

Node random_node(const std::string& distribution, double a, double b) {
  return make_node("random", 1, 1,
                   {text("distribution", distribution), number("a", a), number("b", b), integer("to", 11), integer("seed", 0)});
}

}  // namespace

TEST_CASE("random: the numbers of NumPy's RandomState(0)") {
  check_close(run(random_node("uniform", 0, 1), {int64s({2}, {2, 2})})[0],
              {0.5488135039273248, 0.7151893663724195, 0.6027633760716439, 0.5448831829968969});
  check_close(run(random_node("normal", 0, 1), {int64s({1}, {3})})[0],
              {1.764052345967664, 0.4001572083672233, 0.9787379841057392});
}

TEST_CASE("random: shapes") {
  CHECK(run(random_node("normal", 0, 1), {int64s({2}, {0, 3})})[0].shape() == Shape{0, 3});
  CHECK_THROWS_AS(run(random_node("normal", 0, 1), {int64s({1}, {-1})}), Error);
  Node node = random_node("uniform", 0, 1);
  node.attributes[3] = integer("to", 6);
  CHECK_THROWS_AS(run(node, {int64s({1}, {2})}), Error);
}
