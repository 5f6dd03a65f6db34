"""Max-min over the decisions of a space that a rule allows; the adversary is as free as before.

A rule only says yes or no, so it has no slope to follow. If the best of all decisions is allowed, it is the answer.
Else the best of many allowed ones goes on by steps that stay allowed, shorter and shorter ones.

    anchors     allowed decisions: what is left of an even spread; where they are few, more are found around them
    bring       a decision that is not allowed comes back on the way to an anchor nearby, as far as it must (bisection)
    steps       along differences of anchors, which lie in the allowed set however thin it is, along the axes, at
                random, and towards the best of all decisions
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.maxmin.search.inner import InnerSearch
from stableopt.maxmin.search.oracle import movable
from stableopt.maxmin.search.plan import SCREEN, Plan
from stableopt.maxmin.solver import Choice, Hints, Region, Row, Smooth, Solver

_SPREADS = (2**12, 2**16)  # how many decisions are tried until enough of them are allowed
_ANCHORS = 512
_BISECTIONS = 22
_NEAREST = 4  # anchors that a decision is brought back to
_STARTS = 2
_STEPS = 16  # in a batch
_SOLVED = 6  # of them
_BATCHES = 25
_FIRST = 0.25  # length of the first steps, of a range
_SHORTEST = 1e-4  # of a range: shorter steps gain nothing that a measurement could notice
_NO_HINTS: Hints[Row] = Hints()


class Search(Solver[Row, Smooth], Protocol):
    """A search among all decisions of a region."""

    region: Region
    seed: int
    plan: Plan

    def rows(self, decisions: Sequence[Row]) -> Array:
        """Decisions as rows of coordinates (n, d)."""

    def known(self, hints: Hints[Row]) -> Array:
        """Hinted points that may be worst cases."""

    def inner(self, F: Smooth, known: Array) -> InnerSearch:
        """The adversary for a function."""


class _Found(NamedTuple):
    """Decisions with their smallest margins and values, both of the worst case."""

    X: Array
    margin: Array
    value: Array

    @property
    def order(self) -> list[int]:
        """The best first: those that keep all limits by their value, the others by their margin."""
        kept = self.margin >= 0
        return [int(i) for i in np.lexsort((-np.where(kept, self.value, self.margin), ~kept))]

    def rows(self, rows: Indices | Sequence[int]) -> _Found:
        """These of them."""
        return _Found(self.X[rows], self.margin[rows], self.value[rows])


_Judge = Callable[[Array, bool], _Found]
"""Decisions as rows to what is known of them: after a quick search, which may overrate them, or a thorough one."""


def _judged(judge: _Judge, parts: Sequence[Array]) -> list[_Found]:
    """Of each part the decisions that look best after a quick search, best first, after a thorough one.

    Most decisions are not worth more than a quick one. All parts are searched at once.
    """
    quick = judge(np.vstack(parts), True)
    own = np.split(np.arange(len(quick.X)), np.cumsum([len(X) for X in parts])[:-1])
    best = [rows[quick.rows(rows).order[:_SOLVED]] for rows in own]
    found = judge(quick.X[np.concatenate(best)], False)
    parted = np.split(np.arange(len(found.X)), np.cumsum([len(rows) for rows in best])[:-1])
    return [each.rows(each.order) for each in map(found.rows, parted)]


class AllowedMaxMin:
    """A `Solver` for the allowed decisions, on top of one for all of them."""

    def __init__(self, alone: Search, ground: Ground) -> None:
        self.alone, self.region, self._ground, self._allowed = alone, alone.region, ground, ground.allowed
        self.worst, self.worsts, self.minima = alone.worst, alone.worsts, alone.minima

    def maximin(
        self, F: Smooth, hints: Hints[Row] = _NO_HINTS, subject_to: Sequence[Smooth] = (), near: Row | None = None
    ) -> Choice[Row]:
        return self._allowed_near(self.alone.maximin(F, hints, subject_to, near), F, hints, subject_to)

    def maximins(self, functions: Sequence[Smooth], hints: Sequence[Hints[Row]]) -> list[Choice[Row]]:
        free = self.alone.maximins(functions, hints)
        return [self._allowed_near(*parts) for parts in zip(free, functions, hints, strict=True)]

    def _allowed_near(
        self, free: Choice[Row], F: Smooth, hints: Hints[Row], subject_to: Sequence[Smooth] = ()
    ) -> Choice[Row]:
        """The best of all decisions if it is allowed, else the best that is."""
        if self._is_allowed(free.decision):
            return free

        value, *limits = self._adversaries([F, *subject_to], hints)

        def judged(X: Array, quick: bool) -> _Found:
            margins = [self._values(X, limit, quick) for limit in limits]
            margin = np.min(margins, axis=0) if margins else np.full(len(X), math.inf)
            return _Found(X, margin, self._values(X, value, quick))

        best = self._climbed(judged, free.decision, hints)
        found = self.alone.worst(self.region.decision_index(best.X[0]), F, hints)
        return found._replace(margin=float(best.margin[0]), agreed=False)  # what is not allowed bounds nothing

    def jointly(self, functions: Sequence[Smooth], hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        free = self.alone.jointly(functions, hints)
        if self._is_allowed(free.decision):
            return free

        adversaries = self._adversaries(functions, hints)

        def judged(X: Array, quick: bool) -> _Found:
            each = [self._values(X, inner, quick) for inner in adversaries]
            return _Found(X, np.full(len(X), math.inf), np.min(each, axis=0))

        decision = self.region.decision_index(self._climbed(judged, free.decision, hints).X[0])
        return min((self.alone.worst(decision, F, hints) for F in functions), key=lambda choice: choice.value)

    def best(self, decisions: Sequence[Row], F: Smooth, hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        """Of these decisions; of all, if none of these is allowed."""
        some = self._kept(decisions)
        return self.alone.best(some, F, hints) if some else self.maximin(F, hints)

    def leading(
        self, decisions: Sequence[Row], F: Smooth, count: int, hints: Hints[Row] = _NO_HINTS, above: float = -math.inf
    ) -> list[Choice[Row]]:
        some = self._kept(decisions)
        return self.alone.leading(some, F, count, hints, above) if some else []

    # ------------------------------------------------------------------------------------------------------ inside

    def _adversaries(self, functions: Sequence[Smooth], hints: Hints[Row]) -> list[InnerSearch]:
        return [self.alone.inner(F, self.alone.known(hints)) for F in functions]

    def _values(self, X: Array, inner: InnerSearch, quick: bool) -> Array:
        """The worst values of decisions that are given as rows (n, d); quick ones may be too high."""
        plan = self.alone.plan
        thorough = plan.sound if plan.brief else plan.full(_SOLVED)
        return np.asarray(inner.minima(X, SCREEN if quick else thorough).V[:, 0])

    def _is_allowed(self, decision: Row) -> bool:
        return bool(self._allowed(np.array([decision]))[0])

    def _kept(self, decisions: Sequence[Row]) -> list[Row]:
        rows = self.alone.rows(decisions)
        return [d for d, good in zip(decisions, self._allowed(rows), strict=True) if good] if len(rows) else []

    def _climbed(self, judged: _Judge, free: Row, hints: Hints[Row]) -> _Found:
        """The best allowed decision after steps from some starts."""
        ground, rng = self._ground, np.random.default_rng([self.alone.seed, 7])
        near = ground.brought(np.array([free]))
        known = self.alone.rows(self._kept(hints.decisions))
        found = _judged(judged, [np.vstack([near, known, ground.anchors[: 4 * _STEPS]])])[0]
        best = [found.rows([i]) for i in range(min(_STARTS, len(found.X)))]
        lengths = [_FIRST] * len(best)
        for _ in range(_BATCHES):
            going = [i for i, length in enumerate(lengths) if length >= _SHORTEST]
            if not going:
                break
            around = [ground.around(best[i].X[0], lengths[i], near[0], rng) for i in going]
            for i, there in zip(going, _judged(judged, around), strict=True):
                if _rank(there) < _rank(best[i]):
                    best[i], lengths[i] = there.rows([0]), min(2 * lengths[i], 2 * _FIRST)
                else:
                    lengths[i] *= 0.4
        return min(best, key=_rank)


class Ground:
    """What is known of the allowed set of a region."""

    def __init__(self, region: Region, allowed: Callable[[Array], Mask], seed: int) -> None:
        self.region, self.allowed, self.seed = region, allowed, seed
        self._fixed = ~movable(region)  # discrete coordinates

    @cached_property
    def anchors(self) -> Array:
        """Allowed decisions all over the set (m, d)."""
        X = np.empty((0, self.region.dim))
        for count in _SPREADS:
            tried = self.region.decisions(count, self.seed)
            X = tried[self.allowed(tried)]
            if len(X) >= _ANCHORS or len(tried) < count:
                break
        if not len(X):
            raise ValueError(
                f"expected where=... to allow some decisions, got none among {len(tried)} all over the ranges: an "
                "equation such as a + b == 1 has to be given some room, abs(a + b - 1) <= 0.01"
            )
        rng = np.random.default_rng([self.seed, 8])
        while len(X) < _ANCHORS // 2 and not self._fixed.all():
            i, j, k = rng.integers(len(X), size=(3, len(X)))
            step = (X[j] - X[k]) * rng.uniform(-1, 1, (len(X), 1)) + 0.01 * rng.standard_normal(X.shape)
            new = self.region.clip(np.where(self._fixed, X[i], X[i] + step))
            X = np.vstack([X, self._towards(X[i], new)])
        return X[rng.permutation(len(X))]

    def brought(self, X: Array) -> Array:
        """Allowed decisions near these: themselves, or the nearest on the ways to some anchors."""
        X = self.region.clip(X)
        bad = np.flatnonzero(~self.allowed(X))
        if len(bad):
            weights = np.where(self._fixed, 10.0, 1.0)
            apart = (((X[bad, None] - self.anchors[None]) * weights) ** 2).sum(axis=2)
            nearest = np.argsort(apart, axis=1)[:, :_NEAREST]
            several = np.repeat(X[bad], nearest.shape[1], axis=0)  # at once: a rule costs as much for one as for many
            ways = self._towards(self.anchors[nearest.ravel()], several).reshape(*nearest.shape, -1)
            closest = ((ways - X[bad, None]) ** 2).sum(axis=2).argmin(axis=1)
            X = X.copy()
            X[bad] = ways[np.arange(len(bad)), closest]
        return X

    def _towards(self, A: Array, X: Array) -> Array:
        """The last allowed decisions on the ways from allowed ones A to X, row by row; choices stay those of A."""
        low, high = np.zeros((len(A), 1)), np.ones((len(A), 1))
        B = np.where(self._fixed, A, X)
        there = self.allowed(B)[:, None]
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            good = self.allowed(A + middle * (B - A))[:, None]
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return np.where(there, B, A + low * (B - A))

    def around(self, x: Array, length: float, towards: Array, rng: np.random.Generator) -> Array:
        """Allowed decisions about so far away (m, d)."""
        anchors, d = self.anchors, self.region.dim
        i, j = rng.integers(len(anchors), size=(2, 2 * _STEPS))
        steps = [
            anchors[i] - anchors[j],
            rng.standard_normal((_STEPS // 2, d)),
            np.eye(d),
            -np.eye(d),
            (towards - x)[None],
        ]
        P = np.where(self._fixed, 0.0, np.vstack(steps))
        size = np.sqrt((P * P).sum(axis=1, keepdims=True))
        P = P[size[:, 0] > 1e-12] / size[size[:, 0] > 1e-12]
        moved = self.brought(np.repeat(x[None], len(P), axis=0) + length * rng.uniform(0.3, 1.0, (len(P), 1)) * P)
        others = self.region.other_decisions(x)
        others = others[rng.permutation(len(others))[:_STEPS]]
        return np.vstack([moved, self.brought(others)]) if len(others) else moved


def _rank(found: _Found) -> tuple[bool, float]:
    """Of the first decision; what is smaller is better."""
    kept = bool(found.margin[0] >= 0)
    return not kept, -float(found.value[0] if kept else found.margin[0])
