// What the reader accepts comes back as it was written; what it refuses, it refuses with a message that says why.
#include "graph/reader.h"

#include <functional>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "graph/file_builder.h"
#include "graph/sample_model.h"
#include "jitney/error.h"

namespace {

using namespace jitney;
using namespace jitney::testing;

std::string refusal(const std::vector<std::byte>& bytes) {
  try {
    read_model(*MappedFile::copy(bytes));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_model);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "accepted";
}

/// The refusal of the sample model after a change.
std::string refusal_of(const std::function<void(ModelBuilder&)>& change) {
  ModelBuilder builder;
  build_sample(builder);
  change(builder);
  return refusal(write_model(builder.model));
}

void check_contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("a model comes back as it was written") {
  ModelBuilder builder;
  build_sample(builder);
  const std::vector<std::byte> bytes = write_model(builder.model);
  const auto file = MappedFile::copy(bytes);
  const ModelGraph model = read_model(*file);
  CHECK(write_model(model) == bytes);
  CHECK(model.symbols[1] == "größe");
  CHECK(model.metadata == builder.model.metadata);
  REQUIRE(model.graphs.size() == 3);
  const Graph& graph = model.main();
  CHECK(to_string(graph.values[0].shape.dims[2], model.symbols) == "2*N - größe + 1");
  CHECK(graph.values[0].shape.dims[3].is_unknown());
  CHECK(graph.nodes[0].number("number") == 0.25);
  CHECK(graph.nodes[1].graph("else") == 2);
  for (const Constant& constant : model.constants) {
    CHECK(reinterpret_cast<std::uintptr_t>(constant.data) % 64 == 0);
    verify_checksum(constant);
  }
}

TEST_CASE("a model without constants needs no weights section") {
  ModelBuilder builder;
  builder.output(builder.node("relu", {builder.input("x", DType::float32, {1})}));
  const auto file = MappedFile::copy(write_model(builder.model));
  CHECK(read_model(*file).main().nodes.size() == 1);
}

TEST_CASE("a constant gives its value the dtype and shape that the file leaves open") {
  ModelBuilder builder;
  const ValueId id = builder.constant("c", DType::int32, {2}, std::vector<std::int32_t>{1, 2});
  Value& value = builder.graph().values[static_cast<std::size_t>(id)];
  value.dtype = DType::undefined;
  value.shape = SymShape::unranked();
  builder.output(id);
  const auto file = MappedFile::copy(write_model(builder.model));
  const ModelGraph model = read_model(*file);
  CHECK(model.main().values[0].dtype == DType::int32);
  CHECK(model.main().values[0].shape.dims[0].value() == 2);
}

TEST_CASE("weight bytes are checked on request") {
  ModelBuilder builder;
  builder.output(builder.constant("c", DType::boolean, {2}, std::vector<std::uint8_t>{0, 2}));
  std::vector<std::byte> bytes = write_model(builder.model);
  auto file = MappedFile::copy(bytes);
  CHECK_THROWS_WITH_AS(verify_checksum(read_model(*file).constants[0]), doctest::Contains("neither 0 nor 1"), Error);
  bytes.back() = std::byte{1};
  file = MappedFile::copy(bytes);
  CHECK_THROWS_WITH_AS(verify_checksum(read_model(*file).constants[0]), doctest::Contains("checksum"), Error);
}

TEST_CASE("what is no Jitney model is called so") {
  const auto of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return refusal({bytes.begin(), bytes.end()});
  };
  check_contains(of(""), "empty");
  check_contains(of("\x08\x07\x12\x07pytorch, an ONNX model"), "jitney convert");
  check_contains(of("\x89JNY\r"), "ends after 5 bytes");
  check_contains(of("\x89JNY\n\x1a\n and more"), "binary mode");
  check_contains(of("\tJNY\r\n\x1a\n and more"), "binary mode");
}

