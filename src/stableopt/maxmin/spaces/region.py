"""A space together with an uncertainty set: which decisions there are, and what an adversary can turn them into.

This is to continuous and mixed domains what `Listing` is to finite ones. `SpaceRegion` is the `Region` that the search
sees: movers stand side by side for the adversary. `SpaceTranslation` has decisions and points as a user sees them.

Notation
    X   (n, d)   decisions as rows of coordinates; x (d,) is one of them
    S   (n, q)   scenarios, the coordinates of all movers side by side
    Z   (n, P)   points: the columns of the decision, moved, then those of the parameter θ
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Mask, between, cartesian
from stableopt.base.values import ReadOnly
from stableopt.maxmin.solver import Choice, Row
from stableopt.maxmin.spaces.mover import Mover
from stableopt.maxmin.spaces.movers import MANY, ChoiceMover, joined, other_rows
from stableopt.maxmin.spaces.set_movers import movers_of
from stableopt.sets.domains import Domain, Points
from stableopt.sets.spaces import Point, Space, keys_of, space_of
from stableopt.sets.uncertainty import Estimate, UncertaintySet
from stableopt.sets.variables import Float, Integer, Range, Variable

_LEAST_REACH = 0.1
_CORNERS = 6  # whole numbers of which all ways to round are tried


@dataclass(frozen=True, eq=False)
class SpaceDecisions(ReadOnly):
    """The decisions of a space (or of a finite domain with a continuous θ), and the space of their points."""

    domain: Space | Domain
    uncertainty: UncertaintySet

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Space | Domain):
            raise TypeError(f"expected a domain such as Space(...), Grid(...) or Points(...), got {self.domain!r}")
        if not isinstance(self.uncertainty, UncertaintySet):
            raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {self.uncertainty!r}")

    @cached_property
    def space(self) -> Space:
        """Where decisions live."""
        return space_of(self.domain)

    @cached_property
    def theta(self) -> Space | None:
        """Where the unknown parameter lives, if there is one."""
        if self.uncertainty.parameters is None:
            return None
        theta = self.uncertainty.parameters.theta
        return theta if isinstance(theta, Space) else Space([Points(np.asarray(theta))])

    @cached_property
    def points_space(self) -> Space:
        """Where points live: the variables of the decision and those of the parameter."""
        return self.space if self.theta is None else self.space.joined(self.theta)

    @cached_property
    def dim(self) -> int:
        return self.space.dim

    @cached_property
    def count(self) -> float:
        return math.prod(math.inf if v.settings is None else len(v.settings) for v in self.space.parts)

    @cached_property
    def discrete(self) -> Mask:
        """Which coordinates of a decision take finitely many values (d,)."""
        return np.array([v.settings is not None for v in self.space.parts for _ in range(v.width)])

    @cached_property
    def _nominal_theta(self) -> Array:
        """The parameter in the point that a decision stands for: the estimate, or the middle (θ columns,)."""
        if self.theta is None:
            return np.empty(0)
        if isinstance(self.uncertainty.parameters, Estimate):
            names, values = self.theta.flat_names, self.uncertainty.parameters.estimate
            return self.theta.encode(values if names is None else dict(zip(names, values, strict=True)), "estimate")
        return np.concatenate([[0.5] if v.choices is None else v.choices[0] for v in self.theta.parts])

    def base(self, X: Array) -> Array:
        """The points that decisions stand for if they are not perturbed (n, P)."""
        Z = np.empty((len(X), self.dim + len(self._nominal_theta)))
        Z[:, : self.dim], Z[:, self.dim :] = X, self._nominal_theta
        return Z

    def decisions(self, count: int, seed: int) -> Array:
        return self.space.spread(count, seed)

    def clip(self, X: Array) -> Array:
        return np.where(self.discrete, X, between(X, 0.0, 1.0))

    def other_decisions(self, x: Array) -> Array:
        found = [np.empty((0, self.dim))]
        for v, columns in zip(self.space.parts, self.space.columns, strict=True):
            if v.settings is not None:
                part = slice(columns.start, columns.stop)
                others = other_rows(v.settings, int(np.argmin(np.abs(v.settings - x[part]).sum(axis=1))))
                found.append(_with_part(x, part, v.settings[others]))
        return np.vstack(found)

    def rounded(self, x: Array) -> Array:
        """All ways to round a few whole numbers; of very many, the nearest way and those that differ from it in one."""
        parts = zip(self.space.parts, self.space.columns, strict=True)
        grids = {c.start: v.settings[:, 0] for v, c in parts if isinstance(v, Range) and v.settings is not None}
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

    def decision_index(self, row: Array) -> Row:
        return tuple(self.space.encode(self.space.decode(row)).tolist())

    def point_index(self, row: Array) -> Row:
        return tuple(self.points_space.encode(self.points_space.decode(row)).tolist())


class SpaceMovers(SpaceDecisions):
    """The parts of the adversary, and what is known of all of them together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.movers  # a set that does not fit the space is refused here

    @cached_property
    def movers(self) -> list[Mover]:
        """The parts of the adversary, each with columns of its own."""
        return movers_of(self.uncertainty, self.space, self.theta)

    @cached_property
    def _placed(self) -> list[tuple[Mover, slice]]:
        """Each mover with its coordinates of a scenario; boxes of columns next to each other are one."""
        found: list[tuple[Mover, slice]] = []
        for mover in self.movers:
            start = found[-1][1].stop if found else 0
            both = joined(found[-1][0], mover) if found else None
            if both is not None:
                start = found.pop()[1].start
            placed = mover if both is None else both
            found.append((placed, slice(start, start + placed.width)))
        return found

    @cached_property
    def width(self) -> int:
        return sum(mover.width for mover in self.movers)

    @cached_property
    def exact(self) -> bool:
        """But for whole numbers."""
        return all(mover.exact for mover in self.movers)

    @cached_property
    def curved(self) -> bool:
        return any(mover.curved for mover in self.movers)

    @cached_property
    def moved(self) -> Mask:
        out = np.zeros(self.points_space.dim, dtype=bool)
        for mover in self.movers:
            out[mover.columns] = not isinstance(mover, ChoiceMover)
        return out


