// What stands on the operating system and the CPU: mapped files, checksums, instruction sets.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/crc32.h"
#include "base/crc32_update.h"
#include "base/mapped_file.h"
#include "doctest/doctest.h"
#include "jitney/error.h"

namespace {

using namespace jitney;

/// A file that exists for the length of a test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    const char* folder = std::getenv("TMPDIR");
    path = std::string(folder != nullptr ? folder : "/tmp") + "/jitney_test_XXXXXX";
    const int descriptor = mkstemp(path.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
    std::ofstream(path, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path;
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST_CASE("crc32 is zlib's") {
  const std::string text = "123456789";
  CHECK(crc32(bytes_of(text)) == 0xcbf43926u);
  CHECK(crc32({}) == 0);
  std::vector<std::byte> long_text(1000);
  for (std::size_t i = 0; i < long_text.size(); ++i) long_text[i] = static_cast<std::byte>(i * 7);
  const std::span<const std::byte> all(long_text);
  for (std::size_t cut = 0; cut < 20; ++cut) CHECK(crc32(all.subspan(cut), crc32(all.first(cut))) == crc32(all));
}

TEST_CASE("the processor's own crc32 gives what the tables give, for every length and place") {
  std::vector<std::byte> bytes(700);
  std::uint32_t random = 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((random = random * 1664525 + 1013904223) >> 24);
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  for (std::size_t length = 0; length < 400; ++length) {
    for (std::size_t start = 0; start < 9; ++start) {
      const std::uint32_t before = static_cast<std::uint32_t>(length * 0x9e3779b9);
      const std::uint32_t wanted = ~update_crc32_tables(~before, text + start, length);
      REQUIRE(crc32(std::span(bytes).subspan(start, length), before) == wanted);
    }
  }
}

TEST_CASE("a file is mapped as it is") {
  const std::string content(10000, 'x');
  const TemporaryFile file(content);
  const auto mapped = MappedFile::open(file.path);
  CHECK(same(mapped->bytes(), bytes_of(content)));
  mapped->release(mapped->bytes());
  mapped->release(mapped->bytes().subspan(1, 5));
  CHECK(same(mapped->bytes(), bytes_of(content)));
  const TemporaryFile empty("");
  CHECK(MappedFile::open(empty.path)->bytes().empty());
}

TEST_CASE("bytes can stand in for a file") {
  const std::string content = "some bytes";
  const auto copy = MappedFile::copy(bytes_of(content));
  CHECK(same(copy->bytes(), bytes_of(content)));
  CHECK(copy->bytes().data() != bytes_of(content).data());
  CHECK(reinterpret_cast<std::uintptr_t>(copy->bytes().data()) % 64 == 0);
  copy->release(copy->bytes());
  CHECK(same(copy->bytes(), bytes_of(content)));
  CHECK(MappedFile::copy({})->bytes().empty());
}

TEST_CASE("what cannot be mapped is an io error that names the path") {
  const TemporaryFile file("x");
  const std::string paths[] = {"/nonexistent/model.jny", file.path + "/inside", "/", "/dev/null", std::string("a\0b", 3), ""};
  for (const std::string& path : paths) {
    try {
      MappedFile::open(path);
      FAIL("opened ", path);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      CHECK(error.message().find("cannot read '" + std::string(path.c_str()) + "'") == 0);
    }
  }
}

TEST_CASE("instruction sets include what they build on") {
  CHECK(includes(Isa::scalar, Isa::scalar));
  CHECK(includes(Isa::avx512, Isa::avx2));
  CHECK(includes(Isa::avxvnni, Isa::avx2));
  CHECK_FALSE(includes(Isa::avxvnni, Isa::avx512));
  CHECK_FALSE(includes(Isa::avx512, Isa::avxvnni));
  CHECK_FALSE(includes(Isa::avx2, Isa::avx512));
  CHECK(includes(Isa::neon_i8mm, Isa::neon_dot));
  CHECK(includes(Isa::neon_dot, Isa::neon));
  CHECK_FALSE(includes(Isa::neon, Isa::neon_fp16));
  CHECK_FALSE(includes(Isa::neon_i8mm, Isa::avx2));
  CHECK_FALSE(includes(Isa::scalar, Isa::neon));
}

TEST_CASE("an instruction set is chosen by name, and only if the CPU has it") {
  const std::vector<Isa> available = available_isas();
  CHECK(available.front() == Isa::scalar);
  for (const Isa isa : available) CHECK(isa_from_name(to_string(isa)) == isa);
  CHECK(std::find(available.begin(), available.end(), active_isa()) != available.end());
  for (const std::string name : {"sse9", "AVX2", "", available.back() < Isa::neon ? "neon" : "avx2"}) {
    if (name == "neon" && available.back() == Isa::scalar) continue;
    try {
      isa_from_name(name);
      FAIL("accepted ", name);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_input);
      CHECK(error.message().find("'" + name + "'") != std::string::npos);
      CHECK(error.hint().find("scalar") != std::string::npos);
    }
  }
}

}  // namespace
