// A small model that uses every feature of the file format once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "graph/file_builder.h"

namespace jitney::testing {

/// Fills an empty builder.
inline void build_sample(ModelBuilder& b) {
  const Symbol n = b.symbol("N"), m = b.symbol("größe");
  const ValueId x = b.input("x", DType::float32, {Dim::symbol(n), 3, Dim::affine(1, {{n, 2}, {m, -1}}), Dim::unknown()});
  const ValueId condition = b.input("condition", DType::boolean, {});
  const ValueId state = b.input("state", DType::float32, {Dim::symbol(n), 3});
  const ValueId weight = b.constant("w", DType::float32, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const ValueId quantised = b.constant("q", DType::int8, {3, 2}, std::vector<std::int8_t>{-1, 2, 3, 4, 5, 6});
  Tensor scale(DType::float32, {3}), zero(DType::int8, {3}), half(DType::float16, {}), none(DType::int64, {0, 4});
  for (std::size_t i = 0; i < 3; ++i) scale.span<float>()[i] = 0.5f, zero.span<std::int8_t>()[i] = 0;
  half.span<std::uint16_t>()[0] = 0x3c00;
  Quantisation quantisation;
  quantisation.scale = static_cast<std::int32_t>(b.block(scale));
  quantisation.zero_point = static_cast<std::int32_t>(b.block(zero));
  quantisation.axis = 0;
  b.graph().values[static_cast<std::size_t>(quantised)].quantisation = quantisation;
  const std::uint32_t fill = b.block(half);
  b.constant("none", none);
  const ValueId sum = b.node("add", {x, weight, kNoValue},
                             {{"integer", std::int64_t{-7}},
                              {"number", 0.25},
                              {"text", std::string("same_upper")},
                              {"integers", std::vector<std::int64_t>{1, -2}},
                              {"numbers", std::vector<double>{0.5, 1e300}},
                              {"texts", std::vector<std::string>{"a", ""}},
                              {"constant", ConstantRef{fill}}});
  b.graph().nodes.back().outputs.push_back(kNoValue);
  const ValueId chosen = b.node("if", {condition, sum}, {{"then", GraphRef{1}}, {"else", GraphRef{2}}});
  const ValueId next = b.node("identity", {state});
  b.graph().name = "main";
  b.graph().states = {{state, next}};
  for (const ValueId id : {chosen, next, quantised}) b.output(id);
  for (const std::string name : {"then", "else"}) {
    Graph branch;
    branch.name = name;
    branch.values.resize(2);
    branch.values[0].name = "captured";
    branch.inputs = {0};
    branch.outputs = {1};
    branch.nodes.push_back({"relu", "", {0}, {1}, {}});
    b.model.graphs.push_back(branch);
  }
  b.model.metadata = {{"jitney.version", "0.1.0"}, {"onnx.description", "a\nb"}};
}

}  // namespace jitney::testing
