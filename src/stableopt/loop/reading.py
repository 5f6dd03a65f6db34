"""What a user tells, read and checked: queries, points, values and noise become measurements with indices.

A point or a decision comes in many forms (a query, a number, a row, a dictionary, rows of them); the translation of a
setting says which one it is. Whatever cannot be meant is refused here, before anything changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array
from stableopt.base.checks import LARGEST_VALUE, deviation, is_value
from stableopt.loop.answers import Query
from stableopt.loop.constraints import Constraint, is_missing
from stableopt.loop.measurements import Measurement
from stableopt.loop.setting import Setting, Translation
from stableopt.maxmin.solver import Index


def measurements(
    setting: Setting[Index], point: Any, y: Any, decision: Any = None, noise: Any = None
) -> list[Measurement[Index]]:
    """What one call of `tell` adds: a single measurement, or one for each row."""
    translation = setting.translation
    if isinstance(point, Query):
        query: Query[Index] = checked(translation, point)
        if decision is None:
            place = query.point_index, measured(y), query.decision_index
            return [Measurement(*place, noise_of(noise), query.lower)]
        return [Measurement(query.point_index, measured(y), translation.decision_index(decision), noise_of(noise))]
    named = None if decision is None else translation.decision_index(decision)
    rows = _rows(point, y, setting.columns.width)
    if rows is None:
        return [Measurement(translation.point_index(point), measured(y), named, noise_of(noise))]
    if decision is not None:
        raise ValueError("expected a decision with a single point only: tell the points one by one")
    values = [measured(v) for v in (y if isinstance(y, list | tuple) else np.asanyarray(y))]
    noises = [noise] * len(values) if noise is None or np.ndim(noise) == 0 else list(noise)
    if len(noises) != len(values):
        raise ValueError(f"expected one noise, or one per value, got {len(noises)} for {len(values)} values")
    return [
        Measurement(translation.point_index(row), v, None, noise_of(s))
        for row, v, s in zip(rows, values, noises, strict=True)
    ]


def with_measured(
    told: list[Measurement[Index]], quantities: Any, constraints: Sequence[Constraint]
) -> list[Measurement[Index]]:
    """The measurements with what was measured of the constraints: a number for each name, or one per measurement."""
    if quantities is None:
        return told
    names = [k.name for k in constraints]
    if not isinstance(quantities, Mapping):
        raise TypeError(f"expected what was measured of the constraints as {{name: value}}, got {quantities!r:.200}")
    for name, values in quantities.items():
        if name not in names:
            known = f"one of the constraints {names}" if names else "a run with constraints=[...]"
            raise ValueError(f"expected {known}, got a measurement of {name!r:.200}")
        if np.ndim(values) > 1 or (np.ndim(values) == 1 and len(values) != len(told)):
            most = f"{len(told)} values" if len(told) > 1 else "one value"
            raise ValueError(f"expected {most} of {name!r}, got {values!r:.200}")
        if np.ndim(values) == 0 and len(told) > 1 and not is_missing(values):
            raise ValueError(f"expected {len(told)} values of {name!r}, one for each point, got {values!r:.200}")
    return [m._replace(measured=_values(quantities, i)) for i, m in enumerate(told)]


def _values(quantities: Mapping[str, Any], i: int) -> dict[str, float | None]:
    """What measurement number i has of each constraint."""
    found = {}
    for name, values in quantities.items():
        value = values[i] if np.ndim(values) == 1 else values
        try:
            found[name] = None if is_missing(value) else measured(value)
        except ValueError as error:
            raise ValueError(f"{error} (of the constraint {name!r})") from None
    return found


def checked(translation: Translation[Index], query: Query[Index]) -> Query[Index]:
    """The query, if it belongs to this setting and nobody changed its point or its decision."""
    if not isinstance(query, Query):
        raise TypeError(f"expected a query that `ask` returned, got {query!r:.200}")
    if _unchanged(translation, query):
        return query
    found = translation.decision_index(query.decision), translation.point_index(query.point)
    if found != (query.decision_index, query.point_index):
        raise ValueError(
            f"expected a query as `ask` of this run returned it, got one that was changed since, or another run's: "
            f"{query!r:.200}; a function that changes its argument needs a copy, and for another point there is "
            "tell(point, y, decision=...)"
        )
    return query


def _unchanged(translation: Translation[Index], query: Query[Index]) -> bool:
    """Whether the query looks as its indices do: then there is no need to look for them."""
    try:
        seen = translation.decision(query.decision_index), translation.point(query.point_index)
    except (IndexError, TypeError, ValueError):  # indices of another setting
        return False
    return all(
        a.shape == b.shape and (a == b).all()
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        else type(a) is type(b) and a == b
        for a, b in zip(seen, (query.decision, query.point), strict=True)
    )


def _rows(points: Any, y: ArrayLike, dim: int) -> Sequence[Any] | Array | None:
    """Several points as rows, or None if it is one point; on a line, a flat list with as many values is rows too."""
    if isinstance(points, list | tuple) and len(points) and all(isinstance(p, Mapping) for p in points):
        if np.shape(y) != (len(points),):
            raise ValueError(f"expected as many values as points, got shape {np.shape(y)} for {len(points)} points")
        return points
    try:
        depth = np.ndim(points)
    except ValueError:
        raise ValueError(f"expected a point, or rows of points of one length, got {points!r:.200}") from None
    if depth <= 1 and not (depth == dim == np.ndim(y) and np.size(points)):
        return None
    rows = np.asarray(points)
    rows = np.asarray(points, dtype=object) if rows.dtype.kind == "U" else rows  # 0.5 beside a category is no string
    rows = rows if depth > 1 else rows[:, None]
    if rows.ndim != 2 or np.shape(y) != rows.shape[:1]:
        raise ValueError(f"expected rows of points (m, p) and m values, got shapes {rows.shape} and {np.shape(y)}")
    return rows


def measured(y: Any, failed: str = "tell None for a failed evaluation") -> float | None:
    """A measured value; None if the evaluation failed, which an error says how to tell."""
    if y is None:
        return None
    if np.ndim(y) != 0 or np.ma.is_masked(y) or np.asarray(y).dtype.kind not in "iuf":
        raise ValueError(f"expected one number as the value y of one point, got {y!r:.200}: {failed}")
    value = float(y)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite value y, got {value}: {failed}")
    if not is_value(value):
        raise ValueError(
            f"expected a value y of at most {LARGEST_VALUE:g}, got {value:g}: use a larger unit ({failed})"
        )
    return value


def noise_of(noise: Any) -> float | None:
    """The standard deviation of a value; None if it is the model's."""
    return None if noise is None else deviation(noise, "noise as a standard deviation above 0")
