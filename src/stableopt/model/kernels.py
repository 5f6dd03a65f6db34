"""The kernels of this package, as small frozen values: squared exponential, Matérn, linear, categorical.

`algebra` has what all kernels share, and the operators that add, multiply and scale them. A kernel holds no data.

Functions of a distance take few passes over memory, and keep the digits that textbook formulas lose at tiny distances
and large ν.

Notation (see `algebra`)
    Δ_j, l_j                 x_j - z_j, and the lengthscale of column j
    r        (n, m)          scaled distance, r² = Σ_j (Δ_j / l_j)²; a stationary kernel is a function g(r)
    h        (n, m)          g'(r) / r, so that dk/dx_j = h Δ_j / l_j² and dk/dlog l_j = -h (Δ_j / l_j)²
    ν, s                     smoothness of a Matérn kernel, and the argument s = √(2ν) r of its Bessel function
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array
from stableopt.base.checks import numbers
from stableopt.model.algebra import Blocks, Factors, Kernel, Pullback, Wrt
from stableopt.model.derived import strictly_positive

_BLOCK = 1 << 16  # entries of a matrix computed together, so that temporaries stay in the cache


class Stationary(Kernel):
    """A kernel g(r) with g(0) = 1, and one lengthscale for all columns or one for each (ARD)."""

    lengthscale: float | Sequence[float]

    @abstractmethod
    def _g(self, squared: Array) -> Array:
        """g(r) from r², which may be overwritten."""

    @abstractmethod
    def _gh(self, squared: Array) -> tuple[Array, Array]:
        """g(r) and h = g'(r) / r from r², which may be overwritten; h is 0 where it is infinite."""

    def values(self, X: Array, Z: Array) -> Array:
        return _of_distance(lambda squared: (self._g(squared),), X, Z, self._scale(X.shape[1]))[0]

    @property
    def is_stationary(self) -> bool:
        return not self._own

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        if Z is None:
            return np.ones(len(X)), lambda weights, wrt: _zeros(self, X, wrt)
        scale = self._scale(X.shape[1])
        g, h = _of_distance(self._gh, X, Z, scale)
        # Matrix products of differences lose digits far from the centre: all of them at 1e8 lengthscales.
        centre = Z.sum(axis=0) / max(1, len(Z))

        def pull(weights: Array, wrt: Wrt) -> Array:
            A, B, M = (X - centre) / scale, (Z - centre) / scale, h * weights
            MB, rows = M @ B, M.sum(axis=1)
            if wrt == "inputs":
                return np.asarray((rows[:, None] * A - MB) / scale)
            by_column = 2 * (A * MB).sum(axis=0) - rows @ A**2 - M.sum(axis=0) @ B**2  # -Σ_ab M_ab (x_a - z_b)²
            return by_column if isinstance(self.lengthscale, Sequence) else np.asarray(by_column.sum(keepdims=True))

        return g, pull

    def _scale(self, p: int) -> Array:
        """One lengthscale per column, (p,)."""
        if isinstance(self.lengthscale, Sequence) and len(self.lengthscale) != p:
            raise ValueError(
                f"expected {len(self.lengthscale)} columns, one per lengthscale, got {p} columns: give one lengthscale "
                "per column or a single number for all, or choose columns with kernel.on(columns)"
            )
        return np.full(p, self.lengthscale)


@final
@dataclass(frozen=True, eq=False)
class SE(Stationary):
    """Squared exponential kernel exp(-r²/2), the paper's k_SE; a sequence of lengthscales holds one per column."""

    lengthscale: float | Sequence[float] = 1.0

    def _g(self, squared: Array) -> Array:
        squared *= -0.5
        return np.exp(squared, out=squared)

    def _gh(self, squared: Array) -> tuple[Array, Array]:
        g = self._g(squared)
        return g, -g

    def _factor(self, blocks: Blocks) -> Factors | None:
        scale = self._scale(sum(map(len, blocks)))
        if isinstance(self.lengthscale, Sequence):
            return [SE(scale[list(block)].tolist()) if block else None for block in blocks]
        return [self if block else None for block in blocks]

    def _as_matern(self) -> tuple[float, float | Sequence[float]]:
        return math.inf, self.lengthscale


