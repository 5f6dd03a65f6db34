"""Learning a model from observations: `Learned` says how, and a `Belief` is the result.

A belief is one or several plain GPs in the units of inputs and outputs. It can be written to JSON, and gives
posteriors. Outputs are standardised here and only here: a GP is learned for (y − centre)/unit, and given back with
variance × unit², noise × unit and mean × unit + centre. Inputs are expected scaled to about [0, 1] per column; columns
of categories hold their codes.

A model is learned in every round while there are few observations, then whenever they have grown by a tenth. A refit
at t observations costs O(t³), so all refits together cost about four times the last one. The suggestions of the same
run cost O(t²) at least in each of t rounds, which is more while t is in the hundreds.
"""

from __future__ import annotations

import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array
from stableopt.base.checks import LARGEST_VALUE, number, positive, vector, whole
from stableopt.base.values import Value
from stableopt.model import tails
from stableopt.model.algebra import Kernel, Scaled
from stableopt.model.beliefs import Belief
from stableopt.model.fit import check_search, fit, param_names, sample
from stableopt.model.gp import GP
from stableopt.model.hyperparameters import (
    BOUNDS,
    PRIORS,
    Prior,
    by_name,
    declared_bounds,
    default_priors,
    fixed_names,
    interval,
    is_named,
)
from stableopt.model.kernels import SE, Categorical, Matern
from stableopt.model.warps import Warp, likeliest
from stableopt.model.weighing import Weighing

KERNELS: dict[str, Callable[[Sequence[float]], Kernel]] = {
    "se": SE,
    "matern32": partial(Matern, 1.5),
    "matern52": partial(Matern, 2.5),
}
DEFAULT_KERNEL = "matern52"

_FEW = 100  # up to so many observations, they are learned from in every round: that is cheap
_GROWTH = 1.1  # then whenever they have grown by this factor
_AFRESH = 1.5  # and with more starts than the last result whenever they have passed a power of this one
_STARTS = 3
_TURNS = 3  # at most, between warp and model
_MANY = 500  # observations: beyond, one start and few iterations will do, and a fit would take long
_WARM_ITERATIONS = 30
_NOISE = 0.1  # where the search for the noise starts, in units of the outputs
_SHORTEST = 0.01  # lengthscale, in units of an input's range


