"""Recognises attention spelled out as two matrix products with a softmax between them, and writes it as the one op it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from onnx import TensorProto

from ..ir import Attribute, Node, Value
from .facts import BIAS, RESIDUAL, activation, broadcasts_into, integer, integer_list, is_filled_with, number, rank, scalar, text
from .rewriter import Rewriter, on_every_graph
from .shapes import ShapeProof


@dataclass(frozen=True)
class _Scores:
    """q · kᵀ · scale + biases, which are `masked` where the mask is false. Each part is applied after those before it."""

    product: Node
    q: Value
    output: Value
    """The scores before anything is added to them."""
    scale: float
    stacked: int | None = None
    """How many heads of keys there are, if the product serves each one's group of neighbouring query heads at once."""
    biases: tuple[Value, ...] = ()
    mask: Value | None = None
    shown: bool = True
    """What the mask is where scores stay as they are."""
    masked: float = 0.0


def _rewrite(rewriter: Rewriter) -> int:
    proof: list[ShapeProof] = []
    changes = 0
    for node in rewriter.nodes():
        if node.output.dtype == TensorProto.FLOAT:
            last, product = node, node
            if node.op == "reshape" and node.inputs[0] is not None and node.inputs[0].producer is not None:
                product = node.inputs[0].producer
            if product.op == "matmul" and _is_plain(product):
                changes += _attention(rewriter, product, last, proof)
    return changes


recognise_attention = on_every_graph(_rewrite)


def _is_plain(node: Node) -> bool:
    """A product and nothing else."""
    return activation(node) == "none" and len([x for x in node.inputs if x is not None]) == 2 and number(node, "scale", 1.0) == 1


def _attention(rewriter: Rewriter, node: Node, last: Node, proof: list[ShapeProof]) -> int:
    """`node` multiplies weights with values; `last` is that, or takes apart the groups of heads that it served at once."""
    weights, v, reader = node.inputs[0], node.inputs[1], node
    assert weights is not None and v is not None
    if last is not node:
        stacked = weights.producer
        if not _stacks_heads(rewriter, stacked, node, last) or stacked is None or stacked.inputs[0] is None:
            return 0
        weights, reader = stacked.inputs[0], stacked
    softmax, nan_to_zero = _softmax(rewriter, weights, reader)
    if softmax is None or integer(node, "trans_a") or v.is_constant:
        return 0
    axes, scores = rank(softmax.output), softmax.inputs[0]
    if scores is None or not axes or integer(softmax, "axis", -1) % axes != axes - 1:
        return 0
    for found in _scores(rewriter, scores, softmax):
        q, k = found.q, found.product.inputs[1]
        assert k is not None
        if (found.stacked is None) != (last is node):
            continue
        if k.is_constant or any(rank(x) != axes for x in (q, k, v)) or not _fits(rewriter, found, scores, proof):
            continue
        if found.stacked is not None and (integer(found.product, "trans_a") or k.shape is None or k.shape[1] != found.stacked):
            continue
        q = _transposed(rewriter, q, node) if integer(found.product, "trans_a") else q
        k = k if integer(found.product, "trans_b") else _keys(rewriter, k, node)
        v = _transposed(rewriter, v, node) if integer(node, "trans_b") else v
        bias, mask = _bias(rewriter, found, node), _mask(rewriter, found, node)
        operands: list[Value | None] = [q, _own_heads(k, q), _own_heads(v, q), bias, mask]
        while operands[-1] is None:
            operands.pop()
        attributes: dict[str, Attribute] = {"scale": found.scale}
        if mask is not None:
            attributes["masked"] = found.masked
        if nan_to_zero:
            attributes["nan_to_zero"] = 1
        rewriter.substitute(last, Node("attention", operands, [last.output], attributes, node.name))
        return 1
    return 0


