"""Functions from the theory's classes: of RKHS norm exactly B, and drawn from a GP prior.

Notation
    f = Σ_i a_i k(c_i, ·)    a kernel expansion with centres c_i; its RKHS norm is (aᵀKa)^{1/2}, K = k(c, c)
    n                        number of points of a grid, for a draw f ~ GP(m, k) on it
    C                        the circulant matrix of a stationary kernel on a torus around the grid
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky, eigh

from stableopt.base.arrays import Array, cartesian, frozen
from stableopt.base.checks import matrix, positive
from stableopt.base.values import ReadOnly
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled, Sum
from stableopt.model.gp import GP
from stableopt.model.kernels import Stationary

_DENSE = 8_000  # points at most, where the whole covariance is factorised
_TORUS = 1 << 25  # cells at most of the torus, where the covariance is embedded in a circulant
_CLIPPED = 1e-6  # of the prior variance: the largest error of the covariance that an embedding may make


@dataclass(frozen=True, eq=False)
class RkhsFunctions(ReadOnly):
    """Kernel expansions f_1, ..., f_F with common centres; call it to evaluate all of them anywhere."""

    kernel: Kernel
    centres: Array
    """(m, p)"""
    weights: Array
    """a, one row per function (F, m)."""

    def __call__(self, X: ArrayLike) -> Array:
        """The values (F, n) at the rows of X."""
        points = np.atleast_2d(np.asarray(X, dtype=float))
        return np.asarray(self.weights @ self.kernel(self.centres, points))

    @property
    def norms(self) -> Array:
        """The RKHS norm of each function (F,)."""
        K = self.kernel(self.centres, self.centres)
        return np.asarray(np.sqrt(np.sum((self.weights @ K) * self.weights, axis=1)))


def sample_rkhs(
    kernel: Kernel, centres: ArrayLike, norm: float, count: int, rng: np.random.Generator, terms: int | None = None
) -> RkhsFunctions:
    """Random functions of RKHS norm exactly ``norm``: Gaussian weights on the centres (m, p), scaled.

    terms: how many random centres each function uses; few terms make few large features. Default: all.
    """
    positive(norm, "an RKHS norm above 0")
    points = matrix(centres, "centres")
    if terms is not None and not 1 <= terms <= len(points):
        raise ValueError(f"expected between 1 and {len(points)} terms, as many as centres, got {terms!r}")
    weights = rng.standard_normal((count, len(points)))
    if terms is not None:
        ranks = rng.random(weights.shape).argsort(axis=1).argsort(axis=1)
        weights[ranks >= terms] = 0.0
    raw = RkhsFunctions(kernel, points, weights)
    return RkhsFunctions(kernel, points, frozen(weights * (norm / raw.norms)[:, None]))


def sample_prior(gp: GP, blocks: Sequence[Array], count: int, rng: np.random.Generator) -> Array:
    """Draws f ~ GP (count, n) on all combinations of rows of the blocks (`Grid.blocks`, or ``[points]``).

    A kernel that is a product over the blocks: by the eigenvectors of each factor, exact up to rounding, for 10^6
    points and more. Else up to 8,000 points: by one Cholesky factorisation, whose jitter changes the covariance by
    1e-8 of the prior variance at most. Else a stationary kernel on an evenly spaced grid: by circulant embedding, with
    an error of the covariance below 1e-6 of the prior variance, or refused.
    """
    starts = np.cumsum([0, *(block.shape[1] for block in blocks)])
    factors = gp.kernel.factor([range(a, b) for a, b in itertools.pairwise(starts)])
    sizes = [len(block) for block in blocks]
    if factors is not None and max(sizes) <= _DENSE:
        draws = _kronecker(factors, blocks, rng.standard_normal((count, *sizes)))
    elif math.prod(sizes) <= _DENSE:
        draws = _dense(gp.kernel, cartesian(blocks), rng.standard_normal((math.prod(sizes), count)))
    else:
        draws = _circulant(gp.kernel, blocks, count, rng)
    draws = draws.reshape(count, -1)
    draws += gp.prior_mean(cartesian(blocks))
    return draws


def _kronecker(factors: Sequence[Kernel | None], blocks: Sequence[Array], draws: Array) -> Array:
    """(R_1 ⊗ R_2 ⊗ ...) z with R_i R_iᵀ the covariance of block i, one axis after the other."""
    for axis, (kernel, block) in enumerate(zip(factors, blocks, strict=True), start=1):
        values, vectors = eigh(np.ones((len(block),) * 2) if kernel is None else kernel(block, block))
        root = vectors * np.sqrt(np.maximum(values, 0.0))  # eigenvalues below 0 are rounding
        draws = np.moveaxis(np.tensordot(root, draws, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(draws)


def _dense(kernel: Kernel, points: Array, normal: Array) -> Array:
    K = kernel(points, points)
    largest = float(np.diag(K).max())
    for jitter in (1e-14, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8):
        try:
            L = cholesky(K + jitter * largest * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return np.ascontiguousarray((L @ normal).T)
    raise ValueError(f"expected a positive semi-definite kernel, got {kernel!r}: its matrix on these points is not")


def _circulant(kernel: Kernel, blocks: Sequence[Array], count: int, rng: np.random.Generator) -> Array:
    """Two independent draws from each complex one: on the torus, the covariance is diagonal in Fourier space."""
    from scipy.fft import fftn

    sizes = [len(block) for block in blocks]
    eigenvalues = _embedding(kernel, blocks)
    root = np.sqrt(np.maximum(eigenvalues, 0.0) / eigenvalues.size)
    draws = np.empty((count, *sizes))
    inside = tuple(slice(size) for size in sizes)
    for first in range(0, count, 2):
        noise = rng.standard_normal((2, *root.shape))
        field = fftn(root * (noise[0] + 1j * noise[1]), overwrite_x=True)[inside]
        draws[first] = field.real
        if first + 1 < count:
            draws[first + 1] = field.imag
    return draws


def _embedding(kernel: Kernel, blocks: Sequence[Array]) -> Array:
    """Eigenvalues of the smallest circulant that is positive semi-definite up to a negligible part."""
    from scipy.fft import fftn, next_fast_len

    if not _is_stationary(kernel) or any(block.shape[1] != 1 for block in blocks):
        raise ValueError(
            f"expected up to {_DENSE} points, a kernel that is a product over the blocks, or a stationary kernel on a "
            f"grid, got {kernel!r} on blocks of {[block.shape for block in blocks]}: draw on fewer points"
        )
    steps = [_step(block[:, 0]) for block in blocks]
    clipped = math.inf
    for stretch in (2, 3, 4, 6, 8, 12, 16):
        sizes = [next_fast_len(stretch * (len(block) - 1) + 1) for block in blocks]
        if math.prod(sizes) > _TORUS:
            break
        axes = [
            step * np.minimum(np.arange(size), size - np.arange(size)) for step, size in zip(steps, sizes, strict=True)
        ]
        lags = cartesian([axis[:, None] for axis in axes])
        row = kernel(lags, np.zeros((1, len(blocks))))[:, 0].reshape(sizes)
        eigenvalues: Array = fftn(row).real
        clipped = -float(eigenvalues[eigenvalues < 0].sum()) / eigenvalues.size
        if clipped <= _CLIPPED * row.flat[0]:
            return eigenvalues
    raise ValueError(
        f"expected a lengthscale much shorter than the grid, got {kernel!r}: its embedding would be off by "
        f"{clipped:.1g}; use a coarser grid or a shorter lengthscale"
    )


def _is_stationary(kernel: Kernel) -> bool:
    if isinstance(kernel, Scaled | OnColumns):
        return _is_stationary(kernel.kernel)
    if isinstance(kernel, Sum | Product):
        return _is_stationary(kernel.left) and _is_stationary(kernel.right)
    return isinstance(kernel, Stationary)


def _step(axis: Array) -> float:
    """The distance of neighbours on an evenly spaced axis."""
    gaps = np.diff(axis)
    step = float(gaps.mean()) if len(gaps) else 1.0
    if len(gaps) and np.abs(gaps - step).max() > 1e-9 * abs(step):
        raise ValueError(f"expected evenly spaced axes, got gaps from {gaps.min()} to {gaps.max()}: use Grid.linspace")
    return abs(step)
