"""Covariance functions as an algebra of small frozen values: add them, multiply them, scale them, put them on columns.

A kernel gives matrices and vector-Jacobian products, all that a posterior, a fit or a search needs; it holds no data.

Notation
    X, Z     (n, p), (m, p)  points, one a row; x_a and z_b are rows, x_j and z_j columns
    k(X, Z)  (n, m)          the matrix of k(x_a, z_b); Z = None stands for the diagonal, the (n,) values k(x_a, x_a)
    Δ_j, l_j                 x_j - z_j, and the lengthscale of column j
    r        (n, m)          scaled distance, r² = Σ_j (Δ_j / l_j)²; a stationary kernel is a function g(r)
    h        (n, m)          g'(r) / r, so that dk/dx_j = h Δ_j / l_j² and dk/dlog l_j = -h (Δ_j / l_j)²
    W        (n, m) or (n,)  weights of a pullback: the derivative of some scalar by the entries of k(X, Z)
    ν, s                     smoothness of a Matérn kernel, and the argument s = √(2ν) r of its Bessel function
    params   (q,)            unconstrained hyperparameters in the order of the fields: logs of positive numbers,
                             logits of correlations
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from stableopt._arrays import Array, is_number, numbers
from stableopt._value import Value

Wrt: TypeAlias = Literal["params", "inputs"]
Blocks: TypeAlias = Sequence[tuple[int, ...]]
Factors: TypeAlias = "list[Kernel | None]"
Pull: TypeAlias = Callable[[Array, Wrt], Array]

_BLOCK = 1 << 16  # entries of a matrix computed together, so that temporaries stay in the cache
_PREFIX = {"lengthscale": "log_", "variance": "log_", "correlation": "logit_"}  # fields that are hyperparameters


class Kernel(Value, ABC):
    """A positive semi-definite function k(x, z) of two points."""

    __array_ufunc__ = None  # np.float64(2.0) * kernel shall reach __rmul__

    @abstractmethod
    def _values(self, X: Array, Z: Array | None) -> Array:
        """A fresh k(X, Z), which the caller may overwrite."""

    @abstractmethod
    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        """`_values`, and what sums their derivatives with weights: by the hyperparameters (q,) or by X (n, p)."""

    @abstractmethod
    def _factor(self, blocks: Blocks) -> Factors | None: ...

    def __call__(self, X: Array, Z: Array) -> Array:
        """The (n, m) matrix of k(x_a, z_b)."""
        _check(X, Z)
        return self._values(X, Z)

    def diag(self, X: Array) -> Array:
        """The (n,) values k(x_a, x_a)."""
        _check(X, X)
        return self._values(X, None)

    def with_pullback(self, X: Array, Z: Array) -> tuple[Array, Pull]:
        """The matrix, and a function of weights and "params" or "inputs" that gives its pullbacks, sharing its work."""
        _check(X, Z)
        return self._vjp(X, Z)

    def pullback_params(self, X: Array, Z: Array, weights: Array) -> Array:
        """Σ_ab W_ab dk(x_a, z_b)/dparams, (q,)."""
        _check(X, Z, weights, (len(X), len(Z)))
        return self._vjp(X, Z)[1](weights, "params")

    def pullback_inputs(self, X: Array, Z: Array, weights: Array) -> Array:
        """Row a is Σ_b W_ab dk(x_a, z_b)/dx_a, (n, p)."""
        _check(X, Z, weights, (len(X), len(Z)))
        return self._vjp(X, Z)[1](weights, "inputs")

    def diag_pullback_params(self, X: Array, weights: Array) -> Array:
        """Σ_a W_a dk(x_a, x_a)/dparams, (q,)."""
        _check(X, X, weights, (len(X),))
        return self._vjp(X, None)[1](weights, "params")

    def diag_pullback_inputs(self, X: Array, weights: Array) -> Array:
        """Row a is W_a times the derivative of x -> k(x, x) at x_a, (n, p)."""
        _check(X, X, weights, (len(X),))
        return self._vjp(X, None)[1](weights, "inputs")

    @property
    def params(self) -> Array:
        """Unconstrained hyperparameters, (q,)."""
        return np.concatenate([np.zeros(0), *(_unconstrained(name, value) for name, value in self._free())])

    @property
    def param_names(self) -> tuple[str, ...]:
        """The path to each hyperparameter, such as ``left.kernel.log_lengthscale[0]``."""
        return tuple(path for name, value in self._free() for path in _paths(name, value))

    def with_params(self, vector: Array) -> Self:
        """The same kind of kernel with these hyperparameters."""
        vector = np.asarray(vector, dtype=float)
        if vector.shape != (self._count,):
            raise ValueError(
                f"expected {self._count} hyperparameters {self.param_names}, got an array of shape {vector.shape}: "
                "pass one number per name, as in `params`"
            )
        changes, end = {}, 0
        for name, value in self._free():
            start, end = end, end + _count(value)
            changes[name] = _constrained(name, value, vector[start:end])
        return replace(self, **changes)  # type: ignore[type-var]

    @cached_property
    def _count(self) -> int:
        """How many hyperparameters there are."""
        return sum(_count(value) for _, value in self._free())

    def factor(self, blocks: Sequence[Sequence[int]]) -> Factors | None:
        """One kernel per block of columns whose product is this kernel, or None if it is no such product.

        Each acts on the local columns of its block (column i is ``block[i]``); a None in the list is the constant 1.
        """
        partition = [tuple(block) for block in blocks]
        columns = sorted(column for block in partition for column in block)
        if not columns or columns != list(range(len(columns))):
            raise ValueError(f"expected blocks that hold every column 0, 1, ... exactly once, got {partition}")
        return self._factor(partition)

    def on(self, columns: Sequence[int]) -> OnColumns:
        """This kernel as a function of some columns only."""
        return OnColumns(self, columns)

    def __add__(self, other: Kernel) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    def __rmul__(self, variance: float) -> Scaled:
        return Scaled(self, variance)

    def _free(self) -> Iterator[tuple[str, Any]]:
        """The fields that are, or contain, hyperparameters."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name in _PREFIX or isinstance(value, Kernel):
                yield field.name, value

    def _zeros(self, X: Array, wrt: Wrt) -> Array:
        return np.zeros(X.shape if wrt == "inputs" else self._count)


