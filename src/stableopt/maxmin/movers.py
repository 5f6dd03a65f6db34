"""How an adversary moves a point in a continuous space: by a scenario that says in which direction and how far.

A scenario is an offset in a fixed set, such as the unit ball, so that the same scenario makes sense for every decision
and moves along with it. Each mover changes columns of its own; `region` puts several side by side.

Notation
    C, U   (n, k)   coordinates of the mover's columns before and after the move
    S      (n, q)   scenarios, row by row
    G      (n, k)   the gradient of something by U
    x, x'           the same as C and U in the user's units
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, Indices, cartesian
from stableopt.maxmin.projections import into_ball, into_ball_within, into_l1_within
from stableopt.sets.perturbations import Within
from stableopt.sets.spaces import distinct
from stableopt.sets.variables import Integer, Range, Variable

_SWEEPS = 200  # of alternating projections
_NEAR = 4.0  # from further away, the projections would take very many sweeps
_FURTHER = 8  # steps in that direction instead
_TRIALS = 16  # points with which a set of the user's is tried
_INSIDE = 1 - 1e-10  # of the way to the end of a range, in coordinates


class Mover(ABC):
    """One part of what an adversary may do."""

    columns: list[int]
    """The columns of a point that it changes."""
    width: int
    """q, the number of coordinates of its scenarios."""
    discrete: bool = False
    """Whether a scenario has something discrete: then it has `others`."""
    exact: bool = True
    """Whether `settle` finds the nearest scenarios of a convex set, from however far."""

    @abstractmethod
    def move(self, C: Array, S: Array) -> Array:
        """U: where the scenarios lead."""

    @abstractmethod
    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """The gradient by U turned into gradients by C (n, k) and by S (n, q)."""

    @abstractmethod
    def project(self, C: Array, S: Array) -> Array:
        """The nearest allowed scenarios."""

    def settle(self, C: Array, S: Array) -> Array:
        """The nearest allowed scenarios that nothing else holds back: those that would leave the domain end in it."""
        return self.project(C, S)

    @abstractmethod
    def scenario_of(self, C: Array, U: Array) -> Array:
        """Allowed scenarios that lead from C to U, or as near as possible."""

    @abstractmethod
    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """At most ``count`` different scenarios; the first is "nobody moves", then come extreme ones."""

    def others(self, c: Array, s: Array) -> Array:
        """Scenarios that differ from this one, of a point with the coordinates c (k,), in something discrete (m, q)."""
        raise NotImplementedError


class _Continuous(Mover):
    """A mover of numbers in ranges, which stay where f can be evaluated."""

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range]) -> None:
        self.columns, self.width, self._ranges = list(columns), len(columns), list(ranges)
        self._log = np.array([r.log for r in ranges])
        self._low, high = np.array([r.ends for r in ranges]).T
        self._span = high - self._low
        self._lower, self._upper = np.array([r.reachable for r in ranges]).T

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

    def _target(self, U: Array) -> Array:
        """Where U wants to go in the user's units; a target far outside a log scale would be infinite there."""
        return self._values(np.where(self._log, np.clip(U, self._lower, self._upper), U))

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The smallest and largest values at which f can be evaluated."""
        ends = self._values(np.array([self._lower, self._upper]))
        return ends[0], ends[1]


class NormMover(_Continuous):
    """x' = x + (reach + fraction·|x|)·s with s in the unit ball of the l1, l2 or l∞ norm, clipped to the domain.

    A coordinate that is clipped moves less than s says, and never leaves the ball, so A(x) is all that can be reached.
    Whole numbers move by whole steps, rounded towards x. With ``scaled``, reach is in coordinates, not in user's units.
    """

    def __init__(
        self,
        columns: Sequence[int],
        ranges: Sequence[Range],
        order: float,
        reach: Array,
        fraction: Array | None = None,
        scaled: bool = False,
    ) -> None:
        super().__init__(columns, ranges)
        self.order, self._reach = order, np.asarray(reach, dtype=float)
        self._fraction = np.zeros(self.width) if fraction is None else np.asarray(fraction, dtype=float)
        self._whole = np.array([isinstance(r, Integer) for r in ranges])
        self.discrete = bool(self._whole.any())
        curved = self._log & ((self._reach > 0) | (self._fraction > 0)) & (not scaled)
        self._plain = not (curved.any() or self._fraction.any() or self.discrete)
        self._unit = self._reach if scaled else self._reach / self._span

    def move(self, C: Array, S: Array) -> Array:
        if self._plain:
            return np.clip(C + self._unit * S, self._lower, self._upper)
        x, moved, _ = self._moved(C, S)
        U = np.clip(self._coordinates(np.clip(moved, *self._ends)), self._lower, self._upper)
        return np.where(moved == x, C, U)  # who does not move stays exactly where he is

    def _moved(self, C: Array, S: Array) -> tuple[Array, Array, Array]:
        """x, x' before clipping, and the reach, all in the user's units."""
        x = self._values(C)
        reach = self._reaches(x)
        offset = reach * S
        offset[:, self._whole] = np.fix(offset[:, self._whole] * (1 + 1e-9))
        return x, x + offset, reach

    def _reaches(self, x: Array) -> Array:
        """How far each coordinate may move in the user's units."""
        return np.asarray(self._reach + self._fraction * np.abs(x))

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
        if self._plain:
            U = C + self._unit * S
            G = np.where(np.clip(U, self._lower, self._upper) == U, G, 0.0)
            return G, G * self._unit
        x, moved, reach = self._moved(C, S)
        stretch = 1 + self._fraction * np.sign(x) * S
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

    def settle(self, C: Array, S: Array) -> Array:
        """In the ball and in what the ends of the domain leave of it, just before a coordinate would be clipped."""
        return self._with_steps(C, S, self._leeway(C)) if self.discrete else self._nearest(S, self._leeway(C))

    def _nearest(self, S: Array, ends: tuple[Array, Array] | None = None) -> Array:
        """The nearest points of the unit ball, between ends if there are any, the lower <= 0 and the upper >= 0."""
        if self.order == math.inf:
            return (
                np.clip(S, -1.0, 1.0) if ends is None else np.clip(S, np.maximum(ends[0], -1), np.minimum(ends[1], 1))
            )
        if self.order == 2:
            return into_ball(S) if ends is None else into_ball_within(S, *ends)
        return into_l1_within(S) if ends is None else into_l1_within(S, *ends)

    def _with_steps(self, C: Array, S: Array, ends: tuple[Array, Array] | None = None) -> Array:
        """Whole numbers make the steps that S allows them; the others have what these leave of the ball."""
        out, others = np.empty(S.shape), ~self._whole
        out[:, self._whole] = T = self._steps(C, S[:, self._whole])
        room = np.ones((len(S), 1))
        if self.order != math.inf:
            used = np.linalg.norm(T, ord=self.order, axis=1, keepdims=True) ** self.order
            room = np.maximum(1 - used, 1e-24) ** (1 / self.order)
        left = None if ends is None else (ends[0][:, others] / room, ends[1][:, others] / room)
        out[:, others] = room * self._nearest(S[:, others] / room, left)
        return out

    def _steps(self, C: Array, S: Array) -> Array:
        """The scenarios of whole numbers at the steps they stand for, in the ball and in the domain."""
        x, whole = self._values(C), self._whole
        reach, ends = self._reaches(x)[:, whole], [np.rint(end - x)[:, whole] for end in self._ends]
        reach = np.where(reach > 0, reach, 1.0)

        def steps(S: Array, nearly: float) -> Array:
            made = np.fix(S * reach + np.sign(S) * nearly)
            return np.asarray(np.clip(made, *ends) / reach)

        T = steps(np.clip(S, -1.0, 1.0), 1e-3)
        inside = np.linalg.norm(T, ord=self.order, axis=1, keepdims=True) <= 1 + 1e-9
        return np.where(inside, T, steps(self._nearest(S), 1e-9))

    def _leeway(self, C: Array) -> tuple[Array, Array]:
        """The scenarios that lead to the ends of the domain; beyond an end a coordinate would have no slope."""
        if self._plain:
            return _INSIDE * (self._lower - C) / self._unit, _INSIDE * (self._upper - C) / self._unit
        x, (low, high) = self._values(C), self._ends
        reach = self._reaches(x)
        reach = np.where(reach > 0, reach, 1.0)
        # On a log scale a small share of the way may be far from its end.
        below, above = (8 * np.spacing(np.maximum(np.abs(x), np.abs(end))) for end in (low, high))
        return np.minimum(low + below - x, 0.0) / reach, np.maximum(high - above - x, 0.0) / reach

    def scenario_of(self, C: Array, U: Array) -> Array:
        x, target = (C, U) if self._plain else (self._values(C), self._target(U))
        reach = self._unit if self._plain else self._reaches(x)
        return self.project(C, np.where(reach > 0, (target - x) / np.where(reach > 0, reach, 1.0), 0.0))

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        q, box = self.width, self.order == math.inf or self.width == 1
        axes = np.vstack([np.eye(q), -np.eye(q)])
        corners = np.empty((0, q))
        if box:
            corners = cartesian([np.array([[-1.0], [1.0]])] * q) if 2**q <= max(4, count // 2) else corners
            if not len(corners):
                corners = rng.choice([-1.0, 1.0], size=(count // 2, q))
        if len(axes) + 1 > count:
            axes = axes[rng.permutation(len(axes))]
        inner = rng.standard_normal((count, q))
        if box:
            inner = rng.uniform(-1.0, 1.0, (count, q))
        else:
            lengths = np.linalg.norm(inner, ord=self.order, axis=1, keepdims=True)
            inner = inner / lengths * np.where(np.arange(count)[:, None] % 3 == 2, 0.5, 1.0)  # a third inside
        first, second = (corners, axes) if box and q > 1 else (axes, corners)
        return distinct(np.vstack([np.zeros((1, q)), first, second, inner]))[:count]

    def others(self, c: Array, s: Array) -> Array:
        reach, rows = self._reaches(self._values(c[None]))[0], []
        for j in np.flatnonzero(self._whole & (reach >= 1)).tolist():
            values = {-1.0, -0.5, 0.0, 0.5, 1.0, s[j] - 1 / reach[j], s[j] + 1 / reach[j]}
            for value in sorted(v for v in values if -1 <= v <= 1 and v != s[j]):
                rows.append(np.where(np.arange(len(s)) == j, value, s))
        if not rows:
            return np.empty((0, self.width))
        found = self.project(np.tile(c, (len(rows), 1)), np.array(rows))
        return np.asarray(found[(found != s).any(axis=1)])


class EllipsoidMover(_Continuous):
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


class OwnMover(_Continuous):
    """A set that the user describes by a membership test and a projection; a scenario is an offset of coordinates."""

    exact = False

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range], within: Within) -> None:
        super().__init__(columns, ranges)
        self._within = within
        C = np.random.default_rng(0).random((_TRIALS, self.width))
        x, z = self._values(np.full(C.shape, 0.5)), self._values(C)
        if not within.members(x, nearest := within.projected(x, z)).any():
            raise ValueError(
                f"expected contains(x, z) to accept what project(x, z) returns, got False for all of {_TRIALS} points "
                f"around x = {x[0].tolist()}, such as {nearest[0].tolist()}: one of the two is wrong"
            )

    def move(self, C: Array, S: Array) -> Array:
        x, low, high = self._values(C), *self._ends
        z = self._values(np.clip(C + S, self._lower, self._upper))
        for _ in range(8):  # into the set and into the domain by turns
            z = np.clip(self._within.projected(x, z), low, high)
            inside = self._within.members(x, z)
            if inside.all():
                return self._coordinates(z)
        home = np.clip(self._within.projected(x, x), low, high)
        for less in (1e-12, 1e-9, 1e-6):  # a projection that rounding puts just outside
            shorter = np.where(inside[:, None], z, z + less * (home - z))
            inside = inside | self._within.members(x, shorter)
            z = np.where(inside[:, None], shorter, z)
        return np.where(inside[:, None], self._coordinates(z), self._coordinates(home))

    def pull(self, C: Array, S: Array, G: Array) -> tuple[Array, Array]:
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


@dataclass
class ChoiceMover(Mover):
    """Any of finitely many rows; a scenario is the number of one, and number 0 stands for "nobody moves"."""

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

    def others(self, c: Array, s: Array) -> Array:
        m, own = len(self.rows), int(s[0])
        near = np.arange(m)
        if m > 64:  # the nearest ones, and some far away
            near = np.argsort(np.abs(self.rows - self.rows[own]).sum(axis=1), kind="stable")
            near = np.concatenate([near[:32], near[32 :: max(1, (m - 32) // 32)]])
        return np.asarray(near[near != own][:, None], dtype=float)


def choice_or_range(variable: Variable, columns: Sequence[int]) -> Mover:
    """The mover of a parameter that may take any value of a variable."""
    if variable.choices is not None:
        return ChoiceMover(list(columns), variable.choices)
    assert isinstance(variable, Range)
    return NormMover(columns, [variable], math.inf, np.array([0.5]), scaled=True)
