"""Gaussian process prior, and its posterior at any points. `tracked` has the posterior on fixed candidates.

Both posteriors are immutable: an update returns another one.

Notation (the paper's Section 2)
    x_1..x_t, y_1..y_t   observed points and noisy values
    K, k_t(x)            kernel matrix of the observed points (t, t); their kernel values with x (t,)
    σ                    standard deviation of the noise (`noise`): not its variance; σ_i where observations differ
    L                    Cholesky factor: K + σ²I = L Lᵀ, or K + diag(σ_i²)
    V                    L⁻¹ [k_t(z_1) … k_t(z_n)], one row per observation, one column per point (t, n)
    mean, variance       μ_t = m + Vᵀ L⁻¹(y − m) and σ_t² = k(z, z) − Σ_i V_i², both (n,)
    s                    predictive standard deviation of an observation: s² = σ_{t−1}²(x_t) + σ²
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Indices, cartesian, frozen
from stableopt.base.checks import LARGEST_NOISE, deviation, number, numbers, vector
from stableopt.base.values import ReadOnly, Value
from stableopt.model import factors, windows
from stableopt.model.algebra import Kernel
from stableopt.model.factors import Factor, ProductFactor, RowFactor, chunks
from stableopt.model.kernels import Linear
from stableopt.model.stationary import Ingredients, StationaryBound
from stableopt.model.tracked import TrackedPosterior
from stableopt.model.windows import WindowFactor


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
    deviation is raised to 1e-6 of it: repeated points with contradicting values would ruin the arithmetic.
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
        return factors.noise_variance(self.noise, prior_variance, noise)

    def condition(self, X: ArrayLike, y: ArrayLike, noise: ArrayLike | None = None) -> Posterior:
        """The posterior after the values y at the rows of X, by one factorisation.

        ``noise``: a standard deviation per observation, or one for all, instead of the GP's; NaN is the GP's.
        """
        points, values = np.atleast_2d(numbers(X, "points")), np.atleast_1d(numbers(y, "values"))
        if points.ndim != 2 or values.shape != (len(points),):
            raise ValueError(f"expected X (t, p) and y (t,), got {points.shape} and {values.shape}")
        if not (np.all(np.isfinite(points)) and np.all(np.isfinite(values))):
            raise ValueError("expected finite points and values, got NaN or infinity: leave failed evaluations out")
        _check_prior(self.kernel.diag(points))
        L, variance = factors.factorised(self.kernel, self.noise, points, noise)
        white = factors.whitened(L, values - self.prior_mean(points))
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
        prior_variance = frozen(_check_prior(self.kernel.diag(points)))
        lowest = np.fmin.reduce(np.atleast_1d(math.inf if noise is None else noise), initial=self.noise)
        enough = lowest >= factors.PRODUCT_NOISE * math.sqrt(prior_variance.max())
        factor: Factor | None = ProductFactor.of(self.kernel, blocks) if enough else None
        if enough and factor is None and len(points) >= windows.SMALLEST:
            factor = WindowFactor.of(self.kernel, blocks)
        factor = factor or RowFactor.of(self.kernel, points)
        mean = frozen(self.prior_mean(points))
        prior = TrackedPosterior(self.kernel, self.noise, points, prior_variance, mean, prior_variance, factor)
        return prior.started([int(i) for i in observed], np.array(y, dtype=float), noise)


def _check_prior(variance: Array) -> Array:
    """The prior's variances at some points, if arithmetic can stand them."""
    if not variance.max(initial=0.0) < LARGEST_NOISE**2:  # nor NaN
        got = f"{variance.max():g}"
        raise ValueError(f"expected a prior variance below {LARGEST_NOISE**2:g} at all points, got {got}: scale inputs")
    return variance


class Moments(Protocol):
    """A mean and a variance at every point, with gradients: a posterior, or a mixture of them."""

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


class Bound(NamedTuple):
    """The function mean + c·std of points: ucb with c = beta^{1/2}, lcb with c = -beta^{1/2}, the mean with c = 0."""

    moments: Moments
    c: float

    def __call__(self, Z: ArrayLike) -> Array:
        """The bound at the rows of Z, (n,)."""
        return _bound(self.moments, np.atleast_2d(np.asarray(Z, dtype=float)), self.c)

    def with_gradient(self, Z: ArrayLike) -> tuple[Array, Array]:
        """The bound at the rows of Z (n,), and its gradient there (n, p).

        Where the variance is 0 but for rounding, the gradient is that of the mean.
        """
        return _bound_with_gradient(self.moments, np.atleast_2d(np.asarray(Z, dtype=float)), self.c)

    def together(self, functions: Sequence[object]) -> Bounds | None:
        """Several bounds of the same model, which need its mean and std only once; None if they are not."""
        others = [F for F in functions if isinstance(F, Bound) and F.moments is self.moments]
        return Bounds(self.moments, np.array([F.c for F in others])) if len(others) == len(functions) else None


