// The memory planner and its verifier: random lifetimes, hand-made optima, and plans that are wrong on purpose.
#include "plan/memory.h"

#include <random>

#include "doctest/doctest.h"
#include "jitney/error.h"
#include "plan/memory_verify.h"

using namespace jitney;

TEST_CASE("random lifetimes: the plan is valid and near the lower bound") {
  constexpr int kRounds = 200;
  std::mt19937 random(1);
  double excess = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t steps = 1 + random() % 40;
    std::vector<Lifetime> buffers(random() % 60);
    for (Lifetime& buffer : buffers) {
      buffer.bytes = random() % 5 == 0 ? 0 : random() % 100000;
      buffer.first = random() % steps;
      buffer.last = buffer.first + random() % (steps - buffer.first);
    }
    const MemoryPlan plan = plan_memory(buffers);
    CHECK(verify_memory(buffers, plan) == "");
    CHECK(plan.bytes >= memory_lower_bound(buffers));
    CHECK(plan.bytes <= 2 * memory_lower_bound(buffers));
    if (plan.bytes != 0) excess += static_cast<double>(plan.bytes) / static_cast<double>(memory_lower_bound(buffers)) - 1;
    const MemoryPlan again = plan_memory(buffers);
    CHECK(again.offsets == plan.offsets);
  }
  const double average = excess / kRounds;
  CHECK(average < 0.012);
}

TEST_CASE("buffers that never meet share their bytes") {
  const std::vector<Lifetime> buffers = {{1000, 0, 1}, {500, 1, 2}, {1000, 2, 3}, {500, 3, 4}};
  const MemoryPlan plan = plan_memory(buffers);
  CHECK(plan.bytes == 1024 + 512);
  CHECK(memory_lower_bound(buffers) == 1024 + 512);
}

TEST_CASE("nothing to place") {
  CHECK(plan_memory({}).bytes == 0);
  CHECK(memory_lower_bound({}) == 0);
}

TEST_CASE("sizes beyond the address space are refused") {
  const std::vector<Lifetime> buffers(4, {std::uint64_t{1} << 61, 0, 1});
  CHECK_THROWS_AS(plan_memory(buffers), Error);
}

TEST_CASE("the verifier finds what is wrong") {
  const std::vector<Lifetime> buffers = {{128, 0, 2}, {128, 2, 3}, {64, 4, 4}};
  MemoryPlan plan{{0, 128, 0}, 256, "by hand"};
  CHECK(verify_memory(buffers, plan) == "");
  SUBCASE("an overlap at the shared step") { plan.offsets[1] = 64; }
  SUBCASE("the same place") { plan.offsets[1] = 0; }
  SUBCASE("beyond the end") { plan.offsets[2] = 256; }
  SUBCASE("not aligned") { plan.offsets[2] = 8; }
  SUBCASE("another number of buffers") { plan.offsets.pop_back(); }
  CHECK(verify_memory(buffers, plan) != "");
}
