"""Gaussian process prior and posteriors: one for any points, one that is tracked on fixed candidates.

Both are immutable: an update returns another posterior. The tracked one is what an optimiser on a finite domain
uses, since a new observation changes mean and variance on all n candidates in O(t·n).

Notation (the paper's Section 2)
    x_1..x_t, y_1..y_t   observed points and noisy values
    K, k_t(x)            kernel matrix of the observed points (t, t); their kernel values with x (t,)
    σ                    standard deviation of the noise (`noise`): not its variance
    L                    Cholesky factor: K + σ²I = L Lᵀ
    V                    L⁻¹ [k_t(z_1) … k_t(z_n)], one row per observation, one column per candidate (t, n)
    mean, variance       μ_t = m + Vᵀ L⁻¹(y − m) and σ_t² = k(z, z) − Σ_i V_i², both (n,)
    s                    predictive standard deviation of an observation: s² = σ_{t−1}²(x_t) + σ²

Adding an observation at candidate j appends the row v = (k(x_j, ·) − V[:, j]ᵀ V) / s to V, which is the Cholesky
recursion, so nothing is ever factorised again: μ += v (y − μ_j)/s, σ² −= v², information gain += log(s/σ).
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas, cholesky, solve_triangular

from stableopt._arrays import Array, ReadOnly, cartesian, frozen, is_number, numbers, vector
from stableopt._value import Value
from stableopt.kernels import Kernel, Linear

# A noise below this fraction of the prior's standard deviation is raised to it: repeated points stay harmless.
NOISE_FLOOR = 1e-6
# With less noise than this fraction, the product form would lose too many digits (see `_ProductFactor`).
_PRODUCT_NOISE = 1e-4


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
        if not (is_number(self.noise) and 0 < self.noise < 1e150):
            raise ValueError(f"expected a noise standard deviation above 0, got {self.noise!r}; use a tiny one if none")
        object.__setattr__(self, "noise", float(self.noise))
        if isinstance(self.mean, LinearMean):
            return
        if not is_number(self.mean):
            raise ValueError(f"expected a finite prior mean, got {self.mean!r}")
        object.__setattr__(self, "mean", float(self.mean))

    @classmethod
    def linear(cls, mean: ArrayLike, covariance: ArrayLike, noise: float) -> GP:
        """The prior of f(x) = xᵀu with u ~ N(mean, covariance), as in the paper's movie experiment."""
        kernel = Linear(numbers(covariance, "covariance").tolist())
        weights = vector(mean, len(kernel.covariance), "mean vector")
        return cls(kernel, noise, LinearMean(weights.tolist()))

    def prior_mean(self, X: Array) -> Array:
        """The mean m at the rows of X."""
        return self.mean(X) if isinstance(self.mean, LinearMean) else np.full(len(X), float(self.mean))

    def noise_variance(self, prior_variance: Array) -> Array:
        """σ² of observations at points with this prior variance, after the floor."""
        return np.maximum(max(self.noise**2, sys.float_info.min), NOISE_FLOOR**2 * prior_variance)

    def condition(self, X: ArrayLike, y: ArrayLike) -> Posterior:
        """The posterior after the values y at the rows of X, by one factorisation."""
        points, values = np.atleast_2d(np.array(X, dtype=float)), np.atleast_1d(np.array(y, dtype=float))
        if points.ndim != 2 or values.shape != (len(points),):
            raise ValueError(f"expected X (t, p) and y (t,), got {points.shape} and {values.shape}")
        if not (np.all(np.isfinite(points)) and np.all(np.isfinite(values))):
            raise ValueError("expected finite points and values, got NaN or infinity: leave failed evaluations out")
        noise = self.noise_variance(self.kernel.diag(points))
        factor = cholesky(self.kernel(points, points) + np.diag(noise), lower=True)
        whitened = solve_triangular(factor, values - self.prior_mean(points), lower=True)
        return Posterior(self, frozen(points), frozen(values), frozen(factor), frozen(whitened))

    def track(self, blocks: Sequence[Array]) -> TrackedPosterior:
        """The prior on candidates, ready to be updated: every combination of rows of the blocks, the last fastest.

        One block is a list of points; one block per axis is a grid; a further block holds unknown parameters.
        """
        blocks = [frozen(block.copy()) if block.flags.writeable else block for block in blocks]
        points = frozen(cartesian(blocks))
        prior_variance = self.kernel.diag(points)
        factor = _ProductFactor.of(self, blocks, prior_variance) or _RowFactor.of(self, points)
        prior = frozen(prior_variance)
        return TrackedPosterior(self, points, prior, frozen(self.prior_mean(points)), prior, factor)


