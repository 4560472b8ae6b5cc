// Parses the graph and metadata sections of a .jny file.
#include "graph/graph_section.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "graph/byte_reader.h"

namespace jitney {

namespace {

// The fewest bytes that each record can take in the file; they bound the counts of lists.
constexpr std::size_t kText = 4, kList = 4;
constexpr std::size_t kDim = 1, kTerm = 12;
constexpr std::size_t kConstant = 4 + kList + 20;
constexpr std::size_t kValue = kText + 2;
constexpr std::size_t kAttribute = kText + 1 + 4;
constexpr std::size_t kNode = 2 * kText + 3 * kList;
constexpr std::size_t kGraph = kText + 5 * kList;

constexpr std::uint8_t kRanked = 1, kConstantValue = 2, kQuantised = 4;
constexpr std::size_t kWeightAlignment = 64;

class Parser {
 public:
  Parser(std::span<const std::byte> section, std::span<const std::byte> weights)
      : in_(section, "graph section"), weights_(weights) {}

  ModelGraph model() {
    in_.at("symbols");
    list(model_.symbols, kText, [this](std::size_t) { return in_.text(); });
    std::set<std::string_view> distinct(model_.symbols.begin(), model_.symbols.end());
    if (distinct.size() != model_.symbols.size()) in_.fail("two symbols have the same name");
    in_.at("constants");
    list(model_.constants, kConstant, [this](std::size_t i) {
      in_.at("constant " + std::to_string(i));
      return constant();
    });
    in_.at("graphs");
    graph_count_ = in_.count(kGraph);
    if (graph_count_ == 0) in_.fail("there is none");
    model_.graphs.reserve(graph_count_);
    for (std::size_t i = 0; i < graph_count_; ++i) {
      place_ = "graph " + std::to_string(i);
      in_.at(place_);
      model_.graphs.push_back(graph());
    }
    in_.expect_end();
    return std::move(model_);
  }

 private:
  template <typename T, typename Item>
  void list(std::vector<T>& items, std::size_t least_item, Item item) {
    const std::size_t count = in_.count(least_item);
    items.reserve(count);
    for (std::size_t i = 0; i < count; ++i) items.push_back(item(i));
  }

  DType dtype() {
    const auto number = in_.integer<std::uint8_t>();
    if (number > static_cast<std::uint8_t>(DType::int2)) in_.fail("dtype " + std::to_string(number) + " does not exist");
    return static_cast<DType>(number);
  }

  std::size_t rank(std::size_t least_item) {
    const std::size_t rank = in_.count(least_item);
    if (rank > kMaxRank) in_.fail("rank " + std::to_string(rank) + " is more than " + std::to_string(kMaxRank));
    return rank;
  }

  std::int64_t dim_size(std::int64_t size) {
    if (size < 0) in_.fail("a dimension is " + std::to_string(size));
    return size;
  }

  /// Bytes of a tensor of that type and shape.
  std::uint64_t tensor_bytes(DType type, const Shape& shape) {
    // Zeros are left out, so that no product of some of the dims can overflow later.
    std::int64_t product = std::max<std::int64_t>(1, static_cast<std::int64_t>(size_of(type)));
    for (const std::int64_t size : shape) {
      const auto next = checked_mul(product, std::max<std::int64_t>(size, 1));
      if (!next) in_.fail("shape " + to_string(shape) + " has more bytes than 63 bits can count");
      product = *next;
    }
    return std::count(shape.begin(), shape.end(), 0) > 0 ? 0 : static_cast<std::uint64_t>(product);
  }

  std::uint32_t constant_index() {
    const auto index = in_.integer<std::uint32_t>();
    if (index >= model_.constants.size()) {
      in_.fail("constant " + std::to_string(index) + " does not exist; there are " + std::to_string(model_.constants.size()));
    }
    return index;
  }

