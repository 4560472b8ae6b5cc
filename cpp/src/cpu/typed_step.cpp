// Elementwise ops whose operands or results are not all float32, as loops over typed rows.
#include "cpu/typed_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/broadcast_walk.h"
#include "cpu/parallel.h"
#include "cpu/storage.h"

namespace jitney::cpu {
namespace {

/// A row of elements: y[i·strides[0]] from a[i·strides[1]] and so on.
using Row = void (*)(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* a, const void* b,
                     const void* c);

template <typename Y, typename A, typename B, typename Fn>
void binary_row(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* a, const void* b, const Fn& fn) {
  auto* to = static_cast<Y*>(y);
  const auto* left = static_cast<const A*>(a);
  const auto* right = static_cast<const B*>(b);
  if (strides[0] == 1 && strides[1] == 1 && strides[2] == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = fn(left[i], right[i]);
  } else if (strides[0] == 1 && strides[1] == 1 && strides[2] == 0) {
    const B value = *right;
    for (std::int64_t i = 0; i < count; ++i) to[i] = fn(left[i], value);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * strides[0]] = fn(left[i * strides[1]], right[i * strides[2]]);
  }
}

/// What wraps in two's complement is computed unsigned.
template <typename T>
using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

template <typename T>
T wrapping(Wrapping<T> x) {
  return static_cast<T>(x);
}

template <typename T>
T smaller(T a, T b) {
  return b < a ? b : a;
}

template <typename T>
T larger(T a, T b) {
  return a < b ? b : a;
}

#define JITNEY_ROW(name, result, expression)                                                                               \
  template <typename T>                                                                                                    \
  void name##_row(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* left, const void* right, \
                  const void*) {                                                                                           \
    binary_row<result, T, T>(count, strides, y, left, right, [](T a, T b) -> result { return (expression); });             \
  }
JITNEY_ROW(add, T, wrapping<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)))
JITNEY_ROW(sub, T, wrapping<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b)))
JITNEY_ROW(mul, T, wrapping<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)))
JITNEY_ROW(min, T, smaller(a, b))
JITNEY_ROW(max, T, larger(a, b))
JITNEY_ROW(equal, std::uint8_t, a == b ? 1 : 0)
JITNEY_ROW(less, std::uint8_t, a < b ? 1 : 0)
JITNEY_ROW(less_equal, std::uint8_t, a <= b ? 1 : 0)
JITNEY_ROW(greater, std::uint8_t, a > b ? 1 : 0)
JITNEY_ROW(greater_equal, std::uint8_t, a >= b ? 1 : 0)
JITNEY_ROW(and, std::uint8_t, static_cast<std::uint8_t>(a& b))
JITNEY_ROW(or, std::uint8_t, static_cast<std::uint8_t>(a | b))
JITNEY_ROW(xor, std::uint8_t, static_cast<std::uint8_t>(a ^ b))
#undef JITNEY_ROW

template <typename T>
void where_row(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* condition, const void* a,
               const void* b) {
  auto* to = static_cast<T*>(y);
  const auto* chosen = static_cast<const std::uint8_t*>(condition);
  const auto *left = static_cast<const T*>(a), *right = static_cast<const T*>(b);
  const auto is_plain = [](std::int64_t stride) { return stride == 0 || stride == 1; };
  if (strides[0] != 1 || strides[1] != 1 || !is_plain(strides[2]) || !is_plain(strides[3])) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i * strides[0]] = chosen[i * strides[1]] != 0 ? left[i * strides[2]] : right[i * strides[3]];
    }
    return;
  }
  // Dense rows a piece at a time, an operand of one element as a row of copies: one loop, which compilers can vectorise.
  constexpr std::int64_t kPiece = 128;
  std::array<T, kPiece> copies_left, copies_right;
  if (count > 0 && strides[2] == 0) copies_left.fill(*left);
  if (count > 0 && strides[3] == 0) copies_right.fill(*right);
  for (std::int64_t done = 0; done < count; done += kPiece) {
    const T* from_left = strides[2] == 0 ? copies_left.data() : left + done;
    const T* from_right = strides[3] == 0 ? copies_right.data() : right + done;
    const std::int64_t end = std::min(kPiece, count - done);
    for (std::int64_t i = 0; i < end; ++i) {
      // Both are read, so that no branch is left.
      const T yes = from_left[i], no = from_right[i];
      to[done + i] = chosen[done + i] != 0 ? yes : no;
    }
  }
}

