// Runs a model with one float32 input: reads raw numbers from stdin, writes each output to stdout.
//   classify model.jny 1,3,224,224 < input.bin > outputs.bin
#include <jitney/session.h>

#include <iostream>
#include <sstream>

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("usage: classify MODEL.jny N,C,H,W < INPUT > OUTPUTS");
  jitney::Session session(argv[1]);
  jitney::Shape shape;
  std::istringstream dims(argv[2]);
  for (std::int64_t dim = 0; dims >> dim; dims.get()) shape.push_back(dim);
  if (!dims.eof()) throw std::runtime_error(std::string("no shape such as 1,3,224,224: ") + argv[2]);
  jitney::Tensor input(jitney::DType::float32, shape);
  if (!std::cin.read(static_cast<char*>(input.data()), static_cast<std::streamsize>(input.bytes()))) {
    throw std::runtime_error("stdin has fewer numbers than the shape needs");
  }
  for (const jitney::Tensor& output : session.run({{session.inputs().at(0).name, input.view()}})) {
    std::cerr << to_string(output.dtype()) << ' ' << to_string(output.shape()) << '\n';
    std::cout.write(static_cast<const char*>(output.data()), static_cast<std::streamsize>(output.bytes()));
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
