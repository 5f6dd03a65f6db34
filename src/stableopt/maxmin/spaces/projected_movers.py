"""Movers whose sets are known by their projections only: ellipsoids within the domain, and sets of the user's.

Their projections are iterative, so they are near to the nearest scenarios and not exactly these (`exact` is False).
The notation is that of `movers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.maxmin.spaces.movers import RangeMover
from stableopt.maxmin.spaces.projections import into_ball
from stableopt.sets.variables import Range

_SWEEPS = 200  # of alternating projections
_NEAR = 4.0  # from further away, the projections would take very many sweeps
_FURTHER = 8  # steps in that direction instead
_TRIALS = 16  # points with which a set of the user's is tried

Members = Callable[[Array, Array], Mask]
"""Which rows z (n, k) belong to the sets of the rows x (n, k), in the user's units."""
Projected = Callable[[Array, Array], Array]
"""The nearest members of the sets of the rows x (n, k) to the rows z (n, k)."""


class EllipsoidMover(RangeMover):
    """x' = x + R s with ‖s‖ ≤ 1 and x' in the domain, a convex set of scenarios; any other s means the nearest of them.

    So a descent slides along the ends of ranges, where a decision at such an end has its worst cases.
    """

    exact = False

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range], root: Array) -> None:
        super().__init__(columns, ranges)
        self._root, self._inverse = root, np.linalg.inv(root)

    def move(self, C: Array, S: Array) -> Array:
        x = self._values(C)
        moved = np.clip(x + self.project(C, S) @ self._root.T, *self._ends)
        length = np.linalg.norm((moved - x) @ self._inverse.T, axis=1, keepdims=True)
        moved = np.clip(x + (moved - x) / np.maximum(length, 1.0), *self._ends)  # rounding may lead out
        return np.clip(self._coordinates(moved), self._lower, self._upper)

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        x = self._values(C)
        wanted = x + S @ self._root.T
        moved = np.clip(wanted, *self._ends)
        free = np.abs(wanted - moved) <= 1e-7 * (self._ends[1] - self._ends[0])
        by_moved = np.where(free, G / self._span, 0.0)
        by_moved[:, self._log] /= moved[:, self._log]
        by_x = by_moved * self._span
        by_x[:, self._log] *= x[:, self._log]
        return by_x, by_moved @ self._root

    def project(self, C: Array, S: Array) -> Array:
        """The nearest allowed scenarios; from beyond _NEAR, one that goes as far as is allowed in that direction."""
        wanted, S = S, into_ball(S)
        x, (low, high) = self._values(C), self._ends
        moved, rounding = x + S @ self._root.T, 1e-12 * (high - low)
        rows = np.flatnonzero(np.any((moved < low - rounding) | (moved > high + rounding), axis=1))
        if not len(rows):
            return S
        lower, upper, wanted = low - x[rows], high - x[rows], wanted[rows]
        length = np.linalg.norm(wanted, axis=1, keepdims=True)
        s = self._into_both(wanted / np.maximum(1.0, length / _NEAR), lower, upper)
        far = np.flatnonzero(length[:, 0] > _NEAR)
        for _ in range(_FURTHER if len(far) else 0):
            s[far] = self._into_both(s[far] + wanted[far] / length[far], lower[far], upper[far])
        S[rows] = s
        return S

    def _into_both(self, s: Array, lower: Array, upper: Array) -> Array:
        """The nearest s with ‖s‖ ≤ 1 and lower ≤ R s ≤ upper, by Dykstra's alternating projections."""
        ball, slabs = np.zeros(s.shape), np.zeros((self.width, *s.shape))
        squares = np.sum(self._root**2, axis=1)
        for _ in range(_SWEEPS):
            before, last = s, slabs.copy()
            for j, (a, square) in enumerate(zip(self._root, squares, strict=True)):
                t = s + slabs[j]
                along = t @ a
                s = t + np.multiply.outer((np.clip(along, lower[:, j], upper[:, j]) - along) / square, a)
                slabs[j] = t - s
            t = s + ball
            s = into_ball(t)
            ball = t - s
            if max(np.abs(s - before).max(), np.abs(slabs - last).max()) < 1e-10:
                break
        return s

    def scenario_of(self, C: Array, U: Array) -> Array:
        return self.project(C, np.asarray(np.linalg.solve(self._root, (self._target(U) - self._values(C)).T).T, float))

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        axes = np.vstack([np.eye(self.width), -np.eye(self.width)])
        inner = rng.standard_normal((count, self.width))
        inner /= np.linalg.norm(inner, axis=1, keepdims=True) * np.where(np.arange(count)[:, None] % 3 == 2, 2.0, 1.0)
        return np.vstack([np.zeros((1, self.width)), axes, inner])[:count]


class OwnMover(RangeMover):
    """A set that the user describes by a membership test and a projection; a scenario is an offset of coordinates."""

    exact = False

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range], members: Members, projected: Projected) -> None:
        super().__init__(columns, ranges)
        self._members, self._projected = members, projected
        C = np.random.default_rng(0).random((_TRIALS, self.width))
        x, z = self._values(np.full(C.shape, 0.5)), self._values(C)
        if not members(x, nearest := projected(x, z)).any():
            raise ValueError(
                f"expected contains(x, z) to accept what project(x, z) returns, got False for all of {_TRIALS} points "
                f"around x = {x[0].tolist()}, such as {nearest[0].tolist()}: one of the two is wrong"
            )

    def move(self, C: Array, S: Array) -> Array:
        x, low, high = self._values(C), *self._ends
        z = self._values(np.clip(C + S, self._lower, self._upper))
        # By turns into the set and into the domain, until a point is in both.
        for _ in range(8):
            z = np.clip(self._projected(x, z), low, high)
            inside = self._members(x, z)
            if inside.all():
                return self._coordinates(z)
        home = np.clip(self._projected(x, x), low, high)
        # Rounding may put a projection just outside: then a little towards home helps. If not, home itself is taken.
        for less in (1e-12, 1e-9, 1e-6):
            shorter = np.where(inside[:, None], z, z + less * (home - z))
            inside = inside | self._members(x, shorter)
            z = np.where(inside[:, None], shorter, z)
        return np.where(inside[:, None], self._coordinates(z), self._coordinates(home))

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """As if the set moved along with x: a projection of the user's has no slope that we know."""
        return G, G

    def project(self, C: Array, S: Array) -> Array:
        return self.move(C, S) - C

    def scenario_of(self, C: Array, U: Array) -> Array:
        return self.project(C, U - C)

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """Far away in all directions, at several distances: projecting them gives the rest."""
        directions = rng.standard_normal((count, self.width))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = np.array([1.0, 0.03, 0.1, 0.3])[np.arange(count) % 4]
        return np.vstack([np.zeros((1, self.width)), lengths[:, None] * directions])[:count]
