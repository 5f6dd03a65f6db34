"""Earlier experiments in the forms that people have them in: points and values, columns, a DataFrame, dictionaries.

Everything becomes a list of points and a list of values, in which None stands for an experiment that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stableopt._arrays import is_number


def points_and_values(data: Any, value: str, names: Sequence[str] | None) -> tuple[list[Any], list[float | None]]:
    """The points and values of a pair (X, y), or of a table whose column ``value`` holds the values.

    names: of a point's values, if they have any; other columns of a table are ignored.
    """
    pair = isinstance(data, tuple) and len(data) == 2
    points, given = _pair(*data) if pair else _table(data, value, names)
    values = [_known(v) for v in given]
    if all(v is None for v in values):
        raise ValueError(f"expected data with at least one value, got {len(values)} without")
    return points, values


def _pair(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    points, values = _records(X), np.asarray(y, dtype=object)
    if values.shape not in ((len(points),), (len(points), 1)):
        raise ValueError(f"expected as many values as points, got values {values.shape} for {len(points)} points")
    return points, values.ravel().tolist()


def _table(data: Any, value: str, names: Sequence[str] | None) -> tuple[list[Any], list[Any]]:
    rows = _records(data)
    if not all(isinstance(row, Mapping) and value in row for row in rows):
        columns = list(rows[0]) if isinstance(rows[0], Mapping) else type(data).__name__
        raise ValueError(
            f"expected data as (X, y), or as a table with a column {value!r} (value=...) for the values, got {columns}"
        )
    if names is None:
        raise ValueError("expected named ranges for a table: use {name: (low, high)}, or give data as (X, y)")
    if value in names:
        raise ValueError(f"expected another name for the values than that of a variable, got {value!r}: use value=...")
    missing = [name for name in names if not all(name in row for row in rows)]
    if missing:
        raise ValueError(f"expected columns {list(names)} in the data, got none for {missing}")
    return [{name: row[name] for name in names} for row in rows], [row[value] for row in rows]


def _records(table: Any) -> list[Any]:
    """The rows of a table: of columns (a dictionary, a DataFrame), or of rows."""
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        table = {name: table[name] for name in table.columns}
    if isinstance(table, str | bytes) or not isinstance(table, Iterable):
        raise ValueError(f"expected data as (X, y) or as a table, got {table!r:.200}")
    if not isinstance(table, Mapping):
        return list(table)
    columns = {name: np.asarray(column, dtype=object) for name, column in table.items()}
    lengths = {name: column.shape[0] if column.ndim == 1 else column.shape for name, column in columns.items()}
    if any(column.ndim != 1 for column in columns.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"expected columns of one length, got {lengths}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def _known(v: Any) -> float | None:
    """A value of a table; None where there is none, in the ways that tables have to say so."""
    infinite = isinstance(v, float | np.floating) and not is_number(v)
    if v is None or infinite or np.ma.is_masked(v) or repr(v) == "<NA>":
        return None
    if not is_number(v):
        raise ValueError(f"expected values as numbers (None or NaN where an experiment failed), got {v!r:.200}")
    return float(v)
