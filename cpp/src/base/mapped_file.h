// A file mapped read-only into memory, or bytes that stand in for one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace jitney {

class MappedFile {
 public:
  /// Throws Error(io) naming the path and the system's reason. An empty file gives an empty span.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  /// Copies the bytes into 64-byte aligned memory.
  static std::shared_ptr<const MappedFile> copy(std::span<const std::byte> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Tells the system that a part will not be read soon; its pages may be dropped and are read again on the next access.
  void release(std::span<const std::byte> part) const noexcept;

 private:
  MappedFile() = default;
  std::span<const std::byte> bytes_;
  bool mapped_ = false;
};

}  // namespace jitney
