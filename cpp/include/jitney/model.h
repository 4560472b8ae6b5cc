// A converted model: the mapped file, its checked graph, and weights shared by all sessions.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "jitney/error.h"
#include "jitney/export.h"
#include "jitney/tensor.h"

namespace jitney {

/// A dimension as shown to users: a number, or the text of a symbol ("N", "2*N + 1"; "?" if unknown).
using DimInfo = std::variant<std::int64_t, std::string>;

/// An input or output of a model.
struct TensorInfo {
  std::string name;
  DType dtype = DType::undefined;
  bool ranked = true;  ///< false: any rank
  std::vector<DimInfo> shape;
};

/// What one run hands on to the next: the value of `output` becomes that of `input`.
struct StateInfo {
  std::string input;
  std::string output;
};

namespace detail {
class ModelData;
}

/// Cheap to copy; copies share everything. Safe to use from many threads.
class JITNEY_API Model {
 public:
  /// Maps and checks a .jny file. Throws Error(io or invalid_model).
  static Model open(const std::string& path);
  /// The same for bytes in memory, which are copied.
  static Model from_bytes(std::span<const std::byte> bytes);

  const std::vector<TensorInfo>& inputs() const noexcept;
  const std::vector<TensorInfo>& outputs() const noexcept;
  const std::vector<StateInfo>& states() const noexcept;
  const std::map<std::string, std::string>& metadata() const noexcept;
  /// Reads every weight block against its checksum; throws Error(invalid_model) at the first that differs.
  void check_weights() const;

  const std::shared_ptr<detail::ModelData>& data() const noexcept { return data_; }

 private:
  explicit Model(std::shared_ptr<detail::ModelData> data) : data_(std::move(data)) {}
  std::shared_ptr<detail::ModelData> data_;
};

}  // namespace jitney
