// Which kind of core kernels are chosen for.
#include "base/cpu_core.h"

#include <cstdlib>

#include "doctest/doctest.h"
#include "jitney/error.h"

namespace jitney {
namespace {

TEST_CASE("cores: names that JITNEY_CORE may have") {
  CHECK(core_from_name("in-order") == Core::in_order);
  CHECK(core_from_name("out-of-order") == Core::out_of_order);
  CHECK_THROWS_AS(core_from_name("any"), Error);
  CHECK_THROWS_AS(core_from_name("cortex-a53"), Error);
}

TEST_CASE("cores: told apart by their numbers") {
  CHECK(is_in_order_midr(0x410fd034));        // Cortex-A53
  CHECK(is_in_order_midr(0x411fd050));        // Cortex-A55
  CHECK_FALSE(is_in_order_midr(0x410fd083));  // Cortex-A72
  CHECK_FALSE(is_in_order_midr(0x414fd0b1));  // Cortex-A76
  CHECK_FALSE(is_in_order_midr(0x610fd030));  // another maker's
}

TEST_CASE("cores: the active one is of one kind or the other") {
  const Core core = active_core();
  CHECK((core == Core::in_order || core == Core::out_of_order));
  const char* wanted = std::getenv("JITNEY_CORE");
  if (wanted != nullptr && *wanted != '\0') CHECK(to_string(core) == wanted);
}

}  // namespace
}  // namespace jitney
