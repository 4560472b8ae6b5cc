// Resize and conv_transpose steps against the reference.
#include <limits>

#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

TEST_CASE("resize: modes, coordinates, ranks, orders") {
  std::mt19937 rng(1);
  const Stored none;
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}) {
      for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}, Storage{{0, 2, 3, 1}, 3, 1}}) {
        for (const std::vector<double>& scales : std::vector<std::vector<double>>{{1, 1, 2, 2}, {1, 1, 0.6, 1.7}, {1, 1, 1, 3}}) {
          Case c = make_case("resize", {{"mode", std::string(mode)}, {"coordinates", std::string(coordinates)}},
                             {random(rng, DType::float32, {2, 11, 5, 7}, storage), none, numbers(DType::float32, {4}, scales)});
          CHECK(check_case(c, 1e-6).find("nhwc") != std::string::npos);
          c.output_gap = 2;
          c.output_row_gap = 1;
          check_case(c, 1e-6);
        }
      }
    }
  }
  Case volume = make_case("resize", {{"mode", std::string("linear")}},
                          {random(rng, DType::float32, {1, 3, 4, 5, 6}), numbers(DType::int64, {5}, {1, 3, 7, 4, 9})});
  check_case(volume, 1e-6);
  Case bytes = make_case("resize", {{"mode", std::string("nearest")}},
                         {random(rng, DType::uint8, {1, 3, 14, 25}), numbers(DType::int64, {4}, {1, 3, 70, 54})});
  CHECK(check_case(bytes) == "resize_nearest_planes");
  Case channels = make_case("resize", {{"mode", std::string("linear")}},
                            {random(rng, DType::float32, {1, 3, 4, 5}), numbers(DType::int64, {4}, {2, 5, 7, 4})});
  CHECK(check_case(channels) == "reference_resize");
  Case empty = make_case("resize", {{"mode", std::string("linear")}},
                         {random(rng, DType::float32, {0, 3, 4, 5}), numbers(DType::int64, {4}, {0, 3, 7, 4})});
  check_case(empty);
}

TEST_CASE("resize: few and many channels, up and down, infinities") {
  std::mt19937 rng(5);
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const std::int64_t channels : {1, 2, 3, 5, 8, 24}) {
      for (const Storage& storage : {Storage{}, Storage{{0, 2, 3, 1}}, Storage{{0, 2, 3, 1}, 3, 1}, Storage{{}, 2}}) {
        for (const std::vector<double>& sizes :
             std::vector<std::vector<double>>{{26, 42}, {5, 9}, {13, 30}, {31, 21}, {4, 50}, {13, 5}, {1, 1}}) {
          const auto c64 = static_cast<double>(channels);
          for (const char* coordinates : {"half_pixel", "asymmetric"}) {
            Case c = make_case("resize", {{"mode", std::string(mode)}, {"coordinates", std::string(coordinates)}},
                               {random(rng, DType::float32, {2, channels, 13, 21}, storage),
                                numbers(DType::int64, {4}, {2, c64, sizes[0], sizes[1]})});
            CHECK(check_case(c, 2e-6).find("resize_") != std::string::npos);
            c.output_gap = 2;
            check_case(c, 2e-6);
          }
        }
      }
    }
  }
  // Taps that have no weight must not make NaN of an infinity.
  Case c = make_case("resize", {{"mode", std::string("linear")}, {"coordinates", std::string("asymmetric")}},
                     {random(rng, DType::float32, {1, 2, 9, 17}), numbers(DType::int64, {4}, {1, 2, 18, 34})});
  static_cast<float*>(c.inputs[0].data())[40] = std::numeric_limits<float>::infinity();
  check_case(c);
}

