// Reductions, softmax and norms against the reference.
#include <limits>

#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

namespace {

Stored axes_list(const std::vector<double>& axes) {
  return numbers(DType::int64, {static_cast<std::int64_t>(axes.size())}, axes);
}

const std::vector<Storage> kStorages = {{}, {{0, 2, 3, 1}}, {{0, 2, 3, 1}, 3, 1}, {{}, 0, 0, true}};

}  // namespace

TEST_CASE("reduce: kinds, axes, orders, NaN") {
  std::mt19937 rng(1);
  for (const char* kind : {"sum", "mean", "max", "min", "l1", "l2", "sum_square", "prod", "log_sum_exp"}) {
    for (const std::vector<double>& axes : std::vector<std::vector<double>>{{2, 3}, {1}, {-1}, {0, 1, 2, 3}, {0}, {1, 3}, {}}) {
      for (const Storage& storage : kStorages) {
        for (const std::int64_t keep : {0, 1}) {
          Case c = make_case("reduce", {{"kind", std::string(kind)}, {"keep_dims", keep}},
                             {random(rng, DType::float32, {2, 37, 9, 11}, storage), axes_list(axes)});
          check_case(c, 1e-5);
          c.inputs[0] = random(rng, DType::int64, {2, 3, 5, 2}, storage);
          if (std::string(kind) != "l2" && std::string(kind) != "log_sum_exp") check_case(c);
        }
      }
    }
  }
  for (const char* kind : {"sum", "mean", "max", "min"}) {
    Case c = make_case("reduce", {{"kind", std::string(kind)}}, {random(rng, DType::float32, {3, 100}), axes_list({1})});
    static_cast<float*>(c.inputs[0].data())[150] = std::numeric_limits<float>::quiet_NaN();
    static_cast<float*>(c.inputs[0].data())[250] = std::numeric_limits<float>::infinity();
    check_case(c);
    c.inputs[1] = axes_list({0});
    check_case(c);
    Case empty = make_case("reduce", {{"kind", std::string(kind)}}, {random(rng, DType::float32, {3, 0, 4}), axes_list({1})});
    check_case(empty);
    empty.inputs[1] = axes_list({0});
    check_case(empty);
    Case scalar = make_case("reduce", {{"kind", std::string(kind)}}, {random(rng, DType::float32, {})});
    check_case(scalar);
  }
}

TEST_CASE("reduce: many rows, many columns, short runs") {
  std::mt19937 rng(4);
  for (const char* kind : {"sum", "mean", "max", "min", "l1", "l2", "sum_square"}) {
    for (const Shape& shape : {Shape{2, 96, 70, 61}, Shape{1, 3, 150, 100}, Shape{1, 600, 20, 9}}) {
      Case c = make_case("reduce", {{"kind", std::string(kind)}},
                         {random(rng, DType::float32, shape, {{0, 2, 3, 1}, shape[1] == 96 ? 2 : 0}), axes_list({2, 3})});
      CHECK(check_case(c) == "f32_reduce_columns");
    }
    for (const std::int64_t length : {1, 2, 3, 4, 5}) {
      for (const Storage& storage : {Storage{}, Storage{{}, 3}}) {
        Case c = make_case("reduce", {{"kind", std::string(kind)}},
                           {random(rng, DType::float32, {3, 700, length}, storage), axes_list({-1})});
        check_case(c);
      }
    }
  }
}

TEST_CASE("reduce: the kernel follows from the strides") {
  std::mt19937 rng(2);
  Case c =
      make_case("reduce", {{"kind", std::string("mean")}}, {random(rng, DType::float32, {2, 64, 30, 30}), axes_list({2, 3})});
  CHECK(check_case(c) == "f32_reduce_runs");
  c.inputs[0] = random(rng, DType::float32, {2, 64, 30, 30}, {{0, 2, 3, 1}});
  CHECK(check_case(c) == "f32_reduce_columns");
  c.inputs[0] = random(rng, DType::float32, {2, 64, 30, 30}, {{0, 2, 3, 1}, 1, 0});
  CHECK(check_case(c) == "f32_reduce_columns");
}

TEST_CASE("softmax and log_softmax") {
  std::mt19937 rng(3);
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const std::int64_t axis : {-1, 1, 0}) {
      for (const Storage& storage : kStorages) {
        Case c = make_case(op, {{"axis", axis}}, {random(rng, DType::float32, {2, 21, 5, 7}, storage)});
        check_case(c, 1e-6);
        c.in_place = true;
        check_case(c, 1e-6);
      }
    }
    for (const Shape& shape : {Shape{3, 1}, Shape{2, 1000}, Shape{40, 2000}, Shape{0, 4}, Shape{4, 0}, Shape{7}}) {
      Case c = make_case(op, {{"axis", std::int64_t{-1}}}, {random(rng, DType::float32, shape)});
      check_case(c, 1e-6);
    }
    Case c = make_case(op, {{"axis", std::int64_t{-1}}}, {random(rng, DType::float32, {5, 20})});
    auto* x = static_cast<float*>(c.inputs[0].data());
    const float infinity = std::numeric_limits<float>::infinity();
    x[3] = -infinity;
    x[23] = infinity;
    x[43] = std::numeric_limits<float>::quiet_NaN();
    for (int i = 60; i < 80; ++i) x[i] = -infinity;
    for (int i = 80; i < 100; ++i) x[i] *= 1e4F;
    check_case(c, 1e-6);
  }
}

