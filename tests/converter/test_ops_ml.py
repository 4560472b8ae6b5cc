"""Ops of classical machine learning: trees, picked features, thresholds and n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from op_check import Array, assert_same, check, floats, int64s, model_of, rng, run_jny, value

from jitney.errors import InvalidModel, Unsupported


def ml_model(op: str, inputs: list[Array], *, version: int, symbolic: bool = False, **attributes: Any) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], name="node", domain="ai.onnx.ml", **attributes)
    infos = [
        value(name, [f"{name}_{axis}" for axis in range(array.ndim)] if symbolic else array.shape,
              helper.np_dtype_to_tensor_dtype(array.dtype))
        for name, array in zip(names, inputs)
    ]  # fmt: skip
    model = model_of([node], infos, [helper.make_empty_tensor_value_info("y")], opset=21)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", version))
    return model


def run(op: str, inputs: list[Array], *, version: int = 1, **attributes: Any) -> Array:
    feeds = {f"x{i}": array for i, array in enumerate(inputs)}
    result = run_jny(ml_model(op, inputs, version=version, **attributes), feeds)["y"]
    assert_same(run_jny(ml_model(op, inputs, version=version, symbolic=True, **attributes), feeds)["y"], result)
    return result


class Forest:
    """Random trees of nodes and leaves, and what they give for a row by walking them."""

    def __init__(self, seed: int, *, trees: int, depth: int, features: int, targets: int, modes: list[int], dtype: type) -> None:
        self.random, self.features, self.modes, self.dtype, self.targets = rng(seed), features, modes, dtype, targets
        self.nodes: list[dict[str, Any]] = []
        self.leaves: list[tuple[float, int]] = []
        self.roots = [self._grow(depth) for _ in range(trees)]

    def _grow(self, depth: int) -> int:
        random = self.random
        index = len(self.nodes)
        mode = int(random.choice(self.modes))
        node = {
            "feature": int(random.integers(self.features)),
            "mode": mode,
            "split": float(self.dtype(random.integers(-3, 4) / 2)),
            "tracks": int(random.integers(2)),
            "members": {float(item) / 2 for item in random.integers(-3, 4, 3)} if mode == 6 else None,
        }
        self.nodes.append(node)
        for side in ("true", "false"):
            if depth > 1 and random.random() < 0.7:
                node[side], node[f"{side}_leaf"] = self._grow(depth - 1), 0
            else:
                node[side], node[f"{side}_leaf"] = len(self.leaves), 1
                self.leaves.append((float(self.dtype(random.standard_normal())), int(random.integers(self.targets))))
        return index

    def attributes(self) -> dict[str, Any]:
        def each(key: str) -> list[Any]:
            return [node[key] for node in self.nodes]

        # Sets are read as the trees are walked, which is the order of the nodes.
        sets = [item for node in self.nodes if node["members"] is not None for item in [*sorted(node["members"]), np.nan]]
        tensors = {
            "nodes_splits": np.array(each("split"), self.dtype),
            "nodes_modes": np.array(each("mode"), np.uint8),
            "leaf_weights": np.array([weight for weight, _ in self.leaves], self.dtype),
        }
        if sets:
            tensors["membership_values"] = np.array(sets, self.dtype)
        return {
            "n_targets": self.targets,
            "tree_roots": self.roots,
            "nodes_featureids": each("feature"),
            "nodes_truenodeids": each("true"),
            "nodes_falsenodeids": each("false"),
            "nodes_trueleafs": each("true_leaf"),
            "nodes_falseleafs": each("false_leaf"),
            "nodes_missing_value_tracks_true": each("tracks"),
            "leaf_targetids": [target for _, target in self.leaves],
            **{key: numpy_helper.from_array(array, key) for key, array in tensors.items()},
        }

    def score(self, row: Array, aggregate: int) -> list[float]:
        found: list[list[float]] = [[] for _ in range(self.targets)]
        for root in self.roots:
            index, leaf = root, 0
            while not leaf:
                side = "true" if self._holds(self.nodes[index], float(row[self.nodes[index]["feature"]])) else "false"
                index, leaf = self.nodes[index][side], self.nodes[index][f"{side}_leaf"]
            found[self.leaves[index][1]].append(self.leaves[index][0])
        limits = np.finfo(self.dtype)
        if aggregate == 2:
            return [min(item, default=float(limits.max)) for item in found]
        if aggregate == 3:
            return [max(item, default=float(limits.min)) for item in found]
        return [sum(item) / (len(self.roots) if aggregate == 0 else 1) for item in found]

    @staticmethod
    def _holds(node: dict[str, Any], x: float) -> bool:
        if np.isnan(x) and node["tracks"]:
            return True
        split = node["split"]
        outcomes = [x <= split, x < split, x >= split, x > split, x == split, x != split]
        return bool(x in node["members"] if node["mode"] == 6 else outcomes[node["mode"]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("modes", [[0], [1, 2, 3, 4, 5], [0, 6]])
def test_trees(dtype: type, modes: list[int]) -> None:
    x = np.round(floats(9, 4, dtype=np.float64) * 2).astype(dtype) / dtype(2)
    x[2, 1] = x[5, 0] = np.nan
    for aggregate in range(4):
        forest = Forest(aggregate, trees=5, depth=4, features=4, targets=3, modes=modes, dtype=dtype)
        actual = run("TreeEnsemble", [x], version=5, aggregate_function=aggregate, **forest.attributes())
        assert_same(actual, np.array([forest.score(row, aggregate) for row in x], dtype))


def test_trees_of_one_leaf_and_transforms() -> None:
    x = floats(6, 2)
    forest = Forest(1, trees=1, depth=1, features=2, targets=2, modes=[0], dtype=np.float32)
    forest.nodes[0].update({"true": 0, "false": 0, "true_leaf": 1, "false_leaf": 1})
    expected = np.array([forest.score(row, 1) for row in x], np.float32)
    assert_same(run("TreeEnsemble", [x], version=5, **forest.attributes()), expected)
    forest = Forest(2, trees=3, depth=3, features=2, targets=3, modes=[0], dtype=np.float32)
    raw = run("TreeEnsemble", [x], version=5, **forest.attributes()).astype(np.float64)
    softmax = np.exp(raw) / np.exp(raw).sum(1, keepdims=True)
    shares = np.where(raw != 0, np.exp(raw), 0)
    for transform, expected in ((1, softmax), (2, 1 / (1 + np.exp(-raw))), (3, shares / shares.sum(1, keepdims=True))):
        actual = run("TreeEnsemble", [x], version=5, post_transform=transform, **forest.attributes())
        assert_same(actual, expected.astype(np.float32))
    with pytest.raises(Unsupported, match="post_transform 4"):
        run("TreeEnsemble", [x], version=5, post_transform=4, **forest.attributes())


def test_trees_that_are_none() -> None:
    x = floats(2, 2)
    forest = Forest(3, trees=2, depth=3, features=2, targets=2, modes=[0], dtype=np.float32)
    good = forest.attributes()
    inner = next(index for index, node in enumerate(forest.nodes) if not node["true_leaf"])
    cycle = [*good["nodes_truenodeids"]]
    cycle[inner] = inner
    for changes, message in (
        ({"nodes_truenodeids": cycle}, "cycle"),
        ({"nodes_truenodeids": [99, *good["nodes_truenodeids"][1:]]}, "leads to no node or leaf"),
        ({"tree_roots": [99]}, "roots are not among its nodes"),
        ({"nodes_featureids": [0]}, "but 1 features"),
        ({"leaf_targetids": [5, *good["leaf_targetids"][1:]]}, "one of 2 targets"),
        ({"nodes_modes": numpy_helper.from_array(np.full(len(forest.nodes), 6, np.uint8))}, "membership_values has 0 sets"),
    ):
        with pytest.raises(InvalidModel, match=message):
            run("TreeEnsemble", [x], version=5, **{**good, **changes})


def test_array_feature_extractor() -> None:
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = (10 * floats(3, 2, 4)).astype(dtype)
        for indices in (int64s(1), int64s(3, 0, 3), int64s(0, 2).reshape(1, 2)):
            assert_same(run("ArrayFeatureExtractor", [x, indices]), x[..., indices.ravel()])
            assert_same(run("ArrayFeatureExtractor", [x[0, 0], indices]), x[0, 0][None, indices.ravel()])


def test_binarizer() -> None:
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = (10 * floats(3, 4)).astype(dtype)
        assert_same(run("Binarizer", [x], threshold=2.0), (x > 2).astype(dtype))
        assert_same(run("Binarizer", [x]), (x > 0).astype(dtype))


@pytest.mark.parametrize(
    ("mode", "weights"), [("TF", []), ("IDF", []), ("IDF", [0.5, 2, 3, 1.5, 0.25, 7]), ("TFIDF", [0.5, 2, 3, 1.5, 0.25, 7])]
)
@pytest.mark.parametrize(("least", "most", "skips"), [(1, 1, 2), (1, 3, 4), (2, 3, 0)])
def test_n_grams(mode: str, weights: list[float], least: int, most: int, skips: int) -> None:
    """Single items, pairs and one triple; the longest windows do not fit into the rows."""
    options: dict[str, Any] = {
        "mode": mode, "min_gram_length": least, "max_gram_length": most, "max_skip_count": skips, "ngram_counts": [0, 3, 7],
        "ngram_indexes": [4, 0, 1, 3, 2, 5], "pool_int64s": [2, 3, 5, 2, 3, 3, 2, 2, 3, 5],
    }  # fmt: skip
    if weights:
        options["weights"] = weights
    x = rng(1).integers(2, 6, (3, 9))
    check("TfIdfVectorizer", [x], opset=9, **options)
    check("TfIdfVectorizer", [x[0, :2].astype(np.int32)], opset=9, symbolic=False, **options)


def test_n_grams_of_text_are_refused() -> None:
    options = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0}
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], ngram_counts=[0], ngram_indexes=[0], pool_strings=["a"], **options)
    model = model_of([node], [value("x", [2], TensorProto.STRING)], [value("y")])
    with pytest.raises(Unsupported):
        run_jny(model, {})


def test_trees_agree_with_onnx_own_evaluator() -> None:
    x = np.round(floats(7, 3, dtype=np.float64) * 2) / 2
    forest = Forest(9, trees=4, depth=5, features=3, targets=2, modes=[0, 1, 5], dtype=np.float64)
    model = ml_model("TreeEnsemble", [x], version=5, **forest.attributes())
    assert_same(run_jny(model, {"x0": x})["y"], ReferenceEvaluator(model).run(None, {"x0": x})[0])