class Stationary(Kernel):
    """A kernel g(r) with g(0) = 1, and one lengthscale for all columns or one for each (ARD)."""

    lengthscale: float | Sequence[float]

    @abstractmethod
    def _g(self, squared: Array) -> Array:
        """g(r) from r², which may be overwritten."""

    @abstractmethod
    def _gh(self, squared: Array) -> tuple[Array, Array]:
        """g(r) and h = g'(r) / r from r², which may be overwritten; h is 0 where it is infinite."""

    def _values(self, X: Array, Z: Array | None) -> Array:
        if Z is None:
            return np.ones(len(X))
        return _of_distance(lambda squared: (self._g(squared),), X, Z, self._scale(X.shape[1]))[0]

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        scale = self._scale(X.shape[1])
        if Z is None:
            return np.ones(len(X)), lambda weights, wrt: self._zeros(X, wrt)
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))

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


@final
@dataclass(frozen=True, eq=False)
class Matern(Stationary):
    """Matérn kernel of any smoothness ν, which is not a hyperparameter; 1/2, 3/2 and 5/2 are by far the fastest."""

    nu: float
    lengthscale: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", _positive("nu", self.nu))
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))

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
        return _in_one_block(self, blocks)


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
            raise ValueError(
                f"expected a positive semi-definite covariance, got an eigenvalue {lowest:.3g}: "
                "set its negative eigenvalues to 0"
            )
        object.__setattr__(self, "covariance", tuple(map(tuple, matrix.tolist())))

    def _values(self, X: Array, Z: Array | None) -> Array:
        matrix = self._matrix(X.shape[1])
        if Z is None:
            return np.asarray(((X @ matrix) * X).sum(axis=1))
        return np.asarray(X @ (matrix @ Z.T) if len(Z) < len(X) else (X @ matrix) @ Z.T)

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        matrix = self._matrix(X.shape[1])

        def pull(weights: Array, wrt: Wrt) -> Array:
            if wrt == "params":
                return self._zeros(X, wrt)
            return np.asarray(2 * weights[:, None] * (X @ matrix) if Z is None else weights @ (Z @ matrix))

        return self._values(X, Z), pull

    def _matrix(self, p: int) -> Array:
        if len(self.covariance) != p:
            raise ValueError(
                f"expected {len(self.covariance)} columns, as the covariance has, got {p} columns: "
                "give a covariance of that size or choose columns with kernel.on(columns)"
            )
        return self._array

    @cached_property
    def _array(self) -> Array:
        return np.array(self.covariance)

    def _factor(self, blocks: Blocks) -> Factors | None:
        self._matrix(sum(map(len, blocks)))
        return _in_one_block(self, blocks)


