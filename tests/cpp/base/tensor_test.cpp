// Errors, dtypes, shapes and tensors.
#include "jitney/tensor.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/aligned.h"
#include "base/checked.h"
#include "doctest/doctest.h"
#include "jitney/error.h"

namespace {

using namespace jitney;

template <typename Body>
ErrorCode code_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK_FALSE(error.message().empty());
    return error.code();
  }
  FAIL("nothing was thrown");
  return ErrorCode::internal;
}

TEST_CASE("an error says where, what and what to do") {
  const Error error(ErrorCode::unsupported, "no kernel for bool", "cast it first");
  CHECK(std::string(error.what()) == "no kernel for bool (cast it first)");
  const Error placed = error.at("conv_1", "conv");
  CHECK(std::string(placed.what()) == "node 'conv_1' (conv): no kernel for bool (cast it first)");
  const Error told =
      error.at("conv_1", "conv", {"x: bool[1, 3]", "nothing"}).at("outer", "if", {"c: bool[]"}).of_opset("ai.onnx 17");
  CHECK(std::string(told.what()) ==
        "node 'conv_1' (conv, opset ai.onnx 17) of x: bool[1, 3], nothing: no kernel for bool (cast it first)");
  CHECK(told.inputs() == std::vector<std::string>{"x: bool[1, 3]", "nothing"});
  CHECK(placed.at("conv_1", "conv", {"x: bool[2]"}).inputs() == std::vector<std::string>{"x: bool[2]"});
  CHECK(error.of_opset("ai.onnx 17").opset().empty());
  CHECK(error.with_hint("another").hint() == "cast it first");
  CHECK(placed.at("other", "add").node() == "conv_1");
  CHECK(placed.code() == ErrorCode::unsupported);
  CHECK(to_string(ErrorCode::out_of_memory) == "out_of_memory");
}

TEST_CASE("dtypes have names and sizes") {
  CHECK(size_of(DType::float32) == 4);
  CHECK(size_of(DType::complex128) == 16);
  CHECK(size_of(DType::int4) == 1);
  CHECK(size_of(DType::string) == 0);
  CHECK(size_of(DType::undefined) == 0);
  CHECK(to_string(DType::boolean) == "bool");
  CHECK(to_string(DType::int2) == "int2");
  CHECK(size_of(static_cast<DType>(200)) == 0);
  CHECK(to_string(static_cast<DType>(200)) == "unknown");
}

TEST_CASE("shapes bound their rank and check their products") {
  Shape shape{2, 3, 4};
  CHECK(shape.elements() == 24);
  CHECK(to_string(shape) == "[2, 3, 4]");
  CHECK(dense_strides(shape) == Shape{12, 4, 1});
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{0, 5}.elements() == 0);
  CHECK(dense_strides(Shape{2, 0, 3}) == Shape{3, 3, 1});
  shape.resize(1);
  shape.resize(3, 7);
  CHECK(shape == Shape{2, 7, 7});
  CHECK(shape != Shape{2, 7});
  Shape full(kMaxRank, 1);
  CHECK(code_of([&] { full.push_back(1); }) == ErrorCode::invalid_input);
  CHECK(full.size() == kMaxRank);
  CHECK(code_of([] { Shape(kMaxRank + 1, 1); }) == ErrorCode::invalid_input);
  CHECK(code_of([] { Shape{-1}.elements(); }) == ErrorCode::invalid_input);
  const std::int64_t big = std::int64_t{1} << 32;
  CHECK(code_of([&] { Shape{big, big}.elements(); }) == ErrorCode::invalid_input);
  CHECK(code_of([&] { Shape{0, big, big}.elements(); }) == ErrorCode::invalid_input);
  CHECK(code_of([&] { dense_strides(Shape{big, big}); }) == ErrorCode::invalid_input);
}

TEST_CASE("tensors own aligned memory and copy by value") {
  Tensor a(DType::float32, {2, 3});
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % kAlignment == 0);
  CHECK(a.bytes() == 24);
  a.span<float>()[5] = 7;
  Tensor b = a;
  b.span<float>()[5] = 8;
  CHECK(std::as_const(a).span<float>()[5] == 7);
  CHECK(a.view().strides == Shape{3, 1});
  CHECK(code_of([&] { a.span<double>(); }) == ErrorCode::invalid_input);
  Tensor moved = std::move(a);
  CHECK(moved.span<float>()[5] == 7);
  const Tensor copy_of_nothing = Tensor();
  CHECK(copy_of_nothing.bytes() == 0);
  Tensor again = copy_of_nothing;
  again = moved;
  CHECK(again.span<float>()[5] == 7);
  Tensor empty(DType::int64, {0, 4});
  CHECK(empty.bytes() == 0);
  CHECK(empty.data() != nullptr);
}

TEST_CASE("sizes that cannot be had are typed errors") {
  CHECK(code_of([] { Tensor(DType::string, {1}); }) == ErrorCode::invalid_input);
  CHECK(code_of([] { Tensor(DType::undefined, {}); }) == ErrorCode::invalid_input);
  CHECK(code_of([] { Tensor(DType::float64, {std::int64_t{1} << 61}); }) == ErrorCode::out_of_memory);
  CHECK(code_of([] { Tensor(DType::uint8, {std::int64_t{1} << 60}); }) == ErrorCode::out_of_memory);
  CHECK(code_of([] { align_up(std::numeric_limits<std::size_t>::max()); }) == ErrorCode::out_of_memory);
  CHECK(align_up(65) == 128);
}

TEST_CASE("checked arithmetic reports overflow") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(checked_add(most, std::int64_t{0}) == most);
  CHECK_FALSE(checked_add(most, std::int64_t{1}));
  CHECK_FALSE(checked_sub(std::int64_t{-2}, most));
  CHECK_FALSE(checked_mul(most, std::int64_t{2}));
  CHECK(checked_mul(std::int64_t{3}, std::int64_t{-4}) == -12);
}

}  // namespace
