"""A language model as exporters write them (4-bit weights, grouped queries, fused norms) writes text with its cache."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from op_check import Array, convert_bytes, rng, value

from jitney import Session

MICROSOFT = "com.microsoft"
LAYERS, WIDTH, HEADS, KEY_HEADS, SIZE, WORDS, INNER, BLOCK = 2, 64, 4, 2, 16, 50, 96, 32


class Builder:
    """Collects the nodes and weights of a decoder."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def tensor(self, name: str, array: Array) -> str:
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, name: str, *shape: int) -> str:
        return self.tensor(name, rng(len(self.initializers)).standard_normal(shape).astype(np.float32))

    def add(self, op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, outputs, outputs[0], domain=domain, **attributes))
        return outputs[0]

    def product(self, x: str, name: str, columns: int, depth: int) -> str:
        blocks = depth // BLOCK
        random = rng(len(self.initializers))
        packed = self.tensor(f"{name}_weights", random.integers(0, 256, (columns, blocks, BLOCK // 2)).astype(np.uint8))
        scales = self.tensor(f"{name}_scales", random.uniform(0.005, 0.02, (columns, blocks)).astype(np.float32))
        sizes = {"N": columns, "K": depth, "bits": 4, "block_size": BLOCK}
        return self.add("MatMulNBits", [x, packed, scales], [name], MICROSOFT, **sizes)

    def layer(self, index: int, x: str, residual: str) -> tuple[str, str]:
        p = f"layer{index}_"
        packed = self.product(x, f"{p}qkv", (HEADS + 2 * KEY_HEADS) * SIZE, WIDTH)
        attention = self.add(
            "GroupQueryAttention",
            [packed, "", "", f"past_key{index}", f"past_value{index}", "counts", "total", "cosine", "sine"],
            [f"{p}attention", f"key{index}", f"value{index}"],
            MICROSOFT,
            num_heads=HEADS,
            kv_num_heads=KEY_HEADS,
            do_rotary=1,
        )
        projected = self.product(attention, f"{p}projected", WIDTH, HEADS * SIZE)
        norm = [residual, projected, self.weights(f"{p}norm1", WIDTH)]
        x = self.add("SkipSimplifiedLayerNormalization", norm, [f"{p}x", "", "", f"{p}sum1"], MICROSOFT, epsilon=1e-5)
        gate, up = (self.product(x, f"{p}{name}", INNER, WIDTH) for name in ("gate", "up"))
        active = self.add("Mul", [gate, self.add("Sigmoid", [gate], [f"{p}sigmoid"])], [f"{p}silu"])
        down = self.product(self.add("Mul", [active, up], [f"{p}inner"]), f"{p}down", WIDTH, INNER)
        norm = [f"{p}sum1", down, self.weights(f"{p}norm2", WIDTH)]
        y = self.add("SkipSimplifiedLayerNormalization", norm, [f"{p}y", "", "", f"{p}sum2"], MICROSOFT, epsilon=1e-5)
        return y, f"{p}sum2"


def make_decoder() -> onnx.ModelProto:
    b = Builder()
    for name in ("cosine", "sine"):
        b.weights(name, 64, SIZE // 2)
    b.add("ReduceSum", ["mask", b.tensor("axis", np.array([1]))], ["lengths"], keepdims=0)
    b.add("Cast", [b.add("Sub", ["lengths", b.tensor("one", np.array([1]))], ["before"])], ["counts"], to=TensorProto.INT32)
    b.add("Gather", [b.add("Shape", ["mask"], ["mask_shape"]), b.tensor("second", np.array(1))], ["total64"])
    b.add("Cast", ["total64"], ["total"], to=TensorProto.INT32)
    residual = b.add("Gather", [b.weights("words", WORDS, WIDTH), "ids"], ["embedded"])
    norm = [residual, b.weights("norm", WIDTH)]
    x = b.add("SimplifiedLayerNormalization", norm, ["normal"], epsilon=1e-5)
    for index in range(LAYERS):
        x, residual = b.layer(index, x, residual)
    b.add("MatMul", [x, b.weights("head", WIDTH, WORDS)], ["logits"])
    caches = [f"{name}{index}" for index in range(LAYERS) for name in ("key", "value")]
    inputs = [value("ids", ["B", "S"], TensorProto.INT64), value("mask", ["B", "T"], TensorProto.INT64)]
    inputs += [value(f"past_{name}", ["B", KEY_HEADS, "P", SIZE]) for name in caches]
    outputs = [value("logits", ["B", "S", WORDS]), *(value(name, ["B", KEY_HEADS, "T", SIZE]) for name in caches)]
    graph = helper.make_graph(b.nodes, "decoder", inputs, outputs, b.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)


def test_text_is_written_with_a_cache() -> None:
    model = make_decoder()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    reference = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [f"{name}{index}" for index in range(LAYERS) for name in ("key", "value")]
    empty = np.zeros((1, KEY_HEADS, 0, SIZE), np.float32)
    ids, ours, theirs = rng(1).integers(0, WORDS, (1, 6)), [empty] * len(names), [empty] * len(names)
    with Session(convert_bytes(model)) as session:
        for _ in range(4):
            fed = {"ids": ids, "mask": np.ones((1, ours[0].shape[2] + ids.shape[1]), np.int64)}
            results = session.run(fed | {f"past_{name}": cache for name, cache in zip(names, ours)})
            expected = reference.run(None, fed | {f"past_{name}": cache for name, cache in zip(names, theirs)})
            for result, wanted in zip(results.values(), expected):
                np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-4)
            ours, theirs = [results[name] for name in names], expected[1:]
            ids = results["logits"][:, -1:].argmax(-1)