@final
@dataclass(frozen=True, eq=False)
class Matern(Stationary):
    """Matérn kernel of any smoothness ν, which is not learned; 1/2, 3/2 and 5/2 are by far the fastest."""

    nu: float
    lengthscale: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", strictly_positive("nu", self.nu))
        super().__post_init__()

    def _g(self, squared: Array) -> Array:
        squared *= 2 * self.nu
        return _matern(self.nu, np.sqrt(squared, out=squared))

    def _gh(self, squared: Array) -> tuple[Array, Array]:
        squared *= 2 * self.nu
        s = np.sqrt(squared, out=squared)
        if self.nu == 2.5:
            return _matern_and_slope(s)
        g = _matern(self.nu, s.copy())
        if self.nu > 1:  # from (s^ν K_ν)' = -s^ν K_(ν-1), h = -2ν 2^(1-ν)/Γ(ν) s^(ν-1) K_(ν-1)(s), also below
            return g, _matern(self.nu - 1, s) * (-self.nu / (self.nu - 1))
        slope = -2 * self.nu * _bessel(self.nu, self.nu - 1, np.minimum(s, 1e4))
        slope[s == 0] = 0.0
        return g, slope

    def _factor(self, blocks: Blocks) -> Factors | None:
        self._scale(sum(map(len, blocks)))
        return super()._factor(blocks)

    def _as_matern(self) -> tuple[float, float | Sequence[float]]:
        return self.nu, self.lengthscale


@final
@dataclass(frozen=True, eq=False)
class Linear(Kernel):
    """xᵀ Σ z, the kernel of linear functions whose coefficients have the (p, p) covariance Σ; no hyperparameters."""

    covariance: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        matrix = numbers(self.covariance, "covariance")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"expected a square covariance, got shape {matrix.shape}: use np.diag(variances)")
        size = np.abs(matrix).max(initial=0.0)
        if not np.isfinite(size) or np.abs(matrix - matrix.T).max(initial=0.0) > 1e-12 * size:
            raise ValueError(f"expected a finite symmetric covariance, got {self.covariance}: pass (C + C.T) / 2")
        matrix = (matrix + matrix.T) / 2
        lowest = np.linalg.eigvalsh(matrix).min(initial=0.0)
        if lowest < -1e-10 * size:
            remedy = "set its negative eigenvalues to 0"
            raise ValueError(f"expected a positive semi-definite covariance, got an eigenvalue {lowest:.3g}: {remedy}")
        object.__setattr__(self, "covariance", tuple(map(tuple, matrix.tolist())))

    def values(self, X: Array, Z: Array) -> Array:
        matrix = self._matrix(X.shape[1])
        return np.asarray(X @ (matrix @ Z.T) if len(Z) < len(X) else (X @ matrix) @ Z.T)

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        matrix = self._matrix(X.shape[1])

        def pull(weights: Array, wrt: Wrt) -> Array:
            if wrt == "params":
                return _zeros(self, X, wrt)
            return np.asarray(2 * weights[:, None] * (X @ matrix) if Z is None else weights @ (Z @ matrix))

        return np.asarray(((X @ matrix) * X).sum(axis=1)) if Z is None else self.values(X, Z), pull

    def _matrix(self, p: int) -> Array:
        if len(self.covariance) != p:
            remedy = "give a covariance of that size or choose columns with kernel.on(columns)"
            expected = f"{len(self.covariance)} columns, as the covariance has"
            raise ValueError(f"expected {expected}, got {p} columns: {remedy}")
        return self._array

    @cached_property
    def _array(self) -> Array:
        return np.array(self.covariance)

    def _factor(self, blocks: Blocks) -> Factors | None:
        self._matrix(sum(map(len, blocks)))
        return super()._factor(blocks)


@final
@dataclass(frozen=True, eq=False)
class Categorical(Kernel):
    """Exchangeable categories: the product over the columns of 1 where they agree and ``correlation`` where not."""

    correlation: float = 0.5
    is_stationary = True

    def values(self, X: Array, Z: Array) -> Array:
        return self._with_pullback(X, Z)[0]

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        if Z is None:
            return np.ones(len(X)), lambda weights, wrt: _zeros(self, X, wrt)
        powers, count = self.correlation ** np.arange(X.shape[1] + 1), _mismatches(X, Z)

        def pull(weights: Array, wrt: Wrt) -> Array:
            slopes = np.arange(len(powers)) * powers * (1 - self.correlation)
            return _zeros(self, X, wrt) if wrt == "inputs" else np.array([np.vdot(weights, slopes[count])])

        return powers[count], pull

    def _factor(self, blocks: Blocks) -> Factors | None:
        return [self if block else None for block in blocks]

    def _as_categorical(self) -> float:
        return self.correlation


