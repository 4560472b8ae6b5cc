// The module jitney._core: registers what the other files define, and answers questions about the build.
#include <pybind11/stl.h>

#include <map>
#include <string>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "bindings.h"
#include "cpu/machine_peak.h"
#include "jitney/tuning.h"
#include "without_gil.h"

PYBIND11_MODULE(_core, module) {
  using namespace jitney;
  namespace py = pybind11;
  module.doc() = "Jitney's compiled core; use the package jitney instead.";
  bindings::bind_errors(module);
  bindings::bind_model(module);
  bindings::bind_session(module);
  bindings::bind_inference(module);
  module.def("version", [] { return std::string(JITNEY_VERSION); });
  module.def("isa", [] { return std::string(to_string(active_isa())); });
  module.def("dtype_name", &bindings::dtype_name, py::arg("number"));
  module.def("tuning_target", &tuning_target);
  module.def(
      "read_tuning",
      [](const py::bytes& path) {
        const MeasuredWays ways = read_tuning(path);
        return std::map<std::string, std::string>(ways.begin(), ways.end());
      },
      py::arg("path"));
  module.def("available_threads", &ThreadPool::available_threads);
  module.def(
      "machine_peak",
      [](std::size_t threads) {
        MachinePeak peak;
        {
          const bindings::WithoutGil released;
          peak = measure_peak(ThreadPool::process(), threads);
        }
        return py::make_tuple(peak.flops_per_second, peak.bytes_per_second);
      },
      py::arg("threads"));
}
