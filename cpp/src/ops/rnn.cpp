// rnn: simple recurrent networks, GRU and LSTM over a sequence, in one or both directions.
#include "ops/rnn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "ops/access.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include "ops/operands.h"
#include "ops/rules.h"

namespace jitney {
namespace {

constexpr std::array<AttributeSpec, 9> kAttributes = {{
    {"kind", AttributeType::text, true, "simple|gru|lstm"},
    {"direction", AttributeType::text, true, "forward|reverse|bidirectional"},
    {"activations", AttributeType::texts, true},
    {"alpha", AttributeType::numbers, true},
    {"beta", AttributeType::numbers, true},
    {"clip", AttributeType::number},
    {"input_forget", AttributeType::integer},
    {"linear_before_reset", AttributeType::integer},
    {"quantised_state", AttributeType::integer},
}};

[[noreturn]] void reject(const Node& node, const std::string& message) {
  throw Error(ErrorCode::invalid_model, message).at(node.name, node.op);
}

double affine(double x, double alpha, double beta) { return alpha * x + beta; }
double elu(double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; }
double hard_sigmoid(double x, double alpha, double beta) {
  const double y = alpha * x + beta;
  return y < 0.0 ? 0.0 : (y > 1.0 ? 1.0 : y);  // NaN stays
}
double leaky_relu(double x, double alpha, double) { return x < 0 ? alpha * x : x; }
double relu(double x, double, double) { return x < 0 ? 0.0 : x; }
double scaled_tanh(double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }
double sigmoid(double x, double, double) {
  const double e = std::exp(-std::abs(x));  // never overflows
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
double softplus(double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double softsign(double x, double, double) { return x / (1.0 + std::abs(x)); }
double hyperbolic_tangent(double x, double, double) { return std::tanh(x); }
double thresholded_relu(double x, double alpha, double) { return x <= alpha ? 0.0 : x; }

constexpr RnnActivation kActivations[] = {
    {"affine", affine},
    {"elu", elu},
    {"hard_sigmoid", hard_sigmoid},
    {"leaky_relu", leaky_relu},
    {"relu", relu},
    {"scaled_tanh", scaled_tanh},
    {"sigmoid", sigmoid},
    {"softplus", softplus},
    {"softsign", softsign},
    {"tanh", hyperbolic_tangent},
    {"thresholded_relu", thresholded_relu},
};

/// An axis of an operand: a multiple of a size that several operands share.
struct Axis {
  Dim* size;
  std::int64_t times = 1;
};

/// Checks that an operand has these axes; sizes that were unknown are learnt from it.
void expect_shape(const InferContext& ctx, std::size_t input, std::string_view what, std::initializer_list<Axis> axes) {
  if (!ctx.has(input) || !ctx.shape(input).ranked) return;
  const SymShape& shape = ctx.shape(input);
  SymShape wanted = SymShape::of({});
  for (const Axis& axis : axes) wanted.dims.push_back(*axis.size * Dim(axis.times));
  bool fits = shape.rank() == wanted.rank();
  for (std::size_t i = 0; fits && i < wanted.rank(); ++i) fits = may_equal(shape.dims[i], wanted.dims[i]);
  if (!fits) ctx.fail(std::string(what) + " has shape " + describe(shape) + "; " + describe(wanted) + " is wanted");
  const Dim* given = shape.dims.data();
  for (const Axis& axis : axes) {
    if (axis.times == 1 && axis.size->is_unknown()) *axis.size = *given;
    ++given;
  }
}

void infer_rnn(InferContext& ctx) {
  ctx.expect_dtype(kRnnX, {DType::float32, DType::float16, DType::bfloat16, DType::float64});
  for (const std::size_t operand : {kRnnW, kRnnR, kRnnBias, kRnnHidden, kRnnCell, kRnnPeephole}) {
    expect_dtype_of_first(ctx, operand);
  }
  const RnnSpec spec = rnn_spec(ctx.node());
  const bool lstm = spec.kind == RnnKind::lstm;
  if (!lstm && (ctx.has(kRnnCell) || ctx.has(kRnnPeephole) || ctx.output_count() > 2)) {
    ctx.fail("cell states and peepholes belong to the kind lstm alone");
  }
  if (ctx.has(kRnnLengths)) ctx.expect_dtype(kRnnLengths, {DType::int32, DType::int64});
  const std::int64_t gates = spec.gates();
  Dim directions = static_cast<std::int64_t>(spec.directions()), steps, batch, input, hidden;
  const std::initializer_list<Axis> state = {{&directions}, {&batch}, {&hidden}};
  expect_shape(ctx, kRnnHidden, "the initial state", state);
  // Twice: the last axis of R tells the size of the state, which the second then checks.
  for (int pass = 0; pass < 2; ++pass) expect_shape(ctx, kRnnR, "R", {{&directions}, {&hidden, gates}, {&hidden}});
  expect_shape(ctx, kRnnX, "x", {{&steps}, {&batch}, {&input}});
  expect_shape(ctx, kRnnW, "W", {{&directions}, {&hidden, gates}, {&input}});
  expect_shape(ctx, kRnnBias, "the bias", {{&directions}, {&hidden, 2 * gates}});
  expect_shape(ctx, kRnnLengths, "the list of lengths", {{&batch}});
  expect_shape(ctx, kRnnHidden, "the initial state", state);
  expect_shape(ctx, kRnnCell, "the initial cell state", state);
  expect_shape(ctx, kRnnPeephole, "the peephole weights", {{&directions}, {&hidden, 3}});
  ctx.set(0, ctx.dtype(0), SymShape::of({steps, directions, batch, hidden}));
  for (std::size_t i = 1; i < ctx.output_count(); ++i) ctx.set(i, ctx.dtype(0), SymShape::of({directions, batch, hidden}));
}

/// One direction of the network on one sequence at a time: plain lists in double.
class Cell {
 public:
  Cell(const ComputeContext& ctx, const RnnSpec& spec, std::size_t direction) : spec_(spec) {
    const TensorView& x = ctx.input(kRnnX);
    hidden_ = static_cast<std::size_t>(ctx.input(kRnnR).shape[2]);
    inputs_ = static_cast<std::size_t>(x.shape[2]);
    gates_ = static_cast<std::size_t>(spec.gates());
    functions_ = spec.activations.data() + direction * spec.activations_each();
    w_ = part(ctx, kRnnW, direction);
    r_ = part(ctx, kRnnR, direction);
    bias_ = ctx.has(kRnnBias) ? part(ctx, kRnnBias, direction) : std::vector<double>(2 * gates_ * hidden_, 0.0);
    peephole_ = ctx.has(kRnnPeephole) ? part(ctx, kRnnPeephole, direction) : std::vector<double>(3 * hidden_, 0.0);
  }

  /// `seen` is the state as products take it.
  void step(const double* x, const std::vector<double>& seen, std::vector<double>& h, std::vector<double>& c) const {
    if (spec_.kind == RnnKind::lstm) return lstm(x, seen, h, c);
    if (spec_.kind == RnnKind::gru) return gru(x, h);
    std::vector<double> sums = projected(x, 0, 1);
    add_recurrent(h, 0, 1, sums);
    for (std::size_t j = 0; j < hidden_; ++j) h[j] = activated(0, sums[j]);
  }

 private:
  /// The slice of an operand that belongs to one direction.
  static std::vector<double> part(const ComputeContext& ctx, std::size_t operand, std::size_t direction) {
    TensorView view = ctx.input(operand);
    view.data = address(view, static_cast<std::int64_t>(direction) * view.strides[0]);
    view.shape[0] = 1;
    return read_numbers(view);
  }

  /// A function of a sum, which is clipped first.
  double activated(std::size_t function, double x) const {
    if (spec_.clip > 0) x = x < -spec_.clip ? -spec_.clip : (x > spec_.clip ? spec_.clip : x);
    return functions_[function](x);
  }

  /// W·x + bias of W for gates [first, last), one list of `hidden` after the other.
  std::vector<double> projected(const double* x, std::size_t first, std::size_t last) const {
    std::vector<double> sums(bias_.begin() + static_cast<std::ptrdiff_t>(first * hidden_),
                             bias_.begin() + static_cast<std::ptrdiff_t>(last * hidden_));
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const double* row = w_.data() + (first * hidden_ + j) * inputs_;
      for (std::size_t i = 0; i < inputs_; ++i) sums[j] += row[i] * x[i];
    }
    return sums;
  }

  /// Adds R·h + bias of R for gates [first, last).
  void add_recurrent(const std::vector<double>& h, std::size_t first, std::size_t last, std::vector<double>& sums) const {
    const double* bias = bias_.data() + gates_ * hidden_;
    for (std::size_t j = 0; j < (last - first) * hidden_; ++j) {
      const double* row = r_.data() + (first * hidden_ + j) * hidden_;
      double sum = bias[first * hidden_ + j];
      for (std::size_t i = 0; i < hidden_; ++i) sum += row[i] * h[i];
      sums[j] += sum;
    }
  }

  void lstm(const double* x, const std::vector<double>& seen, std::vector<double>& h, std::vector<double>& c) const {
    std::vector<double> sums = projected(x, 0, 4);
    add_recurrent(seen, 0, 4, sums);
    for (std::size_t j = 0; j < hidden_; ++j) {
      const double in = activated(0, sums[j] + peephole_[j] * c[j]);
      const double forget = spec_.input_forget ? 1 - in : activated(0, sums[2 * hidden_ + j] + peephole_[2 * hidden_ + j] * c[j]);
      c[j] = forget * c[j] + in * activated(1, sums[3 * hidden_ + j]);
      const double out = activated(0, sums[hidden_ + j] + peephole_[hidden_ + j] * c[j]);
      h[j] = out * functions_[2](c[j]);
    }
  }

  void gru(const double* x, std::vector<double>& h) const {
    std::vector<double> sums = projected(x, 0, 2);
    add_recurrent(h, 0, 2, sums);
    for (double& sum : sums) sum = activated(0, sum);
    const double* update = sums.data();
    const double* reset = sums.data() + hidden_;
    std::vector<double> candidate = projected(x, 2, 3);
    if (spec_.linear_before_reset) {
      std::vector<double> recurrent(hidden_, 0.0);
      add_recurrent(h, 2, 3, recurrent);
      for (std::size_t j = 0; j < hidden_; ++j) candidate[j] += reset[j] * recurrent[j];
    } else {
      std::vector<double> kept = h;
      for (std::size_t j = 0; j < hidden_; ++j) kept[j] *= reset[j];
      add_recurrent(kept, 2, 3, candidate);
    }
    for (std::size_t j = 0; j < hidden_; ++j) h[j] = (1 - update[j]) * activated(1, candidate[j]) + update[j] * h[j];
  }

  const RnnSpec& spec_;
  const RnnActivation* functions_ = nullptr;
  std::size_t hidden_ = 0, inputs_ = 0, gates_ = 0;
  std::vector<double> w_, r_, bias_, peephole_;
};

/// Row [direction, sequence, :] of a state, or zeros if it was left out.
std::vector<double> initial(const ComputeContext& ctx, std::size_t operand, std::size_t direction, std::int64_t sequence,
                            std::int64_t hidden) {
  std::vector<double> state(static_cast<std::size_t>(hidden), 0.0);
  if (!ctx.has(operand)) return state;
  const TensorView& view = ctx.input(operand);
  const std::int64_t at = static_cast<std::int64_t>(direction) * view.strides[0] + sequence * view.strides[1];
  load_run(view.dtype, address(view, at), view.strides[2], state.size(), state.data());
  return state;
}

void store_row(const TensorView& view, std::int64_t at, const std::vector<double>& row) {
  store_run(view.dtype, address(view, at), view.strides.back(), row.size(), row.data());
}

/// The states of all sequences, rounded together.
std::vector<std::vector<double>> quantised(const std::vector<std::vector<double>>& states) {
  std::vector<double> all;
  for (const std::vector<double>& state : states) all.insert(all.end(), state.begin(), state.end());
  quantise_rnn_state(all.data(), all.size(), all.data());
  std::vector<std::vector<double>> rounded;
  auto from = all.begin();
  for (const std::vector<double>& state : states) {
    const auto end = from + static_cast<std::ptrdiff_t>(state.size());
    rounded.emplace_back(from, end);
    from = end;
  }
  return rounded;
}

void compute_rnn(const ComputeContext& ctx) {
  const RnnSpec spec = rnn_spec(ctx.node());
  const TensorView& x = ctx.input(kRnnX);
  const std::int64_t steps = x.shape[0], batch = x.shape[1], hidden = ctx.input(kRnnR).shape[2];
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), steps);
  if (ctx.has(kRnnLengths)) lengths = read_integers(ctx.input(kRnnLengths));
  for (const std::int64_t length : lengths) check_rnn_length(ctx.node().name, length, steps);
  std::vector<double> row(static_cast<std::size_t>(x.shape[2]));
  const std::vector<double> zeros(static_cast<std::size_t>(hidden), 0.0);
  const auto sequences = static_cast<std::size_t>(batch);
  for (std::size_t d = 0; d < spec.directions(); ++d) {
    const Cell cell(ctx, spec, d);
    const auto direction = static_cast<std::int64_t>(d);
    std::vector<std::vector<double>> h(sequences), c(sequences);
    for (std::size_t b = 0; b < sequences; ++b) {
      h[b] = initial(ctx, kRnnHidden, d, static_cast<std::int64_t>(b), hidden);
      c[b] = initial(ctx, kRnnCell, d, static_cast<std::int64_t>(b), hidden);
    }
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t t = spec.reversed[d] ? steps - 1 - step : step;
      std::vector<std::vector<double>> seen = h;
      for (std::size_t b = 0; b < sequences; ++b)
        if (spec.dropped(d, t, lengths[b])) seen[b] = zeros;
      if (spec.quantised_state) seen = quantised(seen);
      for (std::size_t b = 0; b < sequences; ++b) {
        const bool inside = t < lengths[b];
        if (inside) {
          const std::int64_t at = t * x.strides[0] + static_cast<std::int64_t>(b) * x.strides[1];
          load_run(x.dtype, address(x, at), x.strides[2], row.size(), row.data());
          cell.step(row.data(), seen[b], h[b], c[b]);
        }
        if (!ctx.wants(0)) continue;
        const Shape& to = ctx.output(0).strides;
        store_row(ctx.output(0), t * to[0] + direction * to[1] + static_cast<std::int64_t>(b) * to[2], inside ? h[b] : zeros);
      }
    }
    for (const std::size_t output : {1, 2}) {
      if (!ctx.wants(output)) continue;
      const Shape& to = ctx.output(output).strides;
      for (std::size_t b = 0; b < sequences; ++b) {
        const std::vector<double>& state = output == 1 ? h[b] : c[b];
        store_row(ctx.output(output), direction * to[0] + static_cast<std::int64_t>(b) * to[1], lengths[b] == 0 ? zeros : state);
      }
    }
  }
}