def _softmax(rewriter: Rewriter, weights: Value, reader: Node) -> tuple[Node | None, bool]:
    """The softmax that made the weights, and whether weights that are not numbers (of rows that may see no key) are made 0."""
    node = weights.producer
    if node is None or rewriter.sole_reader(weights) is not reader:
        return None, False
    if node.op == "softmax":
        return node, False
    if node.op != "where" or not is_filled_with(node.inputs[1], 0) or scalar(node.inputs[1]) is None:
        return None, False
    test = node.inputs[0].producer if node.inputs[0] is not None else None
    shares = node.inputs[2]
    softmax = shares.producer if shares is not None else None
    if test is None or test.op != "is_nan" or shares is None or test.inputs[0] is not shares or softmax is None:
        return None, False
    inside = softmax.op == "softmax" and rewriter.stays_within(shares, {test, node})
    return (softmax, True) if inside and rewriter.stays_within(test.output, {node}) else (None, False)


def _scores(rewriter: Rewriter, value: Value, reader: Node) -> Iterator[_Scores]:
    """The ways in which a value, which nobody else reads, may be scores."""
    node = value.producer
    if node is None or rewriter.sole_reader(value) is not reader:
        return
    if node.op == "matmul":
        yield from _product(node)
    elif node.op == "reshape":
        product = node.inputs[0].producer if node.inputs[0] is not None else None
        if product is not None and product.op == "matmul" and product.inputs[0] is not None:
            stacked = product.inputs[0].producer
            if _stacks_heads(rewriter, stacked, product, node) and stacked is not None and stacked.inputs[0] is not None:
                heads = (stacked.output.shape or [])[1]
                for found in _product(product):
                    if not found.biases and isinstance(heads, int):
                        yield replace(found, q=stacked.inputs[0], output=value, stacked=heads)
    elif node.op == "add":
        for x, bias in (node.inputs, node.inputs[::-1]):
            if x is not None and bias is not None:
                for found in _scores(rewriter, x, node):
                    if found.mask is None:
                        yield replace(found, biases=(*found.biases, bias))
    elif node.op in {"mul", "div"}:
        for x, factor in (node.inputs, node.inputs[::-1]) if node.op == "mul" else (node.inputs,):
            by = scalar(factor)
            if x is None or factor is None or by is None or not broadcasts_into(factor, x) or (node.op == "div" and by == 0):
                continue
            for found in _scores(rewriter, x, node):
                if not found.biases and found.mask is None:
                    yield replace(found, scale=found.scale * by if node.op == "mul" else found.scale / by)
    elif node.op == "where":
        for position in (1, 2):
            x, masked = node.inputs[position], scalar(node.inputs[3 - position])
            if x is None or masked is None:
                continue
            for found in _scores(rewriter, x, node):
                if found.mask is None:
                    yield replace(found, mask=node.inputs[0], shown=position == 1, masked=masked)


def _product(node: Node) -> Iterator[_Scores]:
    """A matmul; what its epilogue adds to it is a bias."""
    added = [x for x in (node.input(BIAS), node.input(RESIDUAL)) if x is not None]
    if activation(node) == "none" and text(node, "residual", "before") == "before" and node.input(4) is None:
        assert node.inputs[0] is not None
        yield _Scores(node, node.inputs[0], node.output, number(node, "scale", 1.0), biases=tuple(added))


def _stacks_heads(rewriter: Rewriter, stacked: Node | None, product: Node, split: Node) -> bool:
    """Whether [batch, heads, rows, n] becomes [batch, fewer heads, more rows, n] for a product, and is what it was after it."""
    if stacked is None or stacked.op != "reshape" or stacked.inputs[0] is None or split.inputs[0] is not product.output:
        return False
    if rewriter.sole_reader(stacked.output) is not product or rewriter.sole_reader(product.output) is not split:
        return False
    before, inside, after = stacked.inputs[0].shape, stacked.output.shape, split.output.shape
    result = product.output.shape
    if before is None or inside is None or after is None or result is None:
        return False
    if not len(before) == len(inside) == len(after) == len(result) == 4:
        return False
    heads, fewer = before[1], inside[1]
    if not isinstance(heads, int) or not isinstance(fewer, int) or fewer < 1 or heads % fewer:
        return False
    # The number of rows follows from the others, and a reshape takes neighbours together.
    same = [(before[0], inside[0]), (before[3], inside[3]), (before[0], after[0]), (before[2], after[2]), (result[3], after[3])]
    return after[1] == heads and all(a is not None and a == b for a, b in same)


