"""Walks ONNX graphs, their subgraphs and function bodies, and builds closed IR graphs from them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import onnx
from onnx import defs

from jitney.errors import Error, InvalidModel, Unsupported

from ..ir import Attribute, Graph, Node, Value, constant
from ..load import canonical_domain
from ..tensors import Array, sparse_to_array, to_array
from .attributes import Schema, given_attributes, read_attributes
from .compound import OptionalValue, SequenceValue, capture_compound
from .context import Context, Poison, Scope
from .foreign import foreign_schema
from .functions import FunctionBody, function_body, has_body, overload_of
from .node import OnnxNode
from .order import in_order
from .problems import explain, operand_texts, origin_of
from .registry import Result, find_lowering
from .types import Types
from .unknown_op import advice


class GraphBuilder:
    """Builds one IR graph. A subgraph's builder has a parent, from which it captures values as explicit inputs."""

    def __init__(
        self, context: Context, name: str, parent: GraphBuilder | None = None, parent_scope: Scope | None = None
    ) -> None:
        self.context = context
        self.types: Types = Types(may_never_run=parent is not None and parent.types.may_never_run)
        self.graph = Graph(name)
        self.captured: dict[Value, Value] = {}
        """Stand-ins among this graph's inputs, by outer value."""
        self._own_constants: dict[Value, Value] = {}
        self._parent = parent
        self._parent_scope = parent_scope
        self._provisional: set[Value] = set()

    def result(self, stem: str) -> Value:
        """A new value that will take the name of the ONNX value that it is bound to."""
        value = Value(self.context.fresh(stem))
        self._provisional.add(value)
        return value

    def add(self, node: Node) -> None:
        """Appends an IR node."""
        self.graph.nodes.append(node)
        self.types.add(node)

    def emit(self, label: str, op: str, inputs: Sequence[Value | None], **attributes: Attribute) -> Value:
        """Adds an IR node of that name with one result."""
        return self.emit_results(label, op, inputs, [True], attributes)[0]  # type: ignore[return-value]

    def emit_results(
        self, label: str, op: str, inputs: Sequence[Value | None], wanted: Iterable[bool], attributes: Mapping[str, Attribute]
    ) -> list[Value | None]:
        """Adds an IR node with several results, None for those that nobody wants."""
        operands = list(inputs)
        while operands and operands[-1] is None:
            operands.pop()
        results: list[Value | None] = [self.result(label) if want else None for want in wanted]
        self.add(Node(op, operands, results, dict(attributes), label))
        return results

    def lower_body(self, proto: onnx.GraphProto, scope: Scope) -> list[Value]:
        """Lowers initializers and nodes; returns the graph's results. Inputs are in the scope already."""
        folder = self.context.folder
        for initializer in proto.initializer:
            self._define_constant(initializer, functools.partial(to_array, initializer, folder), scope)
        for sparse in proto.sparse_initializer:
            self._define_constant(sparse.values, functools.partial(sparse_to_array, sparse, folder), scope)
        for node in in_order(proto.node, scope):
            self.lower_node(node, scope)
        results = [self.find(info.name, scope) for info in proto.output]
        for info, result in zip(proto.output, results, strict=True):
            if result is None:
                self.context.note(InvalidModel(f"nothing defines the output '{info.name}' of graph '{proto.name}'"))
        return [Poison(info.name) if result is None else result for info, result in zip(proto.output, results, strict=True)]

    def _define_constant(self, tensor: onnx.TensorProto, read: Callable[[], Array], scope: Scope) -> None:
        if tensor.name in scope.values:
            self.context.note(InvalidModel(f"'{tensor.name}' is defined twice in graph '{self.graph.name}'"))
            return
        try:
            scope.values[tensor.name] = constant(tensor.name, read(), tensor.data_type)
        except (InvalidModel, Unsupported) as error:
            self.context.note(error)
            scope.values[tensor.name] = Poison(tensor.name, tensor.data_type, [*tensor.dims])

    def find(self, name: str, scope: Scope) -> Value | None:
        """The value of that name; from outside it is captured."""
        inner: Scope | None = scope
        while inner is not None:
            if name in inner.values:
                return inner.values[name]
            inner = inner.outer
        if self._parent is None or self._parent_scope is None:
            return None
        found = self._parent.find(name, self._parent_scope)
        return None if found is None else self.capture(found)

    def capture(self, outer: Value) -> Value:
        """The stand-in for a value of the graph around this one."""
        if isinstance(outer, Poison):
            return outer
        if isinstance(outer, (SequenceValue, OptionalValue)):
            return capture_compound(self, outer)
        if outer.is_constant:
            # Constants need no capture: each graph may hold them, the file stores them once.
            copy = Value(outer.name, outer.dtype, outer.shape, outer.constant)
            return self._own_constants.setdefault(outer, copy)
        if outer not in self.captured:
            if self._parent is not None:
                self._parent.types.settle(outer)
            self.captured[outer] = Value(outer.name, outer.dtype, None if outer.shape is None else [*outer.shape])
        return self.captured[outer]

    def lower_node(self, proto: onnx.NodeProto, scope: Scope) -> None:
        """Lowers one node and binds its results. What cannot be lowered is noted and its results are poisoned."""
        label = self.context.label(proto)
        domain = canonical_domain(proto.domain)
        given = functools.partial(self._given, proto, scope)
        self.context.origins[label] = origin_of(label, proto, domain, scope.opsets, given)
        before = len(self.graph.nodes)
        try:
            results = self._lower(proto, scope, label)
            if self.context.collecting:
                self.types.settle_all()
        except (InvalidModel, Unsupported) as error:
            explain(error, self.context.origin(error.node or label))
            if isinstance(error, InvalidModel) and not self.context.collecting:
                raise
            self.context.unsupported.append(error)
            del self.graph.nodes[before:]
            results = _poisoned_results(proto, scope.opsets.get(domain, 0), domain)
        if isinstance(results, Value):
            results = [results]
        last = results[0].producer if results and results[0] is not None else None
        if last is not None and last in self.graph.nodes[-1:]:
            last.name = label
        for name, result in zip(proto.output, results, strict=False):
            if name and result is not None:
                self._bind(name, result, scope)

    def _given(self, proto: onnx.NodeProto, scope: Scope) -> list[str]:
        """The node's operands in words."""
        values = [self.find(name, scope) if name else None for name in proto.input]
        for value in values:
            if value is not None:
                with contextlib.suppress(Error):
                    self.types.settle(value)
        return operand_texts(proto.input, values)

    def _bind(self, name: str, value: Value, scope: Scope) -> None:
        if name in scope.values:
            hint = "the model is not in single-assignment form"
            self.context.note(InvalidModel(f"'{name}' is defined twice in graph '{self.graph.name}'", hint=hint))
            return
        if value in self._provisional and not scope.function:
            value.name = name
            self._provisional.remove(value)
        scope.values[name] = value

    def _lower(self, proto: onnx.NodeProto, scope: Scope, label: str) -> Result:
        domain = canonical_domain(proto.domain)
        version = scope.opsets.get(domain, 0)
        inputs = [self._operand(name, proto, scope, label) for name in proto.input]
        poisoned = any(is_poisoned(value) for value in inputs)

        key = (domain, proto.op_type, overload_of(proto))
        if key in self.context.functions:
            return self._call(key, inputs, given_attributes(proto, scope.attributes, label), label, proto)
        schema = _schema(proto.op_type, version, domain)
        if schema is None:
            self._look_through(proto, scope)
            raise Unsupported("this op is not known", node=label, hint=advice(proto.op_type, version, domain))
        attributes = read_attributes(proto, schema, scope.attributes, label)
        function = find_lowering(domain, proto.op_type, schema.since_version)
        node = OnnxNode(
            self,
            scope,
            proto,
            schema.since_version,
            label,
            inputs,
            attributes,
            lambda: self._expand_schema(node, schema, version),
        )
        if function is None and not has_body(schema):
            self._look_through(proto, scope)
            raise Unsupported("this op is not supported", node=label)
        if poisoned:
            self._look_through(proto, scope)
            return _poisoned_results(proto, version, domain)
        self._check_arity(node, schema)
        compound = next((value for value in inputs if isinstance(value, (SequenceValue, OptionalValue))), None)
        if compound is not None and proto.op_type not in _TAKE_COMPOUNDS:
            kind = "a sequence" if isinstance(compound, SequenceValue) else "an optional value"
            raise node.invalid(f"its operand '{compound.name}' is {kind}, which this op does not take")
        if compound is not None and proto.op_type == "Identity":
            return compound
        return function(node) if function is not None else node.expand_function()

    def _call(
        self,
        key: tuple[str, str, str],
        inputs: Sequence[Value | None],
        given: Mapping[str, onnx.AttributeProto],
        label: str,
        proto: onnx.NodeProto,
    ) -> Result:
        """Lowers the body of one of the model's own functions in place of a node."""
        function = self.context.functions[key]
        if key in self.context.calls:
            raise InvalidModel(f"the function '{function.name}' calls itself", node=label, op=proto.op_type)
        bound = {default.name: default for default in function.attribute_proto} | dict(given)
        self.context.calls.append(key)
        try:
            return self._expand(FunctionBody.of(function), inputs, bound, label, proto, own=True)
        finally:
            self.context.calls.pop()

    def _operand(self, name: str, proto: onnx.NodeProto, scope: Scope, label: str) -> Value | None:
        if not name:
            return None
        value = self.find(name, scope)
        if value is None:
            raise InvalidModel(f"reads '{name}', which nothing defines", node=label, op=proto.op_type)
        return value

    def _check_arity(self, node: OnnxNode, schema: Schema) -> None:
        if not schema.min_input <= len(node.inputs) <= schema.max_input:
            raise node.invalid(f"has {len(node.inputs)} operands; {schema.min_input} to {schema.max_input} are allowed")
        if not schema.min_output <= node.output_count <= schema.max_output:
            raise node.invalid(f"has {node.output_count} results; {schema.min_output} to {schema.max_output} are allowed")
        unknown = sorted(set(node.attributes) - set(schema.attributes))
        if unknown:
            self.context.warnings.append(
                f"{node.op} node '{node.label}': the attribute '{unknown[0]}' is not known and was ignored"
            )

    def _look_through(self, proto: onnx.NodeProto, scope: Scope) -> None:
        """Notes what is unsupported inside the subgraphs of a node that itself cannot be lowered."""
        for attribute in proto.attribute:
            if attribute.HasField("g"):
                builder = self.nested(attribute.g.name, scope)
                inputs: dict[str, Value] = {info.name: Poison(info.name) for info in attribute.g.input}
                builder.lower_body(attribute.g, Scope(scope.opsets, inputs, scope.attributes))

    def inline(self, proto: onnx.GraphProto, scope: Scope) -> list[Value]:
        """Lowers a subgraph that surely runs into this graph."""
        return self.lower_body(proto, Scope(scope.opsets, {}, scope.attributes, scope.function, scope))

    def nested(self, name: str, scope: Scope) -> GraphBuilder:
        """A builder for a subgraph of this graph; the caller completes its inputs from `captured`."""
        return GraphBuilder(self.context, name, self, scope)

    def subgraph(self, proto: onnx.GraphProto, scope: Scope) -> GraphBuilder:
        """Lowers a subgraph without inputs of its own, which is a branch."""
        builder = self.nested(proto.name, scope)
        builder.types.may_never_run = True
        builder.graph.outputs = builder.lower_body(proto, Scope(scope.opsets, {}, scope.attributes))
        return builder

    def _expand_schema(self, node: OnnxNode, schema: Schema, version: int) -> Result:
        for value in node.inputs:
            if value is not None:
                self.types.settle(value)
        # The node may be part of a function itself: its attributes are those that were resolved, not those that are written.
        proto = onnx.NodeProto()
        proto.CopyFrom(node.proto)
        del proto.attribute[:]
        proto.attribute.extend(node.attributes.values())
        body = function_body(proto, schema, version, node.inputs)
        if body is None:
            raise node.unsupported("this op has no body for the types of its operands")
        return self._expand(body, node.inputs, node.attributes, node.label, node.proto)

    def lower_as(self, node: OnnxNode, op: str, opset: int, names: Sequence[str]) -> Result:
        """Lowers a node as an op of ONNX's that means the same, with those of its attributes that are named."""
        inputs = [f"operand{index}" for index in range(len(node.inputs))]
        outputs = [f"result{index}" if node.wants(index) else "" for index in range(node.output_count)]
        proto = onnx.NodeProto(op_type=op, input=inputs, output=outputs)
        proto.attribute.extend(node.attributes[name] for name in names if name in node.attributes)
        body = FunctionBody(inputs, [name for name in outputs if name], [proto], {"": opset})
        results = iter(self._expand(body, node.inputs, {}, node.label, node.proto))
        return [next(results) if name else None for name in outputs]

    def _expand(
        self,
        body: FunctionBody,
        inputs: Sequence[Value | None],
        bound: Mapping[str, onnx.AttributeProto],
        label: str,
        proto: onnx.NodeProto,
        own: bool = False,
    ) -> list[Value | None]:
        """Lowers a function's body in place of a node. Of the model's `own` functions, problems are told node by node."""
        self.context.expanded += len(body.nodes)
        most = _MOST_EXPANDED + 20 * self.context.size
        if self.context.expanded > most:
            raise InvalidModel(
                f"the functions of the model, written out, have more than {most} nodes",
                node=label,
                op=proto.op_type,
                hint="functions that call others twice, and these others again, grow without bounds",
            )
        values = {name: value for name, value in zip(body.inputs, inputs, strict=False) if value is not None}
        scope = Scope(body.opsets, values, bound, function=True)
        before = len(self.context.unsupported)
        left_out = set(body.inputs) - set(values)
        for inner in body.nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(inner)
            copy.name = f"{label}/{inner.name or inner.op_type}"
            for index, name in enumerate(copy.input):
                if name in left_out:
                    copy.input[index] = ""
            self.lower_node(copy, scope)
        inside = self.context.unsupported[before:]
        if inside and not (self.context.collecting and own):
            del self.context.unsupported[before:]
            names = ", ".join(sorted({error.op or error.message for error in inside}))
            raise Unsupported(f"its function body needs what is not supported: {names}", node=label, op=proto.op_type)
        return [scope.values.get(name) for name in body.outputs]


