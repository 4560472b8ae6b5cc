// Loops: what is carried, gathered and captured; trips of all kinds; nesting; hostile files; many threads.
#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "doctest/doctest.h"
#include "jitney/error.h"
#include "jitney/session.h"
#include "network_builder.h"
#include "runtime/model_data.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

const char* const kBackends[] = {"reference", "cpu"};

NamedAttribute integer(const char* name, std::int64_t value) { return {name, value}; }

/// A body under construction: makes the builder add to it until the end of the scope.
struct BodyScope {
  BodyScope(NetworkBuilder& builder, std::size_t passed) : b(builder), graph(builder.add_graph()), outer(builder.graph) {
    b.graph = graph;
    number = b.value("number", DType::int64, SymShape::of({}));
    condition = b.value("condition", DType::boolean, SymShape::of({}));
    auto& inputs = b.model.graphs[graph].inputs;
    inputs = {number, condition};
    for (std::size_t i = 0; i < passed; ++i) {
      values.push_back(b.value("value_" + std::to_string(i)));
      b.model.graphs[graph].inputs.push_back(values.back());
    }
  }
  ~BodyScope() { b.graph = outer; }
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;

  NetworkBuilder& b;
  std::uint32_t graph;
  std::uint32_t outer;
  ValueId number, condition;
  std::vector<ValueId> values;
};

std::vector<ValueId> add_loop(NetworkBuilder& b, std::uint32_t body, ValueId trips, ValueId condition,
                              std::vector<ValueId> passed, std::int64_t carried, std::size_t results,
                              std::vector<std::int64_t> joined = {}) {
  std::vector<ValueId> operands{trips, condition};
  operands.insert(operands.end(), passed.begin(), passed.end());
  std::vector<NamedAttribute> attributes{{"body", GraphRef{body}}, integer("carried", carried)};
  if (!joined.empty()) attributes.push_back({"joined", joined});
  return b.nodes("loop", operands, results, attributes);
}

/// h = tanh(h·w + x), gathering h; w is captured, computed from constants.
NetworkBuilder recurrent() {
  NetworkBuilder b;
  const auto trips = b.input("n", DType::int64, {});
  const auto h = b.input("h", DType::float32, {-1, 2});
  const auto x = b.input("x", DType::float32, {2});
  const auto w = b.node("neg", {b.floats({2, 2}, {0.5f, 1, -1, 0.25f})});
  std::uint32_t graph = 0;
  {
    BodyScope body(b, 3);
    graph = body.graph;
    const auto next = b.node("tanh", {b.node("add", {b.node("matmul", {body.values[0], body.values[2]}), body.values[1]})});
    b.output(body.condition);
    b.output(next);
    b.output(next);
  }
  const auto results = add_loop(b, graph, trips, kNoValue, {h, x, w}, 1, 2);
  b.output(b.node("neg", {results[0]}), "last");
  b.output(results[1], "all");
  return b;
}

std::map<std::string, Tensor> recurrent_inputs(std::int64_t trips, std::int64_t rows) {
  std::vector<float> h;
  for (std::int64_t i = 0; i < rows * 2; ++i) h.push_back(0.1f * static_cast<float>(i));
  return {{"n", tensor<std::int64_t>(DType::int64, {}, {trips})},
          {"h", tensor<float>(DType::float32, {rows, 2}, h)},
          {"x", tensor<float>(DType::float32, {2}, {0.5f, -0.5f})}};
}

std::vector<float> recurrent_expected(std::int64_t trips, std::int64_t rows) {
  const float w[2][2] = {{-0.5f, -1}, {1, -0.25f}};
  std::vector<float> all;
  const std::map<std::string, Tensor> inputs = recurrent_inputs(trips, rows);
  std::vector<float> h = elements<float>(inputs.at("h"));
  for (std::int64_t t = 0; t < trips; ++t) {
    std::vector<float> next;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r)
      for (std::size_t c = 0; c < 2; ++c)
        next.push_back(std::tanh(h[2 * r] * w[0][c] + h[2 * r + 1] * w[1][c] + (c == 0 ? 0.5f : -0.5f)));
    h = next;
    all.insert(all.end(), h.begin(), h.end());
  }
  return all;
}

