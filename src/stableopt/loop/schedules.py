"""Exploration schedules: which beta makes lcb and ucb bounds that hold, at which round, with which probability.

You say how sure the bounds have to be (ξ) and what is known of f: its norm B, or a prior that it is drawn from. The
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from stableopt.base.checks import is_number, listed, not_negative, positive, share, whole
from stableopt.base.values import Value

GainBound = float | Callable[[int], float] | None
_SURE = "with probability {sure:g}"
_OF_NORM = _SURE + ", if the RKHS norm of f is at most {norm:g}"


class Schedule(Value, ABC):
    """β_t for every round t."""

    certifies: ClassVar[bool] = False
    """Whether bounds with this β are proved to hold, as `promise` says."""
    _promise: ClassVar[str] = "{kind} promises nothing"  # fields in braces, and the probability 1 − ξ as {sure}

    @property
    def promise(self) -> str:
        """What holds, for which f, with which probability, in one sentence."""
        sure = 1 - (getattr(self, "xi", None) or 0.0)
        return self._promise.format(**{"kind": type(self).__name__, "sure": sure} | vars(self))

    @abstractmethod
    def at(self, t: int, gain: float) -> float:
        """β_t, given the information gain of the first t − 1 observations."""

    def instead(self, t: int) -> Sequence[float]:
        """Larger β to explore with in round t, one after the other while what was chosen is known already.

        None at all: it is measured again.
        """
        return ()

    def larger_at(self, t: int) -> tuple[float, ...]:
        """`instead`, checked, the smallest first."""
        expected = f"{type(self).__name__}.instead to return β above 0"
        return tuple(sorted({positive(beta, expected) for beta in listed(self.instead(t), expected)}))

    def shared(self, count: int) -> Schedule:
        """The schedule for each of ``count`` quantities, so that the bounds of all of them hold with probability 1 − ξ.

        Each gets an equal part of ξ (a union bound). One that does not certify stays as it is.
        """
        xi = getattr(self, "xi", None)
        if count == 1 or not self.certifies or xi is None:
            return self
        return replace(self, xi=xi / count)  # type: ignore[type-var]

    def beta(self, t: int, information_gain: float = 0.0) -> float:
        """β_t for the bounds of round t = 1, 2, ..., after t − 1 observations with this realised information gain."""
        t = whole(t, 1, "a round t = 1, 2, ...")
        gain = not_negative(information_gain, "an information gain of 0 or more")
        try:
            value = self.at(t, gain)
        except OverflowError:
            value = math.inf
        if not (is_number(value) and value > 0):
            came = f"{value!r} for t = {t} and the gain {gain:g}"
            raise ValueError(f"expected {type(self).__name__}.at to return a β above 0, got {came}")
        return float(value)


# What fields are called in errors, where it is not their own name.
_POSITIVE = {"value": "beta", "norm": "RKHS norm bound B", "noise": "noise standard deviation"}
_COUNTS = {"n": "number of points n", "dim": "dimension", "rounds": "number of rounds"}


class _Known:
    """A schedule of this file: its fields are checked by their names."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, self._checked(field.name, getattr(self, field.name)))

    def _checked(self, name: str, value: Any) -> Any:
        if name in ("xi", "confidence"):
            return share(value, f"{name} strictly between 0 and 1", "0.1 is usual for xi")
        if name in _COUNTS:
            return whole(value, 1, f"a {_COUNTS[name]} of 1 or more")
        if name == "every":
            return whole(value, 1, "every as a number of rounds 1, 2, 3, ...")
        if name == "widest" and value is None:
            return None
        if name != "gamma":
            return positive(value, f"a {_POSITIVE.get(name, name.replace('_', ' '))} above 0")
        if value is None or (callable(value) and not isinstance(value, Value)):
            return value
        return not_negative(value, "gamma as a number >= 0, a function of the observations' number or None")


@dataclass(frozen=True, eq=False)
class Constant(_Known, Schedule):
    """The same β in every round, without a proof; the paper's experiments use β^{1/2} = 2: ``Constant(4.0)``."""

    value: float
    _promise = "a constant beta promises nothing"

    def at(self, t: int, gain: float) -> float:
        return self.value


