// Composes the one text that an Error shows from its parts.
#include "jitney/error.h"

#include <utility>

namespace jitney {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_model:
      return "invalid_model";
    case ErrorCode::invalid_input:
      return "invalid_input";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::io:
      return "io";
    case ErrorCode::closed:
      return "closed";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message, std::string hint)
    : std::runtime_error(message), code_(code), message_(message), hint_(std::move(hint)) {
  compose();
}

Error Error::at(std::string_view node, std::string_view op, std::vector<std::string> inputs) const {
  Error named = *this;
  if (named.node_.empty() && named.op_.empty()) {
    named.node_ = node;
    named.op_ = op;
  }
  if (named.inputs_.empty() && named.node_ == node && named.op_ == op) named.inputs_ = std::move(inputs);
  named.compose();
  return named;
}

Error Error::of_opset(std::string_view opset) const {
  Error named = *this;
  if (named.opset_.empty() && !(named.node_.empty() && named.op_.empty())) named.opset_ = opset;
  named.compose();
  return named;
}

Error Error::with_hint(std::string_view hint) const {
  Error advised = *this;
  if (advised.hint_.empty()) advised.hint_ = hint;
  advised.compose();
  return advised;
}

void Error::compose() {
  what_.clear();
  if (!node_.empty() || !op_.empty()) {
    what_ += "node";
    if (!node_.empty()) what_ += " '" + node_ + "'";
    if (!op_.empty()) what_ += " (" + op_ + (opset_.empty() ? "" : ", opset " + opset_) + ")";
    for (std::size_t i = 0; i < inputs_.size(); ++i) what_ += (i == 0 ? " of " : ", ") + inputs_[i];
    what_ += ": ";
  }
  what_ += message_;
  if (!hint_.empty()) what_ += " (" + hint_ + ")";
}

}  // namespace jitney
