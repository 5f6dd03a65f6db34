"""Exploration schedules: which beta makes lcb and ucb bounds that hold, at which round, with which probability.

A user says how sure the bounds must be (ξ), and what is known of f (its norm B, or a prior that it is drawn from). The
schedule says β_t. `certifies` tells schedules with a proof from those without. Derivations: docs/guarantees.md.

Notation
    t             the round, from 1; its bounds come from t − 1 observations
    β_t           enters as β_t^{1/2}: lcb, ucb = μ_{t−1} ∓ β_t^{1/2} σ_{t−1}
    ξ             probability that a bound fails anywhere, in any round (`xi`)
    B             bound on the RKHS norm of f − m, where m is the prior mean (`norm`)
    γ             information gain ½ log det(I + σ⁻²K) of the first t − 1 observations: realised, or a bound on it
    σ, R          the noise of the model (its regulariser is σ²), and the sub-Gaussian scale of the true noise
    ρ             R/σ (`noise_ratio`): 1 where the model knows the noise
    |D|           number of candidates (`n`)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

from stableopt.base.checks import is_number, not_negative, positive, share, whole
from stableopt.base.values import Value

GainBound = float | Callable[[int], float] | None


class Schedule(Value, ABC):
    """β_t for every round t."""

    certifies: ClassVar[bool] = False
    """Whether bounds with this β are proved to hold, as `promise` says."""

    @property
    def promise(self) -> str:
        """What holds, for which f, with which probability, in one sentence."""
        return f"{type(self).__name__} promises nothing"

    @abstractmethod
    def at(self, t: int, gain: float) -> float:
        """β_t, given the information gain of the first t − 1 observations."""

    def beta(self, t: int, information_gain: float = 0.0) -> float:
        """β_t for the bounds of round t = 1, 2, ..., after t − 1 observations with this realised information gain."""
        t, gain = (
            whole(t, 1, "a round t = 1, 2, ..."),
            not_negative(information_gain, "an information gain of 0 or more"),
        )
        value = self.at(t, gain)
        if not (is_number(value) and value > 0):
            kind = type(self).__name__
            raise ValueError(
                f"expected {kind}.at to return a β above 0, got {value!r} for t = {t} and the gain {gain:g}"
            )
        return float(value)


@final
@dataclass(frozen=True, eq=False)
class Constant(Schedule):
    """The same β in every round, without a proof; the paper's experiments use β^{1/2} = 2: ``Constant(4.0)``."""

    value: float

    def __post_init__(self) -> None:
        _store(self, "value", _positive(self.value, "beta"))

    @property
    def promise(self) -> str:
        return "a constant beta promises nothing"

    def at(self, t: int, gain: float) -> float:
        return self.value


@final
@dataclass(frozen=True, eq=False)
class Alternating(Schedule):
    """A small β, and a large one in every n-th round from round n² on, without a proof: to explore with.

    A small β finds a good decision sooner, and may then stay there for good; a look with a large one now and then leads
    on to a better one. In the first rounds everything is uncertain, and a large one would look at edges only.
    """

    small: float
    large: float
    every: int = 5

    def __post_init__(self) -> None:
        _store(self, "small", _positive(self.small, "small"))
        _store(self, "large", _positive(self.large, "large"))
        _store(self, "every", whole(self.every, 1, "every as a number of rounds 1, 2, 3, ..."))

    @property
    def promise(self) -> str:
        return "betas that alternate promise nothing"

    def at(self, t: int, gain: float) -> float:
        return self.large if t % self.every == 0 and t >= self.every**2 else self.small


@final
@dataclass(frozen=True, eq=False)
class LikelihoodRatio(Schedule):
    """β_t = B² + 2ρ²(γ + log(1/ξ)): the smallest β with a proof for every f of norm B and every way to choose points.

    With probability 1 − ξ, |f − μ_{t−1}| <= β_t^{1/2} σ_{t−1} everywhere and in all rounds, for noise that is, given
    the past, sub-Gaussian with scale ρσ. γ is the realised gain unless ``gamma`` bounds it: a number, or a function of
    the number of observations. Smaller than the square of `Rkhs` by 2Bρ√(2(γ + log(1/ξ))), from the same facts.
    """

    norm: float
    xi: float
    noise_ratio: float = 1.0
    gamma: GainBound = None
    certifies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_rkhs(self)

    @property
    def promise(self) -> str:
        return _rkhs_promise(self)

    def at(self, t: int, gain: float) -> float:
        return self.norm**2 + self.noise_ratio**2 * _squared_quantile(self.xi, _gain(self.gamma, t, gain))


