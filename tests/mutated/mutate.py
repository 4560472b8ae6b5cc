"""Mutations of ONNX models that know its structure: each breaks one thing that a file could say wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import onnx
from onnx import AttributeProto, TensorProto, defs, helper

Mutation = Callable[[onnx.ModelProto, Random], None]
MUTATIONS: list[Mutation] = []
NUMBERS: Final = [0, 1, -1, 2, -2, 7, 100, 255, -128, 2**16, 2**20, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
FLOATS: Final = [0.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e38, -1e38, 1e-45, 0.5]
NAMES: Final = ["", "x", "y", "ü", "名前", "a/b:0", "\0", "../x", "n" * 5000, " ", "\U0001f68c", "true"]


class Nothing(Exception):
    """The model has nothing that this mutation could change."""


def mutation(function: Mutation) -> Mutation:
    MUTATIONS.append(function)
    return function


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and those inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def _pick(random: Random, items: object) -> object:
    listed = list(items)  # type: ignore[call-overload]
    if not listed:
        raise Nothing
    return random.choice(listed)


def _graph(model: onnx.ModelProto, random: Random) -> onnx.GraphProto:
    return _pick(random, graphs(model.graph))  # type: ignore[return-value]


def _node(model: onnx.ModelProto, random: Random) -> onnx.NodeProto:
    nodes = [node for graph in graphs(model.graph) for node in graph.node]
    nodes += [node for function in model.functions for node in function.node]
    return _pick(random, nodes)  # type: ignore[return-value]


def _tensor(model: onnx.ModelProto, random: Random) -> onnx.TensorProto:
    tensors = [tensor for graph in graphs(model.graph) for tensor in graph.initializer]
    tensors += [
        attribute.t
        for graph in graphs(model.graph)
        for node in graph.node
        for attribute in node.attribute
        if attribute.HasField("t")
    ]
    return _pick(random, tensors)  # type: ignore[return-value]


def _attribute(model: onnx.ModelProto, random: Random) -> tuple[onnx.NodeProto, AttributeProto]:
    return _pick(  # type: ignore[return-value]
        random, [(node, each) for graph in graphs(model.graph) for node in graph.node for each in node.attribute]
    )


def _info(model: onnx.ModelProto, random: Random) -> onnx.ValueInfoProto:
    return _pick(  # type: ignore[return-value]
        random, [info for graph in graphs(model.graph) for info in (*graph.input, *graph.output, *graph.value_info)]
    )


@mutation
def drop_operand(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    index = _pick(random, range(len(node.input)))
    if random.random() < 0.5:
        node.input[index] = ""  # type: ignore[index]
    else:
        del node.input[index]  # type: ignore[arg-type]


@mutation
def add_operands(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    node.input.extend(random.choice([["x"], ["", ""], ["nowhere"], list(node.input) * 2, ["x"] * 300]))


@mutation
def swap_operands(model: onnx.ModelProto, random: Random) -> None:
    one, two = _node(model, random), _node(model, random)
    if not one.input or not two.input:
        raise Nothing
    i, j = random.randrange(len(one.input)), random.randrange(len(two.input))
    one.input[i], two.input[j] = two.input[j], one.input[i]


@mutation
def make_cycle(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    if not node.input or not node.output:
        raise Nothing
    later = _node(model, random)
    node.input[random.randrange(len(node.input))] = (node if random.random() < 0.3 or not later.output else later).output[0]


@mutation
def change_results(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    choice = random.randrange(4)
    if choice == 0:
        node.output.extend(["more", "and_more"])
    elif choice == 1:
        del node.output[:]
    elif choice == 2 and node.output:
        node.output[0] = ""
    else:
        other = _node(model, random)
        node.output.extend(other.output)


@mutation
def change_op(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    names = sorted({schema.name for schema in defs.get_all_schemas() if schema.domain == ""})
    node.op_type = random.choice([*random.sample(names, 12), "", "NoSuchOp", "Ädd", "conv"])


@mutation
def change_domain(model: onnx.ModelProto, random: Random) -> None:
    _node(model, random).domain = random.choice(["com.microsoft", "ai.onnx.ml", "own", "ai.onnx", "ai.onnx.training", "ü"])


@mutation
def drop_node(model: onnx.ModelProto, random: Random) -> None:
    graph = _graph(model, random)
    if not graph.node:
        raise Nothing
    del graph.node[random.randrange(len(graph.node))]


@mutation
def repeat_node(model: onnx.ModelProto, random: Random) -> None:
    graph = _graph(model, random)
    graph.node.extend([_node(model, random)])


@mutation
def shuffle_nodes(model: onnx.ModelProto, random: Random) -> None:
    graph = _graph(model, random)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    random.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


@mutation
def rename(model: onnx.ModelProto, random: Random) -> None:
    name = random.choice(NAMES)
    choice = random.randrange(5)
    if choice == 0:
        _node(model, random).name = name
    elif choice == 1:
        _info(model, random).name = name
    elif choice == 2:
        _tensor(model, random).name = name
    elif choice == 3:
        node = _node(model, random)
        if node.output:
            node.output[0] = name
    else:
        _graph(model, random).name = name


@mutation
def drop_initializer(model: onnx.ModelProto, random: Random) -> None:
    graph = _graph(model, random)
    if not graph.initializer:
        raise Nothing
    del graph.initializer[random.randrange(len(graph.initializer))]


@mutation
def repeat_initializer(model: onnx.ModelProto, random: Random) -> None:
    _graph(model, random).initializer.extend([_tensor(model, random)])


@mutation
def cut_data(model: onnx.ModelProto, random: Random) -> None:
    tensor = _tensor(model, random)
    data = tensor.raw_data
    tensor.raw_data = random.choice([b"", data[:-1], data[: len(data) // 2], data + b"\0" * 8, data * 2, b"\xff" * len(data)])


@mutation
def change_tensor_type(model: onnx.ModelProto, random: Random) -> None:
    _tensor(model, random).data_type = random.choice([*range(27), 99, -1, 2**31 - 1])


@mutation
def change_tensor_shape(model: onnx.ModelProto, random: Random) -> None:
    tensor = _tensor(model, random)
    if tensor.dims and random.random() < 0.7:
        tensor.dims[random.randrange(len(tensor.dims))] = random.choice(NUMBERS)
    else:
        tensor.dims.extend(random.choice([[1], [0], [-1], [2**40], [1] * 60, [0, 2**62, 2**62]]))


@mutation
def change_integers(model: onnx.ModelProto, random: Random) -> None:
    """Axes, shapes, pads and counts among the constants."""
    tensors = [each for graph in graphs(model.graph) for each in graph.initializer if each.data_type == TensorProto.INT64]
    tensor: onnx.TensorProto = _pick(random, tensors)  # type: ignore[assignment]
    count = len(tensor.raw_data) // 8
    if not count:
        raise Nothing
    values = [int.from_bytes(tensor.raw_data[8 * i : 8 * i + 8], "little", signed=True) for i in range(count)]
    for _ in range(random.choice([1, 1, count])):
        values[random.randrange(count)] = random.choice(NUMBERS)
    tensor.raw_data = b"".join(value.to_bytes(8, "little", signed=True) for value in values)


@mutation
def move_outside(model: onnx.ModelProto, random: Random) -> None:
    """Says that data lies in an external file."""
    tensor = _tensor(model, random)
    location = random.choice(
        [
            "missing.bin",
            "../../etc/passwd",
            "/etc/passwd",
            "",
            ".",
            "weights.bin",
            "model.onnx",
            "\0",
            "a" * 5000,
            "weights.bin/x",
            "/dev/zero",
        ]
    )
    entries = {"location": location}
    if random.random() < 0.7:
        entries["offset"] = random.choice(["0", "-1", "4096", str(2**62), str(2**70), "x", "1e3", ""])
    if random.random() < 0.7:
        entries["length"] = random.choice(["0", "4", "-5", str(2**40), str(2**63), "x"])
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)


@mutation
def change_type(model: onnx.ModelProto, random: Random) -> None:
    info = _info(model, random)
    if random.random() < 0.2:
        info.ClearField("type")
    elif random.random() < 0.2:
        info.type.sequence_type.elem_type.tensor_type.elem_type = 1
    else:
        info.type.tensor_type.elem_type = random.choice([*range(27), 99])


@mutation
def change_shape(model: onnx.ModelProto, random: Random) -> None:
    info = _info(model, random)
    shape = info.type.tensor_type.shape
    if shape.dim and random.random() < 0.7:
        dim = shape.dim[random.randrange(len(shape.dim))]
        if random.random() < 0.7:
            dim.dim_value = random.choice(NUMBERS)
        else:
            dim.dim_param = random.choice([*NAMES, "N", "-1", "N*2+1", "1/0"])
    else:
        for _ in range(random.choice([1, 1, 3, 100])):
            shape.dim.add(dim_value=random.choice([1, 2, 2**20]))


@mutation
def change_attribute(model: onnx.ModelProto, random: Random) -> None:
    _, attribute = _attribute(model, random)
    if attribute.type == AttributeProto.INT:
        attribute.i = random.choice(NUMBERS)
    elif attribute.type == AttributeProto.INTS:
        choice = random.random()
        if choice < 0.6 and attribute.ints:
            attribute.ints[random.randrange(len(attribute.ints))] = random.choice(NUMBERS)
        elif choice < 0.8:
            del attribute.ints[-1:]
        else:
            attribute.ints.extend(random.choice([[1], [0], [-1], [1] * 100]))
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = random.choice(FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = random.choice(
            [b"", b"nonsense", b"\xff\xfe", b"SAME_UPPER", b"wrap", b"..., ->", b"ij,jk->ik", b"a" * 3000]
        )
    else:
        raise Nothing


@mutation
def change_attribute_type(model: onnx.ModelProto, random: Random) -> None:
    _, attribute = _attribute(model, random)
    attribute.type = random.choice([*range(15)])  # type: ignore[assignment]


@mutation
def drop_attribute(model: onnx.ModelProto, random: Random) -> None:
    node, attribute = _attribute(model, random)
    node.attribute.remove(attribute)


@mutation
def add_attribute(model: onnx.ModelProto, random: Random) -> None:
    node = _node(model, random)
    try:
        known = sorted(defs.get_schema(node.op_type, 17).attributes)
    except defs.SchemaError:
        known = []
    name = random.choice([*known, "axis", "unknown"])
    value: object = random.choice(
        [random.choice(NUMBERS), random.choice(FLOATS), "text", [1, 2], [0.5], [random.choice(NUMBERS)] * 3]
    )
    node.attribute.append(helper.make_attribute(name, value))


@mutation
def borrow_attribute(model: onnx.ModelProto, random: Random) -> None:
    _, attribute = _attribute(model, random)
    attribute.ref_attr_name = random.choice(["nowhere", attribute.name])


@mutation
def change_opset(model: onnx.ModelProto, random: Random) -> None:
    choice = random.randrange(4)
    if choice == 0:
        del model.opset_import[:]
    elif choice == 1:
        model.opset_import.append(helper.make_opsetid(random.choice(["", "ai.onnx", "own"]), random.choice([1, 7, 28])))
    else:
        model.opset_import[0].version = random.choice([-1, 0, 1, 6, 7, 9, 10, 11, 12, 13, 18, 21, 24, 28, 29, 2**40])


@mutation
def change_outputs(model: onnx.ModelProto, random: Random) -> None:
    graph = _graph(model, random)
    choice = random.randrange(4)
    if choice == 0:
        del graph.output[:]
    elif choice == 1:
        graph.output.extend(list(graph.output))
    elif choice == 2:
        graph.output.extend(list(graph.input))
    else:
        graph.output.append(helper.make_empty_tensor_value_info("nowhere"))


@mutation
def change_inputs(model: onnx.ModelProto, random: Random) -> None:
    graph = _graph(model, random)
    choice = random.randrange(3)
    if choice == 0:
        del graph.input[:]
    elif choice == 1:
        graph.input.extend(list(graph.input))
    else:
        graph.input.append(helper.make_empty_tensor_value_info(_tensor(model, random).name))


@mutation
def contradict(model: onnx.ModelProto, random: Random) -> None:
    """A declared shape that is not what the nodes give."""
    node = _node(model, random)
    if not node.output:
        raise Nothing
    dims = random.choice([[1], [2**40], [3, 3, 3], [], [0]])
    model.graph.value_info.append(helper.make_tensor_value_info(node.output[0], random.choice([1, 7, 9]), dims))


@mutation
def recurse(model: onnx.ModelProto, random: Random) -> None:
    """Functions that call themselves or each other."""
    if not model.functions:
        raise Nothing
    function = random.choice(list(model.functions))
    node = random.choice(list(function.node))
    node.op_type, node.domain = random.choice([(each.name, each.domain) for each in model.functions])


@mutation
def change_function(model: onnx.ModelProto, random: Random) -> None:
    if not model.functions:
        raise Nothing
    function = random.choice(list(model.functions))
    choice = random.randrange(5)
    if choice == 0:
        del function.output[:]
    elif choice == 1:
        function.input.extend(["more", "and_more"])
    elif choice == 2:
        del function.node[:]
    elif choice == 3:
        del function.opset_import[:]
    else:
        model.functions.append(function)


@mutation
def exchange_graphs(model: onnx.ModelProto, random: Random) -> None:
    """Another graph as a node's body."""
    bodies = [each for graph in graphs(model.graph) for node in graph.node for each in node.attribute if each.HasField("g")]
    body: AttributeProto = _pick(random, bodies)  # type: ignore[assignment]
    other = random.choice([random.choice(bodies).g, onnx.GraphProto(), model.graph])
    body.g.ParseFromString(other.SerializeToString())  # a graph cannot be copied into itself


