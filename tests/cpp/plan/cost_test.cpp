// What the profiler counts for a step: operations by op, bytes by operand.
#include "plan/cost.h"

#include "doctest/doctest.h"

using namespace jitney;

namespace {

Operand floats(const Shape& shape) {
  Operand operand;
  operand.dtype = DType::float32;
  operand.shape = shape;
  return operand;
}

struct Case {
  Node node;
  NodeRequest request;

  Case(const char* op, std::vector<Operand> inputs, std::vector<Operand> outputs, std::vector<NamedAttribute> attributes = {}) {
    node.op = op;
    node.attributes = std::move(attributes);
    request.node = &node;
    request.op = find_op(op);
    request.inputs = std::move(inputs);
    request.outputs = std::move(outputs);
  }
  StepCost cost() const { return step_cost({&request, 1}); }
};

}  // namespace

TEST_CASE("a convolution counts each weight of a filter once per result") {
  const Case dense("conv", {floats({1, 16, 10, 10}), floats({32, 16, 3, 3}), floats({32})}, {floats({1, 32, 8, 8})});
  CHECK(dense.cost().flops == 2.0 * 32 * 64 * 16 * 9);
  CHECK(dense.cost().bytes == 4 * (1600 + 32 * 16 * 9 + 32 + 2048));
  const Case depthwise("conv", {floats({2, 16, 10, 10}), floats({16, 1, 3, 3})}, {floats({2, 16, 8, 8})});
  CHECK(depthwise.cost().flops == 2.0 * 2 * 16 * 64 * 9);
  const Case transposed("conv_transpose", {floats({1, 4, 5, 5}), floats({4, 3, 2, 2})}, {floats({1, 3, 10, 10})});
  CHECK(transposed.cost().flops == 2.0 * 25 * 4 * 3 * 4);
}

TEST_CASE("a product counts the length that is summed over, whichever way its operands lie") {
  const Case plain("matmul", {floats({2, 5, 7}), floats({7, 3})}, {floats({2, 5, 3})});
  CHECK(plain.cost().flops == 2.0 * 30 * 7);
  const Case turned("matmul", {floats({7, 5}), floats({7, 3})}, {floats({5, 3})}, {{"trans_a", std::int64_t{1}}});
  CHECK(turned.cost().flops == 2.0 * 15 * 7);
  const Case vector("matmul", {floats({7}), floats({7})}, {floats({})});
  CHECK(vector.cost().flops == 14);
}

TEST_CASE("attention counts both products and the softmax between them") {
  const Case attention("attention", {floats({2, 3, 5, 8}), floats({2, 3, 7, 8}), floats({2, 3, 7, 4})}, {floats({2, 3, 5, 4})});
  CHECK(attention.cost().flops == 2.0 * 3 * 5 * 7 * (2 * 8 + 2 * 4 + 5));
}

TEST_CASE("what only moves data computes nothing") {
  CHECK(Case("transpose", {floats({2, 3})}, {floats({3, 2})}).cost().flops == 0);
  CHECK(Case("transpose", {floats({2, 3})}, {floats({3, 2})}).cost().bytes == 48);
  CHECK(Case("gather", {floats({2, 3}), floats({4})}, {floats({4, 3})}).cost().flops == 0);
  CHECK(Case("add", {floats({2, 3}), floats({3})}, {floats({2, 3})}).cost().flops == 6);
}

TEST_CASE("operands that are left out, and empty ones, count nothing") {
  CHECK(Case("conv", {floats({1, 2, 5, 5}), floats({0, 2, 3, 3}), Operand()}, {floats({1, 0, 3, 3})}).cost().flops == 0);
  CHECK(Case("matmul", {floats({0, 7}), floats({7, 3})}, {floats({0, 3})}).cost().flops == 0);
}

TEST_CASE("what stays inside a group moves no bytes") {
  Case first("exp", {floats({8})}, {floats({8})}), second("neg", {floats({8})}, {floats({8})});
  first.request.outputs[0].inner = true;
  second.request.inputs[0].producer = 0;
  const std::vector<NodeRequest> group{first.request, second.request};
  CHECK(step_cost(group).flops == 16);
  CHECK(step_cost(group).bytes == 64);
}
