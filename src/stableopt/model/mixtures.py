"""Mixtures of posteriors, for a fully Bayesian treatment: one posterior per sample of the hyperparameters.

Confidence bounds of a mixture are those of its own first two moments, and not averages of bounds: with means μ_i and
variances σ_i² of its S equally likely parts,

    μ = avg μ_i,    σ² = avg σ_i² + avg (μ_i − μ)²  (law of total variance),    ucb, lcb = μ ± beta^{1/2}·σ

so they also cover the disagreement of the samples. (avg(σ_i² + μ_i²) − μ² is the same σ², but loses digits.)
The gradient of σ² is avg ∇σ_i² + 2 avg (μ_i − μ)∇μ_i, since the deviations μ_i − μ average to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Indices, frozen
from stableopt.base.values import ReadOnly
from stableopt.model.gp import Bound, Posterior
from stableopt.model.stationary import StationaryBound, total
from stableopt.model.tracked import TrackedPosterior

Part = TypeVar("Part", Posterior, TrackedPosterior)


@dataclass(frozen=True, eq=False)
class Mixture(ReadOnly):
    """Posteriors of several GPs given the same observations, each as likely as the others."""

    posteriors: tuple[Posterior, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "posteriors", _checked(self.posteriors, Posterior))

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
        """Number of observations."""
        return len(self.y)

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of f at the rows of X."""
        means, variances = zip(*(posterior(X) for posterior in self.posteriors), strict=True)
        return total(np.array(means), np.array(variances))

    def with_pullback(self, Z: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
        """Mean, variance, and a function of weights (a, b) (n,) each: row i is a_i ∇mean + b_i ∇variance at z_i."""
        parts = [posterior.with_pullback(Z) for posterior in self.posteriors]
        mean, variance = total(np.array([part[0] for part in parts]), np.array([part[1] for part in parts]))

        def pull(a: Array, b: Array) -> Array:
            gradient = np.zeros(Z.shape)
            for own, _, pull_part in parts:
                gradient += pull_part(a + 2 * b * (own - mean), b)
            gradient /= len(parts)
            return gradient

        return mean, variance, pull

    def bound(self, c: float) -> Bound:
        """The function mean + c·std of the mixture's own moments, with its gradient."""
        return Bound(self, float(c))

    @cached_property
    def stationary(self) -> StationaryBound | None:
        """The same bounds written out for a common kernel, if it is one."""
        return StationaryBound.of([posterior.ingredients for posterior in self.posteriors])

    def update(self, x: ArrayLike, y: float, noise: float | None = None) -> Mixture:
        """The mixture with one more observation."""
        return Mixture(tuple(posterior.update(x, y, noise) for posterior in self.posteriors))

    @cached_property
    def information_gain(self) -> float:
        """The average of the parts' information gains."""
        return float(np.mean([posterior.information_gain for posterior in self.posteriors]))


@dataclass(frozen=True, eq=False)
class TrackedMixture(ReadOnly):
    """Tracked posteriors of several GPs on the same candidates, each as likely as the others."""

    posteriors: tuple[TrackedPosterior, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "posteriors", _checked(self.posteriors, TrackedPosterior))

    @property
    def points(self) -> Array:
        """The candidates (n, p)."""
        return self.posteriors[0].points

    @property
    def observed(self) -> tuple[int, ...]:
        """Which candidates were observed, in order."""
        return self.posteriors[0].observed

    @property
    def t(self) -> int:
        """Number of observations."""
        return len(self.observed)

    @cached_property
    def _total(self) -> tuple[Array, Array]:
        means, variances = ([getattr(part, name) for part in self.posteriors] for name in ("mean", "variance"))
        mean, variance = total(np.array(means), np.array(variances))
        return frozen(mean), frozen(variance)

    @property
    def mean(self) -> Array:
        """Mean of the mixture on the candidates (n,)."""
        return self._total[0]

    @property
    def variance(self) -> Array:
        """Variance of the mixture on the candidates (n,)."""
        return self._total[1]

    @cached_property
    def std(self) -> Array:
        """Its standard deviation (n,)."""
        return frozen(np.sqrt(self.variance))

    def moments(self, points: Sequence[int] | Indices) -> tuple[Array, Array]:
        """Mean and variance of the mixture at the candidates with these indices."""
        at = np.asarray(points, dtype=np.intp)
        return self.mean[at], self.variance[at]

    def bound(self, c: float) -> Array:
        """mean + c·std of the mixture's own moments on all candidates (n,)."""
        values = c * self.std
        values += self.mean
        return frozen(values)

    def bounds(self, beta: float) -> tuple[Array, Array]:
        """lcb and ucb: mean ∓ beta^{1/2}·std of the mixture's own moments (n,) each."""
        width = math.sqrt(beta)
        return self.bound(-width), self.bound(width)

    def update(self, index: int, y: float, noise: float | None = None) -> TrackedMixture:
        """The mixture with one more observation, at the candidate with this index."""
        return TrackedMixture(tuple(posterior.update(index, y, noise) for posterior in self.posteriors))

    @property
    def information_gain(self) -> float:
        """The average of the parts' information gains."""
        return float(np.mean([posterior.information_gain for posterior in self.posteriors]))


def _checked(posteriors: tuple[Part, ...], kind: type[Part]) -> tuple[Part, ...]:
    parts = tuple(posteriors)
    if not parts or not all(isinstance(part, kind) for part in parts):
        raise TypeError(f"expected at least one {kind.__name__} in a mixture, got {parts!r:.200}")
    return parts
