"""Confidence bounds of posteriors with a common kernel, with as few passes over memory and calls as possible.

A search evaluates a bound thousands of times at a handful of points. The general way (kernel objects, pullbacks,
triangular solves) spends most of its time between the arithmetic then. Here it is written out for variance · g(r) with
g squared exponential or Matérn 3/2 or 5/2, times a correlation where categories differ. L⁻¹ is kept: products with it
are as accurate as solves with L.
Posteriors of one kind of kernel with different hyperparameters are evaluated together, as a mixture (see `mixtures`).

Notation (see `gp`, `kernels` and `mixtures`)
    x, z         observed points and points of interest, divided by the scale of each column (t, p), (n, p)
    K, H         the kernel of all pairs but for its variance, and its slope but for constants (n, t): `_Stationary`
    V, A         L⁻¹k and K⁻¹k, one row for each z (n, t)
    μ_i, μ, σ²   means of the posteriors, and the mean and variance of their mixture (n,)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import lapack

from stableopt.base.arrays import Array
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled

LARGEST = 512  # observations: with more, triangular solves are faster than products with L⁻¹
_TOGETHER = 1 << 15  # entries of a matrix computed together: larger ones leave the cache, and fresh memory is slow


class Ingredients(NamedTuple):
    """The parts of one posterior from which a bound is computed; ``factor`` is L, and ``whitened`` L⁻¹(y − m)."""

    kernel: Kernel
    mean: Any
    X: Array
    factor: Array
    whitened: Array


class StationaryBound:
    """mean + c·std and its gradient, for one posterior or a mixture of several."""

    def __init__(self, parts: Sequence[_Stationary], weights: Sequence[float] = ()) -> None:
        self._parts, self._weights, self._rows = parts, weights, max(128, _TOGETHER // len(parts[0].x))

    @classmethod
    def of(cls, parts: Sequence[Ingredients], weights: Sequence[float] = ()) -> Self | None:
        """For these posteriors, or None where the general way is the right one; without weights, all weigh the same."""
        found = [_Stationary.of(part) for part in parts]
        known = [part for part in found if part is not None]
        return cls(known, weights) if len(known) == len(parts) else None

    def __call__(self, Z: Array, c: float) -> Array:
        """The bound at the rows of Z, (n,)."""
        values = np.empty(len(Z))
        for some in self._batches(len(Z)):
            mean, std = _mixed([part.moments(Z[some], slopes=False) for part in self._parts], self._weights)
            values[some] = mean + c * std
        return values

    def with_gradient(self, Z: Array, c: float) -> tuple[Array, Array]:
        """The bound at the rows of Z (n,), and its gradient there (n, p); of the mean alone where std is 0.

        dμ_i = α_i·dk and dσ_i² = −2A_i·dk, so d(μ + cσ) is the average of (1 + c/σ (μ_i − μ)) α_i·dk − c/σ A_i·dk.
        """
        values, gradient = np.empty(len(Z)), np.empty(Z.shape)
        for some in self._batches(len(Z)):
            each = [part.moments(Z[some], slopes=True) for part in self._parts]
            mean, std = _mixed(each, self._weights)
            values[some] = mean + c * std
            slope = np.divide(c, std, out=np.zeros(len(std)), where=std > 0)
            if len(each) == 1:
                gradient[some] = self._parts[0].pull(each[0], None, -slope)
                continue
            pulled = [
                part.pull(own, 1 + slope * (own.mean - mean), np.where(own.variance > 0, -slope, 0.0))
                for part, own in zip(self._parts, each, strict=True)
            ]
            gradient[some] = average(np.array(pulled), self._weights)
        return values, gradient

    def _batches(self, n: int) -> list[slice]:
        return [slice(start, start + self._rows) for start in range(0, n, self._rows)]


class _Moments(NamedTuple):
    """Mean and variance (n,) of one posterior at some points, and the arrays for their gradients."""

    mean: Array
    variance: Array
    z: Array
    H: Array
    V: Array


def average(parts: Array, weights: Sequence[float]) -> Array:
    """The average over the first axis; without weights, all parts weigh the same."""
    return np.asarray(np.tensordot(weights, parts, 1) if len(weights) else parts.mean(axis=0))


def total(means: Array, variances: Array, weights: Sequence[float] = ()) -> tuple[Array, Array]:
    """Mean and variance of a mixture from those of its parts (S, n)."""
    mean = average(means, weights)
    return mean, average(variances, weights) + average(np.square(means - mean), weights)


def _mixed(each: Sequence[_Moments], weights: Sequence[float]) -> tuple[Array, Array]:
    """Mean and std of the mixture."""
    if len(each) == 1:
        return each[0].mean, np.sqrt(each[0].variance)
    means, variances = np.array([own.mean for own in each]), np.array([own.variance for own in each])
    mean, variance = total(means, variances, weights)
    return mean, np.sqrt(variance)


class _Form(NamedTuple):
    """A kernel that is written out: variance · g(r) · Π of correlations, one for each category that differs."""

    order: float
    """Of the Matérn function g; infinity for the squared exponential."""
    scale: Array
    """Lengthscales of all columns (p,); infinity where a column is no part of r."""
    variance: float
    correlations: list[tuple[int, float]]
    """Columns of categories, and what the kernel is multiplied by where they differ."""

    @classmethod
    def of(cls, kernel: Kernel, width: int) -> Self | None:
        """None for a kernel of any other form."""
        variance, correlations, scale = 1.0, [], np.full(width, math.inf)
        order: float | None = None
        for part, columns in _factors(kernel, range(width)):
            known, correlation = part._as_matern(), part._as_categorical()
            if isinstance(part, Scaled):
                variance *= part.variance
            elif correlation is not None:
                correlations += [(column, correlation) for column in columns]
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


class _Stationary:
    """One posterior. Constant factors are in arrays that are made once, not in those of every call.

    Coordinates are divided by `_scale`: then g is a function of s = |z − x| alone, and dk = slope · H (z − x) / scale.

        squared exponential   s = r/√2    g = exp(−s²)                H = g              slope −2
        Matérn 3/2            s = √3 r    g = (1 + s) exp(−s)         H = exp(−s)        slope −1
        Matérn 5/2            s = √5 r    g = (1 + s + s²/3) exp(−s)  H = (1 + s)exp(−s) slope −1/3
    """

    def __init__(self, form: _Form, part: Ingredients) -> None:
        from scipy.spatial.distance import cdist

        self._distances, self._order, self._variance, self._mean = cdist, form.order, form.variance, part.mean
        self._scale = form.scale / (math.sqrt(0.5) if form.order == math.inf else math.sqrt(2 * form.order))
        self._slope = {math.inf: -2.0, 1.5: -1.0, 2.5: -1 / 3}[form.order] / self._scale
        self.x = part.X / self._scale
        self._categories = [(column, part.X[:, column].copy(), rho) for column, rho in form.correlations]
        self._whitened = part.whitened
        inverse, _ = lapack.dtrtri(part.factor, lower=1)
        self._inverse = form.variance * np.tril(inverse)
        self._root = np.ascontiguousarray(self._inverse.T)
        self._alpha = self._whitened @ self._inverse

    @classmethod
    def of(cls, part: Ingredients) -> Self | None:
        if not isinstance(part.mean, float) or not 0 < len(part.X) <= LARGEST:
            return None
        form = _Form.of(part.kernel, part.X.shape[1])
        return None if form is None else cls(form, part)

    def moments(self, Z: Array, slopes: bool) -> _Moments:
        """At the rows of Z; H only if slopes are wanted."""
        z = Z / self._scale
        K, H = self._kernel(z, slopes)
        for column, known, correlation in self._categories:
            alike = np.where(Z[:, column, None] == known, 1.0, correlation)
            K *= alike
            if H is not K:
                H *= alike
        V = K @ self._root
        variance = self._variance - np.einsum("ij,ij->i", V, V)
        variance[variance <= 4e-16 * self._variance] = 0.0
        mean = V @ self._whitened
        mean += self._mean
        return _Moments(mean, variance, z, H, V)

    def pull(self, at: _Moments, of_mean: Array | None, of_rest: Array) -> Array:
        """Row i is (a_i α + b_i A)·dk at z_i; a is 1 if None. Overwrites V."""
        weights = at.V
        weights *= of_rest[:, None]
        weights = weights @ self._inverse
        weights += self._alpha if of_mean is None else np.multiply.outer(of_mean, self._alpha)
        weights *= at.H
        gradient = weights.sum(axis=1)[:, None] * at.z
        gradient -= weights @ self.x
        gradient *= self._slope
        return np.asarray(gradient)

    def _kernel(self, z: Array, slopes: bool) -> tuple[Array, Array]:
        """g and H; one and the same array where they are equal or H is not wanted."""
        s = self._distances(z, self.x, "sqeuclidean")
        if self._order == math.inf:
            np.negative(s, out=s)
            K = np.exp(s, out=s)
            return K, K
        np.minimum(s, 1e8, out=s)  # g is 0 in floating point there, and 0 · inf further on
        np.sqrt(s, out=s)
        decay = np.exp(-s)
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
