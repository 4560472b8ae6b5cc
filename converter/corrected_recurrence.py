"""RNN, GRU and LSTM for onnx's evaluator, whose own leave out lengths, clipping and all but the usual activations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from onnx.reference.op_run import OpRun

Function = Callable[[Any], Any]

_FUNCTIONS: Final[dict[str, tuple[Callable[[Any, float, float], Any], float | None, float | None]]] = {
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), 1.0, None),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "leakyrelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01, None),
    "relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "sigmoid": (lambda x, a, b: 1 / (1 + np.exp(-x)), None, None),
    "softplus": (lambda x, a, b: np.logaddexp(x, 0), None, None),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), None, None),
    "tanh": (lambda x, a, b: np.tanh(x), None, None),
    "thresholdedrelu": (lambda x, a, b: np.where(x > a, x, 0), 1.0, None),
}
"""With the defaults of alpha and beta where a function has them."""


class _Recurrent(OpRun):
    """What the three have in common. Arithmetic is done in 64 bits."""

    usual: tuple[str, ...]
    gates: int

    def _step(
        self, x: Any, r: Any, biases: Sequence[Any], h: Any, c: Any, p: Any, functions: Sequence[Function]
    ) -> tuple[Any, Any]:
        """The next state and cell. `x` is what the inputs add to each gate; biases are those of inputs and of the state."""
        raise NotImplementedError

    def _setting(self, name: str, default: Any) -> Any:
        """An attribute."""
        value = getattr(self, name, None)
        return default if value is None else value

    def _clipped(self, gate: Any) -> Any:
        """A gate before its activation."""
        limit = self._setting("clip", 0.0)
        return np.clip(gate, -limit, limit) if limit > 0 else gate

    def _run(
        self, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None, p: Any = None, **_: Any
    ) -> tuple[Any, ...]:
        dtype, batch_first = x.dtype, self._setting("layout", 0) == 1
        if batch_first:
            x, h, c = (None if each is None else np.swapaxes(each, 0, 1) for each in (x, h, c))
        directions, hidden = w.shape[0], r.shape[-1]
        steps, batch = x.shape[:2]
        wide = [
            np.zeros(shape) if each is None else np.asarray(each, np.float64)
            for each, shape in (
                (b, (directions, 2 * self.gates * hidden)),
                (h, (directions, batch, hidden)),
                (c, (directions, batch, hidden)),
                (p, (directions, 3 * hidden)),
            )
        ]
        lengths = np.full(batch, steps) if lengths is None else lengths
        functions = [*self._functions(directions)]
        y = np.zeros((steps, directions, batch, hidden))
        last_h, last_c = np.zeros((directions, batch, hidden)), np.zeros((directions, batch, hidden))
        for direction in range(directions):
            backwards = self._setting("direction", "forward") == "reverse" or direction == 1
            own = functions[direction * len(self.usual) : (direction + 1) * len(self.usual)]
            bias, state, cell, peepholes = (each[direction] for each in wide)
            inputs, recurrent = x.astype(np.float64) @ w[direction].T.astype(np.float64), r[direction].astype(np.float64)
            for row, length in enumerate(lengths):
                now_h, now_c = state[row], cell[row]
                for step in range(length)[::-1] if backwards else range(length):
                    now_h, now_c = self._step(inputs[step, row], recurrent, np.split(bias, 2), now_h, now_c, peepholes, own)
                    y[step, direction, row] = now_h
                if length:
                    last_h[direction, row], last_c[direction, row] = now_h, now_c
        if batch_first:
            y, last_h, last_c = y.transpose(2, 0, 1, 3), last_h.swapaxes(0, 1), last_c.swapaxes(0, 1)
        return tuple(each.astype(dtype) for each in (y, last_h, last_c)[: len(self.onnx_node.output)])

    def _functions(self, directions: int) -> Iterator[Function]:
        """The activations of all directions. Numbers are listed for those alone that take them."""
        names = [*self._setting("activations", [])] or [*self.usual] * directions
        alphas, betas = iter(self._setting("activation_alpha", [])), iter(self._setting("activation_beta", []))
        for name in names[: len(self.usual) * directions]:
            function, a, b = _FUNCTIONS[name.lower()]
            alpha = 0.0 if a is None else next(alphas, a)
            beta = 0.0 if b is None else next(betas, b)
            yield partial(_applied, function, alpha, beta)


def _applied(function: Callable[[Any, float, float], Any], alpha: float, beta: float, x: Any) -> Any:
    return function(x, alpha, beta)


class RNN(_Recurrent):
    """One gate."""

    usual, gates = ("Tanh",), 1

    def _step(
        self, x: Any, r: Any, biases: Sequence[Any], h: Any, c: Any, p: Any, functions: Sequence[Function]
    ) -> tuple[Any, Any]:
        return functions[0](self._clipped(x + r @ h + biases[0] + biases[1])), c


class GRU(_Recurrent):
    """Gates z, r and h."""

    usual, gates = ("Sigmoid", "Tanh"), 3

    def _step(
        self, x: Any, r: Any, biases: Sequence[Any], h: Any, c: Any, p: Any, functions: Sequence[Function]
    ) -> tuple[Any, Any]:
        x_z, x_r, x_h = np.split(x + biases[0], 3)
        r_z, r_r, r_h = np.split(r, 3)
        b_z, b_r, b_h = np.split(biases[1], 3)
        update = functions[0](self._clipped(x_z + r_z @ h + b_z))
        reset = functions[0](self._clipped(x_r + r_r @ h + b_r))
        linear = self._setting("linear_before_reset", 0)
        hidden = reset * (r_h @ h + b_h) if linear else r_h @ (reset * h) + b_h
        return (1 - update) * functions[1](self._clipped(x_h + hidden)) + update * h, c


class LSTM(_Recurrent):
    """Gates i, o, f and c."""

    usual, gates = ("Sigmoid", "Tanh", "Tanh"), 4

    def _step(
        self, x: Any, r: Any, biases: Sequence[Any], h: Any, c: Any, p: Any, functions: Sequence[Function]
    ) -> tuple[Any, Any]:
        i, o, f, new = np.split(x + r @ h + biases[0] + biases[1], 4)
        p_i, p_o, p_f = np.split(p, 3)
        i = functions[0](self._clipped(i + p_i * c))
        f = 1 - i if self._setting("input_forget", 0) else functions[0](self._clipped(f + p_f * c))
        cell = f * c + i * functions[1](self._clipped(new))
        return functions[0](self._clipped(o + p_o * cell)) * functions[2](cell), cell
