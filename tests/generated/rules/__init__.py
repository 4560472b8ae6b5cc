"""What the schemas do not say: how the shapes and values of each op's operands hang together. RULES maps ops to rules."""

from . import elementwise, indexing, movement, network, quantised, recurrent, reduction, signal, vision, window  # noqa: F401
from .registry import RULES

__all__ = ["RULES"]