class SpaceRegion(SpaceMovers):
    """max over decisions d of min over points in A(d), for a space (or a finite domain with a continuous θ)."""

    @cached_property
    def few(self) -> bool:
        return all(v.settings is None or len(v.settings) <= MANY for v in self.space.parts)

    @cached_property
    def choices(self) -> float:
        return math.prod(float(len(v.settings)) for v in self.space.parts if v.settings is not None)

    @cached_property
    def relaxed(self) -> SpaceRegion | None:
        parts = [_continuous(v) for v in self.space.parts]
        whole = any(a is not b for a, b in zip(parts, self.space.parts, strict=True))
        return SpaceRegion(Space(parts, self.space.names), self.uncertainty) if whole else None

    @cached_property
    def _alone(self) -> Mover | None:
        """The only mover, if it moves all columns in their order: then nothing has to be put side by side."""
        whole = slice(0, self.points_space.dim)
        only = self._placed[0][0] if len(self._placed) == 1 else None
        return only if only is not None and only.place == whole and whole.stop else None

    def points(self, X: Array, S: Array) -> Array:
        if self._alone is not None:
            return self._alone.move(_whole(self, X), S)
        Z = self.base(X)
        for mover, part, C in _parts(self._placed, Z):
            Z[:, mover.place] = mover.move(C, S[:, part])
        return Z

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        if self._alone is not None and not self.discrete.any():
            by_point, by_scenario = self._alone.pull(_whole(self, X), S, G)
            return by_point[:, : self.dim], by_scenario
        by_point, by_scenario = G.copy(), np.zeros(S.shape)
        for mover, part, C in _parts(self._placed, self.base(X)):
            by_point[:, mover.place], by_scenario[:, part] = mover.pull(C, S[:, part], G[:, mover.place])
        by_decision = by_point[:, : self.dim]
        by_decision[:, self.discrete] = 0.0
        return by_decision, by_scenario

    def project(self, X: Array, S: Array) -> Array:
        if self._alone is not None:
            return self._alone.project(_whole(self, X), S)
        out = np.empty(S.shape)
        for mover, part, C in _parts(self._placed, self.base(X)):
            out[:, part] = mover.project(C, S[:, part])
        return out

    def project_inside(self, X: Array, S: Array) -> Array:
        if self._alone is not None:
            return self._alone.project_inside(_whole(self, X), S)
        out = np.empty(S.shape)
        for mover, part, C in _parts(self._placed, self.base(X)):
            out[:, part] = mover.project_inside(C, S[:, part])
        return out

    def scenario_of(self, X: Array, Z: Array) -> Array:
        if self._alone is not None:
            return self._alone.scenario_of(_whole(self, X), Z)
        out = np.empty((len(X), self.width))
        for mover, part, C in _parts(self._placed, self.base(X)):
            out[:, part] = mover.scenario_of(C, Z[:, mover.place])
        return out

    def scenarios(self, count: int, seed: int) -> Array:
        """A spread of scenarios: the one that moves nothing, then extreme ones; choices are combined with all."""
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
        moved = [part[np.arange(most) % len(part)] for part in moved]
        for part in moved[1:]:  # not the same corner of every mover at the same time
            part[1:] = part[1 + rng.permutation(most - 1)]
        both = cartesian([np.hstack([np.empty((most, 0)), *moved]), chosen])
        # Choices stand last here: each coordinate goes to its own place.
        last = [isinstance(m, ChoiceMover) for m in self.movers for _ in range(m.width)]
        return np.asarray(both[:, np.argsort(np.argsort(last, kind="stable"), kind="stable")])

    def reach(self, X: Array) -> tuple[Array, Array]:
        low = self.base(X)
        high = low.copy()
        for mover, _, C in _parts(self._placed, self.base(X)):
            low[:, mover.place], high[:, mover.place] = mover.reach(C)
        return low, high

    def pace(self, X: Array) -> Array:
        """By how far a decision can be moved."""
        if self._alone is not None:
            return _paces(self._alone.extents(_whole(self, X)))
        parts = [mover.extents(C) for mover, _, C in _parts(self._placed, self.base(X))]
        return _paces(np.concatenate([np.empty((len(X), 0)), *parts], axis=1))

    def filling(self, X: Array, unit: Array) -> Array:
        parts = [mover.filling(C, unit[:, part]) for mover, part, C in _parts(self._placed, self.base(X))]
        return np.concatenate([np.empty((len(X), len(unit), 0)), *parts], axis=2)

    def near(self, X: Array, Z: Array) -> Array:
        parts = [mover.near(C, Z[:, :, mover.place]) for mover, _, C in _parts(self._placed, self.base(X))]
        return np.concatenate([np.empty((*Z.shape[:2], 0)), *parts], axis=2)

    def other_scenarios(self, x: Array, s: Array, most: int) -> Array:
        placed = [(mover, part) for mover, part in self._placed if mover.discrete]
        if not placed:
            return np.empty((0, self.width))
        parts = [(mover, part, C[0]) for mover, part, C in _parts(placed, self.base(x[None]))]
        found = [_with_part(s, part, mover.others(c, s[part], most)) for mover, part, c in parts]
        return np.vstack([np.empty((0, self.width)), *found])