def _fits(rewriter: Rewriter, found: _Scores, scores: Value, proof: list[ShapeProof]) -> bool:
    """Whether biases and mask leave the shape of the product as it is."""
    product = found.output
    if all(x is None or broadcasts_into(x, product) for x in (*found.biases, found.mask)):
        return True
    if any(x is not None and (rank(x) is None or (rank(x) or 0) > (rank(product) or 0)) for x in (*found.biases, found.mask)):
        return False
    if not proof:
        proof.append(ShapeProof(rewriter.graph))
    return proof[0].same(product, scores)


def _transposed(rewriter: Rewriter, x: Value, before: Node) -> Value:
    """The value with its last two axes swapped."""
    axes = rank(x)
    assert axes is not None and x.shape is not None
    perm = [*range(axes - 2), axes - 1, axes - 2]
    swapped = rewriter.value(f"{x.name}.transposed", x.dtype, [x.shape[axis] for axis in perm])
    rewriter.insert(Node("transpose", [x], [swapped], {"perm": [*perm]}, swapped.name), before=before)
    return swapped


def _keys(rewriter: Rewriter, transposed: Value, before: Node) -> Value:
    """The keys [… S, D] of which `transposed` is […, D, S]. Some exporters make one axis of the leading ones to swap the others;
    done without, that takes no copy."""
    split = transposed.producer
    swap = split.inputs[0].producer if split is not None and split.op == "reshape" and split.inputs[0] is not None else None
    merge = swap.inputs[0].producer if swap is not None and swap.op == "transpose" and swap.inputs[0] is not None else None
    if swap is not None and merge is not None and merge.op == "reshape" and integer_list(swap, "perm") == [0, 2, 1]:
        source, merged = merge.inputs[0], merge.output.shape
        if source is not None and source.shape is not None and transposed.shape is not None and merged is not None:
            wanted = [*transposed.shape[:-2], transposed.shape[-1], transposed.shape[-2]]
            known = [own is not None and own == dim for own, dim in zip(source.shape, wanted, strict=False)]
            # If all dims but one are the same, that one is, too.
            if (
                len(source.shape) == len(wanted)
                and sum(known) >= len(known) - 1
                and all(known[-2:])
                and merged[-2:] == wanted[-2:]
            ):
                return source
    return _transposed(rewriter, transposed, before)


def _own_heads(x: Value, q: Value) -> Value:
    """Keys or values [batch, heads, S, D] as they were before each head was repeated for a group of neighbouring heads of q."""
    merge = x.producer
    expand = merge.inputs[0].producer if merge is not None and merge.op == "reshape" and merge.inputs[0] is not None else None
    lift = expand.inputs[0].producer if expand is not None and expand.op == "expand" and expand.inputs[0] is not None else None
    if expand is None or lift is None or lift.op not in {"unsqueeze", "reshape"} or rank(x) != 4:
        return x
    source, wide, lifted = lift.inputs[0], expand.output.shape, lift.output.shape
    if source is None or source.shape is None or wide is None or lifted is None or x.shape is None or q.shape is None:
        return x
    batch, heads, keys, size = source.shape if len(source.shape) == 4 else (None, None, None, None)
    if not isinstance(heads, int) or batch is None or keys is None or size is None or len(wide) != 5:
        return x
    groups = wide[2]
    if not isinstance(groups, int) or lifted != [batch, heads, 1, keys, size] or wide != [batch, heads, groups, keys, size]:
        return x
    return source if x.shape == [batch, heads * groups, keys, size] and q.shape[1] == heads * groups else x


def _bias(rewriter: Rewriter, found: _Scores, before: Node) -> Value | None:
    """What is added to the scores."""
    total: Value | None = None
    for bias in found.biases:
        if total is None:
            total = bias
        else:
            both = rewriter.value(f"{total.name}.sum", total.dtype, None)
            rewriter.insert(Node("add", [total, bias], [both], {}, both.name), before=before)
            total = both
    return total


def _mask(rewriter: Rewriter, found: _Scores, before: Node) -> Value | None:
    """True where the scores stay as they are."""
    mask = found.mask
    if mask is None or found.shown:
        return mask
    shown = rewriter.value(f"{mask.name}.not", mask.dtype, mask.shape)
    rewriter.insert(Node("not", [mask], [shown], {}, shown.name), before=before)
    return shown
