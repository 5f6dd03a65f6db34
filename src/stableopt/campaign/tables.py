"""Tables in and out: earlier experiments in the forms that people have them in, points to ask about, trials as rows.

Data become a list of measurements: a value is None where an experiment failed, and so is a noise that only the model
knows. Each comes with the place where it was found, for errors.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stableopt.base.checks import deviation, is_number, is_value, nearest
from stableopt.campaign.events import ABANDONED, OPEN, Trial
from stableopt.campaign.sources import from_csv, from_study, is_study
from stableopt.campaign.words import Words
from stableopt.loop.measurements import Measurement
from stableopt.loop.setting import Setting
from stableopt.sets.spaces import Space

NOISE = "noise"
"""The column of a table with the standard deviation of each value, unless a variable has this name."""
FORMS = "data as (X, y), as (X, y, noise), or as a table"


Parts = tuple[list[Any], list[Mapping[str, Any]], list[Any]]
"""Points, what was measured at each of them by name, and the noise of each value."""


class Experiments(NamedTuple):
    """Measurements, and where each of them was found."""

    measurements: list[Measurement[Any]]
    places: list[str]


def experiments(data: Any, words: Words, columns: Mapping[str, int] | None) -> Experiments:
    """What is in arrays (X, y) or (X, y, noise), or in a table whose column ``words.value`` holds the values.

    A table is a dictionary of columns, a DataFrame, a list of dictionaries, the path of a CSV file, or an Optuna
    study. It has a column for every constraint; beside X, y may be a table of them. Other columns are ignored, and so
    are rows of open and abandoned trials.
    """
    places = None
    if isinstance(data, str | os.PathLike):
        data, places = from_csv(data)
    elif is_study(data):
        data, places = from_study(data, words)
    if isinstance(data, list) and data and all(isinstance(e, Measurement) for e in data):
        points, noise = [e.point for e in data], [e.noise for e in data]
        given: list[Mapping[str, Any]] = [{**(e.measured or {}), words.value: e.value} for e in data]
    elif isinstance(data, tuple) and len(data) in (2, 3):
        points, given, noise = _arrays(words.outputs, columns, *data)
    else:
        rows = _records(data)
        places = [f"row {i} of the data, from 0" for i in range(len(rows))] if places is None else places
        made = [not (isinstance(r, Mapping) and r.get("status") in (OPEN, ABANDONED)) for r in rows]
        places = [place for place, keep in zip(places, made, strict=True) if keep]
        points, given, noise = _table([r for r, keep in zip(rows, made, strict=True) if keep], words.outputs, columns)
    places = [f"row {i} of the data, from 0" for i in range(len(points))] if places is None else places
    known = []
    for point, row, s, place in zip(points, given, noise, places, strict=True):
        try:
            value, *others = _measured(row, words.outputs)
            measured = dict(zip(words.outputs[1:], others, strict=True)) or None
            seen = {n: _read(words, n, p) for n, p in point.items()} if isinstance(point, Mapping) else point
            known.append(Measurement(seen, value, None, None if value is None else _std(s), measured=measured))
        except ValueError as error:
            raise ValueError(f"{error} (in {place})") from None
    if all(v is None for m in known for v in (m.value, *(m.measured or {}).values())):
        raise ValueError(f"expected data with at least one value, got {len(known)} without")
    return Experiments(known, places)


def points_of(given: Any, setting: Setting, *, decisions: bool = False) -> tuple[list[Any], bool]:
    """Points or decisions in the forms that people have them in, and whether it is a single one."""
    names = setting.translation.names
    width = setting.domain.dim if decisions else setting.columns.width
    if decisions and names is not None and isinstance(setting.domain, Space):
        own = setting.domain.flat_names or []
        names = {name: w for name, w in names.items() if name in own}
    if isinstance(given, Mapping) and not any(_is_column(v) for v in given.values()):
        return [given], True
    if _has_columns(given):
        rows = _records(given)
        return [row if names is None else {n: row[n] for n in row if n in names} for row in rows], False
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given], True
    rows = list(given)
    if rows and not any(isinstance(row, Mapping) or _is_column(row) for row in rows):  # scalars
        one = len(rows) == width or names is not None
        return ([rows] if one and names is None else [_named(rows, names or {})] if one else rows), one
    return [row if names is None else _named(row, names) for row in rows], False


def _is_column(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) > 0


def rows_of(trials: Iterable[Trial], words: Words) -> list[dict[str, Any]]:
    """Trials as rows: a column for every parameter and every value, then noise, reasons, times and names."""
    rows = []
    for trial in trials:
        settings = trial.settings
        named = settings if isinstance(settings, Mapping) else {f"x{i}": v for i, v in enumerate(settings)}
        last = trial.told
        about = {"trial": trial.number, "status": trial.status}
        rest = {
            "noise": trial.noise,
            "why": trial.why,
            "asked": trial.history[0].time if trial.decision is not None else None,
        }
        rest |= {"told": None if last is None else last.time, "who": (last or trial.history[-1]).who}
        values = {name: trial.values.get(name) for name in words.outputs}
        taken = {*named, *values}
        outer = [
            {name if name not in taken else f"trial {name}": v for name, v in part.items()} for part in (about, rest)
        ]
        rows.append(outer[0] | dict(named) | values | outer[1])
    return rows


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a pandas DataFrame."""
    try:
        pandas: Any = import_module("pandas")
    except ImportError:
        raise ImportError(
            "expected pandas for a DataFrame, got none: pip install pandas, or use campaign.trials"
        ) from None
    return pandas.DataFrame(list(rows))


