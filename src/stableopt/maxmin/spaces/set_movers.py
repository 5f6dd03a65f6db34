"""Which movers stand for an uncertainty set on a space, and those of ellipsoids and of sets of the user's.

Only here the kind of a set is looked at, and a set that does not fit the space is refused, with what would fit. The
projections of a set of the user's lead near to the nearest scenarios, not exactly to these (`exact` is False). The
notation is that of `movers`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.spaces.mover import Mover, RangeMover
from stableopt.maxmin.spaces.movers import ChoiceMover, IntervalMover, NormMover
from stableopt.maxmin.spaces.projections import SlicedBall, into_ball
from stableopt.sets.own import RowwiseSet
from stableopt.sets.perturbations import Ellipsoid, NormBall, Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Estimate, Parameters, Perturbation, UncertaintySet
from stableopt.sets.variables import Integer, Range, Variable

_FAR = 1e6  # scenarios are of the order of 1: one this far away is projected onto an extreme one
_STEP = 1e-6  # of differences by x
_FURTHER = 1e-3  # of a scenario
_TRIALS = 16  # points with which a set of the user's is tried


class EllipsoidMover(RangeMover):
    """x' = x + R s with ‖s‖ ≤ 1 and x' in the domain, a convex set of scenarios; any other s means the nearest of them.

    So a descent slides along the ends of ranges, where a decision at such an end has its worst cases.
    """

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range], root: Array) -> None:
        super().__init__(columns, ranges)
        self.curved = bool(self._log.any())
        self._root, self._inverse, self._ball = root, np.linalg.inv(root), SlicedBall(root)

    def extent(self, C: Array) -> tuple[Array, Array]:
        x, reach = self._values(C), np.linalg.norm(self._root, axis=1)
        return x - reach, x + reach

    def reach(self, C: Array) -> tuple[Array, Array]:
        low, high = (self._coordinates(np.clip(end, *self._ends)) for end in self.extent(C))
        return low, high

    def _lowest(self, C: Array, j: int, up: bool = False) -> Array:
        """Where a far way along the j-th row of R ends: projections of scenarios know no other way down."""
        far = (_FAR if up else -_FAR) * self._root[j] / np.linalg.norm(self._root[j])
        return self.move(C, np.tile(far, (len(C), 1)))

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
        wanted, S = S, into_ball(S)
        x, (low, high) = self._values(C), self._ends
        moved, rounding = x + S @ self._root.T, 1e-12 * (high - low)
        rows = np.flatnonzero(np.any((moved < low - rounding) | (moved > high + rounding), axis=1))
        if len(rows):
            S[rows] = self._ball.nearest(wanted[rows], low - x[rows], high - x[rows])
        return S

    def scenario_of(self, C: Array, U: Array) -> Array:
        return self.project(C, np.asarray(np.linalg.solve(self._root, (self._target(U) - self._values(C)).T).T, float))

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        axes = np.vstack([np.eye(self.width), -np.eye(self.width)])
        inner = rng.standard_normal((count, self.width))
        inner /= np.linalg.norm(inner, axis=1, keepdims=True)
        inner[2::3] *= 0.5  # a third inside
        return np.vstack([np.zeros((1, self.width)), axes, inner])[:count]


class OwnMover(RangeMover):
    """A set that the user describes by a membership test and a projection; a scenario is an offset of coordinates."""

    exact = False

    def __init__(self, columns: Sequence[int], ranges: Sequence[Range], own: RowwiseSet) -> None:
        super().__init__(columns, ranges)
        self._members, self._projected = own.members, own.projected
        self.curved = True
        C = np.random.default_rng(0).random((_TRIALS, self.width))
        x, z = self._values(np.full(C.shape, 0.5)), self._values(C)
        if not own.members(x, nearest := own.projected(x, z)).any():
            raise ValueError(
                f"expected contains(x, z) to accept what project(x, z) returns, got False for all of {_TRIALS} points "
                f"around x = {x[0].tolist()}, such as {nearest[0].tolist()}: one of the two is wrong"
            )

    def reach(self, C: Array) -> tuple[Array, Array]:
        low, high = (np.column_stack([self._lowest(C, j, up)[:, j] for j in range(self.width)]) for up in (False, True))
        return np.minimum(low, high), np.maximum(low, high)

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
        """By x along the way that the point goes with it, taken by differences: at its edge, a set leads it on.

        On a log scale, ±5 around 100 is less than ±5 around 10, and only the user's functions know which of the two
        stays the same, an amount or a factor.
        """
        further = S * (1 + _FURTHER)  # at the edge a bit beyond it, so that the edge holds the point on both sides
        U, by_x = self.move(C, further), np.empty(G.shape)
        for j in range(self.width):
            step = np.where(C[:, j] > 0.5, -_STEP, _STEP)
            beside = C.copy()
            beside[:, j] += step
            by_x[:, j] = np.einsum("ij,ij->i", self.move(beside, further) - U, G) / step
        return by_x, G

    def project(self, C: Array, S: Array) -> Array:
        return self.move(C, S) - C

    def scenario_of(self, C: Array, U: Array) -> Array:
        return self.project(C, U - C)

    def spread(self, count: int, rng: np.random.Generator) -> Array:
        """Far away in all directions, at several distances: projecting them gives the rest.

        Of a long set most of these are led to its sides, so its tips along the axes come first.
        """
        axes = np.vstack([np.eye(self.width), -np.eye(self.width)])
        directions = rng.standard_normal((count, self.width))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = np.array([1.0, 0.03, 0.1, 0.3])[np.arange(count) % 4]
        return np.vstack([np.zeros((1, self.width)), axes, lengths[:, None] * directions])[:count]


def movers_of(uncertainty: UncertaintySet, space: Space, theta: Space | None) -> list[Mover]:
    """The parts of the adversary: those that perturb a decision in ``space``, then those that choose a parameter."""
    parameters = uncertainty.parameters
    if not uncertainty.perturbations and parameters is None:
        raise TypeError(f"expected a perturbation or parameters on a space, got {uncertainty!r}")
    movers = [mover for p in uncertainty.perturbations for mover in _perturbing(p, space)]
    moved = [space.labels[c] for mover in movers for c in mover.columns]
    if len(set(moved)) < len(moved):
        raise ValueError(f"expected perturbations with columns of their own, got the columns {moved}")
    if theta is None or parameters is None:
        return movers
    choosing = _choosing(parameters, theta)
    for mover in choosing:
        mover.columns = [space.dim + c for c in mover.columns]
    return movers + choosing


def _choosing(parameters: Parameters | Estimate, theta: Space) -> list[Mover]:
    """The movers of a parameter."""
    if isinstance(parameters, Parameters):
        return [_any_value(v, list(columns)) for v, columns in zip(theta.parts, theta.columns, strict=True)]
    if isinstance(parameters.theta, Space):
        return _perturbing(parameters.within, theta)
    # The estimate comes first: number 0 is the scenario that changes nothing.
    order = np.append(parameters.nominal, np.setdiff1d(parameters.allowed, parameters.nominal))
    return [ChoiceMover(list(range(theta.dim)), np.asarray(theta.parts[0].choices)[order])]


def _any_value(variable: Variable, columns: list[int]) -> Mover:
    """The mover of a parameter that may take any value of a variable."""
    if variable.choices is not None:
        return ChoiceMover(columns, variable.choices)
    assert isinstance(variable, Range)
    return NormMover(columns, [variable], math.inf, np.array([0.5]), scaled=True)


def _perturbing(perturbation: Perturbation, space: Space) -> list[Mover]:
    """The movers of the numbers of a space that a perturbation may change."""
    if perturbation == Rectangle(0.0):  # moves nothing, also in a space without numbers
        return []
    columns = columns_of(perturbation, space)
    owners = {c[0]: v for v, c in zip(space.parts, space.columns, strict=True)}
    ranges = [v for c in columns if isinstance(v := owners[c], Range)]
    k, labels = len(columns), [space.labels[c] for c in columns]
    whole = [label for label, v in zip(labels, ranges, strict=True) if isinstance(v, Integer)]
    if isinstance(perturbation, Ellipsoid | RowwiseSet) and whole:
        kind = type(perturbation).__name__
        remedy = "use Rectangle for them, or name the floats: columns=[...]"
        raise ValueError(f"expected floats for {kind}, got the integers {whole}: {remedy}")
    if isinstance(perturbation, RowwiseSet):
        return [OwnMover(columns, ranges, perturbation)]
    own = replace(perturbation, columns=None)  # type: ignore[type-var]
    if isinstance(own, Ellipsoid):
        _check_widths(np.linalg.norm(own.root(k), axis=1), ranges, labels)
        return [EllipsoidMover(columns, ranges, own.root(k))]
    if not isinstance(own, NormBall | Relative):
        raise TypeError(
            f"expected Ball, Rectangle, Relative, Ellipsoid, Within or an OwnSet on a space, got {type(own).__name__}: "
            "a distance of your own needs a projection (Within), changes of categories a finite domain (Points)"
        )
    ends, nothing = np.array(own.ends(k)), np.zeros((2, k))  # down and up
    reach, fraction = (ends, nothing) if isinstance(own, NormBall) else (nothing, ends)
    largest = np.array([max(abs(v.low), abs(v.high)) for v in ranges])
    _check_widths(reach.max(axis=0) + fraction.max(axis=0) * largest, ranges, labels)
    free = np.flatnonzero(ends.max(axis=0) > 0).tolist()  # without the coordinates that cannot change
    order = own.order if isinstance(own, NormBall) else math.inf
    # A box is one interval for each number: whole ones, and those on log scales, have movers of their own.
    box = order == math.inf or len(free) == 1
    stepped = [i for i in free if box and isinstance(ranges[i], Integer)]
    curved = [i for i in free if box and ranges[i].log and i not in stepped]
    plain = [i for i in free if i not in (*stepped, *curved)]
    movers: list[Mover] = []
    for some in (plain, stepped):
        if some:
            kept = [columns[i] for i in some], [ranges[i] for i in some]
            movers.append(NormMover(*kept, order, reach[:, some], fraction[:, some]))
    if curved:
        kept = [columns[i] for i in curved], [ranges[i] for i in curved]
        movers.append(IntervalMover(*kept, reach[:, curved], fraction[:, curved]))
    return movers


def _check_widths(reach: Array, ranges: Sequence[Range], labels: Sequence[str]) -> None:
    """A tolerance that is wider than the range itself is in another unit, most likely; so is part of a whole number."""
    for r, v, label in zip(reach, ranges, labels, strict=True):
        if r > v.high - v.low:
            raise ValueError(
                f"expected a tolerance no wider than its range, got ±{r:g} for {label!r} "
                f"from {v.low:g} to {v.high:g}: is the unit right?"
            )
        if isinstance(v, Integer) and 0 < r < 1:
            warnings.warn(
                f"a tolerance of ±{r:g} reaches less than one step of the whole numbers {label!r}: it changes nothing",
                stacklevel=2,
            )


def columns_of(perturbation: Perturbation, space: Space) -> list[int]:
    """The columns that may change: those named, or all numbers."""
    if perturbation.columns is None:
        if not space.numeric:
            raise ValueError(f"expected floats or integers for {perturbation} to change, got {space}")
        return space.numeric
    columns = [space.column(c) for c in perturbation.columns]
    if len(set(columns)) < len(columns):
        raise ValueError(f"expected distinct columns, got {list(perturbation.columns)}: some are the same")
    wrong = [space.labels[c] for c in columns if c not in space.numeric]
    if wrong:
        raise ValueError(
            f"expected a tolerance on floats and integers only, got one on {wrong}: a category or a candidate cannot "
            "be a little off"
        )
    return columns
