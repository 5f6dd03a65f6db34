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

    A mixture with weights w_i has the mean Σ w_i μ_i, and its standard deviation is the length of the vector of all
    √w_i σ_i and √w_i (μ_i − μ). A length is convex, and grows by no more than the length of what its entries grow by.
    So the same holds with n_i = ‖μ_i − m_i‖, n = Σ w_i n_i ρ_i, and the error
    n + β^{1/2} (Σ w_i (ρ_i² + (n_i ρ_i + n)²))^{1/2} in place of (‖μ − m‖ + β^{1/2}) ρ.

    With a warp all of this is about latent values. It is increasing, so the ends of what is proved are carried over.
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
from stableopt.model.beliefs import WarpedPosterior
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
        model = posterior.model
        self.model = model.latent if isinstance(model, WarpedPosterior) else model
        self.space, self.beta = posterior.space, beta
        self._parts = (self.model,) if isinstance(self.model, Posterior) else self.model.posteriors
        count = len(self._parts)
        given = () if isinstance(self.model, Posterior) else self.model.weights
        self._weights = np.array(given or [1 / count] * count)
        # How the model sees coordinates: as they are, or in the user's units.
        self._scale = np.ones(posterior.space.dim) if posterior.scaled else posterior.space.span
        self._natural = (lambda Z: Z) if posterior.scaled else posterior.space.natural
        self.evaluations = 0
        self._norms = np.array([_norm(part) for part in self._parts])
        variances = [float(part.gp.kernel.diag(part.X[:1])[0]) for part in self._parts]
        self._deviations = np.sqrt(np.array(variances))

    def values(self, Z: Array, sign: int) -> Array:
        self.evaluations += len(Z)
        mean, variance = self.model(self._natural(Z))
        return np.asarray(sign * mean + math.sqrt(self.beta) * np.sqrt(variance))

    def axis_errors(self, widths: Array) -> Array:
        """What each coordinate of boxes with these widths (n, P) adds to the error; it says where to cut a box."""
        each = [np.sqrt(interpolation_error(part.gp.kernel, widths * self._scale)) for part in self._parts]
        return np.asarray(np.tensordot(self._weights, np.array(each), 1))

    def slack(self, widths: Array) -> Array:
        each = [np.sqrt(interpolation_error(part.gp.kernel, widths * self._scale)).sum(axis=1) for part in self._parts]
        rho = np.array(each) + _ROUNDING * self._deviations[:, None]
        if len(rho) == 1:
            return np.asarray((self._norms[0] + math.sqrt(self.beta)) * rho[0])
        by_mean = self._norms[:, None] * rho
        mean = self._weights @ by_mean
        return np.asarray(mean + math.sqrt(self.beta) * np.sqrt(self._weights @ (rho**2 + (by_mean + mean) ** 2)))


def _norm(p: Posterior) -> float:
    """‖μ − m‖ in the kernel's space, (αᵀKα)^{1/2} with α = (K + Σ)⁻¹(y − m)."""
    alpha = np.linalg.solve(p.factor.T, p.whitened)
    return math.sqrt(max(float(alpha @ (p.gp.kernel(p.X, p.X) @ alpha)), 0.0)) * (1 + _ROUNDING)


def certificate(
    posterior: SpacePosterior, region: SpaceRegion, decision: Array, beta: float, *, tolerance: float, budget: int
) -> Proved:
    """Proved bounds on the worst case of a decision (a row of coordinates) and on the stable optimum."""
    for value, what in ((beta, "beta"), (tolerance, "tolerance"), (budget, "budget")):
        positive(value, f"a {what} above 0")
    F = PosteriorOnBoxes(posterior, beta)
    covering, row = Covering(F, region), np.asarray(decision, dtype=float)
    warp = posterior.model.warp if isinstance(posterior.model, WarpedPosterior) else None
    if warp is not None:  # what is proved of latent values is carried over by an increasing function
        tolerance *= float(warp.slope(posterior.bound(0.0)(region.points(row[None], np.zeros((1, region.width)))))[0])
    lower, upper, sure = worst_case(covering, row, tolerance, budget // 4)
    largest, _, best = optimum(covering, tolerance, budget)
    ends = np.array([lower, upper, max(largest, upper)])
    lower, upper, largest = (ends if warp is None else warp.inverse(ends)).tolist()
    return Proved(lower, upper, largest, F.evaluations, sure and best)


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
