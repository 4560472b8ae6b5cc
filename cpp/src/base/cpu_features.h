// Which instruction sets this process may use: what the CPU has, limited by JITNEY_ISA.
#pragma once

#include <string_view>

namespace jitney {

/// Levels in the order of their strength within one architecture.
enum class Isa { scalar, avx2, avx512, avxvnni, neon, neon_fp16, neon_dot, neon_i8mm };

std::string_view to_string(Isa isa) noexcept;

/// The best level of this CPU, or the one that the environment variable JITNEY_ISA names. An unknown name, or a level that the
/// CPU lacks, throws Error(invalid_input) that lists what is possible here. Read once per process.
Isa active_isa();

/// Whether kernels written for `isa` may run when `active` is the level in force (avx512 includes avx2, neon_dot includes neon …).
bool includes(Isa active, Isa isa) noexcept;

}  // namespace jitney
