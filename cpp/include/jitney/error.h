// The one exception type that Jitney throws, with what a caller needs to act on it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

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

/// Says what was given, what was wanted, where (node and op, if known) and what to do (hint).
class JITNEY_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string hint = {});

  ErrorCode code() const noexcept { return code_; }
  /// The message alone, without node, op and hint; what() has them all.
  const std::string& message() const noexcept { return message_; }
  const std::string& node() const noexcept { return node_; }
  const std::string& op() const noexcept { return op_; }
  const std::string& hint() const noexcept { return hint_; }

  /// A copy that also names the node and op in which the failure arose (kept if already named).
  Error at(std::string_view node, std::string_view op) const;

  const char* what() const noexcept override { return what_.c_str(); }

 private:
  void compose();

  ErrorCode code_;
  std::string message_, node_, op_, hint_, what_;
};

}  // namespace jitney