def _read(words: Words, name: str, value: Any) -> Any:
    """The value of a table, where numbers may be text."""
    return words.read(name, value.strip()) if isinstance(value, str) else value


def _arrays(names: Sequence[str], columns: Mapping[str, int] | None, X: Any, y: Any, noise: Any = None) -> Parts:
    rows = _records(X)
    points = rows if columns is None else [_named(row, columns) for row in rows]
    same = noise is None or (np.ndim(noise) == 0 and is_number(noise))
    if _has_columns(y):
        given = _records(y)
        _check_columns(given, names)
        if len(given) != len(rows):
            raise ValueError(f"expected as many values as points, got {len(given)} for {len(rows)} points")
    else:
        given = [{names[0]: v} for v in _one_each(y, "values", rows)]
    return points, given, [noise] * len(rows) if same else _one_each(noise, "noises", rows)


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


def _table(rows: Sequence[Any], names: Sequence[str], columns: Mapping[str, int] | None) -> Parts:
    _check_columns(rows, names)
    if columns is None:
        raise ValueError("expected named ranges for a table: use {name: (low, high)}, or give data as (X, y)")
    if names[0] in columns:
        raise ValueError(
            f"expected another name for the values than that of a variable, got {names[0]!r}: use value=..."
        )
    missing = [name for name in columns if not all(name in row for row in rows)]
    if missing:
        raise ValueError(
            f"expected columns {list(columns)} in the data, got none for {missing}: there are {list(rows[0])}"
        )
    points = [{name: row[name] for name in columns} for row in rows]
    told = NOISE not in (*names, *columns)
    return points, list(rows), [row.get(NOISE) if told else None for row in rows]


def _check_columns(rows: Sequence[Any], names: Sequence[str]) -> None:
    """A table has a column for the values, and one for every constraint."""
    found = list(rows[0]) if rows and isinstance(rows[0], Mapping) else f"{rows!r:.80}"
    column = f"a column {names[0]!r} (value=...) for the values"
    if not all(isinstance(row, Mapping) for row in rows):
        raise ValueError(f"expected {FORMS} with {column}, got {found}")
    without = next((list(row) for row in rows if names[0] not in row), None)
    if without is not None:
        raise ValueError(f"expected {column}, got the columns {without}{nearest(names[0], map(str, without))}")
    missing = [name for name in names if not all(name in row for row in rows)]
    if missing:
        raise ValueError(
            f"expected a column for each constraint (None where it was not measured), got none for {missing}: there "
            f"are {found}"
        )


def _has_columns(table: Any) -> bool:
    """Whether it is a table of columns: a dictionary, or a DataFrame."""
    return isinstance(table, Mapping) or (hasattr(table, "columns") and hasattr(table, "__getitem__"))


def _records(table: Any) -> list[Any]:
    """The rows of a table: of columns (a dictionary, a DataFrame), or of rows."""
    if not isinstance(table, Mapping) and _has_columns(table):
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


def _measured(row: Mapping[str, Any], names: Sequence[str]) -> list[float | None]:
    """What was measured, by these names; None where there is nothing. If one is infinite, the experiment failed."""
    found = [_known(row.get(name), name) for name in names]
    return [None] * len(names) if any(v is not None and math.isinf(v) for v in found) else found


def _known(v: Any, name: str) -> float | None:
    """A value of a table; None where there is none, infinity if it is that or as good as that."""
    v = _number(v)
    if _missing(v):
        return None
    if isinstance(v, float | np.floating) and not is_value(v):
        return math.inf
    if not is_value(v):
        expected = "values as numbers (None or NaN where an experiment failed)"
        raise ValueError(f"expected {expected}, got {v!r:.200} for {name!r}")
    return float(v)


def _std(s: Any) -> float | None:
    """The standard deviation of a value's noise; None where only the model knows."""
    s = _number(s)
    if _missing(s):
        return None
    return deviation(s, "the noise of a value as a standard deviation above 0 (None or NaN if it is that of the model)")


def _missing(v: Any) -> bool:
    """Whether there is nothing, in the ways that tables have to say so."""
    nan = isinstance(v, float | np.floating) and np.isnan(v)
    return v is None or nan or np.ma.is_masked(v) or repr(v) == "<NA>"


def _number(v: Any) -> Any:
    """A number that may be text; a text without anything says nothing."""
    if not isinstance(v, str):
        return v
    try:
        return float(v) if v.strip() else None
    except ValueError:
        return v
