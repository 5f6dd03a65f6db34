"""The scan and the front: many decisions against few scenarios, then fewer against more, then all up together.

A minimum over few scenarios is an upper bound on the worst case. So a decision that looks bad is bad, and only those
that still look good are worth more evaluations: they become the front. There every decision climbs on the planes of
its active scenarios (`proximal_step`), and these get worse by steps of their own. All decisions go together, so that F
is evaluated in large batches; the hopeless ones are dropped on the way.

Notation
    X (n, d)        decisions
    S (n, m, q)     scenarios of each of them: those tried by the scan, the active ones of the front
    v, g, h, T      values (n, m), gradients by the decision (n, m, d) and by the scenario (n, m, q), targets (n, m, P)
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.search.inner import Descent, InnerSearch
from stableopt.maxmin.search.oracle import FAR, Evaluated, Oracle, movable, paired, projected
from stableopt.maxmin.search.plan import COMBINED, QUICK, Plan
from stableopt.maxmin.search.steps import Planes, highest, lowest, norms, proximal_step, spread_out, taken
from stableopt.maxmin.solver import Region

_SHARE = 0.2  # of the budget, for the whole scan
_FIRST = {1: 17, 2: 13, 3: 7}  # scenarios for all decisions, by q; in more dimensions a few scenarios tell little
_ALTERNATIVES = 6  # discrete ones for all decisions, which no gradient tells apart
_FILLING = 24  # scenarios that fill the set, for the decisions that still look good
_CURVED = 16  # and for all decisions, where an even spread of scenarios is none of points
_CENTRES = 24  # of decisions around the best ones
_CORNERS = 64  # decisions that are tried in the nearest corner, and on the nearest end of one range
_BESIDE, _JUMPS = 32, 2  # decisions whose discrete neighbours are tried, and how often
_EVERYWHERE = 2  # low points that are tried on every decision
_LOW = 32  # of the points that were seen, to be remembered
_BATCHES = 4  # of decisions that are tried with more
SAME = 0.01  # two decisions that are as close as this are on the same hill


class Bounded(NamedTuple):
    """Decisions (n, d), and upper bounds (n,) on their worst cases."""

    X: Array
    above: Array


class Front:
    """Decisions on their way up, with their active scenarios: ``at`` has S, v, g, h and T of these."""

    def __init__(self, inner: InnerSearch, X: Array, S: Array, scanned: Bounded) -> None:
        self.inner, self.oracle, self.region, self.X = inner, inner.oracle, inner.region, X
        self.scanned = scanned
        self.at = self.oracle.gradients(X, S)
        self.length = np.full(len(X), 0.1)
        self.weights = np.full(self.at.v.shape, 1.0 / S.shape[1])

    def ascend(self) -> None:
        """All decisions climb together; half of each group is left after each leg."""
        least, budget = self.inner.plan.decisions(4), self.oracle.budget
        between, last = self.inner.plan.legs
        descent = Descent(self.oracle, *paired(self.X, self.at.S))
        descent.advance(3, 1e-4)
        self.at = Evaluated(*(new.reshape(old.shape) for old, new in zip(self.at, descent.found, strict=True)))
        while len(self.X) > least * len(groups := self.oracle.groups(self.X)) and budget.left(0.6) > 0:
            self._leg(between)
            self._keep(np.concatenate([self._best(rows, max(least, len(rows) // 2)) for rows in groups]))
        self._leg(last)

    def _leg(self, steps: int) -> None:
        """Some steps of all decisions, and a look for worse: where that leads below the start of the leg, back there.

        A climb on few scenarios may leave a good decision for one with a worse case that nobody has looked at.
        """
        X, before = self.X.copy(), Evaluated(*(part.copy() for part in self.at))
        for _ in range(steps):
            if self.oracle.budget.left(0.6) > 0:
                self._rise()
        worst = self.inner.minima(self.X, QUICK, self.at.S).S[:, 0]
        self._activate(worst)
        fell = np.flatnonzero(self.at.v.min(axis=1) < before.v.min(axis=1))
        if len(fell):
            self.X[fell] = X[fell]
            self.at.put(fell, before, fell)
            self.length[fell] *= 0.35
            self._activate(worst[fell], fell)

    def _best(self, rows: Indices, count: int) -> Indices:
        """Of these rows, those with the highest values, but those on the same hill as a higher one come last.

        At most half of them share all their discrete values: those of one choice may be many, and slow to become fewer.
        """
        order = rows[highest(self.at.v[rows].min(axis=1), len(rows))]
        near = np.abs(self.X[order, None] - self.X[None, order]).max(axis=2, initial=0.0) < SAME
        again = np.argmax(near, axis=1) < np.arange(len(order))
        order = np.concatenate([order[~again], order[again]])
        fixed = self.X[order][:, ~self.oracle.movable]
        before = np.tril((fixed[:, None] == fixed[None]).all(axis=2), -1).sum(axis=1)  # higher ones of the same choice
        many = before >= (count + 1) // 2
        return np.concatenate([order[~many], order[many]])[:count]

    def _keep(self, rows: Indices) -> None:
        """Go on with these decisions only."""
        self.X, self.length, self.weights = self.X[rows], self.length[rows], self.weights[rows]
        self.at = Evaluated(*(part[rows] for part in self.at))

    def _rise(self) -> None:
        """One step of every decision; where the smallest value falls, only its new worst case is kept."""
        planes = Planes(self.at.v, self.at.g)
        p, _, self.weights = proximal_step(self.region, self.X, planes, self.length, self.weights)
        X = self.region.clip(self.X + p)
        trial = self.oracle.gradients(X, self.oracle.project(X, self.at.S))
        if self.region.width:
            self._worsen(X, trial)
        better = trial.v.min(axis=1) > self.at.v.min(axis=1)
        self.X[better] = X[better]
        self.at.put(better, trial, better)
        self.length = np.where(better, np.minimum(1.6 * self.length, 0.5), 0.35 * self.length)
        fell = np.flatnonzero(~better)
        if len(fell) and self.region.width:
            self._activate(trial.S[fell, np.argmin(trial.v[fell], axis=1)], fell)

    def _worsen(self, X: Array, trial: Evaluated) -> None:
        """Change the two lowest scenarios to a step further down, and the highest to an extreme one, if lower."""
        rows, columns, v = np.arange(len(X))[:, None], lowest(trial.v, 2), trial.v
        s, h = trial.S[rows, columns], trial.h[rows, columns]
        down = h / norms(h)
        further = self.oracle.project(X, np.concatenate([s - 0.2 * down, (s - FAR * down)[:, :1]], axis=1))
        new = self.oracle.gradients(X, further)
        target = np.concatenate([columns, np.argmax(v, axis=1)[:, None]], axis=1)
        i, j = np.nonzero(new.v < np.concatenate([v[rows, columns], v.min(axis=1, keepdims=True)], axis=1))
        trial.put((i, target[i, j]), new, (i, j))

    def _activate(self, S: Array, rows: Indices | None = None) -> None:
        """Make these scenarios (n, q) of some decisions active, in place of their highest ones."""
        rows = np.arange(len(self.X)) if rows is None else rows
        new = self.oracle.gradients(self.X[rows], self.region.project(self.X[rows], S))
        self.at.put((rows, np.argmax(self.at.v[rows], axis=1)), new, ...)


class _Tried(NamedTuple):
    """Decisions, the scenarios that were tried for each, and the values (n, m)."""

    X: Array
    S: Array
    V: Array

    def rows(self, rows: Indices) -> _Tried:
        return _Tried(*(part[rows] for part in self))

    def beside(self, S: Array, V: Array) -> _Tried:
        """The same decisions with more scenarios."""
        return _Tried(self.X, np.concatenate([self.S, S], axis=1), np.column_stack([self.V, V]))

    def and_(self, *others: _Tried) -> _Tried:
        """These decisions, and others."""
        return _Tried(*(np.concatenate(parts) for parts in zip(self, *others, strict=True)))

    def best(self, oracle: Oracle, count: float) -> _Tried:
        """The decisions of each group that look best so far."""
        low = self.V.min(axis=1)
        return self.rows(np.concatenate([r[highest(low[r], int(count))] for r in oracle.groups(self.X)]))

    def spread_out(self, oracle: Oracle, count: int) -> _Tried:
        """The best decisions of each group that keep a distance."""
        X, low = oracle.coordinates(self.X), self.V.min(axis=1)
        return self.rows(np.concatenate([r[spread_out(X[r], low[r], count)] for r in oracle.groups(self.X)]))


class Scan:
    """Space-filling decisions of a region, and the scenarios against which they are tried; made once for all F."""

    def __init__(self, plan: Plan, spread: Array, seed: int) -> None:
        region = plan.region
        self.plan, self.spread, self.seed = plan, spread, seed
        x = region.decisions(1, seed)[0]
        other = region.other_scenarios(x, spread[0], QUICK.jumps)
        self.first = np.concatenate([spread[: _FIRST.get(region.width, 1)], other[:_ALTERNATIVES]])
        # A climb does not change discrete coordinates, so with these more decisions are needed to begin with.
        filling = 0.28 if len(region.other_decisions(x)) else 0.07
        each = len(self.first) + (_EVERYWHERE if region.width else 0)
        self.filling = region.decisions(max(8, int(filling * plan.budget / each**0.5)), seed)
        if movable(region).any():
            # An adversary can do less at an edge, and least in a corner: worst cases rise steeply there.
            X, free = self.filling[:_CORNERS], np.flatnonzero(movable(region))
            corners = np.where(movable(region), np.round(X), X)
            faces, rows = X.copy(), np.arange(len(X))
            faces[rows, free[rows % len(free)]] = np.round(X[rows, free[rows % len(free)]])
            self.filling = np.concatenate([self.filling, np.unique(np.concatenate([corners, faces]), axis=0)])

    def front(self, inner: InnerSearch, starts: Array, *, enough: bool = False) -> Front:
        """The best of all decisions and of ``starts`` (k, d), spread out, with their lowest scenarios.

        enough: no decision but the starts is worth a look.
        """
        oracle, region, share = inner.oracle, inner.region, _SHARE * self.plan.budget
        X, scenarios = starts, self._scenarios(self.plan.region, starts)
        if not enough:
            X, scenarios = np.concatenate([self.filling, X]), np.concatenate([self._filling_scenarios, scenarios])
        tried = _Tried(*oracle.for_all(X, scenarios))
        if not enough:
            tried = tried.and_(self._around(inner, tried))
            for _ in range(_JUMPS if self.plan.region.choices > COMBINED and not self.plan.brief else 0):
                tried = tried.and_(self._beside(inner, tried))
        if region.width:
            # With few scenarios most decisions look good. What turned out to be bad for some is tried on all of them.
            self._remember(inner, tried)
            S = inner.near_low_points(tried.X, _EVERYWHERE)
            tried = tried.beside(S, oracle.values(tried.X, S))
        scanned = Bounded(tried.X, tried.V.min(axis=1))
        if region.width:
            tried = tried.best(oracle, max(4, share / 20))
            # The best of them with the extreme scenario down the slope from the lowest one.
            low = taken(tried.S, lowest(tried.V, 1))
            h = oracle.gradients(tried.X, low).h
            S = oracle.project(tried.X, low - FAR * h / norms(h))
            tried = self._refined(inner, tried.beside(S, oracle.values(tried.X, S)), max(3, int(share / 60)))
        tried = tried.spread_out(oracle, self.plan.front // (2 if enough else 1))
        active = lowest(tried.V, self.plan.active)
        return Front(inner, tried.X, taken(tried.S, active), scanned)

    def _around(self, inner: InnerSearch, tried: _Tried) -> _Tried:
        """Decisions around the best ones, at distances of all orders up to the box."""
        oracle, region = inner.oracle, inner.region
        count = int(0.1 * _SHARE * self.plan.budget / (len(self.first) ** 0.5 if region.width > 1 else 1))
        parts = []
        for rows in oracle.groups(tried.X):
            apart = spread_out(oracle.coordinates(tried.X[rows]), tried.V[rows].min(axis=1), _CENTRES)
            centres = tried.X[rows[apart]]
            X, rng = np.repeat(centres, -(-count // len(centres)), axis=0), np.random.default_rng([self.seed, 1])
            away = 10.0 ** rng.uniform(-2, -0.5, (len(X), 1)) * rng.standard_normal((len(X), self.plan.region.dim))
            parts.append(X)
            X[:, : away.shape[1]] += np.where(oracle.movable[: away.shape[1]], away, 0.0)
        X = region.clip(np.concatenate(parts))
        S = self._scenarios(region, X)
        return _Tried(X, S, oracle.values(X, S))

    def _beside(self, inner: InnerSearch, tried: _Tried) -> _Tried:
        """The best decisions with one discrete value changed: of very many combinations a scan meets a few only."""
        oracle, region, low = inner.oracle, inner.region, tried.V.min(axis=1)
        best = np.concatenate([rows[highest(low[rows], _BESIDE)] for rows in oracle.groups(tried.X)])
        X = np.concatenate([tried.X[:0], *(region.other_decisions(x) for x in tried.X[best])])
        S = self._scenarios(region, X)
        return _Tried(X, S, oracle.values(X, S))

    @cached_property
    def _filling_scenarios(self) -> Array:
        """Those of the space-filling decisions, which are the same for every F."""
        return self._scenarios(self.plan.region, self.filling)

    def _scenarios(self, region: Region, X: Array) -> Array:
        """The first ones for these decisions; also some that fill the set, where the first ones hardly do."""
        S = _for_each(X, self.first)
        if region.curved:
            S = np.concatenate([S, region.filling(X, self.plan.unit[:_CURVED])], axis=1)
        return projected(region, X, S)

    def _refined(self, inner: InnerSearch, tried: _Tried, size: int) -> _Tried:
        """The best with more of the spread, with more low points, and with some that fill the set, some at a time.

        Those that look best come first, until the next ones look worse than enough of those that were tried.
        """
        parts: list[_Tried] = []
        count, low = self.plan.front, tried.V.min(axis=1)
        orders = [rows[highest(low[rows], len(rows))] for rows in inner.oracle.groups(tried.X)]
        known = [np.empty(0) for _ in orders]
        for i in range(0, _BATCHES * size, size):
            batches = {k: order[i : i + size] for k, order in enumerate(orders)}
            batches = {
                k: rows
                for k, rows in batches.items()
                if len(rows) and not (len(known[k]) > count and low[rows[0]] <= -np.partition(-known[k], count)[count])
            }
            if not batches:
                break
            some = tried.rows(np.concatenate(list(batches.values())))
            also = [inner.near_low_points(some.X, 8), inner.region.filling(some.X, inner.unit[:_FILLING])]
            S = inner.oracle.project(some.X, np.concatenate([_for_each(some.X, self.spread[1:13]), *also], axis=1))
            parts.append(some.beside(S, inner.oracle.values(some.X, S)))
            ends = np.split(parts[-1].V.min(axis=1), np.cumsum([len(rows) for rows in batches.values()])[:-1])
            for k, values in zip(batches, ends, strict=True):
                known[k] = np.append(known[k], values)
        return parts[0].and_(*parts[1:])

    @staticmethod
    def _remember(inner: InnerSearch, tried: _Tried) -> None:
        """The lowest points that were seen, apart from each other: worst cases of other decisions, perhaps."""
        for rows in inner.oracle.groups(tried.X):
            V = tried.V[rows]
            i, j = np.divmod(np.argsort(V, axis=None, kind="stable")[: 16 * _LOW], V.shape[1])
            Z, v = inner.region.points(tried.X[rows[i]], tried.S[rows[i], j]), V[i, j]
            apart = spread_out(inner.oracle.coordinates(Z), -v, _LOW)
            inner.remember(Z[apart], v[apart])


def _for_each(X: Array, S: Array) -> Array:
    """The same scenarios (m, q) for each of the decisions (n, m, q)."""
    return np.broadcast_to(S, (len(X), *S.shape))
