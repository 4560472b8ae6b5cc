// bench_kernels: nanoseconds, GFLOP/s and percentage of the measured peak of every kernel on the shapes of real layers.
#include <cstdio>
#include <cstring>
#include <map>

#include "bench.h"

namespace {

using namespace jitney;
using namespace jitney::bench;

constexpr const char* kUsage =
    "usage: bench_kernels [--filter TEXT]… [--cold] [--json]\n"
    "Times every kernel that this processor (or JITNEY_ISA) can run, on one thread.\n"
    "  --filter TEXT  only lines that contain TEXT (all of them, if given several times)\n"
    "  --cold         weights come from memory, not from a cache\n"
    "  --json         one JSON object per line\n";

struct Options {
  std::vector<std::string> filters;
  bool cold = false;
  bool json = false;
};

bool wanted(const Case& c, const Options& options) {
  const std::string line = c.family + " " + c.kernel + " " + c.shape;
  for (const std::string& filter : options.filters) {
    if (line.find(filter) == std::string::npos) return false;
  }
  return includes(active_isa(), c.isa);
}

void run(const Options& options) {
  std::vector<Case> cases;
  add_gemm(cases);
  add_conv(cases);
  add_dwconv(cases);
  add_elementwise(cases);
  std::map<Isa, double> peaks;
  const double bandwidth = read_bandwidth();
  if (!options.json) std::printf("reading memory: %.1f GB/s\n", bandwidth);
  for (const Case& c : cases) {
    if (!wanted(c, options)) continue;
    const auto [peak, first] = peaks.try_emplace(c.isa, 0.0);
    if (first) {
      peak->second = peak_gflops(c.isa);
      if (!options.json) std::printf("peak of %s: %.1f GFLOP/s\n", std::string(to_string(c.isa)).c_str(), peak->second);
    }
    const double time = measure(c, options.cold).nanoseconds;
    const double gflops = c.flops / time, gigabytes = c.bytes / time;
    if (options.json) {
      std::printf(
          "{\"family\": \"%s\", \"kernel\": \"%s\", \"shape\": \"%s\", \"ns\": %.1f, \"gflops\": %.2f, \"peak_gflops\": %.2f, "
          "\"gbytes\": %.2f}\n",
          c.family.c_str(), c.kernel.c_str(), c.shape.c_str(), time, gflops, peak->second, gigabytes);
    } else if (c.flops != 0) {
      std::printf("%-30s %-28s %12.0f ns %8.1f GFLOP/s %5.1f%%\n", c.kernel.c_str(), c.shape.c_str(), time, gflops,
                  100 * gflops / peak->second);
    } else {
      std::printf("%-30s %-28s %12.0f ns %8.1f GB/s\n", c.kernel.c_str(), c.shape.c_str(), time, gigabytes);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--cold") == 0) {
      options.cold = true;
    } else if (std::strcmp(argv[i], "--json") == 0) {
      options.json = true;
    } else if (std::strcmp(argv[i], "--filter") == 0 && has_value) {
      options.filters.emplace_back(argv[++i]);
    } else {
      std::fputs(kUsage, stderr);
      return std::strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }
  }
  run(options);
  return 0;
}
