// Reads files of measured ways: a line that says what they are, one that says for what target, then "way<TAB>work" in each line.
#include "jitney/tuning.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/cpu_features.h"
#include "base/cpu_name.h"
#include "base/mapped_file.h"
#include "graph/byte_reader.h"
#include "jitney/error.h"

namespace jitney {
namespace {

constexpr const char* kFirstLine = "jitney tuning 1";
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

Error not_a_tuning(const std::string& path, const std::string& why) {
  return {ErrorCode::invalid_input, "'" + path + "' is no file of measured ways: " + why, "make it with: jitney tune MODEL.jny"};
}

}  // namespace

std::string tuning_target() { return cpu_name() + " | " + std::string(to_string(active_isa())) + " | jitney " + JITNEY_VERSION; }

MeasuredWays read_tuning(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (file->bytes().size() > kMostBytes) throw not_a_tuning(path, "it is larger than any such file");
  std::string_view rest(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (!is_utf8(rest)) throw not_a_tuning(path, "it is no text in UTF-8");
  const auto next = [&]() -> std::optional<std::string> {
    if (rest.empty()) return std::nullopt;
    std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
  };
  if (next() != kFirstLine) throw not_a_tuning(path, "its first line is not \"" + std::string(kFirstLine) + "\"");
  const auto target = next();
  if (!target) throw not_a_tuning(path, "it ends after its first line");
  if (*target != tuning_target())
    throw Error(ErrorCode::unsupported,
                "'" + path + "' was measured for \"" + target->substr(0, 200) + "\"; this is \"" + tuning_target() + "\"",
                "make it anew here with: jitney tune MODEL.jny");
  MeasuredWays ways;
  while (const auto line = next()) {
    const std::size_t tab = line->find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line->size())
      throw not_a_tuning(path, "the line \"" + line->substr(0, 80) + "\" is no way, tab, and work");
    ways.insert_or_assign(line->substr(tab + 1), line->substr(0, tab));
  }
  return ways;
}

}  // namespace jitney
