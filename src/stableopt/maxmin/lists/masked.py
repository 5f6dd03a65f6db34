"""Exact max-min on a finite set of which only some decisions are allowed; the adversary is as free as before."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.maxmin.lists.solvers import ListedMaxMin
from stableopt.maxmin.solver import Choice, Hints

_NO_HINTS: Hints[int] = Hints()


class MaskedMaxMin(ListedMaxMin):
    """Another solver, for which a decision that is not allowed is worse than any."""

    def __init__(self, solver: ListedMaxMin, allowed: Mask) -> None:
        self.n_decisions, self.n_points = solver.n_decisions, solver.n_points
        self.allowed = allowed
        self._solver, self._forbidden = solver, ~allowed

    def all_minima(self, values: Array) -> Array:
        return np.where(self._forbidden, -math.inf, self._solver.all_minima(values))

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        return np.where(self._forbidden[decisions], -math.inf, self._solver.minima_at(decisions, values))

    def members(self, decision: int) -> Indices:
        return self._solver.members(decision)

    def best(self, decisions: Sequence[int], F: Array, hints: Hints[int] = _NO_HINTS) -> Choice[int]:
        """Of these decisions; of all, if none of these is allowed."""
        some = [d for d in decisions if not self._forbidden[d]]
        return super().best(some, F, hints) if some else self.maximin(F, hints)
