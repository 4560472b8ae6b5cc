"""The conversion as a whole: load, lower, simplify, write, verify."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import onnx

from jitney.calls import advised
from jitney.errors import Error, InvalidInput, InvalidModel, IoError, Mismatch
from jitney.input_format import format_metadata, input_formats
from jitney.model import Model as ConvertedModel
from jitney.model import TensorInfo

from .atomic import StagedFile
from .dims import Shapes, input_types, shapes_of_file
from .dynamic_batch import open_batch
from .images import PREFIX
from .infer import infer_shapes
from .ir import Graph, Model, Value
from .layout_by_use import layouts_by_use
from .load import Loaded, Source, load
from .lower import lower
from .passes import PassResult, run_passes
from .preparation import Formats, Preparation, Preparations, prepare_inputs, resolve_formats
from .report import Report, Verification
from .sample import Sample, check_seed, input_specs
from .states import declare_states
from .verify import BUDGET_SECONDS, Rebuild, Subject, verify_model
from .write import Layout, lay_out, serialise

Progress = Callable[[str, float], None]


@advised()
def convert(
    source: Source,
    output: str | os.PathLike[str] | None = None,
    *,
    shapes: Shapes | None = None,
    dynamic_batch: bool = False,
    states: Mapping[str, str] | None = None,
    inputs: Formats | None = None,
    verify: bool = True,
    sample: Sample | None = None,
    seed: int = 0,
    verify_seconds: float = BUDGET_SECONDS,
    stop_after: str | None = None,
    dump: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Converts an ONNX model (a path, bytes or a ModelProto) to a .jny file and returns what was done.

    `output` defaults to the source's path with the suffix .jny; for bytes and protos it must be given. `shapes` fixes sizes, e.g.
    {"x": (1, 3, 224, 224)}; `dynamic_batch` opens a batch size that the model fixes; `states`, e.g. {"h": "h_out"}, names
    inputs that shall get, in each run, what an output was in the run before; `inputs`, e.g. {"x": "uint8,nhwc,mean=127.5"},
    gives inputs another format, whose pre-processing is folded into the model. Unless `verify` is off, both models
    are run on the same inputs, random ones or those of `sample` (a .npz file, a picture, or {name: array}), and compared: if
    they differ, Mismatch is raised and no file is left; the ONNX model may take `verify_seconds` for it. `stop_after` names
    the last pass to run; `dump` a folder for the graph's text after each pass. `progress` is called with a stage and how much
    of all work is done.
    """
    _check_settings(seed)
    target = _target(source, output)
    report = Report(_label(source), os.fspath(target))
    timer = _Timer(report.seconds, progress)

    with timer.stage("load", 0.0):
        loaded = load(source)
        _keep_source(loaded, target)
        report.onnx_bytes = loaded.size
        report.onnx_nodes = _count_onnx(loaded.proto.graph)
        report.warnings = loaded.warnings
    with timer.stage("lower", 0.1), _blaming_shapes(loaded, shapes):
        model = lower(loaded, shapes, sizes_are_final=not dynamic_batch)
        report.lowered_nodes = _count(model.graph)
        preparations = resolve_formats(inputs, model.graph.inputs, layouts_by_use(model.graph))
        specs = input_specs(model)
        specs = [preparations[spec.name].fed_spec(spec) if spec.name in preparations else spec for spec in specs]
    with timer.stage("simplify", 0.25), _blaming_shapes(loaded, shapes):
        report.passes = _simplify(model, dynamic_batch, preparations, stop_after, dump, timer.within(0.25, 0.6))
        declare_states(model, states)
        report.nodes = _count(model.graph)
        model.metadata = _metadata(loaded, preparations)
        layout = lay_out(model)
    with timer.stage("write", 0.6):
        file = _stage(target, layout)
        report.bytes = file.size
    # From here on the weights are read from the file, so their copies in memory may go.
    del model, layout
    with file:
        if verify:
            with timer.stage("verify", 0.7):
                rebuild = _rebuilder(shapes, dynamic_batch, preparations)
                subject = Subject(file.path, loaded, specs, rebuild, preparations)
                report.verification = verify_model(subject, sample=sample, seed=seed, budget=verify_seconds)
            if not report.verification.ok:
                raise Mismatch(
                    f"the converted model does not do what the ONNX model does; no file was written\n{report.verification}",
                    hint="please report what `jitney convert --bisect` says of it; --no-verify writes the file all the same",
                )
        else:
            report.verification = Verification("skipped", "not asked for")
        with _writing(target):
            file.commit()
    timer.done()
    return report


