// Where windows lie: resolves auto_pad, explicit pads, dilations and rounding for convolutions and pools.
#include "ops/window.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

namespace jitney {
namespace {

// Sizes and attributes below these bounds cannot overflow 64 bits in any sum or product of this file.
constexpr std::int64_t kMaxAttribute = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 60;

// A kernel larger than any picture only serves to exhaust memory: tap lists have an entry per kernel element.
constexpr std::int64_t kMaxTaps = std::int64_t{1} << 27;

enum class Padding { given, same_upper, same_lower, valid };

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::invalid_model, message, hint);
}

/// A node's window attributes with defaults filled in, lying in the node or in the constants below; the transposed ones stay
/// empty unless given.
struct Window {
  std::span<const std::int64_t> strides, dilations, pads, output_padding, output_shape;
  Padding padding = Padding::given;
  bool ceil = false;
  /// A pool may have no window at all, and an empty result; for a convolution that is surely a mistake.
  bool may_be_none = false;
};

using Numbers = std::array<std::int64_t, 2 * kMaxRank>;
constexpr Numbers kZeros{};
constexpr Numbers kOnes = [] {
  Numbers ones{};
  ones.fill(1);
  return ones;
}();

/// `fallback` holds what each of the numbers is if none are given.
std::span<const std::int64_t> list(const Node& node, const char* name, std::size_t count, const Numbers& fallback,
                                   std::int64_t least) {
  std::span<const std::int64_t> values = node.integers(name);
  if (values.empty()) values = std::span(fallback).first(std::min(count, fallback.size()));
  if (values.size() != count) {
    refuse(std::string(name) + " has " + std::to_string(values.size()) + " numbers, but the kernel's rank wants " +
               std::to_string(count),
           "give one number per spatial axis (pads: begins, then ends)");
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kMaxAttribute) {
      refuse(std::string(name) + " holds " + std::to_string(value) + "; it must lie between " + std::to_string(least) + " and " +
                 std::to_string(kMaxAttribute),
             {});
    }
  }
  return values;
}

Window parse(const Node& node, std::size_t rank, bool transposed) {
  if (rank > kMaxRank) {
    refuse("windows over " + std::to_string(rank) + " axes; tensors have at most " + std::to_string(kMaxRank), {});
  }
  Window window;
  window.strides = list(node, "strides", rank, kOnes, 1);
  window.dilations = list(node, "dilations", rank, kOnes, 1);
  window.pads = list(node, "pads", 2 * rank, kZeros, 0);
  const std::string_view word = node.text("auto_pad", "explicit");
  if (word == "same_upper") window.padding = Padding::same_upper;
  if (word == "same_lower") window.padding = Padding::same_lower;
  if (word == "valid") window.padding = Padding::valid;
  if (window.padding != Padding::given) window.pads = std::span(kZeros).first(2 * rank);
  window.ceil = node.integer("ceil_mode", 0) != 0;
  window.may_be_none = node.op != "conv";
  if (transposed) {
    window.output_padding = list(node, "output_padding", rank, kZeros, 0);
    if (!node.integers("output_shape").empty()) window.output_shape = list(node, "output_shape", rank, kZeros, 0);
  }
  return window;
}

