// Chooses storage orders and places in one walk over the program (stages 2 and 3 of planning).
#include "plan/layout.h"

#include <algorithm>
#include <numeric>

namespace jitney {
namespace {

const Node& identity_node() {
  static const Node node{"identity", "", {}, {}, {}};
  return node;
}

std::uint64_t bytes_of(const FlatValue& value) {
  return static_cast<std::uint64_t>(value.shape.elements()) * size_of(value.dtype);
}

}  // namespace

bool same_strides(const Shape& shape, const Shape& a, const Shape& b) {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && a[i] != b[i]) return false;
  return true;
}

std::optional<Order> dense_order(const Shape& shape, const Shape& strides) {
  Order order = row_major_order(shape.size());
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    return shape[x] != 1 && shape[y] != 1 && strides[x] > strides[y];
  });
  if (!same_strides(shape, strides, strides_for(shape, order))) return std::nullopt;
  return order;
}

Layout::Layout(Plan& plan, const PlanOptions& options)
    : plan_(plan),
      options_(options),
      slots_(plan.program.values.size()),
      uses_(plan.program.values.size(), 0),
      concat_uses_(plan.program.values.size()) {}

std::vector<PlacedGroup> Layout::run() {
  count_uses();
  const std::vector<FlatNode>& nodes = plan_.program.nodes;
  for (std::size_t i = 0; i < nodes.size();) {
    try {
      i += place(i);
    } catch (const Error& error) {
      throw error.at(nodes[i].node->name, nodes[i].node->op, given(plan_.program, nodes[i]));
    }
  }
  if (plan_.program.cut) {
    place_cut();
  } else {
    place_outputs();
  }
  return std::move(groups_);
}

void Layout::count_uses() {
  const auto use = [&](FlatId id) {
    if (id >= 0) ++uses_[static_cast<std::size_t>(id)];
  };
  for (const FlatNode& node : plan_.program.nodes) {
    std::ranges::for_each(node.inputs, use);
    if (node.node->op != "concat") continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      ConcatUse& first = concat_uses_[static_cast<std::size_t>(node.inputs[i])];
      if (first.node == nullptr) first = {&node, i};
    }
  }
  // These reads never come due, which keeps the values to the end.
  std::ranges::for_each(plan_.program.outputs, use);
  if (plan_.program.cut) {
    std::ranges::for_each(plan_.program.cut->live, use);
    std::ranges::for_each(plan_.program.cut->observed, use);
    if (plan_.program.cut->dynamic) std::ranges::for_each(plan_.program.cut->dynamic->inputs, use);
  }
}

std::size_t Layout::place(std::size_t index) {
  const FlatNode& node = plan_.program.nodes[index];
  if (node.node->op == "concat") {
    place_concat(node);
    return 1;
  }
  if (node.op->regions != nullptr && place_as_views(node)) return 1;
  return place_by_backend(index);
}

std::int32_t Layout::add_buffer(Buffer buffer) {
  buffer.first = groups_.size();
  buffer.last = groups_.size();
  plan_.buffers.push_back(buffer);
  first_resident_.push_back(-1);
  return static_cast<std::int32_t>(plan_.buffers.size() - 1);
}

void Layout::add_resident(std::int32_t buffer, FlatId id) {
  std::int32_t& first = first_resident_[static_cast<std::size_t>(buffer)];
  residents_.push_back({id, first});
  first = static_cast<std::int32_t>(residents_.size() - 1);
}

/// Whether any value in the buffer has reads still to come.
bool Layout::read_again(std::int32_t buffer) const {
  for (std::int32_t i = first_resident_[static_cast<std::size_t>(buffer)]; i >= 0;) {
    const Resident& resident = residents_[static_cast<std::size_t>(i)];
    if (uses_[static_cast<std::size_t>(resident.id)] != 0) return true;
    i = resident.next;
  }
  return false;
}

void Layout::set_slot(FlatId id, Slot slot) {
  add_resident(slot.place.buffer, id);
  slots_[static_cast<std::size_t>(id)] = slot;
}

Slot Layout::new_slot(const FlatValue& value, const Order& order) {
  Buffer buffer;
  buffer.bytes = bytes_of(value);
  return {{add_buffer(buffer), 0}, strides_for(value.shape, order)};
}