@dataclass(frozen=True, eq=False)
class Posterior(ReadOnly):
    """Posterior of a GP given t observations, evaluated wherever it is asked."""

    gp: GP
    X: Array
    y: Array
    factor: Array
    """L, lower triangular (t, t)."""
    whitened: Array
    """L⁻¹(y − m), (t,)."""

    def __call__(self, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and variance of f at the rows of X."""
        points = np.atleast_2d(np.asarray(X, dtype=float))
        V = solve_triangular(self.factor, self.gp.kernel(self.X, points), lower=True)
        variance = self.gp.kernel.diag(points) - np.einsum("ij,ij->j", V, V)
        return self.gp.prior_mean(points) + self.whitened @ V, np.maximum(variance, 0.0)

    def update(self, x: ArrayLike, y: float) -> Posterior:
        """The posterior with one more observation: a rank-one extension of L, no new factorisation."""
        point = vector(x, self.X.shape[1], "point")[None]
        _check_value(y)
        row = solve_triangular(self.factor, self.gp.kernel(self.X, point)[:, 0], lower=True)
        prior_variance = self.gp.kernel.diag(point)
        s = math.sqrt(max(prior_variance[0] - row @ row, 0.0) + self.gp.noise_variance(prior_variance)[0])
        z = (y - self.gp.prior_mean(point)[0] - row @ self.whitened) / s
        return Posterior(
            self.gp,
            frozen(np.vstack([self.X, point])),
            frozen(np.append(self.y, y)),
            frozen(_extended(self.factor, row, s)),
            frozen(np.append(self.whitened, z)),
        )

    @cached_property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observed points, free from the factor."""
        noise = self.gp.noise_variance(self.gp.kernel.diag(self.X))
        return float(np.sum(np.log(np.diag(self.factor))) - 0.5 * np.sum(np.log(noise)))


@dataclass(frozen=True, eq=False)
class TrackedPosterior(ReadOnly):
    """Posterior mean and variance on n fixed candidates, kept up to date at O(t·n) per observation."""

    gp: GP
    points: Array
    """The candidates (n, p)."""
    prior_variance: Array
    mean: Array
    variance: Array
    _factor: _Factor
    information_gain: float = 0.0
    """½ log det(I + σ⁻²K) of the observations so far."""
    observed: tuple[int, ...] = ()
    """Which candidates were observed, in order."""

    def update(self, index: int, y: float) -> TrackedPosterior:
        """The posterior with one more observation, at the candidate with this index."""
        _check_value(y)
        row = self._factor.row(index)
        prior = self.prior_variance[index]
        noise = float(self.gp.noise_variance(prior))
        s = math.sqrt(max(float(prior - row @ row), 0.0) + noise)
        factor, v = self._factor.extended(index, row, s)
        mean = v * ((y - self.mean[index]) / s)
        mean += self.mean
        variance = v * v
        np.subtract(self.variance, variance, out=variance)
        np.maximum(variance, 0.0, out=variance)
        gain = self.information_gain + math.log(s) - 0.5 * math.log(noise)
        observed = (*self.observed, index)
        known = self.gp, self.points, self.prior_variance
        return TrackedPosterior(*known, frozen(mean), frozen(variance), factor, gain, observed)

    @cached_property
    def std(self) -> Array:
        """Posterior standard deviation σ_t (n,)."""
        return frozen(np.sqrt(self.variance))

    def bounds(self, beta: float) -> tuple[Array, Array]:
        """lcb and ucb: mean ∓ beta^{1/2}·std (n,) each."""
        width = math.sqrt(beta) * self.std
        lcb = self.mean - width
        width += self.mean
        return frozen(lcb), frozen(width)


class _Factor(Protocol):
    """What a tracked posterior needs from the factorisation of its observations."""

    def row(self, index: int) -> Array:
        """L⁻¹ k_t(x) for the candidate x: the next row of L, but for its diagonal (t,)."""

    def extended(self, index: int, row: Array, s: float) -> tuple[_Factor, Array]:
        """The factor with this candidate observed, and the new row v of V (n,)."""


class _Rows:
    """V as blocks of rows that posteriors share: appending copies nothing, branching copies one block at most.

    A block is written once per row. A posterior that extends an older state than the block has seen (a throw-away
    one with pending points, or its sibling) gets its own copy of the block's first rows.
    """

    def __init__(
        self, n: int, height: int, blocks: tuple[Array, ...] = (), t: int = 0, written: list[int] | None = None
    ) -> None:
        self.n, self.height = n, height
        self._blocks, self._t = blocks, t
        self._written = [] if written is None else written  # rows written in the last block; shared with siblings

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs: the rows so far, but not the room after them."""
        return self.__dict__ | {"_blocks": tuple(block.copy() for block in self), "_written": [self._t % self.height]}

    def __iter__(self) -> Iterator[Array]:
        return iter([block[: self._t - i * self.height] for i, block in enumerate(self._blocks)])

    def column(self, index: int) -> Array:
        """One column of V (t,)."""
        return np.concatenate([np.empty(0), *(block[:, index] for block in self)])

    def appended(self) -> tuple[_Rows, Array]:
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
        return _Rows(self.n, self.height, blocks, self._t + 1, written), blocks[-1][used]


@dataclass(frozen=True, eq=False)
class _RowFactor:
    """Any kernel: V is stored, and a new row reads it once."""

    kernel: Kernel
    points: Array
    rows: _Rows

    @classmethod
    def of(cls, gp: GP, points: Array) -> _RowFactor:
        """The empty factor."""
        return cls(gp.kernel, points, _Rows(len(points), _height(len(points))))

    def row(self, index: int) -> Array:
        return self.rows.column(index)

    def extended(self, index: int, row: Array, s: float) -> tuple[_RowFactor, Array]:
        prior = self.kernel(self.points, self.points[index : index + 1])[:, 0]
        rows, v = self.rows.appended()
        np.divide(prior, s, out=v)
        start = 0
        for block in self.rows:
            part = row[start : start + len(block)]
            blas.dgemv(-1.0 / s, block.T, part, 1.0, v, overwrite_y=1)
            start += len(block)
        return _RowFactor(self.kernel, self.points, rows), v


@dataclass(frozen=True, eq=False)
class _ProductFactor:
    """A kernel that is a product over the blocks: a new row of V is one small matrix product and V is not stored.

    The blocks are split in two halves with n = n_left · n_right, and k(x_i, ·) = left_i ⊗ right_i. With
    a = L⁻ᵀ L⁻¹ k_t(x), the row is v = (k(x, ·) − Σ_i a_i k(x_i, ·)) / s = leftᵀ diag(−a, 1) right / s.
    Since ‖a‖ may reach 1/σ, the row is off by about 1e-16/σ² in units of the prior: with σ² below 1e-8 of the
    prior variance the stored rows are used instead.
    """

    kernels: tuple[Kernel | None, ...]
    blocks: tuple[Array, ...]
    split: int
    left: _Rows
    right: _Rows
    L: Array

    @classmethod
    def of(cls, gp: GP, blocks: Sequence[Array], prior_variance: Array) -> _ProductFactor | None:
        """The empty factor, or None where the kernel is no product, the noise is tiny or there is one block."""
        starts = np.cumsum([0, *(block.shape[1] for block in blocks)])
        kernels = gp.kernel.factor([range(a, b) for a, b in itertools.pairwise(starts)])
        sizes = [len(block) for block in blocks]
        halves = [(math.prod(sizes[:i]), math.prod(sizes[i:])) for i in range(1, len(sizes))]
        if kernels is None or not halves or gp.noise < _PRODUCT_NOISE * math.sqrt(prior_variance.max()):
            return None
        left, right = min(halves, key=sum)
        if min(left, right) == 1:
            return None
        split, height = halves.index((left, right)) + 1, _height(max(left, right))
        return cls(tuple(kernels), tuple(blocks), split, _Rows(left, height), _Rows(right, height), np.empty((0, 0)))

    def row(self, index: int) -> Array:
        if not len(self.L):
            return np.empty(0)
        i, j = divmod(index, self.right.n)
        row: Array = blas.dtrsv(self.L.T, self.left.column(i) * self.right.column(j), lower=0, trans=1, overwrite_x=1)
        return row

    def extended(self, index: int, row: Array, s: float) -> tuple[_ProductFactor, Array]:
        coordinates = np.unravel_index(index, [len(block) for block in self.blocks])
        left, new_left = self.left.appended()
        right, new_right = self.right.appended()
        self._fill(new_left, coordinates, 0, self.split)
        self._fill(new_right, coordinates, self.split, len(self.blocks))
        weights = np.full((len(row) + 1, 1), 1 / s)
        if len(row):
            weights[:-1, 0] = blas.dtrsv(self.L.T, row, lower=0, trans=0) / -s
        v = _weighted_product(left, right, weights)
        return _ProductFactor(self.kernels, self.blocks, self.split, left, right, _extended(self.L, row, s)), v

    def _fill(self, row: Array, coordinates: tuple[np.intp, ...], start: int, stop: int) -> None:
        """Kernel values of an observed point with every combination of rows of the blocks start..stop."""
        values = np.ones(1)
        for kernel, block, i in zip(
            self.kernels[start:stop], self.blocks[start:stop], coordinates[start:stop], strict=True
        ):
            factor = np.ones(len(block)) if kernel is None else kernel(block, block[i : i + 1])[:, 0]
            values = np.multiply.outer(values, factor).ravel()
        row[:] = values


def _height(n: int) -> int:
    """Rows that are kept in one block: many, but few where a row is long, since a branch copies a block."""
    return min(max(2**21 // n, 32), 256)


def _check_value(y: float) -> None:
    if not math.isfinite(y):
        raise ValueError(f"expected a finite value y, got {y}: leave failed evaluations out")


def _weighted_product(left: _Rows, right: _Rows, weights: Array) -> Array:
    """Σ_i weights_i · left_i ⊗ right_i as one vector."""
    parts = (weights[i : i + left.height] for i in range(0, len(weights), left.height))
    products = (
        (a * part).T @ b if left.n < right.n else a.T @ (b * part)
        for a, b, part in zip(left, right, parts, strict=True)
    )
    total: Array = next(products)
    for product in products:
        total += product
    return total.ravel()


def _extended(factor: Array, row: Array, s: float) -> Array:
    """A Cholesky factor with one more row."""
    t = len(row)
    larger = np.zeros((t + 1, t + 1))
    larger[:t, :t] = factor
    larger[t, :t] = row
    larger[t, t] = s
    return larger