void is_nan_row(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* x, const void*, const void*) {
  auto* to = static_cast<std::uint8_t*>(y);
  const auto* from = static_cast<const float*>(x);
  for (std::int64_t i = 0; i < count; ++i) to[i * strides[0]] = std::isnan(from[i * strides[1]]) ? 1 : 0;
}

void not_row(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* x, const void*, const void*) {
  auto* to = static_cast<std::uint8_t*>(y);
  const auto* from = static_cast<const std::uint8_t*>(x);
  for (std::int64_t i = 0; i < count; ++i) to[i * strides[0]] = from[i * strides[1]] == 0 ? 1 : 0;
}

/// A bool in memory, told apart from uint8.
enum class Flag : std::uint8_t {};

/// As ONNX's Cast: integers wrap; from float the fraction is dropped, what does not fit becomes the nearest end, NaN 0.
template <typename From, typename To>
To converted(From x) {
  if constexpr (std::is_same_v<From, Flag>) {
    return converted<std::uint8_t, To>(static_cast<std::uint8_t>(x));
  } else if constexpr (std::is_same_v<To, Flag>) {
    return static_cast<Flag>(x != From{0} ? 1 : 0);
  } else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    // The upper end as a power of two: exact in float, unlike the largest integer itself.
    constexpr From above = static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    if (x != x) return 0;
    if (x >= above) return std::numeric_limits<To>::max();
    if (x <= static_cast<From>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void cast_row(std::int64_t count, const BroadcastWalk::Offsets& strides, void* y, const void* x, const void*, const void*) {
  auto* to = static_cast<To*>(y);
  const auto* from = static_cast<const From*>(x);
  if (strides[0] == 1 && strides[1] == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = converted<From, To>(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * strides[0]] = converted<From, To>(from[i * strides[1]]);
  }
}

template <typename Body>
Row with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float32:
      return body(float{});
    case DType::int64:
      return body(std::int64_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::int8:
      return body(std::int8_t{});
    case DType::uint8:
      return body(std::uint8_t{});
    case DType::boolean:
      return body(Flag{});
    default:
      return nullptr;
  }
}

struct Rows {
  std::string_view op;
  Row f32, i64, i32, u8;
};

constexpr std::array<Rows, 10> kNumbers = {{
    {"add", nullptr, add_row<std::int64_t>, add_row<std::int32_t>, add_row<std::uint8_t>},
    {"sub", nullptr, sub_row<std::int64_t>, sub_row<std::int32_t>, sub_row<std::uint8_t>},
    {"mul", nullptr, mul_row<std::int64_t>, mul_row<std::int32_t>, mul_row<std::uint8_t>},
    {"min", nullptr, min_row<std::int64_t>, min_row<std::int32_t>, min_row<std::uint8_t>},
    {"max", nullptr, max_row<std::int64_t>, max_row<std::int32_t>, max_row<std::uint8_t>},
    {"equal", equal_row<float>, equal_row<std::int64_t>, equal_row<std::int32_t>, equal_row<std::uint8_t>},
    {"less", less_row<float>, less_row<std::int64_t>, less_row<std::int32_t>, less_row<std::uint8_t>},
    {"less_equal", less_equal_row<float>, less_equal_row<std::int64_t>, less_equal_row<std::int32_t>,
     less_equal_row<std::uint8_t>},
    {"greater", greater_row<float>, greater_row<std::int64_t>, greater_row<std::int32_t>, greater_row<std::uint8_t>},
    {"greater_equal", greater_equal_row<float>, greater_equal_row<std::int64_t>, greater_equal_row<std::int32_t>,
     greater_equal_row<std::uint8_t>},
}};

Row find_row(const NodeRequest& node) {
  const std::string& op = node.node->op;
  const DType dtype = node.inputs[0].dtype;
  if (op == "where") {
    switch (size_of(node.outputs[0].dtype)) {
      case 1:
        return where_row<std::uint8_t>;
      case 2:
        return where_row<std::uint16_t>;
      case 4:
        return where_row<std::uint32_t>;
      case 8:
        return where_row<std::uint64_t>;
      default:
        return nullptr;
    }
  }
  if (op == "cast") {
    return with_type(dtype, [&](auto from) {
      return with_type(node.outputs[0].dtype, [](auto to) -> Row { return cast_row<decltype(from), decltype(to)>; });
    });
  }
  if (op == "is_nan") return dtype == DType::float32 ? is_nan_row : nullptr;
  if (op == "not") return not_row;
  if (op == "and") return and_row<std::uint8_t>;
  if (op == "or") return or_row<std::uint8_t>;
  if (op == "xor") return xor_row<std::uint8_t>;
  for (const Rows& rows : kNumbers) {
    if (rows.op != op) continue;
    if (dtype == DType::float32) return rows.f32;
    if (dtype == DType::int64) return rows.i64;
    if (dtype == DType::int32) return rows.i32;
    if (dtype == DType::uint8 || dtype == DType::boolean) return rows.u8;
  }
  return nullptr;
}

class TypedStep final : public Step {
 public:
  TypedStep(const NodeRequest& node, Row row) : node_(node), row_(row), walk_(node.outputs[0], node.inputs) {
    bytes_[0] = static_cast<std::int64_t>(size_of(node.outputs[0].dtype));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) bytes_[i + 1] = static_cast<std::int64_t>(size_of(node.inputs[i].dtype));
    kernel = "typed_" + node.node->op;
  }

  void run(const StepRun& run) const override {
    auto* y = static_cast<std::byte*>(run.outputs[0]);
    std::array<const std::byte*, 3> inputs{};
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) inputs[i] = input_data<std::byte>(run, node_, i);
    const auto row = [&](const BroadcastWalk::Offsets& at, std::int64_t count) {
      const auto operand = [&](std::size_t i) -> const void* {
        return inputs[i] != nullptr ? inputs[i] + at[i + 1] * bytes_[i + 1] : nullptr;
      };
      row_(count, walk_.row_strides(), y + at[0] * bytes_[0], operand(0), operand(1), operand(2));
    };
    const std::int64_t piece = piece_size(static_cast<double>(walk_.unit_elements()) + 5);
    parallel_ranges(run, walk_.units(), piece,
                    [&](std::int64_t begin, std::int64_t end, std::size_t) { walk_.for_each(begin, end, row); });
  }

 private:
  NodeRequest node_;
  Row row_;
  BroadcastWalk walk_;
  std::array<std::int64_t, BroadcastWalk::kOperands> bytes_{};
};

