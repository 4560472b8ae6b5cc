// The public face of a loaded model.
#include "jitney/model.h"

#include "graph/reader.h"
#include "runtime/model_data.h"

namespace jitney {

Model Model::open(const std::string& path) { return Model(std::make_shared<detail::ModelData>(MappedFile::open(path))); }

Model Model::from_bytes(std::span<const std::byte> bytes) {
  return Model(std::make_shared<detail::ModelData>(MappedFile::copy(bytes)));
}

const std::vector<TensorInfo>& Model::inputs() const noexcept { return data_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const noexcept { return data_->outputs; }
const std::vector<StateInfo>& Model::states() const noexcept { return data_->state_infos; }
const std::map<std::string, std::string>& Model::metadata() const noexcept { return data_->graph.metadata; }

void Model::check_weights() const {
  for (const Constant& constant : data_->graph.constants) {
    verify_checksum(constant);
    data_->file->release({constant.data, static_cast<std::size_t>(constant.bytes)});
  }
}

}  // namespace jitney
