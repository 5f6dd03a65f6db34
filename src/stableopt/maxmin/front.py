"""What the continuous search carries along: decisions on their way up together, and points that may be worst cases."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.maxmin.descent import FAR, Descent, Oracle, ascent, lowest, paired, size


class Front:
    """Decisions on their way up, each with its active scenarios S (n, m, q), values V, gradients G, H and targets T."""

    def __init__(self, oracle: Oracle, X: Array, S: Array) -> None:
        self.oracle, self.X, self.S = oracle, X, S
        self.V, self.G, self.H, self.T = oracle.gradients(X, S)
        self.length = np.full(len(X), 0.1)
        self.weights = np.full(self.V.shape, 1.0 / self.V.shape[1])

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
        p, _, self.weights = ascent(oracle.region, self.X, self.V, self.G, self.length, self.weights)
        X = oracle.region.clip(self.X + p)
        S = oracle.project(X, self.S)
        trial = (S, *oracle.gradients(X, S))
        if S.shape[2]:
            self._worse(X, *trial)
        V = trial[1]
        better = V.min(axis=1) > self.V.min(axis=1)
        for old, new in zip((self.X, self.S, self.V, self.G, self.H, self.T), (X, *trial), strict=True):
            old[better] = new[better]
        self.length = np.where(better, np.minimum(1.6 * self.length, 0.5), 0.35 * self.length)
        fell = np.flatnonzero(~better)
        if len(fell) and S.shape[2]:
            self.exchange(S[fell, np.argmin(V[fell], axis=1)], fell)

    def _worse(self, X: Array, S: Array, V: Array, G: Array, H: Array, T: Array) -> None:
        """Change the lowest scenarios to a step further down, and the highest to an extreme one, if that is lower."""
        rows = np.arange(len(X))[:, None]
        columns = lowest(V, 2)
        s, h = S[rows, columns], H[rows, columns]
        down = h / size(h)
        trial = self.oracle.project(X, np.concatenate([s - 0.2 * down, (s - FAR * down)[:, :1]], axis=1))
        new = (trial, *self.oracle.gradients(X, trial))
        target = np.concatenate([columns, np.argmax(V, axis=1)[:, None]], axis=1)
        i, j = np.nonzero(new[1] < np.concatenate([V[rows, columns], V.min(axis=1, keepdims=True)], axis=1))
        for old, fresh in zip((S, V, G, H, T), new, strict=True):
            old[i, target[i, j]] = fresh[i, j]

    def exchange(self, S: Array, rows: Indices | None = None) -> None:
        """Make these scenarios (n, q) of some decisions active, in place of the highest."""
        rows = np.arange(len(self.X)) if rows is None else rows
        X = self.X[rows]
        S = self.oracle.region.project(X, S)
        at = np.argmax(self.V[rows], axis=1)
        new = (S, *self.oracle.gradients(X, S))
        for old, fresh in zip((self.S, self.V, self.G, self.H, self.T), new, strict=True):
            old[rows, at] = fresh


class Pool:
    """Points whose values are known and low: likely worst cases of the decisions around them."""

    def __init__(self, oracle: Oracle, known: Array | None) -> None:
        self.oracle = oracle
        self.Z = np.empty((0, 0)) if known is None else known
        self.v = np.empty(0) if known is None or not oracle.region.width else oracle.at(known)

    def add(self, Z: Array, v: Array, count: int) -> None:
        """The lowest of these, too."""
        low = np.argsort(v, kind="stable")[:count]
        self.Z = np.concatenate([self.Z, Z[low]]) if len(self.Z) else Z[low]
        self.v = np.append(self.v, v[low])

    def near(self, X: Array, count: int) -> Array:
        """Scenarios (n, <= count, q) that turn each decision into low points nearby, or lead towards them."""
        region, n = self.oracle.region, len(X)
        if not len(self.v):
            return np.empty((n, 0, region.width))
        at = region.points(X, region.project(X, np.zeros((n, region.width))))[:, : region.dim]
        Z = self.Z[:, : region.dim]  # a parameter is as near as any other
        squares = np.sum(at**2, axis=1)[:, None] - 2 * at @ Z.T + np.sum(Z**2, axis=1)
        near = lowest(squares, min(4 * count, len(self.v)))
        rows, Z = np.repeat(X, near.shape[1], axis=0), self.Z[near.ravel()]
        S = region.scenario_of(rows, Z)
        short = np.sqrt(np.sum((region.points(rows, S) - Z) ** 2, axis=1)).reshape(near.shape)
        chosen = lowest(self.v[near] + 4 * self.oracle.scale * short, count)
        return np.take_along_axis(S.reshape(*near.shape, region.width), chosen[:, :, None], axis=1)
