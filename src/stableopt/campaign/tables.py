"""Earlier experiments in the forms that people have them in: points and values, columns, a DataFrame, dictionaries.

Everything becomes a list of measurements: a value is None where an experiment failed, and so is a noise that only the
model knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stableopt.base.checks import deviation, is_number, is_value
from stableopt.loop.measurements import Measurement

NOISE = "noise"
"""The column of a table with the standard deviation of each value, unless a variable has this name."""
FORMS = "data as (X, y), as (X, y, noise), or as a table"


def experiments(data: Any, value: str, columns: Mapping[str, int] | None) -> list[Measurement[Any]]:
    """What is in arrays (X, y) or (X, y, noise), or in a table whose column ``value`` holds the values.

    columns: the names of a point's values, if they have any, and how many columns of X each takes; other columns of
        a table are ignored.
    """
    if isinstance(data, list) and data and all(isinstance(e, Measurement) for e in data):
        points, given, noise = [list(part) for part in zip(*((e.point, e.value, e.noise) for e in data), strict=True)]
    elif isinstance(data, tuple) and len(data) in (2, 3):
        points, given, noise = _arrays(columns, *data)
    else:
        points, given, noise = _table(data, value, columns)
    values = [_known(v) for v in given]
    if all(v is None for v in values):
        raise ValueError(f"expected data with at least one value, got {len(values)} without")
    rows = zip(points, values, noise, strict=True)
    return [Measurement(point, v, None, None if v is None else _std(s)) for point, v, s in rows]


def _arrays(
    columns: Mapping[str, int] | None, X: Any, y: Any, noise: Any = None
) -> tuple[list[Any], list[Any], list[Any]]:
    rows = _records(X)
    points = rows if columns is None else [_named(row, columns) for row in rows]
    same = noise is None or (np.ndim(noise) == 0 and is_number(noise))
    return points, _one_each(y, "values", rows), [noise] * len(rows) if same else _one_each(noise, "noises", rows)


def _one_each(given: Any, what: str, rows: Sequence[Any]) -> list[Any]:
    array = _objects(given)
    if array.shape not in ((len(rows),), (len(rows), 1)):
        raise ValueError(f"expected as many {what} as points, got {what} {array.shape} for {len(rows)} points")
    return list(array.ravel().tolist())


def _objects(given: Any) -> NDArray[Any]:
    """An array of any objects; None where it is masked."""
    array = np.array(given, dtype=object)
    if np.ma.is_masked(given):
        array[np.ma.getmaskarray(given)] = None
    return array


def _named(row: Any, columns: Mapping[str, int]) -> Any:
    """A row of X with names: its columns are in the order of the names, those of an environment last."""
    if isinstance(row, Mapping | str):
        return row
    values, widths = list(row) if isinstance(row, Iterable) else [row], list(columns.values())
    if len(values) == sum(widths) > len(widths):
        ends = np.cumsum(widths).tolist()
        values = [values[b - w] if w == 1 else values[b - w : b] for b, w in zip(ends, widths, strict=True)]
    if len(values) != len(columns):
        raise ValueError(
            f"expected points with {sum(widths)} columns in the order {list(columns)}, got {len(values)} columns"
        )
    return dict(zip(columns, values, strict=True))


def _table(data: Any, value: str, columns: Mapping[str, int] | None) -> tuple[list[Any], list[Any], list[Any]]:
    rows = _records(data)
    if not all(isinstance(row, Mapping) and value in row for row in rows):
        found = list(rows[0]) if isinstance(rows[0], Mapping) else type(data).__name__
        raise ValueError(f"expected {FORMS} with a column {value!r} (value=...) for the values, got {found}")
    if columns is None:
        raise ValueError("expected named ranges for a table: use {name: (low, high)}, or give data as (X, y)")
    if value in columns:
        raise ValueError(f"expected another name for the values than that of a variable, got {value!r}: use value=...")
    missing = [name for name in columns if not all(name in row for row in rows)]
    if missing:
        raise ValueError(f"expected columns {list(columns)} in the data, got none for {missing}")
    points = [{name: row[name] for name in columns} for row in rows]
    told = NOISE not in (value, *columns)
    return points, [row[value] for row in rows], [row.get(NOISE) if told else None for row in rows]


def _records(table: Any) -> list[Any]:
    """The rows of a table: of columns (a dictionary, a DataFrame), or of rows."""
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        table = {name: table[name] for name in table.columns}
    if isinstance(table, str | bytes) or not isinstance(table, Iterable):
        raise ValueError(f"expected {FORMS}, got {table!r:.200}")
    if not isinstance(table, Mapping):
        return list(table)
    columns = {name: _objects(column) for name, column in table.items()}
    lengths = {name: column.shape[0] if column.ndim == 1 else column.shape for name, column in columns.items()}
    if any(column.ndim != 1 for column in columns.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"expected columns of one length, got {lengths}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def _known(v: Any) -> float | None:
    """A value of a table; None where there is none."""
    if _missing(v) or (isinstance(v, float | np.floating) and not is_value(v)):  # infinite, or as good as that
        return None
    if not is_value(v):
        raise ValueError(f"expected values as numbers (None or NaN where an experiment failed), got {v!r:.200}")
    return float(v)


def _std(s: Any) -> float | None:
    """The standard deviation of a value's noise; None where only the model knows."""
    if _missing(s):
        return None
    return deviation(s, "the noise of a value as a standard deviation above 0 (None or NaN if it is that of the model)")


def _missing(v: Any) -> bool:
    """Whether there is nothing, in the ways that tables have to say so."""
    nan = isinstance(v, float | np.floating) and np.isnan(v)
    return v is None or nan or np.ma.is_masked(v) or repr(v) == "<NA>"
