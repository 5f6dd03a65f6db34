"""The covariance of noisy observations, factorised. Factors of a tracked posterior update n candidates in O(t·n).

Notation (see `gp`)
    σ   standard deviation of the noise; σ_i where observations differ
    L   Cholesky factor of the observations, K + diag(σ_i²) = L Lᵀ (t, t)
    V   L⁻¹ [k_t(z_1) … k_t(z_n)], one row per observation, one column per candidate (t, n)
    v   the row that a new observation adds to V
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas, lapack

from stableopt.base.arrays import Array
from stableopt.base.checks import LARGEST_NOISE, numbers

# Noise as a fraction of the prior's standard deviation. With less, the product form would lose too many digits.
PRODUCT_NOISE = 1e-4
# A noise below this fraction is raised to it: repeated points stay harmless.
NOISE_FLOOR = 1e-6
# Numbers in a block of a triangular solve with many right-hand sides, so that it stays in the cache.
_CHUNK = 1 << 17


class Covariance(Protocol):
    """What a factorisation needs of a kernel: see `algebra.Kernel`."""

    @property
    def is_stationary(self) -> bool: ...
    def __call__(self, X: Array, Z: Array) -> Array: ...
    def diag(self, X: Array) -> Array: ...
    def factor(self, blocks: Sequence[Sequence[int]]) -> Sequence[Covariance | None] | None: ...


class Factor(Protocol):
    """The factorisation of the observations of a tracked posterior."""

    def row(self, index: int) -> Array:
        """L⁻¹ k_t(x) for the candidate x: the next row of L, but for its diagonal (t,)."""

    def extended(self, index: int, row: Array, s: float) -> tuple[Factor, Array]:
        """The factor with this candidate observed, and the new row v of V (n,)."""

    def started(self, observed: Sequence[int], L: Array, whitened: Array) -> tuple[Factor, Array, Array]:
        """The empty factor with all these candidates observed at once, wᵀV for L's whitened w, and Σ_i V_i² (n,)."""