@final
@dataclass(frozen=True, eq=False)
class Categorical(Kernel):
    """Exchangeable categories: the product over the columns of 1 where they agree and ``correlation`` where not."""

    correlation: float = 0.5

    def __post_init__(self) -> None:
        if not (is_number(self.correlation) and 0 < self.correlation < 1):
            raise ValueError(f"expected a correlation strictly between 0 and 1, got {self.correlation!r}: try 0.5")
        object.__setattr__(self, "correlation", float(self.correlation))

    def _values(self, X: Array, Z: Array | None) -> Array:
        return np.ones(len(X)) if Z is None else self._powers(X.shape[1])[_mismatches(X, Z)]

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        if Z is None:
            return np.ones(len(X)), lambda weights, wrt: self._zeros(X, wrt)
        powers, count = self._powers(X.shape[1]), _mismatches(X, Z)

        def pull(weights: Array, wrt: Wrt) -> Array:
            slopes = np.arange(len(powers)) * powers * (1 - self.correlation)
            return self._zeros(X, wrt) if wrt == "inputs" else np.array([np.vdot(weights, slopes[count])])

        return powers[count], pull

    def _powers(self, p: int) -> Array:
        return np.asarray(self.correlation ** np.arange(p + 1), dtype=float)

    def _factor(self, blocks: Blocks) -> Factors | None:
        return [self if block else None for block in blocks]


@final
@dataclass(frozen=True, eq=False)
class Scaled(Kernel):
    """A kernel times a variance; written ``2.0 * kernel``."""

    kernel: Kernel
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", _positive("variance", self.variance))

    def _values(self, X: Array, Z: Array | None) -> Array:
        values = self.kernel._values(X, Z)
        values *= self.variance
        return values

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        values, inner = self.kernel._vjp(X, Z)

        def pull(weights: Array, wrt: Wrt) -> Array:
            slopes = inner(weights, wrt)
            return self.variance * (slopes if wrt == "inputs" else np.append(slopes, np.vdot(weights, values)))

        return self.variance * values, pull

    def _factor(self, blocks: Blocks) -> Factors | None:
        factors = self.kernel.factor(blocks)
        if factors is not None:
            first = next(i for i, factor in enumerate(factors) if factor)
            factors[first] = Scaled(factors[first], self.variance)  # type: ignore[arg-type]
        return factors


@final
@dataclass(frozen=True, eq=False)
class Sum(Kernel):
    """The kernel of a sum of two independent functions; written ``left + right``."""

    left: Kernel
    right: Kernel

    def _values(self, X: Array, Z: Array | None) -> Array:
        values = self.left._values(X, Z)
        values += self.right._values(X, Z)
        return values

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        (f, by_left), (g, by_right) = self.left._vjp(X, Z), self.right._vjp(X, Z)
        f += g
        return f, lambda weights, wrt: _join(wrt, by_left(weights, wrt), by_right(weights, wrt))

    def _factor(self, blocks: Blocks) -> Factors | None:
        left, right = self.left.factor(blocks), self.right.factor(blocks)
        if left is None or right is None or sum(bool(f or g) for f, g in zip(left, right, strict=True)) != 1:
            return None
        return [Sum(f, g) if f and g else None for f, g in zip(left, right, strict=True)]


@final
@dataclass(frozen=True, eq=False)
class Product(Kernel):
    """The entrywise product of two kernels; written ``left * right``."""

    left: Kernel
    right: Kernel

    def _values(self, X: Array, Z: Array | None) -> Array:
        values = self.left._values(X, Z)
        values *= self.right._values(X, Z)
        return values

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        (f, by_left), (g, by_right) = self.left._vjp(X, Z), self.right._vjp(X, Z)
        return f * g, lambda weights, wrt: _join(wrt, by_left(weights * g, wrt), by_right(weights * f, wrt))

    def _factor(self, blocks: Blocks) -> Factors | None:
        left, right = self.left.factor(blocks), self.right.factor(blocks)
        if left is None or right is None:
            return None
        return [Product(f, g) if f and g else f or g for f, g in zip(left, right, strict=True)]


