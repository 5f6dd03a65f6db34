"""The setting on a finite domain: decisions and points are numbered, and every max-min over them is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.base.values import ReadOnly
from stableopt.loop.measurements import Data, Round
from stableopt.loop.setting import FINE, Columns, Intersection, Setting
from stableopt.loop.views import View
from stableopt.maxmin.lists.listing import Listing
from stableopt.maxmin.lists.masked import MaskedMaxMin
from stableopt.maxmin.lists.solvers import ListedMaxMin
from stableopt.maxmin.solver import Hints
from stableopt.model.beliefs import Belief
from stableopt.sets.allowed import Rule, holds
from stableopt.sets.domains import Domain
from stableopt.sets.uncertainty import UncertaintySet


@dataclass(frozen=True, eq=False)
class ListedSetting(ReadOnly, Setting[int, Array]):
    """A finite domain with an uncertainty set. F is the array of its values on all points."""

    domain: Domain
    uncertainty: UncertaintySet
    seed: int = 0
    where: Rule | None = None
    _solver: ListedMaxMin = field(init=False, repr=False)
    takes_hints, least_initial = False, 0

    def __post_init__(self) -> None:
        """A set that does not fit the domain is refused here, as is a rule that allows nothing."""
        vars(self)["_solver"] = _masked(self.translation, self.where)

    @cached_property
    def translation(self) -> Listing:
        """Decisions and points by number."""
        return Listing(self.domain, self.uncertainty)

    @property
    def columns(self) -> Columns:
        width = sum(block.shape[1] for block in self.translation.blocks)
        spans = np.concatenate([np.ptp(block, axis=0) for block in self.translation.blocks])
        return Columns(width, (), width, tuple((spans / FINE).tolist()))

    def solver(self, t: int = 0, *, brief: bool = False) -> ListedMaxMin:
        return self._solver

    def inputs(self, points: Sequence[int], scaled: bool) -> Array:
        blocks = _seen(self.translation.blocks, scaled)
        numbers = np.unravel_index(np.asarray(points, dtype=np.intp), [len(block) for block in blocks])
        return np.hstack([block[i] for block, i in zip(blocks, numbers, strict=True)])

    def posterior(
        self, belief: Belief, rounds: Sequence[Round[int]], scaled: bool, before: View[int, Array] | None = None
    ) -> View[int, Array]:
        """The posterior on all points. What the belief was learned from enters at once, the rest one by one."""
        view = before
        if view is None:
            first = Data.of(rounds[: belief.t])
            view = belief.track(_seen(self.translation.blocks, scaled), first.points, first.y, first.noise)
        for r in rounds[view.t :]:
            view = view.update(r.point_index, r.y, r.noise)
        return view

    def intersection(self, lower: Array, upper: Array) -> Intersection:
        return Intersection(lower, upper)

    def avoids(self, decision: int, points: Sequence[int], measured: Sequence[int]) -> bool:
        return not np.isin(np.asarray(points), self.translation.solver.members(decision)).any()

    def is_taken(self, point: int, points: Sequence[int]) -> bool:
        return point in points

    def home(self, decision: int, F: Array, hints: Hints[int]) -> int:
        home = self.translation.home(decision)
        return int(home[np.argmin(F[home])])

    def peak(self, F: Array, hints: Hints[int]) -> int:
        homes = self.translation.homes if self.where is None else self._open[0]
        return int(np.argmax(F)) if len(homes) == len(F) else int(homes[np.argmax(F[homes])])

    def design(self, number: int) -> int:
        """Point ``number`` of a random order of all points that can be reached."""
        shuffled = self._open[1]
        return int(shuffled[number % len(shuffled)])

    @cached_property
    def _open(self) -> tuple[Indices, Indices]:
        """All points that can be reached, with a rule those that an allowed decision stands for; and shuffled."""
        found = self.translation.reachable
        if isinstance(self._solver, MaskedMaxMin):
            homes = [self.translation.home(d) for d in np.flatnonzero(self._solver.allowed).tolist()]
            found = np.unique(np.concatenate(homes))
        return found, found[np.random.default_rng([self.seed, 0]).permutation(len(found))]

    def random(self, rng: np.random.Generator) -> int:
        points = self._open[0]
        return int(points[rng.integers(len(points))])

    def candidates(
        self, decision: int | None = None, *, without: Sequence[int] = (), draw: int = 0, settable: bool = True
    ) -> Sequence[int]:
        """All points, of allowed decisions if there is a rule, or those of A(decision)."""
        points = self._open[0] if decision is None else self.translation.solver.members(decision)
        return np.setdiff1d(points, without) if len(without) else points  # type: ignore[return-value]


def _masked(listing: Listing, where: Rule | None) -> ListedMaxMin:
    """The solver for the decisions that are allowed."""
    if where is None:
        return listing.solver
    allowed = np.array([holds(where, listing.decision(d)) for d in range(listing.solver.n_decisions)])
    if not allowed.any():
        raise ValueError(f"expected where=... to allow some decisions, got none among {len(allowed)}")
    return MaskedMaxMin(listing.solver, allowed)


def _seen(blocks: Sequence[Array], scaled: bool) -> list[Array]:
    """All points as a product of blocks, as a model sees them."""
    if not scaled:
        return list(blocks)
    lows, spans = zip(*((b.min(axis=0), np.ptp(b, axis=0)) for b in blocks), strict=True)
    return [(b - low) / np.where(span > 0, span, 1.0) for b, low, span in zip(blocks, lows, spans, strict=True)]
