// Attention against the reference: lengths, storage, broadcasting, shared heads, masks; rows that see no key.
#include <cmath>
#include <limits>

#include "base/cpu_features.h"
#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Sizes {
  std::int64_t batch, heads, kv_heads, queries, keys, depth, columns;
};

Case attention(std::mt19937& rng, const Sizes& s, const Storage& storage = {}) {
  return make_case("attention", {{"scale", 1 / std::sqrt(static_cast<double>(s.depth) + 0.5)}},
                   {random(rng, DType::float32, {s.batch, s.heads, s.queries, s.depth}, storage),
                    random(rng, DType::float32, {s.batch, s.kv_heads, s.keys, s.depth}, storage),
                    random(rng, DType::float32, {s.batch, s.kv_heads, s.keys, s.columns}, storage)});
}

}  // namespace

TEST_CASE("attention: ragged sizes, and operands as projections leave them") {
  std::mt19937 rng(1);
  const Sizes sizes[] = {{1, 1, 1, 1, 1, 1, 1},        {1, 2, 2, 3, 5, 7, 9},      {2, 3, 3, 17, 33, 15, 16},
                         {1, 2, 1, 31, 129, 32, 32},   {1, 4, 2, 100, 300, 64, 1}, {1, 1, 1, 5, 257, 128, 128},
                         {1, 1, 1, 130, 65, 129, 127}, {2, 6, 3, 4, 300, 33, 70},  {1, 2, 2, 1, 1000, 40, 40},
                         {1, 1, 1, 600, 16, 8, 24},    {3, 1, 1, 2, 128, 64, 160}, {1, 1, 1, 7, 70, 200, 100},
                         {1, 2, 2, 0, 4, 3, 2},        {1, 2, 2, 4, 0, 3, 2},      {1, 2, 2, 4, 3, 0, 2},
                         {1, 2, 2, 4, 3, 2, 0},        {0, 2, 2, 4, 3, 2, 2}};
  for (const Sizes& s : sizes) {
    for (const Storage& storage : {Storage{}, Storage{{0, 2, 1, 3}}, Storage{{0, 2, 1, 3}, 3}, Storage{{0, 1, 3, 2}}}) {
      CAPTURE(s.queries);
      CAPTURE(s.keys);
      CAPTURE(s.depth);
      Case c = attention(rng, s, storage);
      const std::string kernel = check_case(c);
      CHECK(kernel.starts_with("f32_attention_"));
      c.output_gap = 3;
      check_case(c);
    }
  }
}

TEST_CASE("attention: biases and masks broadcast in all ways") {
  std::mt19937 rng(2);
  for (const std::int64_t queries : {3, 50}) {
    const Sizes s{2, 4, 2, queries, 140, 16, 24};
    const std::vector<Shape> shapes = {{2, 4, queries, 140},
                                       {1, 1, queries, 140},
                                       {2, 1, 1, 140},
                                       {1, 4, 1, 140},
                                       {queries, 140},
                                       {140},
                                       {1},
                                       {2, 4, queries, 1},
                                       {1, 1, queries, 1},
                                       {}};
    for (const Shape& shape : shapes) {
      CAPTURE(shape.size());
      Case c = attention(rng, s);
      c.inputs.push_back(random(rng, DType::float32, shape));
      check_case(c);
      c.inputs[3] = Stored();
      c.inputs.push_back(random(rng, DType::boolean, shape));
      c.node = make_case("attention", {{"scale", 0.3}, {"masked", -10000.0}}, c.inputs).node;
      check_case(c);
      c.inputs[3] = random(rng, DType::float32, shape);
      c.node = make_case("attention", {{"scale", 0.3}, {"masked", -kInf}, {"nan_to_zero", std::int64_t{1}}}, c.inputs).node;
      check_case(c);
    }
  }
}

TEST_CASE("attention: ranks other than four, and broadcast operands") {
  std::mt19937 rng(3);
  const auto f = [&](const Shape& shape) { return random(rng, DType::float32, shape); };
  for (Case c : {make_case("attention", {}, {f({5, 8}), f({9, 8}), f({9, 3})}),
                 make_case("attention", {}, {f({3, 5, 8}), f({1, 9, 8}), f({3, 9, 3})}),
                 make_case("attention", {}, {f({1, 5, 8}), f({4, 9, 8}), f({4, 9, 3})}),
                 make_case("attention", {}, {f({2, 1, 4, 30, 8}), f({2, 3, 2, 40, 8}), f({1, 3, 1, 40, 3}), f({4, 30, 40})})}) {
    check_case(c);
  }
}

TEST_CASE("attention: rows that see no key, infinite scores and NaN give what simpler ops give") {
  for (const std::int64_t queries : {2, 30}) {
    for (const bool guarded : {false, true}) {
      std::mt19937 rng(4);
      const std::int64_t keys = 150, size = 16;
      std::vector<double> bias(static_cast<std::size_t>(queries * keys), 0.0);
      for (std::int64_t j = 0; j < keys; ++j) {
        bias[j] = -kInf;                         // no key at all
        bias[keys + j] = j < 140 ? -kInf : 0.0;  // none in the first block
        if (queries < 9) continue;
        bias[2 * keys + j] = j == 149 ? kNan : 0.0;   //
        bias[3 * keys + j] = j == 3 ? kInf : 0.0;     //
        bias[4 * keys + j] = j > 5 ? -kInf : 0.0;     // none in the last block
        bias[5 * keys + j] = -3.4028235e38;           // all alike
        bias[6 * keys + j] = j == 3 ? kNan : -kInf;   //
        bias[7 * keys + j] = j == 140 ? 100.0 : 0.0;  // earlier sums shrink to nothing
      }
      Case c = make_case("attention", {{"scale", 0.25}, {"nan_to_zero", std::int64_t{guarded}}},
                         {random(rng, DType::float32, {queries, size}), random(rng, DType::float32, {keys, size}),
                          random(rng, DType::float32, {keys, 5}), numbers(DType::float32, {queries, keys}, bias)});
      const auto cpu = make_cpu_backend();
      Ran fast = run_case(*cpu, c), slow = run_case(*make_reference_backend(), c);
      const std::vector<double> got = to_doubles(fast.outputs[0]), wanted = to_doubles(slow.outputs[0]);
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i / 5);
        if (std::isnan(wanted[i])) {
          CHECK(std::isnan(got[i]));
        } else {
          CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
        }
      }
    }
  }
}
