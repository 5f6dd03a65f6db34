"""What moves a point: the base of all movers, and of those of numbers in ranges.

A scenario is an offset in a fixed set, such as the unit ball, so that the same scenario makes sense for every decision
and moves along with it. Each mover changes columns of its own; `region` puts several side by side.

Notation
    C, U   (n, k)   coordinates of the mover's columns before and after the move
    S      (n, q)   scenarios, row by row
    G      (n, k)   the gradient of something by U
    x, x'           the same as C and U in the user's units
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array
from stableopt.sets.variables import Integer, Range

_TURNS = 4  # projections that lead to the lowest point of a set along an axis
INSIDE = 1 - 1e-10  # of the way to the end of a range, in coordinates
_MISSED = 1e-3  # of a range: a projection this far above its goal has missed it


class Mover(ABC):
    """One part of what an adversary may do."""

    columns: list[int]
    """The columns of a point that it changes."""
    width: int
    """q, the number of coordinates of its scenarios."""
    discrete: bool = False
    """Whether a scenario has something discrete: then it has `others`."""
    exact: bool = True
    """Whether `project_inside` finds the nearest scenarios of a convex set, from however far."""

    box: bool = False
    """Whether each coordinate of a scenario belongs to a column and is held back on its own."""
    curved: bool = False
    """Whether U is far from proportional to scenarios, as on log scales: an even spread of these is none of points."""

    @cached_property
    def place(self) -> slice | list[int]:
        """The columns, as a slice where they are neighbours, which is much faster than a list."""
        span = range(self.columns[0], self.columns[-1] + 1)
        return slice(span.start, span.stop) if self.columns == list(span) else self.columns

    @abstractmethod
    def move(self, C: Array, S: Array) -> Array:
        """U: where the scenarios lead."""

    @abstractmethod
    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """The gradient by U turned into gradients by C (n, k) and by S (n, q)."""

    @abstractmethod
    def project(self, C: Array, S: Array) -> Array:
        """The nearest allowed scenarios."""

    def project_inside(self, C: Array, S: Array) -> Array:
        """The nearest allowed scenarios that lead to U inside the domain, so that nothing has to be clipped."""
        return self.project(C, S)

    @abstractmethod
    def scenario_of(self, C: Array, U: Array) -> Array:
        """Allowed scenarios that lead from C to U, or as near as possible."""

    @abstractmethod
    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """At most ``count`` different scenarios: the one that moves nothing, then extreme ones, then inner ones."""

    @abstractmethod
    def reach(self, C: Array) -> tuple[Array, Array]:
        """The lowest and the highest U, column by column (n, k) each; some more than that where it is not known."""

    def filling(self, C: Array, unit: Array) -> Array:
        """Scenarios (n, m, q) from rows of the unit cube (m, q): evenly spread between the lowest and the highest U."""
        low, high = self.reach(C)
        return self.near(C, low[:, None] + unit * (high - low)[:, None])

    def near(self, C: Array, U: Array) -> Array:
        """Allowed scenarios (n, m, q) that lead from C (n, k) near to goals U (n, m, k), as near as coordinates say."""
        n, m, k = U.shape
        return self.scenario_of(np.repeat(C, m, axis=0), U.reshape(-1, k)).reshape(n, m, self.width)

    def extents(self, C: Array) -> Array:
        """How far scenarios reach in each of their coordinates (n, q); the same for all of a set that is no box."""
        low, high = self.reach(C)
        if self.box:
            return high - low
        return np.repeat(np.maximum.reduce(high - low, axis=1, initial=0.0, keepdims=True), self.width, axis=1)

    def others(self, c: Array, s: Array, most: int) -> Array:
        """Scenarios that differ from this one, of a point with the coordinates c (k,), in something discrete (m, q)."""
        raise NotImplementedError


class RangeMover(Mover):
    """A mover of numbers in ranges, which stay where f can be evaluated."""

    _down: Array
    _up: Array
    """How far scenarios go in each column."""

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range]) -> None:
        self.columns, self.width = list(columns), len(columns)
        self._log = np.array([r.log for r in ranges])
        self._whole = np.array([isinstance(r, Integer) for r in ranges])
        self._low, high = np.array([r.ends for r in ranges]).T
        self._span = high - self._low
        # Where f can be evaluated: the ends in coordinates, and in the user's units.
        self._lower, self._upper = np.array([r.reachable for r in ranges]).T
        self._ends = tuple(self._values(np.array([self._lower, self._upper])))

    def _values(self, C: Array) -> Array:
        """x, in the user's units."""
        x = self._low + C * self._span
        if self._log.any():
            x[:, self._log] = np.exp(x[:, self._log])
        return np.asarray(x)

    def _coordinates(self, x: Array) -> Array:
        if self._log.any():
            x = x.copy()
            x[:, self._log] = np.log(x[:, self._log])
        return np.asarray((x - self._low) / self._span)

    def extent(self, C: Array) -> tuple[Array, Array]:
        """Between which x' a move could lead if f could be evaluated anywhere, in the user's units; x if unknown."""
        return self._values(C), self._values(C)

    def cut_off(self, C: Array) -> tuple[Array, Array, Array]:
        """The extent of a move from c (1, k), row by row, and by how much each end is beyond where f can be evaluated.

        Two rows, for the lower and the upper end (2, k): where it would lead, where it ends, and whether that is less.
        """
        wanted = np.vstack(self.extent(C))
        limits = np.array(self._ends)
        beyond = np.array([[1.0], [-1.0]]) * (limits - wanted) > 1e-9 * (limits[1] - limits[0])
        return wanted, limits, beyond

    def _target(self, U: Array) -> Array:
        """U in the user's units, also where it lies outside; on a log scale within its ends, as exp could overflow."""
        return self._values(np.where(self._log, np.clip(U, self._lower, self._upper), U))

    def reach(self, C: Array) -> tuple[Array, Array]:
        ends = np.broadcast_to(-self._down, C.shape), np.broadcast_to(self._up, C.shape)
        return self.move(C, ends[0]), self.move(C, ends[1])  # each column on its own: then a ball is a box

    def filling(self, C: Array, unit: Array) -> Array:
        """Each whole number as often as any other: what is between two of them would be rounded towards x."""
        if not self._whole.any():
            return super().filling(C, unit)
        low, high = self.reach(C)
        goals = self._values((low[:, None] + unit * (high - low)[:, None]).reshape(-1, self.width))
        first, last = (np.rint(self._values(end)[:, self._whole]) for end in (low, high))
        steps = np.floor(np.minimum(unit[:, self._whole], INSIDE) * (last - first + 1)[:, None])
        goals[:, self._whole] = (first[:, None] + steps).reshape(len(goals), -1)
        return self.near(C, self._coordinates(goals).reshape(len(C), len(unit), self.width))

    def near(self, C: Array, U: Array) -> Array:
        """On log scales also in the thin tips of a set, which projections in the user's units never find.

        Where a projection stays above its goal in some column, the point goes on towards the lowest one of the set, on
        a straight line in the user's units: a convex set has all of it.
        """
        S = super().near(C, U)
        if not (self.curved and self._log.any()) or self.width == 1:
            return S
        n, m, k = U.shape
        tips = np.stack([self._values(self._lowest(C, j)) for j in range(k)], axis=1)
        C, S, goal = np.repeat(C, m, axis=0), S.reshape(-1, k), U.reshape(-1, k)
        found = self.move(C, S)
        above = np.where(self._log, found - goal, 0.0)
        rows = np.flatnonzero(above.max(axis=1) > _MISSED)
        own = np.arange(len(rows)), np.argmax(above[rows], axis=1)
        at, tip, wanted = self._values(found[rows]), tips[rows // m, own[1]], self._target(goal[rows])
        share = np.clip((at[own] - wanted[own]) / divisor(at[own] - tip[own]), 0.0, 1.0)[:, None]
        S[rows] = self.scenario_of(C[rows], self._coordinates(at + share * (tip - at)))
        return S.reshape(n, m, k)

    def _lowest(self, C: Array, j: int, up: bool = False) -> Array:
        """U with the lowest (or the highest) coordinate j: projections of what lies beyond, again and again."""
        U = C
        for _ in range(_TURNS):
            U = U.copy()
            U[:, j] = self._upper[j] if up else self._lower[j]
            U = self.move(C, self.scenario_of(C, U))
        return U


def divisor(reach: Array) -> Array:
    """The reach, or 1 where it is 0, so that one can divide by it."""
    return np.where(reach > 0, reach, 1.0)
