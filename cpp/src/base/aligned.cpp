// Memory aligned for every kernel and cache line, with a typed error instead of bad_alloc.
#include "base/aligned.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "base/checked.h"
#include "jitney/error.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/sysinfo.h>
#elif defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace jitney {

namespace {

/// RAM and swap of the machine in bytes; the largest number there is where the system does not tell.
std::uint64_t machine_memory() noexcept {
#if defined(__linux__)
  struct sysinfo info = {};
  if (sysinfo(&info) == 0) return (std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
#elif defined(__unix__) || defined(__APPLE__)
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) * 2;  // swap is unknown
#endif
  return std::numeric_limits<std::uint64_t>::max();
}

[[noreturn]] void fail(std::size_t bytes) {
  throw Error(ErrorCode::out_of_memory, "cannot allocate " + std::to_string(bytes) + " bytes",
              "use smaller inputs, a smaller batch or a smaller model, or a machine with more memory");
}

void use_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
  // Advice: a system that has no such pages, or none left, keeps to small ones.
  if (bytes >= kLargePage) madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

}  // namespace

std::size_t align_up(std::size_t bytes) {
  const auto padded = checked_add(bytes, kAlignment - 1);
  if (!padded) fail(bytes);
  return *padded & ~(kAlignment - 1);
}

void* allocate_aligned(std::size_t bytes) {
  static const std::uint64_t limit = machine_memory();
  if (bytes > limit) fail(bytes);
  const std::size_t padded = align_up(bytes == 0 ? 1 : bytes);
#if defined(__linux__)
  void* memory = nullptr;
  if (posix_memalign(&memory, bytes >= kLargePage ? kLargePage : kAlignment, padded) != 0) fail(bytes);
#else
  void* memory = ::operator new(padded, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) fail(bytes);
#endif
  use_large_pages(memory, bytes);
  return memory;
}

void free_aligned(void* memory) noexcept {
#if defined(__linux__)
  std::free(memory);  // operator delete would have to be told the alignment, which depends on the size
#else
  ::operator delete(memory, std::align_val_t{kAlignment});
#endif
}

}  // namespace jitney
