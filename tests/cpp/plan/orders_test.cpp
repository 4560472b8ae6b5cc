// Storage orders: strides, and recognising the order of given strides.
#include "doctest/doctest.h"
#include "plan/backend.h"
#include "plan/layout.h"

using namespace jitney;

TEST_CASE("channels-last strides") {
  CHECK(strides_for({2, 3, 4, 5}, channels_last_order(4)) == Shape{60, 1, 15, 3});
  CHECK(channels_last_order(2) == Shape{0, 1});
  CHECK(channels_last_order(3) == Shape{0, 2, 1});
  CHECK(channels_last_order(5) == Shape{0, 2, 3, 4, 1});
}

TEST_CASE("an order is found again from its strides") {
  const Shape shape{2, 3, 4, 5};
  for (const Order& order : {Order{0, 1, 2, 3}, Order{0, 2, 3, 1}, Order{3, 1, 0, 2}})
    CHECK(dense_order(shape, strides_for(shape, order)) == order);
  CHECK(!dense_order(shape, {120, 40, 5, 1}));  // gaps
  CHECK(!dense_order(shape, {0, 20, 5, 1}));    // broadcast
}

TEST_CASE("strides of axes of size 1 mean nothing") {
  CHECK(same_strides({1, 3}, {99, 1}, {3, 1}));
  CHECK(!same_strides({2, 3}, {99, 1}, {3, 1}));
  CHECK(same_strides({0, 3}, {7, 7}, {3, 1}));
  CHECK(dense_order({2, 1, 3}, {3, 77, 1}).has_value());
}
