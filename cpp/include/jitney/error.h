// The one exception type that Jitney throws, with what a caller needs to act on it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "jitney/export.h"

namespace jitney {

/// What kind of failure it was; Python maps each code to a class of its own.
enum class ErrorCode {
  invalid_model,  ///< the file is damaged, hostile, too new, or not a Jitney model
  invalid_input,  ///< a wrong name, dtype, rank, size or option was given
  unsupported,    ///< correct, but this build or backend cannot do it
  out_of_memory,  ///< an allocation failed or would exceed what the address space allows
  io,             ///< the operating system refused to open, read or write a file
  closed,         ///< the session was used after close()
  internal,       ///< a fault in Jitney itself; please report it
};

/// Name of a code as used in messages and in Python's `Error.code`, e.g. "invalid_input".
JITNEY_API std::string_view to_string(ErrorCode code) noexcept;

/// Says what was given, what was wanted, where (node, its op and operands, if known) and what to do (hint).
class JITNEY_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string hint = {});

  ErrorCode code() const noexcept { return code_; }
  /// The message alone, without node, op and hint; what() has them all.
  const std::string& message() const noexcept { return message_; }
  const std::string& node() const noexcept { return node_; }
  const std::string& op() const noexcept { return op_; }
  /// What the node was given: name, dtype and shape of each operand, e.g. "x: float32[1, 3]".
  const std::vector<std::string>& inputs() const noexcept { return inputs_; }
  /// The version of ONNX's op set that the model was written in, e.g. "ai.onnx 17".
  const std::string& opset() const noexcept { return opset_; }
  const std::string& hint() const noexcept { return hint_; }

  /// A copy that also names the node and op in which the failure arose (kept if already named), and what it was given.
  Error at(std::string_view node, std::string_view op, std::vector<std::string> inputs = {}) const;
  /// Copies with an opset, where a node is named, and with a hint (kept if there is one).
  Error of_opset(std::string_view opset) const;
  Error with_hint(std::string_view hint) const;

  const char* what() const noexcept override { return what_.c_str(); }

 private:
  void compose();

  ErrorCode code_;
  std::string message_, node_, op_, opset_, hint_, what_;
  std::vector<std::string> inputs_;
};

}  // namespace jitney