/// One spatial axis of a Window.
struct Axis {
  std::int64_t kernel, stride, dilation, pad_begin, pad_end;
  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

Axis axis_of(const Window& window, std::size_t i, std::int64_t kernel) {
  if (kernel < 1 || kernel > kMaxAttribute) {
    refuse("the kernel has size " + std::to_string(kernel) + " on spatial axis " + std::to_string(i) +
               "; it must lie between 1 and " + std::to_string(kMaxAttribute),
           {});
  }
  return {kernel, window.strides[i], window.dilations[i], window.pads[i], window.pads[window.strides.size() + i]};
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }

bool is_same(const Window& window) { return window.padding == Padding::same_upper || window.padding == Padding::same_lower; }

/// Number of windows by the bare formula, which may be negative. It commutes with adding multiples of the stride to `input`
/// (and the count of them to the result), which is what makes it serve symbols, too.
std::int64_t count_windows(const Window& window, const Axis& axis, std::int64_t input) {
  if (is_same(window)) {
    return floor_quotient(input + axis.stride - 1, axis.stride);
  }
  const std::int64_t room = input + axis.pad_begin + axis.pad_end - axis.extent();
  if (!window.ceil) return floor_quotient(room, axis.stride) + 1;
  const std::int64_t count = floor_quotient(room + axis.stride - 1, axis.stride) + 1;
  // ONNX: the last window must start inside the input or the padding before it.
  return (count - 1) * axis.stride >= input + axis.pad_begin ? count - 1 : count;
}

std::string where(std::size_t axis) { return " on spatial axis " + std::to_string(axis); }

void check_input(std::int64_t input, std::size_t axis) {
  if (input < 0 || input > kMaxSize) refuse("the input has size " + std::to_string(input) + where(axis), {});
}

std::int64_t checked_count(const Window& window, const Axis& axis, std::int64_t input, std::size_t i) {
  check_input(input, i);
  const std::int64_t count = count_windows(window, axis, input);
  if (count < 0 || (count == 0 && input > 0 && !window.may_be_none)) {
    refuse("a kernel of size " + std::to_string(axis.kernel) + " with dilation " + std::to_string(axis.dilation) + " spans " +
               std::to_string(axis.extent()) + ", more than the input of size " + std::to_string(input) + " with pads " +
               std::to_string(axis.pad_begin) + " and " + std::to_string(axis.pad_end) + where(i),
           "feed a larger input, or pad more");
  }
  return count;
}

/// Size of conv_transpose's output before pads are taken off.
std::int64_t full_size(const Window& window, const Axis& axis, std::int64_t input, std::size_t i) {
  check_input(input, i);
  std::int64_t size = 0;
  if (__builtin_mul_overflow(axis.stride, input - 1, &size) || size > kMaxSize) {
    refuse("stride " + std::to_string(axis.stride) + " times input size " + std::to_string(input) + " is too large" + where(i),
           {});
  }
  return size + window.output_padding[i] + axis.extent();
}

void resize_all(WindowGeometry& geometry, std::size_t rank) {
  for (Shape* shape : {&geometry.input, &geometry.kernel, &geometry.stride, &geometry.dilation, &geometry.pad_begin,
                       &geometry.pad_end, &geometry.output}) {
    shape->resize(rank);
  }
}

void store(WindowGeometry& geometry, std::size_t i, std::int64_t input, const Axis& axis, std::int64_t output) {
  geometry.input[i] = input;
  geometry.kernel[i] = axis.kernel;
  geometry.stride[i] = axis.stride;
  geometry.dilation[i] = axis.dilation;
  geometry.pad_begin[i] = axis.pad_begin;
  geometry.pad_end[i] = axis.pad_end;
  geometry.output[i] = output;
}

/// Splits what the padding must cover in all; the odd one goes behind unless `more_before`.
void split_pads(Axis& axis, std::int64_t total, bool more_before) {
  total = std::max<std::int64_t>(total, 0);
  axis.pad_begin = more_before ? total - total / 2 : total / 2;
  axis.pad_end = total - axis.pad_begin;
}

/// Resolves one axis of conv_transpose: sets its pads and returns the output's size.
std::int64_t resolve_transposed(const Window& window, Axis& axis, std::int64_t input, std::size_t i) {
  const std::int64_t full = full_size(window, axis, input, i);
  std::int64_t output = full - axis.pad_begin - axis.pad_end;
  if (!window.output_shape.empty() || is_same(window)) {
    output = window.output_shape.empty() ? input * axis.stride : window.output_shape[i];
    // ONNX: only same_upper pads more behind.
    split_pads(axis, full - output, window.padding != Padding::same_upper);
  }
  if (output < 0) {
    refuse("the output would have size " + std::to_string(output) + where(i) + ": pads " + std::to_string(axis.pad_begin) +
               " and " + std::to_string(axis.pad_end) + " take more than the " + std::to_string(full) + " that there are",
           "pad less, or feed a larger input");
  }
  return output;
}

void check_taps(std::span<const Dim> kernel) {
  std::int64_t taps = 1;
  for (const Dim& size : kernel) {
    if (!size.is_constant()) continue;
    if (size.value() > kMaxTaps / taps) refuse("the kernel has more than " + std::to_string(kMaxTaps) + " elements", {});
    taps *= std::max<std::int64_t>(size.value(), 1);
  }
}

/// Runs a rule that throws plain errors, and blames the node for them.
template <typename Rule>
auto blaming(const InferContext& ctx, Rule rule) {
  try {
    return rule();
  } catch (const Error& error) {
    ctx.fail(error.message(), error.hint());
  }
}

}  // namespace

