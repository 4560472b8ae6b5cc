// rnn: what the shape rule says and refuses, and a cell worked out by hand.
#include <cmath>

#include "run_node.h"
#include "symbolic.h"

using namespace jitney;
using namespace jitney::test;

namespace {

NamedAttribute texts(std::string name, std::vector<std::string> values) { return {std::move(name), std::move(values)}; }
NamedAttribute numbers_of(std::string name, std::vector<double> values) { return {std::move(name), std::move(values)}; }

Attributes attributes(const std::string& kind, const std::string& direction, const std::vector<std::string>& functions) {
  const std::vector<double> none(functions.size(), 0.0);
  return {text("kind", kind), text("direction", direction), texts("activations", functions), numbers_of("alpha", none),
          numbers_of("beta", none)};
}

}  // namespace

TEST_CASE("rnn: shapes follow from what is known") {
  const Node node = make_node("rnn", 3, 2, attributes("gru", "bidirectional", {"sigmoid", "tanh", "sigmoid", "tanh"}));
  const Dim steps = Dim::symbol(0), batch = Dim::symbol(1);
  const auto known = infer(node, {unknown(DType::float32, {steps, batch, 5}), unknown(DType::float32, {2, 12, 5}),
                                  unknown(DType::float32, {2, 12, 4})});
  REQUIRE(known[0].shape.rank() == 4);
  CHECK(known[0].shape.dims[0].same(steps));
  CHECK(known[0].shape.dims[1].same(2));
  CHECK(known[0].shape.dims[2].same(batch));
  CHECK(known[0].shape.dims[3].same(4));
  CHECK(known[1].shape.rank() == 3);
  Facts nothing;
  nothing.dtype = DType::float32;
  const auto open = infer(node, {nothing, nothing, nothing});
  CHECK(open[0].shape.dims[1].same(2));
  CHECK(open[0].shape.dims[3].is_unknown());
}

TEST_CASE("rnn: contradictions are refused") {
  const auto shapes = [](const Node& node, std::vector<Dim> x, std::vector<Dim> w, std::vector<Dim> r) {
    return infer(node, {unknown(DType::float32, std::move(x)), unknown(DType::float32, std::move(w)),
                        unknown(DType::float32, std::move(r))});
  };
  const Node node = make_node("rnn", 3, 1, attributes("lstm", "forward", {"sigmoid", "tanh", "tanh"}));
  CHECK_NOTHROW(shapes(node, {3, 2, 5}, {1, 16, 5}, {1, 16, 4}));
  CHECK_THROWS_AS(shapes(node, {3, 2, 6}, {1, 16, 5}, {1, 16, 4}), Error);
  CHECK_THROWS_AS(shapes(node, {3, 2, 5}, {2, 16, 5}, {2, 16, 4}), Error);
  CHECK_THROWS_AS(shapes(node, {3, 2, 5}, {1, 12, 5}, {1, 16, 4}), Error);
  CHECK_THROWS_AS(shapes(node, {3, 2, 5}, {1, 16, 5}, {1, 12, 4}), Error);
  CHECK_THROWS_AS(shapes(node, {2, 5}, {1, 16, 5}, {1, 16, 4}), Error);
  const auto bad = [&](Attributes given) { return make_node("rnn", 3, 1, std::move(given)); };
  CHECK_THROWS_AS(shapes(bad(attributes("lstm", "forward", {"sigmoid"})), {3, 2, 5}, {1, 16, 5}, {1, 16, 4}), Error);
  CHECK_THROWS_AS(shapes(bad(attributes("simple", "forward", {"abs"})), {3, 2, 5}, {1, 4, 5}, {1, 4, 4}), Error);
  CHECK_THROWS_AS(shapes(make_node("rnn", 3, 3, attributes("simple", "forward", {"tanh"})), {3, 2, 5}, {1, 4, 5}, {1, 4, 4}),
                  Error);
}

TEST_CASE("rnn: two steps of one unit") {
  const Node node = make_node("rnn", 4, 2, attributes("simple", "reverse", {"tanh"}));
  const Tensors y =
      run(node, {floats({2, 1, 1}, {1, 2}), floats({1, 1, 1}, {0.5}), floats({1, 1, 1}, {-1}), floats({1, 2}, {0.25, 0.5})});
  const double last = std::tanh(1.75), first = std::tanh(1.25 - last);
  check_close(y[0], {first, last});
  check_close(y[1], {first});
}
