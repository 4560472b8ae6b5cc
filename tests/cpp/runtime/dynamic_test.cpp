// What is known only at run time: branches, run-time shapes, data-dependent sizes, and plans keyed by values.
#include "doctest/doctest.h"
#include "jitney/error.h"
#include "jitney/session.h"
#include "network_builder.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

Tensor run_one(Session& session, const std::map<std::string, Tensor>& inputs) { return session.run(inputs).begin()->second; }

/// if c: y = x + x else: y = -x[0:1], with c and x given by the caller of this function.
ValueId add_if(NetworkBuilder& b, ValueId condition, ValueId x) {
  const std::uint32_t then_graph = b.add_graph(), else_graph = b.add_graph();
  b.graph = then_graph;
  const ValueId a = b.value("x");
  b.model.graphs[then_graph].inputs = {a};
  b.output(b.node("add", {a, a}));
  b.graph = else_graph;
  const ValueId c = b.value("x");
  b.model.graphs[else_graph].inputs = {c};
  b.output(b.node("neg", {b.node("slice", {c, b.ints({0}), b.ints({1})})}));
  b.graph = 0;
  return b.node("if", {condition, x}, {{"then", GraphRef{then_graph}}, {"else", GraphRef{else_graph}}});
}

const char* const kBackends[] = {"reference", "cpu"};

}  // namespace

TEST_CASE("if on an input: a plan for each value") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto c = b.input("c", DType::boolean, {});
    const auto x = b.input("x", DType::float32, {2});
    b.output(b.node("relu", {add_if(b, c, x)}), "y");
    Session session(b.load(), {.backend = backend});
    const auto in = tensor<float>(DType::float32, {2}, {1, -2});
    for (int round = 0; round < 2; ++round) {
      CHECK(elements<float>(run_one(session, {{"c", tensor<std::uint8_t>(DType::boolean, {}, {1})}, {"x", in}})) ==
            std::vector<float>{2, 0});
      CHECK(elements<float>(run_one(session, {{"c", tensor<std::uint8_t>(DType::boolean, {}, {0})}, {"x", in}})) ==
            std::vector<float>{0});
    }
  }
}

TEST_CASE("if on a computed value: the plan is cut") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {2});
    const auto doubled = b.node("add", {x, x});  // lives across the cut
    const auto sum = b.node("reduce", {x}, {{"kind", std::string("sum")}, {"keep_dims", std::int64_t{0}}});
    const auto c = b.node("greater", {sum, b.floats({}, {0})});
    const auto y = add_if(b, c, doubled);
    b.output(b.node("add", {y, doubled}), "y");
    Session session(b.load(), {.backend = backend});
    for (int round = 0; round < 2; ++round) {
      CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {2}, {3, 1})}})) == std::vector<float>{18, 6});
      CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {2}, {-3, 1})}})) == std::vector<float>{0, 8});
    }
  }
}

TEST_CASE("non_zero: sizes known only after computing") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {-1});
    const auto y = b.node("neg", {x});
    const auto where = b.node("non_zero", {b.node("relu", {x})});
    const auto indices = b.node("reshape", {where, b.ints({-1})});
    b.output(b.node("gather", {y, indices}, {{"axis", std::int64_t{0}}}), "y");
    Session session(b.load(), {.backend = backend});
    CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {4}, {1, -2, 3, 4})}})) ==
          std::vector<float>{-1, -3, -4});
    CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {4}, {-1, -2, -3, 4})}})) ==
          std::vector<float>{-4});
    CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {2}, {-1, 0})}})).empty());
    CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {4}, {1, -2, 3, 4})}})) ==
          std::vector<float>{-1, -3, -4});
  }
}

