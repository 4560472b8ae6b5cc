"""Reads the text of a picture: fetches PP-OCRv4, converts it, and prints what it reads.

python examples/ocr/demo.py [--image photo.jpg] [--output boxes.png] [--runtime jitney|onnxruntime]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import cv2
from ocr import Reader, draw_boxes

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "models"))
from fetch import fetch  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="Read the text of a picture.")
    parser.add_argument("--image", type=Path, help="default: a photographed page")
    parser.add_argument("--output", type=Path, default=REPOSITORY / "out" / "boxes.png", help="the picture with boxes")
    parser.add_argument("--runtime", choices=["jitney", "onnxruntime"], default="jitney")
    parser.add_argument("--threads", type=int, default=0, help="0: one per core")
    arguments = parser.parse_args()

    files = fetch(["ppocrv4_det", "ppocrv4_rec"])
    path = arguments.image or fetch(["page"])["page"]
    if not path.is_file():
        print(f"demo: there is no file {path}", file=sys.stderr)
        return 1
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        print(f"demo: {path} is no picture that can be read", file=sys.stderr)
        return 1
    if arguments.runtime == "jitney":
        files = {name: converted(onnx) for name, onnx in files.items()}

    start = time.perf_counter()
    reader = Reader(files["ppocrv4_det"], files["ppocrv4_rec"], runtime=arguments.runtime, threads=arguments.threads)
    loading = time.perf_counter() - start
    lines = reader.read(image)
    for number, line in enumerate(lines, 1):
        print(f"{number:3}  {line.confidence:5.1%}  {line.seconds * 1e3:6.1f} ms  {line.text}")
    reading = sum(line.seconds for line in lines)
    print(
        f"{len(lines)} lines; loading {loading * 1e3:.0f} ms, detection {reader.detection_seconds * 1e3:.0f} ms, "
        f"recognition {reading * 1e3:.0f} ms ({arguments.runtime})",
        file=sys.stderr,
    )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    if not cv2.imwrite(str(arguments.output), draw_boxes(image, lines)):
        print(f"demo: {arguments.output} cannot be written", file=sys.stderr)
        return 1
    print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def converted(onnx: Path) -> Path:
    """The .jny file beside the other outputs, made if it is not there or is older than the model or than Jitney."""
    import jitney

    target = REPOSITORY / "out" / onnx.with_suffix(".jny").name
    newest = max(onnx.stat().st_mtime, Path(jitney.__file__).stat().st_mtime)
    if not target.exists() or target.stat().st_mtime < newest:
        target.parent.mkdir(parents=True, exist_ok=True)
        report = jitney.convert(onnx, target)
        print(f"converted {onnx.name}: {report.verification.outcome}", file=sys.stderr)
    return target


if __name__ == "__main__":
    sys.exit(main())