void check_recurrent(Session& session, std::int64_t trips, std::int64_t rows) {
  const auto outputs = session.run(recurrent_inputs(trips, rows));
  const auto expected = recurrent_expected(trips, rows);
  CHECK(outputs.at("all").shape() == Shape{trips, rows, 2});
  const auto all = elements<float>(outputs.at("all"));
  REQUIRE(all.size() == expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  if (trips == 0) return;
  const auto last = elements<float>(outputs.at("last"));
  for (std::size_t i = 0; i < last.size(); ++i) CHECK(-last[i] == all[all.size() - last.size() + i]);
}

std::string message_of(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a recurrent loop, over and over with other sizes") {
  for (const char* backend : kBackends) {
    Session session(recurrent().load(), {.backend = backend});
    for (int round = 0; round < 2; ++round) {
      for (const auto& [trips, rows] : {std::pair{5, 3}, {1, 3}, {0, 3}, {4, 1}, {100, 2}, {2, 0}})
        check_recurrent(session, trips, rows);
    }
  }
}

TEST_CASE("captured weights stay weights: derived and packed once") {
  const Model model = recurrent().load();
  Session session(model, {.backend = "cpu"});
  session.run(recurrent_inputs(1, 3));
  const auto packed = model.data()->packs.bytes();
  session.run(recurrent_inputs(50, 3));
  CHECK(model.data()->packs.bytes() == packed);
}

TEST_CASE("a loop from many threads at once") {
  Session session(recurrent().load(), {.threads = 1});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::int64_t trips = 1 + (i + t) % 5, rows = 1 + (i * t) % 3;
        const auto all = elements<float>(session.run(recurrent_inputs(trips, rows)).at("all"));
        const auto expected = recurrent_expected(trips, rows);
        for (std::size_t k = 0; k < expected.size(); ++k)
          if (all.size() != expected.size() || std::abs(all[k] - expected[k]) > 1e-4f) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("joined results may differ along the first axis; a condition that is computed ends the loop") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {-1});
    std::uint32_t graph = 0;
    {
      BodyScope body(b, 1);
      graph = body.graph;
      // Iteration i returns x[0:i]; the loop ends once i is 3.
      const auto end = b.node("reshape", {body.number, b.ints({1})});
      const auto part = b.node("slice", {body.values[0], b.ints({0}), end});
      b.output(b.node("less", {body.number, b.constant<std::int64_t>(DType::int64, {}, {3})}));
      b.output(part);
    }
    b.output(add_loop(b, graph, kNoValue, kNoValue, {x}, 0, 1, {1})[0], "y");
    Session session(b.load(), {.backend = backend});
    for (int round = 0; round < 2; ++round) {
      const auto y = session.run({{"x", tensor<float>(DType::float32, {4}, {1, 2, 3, 4})}});
      CHECK(elements<float>(y.at("y")) == std::vector<float>{1, 1, 2, 1, 2, 3});
    }
  }
}

TEST_CASE("plans of iterations come and go within the cache's bytes") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {-1});
  std::uint32_t graph = 0;
  {
    BodyScope body(b, 2);
    graph = body.graph;
    const auto start = b.node("reshape", {body.number, b.ints({1})});
    const auto end = b.node("add", {start, b.ints({1})});
    b.output(body.condition);
    b.output(b.node("add", {body.values[0], b.node("slice", {body.values[1], start, end})}));
  }
  const auto zero = b.floats({1}, {0});
  const auto trips = b.node("size", {x});
  b.output(add_loop(b, graph, trips, kNoValue, {zero, x}, 1, 1)[0], "y");
  Session session(b.load(), {.backend = "cpu", .plan_cache_bytes = 20000});
  std::vector<float> ones(1000, 1);
  for (int round = 0; round < 2; ++round)
    CHECK(elements<float>(session.run({{"x", tensor<float>(DType::float32, {1000}, ones)}}).at("y")) == std::vector<float>{1000});
}

