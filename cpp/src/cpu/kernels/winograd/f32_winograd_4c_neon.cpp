// Winograd's transforms for 4 channels at a time in NEON.
#include "cpu/kernels/vec_neon.h"
//
#include "cpu/kernels/vec_math.h"
#include "cpu/kernels/vec_part.h"
//
#include "cpu/kernels/winograd/winograd_impl.h"
//
#include "cpu/kernels/winograd/tile_text_neon.h"

namespace jitney::kernels {
namespace {

// Loads and stores that move their pointer by a register, which compilers do not find.
inline float32x4_t load_step(const float*& p, std::ptrdiff_t bytes) {
  float32x4_t v;
  asm("ld1 {%0.4s}, [%1], %2" : "=w"(v), "+r"(p) : "r"(bytes), "m"(*p));
  return v;
}
inline void store_step(float*& p, float32x4_t v, std::ptrdiff_t bytes) {
  asm volatile("st1 {%1.4s}, [%0], %2" : "+r"(p) : "w"(v), "r"(bytes) : "memory");
}

/// G·g·Gᵀ as in Tile4: all nine taps and what is made of them fit into NEON's 32 registers, so that each is loaded once.
void winograd_weights_4(const float* w, std::size_t tap_stride, std::size_t count, float* u, std::size_t point_stride) {
  static constexpr float kSquares[4] = {0.5f, 2.0f, 0, 0}, kPoints[4] = {Tile4::kA, -Tile4::kA, Tile4::kB, -Tile4::kB};
  const float32x4_t squares = vld1q_f32(kSquares), roots = vld1q_f32(kPoints);
  const auto taps = static_cast<std::ptrdiff_t>(tap_stride * sizeof(float));
  const auto points = static_cast<std::ptrdiff_t>(point_stride * sizeof(float));
  for (std::size_t i = 0; i < count; i += kLanes) {
    const float* from = w + i;
    float* to = u + i;
#define JITNEY_ROW(r) \
  const float32x4_t g##r##0 = load_step(from, taps), g##r##1 = load_step(from, taps), g##r##2 = load_step(from, taps);
    JITNEY_ROW(0)
    JITNEY_ROW(1)
    JITNEY_ROW(2)
#undef JITNEY_ROW
    const auto emit = [&](float32x4_t a, float32x4_t b, float32x4_t c) {
      const float32x4_t even_a = vfmaq_laneq_f32(a, c, squares, 0), even_b = vfmaq_laneq_f32(a, c, squares, 1);
      store_step(to, a, points);
      store_step(to, vfmaq_laneq_f32(even_a, b, roots, 0), points);
      store_step(to, vfmaq_laneq_f32(even_a, b, roots, 1), points);
      store_step(to, vfmaq_laneq_f32(even_b, b, roots, 2), points);
      store_step(to, vfmaq_laneq_f32(even_b, b, roots, 3), points);
      store_step(to, c, points);
    };
    emit(g00, g01, g02);
#define JITNEY_PAIR(square, point)                                                                                            \
  {                                                                                                                           \
    const float32x4_t even0 = vfmaq_laneq_f32(g00, g20, squares, square), even1 = vfmaq_laneq_f32(g01, g21, squares, square), \
                      even2 = vfmaq_laneq_f32(g02, g22, squares, square);                                                     \
    emit(vfmaq_laneq_f32(even0, g10, roots, point), vfmaq_laneq_f32(even1, g11, roots, point),                                \
         vfmaq_laneq_f32(even2, g12, roots, point));                                                                          \
    emit(vfmaq_laneq_f32(even0, g10, roots, point + 1), vfmaq_laneq_f32(even1, g11, roots, point + 1),                        \
         vfmaq_laneq_f32(even2, g12, roots, point + 1));                                                                      \
  }
    JITNEY_PAIR(0, 0)
    JITNEY_PAIR(1, 2)
#undef JITNEY_PAIR
    emit(g20, g21, g22);
  }
}

void winograd_input_4(const float* const* pixels, std::size_t channels, float* v, std::size_t point_stride,
                      std::size_t vector_stride) {
  const std::size_t step = point_stride * sizeof(float), whole = channels / kLanes * kLanes;
  for (std::size_t c = 0; c < whole; c += kLanes, v += vector_stride) transform_inputs(pixels, c * sizeof(float), v, step);
  if (whole == channels) return;
  alignas(16) float padded[kMostWinogradPoints * kLanes] = {};
  const float* places[kMostWinogradPoints];
  for (std::size_t i = 0; i < kMostWinogradPoints; ++i) {
    places[i] = padded + i * kLanes;
    std::copy_n(pixels[i] + whole, channels - whole, padded + i * kLanes);
  }
  transform_inputs(places, 0, v, step);
}

void winograd_output_4(const WinogradTileOutput& tile) {
  const std::size_t whole = tile.point_stride == kSumColumns ? tile.columns / kLanes * kLanes : 0;
  for (std::size_t first = 0; first < whole; first += kLanes) restore_results(tile, first);
  if (whole == tile.columns) return;
  WinogradTileOutput rest = tile;
  rest.sums += whole;
  rest.columns -= whole;
  rest.y += whole;
  if (rest.bias != nullptr) rest.bias += whole;
  if (rest.residual != nullptr) rest.residual += whole;
  winograd_output<Tile4>(rest);
}

constexpr WinogradKernel winograd_4x4() {
  WinogradKernel kernel = winograd_of<Tile4>("f32_winograd_4x4_4c_neon", Isa::neon);
  kernel.input = winograd_input_4;
  kernel.weights = winograd_weights_4;
  kernel.output = winograd_output_4;
  return kernel;
}

}  // namespace

extern const WinogradKernel f32_winograd_2x2_4c_neon;  // const alone would hide it from other files
extern const WinogradKernel f32_winograd_4x4_4c_neon;
constinit const WinogradKernel f32_winograd_2x2_4c_neon = winograd_of<Tile2>("f32_winograd_2x2_4c_neon", Isa::neon);
constinit const WinogradKernel f32_winograd_4x4_4c_neon = winograd_4x4();

}  // namespace jitney::kernels