def convert_to_bytes(
    source: Source, *, shapes: Shapes | None = None, dynamic_batch: bool = False, inputs: Formats | None = None
) -> bytes:
    """The .jny file of the model as bytes, not verified."""
    loaded = load(source)
    preparations: Preparations = {}
    if inputs:
        graph = lower(loaded, shapes, sizes_are_final=not dynamic_batch).graph
        preparations = resolve_formats(inputs, graph.inputs, layouts_by_use(graph))
    return serialise(compile_model(loaded, shapes, dynamic_batch, preparations=preparations))


@advised()
def verify(
    converted: str | os.PathLike[str] | bytes,
    source: Source,
    *,
    shapes: Shapes | None = None,
    sample: Sample | None = None,
    seed: int = 0,
) -> Verification:
    """Compares a .jny file with the ONNX model that it was made from, on random inputs or on those of a sample."""
    _check_settings(seed)
    loaded = load(source)
    with _blaming_shapes(loaded, shapes):
        preparations, taken = _preparations_of(ConvertedModel(converted), loaded)
        fixed = shapes_of_file(taken, loaded.proto.graph, shapes)
        model = lower(loaded, fixed)
    specs = [preparations[spec.name].fed_spec(spec) if spec.name in preparations else spec for spec in input_specs(model)]
    subject = Subject(converted, loaded, specs, _rebuilder(fixed, False, preparations), preparations)
    return verify_model(subject, sample=sample, seed=seed)


def _preparations_of(converted: ConvertedModel, loaded: Loaded) -> tuple[dict[str, Preparation], list[TensorInfo]]:
    """What the file says of its inputs' formats, and its inputs as the ONNX model takes them."""
    infos = {info.name: info for info in converted.inputs}
    known = {name: found for name, found in input_formats(converted.metadata).items() if name in infos}
    if not known:
        return {}, [*converted.inputs]
    types = input_types(loaded.proto.graph.input, {})
    values = [Value(name, dtype, shape) for name, (dtype, shape) in types.items()]
    preparations = resolve_formats(
        {name: form for name, (form, _) in known.items()}, values, {name: own for name, (_, own) in known.items() if own}
    )
    taken = [
        replace(info, shape=preparations[name].model_shape(info.shape))
        if name in preparations and info.shape is not None
        else info
        for name, info in infos.items()
    ]
    return preparations, taken


def _check_settings(seed: int) -> None:
    """What is wrong with the user's settings must not come out later as a fault of the model or the converter."""
    from jitney import _core

    check_seed(seed)
    _core.isa()  # raises for a JITNEY_ISA that this machine lacks


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: no system call takes such a path
        hint = "check the folder and the free space"
        reason = getattr(error, "strerror", None) or error
        raise IoError(f"{os.fspath(target)!r} cannot be written: {reason}", hint=hint) from error


def _stage(target: Path, layout: Layout) -> StagedFile:
    with _writing(target):
        return StagedFile(target, layout.pieces())


def compile_model(
    loaded: Loaded,
    shapes: Shapes | None = None,
    dynamic_batch: bool = False,
    spread_sequences: bool = False,
    preparations: Preparations | None = None,
) -> Model:
    """What `convert` does between loading and writing, for callers that change the loaded model or keep the result themselves."""
    with _blaming_shapes(loaded, shapes):
        model = lower(loaded, shapes, sizes_are_final=not dynamic_batch, spread_sequences=spread_sequences)
        _simplify(model, dynamic_batch, preparations or {}, None, None, None)
    model.metadata = _metadata(loaded, preparations or {})
    return model


@contextmanager
def _blaming_shapes(loaded: Loaded, shapes: Shapes | None) -> Iterator[None]:
    """A model that is valid as it is does not break the standard: the sizes that the user gave contradict it."""
    try:
        yield
    except InvalidModel as error:
        if not isinstance(shapes, Mapping) or not shapes or not _is_valid(loaded):
            raise
        given = " ".join(f"--shape {name}={','.join(map(str, shape))}" for name, shape in shapes.items())
        blamed = InvalidInput(f"with {given}: {error.message}", node=error.node, op=error.op, hint="try other sizes")
        blamed.opset, blamed.inputs = error.opset, error.inputs
        raise blamed from error


