// State: what one run hands on to the next, in one stream and in several.
#include <atomic>
#include <thread>

#include "doctest/doctest.h"
#include "jitney/error.h"
#include "jitney/session.h"
#include "network_builder.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

/// A leaky sum: h' = 0.5·h + x, y = −h'. The state passes through another op, so that it has a buffer of its own.
NetworkBuilder leaky(bool fixed = true) {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {2});
  const auto h = b.input("h", DType::float32, {fixed ? 2 : -1});
  const auto next = b.node("add", {b.node("mul", {h, b.floats({}, {0.5f})}), x});
  b.output(b.node("neg", {next}), "y");
  b.output(next, "h_out");
  b.model.graphs[0].states = {{h, next}};
  return b;
}

Tensor row(float a, float b) { return tensor<float>(DType::float32, {2}, {a, b}); }

std::vector<float> run(Session& session, const Tensor& x, State& state) {
  return elements<float>(session.run({{"x", x.view()}}, state)[0]);
}

}  // namespace

TEST_CASE("a session remembers what it handed on") {
  for (const char* backend : {"reference", "cpu"}) {
    Session session(leaky().load(), {.backend = backend});
    REQUIRE(session.model().states().size() == 1);
    CHECK(session.model().states()[0].input == "h");
    CHECK(session.model().states()[0].output == "h_out");
    for (int round = 0; round < 2; ++round) {
      const Tensor x = row(1, 2);
      const auto first = session.run({{"x", x}});
      CHECK(first.size() == 1);
      CHECK(elements<float>(first.at("y")) == std::vector<float>{-1, -2});
      CHECK(elements<float>(session.run({{"x", x.view()}})[0]) == std::vector<float>{-1.5f, -3});
      CHECK(elements<float>(session.run({{"x", x.view()}})[0]) == std::vector<float>{-1.75f, -3.5f});
      session.reset_state();
    }
  }
}

TEST_CASE("streams have states of their own; a state may be given and asked for") {
  Session session(leaky().load());
  State left = session.new_state(), right = session.new_state();
  const Tensor x = row(1, 2), z = row(4, 0);
  CHECK(run(session, x, left) == std::vector<float>{-1, -2});
  CHECK(run(session, z, right) == std::vector<float>{-4, 0});
  CHECK(run(session, x, left) == std::vector<float>{-1.5f, -3});
  CHECK(run(session, x, right) == std::vector<float>{-3, -2});
  left.reset();
  CHECK(run(session, x, left) == std::vector<float>{-1, -2});

  const Tensor start = row(10, 20);
  const std::vector<NamedView> inputs{{"x", x.view()}, {"h", start.view()}};
  std::vector<NamedView> outputs{{"h_out", {}}, {"y", {}}};
  const std::vector<Tensor> both = session.run(inputs, outputs, right);
  CHECK(elements<float>(both[0]) == std::vector<float>{6, 12});
  CHECK(elements<float>(both[1]) == std::vector<float>{-6, -12});
  Tensor target = row(0, 0);
  outputs[0].view = target.view();
  session.run(std::span(inputs).first(1), outputs, right);
  CHECK(elements<float>(target) == std::vector<float>{4, 8});
  CHECK(elements<float>(start) == std::vector<float>{10, 20});
}

TEST_CASE("streams run at the same time; one state serves one run at a time") {
  Session session(leaky().load(), {.threads = 1});
  std::atomic<int> wrong = 0, refused = 0;
  State shared = session.new_state();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      State own = session.new_state();
      float h = 0;
      for (int i = 0; i < 200; ++i) {
        const auto value = static_cast<float>(t + i % 3);
        h = 0.5f * h + value;
        if (run(session, row(value, 0), own)[0] != -h) ++wrong;
        try {
          run(session, row(1, 1), shared);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::invalid_input) ++wrong;
          ++refused;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  // However the runs fell, the shared state is one that runs in a row would have left: h' = h / 2 + 1 tends to 2.
  CHECK(run(session, row(1, 1), shared)[0] == doctest::Approx(-2).epsilon(1e-3));
}

TEST_CASE("a failed run leaves the state as it was, and faults are named") {
  Session session(leaky().load());
  State state = session.new_state();
  const Tensor x = row(1, 2), wrong = tensor<float>(DType::float32, {3}, {1, 2, 3});
  run(session, x, state);
  CHECK_THROWS_AS(run(session, wrong, state), Error);
  CHECK(run(session, x, state) == std::vector<float>{-1.5f, -3});

  State none;
  CHECK_THROWS_WITH_AS(run(session, x, none), doctest::Contains("belongs to another model"), Error);
  CHECK_THROWS_WITH_AS(none.reset(), doctest::Contains("belongs to no session"), Error);
  Session other(leaky().load());
  CHECK_THROWS_WITH_AS(run(other, x, state), doctest::Contains("belongs to another model"), Error);
  CHECK_THROWS_WITH_AS(leaky(false).load(), doctest::Contains("open sizes"), Error);
}
