// Sessions on small models: values, views, in-place, concat, several outputs, bound outputs, bad input.
#include "jitney/session.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

#include "doctest/doctest.h"
#include "jitney/error.h"
#include "network_builder.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> data(count);
  std::iota(data.begin(), data.end(), 1.0f);
  return data;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// y = relu(x + b) with x [N, 3].
Model add_relu() {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {-1, 3});
  b.output(b.node("relu", {b.node("add", {x, b.floats({3}, {-1, -2, -3})})}), "y");
  return b.load();
}

}  // namespace

TEST_CASE("a chain of elementwise ops, at two shapes from one session") {
  for (const char* backend : {"reference", "cpu"}) {
    Session session(add_relu(), {.backend = backend, .threads = 1});
    for (const std::int64_t rows : {1, 4, 0, 1}) {
      const auto y = session.run(std::map<std::string, Tensor>{
          {"x", tensor<float>(DType::float32, {rows, 3}, counting(static_cast<std::size_t>(rows * 3)))}});
      REQUIRE(y.at("y").shape() == Shape{rows, 3});
      for (std::int64_t i = 0; i < rows * 3; ++i)
        CHECK(y.at("y").span<float>()[static_cast<std::size_t>(i)] ==
              std::max(0.0f, static_cast<float>(i + 1) - static_cast<float>(i % 3 + 1)));
    }
  }
}

TEST_CASE("an input, a constant and views of one value as outputs") {
  for (const char* backend : {"reference", "cpu"}) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {2});
    const auto y = b.node("neg", {x});
    b.output(b.node("identity", {x}), "same");
    b.output(b.node("identity", {b.floats({3}, {7, 8, 9})}), "constant");
    b.output(y, "y");
    b.output(b.node("identity", {y}), "again");
    b.output(b.node("reshape", {y, b.ints({2, 1})}), "column");
    Session session(b.load(), {.backend = backend});
    const auto result = session.run(std::map<std::string, Tensor>{{"x", tensor<float>(DType::float32, {2}, {1, 2})}});
    CHECK(elements<float>(result.at("same")) == std::vector<float>{1, 2});
    CHECK(elements<float>(result.at("constant")) == std::vector<float>{7, 8, 9});
    CHECK(elements<float>(result.at("y")) == std::vector<float>{-1, -2});
    CHECK(elements<float>(result.at("again")) == std::vector<float>{-1, -2});
    CHECK(elements<float>(result.at("column")) == std::vector<float>{-1, -2});
    CHECK(result.at("column").shape() == Shape{2, 1});
  }
}

TEST_CASE("transposes, slices and reshapes are views or copies, never wrong") {
  for (const char* backend : {"reference", "cpu"}) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {2, 3, 4});
    const auto t = b.node("transpose", {x}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}});
    const auto s = b.node("slice", {t, b.ints({3}), b.ints({-100}), b.ints({0}), b.ints({-2})});  // rows 3 and 1
    b.output(b.node("reshape", {s, b.ints({4, 3})}), "y");
    b.output(b.node("relu", {t}), "t");
    Session session(b.load(), {.backend = backend, .threads = 1});
    const auto result = session.run(std::map<std::string, Tensor>{{"x", tensor<float>(DType::float32, {2, 3, 4}, counting(24))}});
    CHECK(elements<float>(result.at("y")) == std::vector<float>{4, 8, 12, 16, 20, 24, 2, 6, 10, 14, 18, 22});
    CHECK(result.at("t").shape() == Shape{4, 2, 3});
    CHECK(result.at("t").span<float>()[1] == 5);
  }
}

TEST_CASE("concat: results, inputs, constants, the same operand twice, nested") {
  for (const char* backend : {"reference", "cpu"}) {
    for (const std::int64_t axis : {0, 1, -1}) {
      NetworkBuilder b;
      const auto x = b.input("x", DType::float32, {2, 2});
      const auto y = b.node("neg", {x});
      const auto c = b.floats({2, 2}, {10, 20, 30, 40});
      const auto inner = b.node("concat", {y, b.node("relu", {x})}, {{"axis", axis}});
      b.output(b.node("concat", {inner, y, y, x, c}, {{"axis", axis}}), "z");
      b.output(b.node("exp", {y}), "e");
      Session session(b.load(), {.backend = backend, .threads = 1});
      const auto result = session.run(std::map<std::string, Tensor>{{"x", tensor<float>(DType::float32, {2, 2}, {1, 2, 3, 4})}});
      const auto z = elements<float>(result.at("z"));
      if (axis == 0) {
        CHECK(z == std::vector<float>{-1, -2, -3, -4, 1, 2, 3, 4, -1, -2, -3, -4, -1, -2, -3, -4, 1, 2, 3, 4, 10, 20, 30, 40});
      } else {
        CHECK(z == std::vector<float>{-1, -2, 1, 2, -1, -2, -1, -2, 1, 2, 10, 20, -3, -4, 3, 4, -3, -4, -3, -4, 3, 4, 30, 40});
      }
      CHECK(result.at("e").span<float>()[0] == doctest::Approx(std::exp(-1.0)));
    }
  }
}

