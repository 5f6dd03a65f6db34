"""Information gain: how much observations tell about f, and the most that t of them can tell.

Notation (the paper's Section 3.1)
    σ²           noise variance; v(x) the posterior variance of f(x) given some observations
    F(S)         information gain ½ log det(I + σ⁻²K) of the observations S; one more at x adds ½ log(1 + v(x)/σ²)
    γ_t          the largest F(S) with t observations of a finite domain, repetitions allowed
    G_t, m_t     F of the first t greedy observations, and the largest gain that one more can add
    w            a design: how often each point is observed, also as a fraction; F(w) is concave in w

Upper bounds on γ_t, all valid, of which the smallest is taken:
    G_t / (1 − (1 − 1/t)^t)                              F is submodular; the divisor is above 1 − 1/e
    G_s + t·m_s                                          F(S ∪ best) <= F(S) + Σ gains, for any s
    F(w) + ½t·max_x v_w(x)/σ² − ½Σ_i w_i v_w(x_i)/σ²     the tangent of the concave F at any design w
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from stableopt.base.arrays import Array, Indices, cartesian, frozen
from stableopt.base.checks import matrix, number, whole
from stableopt.base.values import ReadOnly
from stableopt.model.algebra import Kernel, Scaled
from stableopt.model.gp import GP
from stableopt.model.kernels import SE, Matern

_ENTRIES = 1 << 22  # of a matrix that is computed at once


def information_gain(gp: GP, X: ArrayLike) -> float:
    """½ log det(I + σ⁻²K) of observations at the rows of X (t, p), which may repeat."""
    points = np.asarray(X, dtype=float)
    if points.ndim != 2:
        raise ValueError(f"expected the observed points as an (t, p) array, got shape {points.shape}")
    return _gain_of_design(gp, points, np.ones(len(points)))[0] if len(points) else 0.0


def max_information_gain(gp: GP, points: ArrayLike | Sequence[Array], rounds: int) -> GainBracket:
    """A bracket of γ_t on a finite domain, by greedy selection of ``rounds`` observations in O(rounds²·n).

    ``points`` are rows (n, p), or the blocks of a domain (a list of arrays (n_i, p_i), such as ``Grid.blocks``) whose
    combinations are the candidates: then a kernel that is a product over them needs no memory for the rows.
    """
    whole(rounds, 1, "a number of rounds of 1 or more")
    blocks = _blocks(points)
    chosen, gains, ratios, tangents = _greedy(gp, blocks, rounds)
    upper = _upper(gains, ratios, tangents)
    return GainBracket(gp, tuple(blocks), frozen(chosen), frozen(gains[1:].copy()), frozen(upper))


@dataclass(frozen=True, eq=False)
class GainBracket(ReadOnly):
    """Lower and upper bounds on the maximum information gain γ_t of a finite domain; call it for the upper one."""

    gp: GP
    blocks: tuple[Array, ...]
    chosen: Indices
    """The greedy observations, as indices of candidates, in order (T,)."""
    lower: Array
    """G_t <= γ_t for t = 1..T."""
    upper: Array
    """>= γ_t for t = 1..T."""

    def __call__(self, t: int) -> float:
        """An upper bound on γ_t for any t >= 0, to be used as ``gamma`` of a schedule."""
        return self.at(t)[1]

    def at(self, t: int) -> tuple[float, float]:
        """Lower and upper bound on γ_t, also beyond the T greedy rounds (O(T²·n) then).

        Beyond them, T points are chosen greedily with t/T observations each, some steps move that design towards the
        optimal one, its tangent is the upper bound, and the design rounded down is the lower one. The upper bound is
        loose where T points do not cover the domain: choose more greedy rounds.
        """
        rounds = len(self.lower)
        whole(t, 0, "a number of observations of 0 or more")
        if t <= rounds:
            return (float(self.lower[t - 1]), float(self.upper[t - 1])) if t else (0.0, 0.0)
        points = cartesian(self.blocks)
        many = replace(self.gp, noise=self.gp.noise * math.sqrt(rounds / t))
        support, counts = np.unique(_greedy(many, self.blocks, rounds)[0], return_counts=True)
        weights: Array = np.asarray(counts * (t / rounds), dtype=float)
        for _ in range(8):  # multiplicative steps: F(w) never decreases along them
            variance = _gain_of_design(self.gp, points[support], weights)[1]
            weights = np.asarray(weights * variance * (t / (weights @ variance)))
        rounded: Array = np.floor(weights)
        kept = rounded > 0
        lower = _gain_of_design(self.gp, points[support[kept]], rounded[kept])[0] if kept.any() else 0.0
        upper = _tangent_bound(self.gp, points, support, weights, t)
        # The t observations split into parts of size T at most, which tell at most γ_T each.
        split = float(self.upper[-1]) * math.ceil(t / rounds)
        return max(lower, float(self.lower[-1])), min(upper, split)


def gain_rate(kernel: Kernel, t: float, dim: int) -> float:
    """The growth of γ_t that the paper uses after Theorem 1, without its constant.

    (log t)^{p+1} for SE and t^{p(p+1)/(2ν + p(p+1))} log t for Matérn, in p dimensions.
    """
    kernel = _unscaled(kernel)
    whole(dim, 1, "a dimension of 1 or more")
    if number(t, "t >= 1") < 1:
        raise ValueError(f"expected t >= 1, got {t!r}")
    if isinstance(kernel, SE):
        return math.log(t) ** (dim + 1)
    power = dim * (dim + 1)
    return float(t ** (power / (2 * kernel.nu + power)) * math.log(t))


def _unscaled(kernel: Kernel) -> SE | Matern:
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if not isinstance(kernel, SE | Matern):
        raise TypeError(f"expected an SE or Matern kernel, for which the paper states rates, got {kernel!r}")
    return kernel


def _blocks(points: ArrayLike | Sequence[Array]) -> list[Array]:
    if isinstance(points, list | tuple) and points and all(getattr(b, "ndim", 0) == 2 for b in points):
        return [matrix(block, "points") for block in points]
    return [matrix(points, "points")]


def _greedy(gp: GP, blocks: Sequence[Array], rounds: int) -> tuple[Indices, Array, Array, Array]:
    """The greedy observations (T,); and for s = 0..T: G_s, max v_s/σ² and ½Σ v_s(x_i)/σ² over those chosen."""
    posterior = gp.track(blocks)
    noise = gp.noise_variance(posterior.prior_variance)
    chosen = np.empty(rounds, dtype=np.intp)
    gains, ratios, tangents = np.zeros((3, rounds + 1))
    for s in range(rounds + 1):
        ratio = posterior.variance / noise
        best = int(np.argmax(ratio))
        gains[s], ratios[s] = posterior.information_gain, ratio[best]
        tangents[s] = 0.5 * np.sum(ratio[chosen[:s]])
        if s < rounds:
            chosen[s] = best
            posterior = posterior.update(best, 0.0)  # the variance does not depend on the value
    return chosen, gains, ratios, tangents


def _upper(gains: Array, ratios: Array, tangents: Array) -> Array:
    """The smallest of the three bounds for t = 1..T, each over all prefixes s of the greedy observations."""
    rounds = len(gains) - 1
    upper = np.empty(rounds)
    for t in range(1, rounds + 1):
        greedy = gains[t] / (1 - (1 - 1 / t) ** t)
        marginal = np.min(gains + 0.5 * t * np.log1p(ratios))
        tangent = np.min(gains + 0.5 * t * ratios - tangents)
        upper[t - 1] = min(greedy, marginal, tangent)
    return np.maximum.accumulate(np.maximum(upper, gains[1:]))  # rounding must not cross the bracket


def _gain_of_design(gp: GP, X: Array, weights: Array) -> tuple[float, Array]:
    """F(w) of a design w > 0 on the rows of X, and its posterior variances there: w observations have noise σ²/w."""
    noise = gp.noise_variance(gp.kernel.diag(X))
    root = np.sqrt(weights / noise)
    K = gp.kernel(X, X)
    L = cholesky(np.eye(len(X)) + root[:, None] * K * root, lower=True)
    half = solve_triangular(L, root[:, None] * K, lower=True)
    variance = np.diag(K) - np.einsum("ij,ij->j", half, half)
    return float(np.sum(np.log(np.diag(L)))), np.maximum(variance, 0.0)


def _tangent_bound(gp: GP, points: Array, support: Indices, weights: Array, t: int) -> float:
    """F(w) + ½t·max v_w/σ² − ½Σ w v_w/σ² >= γ_t, with the maximum over all points."""
    X = points[support]
    noise = gp.noise_variance(gp.kernel.diag(X))
    root = np.sqrt(weights / noise)
    L = cholesky(np.eye(len(X)) + root[:, None] * gp.kernel(X, X) * root, lower=True)
    largest = 0.0
    rows = max(1, _ENTRIES // len(X))
    for start in range(0, len(points), rows):
        part = points[start : start + rows]
        half = solve_triangular(L, root[:, None] * gp.kernel(X, part), lower=True)
        prior = gp.kernel.diag(part)
        variance = prior - np.einsum("ij,ij->j", half, half)
        largest = max(largest, float(np.max(variance / gp.noise_variance(prior))))
    gain, variance = _gain_of_design(gp, X, weights)
    return gain + 0.5 * t * largest - 0.5 * float(np.sum(weights * variance / noise))
