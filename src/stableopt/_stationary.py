"""Confidence bounds of a posterior with a common kernel, with as few passes over memory and calls as possible.

A search evaluates a bound thousands of times at a handful of points; there the general way (kernel objects that pull
back gradients, triangular solves) spends its time between the arithmetic. Here it is written out for variance · g(r)
with g squared exponential or Matérn 3/2 or 5/2, and L⁻¹ is kept: products with it are as accurate as solves with L.

Notation (see `gp` and `kernels`)
    x, z         observed points and points of interest, divided by the lengthscales (t, p), (n, p)
    K, H         variance · g(r) and variance · g'(r)/r of all pairs (n, t)
    V, A         L⁻¹k and K⁻¹k, one row for each z (n, t)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from stableopt._arrays import Array
from stableopt._factors import chunks
from stableopt.kernels import SE, Kernel, Matern, Scaled, Stationary

LARGEST = 512  # observations: beyond, the triangular solves of the general way are faster than products with L⁻¹


class StationaryBound:
    """mean + c·std and its gradient for one posterior."""

    def __init__(
        self, kernel: Stationary, variance: float, mean: float, X: Array, factor: Array, whitened: Array
    ) -> None:
        from scipy.spatial.distance import cdist

        self._distances = cdist
        self._order = kernel.nu if isinstance(kernel, Matern) else math.inf
        self._variance, self._mean = variance, mean
        self._scale = np.broadcast_to(np.asarray(kernel.lengthscale, dtype=float), X.shape[1:]).copy()
        self._x = X / self._scale
        self._whitened = whitened
        inverse, _ = lapack.dtrtri(factor, lower=1)
        self._inverse = np.ascontiguousarray(np.tril(inverse))
        self._alpha = self._whitened @ self._inverse

    @classmethod
    def of(cls, own: Kernel, mean: Any, X: Array, factor: Array, whitened: Array) -> StationaryBound | None:
        """For a posterior with this kernel, mean and factor, or None where the general way is the right one."""
        kernel, variance = (own.kernel, own.variance) if isinstance(own, Scaled) else (own, 1.0)
        known = isinstance(kernel, SE) or (isinstance(kernel, Matern) and kernel.nu in (1.5, 2.5))
        if not known or not isinstance(mean, float) or not 0 < len(X) <= LARGEST:
            return None
        assert isinstance(kernel, Stationary)
        return cls(kernel, variance, mean, X, factor, whitened)

    def __call__(self, Z: Array, c: float) -> Array:
        """The bound at the rows of Z, (n,)."""
        values = np.empty(len(Z))
        for part in chunks(len(Z), len(self._x)):
            K, _ = self._kernel(Z[part] / self._scale, slopes=False)
            V = K @ self._inverse.T
            std = np.sqrt(np.maximum(self._variance - np.einsum("ij,ij->i", V, V), 0.0))
            values[part] = self._mean + V @ self._whitened + c * std
        return values

    def with_gradient(self, Z: Array, c: float) -> tuple[Array, Array]:
        """The bound at the rows of Z (n,), and its gradient there (n, p); of the mean alone where std is 0."""
        values, gradient = np.empty(len(Z)), np.empty(Z.shape)
        for part in chunks(len(Z), len(self._x)):
            z = Z[part] / self._scale
            K, H = self._kernel(z, slopes=True)
            V = K @ self._inverse.T
            variance = self._variance - np.einsum("ij,ij->i", V, V)
            variance[variance <= 4e-16 * self._variance] = 0.0
            std = np.sqrt(variance)
            values[part] = self._mean + V @ self._whitened + c * std
            # d(mean + c·std) = (α − c/std · K⁻¹k) · dk, and dk = H (z − x) / lengthscale
            V *= np.divide(-c, std, out=np.zeros(len(std)), where=std > 0)[:, None]
            weights = V @ self._inverse
            weights += self._alpha
            weights *= H
            gradient[part] = (weights.sum(axis=1)[:, None] * z - weights @ self._x) / self._scale
        return values, gradient

    def _kernel(self, z: Array, slopes: bool) -> tuple[Array, Array]:
        """K and H."""
        squared = self._distances(z, self._x, "sqeuclidean")
        if self._order == math.inf:
            squared *= -0.5
            K = np.exp(squared, out=squared)
            K *= self._variance
            return K, -K if slopes else K
        s = np.sqrt(squared * (2 * self._order))
        decay = np.exp(-s)
        decay *= self._variance
        if self._order == 1.5:
            return (1 + s) * decay, -3.0 * decay
        return (1 + s * (1 + s / 3)) * decay, (-5 / 3) * (1 + s) * decay