class Rows:
    """V as blocks of rows that posteriors share: appending copies nothing, branching copies one block at most.

    A block is written once per row. A posterior that extends an older state than the block has seen (a throw-away
    one with pending points, or its sibling) gets its own copy of the block's first rows.
    """

    def __init__(
        self, n: int, height: int, blocks: tuple[Array, ...] = (), t: int = 0, written: list[int] | None = None
    ) -> None:
        self.n, self.height, self._blocks, self._t = n, height, blocks, t
        self._written = [] if written is None else written  # rows written in the last block; shared with siblings

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs: the rows so far, but not the room after them."""
        return self.__dict__ | {"_blocks": tuple(block.copy() for block in self), "_written": [self._t % self.height]}

    def __iter__(self) -> Iterator[Array]:
        return iter([block[: self._t - i * self.height] for i, block in enumerate(self._blocks)])

    def column(self, index: int) -> Array:
        """One column of V (t,)."""
        return np.concatenate([np.empty(0), *(block[:, index] for block in self)])

    def appended(self) -> tuple[Rows, Array]:
        """The rows with one more, and that row, uninitialised, to be filled at once."""
        used = self._t % self.height
        blocks, written = self._blocks, self._written
        if used == 0:
            blocks, written = (*blocks, np.empty((self.height, self.n))), [0]
        elif written[0] != used or used == len(blocks[-1]):
            copy = np.empty((self.height, self.n))
            copy[:used] = blocks[-1][:used]
            blocks, written = (*blocks[:-1], copy), [used]
        written[0] = used + 1
        return Rows(self.n, self.height, blocks, self._t + 1, written), blocks[-1][used]

    def grown(self, count: int) -> Rows:
        """The rows with so many more, uninitialised."""
        rows = self
        for _ in range(count):
            rows, _ = rows.appended()
        return rows

    def fill(self, values: Array, columns: slice = slice(None)) -> None:
        """Write the values (t, m) into some columns of all rows."""
        start = 0
        for block in self:
            block[:, columns] = values[start : start + len(block)]
            start += len(block)


class RowFactor(NamedTuple):
    """Any kernel: V is stored, and a new row reads it once."""

    kernel: Covariance
    points: Array
    rows: Rows

    @classmethod
    def of(cls, kernel: Covariance, points: Array) -> RowFactor:
        """The empty factor."""
        return cls(kernel, points, Rows(len(points), _height(len(points))))

    def row(self, index: int) -> Array:
        return self.rows.column(index)

    def extended(self, index: int, row: Array, s: float) -> tuple[RowFactor, Array]:
        prior = self.kernel(self.points, self.points[index : index + 1])[:, 0]
        rows, v = self.rows.appended()
        np.divide(prior, s, out=v)
        start = 0
        for block in self.rows:
            part = row[start : start + len(block)]
            blas.dgemv(-1.0 / s, block.T, part, 1.0, v, overwrite_y=1)
            start += len(block)
        return RowFactor(self.kernel, self.points, rows), v

    def started(self, observed: Sequence[int], L: Array, whitened: Array) -> tuple[RowFactor, Array, Array]:
        rows, X = self.rows.grown(len(observed)), self.points[list(observed)]
        total, squares = np.empty(rows.n), np.empty(rows.n)
        for part in chunks(rows.n, len(observed)):
            V = whiten_rows(L, self.kernel(X, self.points[part]))
            rows.fill(V, part)
            total[part], squares[part] = whitened @ V, np.einsum("ij,ij->j", V, V)
        return RowFactor(self.kernel, self.points, rows), total, squares


class ProductFactor(NamedTuple):
    """A kernel that is a product over the blocks: a new row of V is one small matrix product and V is not stored.

    The blocks are split in two halves with n = n_left · n_right, and k(x_i, ·) = left_i ⊗ right_i. With
    a = L⁻ᵀ L⁻¹ k_t(x), the row is v = (k(x, ·) − Σ_i a_i k(x_i, ·)) / s = leftᵀ diag(−a, 1) right / s.
    Since ‖a‖ may reach 1/σ, the row is off by about 1e-16/σ² in units of the prior: with σ² below 1e-8 of the
    prior variance the stored rows are used instead.
    """

    kernels: tuple[Covariance | None, ...]
    blocks: tuple[Array, ...]
    split: int
    left: Rows
    right: Rows
    L: Array

    @classmethod
    def of(cls, kernel: Covariance, blocks: Sequence[Array]) -> ProductFactor | None:
        """The empty factor, or None where the kernel is no product or there is one block."""
        starts = np.cumsum([0, *(block.shape[1] for block in blocks)])
        kernels = kernel.factor([range(a, b) for a, b in itertools.pairwise(starts)])
        sizes = [len(block) for block in blocks]
        halves = [(math.prod(sizes[:i]), math.prod(sizes[i:])) for i in range(1, len(sizes))]
        if kernels is None or not halves:
            return None
        left, right = min(halves, key=sum)
        if min(left, right) == 1:
            return None
        split, height = halves.index((left, right)) + 1, _height(max(left, right))
        return cls(tuple(kernels), tuple(blocks), split, Rows(left, height), Rows(right, height), np.empty((0, 0)))

    def row(self, index: int) -> Array:
        if not len(self.L):
            return np.empty(0)
        i, j = divmod(index, self.right.n)
        return whitened(self.L, self.left.column(i) * self.right.column(j))

    def extended(self, index: int, row: Array, s: float) -> tuple[ProductFactor, Array]:
        left, new_left = self.left.appended()
        right, new_right = self.right.appended()
        new_left[:], new_right[:] = (half[0] for half in self._halves([index]))
        weights = np.full(len(row) + 1, 1 / s)
        if len(row):
            weights[:-1] = whitened(self.L, row, transposed=True) / -s
        L = extended(self.L, row, s)
        return ProductFactor(self.kernels, self.blocks, self.split, left, right, L), _product(left, right, weights)

    def started(self, observed: Sequence[int], L: Array, whitened_y: Array) -> tuple[ProductFactor, Array, Array]:
        left, right = self.left.grown(len(observed)), self.right.grown(len(observed))
        a, b = self._halves(observed)
        left.fill(a)
        right.fill(b)
        squares = np.empty(left.n * right.n)
        for part in chunks(left.n, len(observed) * right.n, least=1):
            V = whiten_rows(L, (a[:, part, None] * b[:, None]).reshape(len(a), -1))
            squares[part.start * right.n : part.stop * right.n] = np.einsum("ij,ij->j", V, V)
        total = _product(left, right, whitened(L, whitened_y, transposed=True))
        return ProductFactor(self.kernels, self.blocks, self.split, left, right, L), total, squares

    def _halves(self, observed: Sequence[int]) -> tuple[Array, Array]:
        """Kernel values of observed points with every combination of rows of the left, and of the right blocks."""
        coordinates = np.unravel_index(np.asarray(observed), [len(block) for block in self.blocks])
        parts = list(zip(self.kernels, self.blocks, coordinates, strict=True))
        left, right = (_combined(half, len(observed)) for half in (parts[: self.split], parts[self.split :]))
        return left, right


def _combined(parts: Sequence[tuple[Covariance | None, Array, Any]], t: int) -> Array:
    """Products of the kernels' values, one row per observation, one column per combination of rows of the blocks."""
    values = np.ones((t, 1))
    for kernel, block, i in parts:
        factor = np.ones((t, len(block))) if kernel is None else kernel(block[i], block)
        values = (values[:, :, None] * factor[:, None, :]).reshape(t, -1)
    return values