@mutation
def sparse(model: onnx.ModelProto, random: Random) -> None:
    tensor = _tensor(model, random)
    made = model.graph.sparse_initializer.add()
    made.values.CopyFrom(tensor)
    made.indices.CopyFrom(_tensor(model, random))
    made.dims.extend(random.choice([[4], [2**40], [-1], [3, 3], [2**20, 2**20]]))


@mutation
def change_header(model: onnx.ModelProto, random: Random) -> None:
    choice = random.randrange(4)
    if choice == 0:
        model.ir_version = random.choice([-1, 0, 1, 3, 99, 2**40])
    elif choice == 1:
        model.ClearField("graph")
    elif choice == 2:
        model.metadata_props.add(key="k" * 70000, value="v\0\U0001f68c")
    else:
        model.producer_name = "ü" * 100000


def mutated(model: onnx.ModelProto, random: Random) -> tuple[bytes, str]:
    """The file of the model with one to three mutations, or with damaged bytes; and what was done."""
    done = []
    while len(done) < random.choice([1, 1, 1, 2, 3]):
        chosen = random.choice(MUTATIONS)
        try:
            chosen(model, random)
        except (Nothing, IndexError, ValueError, UnicodeError, TypeError):
            continue
        done.append(chosen.__name__)
    data = bytearray(model.SerializeToString())
    if data and random.random() < 0.12:
        done.append("damage")
        for _ in range(random.choice([1, 3, 30])):
            data[random.randrange(len(data))] = random.randrange(256)
        if random.random() < 0.3:
            del data[random.randrange(len(data)) :]
    return bytes(data), "+".join(done)
