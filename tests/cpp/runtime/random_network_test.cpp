// Random small networks: whatever the planner shares, views, reorders or overwrites, results equal those of the plain kernels run
// one by one into memory of their own.
#include <cmath>
#include <random>

#include "doctest/doctest.h"
#include "jitney/session.h"
#include "network_builder.h"
#include "ops/op.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

using Values = std::vector<std::int64_t>;

/// Draws networks of 4-D float tensors. Shapes are tracked, so that every node is valid.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  NetworkBuilder network() {
    for (int i = 0; i < 1 + pick(2); ++i) {
      const Shape shape{1 + pick(2), 1 + pick(5), 1 + pick(5), 1 + pick(5)};
      add(b_.input("x" + std::to_string(i), DType::float32, {shape.begin(), shape.end()}), shape);
    }
    const int nodes = 3 + pick(14);
    for (int i = 0; i < nodes; ++i) node();
    const std::size_t outputs = 1 + static_cast<std::size_t>(pick(3));
    for (std::size_t i = 0; i < outputs && i < values_.size(); ++i) {
      // Through an identity: a value may be an output once only.
      const ValueId id = values_[values_.size() - 1 - i];
      b_.output(b_.node("identity", {id}), "out" + std::to_string(i));
    }
    return std::move(b_);
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  void add(ValueId id, const Shape& shape) {
    values_.push_back(id);
    shapes_.push_back(shape);
  }
  std::size_t any() { return static_cast<std::size_t>(pick(static_cast<int>(values_.size()))); }
  ValueId floats(const Shape& shape) {
    std::vector<float> data(static_cast<std::size_t>(shape.elements()));
    for (float& item : data) item = static_cast<float>(pick(17) - 8) / 4;
    return b_.floats(shape, data);
  }

  void node() {
    const std::size_t v = any();
    const ValueId x = values_[v];
    const Shape s = shapes_[v];
    switch (pick(11)) {
      case 0:
        add(b_.node(pick(2) != 0 ? "relu" : "neg", {x}), s);
        break;
      case 1: {  // same shape, a constant, or a broadcast row
        ValueId other = floats(pick(2) != 0 ? s : Shape{s[1], 1, s[3]});
        for (std::size_t i = 0; i < shapes_.size(); ++i)
          if (shapes_[i] == s && pick(2) != 0) other = values_[i];
        const bool swap = pick(2) != 0;
        add(b_.node(pick(2) != 0 ? "add" : "mul", {swap ? other : x, swap ? x : other}), s);
        break;
      }
      case 2: {
        Values perm{0, 1, 2, 3};
        std::shuffle(perm.begin(), perm.end(), random_);
        Shape shape;
        for (const auto axis : perm) shape.push_back(s[static_cast<std::size_t>(axis)]);
        add(b_.node("transpose", {x}, {{"perm", perm}}), shape);
        break;
      }
      case 3: {
        const auto axis = static_cast<std::size_t>(pick(4));
        const std::int64_t start = pick(static_cast<int>(s[axis])), step = 1 + pick(2);
        Shape shape = s;
        shape[axis] = (s[axis] - start + step - 1) / step;
        add(b_.node("slice",
                    {x, b_.ints({start}), b_.ints({INT64_MAX}), b_.ints({static_cast<std::int64_t>(axis)}), b_.ints({step})}),
            shape);
        break;
      }
      case 4: {  // concat with anything that matches, itself included
        const auto axis = static_cast<std::size_t>(pick(4));
        std::vector<ValueId> parts{x};
        Shape shape = s;
        for (int i = 0; i < 1 + pick(3); ++i) {
          for (std::size_t k = 0; k < values_.size(); ++k) {
            Shape other = shapes_[k];
            other[axis] = s[axis];
            if (!(other == s) || pick(3) == 0 || shape[axis] > 12) continue;
            parts.push_back(values_[k]);
            shape[axis] += shapes_[k][axis];
            break;
          }
        }
        add(b_.node("concat", parts, {{"axis", static_cast<std::int64_t>(axis)}}), shape);
        break;
      }
      case 5: {
        const Shape shape{s[0] * s[1], s[2], 1, s[3]};
        add(b_.node("reshape", {x, b_.ints({shape.begin(), shape.end()})}), shape);
        break;
      }
      case 6:
      case 7: {  // conv 1×1 or 3×3, sometimes depthwise
        const bool depthwise = pick(3) == 0;
        const std::int64_t kernel = pick(2) != 0 ? 1 : 3, channels = depthwise ? s[1] : 1 + pick(9), pad = kernel / 2;
        const auto w = floats({channels, depthwise ? 1 : s[1], kernel, kernel});
        add(b_.node("conv", {x, w, floats({channels})},
                    {{"strides", Values{1, 1}},
                     {"dilations", Values{1, 1}},
                     {"pads", Values{pad, pad, pad, pad}},
                     {"group", depthwise ? s[1] : 1},
                     {"auto_pad", std::string("explicit")},
                     {"activation", std::string("relu")}}),
            {s[0], channels, s[2], s[3]});
        break;
      }
      case 8: {
        const std::int64_t columns = 1 + pick(9);
        add(b_.node("matmul", {x, floats({s[3], columns})}), {s[0], s[1], s[2], columns});
        break;
      }
      case 9: {
        if (s[1] < 2) return;
        const std::int64_t first = 1 + pick(static_cast<int>(s[1]) - 1);
        const auto parts = b_.nodes("split", {x, b_.ints({first, s[1] - first})}, 2, {{"axis", std::int64_t{1}}});
        add(parts[0], {s[0], first, s[2], s[3]});
        add(parts[1], {s[0], s[1] - first, s[2], s[3]});
        break;
      }
      default: {
        const Shape shape{s[0], s[1], 1, s[3]};
        const auto mean = b_.node("reduce", {x, b_.ints({2})}, {{"kind", std::string("mean")}, {"keep_dims", std::int64_t{1}}});
        add(b_.node("expand", {mean, b_.ints({s.begin(), s.end()})}), s);
        break;
      }
    }
  }

  std::mt19937 random_;
  NetworkBuilder b_;
  std::vector<ValueId> values_;
  std::vector<Shape> shapes_;
};

