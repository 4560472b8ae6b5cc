// Reads files of measured ways: a line that says what they are, one that says for what target, then "way<TAB>work" in each line.
#include "jitney/tuning.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/cpu_features.h"
#include "base/cpu_name.h"
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
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::io, "cannot open '" + path + "': " + std::strerror(errno));
  std::string line;
  const auto next = [&] {
    line.clear();
    const bool there = static_cast<bool>(std::getline(file, line));
    if (file.bad()) throw Error(ErrorCode::io, "cannot read '" + path + "': " + std::strerror(errno));
    return there;
  };
  if (!next() || line != kFirstLine) throw not_a_tuning(path, "its first line is not \"" + std::string(kFirstLine) + "\"");
  if (!next()) throw not_a_tuning(path, "it ends after its first line");
  if (line != tuning_target())
    throw Error(ErrorCode::unsupported,
                "'" + path + "' was measured for \"" + line.substr(0, 200) + "\"; this is \"" + tuning_target() + "\"",
                "make it anew here with: jitney tune MODEL.jny");
  MeasuredWays ways;
  for (std::size_t bytes = 0; next(); bytes += line.size()) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size())
      throw not_a_tuning(path, "the line \"" + line.substr(0, 80) + "\" is no way, tab, and work");
    if (bytes > kMostBytes) throw not_a_tuning(path, "it is larger than any such file");
    ways.insert_or_assign(line.substr(tab + 1), line.substr(0, tab));
  }
  return ways;
}

}  // namespace jitney