def _zeros(kernel: Kernel, X: Array, wrt: Wrt) -> Array:
    return np.zeros(X.shape if wrt == "inputs" else len(kernel.params))


def _of_distance(
    functions: Callable[[Array], tuple[Array, ...]], X: Array, Z: Array, scale: Array
) -> tuple[Array, ...]:
    """The (n, m) matrices of functions of r², computed in blocks of rows."""
    if len(X) == 1 < len(Z):
        return tuple(matrix.T for matrix in _of_distance(functions, Z, X, scale))
    rows = max(1, _BLOCK // max(1, len(Z)))
    if len(X) <= rows:
        return functions(_squared_distances(X, Z, scale))
    out: tuple[Array, ...] = ()
    for start in range(0, len(X), rows):
        parts = functions(_squared_distances(X[start : start + rows], Z, scale))
        out = out or tuple(np.empty((len(X), len(Z))) for _ in parts)
        for whole, part in zip(out, parts, strict=True):
            whole[start : start + rows] = part
    return out


def _mismatches(X: Array, Z: Array) -> NDArray[np.intp]:
    """In how many columns each pair of points differs, (n, m)."""
    count = np.zeros((len(X), len(Z)), dtype=np.intp)
    for x, z in zip(X.T, Z.T, strict=True):
        count += x[:, None] != z
    return count


def _squared_distances(X: Array, Z: Array, scale: Array) -> Array:
    """r² pair by pair, since x² - 2xz + z² would lose the digits of small distances."""
    if len(Z) != 1:
        from scipy.spatial.distance import cdist

        return cdist(X / scale, Z / scale, "sqeuclidean")
    total, squares = np.zeros(len(X)), np.empty(len(X))
    for x, z, factor in zip(X.T, Z[0], 1 / scale, strict=True):  # a fifth of the time of cdist for one z
        np.subtract(x, z, out=squares)
        squares *= factor
        squares *= squares
        total += squares
    return total[:, None]


def _matern(nu: float, s: Array) -> Array:
    """The Matérn function m_ν(s) = 2^(1-ν)/Γ(ν) s^ν K_ν(s), with m_ν(0) = 1; may overwrite s.

    It is k_Mat of the paper, section 2, where the transcription lacks the power ν on s and writes J_ν for K_ν.
    """
    if nu > 20:
        return _mixture(nu, s)
    np.minimum(s, 1e4, out=s)  # m_ν is 0 in floating point there, and 0 · inf further on
    if nu == 0.5:
        return np.exp(-s)
    if nu == 1.5:
        return (1 + s) * np.exp(-s)
    if nu == 2.5:
        return _matern_and_slope(s)[0]
    values = _bessel(nu, nu, s)
    values[s == 0] = 1.0
    return values


def _matern_and_slope(s: Array) -> tuple[Array, Array]:
    """g and h of ν = 5/2, which share their exponential, in few passes over memory; overwrites s."""
    np.minimum(s, 1e4, out=s)
    e = np.negative(s)
    np.exp(e, out=e)
    h = s + 1
    h *= e
    s *= s
    s *= e
    s *= 1 / 3
    s += h
    h *= -5 / 3
    return s, h


def _bessel(nu: float, order: float, s: Array) -> Array:
    """2^(1-ν)/Γ(ν) s^μ K_μ(s) of the order μ, where s = 0 stands for a positive number that does not overflow."""
    from scipy.special import kve

    s = np.maximum(s, 1e-150 ** (1 / max(1.0, nu)))
    return np.asarray(kve(order, s) * s**order * np.exp(-s) * (2 ** (1 - nu) / math.gamma(nu)), dtype=float)


def _mixture(nu: float, s: Array) -> Array:
    """m_ν(s) = E exp(-s²/4τ) for τ ~ Gamma(ν), by the trapezoidal rule in √ν log(τ/ν); overwrites s.

    K_ν(s) overflows for large ν; this mixture of SE kernels cannot, and for ν > 20 its error is below 1e-15.
    """
    x = np.linspace(-13.0, 9.0, 45) / math.sqrt(nu)
    weights = np.exp(nu * (x - np.expm1(x)))
    s *= 0.5 / math.sqrt(nu)
    s *= s
    total = np.zeros_like(s)
    for weight, rate in zip(weights / weights.sum(), np.exp(-x), strict=True):
        total += weight * np.exp(-rate * s)
    return total
