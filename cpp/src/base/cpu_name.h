// What processor this is, so that figures measured on one are not taken for another's.
#pragma once

#include <string>

namespace jitney {

/// Its brand, e.g. "AMD Ryzen 5 5600", or the kinds of its cores, e.g. "arm 0x41:0xd03 0x41:0xd0b"; "unknown" where neither is
/// told.
std::string cpu_name();

}  // namespace jitney