  Constant constant() {
    Constant constant;
    constant.dtype = dtype();
    if (size_of(constant.dtype) == 0) in_.fail("it has dtype " + std::string(to_string(constant.dtype)));
    const auto encoding = in_.integer<std::uint8_t>();
    if (encoding != 0) in_.fail("its encoding " + std::to_string(encoding) + " is not known");
    if (in_.integer<std::uint16_t>() != 0) in_.fail("a reserved field is not zero");
    const std::size_t dims = rank(sizeof(std::int64_t));
    for (std::size_t i = 0; i < dims; ++i) constant.shape.push_back(dim_size(in_.integer<std::int64_t>()));
    const auto offset = in_.integer<std::uint64_t>();
    constant.bytes = in_.integer<std::uint64_t>();
    constant.checksum = in_.integer<std::uint32_t>();
    const std::uint64_t wanted = tensor_bytes(constant.dtype, constant.shape);
    if (constant.bytes != wanted) {
      in_.fail(std::string(to_string(constant.dtype)) + " " + to_string(constant.shape) + " takes " + std::to_string(wanted) +
               " bytes, but it has " + std::to_string(constant.bytes));
    }
    if (offset % kWeightAlignment != 0) in_.fail("its offset " + std::to_string(offset) + " is no multiple of 64");
    if (offset > weights_.size() || constant.bytes > weights_.size() - offset) {
      in_.fail("it reaches beyond the end of the weights section");
    }
    constant.data = weights_.data() + offset;
    return constant;
  }

  Dim dim() {
    const auto kind = in_.integer<std::uint8_t>();
    if (kind == 0) return dim_size(in_.integer<std::int64_t>());
    if (kind == 2) return Dim::unknown();
    if (kind != 1) in_.fail("a dimension of kind " + std::to_string(kind) + " does not exist");
    const auto constant = in_.integer<std::int64_t>();
    std::vector<Dim::Term> terms;
    list(terms, kTerm, [this](std::size_t) {
      const auto symbol = in_.integer<std::uint32_t>();
      if (symbol >= model_.symbols.size())
        in_.fail("a dimension names symbol " + std::to_string(symbol) + ", which does not exist");
      return Dim::Term{symbol, in_.integer<std::int64_t>()};
    });
    Dim dim = Dim::affine(constant, std::move(terms));
    if (dim.is_constant()) dim_size(dim.value());
    return dim;
  }

  Value value() {
    Value value;
    value.name = in_.text();
    value.dtype = dtype();
    const auto flags = in_.integer<std::uint8_t>();
    if ((flags & ~(kRanked | kConstantValue | kQuantised)) != 0)
      in_.fail("its flags " + std::to_string(flags) + " are not known");
    if ((flags & kRanked) != 0) {
      value.shape.ranked = true;
      const std::size_t dims = rank(kDim);
      for (std::size_t i = 0; i < dims; ++i) value.shape.dims.push_back(dim());
      // Every size that is known counts: an unknown one may turn out to be 1.
      Shape least(dims, 1);
      for (std::size_t i = 0; i < dims; ++i) {
        if (value.shape.dims[i].is_constant()) least[i] = value.shape.dims[i].value();
      }
      tensor_bytes(value.dtype, least);
    }
    if ((flags & kConstantValue) != 0) value.constant = static_cast<std::int32_t>(constant_index());
    if ((flags & kQuantised) != 0) {
      Quantisation quantisation;
      quantisation.scale = in_.integer<std::int32_t>();
      quantisation.zero_point = in_.integer<std::int32_t>();
      quantisation.axis = in_.integer<std::int32_t>();
      value.quantisation = quantisation;
    }
    return value;
  }

  /// An index into the values of the graph that is read now; −1 too if it may be left out.
  ValueId value_id(const Graph& graph, bool optional) {
    const auto id = in_.integer<std::int32_t>();
    if (id < (optional ? kNoValue : 0) || (id >= 0 && static_cast<std::size_t>(id) >= graph.values.size())) {
      in_.fail("value " + std::to_string(id) + " does not exist; there are " + std::to_string(graph.values.size()));
    }
    return id;
  }

