"""What every kernel can do, and how kernels are put together: added, multiplied, scaled, put on columns.

A kernel of `kernels` only says what its matrices and their derivatives are; the names and coordinates of its
hyperparameters, its factors over blocks of columns and the operators are the same for all and live here.

Notation
    X, Z     (n, p), (m, p)  points, one a row; x_a and z_b are rows
    k(X, Z)  (n, m)          the matrix of k(x_a, z_b); Z = None stands for the diagonal, the (n,) values k(x_a, x_a)
    W        (n, m) or (n,)  weights of a pullback: the derivative of some scalar by the entries of k(X, Z)
    params   (q,)            unconstrained hyperparameters in the order of the fields: logs of positive numbers,
                             logits of correlations
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, final

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import positive
from stableopt.base.values import Value

Wrt: TypeAlias = Literal["params", "inputs"]
Blocks: TypeAlias = Sequence[tuple[int, ...]]
Factors: TypeAlias = "list[Kernel | None]"
Pull: TypeAlias = Callable[[Array, Wrt], Array]

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


@final
@dataclass(frozen=True, eq=False)
class Scaled(Kernel):
    """A kernel times a variance; written ``2.0 * kernel``."""

    kernel: Kernel
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", strictly_positive("variance", self.variance))

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


def in_one_block(kernel: Kernel, blocks: Blocks) -> Factors | None:
    """The factors of a kernel of all columns that is no product over them."""
    if sum(map(bool, blocks)) != 1:
        return None
    return [_at(kernel, tuple(b.index(c) for c in range(len(b))), len(b)) if b else None for b in blocks]


def _join(wrt: Wrt, left: Array, right: Array) -> Array:
    return left + right if wrt == "inputs" else np.append(left, right)


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


def strictly_positive(name: str, value: float) -> float:
    """A field that is a positive finite number, or an error that names it."""
    return positive(value, f"a positive finite {name}", "pass a number above 0")