/// For what is not computed here: inputs, constants, known values, and results from before a cut.
Slot Layout::make_slot(FlatId id) {
  const FlatValue& v = value(id);
  Buffer buffer;
  buffer.bytes = bytes_of(v);
  Slot slot{{-1, 0}, dense_strides(v.shape)};
  if (v.known) {
    buffer.home = Home::known;
    buffer.index = static_cast<std::uint32_t>(plan_.known.size());
    plan_.known.push_back(v.known);
  } else if (v.weight) {
    buffer.home = Home::weight;
    buffer.index = static_cast<std::uint32_t>(plan_.weights.size());
    plan_.weights.push_back(v.weight);
  } else if (v.input >= 0) {
    buffer.home = Home::input;
    buffer.index = static_cast<std::uint32_t>(v.input);
  } else if (v.external) {
    buffer.home = Home::external;
    buffer.index = static_cast<std::uint32_t>(plan_.externals.size());
    plan_.externals.push_back(id);
    if (options_.live_before != nullptr) {
      for (const PlacedValue& before : *options_.live_before)
        if (before.id == id) slot.strides = before.view.strides;
    }
  } else {
    throw Error(ErrorCode::internal, "value '" + std::string(v.name) + "' is placed before it is computed");
  }
  slot.place.buffer = add_buffer(buffer);
  return slot;
}

const Slot& Layout::slot_of(FlatId id) {
  auto& slot = slots_[static_cast<std::size_t>(id)];
  if (!slot) set_slot(id, make_slot(id));
  return *slot;
}

Operand Layout::operand(FlatId id, const Slot& slot) const {
  const FlatValue& v = value(id);
  Operand operand{v.dtype, v.shape, slot.strides, nullptr, nullptr};
  const Buffer& buffer = plan_.buffers[static_cast<std::size_t>(slot.place.buffer)];
  if (buffer.home == Home::weight) operand.weight = v.weight;
  if (buffer.home == Home::known) operand.known = v.known;
  return operand;
}

void Layout::emit(std::vector<NodeRequest> group, std::vector<Place> inputs, std::vector<Place> outputs) {
  const std::size_t step = groups_.size();
  const auto touch = [&](const Place& place) {
    if (place.buffer < 0) return;
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(place.buffer)];
    buffer.first = std::min(buffer.first, step);
    buffer.last = std::max(buffer.last, step);
  };
  std::ranges::for_each(inputs, touch);
  std::ranges::for_each(outputs, touch);
  groups_.push_back({std::move(group), std::move(inputs), std::move(outputs)});
}

void Layout::copy(FlatId source, const Slot& from, const Slot& to) {
  NodeRequest request{&identity_node(), find_op("identity"), {operand(source, from)}, {operand(source, to)}};
  request.outputs[0].weight = nullptr;
  request.outputs[0].known = nullptr;
  emit({std::move(request)}, {from.place}, {to.place});
}

Slot Layout::materialise(FlatId id, const Order& order) {
  const Slot present = slot_of(id);
  const FlatValue& v = value(id);
  if (same_strides(v.shape, present.strides, strides_for(v.shape, order))) return present;
  const std::pair key{id, std::vector<std::int64_t>(order.begin(), order.end())};
  if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
  const Slot made = new_slot(v, order);
  add_resident(made.place.buffer, id);
  copy(id, present, made);
  copies_.emplace(key, made);
  return made;
}

bool Layout::place_as_views(const FlatNode& node) {
  std::vector<TensorView> inputs, outputs;
  for (const FlatId id : node.inputs) {
    TensorView view;
    if (id >= 0) {
      view = {nullptr, value(id).dtype, value(id).shape, slot_of(id).strides};
      const auto index = inputs.size();
      if (index < 32 && (node.op->value_inputs >> index & 1) != 0) {
        view = value(id).known ? value(id).known->view() : value(id).weight->view();
      }
    }
    inputs.push_back(view);
  }
  for (const FlatId id : node.outputs) {
    outputs.push_back(id < 0 ? TensorView{}
                             : TensorView{nullptr, value(id).dtype, value(id).shape, dense_strides(value(id).shape)});
  }
  Slot source = slot_of(node.inputs[0]);
  std::vector<std::pair<FlatId, Slot>> views;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0) continue;
    auto regions = node.op->regions(*node.node, inputs, outputs, i);
    if (!regions) {
      source = materialise(node.inputs[0], row_major_order(value(node.inputs[0]).shape.size()));
      inputs[0].strides = source.strides;
      regions = node.op->regions(*node.node, inputs, outputs, i);
    }
    if (!regions || regions->size() != 1) return false;
    const Region& region = regions->front();
    if (region.input != 0 || region.dst_offset != 0 || !(region.sizes == outputs[i].shape) ||
        !same_strides(region.sizes, region.dst_strides, outputs[i].strides)) {
      return false;
    }
    const auto element = static_cast<std::int64_t>(size_of(inputs[0].dtype));
    views.emplace_back(node.outputs[i],
                       Slot{{source.place.buffer, source.place.offset + region.src_offset * element}, region.src_strides});
  }
  for (const FlatId id : node.inputs)
    if (id >= 0) --uses_[static_cast<std::size_t>(id)];
  for (auto& [id, slot] : views) set_slot(id, slot);
  return true;
}