@final
@dataclass(frozen=True, eq=False)
class Rkhs(Schedule):
    """β_t = (B + ρ√(2(γ + log(1/ξ))))²: Lemma 1 with the factor that belongs to the posterior's regulariser σ².

    The self-normalised bound of the literature: B for the bias, the root for the noise. It promises what
    `LikelihoodRatio` promises, with a larger β.
    """

    norm: float
    xi: float
    noise_ratio: float = 1.0
    gamma: GainBound = None
    certifies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_rkhs(self)

    @property
    def promise(self) -> str:
        return _rkhs_promise(self)

    def at(self, t: int, gain: float) -> float:
        root = math.sqrt(_squared_quantile(self.xi, _gain(self.gamma, t, gain)))
        return (self.norm + self.noise_ratio * root) ** 2


@final
@dataclass(frozen=True, eq=False)
class PaperRkhs(Schedule):
    """β_t = (B + σ√(2(γ + log(e/ξ))))², Lemma 1 as printed in the paper.

    The factor σ belongs to a regulariser near 1, but the posterior's is σ²: for σ < 1 these bounds may fail (measured:
    in 19 of 20 runs and more, for σ = 0.1 and B = 1). For σ >= 1 they are wider than those of `Rkhs` and hold as well.
    """

    norm: float
    noise: float
    xi: float
    gamma: GainBound = None

    def __post_init__(self) -> None:
        _store(self, "norm", _positive(self.norm, "RKHS norm bound B"))
        _store(self, "noise", _positive(self.noise, "noise standard deviation"))
        _store(self, "xi", _probability(self.xi, "xi"))
        _store(self, "gamma", _check_gamma(self.gamma))

    @property
    def promise(self) -> str:
        return "Lemma 1 as printed, which does not hold for noise below 1"

    def at(self, t: int, gain: float) -> float:
        squared = _squared_quantile(self.xi / math.e, _gain(self.gamma, t, gain))
        return (self.norm + self.noise * math.sqrt(squared)) ** 2


@final
@dataclass(frozen=True, eq=False)
class FixedDesign(Schedule):
    """β_t = B² + 2ρ² log(|D|π²t²/6ξ), where the points are chosen without a look at the measured values.

    For points fixed in advance, drawn at random, or of largest variance, and Gaussian noise of standard deviation ρσ:
    every f of norm B is within its bounds on n points, in all rounds, with probability 1 − ξ. It grows with log t, not
    with γ. StableOpt looks at the values: not for it.
    """

    n: int
    norm: float
    xi: float
    noise_ratio: float = 1.0
    certifies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _store(self, "n", _count(self.n, "number of points n"))
        _check_rkhs(self)

    @property
    def promise(self) -> str:
        design = "the points are chosen without a look at the measured values"
        return f"with probability {1 - self.xi:g}, if the RKHS norm of f is at most {self.norm:g} and {design}"

    def at(self, t: int, gain: float) -> float:
        return self.norm**2 + self.noise_ratio**2 * _union(self.n, t, self.xi)


@final
@dataclass(frozen=True, eq=False)
class BayesianFinite(Schedule):
    """β_t = 2 log(|D|π²t²/6ξ) (Srinivas et al. 2010, Theorem 1), where f is drawn from the prior.

    With probability 1 − ξ over f and the noise, the bounds hold on n points and in all rounds, however the points are
    chosen: given the past, f(x) is N(μ_{t−1}, σ_{t−1}²), and a union bound over points and rounds does the rest.
    """

    n: int
    xi: float
    certifies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _store(self, "n", _count(self.n, "number of points n"))
        _store(self, "xi", _probability(self.xi, "xi"))

    @property
    def promise(self) -> str:
        return f"with probability {1 - self.xi:g}, if f is drawn from the prior, on {self.n} points"

    def at(self, t: int, gain: float) -> float:
        return _union(self.n, t, self.xi)


