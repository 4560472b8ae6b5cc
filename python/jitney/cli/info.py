"""`jitney info`: what is in a model, and what its plan costs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jitney.cli import console
from jitney.cli.options import Json, Prefer, ShapeList, parse_shapes
from jitney.errors import Error, InvalidModel, IoError
from jitney.extras import require
from jitney.model import TensorInfo
from jitney.reports import PlanReport
from jitney.session import Session

if TYPE_CHECKING:
    from jitney.converter.operators import OpRow


def command(
    model: Annotated[Path | None, typer.Argument(metavar="MODEL.jny", help="The converted model.", show_default=False)] = None,
    shape: ShapeList = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show the steps of the plan: which kernel each got, and why.")] = False,
    ops: Annotated[bool, typer.Option("--ops", help="Show which ONNX ops can be converted, and their dtypes.")] = False,
    prefer: Prefer = "memory",
    json: Json = False,
) -> None:
    """Show inputs, outputs, ops, sizes and memory of a model; or, with --ops, what this version of Jitney can convert."""
    if ops:
        _show_ops(json)
        return
    if model is None:
        raise typer.BadParameter("a MODEL.jny is wanted, or --ops")
    with Session(model, prefer=prefer) as session:
        shapes = parse_shapes(shape, session.inputs)
        report, problem = _plan(session, shapes)
        data: dict[str, Any] = {
            "file": str(model),
            "file_bytes": _file_bytes(str(model)),
            "inputs": [_tensor(info) for info in session.inputs],
            "outputs": [_tensor(info) for info in session.outputs],
            "states": [{"input": before, "output": after} for before, after in session.model.states],
            "ops": session.model.ops,
            "backend": session.backend_report.backend,
            "isa": session.backend_report.isa,
            "metadata": session.metadata,
        }
    if report is not None:
        memory = report.memory
        data |= {
            "arena_bytes": memory.arena_bytes,
            "lower_bound_bytes": memory.lower_bound_bytes,
            "weight_bytes": memory.weight_bytes,
            "packed_bytes": memory.packed_bytes,
            "strategy": memory.strategy,
            "ends_at": memory.ends_at,
        }
        if plan:
            data["steps"] = [
                {
                    "node": s.node,
                    "op": s.op,
                    "kernel": s.kernel,
                    "why": s.why,
                    "backend": s.backend,
                    "outputs": [list(o) for o in s.outputs],
                    "flops": s.flops,
                    "bytes": s.bytes,
                }
                for s in report.steps
            ]
    else:
        data["no_plan"] = problem
    if json:
        console.emit_json(data)
    else:
        _show(data, shapes)


def _show_ops(json: bool) -> None:
    require("onnx", "convert", "the table of operators")
    from jitney.converter.operators import read_table

    rows = read_table()
    if json:
        console.emit_json([asdict(row) for row in rows])
        return
    shown = ((f"{row.domain}.{row.op}".lstrip("."), row.opsets, _dtypes(row)) for row in rows if row.by)
    console.table(("op", "opsets", "dtypes: fast ones, those that are partly fast, those that run on plain kernels"), shown)
    console.line("not supported: " + ", ".join(f"{row.domain}.{row.op}".lstrip(".") for row in rows if not row.by))


def _dtypes(row: OpRow) -> str:
    named = (("", row.fast), ("partly: ", row.partly), ("plain: ", row.plain))
    return "  ".join(name + " ".join(dtypes) for name, dtypes in named if dtypes)


def _plan(session: Session, shapes: dict[str, tuple[int, ...]]) -> tuple[PlanReport | None, str]:
    """A plan for the shapes. Failure is a finding if some are open; if all are given, or the file is damaged, it is an error."""
    try:
        return session.plan_report(shapes), ""
    except Error as error:
        if shapes or isinstance(error, InvalidModel):
            raise
        return None, error.message


def _file_bytes(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        raise IoError(f"{path} cannot be read: {error.strerror}") from None


def _tensor(info: TensorInfo) -> dict[str, Any]:
    return {"name": info.name, "dtype": info.dtype, "shape": None if info.shape is None else list(info.shape)}


def _show(data: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
    console.line(f"{data['file']}: {console.size(data['file_bytes'])}, backend {data['backend']}, {data['isa']}")
    for kind in ("inputs", "outputs"):
        console.line(kind)
        for tensor in data[kind]:
            console.line(
                f"  {TensorInfo(tensor['name'], tensor['dtype'], None if tensor['shape'] is None else tuple(tensor['shape']))}"
            )
    for state in data["states"]:
        console.line(f"state: {state['output']} of one run is {state['input']} of the next")
    ops = sorted(data["ops"].items(), key=lambda item: (-item[1], item[0]))
    console.line(f"ops: {sum(count for _, count in ops)}")
    console.line("  " + ", ".join(f"{count} {op}" for op, count in ops))
    if "arena_bytes" in data:
        given = ", ".join(f"{name}={list(dims)}" for name, dims in shapes.items())
        opened = any(
            isinstance(dim, str) for tensor in data["inputs"] if tensor["name"] not in shapes for dim in tensor["shape"] or ()
        )
        console.line(f"memory{f' for {given}' if given else ''}{' (open sizes count as 1; see --shape)' if opened else ''}")
        for key, words in (
            ("arena_bytes", "arena"),
            ("lower_bound_bytes", "lower bound of the arena"),
            ("weight_bytes", "weights in the file"),
            ("packed_bytes", "weights packed for the kernels"),
        ):
            console.line(f"  {words}: {console.size(data[key])}")
        if data["ends_at"]:
            console.line(f"  the plan ends at {data['ends_at']}, where values of the run decide what follows;")
            console.line("  arena and packed weights from there on are not counted")
    else:
        console.line(f"memory: no plan without --shape ({data['no_plan']})")
    if "steps" in data:
        rows = ((s["op"], s["kernel"], " ".join(map(str, s["outputs"])), s["node"], s["why"]) for s in data["steps"])
        console.table(("op", "kernel", "outputs", "node", "why this kernel"), rows)
    for key, value in data["metadata"].items():
        if not value:
            continue
        shown = value if len(value) <= 60 else value[:57].rstrip() + "…"
        console.line(f"{key}: {' '.join(shown.split())}")
