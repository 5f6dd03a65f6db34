"""Several functions under one adversary, who also chooses which of them counts: still a max-min of one function.

A scenario gets one more coordinate k, the number of the function, and so does a point. So the search for one function
carries worst cases of all of them, and lets a decision climb where they balance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.base.values import ReadOnly
from stableopt.maxmin.solver import Region, Row, Smooth


def numbered(rows: Array, k: Array | float) -> Array:
    """Scenarios or points (..., q) with the number of a function as their last coordinate."""
    out = np.empty((*rows.shape[:-1], rows.shape[-1] + 1))
    out[..., :-1], out[..., -1] = rows, k
    return out


def with_every_number(rows: Array, count: int) -> Array:
    """Each scenario (m, q) with every function, one after the other (m · count, q + 1)."""
    return numbered(np.repeat(rows, count, axis=0), np.tile(np.arange(count), len(rows)))


@dataclass(frozen=True, eq=False)
class Carrying(ReadOnly):
    """What a region keeps when its points carry the number of a function."""

    region: Region

    @property
    def count(self) -> float:
        return self.region.count

    @property
    def few(self) -> bool:
        return self.region.few

    @property
    def choices(self) -> float:
        return self.region.choices

    @property
    def curved(self) -> bool:
        return self.region.curved

    @property
    def exact(self) -> bool:
        return self.region.exact

    @cached_property
    def moved(self) -> Mask:
        return np.append(self.region.moved, False)


@dataclass(frozen=True, eq=False)
class AttackedDecisions(Carrying):
    """The decisions of a region, which do not know of the functions."""

    functions: int
    """How many functions the adversary can choose from."""

    @property
    def dim(self) -> int:
        return self.region.dim

    def decisions(self, count: int, seed: int) -> Array:
        return self.region.decisions(count, seed)

    def clip(self, X: Array) -> Array:
        return self.region.clip(X)

    def pace(self, X: Array) -> Array:
        return numbered(self.region.pace(X), 1.0)

    def other_decisions(self, x: Array) -> Array:
        return self.region.other_decisions(x)

    def rounded(self, x: Array) -> Array:
        return self.region.rounded(x)

    def decision_index(self, row: Array) -> Row:
        return self.region.decision_index(row)


class Attacked(AttackedDecisions):
    """A region whose adversary also chooses one of several functions."""

    @cached_property
    def relaxed(self) -> Attacked | None:
        return None if self.region.relaxed is None else Attacked(self.region.relaxed, self.functions)

    @cached_property
    def width(self) -> int:
        return self.region.width + 1

    def reach(self, X: Array) -> tuple[Array, Array]:
        low, high = self.region.reach(X)
        return numbered(low, 0.0), numbered(high, self.functions - 1.0)

    def near(self, X: Array, Z: Array) -> Array:
        return numbered(self.region.near(X, Z[:, :, :-1]), Z[:, :, -1])

    def scenarios(self, count: int, seed: int) -> Array:
        rows = self.region.scenarios(max(1, count // self.functions), seed)
        return with_every_number(rows, self.functions)[: max(count, self.functions)]

    def filling(self, X: Array, unit: Array) -> Array:
        inside = self.region.filling(X, unit[:, :-1])
        return numbered(inside, np.minimum(np.floor(self.functions * unit[:, -1]), self.functions - 1))

    def other_scenarios(self, x: Array, s: Array, most: int) -> Array:
        others = numbered(self.region.other_scenarios(x, s[:-1], most), s[-1])
        numbers = np.array([k for k in range(self.functions) if k != s[-1]], dtype=float)
        return np.vstack([numbered(np.repeat(s[None, :-1], len(numbers), axis=0), numbers), others])

    def project(self, X: Array, S: Array) -> Array:
        return numbered(self.region.project(X, S[:, :-1]), self._nearest(S))

    def project_inside(self, X: Array, S: Array) -> Array:
        return numbered(self.region.project_inside(X, S[:, :-1]), self._nearest(S))

    def _nearest(self, S: Array) -> Array:
        return np.asarray(np.clip(np.rint(S[:, -1]), 0, self.functions - 1))

    def points(self, X: Array, S: Array) -> Array:
        return numbered(self.region.points(X, S[:, :-1]), S[:, -1])

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        by_decision, by_scenario = self.region.pull(X, S[:, :-1], G[:, :-1])
        return by_decision, numbered(by_scenario, 0.0)

    def scenario_of(self, X: Array, Z: Array) -> Array:
        return numbered(self.region.scenario_of(X, Z[:, :-1]), Z[:, -1])

    def point_index(self, row: Array) -> Row:
        return self.region.point_index(row[:-1])


class Affine(NamedTuple):
    """factor · F + constant, for a function of rows."""

    F: Smooth
    factor: float
    constant: float

    def __call__(self, Z: Array) -> Array:
        return self.factor * self.F(Z) + self.constant

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        v, G = self.F.with_gradient(Z)
        return self.factor * v + self.constant, self.factor * G


class Merit:
    """What counts at a point with the number k of a function: one affine function for each k.

    scales: what is much or little for each of them; the first is that of the merit.
    """

    def __init__(self, parts: Sequence[Affine], scales: Sequence[float]) -> None:
        self.parts, self.scales = list(parts), list(scales)

    def raise_constraints(self, by: float) -> None:
        """Add to all functions but the first."""
        self.parts[1:] = [part._replace(constant=part.constant + by) for part in self.parts[1:]]

    def __call__(self, Z: Array) -> Array:
        out = np.empty(len(Z))
        for k, own in by_number(Z[:, -1].astype(np.intp)):
            out[own] = self.parts[k](Z[own, :-1])
        return out

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        out, G = np.empty(len(Z)), np.zeros(Z.shape)
        for k, own in by_number(Z[:, -1].astype(np.intp)):
            out[own], G[own, :-1] = self.parts[k].with_gradient(Z[own, :-1])
        return out, G


class Part(NamedTuple):
    """The function number k of a merit, as it is now."""

    merit: Merit
    k: int

    def __call__(self, Z: Array) -> Array:
        return self.merit.parts[self.k](Z)

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        return self.merit.parts[self.k].with_gradient(Z)


def by_number(which: Indices) -> list[tuple[int, Indices]]:
    """The numbers of functions, and the rows of each."""
    return [(k, np.flatnonzero(which == k)) for k in np.unique(which).tolist()]
