// Elementwise nodes that run as one loop give the very bits that they give one by one.
#include <cmath>
#include <cstring>
#include <random>

#include "base/thread_pool.h"
#include "cpu/cpu_backend.h"
#include "doctest/doctest.h"
#include "network_builder.h"
#include "runtime/executor.h"
#include "runtime/model_data.h"

using namespace jitney;
using namespace jitney::testing;

namespace {

/// The CPU backend, one node a step.
class OneByOne : public Backend {
 public:
  std::string_view name() const override { return "one_by_one"; }
  std::size_t claim(Group nodes) const override { return cpu_->claim(nodes.first(1)); }
  NodeLayout layout(Group group) const override { return cpu_->layout(group); }
  std::unique_ptr<Step> prepare(Group group, PackCache& cache, std::size_t threads) const override {
    return cpu_->prepare(group, cache, threads);
  }

 private:
  std::unique_ptr<Backend> cpu_ = make_cpu_backend();
};

struct Outcome {
  std::vector<std::vector<float>> outputs;
  std::vector<std::string> kernels;
};

Outcome run(const NetworkBuilder& network, const Backend& backend, std::vector<Tensor>& inputs, std::size_t threads) {
  const Model model = network.load();
  PlanCache plans(1 << 20);
  const Engine engine{*model.data(), backend, plans, ThreadPool::process(), threads, nullptr};
  ExecutionContext context;
  PlanKey key;
  std::vector<Shape> shapes;
  std::vector<const void*> values;
  for (Tensor& input : inputs) {
    shapes.push_back(input.shape());
    values.push_back(input.data());
    context.inputs.push_back(input.data());
  }
  const auto plan = find_plan(engine, shapes, values, key);
  std::vector<Tensor> results;
  execute(engine, plan, context, [&](std::span<const TensorView> outputs) {
    results.reserve(outputs.size());
    for (const TensorView& output : outputs) context.outputs.push_back(results.emplace_back(output.dtype, output.shape).data());
  });
  Outcome outcome;
  for (const Tensor& result : results) outcome.outputs.push_back(elements<float>(result));
  for (const PlannedStep& step : plan->plan->steps) outcome.kernels.push_back(step.step->kernel);
  return outcome;
}

bool same_bits(const Outcome& a, const Outcome& b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    const auto &x = a.outputs[i], &y = b.outputs[i];
    if (x.size() != y.size()) return false;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(x[k]) ? !std::isnan(y[k]) : std::memcmp(&x[k], &y[k], sizeof(float)) != 0) return false;
    }
  }
  return true;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  ValueId floats(NetworkBuilder& b, const Shape& shape) {
    std::vector<float> data(static_cast<std::size_t>(shape.elements()));
    for (float& item : data) item = static_cast<float>(pick(1 << 20)) / (1 << 18) - 2;
    return b.floats(shape, data);
  }
  Tensor tensor(const Shape& shape) {
    Tensor made(DType::float32, shape);
    auto* to = static_cast<float*>(made.data());
    for (std::int64_t i = 0; i < shape.elements(); ++i) to[i] = static_cast<float>(pick(1 << 20)) / (1 << 18) - 2;
    if (shape.elements() > 3) to[pick(4)] = pick(2) != 0 ? NAN : -INFINITY;
    return made;
  }

  /// Elementwise nodes on values of one shape, some in another order, some read twice, some outputs of the network.
  NetworkBuilder network(const Shape& shape) {
    NetworkBuilder b;
    const std::vector<std::int64_t> perm{0, 3, 1, 2};
    const Shape turned{shape[0], shape[2], shape[3], shape[1]};
    std::vector<ValueId> values{
        b.input("x", DType::float32, {shape.begin(), shape.end()}),
        b.node("transpose", {b.input("z", DType::float32, {turned.begin(), turned.end()})}, {{"perm", perm}})};
    std::vector<bool> output(values.size() + 12, false);
    const int nodes = 2 + pick(9);
    for (int i = 0; i < nodes; ++i) {
      const auto any = [&] { return values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))]; };
      const ValueId recent = pick(3) != 0 ? values.back() : any();
      const char* const unary[] = {"relu", "sigmoid", "neg", "sqrt", "hard_swish", "log", "tanh"};
      const char* const binary[] = {"add", "sub", "mul", "div", "max", "min"};
      const char* const op = binary[pick(6)];
      switch (pick(6)) {
        case 0:
          values.push_back(b.node(unary[pick(7)], {recent}));
          break;
        case 1:
          values.push_back(b.node(op, {recent, any()}));
          break;
        case 2:
          values.push_back(b.node(op, {floats(b, {shape[1], 1, 1}), recent}));
          break;
        case 3:
          values.push_back(b.node(op, {recent, floats(b, pick(2) != 0 ? Shape{} : Shape{shape[3]})}));
          break;
        case 4:
          values.push_back(b.node("clip", {recent, floats(b, {}), pick(2) != 0 ? floats(b, {}) : ValueId{-1}}));
          break;
        default:
          values.push_back(b.node(op, {recent, floats(b, {shape[0], 1, shape[2], shape[3]})}));
      }
      if (pick(5) == 0) output[values.size() - 1] = true;
    }
    output[values.size() - 1] = true;
    for (std::size_t i = 2; i < values.size(); ++i) {
      if (output[i]) b.output(values[i], "y" + std::to_string(i));
    }
    if (pick(2) != 0) b.output(b.node("concat", {values.back(), values[2]}, {{"axis", std::int64_t{pick(2)}}}), "joined");
    return b;
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("expressions give the bits of single steps") {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const OneByOne plain;
  const std::vector<Shape> shapes = {{2, 3, 5, 7},    {1, 24, 9, 11}, {1, 1, 1, 1},  {3, 40, 1, 6},
                                     {1, 16, 40, 30}, {0, 3, 4, 5},   {2, 130, 6, 5}};
  std::size_t fused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Draw draw(seed);
    const Shape& shape = shapes[seed % shapes.size()];
    const NetworkBuilder network = draw.network(shape);
    std::vector<Tensor> inputs;
    inputs.push_back(draw.tensor(shape));
    inputs.push_back(draw.tensor({shape[0], shape[2], shape[3], shape[1]}));
    const Outcome wanted = run(network, plain, inputs, 1);
    const Outcome one = run(network, *cpu, inputs, 1), two = run(network, *cpu, inputs, 2);
    CAPTURE(seed);
    CHECK(same_bits(one, wanted));
    CHECK(same_bits(two, wanted));
    fused += wanted.kernels.size() - one.kernels.size();
  }
  CHECK(fused > 300);
}

TEST_CASE("a chain of arithmetic is one step") {
  NetworkBuilder b;
  const auto x = b.input("x", DType::float32, {2, 3});
  const auto square = b.node("mul", {x, x});
  const auto twice = b.node("add", {x, x});
  b.output(b.node("sqrt", {b.node("add", {square, twice})}), "y");
  std::vector<Tensor> inputs;
  inputs.push_back(tensor<float>(DType::float32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  const Outcome outcome = run(b, *make_cpu_backend(), inputs, 1);
  CHECK(outcome.kernels == std::vector<std::string>{"f32_mul+add+add+sqrt"});
  CHECK(outcome.outputs[0][5] == std::sqrt(48.0F));
}
