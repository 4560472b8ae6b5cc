"""ONNX Runtime's enumerations: names and numbers as programs spell them."""

from __future__ import annotations

from enum import IntEnum


class _Enum(IntEnum):
    """Prints as ONNX Runtime's do; equal to its number, but an option refuses the bare number."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class GraphOptimizationLevel(_Enum):
    """How far the graph is rewritten; Jitney's converter always does all it can."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Enum):
    """Whether independent nodes may run at the same time."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Enum):
    """In which order nodes run."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class OrtMemType(_Enum):
    """Kinds of memory by use."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtAllocatorType(_Enum):
    """Kinds of allocators."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtSparseFormat(_Enum):
    """Layouts of sparse tensors."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


class OrtDeviceMemoryType(_Enum):
    """Memory of a device, by who reaches it."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtExecutionProviderDevicePolicy(_Enum):
    """Which device is preferred."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtHardwareDeviceType(_Enum):
    """Kinds of hardware."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtMemoryInfoDeviceType(_Enum):
    """Kinds of hardware, as memory descriptions number them."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtCompileApiFlags(_Enum):
    """Flags of ahead-of-time compilation."""

    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class OrtDeviceVendorId(_Enum):
    """PCI numbers of vendors."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086