constexpr std::array<OpDef, 1> kOps = {{{"rnn", {3, 8}, {1, 3}, kAttributes, infer_rnn, compute_rnn}}};

}  // namespace

RnnSpec rnn_spec(const Node& node) {
  RnnSpec spec;
  const std::string& kind = node.text("kind");
  spec.kind = kind == "lstm" ? RnnKind::lstm : kind == "gru" ? RnnKind::gru : RnnKind::simple;
  const std::string& direction = node.text("direction");
  if (direction == "bidirectional") {
    spec.reversed = {false, true};
  } else {
    spec.reversed = {direction == "reverse"};
  }
  spec.clip = node.number("clip", 0);
  spec.input_forget = node.integer("input_forget", 0) != 0;
  const std::int64_t quantised_state = node.integer("quantised_state", 0);
  if (quantised_state < 0 || quantised_state > 2) reject(node, "quantised_state must be 0, 1 or 2");
  spec.quantised_state = quantised_state != 0;
  spec.drops_ended = quantised_state == 1;
  if (spec.quantised_state && spec.kind != RnnKind::lstm) reject(node, "quantised_state belongs to the kind lstm alone");
  spec.linear_before_reset = node.integer("linear_before_reset", 0) != 0;
  const auto& names = std::get<std::vector<std::string>>(*node.find("activations"));
  const std::vector<double>&alpha = node.numbers("alpha"), &beta = node.numbers("beta");
  const std::size_t wanted = spec.directions() * spec.activations_each();
  if (names.size() != wanted || alpha.size() != wanted || beta.size() != wanted) {
    reject(node, std::to_string(names.size()) + " activations are named, with " + std::to_string(alpha.size()) + " and " +
                     std::to_string(beta.size()) + " numbers; " + std::to_string(wanted) + " are wanted");
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const RnnActivation& known) { return known.name == names[i]; });
    if (found == std::end(kActivations)) reject(node, "activation '" + names[i] + "' is not known");
    spec.activations.push_back({found->name, found->function, alpha[i], beta[i]});
  }
  return spec;
}

