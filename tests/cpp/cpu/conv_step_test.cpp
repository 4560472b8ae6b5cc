// Convolution steps against the reference: ways, strides, groups, epilogues, threads, batch positions.
#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

struct ConvSpec {
  std::int64_t batch = 1, channels = 3, filters = 4, group = 1;
  std::vector<std::int64_t> size{7, 9}, kernel{3, 3}, strides{1, 1}, dilations{1, 1}, pads{1, 1, 1, 1};
};

Case make(std::mt19937& rng, const ConvSpec& spec, const Storage& storage = {}) {
  Case c;
  c.node.op = "conv";
  c.node.attributes = {
      {"strides", ints(spec.strides)}, {"dilations", ints(spec.dilations)}, {"pads", ints(spec.pads)}, {"group", spec.group}};
  Shape x{spec.batch, spec.channels}, w{spec.filters, spec.channels / spec.group};
  for (const std::int64_t size : spec.size) x.push_back(size);
  for (const std::int64_t size : spec.kernel) w.push_back(size);
  c.inputs = {random(rng, DType::float32, x, storage), random(rng, DType::float32, w)};
  c.constant = {false, true};
  return c;
}

std::vector<ConvSpec> specs() {
  return {
      {},
      {2, 5, 9, 1, {6, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {3, 16, 24, 1, {4, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {1, 8, 8, 8, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {2, 21, 21, 21, {8, 11}, {5, 3}, {2, 2}, {1, 1}, {2, 1, 2, 1}},
      {2, 12, 18, 3, {8, 8}, {3, 3}, {2, 1}, {1, 2}, {1, 2, 0, 1}},
      {1, 4, 8, 4, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {2, 8, 6, 2, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {2, 4, 6, 1, {13}, {3}, {2}, {2}, {1, 0}},
      {1, 3, 5, 1, {4, 5, 6}, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1, 1, 1, 1}},
      {1, 40, 33, 1, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {0, 3, 4, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {1, 64, 48, 1, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {1, 32, 64, 1, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {2, 34, 40, 2, {13, 18}, {3, 3}, {1, 1}, {1, 1}, {0, 1, 2, 1}},
  };
}

}  // namespace

TEST_CASE("conv: all ways, from any input order, into dense and gapped outputs") {
  std::mt19937 rng(1);
  for (const ConvSpec& spec : specs()) {
    const Order channels_last = channels_last_order(spec.size.size() + 2);
    for (const Storage& storage : {Storage{}, Storage{channels_last}, Storage{channels_last, 3}, Storage{channels_last, 1, 2},
                                   Storage{channels_last, 0, 0, true}}) {
      Case c = make(rng, spec, storage);
      check_case(c, 1e-5);
      c.output_gap = 5;
      check_case(c, 1e-5);
      c.output_row_gap = 1;
      check_case(c, 1e-5);
      c.constant = {};
      check_case(c, 1e-5);
    }
  }
}

TEST_CASE("conv: the kernel family follows from the shape") {
  std::mt19937 rng(2);
  Case pointwise = make(rng, specs()[1], {channels_last_order(4)});
  CHECK(check_case(pointwise).find("gemm") != std::string::npos);
  Case depthwise = make(rng, specs()[3]);
  CHECK(check_case(depthwise).find("dwconv") != std::string::npos);
  Case winograd = make(rng, specs()[13]);
  CHECK(check_case(winograd).find("winograd") != std::string::npos);
  winograd.constant = {};
  CHECK(check_case(winograd).find("winograd") != std::string::npos);
  Case one_tile = make(rng, {1, 64, 64, 1, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  CHECK(check_case(one_tile).find("gemm") != std::string::npos);  // three transforms for what one tile saves
}

TEST_CASE("conv: epilogues") {
  std::mt19937 rng(3);
  for (const char* activation : {"none", "relu", "clip", "leaky_relu", "prelu", "hard_swish", "hard_sigmoid", "silu", "sigmoid",
                                 "tanh", "gelu", "gelu_tanh"}) {
    for (const std::size_t which : {0, 1, 3, 5}) {
      ConvSpec spec = specs()[which];
      Case c = make(rng, spec);
      c.node.attributes.push_back({"activation", std::string(activation)});
      c.node.attributes.push_back({"alpha", 0.25});
      c.node.attributes.push_back({"beta", 0.5});
      c.inputs.push_back(random(rng, DType::float32, {spec.filters}));
      Case plain = c;
      const auto reference = make_reference_backend();
      plain.node.attributes[4] = {"activation", std::string("relu")};
      const Shape y = run_case(*reference, plain).outputs[0].shape;
      for (const Storage& storage : {Storage{}, Storage{channels_last_order(4)}, Storage{channels_last_order(4), 2}}) {
        c.inputs.resize(3);
        c.inputs.push_back(random(rng, DType::float32, y, storage));
        if (std::string(activation) == "prelu") {
          c.inputs.push_back(random(rng, DType::float32, {storage.gap == 0 ? spec.filters : 1}));
        }
        check_case(c);
        Case after = c;
        after.node.attributes.push_back({"residual", std::string("after")});
        check_case(after);
        after.in_place = true;
        check_case(after);
      }
    }
  }
}

TEST_CASE("conv: a batch row's result does not depend on its place") {
  std::mt19937 rng(4);
  const auto cpu = make_cpu_backend();
  for (ConvSpec spec : specs()) {
    spec.batch = 5;
    Case whole = make(rng, spec, {channels_last_order(spec.size.size() + 2)});
    Ran all = run_case(*cpu, whole);
    const auto bytes = to_bytes(all.outputs[0]);
    const auto row = to_bytes(whole.inputs[0]);
    for (std::size_t n = 0; n < 5; ++n) {
      spec.batch = 1;
      Case one = make(rng, spec);
      from_bytes(one.inputs[0], row.data() + n * (row.size() / 5));
      one.inputs[1] = whole.inputs[1];
      Ran single = run_case(*cpu, one);
      const auto part = to_bytes(single.outputs[0]);
      CHECK(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(n * part.size())));
    }
  }
}

TEST_CASE("conv: NaN and infinity pass through") {
  std::mt19937 rng(5);
  Case c = make(rng, specs()[0]);
  c.inputs[0] = random(rng, DType::float32, {1, 3, 7, 9});
  auto* x = static_cast<float*>(c.inputs[0].data());
  x[10] = std::numeric_limits<float>::quiet_NaN();
  x[60] = std::numeric_limits<float>::infinity();
  check_case(c);
}
