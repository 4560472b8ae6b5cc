"""Tree ensembles: every tree descends one level at a time, by gathers, for all rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from ..ir import Value
from .node import OnnxNode
from .registry import lowers

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

_COMPARISONS: Final = ("less_equal", "less", "greater_equal", "greater", "equal", "not equal", "member")
_SUM, _MIN, _MAX = 1, 2, 3
_NONE, _SOFTMAX, _LOGISTIC, _SOFTMAX_ZERO = range(4)
_MEMBER: Final = 6


@dataclass
class _Trees:
    """Nodes, and then leaves, which lead to themselves: so all trees may descend as often as the deepest."""

    roots: Ints
    features: Ints
    splits: Doubles
    modes: Ints
    tracks: Ints
    """Whether NaN counts as true."""
    true: Ints
    false: Ints
    members: list[Doubles]
    """Per node the values that mode 6 looks among."""
    first_leaf: int

    def depth(self, node: OnnxNode) -> int:
        """Steps from a root to the farthest leaf."""
        level, depth = np.unique(self.roots), 0
        while (level < self.first_leaf).any():
            level = np.unique(np.concatenate([self.true[level], self.false[level]]))
            depth += 1
            if depth > self.first_leaf:
                raise node.invalid("its trees have a cycle")
        return depth


@lowers("TreeEnsemble", domain="ai.onnx.ml", since=5)
def tree_ensemble(node: OnnxNode) -> Value:
    leaf_targets = np.array(node.integers("leaf_targetids") or [], np.int64)
    leaf_weights = np.asarray(node.tensor("leaf_weights"), np.float64).reshape(-1)
    targets = node.integer("n_targets") if node.has("n_targets") else int(leaf_targets.max(initial=0)) + 1
    if len(leaf_targets) != len(leaf_weights) or ((leaf_targets < 0) | (leaf_targets >= targets)).any():
        raise node.invalid(f"its leaves do not each have a weight and one of {targets} targets")
    trees = _read(node, len(leaf_weights))
    aggregate = node.integer("aggregate_function")
    if aggregate not in range(4):
        raise node.invalid(f"aggregate_function is {aggregate}")
    x = node.operand(0)
    dtype = node.dtype(x)
    if dtype not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16):
        raise node.invalid("its operand has a type other than float16, float32 and float64")
    # What no leaf adds to: nothing, or the far end of the range.
    limits = np.finfo(node.constant(0, dtype).constant.dtype)  # type: ignore[union-attr]
    empty = {_MIN: float(limits.max), _MAX: float(limits.min)}.get(aggregate, 0.0)
    table = np.full((len(leaf_weights), targets), empty)
    table[np.arange(len(leaf_weights)), leaf_targets] = leaf_weights
    leaves = node.emit("sub", [_descend(node, x, trees), node.int64s(trees.first_leaf)])
    weights = node.emit("gather", [node.constant(table, dtype), leaves], axis=0)
    kind = {_SUM: "sum", _MIN: "min", _MAX: "max"}.get(aggregate, "mean")
    scores = node.emit("reduce", [weights, node.int64s([1])], kind=kind, keep_dims=0, noop_with_empty_axes=0)
    return _transformed(node, scores, node.integer("post_transform"))


def _read(node: OnnxNode, leaves: int) -> _Trees:
    def integers(name: str, default: int | None = None) -> Ints:
        given = node.integers(name)
        return np.full(count, default, np.int64) if given is None else np.array(given, np.int64)

    modes = np.asarray(node.tensor("nodes_modes"), np.int64).reshape(-1)
    count = len(modes)
    parts = {
        "splits": np.asarray(node.tensor("nodes_splits"), np.float64).reshape(-1),
        "features": integers("nodes_featureids"),
        "tracks": integers("nodes_missing_value_tracks_true", 0),
        "true": integers("nodes_truenodeids"),
        "false": integers("nodes_falsenodeids"),
        "true_leafs": integers("nodes_trueleafs"),
        "false_leafs": integers("nodes_falseleafs"),
    }
    wrong = [name for name, array in parts.items() if len(array) != count]
    if wrong:
        raise node.invalid(f"its nodes have {count} modes, but {len(parts[wrong[0]])} {wrong[0]}")
    if ((modes < 0) | (modes > _MEMBER)).any():
        raise node.invalid("a mode is none of 0 to 6")
    roots = np.array(node.integers("tree_roots") or [], np.int64)
    if not roots.size or ((roots < 0) | (roots >= count)).any():
        raise node.invalid("its roots are not among its nodes")
    branches = []
    for side in ("true", "false"):
        into_leaf = parts[f"{side}_leafs"] != 0
        target = parts[side]
        if ((target < 0) | (target >= np.where(into_leaf, leaves, count))).any():
            raise node.invalid(f"a {side} branch leads to no node or leaf")
        branches.append(np.concatenate([np.where(into_leaf, target + count, target), np.arange(leaves) + count]).astype(np.int64))
    padding = np.zeros(leaves, np.int64)
    return _Trees(
        roots=roots,
        features=np.concatenate([parts["features"], padding]).astype(np.int64),
        splits=np.concatenate([parts["splits"], padding]).astype(np.float64),
        modes=np.concatenate([modes, np.full(leaves, modes[0])]),
        tracks=np.concatenate([parts["tracks"], padding]).astype(np.int64),
        true=branches[0],
        false=branches[1],
        members=_members(node, modes, leaves),
        first_leaf=count,
    )


def _members(node: OnnxNode, modes: Ints, leaves: int) -> list[Doubles]:
    """The sets, in the order of the nodes that look among them, end with NaN each."""
    none = np.zeros(0)
    if not (modes == _MEMBER).any():
        return []
    values = np.asarray(node.tensor("membership_values"), np.float64).reshape(-1) if node.has("membership_values") else none
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != np.count_nonzero(modes == _MEMBER):
        raise node.invalid(f"membership_values has {len(ends)} sets, which is not one for each node of mode 6")
    sets = iter(np.split(values, ends + 1))
    return [next(sets)[:-1] if mode == _MEMBER else none for mode in modes] + [none] * leaves


def _descend(node: OnnxNode, x: Value, trees: _Trees) -> Value:
    """For each row and tree the leaf that is reached."""
    dtype = node.dtype(x)
    batch = node.emit("concat", [node.emit("shape", [x], start=0, end=1), node.int64s([len(trees.roots)])], axis=0)
    at = node.emit("expand", [node.int64s(trees.roots.tolist()), batch])

    def of_node(array: Ints | Doubles, to: int) -> Value:
        return node.emit("gather", [node.constant(array, to), at], axis=0)

    for _ in range(trees.depth(node)):
        value = node.emit("gather_elements", [x, of_node(trees.features, int(TensorProto.INT64))], axis=1)
        holds = _comparison(node, trees, value, of_node, dtype)
        if trees.tracks.any():
            tracked = of_node(trees.tracks, int(TensorProto.BOOL))
            holds = node.emit("or", [holds, node.emit("and", [node.emit("is_nan", [value]), tracked])])
        branches = [of_node(array, int(TensorProto.INT64)) for array in (trees.true, trees.false)]
        at = node.emit("where", [holds, *branches])
    return at


def _comparison(node: OnnxNode, trees: _Trees, value: Value, of_node: object, dtype: int) -> Value:
    """The outcome by the mode of each node."""
    assert callable(of_node)
    split = of_node(trees.splits, dtype)
    present = np.unique(trees.modes).tolist()
    result: Value | None = None
    for mode in present:
        if mode == _MEMBER:
            width = max(max(len(members) for members in trees.members), 1)
            table = np.full((len(trees.members), width), np.nan)
            for row, members in zip(table, trees.members):
                row[: len(members)] = members
            same = node.emit("equal", [node.emit("unsqueeze", [value, node.int64s([2])]), of_node(table, dtype)])
            found = node.emit("cast", [same], to=int(TensorProto.INT32), saturate=1)
            found = node.emit("reduce", [found, node.int64s([2])], kind="max", keep_dims=0, noop_with_empty_axes=0)
            outcome = node.emit("cast", [found], to=int(TensorProto.BOOL), saturate=1)
        elif _COMPARISONS[mode] == "not equal":
            outcome = node.emit("not", [node.emit("equal", [value, split])])
        else:
            outcome = node.emit(_COMPARISONS[mode], [value, split])
        if result is None:
            result = outcome
        else:
            result = node.emit("where", [of_node(trees.modes == mode, int(TensorProto.BOOL)), outcome, result])
    assert result is not None
    return result


def _transformed(node: OnnxNode, scores: Value, transform: int) -> Value:
    if transform == _NONE:
        return scores
    if transform == _SOFTMAX:
        return node.emit("softmax", [scores], axis=1)
    if transform == _LOGISTIC:
        return node.emit("sigmoid", [scores])
    if transform != _SOFTMAX_ZERO:
        raise node.unsupported(f"post_transform {transform}")
    # The softmax of those scores that are not 0.
    zero = node.constant(0, node.dtype(scores))
    is_zero = node.emit("equal", [scores, zero])
    shares = node.emit("softmax", [node.emit("where", [is_zero, node.constant(-np.inf, node.dtype(scores)), scores])], axis=1)
    return node.emit("where", [is_zero, zero, shares])
