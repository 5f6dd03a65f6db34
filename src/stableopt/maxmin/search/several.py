"""The best decisions for several functions at once, which takes much less time than one search after the other.

Their scans share all points, their fronts climb in one batch, and while one waits for a worst case, so do the others:
then these are found together. Each function has a budget and an answer of its own, as if it were alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.attacked import numbered
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.exchange import Candidate, polish
from stableopt.maxmin.search.looking import Look, Minima, in_turn, padded
from stableopt.maxmin.search.numbered import Numbered, NumberedInner, NumberedOracle
from stableopt.maxmin.search.oracle import Oracle
from stableopt.maxmin.search.plan import Budget
from stableopt.maxmin.solver import Smooth


class Several:
    """The adversaries of several functions in one region."""

    def __init__(self, search: ContinuousMaxMin, functions: Sequence[Smooth], known: Array) -> None:
        oracles = [Oracle(search.region, F, Budget(search.budget, search.least)) for F in functions]
        self.search = search
        self.inner = NumberedInner(NumberedOracle(Numbered(search.region), oracles), search.plan, search.spread, known)

    def minima(self, X: Array) -> list[Minima]:
        """The worst cases of the same decisions for every function."""
        look = Look(X, self.search.plan.answer(len(X)))
        answers = self._answers(dict.fromkeys(range(len(self.inner.parts)), look))
        return [answers[k] for k in range(len(answers))]

    def best(self, starts: Array, *, enough: bool = False) -> list[Candidate]:
        """The best decision for each function; ``starts`` (k, d) may be good ones, or are ``enough``."""
        fronts = self.search.climbed(self.inner, starts, enough=enough)
        pairs = zip(self.inner.parts, (front.plain for front in fronts), strict=True)
        return in_turn(self._answers, [self.search.finished(part, front) for part, front in pairs])

    def relaxed(self, starts: Array) -> list[Array]:
        """Decisions (d,) from which those of another region are made by rounding."""
        fronts = [front.plain for front in self.search.climbed(self.inner, starts)]
        if self.search.plan.brief:
            return [front.best for front in fronts]
        works = [polish(part, front) for part, front in zip(self.inner.parts, fronts, strict=True)]
        return [found.x for found in in_turn(self._answers, works)]

    def _answers(self, asked: dict[int, Look]) -> dict[int, Minima]:
        """The worst cases that several works wait for; looks of the same effort are one batch."""
        found: dict[int, Minima] = {}
        for effort in dict.fromkeys((look.effort, look.also is None) for look in asked.values()):
            looks = {k: look for k, look in asked.items() if (look.effort, look.also is None) == effort}
            X = np.concatenate([numbered(look.X, k) for k, look in looks.items()])
            most = max(0 if look.also is None else look.also.shape[1] for look in looks.values())
            also = [padded(look.also, most) for look in looks.values() if look.also is not None]
            minima = self.inner.minima(X, effort[0], np.concatenate(also) if also else None)
            ends = np.cumsum([len(look.X) for look in looks.values()])[:-1]
            parts = zip(*(np.split(part, ends) for part in minima), strict=True)
            found |= {k: Minima(V, S, T[..., :-1]) for k, (V, S, T) in zip(looks, parts, strict=True)}
        return found


def best_of_each(search: ContinuousMaxMin, functions: Sequence[Smooth], starts: Array, known: Array) -> list[Candidate]:
    """The best decision for each function; ``starts`` (k, d) may be good ones, ``known`` (t, P) worst cases."""
    starts = search.region.clip(starts)
    if search.relaxed is not None:
        inside = Several(search.relaxed, functions, known)
        rounded = [search.region.rounded(x) for x in inside.relaxed(search.relaxed.region.clip(starts))]
        starts = np.vstack([starts, *rounded])
    return Several(search, functions, known).best(starts)
