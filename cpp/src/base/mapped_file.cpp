// Files mapped read-only through POSIX.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "base/aligned.h"
#include "jitney/error.h"

namespace jitney {

namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void fail(const std::string& path, const std::string& what, const std::string& hint = {}) {
  throw Error(ErrorCode::io, "cannot read '" + path + "': " + what, hint);
}

std::string reason(int error) { return std::generic_category().message(error); }

int open_file(const std::string& path) {
  int descriptor = -1;
  do {
    // A FIFO would block here until somebody writes to it; it is refused later as no regular file.
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) fail(path.c_str(), "the path contains a zero byte");
  const FileDescriptor file(open_file(path));
  if (file.get() < 0) fail(path, reason(errno), "check the path and its permissions");
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail(path, reason(errno));
  if (S_ISDIR(status.st_mode)) fail(path, "it is a directory", "give the path of a .jny file");
  if (!S_ISREG(status.st_mode)) fail(path, "it is not a regular file", "copy its contents to a file first");
  std::shared_ptr<MappedFile> mapping(new MappedFile);
  if (status.st_size == 0) return mapping;
  if (static_cast<std::uintmax_t>(status.st_size) > static_cast<std::uintmax_t>(PTRDIFF_MAX)) {
    fail(path, "it is larger than the address space of this process");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) fail(path, reason(errno));
  mapping->bytes_ = {static_cast<const std::byte*>(memory), size};
  mapping->mapped_ = true;
  return mapping;
}

std::shared_ptr<const MappedFile> MappedFile::copy(std::span<const std::byte> bytes) {
  std::shared_ptr<MappedFile> mapping(new MappedFile);
  if (bytes.empty()) return mapping;
  AlignedBuffer memory = make_aligned(bytes.size());
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  mapping->bytes_ = {memory.release(), bytes.size()};
  return mapping;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  auto* memory = const_cast<std::byte*>(bytes_.data());
  if (mapped_) {
    ::munmap(memory, bytes_.size());
  } else {
    free_aligned(memory);
  }
}

void MappedFile::release(std::span<const std::byte> part) const noexcept {
  if (!mapped_ || part.empty()) return;
  // Only whole pages inside the part: its neighbours on the first and the last page may still be in use.
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace jitney
