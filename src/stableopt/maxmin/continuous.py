"""Max-min over continuous and mixed decisions by local search: many starts, an exchange of worst cases, a polish.

In the spirit of Bertsimas, Nohadani and Teo's robust local search: the inner minimum is not smooth, but along a fixed
scenario the value is. So a decision carries a handful of active scenarios, climbs the smallest of them, gets a new
worst case, and so on. The solver sees a function of points with its gradient; it knows nothing of models or sets.

    all       of few decisions each is judged, by upper bounds first; of many whole numbers, those next to the best of a
              search in which they are real
    scan      space-filling and past decisions against more and more scenarios; a minimum over few is an upper bound
    ascend    the best, spread out, climb together on their active scenarios; the hopeless are dropped on the way
    polish    the best few: solve for the active scenarios, find a worse one, repeat; discrete neighbours are tried
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.descent import FAR, Descent, Oracle, ascent, climb, highest, lowest, paired, size, spread_out
from stableopt.maxmin.front import Front, Pool

_POLLED = 1e-5  # of the spread of F: what a jump must gain
_CLOSE = 2e-6  # of the spread of F: the two sides of the search have met
_EXCHANGES = 40  # at most, of one decision; the last one is checked with the full inner side
_STILL = 1e-9  # a decision that moves less stays where it is: looking again would find nothing new
_AGAIN = 1e-6  # two scenarios this close are one
_SAME = 0.01  # what begins this close to where a better decision ended is on the same hill
_LEAPS = np.geomspace(0.001, 0.5, 8)


def usual_budget(dim: int) -> int:
    """How often F is evaluated in one search with so many coordinates on either side: `benchmarks.accuracy`."""
    return 5_000 + 2_500 * dim


class Smooth(Protocol):
    """A function of points with its gradient, evaluated in batches."""

    def __call__(self, Z: Array) -> Array:
        """Values at the points: (n, P) -> (n,)."""

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Values and gradients at the points: (n, P) -> (n,), (n, P)."""


