"""A stationary kernel on a grid: the values k(x_i, ·) of every point are windows of one table, so V is not stored.

k(x, z) depends on how many steps x and z are apart along each axis, whatever the sign. A table of all offsets has about
2n values for n candidates in 2-D, and a new row of V is a weighted sum of t windows of it, added up in blocks that stay
in the cache. With a = L⁻ᵀ L⁻¹ k_t(x) the row is v = (k(x, ·) − Σ_i a_i k(x_i, ·)) / s, as in `factors.ProductFactor`,
and it has the same digits: with very little noise the stored rows are used instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from stableopt.base.arrays import Array, Indices, cartesian, frozen
from stableopt.model.factors import Covariance, chunks, extended, whiten_rows, whitened

SMALLEST = 2**21  # candidates: with fewer, stored rows fit into memory and are read faster than windows are added
_BLOCK, _TOGETHER = 2**14, 8  # candidates whose sums are built together, from so many windows at a time
_LARGEST_TABLE = 8  # times as many numbers as there are candidates


class WindowFactor(NamedTuple):
    """The factorisation of observations on a grid, for a kernel that is no product."""

    table: Array
    """k at the offsets 0, 1, ... along the first axis and …, −1, 0, 1, ... along all others (n_1, 2n_2 − 1, ...)."""
    shape: tuple[int, ...]
    """How many candidates there are along each axis."""
    steps: Indices
    """Where the observations are on the grid (t, p)."""
    L: Array

    @classmethod
    def of(cls, kernel: Covariance, blocks: Sequence[Array]) -> WindowFactor | None:
        """The empty factor, or None where the kernel or the blocks are of another kind."""
        shape = tuple(len(block) for block in blocks)
        too_large = 2 ** (len(shape) - 1) > _LARGEST_TABLE
        if too_large or not kernel.is_stationary or not all(map(_is_even, blocks)):
            return None
        start = np.hstack([block[:1] for block in blocks])
        quadrant = kernel(cartesian(blocks), start).reshape(shape)
        for axis, n in enumerate(shape[1:], start=1):
            quadrant = np.take(quadrant, np.abs(np.arange(1 - n, n)), axis=axis)
        return cls(frozen(quadrant), shape, np.empty((0, len(shape)), dtype=np.intp), np.empty((0, 0)))

    def row(self, index: int) -> Array:
        offsets = np.abs(self._steps([index]) - self.steps)
        offsets[:, 1:] += np.array(self.shape[1:], dtype=np.intp) - 1
        return whitened(self.L, self.table[tuple(offsets.T)])

    def extended(self, index: int, row: Array, s: float) -> tuple[WindowFactor, Array]:
        weights = np.full(len(row) + 1, 1 / s)
        if len(row):
            weights[:-1] = whitened(self.L, row, transposed=True) / -s
        after = self._replace(steps=np.vstack([self.steps, self._steps([index])]), L=extended(self.L, row, s))
        return after, after._sum(weights)

    def started(self, observed: Sequence[int], L: Array, whitened_y: Array) -> tuple[WindowFactor, Array, Array]:
        after = self._replace(steps=self._steps(observed), L=L)
        inner, squares, windows = math.prod(self.shape[1:]), np.empty(self.shape), after._windows
        for part in chunks(self.shape[0], len(observed) * inner, least=1):
            K = np.empty((len(observed), part.stop - part.start, *self.shape[1:]))
            for values, (first, window) in zip(K, windows, strict=True):
                _copy(window, first, part.start, values)
            V = whiten_rows(L, K.reshape(len(K), -1))
            squares[part] = np.einsum("ij,ij->j", V, V).reshape(-1, *self.shape[1:])
        return after, after._sum(whitened(L, whitened_y, transposed=True)), squares.ravel()

    def _steps(self, indices: Sequence[int]) -> Indices:
        return np.column_stack(np.unravel_index(np.asarray(indices, dtype=np.intp), self.shape))

    def _sum(self, weights: Array) -> Array:
        """Σ_i weights_i k(x_i, ·) over the observations (n,)."""
        total, windows = np.zeros(self.shape), self._windows
        height = max(1, _BLOCK // math.prod(self.shape[1:]))
        buffer = np.empty((_TOGETHER, min(height, self.shape[0]), *self.shape[1:]))
        for start in range(0, self.shape[0], height):
            block = total[start : start + height]
            for i in range(0, len(weights), _TOGETHER):
                some = buffer[: len(weights) - i, : len(block)]
                for values, (first, window) in zip(some, windows[i : i + _TOGETHER], strict=True):
                    _copy(window, first, start, values)
                matrix = some.reshape(len(some), -1).T
                blas.dgemv(1.0, matrix, weights[i : i + _TOGETHER], 1.0, block.reshape(-1), overwrite_y=1)
        return total.ravel()

    @property
    def _windows(self) -> list[tuple[int, Array]]:
        """For every observation its place on the first axis, and the table where offsets along the others are right."""
        return [
            (first, self.table[(slice(None), *map(_window, others, self.shape[1:]))])
            for first, *others in self.steps.tolist()
        ]


def _window(i: int, n: int) -> slice:
    """Offsets of n candidates from the one with number i."""
    return slice(n - 1 - i, 2 * n - 1 - i)


def _copy(window: Array, first: int, start: int, values: Array) -> None:
    """The kernel values of an observation at ``first`` with the candidates from ``start`` on the first axis."""
    stop = start + len(values)
    turn = min(max(first, start), stop)  # before it, offsets get smaller
    if start < turn:
        values[: turn - start] = window[first - start : first - turn : -1]
    if turn < stop:
        values[turn - start :] = window[turn - first : stop - first]


def _is_even(block: Array) -> bool:
    """Whether a block is one axis in equal steps, up to rounding, which leaves them enough digits."""
    axis = block[:, 0]
    even, rounding = np.linspace(axis[0], axis[-1], len(axis)), 4 * np.spacing(np.abs(axis).max())
    return block.shape[1] == 1 and bool(
        np.abs(axis - even).max() <= rounding and (len(axis) == 1 or rounding <= 1e-12 * (axis[-1] - axis[0]))
    )