TEST_CASE("layer_norm") {
  std::mt19937 rng(4);
  for (const Shape& shape : {Shape{3, 5, 48}, Shape{2, 700}, Shape{4, 1}, Shape{0, 5}, Shape{128, 384}}) {
    for (const Storage& storage : {Storage{}, Storage{{}, 2}}) {
      const std::int64_t n = shape.back();
      Case c = make_case(
          "layer_norm", {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5}},
          {random(rng, DType::float32, shape, storage), random(rng, DType::float32, {n}), random(rng, DType::float32, {n})});
      check_case(c, 1e-6);
      c.in_place = true;
      check_case(c, 1e-6);
      c.outputs = 3;
      check_case(c, 2e-6);
      c.outputs = 1;
      c.inputs[2] = Stored();
      check_case(c, 1e-6);
      c.inputs[1] = random(rng, DType::float32, {1});
      check_case(c, 1e-6);
    }
  }
  Case two = make_case("layer_norm", {{"axis", std::int64_t{1}}},
                       {random(rng, DType::float32, {3, 5, 7}, {{1, 0, 2}}), random(rng, DType::float32, {5, 7})});
  CHECK(check_case(two, 1e-6).starts_with("f32_norm_"));
  two.inputs[1] = random(rng, DType::float32, {3, 5, 7});
  CHECK(check_case(two, 1e-6) == "reference_layer_norm");
}

TEST_CASE("rms_norm") {
  std::mt19937 rng(6);
  for (const Shape& shape :
       {Shape{3, 5, 48}, Shape{2, 700}, Shape{4, 1}, Shape{0, 5}, Shape{19, 384}, Shape{3, 67}, Shape{3, 0}}) {
    for (const Storage& storage : {Storage{}, Storage{{}, 2}}) {
      Case c = make_case("rms_norm", {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5}},
                         {random(rng, DType::float32, shape, storage), random(rng, DType::float32, {shape.back()})});
      CHECK(check_case(c, 1e-6).starts_with("f32_norm_"));
      c.in_place = true;
      check_case(c, 1e-6);
      c.inputs.pop_back();
      check_case(c, 1e-6);
    }
  }
  Case two = make_case("rms_norm", {{"axis", std::int64_t{1}}},
                       {random(rng, DType::float32, {3, 5, 7}, {{1, 0, 2}}), random(rng, DType::float32, {5, 7})});
  CHECK(check_case(two, 1e-6).starts_with("f32_norm_"));
  two.inputs[1] = random(rng, DType::float32, {5, 1});
  CHECK(check_case(two, 1e-6) == "reference_rms_norm");
  Case odd = make_case("rms_norm", {{"axis", std::int64_t{-1}}}, {random(rng, DType::float32, {4, 37})});
  auto* x = static_cast<float*>(odd.inputs[0].data());
  x[3] = std::numeric_limits<float>::infinity();
  x[40] = std::numeric_limits<float>::quiet_NaN();
  std::fill(x + 74, x + 111, 0.0F);
  check_case(odd, 1e-6);
}

TEST_CASE("numbers that are all alike have no deviation, though float32 sums of them round") {
  const std::vector<double> alike(2 * 3 * 700, static_cast<double>(-4.0155425F));
  const Stored x = numbers(DType::float32, {2, 3, 700}, alike);
  Case rows = make_case("layer_norm", {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5}}, {x});
  check_case(rows, 1e-9);
  Case channels = make_case("instance_norm", {{"epsilon", 1e-5}},
                            {x, numbers(DType::float32, {3}, {4, 5, 6}), numbers(DType::float32, {3}, {0, 1, 2})});
  check_case(channels, 1e-9);
}

TEST_CASE("instance_norm over groups of channels") {
  std::mt19937 rng(7);
  struct Groups {
    std::int64_t channels, groups;
  };
  for (const Storage& storage : kStorages) {
    for (const auto [channels, groups] : {Groups{6, 3}, Groups{32, 4}, Groups{70, 1}, Groups{130, 2}, Groups{136, 17}}) {
      for (const Shape& space : {Shape{9, 11}, Shape{1, 1}, Shape{40, 3}}) {
        Case c = make_case("instance_norm", {{"epsilon", 1e-5}, {"groups", groups}},
                           {random(rng, DType::float32, {2, channels, space[0], space[1]}, storage),
                            random(rng, DType::float32, {channels}), random(rng, DType::float32, {channels})});
        // Two numbers may be nearly alike: a rounding of their mean is multiplied by up to 1 / √ε.
        const double tolerance = space == Shape{1, 1} ? 4e-5 : 2e-6;
        CHECK(check_case(c, tolerance).starts_with("f32_norm_"));
        c.threads = 3;
        c.in_place = true;
        check_case(c, tolerance);
      }
    }
  }
  Case none =
      make_case("instance_norm", {{"groups", std::int64_t{4}}},
                {random(rng, DType::float32, {2, 0, 3, 3}), random(rng, DType::float32, {0}), random(rng, DType::float32, {0})});
  check_case(none);
}

TEST_CASE("instance_norm") {
  std::mt19937 rng(5);
  for (const Storage& storage : kStorages) {
    for (const std::int64_t channels : {1, 3, 70}) {
      Case c = make_case("instance_norm", {{"epsilon", 1e-5}},
                         {random(rng, DType::float32, {2, channels, 9, 11}, storage), random(rng, DType::float32, {channels}),
                          random(rng, DType::float32, {channels})});
      CHECK(check_case(c, 2e-6).starts_with("f32_norm_"));
      c.in_place = true;
      check_case(c, 2e-6);
      c.in_place = false;
      c.output_gap = 2;
      check_case(c, 2e-6);
      c.output_row_gap = 1;
      check_case(c, 2e-6);
    }
  }
}
