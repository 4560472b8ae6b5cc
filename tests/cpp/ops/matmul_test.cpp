// matmul against the triple loop, with broadcasting, vectors, transposes, integers and the epilogue.
#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

using List = std::vector<double>;

std::string shapes(std::vector<Dim> a, std::vector<Dim> b, Attributes attributes = {}) {
  return shape_text(infer(make_node("matmul", 2, 1, std::move(attributes)),
                          {unknown(DType::float32, std::move(a)), unknown(DType::float32, std::move(b))})[0]);
}

}  // namespace

TEST_CASE("matmul equals the triple loop for ragged sizes and all transposes") {
  for (const auto& [rows, depth, columns] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 5, 2}, {7, 1, 9}, {2, 13, 4}}) {
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::int32, DType::int64}) {
          const Tensor a = pattern(dtype, trans_a ? Shape{depth, rows} : Shape{rows, depth}, 3);
          const Tensor b = pattern(dtype, trans_b ? Shape{columns, depth} : Shape{depth, columns}, 4);
          const List left = numbers(a);
          const List right = numbers(b);
          List wanted;
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
              double sum = 0;
              for (std::int64_t k = 0; k < depth; ++k) {
                sum += left[trans_a ? k * rows + i : i * depth + k] * right[trans_b ? j * depth + k : k * columns + j];
              }
              wanted.push_back(sum);
            }
          }
          const Tensor y = run_one("matmul", {integer("trans_a", trans_a), integer("trans_b", trans_b)}, {a, b});
          CHECK(y.dtype() == dtype);
          CHECK(y.shape() == Shape{rows, columns});
          CHECK(numbers(y) == wanted);
        }
      }
    }
  }
}

TEST_CASE("matmul of vectors") {
  const Tensor v = floats({2}, {1, 10});
  const Tensor m = floats({2, 2}, {1, 2, 3, 4});
  CHECK(numbers(run_one("matmul", {}, {v, v})) == List{101});
  CHECK(run_one("matmul", {}, {v, v}).shape() == Shape{});
  CHECK(numbers(run_one("matmul", {}, {m, v})) == List{21, 43});
  CHECK(numbers(run_one("matmul", {}, {v, m})) == List{31, 42});
  CHECK(run_one("matmul", {}, {v, pattern(DType::float32, {3, 2, 4})}).shape() == Shape{3, 4});
  CHECK(run_one("matmul", {}, {pattern(DType::float32, {3, 4, 2}), v}).shape() == Shape{3, 4});
}

TEST_CASE("matmul broadcasts batches") {
  const Tensor a = pattern(DType::float32, {2, 1, 3, 4}, 1);
  const Tensor b = pattern(DType::float32, {5, 4, 2}, 2);
  const Tensor y = run_one("matmul", {}, {a, b});
  REQUIRE(y.shape() == Shape{2, 5, 3, 2});
  const List left = numbers(a), right = numbers(b), values = numbers(y);
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t m = 0; m < 5; ++m) {
      const Tensor one = run_one("matmul", {},
                                 {floats({3, 4}, List(left.begin() + n * 12, left.begin() + n * 12 + 12)),
                                  floats({4, 2}, List(right.begin() + m * 8, right.begin() + m * 8 + 8))});
      CHECK(numbers(one) == List(values.begin() + (n * 5 + m) * 6, values.begin() + (n * 5 + m) * 6 + 6));
    }
  }
}

TEST_CASE("matmul of empty matrices") {
  CHECK(run_one("matmul", {}, {Tensor(DType::float32, {0, 3}), Tensor(DType::float32, {3, 2})}).shape() == Shape{0, 2});
  CHECK(run_one("matmul", {}, {Tensor(DType::float32, {2, 3}), Tensor(DType::float32, {3, 0})}).shape() == Shape{2, 0});
  CHECK(numbers(run_one("matmul", {}, {Tensor(DType::float32, {2, 0}), Tensor(DType::float32, {0, 2})})) == List{0, 0, 0, 0});
  CHECK(run_one("matmul", {}, {Tensor(DType::float32, {0, 2, 3}), Tensor(DType::float32, {1, 3, 4})}).shape() == Shape{0, 2, 4});
}

