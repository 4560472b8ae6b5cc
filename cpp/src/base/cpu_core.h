// Whether this machine's cores reorder instructions by themselves: on ARM, kernels are written in two ways for that.
#pragma once

#include <string_view>

namespace jitney {

/// `any`, of a kernel: has no kin for another kind of core.
enum class Core { any, in_order, out_of_order };

std::string_view to_string(Core core) noexcept;

/// The kind of core that kernels are chosen for: that of the machine's biggest core, since that one does most of the work (so
/// out_of_order for Cortex-A55 beside A76), or what the environment variable JITNEY_CORE names (in-order, out-of-order).
/// Another name throws Error(invalid_input). out_of_order where nothing is known. Read once per process.
Core active_core();

/// The kind named so; throws as active_core() does.
Core core_from_name(std::string_view name);

/// Whether a core with this MIDR_EL1 (implementer, part …) starts instructions strictly in their order.
bool is_in_order_midr(unsigned long midr) noexcept;

}  // namespace jitney