std::optional<NodeLayout> layout(const NodeRequest& node) { return elementwise_layout(node); }

std::unique_ptr<Step> prepare(const NodeRequest& node, PackCache&, std::size_t) { return prepare_typed(node); }

// Those without typed rows still keep the inputs' storage order.
constexpr auto kOps = std::to_array<FastOp>({
    {"where", layout, prepare},         {"cast", layout, prepare},       {"equal", layout, prepare},
    {"less", layout, prepare},          {"less_equal", layout, prepare}, {"greater", layout, prepare},
    {"greater_equal", layout, prepare}, {"and", layout, prepare},        {"or", layout, prepare},
    {"xor", layout, prepare},           {"not", layout, prepare},        {"bitwise_not", layout, prepare},
    {"bitwise_and", layout, prepare},   {"bitwise_or", layout, prepare}, {"bitwise_xor", layout, prepare},
    {"bit_shift", layout, prepare},     {"mod", layout, prepare},        {"is_nan", layout, prepare},
    {"is_inf", layout, prepare},
});

}  // namespace

std::span<const FastOp> typed_steps() noexcept { return kOps; }

std::unique_ptr<Step> prepare_typed(const NodeRequest& node) {
  const Row row = find_row(node);
  if (row == nullptr) return nullptr;
  return std::make_unique<TypedStep>(node, row);
}

}  // namespace jitney::cpu