TEST_CASE("matmul's scale and epilogue") {
  const Tensor a = floats({2, 2}, {1, 2, -3, 4});
  const Tensor b = floats({2, 3}, {1, 0, -1, 0, 1, 1});
  const Tensor bias = floats({3}, {10, 20, 30});
  CHECK(numbers(run_one("matmul", {number("scale", 0.5)}, {a, b, bias})) == List{10.5, 21, 30.5, 8.5, 22, 33.5});
  const Tensor residual = floats({2, 3}, {-20, 0, 0, 0, 0, 1});
  CHECK(numbers(run_one("matmul", {text("activation", "relu")}, {a, b, bias, residual})) == List{0, 22, 31, 7, 24, 38});
  CHECK(numbers(run_one("matmul", {text("activation", "prelu")}, {a, b, Tensor(), Tensor(), floats({3}, {1, 2, 3})})) ==
        List{1, 2, 1, -3, 4, 7});
}

TEST_CASE("integer matmul wraps and keeps all bits") {
  const Tensor wide = run_one("matmul", {}, {int64s({1, 1}, {INT64_MAX}), int64s({1, 1}, {2})});
  CHECK(wide.span<std::int64_t>()[0] == -2);
  const Tensor exact =
      run_one("matmul", {}, {int64s({1, 2}, {(std::int64_t{1} << 60) + 1, 1}), int64s({2, 1}, {1, 1}), int64s({1}, {3})});
  CHECK(exact.span<std::int64_t>()[0] == (std::int64_t{1} << 60) + 5);
  const Tensor narrow =
      run_one("matmul", {}, {tensor(DType::uint32, {1, 1}, {4294967295.0}), tensor(DType::uint32, {1, 1}, {3})});
  CHECK(narrow.span<std::uint32_t>()[0] == 4294967293U);
}

TEST_CASE("matmul's shapes over symbols") {
  const Dim n = Dim::symbol(0);
  const Dim m = Dim::symbol(1);
  CHECK(shapes({n, m, 8}, {8, 3}) == "[N, M, 3]");
  CHECK(shapes({n, 1, m, 8}, {4, 8, 3}) == "[N, 4, M, 3]");
  CHECK(shapes({8, n}, {8, m}, {integer("trans_a", 1)}) == "[N, M]");
  CHECK(shapes({n, 8}, {m, Dim()}, {integer("trans_b", 1)}) == "[N, M]");
  CHECK(shapes({n}, {n}) == "[]");
  const Facts unranked{DType::float32, SymShape::unranked(), {}, {}};
  const Facts residual = unknown(DType::float32, {n, 4});
  CHECK(shape_text(infer(make_node("matmul", 4, 1, {}), {unranked, unranked, Facts{}, residual})[0]) == "[N, 4]");
}

TEST_CASE("matmul refuses what contradicts itself") {
  const auto why = [](Attributes attributes, const std::vector<Facts>& inputs) {
    return failure(make_node("matmul", inputs.size(), 1, std::move(attributes)), inputs);
  };
  const auto says = [](const std::string& text_, const char* part) { return text_.find(part) != std::string::npos; };
  const Dim n = Dim::symbol(0);
  const auto f = [](std::vector<Dim> dims) { return unknown(DType::float32, std::move(dims)); };
  const auto i = [](std::vector<Dim> dims) { return unknown(DType::int32, std::move(dims)); };
  CHECK(says(why({}, {f({2, 3}), f({4, 5})}), "3 columns"));
  CHECK(says(why({}, {f({2, n}), f({n + 1, 5})}), "do not multiply"));
  CHECK(says(why({}, {f({}), f({4})}), "scalar"));
  CHECK(says(why({}, {f({2, 2, 3}), f({3, 3, 5})}), "do not broadcast"));
  CHECK(says(why({integer("trans_a", 1)}, {f({3}), f({3, 5})}), "vector"));
  CHECK(says(why({}, {f({2, 3}), f({3, 5}), f({4})}), "bias has shape [4]"));
  CHECK(says(why({}, {f({2, 3}), f({3, 5}), Facts{}, f({5})}), "residual has shape"));
  CHECK(says(why({text("activation", "relu")}, {i({2, 3}), i({3, 5})}), "integer matrices"));
  CHECK(says(why({}, {unknown(DType::boolean, {2, 3}), unknown(DType::boolean, {3, 5})}), "bool"));
}
