// Single-node requests for the tests of steps.
#include "harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "doctest/doctest.h"
#include "ops/access.h"
#include "ops/infer.h"

namespace jitney::test {
namespace {

constexpr std::byte kCanary{0xAB};

class TestWeight final : public Weight {
 public:
  explicit TestWeight(const Stored& tensor) : tensor_(tensor) {
    static std::uint64_t next = 1;
    id = next++;
  }
  TensorView view() override { return tensor_.view(); }

 private:
  Stored tensor_;
};

template <typename Body>
void for_each_element(Stored& tensor, const Body& body) {
  const Walk<1> walk(tensor.shape, {tensor.strides});
  walk.for_each([&](const std::array<std::int64_t, 1>& at) { body(at[0]); });
}

void copy_elements(Stored& from, Stored& to) {
  const std::size_t bytes = size_of(from.dtype);
  Walk<2>(from.shape, {from.strides, to.strides}).for_each([&](const std::array<std::int64_t, 2>& at) {
    std::memcpy(address(to.view(), at[1]), address(from.view(), at[0]), bytes);
  });
}

void check_canaries(Stored& tensor) {
  std::vector<bool> used(tensor.memory.size(), false);
  const std::size_t bytes = size_of(tensor.dtype);
  for_each_element(tensor, [&](std::int64_t at) {
    const auto start = static_cast<std::size_t>(tensor.offset + at * static_cast<std::int64_t>(bytes));
    std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(start), bytes, true);
  });
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i] && tensor.memory[i] != kCanary) FAIL("a byte between or around the output's elements was written");
  }
}

std::vector<Facts> infer_outputs(const Case& given, const OpDef& op) {
  std::vector<Facts> facts(given.inputs.size());
  std::vector<const Facts*> operands;
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    Stored& input = const_cast<Stored&>(given.inputs[i]);
    facts[i].dtype = input.dtype;
    facts[i].shape = SymShape::of({input.shape.begin(), input.shape.end()});
    if (input.strides == dense_strides(input.shape)) facts[i].data = input.view();
    operands.push_back(input.dtype == DType::undefined ? nullptr : &facts[i]);
  }
  std::vector<Facts> results(given.outputs);
  const InferContext::SubgraphInference none;
  InferContext context(given.node, operands, results, ErrorCode::invalid_input, none);
  op.infer(context);
  return results;
}

