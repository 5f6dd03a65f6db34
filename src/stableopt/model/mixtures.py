"""Mixtures of posteriors, for a Bayesian treatment: one posterior for each choice of the hyperparameters.

Confidence bounds of a mixture are those of its own first two moments, and not averages of bounds: with means μ_i and
variances σ_i² of its parts, and averages by their weights (or of equally likely ones),

    μ = avg μ_i,    σ² = avg σ_i² + avg (μ_i − μ)²  (law of total variance),    ucb, lcb = μ ± beta^{1/2}·σ

so they also cover the disagreement of the parts. (avg(σ_i² + μ_i²) − μ² is the same σ², but loses digits.)
The gradient of σ² is avg ∇σ_i² + 2 avg (μ_i − μ)∇μ_i, since the deviations μ_i − μ average to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, frozen
from stableopt.base.values import ReadOnly
from stableopt.model.gp import Bound, Posterior
from stableopt.model.stationary import StationaryBound, average, total
from stableopt.model.tracked import OnCandidates, TrackedPosterior

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