def _schema(op: str, version: int, domain: str) -> Schema | None:
    """ONNX's schema; for what ONNX does not know, what is known of other domains."""
    try:
        return defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return foreign_schema(domain, op)


def _poisoned_results(proto: onnx.NodeProto, version: int, domain: str) -> list[Poison]:
    """Of a node that cannot be lowered; of their types, only text is known."""
    schema = _schema(proto.op_type, version, domain)
    formal = schema.outputs if isinstance(schema, defs.OpSchema) else []
    are_texts = [set(each.types) == {"tensor(string)"} for each in formal]
    return [
        Poison(name, onnx.TensorProto.STRING if index < len(are_texts) and are_texts[index] else 0)
        for index, name in enumerate(proto.output)
    ]


_MOST_EXPANDED: Final = 20_000
_TAKE_COMPOUNDS = {
    *("SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength", "ConcatFromSequence", "SequenceMap"),
    *("Optional", "OptionalHasElement", "OptionalGetElement", "Identity", "Loop"),
}


def is_poisoned(value: Value | None) -> bool:
    """Whether the value, or a part of it, comes from what cannot be lowered."""
    if isinstance(value, SequenceValue):
        return any(isinstance(item, Poison) for item in value.items)
    return isinstance(value, Poison) or (isinstance(value, OptionalValue) and isinstance(value.element, Poison))