TEST_CASE("conv_transpose: strides, groups, dilations, epilogues") {
  std::mt19937 rng(2);
  struct Spec {
    Shape x, w;
    std::vector<std::int64_t> strides, dilations, pads, output_padding;
    std::int64_t group;
  };
  const std::vector<Spec> specs = {
      {{1, 3, 5, 6}, {3, 4, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 1},
      {{2, 8, 5, 6}, {8, 7, 3, 3}, {2, 1}, {1, 2}, {1, 1, 0, 2}, {1, 0}, 1},
      {{2, 6, 4, 4}, {6, 2, 3, 2}, {1, 3}, {2, 1}, {0, 1, 1, 0}, {0, 1}, 3},
      {{1, 4, 9}, {4, 3, 4}, {3}, {1}, {1, 1}, {0}, 1},
      {{1, 2, 3, 4, 5}, {2, 3, 2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {0, 1, 0, 0, 1, 1}, {0, 0, 0}, 1},
      {{1, 64, 15, 15}, {64, 32, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 1},
      {{0, 3, 5, 6}, {3, 4, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 1},
      // Few filters, long kernels, pads larger than the kernel's reach.
      {{1, 5, 8, 9}, {5, 1, 9, 9}, {4, 4}, {1, 1}, {4, 4, 4, 4}, {3, 3}, 1},
      {{1, 6, 4, 9}, {6, 2, 4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}, 1},
      {{1, 6, 4, 9}, {6, 3, 3, 3}, {2, 2}, {1, 1}, {3, 4, 2, 5}, {0, 0}, 1},
      {{2, 10, 30}, {10, 1, 25}, {6}, {1}, {0, 0}, {0}, 1},
      {{2, 12, 30}, {12, 3, 25}, {6}, {2}, {0, 0}, {0}, 2},
      // One filter per channel.
      {{2, 19, 6, 7}, {19, 1, 4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}, 19},
      {{1, 37, 6, 7}, {37, 1, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 37},
      {{1, 8, 6, 17}, {8, 1, 3, 5}, {1, 1}, {1, 1}, {1, 2, 1, 2}, {0, 0}, 8},
      {{1, 8, 6, 7}, {8, 1, 5, 7}, {3, 4}, {2, 6}, {2, 3, 1, 0}, {1, 1}, 8},
      {{1, 8, 6, 7}, {8, 1, 2, 2}, {3, 4}, {1, 1}, {0, 1, 1, 0}, {2, 3}, 8},
      {{1, 8, 1, 1}, {8, 1, 3, 3}, {2, 2}, {1, 1}, {4, 3, 0, 1}, {1, 1}, 8},
      {{1, 5, 40}, {5, 1, 16}, {5}, {3}, {7, 4}, {2}, 5},
      {{1, 4, 3, 4, 5}, {4, 1, 2, 3, 2}, {2, 1, 2}, {1, 2, 3}, {0, 1, 0, 0, 1, 1}, {1, 0, 0}, 4},
      {{0, 3, 5, 6}, {3, 1, 2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 3},
  };
  for (const Spec& spec : specs) {
    const Order channels_last = channels_last_order(spec.x.size());
    for (const Storage& storage : {Storage{}, Storage{channels_last}, Storage{channels_last, 2, 1}}) {
      Case c = make_case("conv_transpose",
                         {{"strides", ints(spec.strides)},
                          {"dilations", ints(spec.dilations)},
                          {"pads", ints(spec.pads)},
                          {"output_padding", ints(spec.output_padding)},
                          {"group", spec.group},
                          {"activation", std::string(spec.w[0] % 2 == 0 ? "relu" : "silu")}},
                         {random(rng, DType::float32, spec.x, storage), random(rng, DType::float32, spec.w),
                          random(rng, DType::float32, {spec.w[1] * spec.group})});
      CHECK(check_case(c, 1e-5).starts_with("reference") == (spec.x[0] == 0));
      c.constant = {false, true};
      check_case(c, 1e-5);
      c.output_gap = 3;
      check_case(c, 1e-5);
      c.output_row_gap = 1;
      check_case(c, 1e-5);
    }
  }
}

TEST_CASE("conv_transpose: windows that do not overlap") {
  std::mt19937 rng(3);
  struct Spec {
    Shape x, w;
    std::vector<std::int64_t> strides;
  };
  const std::vector<Spec> specs = {
      {{1, 5, 9, 41}, {5, 1, 2, 2}, {2, 2}},     {{2, 7, 30, 9}, {7, 3, 2, 3}, {2, 3}},
      {{1, 12, 17, 25}, {12, 24, 2, 2}, {2, 2}}, {{2, 6, 50}, {6, 40, 2}, {2}},
      {{1, 3, 60, 60}, {3, 1, 1, 2}, {1, 2}},    {{1, 3, 3, 4, 5}, {3, 2, 2, 2, 2}, {2, 2, 2}},
      {{1, 4, 5, 7}, {4, 100, 2, 1}, {2, 1}},    {{1, 4, 5, 7}, {4, 17, 4, 4}, {4, 4}},
      {{3, 0, 5, 7}, {0, 3, 2, 2}, {2, 2}},
  };
  for (const Spec& spec : specs) {
    for (const char* activation : {"none", "sigmoid", "prelu"}) {
      for (const bool residual : {false, true}) {
        const Order channels_last = channels_last_order(spec.x.size());
        Shape y = spec.x;
        y[1] = spec.w[1];
        for (std::size_t i = 2; i < y.size(); ++i) y[i] *= spec.strides[i - 2];
        Case c = make_case("conv_transpose", {{"strides", ints(spec.strides)}, {"activation", std::string(activation)}},
                           {random(rng, DType::float32, spec.x, {channels_last, 2}), random(rng, DType::float32, spec.w),
                            random(rng, DType::float32, {spec.w[1]})});
        if (residual) c.inputs.push_back(random(rng, DType::float32, y, {channels_last}));
        if (std::string_view(activation) == "prelu") {
          if (!residual) c.inputs.emplace_back();
          c.inputs.push_back(random(rng, DType::float32, {spec.w[1]}));
        }
        c.constant = {false, true};
        const std::string kernel = check_case(c);
        CHECK((spec.x[1] == 0 || kernel.ends_with("_blocks")));
        c.in_place = residual;
        check_case(c);
        c.in_place = false;
        c.output_gap = 3;
        c.constant = {};
        check_case(c);
      }
    }
  }
}
