"""The front: decisions on their way up together, each with a few active scenarios.

Every decision climbs on the planes of its active scenarios (`proximal`), and these get worse by steps of their own.
All decisions go together, so that F is evaluated in large batches; the hopeless ones are dropped on the way.

Notation
    X (n, d)        decisions
    S (n, m, q)     active scenarios of each of them
    V, G, H, T      values (n, m), gradients by the decision (n, m, d) and by the scenario (n, m, q), targets (n, m, P)
"""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.search.batches import highest, lowest, norms, paired
from stableopt.maxmin.search.descent import Descent
from stableopt.maxmin.search.efforts import QUICK
from stableopt.maxmin.search.inner import InnerSearch
from stableopt.maxmin.search.oracle import FAR
from stableopt.maxmin.search.proximal import Planes, proximal_step


class Front:
    """Decisions on their way up, with their active scenarios, values, gradients and targets."""

    def __init__(self, inner: InnerSearch, X: Array, S: Array) -> None:
        self.inner, self.oracle, self.X, self.S = inner, inner.oracle, X, S
        self.V, self.G, self.H, self.T = self.oracle.gradients(X, S)
        self.length = np.full(len(X), 0.1)
        self.weights = np.full(self.V.shape, 1.0 / self.V.shape[1])

    def ascend(self) -> None:
        """All decisions climb together; half of them are left after each leg."""
        plan, region, budget = self.inner.plan, self.oracle.region, self.oracle.budget
        self.descend(3)
        while len(self.X) > plan.decisions(4) and budget.left(0.5) > 0:
            for _ in range(4):
                self.rise()
            # Few scenarios say little where a parameter may be anything: then look once more before half are dropped.
            if region.width > region.dim:
                self.activate(self.inner.minima(self.X, QUICK, self.S).S[:, 0])
            self.keep(highest(self.V.min(axis=1), max(plan.decisions(4), len(self.X) // 2)))
            self.activate(self.inner.minima(self.X, QUICK, self.S).S[:, 0])
        for _ in range(6):
            if budget.left(0.5) > 0:
                self.rise()

    def keep(self, rows: Indices) -> None:
        """Go on with these decisions only."""
        for name in ("X", "S", "V", "G", "H", "T", "length", "weights"):
            setattr(self, name, getattr(self, name)[rows])

    def descend(self, steps: int) -> None:
        """Every active scenario gets worse."""
        descent = Descent(self.oracle, *paired(self.X, self.S))
        descent.advance(steps, 1e-4)
        for old, new in zip(
            (self.S, self.V, self.G, self.H, self.T),
            (descent.S, descent.v, descent.g, descent.h, descent.T),
            strict=True,
        ):
            old[:] = new.reshape(old.shape)

    def rise(self) -> None:
        """One step of every decision; where the smallest value falls, only its new worst case is kept."""
        oracle = self.oracle
        planes = Planes(self.V, self.G)
        p, _, self.weights = proximal_step(oracle.region, self.X, planes, self.length, self.weights)
        X = oracle.region.clip(self.X + p)
        S = oracle.project(X, self.S)
        trial = (S, *oracle.gradients(X, S))
        if S.shape[2]:
            self._worsen(X, *trial)
        V = trial[1]
        better = V.min(axis=1) > self.V.min(axis=1)
        for old, new in zip((self.X, self.S, self.V, self.G, self.H, self.T), (X, *trial), strict=True):
            old[better] = new[better]
        self.length = np.where(better, np.minimum(1.6 * self.length, 0.5), 0.35 * self.length)
        fell = np.flatnonzero(~better)
        if len(fell) and S.shape[2]:
            self.activate(S[fell, np.argmin(V[fell], axis=1)], fell)

    def _worsen(self, X: Array, S: Array, V: Array, G: Array, H: Array, T: Array) -> None:
        """Change the two lowest scenarios to a step further down, and the highest to an extreme one, if lower."""
        rows = np.arange(len(X))[:, None]
        columns = lowest(V, 2)
        s, h = S[rows, columns], H[rows, columns]
        down = h / norms(h)
        trial = self.oracle.project(X, np.concatenate([s - 0.2 * down, (s - FAR * down)[:, :1]], axis=1))
        new = (trial, *self.oracle.gradients(X, trial))
        target = np.concatenate([columns, np.argmax(V, axis=1)[:, None]], axis=1)
        i, j = np.nonzero(new[1] < np.concatenate([V[rows, columns], V.min(axis=1, keepdims=True)], axis=1))
        for old, fresh in zip((S, V, G, H, T), new, strict=True):
            old[i, target[i, j]] = fresh[i, j]

    def activate(self, S: Array, rows: Indices | None = None) -> None:
        """Make these scenarios (n, q) of some decisions active, in place of their highest ones."""
        rows = np.arange(len(self.X)) if rows is None else rows
        X = self.X[rows]
        S = self.oracle.region.project(X, S)
        at = np.argmax(self.V[rows], axis=1)
        new = (S, *self.oracle.gradients(X, S))
        for old, fresh in zip((self.S, self.V, self.G, self.H, self.T), new, strict=True):
            old[rows, at] = fresh
