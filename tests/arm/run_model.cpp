// Runs a model on feeds from stdin, one after another in one session, and writes all outputs to stdout.
//   run_model MODEL.jny THREADS < FEEDS > OUTPUTS
// A feed is a line with the number of tensors, then each tensor: a line "NAME DTYPE DIM DIM …" (DTYPE by number), then its bytes.
// Outputs come in the same form.
#include <jitney/session.h>

#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

std::pair<std::string, jitney::Tensor> read_tensor(std::istream& in) {
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error("stdin ends where a tensor should begin");
  std::istringstream words(line);
  std::string name;
  int dtype = 0;
  words >> name >> dtype;
  jitney::Shape shape;
  for (std::int64_t dim = 0; words >> dim;) shape.push_back(dim);
  jitney::Tensor tensor(static_cast<jitney::DType>(dtype), shape);
  if (!in.read(static_cast<char*>(tensor.data()), static_cast<std::streamsize>(tensor.bytes())))
    throw std::runtime_error("stdin ends within the tensor '" + name + "'");
  return {name, std::move(tensor)};
}

void write_tensor(std::ostream& out, const std::string& name, const jitney::Tensor& tensor) {
  out << name << ' ' << static_cast<int>(tensor.dtype());
  for (const std::int64_t dim : tensor.shape()) out << ' ' << dim;
  out << '\n';
  out.write(static_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.bytes()));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) throw std::runtime_error("usage: run_model MODEL.jny THREADS [memory|speed] < FEEDS > OUTPUTS");
  jitney::SessionOptions options;
  options.threads = std::stoul(argv[2]);
  if (argc == 4) options.prefer = argv[3];
  jitney::Session session(argv[1], options);
  for (std::string line; std::getline(std::cin, line);) {
    std::map<std::string, jitney::Tensor> feed;
    for (int left = std::stoi(line); left > 0; --left) feed.insert(read_tensor(std::cin));
    for (const auto& [name, tensor] : session.run(feed)) write_tensor(std::cout, name, tensor);
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
