"""Many runs at once on a finite domain, to measure how often bounds hold and to calibrate a beta that needs no proof.

Notation
    F, n, T      functions, candidates, rounds
    s            number of observations, 0..T: the posterior μ_s, σ_s gives the bounds of round s + 1
    w            weights of the observations in μ_s(x) = m + wᵀ(y − m), that is (K + σ²I)⁻¹ k_s(x)
    a, b         bias and noise of μ_s(x): |bias| <= B·a for every f of norm B, and the noise wᵀz has the standard
                 deviation b = σ‖w‖ for independent z; a² + b² = σ_s²(x), so that
                 |f − μ_s| <= B·a + |wᵀz| <= (B² + (wᵀz/b)²)^{1/2} σ_s(x)
    q            quantile of the largest |wᵀz|/b over all candidates and rounds: β = B² + q²
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Indices, frozen
from stableopt.base.checks import is_number, matrix
from stableopt.base.values import ReadOnly
from stableopt.loop.schedules import Calibrated, Schedule
from stableopt.model.gp import GP
from stableopt.theory.sampling import sample_rkhs

Rule = Callable[[Array, Array, np.random.Generator], Indices]
"""Which candidate each run measures next (F,), from mean and std (F, n)."""

_ENTRIES = 1 << 23  # of V, for the runs that go side by side
_NEGLIGIBLE = 1e-16  # of the prior variance: less noise than that in μ_s changes no bound, and its ratio is rounding


def uniform(mean: Array, std: Array, rng: np.random.Generator) -> Indices:
    """A candidate at random."""
    return rng.integers(mean.shape[1], size=len(mean))


def largest_variance(mean: Array, std: Array, rng: np.random.Generator) -> Indices:
    """The candidate that is least known."""
    return np.asarray(np.argmax(std, axis=1))


def optimistic(beta: float) -> Rule:
    """GP-UCB: the candidate with the largest ucb."""
    return lambda mean, std, rng: np.argmax(mean + math.sqrt(beta) * std, axis=1)


def stable(sets: ArrayLike, beta: float) -> Rule:
    """StableOpt, Algorithm 1: row d of ``sets`` (decisions, m) lists the candidates in A(d), repeated to fill it up."""
    members = np.asarray(sets, dtype=np.intp)
    if members.ndim != 2 or members.size == 0:
        raise ValueError(f"expected one row of candidates per decision, got shape {members.shape}")

    def rule(mean: Array, std: Array, rng: np.random.Generator) -> Indices:
        width = math.sqrt(beta) * std
        decisions = np.argmax((mean + width)[:, members].min(axis=2), axis=1)  # Alg. 1, line 2
        reached = members[decisions]
        rows = np.arange(len(mean))
        lcb = np.take_along_axis(mean - width, reached, axis=1)
        return np.asarray(reached[rows, np.argmin(lcb, axis=1)])  # Alg. 1, line 3

    return rule


@dataclass(frozen=True, eq=False)
class Runs(ReadOnly):
    """What F runs of T rounds showed."""

    chosen: Indices
    """The measured candidates (F, T)."""
    error: Array
    """The largest |f − μ_s|/σ_s over all candidates, after s = 0..T observations (F, T + 1)."""
    noise: Array
    """The largest |wᵀz|/b over all candidates, after s = 0..T observations (F, T + 1)."""
    gain: Array
    """Realised information gain after s = 0..T observations (F, T + 1)."""

    def held(self, schedule: Schedule) -> Array:
        """Whether the schedule's bounds held, everywhere and in all rounds (F,)."""
        beta = [[schedule.beta(s + 1, gain) for s, gain in enumerate(gains)] for gains in self.gain.tolist()]
        return np.asarray(np.all(self.error <= np.sqrt(beta), axis=1))


