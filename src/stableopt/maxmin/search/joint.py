"""The search for several functions at once, of which the adversary chooses one: see `attacked`.

The worst case of a decision is sought for each function on its own, with the same effort as for one alone: so none of
them is overlooked since others are lower. Everything else is the search of `continuous`, in the attacked region.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.attacked import Attacked, Merit, Part, numbered, with_every_number
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.exchange import Candidate
from stableopt.maxmin.search.inner import InnerSearch
from stableopt.maxmin.search.looking import Minima
from stableopt.maxmin.search.numbered import Numbered, NumberedInner, NumberedOracle, for_each_number
from stableopt.maxmin.search.oracle import Oracle
from stableopt.maxmin.search.plan import Budget, Effort, Plan
from stableopt.maxmin.search.steps import lowest, taken
from stableopt.maxmin.solver import Region, Smooth


class ScaledOracle(Oracle):
    """A function on a region; what is much or little for it is known before it was evaluated."""

    def __init__(self, region: Region, F: Smooth, budget: Budget, scale: float) -> None:
        super().__init__(region, F, budget)
        self._scale = scale

    @property
    def scale(self) -> float:
        return self._scale


class JointInnerSearch(InnerSearch):
    """min over scenarios of several functions: for each of them by a search of its own, all in one batch."""

    def __init__(self, oracle: Oracle, plan: Plan, spread: Array, each: NumberedInner) -> None:
        super().__init__(oracle, plan, spread, np.empty((0, spread.shape[1])))
        self.each, self.parts = each, each.parts

    def remember(self, Z: Array, v: Array) -> None:
        self.each.remember(Z, v)

    def near_low_points(self, X: Array, count: int) -> Array:
        each = [numbered(part.near_low_points(X, count), k) for k, part in enumerate(self.parts)]
        return np.concatenate(each, axis=1)

    def minima(self, X: Array, effort: Effort, also: Array | None = None) -> Minima:
        count = len(self.parts)
        own = None if also is None else np.tile(also[..., :-1], (count, 1, 1))
        found = self.each.minima(for_each_number(X, count), effort, own)
        V, S, T = (np.concatenate(np.split(part, count), axis=1) for part in found)
        S = numbered(S, np.repeat(np.arange(count), found.V.shape[1]))
        order = lowest(V, V.shape[1])
        return Minima(taken(V, order), taken(S, order), taken(T, order))


class JointMaxMin(ContinuousMaxMin):
    """max over decisions of min over scenarios and functions, for so many functions on the region of another search."""

    def __init__(self, alone: ContinuousMaxMin, functions: int, budget: int) -> None:
        super().__init__(Attacked(alone.region, functions), budget, alone.seed, alone.least, brief=alone.plan.brief)
        scan, self.alone, self.plan = self.scan, alone, replace(self.plan, patient=True)
        self.spread = scan.spread = with_every_number(alone.spread, functions)
        scan.first = with_every_number(alone.scan.first, functions)
        if alone.relaxed is not None and self.relaxed is not None:
            self.relaxed = JointMaxMin(alone.relaxed, functions, budget)

    def search(self, F: Merit, starts: Array, known: Array) -> Candidate:
        """The best decision; ``starts`` (k, d) may be good ones, ``known`` (t, P) may be points of worst cases."""
        return self._search(F, starts, known)

    def inner(self, F: Smooth, known: Array) -> JointInnerSearch:
        """The adversary for a merit, with a budget that nobody has touched."""
        assert isinstance(F, Merit)
        budget, alone = Budget(self.budget, self.least), self.alone
        oracles = [ScaledOracle(alone.region, Part(F, k), budget, scale) for k, scale in enumerate(F.scales)]
        each = NumberedInner(NumberedOracle(Numbered(alone.region), oracles), alone.plan, alone.spread, known)
        oracle = ScaledOracle(self.region, F, budget, F.scales[0])
        return JointInnerSearch(oracle, self.plan, self.spread, each)


@lru_cache(maxsize=16)
def joint(alone: ContinuousMaxMin, functions: int) -> JointMaxMin:
    """The search for so many functions at once; what it prepares is the same for all of them."""
    return JointMaxMin(alone, functions, alone.budget)
