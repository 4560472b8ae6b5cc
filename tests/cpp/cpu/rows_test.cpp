// Promise 1: what an item of a batch gives does not depend on the batch, on its place in it, or on threads.
#include <limits>

#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

/// Runs the case with its first input as a batch, then each item alone (with another number of threads), and compares bits.
/// `storage` is that of the first input, for both.
void check_items(Case whole, const Storage& storage = {}) {
  CAPTURE(whole.node.op);
  const auto cpu = make_cpu_backend();
  whole.threads = 2;
  Ran all = run_case(*cpu, whole);
  const auto results = to_bytes(all.outputs[0]), items = to_bytes(whole.inputs[0]);
  const auto batch = static_cast<std::size_t>(whole.inputs[0].shape[0]);
  const std::size_t item_bytes = items.size() / batch, result_bytes = results.size() / batch;
  for (std::size_t n = 0; n < batch; ++n) {
    Case one = whole;
    one.threads = 1;
    Shape shape = whole.inputs[0].shape;
    shape[0] = 1;
    one.inputs[0] = allocate(whole.inputs[0].dtype, shape, storage);
    from_bytes(one.inputs[0], items.data() + n * item_bytes);
    Ran single = run_case(*cpu, one);
    const auto part = to_bytes(single.outputs[0]);
    CHECK(std::equal(part.begin(), part.end(), results.begin() + static_cast<std::ptrdiff_t>(n * result_bytes)));
  }
}

}  // namespace

TEST_CASE("items of a batch are independent in every family") {
  std::mt19937 rng(1);
  for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}}) {
    const auto x = [&] { return random(rng, DType::float32, {7, 13, 9, 11}, storage); };
    check_items(make_case("average_pool", {{"kernel", ints({3, 3})}, {"pads", ints({1, 1, 1, 1})}}, {x()}), storage);
    check_items(make_case("reduce", {{"kind", std::string("mean")}}, {x(), numbers(DType::int64, {2}, {2, 3})}), storage);
    check_items(make_case("reduce", {{"kind", std::string("sum")}}, {x(), numbers(DType::int64, {3}, {1, 2, 3})}), storage);
    check_items(make_case("softmax", {{"axis", std::int64_t{1}}}, {x()}), storage);
    check_items(make_case("log_softmax", {{"axis", std::int64_t{-1}}}, {x()}), storage);
    check_items(make_case("layer_norm", {{"axis", std::int64_t{-1}}}, {x(), random(rng, DType::float32, {11})}), storage);
    check_items(make_case("rms_norm", {{"axis", std::int64_t{-1}}}, {x(), random(rng, DType::float32, {11})}), storage);
    check_items(make_case("instance_norm", {}, {x(), random(rng, DType::float32, {13}), random(rng, DType::float32, {13})}),
                storage);
    check_items(make_case("instance_norm", {{"groups", std::int64_t{1}}},
                          {x(), random(rng, DType::float32, {13}), random(rng, DType::float32, {13})}),
                storage);
    check_items(
        make_case("resize", {{"mode", std::string("linear")}}, {x(), Stored(), numbers(DType::float32, {4}, {1, 1, 1.5, 2})}),
        storage);
    check_items(make_case("conv_transpose", {{"strides", ints({2, 2})}}, {x(), random(rng, DType::float32, {13, 6, 3, 3})}),
                storage);
    check_items(make_case("conv_transpose", {{"strides", ints({2, 2})}, {"group", std::int64_t{13}}},
                          {x(), random(rng, DType::float32, {13, 1, 3, 4})}),
                storage);
    for (const char* op : {"exp", "tanh", "silu", "erf"}) check_items(make_case(op, {}, {x()}), storage);
    check_items(make_case("mul", {}, {x(), random(rng, DType::float32, {13, 1, 1})}), storage);
  }
  for (const std::int64_t queries : {3, 20}) {
    const auto shape = [&](std::int64_t rows) { return random(rng, DType::float32, {1, 2, rows, 16}); };
    check_items(make_case("attention", {}, {random(rng, DType::float32, {5, 2, queries, 16}), shape(150), shape(150)}));
  }
  for (const bool constant : {false, true}) {
    Case c = make_case("matmul", {}, {random(rng, DType::float32, {7, 5, 30}), random(rng, DType::float32, {30, 37})});
    c.constant = {false, constant};
    check_items(c);
  }
}

TEST_CASE("conv_transpose: images of several strips") {
  std::mt19937 rng(2);
  for (const std::vector<std::int64_t>& strides : std::vector<std::vector<std::int64_t>>{{2, 2}, {1, 1}, {3, 2}}) {
    Case c = make_case("conv_transpose", {{"strides", ints(strides)}, {"pads", ints({1, 1, 1, 1})}},
                       {random(rng, DType::float32, {1, 4, 90, 40}), random(rng, DType::float32, {4, 16, 3, 3})});
    c.constant = {false, true};
    check_case(c);
  }
  Case volume = make_case("conv_transpose", {{"strides", ints({2, 1, 1})}},
                          {random(rng, DType::float32, {1, 2, 30, 10, 12}), random(rng, DType::float32, {2, 16, 3, 3, 3})});
  check_case(volume);
}
