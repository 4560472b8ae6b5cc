// Ways of computing that were measured to be the fastest on a processor: `jitney tune` writes them down, sessions follow them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "jitney/export.h"

namespace jitney {

/// The fastest way by a description of the work, which names its shape per item: "conv 3x3 …" → "winograd_4x4". A way that a
/// backend does not know, or that does not fit, is not followed.
using MeasuredWays = std::map<std::string, std::string, std::less<>>;

/// What a file of measured ways must say to be followed here: the processor, its instruction set, and Jitney's version.
JITNEY_API std::string tuning_target();

/// The ways in a file that `jitney tune` wrote. Throws Error(io) if it cannot be read, Error(invalid_input) if it is no such
/// file, and Error(unsupported) if it was made on another processor or by another version.
JITNEY_API MeasuredWays read_tuning(const std::string& path);

}  // namespace jitney