/// Runs every node by itself with the plain kernel.
std::map<std::string, Tensor> evaluate(const ModelGraph& model, const std::map<std::string, Tensor>& inputs) {
  const Graph& graph = model.main();
  std::vector<Tensor> tensors(graph.values.size());
  const auto at = [&](ValueId id) -> Tensor& { return tensors[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.constant < 0) continue;
    const Constant& constant = model.constants[static_cast<std::size_t>(value.constant)];
    tensors[i] = Tensor(constant.dtype, constant.shape);
    std::memcpy(tensors[i].data(), constant.data, constant.bytes);
  }
  for (const ValueId id : graph.inputs) at(id) = inputs.at(graph.values[static_cast<std::size_t>(id)].name);
  for (const Node& node : graph.nodes) {
    const OpDef& op = check_node(node);
    std::vector<Facts> facts(node.inputs.size()), results(node.outputs.size());
    std::vector<const Facts*> operands;
    std::vector<TensorView> views, outputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor& tensor = at(node.inputs[i]);
      facts[i] = {tensor.dtype(), SymShape::of({tensor.shape().begin(), tensor.shape().end()}), std::nullopt, tensor.view()};
      operands.push_back(&facts[i]);
      views.push_back(tensor.view());
    }
    const InferContext::SubgraphInference none;
    InferContext infer(node, operands, results, ErrorCode::internal, none);
    op.infer(infer);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Shape shape;
      for (const Dim& dim : results[i].shape.dims) shape.push_back(dim.value());
      at(node.outputs[i]) = Tensor(results[i].dtype, shape);
      outputs.push_back(at(node.outputs[i]).view());
    }
    const ComputeContext::Allocate no_allocation;
    op.compute(ComputeContext(node, views, outputs, no_allocation));
  }
  std::map<std::string, Tensor> named;
  for (const ValueId id : graph.outputs) named.emplace(graph.values[static_cast<std::size_t>(id)].name, at(id));
  return named;
}

}  // namespace

TEST_CASE("random networks equal their nodes run one by one") {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const NetworkBuilder network = Draw(seed).network();
    std::mt19937 random(seed);
    std::map<std::string, Tensor> inputs;
    for (const ValueId id : network.model.main().inputs) {
      const Value& value = network.model.main().values[static_cast<std::size_t>(id)];
      Shape shape;
      for (const Dim& dim : value.shape.dims) shape.push_back(dim.value());
      Tensor& tensor = inputs.emplace(value.name, Tensor(DType::float32, shape)).first->second;
      for (float& item : tensor.span<float>()) item = static_cast<float>(random() % 65) / 16 - 2;
    }
    const auto expected = evaluate(network.model, inputs);
    for (const char* backend : {"reference", "cpu"}) {
      Session session(network.load(), {.backend = backend, .threads = 2});
      const auto results = session.run(inputs);
      for (const auto& [name, tensor] : expected) {
        const auto& result = results.at(name);
        REQUIRE(result.shape() == tensor.shape());
        float largest = 1;
        for (const float item : tensor.span<float>()) largest = std::max(largest, std::abs(item));
        bool equal = true;
        for (std::size_t i = 0; i < tensor.span<float>().size(); ++i)
          equal = equal && std::abs(result.span<float>()[i] - tensor.span<float>()[i]) <= 1e-5f * largest;
        INFO("seed ", seed, " backend ", backend, " output ", name);
        CHECK(equal);
      }
    }
  }
}
