// The contexts in which shape rules and reference kernels run.
#include "ops/op.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/access.h"
#include "ops/broadcast.h"

namespace jitney {

InferContext::InferContext(const Node& node, std::span<const Facts* const> inputs, std::span<Facts> outputs, ErrorCode blame,
                           const SubgraphInference& subgraphs)
    : node_(node), inputs_(inputs), outputs_(outputs), blame_(blame), subgraphs_(subgraphs) {}

std::optional<std::vector<Dim>> InferContext::elements(std::size_t input) const {
  if (!has(input)) return std::nullopt;
  const Facts& known = facts(input);
  if (known.elements) {
    // Rules may rely on as many elements as the shape has, so both must be known.
    const Dim count = known.shape.is_constant() ? element_count(known.shape) : Dim::unknown();
    return count.same(Dim(static_cast<std::int64_t>(known.elements->size()))) ? known.elements : std::nullopt;
  }
  const NumberClass kind = number_class(known.dtype);
  if (!known.data || known.data->data == nullptr || known.data->shape.elements() > kMostElements) return std::nullopt;
  if (kind != NumberClass::integer && kind != NumberClass::unsigned64) return std::nullopt;
  std::vector<Dim> elements;
  for (const std::int64_t value : read_integers(*known.data)) {
    // A uint64 beyond int64 arrives as a negative number; no size is that large.
    elements.push_back(kind == NumberClass::unsigned64 && value < 0 ? Dim::unknown() : Dim(value));
  }
  return elements;
}

std::optional<std::vector<std::int64_t>> InferContext::integers(std::size_t input) const {
  const auto known = elements(input);
  if (!known) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Dim& element : *known) {
    if (!element.is_constant()) return std::nullopt;
    values.push_back(element.value());
  }
  return values;
}

std::optional<std::vector<double>> InferContext::numbers(std::size_t input) const {
  if (const auto values = integers(input)) return std::vector<double>(values->begin(), values->end());
  if (!has(input)) return std::nullopt;
  const Facts& known = facts(input);
  if (!known.data || known.data->data == nullptr || number_class(known.dtype) == NumberClass::none) return std::nullopt;
  if (known.data->shape.elements() > kMostElements) return std::nullopt;
  return read_numbers(*known.data);
}

void InferContext::set(std::size_t output, DType dtype, SymShape shape) {
  if (output >= outputs_.size()) return;
  if (shape.ranked && shape.rank() > kMaxRank) {
    fail("the result has rank " + std::to_string(shape.rank()) + ", but at most " + std::to_string(kMaxRank) + " is possible");
  }
  std::optional<std::int64_t> bytes = static_cast<std::int64_t>(std::max<std::size_t>(size_of(dtype), 1));
  for (const Dim& dim : shape.dims) {
    if (!dim.is_constant()) continue;
    if (dim.value() < 0) fail("the result would have a negative dimension: " + describe(shape));
    if (bytes) bytes = checked_mul(*bytes, std::max<std::int64_t>(dim.value(), 1));
  }
  if (!bytes) fail("the result of shape " + describe(shape) + " is larger than 63 bits can count");
  outputs_[output].dtype = dtype;
  outputs_[output].shape = std::move(shape);
}

void InferContext::set_elements(std::size_t output, std::vector<Dim> elements) {
  if (output >= outputs_.size() || elements.size() > static_cast<std::size_t>(kMostElements)) return;
  outputs_[output].elements = std::move(elements);
}

std::vector<Facts> InferContext::infer_subgraph(std::uint32_t graph, std::span<const Facts> inputs) const {
  return subgraphs_(graph, inputs);
}

std::size_t InferContext::axis(std::int64_t axis, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    fail("axis " + std::to_string(axis) + " is outside the range of a tensor of rank " + std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

void InferContext::expect_dtype(std::size_t input, std::initializer_list<DType> allowed) const {
  if (!has(input) || std::find(allowed.begin(), allowed.end(), dtype(input)) != allowed.end()) return;
  std::string wanted;
  for (const DType dtype : allowed) wanted += (wanted.empty() ? "" : ", ") + std::string(to_string(dtype));
  fail("operand " + std::to_string(input) + " has dtype " + std::string(to_string(dtype(input))) + ", but must have one of " +
       wanted);
}

void InferContext::fail(const std::string& message, const std::string& hint) const {
  throw Error(blame_, message, hint).at(node_.name, node_.op);
}

ComputeContext::ComputeContext(const Node& node, std::span<const TensorView> inputs, std::span<TensorView> outputs,
                               const Allocate& allocate)
    : node_(node), inputs_(inputs), outputs_(outputs), allocate_(allocate) {}

}  // namespace jitney