/// The place of an input of the group being placed that its first result may overwrite.
std::optional<Slot> Layout::reuse_operand(FlatId result, const Order& order, std::uint32_t in_place) const {
  const Shape& shape = value(result).shape;
  const Shape wanted = strides_for(shape, order);
  const std::size_t count = std::min<std::size_t>(outer_inputs_.size(), 32);
  for (std::size_t i = 0; i < count; ++i) {
    if ((in_place >> i & 1) == 0 || outer_inputs_[i].id < 0) continue;
    const FlatValue& source = value(outer_inputs_[i].id);
    const Slot& slot = input_slots_[i];
    if (plan_.buffers[static_cast<std::size_t>(slot.place.buffer)].home != Home::arena) continue;
    if (source.dtype != value(result).dtype || !(source.shape == shape)) continue;
    if (!same_strides(shape, slot.strides, wanted) || read_again(slot.place.buffer)) continue;
    // Another operand in the same buffer is safe only if it is read at the very place that is written.
    bool safe = true;
    for (std::size_t j = 0; j < outer_inputs_.size(); ++j) {
      const Slot& other = input_slots_[j];
      if (j == i || outer_inputs_[j].id < 0 || other.place.buffer != slot.place.buffer) continue;
      safe = safe && j < 32 && (in_place >> j & 1) != 0 && other.place.offset == slot.place.offset &&
             value(outer_inputs_[j].id).shape == shape && same_strides(shape, other.strides, slot.strides);
    }
    if (safe) return Slot{slot.place, wanted};
  }
  return std::nullopt;
}

/// A node as far as it is known before it is placed. `producers`: the nodes of the group so far, by what they compute.
NodeRequest Layout::request(const FlatNode& node, const std::map<FlatId, std::int32_t>& producers) {
  NodeRequest request{node.node, node.op, {}, {}, options_.measured, options_.prefer_speed};
  request.inputs.reserve(node.inputs.size());
  request.outputs.reserve(node.outputs.size());
  for (const FlatId id : node.inputs) {
    Operand& input = request.inputs.emplace_back();
    if (id < 0) continue;
    if (const auto found = producers.find(id); found != producers.end()) {
      input.dtype = value(id).dtype;
      input.shape = value(id).shape;
      input.producer = found->second;
    } else {
      input = operand(id, slot_of(id));
    }
  }
  for (const FlatId id : node.outputs) {
    Operand& output = request.outputs.emplace_back();
    if (id < 0) continue;
    output.dtype = value(id).dtype;
    output.shape = value(id).shape;
    output.reads = uses_[static_cast<std::size_t>(id)];
  }
  return request;
}

/// The nodes from `index` on that the backend may see.
std::vector<NodeRequest> Layout::request_group(std::size_t index) {
  const std::vector<FlatNode>& nodes = plan_.program.nodes;
  std::map<FlatId, std::int32_t> producers;
  std::vector<NodeRequest> group;
  group.push_back(request(nodes[index], producers));
  const std::size_t most = std::min(nodes.size() - index, options_.backend.widest_group(group.front()));
  for (std::size_t k = 1; k < most; ++k) {
    const FlatNode& node = nodes[index + k];
    if (node.op->regions != nullptr) break;  // movement is the planner's business
    for (const FlatId id : nodes[index + k - 1].outputs)
      if (id >= 0) producers.emplace(id, static_cast<std::int32_t>(k - 1));
    group.push_back(request(node, producers));
  }
  return group;
}