TEST_CASE("outputs are written where the caller wants them") {
  Session session(add_relu(), {.threads = 1});
  const Tensor x = tensor<float>(DType::float32, {2, 3}, {5, 5, 5, 0, 9, 9});
  const NamedView in{"x", x.view()};
  SUBCASE("dense") {
    Tensor y(DType::float32, {2, 3});
    const NamedView out{"y", y.view()};
    session.run(std::span(&in, 1), std::span(&out, 1));
    CHECK(elements<float>(y) == std::vector<float>{4, 3, 2, 0, 7, 6});
  }
  SUBCASE("transposed") {
    Tensor y(DType::float32, {3, 2});
    NamedView out{"y", y.view()};
    out.view.shape = {2, 3};
    out.view.strides = {1, 2};
    session.run(std::span(&in, 1), std::span(&out, 1));
    CHECK(elements<float>(y) == std::vector<float>{4, 0, 3, 7, 2, 6});
  }
  SUBCASE("over its own input") {
    Tensor both = x;
    const NamedView same_in{"x", both.view()}, out{"y", both.view()};
    session.run(std::span(&same_in, 1), std::span(&out, 1));
    CHECK(elements<float>(both) == std::vector<float>{4, 3, 2, 0, 7, 6});
  }
  SUBCASE("of the wrong shape") {
    Tensor y(DType::float32, {3, 2});
    const NamedView out{"y", y.view()};
    CHECK(message_of([&] { session.run(std::span(&in, 1), std::span(&out, 1)); }).find("[2, 3]") != std::string::npos);
  }
}

TEST_CASE("strided inputs") {
  Session session(add_relu(), {.threads = 1});
  const Tensor x = tensor<float>(DType::float32, {3, 2}, {11, 14, 12, 15, 13, 16});
  NamedView in{"x", x.view()};
  in.view.shape = {2, 3};
  in.view.strides = {1, 2};
  CHECK(elements<float>(session.run(std::span(&in, 1))[0]) == std::vector<float>{10, 10, 10, 13, 13, 13});
}

TEST_CASE("bad input is told what is wanted") {
  Session session(add_relu());
  const auto run = [&](const std::string& name, const Tensor& tensor) {
    return message_of([&] { session.run(std::map<std::string, Tensor>{{name, tensor}}); });
  };
  CHECK(run("X", Tensor(DType::float32, {1, 3})).find("did you mean 'x'") != std::string::npos);
  CHECK(run("x", Tensor(DType::float64, {1, 3})).find("float32") != std::string::npos);
  CHECK(run("x", Tensor(DType::float32, {3})).find("rank 2") != std::string::npos);
  CHECK(run("x", Tensor(DType::float32, {1, 4})).find("axis 1 is fixed to 3") != std::string::npos);
  CHECK(message_of([&] { session.run(std::map<std::string, Tensor>{}); }).find("missing") != std::string::npos);
  CHECK(message_of([] { Session(add_relu(), {.backend = "vulkan"}); }).find("vulkan") != std::string::npos);
  CHECK(message_of([] { Session(add_relu(), {.backend = "gpu"}); }).find("auto") != std::string::npos);
  CHECK(message_of([] { Session(add_relu(), {.prefer = "fast"}); }).find("memory, speed") != std::string::npos);
}

TEST_CASE("symbols must agree across inputs") {
  NetworkBuilder b;
  const Symbol n = b.symbol("N");
  const auto a = b.value("a", DType::float32, SymShape::of({Dim::symbol(n)}));
  const auto c = b.value("b", DType::float32, SymShape::of({Dim::symbol(n) + Dim(1)}));
  b.model.graphs[0].inputs = {a, c};
  b.output(b.node("neg", {a}), "y");
  Session session(b.load());
  const auto run = [&](std::int64_t first, std::int64_t second) {
    return message_of([&] {
      session.run(std::map<std::string, Tensor>{{"a", Tensor(DType::float32, {first})}, {"b", Tensor(DType::float32, {second})}});
    });
  };
  CHECK(run(3, 4) == "");
  CHECK(run(3, 3).find("N + 1") != std::string::npos);
}

TEST_CASE("after close") {
  Session session(add_relu());
  session.close();
  try {
    session.run(std::map<std::string, Tensor>{{"x", Tensor(DType::float32, {1, 3})}});
    FAIL("ran");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::closed);
  }
}

TEST_CASE("one session from eight threads at different shapes") {
  Session session(add_relu(), {.threads = 2, .max_contexts = 3});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const std::int64_t rows = 1 + (t + round) % 5;
        const auto x = tensor<float>(DType::float32, {rows, 3}, counting(static_cast<std::size_t>(rows * 3)));
        const auto y = session.run(std::map<std::string, Tensor>{{"x", x}}).at("y");
        for (std::int64_t i = 0; i < rows * 3; ++i)
          if (y.span<float>()[static_cast<std::size_t>(i)] != static_cast<float>(i + 1) - static_cast<float>(i % 3 + 1)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("profiling counts runs of each step") {
  Session session(add_relu(), {.threads = 1, .profile = true});
  for (int i = 0; i < 3; ++i) session.run(std::map<std::string, Tensor>{{"x", Tensor(DType::float32, {2, 3})}});
  const PlanReport report = session.plan_report({{"x", {2, 3}}});
  REQUIRE(!report.steps.empty());
  for (const StepReport& step : report.steps) CHECK(step.runs == 3);
  CHECK(report.memory.arena_bytes >= report.memory.lower_bound_bytes);
}
