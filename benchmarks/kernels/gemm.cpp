// Matrix products over the shapes of real layers: pointwise convolutions, transformers, single rows.
#include "cpu/kernels/gemm/gemm.h"

#include <memory>

#include "base/aligned.h"
#include "bench.h"

namespace jitney::bench {
namespace {

struct Shape {
  std::size_t m, k, n;
};
constexpr Shape kShapes[] = {
    {48, 256, 32},       // one block in cache: the micro-kernel by itself
    {1024, 1024, 1024},  // from memory
    {12544, 32, 64},     // MobileNetV1 and V2, 224×224
    {12544, 32, 16},    {12544, 16, 96},  {3136, 96, 24},  {3136, 64, 128}, {3136, 24, 144},  {784, 144, 32},
    {784, 32, 192},     {784, 256, 256},  {196, 64, 384},  {196, 384, 96},  {196, 96, 576},   {196, 512, 512},
    {49, 576, 160},     {49, 160, 960},   {49, 960, 320},  {49, 320, 1280}, {49, 1024, 1024}, {3136, 64, 64},  // ResNet-50
    {3136, 64, 256},    {3136, 256, 64},  {784, 128, 512}, {784, 512, 128}, {196, 256, 1024}, {196, 1024, 256},
    {49, 512, 2048},    {49, 2048, 512},  {128, 384, 384},                                    // transformer encoder
    {128, 384, 1536},   {128, 1536, 384}, {128, 32, 128},  {128, 128, 32},  {1, 1280, 1000},  // classifiers and gates
    {1, 1024, 1000},    {1, 2048, 1000},  {1, 576, 144},   {1, 4096, 4096},
};

}  // namespace

void add_gemm(std::vector<Case>& cases) {
  for (const kernels::GemmKernel* kernel : kernels::gemm_kernels()) {
    for (const Shape& s : kShapes) {
      const std::size_t floats = kernels::packed_b_size(*kernel, s.k, s.n);
      const auto m = static_cast<double>(s.m), k = static_cast<double>(s.k), n = static_cast<double>(s.n);
      Case c;
      c.family = "gemm";
      c.kernel = kernel->name;
      c.shape = std::to_string(s.m) + "x" + std::to_string(s.k) + "x" + std::to_string(s.n);
      c.isa = kernel->isa;
      c.flops = s.m == 1 ? 0 : 2 * m * k * n;
      c.bytes = 4 * (m * k + m * n + static_cast<double>(floats));
      c.weight_bytes = floats * sizeof(float);
      c.prepare = [=](std::size_t copies) -> std::function<void()> {
        struct Data {
          std::vector<float> a, c, bias;
          AlignedBuffer b;
          std::size_t turn = 0;
        };
        auto data = std::make_shared<Data>();
        data->a = random_floats(s.m * s.k);
        data->c.resize(s.m * s.n);
        data->bias = random_floats(s.n);
        data->b = make_aligned(copies * floats * sizeof(float));
        auto* b = reinterpret_cast<float*>(data->b.get());
        const std::vector<float> source = random_floats(s.k * s.n);
        for (std::size_t i = 0; i < copies; ++i)
          kernels::pack_b(*kernel, s.k, s.n, source.data(), static_cast<std::ptrdiff_t>(s.n), 1, b + i * floats);
        const kernels::TileGrid grid = kernels::gemm_tiles(*kernel, s.m, s.n, s.k, 1);
        return [=] {
          kernels::GemmArgs args;
          args.m = s.m;
          args.n = s.n;
          args.k = s.k;
          args.a = data->a.data();
          args.lda = static_cast<std::ptrdiff_t>(s.k);
          args.b = b + data->turn * floats;
          data->turn = (data->turn + 1) % copies;
          args.c = data->c.data();
          args.ldc = static_cast<std::ptrdiff_t>(s.n);
          args.epilogue.bias = data->bias.data();
          args.epilogue.activation = kernels::Activation::relu;
          for (std::size_t i = 0; i < grid.count(); ++i) {
            const auto t = grid.tile(i);
            kernels::gemm_tile(*kernel, args, t.row, t.row_end, t.column, t.column_end);
          }
        };
      };
      cases.push_back(std::move(c));
    }
  }
}

}  // namespace jitney::bench