@dataclass(frozen=True, eq=False)
class Learned(Value):
    """A model that is learned from the observations, instead of a GP that is known.

    ``fixed``, ``bounds`` and ``priors`` go by the names of `param_names`. They are of the standardised model: in units
    of an input's range, and of the outputs' standard deviation. All others have sensible defaults.
    """

    kernel: Kernel | str | None = None
    """"matern52" (the default), "matern32", "se": one lengthscale per column, times a `Categorical` kernel for each
    column of categories. Or any kernel; the search starts at its hyperparameters."""
    noise: float | None = None
    """σ in units of y if it is known; None: it is learned."""
    mean: float | None = None
    """The prior mean in units of y if it is known; None: it is learned."""
    method: str = "mixture"
    """"mixture": models around the most likely one, weighed by the data. "map": the most likely model alone, by
    likelihood times priors; "ml": by likelihood; "bayes": samples given data and priors."""
    signal: str = "unit"
    """The variance of a kernel chosen by name: that of the outputs ("unit"), or "learned" as well. Of a kernel that you
    pass, the variance is learned if it has the form ``1.0 * kernel``."""
    priors: Mapping[str, Prior] | Sequence[tuple[str, Prior]] = ()
    """Instead of those of `default_priors`. The method "ml" has only these."""
    fixed: Iterable[str] = ()
    bounds: Mapping[str, tuple[float, float]] | Sequence[tuple[str, tuple[float, float]]] = ()
    samples: int = 10
    """How many GPs "bayes" draws, after ``burn_in`` sweeps, every ``thin``-th one, again after ``every`` rounds (and
    before that when the observations have doubled)."""
    every: int = 10
    burn_in: int = 50
    thin: int = 3
    robust: bool = False
    """Whether the noise has heavy tails: an observation far from what all others say of it loses its weight."""
    warp: bool | None = False
    """Whether an increasing transformation of the outputs is learned, too, where they have a long tail (`warps`). Not
    with a noise or a mean that is given in units of y, nor with a robust one. None: in a run alone, where a quarter of
    the observations or more were asked for. Data of other origin seldom say how bad a good decision can become, and
    under a warp a model promises more of what nobody measured."""

    def __post_init__(self) -> None:
        for name, known in (("method", ["ml", "map", "mixture", "bayes"]), ("signal", ["unit", "learned"])):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in known:
                raise ValueError(f"expected {name} as one of {known}, got {getattr(self, name)!r}")
        named = isinstance(self.kernel, str) and self.kernel in KERNELS
        if not (self.kernel is None or named or isinstance(self.kernel, Kernel)):
            raise ValueError(f"expected a kernel or one of {list(KERNELS)}, got {self.kernel!r}")
        if self.noise is not None:
            remedy = "for an exact f, a millionth of its usual size will do"
            positive(self.noise, "noise as a standard deviation above 0, or None to learn it", remedy)
        if self.mean is not None:
            number(self.mean, "a finite mean, or None to learn it")
        for name, least in (("samples", 1), ("every", 1), ("burn_in", 0), ("thin", 1)):
            expected = f"{name} as a whole number of at least {least}"
            object.__setattr__(self, name, whole(getattr(self, name), least, expected))
        fixed = fixed_names(self.fixed)
        for name in ("noise", "mean"):
            if name in fixed and getattr(self, name) is None:
                raise ValueError(f"expected the value at which to fix the {name}, got none: pass {name}=...")
        for name, values in (("robust", (True, False)), ("warp", (True, False, None))):
            if not any(getattr(self, name) is value for value in values):
                choices = " or ".join(f"{name}={value}" for value in values)
                raise ValueError(f"expected {choices}, got {getattr(self, name)!r:.200}")
        priors = tuple(by_name(self.priors, "priors", PRIORS).items())
        ranges = by_name(self.bounds, "bounds", BOUNDS)
        bounds = tuple((name, interval(name, () if ends is None else ends)) for name, ends in ranges.items())
        # As tuples, which are compared and written as JSON, and cannot be changed.
        self.__dict__.update(fixed=fixed, priors=priors, bounds=bounds)

    def first(self, dim: int, categories: Sequence[int] = ()) -> Belief:
        """The belief before any data, about f of ``dim`` columns, some of which hold categories."""
        model = self._model(dim, categories, 0.0, 1.0)
        check_search(model, dict(self.priors), self.fixed, dict(self.bounds))  # now, and not when f was measured
        return Belief((_in_units(model, 0.0, 1.0),))

    def due(self, t: int, last: int) -> bool:
        """Whether to learn again from t observations, when ``last`` were there the last time."""
        if t <= last:
            return False
        if self.method == "bayes":
            return t >= min(last + self.every, 2 * last)
        return t <= _FEW or t >= _GROWTH * last

    def learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        noise: ArrayLike | None,
        before: Belief,
        categories: Sequence[int] = (),
        seed: int = 0,
    ) -> Belief:
        """The belief after the values y (t,) at the rows of X; the search starts from the belief before.

        ``noise``: a standard deviation per observation, in units of y; NaN is the model's. Values that are all equal
        say nothing about the variation of f: the belief is then the start of the first search.
        """
        points, t = np.asarray(X, dtype=float), np.size(y)
        values = vector(y, t, "y")
        own = np.full(t, np.nan) if noise is None else np.asarray(noise, dtype=float)
        if not self.robust:
            usual = np.full(t, np.nan)
            if self.warp and self.noise is None and self.mean is None:
                return self._warped(points, values, own, before, (categories, seed))
            return self._learn(points, values, (own, usual), before, (categories, seed))
        doubt = np.full(t, np.nan)
        doubt[: len(before.noises)] = [np.nan if n is None else n for n in before.noises]
        belief = self._learn(points, values, (own, doubt), before, (categories, seed))
        for _ in range(tails.SWEEPS):
            now = tails.doubtful(belief.single or belief.likely, points, values, own, doubt)
            if tails.settled(now, doubt):
                break
            doubt = now
            belief = self._learn(points, values, (own, doubt), belief, (categories, seed))
        return replace(belief, noises=tuple(None if math.isnan(n) else n for n in doubt.tolist()))

    def _warped(
        self, points: Array, values: Array, own: Array, before: Belief, how: tuple[Sequence[int], int]
    ) -> Belief:
        """The belief with the likeliest warp: first that of the last belief, then what the model says, by turns."""
        centre, unit, varies = _standard(values, None)
        usual, power = np.full(len(values), np.nan), 1.0 if before.warp is None else before.warp.power
        for _ in range(_TURNS):
            warp = None if power == 1 or not varies else Warp(power, centre, unit)
            latent, noise = (values, own) if warp is None else (warp(values), own * warp.slope(values))
            found = self._searched(points, latent, (noise, usual), before, how)
            if not varies:
                break
            spread = np.where(np.isnan(noise), found.gp.noise, noise / found.unit)
            last, power = power, likeliest(found.gp.kernel, spread, points, (values - centre) / unit)
            if power == last:
                break
            before = found.belief((found.gp,))  # where the search goes on
        return replace(self._around(found), warp=warp)

    def _learn(
        self,
        points: Array,
        values: Array,
        noises: tuple[Array, Array],
        before: Belief,
        how: tuple[Sequence[int], int],
    ) -> Belief:
        """The belief, where observations have these noises: their own, and larger ones of those that are doubtful."""
        return self._around(self._searched(points, values, noises, before, how))

    def _searched(
        self,
        points: Array,
        values: Array,
        noises: tuple[Array, Array],
        before: Belief,
        how: tuple[Sequence[int], int],
    ) -> _Searched:
        """The most likely model; for "bayes" that of which samples begin."""
        (own, doubt), (categories, seed), t = noises, how, len(values)
        usual = np.isnan(doubt)
        noise = None if np.isnan(own).all() and usual.all() else np.where(usual, own, doubt)
        centre, unit, varies = _standard(values[usual] if usual.any() else values, self.noise)
        model = self._model(points.shape[1], categories, centre, unit)
        if not varies:
            _warn_of_tiny(values)
            return _Searched(model, centre, unit, t, None, {})
        priors = {} if self.method == "ml" else default_priors(max(1, points.shape[1] - len(categories)))
        given = dict(self.bounds)
        # The default bounds do not move with what was learned before.
        bounds = {"lengthscale": (_SHORTEST, 1e3)} | declared_bounds(model.kernel, given) | given
        search: dict[str, Any] = {
            "priors": priors | dict(self.priors),
            "fixed": (*self.fixed, *(name for name in ("noise", "mean") if getattr(self, name) is not None)),
            "bounds": bounds,
            "noise": None if noise is None else noise / unit,
            "seed": (seed, t),
        }
        first = before.t == 0 or not _standard(values[: before.t], self.noise)[2]  # equal values taught nothing
        start = model if first else self._warm(model, before, centre, unit)
        data = points, (values - centre) / unit
        if self.method != "bayes" or first:
            powers = [math.floor(math.log(n) / math.log(_AFRESH)) for n in (before.t or 1, t)]
            afresh = first or powers[1] > powers[0]
            starts, iterations = (_STARTS, 200) if afresh and t <= _MANY else (1, _WARM_ITERATIONS)
            start = fit(start, *data, starts=starts, iterations=iterations, **search).gp
        return _Searched(start, centre, unit, t, data, search)

    def _around(self, found: _Searched) -> Belief:
        """The belief that this method makes of the most likely model."""
        if found.data is None:
            return found.belief((found.gp,))
        if self.method == "bayes":
            drawn = {"burn_in": self.burn_in, "thin": self.thin} | found.search
            return found.belief(sample(found.gp, *found.data, self.samples, **drawn))
        if self.method == "mixture":
            weighing = Weighing(*found.data, *(found.search[name] for name in ("noise", "priors", "fixed")))
            gps, weights = weighing.around(found.gp)
            return found.belief(gps, tuple(weights), _in_units(found.gp, found.centre, found.unit))
        return found.belief((found.gp,))

    def _model(self, dim: int, categories: Sequence[int], centre: float, unit: float) -> GP:
        """The standardised GP from which the first search starts."""
        kernel = self.kernel if isinstance(self.kernel, Kernel) else self._default_kernel(dim, categories)
        sigma = _NOISE if self.noise is None else min(max(self.noise / unit, 1e-100), 1e100)
        return GP(kernel, sigma, 0.0 if self.mean is None else (self.mean - centre) / unit)

    def _default_kernel(self, dim: int, categories: Sequence[int]) -> Kernel:
        continuous = [column for column in range(dim) if column not in categories]
        parts: list[Kernel] = [Categorical(0.5).on([column]) for column in categories]
        if continuous:
            kernel = KERNELS[str(self.kernel or DEFAULT_KERNEL)]([0.15 * math.sqrt(len(continuous))] * len(continuous))
            parts.insert(0, kernel.on(continuous) if categories else kernel)
        product = reduce(operator.mul, parts)
        return 1.0 * product if self.signal == "learned" else product

    def _warm(self, model: GP, before: Belief, centre: float, unit: float) -> GP:
        """The model with the hyperparameters of the last belief; with its own, if that was another model."""
        last = before.single or before.gps[-1]
        kernel: Kernel = last.kernel
        if isinstance(kernel, Scaled):
            own = min(max(kernel.variance / unit / unit, 1e-6), 1e6)
            kernel = own * kernel.kernel if isinstance(model.kernel, Scaled) else kernel.kernel
        if param_names(replace(model, kernel=kernel)) != param_names(model):
            return model
        held = np.array([is_named(name, self.fixed) for name in param_names(model)[:-2]], dtype=bool)
        params = np.where(held, model.kernel.params, kernel.params)
        sigma = model.noise if self.noise is not None else min(max(last.noise / unit, 1e-100), 1e100)
        learned = self.mean is None and not isinstance(last.mean, Value)
        mean = (float(last.mean) - centre) / unit if learned else model.mean  # type: ignore[arg-type]
        return GP(model.kernel.with_params(params), sigma, mean)


