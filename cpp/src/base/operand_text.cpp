// Operands in words.
#include "base/operand_text.h"

namespace jitney {
namespace {

constexpr std::size_t kMostShown = 8;

}  // namespace

void add_operand_text(std::vector<std::string>& texts, std::string_view name, DType dtype, std::string_view shape) {
  if (texts.size() > kMostShown) return;
  if (texts.size() == kMostShown) {
    texts.emplace_back("…");
  } else if (dtype == DType::undefined) {
    texts.emplace_back("nothing");
  } else {
    texts.push_back((name.empty() ? "" : std::string(name) + ": ") + std::string(to_string(dtype)) + std::string(shape));
  }
}

}  // namespace jitney