def _product(left: Rows, right: Rows, weights: Array) -> Array:
    """Σ_i weights_i · left_i ⊗ right_i as one vector."""
    parts = (weights[i : i + left.height, None] for i in range(0, len(weights), left.height))
    products = (
        (a * part).T @ b if left.n < right.n else a.T @ (b * part)
        for a, b, part in zip(left, right, parts, strict=True)
    )
    total: Array = next(products)
    for product in products:
        total += product
    return total.ravel()


def noise_variance(sigma: float, prior_variance: Array, noise: ArrayLike | None = None) -> Array:
    """σ_i² at points with this prior variance, after the floor. ``noise`` replaces σ, except where it is NaN."""
    own = sigma if noise is None else np.where(np.isnan(noise), sigma, noise)
    return np.maximum(np.maximum(np.square(own), sys.float_info.min), NOISE_FLOOR**2 * prior_variance)


def check_value(y: float) -> None:
    """Refuse a value that is no finite number."""
    if not math.isfinite(y):
        raise ValueError(f"expected a finite value y, got {y}: leave failed evaluations out")


def check_noise(noise: ArrayLike | None, t: int | None = None) -> None:
    """Refuse what is no standard deviation; with t, one for all or one for each of t observations."""
    if noise is None:
        return
    values = numbers(noise, "noise")
    if values.shape not in ((), (t,)):
        raise ValueError(f"expected noise as one standard deviation or {t} of them, got shape {values.shape}")
    if not np.all((values > 0) & (values < LARGEST_NOISE) | (np.isnan(values) & (values.ndim > 0))):
        raise ValueError(f"expected noise standard deviations above 0, got {noise!r:.200}; use a tiny one if none")


def factorised(kernel: Covariance, sigma: float, X: Array, noise: ArrayLike | None) -> tuple[Array, Array]:
    """L of observations at the rows of X, and the variances of their noise."""
    if noise is not None:
        check_noise(noise, len(X))
    prior = kernel.diag(X)
    for floor in (0.0, 1e-11, 1e-10, 1e-9, 1e-8):  # thousands of equal points may need more than NOISE_FLOOR²
        K, variance = kernel(X, X), np.maximum(noise_variance(sigma, prior, noise), floor * prior)
        K.flat[:: len(X) + 1] += variance
        L, failed = lapack.dpotrf(K.T, lower=1, clean=1, overwrite_a=1)  # K.T: in LAPACK's order, no copy
        if not failed:
            return L, variance
    got = f"a matrix of {len(X)} points that is not, from {kernel}: check_kernel(kernel, X) tests a kernel of your own"
    raise np.linalg.LinAlgError(f"expected a positive semi-definite kernel, got {got}")


def _height(n: int) -> int:
    """Rows that are kept in one block: many, but few where a row is long, since a branch copies a block."""
    return min(max(2**21 // n, 32), 256)


def chunks(n: int, size: int, least: int = 128) -> Iterator[slice]:
    """Parts of n columns of so many numbers each, to be worked on together; fewer than ``least`` would starve BLAS."""
    step = max(least, _CHUNK // max(1, size))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def extended(factor: Array, row: Array, s: float) -> Array:
    """A Cholesky factor with one more row."""
    larger = np.zeros((len(row) + 1, len(row) + 1))
    larger[:-1, :-1], larger[-1, :-1], larger[-1, -1] = factor, row, s
    return larger


def _upper(L: Array) -> tuple[Array, int, int]:
    """L as BLAS reads it without a copy: (matrix in Fortran's order, lower, trans)."""
    return (L, 1, 0) if L.flags.f_contiguous else (L.T, 0, 1)


def whitened(L: Array, b: Array, transposed: bool = False) -> Array:
    """L⁻¹ b, or L⁻ᵀ b, for one vector b."""
    if not len(b):
        return np.empty(0)
    matrix, lower, trans = _upper(L)
    return np.asarray(blas.dtrsv(matrix, b, lower=lower, trans=trans ^ transposed))


def whiten_columns(L: Array, B: Array, transposed: bool = False) -> Array:
    """L⁻¹ B, or L⁻ᵀ B, in place if B (t, n) is in Fortran's order."""
    if not B.size:
        return B
    matrix, lower, trans = _upper(L)
    return np.asarray(blas.dtrsm(1.0, matrix, B, lower=lower, trans_a=trans ^ transposed, overwrite_b=1))


def whiten_rows(L: Array, B: Array) -> Array:
    """L⁻¹ B, in place if B (t, n) is in C's order."""
    if not B.size:
        return B
    matrix, lower, trans = _upper(L)
    return np.asarray(blas.dtrsm(1.0, matrix, B.T, side=1, lower=lower, trans_a=1 - trans, overwrite_b=1).T)
