// Writes the seeds of the .jny fuzz target into a folder: a model with every feature, one of the least there can be, and the
// graph section of the first.
#include <fstream>
#include <iostream>
#include <string>

#include "graph/sample_model.h"

namespace {

bool write(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace jitney::testing;
  if (argc != 2) {
    std::cerr << "usage: jny_seed_corpus FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  ModelBuilder sample, least;
  build_sample(sample);
  const bool written = write(folder + "/sample.jny", write_model(sample.model)) &&
                       write(folder + "/least.jny", write_model(least.model)) &&
                       write(folder + "/sample.graph", write_graph_section(sample.model));
  return written ? 0 : 1;
}
