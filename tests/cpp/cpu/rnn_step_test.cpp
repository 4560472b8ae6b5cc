// Recurrent steps against the reference, and rows of a batch against themselves alone.
#include <algorithm>

#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

struct Network {
  std::string kind, direction = "forward";
  std::int64_t steps, batch, inputs, hidden;
  bool optional = true;  // bias, initial states and (lstm) peepholes are given
  bool lengths = false;
  std::vector<NamedAttribute> attributes = {};
  std::vector<std::string> functions = {};  // of one direction
};

Case make(std::mt19937& rng, const Network& n) {
  const bool lstm = n.kind == "lstm";
  const std::int64_t directions = n.direction == "bidirectional" ? 2 : 1, gates = lstm ? 4 : n.kind == "gru" ? 3 : 1;
  const auto random_if = [&](bool given, const Shape& shape) { return given ? random(rng, DType::float32, shape) : Stored(); };
  std::vector<std::string> each = n.functions;
  if (each.empty())
    each = lstm ? std::vector<std::string>{"sigmoid", "tanh", "tanh"} : std::vector<std::string>{"sigmoid", "tanh"};
  if (each.size() == 2 && gates == 1) each = {"tanh"};
  std::vector<std::string> functions;
  for (std::int64_t d = 0; d < directions; ++d) functions.insert(functions.end(), each.begin(), each.end());
  const std::vector<double> alpha(functions.size(), 0.3), beta(functions.size(), 0.4);
  Case c;
  c.node.op = "rnn";
  c.node.attributes = {
      {"kind", n.kind}, {"direction", n.direction}, {"activations", functions}, {"alpha", alpha}, {"beta", beta}};
  c.node.attributes.insert(c.node.attributes.end(), n.attributes.begin(), n.attributes.end());
  c.inputs = {random(rng, DType::float32, {n.steps, n.batch, n.inputs}),
              random(rng, DType::float32, {directions, gates * n.hidden, n.inputs}),
              random(rng, DType::float32, {directions, gates * n.hidden, n.hidden}),
              random_if(n.optional, {directions, 2 * gates * n.hidden}),
              Stored(),
              random_if(n.optional, {directions, n.batch, n.hidden})};
  if (lstm) {
    c.inputs.push_back(random_if(n.optional, {directions, n.batch, n.hidden}));
    c.inputs.push_back(random_if(n.optional, {directions, 3 * n.hidden}));
  }
  if (n.lengths) {
    std::vector<double> lengths;
    for (std::int64_t b = 0; b < n.batch; ++b) lengths.push_back(static_cast<double>((b * 3 + 1) % (n.steps + 1)));
    c.inputs[4] = numbers(DType::int32, {n.batch}, lengths);
  }
  c.outputs = lstm ? 3 : 2;
  return c;
}

}  // namespace

TEST_CASE("rnn: kinds, directions and ragged sizes") {
  std::mt19937 rng(1);
  const std::array<std::array<std::int64_t, 4>, 8> sizes = {
      {{1, 1, 1, 1}, {3, 2, 5, 7}, {5, 7, 13, 16}, {2, 9, 8, 33}, {4, 3, 0, 5}, {0, 2, 3, 4}, {3, 0, 4, 4}, {2, 2, 3, 0}}};
  for (const char* kind : {"simple", "gru", "lstm"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (const auto& [steps, batch, inputs, hidden] : sizes) {
        for (const bool optional : {false, true}) {
          CAPTURE(kind);
          CAPTURE(direction);
          CAPTURE(hidden);
          Case c = make(rng, {kind, direction, steps, batch, inputs, hidden, optional, steps > 1});
          CHECK(check_case(c).find("gemm") != std::string::npos);
          c.constant = {false, true, true};
          check_case(c);
        }
      }
    }
  }
}

TEST_CASE("rnn: attributes") {
  std::mt19937 rng(2);
  for (const std::int64_t flag : {0, 1}) {
    for (const double clip : {0.0, 0.5}) {
      const std::vector<NamedAttribute> attributes = {{"clip", clip}, {"input_forget", flag}, {"linear_before_reset", flag}};
      for (const bool optional : {false, true}) {
        for (const char* kind : {"simple", "gru", "lstm"}) {
          Case c = make(rng, {kind, "bidirectional", 4, 3, 6, 9, optional, true, attributes});
          check_case(c);
        }
      }
    }
  }
  for (const std::int64_t steps : {1, 4}) {
    for (const std::int64_t quantised : {1, 2}) {
      Case c = make(rng, {"lstm", "bidirectional", steps, 3, 6, 9, true, false, {{"quantised_state", quantised}}});
      check_case(c, 0.05);  // a state may be rounded the other way
    }
  }
  for (const char* function : {"relu", "leaky_relu", "thresholded_relu", "hard_sigmoid", "elu", "softsign", "softplus"}) {
    CAPTURE(function);
    Case c = make(rng, {"lstm", "forward", 2, 3, 4, 5, true, false, {}, {"sigmoid", function, function}});
    CHECK(check_case(c).find("gemm") != std::string::npos);
  }
  // Activations without a kernel, and other dtypes, are left to the reference.
  for (const char* function : {"affine", "scaled_tanh"}) {
    Case c = make(rng, {"gru", "forward", 2, 3, 4, 5, true, false, {}, {"sigmoid", function}});
    CHECK(check_case(c) == "reference_rnn");
  }
}

TEST_CASE("rnn: a long sequence is projected in several parts") {
  std::mt19937 rng(3);
  for (const char* direction : {"forward", "reverse"}) {
    Case c = make(rng, {"lstm", direction, 37, 16, 3, 40, false, true});
    std::ranges::for_each(c.inputs[2].memory, [](std::byte& byte) { byte = std::byte{0}; });  // keeps states from exploding
    check_case(c);
  }
}

TEST_CASE("rnn: a row does not depend on the rest of its batch") {
  std::mt19937 rng(4);
  const auto cpu = make_cpu_backend();
  for (const char* kind : {"simple", "gru", "lstm"}) {
    Case whole = make(rng, {kind, "bidirectional", 5, 11, 7, 19});
    whole.threads = 2;
    Ran all = run_case(*cpu, whole);
    for (std::int64_t b = 0; b < 11; ++b) {
      Case one = whole;
      one.threads = 1;
      for (const std::size_t i : {0, 5, 6}) {
        if (i >= one.inputs.size()) continue;
        Stored& given = one.inputs[i];
        given.shape[1] = 1;
        given.offset += b * given.strides[1] * static_cast<std::int64_t>(sizeof(float));
      }
      Ran single = run_case(*cpu, one);
      Stored& y = all.outputs[0];
      Stored row = y;
      row.shape[2] = 1;
      row.offset += b * y.strides[2] * static_cast<std::int64_t>(sizeof(float));
      CHECK(to_bytes(row) == to_bytes(single.outputs[0]));
    }
  }
}

TEST_CASE("rnn: a length beyond the input is refused") {
  std::mt19937 rng(5);
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  for (const double length : {-1.0, 4.0}) {
    Case c = make(rng, {"gru", "forward", 3, 1, 2, 2});
    c.inputs[4] = numbers(DType::int32, {1}, {length});
    CHECK_THROWS_WITH_AS(run_case(*cpu, c), doctest::Contains("has length"), Error);
    CHECK_THROWS_WITH_AS(run_case(*reference, c), doctest::Contains("has length"), Error);
  }
}
