"""Confidence bounds of posteriors with a common kernel, with as few passes over memory and calls as possible.

A search evaluates a bound thousands of times at a handful of points. The general way (kernel objects, pullbacks,
triangular solves) spends most of its time between the arithmetic then. Here it is written out for variance · g(r) with
g squared exponential or Matérn 3/2 or 5/2, times a correlation where categories differ. L⁻¹ is kept: products with it
are as accurate as solves with L.
Posteriors of one kind of kernel with different hyperparameters are a mixture (see `beliefs`). Their arrays are
stacked, so that a call takes about as many steps for four of them as for one.

Notation (see `gp`, `kernels` and `beliefs`)
    S            posteriors; the first axis of all that follows
    X, Z         observed points and points of interest (t, p), (n, p)
    K, H         the kernel of all pairs but for its variance, and its slope but for constants (S, n, t)
    V, A         L⁻¹k and K⁻¹k, one row for each point (S, n, t)
    μ_i, σ_i²    means and variances of the posteriors (S, n)
    μ, σ²        mean and variance of their mixture (n,)

With coordinates divided by the scale of each column, g is a function of the distance s of two points alone, and
dk = slope · H (z − x) / scale².

    squared exponential   s = r/√2    g = exp(−s²)                H = g              slope −2
    Matérn 3/2            s = √3 r    g = (1 + s) exp(−s)         H = exp(−s)        slope −1
    Matérn 5/2            s = √5 r    g = (1 + s + s²/3) exp(−s)  H = (1 + s)exp(−s) slope −1/3
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import blas, lapack

from stableopt.base.arrays import Array
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled

LARGEST = 512  # observations: with more, triangular solves are faster than products with L⁻¹
_STEEPEST = 1e300  # of 1/scale²: infinity times the distance of a point from itself would be NaN
_TOGETHER = 1 << 14  # entries of a matrix computed together: larger ones leave the cache, and fresh memory is slow


class Ingredients(NamedTuple):
    """The parts of one posterior from which a bound is computed; ``factor`` is L, and ``whitened`` L⁻¹(y − m)."""

    kernel: Kernel
    mean: Any
    X: Array
    factor: Array
    whitened: Array


class StationaryBound:
    """mean + c·std and its gradient, for one posterior or a mixture of several.

    Constant factors are in arrays that are made once, not in those of every call.
    """

    def __init__(self, forms: Sequence[_Form], parts: Sequence[Ingredients], weights: Sequence[float] = ()) -> None:
        from scipy.spatial.distance import cdist

        self._distances, self._order, first = cdist, forms[0].order, parts[0]
        self._weights = np.array([weights or [1 / len(parts)] * len(parts)]).T
        t, unit = len(first.X), math.sqrt(0.5 if self._order == math.inf else 2 * self._order)
        self._rows = max(128, _TOGETHER // (t * len(parts)))
        self._scale = np.array([form.scale / unit for form in forms])
        self._scaled = first.X / self._scale[:, None]
        self._relative = _relative(self._scale)
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            self._inverse_squares = np.minimum(self._scale**-2.0, _STEEPEST)
        self._observed = np.ascontiguousarray(first.X.T)[:, None]
        slope = {math.inf: -2.0, 1.5: -1.0, 2.5: -1 / 3}[self._order]
        self._slope = (slope * self._inverse_squares * self._weights)[:, None]
        self._ones_x = np.concatenate([np.ones((t, 1)), first.X], axis=1)
        self._categories = [
            (column, first.X[:, column].copy(), np.array([[[form.correlations[column]]] for form in forms]))
            for column in forms[0].correlations
        ]
        self._mean = np.array([[float(part.mean)] for part in parts])
        self._variance = np.array([[form.variance] for form in forms])
        self._known = 4e-16 * self._variance  # a variance below is 0 but for rounding
        self._whitened = np.array([part.whitened[:, None] for part in parts])
        inverses = [np.tril(lapack.dtrtri(part.factor, lower=1)[0]) for part in parts]
        inverse = self._variance[:, :, None] * np.array(inverses)
        self._inverse = [np.asfortranarray(part) for part in inverse]
        self._alpha = np.matmul(self._whitened.transpose(0, 2, 1), inverse)

    @classmethod
    def of(cls, parts: Sequence[Ingredients], weights: Sequence[float] = ()) -> Self | None:
        """For these posteriors, or None where the general way is the right one; without weights, all weigh the same."""
        forms = [form for part in parts if (form := _Form.of(part)) is not None]
        kinds = {(form.order, tuple(sorted(form.correlations))) for form in forms}
        return cls(forms, parts, weights) if len(forms) == len(parts) and len(kinds) == 1 else None

    def __call__(self, Z: Array, c: Array | float) -> Array:
        """The bound at the rows of Z, (n,); c may differ from row to row (n,), or be a column of several (K, 1)."""
        mean, std = self.moments(Z)
        bound = std * c
        bound += mean
        return bound

    def moments(self, Z: Array) -> tuple[Array, Array]:
        """Mean and std at the rows of Z, (n,) each."""
        if len(Z) > self._rows:
            mean, std = np.empty((2, len(Z)))
            for some in self._batches(len(Z)):
                mean[some], std[some] = self.moments(Z[some])
            return mean, std
        K, _ = self._kernel(Z, slopes=False)
        _, means, variances = self._moments(K)
        return self._mixed(means, variances)

    def with_gradient(self, Z: Array, c: Array | float) -> tuple[Array, Array]:
        """The bound at the rows of Z (n,), and its gradient there (n, p); of the mean alone where std is 0.

        dμ_i = α_i·dk and dσ_i² = −2A_i·dk, so d(μ + cσ) is the average of (1 + c/σ (μ_i − μ)) α_i·dk − c/σ A_i·dk.
        """
        if len(Z) > self._rows:
            own = np.broadcast_to(c, len(Z))
            parts = [self.with_gradient(Z[some], own[some]) for some in self._batches(len(Z))]
            return np.concatenate([v for v, _ in parts]), np.concatenate([g for _, g in parts])
        K, H = self._kernel(Z, slopes=True)
        V, means, variances = self._moments(K.copy() if K is H else K)
        mean, std = self._mixed(means, variances)
        slope = np.divide(np.negative(c), std, out=np.zeros(len(std)), where=std > 0)
        alpha = self._alpha
        if len(means) > 1:
            alpha = (1 - slope * (means - mean))[:, :, None] * alpha
            slope = np.where(variances > 0, slope, 0.0)
        else:
            slope = slope[None]
        V *= slope[:, :, None]
        W = self._multiplied(V, transposed=True)
        W += alpha
        W *= H
        sums = np.matmul(W.reshape(-1, W.shape[2]), self._ones_x).reshape(*W.shape[:2], -1)
        gradient = sums[:, :, :1] * Z
        gradient -= sums[:, :, 1:]
        gradient *= self._slope
        std *= c
        std += mean
        return std, gradient[0] if len(gradient) == 1 else np.add.reduce(gradient, axis=0)

    def _batches(self, n: int) -> list[slice]:
        return [slice(start, start + self._rows) for start in range(0, n, self._rows)]

    def _multiplied(self, rows: Array, *, transposed: bool) -> Array:
        """Rows (S, n, t) times L⁻ᵀ, or times L⁻¹, in their place: half of the work of a product with any matrix."""
        for own, inverse in zip(rows, self._inverse, strict=True):
            blas.dtrmm(1.0, inverse, own.T, lower=1, trans_a=transposed, overwrite_b=1)
        return rows

    def _moments(self, K: Array) -> tuple[Array, Array, Array]:
        """V, means and variances of all posteriors; V takes the place of K."""
        V = self._multiplied(K, transposed=False)
        variances = self._variance - np.einsum("ijk,ijk->ij", V, V)
        variances[variances <= self._known] = 0.0
        means = np.matmul(V, self._whitened)[:, :, 0]
        means += self._mean
        return V, means, variances

    def _mixed(self, means: Array, variances: Array) -> tuple[Array, Array]:
        """Mean and std of the mixture; both may be written to."""
        if len(means) == 1:
            return means[0], np.sqrt(variances[0])
        mean = np.add.reduce(means * self._weights, axis=0)
        away = means - mean
        away *= away
        away += variances
        away *= self._weights
        variance = np.add.reduce(away, axis=0)
        return mean, np.sqrt(variance, out=variance)

    def _kernel(self, Z: Array, slopes: bool) -> tuple[Array, Array]:
        """g and H; one and the same array where they are equal or H is not wanted."""
        K, H = self._of_distance(self._squared_distances(Z), slopes)
        for column, known, correlations in self._categories:
            alike = np.where(Z[:, column, None] == known, 1.0, correlations)
            K *= alike
            if H is not K:
                H *= alike
        return K, H

    def _squared_distances(self, Z: Array) -> Array:
        """s² (S, n, t), or (1, n, t) of the first posterior if those of the others are multiples of it.

        At a few points, all posteriors weigh the same squares; else each has its own distances.
        """
        (n, p), t, count = Z.shape, len(self._ones_x), len(self._scale) if self._relative is None else 1
        if count > 1 and n * p * t <= _TOGETHER:
            squares = Z.T[:, :, None] - self._observed
            squares *= squares
            return np.asarray(np.matmul(self._inverse_squares, squares.reshape(p, n * t))).reshape(-1, n, t)
        s = np.empty((count, n, t))
        for own, scale, observed in zip(s, self._scale, self._scaled, strict=False):
            self._distances(Z / scale, observed, "sqeuclidean", out=own)
        return s

    def _of_distance(self, s: Array, slopes: bool) -> tuple[Array, Array]:
        """The same without categories, from s², which is overwritten."""
        if self._order == math.inf:
            s = np.negative(s, out=s) if self._relative is None else s * -(self._relative**2)
            K = np.exp(s, out=s)
            return K, K
        np.minimum(s, 1e8, out=s)  # g is 0 in floating point there, and 0 · inf further on
        np.sqrt(s, out=s)
        if self._relative is not None:
            s = s * self._relative
        decay = np.negative(s)
        np.exp(decay, out=decay)
        H = s + 1
        if self._order == 1.5:
            H *= decay
            return H, decay if slopes else H
        s *= s
        s *= 1 / 3
        s += H
        s *= decay
        if slopes:
            H *= decay
        return s, H if slopes else s


def average(parts: Array, weights: Sequence[float]) -> Array:
    """The average over the first axis; without weights, all parts weigh the same."""
    return np.asarray(np.tensordot(weights, parts, 1) if len(weights) else parts.mean(axis=0))


def total(means: Array, variances: Array, weights: Sequence[float] = ()) -> tuple[Array, Array]:
    """Mean and variance of a mixture from those of its parts (S, n)."""
    mean = average(means, weights)
    return mean, average(variances, weights) + average(np.square(means - mean), weights)


def _relative(scale: Array) -> Array | None:
    """What s of the first posterior is multiplied by for all of them (S, 1, 1), where lengthscales share a factor."""
    if len(scale) == 1:
        return None
    finite = np.isfinite(scale[0])
    factors = scale[0, finite] / scale[:, finite]
    alike = (np.isfinite(scale) == finite).all() and finite.any() and np.ptp(np.log(factors), axis=1).max() < 1e-12
    return factors[:, :1, None] if alike else None


class _Form(NamedTuple):
    """A kernel that is written out: variance · g(r) · Π of correlations, one for each category that differs."""

    order: float
    """Of the Matérn function g; infinity for the squared exponential."""
    scale: Array
    """Lengthscales of all columns (p,); infinity where a column is no part of r."""
    variance: float
    correlations: dict[int, float]
    """Columns of categories, and what the kernel is multiplied by where they differ."""

    @classmethod
    def of(cls, posterior: Ingredients) -> Self | None:
        """None for a kernel of any other form, for a mean that is not constant, and for too many observations."""
        t, width = posterior.X.shape
        if not isinstance(posterior.mean, float) or not 0 < t <= LARGEST:
            return None
        scale = np.full(width, math.inf)
        variance, order = 1.0, None
        correlations: dict[int, float] = {}
        for part, columns in _factors(posterior.kernel, range(width)):
            known, correlation = part._as_matern(), part._as_categorical()
            if isinstance(part, Scaled):
                variance *= part.variance
            elif correlation is not None:
                correlations |= {column: correlation * correlations.get(column, 1.0) for column in columns}
            elif order is None and known is not None and known[0] in (1.5, 2.5, math.inf):
                order, scale[list(columns)] = known
            else:
                return None
        return None if order is None else cls(order, scale, variance, correlations)


def _factors(kernel: Kernel, columns: Sequence[int]) -> Iterator[tuple[Kernel, Sequence[int]]]:
    """The factors of a product with the columns that each of them sees; `Scaled` stands for its variance alone."""
    if isinstance(kernel, Product):
        yield from _factors(kernel.left, columns)
        yield from _factors(kernel.right, columns)
    elif isinstance(kernel, OnColumns):
        yield from _factors(kernel.kernel, [columns[c] for c in kernel.columns])
    else:
        yield kernel, columns
        if isinstance(kernel, Scaled):
            yield from _factors(kernel.kernel, columns)