@final
@dataclass(frozen=True, eq=False)
class BayesianBox(Schedule):
    """β_t = 2 log(2π²t²/3ξ) + 2p log(t²pbr√log(4pa/ξ)) (Srinivas et al. 2010, Theorem 2), f drawn from the prior.

    For D in a box with sides r in p dimensions, and derivatives with P(sup |∂f/∂x_j| > L) <= a exp(−L²/b²) for each j.
    What holds with probability 1 − ξ in all rounds: |f(x) − μ_{t−1}([x]_t)| <= β_t^{1/2} σ_{t−1}([x]_t) + 1/t² for all
    x, where [x]_t is the nearest point of a grid that round t refines. The bounds at x itself are not proved to hold.
    """

    dim: int
    side: float
    a: float
    b: float
    xi: float

    def __post_init__(self) -> None:
        _store(self, "dim", _count(self.dim, "dimension"))
        for name in ("side", "a", "b"):
            _store(self, name, _positive(getattr(self, name), name))
        _store(self, "xi", _probability(self.xi, "xi"))
        if 4 * self.dim * self.a <= self.xi:
            raise ValueError(f"expected 4·dim·a above xi, got dim={self.dim}, a={self.a}, xi={self.xi}: use a larger a")

    @property
    def promise(self) -> str:
        return f"with probability {1 - self.xi:g}, if f is drawn from the prior, on a grid and up to 1/t²"

    def at(self, t: int, gain: float) -> float:
        cells = t**2 * self.dim * self.b * self.side * math.sqrt(math.log(4 * self.dim * self.a / self.xi))
        return 2 * math.log(2 * math.pi**2 * t**2 / (3 * self.xi)) + 2 * self.dim * max(math.log(cells), 0.0)


@final
@dataclass(frozen=True, eq=False)
class Calibrated(Schedule):
    """β = B² + q², where q was simulated for one kernel, noise, domain and way to choose points.

    Made by `stableopt.theory.calibrate`, which says what q is. With confidence ``confidence`` over that simulation,
    the bounds of the first ``rounds`` rounds hold with probability 1 − ξ: for every f of norm B where the points are
    chosen without a look at the values, and otherwise for f from the simulated class (hence ``certifies`` is False).
    """

    norm: float
    quantile: float
    xi: float
    confidence: float
    rounds: int

    def __post_init__(self) -> None:
        _store(self, "norm", _positive(self.norm, "RKHS norm bound B"))
        _store(self, "quantile", _positive(self.quantile, "quantile"))
        _store(self, "xi", _probability(self.xi, "xi"))
        _store(self, "confidence", _probability(self.confidence, "confidence"))
        _store(self, "rounds", _count(self.rounds, "number of rounds"))

    @property
    def promise(self) -> str:
        sure = f"with probability {1 - self.xi:g} (known with confidence {self.confidence:g})"
        return f"{sure}, for functions such as those simulated, in {self.rounds} rounds"

    def at(self, t: int, gain: float) -> float:
        if t > self.rounds + 1:
            raise ValueError(
                f"expected a round up to {self.rounds + 1}, as calibrated, got {t}: calibrate for more rounds"
            )
        return self.norm**2 + self.quantile**2


def _squared_quantile(xi: float, gain: float) -> float:
    """2(γ + log(1/ξ))."""
    return 2 * (gain + math.log(1 / xi))


def _union(n: int, t: int, xi: float) -> float:
    """The q² with P(|N(0, 1)| > q) <= exp(−q²/2) = 6ξ/(nπ²t²), which sums to ξ over n points and all rounds."""
    return 2 * math.log(n * math.pi**2 * t**2 / (6 * xi))


def _gain(gamma: GainBound, t: int, realised: float) -> float:
    if gamma is None:
        return realised
    bound = gamma(t - 1) if callable(gamma) else gamma
    return not_negative(bound, f"gamma to be 0 or more for {t - 1} observations")


def _rkhs_promise(schedule: LikelihoodRatio | Rkhs) -> str:
    return f"with probability {1 - schedule.xi:g}, if the RKHS norm of f is at most {schedule.norm:g}"


def _check_rkhs(schedule: LikelihoodRatio | Rkhs | FixedDesign) -> None:
    _store(schedule, "norm", _positive(schedule.norm, "RKHS norm bound B"))
    _store(schedule, "xi", _probability(schedule.xi, "xi"))
    _store(schedule, "noise_ratio", _positive(schedule.noise_ratio, "noise ratio"))
    if not isinstance(schedule, FixedDesign):
        _store(schedule, "gamma", _check_gamma(schedule.gamma))


def _check_gamma(gamma: GainBound) -> GainBound:
    if gamma is None or callable(gamma):
        return gamma
    return not_negative(gamma, "gamma as a number >= 0, a function of the observations' number or None")


def _positive(value: float, what: str) -> float:
    return positive(value, f"a {what} above 0")


def _probability(value: float, what: str) -> float:
    return share(value, f"{what} strictly between 0 and 1", "0.1 is usual for xi")


def _count(value: int, what: str) -> int:
    return whole(value, 1, f"a {what} of 1 or more")


def _store(schedule: Schedule, name: str, value: object) -> None:
    object.__setattr__(schedule, name, value)
