"""Many runs at once on a finite domain: how often bounds hold, and a β calibrated by them instead of a proof.

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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Indices, frozen
from stableopt.base.checks import matrix, share, whole
from stableopt.base.values import ReadOnly
from stableopt.loop.schedules import Calibrated, Schedule
from stableopt.model.gp import GP
from stableopt.theory.sampling import sample_rkhs

Rule = Callable[[Array, Array, np.random.Generator], Indices]
"""Chooses the candidate that each run measures next (F,), from mean and std (F, n)."""

_ENTRIES = 1 << 23  # of V, for the runs that go side by side
_NEGLIGIBLE = 1e-16  # of the prior variance: less noise than that in μ_s changes no bound, and its ratio is rounding


def uniform(mean: Array, std: Array, rng: np.random.Generator) -> Indices:
    """A candidate at random."""
    return rng.integers(mean.shape[1], size=len(mean))


def largest_variance(mean: Array, std: Array, rng: np.random.Generator) -> Indices:
    """The candidate with the largest standard deviation."""
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
        return stable_choices(members, mean + width, mean - width).points

    return rule


class StableChoices(NamedTuple):
    """The choices of Algorithm 1 in F runs."""

    decisions: Indices
    """x̃_t, as rows of the sets (F,)."""
    points: Indices
    """The candidates to measure (F,)."""


def stable_choices(members: Indices, ucb: Array, lcb: Array) -> StableChoices:
    """One round of Algorithm 1 in many runs at once, from bounds on all candidates (F, n).

    members: the candidates in A(d), a row per decision, repeated to fill it up.
    """
    decisions = np.argmax(ucb[:, members].min(axis=2), axis=1)  # Alg. 1, line 2
    reached = members[decisions]
    worst = np.argmin(np.take_along_axis(lcb, reached, axis=1), axis=1)  # Alg. 1, line 3
    return StableChoices(decisions, reached[np.arange(len(reached)), worst])


@dataclass(frozen=True, eq=False)
class Game(ReadOnly):
    """A game to simulate: a model on a finite domain, a number of rounds, and a rule that plays them."""

    gp: GP
    """The prior, and the noise of the measurements."""
    points: Array
    """The candidates (n, p)."""
    rounds: int
    rule: Rule

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", matrix(self.points, "points"))
        whole(self.rounds, 1, "at least one round")


@dataclass(frozen=True, eq=False)
class Runs(ReadOnly):
    """F runs of T rounds."""

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


def simulate(game: Game, functions: ArrayLike, rng: np.random.Generator) -> Runs:
    """One run per function, given by its values at the points (F, n), with Gaussian noise of the GP."""
    candidates, values = game.points, np.asarray(functions, dtype=float)
    if values.ndim != 2 or values.shape[1] != len(candidates) or len(values) == 0:
        raise ValueError(f"expected values of functions at {len(candidates)} points as rows, got {values.shape}")
    prior = _Prior.of(game.gp, candidates)
    together = max(1, _ENTRIES // (game.rounds * len(candidates)))
    parts = [
        _simulate(prior, values[i : i + together] - prior.mean, game.rounds, game.rule, rng)
        for i in range(0, len(values), together)
    ]
    chosen, error, ratio, gain = (np.concatenate(items) for items in zip(*parts, strict=True))
    return Runs(frozen(chosen), frozen(error), frozen(ratio), frozen(gain))


class _Prior(NamedTuple):
    """A GP on the candidates."""

    K: Array
    """Covariance (n, n)."""
    mean: Array
    """(n,)"""
    noise: float
    """Variance of the noise."""

    @classmethod
    def of(cls, gp: GP, candidates: Array) -> _Prior:
        K = gp.kernel(candidates, candidates)
        noise = gp.noise_variance(np.diag(K))
        if np.ptp(noise) > 0:
            raise ValueError(f"expected a noise well above 1e-6 of the prior's standard deviation, got {gp.noise}")
        return cls(K, gp.prior_mean(candidates), float(noise[0]))


def _simulate(
    prior: _Prior, f: Array, rounds: int, rule: Rule, rng: np.random.Generator
) -> tuple[Indices, Array, Array, Array]:
    """The Cholesky recursion of `model.gp` for all runs side by side; f is the function minus the prior mean."""
    (count, n), (K, _, noise) = f.shape, prior
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
        chosen[:, t] = at = rule(mean + prior.mean, std, rng)
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
    game: Game,
    norm: float,
    xi: float,
    rng: np.random.Generator,
    *,
    runs: int = 500,
    confidence: float = 0.95,
    functions: ArrayLike | None = None,
) -> Calibrated:
    """A β for this game and norm bound B, from simulated runs.

    B covers the bias of the posterior for every f in the ball. The noise is simulated: its largest standardised value
    exceeds the returned ``quantile`` with probability ξ at most. The quantile is an order statistic of the runs and
    true with this confidence.

    Some rules do not look at the mean. Then the noise does not depend on f, and the promise is one for every f of norm
    B. Otherwise it is one for f such as those simulated.

    runs: how many are simulated, split between four classes: 0, and kernel expansions of norm B with 1, 4 and 32 terms.
    functions: values (F, n) of other functions to simulate instead.
    """
    gp, candidates = game.gp, game.points
    mean = gp.prior_mean(candidates)
    if functions is not None:
        classes = [np.asarray(functions, dtype=float)]
    else:
        each = runs // 4
        terms = [min(m, len(candidates)) for m in (1, 4, 32)]
        expansions = [sample_rkhs(gp.kernel, candidates, norm, each, rng, m)(candidates) + mean for m in terms]
        classes = [np.tile(mean, (each, 1)), *expansions]
    rank = _rank(len(classes[0]), xi, confidence)
    largest = [simulate(game, values, rng).noise.max(axis=1) for values in classes]
    quantile = max(float(np.sort(values)[rank - 1]) for values in largest)
    return Calibrated(norm, quantile, xi, confidence, game.rounds)


def consistent(successes: int, runs: int, probability: float, level: float = 1e-3) -> bool:
    """Whether so few successes are plausible if each has at least this probability: P(Bin <= successes) > level."""
    from scipy.special import bdtr

    if not 0 <= successes <= runs:
        raise ValueError(f"expected between 0 and {runs} successes, got {successes}")
    return bool(bdtr(successes, runs, probability) > level)


def _rank(runs: int, xi: float, confidence: float) -> int:
    """The smallest k such that the k-th smallest of the runs is an upper bound of the (1 − ξ)-quantile."""
    from scipy.special import bdtr

    share(xi, "xi strictly between 0 and 1")
    share(confidence, "a confidence strictly between 0 and 1")
    below = bdtr(np.arange(runs), runs, 1 - xi)  # P(fewer than k runs lie below the quantile) for k = 1..runs
    if below[-1] < confidence:
        least = math.ceil(math.log(1 - confidence) / math.log(1 - xi))
        raise ValueError(
            f"expected at least {least} runs of each class for xi = {xi} and confidence {confidence}, got {runs}"
        )
    return int(np.argmax(below >= confidence)) + 1
