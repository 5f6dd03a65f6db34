"""The inner side: worst cases of decisions, that is min over scenarios, by descent from many starts.

    try      scenarios of a spread, and scenarios that lead to known low points
    descend  the lowest of them; after the first steps half of these go on, then a quarter
    poll     jump across the set or to a discrete neighbour, and descend from there, while that leads lower

A minimum that is missed makes a decision look better than it is. So the effort is a parameter, and every answer is
checked with the full one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.batches import lowest, paired
from stableopt.maxmin.search.descent import Descent
from stableopt.maxmin.search.efforts import Effort, Plan
from stableopt.maxmin.search.low_points import LowPoints
from stableopt.maxmin.search.oracle import Oracle

POLLED = 1e-5  # of the spread of F: the least that a jump must gain


class Minima(NamedTuple):
    """Local minima of n decisions, r of each, the lowest first."""

    V: Array  # values (n, r)
    S: Array  # scenarios (n, r, q)
    T: Array  # targets (n, r, P)


class InnerSearch:
    """min over scenarios, for one function F: the adversary of one search."""

    def __init__(self, oracle: Oracle, plan: Plan, spread: Array, known: Array | None) -> None:
        """With scenarios ``spread`` (m, q) to try for every decision, and points ``known`` (t, P) that may be low."""
        self.oracle, self.plan, self.region, self.spread = oracle, plan, oracle.region, spread
        self.low = LowPoints(oracle, known)

    def minima(self, X: Array, effort: Effort, also: Array | None = None) -> Minima:
        """Local minima of the decisions; scenarios ``also`` (n, m, q) are tried, too."""
        n, q = len(X), self.region.width
        if q == 0 or n == 0:
            S = np.zeros((n, 1, q))
            found = self.oracle.gradients(X, S)
            return Minima(found.v, S, found.T)
        tried = [np.broadcast_to(self.spread[: effort.scan], (n, min(effort.scan, len(self.spread)), q))]
        tried += [self.low.near(X, effort.known)] + ([] if also is None else [also])
        S = self.oracle.project(X, np.concatenate(tried, axis=1))
        V = self.oracle.values(X, S)
        m = min(effort.starts, S.shape[1])
        S = np.take_along_axis(S, lowest(V, m, S if effort.apart else None)[:, :, None], axis=1)
        descent = Descent(self.oracle, *paired(X, S))
        for steps, share in ((3, 2), (5, 2), (effort.steps, 1)):
            # On the last leg a scenario must promise to come below the lowest one of its decision.
            goal = None if share > 1 else np.repeat(descent.v.reshape(n, m).min(axis=1), m)
            descent.advance(steps, effort.tolerance, goal)
            kept = max(1, m // share)
            best = lowest(descent.v.reshape(n, m), kept, descent.S.reshape(n, m, q) if effort.apart else None)
            descent.keep((best + m * np.arange(n)[:, None]).ravel())
            m = kept
        self._poll(descent, effort)
        descent.keep((lowest(descent.v.reshape(n, m), m) + m * np.arange(n)[:, None]).ravel())
        return Minima(descent.v.reshape(n, m), descent.S.reshape(n, m, q), descent.T.reshape(n, m, descent.T.shape[1]))

    def _poll(self, descent: Descent, effort: Effort) -> None:
        """Jumps from all scenarios: across in one coordinate, or to a discrete neighbour, while one leads lower."""
        q, rows = self.region.width, np.arange(len(descent.v))
        across = np.concatenate([2 * np.eye(q), -2 * np.eye(q)])
        for _ in range(effort.polls):
            pairs = zip(descent.X[rows], descent.S[rows], strict=True)
            trials = [np.concatenate([s + across, self.region.other_scenarios(x, s)]) for x, s in pairs]
            counts = [len(trial) for trial in trials]
            owner = np.repeat(rows, counts)
            S = self.region.project_inside(descent.X[owner], np.concatenate(trials))
            v = self.oracle.values(descent.X[owner], S)
            starts = np.lexsort((v, owner))[np.cumsum([0, *counts[:-1]])]  # the lowest trial of each row
            trial = Descent(self.oracle, descent.X[rows], S[starts])
            trial.advance(effort.steps // 2, effort.tolerance, descent.v[rows])
            lower = np.flatnonzero(trial.v < descent.v[rows] - POLLED * self.oracle.scale)
            rows = rows[lower]
            descent.replace(rows, trial, lower)
            if not len(rows):
                return