TEST_CASE("two cuts in a row: values from before the first reach past the second") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {3});
    const auto kept = b.node("add", {x, b.floats({}, {1})});
    const auto first = b.node("non_zero", {b.node("relu", {x})});
    const auto picked = b.node("gather", {kept, b.node("reshape", {first, b.ints({-1})})}, {{"axis", std::int64_t{0}}});
    const auto second = b.node("non_zero", {b.node("relu", {b.node("sub", {picked, b.floats({}, {3})})})});
    const auto count = b.node("cast", {b.node("size", {second})}, {{"to", std::int64_t{1}}, {"saturate", std::int64_t{1}}});
    b.output(b.node("mul", {kept, count}), "y");
    Session session(b.load(), {.backend = backend});
    for (int round = 0; round < 2; ++round)
      CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {3}, {5, -1, 9})}})) ==
            std::vector<float>{12, 0, 20});
  }
}

TEST_CASE("a shape that is an input") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {2, 3});
    const auto shape = b.input("shape", DType::int64, {-1});
    b.output(b.node("reshape", {b.node("neg", {x}), b.node("concat", {shape, b.ints({-1})}, {{"axis", std::int64_t{0}}})}), "y");
    Session session(b.load(), {.backend = backend});
    const auto in = tensor<float>(DType::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
    const auto shaped = [&](std::vector<std::int64_t> dims) {
      const auto rank = static_cast<std::int64_t>(dims.size());
      return run_one(session, {{"x", in}, {"shape", tensor<std::int64_t>(DType::int64, {rank}, dims)}}).shape();
    };
    CHECK(shaped({3}) == Shape{3, 2});
    CHECK(shaped({}) == Shape{6});
    CHECK(shaped({1, 6}) == Shape{1, 6, 1});
    CHECK(shaped({3}) == Shape{3, 2});
    CHECK_THROWS_AS(shaped({4}), Error);
    CHECK(shaped({2}) == Shape{2, 3});
  }
}

TEST_CASE("a shape computed from float data") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto x = b.input("x", DType::float32, {1});
    const auto length = b.node("cast", {x}, {{"to", std::int64_t{7}}, {"saturate", std::int64_t{1}}});
    b.output(b.node("expand", {b.node("neg", {x}), length}), "y");
    Session session(b.load(), {.backend = backend});
    CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {1}, {3})}})) == std::vector<float>{-3, -3, -3});
    CHECK(elements<float>(run_one(session, {{"x", tensor<float>(DType::float32, {1}, {2})}})) == std::vector<float>{-2, -2});
    CHECK_THROWS_AS(run_one(session, {{"x", tensor<float>(DType::float32, {1}, {-2})}}), Error);
  }
}

TEST_CASE("int64, bool, float16 and float64 tensors") {
  for (const char* backend : kBackends) {
    NetworkBuilder b;
    const auto i = b.input("i", DType::int64, {2});
    const auto d = b.input("d", DType::float64, {2});
    const auto h = b.input("h", DType::float16, {2});
    const auto f = b.input("f", DType::boolean, {2});
    b.output(b.node("add", {i, i}), "i2");
    b.output(b.node("mul", {d, d}), "d2");
    b.output(b.node("neg", {h}), "h2");
    b.output(b.node("not", {f}), "f2");
    Session session(b.load(), {.backend = backend});
    const auto y =
        session.run(std::map<std::string, Tensor>{{"i", tensor<std::int64_t>(DType::int64, {2}, {std::int64_t{1} << 60, -3})},
                                                  {"d", tensor<double>(DType::float64, {2}, {1e200, 1e-5})},
                                                  {"h", tensor<std::uint16_t>(DType::float16, {2}, {0x3c00, 0x8000})},
                                                  {"f", tensor<std::uint8_t>(DType::boolean, {2}, {0, 1})}});
    CHECK(elements<std::int64_t>(y.at("i2")) == std::vector<std::int64_t>{std::int64_t{1} << 61, -6});
    CHECK(elements<double>(y.at("d2"))[1] == 1e-5 * 1e-5);
    CHECK(elements<std::uint16_t>(y.at("h2")) == std::vector<std::uint16_t>{0xbc00, 0x0000});
    CHECK(elements<std::uint8_t>(y.at("f2")) == std::vector<std::uint8_t>{1, 0});
  }
}
