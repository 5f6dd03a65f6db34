"""Reports that are proved: what a posterior is on a box at most, for the covering of `maxmin`.

Notation
    φ(z)       k(z, ·), the point z as an element of the kernel's Hilbert space; d_k(z, z') = ‖φ(z) − φ(z')‖
    ucb(z)     U(φ(z)) with U(g) = m + ⟨μ − m, g⟩ + β^{1/2} ‖S g‖ and S = (I + Σ_i φ(x_i)φ(x_i)ᵀ/σ_i²)^{−1/2}, since
               ‖S φ(z)‖ is the posterior's standard deviation; −lcb is the same with −m and −(μ − m)
    λ_v(z)     weights of multilinear interpolation between the corners v of a box, λ_v >= 0, Σ λ_v = 1
    ρ          bound on ‖φ(z) − Σ λ_v(z) φ(v)‖ for z in the box

Why the bounds hold
    S shrinks, so U is Lipschitz with constant ‖μ − m‖ + β^{1/2}: with d_k in place of ρ that alone would bound a cell,
    with an error of first order in its widths. But U is also convex. Hence, for every z of a box,

        ucb(z) <= U(Σ λ_v φ(v)) + (‖μ − m‖ + β^{1/2}) ρ <= Σ λ_v ucb(v) + (‖μ − m‖ + β^{1/2}) ρ,

    (m is constant or linear in z, so it is its own interpolation), and likewise for −lcb. `model.interpolation` bounds
    ρ; for SE and Matérn with ν > 2 it is of second order: halving cells makes the error four times smaller.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import positive
from stableopt.loop.answers import Report
from stableopt.loop.space import SpacePosterior, SpaceSetting
from stableopt.loop.state import State
from stableopt.maxmin.covering import Covering, optimum, worst_case
from stableopt.maxmin.solver import Index
from stableopt.maxmin.spaces.region import SpaceRegion
from stableopt.model.gp import Posterior
from stableopt.model.interpolation import interpolation_error

BUDGET = 300_000  # evaluations of the posterior
SHARE = 0.05  # of the numerical bound on the regret: how much wider each side of the certificate may be by default
MOST = 3  # continuous coordinates of decision and adversary together, for a report
_ROUNDING = 1e-9  # relative to what the bounds are sums of


class Proved(NamedTuple):
    """Bounds on the worst case of a decision and on the stable optimum, and their price."""

    lower: float
    upper: float
    optimum_upper: float
    evaluations: int
    reached: bool
    """Whether the tolerance was reached; otherwise the budget ended first, and the bounds are wider."""


class PosteriorOnBoxes:
    """ucb (sign 1) and −lcb (sign −1) of a posterior: both convex in φ(z), so that boxes have bounds."""

    def __init__(self, posterior: SpacePosterior, beta: float) -> None:
        if not isinstance(posterior.model, Posterior):
            kind = type(posterior.model).__name__
            raise TypeError(f"expected the posterior of one GP, got {kind}: use 'map' or a GP")
        self.model, self.space, self.beta = posterior.model, posterior.space, beta
        # How the model sees coordinates: as they are, or in the user's units.
        self._scale = np.ones(posterior.space.dim) if posterior.scaled else posterior.space.span
        self._natural = (lambda Z: Z) if posterior.scaled else posterior.space.natural
        self.evaluations = 0
        self._slope = self._norm() + math.sqrt(beta)
        self._deviation = math.sqrt(float(self.model.gp.kernel.diag(self.model.X[:1])[0]))

    def _norm(self) -> float:
        """‖μ − m‖ in the kernel's space, (αᵀKα)^{1/2} with α = (K + Σ)⁻¹(y − m)."""
        p = self.model
        alpha = np.linalg.solve(p.factor.T, p.whitened)
        return math.sqrt(max(float(alpha @ (p.gp.kernel(p.X, p.X) @ alpha)), 0.0)) * (1 + _ROUNDING)

    def values(self, Z: Array, sign: int) -> Array:
        self.evaluations += len(Z)
        mean, variance = self.model(self._natural(Z))
        return np.asarray(sign * mean + math.sqrt(self.beta) * np.sqrt(variance))

    def axis_errors(self, widths: Array) -> Array:
        """ρ_j of boxes with these widths in coordinates (n, P)."""
        return np.sqrt(interpolation_error(self.model.gp.kernel, widths * self._scale))

    def slack(self, widths: Array) -> Array:
        return np.asarray(self._slope * (self.axis_errors(widths).sum(axis=1) + _ROUNDING * self._deviation))


def certificate(
    posterior: SpacePosterior, region: SpaceRegion, decision: Array, beta: float, *, tolerance: float, budget: int
) -> Proved:
    """Proved bounds on the worst case of a decision (a row of coordinates) and on the stable optimum."""
    for value, what in ((beta, "beta"), (tolerance, "tolerance"), (budget, "budget")):
        positive(value, f"a {what} above 0")
    F = PosteriorOnBoxes(posterior, beta)
    covering = Covering(F, region)
    lower, upper, sure = worst_case(covering, np.asarray(decision, dtype=float), tolerance, budget // 4)
    largest, _, best = optimum(covering, tolerance, budget)
    return Proved(lower, upper, max(largest, upper), F.evaluations, sure and best)


def proved_bounds(
    state: State[Index], report: Report[Index], tolerance: float | None = None, budget: int = BUDGET
) -> Proved:
    """The bounds of a report, proved. On finite domains they are exact already."""
    if report.exact:
        return Proved(report.lower, report.upper, report.optimum_upper, 0, True)
    if tolerance is None:
        tolerance = SHARE * report.regret_bound
    # Only the search in a space is not exact.
    posterior, region = cast("SpacePosterior", state.posterior), cast("SpaceSetting", state.setting).region
    row = np.array(report.decision_index)
    found = certificate(posterior, region, row, state.beta, tolerance=tolerance, budget=budget)
    # Both are values of ucb at points that the adversary may choose.
    return found._replace(upper=min(found.upper, report.upper))


def proved(state: State[Index], report: Report[Index]) -> Report[Index]:
    """The report with bounds that are proved; refused where that would take too long, or there is no proof."""
    if report.exact:
        return report
    region = cast("SpaceSetting", state.setting).region
    own, theirs = int((~region.discrete).sum()), sum(m.width for m in region.movers if not m.discrete)
    if own + theirs > MOST:
        raise ValueError(
            f"expected at most {MOST} continuous coordinates of decision and adversary together for a proof, got "
            f"{own} + {theirs}: use a finite domain, which is exact, or stableopt.theory.certify with a budget"
        )
    found = proved_bounds(state, report)
    lower, upper, optimum_upper, *_ = found
    return replace(report, lower=lower, upper=upper, optimum_upper=optimum_upper, gap=0.0, proved=True)
