"""Measurements along a vertical transect: the table that ships with the package, or a CSV file of one's own."""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from stableopt.base.arrays import Array
from stableopt.paper.experiments.base import DataError

_MOST = 5000  # rows: a GP of the data needs memory and time that grow with their square and cube


@dataclass(frozen=True, eq=False)
class Transect:
    """Values at (length, depth), the rectangle that they describe, and where they come from."""

    points: Array
    """(n, 2): length, depth."""
    values: Array
    lower: Array
    upper: Array
    labels: tuple[str, str, str]
    source: str

    @property
    def digest(self) -> str:
        """A fingerprint of the numbers."""
        content = np.column_stack([self.points, self.values]).tobytes() + self.lower.tobytes() + self.upper.tobytes()
        return hashlib.sha256(content).hexdigest()


def open_transect() -> Transect:
    """Chlorophyll below 100 m × 34 km of the Pacific, measured by a glider of C-PROOF (see data/README.md)."""
    text = (files("stableopt.paper.experiments") / "data" / "chlorophyll.csv").read_text(encoding="utf-8")
    points, values, _ = _parse(text, "chlorophyll.csv")
    labels = ("distance (km)", "depth (m)", "chlorophyll (mg/m³)")
    source = "C-PROOF glider deployment dfo-eva035-20190718"
    return Transect(points, values, np.array([0.5, 0.0]), np.array([34.5, 100.0]), labels, source)


def read_transect(path: Path) -> Transect:
    """A CSV file with length, depth and value in its first three columns, with or without a header."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"cannot read {path} ({error.strerror}): expected a CSV file of length, depth and value"
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        raise DataError(f"{path}, line {line}, column {column}: expected text in UTF-8, got something else") from None
    points, values, head = _parse(text, str(path))
    lower, upper = points.min(axis=0), points.max(axis=0)
    for column, what in enumerate(("lengths", "depths")):
        if lower[column] == upper[column]:
            raise DataError(f"{path}, column {column + 1}: expected different {what}, got {lower[column]:g} only")
    return Transect(points, values, lower, upper, head, path.name)


def _parse(text: str, where: str) -> tuple[Array, Array, tuple[str, str, str]]:
    rows: list[list[float]] = []
    head = ("length", "depth", "value")
    reader = csv.reader(text.splitlines())
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if reader.line_num == 1 and not any(_is_number(cell) for cell in cells[:3]) and len(cells) >= 3:
                head = (cells[0].strip(), cells[1].strip(), cells[2].strip())
                continue
            rows.append(_numbers(cells, f"{where}, line {reader.line_num}"))
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: {error}") from None
    if not 10 <= len(rows) <= _MOST:
        raise DataError(f"{where}: expected between 10 and {_MOST} rows of length, depth and value, got {len(rows)}")
    table = np.array(rows)
    return table[:, :2], table[:, 2], head


def _numbers(cells: list[str], where: str) -> list[float]:
    if len(cells) < 3:
        raise DataError(f"{where}, column {len(cells) + 1}: expected length, depth and value, got {len(cells)} columns")
    for column, cell in enumerate(cells[:3], start=1):
        if not _is_number(cell):
            raise DataError(f"{where}, column {column}: expected a finite number, got {cell!r:.60}")
    return [float(cell) for cell in cells[:3]]


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
