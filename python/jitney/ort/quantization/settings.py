"""Choices that programs put into their settings when they are imported, long before they quantise anything, if ever."""

from __future__ import annotations

from enum import Enum


class _Choice(Enum):
    """Prints its bare name and is found by it, for command lines."""

    def __str__(self) -> str:
        return self.name

    @classmethod
    def from_string(cls, name: str) -> _Choice:
        """The choice of that name; ValueError if there is none."""
        try:
            return cls[name]
        except KeyError:
            raise ValueError(f"{name!r} is none of {', '.join(cls.__members__)}") from None


class QuantType(_Choice):
    """Types of quantised tensors."""

    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6


class QuantFormat(_Choice):
    """How a quantised model is written."""

    QOperator = 0
    QDQ = 1


class QuantizationMode(_Choice):
    """Which operators compute."""

    IntegerOps = 0
    QLinearOps = 1


class CalibrationMethod(Enum):
    """How ranges are found."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3