template <typename T>
void quantise_rnn_state(const T* state, std::size_t count, T* rounded) {
  // In float32, as ONNX Runtime rounds.
  float low = 0, high = 0;
  for (std::size_t i = 0; i < count; ++i) {
    low = std::min(low, static_cast<float>(state[i]));
    high = std::max(high, static_cast<float>(state[i]));
  }
  const float scale = low == high ? 1.0F : (high - low) / 255.0F;
  const float zero = std::nearbyint(std::clamp(-low / scale, 0.0F, 255.0F));
  for (std::size_t i = 0; i < count; ++i) {
    const float q = std::clamp(std::nearbyint(static_cast<float>(state[i]) / scale) + zero, 0.0F, 255.0F);
    rounded[i] = static_cast<T>((q - zero) * scale);
  }
}
template void quantise_rnn_state(const float*, std::size_t, float*);
template void quantise_rnn_state(const double*, std::size_t, double*);

void check_rnn_length(const std::string& node, std::int64_t length, std::int64_t steps) {
  if (length >= 0 && length <= steps) return;
  throw Error(ErrorCode::invalid_input,
              "a sequence has length " + std::to_string(length) + ", but the input has " + std::to_string(steps) + " steps")
      .at(node, "rnn");
}

std::span<const OpDef> rnn_ops() { return kOps; }

}  // namespace jitney