TEST_CASE("header and table are checked field by field") {
  ModelBuilder builder;
  build_sample(builder);
  const std::vector<std::byte> good = write_model(builder.model);
  const auto with = [&](auto change) {
    std::vector<std::byte> bytes = good;
    change(bytes);
    patch(bytes, 32, crc32(std::span(bytes).subspan(64, 96)));
    return refusal(bytes);
  };
  const auto field = [&](std::size_t offset, auto value) {
    return with([&](std::vector<std::byte>& bytes) { patch(bytes, offset, value); });
  };
  check_contains(field(12, std::uint32_t{2}), "upgrade jitney");
  check_contains(field(12, std::uint32_t{0}), "format version");
  check_contains(field(8, std::uint32_t{0}), "format version");
  CHECK(field(8, std::uint32_t{2}) == "accepted");  // newer, but says that this reader knows enough
  check_contains(field(16, std::uint32_t{0xffffffff}), "sections");
  check_contains(field(20, std::uint32_t{1}), "reserved");
  check_contains(field(60, std::uint8_t{1}), "reserved");
  check_contains(field(24, std::uint64_t{good.size() + 1}), "truncated");
  check_contains(field(24, std::uint64_t{good.size() - 1}), "follow");
  check_contains(with([](auto& bytes) { bytes.push_back({}); }), "1 bytes follow the end");
  check_contains(with([](auto& bytes) {
                   bytes.resize(bytes.size() + 64);
                   patch(bytes, 24, std::uint64_t{bytes.size()});
                 }),
                 "follow the last section");
  check_contains(field(64, std::uint32_t{9}), "no graph section");
  check_contains(field(96, std::uint32_t{1}), "two of the graph section");
  check_contains(field(72, std::uint64_t{200}), "multiple of 64");
  check_contains(field(72, std::uint64_t{64}), "overlaps");
  check_contains(field(72, ~std::uint64_t{63}), "beyond");
  check_contains(field(80, ~std::uint64_t{0}), "beyond");
  check_contains(field(68, std::uint32_t{1}), "graph section: its checksum");
  check_contains(field(100, std::uint32_t{1}), "metadata section: its checksum");
  check_contains(field(132, std::uint32_t{1}), "checksum of its own");
  check_contains(field(88, std::uint64_t{1}), "reserved");
  check_contains(field(160, std::uint8_t{1}), "gap");
  std::vector<std::byte> bytes = good;
  bytes[70] ^= std::byte{1};
  check_contains(refusal(bytes), "section table: its checksum");
}

TEST_CASE("sections of unknown kinds are skipped") {
  ModelBuilder builder;
  builder.output(builder.node("relu", {builder.input("x", DType::float32, {1})}));
  const std::vector<std::byte> graph = write_graph_section(builder.model), metadata(4), other(5, std::byte{7});
  CHECK(refusal(write_container({{77, 0, other}, {1, crc32(graph), graph}, {2, crc32(metadata), metadata}})) == "accepted");
  check_contains(refusal(write_container({{1, crc32(graph), graph}})), "no metadata section");
}

TEST_CASE("metadata keys are distinct and sorted") {
  ByteWriter out;
  const std::vector<std::string> keys = {"b", "b"};
  out.list(keys, [&](const std::string& key) { out.text(key), out.text("value"); });
  ModelBuilder builder;
  const std::vector<std::byte> graph = write_graph_section(builder.model);
  check_contains(refusal(write_container({{1, crc32(graph), graph}, {2, crc32(out.bytes), out.bytes}})),
                 "distinct and sorted at 'b'");
}

TEST_CASE("records are checked one by one") {
  using B = ModelBuilder;
  const auto block = [](B& b) -> Constant& { return b.model.constants[0]; };
  check_contains(refusal_of([](B& b) { b.model.symbols[1] = "N"; }), "two symbols");
  check_contains(refusal_of([](B& b) { b.model.symbols[1] = "\xed\xa0\x80"; }), "UTF-8");
  check_contains(refusal_of([](B& b) { b.model.graphs.clear(); }), "graphs: there is none");
  check_contains(refusal_of([&](B& b) { block(b).dtype = DType::string; }), "constant 0: it has dtype string");
  check_contains(refusal_of([&](B& b) { block(b).dtype = static_cast<DType>(99); }), "dtype 99 does not exist");
  check_contains(refusal_of([&](B& b) { block(b).shape[0] = 3; }), "takes 36 bytes, but it has 24");
  check_contains(refusal_of([&](B& b) { block(b).shape[0] = -2; }), "a dimension is -2");
  check_contains(refusal_of([&](B& b) { block(b).shape[0] = std::int64_t{1} << 61; }), "63 bits");
  check_contains(refusal_of([](B& b) { b.graph().values[0].shape.dims.resize(13); }), "rank 13");
  check_contains(refusal_of([](B& b) { b.graph().values[0].shape.dims[1] = -1; }), "a dimension is -1");
  check_contains(refusal_of([](B& b) { b.graph().values[0].shape.dims = {Dim::symbol(2)}; }), "symbol 2");
  const std::int64_t big = std::int64_t{1} << 31;
  check_contains(refusal_of([&](B& b) { b.graph().values[0].shape.dims = {big, 0, big, Dim::unknown()}; }), "63 bits");
  check_contains(refusal_of([](B& b) { b.graph().values[0].dtype = static_cast<DType>(27); }), "dtype 27");
  check_contains(refusal_of([](B& b) { b.graph().values[3].constant = 99; }), "constant 99 does not exist");
  check_contains(refusal_of([](B& b) { b.graph().inputs[0] = 99; }), "value 99 does not exist");
  check_contains(refusal_of([](B& b) { b.graph().outputs[0] = -1; }), "value -1 does not exist");
  check_contains(refusal_of([](B& b) { b.graph().nodes[0].inputs[0] = -2; }), "value -2 does not exist");
  check_contains(refusal_of([](B& b) { b.graph().nodes[0].op.clear(); }), "no op");
  check_contains(refusal_of([](B& b) { b.graph().nodes[0].attributes[1].name = "integer"; }), "twice");
  check_contains(refusal_of([](B& b) { b.graph().nodes[0].attributes[6].value = ConstantRef{99}; }), "constant 99");
  check_contains(refusal_of([](B& b) { b.graph().nodes[1].attributes[0].value = GraphRef{3}; }), "graph 3 does not exist");
  check_contains(refusal_of([&](B& b) { b.graph().name = std::string(500, 'x'); }), "accepted");
}

