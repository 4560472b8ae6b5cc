// How arrays cross between NumPy and the runtime: dtypes, strides, ownership.
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "jitney/error.h"

namespace jitney::bindings {
namespace {

/// NumPy's names, and those of ml_dtypes for the types that NumPy lacks.
constexpr std::array<std::pair<std::string_view, DType>, 25> kDTypes{{
    {"float32", DType::float32},
    {"uint8", DType::uint8},
    {"int8", DType::int8},
    {"uint16", DType::uint16},
    {"int16", DType::int16},
    {"int32", DType::int32},
    {"int64", DType::int64},
    {"bool", DType::boolean},
    {"float16", DType::float16},
    {"float64", DType::float64},
    {"uint32", DType::uint32},
    {"uint64", DType::uint64},
    {"complex64", DType::complex64},
    {"complex128", DType::complex128},
    {"bfloat16", DType::bfloat16},
    {"float8_e4m3fn", DType::float8e4m3fn},
    {"float8_e4m3fnuz", DType::float8e4m3fnuz},
    {"float8_e5m2", DType::float8e5m2},
    {"float8_e5m2fnuz", DType::float8e5m2fnuz},
    {"uint4", DType::uint4},
    {"int4", DType::int4},
    {"float4_e2m1fn", DType::float4e2m1},
    {"float8_e8m0fnu", DType::float8e8m0},
    {"uint2", DType::uint2},
    {"int2", DType::int2},
}};

bool in_numpy(DType dtype) { return dtype < DType::bfloat16; }

/// ml_dtypes keeps only the low bits of these; the runtime stores them as sign-extended bytes.
bool is_narrow_signed(DType dtype) { return dtype == DType::int4 || dtype == DType::int2; }

/// The dtype of one of NumPy's own types of numbers in this machine's byte order; `undefined` for any other.
DType number_type(const py::dtype& dtype) {
  constexpr int kFirstForeignType = 24;  // numbers from here on are given to types of other packages
  if (dtype.num() >= kFirstForeignType || (dtype.byteorder() != '=' && dtype.byteorder() != '|')) return DType::undefined;
  const auto bytes = dtype.itemsize();
  switch (dtype.kind()) {
    case 'f':
      return bytes == 4 ? DType::float32 : bytes == 8 ? DType::float64 : bytes == 2 ? DType::float16 : DType::undefined;
    case 'i':
      return bytes == 8 ? DType::int64 : bytes == 4 ? DType::int32 : bytes == 1 ? DType::int8 : DType::int16;
    case 'u':
      return bytes == 1 ? DType::uint8 : bytes == 8 ? DType::uint64 : bytes == 4 ? DType::uint32 : DType::uint16;
    case 'b':
      return DType::boolean;
    case 'c':
      return bytes == 8 ? DType::complex64 : bytes == 16 ? DType::complex128 : DType::undefined;
    default:
      return DType::undefined;
  }
}

DType dtype_of(const std::string& name, const py::array& array) {
  const py::dtype dtype = array.dtype();
  if (const DType number = number_type(dtype); number != DType::undefined) return number;
  const auto described = dtype.attr("name").cast<std::string>();
  if (!dtype.attr("isnative").cast<bool>()) {
    throw Error(ErrorCode::invalid_input, "'" + name + "' has foreign byte order (" + dtype.attr("str").cast<std::string>() + ")",
                "convert it with .astype(array.dtype.newbyteorder('='))");
  }
  for (const auto& [text, value] : kDTypes) {
    if (text == described) return value;
  }
  throw Error(ErrorCode::invalid_input, "'" + name + "' has dtype " + described + ", which no tensor can have");
}

py::dtype numpy_dtype(DType dtype) {
  for (const auto& [text, value] : kDTypes) {
    if (value != dtype) continue;
    if (in_numpy(dtype)) return py::dtype(std::string(text));
    try {
      return py::dtype::from_args(py::module_::import("ml_dtypes").attr(std::string(text).c_str()));
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_ImportError)) throw;
      throw Error(ErrorCode::unsupported, "NumPy has no type " + std::string(text), "pip install ml_dtypes");
    }
  }
  throw Error(ErrorCode::unsupported, "no NumPy array can hold " + std::string(to_string(dtype)));
}

py::array require_array(const std::string& name, const py::handle& object) {
  if (py::isinstance<py::array>(object)) return py::reinterpret_borrow<py::array>(object);
  throw Error(ErrorCode::invalid_input,
              "'" + name + "' is a " + py::type::of(object).attr("__name__").cast<std::string>() + ", not a NumPy array");
}

