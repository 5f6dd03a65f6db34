"""Where finished replicates wait for the rest of their run, and how files are written: whole or not at all.

    OUT/.replicates/NAME-KEY/00012.npz    run 12 of an experiment whose settings have the digest KEY

A replicate depends on the settings of the experiment, the seed, the rounds and the algorithms, the versions and the
source of the library: the key covers all of them. It leaves the number of runs out, so asking for more runs continues,
too.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from stableopt.paper.experiments.base import Experiment, Plan, Replicate


class Store:
    """The replicates of one experiment with one plan."""

    def __init__(self, out: Path, experiment: Experiment, plan: Plan) -> None:
        identity = {
            "experiment": experiment.name,
            "settings": experiment.settings,
            "seed": plan.seed,
            "rounds": plan.rounds,
            "algorithms": list(plan.algorithms),
            "versions": versions(),
            "source": _source(),
        }
        self._identity = json.dumps(identity, sort_keys=True, indent=1)
        key = hashlib.sha256(self._identity.encode()).hexdigest()[:16]
        self.folder = out / ".replicates" / f"{experiment.name}-{key}"

    def open(self) -> None:
        """Make the folder, with a note of its settings."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write({self.folder / "settings.json": self._identity.encode()})

    def load(self, run: int) -> Replicate | None:
        """The replicate of a run if it is there and whole."""
        try:
            with np.load(io.BytesIO(self._path(run).read_bytes()), allow_pickle=False) as archive:
                arrays = {key: archive[key] for key in archive.files}
        except (FileNotFoundError, ValueError, zipfile.BadZipFile, EOFError):
            return None
        replicate: dict[str, dict[str, Any]] = {}
        for key, array in arrays.items():
            algorithm, name = key.split("|")
            replicate.setdefault(algorithm, {})[name] = array
        return replicate

    def save(self, run: int, replicate: Replicate) -> None:
        """Keep a finished replicate."""
        arrays = {f"{algorithm}|{name}": a for algorithm, each in replicate.items() for name, a in each.items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        write({self._path(run): buffer.getvalue()})

    def _path(self, run: int) -> Path:
        return self.folder / f"{run:05d}.npz"


def write(files: Mapping[Path, bytes]) -> None:
    """Write all files or, if the disk refuses one, none: first under other names, then by renaming."""
    waiting: list[tuple[str, Path]] = []
    try:
        for path, content in files.items():
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            waiting.append((temporary, path))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
        while waiting:
            Path(waiting[0][0]).replace(waiting[0][1])
            waiting.pop(0)
    finally:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """The versions of Python and of all packages behind the numbers."""
    found = {"python": platform.python_version()}
    for package in ("stableopt", "numpy", "scipy", "scikit-learn", "Box2D"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _source() -> str:
    """A digest of the library itself: replicates of other code are not reused."""
    root = Path(__file__).parents[2]  # the package itself
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