std::shared_ptr<const Tensor> to_tensor(Stored& stored) {
  auto tensor = std::make_shared<Tensor>(stored.dtype, stored.shape);
  const auto bytes = to_bytes(stored);
  if (!bytes.empty()) std::memcpy(tensor->data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

Stored allocate(DType dtype, const Shape& shape, const Storage& storage) {
  const Order order = storage.order.empty() ? row_major_order(shape.size()) : storage.order;
  Stored stored{dtype, shape, Shape(shape.size(), 0), {}, 0};
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    stored.strides[axis] = step;
    const std::int64_t extra = i + 1 == order.size() ? storage.gap : (i + 2 == order.size() ? storage.row_gap : 0);
    step *= std::max<std::int64_t>(shape[axis], 1) + extra;
  }
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  stored.memory.assign(static_cast<std::size_t>((step + 8) * bytes), kCanary);
  stored.offset = 4 * bytes;
  if (storage.reversed && !shape.empty() && shape.elements() > 0) {
    const auto axis = static_cast<std::size_t>(order[0]);
    stored.offset += (shape[axis] - 1) * stored.strides[axis] * bytes;
    stored.strides[axis] = -stored.strides[axis];
  }
  return stored;
}

Stored random(std::mt19937& rng, DType dtype, const Shape& shape, const Storage& storage) {
  Stored stored = allocate(dtype, shape, storage);
  std::uniform_real_distribution<double> real(-2.0, 2.0);
  for_each_element(stored, [&](std::int64_t at) {
    const TensorView view = stored.view();
    if (is_floating(dtype)) {
      store_double(view, at, real(rng));
    } else if (dtype == DType::boolean) {
      store_int64(view, at, static_cast<std::int64_t>(rng() % 2));
    } else {
      store_int64(view, at, static_cast<std::int64_t>(rng() % 9) - (is_signed_integer(dtype) ? 4 : 0));
    }
  });
  return stored;
}

Stored numbers(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Stored stored = allocate(dtype, shape);
  std::size_t next = 0;
  for_each_element(stored, [&](std::int64_t at) { store_double(stored.view(), at, values[next++]); });
  return stored;
}

std::vector<double> to_doubles(Stored& tensor) { return read_numbers(tensor.view()); }

std::vector<std::byte> to_bytes(Stored& tensor) {
  std::vector<std::byte> bytes;
  const std::size_t size = size_of(tensor.dtype);
  for_each_element(tensor, [&](std::int64_t at) {
    const std::byte* element = address(tensor.view(), at);
    bytes.insert(bytes.end(), element, element + size);
  });
  return bytes;
}

void from_bytes(Stored& tensor, const std::byte* bytes) {
  const std::size_t size = size_of(tensor.dtype);
  for_each_element(tensor, [&](std::int64_t at) {
    std::memcpy(address(tensor.view(), at), bytes, size);
    bytes += size;
  });
}

PackCache::Blob MapCache::get(const std::string& key, std::size_t bytes, const std::function<void(void*)>& fill) {
  Blob& blob = blobs_[key];
  if (!blob) {
    std::shared_ptr<std::byte> memory(static_cast<std::byte*>(allocate_aligned(bytes)), AlignedFree());
    std::memset(memory.get(), 0, bytes);
    fill(memory.get());
    blob = memory;
  }
  return blob;
}

Case make_case(const std::string& op, std::vector<NamedAttribute> attributes, std::vector<Stored> inputs) {
  Case made;
  made.node.op = op;
  made.node.attributes = std::move(attributes);
  made.inputs = std::move(inputs);
  return made;
}

Ran run_case(const Backend& backend, Case& given) {
  const OpDef* op = find_op(given.node.op);
  REQUIRE(op != nullptr);
  given.node.inputs.resize(given.inputs.size());
  given.node.outputs.resize(given.outputs);
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    given.node.inputs[i] = given.inputs[i].dtype == DType::undefined ? kNoValue : static_cast<ValueId>(i);
  }
  check_node(given.node);
  NodeRequest request{&given.node, op, {}, {}};
  std::vector<Stored> inputs = given.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Operand operand{inputs[i].dtype, inputs[i].shape, inputs[i].strides, nullptr, nullptr};
    if (operand.dtype != DType::undefined && (op->value_inputs >> i & 1) != 0) operand.known = to_tensor(inputs[i]);
    if (i < given.constant.size() && given.constant[i]) operand.weight = std::make_shared<TestWeight>(inputs[i]);
    request.inputs.push_back(operand);
  }
  for (const Facts& facts : infer_outputs(given, *op)) {
    Shape shape;
    for (const Dim& dim : facts.shape.dims) shape.push_back(dim.value());
    request.outputs.push_back({facts.dtype, shape, {}, nullptr, nullptr});
  }
  REQUIRE(backend.claim({&request, 1}) == 1);
  const NodeLayout layout = backend.layout({&request, 1});
  REQUIRE(layout.inputs.size() == inputs.size());
  REQUIRE(layout.outputs.size() == given.outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!layout.inputs[i] || inputs[i].dtype == DType::undefined) continue;
    Stored changed = allocate(inputs[i].dtype, inputs[i].shape, {*layout.inputs[i]});
    copy_elements(inputs[i], changed);
    inputs[i] = std::move(changed);
    request.inputs[i].strides = inputs[i].strides;
  }
  Ran ran;
  for (std::size_t i = 0; i < given.outputs; ++i) {
    Storage storage{layout.outputs[i]};
    if (i == 0 && layout.strided_output) storage = {layout.outputs[i], given.output_gap, given.output_row_gap};
    ran.outputs.push_back(allocate(request.outputs[i].dtype, request.outputs[i].shape, storage));
    request.outputs[i].strides = ran.outputs[i].strides;
  }
  std::optional<std::size_t> reused;
  for (std::size_t i = 0; given.in_place && !reused && i < inputs.size() && i < 32; ++i) {
    if ((layout.in_place >> i & 1) != 0 && inputs[i].dtype == ran.outputs[0].dtype && inputs[i].shape == ran.outputs[0].shape &&
        inputs[i].strides == ran.outputs[0].strides) {
      reused = i;
    }
  }
  MapCache cache;
  const std::unique_ptr<Step> step = backend.prepare({&request, 1}, cache, given.threads);
  std::vector<void*> in, out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool null = inputs[i].dtype == DType::undefined || (i < 32 && (step->packed >> i & 1) != 0);
    in.push_back(null ? nullptr : inputs[i].data());
  }
  for (Stored& output : ran.outputs) out.push_back(output.data());
  if (reused) out[0] = in[*reused];
  const AlignedBuffer workspace = make_aligned(step->workspace + 64);
  std::memset(workspace.get(), 0xCD, step->workspace + 64);
  step->run({in, out, workspace.get(), &ThreadPool::process(), given.threads});
  for (std::size_t i = 0; i < 64; ++i) CHECK(workspace[step->workspace + i] == std::byte{0xCD});
  if (reused) ran.outputs[0] = inputs[*reused];
  for (Stored& output : ran.outputs) check_canaries(output);
  ran.kernel = step->kernel;
  return ran;
}

std::string check_case(Case& given, double tolerance) {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  given.threads = 1;
  Ran expected = run_case(*reference, given);
  std::vector<std::vector<std::byte>> first;
  std::string kernel;
  for (std::size_t threads = 1; threads <= 3; ++threads) {
    given.threads = threads;
    Ran ran = run_case(*cpu, given);
    kernel = ran.kernel;
    for (std::size_t i = 0; i < given.outputs; ++i) {
      CAPTURE(i);
      CAPTURE(threads);
      CAPTURE(ran.kernel);
      if (threads > 1) {
        CHECK(to_bytes(ran.outputs[i]) == first[i]);
        continue;
      }
      first.push_back(to_bytes(ran.outputs[i]));
      const std::vector<double> wanted = to_doubles(expected.outputs[i]), got = to_doubles(ran.outputs[i]);
      REQUIRE(wanted.size() == got.size());
      double largest = 0;
      for (const double x : wanted) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
      const double allowed = is_floating(expected.outputs[i].dtype) ? tolerance * (1 + largest) : 0;
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        const bool same =
            wanted[k] == got[k] || (std::isnan(wanted[k]) && std::isnan(got[k])) || std::abs(wanted[k] - got[k]) <= allowed;
        if (!same) {
          CAPTURE(k);
          CAPTURE(wanted[k]);
          CAPTURE(got[k]);
          CHECK(same);
          break;
        }
      }
    }
  }
  return kernel;
}

Attribute ints(std::vector<std::int64_t> values) { return values; }

}  // namespace jitney::test
