"""Functions of points that are made of others, in both forms that solvers take: arrays of values, or smooth ones."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.attacked import Affine
from stableopt.maxmin.solver import Smooth


def affine(F: object, factor: float, constant: float) -> object:
    """factor · F + constant."""
    return factor * F + constant if isinstance(F, np.ndarray) else Affine(cast("Smooth", F), factor, constant)


def at(F: Any, point: Any) -> float:
    """The value at a point, given by its index."""
    return float(F[point] if isinstance(F, np.ndarray) else F(np.array([point]))[0])


def score(F: object, upper: object, least: float) -> object:
    """F over its width, upper − F, to which ``least`` is added."""
    if isinstance(F, np.ndarray) and isinstance(upper, np.ndarray):
        return F / (upper - F + least)
    return Score(cast("Smooth", F), cast("Smooth", upper), least)


class Score(NamedTuple):
    """F / (upper − F + least), where upper >= F."""

    F: Smooth
    upper: Smooth
    least: float

    def __call__(self, Z: Array) -> Array:
        v = self.F(Z)
        return v / (self.upper(Z) - v + self.least)

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        (v, G), (u, H) = self.F.with_gradient(Z), self.upper.with_gradient(Z)
        width = u - v + self.least
        score = v / width
        return score, (G - score[:, None] * (H - G)) / width[:, None]