TEST_CASE("what holds between records is checked") {
  using B = ModelBuilder;
  const auto value = [](B& b, std::size_t i) -> Value& { return b.graph().values[i]; };
  check_contains(refusal_of([](B& b) { b.graph().inputs.push_back(b.graph().inputs[0]); }),
                 "a second time, by the graph's inputs");
  check_contains(refusal_of([](B& b) { b.graph().inputs.push_back(3); }), "a second time");
  check_contains(refusal_of([](B& b) { b.graph().nodes[2].outputs = b.graph().nodes[0].outputs; }),
                 "a second time, by node 'identity");
  check_contains(refusal_of([](B& b) { b.graph().nodes[0].outputs[0] = 3; }), "a second time");
  check_contains(refusal_of([](B& b) { std::swap(b.graph().nodes[0], b.graph().nodes[1]); }), "before it is defined");
  check_contains(refusal_of([](B& b) { b.graph().nodes[0].inputs[0] = b.graph().nodes[0].outputs[0]; }), "before it is defined");
  check_contains(refusal_of([](B& b) { b.value("loose"); }), "'loose') is never defined");
  check_contains(refusal_of([&](B& b) { value(b, 3).dtype = DType::int32; }), "but its constant is float32");
  check_contains(refusal_of([&](B& b) { value(b, 3).shape.dims[0] = 5; }), "another shape than its constant, [2, 3]");
  check_contains(refusal_of([&](B& b) { value(b, 3).shape.dims.pop_back(); }), "another shape than its constant");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->scale = -1; }), "a scale that is no constant");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->scale = 99; }), "a scale that is no constant");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->zero_point = 99; }), "a zero point that is no constant");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->axis = 2; }), "axis 2");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->axis = 1; }), "3 scales for an axis of 2");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->axis = -1; }), "3 scales, not one");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->scale = 1; }), "a scale of int8");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->zero_point = 1; }), "another number of zero points");
  check_contains(refusal_of([&](B& b) { value(b, 4).quantisation->zero_point = 2; }), "its zero point is float32");
  check_contains(refusal_of([](B& b) { b.graph().states[0].first = 3; }), "no input of the graph");
  check_contains(refusal_of([](B& b) { b.graph().states[0].second = 3; }), "no output of the graph");
  check_contains(refusal_of([](B& b) { b.graph().states.push_back(b.graph().states[0]); }), "two states");
  check_contains(refusal_of([&](B& b) { value(b, 2).dtype = DType::int64, value(b, 8).dtype = DType::float16; }), "int64");
  check_contains(refusal_of([&](B& b) { value(b, 0).name.clear(); }), "has no name");
  check_contains(refusal_of([&](B& b) { value(b, 0).name = "state"; }), "inputs are named 'state'");
  check_contains(refusal_of([](B& b) { b.output(b.graph().outputs[0]); }), "outputs are named");
  check_contains(refusal_of([](B& b) { b.graph().nodes[1].attributes[0].value = GraphRef{0}; }), "does not come after it");
  check_contains(refusal_of([](B& b) { b.graph().nodes[1].attributes[0].value = GraphRef{2}; }), "used twice");
  check_contains(refusal_of([](B& b) { b.graph().nodes[1].attributes.pop_back(); }), "graph 2 is used by no node");
}

TEST_CASE("subgraphs may nest, but not without end") {
  const auto nested = [](std::uint32_t depth) {
    ModelGraph model;
    for (std::uint32_t i = 0; i <= depth; ++i) {
      Graph graph;
      if (i < depth) graph.nodes.push_back({"if", "", {}, {}, {{"then", GraphRef{i + 1}}}});
      model.graphs.push_back(graph);
    }
    return refusal(write_model(model));
  };
  CHECK(nested(64) == "accepted");
  check_contains(nested(65), "nest deeper than 64");
}

}  // namespace
