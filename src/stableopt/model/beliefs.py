"""What is believed about f: one posterior or a mixture of several, with or without a warp, and `Belief` that makes it.

A mixture has one posterior for each choice of the hyperparameters. Its confidence bounds are those of its own first two
moments, and not averages of bounds: with means μ_i and variances σ_i² of its parts, and averages by their weights (or
of equally likely ones),

    μ = avg μ_i,    σ² = avg σ_i² + avg (μ_i − μ)²  (law of total variance),    ucb, lcb = μ ± beta^{1/2}·σ

so they also cover the disagreement of the parts. (avg(σ_i² + μ_i²) − μ² is the same σ², but loses digits.)
The gradient of σ² is avg ∇σ_i² + 2 avg (μ_i − μ)∇μ_i, since the deviations μ_i − μ average to 0.

With a warp, all of that is about latent values, and bounds are carried back to the units of y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Indices, frozen
from stableopt.base.checks import deviation, listed, numbers, whole
from stableopt.base.values import ReadOnly, Value
from stableopt.model.gp import GP, Bound, Bounds, Posterior
from stableopt.model.stationary import StationaryBound, average, total
from stableopt.model.tracked import OnCandidates, TrackedPosterior
from stableopt.model.warps import Warp

Part = TypeVar("Part", Posterior, TrackedPosterior)


@dataclass(frozen=True, eq=False)
class _Parts(ReadOnly, Generic[Part]):
    """Posteriors of several GPs given the same observations, with their weights."""

    posteriors: tuple[Part, ...]
    weights: tuple[float, ...] = ()
    """They add up to 1; without any, all are equally likely."""
    _kind: ClassVar[type]

    def __post_init__(self) -> None:
        parts = tuple(self.posteriors)
        if not parts or not all(isinstance(part, self._kind) for part in parts):
            raise TypeError(f"expected at least one {self._kind.__name__} in a mixture, got {parts!r:.200}")
        object.__setattr__(self, "posteriors", parts)

    @cached_property
    def information_gain(self) -> float:
        """The average of the parts' information gains."""
        return float(average(np.array([posterior.information_gain for posterior in self.posteriors]), self.weights))

    @cached_property
    def whitened(self) -> Array:
        """Each value minus what was expected before it, over its predictive std, averaged over the parts (t,)."""
        return frozen(average(np.array([posterior.whitened for posterior in self.posteriors]), self.weights))

    def _updated(self, *observation: Any) -> Self:
        """The mixture with one more observation."""
        parts = tuple(posterior.update(*observation) for posterior in self.posteriors)
        return replace(self, posteriors=parts)


