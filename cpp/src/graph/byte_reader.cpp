// Bounds, counts and texts of a .jny section.
#include "graph/byte_reader.h"

#include "jitney/error.h"

namespace jitney {

void fail_invalid(const std::string& message) {
  throw Error(ErrorCode::invalid_model, message, "the file is damaged: copy it again, or convert the model again");
}

std::string quoted(std::string_view name) {
  constexpr std::size_t kMost = 80;
  if (name.size() <= kMost) return "'" + std::string(name) + "'";
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // do not cut within a character
  return "'" + std::string(name.substr(0, end)) + "…'";
}

bool is_utf8(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char lead = byte(i);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size() - i) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    // Overlong forms, surrogates, and what lies beyond U+10FFFF.
    if (lead == 0xe0 && byte(i + 1) < 0xa0) return false;
    if (lead == 0xed && byte(i + 1) > 0x9f) return false;
    if (lead == 0xf0 && byte(i + 1) < 0x90) return false;
    if (lead == 0xf4 && byte(i + 1) > 0x8f) return false;
    i += length;
  }
  return true;
}

std::span<const std::byte> ByteReader::take(std::size_t bytes) {
  if (bytes > remaining()) {
    fail("it ends " + std::to_string(bytes - remaining()) + " bytes too early (at byte " + std::to_string(bytes_.size()) + ")");
  }
  const auto part = bytes_.subspan(position_, bytes);
  position_ += bytes;
  return part;
}

std::string ByteReader::text() {
  const std::size_t length = count(1);
  const auto raw = take(length);
  std::string text(reinterpret_cast<const char*>(raw.data()), length);
  if (!is_utf8(text)) fail("a text is not valid UTF-8");
  return text;
}

std::size_t ByteReader::count(std::size_t least_item) {
  const auto count = integer<std::uint32_t>();
  if (count > remaining() / least_item) {
    fail("a list claims " + std::to_string(count) + " items, but only " + std::to_string(remaining()) + " bytes are left");
  }
  return count;
}

void ByteReader::expect_end() {
  if (remaining() == 0) return;
  where_ = section_;
  fail(std::to_string(remaining()) + " bytes follow its end");
}

}  // namespace jitney
