// The registry, and the checks of nodes against their ops' schemas.
#include <algorithm>
#include <set>

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

namespace {

std::string rejection(const Node& node) {
  try {
    check_node(node);
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ops are sorted, named once, and complete") {
  const auto ops = all_ops();
  CHECK(std::is_sorted(ops.begin(), ops.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; }));
  std::set<std::string_view> names;
  for (const OpDef* op : ops) {
    CAPTURE(op->name);
    CHECK(names.insert(op->name).second);
    CHECK(find_op(op->name) == op);
    CHECK((op->infer != nullptr));
    CHECK((op->compute != nullptr || op->name == "if" || op->name == "loop"));
    CHECK(op->inputs.least <= op->inputs.most);
    if (op->inputs.most < 32) CHECK((op->value_inputs >> op->inputs.most) == 0);
  }
  for (const char* name : {"add", "conv", "gather", "reduce", "reshape", "resize", "quantize", "top_k", "softmax", "if"}) {
    CHECK(names.count(name) == 1);
  }
  CHECK(find_op("") == nullptr);
  CHECK(find_op("Add") == nullptr);
}

TEST_CASE("nodes that break their schema are rejected by name") {
  CHECK(rejection(make_node("add", 2, 1, {})).empty());
  const std::string unknown = rejection(make_node("fly", 1, 1, {}));
  CHECK(contains(unknown, "unsupported"));
  CHECK(contains(unknown, "'fly'"));
  CHECK(contains(unknown, "node 'n'"));
  CHECK(contains(rejection(make_node("add", 3, 1, {})), "has 3 operands, but takes 2"));
  CHECK(contains(rejection(make_node("concat", 0, 1, {integer("axis", 0)})), "takes 1 or more"));
  CHECK(contains(rejection(make_node("add", 2, 2, {})), "has 2 results"));
  CHECK(contains(rejection(make_node("concat", 2, 1, {})), "lacks attribute 'axis'"));
  CHECK(contains(rejection(make_node("concat", 2, 1, {number("axis", 0)})), "is a number, but must be an integer"));
  CHECK(contains(rejection(make_node("add", 2, 1, {integer("axis", 0)})), "has no attribute 'axis'"));
  CHECK(contains(rejection(make_node("concat", 2, 1, {integer("axis", 0), integer("axis", 1)})), "twice"));
  CHECK(contains(rejection(make_node("reduce", 1, 1, {text("kind", "summ")})), "must be one of sum|mean"));
  CHECK(contains(rejection(make_node("reduce", 1, 1, {text("kind", "")})), "must be one of"));
  Node missing = make_node("add", 2, 1, {});
  missing.inputs[1] = kNoValue;
  CHECK(contains(rejection(missing), "operand 1 is left out"));
  Node optional = make_node("clip", 3, 1, {});
  optional.inputs[1] = kNoValue;
  CHECK(rejection(optional).empty());
}
