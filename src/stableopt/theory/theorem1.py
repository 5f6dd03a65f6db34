"""Theorem 1: how many rounds suffice, and the chain of inequalities of its proof, checked on a finished run.

Notation (the paper's supplement)
    x̃_t, δ_t    decision and perturbation of round t; the point x̃_t + δ_t is measured
    r_t          ε-regret of x̃_t; r̄_t its pessimistic estimate, with lcb_{t−1} in place of f (eq. rbar)
    σ_t          standard deviation σ_{t−1}(x̃_t + δ_t) of the measured point, before its measurement (`std`)
    C_1          8/log(1 + σ⁻²) for k(x, x) <= 1; in general 8κ/log(1 + κ/σ²) for k(x, x) <= κ (`variance`)
    γ_T          information gain of T observations: the maximum, or the one that a run realised
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, frozen
from stableopt.base.checks import positive, vector, whole
from stableopt.base.values import ReadOnly
from stableopt.loop.schedules import Schedule

_ROUNDING = 1e-9  # relative to the terms of an inequality


def c1(noise: float, variance: float = 1.0) -> float:
    """C_1 of Theorem 1, for noise of this standard deviation and a prior variance of at most ``variance``."""
    positive(noise, "a positive noise standard deviation, without which C_1 is 0")
    positive(variance, "a positive prior variance")
    return 8 * variance / math.log1p(variance / noise**2)


def regret_bound(rounds: int, beta: float, gain: float, noise: float, variance: float = 1.0) -> float:
    """√(C_1 β_T γ_T / T): the ε-regret of the reported decision after T rounds, while the bounds hold."""
    whole(rounds, 1, "at least one round")
    return math.sqrt(c1(noise, variance) * beta * gain / rounds)


def rounds_needed(
    eta: float,
    schedule: Schedule,
    gamma: Callable[[int], float],
    noise: float,
    *,
    variance: float = 1.0,
    limit: int = 10**12,
) -> int:
    """Rounds that suffice for an ε-regret of η (Theorem 1): T/(β_T γ_T) >= C_1/η².

    The condition holds at the returned T and not one round earlier. So T is the smallest one if T/(β_T γ_T) grows with
    T, as it does for concave gains.

    schedule: gives β_T.
    gamma: an upper bound on the maximum information gain of t observations, such as a result of
        `max_information_gain`.
    variance: an upper bound on the prior variance.
    limit: the search for T ends here.
    """
    positive(eta, "an accuracy eta above 0")
    factor = c1(noise, variance) / eta**2

    def suffices(rounds: int) -> bool:
        return rounds >= factor * schedule.beta(rounds, gamma(rounds - 1)) * gamma(rounds)

    low, high = 0, 1
    while not suffices(high):
        low, high = high, 2 * high
        if high > limit:
            raise ValueError(
                f"{limit} rounds do not suffice for eta = {eta:g} (or the bound on the gain is too loose to show it): "
                "expect less accuracy, or raise the limit"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class Chain(ReadOnly):
    """The terms of the proof of Theorem 1 for one run; each is at most the next one if the bounds held.

    Per round (T,): regret <= pessimistic <= gap <= width. For the run: reported <= average <= with_last_beta <= bound.
    """

    regret: Array
    """r_t, the ε-regret of x̃_t."""
    pessimistic: Array
    """r̄_t: f* minus the smallest lcb of x̃_t (eq. rbar); the first link uses Lemma 1 at x̃_t."""
    gap: Array
    """Best worst-case ucb minus that lcb (eq. xt_def); the second link uses Lemma 1 at the optimum."""
    width: Array
    """2 β_t^{1/2} σ_t (eq. 2beta); the third link uses how x̃_t and δ_t were chosen."""
    reported: float
    """r̄ of the decision that Theorem 1 reports: the smallest r̄_t."""
    average: float
    """Mean of the widths (eq. last_step0)."""
    with_last_beta: float
    """2 β_T^{1/2} times the mean of σ_t (eq. last_step): β_t must not decrease."""
    bound: float
    """√(C_1 β_T γ_T / T) (eq. sum_bound)."""

    @property
    def broken(self) -> list[str]:
        """The links that fail, with their rounds; none, with probability 1 − ξ."""
        names = ("regret", "pessimistic", "gap", "width")
        columns = np.stack([self.regret, self.pessimistic, self.gap, self.width])
        room = _ROUNDING * (1 + np.abs(columns).max())
        failures = [
            f"{names[i]} <= {names[i + 1]} in round {t + 1}"
            for i, t in zip(*np.nonzero(columns[:-1] > columns[1:] + room), strict=True)
        ]
        names = ("reported", "average", "with_last_beta", "bound")
        values = [float(getattr(self, name)) for name in names]
        pairs = zip(names, names[1:], values, values[1:], strict=False)
        return failures + [f"{a} <= {b}" for a, b, x, y in pairs if x > y + room]

    @property
    def holds(self) -> bool:
        """Whether no link is broken."""
        return not self.broken


class Played(NamedTuple):
    """The rounds of a run of StableOpt on a known f, one entry per round (T,)."""

    worst: ArrayLike
    """The smallest f around x̃_t."""
    ucb: ArrayLike
    """The best worst-case ucb: the smallest ucb around x̃_t."""
    lcb: ArrayLike
    """The smallest lcb around x̃_t."""
    std: ArrayLike
    """σ_{t−1} at the measured point."""
    beta: ArrayLike
    """β_t."""


def check_chain(optimum: float, played: Played, gain: float, noise: float, variance: float = 1.0) -> Chain:
    """The chain of a run of StableOpt on a known f.

    optimum: max over x of min over δ of f.
    gain: γ_T, or the realised gain of all T observations. Either is enough.
    """
    rounds = int(np.size(played.worst))
    if rounds == 0:
        raise ValueError("expected at least one round, got none")
    values = {name: vector(column, rounds, name) for name, column in played._asdict().items()}
    pessimistic = optimum - values["lcb"]
    width = 2 * np.sqrt(values["beta"]) * values["std"]
    last = float(values["beta"][-1])
    return Chain(
        regret=frozen(np.asarray(optimum - values["worst"])),
        pessimistic=frozen(np.asarray(pessimistic)),
        gap=frozen(np.asarray(values["ucb"] - values["lcb"])),
        width=frozen(np.asarray(width)),
        reported=float(np.min(pessimistic)),
        average=float(np.mean(width)),
        with_last_beta=float(2 * math.sqrt(last) * np.mean(values["std"])),
        bound=regret_bound(rounds, last, gain, noise, variance),
    )
