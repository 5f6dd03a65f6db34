"""Proved certificates on boxes, with a tolerance and a budget; `Optimizer.report(proof=True)` is the short way.

`maxmin.covering` covers decisions and perturbations by cells, and `loop.proof` says what a posterior is on a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stableopt.base.arrays import Array
from stableopt.base.values import ReadOnly
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.proof import BUDGET, certificate, proved_bounds
from stableopt.loop.space import SpacePosterior
from stableopt.maxmin.spaces.region import SpaceRegion


@dataclass(frozen=True, eq=False)
class RigorousReport(ReadOnly):
    """Proved bounds on a decision. They are true wherever the confidence bounds are."""

    decision: Any
    lower: float
    """Lower bound on the worst-case value of the decision."""
    upper: float
    """Upper bound on it."""
    optimum_upper: float
    """Upper bound on the value of the stable optimum."""
    evaluations: int
    """The price: how often the posterior was evaluated; 0 on finite domains, where every report is exact."""
    reached: bool
    """Whether the tolerance was reached; otherwise the budget ended first, and the bounds are wider."""

    @property
    def regret_bound(self) -> float:
        """Upper bound on the ε-regret."""
        return self.optimum_upper - self.lower


def certify(optimizer: Optimizer, *, tolerance: float | None = None, budget: int = BUDGET) -> RigorousReport:
    """The certificate of the decision that the optimiser reports now, proved.

    For floats with balls, rectangles, relative tolerances or parameters, SE and Matérn kernels, and one model (not
    ``method="bayes"``).

    tolerance: each bound is refined until it is this close to a value that is reached. Default: a twentieth of the
        bound on the regret.
    budget: about how many evaluations are spent at most.
    """
    report = optimizer.report()
    return RigorousReport(report.decision, *proved_bounds(optimizer.state, report, tolerance, budget))


def rigorous_certificate(
    posterior: SpacePosterior,
    region: SpaceRegion,
    decision: Array,
    beta: float,
    *,
    tolerance: float,
    budget: int = BUDGET,
) -> RigorousReport:
    """Proved bounds on the worst case of a decision (a row of coordinates) and on the stable optimum."""
    found = certificate(posterior, region, decision, beta, tolerance=tolerance, budget=budget)
    return RigorousReport(region.space.decode(decision), *found)
