// Runs one node through its shape rule and its reference kernel, with dense operands and again with awkward strides.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "ops/access.h"
#include "ops/op.h"

namespace jitney::test {

using Attributes = std::vector<NamedAttribute>;
/// Operands or results; one without a dtype stands for an operand left out.
using Tensors = std::vector<Tensor>;

inline NamedAttribute integer(std::string name, std::int64_t value) { return {std::move(name), value}; }
inline NamedAttribute number(std::string name, double value) { return {std::move(name), value}; }
inline NamedAttribute text(std::string name, std::string value) { return {std::move(name), std::move(value)}; }
inline NamedAttribute integers(std::string name, std::vector<std::int64_t> value) { return {std::move(name), std::move(value)}; }

inline Node make_node(std::string op, std::size_t inputs, std::size_t outputs, Attributes attributes) {
  Node node;
  node.op = std::move(op);
  node.name = "n";
  for (std::size_t i = 0; i < inputs; ++i) node.inputs.push_back(static_cast<ValueId>(i));
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(inputs + i));
  node.attributes = std::move(attributes);
  return node;
}

template <typename T = double>
Tensor tensor(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Tensor made(dtype, shape);
  REQUIRE(made.elements() == static_cast<std::int64_t>(values.size()));
  store_run(dtype, made.data(), 1, values.size(), values.data());
  return made;
}
inline Tensor floats(const Shape& shape, const std::vector<double>& values) { return tensor(DType::float32, shape, values); }
inline Tensor int64s(const Shape& shape, const std::vector<std::int64_t>& values) { return tensor(DType::int64, shape, values); }

/// Small whole numbers of both signs, so that sums are exact in any order.
inline Tensor pattern(DType dtype, const Shape& shape, std::int64_t seed = 1) {
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    values[i] = static_cast<double>(seed / 65536 % 9 - 4);
  }
  return tensor(dtype, shape, values);
}

inline std::vector<double> numbers(const Tensor& tensor) { return read_numbers(tensor.view()); }

inline Facts known(const Tensor& tensor) {
  Facts facts;
  facts.dtype = tensor.dtype();
  facts.shape = SymShape::of(std::vector<Dim>(tensor.shape().begin(), tensor.shape().end()));
  facts.data = tensor.view();
  return facts;
}
inline Facts unknown(DType dtype, std::vector<Dim> dims) {
  Facts facts;
  facts.dtype = dtype;
  facts.shape = SymShape::of(std::move(dims));
  return facts;
}

inline std::vector<Facts> infer(const Node& node, const std::vector<Facts>& inputs) {
  const OpDef& op = check_node(node);
  std::vector<const Facts*> pointers;
  for (const Facts& facts : inputs) pointers.push_back(facts.dtype == DType::undefined ? nullptr : &facts);
  std::vector<Facts> outputs(node.outputs.size());
  const InferContext::SubgraphInference none;
  InferContext context(node, pointers, outputs, ErrorCode::invalid_input, none);
  op.infer(context);
  return outputs;
}

/// "[2, #0, ?]"
inline std::string shape_text(const Facts& facts) {
  if (!facts.shape.ranked) return "unranked";
  std::string all = "[";
  for (std::size_t i = 0; i < facts.shape.rank(); ++i) all += (i > 0 ? ", " : "") + to_string(facts.shape.dims[i], {"N", "M"});
  return all + "]";
}

/// Memory for a tensor whose first axis runs fastest and backwards, with gaps between elements.
struct Awkward {
  std::vector<std::byte> memory;
  TensorView view;

  Awkward(DType dtype, const Shape& shape) : memory(static_cast<std::size_t>(2 * shape.elements() + 1) * size_of(dtype)) {
    view = {memory.data(), dtype, shape, shape};
    std::int64_t stride = 2;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      view.strides[i] = stride;
      stride *= shape[i];
    }
    if (!shape.empty() && shape.elements() > 0) {
      view.data = address(view, view.strides[0] * (shape[0] - 1));
      view.strides[0] = -view.strides[0];
    }
  }
};

inline void copy(const TensorView& from, const TensorView& to) {
  Walk<2>(from.shape, {from.strides, to.strides}).for_each([&](const std::array<std::int64_t, 2>& offsets) {
    std::memcpy(address(to, offsets[1]), address(from, offsets[0]), size_of(from.dtype));
  });
}

/// Infers, computes, and checks that awkward strides give the same bytes.
inline Tensors run(const Node& node, const Tensors& inputs) {
  std::vector<Facts> facts;
  for (const Tensor& input : inputs) facts.push_back(input.dtype() == DType::undefined ? Facts{} : known(input));
  const std::vector<Facts> inferred = infer(node, facts);
  const OpDef& op = check_node(node);
  Tensors results;
  std::vector<TensorView> dense_in, dense_out, awkward_in, awkward_out;
  std::vector<Awkward> memory;
  memory.reserve(inputs.size() + inferred.size());
  for (const Tensor& input : inputs) {
    dense_in.push_back(input.dtype() == DType::undefined ? TensorView{} : input.view());
    awkward_in.emplace_back();
    if (input.dtype() == DType::undefined) continue;
    awkward_in.back() = memory.emplace_back(input.dtype(), input.shape()).view;
    copy(dense_in.back(), awkward_in.back());
  }
  for (const Facts& output : inferred) {
    REQUIRE(output.shape.is_constant());
    Shape shape;
    for (const Dim& dim : output.shape.dims) shape.push_back(dim.value());
    results.emplace_back(output.dtype, shape);
    awkward_out.push_back(memory.emplace_back(output.dtype, shape).view);
  }
  for (const Tensor& result : results) dense_out.push_back(result.view());
  const ComputeContext::Allocate none;
  op.compute(ComputeContext(node, dense_in, dense_out, none));
  op.compute(ComputeContext(node, awkward_in, awkward_out, none));
  for (std::size_t i = 0; i < results.size(); ++i) {
    Tensor again(results[i].dtype(), results[i].shape());
    copy(awkward_out[i], again.view());
    CHECK(std::memcmp(again.data(), results[i].data(), results[i].bytes()) == 0);
  }
  return results;
}

inline Tensor run_one(std::string op, Attributes attributes, const Tensors& inputs) {
  return std::move(run(make_node(std::move(op), inputs.size(), 1, std::move(attributes)), inputs).front());
}

inline std::string failure(const Node& node, const std::vector<Facts>& inputs) {
  try {
    infer(node, inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline void check_close(const Tensor& got, const std::vector<double>& wanted, double tolerance = 1e-6) {
  const std::vector<double> values = numbers(got);
  REQUIRE(values.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    CHECK(values[i] == doctest::Approx(wanted[i]).epsilon(tolerance));
  }
}

}  // namespace jitney::test
