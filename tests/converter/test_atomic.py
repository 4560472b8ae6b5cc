"""Writing a file: all or nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitney.converter.atomic import write_atomically


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_replaces_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "m.jny"
    target.write_bytes(b"old")
    target.chmod(0o640)
    assert write_atomically(target, [b"new ", b"content"]) == 11
    assert target.read_bytes() == b"new content"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert _names(tmp_path) == ["m.jny"]


def test_a_failure_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    target = tmp_path / "m.jny"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, pieces())
    assert target.read_bytes() == b"old"
    assert _names(tmp_path) == ["m.jny"]


def test_a_file_as_parent(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError):
        write_atomically(tmp_path / "file" / "m.jny", [b"data"])
    assert _names(tmp_path) == ["file"]


def test_a_folder_as_target(tmp_path: Path) -> None:
    (tmp_path / "m.jny").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "m.jny", [b"data"])
    assert _names(tmp_path) == ["m.jny"]


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_a_full_disk(tmp_path: Path) -> None:
    target = tmp_path / "m.jny"
    target.write_bytes(b"old")
    code = (
        "import resource, signal, sys\n"
        "from jitney.converter.atomic import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_atomically(sys.argv[1], [bytes(1000)] * 100)\n"
        "except OSError as error: print('refused', error.errno)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", code, str(target)], capture_output=True, text=True, env=environment, check=True
    )
    assert result.stdout.startswith("refused")
    assert target.read_bytes() == b"old"
    assert _names(tmp_path) == ["m.jny"]
