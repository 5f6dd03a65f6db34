"""How an adversary moves a point in a continuous space: in balls and rectangles, or to one of some choices.

Ellipsoids and sets of the user's, known by their projections only, are in `set_movers`. The notation is that of
`mover`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask, between, cartesian
from stableopt.maxmin.spaces.mover import INSIDE, Mover, RangeMover, divisor
from stableopt.maxmin.spaces.projections import into_ball, into_ball_within, into_l1_within
from stableopt.sets.spaces import distinct
from stableopt.sets.variables import Range

MANY = 64  # values of something discrete: with more, jumps lead to some of them only


class NormMover(RangeMover):
    """x' = x + (reach + fraction·|x|)·s with s in the unit ball of the l1, l2 or l∞ norm, clipped to the domain.

    A coordinate that is clipped moves less than s says, and never leaves the ball, so A(x) is all that can be reached.
    Whole numbers move by whole steps, rounded towards x. With ``scaled``, reach is in coordinates, not in user's units.
    A reach or fraction of two rows says how far it is down and up: then s is between −down and up, the larger one 1.
    """

    def __init__(
        self,
        columns: Sequence[int],
        ranges: Sequence[Range],
        order: float,
        reach: Array,
        fraction: Array | float = 0.0,
        scaled: bool = False,
    ) -> None:
        super().__init__(columns, ranges)
        self.ranges = list(ranges)
        ends, shares = (np.broadcast_to(part, (2, self.width)) for part in (reach, fraction))
        self.order, self.box = order, order == math.inf
        self._reach: Array = ends.max(axis=0)
        self._fraction: Array = shares.max(axis=0)
        own, most = np.where(self._reach > 0, ends, shares), np.where(self._reach > 0, self._reach, self._fraction)
        self._sides = self._down, self._up = tuple(np.where(most > 0, own / divisor(most), 1.0))
        self._scaled = scaled
        self.discrete = bool(self._whole.any())
        # Plain: an offset of coordinates that is proportional to s. Others go through the user's units.
        curved = self._log & ((self._reach > 0) | (self._fraction > 0)) & (not scaled)
        self.curved = bool(curved.any())
        self._plain = not (curved.any() or self._fraction.any() or self.discrete)
        self.plain_box = self.box and self._plain
        self._unit: Array = self._reach if scaled else self._reach / self._span

    def move(self, C: Array, S: Array) -> Array:
        if self._plain:
            return between(C + self._unit * S, self._lower, self._upper)
        x, moved, _ = self._moved(C, S)
        U = between(self._coordinates(between(moved, *self._ends)), self._lower, self._upper)
        return np.where(moved == x, C, U)  # without an offset C stays as it is: changing units would round it

    def _moved(self, C: Array, S: Array) -> tuple[Array, Array, Array]:
        """x, x' before clipping, and the reach, all in the user's units."""
        x = self._values(C)
        reach = self._reaches(x)
        offset = reach * S
        # A step that is whole but for rounding is whole; any other is rounded towards x.
        if self.discrete:
            offset[:, self._whole] = np.trunc(offset[:, self._whole] * (1 + 1e-9))
        return x, x + offset, reach

    def _reaches(self, x: Array) -> Array:
        return np.asarray(self._reach + self._fraction * np.abs(x))

    def extent(self, C: Array) -> tuple[Array, Array]:
        if self._scaled:  # any value of a range: there is nothing beyond
            return self._ends[0][None], self._ends[1][None]
        x = self._values(C)
        low, high = (self._reaches(x) * side for side in self._sides)
        low, high = (np.where(self._whole, np.fix(end * (1 + 1e-9)), end) for end in (low, high))
        return x - low, x + high

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        if self._plain:
            U = C + self._unit * S
            G = np.where(between(U, self._lower, self._upper) == U, G, 0.0)
            return G, G * self._unit
        x, moved, reach = self._moved(C, S)
        stretch = 1 + self._fraction * np.sign(x) * S  # dx'/dx, as the reach grows with |x|
        G = np.where((moved < self._ends[0]) | (moved > self._ends[1]), 0.0, G)
        moved = np.clip(moved, *self._ends)
        by_x, by_s = G * stretch, G * reach / self._span
        if self._log.any():
            by_x[:, self._log] *= x[:, self._log] / moved[:, self._log]
            by_s[:, self._log] /= moved[:, self._log]
        by_s[:, self._whole] = 0.0
        return by_x, by_s

    def project(self, C: Array, S: Array) -> Array:
        return self._with_steps(C, S) if self.discrete else self._nearest(S)

    def project_inside(self, C: Array, S: Array) -> Array:
        ends = self._ends_of_scenarios(C)
        return self._with_steps(C, S, ends) if self.discrete else self._nearest(S, ends)

    def _nearest(self, S: Array, ends: tuple[Array, Array] | None = None, of: Mask | slice = slice(None)) -> Array:
        """The nearest points of the unit ball, between ends if there are any, the lower <= 0 and the upper >= 0.

        of: the columns that S has.
        """
        if self.order == 2:
            return into_ball(S) if ends is None else into_ball_within(S, *ends)
        low, high = ends or (-np.inf, np.inf)
        if self.order == 1:
            return into_l1_within(S, low, high)
        return between(S, np.maximum(low, -self._down[of]), np.minimum(high, self._up[of]))

    def _with_steps(self, C: Array, S: Array, ends: tuple[Array, Array] | None = None) -> Array:
        """Whole numbers are projected first, onto whole steps; the others then have what is left of the ball."""
        if self._whole.all():
            return self._steps(C, S)
        out, others = np.empty(S.shape), ~self._whole
        out[:, self._whole] = T = self._steps(C, S[:, self._whole])
        left = None if ends is None else (ends[0][:, others], ends[1][:, others])
        if self.order == math.inf:
            out[:, others] = self._nearest(S[:, others], left, others)
            return out
        used = np.linalg.norm(T, ord=self.order, axis=1, keepdims=True) ** self.order
        room = np.maximum(1 - used, 1e-24) ** (1 / self.order)
        left = None if left is None else (left[0] / room, left[1] / room)
        out[:, others] = room * self._nearest(S[:, others] / room, left, others)
        return out

    def _steps(self, C: Array, S: Array) -> Array:
        """Scenarios of whole numbers, changed to those of the whole steps they stand for, in ball and domain."""
        x, whole = self._values(C), self._whole
        reach, ends = divisor(self._reaches(x))[:, whole], [np.rint(end - x)[:, whole] for end in self._ends]

        def steps(S: Array, nearly: float) -> Array:
            return between(np.trunc(S * reach + np.copysign(nearly, S)), *ends) / reach

        # Rounding alone may already lead into the ball. If not, project first and round then.
        T = steps(between(S, -self._down[whole], self._up[whole]), 1e-3)
        inside = np.linalg.norm(T, ord=self.order, axis=1, keepdims=True) <= 1 + 1e-9
        return T if inside.all() else np.where(inside, T, steps(self._nearest(S, None, whole), 1e-9))

    def _ends_of_scenarios(self, C: Array) -> tuple[Array, Array]:
        """The scenarios that lead just to the ends of the domain; beyond an end a coordinate would have no slope."""
        if self._plain:
            return INSIDE * (self._lower - C) / self._unit, INSIDE * (self._upper - C) / self._unit
        x, (low, high) = self._values(C), self._ends
        reach = divisor(self._reaches(x))
        # The end itself, less some rounding errors: on a log scale, a share of the way may be far from its end.
        below, above = (8 * np.spacing(np.maximum(np.abs(x), np.abs(end))) for end in (low, high))
        return np.minimum(low + below - x, 0.0) / reach, np.maximum(high - above - x, 0.0) / reach

    def scenario_of(self, C: Array, U: Array) -> Array:
        x, target = (C, U) if self._plain else (self._values(C), self._target(U))
        reach = self._unit if self._plain else self._reaches(x)
        return self.project(C, np.where(reach > 0, (target - x) / divisor(reach), 0.0))

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """Corners of a box come before its axes, as a function of several coordinates is lower there, most often."""
        q, box = self.width, self.order == math.inf or self.width == 1
        axes, corners = np.vstack([np.eye(q), -np.eye(q)]), np.empty((0, q))
        if box and 2**q <= max(4, count // 2):
            corners = cartesian([np.array([[-1.0], [1.0]])] * q)
        elif box:
            corners = rng.choice([-1.0, 1.0], size=(count // 2, q))
        if len(axes) + 1 > count:
            axes = axes[rng.permutation(len(axes))]
        inner = rng.standard_normal((count, q))
        if box:
            inner = rng.uniform(-1.0, 1.0, (count, q))
        else:
            inner /= np.linalg.norm(inner, ord=self.order, axis=1, keepdims=True)
            inner[2::3] *= 0.5  # a third inside
        first, second = (corners, axes) if q > 1 else (axes, corners)
        S = np.vstack([np.zeros((1, q)), first, second, inner])
        return distinct(np.where(S < 0, self._down * S, self._up * S))[:count]

    def others(self, c: Array, s: Array, most: int) -> Array:
        """One whole number at a time: a step up or down, half of the way or all of it, or back to x."""
        reach, rows = self._reaches(self._values(c[None]))[0], []
        for j in np.flatnonzero(self._whole & (reach >= 1)).tolist():
            values = {-1.0, -0.5, 0.0, 0.5, 1.0, s[j] - 1 / reach[j], s[j] + 1 / reach[j]}
            for value in sorted(v for v in values if -1 <= v <= 1 and v != s[j]):
                rows.append(np.where(np.arange(len(s)) == j, value, s))
        found = self.project(np.tile(c, (len(rows), 1)), np.array(rows).reshape(len(rows), self.width))
        return np.asarray(found[(found != s).any(axis=1)])


class IntervalMover(NormMover):
    """x'_j anywhere between x_j − r_j and x_j + r_j, r = reach + fraction·|x|, and in the domain: a box on log scales.

    A scenario is a share of the way to either end, in coordinates. On a log scale the way down may be a thin sliver in
    the user's units and most of it in coordinates: offsets in units of r would hardly ever lead there.
    """

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range], reach: Array, fraction: Array) -> None:
        super().__init__(columns, ranges, math.inf, reach, fraction)
        self.curved = False
        self._down = self._up = np.ones(self.width)  # a scenario is a share of the way to either side

    def _way(self, C: Array) -> tuple[Array, Array, Array, Array]:
        """How far it is down and up from C, in coordinates, and how both ends change with C."""
        x = self._values(C)
        ends, slopes = [], []
        for sign, limit, side in zip((-1, +1), self._ends, self._sides, strict=True):
            reach = side * self._reaches(x)
            inside = sign * (x + sign * reach - limit) < 0
            end = np.where(inside, x + sign * reach, limit)
            slope = 1 + sign * side * self._fraction * np.sign(x)
            slopes.append(np.where(inside, np.where(self._log, slope * x / end, slope), 0.0))
            ends.append(self._coordinates(end))
        return np.maximum(C - ends[0], 0.0), np.maximum(ends[1] - C, 0.0), slopes[0], slopes[1]

    def move(self, C: Array, S: Array) -> Array:
        down, up, _, _ = self._way(C)
        return np.clip(C + np.where(S > 0, up, down) * S, self._lower, self._upper)

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        down, up, low_slope, high_slope = self._way(C)
        upwards = (S > 0) | ((S == 0) & (up > 0) & ((G < 0) | (down == 0)))  # at x itself: where a descent can go
        by_x = G * (1 + np.abs(S) * (np.where(upwards, high_slope, low_slope) - 1))
        return by_x, G * np.where(upwards, up, down)

    def project_inside(self, C: Array, S: Array) -> Array:
        down, up, _, _ = self._way(C)
        return np.clip(S, np.where(down > 0, -1.0, 0.0), np.where(up > 0, 1.0, 0.0))

    def scenario_of(self, C: Array, U: Array) -> Array:
        down, up, _, _ = self._way(C)
        way = np.where(U > C, up, down)
        return self.project(C, np.where(way > 0, (U - C) / divisor(way), 0.0))


@dataclass
class ChoiceMover(Mover):
    """Any of finitely many rows; a scenario is the number of one. Number 0 is the nominal row, if there is one."""

    columns: list[int]
    rows: Array
    width: int = 1
    discrete: bool = True

    def move(self, C: Array, S: Array) -> Array:
        return np.asarray(self.rows[self._numbers(S)])

    def _numbers(self, S: Array) -> Indices:
        return np.clip(np.rint(S[:, 0]), 0, len(self.rows) - 1).astype(np.intp)

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        return np.zeros_like(G), np.zeros_like(S)

    def project(self, C: Array, S: Array) -> Array:
        return np.asarray(self._numbers(S)[:, None], dtype=float)

    def scenario_of(self, C: Array, U: Array) -> Array:
        away = np.abs(U[:, None, :] - self.rows[None]).sum(axis=2)
        return np.asarray(np.argmin(away, axis=1)[:, None], dtype=float)

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        m = len(self.rows)
        chosen = np.arange(m) if m <= count else np.append(0, 1 + np.sort(rng.permutation(m - 1)[: count - 1]))
        return np.asarray(chosen[:, None], dtype=float)

    def extents(self, C: Array) -> Array:
        return np.zeros((len(C), 1))  # nothing descends

    def reach(self, C: Array) -> tuple[Array, Array]:
        ends = self.rows.min(axis=0), self.rows.max(axis=0)
        return np.broadcast_to(ends[0], C.shape), np.broadcast_to(ends[1], C.shape)

    def filling(self, C: Array, unit: Array) -> Array:
        numbers = np.floor(np.minimum(unit, INSIDE) * len(self.rows))
        return np.broadcast_to(numbers, (len(C), *unit.shape))

    def others(self, c: Array, s: Array, most: int) -> Array:
        return np.asarray(other_rows(self.rows, int(s[0]), most)[:, None], dtype=float)


def joined(one: Mover, other: Mover) -> Mover | None:
    """One box that does what two of columns next to each other do side by side, in less time; None for other movers."""
    if not (type(one) is type(other) is NormMover and one.plain_box and other.plain_box):
        return None
    if other.columns[0] != one.columns[-1] + 1:
        return None
    columns, ranges = [*one.columns, *other.columns], [*one.ranges, *other.ranges]
    both = NormMover(columns, ranges, math.inf, np.append(one._unit, other._unit), scaled=True)
    # Their own, and not what is computed back from the reach: nothing is rounded.
    both._sides = both._down, both._up = tuple(map(np.append, one._sides, other._sides))
    return both


def other_rows(rows: Array, own: int, most: int = MANY) -> Indices:
    """Numbers of rows to jump to from one of them: all others, or of many the nearest ones and some far away."""
    near: Indices = np.arange(len(rows))
    if len(rows) > most:
        near, half = np.argsort(np.abs(rows - rows[own]).sum(axis=1), kind="stable"), most // 2
        near = np.concatenate([near[:half], near[half :: (len(rows) - half) // half]])
    return np.asarray(near[near != own])
