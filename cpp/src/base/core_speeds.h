// How fast the processor's cores are beside each other: big and little ones, as in phones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace jitney {

/// A relative speed for each of these CPUs, from the kernel's own figures below `folder`: capacities, else highest frequencies.
/// All zero where it does not tell.
std::vector<std::uint64_t> core_speeds(std::span<const std::size_t> cpus, const std::string& folder = "/sys/devices/system/cpu");

/// How many of them are at least 60% as fast as the fastest. Slower ones would let a loop's other threads wait at its end, and in
/// phones they share a power budget with the fast ones.
std::size_t fast_cores(std::span<const std::uint64_t> speeds) noexcept;

}  // namespace jitney
