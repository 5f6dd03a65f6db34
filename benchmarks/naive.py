"""The version of StableOpt that everybody writes first: refit scikit-learn's GP on all data, minima in a Python loop.

Same algorithm, hyperparameters and reports as the library, so that both must agree up to numerical ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor

from stableopt import Query, Report

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Naive:
    """StableOpt on finitely many points.

    kernel: a kernel of scikit-learn, used on ``features`` (n, p), one row per point.
    mean: the prior mean of every point (n,).
    lists: for every decision, the numbers of the points in its uncertainty set.
    """

    def __init__(
        self, kernel: Any, noise: float, features: Array, mean: Array, lists: Sequence[Indices], beta: float = 4.0
    ) -> None:
        self.model = GaussianProcessRegressor(kernel, alpha=noise**2, optimizer=None)
        self.features, self.mean, self.lists, self.beta = features, mean, lists, beta
        self.decisions: list[int] = []
        self.points: list[int] = []
        self.y: list[float] = []

    def ask(self) -> tuple[int, int]:
        """The next decision and point."""
        decision = int(np.argmax(self.worst_ucb))
        members = self.lists[decision]
        return decision, int(members[np.argmin(self.lcb[members])])

    def tell(self, decision: int, point: int, y: float) -> None:
        """Add one value and refit."""
        self.tell_all([decision], [point], [y])

    def tell_all(self, decisions: Sequence[int], points: Sequence[int], y: Sequence[float]) -> None:
        """Add values and refit."""
        self.decisions += decisions
        self.points += points
        self.y += y
        self.model.fit(self.features[self.points], np.array(self.y) - self.mean[self.points])
        mean, std = self.model.predict(self.features, return_std=True)
        mean += self.mean
        width = np.sqrt(self.beta) * std
        self.lcb, self.ucb = mean - width, mean + width
        self.worst_ucb = np.array([self.ucb[neighbours].min() for neighbours in self.lists])

    def report(self) -> tuple[int, float, float]:
        """The best decision so far, the lower bound on its worst case, and the upper bound on the optimum."""
        decisions = sorted(set(self.decisions))
        lower = [self.lcb[self.lists[d]].min() for d in decisions]
        best = int(np.argmax(lower))
        return decisions[best], float(lower[best]), float(self.worst_ucb.max())

    def check_query(self, query: Query, tolerance: float) -> None:
        """Raise unless the library's query is a solution for this side's bounds too."""
        members = self.lists[query.decision_index]
        lost = self.worst_ucb.max() - self.worst_ucb[query.decision_index]
        missed = self.lcb[query.point_index] - self.lcb[members].min()
        if not max(lost, missed) <= tolerance or query.point_index not in members:
            raise RuntimeError(f"the two sides propose {self.ask()} and {query}: {lost:.3g} and {missed:.3g} apart")

    def check_report(self, report: Report, tolerance: float) -> None:
        """Raise unless the library reports the same decision with the same bounds."""
        decision, lower, optimum_upper = self.report()
        gap = max(abs(report.lower - lower), abs(report.optimum_upper - optimum_upper))
        if report.decision_index != decision or not gap <= tolerance:
            raise RuntimeError(f"the two sides report {decision} ({lower}, {optimum_upper}) and {report}")