class Bounds(NamedTuple):
    """Several functions mean + c·std, numbered from 0, with one evaluation of the model."""

    moments: Moments
    c: Array

    def each(self, Z: Array) -> Array:
        """All bounds at the rows of Z, (K, n)."""
        return _bound(self.moments, Z, self.c[:, None])

    def at(self, Z: Array, which: Indices) -> Array:
        """The bounds with these numbers (n,) at the rows of Z, (n,)."""
        return _bound(self.moments, Z, self.c[which])

    def with_gradient(self, Z: Array, which: Indices) -> tuple[Array, Array]:
        """The bounds with these numbers (n,) at the rows of Z (n,), and their gradients there (n, p)."""
        return _bound_with_gradient(self.moments, Z, self.c[which])


def _bound(moments: Moments, Z: Array, c: Array | float) -> Array:
    """mean + c·std at the rows of Z."""
    if moments.stationary is not None:
        return moments.stationary(Z, c)
    mean, variance = moments(Z)
    return np.asarray(mean + c * np.sqrt(variance))


def _bound_with_gradient(moments: Moments, Z: Array, c: Array | float) -> tuple[Array, Array]:
    """mean + c·std at the rows of Z, one c for all or one for each, and the gradient."""
    if moments.stationary is not None:
        return moments.stationary.with_gradient(Z, c)
    values, gradient, each = np.empty(len(Z)), np.empty(Z.shape), np.broadcast_to(c, len(Z))
    for part in chunks(len(Z), moments.t):
        mean, variance, pull = moments.with_pullback(Z[part])
        std = np.sqrt(variance)
        slope = np.divide(0.5 * each[part], std, out=np.zeros(len(std)), where=std > 0)
        values[part], gradient[part] = mean + each[part] * std, pull(np.ones(len(std)), slope)
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
        return len(self.y)

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        points = np.atleast_2d(np.asarray(X, dtype=float))
        mean, variance = self.gp.prior_mean(points), self.gp.kernel.diag(points)
        for part in chunks(len(points), self.t):
            V = factors.whiten_columns(self.factor, self.gp.kernel(points[part], self.X).T)
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
        V = factors.whiten_columns(self.factor, values.T)
        variance = prior - np.einsum("ij,ij->j", V, V)
        known = variance <= 4e-16 * prior
        variance[known] = 0.0

        def pull(a: Array, b: Array) -> Array:
            b = np.where(known, 0.0, b)
            weights = np.multiply.outer(a, self._alpha)
            if b.any():
                A = factors.whiten_columns(self.factor, V.copy(order="F"), transposed=True).T
                A *= (-2 * b)[:, None]
                weights += A
            gradient = pull_kernel(weights, "inputs")
            gradient += kernel.with_pullback(Z)[1](b, "inputs")
            if isinstance(self.gp.mean, LinearMean):
                gradient += np.multiply.outer(a, self.gp.mean.weights)
            return gradient

        return self.gp.prior_mean(Z) + self.whitened @ V, variance, pull

    @cached_property
    def _alpha(self) -> Array:
        return factors.whitened(self.factor, self.whitened, transposed=True)

    @cached_property
    def stationary(self) -> StationaryBound | None:
        return StationaryBound.of([self.ingredients])

    @property
    def ingredients(self) -> Ingredients:
        """The parts from which bounds are computed."""
        return Ingredients(self.gp.kernel, self.gp.mean, self.X, self.factor, self.whitened)

    def bound(self, c: float) -> Bound:
        """The function mean + c·std, with its gradient."""
        return Bound(self, float(c))

    def update(self, x: ArrayLike, y: float, noise: float | None = None) -> Posterior:
        """The posterior with one more observation: a rank-one extension of L, no new factorisation."""
        point = vector(x, self.X.shape[1], "point")[None]
        factors.check_value(y)
        factors.check_noise(noise)
        row = factors.whitened(self.factor, self.gp.kernel(self.X, point)[:, 0])
        prior_variance = self.gp.kernel.diag(point)
        variance = self.gp.noise_variance(prior_variance, noise)
        s = math.sqrt(max(prior_variance[0] - row @ row, 0.0) + variance[0])
        z = (y - self.gp.prior_mean(point)[0] - row @ self.whitened) / s
        data = np.vstack([self.X, point]), np.append(self.y, y), np.append(self.noise_variance, variance)
        known = factors.extended(self.factor, row, s), np.append(self.whitened, z)
        return Posterior(self.gp, *map(frozen, (*data, *known)))

    def left_out(self) -> tuple[Array, Array]:
        """Mean and standard deviation of each observation as all others foretell it, (t,) each: see `residuals`."""
        inverse = factors.whiten_columns(self.factor, np.asfortranarray(np.eye(self.t)))  # L⁻¹, and K⁻¹ = L⁻ᵀ L⁻¹
        variance = 1 / np.einsum("ij,ij->j", inverse, inverse)
        return self.y - self._alpha * variance, np.sqrt(variance)

    def joint(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of f at the rows of X."""
        points = np.atleast_2d(np.asarray(X, dtype=float))
        V = factors.whiten_columns(self.factor, self.gp.kernel(points, self.X).T)
        return self.gp.prior_mean(points) + self.whitened @ V, self.gp.kernel(points, points) - V.T @ V

    @cached_property
    def information_gain(self) -> float:
        """½ log det(I + Σ⁻¹K) of the observed points, Σ = diag(σ_i²), free from the factor."""
        return float(np.sum(np.log(np.diag(self.factor))) - 0.5 * np.sum(np.log(self.noise_variance)))
