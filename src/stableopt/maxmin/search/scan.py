"""The scan: many decisions against few scenarios, then fewer decisions against more.

A minimum over few scenarios is an upper bound on the worst case. So a decision that looks bad is bad, and only those
that still look good are worth more evaluations.

Notation: X (n, d) decisions, S (n, m, q) scenarios that were tried for each, V (n, m) their values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.search.batches import highest, lowest, norms, spread_out
from stableopt.maxmin.search.efforts import Plan
from stableopt.maxmin.search.front import Front
from stableopt.maxmin.search.inner import InnerSearch
from stableopt.maxmin.search.oracle import FAR, Oracle

_SHARE = 0.2  # of the budget, for the whole scan
_FIRST = {1: 17, 2: 13, 3: 7}  # scenarios for all decisions, by q; in more dimensions a few scenarios tell little
_ALTERNATIVES = 6  # discrete ones for all decisions, which no gradient tells apart
_CENTRES = 24  # of decisions around the best ones
_FRONT = 16  # decisions that climb, with a budget of 20,000


class _Tried(NamedTuple):
    """Decisions, the scenarios that were tried for each, and the values."""

    X: Array
    S: Array
    V: Array

    def rows(self, rows: Indices) -> _Tried:
        return _Tried(*(part[rows] for part in self))

    def below(self, other: _Tried) -> _Tried:
        """These decisions, then others, with the same number of scenarios each."""
        return _Tried(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def beside(self, S: Array, V: Array) -> _Tried:
        """The same decisions with more scenarios."""
        return _Tried(self.X, np.concatenate([self.S, S], axis=1), np.column_stack([self.V, V]))

    def best(self, count: float) -> _Tried:
        """The decisions that look best so far."""
        return self.rows(highest(self.V.min(axis=1), int(count)))


class Scan:
    """Space-filling decisions of a region, and the scenarios against which they are tried; made once for all F."""

    def __init__(self, plan: Plan, spread: Array, seed: int) -> None:
        region = plan.region
        self.plan, self.spread, self.seed = plan, spread, seed
        x = region.decisions(1, seed)[0]
        other = region.other_scenarios(x, spread[0])
        self.first = np.concatenate([spread[: _FIRST.get(region.width, 1)], other[:_ALTERNATIVES]])
        # A climb does not change discrete coordinates, so with these more decisions are needed to begin with.
        filling = 0.28 if len(region.other_decisions(x)) else 0.07
        self.filling = region.decisions(max(8, int(filling * plan.budget / len(self.first) ** 0.5)), seed)

    def front(self, inner: InnerSearch, starts: Array) -> Front:
        """The best of all decisions and of ``starts`` (k, d), spread out, with their lowest scenarios."""
        oracle, region, share = inner.oracle, self.plan.region, _SHARE * self.plan.budget
        tried = self._against(oracle, np.concatenate([self.filling, starts]), self.first)
        count = int(0.1 * share / (len(self.first) ** 0.5 if region.width > 1 else 1))
        centres = tried.X[spread_out(tried.X, tried.V.min(axis=1), _CENTRES)]
        tried = tried.below(self._against(oracle, self._jittered(oracle, centres, count), self.first))
        if region.width:
            inner.low.add(region.points(tried.X, tried.S[:, 0]), tried.V[:, 0], 32)
            tried = self._against_extremes(inner, tried.best(max(4, share / 20)))
            tried = tried.best(max(3, share / 60))
            more = self._against(oracle, tried.X, self.spread[1:13], inner.low.near(tried.X, 8))
            tried = tried.beside(more.S, more.V)
        tried = tried.rows(spread_out(tried.X, tried.V.min(axis=1), self.plan.decisions(_FRONT)))
        lowest_few = lowest(tried.V, self.plan.active)
        return Front(inner, tried.X, np.take_along_axis(tried.S, lowest_few[:, :, None], axis=1))

    @staticmethod
    def _against(oracle: Oracle, X: Array, rows: Array, also: Array | None = None) -> _Tried:
        """The decisions with all these scenarios (m, q), and with some of their own (n, k, q)."""
        S = np.broadcast_to(rows, (len(X), *rows.shape))
        S = oracle.project(X, S if also is None else np.concatenate([S, also], axis=1))
        return _Tried(X, S, oracle.values(X, S))

    @staticmethod
    def _against_extremes(inner: InnerSearch, tried: _Tried) -> _Tried:
        """With the extreme scenario down the slope from the lowest one, and with known low points nearby."""
        oracle, X = inner.oracle, tried.X
        low = np.take_along_axis(tried.S, lowest(tried.V, 1)[:, :, None], axis=1)
        h = oracle.gradients(X, low).h
        more = np.concatenate([oracle.project(X, low - FAR * h / norms(h)), inner.low.near(X, 3)], axis=1)
        return tried.beside(more, oracle.values(X, more))

    def _jittered(self, oracle: Oracle, X: Array, count: int) -> Array:
        """About this many decisions around the given ones, at distances of all orders up to the box."""
        rng = np.random.default_rng([self.seed, 1])
        X = np.repeat(X, -(-count // len(X)), axis=0)
        away = 10.0 ** rng.uniform(-2, -0.5, (len(X), 1)) * rng.standard_normal(X.shape)
        return oracle.region.clip(X + np.where(oracle.movable, away, 0.0))