@dataclass(frozen=True, eq=False)
class Alternating(_Known, Schedule):
    """A small β, and a large one in every n-th round from round n² on, without a proof: to explore with.

    A small β finds a good decision sooner, and may then stay there for good; a look with a large one now and then leads
    on to a better one. In the first rounds everything is uncertain, and a large one would look at edges only.

    Every second of these looks may be wider than the others: where the large β sees nothing left to find, it questions
    what the model takes for impossible.
    """

    small: float
    large: float
    every: int = 5
    widest: float | None = None
    """β of every second look, those in odd multiples of n; None: they are all alike."""
    _promise = "betas that alternate promise nothing"

    def at(self, t: int, gain: float) -> float:
        looks, rest = divmod(t, self.every)
        if rest or looks < self.every:
            return self.small
        return self.widest if self.widest is not None and looks % 2 else self.large


@dataclass(frozen=True, eq=False)
class Curious(_Known, Schedule):
    """The smallest of some β whose choice would tell something: to explore with, no proof.

    A small β finds a good decision soon. Then it would measure the worst case of that decision again and again, though
    the first few times tell most. A larger one compares it with what may be better instead, nearby and elsewhere; a
    very large one doubts what the model says, and a huge one looks where least is known. So a run explores as soon as
    there is little left to learn where it is, and no further than it has to. `Output.teaches` says what is known
    already.
    """

    small: float
    larger: tuple[float, ...]
    """They are tried one after the other, the smallest first."""
    turns: bool = False
    """Whether the first of these chooses in every second round, known or not: to compare hills that share little."""
    every: int = 1
    """In every so many rounds all of the larger ones are tried. In the others the smallest of these has the last word,
    known or not: it refines what is good, which looks further away leave no time for."""
    _promise = "a beta that depends on what is known promises nothing"

    def _checked(self, name: str, value: Any) -> Any:
        if name == "turns":
            return bool(value)
        if name == "every":
            return whole(value, 1, "every=... as a number of rounds 1, 2, 3, ...")
        if name != "larger":
            return super()._checked(name, value)
        given = listed(value, "larger betas as a list")
        betas = tuple(positive(beta, "larger betas as numbers above 0") for beta in given)
        if not betas or min(betas) <= self.small:
            raise ValueError(f"expected betas larger than {self.small:g}, the small one, got {value!r:.200}")
        return betas

    def at(self, t: int, gain: float) -> float:
        return min(self.larger) if self.turns and t % 2 else self.small

    def instead(self, t: int) -> Sequence[float]:
        larger = sorted(self.larger)[: 1 if t % self.every else None]
        return [beta for beta in larger if beta > self.at(t, 0.0)]


@dataclass(frozen=True, eq=False)
class LikelihoodRatio(_Known, Schedule):
    """β_t = B² + 2ρ²(γ + log(1/ξ)): the smallest β with a proof for every f of norm B and every way to choose points.

    With probability 1 − ξ, |f − μ_{t−1}| <= β_t^{1/2} σ_{t−1} everywhere and in all rounds, for noise that is, given
    the past, sub-Gaussian with scale ρσ. γ is the realised gain unless ``gamma`` bounds it: a number, or a function of
    the number of observations. Smaller than the square of `Rkhs` by 2Bρ√(2(γ + log(1/ξ))), from the same facts.
    """

    norm: float
    xi: float
    noise_ratio: float = 1.0
    gamma: GainBound = None
    certifies = True
    _promise = _OF_NORM

    def at(self, t: int, gain: float) -> float:
        return self.norm**2 + self.noise_ratio**2 * _squared_quantile(self.xi, self.gamma, t, gain)


@dataclass(frozen=True, eq=False)
class Rkhs(_Known, Schedule):
    """β_t = (B + ρ√(2(γ + log(1/ξ))))²: Lemma 1 with the factor that belongs to the posterior's regulariser σ².

    The self-normalised bound of the literature: B for the bias, the root for the noise. It promises what
    `LikelihoodRatio` promises, with a larger β.
    """

    norm: float
    xi: float
    noise_ratio: float = 1.0
    gamma: GainBound = None
    certifies = True
    _promise = _OF_NORM

    def at(self, t: int, gain: float) -> float:
        return (self.norm + self.noise_ratio * math.sqrt(_squared_quantile(self.xi, self.gamma, t, gain))) ** 2


