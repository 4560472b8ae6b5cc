// Typed access to a node's attributes.
#include "graph/graph.h"

#include "jitney/error.h"

namespace jitney {

namespace {

/// The payload as T, null if the attribute is absent.
template <typename T>
const T* payload(const Node& node, std::string_view name) {
  const Attribute* attribute = node.find(name);
  if (attribute == nullptr) return nullptr;
  const T* value = std::get_if<T>(attribute);
  if (value == nullptr) {
    throw Error(ErrorCode::internal, "attribute '" + std::string(name) + "' was read as a type that it does not have")
        .at(node.name, node.op);
  }
  return value;
}

template <typename T>
const T& required(const Node& node, std::string_view name) {
  const T* value = payload<T>(node, name);
  if (value == nullptr) {
    throw Error(ErrorCode::internal, "attribute '" + std::string(name) + "' was read but is not there").at(node.name, node.op);
  }
  return *value;
}

}  // namespace

const Attribute* Node::find(std::string_view attribute) const noexcept {
  for (const NamedAttribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

std::int64_t Node::integer(std::string_view attribute) const { return required<std::int64_t>(*this, attribute); }

std::int64_t Node::integer(std::string_view attribute, std::int64_t fallback) const {
  const auto* value = payload<std::int64_t>(*this, attribute);
  return value != nullptr ? *value : fallback;
}

double Node::number(std::string_view attribute) const { return required<double>(*this, attribute); }

double Node::number(std::string_view attribute, double fallback) const {
  const auto* value = payload<double>(*this, attribute);
  return value != nullptr ? *value : fallback;
}

const std::string& Node::text(std::string_view attribute) const { return required<std::string>(*this, attribute); }

std::string_view Node::text(std::string_view attribute, std::string_view fallback) const {
  const auto* value = payload<std::string>(*this, attribute);
  return value != nullptr ? std::string_view(*value) : fallback;
}

const std::vector<std::int64_t>& Node::integers(std::string_view attribute) const {
  static const std::vector<std::int64_t> none;
  const auto* value = payload<std::vector<std::int64_t>>(*this, attribute);
  return value != nullptr ? *value : none;
}

const std::vector<double>& Node::numbers(std::string_view attribute) const {
  static const std::vector<double> none;
  const auto* value = payload<std::vector<double>>(*this, attribute);
  return value != nullptr ? *value : none;
}

std::uint32_t Node::graph(std::string_view attribute) const { return required<GraphRef>(*this, attribute).index; }

std::optional<std::uint32_t> Node::constant(std::string_view attribute) const {
  const auto* value = payload<ConstantRef>(*this, attribute);
  return value != nullptr ? std::optional(value->index) : std::nullopt;
}

}  // namespace jitney
