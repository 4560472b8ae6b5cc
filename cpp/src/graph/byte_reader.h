// Reads the primitives of a .jny section, never past its end.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace jitney {

/// Throws Error(invalid_model) with the hint that fits most damage.
[[noreturn]] void fail_invalid(const std::string& message);
/// A name from the file as messages show it: in quotes, cut if it is long.
std::string quoted(std::string_view name);
bool is_utf8(std::string_view text) noexcept;

class ByteReader {
 public:
  /// `section` starts every message.
  ByteReader(std::span<const std::byte> bytes, std::string section)
      : bytes_(bytes), where_(section), section_(std::move(section)) {}

  std::size_t remaining() const noexcept { return bytes_.size() - position_; }

  /// Little-endian, whatever the machine.
  template <std::integral T>
  T integer() {
    const std::span<const std::byte> raw = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
    return static_cast<T>(value);
  }
  double number() { return std::bit_cast<double>(integer<std::uint64_t>()); }
  std::string text();
  /// The count of a list whose items take at least `least_item` bytes each: never more than the bytes left can hold.
  std::size_t count(std::size_t least_item);

  /// Names the record that is read now, for messages, e.g. "graph 0, node 12".
  void at(std::string place) { where_ = section_ + ": " + std::move(place); }
  [[noreturn]] void fail(const std::string& what) const { fail_invalid(where_ + ": " + what); }
  /// Fails unless all bytes were read.
  void expect_end();

 private:
  std::span<const std::byte> take(std::size_t bytes);

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::string where_;
  std::string section_;
};

}  // namespace jitney
