"""The passes that simplify and fuse a model: an ordered list, given as data, run again and again until nothing changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jitney.errors import InvalidInput, IoError

from ..infer import infer_shapes
from ..ir import Model
from ..text import format_model
from .drop_identity import drop_identity
from .eliminate_common import eliminate_common
from .eliminate_dead import eliminate_dead
from .fold_affine import fold_affine
from .fold_constants import fold_constants
from .fold_input_affine import fold_input_affine
from .fold_matmul_operands import fold_matmul_operands
from .fuse_activation import fuse_activation
from .fuse_pad import fuse_pad
from .fuse_residual import fuse_residual
from .gather_before_decoding import gather_before_decoding
from .recognise_activation import recognise_activation
from .recognise_attention import recognise_attention
from .recognise_clip import recognise_clip
from .recognise_group_norm import recognise_group_norm
from .recognise_layer_norm import recognise_layer_norm
from .recognise_rms_norm import recognise_rms_norm
from .rewriter import graphs_of
from .simplify_if import simplify_if
from .simplify_loop import simplify_loop
from .simplify_reshape import simplify_reshape
from .simplify_transpose import simplify_transpose


@dataclass(frozen=True)
class Pass:
    """One rewriting of a model. `function` changes the model and returns how many changes it made."""

    name: str
    function: Callable[[Model], int]
    purpose: str


@dataclass(frozen=True)
class PassResult:
    """What one run of a pass did."""

    name: str
    changes: int
    nodes: int
    """Nodes of the model afterwards, subgraphs included."""


PASSES: Final = (
    Pass("fold_constants", fold_constants, "computes what does not depend on the inputs, through the runtime itself"),
    Pass("simplify_if", simplify_if, "the branch of a known condition replaces its `if`; constants move into branches"),
    Pass("simplify_loop", simplify_loop, "constants move into bodies of loops; what a loop leaves as it is is not carried"),
    Pass("eliminate_dead", eliminate_dead, "removes what no output needs"),
    Pass("eliminate_common", eliminate_common, "computes equal things once, keeps equal constants once"),
    Pass("drop_identity", drop_identity, "removes nodes that return their operand unchanged"),
    Pass(
        "simplify_reshape",
        simplify_reshape,
        "merges reshape, flatten, squeeze and unsqueeze in a row; makes computed shapes constant",
    ),
    Pass("simplify_transpose", simplify_transpose, "merges transposes in a row"),
    Pass("recognise_clip", recognise_clip, "spelled-out `clip`, clips in a row, clip from 0 up → `clip` or `relu`"),
    Pass(
        "recognise_activation", recognise_activation, "spelled-out activations → `gelu`, `silu`, `hard_swish`, `mish`, `prelu` …"
    ),
    Pass("recognise_layer_norm", recognise_layer_norm, "spelled-out layer normalisation, its scale and bias → `layer_norm`"),
    Pass("recognise_rms_norm", recognise_rms_norm, "x / √(mean of x² + ε), spelled out, with its scale → `rms_norm`"),
    Pass(
        "recognise_group_norm",
        recognise_group_norm,
        "norms of rows between reshapes, factors and shifts of channels after them → `instance_norm` over groups",
    ),
    Pass("gather_before_decoding", gather_before_decoding, "rows gathered from a stored table are decoded, not the whole table"),
    Pass("fuse_pad", fuse_pad, "padding in front of convolutions and pools → their own"),
    Pass(
        "fold_matmul_operands",
        fold_matmul_operands,
        "scaling and transposing of operands → attributes of `matmul` (16-bit operands: by powers of two only)",
    ),
    Pass("recognise_attention", recognise_attention, "spelled-out attention, with its scale, bias and mask → `attention`"),
    Pass("fold_affine", fold_affine, "batch normalisation, factors, sums after products → weights and bias"),
    Pass("fold_input_affine", fold_input_affine, "per-channel factors and sums in front of products → weights and bias"),
    Pass("fuse_activation", fuse_activation, "activation after a product → its epilogue"),
    Pass("fuse_residual", fuse_residual, "tensor added to a product → its `residual` operand"),
)

_MOST_ROUNDS: Final = 20
"""Every change makes the model smaller or more canonical, so rounds end by themselves; this guards against a faulty pass."""


def run_passes(
    model: Model,
    *,
    stop_after: str | None = None,
    limit: int | None = None,
    dump: str | os.PathLike[str] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> list[PassResult]:
    """Runs all passes in rounds until a round changes nothing, or only up to the first run of `stop_after`, or `limit` runs.

    `dump` is a folder: the graph after each run that changed it is written there as NN_name.txt. `progress` is told the name of
    each pass and how far the round is (from 0 to 1)."""
    names = [each.name for each in PASSES]
    if stop_after is not None and stop_after not in names:
        raise InvalidInput(f"there is no pass '{stop_after}'", hint=f"the passes are: {', '.join(names)}")
    folder = None if dump is None else Path(dump)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IoError(f"the folder '{folder}' cannot be made: {error.strerror or error}") from error
        _write(folder, 0, "lowered", model)
    results: list[PassResult] = []
    for _ in range(_MOST_ROUNDS):
        infer_shapes(model)
        start = len(results)
        for position, each in enumerate(PASSES):
            if len(results) == limit:
                return results
            if progress is not None:
                progress(each.name, position / len(PASSES))
            changes = each.function(model)
            results.append(PassResult(each.name, changes, sum(len(graph.nodes) for graph in graphs_of(model.graph))))
            if folder is not None and (changes or start == 0):
                _write(folder, len(results), each.name, model)
            if each.name == stop_after:
                return results
        if not any(result.changes for result in results[start:]):
            break
    return results


def _write(folder: Path, number: int, name: str, model: Model) -> None:
    (folder / f"{number:02}_{name}.txt").write_text(format_model(model), encoding="utf-8")
