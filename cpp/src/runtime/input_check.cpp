// Input checks; every message says what was given and what is wanted.
#include "runtime/input_check.h"

#include <algorithm>
#include <optional>

#include "jitney/error.h"

namespace jitney {
namespace {

std::string list_names(std::span<const TensorInfo> infos) {
  std::string text;
  for (const TensorInfo& info : infos) text += (text.empty() ? "'" : ", '") + info.name + "'";
  return text.empty() ? "none" : text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

std::string describe(const TensorInfo& info) {
  std::string text(to_string(info.dtype));
  if (!info.ranked) return text + " of any shape";
  text += " [";
  for (std::size_t i = 0; i < info.shape.size(); ++i) {
    if (i != 0) text += ", ";
    const auto* number = std::get_if<std::int64_t>(&info.shape[i]);
    text += number != nullptr ? std::to_string(*number) : std::get<std::string>(info.shape[i]);
  }
  return text + "]";
}

[[noreturn]] void fail(const TensorInfo& info, const std::string& given, const std::string& hint) {
  throw Error(ErrorCode::invalid_input, "input '" + info.name + "': got " + given + ", expected " + describe(info), hint);
}

using Assignment = std::vector<std::optional<std::int64_t>>;

/// Gives the symbol of `dim` the value that makes it equal `size`, if it has just one open symbol.
void learn(const Dim& dim, std::int64_t size, Assignment& symbols) {
  const Dim rest = dim.substitute(symbols);
  if (!rest.is_symbolic() || rest.terms().size() != 1) return;
  const auto [symbol, coefficient] = rest.terms()[0];
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(size, rest.constant(), &difference)) return;
  // -1 alone would make INT64_MIN / -1 overflow; dims have positive coefficients in practice.
  if (coefficient > 0 && difference % coefficient == 0 && difference >= 0) symbols[symbol] = difference / coefficient;
}

}  // namespace

std::size_t find_by_name(std::span<const TensorInfo> infos, std::string_view name, const char* what) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  std::size_t best = 0, best_distance = SIZE_MAX;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const std::size_t distance = edit_distance(name.substr(0, 200), std::string_view(infos[i].name).substr(0, 200));
    if (distance < best_distance) {
      best_distance = distance;
      best = i;
    }
  }
  std::string hint = std::string("the model's ") + what + "s are: " + list_names(infos);
  if (!infos.empty() && best_distance <= std::max<std::size_t>(1, name.size() / 3))
    hint = "did you mean '" + infos[best].name + "'? " + hint;
  throw Error(ErrorCode::invalid_input, std::string("the model has no ") + what + " named '" + std::string(name) + "'", hint);
}

void check_shapes(const detail::ModelData& model, std::span<const Shape> shapes) {
  Assignment symbols(model.graph.symbols.size());
  // Twice, since a symbol that one input fixes may stand in an expression of an earlier one.
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const SymShape& declared = model.input(i).shape;
      const TensorInfo& info = model.inputs[i];
      if (!declared.ranked) continue;
      if (declared.rank() != shapes[i].size())
        fail(info, to_string(shapes[i]) + " (rank " + std::to_string(shapes[i].size()) + ")",
             "give it rank " + std::to_string(declared.rank()) +
                 (shapes[i].size() < declared.rank() ? "; is the batch axis missing?" : ""));
      for (std::size_t axis = 0; axis < shapes[i].size(); ++axis) {
        const std::int64_t size = shapes[i][axis];
        const Dim& dim = declared.dims[axis];
        if (size < 0) fail(info, to_string(shapes[i]), "sizes cannot be negative");
        learn(dim, size, symbols);
        const Dim now = dim.substitute(symbols);
        if (now.is_constant() && now.value() != size)
          fail(info, to_string(shapes[i]),
               dim.is_constant()
                   ? "axis " + std::to_string(axis) + " is fixed to " + std::to_string(now.value()) + " in this model"
                   : "axis " + std::to_string(axis) + " must be " + to_string(dim, model.graph.symbols) + " = " +
                         std::to_string(now.value()) + " to agree with the other dims");
      }
    }
  }
}

std::vector<TensorView> check_inputs(const detail::ModelData& model, std::span<const NamedView> inputs) {
  std::vector<TensorView> views(model.inputs.size());
  std::vector<bool> given(model.inputs.size(), false);
  for (const NamedView& input : inputs) {
    const std::size_t index = find_by_name(model.inputs, input.name, "input");
    if (given[index]) throw Error(ErrorCode::invalid_input, "input '" + std::string(input.name) + "' is given twice");
    given[index] = true;
    views[index] = input.view;
  }
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const TensorInfo& info = model.inputs[i];
    if (!given[i])
      throw Error(ErrorCode::invalid_input, "input '" + info.name + "' is missing; expected " + describe(info),
                  "the model's inputs are: " + list_names(model.inputs));
    if (views[i].dtype != info.dtype)
      fail(info, std::string(to_string(views[i].dtype)) + " " + to_string(views[i].shape),
           "convert the data to " + std::string(to_string(info.dtype)) + " first");
    if (views[i].data == nullptr && views[i].shape.elements() != 0) fail(info, "no data", "pass a tensor");
    shapes.push_back(views[i].shape);
  }
  check_shapes(model, shapes);
  return views;
}

}  // namespace jitney
