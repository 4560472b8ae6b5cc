// Names and sizes of the element types.
#include "jitney/tensor.h"

namespace jitney {

namespace {

struct DTypeInfo {
  std::size_t bytes;
  std::string_view name;  // NumPy's; for the others, that of the ml_dtypes package
};

constexpr DTypeInfo kDTypes[] = {
    {0, "undefined"},
    {4, "float32"},
    {1, "uint8"},
    {1, "int8"},
    {2, "uint16"},
    {2, "int16"},
    {4, "int32"},
    {8, "int64"},
    {0, "string"},
    {1, "bool"},
    {2, "float16"},
    {8, "float64"},
    {4, "uint32"},
    {8, "uint64"},
    {8, "complex64"},
    {16, "complex128"},
    {2, "bfloat16"},
    {1, "float8_e4m3fn"},
    {1, "float8_e4m3fnuz"},
    {1, "float8_e5m2"},
    {1, "float8_e5m2fnuz"},
    {1, "uint4"},
    {1, "int4"},
    {1, "float4_e2m1fn"},
    {1, "float8_e8m0fnu"},
    {1, "uint2"},
    {1, "int2"},
};
static_assert(std::size(kDTypes) == static_cast<std::size_t>(DType::int2) + 1);

constexpr DTypeInfo info(DType dtype) noexcept {
  const auto index = static_cast<std::size_t>(dtype);
  return index < std::size(kDTypes) ? kDTypes[index] : DTypeInfo{0, "unknown"};
}

}  // namespace

std::size_t size_of(DType dtype) noexcept { return info(dtype).bytes; }

std::string_view to_string(DType dtype) noexcept { return info(dtype).name; }

}  // namespace jitney