def simulate(
    gp: GP, points: ArrayLike, functions: ArrayLike, rounds: int, rule: Rule, rng: np.random.Generator
) -> Runs:
    """One run of the rule per function, given by its values at the points (F, n), with Gaussian noise of the GP."""
    candidates, values = matrix(points, "points"), np.asarray(functions, dtype=float)
    if values.ndim != 2 or values.shape[1] != len(candidates) or len(values) == 0:
        raise ValueError(f"expected values of functions at {len(candidates)} points as rows, got {values.shape}")
    if rounds < 1:
        raise ValueError(f"expected at least one round, got {rounds!r}")
    K, mean = gp.kernel(candidates, candidates), gp.prior_mean(candidates)
    noise = gp.noise_variance(np.diag(K))
    if np.ptp(noise) > 0:
        raise ValueError(f"expected a noise well above 1e-6 of the prior's standard deviation, got {gp.noise}")
    together = max(1, _ENTRIES // (rounds * len(candidates)))
    parts = [
        _simulate(K, float(noise[0]), values[i : i + together] - mean, mean, rounds, rule, rng)
        for i in range(0, len(values), together)
    ]
    chosen, error, ratio, gain = (np.concatenate(items) for items in zip(*parts, strict=True))
    return Runs(frozen(chosen), frozen(error), frozen(ratio), frozen(gain))


def _simulate(
    K: Array, noise: float, f: Array, prior: Array, rounds: int, rule: Rule, rng: np.random.Generator
) -> tuple[Indices, Array, Array, Array]:
    """The Cholesky recursion of `model.gp` for all runs side by side; f is the function minus the prior mean."""
    count, n = f.shape
    runs = np.arange(count)
    V, inverse = np.empty((count, rounds, n)), np.zeros((count, rounds, rounds))  # rows of V; L⁻¹
    mean, part = np.zeros((count, n)), np.zeros((count, n))  # μ_s − m, and its noise wᵀz
    variance, squared = np.tile(np.diag(K), (count, 1)), np.zeros((count, n))  # σ_s²; ‖w‖²
    chosen = np.empty((count, rounds), dtype=np.intp)
    error, ratio, gain = np.zeros((3, count, rounds + 1))
    for t in range(rounds + 1):
        std = np.sqrt(variance)
        error[:, t] = np.max(np.abs(f - mean) / std, axis=1)
        own = noise * squared > _NEGLIGIBLE * np.diag(K)
        ratio[:, t] = np.max(np.where(own, np.abs(part), 0.0) / np.sqrt(noise * np.where(own, squared, 1.0)), axis=1)
        if t == rounds:
            break
        chosen[:, t] = at = rule(mean + prior, std, rng)
        z = math.sqrt(noise) * rng.standard_normal(count)
        row = V[runs, :t, at]  # L⁻¹ k_s(x)
        weights = np.einsum("fi,fij->fj", row, inverse[:, :t, :t])  # w at the measured point: L⁻ᵀ L⁻¹ k_s(x)
        twice = np.einsum("fij,fj->fi", inverse[:, :t, :t], weights)
        products = np.stack([row, twice], axis=1) @ V[:, :t]
        s = np.sqrt(variance[runs, at] + noise)[:, None]
        v = (K[at] - products[:, 0]) / s
        mean += v * ((f[runs, at] + z - mean[runs, at])[:, None] / s)
        part += v * ((z - part[runs, at])[:, None] / s)
        step = v / s
        squared += step * (step * (1 + np.sum(weights**2, axis=1, keepdims=True)) - 2 * products[:, 1])
        variance = np.maximum(variance - v**2, 0.0)
        V[:, t] = v
        inverse[:, t, :t] = -weights / s
        inverse[:, t, t] = 1 / s[:, 0]
        gain[:, t + 1] = gain[:, t] + np.log(s[:, 0]) - 0.5 * math.log(noise)
    return chosen, error, ratio, gain


def calibrate(
    gp: GP,
    points: ArrayLike,
    norm: float,
    xi: float,
    rounds: int,
    rule: Rule,
    rng: np.random.Generator,
    *,
    runs: int = 500,
    confidence: float = 0.95,
    functions: ArrayLike | None = None,
) -> Calibrated:
    """A β for this GP, finite domain, norm bound B, number of rounds and rule, from simulated runs.

    The bias of the posterior is covered by B for every f in the ball; what is simulated is the noise, whose largest
    standardised value exceeds the returned ``quantile`` with probability ξ at most: an order statistic of the runs,
    true with this confidence. Where the rule does not look at the mean, that noise does not depend on f, and the
    promise is one for every f of norm B. Where it does, it is one for f such as those simulated: each of four classes
    (0, and kernel expansions of norm B with 1, 4 and 32 terms), or ``functions`` (F, n) if they are given.
    """
    candidates = matrix(points, "points")
    mean = gp.prior_mean(candidates)
    if functions is not None:
        classes = [np.asarray(functions, dtype=float)]
    else:
        each = runs // 4
        terms = [min(m, len(candidates)) for m in (1, 4, 32)]
        expansions = [sample_rkhs(gp.kernel, candidates, norm, each, rng, m)(candidates) + mean for m in terms]
        classes = [np.tile(mean, (each, 1)), *expansions]
    rank = _rank(len(classes[0]), xi, confidence)
    largest = [simulate(gp, candidates, values, rounds, rule, rng).noise.max(axis=1) for values in classes]
    quantile = max(float(np.sort(values)[rank - 1]) for values in largest)
    return Calibrated(norm, quantile, xi, confidence, rounds)


def consistent(successes: int, runs: int, probability: float, level: float = 1e-3) -> bool:
    """Whether so few successes are plausible if each has at least this probability: P(Bin <= successes) > level."""
    from scipy.special import bdtr

    if not 0 <= successes <= runs:
        raise ValueError(f"expected between 0 and {runs} successes, got {successes}")
    return bool(bdtr(successes, runs, probability) > level)


def _rank(runs: int, xi: float, confidence: float) -> int:
    """The smallest k such that the k-th smallest of the runs is an upper bound of the (1 − ξ)-quantile."""
    from scipy.special import bdtr

    if not (is_number(xi) and 0 < xi < 1 and is_number(confidence) and 0 < confidence < 1):
        raise ValueError(f"expected xi and confidence strictly between 0 and 1, got {xi!r} and {confidence!r}")
    below = bdtr(np.arange(runs), runs, 1 - xi)  # P(fewer than k runs lie below the quantile) for k = 1..runs
    if below[-1] < confidence:
        least = math.ceil(math.log(1 - confidence) / math.log(1 - xi))
        raise ValueError(
            f"expected at least {least} runs of each class for xi = {xi} and confidence {confidence}, got {runs}"
        )
    return int(np.argmax(below >= confidence)) + 1
