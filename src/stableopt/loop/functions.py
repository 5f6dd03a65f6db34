"""Functions of rows that are made of others, with their gradients: what margins are in a space."""

from __future__ import annotations

from typing import NamedTuple

from stableopt.base.arrays import Array
from stableopt.maxmin.solver import Smooth


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