def _is_valid(loaded: Loaded) -> bool:
    try:
        compile_model(loaded)
    except InvalidModel:
        return False
    except Error:  # what the model lacks says nothing of this
        pass
    return True


def _simplify(
    model: Model,
    dynamic_batch: bool,
    preparations: Preparations,
    stop_after: str | None,
    dump: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> list[PassResult]:
    if dynamic_batch:
        open_batch(model)
    prepare_inputs(model.graph, preparations)
    results = run_passes(model, stop_after=stop_after, dump=dump, progress=progress)
    infer_shapes(model)
    return results


def _rebuilder(shapes: Shapes | None, dynamic_batch: bool, preparations: Preparations) -> Rebuild:
    """Converts a variant of the model that has other outputs."""

    def rebuild(variant: Loaded) -> bytes:
        return serialise(compile_model(replace(variant, warnings=[]), shapes, dynamic_batch, preparations=preparations))

    return rebuild


def _target(source: Source, output: str | os.PathLike[str] | None) -> Path:
    if output is not None:
        _check_folder(output)
        return Path(output)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return path.with_suffix(".jny") if path.name else path  # a folder's turn comes when it is read
    raise IoError("no output path was given", hint="a model given as bytes needs one: convert(data, 'model.jny')")


def _check_folder(output: str | os.PathLike[str]) -> None:
    """What is wrong with the path is said before the model is loaded, which may take long."""
    path = Path(output)
    if path.is_dir() or os.fspath(output).endswith(os.sep):
        raise IoError(f"{os.fspath(output)!r} cannot be written: it is a folder", hint=f"name a file: {path / 'model.jny'}")
    if not path.parent.exists():
        raise IoError(f"'{path}' cannot be written: there is no folder '{path.parent}'", hint=f"mkdir -p {path.parent}")


def _keep_source(loaded: Loaded, target: Path) -> None:
    """Raises if the target is the model itself or a file of its weights: a converted model cannot be turned back."""
    if loaded.path is None:
        return
    external = {
        entry.value for tensor in loaded.proto.graph.initializer for entry in tensor.external_data if entry.key == "location"
    }
    for path in (loaded.path, *(loaded.path.parent / name for name in external)):
        if _is_same_file(target, path):
            raise InvalidInput(f"the output '{target}' is a file of the ONNX model itself", hint="give another -o FILE")


def _is_same_file(target: Path, path: Path) -> bool:
    try:
        return target.samefile(path)
    except (OSError, ValueError):  # one is not there, or can be nowhere
        return False


def _label(source: Source) -> str:
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else "model"


def _count(graph: Graph) -> int:
    return sum(1 + sum(_count(inner) for _, inner in node.subgraphs()) for node in graph.nodes)


def _count_onnx(graph: onnx.GraphProto) -> int:
    inner = sum(_count_onnx(attribute.g) for node in graph.node for attribute in node.attribute if attribute.HasField("g"))
    return len(graph.node) + inner


def _metadata(loaded: Loaded, preparations: Preparations) -> dict[str, str]:
    from jitney import _core

    proto = loaded.proto
    metadata = {
        "jitney.version": _core.version(),
        "onnx.producer_name": proto.producer_name,
        "onnx.producer_version": proto.producer_version,
        "onnx.domain": proto.domain,
        "onnx.model_version": str(proto.model_version),
        "onnx.description": proto.doc_string,
        "onnx.graph_name": proto.graph.name,
        "onnx.opset": ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(loaded.opsets.items())),
        "onnx.sha256": loaded.sha256,
    }
    metadata |= {f"{PREFIX}{name}": pixels for name, pixels in loaded.pictures.items()}
    for name, preparation in preparations.items():
        metadata |= format_metadata(name, preparation.form, preparation.own_layout)
    return metadata | {f"onnx.meta.{entry.key}": entry.value for entry in proto.metadata_props}


class _Timer:
    """Notes how long stages take and tells how far the work is."""

    def __init__(self, seconds: dict[str, float], progress: Progress | None) -> None:
        self._seconds = seconds
        self._progress = progress or (lambda stage, fraction: None)

    @contextmanager
    def stage(self, name: str, fraction: float) -> Iterator[None]:
        self._progress(name, fraction)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = round(time.perf_counter() - start, 4)

    def within(self, start: float, end: float) -> Progress:
        """Progress of a part of the work."""
        return lambda name, fraction: self._progress(name, start + fraction * (end - start))

    def done(self) -> None:
        self._progress("done", 1.0)
