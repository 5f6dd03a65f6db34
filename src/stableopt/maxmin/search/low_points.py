"""Points whose values are known and low: likely worst cases of the decisions around them."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.batches import lowest
from stableopt.maxmin.search.oracle import Oracle


class LowPoints:
    """Points Z (k, P) with their values; a search begins with points that were measured and adds what it meets."""

    def __init__(self, oracle: Oracle, known: Array | None) -> None:
        self.oracle = oracle
        self.Z = np.empty((0, 0)) if known is None else known
        self.v = np.empty(0) if known is None or not oracle.region.width else oracle.at(known)

    def add(self, Z: Array, v: Array, count: int) -> None:
        """Add the ``count`` lowest of these."""
        low = np.argsort(v, kind="stable")[:count]
        self.Z = np.concatenate([self.Z, Z[low]]) if len(self.Z) else Z[low]
        self.v = np.append(self.v, v[low])

    def near(self, X: Array, count: int) -> Array:
        """Scenarios (n, <= count, q) that turn each decision into low points nearby, or lead towards them."""
        region, n = self.oracle.region, len(X)
        if not len(self.v):
            return np.empty((n, 0, region.width))
        # A parameter is as near as any other, so only the columns of the decision count.
        at = region.points(X, region.project(X, np.zeros((n, region.width))))[:, : region.dim]
        Z = self.Z[:, : region.dim]
        squares = np.sum(at**2, axis=1)[:, None] - 2 * at @ Z.T + np.sum(Z**2, axis=1)
        near = lowest(squares, min(4 * count, len(self.v)))
        rows, Z = np.repeat(X, near.shape[1], axis=0), self.Z[near.ravel()]
        S = region.scenario_of(rows, Z)
        # A point that is out of reach is worth less, the further the scenario stays behind.
        short = np.sqrt(np.sum((region.points(rows, S) - Z) ** 2, axis=1)).reshape(near.shape)
        chosen = lowest(self.v[near] + 4 * self.oracle.scale * short, count)
        return np.take_along_axis(S.reshape(*near.shape, region.width), chosen[:, :, None], axis=1)