  Attribute attribute() {
    const auto type = in_.integer<std::uint8_t>();
    const auto integers = [this] {
      std::vector<std::int64_t> values;
      list(values, 8, [this](std::size_t) { return in_.integer<std::int64_t>(); });
      return values;
    };
    const auto numbers = [this] {
      std::vector<double> values;
      list(values, 8, [this](std::size_t) { return in_.number(); });
      return values;
    };
    const auto texts = [this] {
      std::vector<std::string> values;
      list(values, kText, [this](std::size_t) { return in_.text(); });
      return values;
    };
    switch (type) {
      case 1:
        return in_.integer<std::int64_t>();
      case 2:
        return in_.number();
      case 3:
        return in_.text();
      case 4:
        return integers();
      case 5:
        return numbers();
      case 6:
        return texts();
      case 7:
        return ConstantRef{constant_index()};
      case 8: {
        const auto index = in_.integer<std::uint32_t>();
        if (index >= graph_count_) in_.fail("graph " + std::to_string(index) + " does not exist");
        return GraphRef{index};
      }
      default:
        in_.fail("an attribute of type " + std::to_string(type) + " does not exist");
    }
  }

  Node node(const Graph& graph) {
    Node node;
    node.op = in_.text();
    node.name = in_.text();
    if (node.op.empty()) in_.fail("it has no op");
    list(node.inputs, 4, [&](std::size_t) { return value_id(graph, true); });
    list(node.outputs, 4, [&](std::size_t) { return value_id(graph, true); });
    list(node.attributes, kAttribute, [&](std::size_t) {
      NamedAttribute named;
      named.name = in_.text();
      named.value = attribute();
      return named;
    });
    std::set<std::string_view> names;
    for (const NamedAttribute& named : node.attributes) {
      if (!names.insert(named.name).second) in_.fail("attribute " + quoted(named.name) + " stands there twice");
    }
    return node;
  }

  Graph graph() {
    Graph graph;
    graph.name = in_.text();
    list(graph.values, kValue, [&](std::size_t i) {
      in_.at(place_ + ", value " + std::to_string(i));
      return value();
    });
    in_.at(place_ + ", inputs");
    list(graph.inputs, 4, [&](std::size_t) { return value_id(graph, false); });
    in_.at(place_ + ", outputs");
    list(graph.outputs, 4, [&](std::size_t) { return value_id(graph, false); });
    in_.at(place_ + ", states");
    list(graph.states, 8, [&](std::size_t) {
      const ValueId input = value_id(graph, false);
      return std::pair(input, value_id(graph, false));
    });
    in_.at(place_ + ", nodes");
    list(graph.nodes, kNode, [&](std::size_t i) {
      in_.at(place_ + ", node " + std::to_string(i));
      return node(graph);
    });
    return graph;
  }

  ByteReader in_;
  std::span<const std::byte> weights_;
  ModelGraph model_;
  std::size_t graph_count_ = 0;
  std::string place_;
};

}  // namespace

ModelGraph read_graph_section(std::span<const std::byte> section, std::span<const std::byte> weights) {
  return Parser(section, weights).model();
}

std::map<std::string, std::string> read_metadata_section(std::span<const std::byte> section) {
  ByteReader in(section, "metadata section");
  std::map<std::string, std::string> metadata;
  const std::size_t count = in.count(2 * kText);
  for (std::size_t i = 0; i < count; ++i) {
    std::string key = in.text();
    std::string value = in.text();
    if (!metadata.empty() && key <= metadata.rbegin()->first) in.fail("the keys are not distinct and sorted at " + quoted(key));
    metadata.emplace_hint(metadata.end(), std::move(key), std::move(value));
  }
  in.expect_end();
  return metadata;
}

}  // namespace jitney