TEST_CASE("what a body does wrong is said, and memory ends cleanly") {
  const auto looping = [](std::size_t passed, std::int64_t carried, std::size_t results, const auto& fill,
                          std::int64_t count = std::int64_t{1} << 62) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {2});
    std::uint32_t graph = 0;
    {
      BodyScope body(b, passed);
      graph = body.graph;
      fill(b, body);
    }
    const auto trips = b.constant<std::int64_t>(DType::int64, {}, {count});
    b.output(add_loop(b, graph, trips, kNoValue, {x}, carried, results)[0], "y");
    return b;
  };
  const auto load = [](const NetworkBuilder& b) { return message_of([&] { b.load(); }, ErrorCode::invalid_model); };
  CHECK(contains(load(looping(2, 1, 1,
                              [](NetworkBuilder& b, BodyScope& body) {
                                b.output(body.condition);
                                b.output(body.values[0]);
                              })),
                 "4 inputs"));
  CHECK(contains(load(looping(1, 1, 1, [](NetworkBuilder& b, BodyScope& body) { b.output(body.condition); })), "1 results"));
  CHECK(contains(load(looping(1, 2, 1, [](NetworkBuilder& b, BodyScope& body) { b.output(body.condition); })), "cannot carry 2"));
  CHECK(contains(load(looping(1, 1, 1,
                              [](NetworkBuilder& b, BodyScope& body) {
                                b.output(body.condition);
                                b.output(body.number);
                              })),
                 "carried value 0 is float32 when it enters the body and int64 when it leaves it"));
  CHECK(contains(load(looping(1, 1, 1,
                              [](NetworkBuilder& b, BodyScope& body) {
                                b.output(body.number);
                                b.output(body.values[0]);
                              })),
                 "one bool"));

  const auto run = [](const NetworkBuilder& b, ErrorCode code) {
    Session session(b.load(), {.backend = "reference"});
    return message_of([&] { session.run({{"x", tensor<float>(DType::float32, {2}, {1, 2})}}); }, code);
  };
  // What is carried doubles without end.
  CHECK(contains(run(looping(1, 1, 1,
                             [](NetworkBuilder& b, BodyScope& body) {
                               b.output(body.condition);
                               const auto large = b.node("expand", {body.values[0], b.ints({std::int64_t{1} << 55, 2})});
                               b.output(b.node("reshape", {large, b.ints({-1})}));
                             }),
                     ErrorCode::out_of_memory),
                 "loop_"));
  // So does what is gathered.
  CHECK(contains(run(looping(
                         1, 0, 1,
                         [](NetworkBuilder& b, BodyScope& body) {
                           b.output(body.condition);
                           b.output(b.node("expand", {body.values[0], b.ints({std::int64_t{1} << 40, 2})}));
                         },
                         8),
                     ErrorCode::out_of_memory),
                 "loop_"));
}

TEST_CASE("loops nested so deeply that inference would not end are refused") {
  // Ranks spread from one carried value to the next, so that every level needs all rounds, each a visit to all levels below.
  NetworkBuilder b;
  const auto nest = [&](const auto& self, std::size_t depth, ValueId x) -> ValueId {
    std::uint32_t graph = 0;
    {
      BodyScope body(b, 4);
      graph = body.graph;
      const ValueId captured = body.values[3];
      const ValueId below = depth == 0 ? captured : self(self, depth - 1, captured);
      b.output(body.condition);
      b.output(body.values[1]);
      b.output(body.values[2]);
      b.output(b.node("unsqueeze", {b.node("add", {below, body.values[2]}), b.ints({0})}));
    }
    return add_loop(b, graph, b.constant<std::int64_t>(DType::int64, {}, {0}), kNoValue, {x, x, x, x}, 3, 3)[0];
  };
  b.output(nest(nest, 40, b.input("x", DType::float32, {2})), "y");
  CHECK(contains(message_of([&] { b.load(); }, ErrorCode::unsupported), "nested loops"));
}

TEST_CASE("weights that come from either branch are told apart") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto c = b.input("c", DType::boolean, {});
    const auto x = b.input("x", DType::float32, {1, 2});
    const std::uint32_t then_graph = b.add_graph(), else_graph = b.add_graph();
    b.graph = then_graph;
    b.output(b.floats({2, 1}, {1, 2}));
    b.graph = else_graph;
    b.output(b.floats({2, 1}, {10, 20}));
    b.graph = 0;
    const auto w = b.node("if", {c}, {{"then", GraphRef{then_graph}}, {"else", GraphRef{else_graph}}});
    b.output(b.node("matmul", {x, b.node("neg", {w})}), "y");
    Session session(b.load(), {.backend = backend});
    const auto run = [&](std::uint8_t condition) {
      return elements<float>(session
                                 .run({{"c", tensor<std::uint8_t>(DType::boolean, {}, {condition})},
                                       {"x", tensor<float>(DType::float32, {1, 2}, {1, 1})}})
                                 .at("y"));
    };
    CHECK(run(1) == std::vector<float>{-3});
    CHECK(run(0) == std::vector<float>{-30});
    CHECK(run(1) == std::vector<float>{-3});
  }
}