class _Searched(NamedTuple):
    """The most likely standardised model of t observations, and how it was found."""

    gp: GP
    centre: float
    unit: float
    t: int
    data: tuple[Array, Array] | None
    """Points and standardised values; None where these do not vary."""
    search: dict[str, Any]

    def belief(self, gps: Sequence[GP], weights: tuple[float, ...] = (), single: GP | None = None) -> Belief:
        """These standardised models, in units."""
        return Belief(tuple(_in_units(gp, self.centre, self.unit) for gp in gps), self.t, weights, single)


def _in_units(gp: GP, centre: float, unit: float) -> GP:
    """A standardised GP in the units of y, its kernel of the form variance × kernel."""
    inner, variance = (gp.kernel.kernel, gp.kernel.variance) if isinstance(gp.kernel, Scaled) else (gp.kernel, 1.0)
    return GP(Scaled(inner, variance * unit**2), gp.noise * unit, centre + unit * float(gp.mean))  # type: ignore[arg-type]


def _warn_of_tiny(y: Array) -> None:
    """Say so if values differ, but by so little that squares of the differences are 0 to a computer."""
    if len(y) > 2 and np.ptp(y) > 1e-12 * np.abs(y).max():
        warnings.warn(
            f"values y that differ by {np.ptp(y):g} are equal to the model, which needs {1 / LARGEST_VALUE:g} or more: "
            "use a smaller unit, so that they are nearer to 1",
            stacklevel=2,
        )