class Mixture(_Parts[Posterior]):
    """Posteriors of several GPs given the same observations, with their weights."""

    _kind = Posterior

    @property
    def X(self) -> Array:  # noqa: N802
        """The observed points (t, p)."""
        return self.posteriors[0].X

    @property
    def y(self) -> Array:
        """Their values (t,)."""
        return self.posteriors[0].y

    @property
    def t(self) -> int:
        return len(self.y)

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        means, variances = zip(*(posterior(X) for posterior in self.posteriors), strict=True)
        return total(np.array(means), np.array(variances), self.weights)

    def with_pullback(self, Z: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
        parts = [posterior.with_pullback(Z) for posterior in self.posteriors]
        means, variances = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
        mean, variance = total(means, variances, self.weights)

        def pull(a: Array, b: Array) -> Array:
            pulled = [pull_part(a + 2 * b * (own - mean), b) for own, _, pull_part in parts]
            return average(np.array(pulled), self.weights)

        return mean, variance, pull

    def bound(self, c: float) -> Bound:
        """The function mean + c·std of the mixture's own moments, with its gradient."""
        return Bound(self, float(c))

    @cached_property
    def stationary(self) -> StationaryBound | None:
        return StationaryBound.of([posterior.ingredients for posterior in self.posteriors], self.weights)

    def update(self, x: ArrayLike, y: float, noise: float | None = None) -> Mixture:
        """The mixture with one more observation."""
        return self._updated(x, y, noise)


class TrackedMixture(_Parts[TrackedPosterior], OnCandidates):
    """Tracked posteriors of several GPs on the same candidates, with their weights."""

    _kind = TrackedPosterior

    @property
    def points(self) -> Array:
        """The candidates (n, p)."""
        return self.posteriors[0].points

    @property
    def observed(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.posteriors[0].observed

    @cached_property
    def _total(self) -> tuple[Array, Array]:
        means, variances = ([getattr(part, name) for part in self.posteriors] for name in ("mean", "variance"))
        mean, variance = total(np.array(means), np.array(variances), self.weights)
        return frozen(mean), frozen(variance)

    @property
    def mean(self) -> Array:  # type: ignore[override]
        return self._total[0]

    @property
    def variance(self) -> Array:  # type: ignore[override]
        return self._total[1]

    def update(self, index: int, y: float, noise: float | None = None) -> TrackedMixture:
        """The mixture with one more observation, at the candidate with this index."""
        return self._updated(index, y, noise)


class WarpedBound(NamedTuple):
    """A bound of latent values, carried back to the units of y."""

    latent: Bound
    warp: Warp

    def __call__(self, Z: ArrayLike) -> Array:
        return self.outside(self.latent(Z))

    def with_gradient(self, Z: ArrayLike) -> tuple[Array, Array]:
        values, gradient = self.latent.with_gradient(Z)
        return self.outside(values), gradient * self.warp.inverse_slope(values)[:, None]

    def outside(self, values: ArrayLike) -> Array:
        """What this function is where the latent bound has these values."""
        return self.warp.inverse(values)

    def inside(self, values: ArrayLike) -> Array:
        """What the latent bound is where this function has these values."""
        return self.warp(values)

    def together(self, functions: Sequence[object]) -> WarpedBounds | None:
        """Several bounds of the same model; None if they are not."""
        others = [F.latent for F in functions if isinstance(F, WarpedBound) and F.warp is self.warp]
        bounds = self.latent.together(others) if len(others) == len(functions) else None
        return None if bounds is None else WarpedBounds(bounds, self.warp)


class WarpedBounds(NamedTuple):
    """Several such bounds."""

    latent: Bounds
    warp: Warp

    def each(self, Z: Array) -> Array:
        return self.warp.inverse(self.latent.each(Z))

    def at(self, Z: Array, which: Indices) -> Array:
        return self.warp.inverse(self.latent.at(Z, which))

    def with_gradient(self, Z: Array, which: Indices) -> tuple[Array, Array]:
        values, gradient = self.latent.with_gradient(Z, which)
        return self.warp.inverse(values), gradient * self.warp.inverse_slope(values)[:, None]


@dataclass(frozen=True, eq=False)
class WarpedPosterior(ReadOnly):
    """A posterior of latent values, in the units of y."""

    latent: Posterior | Mixture
    warp: Warp

    @property
    def t(self) -> int:
        return self.latent.t

    @property
    def information_gain(self) -> float:
        return self.latent.information_gain

    @property
    def whitened(self) -> Array:
        """Of latent values: there they are normal."""
        return self.latent.whitened

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        return self.warp.moments(*self.latent(X))

    def bound(self, c: float) -> WarpedBound:
        """The quantile of f that is mean + c·std of its latent value, with its gradient."""
        return WarpedBound(self.latent.bound(c), self.warp)

    def update(self, x: ArrayLike, y: float, noise: float | None = None) -> WarpedPosterior:
        """The posterior with one more observation."""
        return WarpedPosterior(self.latent.update(x, *_told(self.warp, y, noise)), self.warp)


@dataclass(frozen=True, eq=False)
class WarpedOnCandidates(OnCandidates):
    """A tracked posterior of latent values, in the units of y."""

    of: TrackedPosterior | TrackedMixture
    warp: Warp

    def __post_init__(self) -> None:
        mean, variance = self.warp.moments(self.of.mean, self.of.variance)
        self.__dict__.update(mean=frozen(mean), variance=frozen(variance), observed=self.of.observed)

    @property
    def points(self) -> Array:
        """The candidates (n, p)."""
        return self.of.points

    @property
    def information_gain(self) -> float:
        return self.of.information_gain

    @property
    def whitened(self) -> Sequence[float] | Array:
        """Of latent values: there they are normal."""
        return self.of.whitened

    def latent(self, points: Sequence[int]) -> tuple[Array, Array]:
        return self.of.moments(points)

    def latent_bound(self, c: float) -> Array:
        return self.of.bound(c)

    def bounds(self, points: Sequence[int], c: float) -> tuple[Array, Array]:
        low, high = self.of.bounds(points, c)
        return self.warp.inverse(low), self.warp.inverse(high)

    def bound(self, c: float) -> Array:
        """The quantile of f that is mean + c·std of its latent value, on all candidates (n,)."""
        return frozen(self.warp.inverse(self.of.bound(c)))

    def update(self, index: int, y: float, noise: float | None = None) -> WarpedOnCandidates:
        """The posterior with one more observation, at the candidate with this index."""
        return WarpedOnCandidates(self.of.update(index, *_told(self.warp, y, noise)), self.warp)


def _told(warp: Warp, y: float, noise: float | None) -> tuple[float, float | None]:
    """An observation as its latent value, and the standard deviation of that."""
    return float(warp(y)), None if noise is None else float(noise * warp.slope(y))


@dataclass(frozen=True, eq=False)
class Belief(Value):
    """A belief about f: one GP, or several with weights, in the units of inputs and outputs."""

    gps: tuple[GP, ...]
    t: int = 0
    """Number of observations it was learned from."""
    weights: tuple[float, ...] = ()
    """How likely each GP is; without any, all are equally likely."""
    single: GP | None = None
    """The most likely GP, around which the others were made; None: they were made otherwise."""
    noises: tuple[float | None, ...] = ()
    """Standard deviations of observations that have lost their weight (see `tails`); None: the observation is usual."""
    warp: Warp | None = None
    """The GPs are models of latent values, which this makes of outputs; None: of outputs themselves."""

    def __post_init__(self) -> None:
        gps = tuple(self.gps) if isinstance(self.gps, Iterable) else (self.gps,)
        if not gps or not all(isinstance(gp, GP) for gp in gps):
            raise TypeError(f"expected at least one GP in a belief, got {self.gps!r:.200}")
        weights = tuple(numbers(list(listed(self.weights, "the weights of a belief")), "weights of a belief").tolist())
        if weights and not (len(weights) == len(gps) and min(weights) > 0 and abs(sum(weights) - 1) < 1e-9):
            raise ValueError(f"expected a weight above 0 for each of {len(gps)} GPs, 1 in all, got {weights}")
        if not (self.single is None or isinstance(self.single, GP)):
            raise TypeError(f"expected the most likely GP, or None, got {self.single!r:.200}")
        self.__dict__.update(gps=gps, weights=weights)
        whole(self.t, 0, "the number of observations of a belief as 0, 1, 2, ...")
        noises = tuple(listed(self.noises, "the noise of doubtful observations"))
        for noise in noises:
            if noise is not None:
                deviation(noise, "the noise of a doubtful observation above 0")
        self.__dict__.update(noises=noises)
        if not (self.warp is None or isinstance(self.warp, Warp)):
            raise TypeError(f"expected the warp of a belief, or None, got {self.warp!r:.200}")

    def latent_values(self, y: ArrayLike, noise: ArrayLike | None = None) -> tuple[Array, Array | None]:
        """Values y as the GPs see them, with the noise of each."""
        if self.warp is None:
            return np.asarray(y, dtype=float), None if noise is None else np.asarray(noise, dtype=float)
        return self.warp(y), self.warp.noise(y, noise)

    def in_units(self, latent: Array) -> Array:
        """Latent values in the units of y."""
        return latent if self.warp is None else self.warp.inverse(latent)

    def noise_at(self, latent: float) -> float:
        """The standard deviation of an observation in the units of y, where the latent value is this."""
        low, high = self.in_units(latent + self.likely.noise * np.array([-1.0, 1.0]))
        return float(high - low) / 2

    def noise_of(self, t: int, noise: ArrayLike | None = None) -> Array | None:
        """The noise of the first t observations, from what they came with: those that are doubtful have more."""
        doubt = np.array([np.nan if n is None else n for n in self.noises[:t]])
        if np.isnan(doubt).all():
            return None if noise is None else np.asarray(noise, dtype=float)
        own = np.full(t, np.nan) if noise is None else np.broadcast_to(np.asarray(noise, dtype=float), (t,)).copy()
        own[: len(doubt)] = np.where(np.isnan(doubt), own[: len(doubt)], doubt)
        return own

    @property
    def likely(self) -> GP:
        """The GP with the largest weight; of equally likely ones, the last."""
        return self.gps[int(np.argmax(self.weights))] if self.weights else self.gps[-1]

    def latent(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> Posterior | Mixture:
        """The posterior of latent values after the values y at the rows of X; a mixture if there are several GPs."""
        y, noise = self.latent_values(y, noise)
        noise = self.noise_of(np.size(y), noise)
        if len(self.gps) == 1:
            return self.gps[0].condition(X, y, noise)
        return Mixture(tuple(gp.condition(X, y, noise) for gp in self.gps), self.weights)

    def condition(
        self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None
    ) -> Posterior | Mixture | WarpedPosterior:
        """The posterior after the values y at the rows of X, in the units of y."""
        latent = self.latent(X, y, noise)
        return latent if self.warp is None else WarpedPosterior(latent, self.warp)

    def track(
        self, blocks: Sequence[Array], observed: Sequence[int] = (), y: ArrayLike = (), noise: ArrayLike | None = None
    ) -> TrackedPosterior | TrackedMixture | WarpedOnCandidates:
        """The posterior on every combination of rows of the blocks; a mixture if there are several GPs."""
        y, noise = self.latent_values(y, noise)
        noise = self.noise_of(np.size(y), noise)
        tracked = [gp.track(blocks, observed, y, noise) for gp in self.gps]
        latent = tracked[0] if len(tracked) == 1 else TrackedMixture(tuple(tracked), self.weights)
        return latent if self.warp is None else WarpedOnCandidates(latent, self.warp)