@dataclass(frozen=True, eq=False)
class PaperRkhs(_Known, Schedule):
    """β_t = (B + σ√(2(γ + log(e/ξ))))², Lemma 1 as printed in the paper.

    The factor σ belongs to a regulariser near 1, but the posterior's is σ²: for σ < 1 these bounds may fail (measured:
    in 19 of 20 runs and more, for σ = 0.1 and B = 1). For σ >= 1 they are wider than those of `Rkhs` and hold as well.
    """

    norm: float
    noise: float
    xi: float
    gamma: GainBound = None
    _promise = "Lemma 1 as printed, which does not hold for noise below 1"

    def at(self, t: int, gain: float) -> float:
        return (self.norm + self.noise * math.sqrt(_squared_quantile(self.xi / math.e, self.gamma, t, gain))) ** 2


@dataclass(frozen=True, eq=False)
class FixedDesign(_Known, Schedule):
    """β_t = B² + 2ρ² log(|D|π²t²/6ξ), where the points are chosen without a look at the measured values.

    For points fixed in advance, drawn at random, or of largest variance, and Gaussian noise of standard deviation ρσ:
    every f of norm B is within its bounds on n points, in all rounds, with probability 1 − ξ. It grows with log t, not
    with γ. StableOpt looks at the values: not for it.
    """

    n: int
    norm: float
    xi: float
    noise_ratio: float = 1.0
    certifies = True
    _promise = _OF_NORM + " and the points are chosen without a look at the measured values"

    def at(self, t: int, gain: float) -> float:
        return self.norm**2 + self.noise_ratio**2 * _union(self.n, t, self.xi)


@dataclass(frozen=True, eq=False)
class BayesianFinite(_Known, Schedule):
    """β_t = 2 log(|D|π²t²/6ξ) (Srinivas et al. 2010, Theorem 1), where f is drawn from the prior.

    With probability 1 − ξ over f and the noise, the bounds hold on n points and in all rounds, however the points are
    chosen: given the past, f(x) is N(μ_{t−1}, σ_{t−1}²), and a union bound over points and rounds does the rest.
    """

    n: int
    xi: float
    certifies = True
    _promise = _SURE + ", if f is drawn from the prior, on {n} points"

    def at(self, t: int, gain: float) -> float:
        return _union(self.n, t, self.xi)


@dataclass(frozen=True, eq=False)
class BayesianBox(_Known, Schedule):
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
    _promise = _SURE + ", if f is drawn from the prior, on a grid and up to 1/t²"

    def __post_init__(self) -> None:
        super().__post_init__()
        if 4 * self.dim * self.a <= self.xi:
            raise ValueError(f"expected 4·dim·a above xi, got dim={self.dim}, a={self.a}, xi={self.xi}: use a larger a")

    def at(self, t: int, gain: float) -> float:
        cells = t**2 * self.dim * self.b * self.side * math.sqrt(math.log(4 * self.dim * self.a / self.xi))
        return 2 * math.log(2 * math.pi**2 * t**2 / (3 * self.xi)) + 2 * self.dim * max(math.log(cells), 0.0)


@dataclass(frozen=True, eq=False)
class Calibrated(_Known, Schedule):
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
    _promise = (
        _SURE + " (known with confidence {confidence:g}), for functions such as those simulated, in {rounds} rounds"
    )

    def at(self, t: int, gain: float) -> float:
        if t > self.rounds + 1:
            expected = f"a round up to {self.rounds + 1}, as calibrated"
            raise ValueError(f"expected {expected}, got {t}: calibrate for more rounds")
        return self.norm**2 + self.quantile**2


def _squared_quantile(xi: float, gamma: GainBound, t: int, gain: float) -> float:
    """2(γ + log(1/ξ)), where γ is the realised gain or the bound on it."""
    if gamma is not None:
        bound = gamma(t - 1) if callable(gamma) else gamma
        gain = not_negative(bound, f"gamma to be 0 or more for {t - 1} observations")
    return 2 * (gain + math.log(1 / xi))


def _union(n: int, t: int, xi: float) -> float:
    """The q² with P(|N(0, 1)| > q) <= exp(−q²/2) = 6ξ/(nπ²t²), which sums to ξ over n points and all rounds."""
    return 2 * math.log(n * math.pi**2 * t**2 / (6 * xi))
