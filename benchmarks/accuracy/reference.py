"""The reference: worst cases by enumeration and zooming in, decisions by enumeration and further searches.

It is independent of the search where the search may be wrong: which scenarios and decisions are looked at at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.accuracy.cells import Case
from benchmarks.accuracy.reach import Reach
from stableopt.base.arrays import cartesian
from stableopt.loop.state import State
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.steps import spread_out
from stableopt.maxmin.solver import Hints, Row

Array = npt.NDArray[np.float64]

GRID = {0: 1, 1: 161, 2: 31, 3: 17}  # shares along each axis of an enumeration
COARSE = {0: 1, 1: 7, 2: 4, 3: 3}  # and while decisions are sorted out
ZOOMED, TURNS = 12, 26  # low points of the enumeration from which it zooms in, and how often at most
SCREENED = ((1500, 12), (250, 100), (60, 2000))  # decisions, and points of each that are looked at
HINTED, SEARCHES, TIMES = 24, 1, 2  # decisions from which further searches start, these, and their budget
RESTARTS, LONG = 3, 8  # in many dimensions


@dataclass(frozen=True)
class Reference:
    """What is true of a case, as far as is known."""

    case: Case

    @property
    def state(self) -> State[Row]:
        return self.case.optimizer.state

    def bound(self, sign: int, Z: Array) -> Array:
        """lcb (−1) or ucb (+1) at rows of coordinates."""
        root = np.sqrt(self.state.beta)
        parts = [self.state.moments(part) for part in np.array_split(Z, 1 + len(Z) // 4096)]  # type: ignore[arg-type]
        return np.concatenate([mean + sign * root * np.sqrt(variance) for mean, variance in parts])

    def spread(self) -> float:
        """Of ucb and of lcb over the space, whichever is larger."""
        points = self.state.setting.region.points_space  # type: ignore[attr-defined]
        Z = np.vstack([points.spread(2048, 1), [r.point_index for r in self.state.rounds]])
        return max(float(np.ptp(self.bound(sign, Z))) for sign in (-1, 1))

    def worst(self, decision: Row, sign: int) -> float:
        """The worst case of a decision."""
        if self.case.reach is None:
            return self._searched(LONG, 10).worst(decision, self._function(sign), self._points()).value
        return _enumerated(self, self.case.reach, np.array(decision), sign)

    def decisions(self, sign: int) -> list[Row]:
        """Decisions that may be the best: of further searches that begin where an enumeration says."""
        hints = self._points()
        if self.case.reach is None:
            seeds, times = range(10, 10 + RESTARTS), LONG
        else:
            seeds, times = range(10, 10 + SEARCHES), TIMES
            hints = hints._replace(decisions=[tuple(x) for x in self._screened(self.case.reach, sign).tolist()])
        solvers = [self._searched(times, seed) for seed in seeds]
        return [solver.maximin(self._function(sign), hints).decision for solver in solvers] + list(hints.decisions[:2])

    def _searched(self, times: int, seed: int) -> ContinuousMaxMin:
        usual = self.state.setting.solver(0).solver  # type: ignore[attr-defined]
        assert isinstance(usual, ContinuousMaxMin)
        return ContinuousMaxMin(usual.region, times * usual.budget, seed)

    def _function(self, sign: int):  # type: ignore[no-untyped-def]
        return self.state.ucb if sign > 0 else self.state.lcb

    def _points(self) -> Hints[Row]:
        tried = list(dict.fromkeys(self.state.tried()))
        rounds = self.state.rounds
        return Hints(tried[:HINTED], [r.point_index for r in rounds], [r.y for r in rounds])

    def _screened(self, reach: Reach, sign: int) -> Array:
        """The most promising of very many decisions, apart: those that look bad with few points are bad."""
        rng, D = np.random.default_rng(0), reach.combinations()
        X = np.vstack([reach.space.spread(SCREENED[0][0], 7), [list(d) for d in self._points().decisions]])
        shares = cartesian([np.linspace(0, 1, COARSE[reach.width])[:, None]] * reach.width) if reach.width else None
        both = D if shares is None else cartesian([shares, D])
        v = np.full(len(X), np.inf)
        for count, many in SCREENED:
            keep = np.argsort(-v, kind="stable")[:count]
            X, v = X[keep], v[keep]
            rows = both if len(both) <= many else both[rng.permutation(len(both))[:many]]
            for part in np.array_split(np.arange(len(X)), 1 + len(X) * len(rows) // 20_000):
                many_rows = np.tile(rows, (len(part), 1))
                Z, inside = reach.points(
                    np.repeat(X[part], len(rows), axis=0), many_rows[:, : reach.width], many_rows[:, reach.width :]
                )
                values = np.where(inside, self.bound(sign, Z), np.inf).reshape(len(part), len(rows))
                v[part] = np.minimum(v[part], values.min(axis=1))
        v = np.where(np.isfinite(v), v, -np.inf)
        return X[spread_out(X, v, HINTED)]


def _enumerated(reference: Reference, reach: Reach, x: Array, sign: int) -> float:
    """The smallest value on a grid of shares and all discrete choices, after zooming in on the lowest of them."""
    m, n = reach.width, GRID[reach.width]
    D = reach.combinations()
    both = cartesian([cartesian([np.linspace(0, 1, n)[:, None]] * m), D]) if m else D

    def values(rows: Array) -> Array:
        X = np.tile(x, (len(rows), 1))
        Z, inside = reach.points(X, rows[:, :m], rows[:, m:])
        out = np.full(len(rows), np.inf)
        if inside.any():
            out[inside] = reference.bound(sign, Z[inside])
        return out

    v = values(both)
    if not m:
        return float(v.min())
    low = np.argsort(v, kind="stable")[:2000]
    low = low[np.isfinite(v[low])]
    apart = both[low].copy()
    apart[:, m:] *= 1.0 / np.maximum(np.ptp(D, axis=0), 1.0)
    chosen = low[spread_out(apart, -v[low], ZOOMED)]
    at, best, step = both[chosen], v[chosen], np.full(len(chosen), 1 / (n - 1))
    around = np.array([row for row in cartesian([np.array([[-1.0], [0.0], [1.0]])] * m) if row.any()])
    for _ in range(TURNS):
        trials = np.repeat(at[:, None], len(around), axis=1)
        trials[:, :, :m] = np.clip(trials[:, :, :m] + step[:, None, None] * around, 0.0, 1.0)
        new = values(trials.reshape(-1, both.shape[1])).reshape(len(at), len(around))
        i = np.argmin(new, axis=1)
        lower = new[np.arange(len(at)), i] < best
        at[lower], best[lower] = trials[lower, i[lower]], new[lower, i[lower]]
        step = np.where(lower, step, step / 2)
        if step.max() < 1e-4 / n:
            break
    return float(best.min())
