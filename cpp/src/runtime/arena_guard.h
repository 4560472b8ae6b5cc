// Under AddressSanitizer, lets a step touch only those arena bytes whose buffers are live at that step. Otherwise nothing.
#pragma once

#include <cstddef>

#include "plan/plan.h"

#if defined(__SANITIZE_ADDRESS__)
#define JITNEY_GUARD_ARENA 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define JITNEY_GUARD_ARENA 1
#endif
#endif

#if defined(JITNEY_GUARD_ARENA)
#include <sanitizer/asan_interface.h>
#endif

namespace jitney {

/// Lives as long as the walk over a plan's steps. A kernel that writes past its buffer, or a plan that lets one read a buffer
/// after its last use, is then a fault at the very address.
class ArenaGuard {
 public:
#if defined(JITNEY_GUARD_ARENA)
  ArenaGuard(const Plan& plan, std::byte* arena, std::size_t bytes) : plan_(plan), arena_(arena), bytes_(bytes) {
    ASAN_POISON_MEMORY_REGION(arena_, bytes_);
  }
  ~ArenaGuard() { ASAN_UNPOISON_MEMORY_REGION(arena_, bytes_); }

  void before(std::size_t step) const {
    for (const Buffer& buffer : plan_.buffers)
      if (buffer.home == Home::arena && buffer.first == step) ASAN_UNPOISON_MEMORY_REGION(arena_ + buffer.offset, buffer.bytes);
  }
  void after(std::size_t step) const {
    for (const Buffer& buffer : plan_.buffers)
      if (buffer.home == Home::arena && buffer.last == step) ASAN_POISON_MEMORY_REGION(arena_ + buffer.offset, buffer.bytes);
  }

 private:
  const Plan& plan_;
  std::byte* arena_;
  std::size_t bytes_;
#else
  ArenaGuard(const Plan&, std::byte*, std::size_t) {}
  void before(std::size_t) const {}
  void after(std::size_t) const {}
#endif
};

}  // namespace jitney