class Region(Protocol):
    """Decisions, and scenarios that turn them into points.

    All coordinates are of the order of 1: a decision's box is [0, 1]^d in its continuous coordinates.
    """

    @property
    def dim(self) -> int:
        """d, coordinates of a decision."""

    @property
    def width(self) -> int:
        """q, coordinates of a scenario; with 0 a decision has just one point."""

    @property
    def count(self) -> float:
        """How many decisions there are; infinity if any coordinate is continuous."""

    def decisions(self, count: int, seed: int) -> Array:
        """Space-filling decisions (<= count, d); all of them if there are no more than that."""

    def scenarios(self, count: int, seed: int) -> Array:
        """A spread of scenarios (<= count, q): the one that changes nothing, then extremes, then inner ones."""

    def clip(self, X: Array) -> Array:
        """The nearest decisions that exist; discrete coordinates are left alone."""

    def project(self, X: Array, S: Array) -> Array:
        """The nearest scenarios that are allowed for these decisions, row by row; from far away, an extreme one."""

    def settle(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios at which `pull` finds a slope in every continuous coordinate.

        Beyond a bound a clipped coordinate has none, and a descent would never bring it back.
        """

    @property
    def exact(self) -> bool:
        """Whether `settle` finds the nearest of a convex set, so that short and long steps lead down alike."""

    def points(self, X: Array, S: Array) -> Array:
        """The points that the scenarios make of the decisions, row by row (n, P); what became of x comes first."""

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """Gradients by points (n, P) as gradients by decisions (n, d) and by scenarios (n, q).

        0 in discrete coordinates and where clipping holds a coordinate: beyond its bound, not at it.
        """

    def scenario_of(self, X: Array, Z: Array) -> Array:
        """Allowed scenarios that turn X into Z, or as near as possible, row by row."""

    def other_decisions(self, x: Array) -> Array:
        """Neighbours (m, d) of one decision that differ in a discrete coordinate."""

    @property
    def relaxed(self) -> Region | None:
        """The same region with a slope in discrete coordinates that have an order; None if there are none."""

    def rounded(self, x: Array) -> Array:
        """Decisions (m, d) around one of the relaxed region."""

    def other_scenarios(self, x: Array, s: Array) -> Array:
        """Neighbours (m, q) of one scenario of a decision that differ in a discrete coordinate."""


@dataclass(frozen=True, eq=False)
class Found:
    """A decision, its worst case, and how far the two sides of the search are apart."""

    decision: Array
    scenario: Array
    point: Array
    value: float
    """F at the point: the smallest value found over the decision's scenarios."""
    gap: float
    """The largest minimum over active scenarios that the search reached, less the value; of a single decision: 0."""


class _Effort(NamedTuple):
    """How hard to look for the worst case of one decision."""

    scan: int  # scenarios of the spread
    known: int  # points worth trying
    starts: int  # the lowest of these that descend; half of them after the first steps, a quarter after the next
    steps: int  # of the last quarter
    tolerance: float  # of the spread
    polls: int  # rounds of jumps
    apart: bool = False  # whether of scenarios that meet on their way down only one goes on


_SCREEN = _Effort(scan=4, known=2, starts=1, steps=2, tolerance=1e-3, polls=0)
_QUICK = _Effort(scan=12, known=4, starts=4, steps=6, tolerance=1e-4, polls=1)
_SOUND = _Effort(scan=16, known=6, starts=12, steps=12, tolerance=1e-7, polls=1, apart=True)
_FULL = _Effort(scan=128, known=16, starts=24, steps=40, tolerance=1e-7, polls=8, apart=True)


class _Minima(NamedTuple):
    """Local minima of decisions, the lowest first."""

    V: Array  # values (n, r)
    S: Array  # scenarios (n, r, q)
    T: Array  # targets (n, r, P)


class _Old:
    """max over decisions of min over scenarios of any smooth function of points, for one region.

    ``budget`` is about how many points one `maximin` evaluates (a value with its gradient counts twice), where fewer
    points at a time than ``least`` count as so many. The same seed gives the same answer.
    """

    def __init__(self, region: Region, budget: int = 20_000, seed: int = 0, least: int = 1) -> None:
        if budget < 1:
            raise ValueError(f"expected a budget of at least 1 evaluated point, got {budget}")
        self.region, self.budget, self.seed, self.least = region, budget, seed, least
        # With a small budget, more steps of an exchange are worth more than thorough ones.
        ample = budget >= usual_budget(max(region.dim, region.width))
        self._sound = _SOUND if ample else _SOUND._replace(polls=0, apart=False)
        self._room = (4 if ample else 2) * (region.dim + 2)
        self._spread = region.scenarios(self._effort(1).scan, seed)
        # All decisions are screened with these. In few dimensions some more scenarios tell much, and no gradient tells
        # discrete alternatives apart.
        screen = self._spread[: {1: 17, 2: 13, 3: 7}.get(region.width, 1)]
        other = region.other_scenarios(region.decisions(1, seed)[0], self._spread[0])
        self._first = np.concatenate([screen, other[:6]])
        filling = 0.28 if len(region.other_decisions(region.decisions(1, seed)[0])) else 0.07
        self._filling = region.decisions(max(8, int(filling * budget / len(self._first) ** 0.5)), seed)
        self._all = region.decisions(budget // 2, seed) if region.count <= budget // 2 else None
        relaxed = region.relaxed if self._all is None else None
        self._relaxed = None if relaxed is None else _Old(relaxed, budget, seed, least)

    def maximin(self, F: Smooth, starts: Array | None = None, known: Array | None = None) -> Found:
        """The decision with the largest worst case.

        ``starts`` (k, d) are decisions to begin with, ``known`` (t, P) points that may be worst cases.
        """
        if self._all is not None:
            return self.best(self._all, F, known)
        starts = np.empty((0, self.region.dim)) if starts is None else self.region.clip(starts)
        if self._relaxed is not None:  # an ascent leaves whole numbers as they are
            around = self.region.rounded(self._relaxed.maximin(F, starts, known).decision)
            starts = np.vstack([starts, around])
        oracle = Oracle(self.region, F, self.budget, self.least)
        pool = Pool(oracle, known)
        front = self._scan(oracle, pool, starts)
        first = front.X[:6].copy()
        oracle.used = min(oracle.used, self.budget // 4)  # values in large batches cost little
        self._ascend(oracle, pool, front)
        found = self._polish(oracle, pool, front)
        return self._not_below(oracle, pool, found, np.vstack([first, starts]))

    def _not_below(self, oracle: Oracle, pool: Pool, found: Found, X: Array) -> Found:
        """The decision found, unless one of the first ones is better after all: then from there.

        On the way up a decision is judged by few active scenarios, so that an overrated one may outlive a good one.
        """
        above = self._inner(oracle, pool, X, _SCREEN).V[:, 0]
        X = X[highest(above, 4)]
        if above.max() <= found.value:
            return found
        V, S, T = self._inner(oracle, pool, X, self._sound)
        i = int(np.argmax(V[:, 0]))
        if V[i, 0] <= found.value:
            return found
        T = oracle.anchored(X, S, T)
        oracle.used = min(oracle.used, int(0.8 * self.budget))
        better = self._exchange(oracle, pool, X[i], S[i, :1], float(V[i, 0]), T[i], found)
        return better if better.value > found.value else found

    def minima(self, X: Array, F: Smooth, known: Array | None = None) -> tuple[Array, Array]:
        """Worst cases of several decisions at once: values (n,) and scenarios (n, q)."""
        oracle = Oracle(self.region, F, self.budget, self.least)
        found = self._inner(oracle, Pool(oracle, known), X, self._effort(len(X)))
        return found.V[:, 0], found.S[:, 0]

    def worst(self, x: Array, F: Smooth, known: Array | None = None) -> Found:
        """The worst case of one decision, with the full effort."""
        return self._found(x, *self.minima(x[None], F, known))

    def best(self, X: Array, F: Smooth, known: Array | None = None) -> Found:
        """Among these decisions the one with the largest worst case: solved only where it can still win."""
        oracle = Oracle(self.region, F, self.budget, self.least)
        pool = Pool(oracle, known)
        above = self._inner(oracle, pool, X, _SCREEN).V[:, 0]
        order = np.argsort(-above, kind="stable")
        v, S = np.full(len(X), -np.inf), np.zeros((len(X), self.region.width))
        for i in range(0, len(X), 4):
            rows = order[i : i + 4]
            rows = rows[above[rows] > v.max()]
            if not len(rows):
                break
            found = self._inner(oracle, pool, X[rows], self._effort(4))
            v[rows], S[rows] = found.V[:, 0], found.S[:, 0]
        at = int(np.argmax(v))
        return self._found(X[at], v[at : at + 1], S[at : at + 1])

    # ------------------------------------------------------------------------------------------------ the inner side

    def _effort(self, n: int) -> _Effort:
        """The full effort for a few decisions, less where they or a small budget ask for it."""
        share = min(64.0, self.budget / (2500.0 * n)) ** 0.5
        counts = {name: int(share * getattr(_FULL, name)) for name in ("scan", "known", "starts")}
        # Where a point takes as long as several, steps one after the other are dearer than more starts at a time.
        counts |= {name: getattr(_FULL, name) // self.least for name in ("steps", "polls")}
        return _FULL._replace(**{name: max(getattr(_QUICK, name), count) for name, count in counts.items()})

    def _inner(self, oracle: Oracle, pool: Pool, X: Array, effort: _Effort, also: Array | None = None) -> _Minima:
        """Local minima of the decisions; scenarios ``also`` (n, m, q) are tried, too."""
        n, q = len(X), self.region.width
        if q == 0 or n == 0:
            S = np.zeros((n, 1, q))
            found = oracle.gradients(X, S)
            return _Minima(found.v, S, found.T)
        tried = [np.broadcast_to(self._spread[: effort.scan], (n, min(effort.scan, len(self._spread)), q))]
        tried += [pool.near(X, effort.known)] + ([] if also is None else [also])
        S = oracle.project(X, np.concatenate(tried, axis=1))
        V = oracle.values(X, S)
        m = min(effort.starts, S.shape[1])
        S = np.take_along_axis(S, lowest(V, m, S if effort.apart else None)[:, :, None], axis=1)
        descent = Descent(oracle, *paired(X, S))
        for steps, share in ((3, 2), (5, 2), (effort.steps, 1)):
            goal = None if share > 1 else np.repeat(descent.v.reshape(n, m).min(axis=1), m)
            descent.advance(steps, effort.tolerance, goal)
            kept = max(1, m // share)
            best = lowest(descent.v.reshape(n, m), kept, descent.S.reshape(n, m, q) if effort.apart else None)
            descent.keep((best + m * np.arange(n)[:, None]).ravel())
            m = kept
        self._poll(oracle, descent, effort)
        descent.keep((lowest(descent.v.reshape(n, m), m) + m * np.arange(n)[:, None]).ravel())
        return _Minima(descent.v.reshape(n, m), descent.S.reshape(n, m, q), descent.T.reshape(n, m, descent.T.shape[1]))

    def _poll(self, oracle: Oracle, descent: Descent, effort: _Effort) -> None:
        """Jumps from all scenarios: across in one coordinate, or to a discrete neighbour, while one leads lower."""
        q, rows = self.region.width, np.arange(len(descent.v))
        across = np.concatenate([2 * np.eye(q), -2 * np.eye(q)])
        for _ in range(effort.polls):
            pairs = zip(descent.X[rows], descent.S[rows], strict=True)
            trials = [np.concatenate([s + across, self.region.other_scenarios(x, s)]) for x, s in pairs]
            counts = [len(trial) for trial in trials]
            owner = np.repeat(rows, counts)
            S = self.region.settle(descent.X[owner], np.concatenate(trials))
            v = oracle.values(descent.X[owner], S)
            starts = np.lexsort((v, owner))[np.cumsum([0, *counts[:-1]])]
            trial = Descent(oracle, descent.X[rows], S[starts])
            trial.advance(effort.steps // 2, effort.tolerance, descent.v[rows])
            lower = np.flatnonzero(trial.v < descent.v[rows] - _POLLED * oracle.scale)
            rows = rows[lower]
            descent.replace(rows, trial, lower)
            if not len(rows):
                return

    def _found(self, x: Array, v: Array, S: Array, above: float = -np.inf) -> Found:
        """The answer for a decision with this worst case (1,), (1, q)."""
        value = float(v[0])
        return Found(x, S[0], self.region.points(x[None], S)[0], value, max(above - value, 0.0))

    # ------------------------------------------------------------------------------------------------------- the scan

    def _scan(self, oracle: Oracle, pool: Pool, starts: Array) -> Front:
        """The best decisions of a screening, spread out, with their lowest scenarios."""
        q, share = self.region.width, 0.2 * self.budget
        X = np.concatenate([self._filling, starts])
        S, V = self._against(oracle, X, self._first)
        count = int(0.1 * share / (len(self._first) ** 0.5 if q > 1 else 1))
        around = self._jittered(oracle, X[spread_out(X, V.min(axis=1), 24)], count)
        more, values = self._against(oracle, around, self._first)
        X, S, V = np.concatenate([X, around]), np.concatenate([S, more]), np.concatenate([V, values])
        if q:
            pool.add(self.region.points(X, S[:, 0]), V[:, 0], 32)
            rows = highest(V.min(axis=1), max(4, int(share / 20)))
            X, S, V = X[rows], S[rows], V[rows]
            low = np.take_along_axis(S, lowest(V, 1)[:, :, None], axis=1)
            h = oracle.gradients(X, low).h
            more = np.concatenate([oracle.project(X, low - FAR * h / size(h)), pool.near(X, 3)], axis=1)
            S, V = np.concatenate([S, more], axis=1), np.column_stack([V, oracle.values(X, more)])
            rows = highest(V.min(axis=1), max(3, int(share / 60)))
            X, S, V = X[rows], S[rows], V[rows]
            more, values = self._against(oracle, X, self._spread[1:13], pool.near(X, 8))
            S, V = np.concatenate([S, more], axis=1), np.column_stack([V, values])
        rows = spread_out(X, V.min(axis=1), self._many(16))
        slots = lowest(V[rows], self._slots())
        return Front(oracle, X[rows], np.take_along_axis(S[rows], slots[:, :, None], axis=1))

    def _against(self, oracle: Oracle, X: Array, rows: Array, also: Array | None = None) -> tuple[Array, Array]:
        """The decisions with all these scenarios (m, q) and some of their own (n, k, q): which, and their values."""
        S = np.broadcast_to(rows, (len(X), *rows.shape))
        S = oracle.project(X, S if also is None else np.concatenate([S, also], axis=1))
        return S, oracle.values(X, S)

    def _many(self, usual: int) -> int:
        """How many decisions go on where it is this many with a budget of 20,000."""
        return max(2, round(usual * math.sqrt(self.budget / 20_000)))

    def _slots(self) -> int:
        """Active scenarios of a decision on its way: more could be active at a kink, but rarely are."""
        return min(self.region.dim + 2, 6) if self.region.width else 1

    def _jittered(self, oracle: Oracle, X: Array, count: int) -> Array:
        """About this many decisions around the given ones, at distances of all orders up to the box."""
        rng = np.random.default_rng([self.seed, 1])
        X = np.repeat(X, -(-count // len(X)), axis=0)
        away = 10.0 ** rng.uniform(-2, -0.5, (len(X), 1)) * rng.standard_normal(X.shape)
        return self.region.clip(X + np.where(oracle.movable, away, 0.0))

    # ----------------------------------------------------------------------------------------------------- the ascent

    def _ascend(self, oracle: Oracle, pool: Pool, front: Front) -> None:
        """All decisions climb together; half of them are left after each leg."""
        front.descend(3)
        while len(front.X) > self._many(4) and oracle.left(0.5) > 0:
            for _ in range(4):
                front.rise()
            if self.region.width > self.region.dim:  # few scenarios say little where a parameter may be anything
                front.exchange(self._inner(oracle, pool, front.X, _QUICK, front.S).S[:, 0])
            front.keep(highest(front.V.min(axis=1), max(self._many(4), len(front.X) // 2)))
            front.exchange(self._inner(oracle, pool, front.X, _QUICK, front.S).S[:, 0])
        for _ in range(6):
            if oracle.left(0.5) > 0:
                front.rise()

    # ----------------------------------------------------------------------------------------------------- the polish

    def _polish(self, oracle: Oracle, pool: Pool, front: Front) -> Found:
        """The best decisions once more: the exchange to the end, with the full inner side before it counts."""
        order = highest(front.V.min(axis=1), self._many(4))
        V, S, T = self._inner(oracle, pool, front.X[order], self._sound, front.S[order])
        X, T = front.X[order], np.concatenate([T, front.T[order]], axis=1)
        T = oracle.anchored(X, np.concatenate([S, front.S[order]], axis=1), T)
        best: Found | None = None
        for i in highest(V[:, 0], len(V)):
            if best is not None and V[i, 0] <= best.value:
                away = np.abs(X[i] - best.decision)
                same = away.max(initial=0.0) < _SAME and not away[~oracle.movable].any()
                if same or oracle.left() < 0:  # on the same hill, or it would not climb any more
                    continue
            found = self._exchange(oracle, pool, X[i], S[i, :1], float(V[i, 0]), T[i], best)
            if best is None or found.value > best.value:
                best = found
        assert best is not None  # there is always a decision
        return self._other_decisions(oracle, pool, best)

    def _escape(
        self, oracle: Oracle, pool: Pool, x: Array, v: float, S: Array, also: Array
    ) -> tuple[Array, _Minima] | None:
        """A decision further away that is better than v, with its local minima; S (1, r, q) are those of x.

        Replies that stay where they are make plateaus, and edges of the domain make kinks. So here all scenarios go
        along with the decision, or the decision leaves the worst point behind, by steps of all lengths.
        """
        region, n = self.region, len(_LEAPS)
        X, S = np.repeat(x[None], n, axis=0), np.repeat(S, n, axis=0)
        S = self.region.settle(*paired(X, S)).reshape(S.shape)
        V, G, _, _ = oracle.gradients(X, S)
        along, _, _ = ascent(region, X, V, G, _LEAPS, np.full(V.shape, 1 / V.shape[1]))
        back = region.points(X, region.project(X, 0 * S[:, 0])) - region.points(X, S[:, 0])
        away = region.pull(X, S[:, 0], back)[0]
        trials = region.clip(np.vstack([X + along, X + _LEAPS[:, None] * away / size(away)]))
        worse = np.vstack([S[0], also])[None]
        rough = self._inner(oracle, pool, trials, _SCREEN, np.repeat(worse, 2 * n, axis=0))
        trials = trials[highest(rough.V[:, 0], 1)]
        found = self._inner(oracle, pool, trials, self._effort(2), worse)
        return (trials[0], found) if found.V[0, 0] > v else None

    def _other_decisions(self, oracle: Oracle, pool: Pool, best: Found) -> Found:
        """Neighbours in discrete coordinates, the most promising ones with an exchange of their own, while one wins."""
        for _ in range(20):
            X = self.region.other_decisions(best.decision)
            if not len(X):
                return best
            X = X[highest(self._inner(oracle, pool, X, _SCREEN).V[:, 0], 8)]
            V, S, T = self._inner(oracle, pool, X, self._sound)
            T, last = oracle.anchored(X, S, T), best
            for i in highest(V[:, 0], 2):
                found = self._exchange(oracle, pool, X[i], S[i, :1], float(V[i, 0]), T[i], best)
                best = found if found.value > best.value else best
            if best is last or oracle.left() < 0:
                return best
        return best

    def _exchange(
        self, oracle: Oracle, pool: Pool, x: Array, worst: Array, v: float, T: Array, rival: Found | None
    ) -> Found:
        """Climb on the active scenarios, find the worst cases there, make them active; from the best decision so far.

        Ends when nothing is to be gained on the active scenarios and the full inner side finds no worse one, when the
        decision does not promise to beat its rival, or when the budget is used up.
        """
        radius, effort = 0.2, self._effort(1)
        start, first = x, v
        for i in range(_EXCHANGES):
            trial, above, order = climb(oracle, x, T, radius, 6 + 2 * i)
            T = T[order[: self._room]]
            if rival is not None and above <= rival.value:
                return rival
            spent = oracle.left() < 0 or i == _EXCHANGES - 1
            still = radius < 1e-6 or float(np.abs(trial - x).max(initial=0.0)) < _STILL
            done = spent or still or above <= v + _CLOSE * oracle.scale
            at = (x if done else trial)[None]
            active = np.vstack([worst, self.region.scenario_of(np.repeat(at, len(T), axis=0), T)])
            V, S, new = self._inner(oracle, pool, at, effort if done else self._sound, active[None])
            if done:
                lower = V[0, 0] < v - _CLOSE * oracle.scale
                v, worst = (float(V[0, 0]), S[0, :1]) if V[0, 0] < v else (v, worst)
                better = (
                    None if spent or lower else self._escape(oracle, pool, x, v + _POLLED * oracle.scale, S, active)
                )
                if better is not None:
                    x, (V, S, new) = better
                    at, v, worst, radius, above = x[None], float(V[0, 0]), S[0, :1], 0.2, np.inf
                elif not lower or spent:
                    break
            elif V[0, 0] > v:
                radius *= 2.0 if V[0, 0] - v > 0.25 * (above - v) else 1.0
                x, v, worst = trial, float(V[0, 0]), S[0, :1]
            else:
                radius = 0.5 * min(radius, float(np.abs(trial - x).max()))
            lower = V[0] < above
            again = np.abs(active[1:, None] - S[:, lower]).max(axis=2, initial=0.0).min(axis=1, initial=1.0) < _AGAIN
            T = np.vstack([oracle.anchored(at, S[:, lower], new[:, lower])[0], T[~again]])
        if v < first and x is not start:  # what looked better on the way is not: perhaps the start is
            V, S, _ = self._inner(oracle, pool, start[None], effort)
            if V[0, 0] > v:
                x, v, worst = start, float(V[0, 0]), S[0, :1]
        return self._found(x, np.array([v]), worst, above)


class ContinuousMaxMin:
    def __init__(self, region, budget=20000, seed=0, least=1):
        self.region = region
        self._old = _Old(region, budget, seed, least)

    def _low(self, hints):
        if not len(hints.points):
            return None
        Z = np.array(hints.points).reshape(len(hints.points), -1)
        return Z[np.argsort(hints.values, kind="stable")[:100]] if len(hints.values) else (Z if len(Z) else None)

    def _choice(self, found, decision=None):
        from stableopt.maxmin.solver import Choice

        d = self.region.decision_index(found.decision) if decision is None else decision
        return Choice(d, self.region.point_index(found.point), found.value, False, found.gap)

    def maximin(self, F, hints=None):
        from stableopt.maxmin.solver import Hints

        hints = hints or Hints()
        starts = np.array(hints.decisions).reshape(len(hints.decisions), self.region.dim)
        return self._choice(self._old.maximin(F, starts, self._low(hints)))

    def worst(self, decision, F, hints=None):
        from stableopt.maxmin.solver import Hints

        hints = hints or Hints()
        X = np.array(hints.points)
        known = None
        if len(X):
            away = np.abs(X[:, : self.region.dim] - np.array(decision)).max(axis=1, initial=0.0)
            known = X[np.argsort(away, kind="stable")[:100]]
        return self._choice(self._old.worst(np.array(decision), F, known), decision)

    def minima(self, decisions, F, hints=None):
        from stableopt.maxmin.solver import Choice

        v, S = self._old.minima(np.array(decisions), F, self._low(hints))
        return [Choice(d, d, float(x)) for d, x in zip(decisions, v)]

    def best(self, decisions, F, hints=None):
        return self._choice(self._old.best(np.array(decisions), F, self._low(hints)))
