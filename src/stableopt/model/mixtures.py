"""Mixtures of posteriors, for a fully Bayesian treatment: one posterior per sample of the hyperparameters.

Confidence bounds of a mixture are those of its own first two moments, and not averages of bounds: with means μ_i and
variances σ_i² of its S equally likely parts,

    μ = avg μ_i,    σ² = avg σ_i² + avg (μ_i − μ)²  (law of total variance),    ucb, lcb = μ ± beta^{1/2}·σ

so they also cover the disagreement of the samples. (avg(σ_i² + μ_i²) − μ² is the same σ², but loses digits.)
The gradient of σ² is avg ∇σ_i² + 2 avg (μ_i − μ)∇μ_i, since the deviations μ_i − μ average to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, frozen
from stableopt.base.values import ReadOnly
from stableopt.model.gp import Bound, Posterior
from stableopt.model.stationary import StationaryBound, total
from stableopt.model.tracked import OnCandidates, TrackedPosterior

Part = TypeVar("Part", Posterior, TrackedPosterior)


@dataclass(frozen=True, eq=False)
class _Parts(ReadOnly, Generic[Part]):
    """Posteriors of several GPs given the same observations, each as likely as the others."""

    posteriors: tuple[Part, ...]
    _kind: ClassVar[type]

    def __post_init__(self) -> None:
        parts = tuple(self.posteriors)
        if not parts or not all(isinstance(part, self._kind) for part in parts):
            raise TypeError(f"expected at least one {self._kind.__name__} in a mixture, got {parts!r:.200}")
        object.__setattr__(self, "posteriors", parts)

    @cached_property
    def information_gain(self) -> float:
        """The average of the parts' information gains."""
        return float(np.mean([posterior.information_gain for posterior in self.posteriors]))

    @cached_property
    def whitened(self) -> Array:
        """Each value minus what was expected before it, over its predictive std, averaged over the parts (t,)."""
        return frozen(np.mean([posterior.whitened for posterior in self.posteriors], axis=0))


class Mixture(_Parts[Posterior]):
    """Posteriors of several GPs given the same observations, each as likely as the others."""

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
        return total(np.array(means), np.array(variances))

    def with_pullback(self, Z: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
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
        return StationaryBound.of([posterior.ingredients for posterior in self.posteriors])

    def update(self, x: ArrayLike, y: float, noise: float | None = None) -> Mixture:
        """The mixture with one more observation."""
        return Mixture(tuple(posterior.update(x, y, noise) for posterior in self.posteriors))


class TrackedMixture(_Parts[TrackedPosterior], OnCandidates):
    """Tracked posteriors of several GPs on the same candidates, each as likely as the others."""

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
        mean, variance = total(np.array(means), np.array(variances))
        return frozen(mean), frozen(variance)

    @property
    def mean(self) -> Array:  # type: ignore[override]
        return self._total[0]

    @property
    def variance(self) -> Array:  # type: ignore[override]
        return self._total[1]

    def update(self, index: int, y: float, noise: float | None = None) -> TrackedMixture:
        """The mixture with one more observation, at the candidate with this index."""
        return TrackedMixture(tuple(posterior.update(index, y, noise) for posterior in self.posteriors))
