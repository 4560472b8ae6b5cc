// Window geometry where only the numbers matter.
#include "ops/window.h"

#include "run_node.h"

using namespace jitney;
using namespace jitney::test;

TEST_CASE("window_geometry resolves pads and sizes per axis") {
  const Node node = make_node(
      "max_pool", 1, 1,
      {integers("kernel", {3, 2}), integers("strides", {2, 3}), integers("dilations", {1, 4}), integers("pads", {1, 0, 2, 1})});
  const WindowGeometry geometry = window_geometry(node, {10, 11}, {3, 2});
  CHECK(geometry.rank() == 2);
  CHECK(geometry.pad_begin == Shape{1, 0});
  CHECK(geometry.pad_end == Shape{2, 1});
  CHECK(geometry.extent(1) == 5);
  CHECK(geometry.output == Shape{6, 3});
}

TEST_CASE("same pads grow with the stride's remainder") {
  const auto geometry = [](const char* word, std::int64_t input, std::int64_t kernel, std::int64_t stride) {
    return window_geometry(make_node("conv", 2, 1, {text("auto_pad", word), integers("strides", {stride})}), {input}, {kernel});
  };
  CHECK(geometry("same_upper", 7, 4, 2).pad_begin == Shape{1});
  CHECK(geometry("same_upper", 7, 4, 2).pad_end == Shape{2});
  CHECK(geometry("same_lower", 7, 4, 2).pad_begin == Shape{2});
  CHECK(geometry("same_upper", 7, 1, 3).pad_end == Shape{0});
  CHECK(geometry("same_upper", 7, 1, 3).output == Shape{3});
  CHECK(geometry("same_lower", 0, 3, 1).output == Shape{0});
}

TEST_CASE("ceil_mode adds a window only if it starts before the padding behind") {
  const auto output = [](std::int64_t input, std::int64_t kernel, std::int64_t stride, std::vector<std::int64_t> pads) {
    return window_geometry(make_node("max_pool", 1, 1,
                                     {integers("kernel", {kernel}), integers("strides", {stride}), integer("ceil_mode", 1),
                                      integers("pads", std::move(pads))}),
                           {input}, {kernel})
        .output[0];
  };
  CHECK(output(7, 4, 4, {0, 0}) == 2);
  CHECK(output(8, 4, 4, {0, 0}) == 2);
  CHECK(output(2, 3, 3, {1, 1}) == 1);
  CHECK(output(3, 2, 2, {1, 1}) == 2);
  CHECK(output(2, 3, 2, {0, 0}) == 1);
}

TEST_CASE("tap_sources tells padding from what lies behind it") {
  const Node node =
      make_node("average_pool", 1, 1,
                {integers("kernel", {4}), integers("strides", {4}), integers("pads", {1, 1}), integer("ceil_mode", 1)});
  const WindowGeometry geometry = window_geometry(node, {9}, {4});
  REQUIRE(geometry.output == Shape{3});
  std::vector<std::int64_t> sources;
  tap_sources(geometry, 0, sources);
  CHECK(sources == std::vector<std::int64_t>{kInPadding, 0, 1, 2});
  tap_sources(geometry, 2, sources);
  CHECK(sources == std::vector<std::int64_t>{7, 8, kInPadding, kBeyondPadding});
}
