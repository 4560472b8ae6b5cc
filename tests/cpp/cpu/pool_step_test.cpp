// Pooling steps against the reference.
#include <limits>

#include "doctest/doctest.h"
#include "harness.h"

using namespace jitney;
using namespace jitney::test;

TEST_CASE("pools: ranks, pads, strides, dilations, ceil mode, orders, NaN") {
  std::mt19937 rng(1);
  struct Spec {
    Shape x;
    std::vector<std::int64_t> kernel, strides, dilations, pads;
    std::int64_t ceil;
  };
  const std::vector<Spec> specs = {
      {{2, 3, 7, 9}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 0},
      {{2, 21, 7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 0},
      {{1, 40, 7, 8}, {3, 2}, {2, 3}, {1, 1}, {1, 0, 1, 1}, 1},
      {{1, 5, 9, 9}, {3, 3}, {1, 2}, {2, 2}, {2, 1, 1, 2}, 1},
      {{2, 6, 11}, {3}, {2}, {1}, {1, 1}, 1},
      {{1, 4, 4, 5, 6}, {2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0, 1, 1, 1}, 0},
      {{1, 16, 6, 6}, {6, 6}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 0},
      {{0, 3, 7, 9}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 0},
      {{1, 64, 30, 30}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 0},
  };
  for (const Spec& spec : specs) {
    for (const char* op : {"max_pool", "average_pool"}) {
      for (const std::int64_t include : {0, 1}) {
        for (const Storage& storage :
             {Storage{}, Storage{channels_last_order(spec.x.size())}, Storage{channels_last_order(spec.x.size()), 4, 1}}) {
          Case c;
          c.node.op = op;
          c.node.attributes = {{"kernel", ints(spec.kernel)},
                               {"strides", ints(spec.strides)},
                               {"dilations", ints(spec.dilations)},
                               {"pads", ints(spec.pads)},
                               {"ceil_mode", spec.ceil}};
          if (std::string(op) == "average_pool") c.node.attributes.push_back({"count_include_pad", include});
          c.inputs = {random(rng, DType::float32, spec.x, storage)};
          CHECK(check_case(c).starts_with("f32_"));
          c.output_gap = 3;
          check_case(c);
          c.output_row_gap = 2;
          if (spec.x.elements() > 40) {
            auto* x = static_cast<float*>(c.inputs[0].data());
            x[0] = std::numeric_limits<float>::quiet_NaN();
            x[1] = -std::numeric_limits<float>::infinity();
          }
          check_case(c);
        }
      }
    }
  }
}

TEST_CASE("pools: other dtypes and indices fall back to the reference") {
  std::mt19937 rng(2);
  Case c;
  c.node.op = "max_pool";
  c.node.attributes = {{"kernel", ints({2, 2})}};
  c.inputs = {random(rng, DType::float32, {1, 2, 4, 4}, {channels_last_order(4)})};
  c.outputs = 2;
  CHECK(check_case(c) == "reference_max_pool");
  c.outputs = 1;
  c.inputs = {random(rng, DType::int8, {1, 2, 4, 4})};
  CHECK(check_case(c) == "reference_max_pool");
}
