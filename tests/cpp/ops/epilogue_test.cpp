// Activations of the shared epilogue at points whose values are known.
#include "ops/epilogue.h"

#include <cmath>
#include <limits>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

double activated(const char* word, double x, Attributes more = {}) {
  more.push_back(text("activation", word));
  return parse_epilogue(make_node("conv", 2, 1, std::move(more))).activate(x, 0.25);
}

}  // namespace

TEST_CASE("activations") {
  CHECK(activated("none", -3) == -3);
  CHECK(activated("relu", -3) == 0);
  CHECK(activated("relu", 3) == 3);
  CHECK(activated("clip", 7) == 7);
  CHECK(activated("clip", 7, {number("alpha", 0), number("beta", 6)}) == 6);
  CHECK(activated("leaky_relu", -2) == doctest::Approx(-0.02));
  CHECK(activated("leaky_relu", -2, {number("alpha", 0.5)}) == -1);
  CHECK(activated("prelu", -2) == -0.5);
  CHECK(activated("hard_swish", -4) == 0);
  CHECK(activated("hard_swish", 4) == 4);
  CHECK(activated("hard_swish", 1) == doctest::Approx(4.0 / 6));
  CHECK(activated("hard_sigmoid", 1) == doctest::Approx(0.7));
  CHECK(activated("hard_sigmoid", -9) == 0);
  CHECK(activated("silu", 1) == doctest::Approx(0.7310585786300049));
  CHECK(activated("sigmoid", 0) == 0.5);
  CHECK(activated("tanh", 0.5) == doctest::Approx(0.46211715726000973));
  CHECK(activated("gelu", 1) == doctest::Approx(0.8413447460685429));
  CHECK(activated("gelu_tanh", 1) == doctest::Approx(0.8411919906082768));
}

TEST_CASE("activations pass NaN and take infinity as arithmetic does") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* word : {"none", "relu", "clip", "leaky_relu", "prelu", "hard_swish", "hard_sigmoid", "silu", "sigmoid", "tanh",
                           "gelu", "gelu_tanh"}) {
    CAPTURE(word);
    CHECK(std::isnan(activated(word, nan)));
  }
  CHECK(activated("relu", infinity) == infinity);
  CHECK(activated("relu", -infinity) == 0);
  CHECK(activated("sigmoid", -infinity) == 0);
  CHECK(activated("clip", -infinity) == -infinity);
}

TEST_CASE("the residual comes before the activation or after it") {
  Epilogue epilogue{Activation::relu, 0, 0, false};
  CHECK(epilogue.apply(-3, 2, 0) == 0);
  epilogue.residual_after = true;
  CHECK(epilogue.apply(-3, 2, 0) == 2);
}
