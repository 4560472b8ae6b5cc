// Stages 2 and 3 of planning: a storage order and a place for every value; copies only where orders disagree; views, concat in
// place, and results written over operands that nobody reads again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace jitney {

/// Where a value lies and how.
struct Slot {
  Place place;
  Shape strides;
};

/// A group with every outer operand placed, ready to be prepared by the backend.
struct PlacedGroup {
  std::vector<NodeRequest> nodes;
  std::vector<Place> inputs;
  std::vector<Place> outputs;
};

class Layout {
 public:
  Layout(Plan& plan, const PlanOptions& options);

  /// Fills plan.buffers (arena offsets excepted), externals, known, weights, observed, dynamic_inputs, live and outputs.
  std::vector<PlacedGroup> run();

 private:
  struct ConcatUse {
    const FlatNode* node = nullptr;
    std::size_t operand = 0;
  };

  const FlatValue& value(FlatId id) const { return plan_.program.values[static_cast<std::size_t>(id)]; }
  void count_uses();
  /// Places the node of that index, and those that the backend takes with it; returns how many.
  std::size_t place(std::size_t index);
  std::size_t place_by_backend(std::size_t index);
  NodeRequest request(const FlatNode& node, const std::map<FlatId, std::int32_t>& producers);
  std::vector<NodeRequest> request_group(std::size_t index);
  void place_concat(const FlatNode& node);
  bool place_as_views(const FlatNode& node);
  void place_outputs();
  void place_cut();

  const Slot& slot_of(FlatId id);
  Slot make_slot(FlatId id);
  Slot materialise(FlatId id, const Order& order);
  Slot new_slot(const FlatValue& value, const Order& order);
  /// A slot for a computed result: inside a concat's result where one reads it and the producer can leave gaps.
  Slot place_result(FlatId id, const Order& order, bool strided);
  Slot concat_part(const ConcatUse& use, const Slot& whole) const;
  std::optional<Slot> reuse_operand(FlatId result, const Order& order, std::uint32_t in_place) const;
  bool read_again(std::int32_t buffer) const;
  void set_slot(FlatId id, Slot slot);
  std::int32_t add_buffer(Buffer buffer);
  Operand operand(FlatId id, const Slot& slot) const;
  void copy(FlatId source, const Slot& from, const Slot& to);
  void emit(std::vector<NodeRequest> group, std::vector<Place> inputs, std::vector<Place> outputs);
  PlacedValue placed(FlatId id);

  void add_resident(std::int32_t buffer, FlatId id);

  /// Values that lie in one buffer, as a list: planning allocates per value, not per list.
  struct Resident {
    FlatId id;
    std::int32_t next;  // index into residents_, or -1
  };
  /// An outer operand of the group being placed; both vectors serve one group after another.
  struct Outer {
    FlatId id;
    Operand* operand;
  };

  Plan& plan_;
  const PlanOptions& options_;
  std::vector<PlacedGroup> groups_;
  std::vector<std::optional<Slot>> slots_;  // by FlatId
  std::vector<std::size_t> uses_;           // reads still to come, by FlatId
  std::vector<Resident> residents_;
  std::vector<std::int32_t> first_resident_;  // by buffer
  std::vector<Outer> outer_inputs_, outer_outputs_;
  std::vector<Slot> input_slots_;
  std::vector<ConcatUse> concat_uses_;                                 // by FlatId
  std::set<std::pair<const FlatNode*, std::size_t>> in_place_concat_;  // operands that are where they belong
  std::map<std::pair<FlatId, std::vector<std::int64_t>>, Slot> copies_;
};

/// Equal but for axes of size 1, whose stride means nothing. Anything equals anything for an empty tensor.
bool same_strides(const Shape& shape, const Shape& a, const Shape& b);
/// The order in which a tensor with these strides is dense, if it is.
std::optional<Order> dense_order(const Shape& shape, const Shape& strides);

}  // namespace jitney
