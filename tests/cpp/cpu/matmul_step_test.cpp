// Matmul steps against the reference.
#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

Case make(Stored a, Stored b, std::int64_t trans_a = 0, std::int64_t trans_b = 0) {
  Case c;
  c.node.op = "matmul";
  c.node.attributes = {{"trans_a", trans_a}, {"trans_b", trans_b}};
  c.inputs = {std::move(a), std::move(b)};
  return c;
}

}  // namespace

TEST_CASE("matmul: shapes, constants, orders and gaps") {
  std::mt19937 rng(1);
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{5, 7}, {7, 9}},
      {{1, 40}, {40, 33}},
      {{7}, {7, 3}},
      {{4, 7}, {7}},
      {{7}, {7}},
      {{2, 3, 5, 6}, {6, 17}},
      {{2, 3, 5, 6}, {2, 3, 6, 8}},
      {{2, 1, 5, 6}, {3, 6, 4}},
      {{5, 6}, {4, 6, 3}},
      {{3, 5, 6}, {6}},
      {{6}, {3, 6, 5}},
      {{0, 6}, {6, 4}},
      {{3, 0}, {0, 4}},
      {{2, 0, 3}, {3, 4}},
      {{2, 1, 1}, {2, 1, 1}},
      {{64, 96}, {96, 80}},
      {{40, 33, 48}, {40, 48, 64}},
      {{3, 1, 16}, {16, 100}},
  };
  for (const auto& [a, b] : shapes) {
    CAPTURE(to_string(a));
    CAPTURE(to_string(b));
    for (const std::int64_t gap : {0, 3}) {
      Order swapped = row_major_order(a.size());
      if (a.size() >= 2) std::swap(swapped[a.size() - 2], swapped[a.size() - 1]);
      for (const Storage& storage : {Storage{{}, gap}, Storage{swapped, gap}, Storage{{}, gap, 2}}) {
        Case c = make(random(rng, DType::float32, a, storage), random(rng, DType::float32, b, {{}, gap}));
        c.output_gap = gap;
        CHECK(check_case(c).find("gemm") != std::string::npos);
        c.inputs[1] = random(rng, DType::float32, b);
        c.constant = {false, true};
        check_case(c);
      }
    }
  }
}

TEST_CASE("matmul: transposed operands") {
  std::mt19937 rng(2);
  for (const std::int64_t trans_a : {0, 1}) {
    for (const std::int64_t trans_b : {0, 1}) {
      for (const Storage& storage : {Storage{}, Storage{{0, 2, 1}}}) {
        const Shape a = trans_a != 0 ? Shape{3, 6, 5} : Shape{3, 5, 6}, b = trans_b != 0 ? Shape{3, 4, 6} : Shape{3, 6, 4};
        Case c = make(random(rng, DType::float32, a, storage), random(rng, DType::float32, b, storage), trans_a, trans_b);
        c.node.attributes.push_back({"scale", 0.125});
        check_case(c);
        c.inputs[1] = random(rng, DType::float32, b);
        c.constant = {false, true};
        check_case(c);
      }
    }
  }
}

TEST_CASE("matmul: epilogues") {
  std::mt19937 rng(3);
  for (const char* activation : {"none", "relu", "prelu", "gelu", "clip"}) {
    for (const Shape& a : {Shape{5, 6}, Shape{2, 5, 6}, Shape{2, 2, 5, 6}}) {
      for (const bool shared : {false, true}) {
        Shape b = a, y = a;
        b[b.size() - 2] = 6;
        b[b.size() - 1] = y[y.size() - 1] = 20;
        if (shared) b = {6, 20};
        for (const std::int64_t gap : {0, 2}) {
          Case c = make(random(rng, DType::float32, a), random(rng, DType::float32, b));
          c.node.attributes.push_back({"activation", std::string(activation)});
          c.node.attributes.push_back({"alpha", -0.5});
          c.node.attributes.push_back({"beta", 0.5});
          c.inputs.push_back(random(rng, DType::float32, {20}));
          c.inputs.push_back(random(rng, DType::float32, y, {{}, gap}));
          if (std::string(activation) == "prelu") c.inputs.push_back(random(rng, DType::float32, {20}));
          check_case(c);
          c.in_place = true;
          check_case(c);
          c.node.attributes.push_back({"residual", std::string("after")});
          check_case(c);
        }
      }
    }
  }
}

TEST_CASE("matmul: a row's result depends on nothing else") {
  std::mt19937 rng(4);
  const auto cpu = make_cpu_backend();
  Case whole = make(random(rng, DType::float32, {9, 50}), random(rng, DType::float32, {50, 37}));
  whole.constant = {false, true};
  Ran all = run_case(*cpu, whole);
  const auto bytes = to_bytes(all.outputs[0]), rows = to_bytes(whole.inputs[0]);
  for (std::ptrdiff_t i = 0; i < 9; ++i) {
    Case one = make(allocate(DType::float32, {1, 50}), whole.inputs[1]);
    one.constant = {false, i % 2 == 0};
    from_bytes(one.inputs[0], rows.data() + i * 200);
    Ran single = run_case(*cpu, one);
    const auto part = to_bytes(single.outputs[0]);
    CHECK(std::equal(part.begin(), part.end(), bytes.begin() + i * 37 * 4));
  }
}
