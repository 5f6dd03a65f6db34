"""What a user tells, read and checked: queries, points, values and noise become observations with indices.

A point or a decision comes in many forms (a query, a number, a row, a dictionary, rows of them); the setting of a run
says which one it is. Whatever cannot be meant is refused here, before anything changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array
from stableopt.base.checks import is_number
from stableopt.loop.answers import Query
from stableopt.loop.state import Index, Observation
from stableopt.maxmin.region import SpaceRegion
from stableopt.maxmin.setting import Setting


def told(
    setting: Setting | SpaceRegion, point: Query | ArrayLike, y: Any, decision: Any, noise: Any
) -> list[Observation]:
    """What one call of `tell` adds: a single observation, or one for each row."""
    if isinstance(point, Query):
        query = checked(setting, point)
        if decision is None:
            return [Observation(query.decision_index, query.point_index, measured(y), _noise(noise), query.lower)]
        return [Observation(decision_index(setting, decision), query.point_index, measured(y), _noise(noise))]
    named = None if decision is None else decision_index(setting, decision)
    rows = _rows(point, y, columns(setting))
    if rows is None:
        return [Observation(named, point_index(setting, point), measured(y), _noise(noise))]
    if decision is not None:
        raise ValueError("expected a decision with a single point only: tell the points one by one")
    values = [measured(v) for v in (y if isinstance(y, list | tuple) else np.asanyarray(y))]
    noises = [noise] * len(values) if noise is None or np.ndim(noise) == 0 else list(noise)
    if len(noises) != len(values):
        raise ValueError(f"expected one noise, or one per value, got {len(noises)} for {len(values)} values")
    return [
        Observation(None, point_index(setting, row), v, _noise(s))
        for row, v, s in zip(rows, values, noises, strict=True)
    ]


def checked(setting: Setting | SpaceRegion, query: Query) -> Query:
    """The query, if it belongs to this setting and nobody changed its point or its decision."""
    if not isinstance(query, Query):
        raise TypeError(f"expected a query that `ask` returned, got {query!r:.200}")
    decision = decision_index(setting, query.decision, query.decision_index)
    if (decision, point_index(setting, query.point, query.point_index)) != (query.decision_index, query.point_index):
        raise ValueError(
            f"expected a query as `ask` of this run returned it, got one that was changed since, or another run's: "
            f"{query!r:.200}; a function that changes its argument needs a copy, and for another point there is "
            "tell(point, y, decision=...)"
        )
    return query


def decision_index(setting: Setting | SpaceRegion, decision: Any, guess: Index = -1) -> Index:
    """The index of a decision as a user sees it; a good guess saves the search for it."""
    if isinstance(setting, SpaceRegion):
        return tuple(setting.locate_decision(decision).tolist())
    return setting.locate_decision(decision, guess if isinstance(guess, int) else -1)


def point_index(setting: Setting | SpaceRegion, point: Any, guess: Index = -1) -> Index:
    """The index of a point as a user sees it; a good guess saves the search for it."""
    if isinstance(setting, SpaceRegion):
        return tuple(setting.locate_point(point).tolist())
    return setting.locate_point(point, guess if isinstance(guess, int) else -1)


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


def measured(y: Any) -> float | None:
    """A measured value; None if the evaluation failed."""
    if y is None:
        return None
    if np.ndim(y) != 0 or np.ma.is_masked(y) or np.asarray(y).dtype.kind not in "iuf":
        raise ValueError(f"expected one number as the value y of one point (None if it failed), got {y!r}")
    value = float(y)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite value y, got {value}: tell None for a failed evaluation")
    return value


def _noise(noise: Any) -> float | None:
    if noise is None:
        return None
    if not (is_number(noise) and 0 < noise < 1e150):
        raise ValueError(f"expected noise as a standard deviation above 0, got {noise!r}")
    return float(noise)


def columns(setting: Setting | SpaceRegion) -> int:
    """How many coordinates a point has."""
    return setting.points_space.dim if isinstance(setting, SpaceRegion) else sum(b.shape[1] for b in setting.blocks)