WindowGeometry window_geometry(const Node& node, const Shape& input, const Shape& kernel) {
  const std::size_t rank = input.size();
  const Window window = parse(node, rank, false);
  WindowGeometry geometry;
  resize_all(geometry, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    Axis axis = axis_of(window, i, kernel[i]);
    const std::int64_t output = checked_count(window, axis, input[i], i);
    if (is_same(window)) {
      split_pads(axis, (output - 1) * axis.stride + axis.extent() - input[i], window.padding == Padding::same_lower);
    }
    store(geometry, i, input[i], axis, output);
  }
  return geometry;
}

WindowGeometry transposed_window_geometry(const Node& node, const Shape& input, const Shape& kernel) {
  const std::size_t rank = input.size();
  const Window window = parse(node, rank, true);
  WindowGeometry geometry;
  resize_all(geometry, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    Axis axis = axis_of(window, i, kernel[i]);
    const std::int64_t output = resolve_transposed(window, axis, input[i], i);
    store(geometry, i, input[i], axis, output);
  }
  return geometry;
}

void tap_sources(const WindowGeometry& geometry, std::int64_t window, std::vector<std::int64_t>& sources) {
  const std::size_t rank = geometry.rank();
  Shape start(rank, 0);
  for (std::size_t i = rank; i-- > 0;) {
    start[i] = window % geometry.output[i] * geometry.stride[i] - geometry.pad_begin[i];
    window /= geometry.output[i];
  }
  sources.assign(1, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::vector<std::int64_t> outer = std::move(sources);
    sources.clear();
    for (const std::int64_t base : outer) {
      for (std::int64_t k = 0; k < geometry.kernel[i]; ++k) {
        const std::int64_t at = start[i] + k * geometry.dilation[i];
        if (at >= geometry.input[i] + geometry.pad_end[i] || base == kBeyondPadding) {
          sources.push_back(kBeyondPadding);
        } else if (at < 0 || at >= geometry.input[i] || base == kInPadding) {
          sources.push_back(kInPadding);
        } else {
          sources.push_back(base * geometry.input[i] + at);
        }
      }
    }
  }
}

std::vector<Dim> infer_window(const InferContext& ctx, std::span<const Dim> input, std::span<const Dim> kernel) {
  return blaming(ctx, [&] {
    const Window window = parse(ctx.node(), input.size(), false);
    check_taps(kernel);
    const bool same = is_same(window);
    std::vector<Dim> output(input.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (input[i].is_unknown() || (!kernel[i].is_constant() && !same)) continue;
      const Axis axis = axis_of(window, i, kernel[i].is_constant() ? kernel[i].value() : 1);
      if (input[i].is_constant()) {
        output[i] = checked_count(window, axis, input[i].value(), i);
        continue;
      }
      // input = stride · whole + rest, where whole holds all symbols.
      const std::int64_t rest = ((input[i].constant() % axis.stride) + axis.stride) % axis.stride;
      output[i] = floor_div(input[i] - Dim(rest), Dim(axis.stride)) + Dim(count_windows(window, axis, rest));
    }
    return output;
  });
}

std::vector<Dim> infer_transposed_window(const InferContext& ctx, std::span<const Dim> input, std::span<const Dim> kernel) {
  return blaming(ctx, [&] {
    const Window window = parse(ctx.node(), input.size(), true);
    check_taps(kernel);
    const bool same = is_same(window);
    std::vector<Dim> output(input.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (kernel[i].is_constant() && input[i].is_constant()) {
        Axis axis = axis_of(window, i, kernel[i].value());
        output[i] = resolve_transposed(window, axis, input[i].value(), i);
      } else if (!window.output_shape.empty()) {
        output[i] = window.output_shape[i];
      } else if (same) {
        output[i] = input[i] * Dim(window.strides[i]);
      } else if (kernel[i].is_constant()) {
        const Axis axis = axis_of(window, i, kernel[i].value());
        output[i] = Dim(axis.stride) * (input[i] - Dim(1)) +
                    Dim(window.output_padding[i] + axis.extent() - axis.pad_begin - axis.pad_end);
      }
    }
    return output;
  });
}

}  // namespace jitney