def _standard(y: Array, noise: float | None) -> tuple[float, float, bool]:
    """Centre and unit of the outputs, and whether they vary by more than rounding.

    The centre is their mean, the unit the largest standard deviation that the first values (ten or more) ever had: a
    run that ends around one decision must not forget how much f varies elsewhere. If they do not vary, f may still do:
    then the unit is their size, or 1 if they are all 0, or the noise if that is known to be larger.
    """
    size = float(np.abs(y).max())
    if size > LARGEST_VALUE:
        raise ValueError(f"expected values y below {LARGEST_VALUE:g}, got {size:g}: measure them in a larger unit")
    if size < 1 / LARGEST_VALUE:  # 0 in all but name
        return 0.0, max(1.0, noise or 0.0), False
    relative = y / size
    centre = float(relative.mean())
    counts = np.arange(1, len(y) + 1)
    means = np.cumsum(relative) / counts
    spreads = np.sqrt(np.maximum(np.cumsum(relative**2) / counts - means**2, 0.0))
    spread = math.sqrt(float(np.mean((relative - centre) ** 2)))
    spread = max(spread, float(spreads[9:].max(initial=0.0))) if spread > 1e-6 else spread
    if spread * size > 1 / LARGEST_VALUE and spread > 8 * sys.float_info.epsilon:
        return centre * size, spread * size, True
    return centre * size, max(size, noise or 0.0), False
