"""Posterior on fixed candidates, which an optimiser on a finite domain uses.

It is immutable: an update returns another posterior. The notation is that of `gp`; z_1..z_n are the candidates.

An observation at candidate j changes mean and variance on all of them in O(t·n). It appends the row
v = (k(x_j, ·) − V[:, j]ᵀ V) / s to V, the Cholesky recursion. Nothing is factorised again: μ += v (y − μ_j)/s,
σ² −= v², information gain += log(s/σ).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, frozen
from stableopt.base.values import ReadOnly
from stableopt.model import factors
from stableopt.model.algebra import Kernel
from stableopt.model.factors import Factor, ProductFactor, RowFactor
from stableopt.model.windows import WindowFactor

_BLOCK = 2**15  # candidates treated together, so that several passes over them stay in the cache


class OnCandidates(ReadOnly):
    """What is known of f on n fixed candidates, from its mean and variance there (n,) each."""

    mean: Array
    variance: Array
    observed: tuple[int, ...]
    """Which candidates were observed, in order."""

    @property
    def t(self) -> int:
        """Number of observations."""
        return len(self.observed)

    @cached_property
    def std(self) -> Array:
        """Posterior standard deviation σ_t (n,)."""
        return frozen(np.sqrt(self.variance))

    def moments(self, points: Sequence[int]) -> tuple[Array, Array]:
        """Mean and variance at the candidates with these indices."""
        at = np.asarray(points)
        if at.ndim != 1 or (at.size and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= len(self.mean))):
            raise ValueError(f"expected numbers of points from 0 to {len(self.mean) - 1}, got {points!r:.200}")
        return self.mean[at.astype(np.intp)], self.variance[at.astype(np.intp)]

    def latent(self, points: Sequence[int]) -> tuple[Array, Array]:
        """Mean and variance at these candidates in the units of the model's noise: the same, unless there is a warp."""
        return self.moments(points)

    def latent_bound(self, c: float) -> Array:
        """`bound` in the units of the model's noise."""
        return self.bound(c)

    def bounds(self, points: Sequence[int], c: float) -> tuple[Array, Array]:
        """mean ∓ c·std at the candidates with these indices."""
        mean, variance = self.moments(points)
        width = c * np.sqrt(variance)
        return mean - width, mean + width

    def bound(self, c: float) -> Array:
        """mean + c·std on all candidates (n,): ucb with c = √beta, lcb with c = -√beta."""
        values = c * self.std
        values += self.mean
        return frozen(values)


@dataclass(frozen=True, eq=False)
class TrackedPosterior(OnCandidates):
    """Posterior mean and variance on n fixed candidates, kept up to date at O(t·n) per observation."""

    kernel: Kernel
    noise: float
    """σ of observations without a noise of their own."""
    points: Array
    """The candidates (n, p)."""
    prior_variance: Array
    mean: Array
    variance: Array
    _factor: Factor
    information_gain: float = 0.0
    """½ log det(I + Σ⁻¹K) of the observations so far, Σ = diag(σ_i²)."""
    observed: tuple[int, ...] = ()
    whitened: tuple[float, ...] = ()
    """Their values, each minus what was expected after those before it, over its predictive standard deviation."""

    def update(self, index: int, y: float, noise: float | None = None) -> TrackedPosterior:
        """The posterior with one more observation, at the candidate with this index."""
        factors.check_value(y)
        factors.check_noise(noise)
        known = self._factor_for(noise)
        row = known.row(index)
        prior = self.prior_variance[index]
        variance_of_noise = float(factors.noise_variance(self.noise, prior, noise))
        s = math.sqrt(max(float(prior - row @ row), 0.0) + variance_of_noise)
        factor, v = known.extended(index, row, s)
        z = float(y - self.mean[index]) / s
        gain = self.information_gain + math.log(s) - 0.5 * math.log(variance_of_noise)
        mean, variance = np.empty(len(v)), np.empty(len(v))
        for start in range(0, len(v), _BLOCK):
            part = slice(start, start + _BLOCK)
            np.multiply(v[part], z, out=mean[part])
            mean[part] += self.mean[part]
            np.square(v[part], out=variance[part])
            _less(self.variance[part], variance[part])
        return self._with(mean, variance, factor, gain, (*self.observed, index), (*self.whitened, z))

    def started(self, observed: Sequence[int], y: Array, noise: ArrayLike | None) -> TrackedPosterior:
        """This prior after all these observations at once, by one factorisation."""
        if y.shape != (len(observed),) or not np.all(np.isfinite(y)):
            raise ValueError(f"expected {len(observed)} finite values y, one per observed candidate, got {y!r:.200}")
        if not len(observed):
            return self
        indices = list(observed)
        L, variances = factors.factorised(self.kernel, self.noise, self.points[indices], noise)
        white = factors.whitened(L, y - self.mean[indices])
        factor, change, squares = self._factor.started(indices, L, white)
        gain = float(np.log(L.diagonal()).sum() - 0.5 * np.log(variances).sum())
        change += self.mean
        _less(self.variance, squares)
        return self._with(change, squares, factor, gain, tuple(indices), tuple(white.tolist()))

    def _with(self, mean: Array, variance: Array, *told: Any) -> TrackedPosterior:
        """The same prior with another mean and variance, and the fields after them."""
        known = self.kernel, self.noise, self.points, self.prior_variance
        return TrackedPosterior(*known, frozen(mean), frozen(variance), *told)

    def _factor_for(self, noise: float | None) -> Factor:
        """The factor, in the form that keeps its digits with so little noise."""
        if noise is None or not isinstance(self._factor, ProductFactor | WindowFactor):
            return self._factor
        if noise >= factors.PRODUCT_NOISE * math.sqrt(self.prior_variance.max()):
            return self._factor
        rows, L = RowFactor.of(self.kernel, self.points), self._factor.L
        return rows.started(self.observed, L, np.zeros(len(L)))[0]


def _less(variance: Array, squares: Array) -> None:
    """Turn squares into what is left of the variance without them; rounding makes nothing negative."""
    np.subtract(variance, squares, out=squares)
    np.maximum(squares, 0.0, out=squares)
