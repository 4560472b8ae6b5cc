// What a node of the op `rnn` says: its kind, its directions and their activations, for the reference kernel and the backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace jitney {

/// Operands of `rnn`, in this order; all from the bias on are optional.
enum RnnOperand : std::size_t { kRnnX, kRnnW, kRnnR, kRnnBias, kRnnLengths, kRnnHidden, kRnnCell, kRnnPeephole };

enum class RnnKind : std::uint8_t { simple, gru, lstm };

/// A function by its name in the IR, with its two numbers.
struct RnnActivation {
  std::string_view name;
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;

  double operator()(double x) const { return function(x, alpha, beta); }
};

struct RnnSpec {
  RnnKind kind = RnnKind::simple;
  std::vector<bool> reversed;              // per direction: time runs backwards
  std::vector<RnnActivation> activations;  // per direction f; f, g; or f, g, h
  double clip = 0;                         // pre-activations are clipped to ±clip; 0: they are not
  bool input_forget = false;
  bool linear_before_reset = false;
  bool quantised_state = false;  // lstm: products with R take the state as quantise_rnn_state() leaves it
  bool drops_ended = false;      // the states of sequences that ended are zeros when they are rounded with the others

  /// Whether at step t the state of a sequence of this length, which ended before the last step, counts as zeros.
  bool dropped(std::size_t direction, std::int64_t t, std::int64_t length) const {
    return drops_ended && !reversed[direction] && t > length;
  }

  std::size_t directions() const noexcept { return reversed.size(); }
  /// Blocks of W, R and each half of the bias: i o f c; z r h; or one.
  std::int64_t gates() const noexcept { return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1; }
  std::size_t activations_each() const noexcept {
    return kind == RnnKind::lstm ? std::size_t{3} : kind == RnnKind::gru ? std::size_t{2} : std::size_t{1};
  }
};

/// Reads the attributes, which must outlive the result; throws Error(invalid_model) where they contradict each other.
RnnSpec rnn_spec(const Node& node);

/// Rounds the states of all sequences to the 256 numbers that are evenly spread over their range, 0 among them.
template <typename T>
void quantise_rnn_state(const T* state, std::size_t count, T* rounded);

/// Throws Error(invalid_input) unless a sequence may have this length in an input of so many steps.
void check_rnn_length(const std::string& node, std::int64_t length, std::int64_t steps);

}  // namespace jitney