/// Strides in elements; false if they are no whole number of elements or the data is misaligned.
bool describe(const py::array& array, TensorView& view) {
  const auto rank = static_cast<std::size_t>(array.ndim());
  const auto item = static_cast<std::int64_t>(array.itemsize());
  view.shape = Shape(rank, 0);
  view.strides = Shape(rank, 0);
  const auto alignment = static_cast<std::uintptr_t>(array.dtype().alignment());
  bool direct = reinterpret_cast<std::uintptr_t>(array.data()) % alignment == 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    view.shape[axis] = array.shape(static_cast<py::ssize_t>(axis));
    const std::int64_t stride = array.strides(static_cast<py::ssize_t>(axis));
    direct = direct && stride % item == 0;
    view.strides[axis] = stride / item;
  }
  return direct;
}

void check_rank(const std::string& name, const py::array& array) {
  if (static_cast<std::size_t>(array.ndim()) <= kMaxRank) return;
  throw Error(ErrorCode::invalid_input, "'" + name + "' has " + std::to_string(array.ndim()) + " axes; at most " +
                                            std::to_string(kMaxRank) + " are possible");
}

}  // namespace

bool borrow_plain(const py::handle& object, DType wanted, BorrowedArray& result) {
  static const PyTypeObject* const array_type = py::detail::npy_api::get().PyArray_Type_;
  if (Py_TYPE(object.ptr()) != array_type) return false;
  result.array = py::reinterpret_borrow<py::array>(object);
  if (static_cast<std::size_t>(result.array.ndim()) > kMaxRank || number_type(result.array.dtype()) != wanted) return false;
  result.view.dtype = wanted;
  result.view.data = const_cast<void*>(result.array.data());
  return describe(result.array, result.view);
}

BorrowedArray borrow(const std::string& name, const py::handle& object) {
  BorrowedArray result{require_array(name, object), {}};
  check_rank(name, result.array);
  result.view.dtype = dtype_of(name, result.array);
  if (is_narrow_signed(result.view.dtype)) {
    result.array = result.array.attr("astype")("int8");
    describe(result.array, result.view);
  } else if (!describe(result.array, result.view)) {
    result.array = result.array.attr("copy")();
    describe(result.array, result.view);
  }
  result.view.data = const_cast<void*>(result.array.data());  // the runtime does not write to its inputs
  return result;
}

BorrowedArray borrow_for_writing(const std::string& name, const py::handle& object) {
  BorrowedArray result{require_array(name, object), {}};
  check_rank(name, result.array);
  result.view.dtype = dtype_of(name, result.array);
  if (!result.array.writeable()) throw Error(ErrorCode::invalid_input, "the array given for output '" + name + "' is read-only");
  if (!describe(result.array, result.view) || is_narrow_signed(result.view.dtype)) {
    throw Error(ErrorCode::invalid_input, "the array given for output '" + name + "' cannot be written in place",
                "give an aligned array, or leave `out` away");
  }
  result.view.data = result.array.mutable_data();
  return result;
}

py::array to_array(Tensor tensor) {
  const DType dtype = tensor.dtype();
  const py::dtype wanted = numpy_dtype(dtype);
  auto owner = std::make_unique<Tensor>(std::move(tensor));
  void* data = owner->data();
  std::vector<py::ssize_t> shape(owner->shape().begin(), owner->shape().end());
  const py::capsule base(owner.get(), [](void* pointer) { delete static_cast<Tensor*>(pointer); });
  owner.release();
  if (is_narrow_signed(dtype)) return py::array(py::dtype::of<std::int8_t>(), shape, data, base).attr("astype")(wanted);
  return {wanted, shape, data, base};
}

std::string dtype_name(int number) {
  for (const auto& [text, value] : kDTypes) {
    if (static_cast<int>(value) == number) return std::string(text);
  }
  return std::string(to_string(DType::undefined));
}

py::tuple to_tuple(const Shape& shape) {
  py::tuple result(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) result[axis] = py::int_(shape[axis]);
  return result;
}

std::map<std::string, Shape> to_shapes(const py::dict& shapes) {
  std::map<std::string, Shape> result;
  for (const auto& [name, dims] : shapes) {
    Shape shape;
    for (const py::handle dim : dims) shape.push_back(dim.cast<std::int64_t>());
    result.emplace(name.cast<std::string>(), shape);
  }
  return result;
}

}  // namespace jitney::bindings
