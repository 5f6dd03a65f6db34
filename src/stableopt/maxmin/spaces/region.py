"""A space together with an uncertainty set: which decisions there are, and what an adversary can turn them into.

This is to continuous and mixed domains what `setting` is to finite ones. `SpaceRegion` is the `Region` that the search
in `continuous` sees: `decisions` has its decisions, and here movers stand side by side for the adversary.

Notation
    X   (n, d)   decisions as rows of coordinates
    S   (n, q)   scenarios, the coordinates of all movers side by side
    Z   (n, P)   points: the columns of the decision, moved, then those of the parameter θ
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, cartesian
from stableopt.maxmin.spaces.decisions import SpaceDecisions
from stableopt.maxmin.spaces.movers import ChoiceMover, Mover
from stableopt.maxmin.spaces.set_movers import movers_of
from stableopt.sets.spaces import Space
from stableopt.sets.variables import Float, Integer


@dataclass(frozen=True, eq=False)
class SpaceRegion(SpaceDecisions):
    """max over decisions d of min over points in A(d), for a space (or a finite domain with a continuous θ)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.movers  # a set that does not fit the space is refused here

    @cached_property
    def movers(self) -> list[Mover]:
        """The parts of the adversary, each with columns of its own."""
        return movers_of(self.uncertainty, self.space, self.theta)

    @cached_property
    def _slices(self) -> list[slice]:
        """Which coordinates of a scenario belong to each mover."""
        ends = np.cumsum([0, *(mover.width for mover in self.movers)]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    def _parts(self) -> Iterator[tuple[Mover, slice]]:
        """Each mover with its coordinates of a scenario."""
        return zip(self.movers, self._slices, strict=True)

    @cached_property
    def width(self) -> int:
        """q, the number of coordinates of a scenario."""
        return sum(mover.width for mover in self.movers)

    @cached_property
    def exact(self) -> bool:
        """Whether `project_inside` finds the nearest scenarios (but for whole numbers) from however far."""
        return all(mover.exact for mover in self.movers)

    @cached_property
    def relaxed(self) -> SpaceRegion | None:
        """The same with floats in place of the whole numbers of a decision, which then have a slope; None without."""
        parts = [Float(v.low, v.high, v.log) if isinstance(v, Integer) else v for v in self.space.parts]
        whole = any(isinstance(v, Integer) for v in self.space.parts)
        return SpaceRegion(Space(parts, self.space.names), self.uncertainty) if whole else None

    def points(self, X: Array, S: Array) -> Array:
        """The points that scenarios make of decisions, row by row."""
        Z = self.base(X)
        for mover, part in self._parts():
            Z[:, mover.columns] = mover.move(Z[:, mover.columns], S[:, part])
        return Z

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """Gradients by points turned into gradients by decisions and by scenarios."""
        Z, by_point, by_scenario = self.base(X), G.copy(), np.zeros(S.shape)
        for mover, part in self._parts():
            C = Z[:, mover.columns]
            by_point[:, mover.columns], by_scenario[:, part] = mover.pull(C, S[:, part], G[:, mover.columns])
        by_decision = by_point[:, : self.dim]
        by_decision[:, self.discrete] = 0.0
        return by_decision, by_scenario

    def project(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios, row by row."""
        Z, out = self.base(X), np.empty(S.shape)
        for mover, part in self._parts():
            out[:, part] = mover.project(Z[:, mover.columns], S[:, part])
        return out

    def project_inside(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios that lead to points inside the domain before anything is clipped."""
        Z, out = self.base(X), np.empty(S.shape)
        for mover, part in self._parts():
            out[:, part] = mover.project_inside(Z[:, mover.columns], S[:, part])
        return out

    def scenario_of(self, X: Array, Z: Array) -> Array:
        """Allowed scenarios that turn decisions into points, or as near as possible, row by row."""
        base, out = self.base(X), np.empty((len(X), self.width))
        for mover, part in self._parts():
            out[:, part] = mover.scenario_of(base[:, mover.columns], Z[:, mover.columns])
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
        moved = [part[np.arange(most) % len(part)] if len(part) < most else part for part in moved]
        for part in moved[1:]:  # not the same corner of every mover at the same time
            part[1:] = part[1 + rng.permutation(most - 1)]
        both = cartesian([np.hstack([np.empty((most, 0)), *moved]), chosen])
        return np.asarray(both[:, _with_choices_last(self.movers)])

    def other_scenarios(self, x: Array, s: Array) -> Array:
        """Scenarios of a decision that differ from this one in something discrete (m, q)."""
        found = [np.empty((0, self.width))]
        for mover, part in self._parts():
            if not mover.discrete:
                continue
            others = mover.others(self.base(x[None])[0, mover.columns], s[part])
            rows = np.tile(s, (len(others), 1))
            rows[:, part] = others
            found.append(rows)
        return np.vstack(found)


def _with_choices_last(movers: Sequence[Mover]) -> list[int]:
    """Where each coordinate of a scenario stands if those of choices come last."""
    last = [isinstance(m, ChoiceMover) for m in movers for _ in range(m.width)]
    return np.argsort(np.argsort(last, kind="stable"), kind="stable").tolist()  # type: ignore[no-any-return]
