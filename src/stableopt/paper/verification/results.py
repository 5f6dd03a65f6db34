"""Results of the verification, as data: certificates of many runs, the trade-off, success on hard functions.

Notation
    F, T    functions, rounds
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stableopt.base.arrays import Array
from stableopt.theory.theorem2 import HardInstances

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate:
    """Reports on the decision with the best guarantee, in F runs; columns are times (F, T)."""

    lower: Array
    upper: Array
    optimum_upper: Array
    worst: Array
    """The true worst case of the reported decision."""

    def holds(self, optimum: Array) -> Array:
        """Whether the bounds on the worst case, the optimum and the regret are true at every time (F,)."""
        best = optimum[:, None]
        true = (self.lower <= self.worst + _ROUNDING) & (self.worst <= self.upper + _ROUNDING)
        true &= best <= self.optimum_upper + _ROUNDING
        true &= best - self.worst <= self.optimum_upper - self.lower + _ROUNDING
        return np.asarray(true.all(axis=1))

    @property
    def regret_bound(self) -> Array:
        """Certified bound on the regret."""
        return self.optimum_upper - self.lower


@dataclass(frozen=True, eq=False)
class Certificates:
    """The certificates of F runs: with the bounds of each time, and with the intersection of all until then."""

    plain: Certificate
    intersected: Certificate
    optimum: Array
    """(F,)"""
    chain: Array
    """Per round (F, T, 5): worst case of x̃_t, its smallest ucb and lcb, std of the measured point, β_t."""
    gain: Array
    """Realised information gain of all observations (F,)."""

    @property
    def monotone(self) -> Array:
        """Whether intersected certificates never get worse and never are worse than plain ones (F,)."""
        low, high = self.intersected.lower, self.intersected.optimum_upper
        steady = np.all(np.diff(low) >= -_ROUNDING, axis=1) & np.all(np.diff(high) <= _ROUNDING, axis=1)
        better = np.all(low >= self.plain.lower - _ROUNDING, axis=1)
        return np.asarray(steady & better & np.all(high <= self.plain.optimum_upper + _ROUNDING, axis=1))

    @property
    def looseness(self) -> Array:
        """Certified over true regret of the reported decisions, both as means over the runs, at each time (T,)."""
        true = (self.optimum[:, None] - self.plain.worst).mean(axis=0)
        return np.asarray(self.plain.regret_bound.mean(axis=0) / np.maximum(true, 1e-12))


@dataclass(frozen=True)
class Tradeoff:
    """Runs on the paper's polynomial that explore with some β^{1/2} and certify with another; rows are runs."""

    explore: float
    """β^{1/2} that chose the points."""
    regret: Array
    """True ε-regret of the reported decision (runs, rounds)."""
    bound: Array
    """Certified bound on it (runs, rounds)."""


@dataclass(frozen=True)
class HardResults:
    """How often each algorithm's report has an ε-regret below η on hard functions, by the number of rounds."""

    instances: HardInstances
    xi: float
    """How often an algorithm may fail."""
    bound: int
    """Rounds below which no algorithm succeeds on all functions with probability 1 − ξ."""
    floor: Array
    """The smallest probability of failure that any algorithm can have, after each round (T,)."""
    runs: int
    success: Mapping[str, Array]
    """Share of the runs (T,) for each algorithm."""
