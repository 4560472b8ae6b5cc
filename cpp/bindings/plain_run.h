// Runs whose arguments are just as the model wants them: told apart without a line of Python.
//
// After a run, the interpreter's code and the objects that it touches have left the processor's caches: checks that take 10 µs in
// a loop of their own cost 50 to 150 µs beside a network.
#pragma once

#include <optional>
#include <vector>

#include "bindings.h"
#include "jitney/session.h"

namespace jitney::bindings {

/// The arguments of a run, ready for Session::run.
struct PlainRun {
  std::vector<BorrowedArray> arrays;
  std::vector<NamedView> inputs;
  std::vector<NamedView> outputs;
  std::vector<py::str> names;  // of the outputs
};

/// What a session's runs want, looked up once.
class PlainArguments {
 public:
  explicit PlainArguments(const Model& model);

  /// `inputs`: a dict with every input that is no state and nothing else, or the one array; ndarrays of the right dtype, rank and
  /// fixed sizes. `outputs`: None or a list of names. nullopt for whatever else: it may be wrong, and wants a closer look.
  std::optional<PlainRun> match(const py::handle& inputs, const py::handle& outputs) const;

 private:
  struct Input {
    py::str key;
    const TensorInfo* info;
    bool state;
  };
  struct Output {
    py::str key;
    const TensorInfo* info;
    bool state;
  };
  bool match_input(const Input& input, const py::handle& value, PlainRun& run) const;
  bool match_output(const py::handle& name, PlainRun& run) const;

  Model model_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::size_t needed_ = 0;  // inputs that are no states
};

}  // namespace jitney::bindings