def _whole(region: SpaceDecisions, X: Array) -> Array:
    """The coordinates of unperturbed points: those of the decisions, where there is no parameter."""
    return X if region.theta is None else region.base(X)


def _parts(placed: Sequence[tuple[Mover, slice]], Z: Array) -> Iterator[tuple[Mover, slice, Array]]:
    """Each mover with its coordinates of a scenario and the values of its columns in unperturbed points."""
    return ((mover, part, Z[:, mover.place]) for mover, part in placed)


def _paces(reach: Array) -> Array:
    """Of coordinates that reach so far (n, q): 1 for those that reach at least half as far as the widest one.

    No reach counts as less than a tenth of the widest one: else a coordinate that can hardly move would hold all others
    back.
    """
    widest = np.maximum.reduce(reach, axis=1, initial=0.0, keepdims=True)
    shares = np.maximum(reach / np.maximum(widest, 1e-300), _LEAST_REACH)
    return np.where(shares < 0.5, shares**-2, 1.0)


def _continuous(v: Variable) -> Variable:
    """A range without steps."""
    if isinstance(v, Integer):
        return Float(v.low, v.high, v.log)
    return replace(v, step=None) if isinstance(v, Float) and v.step is not None else v


def _with_part(row: Array, part: slice, others: Array) -> Array:
    """Copies of a row with others in place of a part of it."""
    rows = np.tile(row, (len(others), 1))
    rows[:, part] = others
    return rows


class SpaceTranslation(NamedTuple):
    """Between the values of a user (dictionaries, or arrays without names) and the indices of a solver."""

    region: SpaceDecisions

    @property
    def names(self) -> dict[str, int] | None:
        """The keys of a point, if it has any, and how many columns each of them has."""
        space = self.region.points_space
        if space.names is None:
            return None
        widths = zip(space.names, space.parts, strict=True)
        return {n: v.width if isinstance(key, str) else 1 for key, v in widths for n in keys_of(key)}

    def decision(self, index: Row) -> Point:
        return self.region.space.decode(np.asarray(index, dtype=float))

    def point(self, index: Row) -> Point:
        return self.region.points_space.decode(np.asarray(index, dtype=float))

    def decision_index(self, value: Any) -> Row:
        row = self.region.space.encode(value, "decision")
        ranges = [v.choices is None for v in self.region.space.parts for _ in range(v.width)]
        if np.any(((row < 0) | (row > 1)) & ranges):
            raise ValueError(f"expected a decision within its ranges, got {value!r:.200}")
        return tuple(row.tolist())

    def point_index(self, value: Any) -> Row:
        return tuple(self.region.points_space.encode(value, "point").tolist())

    def decision_of(self, point: Row) -> Row:
        """The decision that a point on its own stands for: its columns of the decision, in their ranges, on steps."""
        row = self.region.clip(np.array([point[: self.region.dim]]))[0]
        return self.region.decision_index(self.region.space.settable(row, decision=True))

    def canonical(self, choice: Choice[Row]) -> Choice[Row]:
        """The choice with its rows as they come back from a user, and on steps; an error if they are none of here."""
        decision = _finite(choice.decision, self.region.dim)
        point = _finite(choice.point, self.region.points_space.dim)
        decision = self.region.space.settable(decision, decision=True)
        point = self.region.points_space.settable(point)
        return choice._replace(decision=self.region.decision_index(decision), point=self.region.point_index(point))


def _finite(index: Row, width: int) -> Array:
    try:
        row = np.asarray(index, dtype=float)
    except (TypeError, ValueError):
        row = np.empty(0)
    if row.shape != (width,) or not np.all(np.isfinite(row)):
        raise ValueError(f"expected {width} finite coordinates, got {index!r:.200}")
    return row