@final
@dataclass(frozen=True, eq=False)
class OnColumns(Kernel):
    """A kernel of some columns, in the given order; written ``kernel.on(columns)``."""

    kernel: Kernel
    columns: Sequence[int]

    def __post_init__(self) -> None:
        if np.ndim(self.columns) != 1:
            raise ValueError(f"expected a list of columns, such as [0], got {self.columns!r}")
        columns = tuple(int(column) for column in self.columns)
        if not columns or min(columns) < 0 or len(set(columns)) < len(columns):
            raise ValueError(f"expected at least one column, distinct and counted from 0, got {self.columns}")
        object.__setattr__(self, "columns", columns)

    def _values(self, X: Array, Z: Array | None) -> Array:
        return self.kernel._values(self._select(X), None if Z is None else self._select(Z))

    def _vjp(self, X: Array, Z: Array | None) -> tuple[Array, Pull]:
        values, inner = self.kernel._vjp(self._select(X), None if Z is None else self._select(Z))

        def pull(weights: Array, wrt: Wrt) -> Array:
            if wrt == "params":
                return inner(weights, wrt)
            out = np.zeros(X.shape)
            out[:, self.columns] = inner(weights, wrt)
            return out

        return values, pull

    def _select(self, X: Array) -> Array:
        self._check_range(X.shape[1])
        first, last = self.columns[0], self.columns[-1]
        consecutive = self.columns == tuple(range(first, last + 1))  # then a view, and no copy of 10^6 points
        return X[:, first : last + 1] if consecutive else X[:, self.columns]

    def _check_range(self, p: int) -> None:
        if max(self.columns) >= p:
            raise ValueError(
                f"expected at least {max(self.columns) + 1} columns for a kernel on columns {self.columns}, "
                f"got {p} columns: choose columns below {p}, counted from 0"
            )

    def _factor(self, blocks: Blocks) -> Factors | None:
        self._check_range(sum(map(len, blocks)))
        inner = [tuple(i for i, column in enumerate(self.columns) if column in block) for block in blocks]
        factors = self.kernel.factor(inner)
        if factors is None:
            return None
        local = [tuple(block.index(self.columns[i]) for i in part) for block, part in zip(blocks, inner, strict=True)]
        return [f and _at(f, where, len(b)) for f, where, b in zip(factors, local, blocks, strict=True)]


def _at(kernel: Kernel, columns: tuple[int, ...], p: int) -> Kernel:
    return kernel if columns == tuple(range(p)) else OnColumns(kernel, columns)


def _in_one_block(kernel: Kernel, blocks: Blocks) -> Factors | None:
    """The factors of a kernel of all columns that is no product over them."""
    if sum(map(bool, blocks)) != 1:
        return None
    return [_at(kernel, tuple(b.index(c) for c in range(len(b))), len(b)) if b else None for b in blocks]


def _join(wrt: Wrt, left: Array, right: Array) -> Array:
    return left + right if wrt == "inputs" else np.append(left, right)


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


def _mismatches(X: Array, Z: Array) -> NDArray[np.intp]:
    """In how many columns each pair of points differs, (n, m)."""
    count = np.zeros((len(X), len(Z)), dtype=np.intp)
    for x, z in zip(X.T, Z.T, strict=True):
        count += x[:, None] != z
    return count


def _paths(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, Kernel):
        return tuple(f"{name}.{path}" for path in value.param_names)
    if isinstance(value, Sequence):
        return tuple(f"{_PREFIX[name]}{name}[{j}]" for j in range(len(value)))
    return (_PREFIX[name] + name,)


def _count(value: Any) -> int:
    if isinstance(value, Kernel):
        return value._count
    return len(value) if isinstance(value, Sequence) else 1


def _unconstrained(name: str, value: Any) -> Array:
    if isinstance(value, Kernel):
        return value.params
    logs = np.asarray(np.log(np.atleast_1d(value)), dtype=float)
    return logs if _PREFIX[name] == "log_" else logs - np.log1p(-np.atleast_1d(value))


def _constrained(name: str, value: Any, vector: Array) -> Any:
    if isinstance(value, Kernel):
        return value.with_params(vector)
    with np.errstate(over="ignore"):  # the constructors refuse infinite values
        numbers = np.exp(vector if _PREFIX[name] == "log_" else -np.logaddexp(0.0, -vector)).tolist()
    return numbers if isinstance(value, Sequence) else numbers[0]


def _check(X: Array, Z: Array, weights: Array | None = None, shape: tuple[int, ...] = ()) -> None:
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"expected points as arrays (n, p) and (m, p), got shapes {X.shape} and {Z.shape}: "
            "one point is an array with one row"
        )
    if weights is not None and weights.shape != shape:
        raise ValueError(f"expected weights of shape {shape}, one per entry of the kernel, got shape {weights.shape}")


def _positive(name: str, value: float) -> float:
    if not is_number(value) or value <= 0:
        raise ValueError(f"expected a positive finite {name}, got {value!r}: pass a number above 0")
    return float(value)


def _lengthscale(value: Any) -> float | tuple[float, ...]:
    if np.ndim(value) == 0:
        return _positive("lengthscale", value)
    if np.ndim(value) > 1 or len(value) == 0:
        raise ValueError(f"expected lengthscale to be a number or a sequence with one per column, got {value}")
    return tuple(_positive("lengthscale", scale) for scale in value)
