// Facts with symbols, for tests of what shape rules know.
#pragma once

#include "run_node.h"

namespace jitney::test {

inline Dim n() { return Dim::symbol(0); }
inline Dim m() { return Dim::symbol(1); }
inline Dim open() { return Dim::unknown(); }

/// A 1-D int64 operand whose elements are known as expressions.
inline Facts list(std::vector<Dim> elements) {
  Facts facts = unknown(DType::int64, {Dim(static_cast<std::int64_t>(elements.size()))});
  facts.elements = std::move(elements);
  return facts;
}

inline Facts scalar(Dim element) {
  Facts facts = unknown(DType::int64, {});
  facts.elements = std::vector<Dim>{std::move(element)};
  return facts;
}

inline Facts unranked(DType dtype) {
  Facts facts;
  facts.dtype = dtype;
  return facts;
}

/// "[N, 3, ?]", or "none" if nothing is known.
inline std::string elements_text(const Facts& facts) {
  if (!facts.elements) return "none";
  std::string all = "[";
  for (const Dim& dim : *facts.elements) all += (all.size() > 1 ? ", " : "") + to_string(dim, {"N", "M"});
  return all + "]";
}

/// The shape that a node's first result is known to have.
inline std::string inferred(const std::string& op, Attributes attributes, const std::vector<Facts>& inputs) {
  return shape_text(infer(make_node(op, inputs.size(), 1, std::move(attributes)), inputs)[0]);
}

/// The elements that a node's first result is known to have.
inline std::string inferred_elements(const std::string& op, Attributes attributes, const std::vector<Facts>& inputs) {
  return elements_text(infer(make_node(op, inputs.size(), 1, std::move(attributes)), inputs)[0]);
}

inline bool fails(const std::string& op, Attributes attributes, const std::vector<Facts>& inputs,
                  const std::string& reason = {}) {
  const std::string message = failure(make_node(op, inputs.size(), 1, std::move(attributes)), inputs);
  return !message.empty() && message.find(reason) != std::string::npos;
}

}  // namespace jitney::test