std::size_t Layout::place_by_backend(std::size_t index) {
  const std::vector<FlatNode>& nodes = plan_.program.nodes;
  std::vector<NodeRequest> group = request_group(index);
  const std::size_t count = options_.backend.claim(group);
  if (count == 0)
    throw Error(ErrorCode::unsupported, "the " + std::string(options_.backend.name()) + " backend cannot run this node");
  group.resize(count);

  // All reads by the group are over once it has run; what nobody else reads needs no place.
  for (std::size_t k = 0; k < count; ++k)
    for (const FlatId id : nodes[index + k].inputs)
      if (id >= 0) --uses_[static_cast<std::size_t>(id)];
  outer_inputs_.clear();
  outer_outputs_.clear();
  input_slots_.clear();
  for (std::size_t k = 0; k < count; ++k) {
    const FlatNode& node = nodes[index + k];
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (group[k].inputs[i].producer < 0) outer_inputs_.push_back({node.inputs[i], &group[k].inputs[i]});
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      group[k].outputs[i].inner = count > 1 && (node.outputs[i] < 0 || uses_[static_cast<std::size_t>(node.outputs[i])] == 0);
      if (!group[k].outputs[i].inner) outer_outputs_.push_back({node.outputs[i], &group[k].outputs[i]});
    }
  }

  const NodeLayout layout = options_.backend.layout(group);
  std::vector<Place> input_places, output_places;
  input_places.reserve(outer_inputs_.size());
  output_places.reserve(outer_outputs_.size());
  for (std::size_t i = 0; i < outer_inputs_.size(); ++i) {
    const auto [id, input] = outer_inputs_[i];
    Slot& slot = input_slots_.emplace_back();
    if (id >= 0) {
      slot = layout.inputs[i] ? materialise(id, *layout.inputs[i]) : slot_of(id);
      *input = operand(id, slot);
    }
    input_places.push_back(slot.place);
  }
  for (std::size_t i = 0; i < outer_outputs_.size(); ++i) {
    const auto [id, output] = outer_outputs_[i];
    if (id < 0) {
      output_places.push_back({});
      continue;
    }
    const Order& order = layout.outputs[i];
    std::optional<Slot> slot;
    if (i == 0 && concat_uses_[static_cast<std::size_t>(id)].node == nullptr) slot = reuse_operand(id, order, layout.in_place);
    if (!slot) slot = place_result(id, order, i == 0 && layout.strided_output);
    output->strides = slot->strides;
    output_places.push_back(slot->place);
    set_slot(id, *slot);
  }
  emit(std::move(group), std::move(input_places), std::move(output_places));
  return count;
}

void Layout::place_outputs() {
  for (std::size_t i = 0; i < plan_.program.outputs.size(); ++i) {
    const FlatId id = plan_.program.outputs[i];
    const Slot slot = slot_of(id);
    const FlatValue& v = value(id);
    const Shape dense = dense_strides(v.shape);
    plan_.outputs.push_back({nullptr, v.dtype, v.shape, dense});
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(slot.place.buffer)];
    if (buffer.home == Home::arena && slot.place.offset == 0 && buffer.bytes == bytes_of(v) &&
        same_strides(v.shape, slot.strides, dense)) {
      buffer.home = Home::output;
      buffer.index = static_cast<std::uint32_t>(i);
      continue;
    }
    Buffer output;
    output.home = Home::output;
    output.index = static_cast<std::uint32_t>(i);
    output.bytes = bytes_of(v);
    copy(id, slot, {{add_buffer(output), 0}, dense});
  }
}

PlacedValue Layout::placed(FlatId id) {
  const Slot& slot = slot_of(id);
  return {id, slot.place, {nullptr, value(id).dtype, value(id).shape, slot.strides}};
}

void Layout::place_cut() {
  const Cut& cut = *plan_.program.cut;
  for (const FlatId id : cut.observed) plan_.observed.push_back(placed(id));
  if (cut.dynamic) {
    for (const FlatId id : cut.dynamic->inputs) plan_.dynamic_inputs.push_back(id < 0 ? PlacedValue{} : placed(id));
  }
  for (const FlatId id : cut.live) {
    const bool dynamic = cut.dynamic && std::ranges::find(cut.dynamic->outputs, id) != cut.dynamic->outputs.end();
    if (!dynamic) plan_.live.push_back(placed(id));
  }
  const auto keep = [&](const PlacedValue& value) {
    if (value.place.buffer >= 0) plan_.buffers[static_cast<std::size_t>(value.place.buffer)].last = groups_.size();
  };
  std::ranges::for_each(plan_.observed, keep);
  std::ranges::for_each(plan_.dynamic_inputs, keep);
  std::ranges::for_each(plan_.live, keep);
}

}  // namespace jitney
