// Which instruction sets this process may use: what the CPU has, limited by JITNEY_ISA.
#pragma once

#include <string_view>
#include <vector>

namespace jitney {

/// `avxvnni` is avx2 with 256-bit VNNI; it stands beside avx512, not above it: many CPUs have one without the other.
enum class Isa { scalar, avx2, avx512, avxvnni, neon, neon_fp16, neon_dot, neon_i8mm };

std::string_view to_string(Isa isa) noexcept;

/// The best level of this CPU, or the one that the environment variable JITNEY_ISA names. An unknown name, or a level that the
/// CPU lacks, throws Error(invalid_input) that lists what is possible here. Read once per process.
Isa active_isa();

/// The level of that name; throws as active_isa() does.
Isa isa_from_name(std::string_view name);

/// The levels that this CPU has, from scalar to the best.
std::vector<Isa> available_isas();

/// Whether kernels written for `isa` may run when `active` is the level in force (avx512 includes avx2, neon_dot includes neon
/// …).
bool includes(Isa active, Isa isa) noexcept;

}  // namespace jitney
