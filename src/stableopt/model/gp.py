"""Gaussian process prior and posteriors: one for any points, one that is tracked on fixed candidates.

Both are immutable: an update returns another posterior. The tracked one is what an optimiser on a finite domain
uses, since a new observation changes mean and variance on all n candidates in O(t·n).

Notation (the paper's Section 2)
    x_1..x_t, y_1..y_t   observed points and noisy values
    K, k_t(x)            kernel matrix of the observed points (t, t); their kernel values with x (t,)
    σ                    standard deviation of the noise (`noise`): not its variance; σ_i where observations differ
    L                    Cholesky factor: K + σ²I = L Lᵀ, or K + diag(σ_i²)
    V                    L⁻¹ [k_t(z_1) … k_t(z_n)], one row per observation, one column per candidate (t, n)
    mean, variance       μ_t = m + Vᵀ L⁻¹(y − m) and σ_t² = k(z, z) − Σ_i V_i², both (n,)
    s                    predictive standard deviation of an observation: s² = σ_{t−1}²(x_t) + σ²

Adding an observation at candidate j appends the row v = (k(x_j, ·) − V[:, j]ᵀ V) / s to V, which is the Cholesky
recursion, so nothing is ever factorised again: μ += v (y − μ_j)/s, σ² −= v², information gain += log(s/σ).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from stableopt.base.arrays import Array, cartesian, frozen
from stableopt.base.checks import LARGEST_NOISE, deviation, number, numbers, vector
from stableopt.base.values import ReadOnly, Value
from stableopt.model.algebra import Kernel
from stableopt.model.factors import (
    PRODUCT_NOISE,
    Factor,
    ProductFactor,
    RowFactor,
    chunks,
    extended,
    whiten_columns,
    whitened,
)
from stableopt.model.kernels import Linear
from stableopt.model.stationary import Ingredients, StationaryBound

# A noise below this fraction of the prior's standard deviation is raised to it: repeated points stay harmless.
NOISE_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class LinearMean(Value):
    """The prior mean xᵀw, which goes with a `Linear` kernel."""

    weights: Sequence[float]

    def __post_init__(self) -> None:
        weights = vector(self.weights, np.size(self.weights), "weights of a linear mean")
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    def __call__(self, X: Array) -> Array:
        """The mean at the rows of X."""
        if X.shape[1] != len(self.weights):
            raise ValueError(f"expected points with {len(self.weights)} columns for this mean, got {X.shape[1]}")
        return np.asarray(X @ np.array(self.weights))


@dataclass(frozen=True, eq=False)
class GP(Value):
    """The prior f ~ GP(mean, kernel), observed with independent Gaussian noise of standard deviation ``noise``.

    ``noise`` is the paper's σ (a standard deviation, not a variance). A σ below 1e-6 of the prior's standard
    deviation is raised to that, so that repeated points with contradicting values cannot ruin the arithmetic.
    """

    kernel: Kernel
    noise: float
    mean: float | LinearMean = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"expected a kernel such as SE(0.2), got {self.kernel!r}")
        noise = deviation(self.noise, "a noise standard deviation above 0", "use a tiny one if there is none")
        object.__setattr__(self, "noise", noise)
        if not isinstance(self.mean, LinearMean):
            object.__setattr__(self, "mean", number(self.mean, "a finite prior mean"))

    @classmethod
    def linear(cls, mean: ArrayLike, covariance: ArrayLike, noise: float) -> GP:
        """The prior of f(x) = xᵀu with u ~ N(mean, covariance), as in the paper's movie experiment."""
        kernel = Linear(numbers(covariance, "covariance").tolist())
        weights = vector(mean, len(kernel.covariance), "mean vector")
        return cls(kernel, noise, LinearMean(weights.tolist()))

    def prior_mean(self, X: Array) -> Array:
        """The mean m at the rows of X."""
        return self.mean(X) if isinstance(self.mean, LinearMean) else np.full(len(X), float(self.mean))

    def noise_variance(self, prior_variance: Array, noise: ArrayLike | None = None) -> Array:
        """σ² of observations at points with this prior variance, after the floor; ``noise`` replaces the GP's own σ."""
        own = self.noise if noise is None else np.where(np.isnan(noise), self.noise, noise)
        return np.maximum(np.maximum(np.square(own), sys.float_info.min), NOISE_FLOOR**2 * prior_variance)

    def condition(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> Posterior:
        """The posterior after the values y at the rows of X, by one factorisation.

        ``noise`` has a standard deviation per observation, or one for all, instead of the GP's (which NaN stands for).
        """
        points, values = np.atleast_2d(np.array(X, dtype=float)), np.atleast_1d(np.array(y, dtype=float))
        if points.ndim != 2 or values.shape != (len(points),):
            raise ValueError(f"expected X (t, p) and y (t,), got {points.shape} and {values.shape}")
        if not (np.all(np.isfinite(points)) and np.all(np.isfinite(values))):
            raise ValueError("expected finite points and values, got NaN or infinity: leave failed evaluations out")
        L, variance = self._factorised(points, noise)
        white = whitened(L, values - self.prior_mean(points))
        return Posterior(self, frozen(points), frozen(values), frozen(variance), frozen(L), frozen(white))

    def track(
        self, blocks: Sequence[Array], observed: Sequence[int] = (), y: ArrayLike = (), noise: ArrayLike | None = None
    ) -> TrackedPosterior:
        """The posterior on candidates, ready to be updated: every combination of rows of the blocks, the last fastest.

        One block is a list of points; one block per axis is a grid; a further block holds unknown parameters.
        Values y of candidates that were observed before enter by one factorisation, as if told one after the other.
        """
        blocks = [frozen(block.copy()) if block.flags.writeable else block for block in blocks]
        points = frozen(cartesian(blocks))
        prior_variance = frozen(self.kernel.diag(points))
        lowest = min(
            self.noise, math.inf if noise is None else float(np.fmin.reduce(np.atleast_1d(noise), initial=math.inf))
        )
        factor: Factor | None = None
        if lowest >= PRODUCT_NOISE * math.sqrt(prior_variance.max()):
            factor = ProductFactor.of(self.kernel, blocks)
        factor = factor or RowFactor.of(self.kernel, points)
        prior = TrackedPosterior(self, points, prior_variance, frozen(self.prior_mean(points)), prior_variance, factor)
        return prior._started([int(i) for i in observed], np.array(y, dtype=float), noise)

    def _factorised(self, X: Array, noise: ArrayLike | None) -> tuple[Array, Array]:
        """L of observations at the rows of X, and the variances of their noise."""
        if noise is not None:
            _check_noise(noise, len(X))
        prior = self.kernel.diag(X)
        for floor in (0.0, 1e-11, 1e-10, 1e-9, 1e-8):  # thousands of equal points may need more than NOISE_FLOOR²
            K, variance = self.kernel(X, X), np.maximum(self.noise_variance(prior, noise), floor * prior)
            K.flat[:: len(X) + 1] += variance
            L, failed = lapack.dpotrf(K.T, lower=1, clean=1, overwrite_a=1)  # K.T: in LAPACK's order, no copy
            if not failed:
                return L, variance
        raise np.linalg.LinAlgError(f"the kernel matrix of {len(X)} points is not positive definite: {self.kernel}")


class Moments(Protocol):
    """Something that has a mean and a variance at every point, with gradients: a posterior, or a mixture of them."""

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of f at the rows of X, (n,) each."""

    def with_pullback(self, Z: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
        """Mean, variance, and a function of weights (a, b) (n,) each: row i is a_i ∇mean + b_i ∇variance at z_i."""

    @property
    def t(self) -> int:
        """Number of observations."""

    @property
    def stationary(self) -> StationaryBound | None:
        """The bounds written out for a common kernel, if it is one."""


@dataclass(frozen=True, eq=False)
class Bound:
    """The function mean + c·std of points: ucb with c = beta^{1/2}, lcb with c = -beta^{1/2}, the mean with c = 0."""

    moments: Moments
    c: float

    def __call__(self, Z: ArrayLike) -> Array:
        """The bound at the rows of Z, (n,)."""
        if self.moments.stationary is not None:
            return self.moments.stationary(np.atleast_2d(np.asarray(Z, dtype=float)), self.c)
        mean, variance = self.moments(Z)
        return mean + self.c * np.sqrt(variance)

    def with_gradient(self, Z: ArrayLike) -> tuple[Array, Array]:
        """The bound at the rows of Z (n,), and its gradient there (n, p).

        Where nothing is uncertain (the variance is 0 but for rounding), that of the mean.
        """
        points = np.atleast_2d(np.asarray(Z, dtype=float))
        if self.moments.stationary is not None:
            return self.moments.stationary.with_gradient(points, self.c)
        values, gradient = np.empty(len(points)), np.empty(points.shape)
        for part in chunks(len(points), self.moments.t):
            mean, variance, pull = self.moments.with_pullback(points[part])
            std = np.sqrt(variance)
            slope = np.divide(0.5 * self.c, std, out=np.zeros(len(std)), where=std > 0)
            values[part], gradient[part] = mean + self.c * std, pull(np.ones(len(std)), slope)
        return values, gradient


@dataclass(frozen=True, eq=False)
class Posterior(ReadOnly):
    """Posterior of a GP given t observations, evaluated wherever it is asked."""

    gp: GP
    X: Array
    y: Array
    noise_variance: Array
    """σ_i² of each observation, after the floor (t,)."""
    factor: Array
    """L, lower triangular (t, t)."""
    whitened: Array
    """L⁻¹(y − m), (t,)."""

    @property
    def t(self) -> int:
        """Number of observations."""
        return len(self.y)

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of f at the rows of X."""
        points = np.atleast_2d(np.asarray(X, dtype=float))
        mean, variance = self.gp.prior_mean(points), self.gp.kernel.diag(points)
        for part in chunks(len(points), self.t):
            V = whiten_columns(self.factor, self.gp.kernel(points[part], self.X).T)
            mean[part] += self.whitened @ V
            variance[part] -= np.einsum("ij,ij->j", V, V)
        return mean, np.maximum(variance, 0.0, out=variance)

    def with_pullback(self, Z: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
        """Mean, variance, and a function of weights (a, b) (n,) each: row i is a_i ∇mean + b_i ∇variance at z_i.

        With A = L⁻ᵀV = K⁻¹k_t(z), dmean/dk_t = L⁻ᵀ whitened and dvariance/dk_t = −2A. Where the variance is 0 but for
        rounding, it is 0 and so is its gradient.
        """
        kernel = self.gp.kernel
        values, pull_kernel = kernel.with_pullback(Z, self.X)
        prior = kernel.diag(Z)
        V = whiten_columns(self.factor, values.T)
        variance = prior - np.einsum("ij,ij->j", V, V)
        known = variance <= 4e-16 * prior
        variance[known] = 0.0

        def pull(a: Array, b: Array) -> Array:
            b = np.where(known, 0.0, b)
            weights = np.multiply.outer(a, self._alpha)
            if b.any():
                A = whiten_columns(self.factor, V.copy(order="F"), transposed=True).T
                A *= (-2 * b)[:, None]
                weights += A
            gradient = pull_kernel(weights, "inputs")
            gradient += kernel.diag_pullback_inputs(Z, b)
            if isinstance(self.gp.mean, LinearMean):
                gradient += np.multiply.outer(a, self.gp.mean.weights)
            return gradient

        return self.gp.prior_mean(Z) + self.whitened @ V, variance, pull

    @cached_property
    def _alpha(self) -> Array:
        return whitened(self.factor, self.whitened, transposed=True)

    @cached_property
    def stationary(self) -> StationaryBound | None:
        """The same bounds written out for a common kernel, if it is one."""
        return StationaryBound.of([self.ingredients])

    @property
    def ingredients(self) -> Ingredients:
        """What bounds need of it."""
        return Ingredients(self.gp.kernel, self.gp.mean, self.X, self.factor, self.whitened)

    def bound(self, c: float) -> Bound:
        """The function mean + c·std, with its gradient."""
        return Bound(self, float(c))

    def update(self, x: ArrayLike, y: float, noise: float | None = None) -> Posterior:
        """The posterior with one more observation: a rank-one extension of L, no new factorisation."""
        point = vector(x, self.X.shape[1], "point")[None]
        _check_value(y)
        _check_noise(noise)
        row = whitened(self.factor, self.gp.kernel(self.X, point)[:, 0])
        prior_variance = self.gp.kernel.diag(point)
        variance = self.gp.noise_variance(prior_variance, noise)
        s = math.sqrt(max(prior_variance[0] - row @ row, 0.0) + variance[0])
        z = (y - self.gp.prior_mean(point)[0] - row @ self.whitened) / s
        return Posterior(
            self.gp,
            frozen(np.vstack([self.X, point])),
            frozen(np.append(self.y, y)),
            frozen(np.append(self.noise_variance, variance)),
            frozen(extended(self.factor, row, s)),
            frozen(np.append(self.whitened, z)),
        )

    @cached_property
    def information_gain(self) -> float:
        """½ log det(I + Σ⁻¹K) of the observed points, Σ = diag(σ_i²), free from the factor."""
        return float(np.sum(np.log(np.diag(self.factor))) - 0.5 * np.sum(np.log(self.noise_variance)))


@dataclass(frozen=True, eq=False)
class TrackedPosterior(ReadOnly):
    """Posterior mean and variance on n fixed candidates, kept up to date at O(t·n) per observation."""

    gp: GP
    points: Array
    """The candidates (n, p)."""
    prior_variance: Array
    mean: Array
    variance: Array
    _factor: Factor
    information_gain: float = 0.0
    """½ log det(I + Σ⁻¹K) of the observations so far, Σ = diag(σ_i²)."""
    observed: tuple[int, ...] = ()
    """Which candidates were observed, in order."""
    whitened: tuple[float, ...] = ()
    """Their values, each minus what was expected after those before it, over its predictive standard deviation."""

    def update(self, index: int, y: float, noise: float | None = None) -> TrackedPosterior:
        """The posterior with one more observation, at the candidate with this index."""
        _check_value(y)
        _check_noise(noise)
        known = self._factor_for(noise)
        row = known.row(index)
        prior = self.prior_variance[index]
        noise_variance = float(self.gp.noise_variance(prior, noise))
        s = math.sqrt(max(float(prior - row @ row), 0.0) + noise_variance)
        factor, v = known.extended(index, row, s)
        z = float(y - self.mean[index]) / s
        mean = v * z
        mean += self.mean
        variance = v * v
        np.subtract(self.variance, variance, out=variance)
        np.maximum(variance, 0.0, out=variance)
        gain = self.information_gain + math.log(s) - 0.5 * math.log(noise_variance)
        return self._with(mean, variance, factor, gain, (*self.observed, index), (*self.whitened, z))

    def _factor_for(self, noise: float | None) -> Factor:
        """The factor, in the form that keeps its digits with so little noise."""
        if noise is None or not isinstance(self._factor, ProductFactor):
            return self._factor
        if noise >= PRODUCT_NOISE * math.sqrt(self.prior_variance.max()):
            return self._factor
        rows, L = RowFactor.of(self.gp.kernel, self.points), self._factor.L
        return rows.started(self.observed, L, np.zeros(len(L)))[0]

    def _started(self, observed: Sequence[int], y: Array, noise: ArrayLike | None) -> TrackedPosterior:
        """This prior after all these observations at once."""
        if y.shape != (len(observed),) or not np.all(np.isfinite(y)):
            raise ValueError(f"expected {len(observed)} finite values y, one per observed candidate, got {y!r:.200}")
        if not len(observed):
            return self
        indices = list(observed)
        L, noise_variance = self.gp._factorised(self.points[indices], noise)
        white = whitened(L, y - self.mean[indices])
        factor, change, squares = self._factor.started(indices, L, white)
        change += self.mean
        np.subtract(self.variance, squares, out=squares)
        np.maximum(squares, 0.0, out=squares)
        gain = float(np.log(L.diagonal()).sum() - 0.5 * np.log(noise_variance).sum())
        return self._with(change, squares, factor, gain, tuple(indices), tuple(white.tolist()))

    def _with(
        self,
        mean: Array,
        variance: Array,
        factor: Factor,
        gain: float,
        observed: tuple[int, ...],
        white: tuple[float, ...],
    ) -> TrackedPosterior:
        known = self.gp, self.points, self.prior_variance
        return TrackedPosterior(*known, frozen(mean), frozen(variance), factor, gain, observed, white)

    @cached_property
    def std(self) -> Array:
        """Posterior standard deviation σ_t (n,)."""
        return frozen(np.sqrt(self.variance))

    @property
    def t(self) -> int:
        """Number of observations."""
        return len(self.observed)

    def bound(self, c: float) -> Array:
        """The function mean + c·std on all candidates (n,)."""
        values = c * self.std
        values += self.mean
        return frozen(values)

    def moments(self, points: Sequence[int]) -> tuple[Array, Array]:
        """Mean and variance at these candidates, (n,) each."""
        return self.mean[points], self.variance[points]

    def bounds(self, beta: float) -> tuple[Array, Array]:
        """lcb and ucb: mean ∓ beta^{1/2}·std (n,) each."""
        width = math.sqrt(beta) * self.std
        lcb = self.mean - width
        width += self.mean
        return frozen(lcb), frozen(width)


def _check_value(y: float) -> None:
    if not math.isfinite(y):
        raise ValueError(f"expected a finite value y, got {y}: leave failed evaluations out")


def _check_noise(noise: ArrayLike | None, t: int | None = None) -> None:
    """Whether it is a standard deviation; with t, one for all or one for each of t observations."""
    if noise is None:
        return
    values = numbers(noise, "noise")
    if values.shape not in ((), (t,)):
        raise ValueError(f"expected noise as one standard deviation or {t} of them, got shape {values.shape}")
    if not np.all((values > 0) & (values < LARGEST_NOISE) | (np.isnan(values) & (values.ndim > 0))):
        raise ValueError(f"expected noise standard deviations above 0, got {noise!r:.200}; use a tiny one if none")
