// Lets other Python threads run while the runtime works.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <thread>

namespace jitney::bindings {

/// Releases the interpreter's lock until the end of the scope.
///
/// pybind11's gil_scoped_release does the same, but aborts the process if the interpreter shuts down meanwhile: before
/// Python 3.14, a daemon thread that asks for the lock then is ended by unwinding its stack, which may not leave a destructor.
/// Here such a thread waits for the end of the process, as it does in Python 3.14.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

 private:
  PyThreadState* state_;
};

}  // namespace jitney::bindings
