"""A space together with an uncertainty set: which decisions there are, and what an adversary can turn them into.

This is to continuous and mixed domains what `setting` is to finite ones: the only place that looks at the kind of set.
It puts movers side by side for the solver of `continuous` and translates rows of coordinates into what a user sees.

Notation
    X   (n, d)   decisions as rows of coordinates
    S   (n, q)   scenarios, the coordinates of all movers side by side
    Z   (n, P)   points: the columns of the decision, moved, then those of the parameter θ
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Mask, cartesian
from stableopt.base.values import ReadOnly
from stableopt.maxmin.movers import ChoiceMover, EllipsoidMover, Mover, NormMover, OwnMover, choice_or_range
from stableopt.sets.domains import Domain, Points
from stableopt.sets.perturbations import Ellipsoid, NormBall, Rectangle, Relative, Within
from stableopt.sets.spaces import Point, Space, space_of
from stableopt.sets.uncertainty import Estimate, Parameters, Perturbation, UncertaintySet
from stableopt.sets.variables import Float, Integer, Range

_CORNERS = 6  # whole numbers of which all ways to round are tried


@dataclass(frozen=True, eq=False)
class SpaceRegion(ReadOnly):
    """max over decisions d of min over points in A(d), for a space (or a finite domain with a continuous θ)."""

    domain: Space | Domain
    uncertainty: UncertaintySet

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Space | Domain):
            raise TypeError(f"expected a domain such as Space(...), Grid(...) or Points(...), got {self.domain!r}")
        if not isinstance(self.uncertainty, UncertaintySet):
            raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {self.uncertainty!r}")
        _ = self.movers  # a set that does not fit the space is refused here

    @cached_property
    def space(self) -> Space:
        """Where decisions live."""
        return space_of(self.domain)

    @cached_property
    def theta(self) -> Space | None:
        """Where the unknown parameter lives, if there is one."""
        if self._parameters is None:
            return None
        theta = self._parameters.theta
        return theta if isinstance(theta, Space) else Space([Points(np.asarray(theta))])

    @cached_property
    def points_space(self) -> Space:
        """Where points live: the variables of the decision and those of the parameter."""
        return self.space if self.theta is None else self.space.joined(self.theta)

    @property
    def dim(self) -> int:
        """d, the number of coordinates of a decision."""
        return self.space.dim

    @cached_property
    def width(self) -> int:
        """q, the number of coordinates of a scenario."""
        return sum(mover.width for mover in self.movers)

    @cached_property
    def movers(self) -> list[Mover]:
        """The parts of the adversary, each with columns of its own."""
        movers = [mover for p in self._perturbations for mover in _movers(p, self.space)]
        moved = [self.space.labels[c] for mover in movers for c in mover.columns]
        if len(set(moved)) < len(moved):
            raise ValueError(f"expected perturbations with columns of their own, got the columns {moved}")
        if self.theta is None or self._parameters is None:
            return movers
        if isinstance(self._parameters, Parameters):
            parts = zip(self.theta.parts, self.theta.columns, strict=True)
            return movers + [choice_or_range(v, [self.dim + c for c in columns]) for v, columns in parts]
        if isinstance(self._parameters.theta, Space):
            around = _movers(self._parameters.within, self.theta)
            for mover in around:
                mover.columns = [self.dim + c for c in mover.columns]
            return movers + around
        rows = np.asarray(self.theta.parts[0].choices)
        order = np.append(self._parameters.nominal, np.setdiff1d(self._parameters.allowed, self._parameters.nominal))
        return [*movers, ChoiceMover([self.dim + c for c in range(self.theta.dim)], rows[order])]

    @cached_property
    def _centre(self) -> Array:
        """The parameter if nobody moves it: the estimate, or the middle (θ columns,)."""
        if self.theta is None:
            return np.empty(0)
        if isinstance(self._parameters, Estimate):
            names, values = self.theta.flat_names, self._parameters.estimate
            return self.theta.encode(values if names is None else dict(zip(names, values, strict=True)), "estimate")
        middle = [[0.5] if v.choices is None else v.choices[0] for v in self.theta.parts]
        return np.concatenate(middle)

    @cached_property
    def _slices(self) -> list[slice]:
        """Which coordinates of a scenario belong to each mover."""
        ends = np.cumsum([0, *(mover.width for mover in self.movers)]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    def base(self, X: Array) -> Array:
        """The points that decisions stand for if nobody perturbs them (n, P)."""
        if not len(self._centre):
            return X.copy()
        return np.hstack([X, np.tile(self._centre, (len(X), 1))])

    def points(self, X: Array, S: Array) -> Array:
        """Where scenarios lead from decisions, row by row."""
        Z = self.base(X)
        for mover, part in zip(self.movers, self._slices, strict=True):
            Z[:, mover.columns] = mover.move(Z[:, mover.columns], S[:, part])
        return Z

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """Gradients by points turned into gradients by decisions and by scenarios."""
        Z, by_point, by_scenario = self.base(X), G.copy(), np.zeros(S.shape)
        for mover, part in zip(self.movers, self._slices, strict=True):
            C = Z[:, mover.columns]
            by_point[:, mover.columns], by_scenario[:, part] = mover.pull(C, S[:, part], G[:, mover.columns])
        by_decision = by_point[:, : self.dim]
        by_decision[:, self._discrete] = 0.0
        return by_decision, by_scenario

    def project(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios, row by row."""
        Z, out = self.base(X), np.empty(S.shape)
        for mover, part in zip(self.movers, self._slices, strict=True):
            out[:, part] = mover.project(Z[:, mover.columns], S[:, part])
        return out

    def settle(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios that the ends of the domain do not hold back, row by row."""
        Z, out = self.base(X), np.empty(S.shape)
        for mover, part in zip(self.movers, self._slices, strict=True):
            out[:, part] = mover.settle(Z[:, mover.columns], S[:, part])
        return out

    @cached_property
    def exact(self) -> bool:
        """Whether `settle` finds the nearest scenarios (but for whole numbers): then steps of any length lead down."""
        return all(mover.exact for mover in self.movers)

    def scenario_of(self, X: Array, Z: Array) -> Array:
        """Allowed scenarios that turn decisions into points, or as near as possible, row by row."""
        base, out = self.base(X), np.empty((len(X), self.width))
        for mover, part in zip(self.movers, self._slices, strict=True):
            out[:, part] = mover.scenario_of(base[:, mover.columns], Z[:, mover.columns])
        return out

    @cached_property
    def count(self) -> float:
        """How many decisions there are."""
        return math.prod(math.inf if v.choices is None else len(v.choices) for v in self.space.parts)

    def decisions(self, count: int, seed: int) -> Array:
        """Evenly spread decisions, or all of them."""
        return self.space.spread(count, seed)

    def scenarios(self, count: int, seed: int) -> Array:
        """A spread of scenarios: first nobody moves, then extreme ones; finite parameters are combined with all."""
        rng = np.random.default_rng([seed, count])
        choices = [m for m in self.movers if isinstance(m, ChoiceMover)]
        all_fit = math.prod(len(m.rows) for m in choices) <= count
        rows = [m.spread(len(m.rows) if all_fit else math.ceil(count ** (1 / len(choices))), rng) for m in choices]
        chosen = cartesian(rows) if rows else np.empty((1, 0))
        if len(chosen) > count:
            chosen = chosen[np.append(0, 1 + np.sort(rng.permutation(len(chosen) - 1)[: count - 1]))]
        each = max(1, count // len(chosen))
        moved = [m.spread(each, rng) for m in self.movers if not isinstance(m, ChoiceMover)]
        most = max((len(part) for part in moved), default=1)
        moved = [part[np.arange(most) % len(part)] if len(part) < most else part for part in moved]
        for part in moved[1:]:  # not the same corner of every mover at the same time
            part[1:] = part[1 + rng.permutation(most - 1)]
        both = cartesian([np.hstack([np.empty((most, 0)), *moved]), chosen])
        return np.asarray(both[:, self._order])

    @cached_property
    def _order(self) -> list[int]:
        """Where each coordinate of a scenario stands if those of choices come last."""
        last = [isinstance(m, ChoiceMover) for m in self.movers for _ in range(m.width)]
        return np.argsort(np.argsort(last, kind="stable"), kind="stable").tolist()  # type: ignore[no-any-return]

    def clip(self, X: Array) -> Array:
        """The nearest decisions: ranges are clipped, discrete coordinates are left as they are."""
        return np.where(self._discrete, X, np.clip(X, 0.0, 1.0))

    def other_decisions(self, x: Array) -> Array:
        """Decisions that differ from this one in one discrete variable (m, d)."""
        found = [np.empty((0, self.dim))]
        for v, columns in zip(self.space.parts, self.space.columns, strict=True):
            if v.choices is None:
                continue
            part = slice(columns.start, columns.stop)
            own = int(np.argmin(np.abs(v.choices - x[part]).sum(axis=1)))
            near = ChoiceMover([], v.choices).others(x[part], np.array([float(own)]))[:, 0].astype(int)
            rows = np.tile(x, (len(near), 1))
            rows[:, part] = v.choices[near]
            found.append(rows)
        return np.vstack(found)

    @cached_property
    def relaxed(self) -> SpaceRegion | None:
        """The same with floats in place of the whole numbers of a decision, which then have a slope; None without."""
        parts = [Float(v.low, v.high, v.log) if isinstance(v, Integer) else v for v in self.space.parts]
        whole = any(isinstance(v, Integer) for v in self.space.parts)
        return SpaceRegion(Space(parts, self.space.names), self.uncertainty) if whole else None

    def rounded(self, x: Array) -> Array:
        """The decisions around one of the relaxed region; of very many, the nearest and those next to it (m, d)."""
        parts = zip(self.space.parts, self.space.columns, strict=True)
        grids = {columns.start: v.choices[:, 0] for v, columns in parts if isinstance(v, Integer)}
        whole, k = list(grids), len(grids)
        above = [np.clip(np.searchsorted(grid, x[j]), 1, len(grid) - 1) for j, grid in grids.items()]
        ends = np.array([grid[i - 1 : i + 1] for i, grid in zip(above, grids.values(), strict=True)])
        if k <= _CORNERS:
            ways = cartesian([np.array([[0], [1]])] * k)
        else:
            nearest = np.argmin(np.abs(ends - x[whole, None]), axis=1)
            ways = nearest ^ np.vstack([np.zeros(k, dtype=int), np.eye(k, dtype=int)])
        X = np.tile(x, (len(ways), 1))
        X[:, whole] = ends[np.arange(k), ways]
        return X

    def other_scenarios(self, x: Array, s: Array) -> Array:
        """Scenarios of a decision that differ from this one in something discrete (m, q)."""
        found = [np.empty((0, self.width))]
        for mover, part in self._jumping:
            others = mover.others(self.base(x[None])[0, mover.columns], s[part])
            rows = np.tile(s, (len(others), 1))
            rows[:, part] = others
            found.append(rows)
        return np.vstack(found)

    @cached_property
    def _jumping(self) -> list[tuple[Mover, slice]]:
        return [(m, part) for m, part in zip(self.movers, self._slices, strict=True) if m.discrete]

    @cached_property
    def _discrete(self) -> Mask:
        return np.array([v.choices is not None for v in self.space.parts for _ in range(v.width)])

    def decision(self, row: ArrayLike) -> Point:
        """What a decision looks like to the user."""
        return self.space.decode(np.asarray(row, dtype=float))

    def point(self, row: ArrayLike) -> Point:
        """What a point looks like to the user."""
        return self.points_space.decode(np.asarray(row, dtype=float))

    def locate_decision(self, value: Any) -> Array:
        """The row of a decision."""
        row = self.space.encode(value, "decision")
        if np.any(((row < 0) | (row > 1)) & ~self._discrete):
            raise ValueError(f"expected a decision within its ranges, got {value!r:.200}")
        return row

    def locate_point(self, value: Any) -> Array:
        """The row of a point."""
        return self.points_space.encode(value, "point")

    def decision_index(self, row):
        return tuple(self.space.encode(self.space.decode(row)).tolist())

    def point_index(self, row):
        return tuple(self.points_space.encode(self.points_space.decode(row)).tolist())

    def decision_of(self, point: Array) -> Array:
        """The decision that a point on its own stands for."""
        return self.space.encode(self.space.decode(self.clip(point[None, : self.dim])[0]))

    @property
    def _parameters(self) -> Parameters | Estimate | None:
        return self.uncertainty.parameters

    @cached_property
    def _perturbations(self) -> list[Perturbation]:
        if not self.uncertainty.perturbations and self._parameters is None:
            raise TypeError(f"expected a perturbation or parameters on a space, got {self.uncertainty!r}")
        return self.uncertainty.perturbations


def _movers(perturbation: Perturbation, space: Space) -> list[Mover]:
    """What a perturbation does to the numbers of a space."""
    if perturbation == Rectangle(0.0):  # nobody moves, whatever there is to move
        return []
    columns = _columns(perturbation, space)
    owners = {c[0]: v for v, c in zip(space.parts, space.columns, strict=True)}
    ranges = [v for c in columns if isinstance(v := owners[c], Range)]
    own = replace(perturbation, columns=None)  # type: ignore[type-var]
    k = len(columns)
    labels = [space.labels[c] for c in columns]
    if isinstance(own, NormBall):
        reach = own.reach(k)
        _check_widths(reach, ranges, labels)
        return _norm(columns, ranges, own.order, reach, None)
    if isinstance(own, Relative):
        largest = np.array([max(abs(v.low), abs(v.high)) for v in ranges])
        _check_widths(own.fraction(k) * largest, ranges, labels)
        return _norm(columns, ranges, math.inf, np.zeros(k), own.fraction(k))
    whole = [label for label, v in zip(labels, ranges, strict=True) if isinstance(v, Integer)]
    if isinstance(own, Ellipsoid | Within) and whole:
        raise ValueError(f"expected floats for {type(own).__name__}, got the integers {whole}: use Rectangle for them")
    if isinstance(own, Ellipsoid):
        _check_widths(np.linalg.norm(own.root(k), axis=1), ranges, labels)
        return [EllipsoidMover(columns, ranges, own.root(k))]
    if isinstance(own, Within):
        if own.project is None:
            raise ValueError("expected a projection for a continuous domain: Within(contains, project)")
        return [OwnMover(columns, ranges, own)]
    raise TypeError(
        f"expected Ball, Rectangle, Relative, Ellipsoid or Within on a space, got {type(own).__name__}: a distance of "
        "your own needs a projection (Within), changes of categories a finite domain (Points)"
    )


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


def _norm(
    columns: Sequence[int], ranges: Sequence[Range], order: float, reach: Array, fraction: Array | None
) -> list[Mover]:
    """A norm ball without the coordinates that it cannot change, if there are others."""
    free = [i for i in range(len(columns)) if reach[i] > 0 or (fraction is not None and fraction[i] > 0)]
    part = None if fraction is None else fraction[free]
    if not free:
        return []
    return [NormMover([columns[i] for i in free], [ranges[i] for i in free], order, reach[free], part)]


def _columns(perturbation: Perturbation, space: Space) -> list[int]:
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
