"""Kernels: what every one of them can do, and how they are added, multiplied, scaled and put on columns.

A kernel of your own is a frozen dataclass with one method, `values`. The rest follows from it: the diagonal,
derivatives by central differences, hyperparameters, operators, JSON. The kernels of this package are in `kernels`.

    @dataclass(frozen=True)
    class Periodic(Kernel):
        period: float = 1.0
        lengthscale: float = 1.0
        hyperparameters = ("period",)

        def values(self, X, Z):
            waves = np.sin(np.pi * (X[:, None] - Z) / self.period) / self.lengthscale
            return np.exp(-2 * (waves**2).sum(axis=-1))

Notation
    X, Z     (n, p), (m, p)  points, one a row; x_a and z_b are rows
    k(X, Z)  (n, m)          the matrix of k(x_a, z_b); Z = None stands for the diagonal, the (n,) values k(x_a, x_a)
    W        (n, m) or (n,)  weights of a pullback: the derivative of some scalar by the entries of k(X, Z)
    params   (q,)            unconstrained hyperparameters in the order of the fields, as `derived` has them
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeAlias, final

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import is_whole, listed
from stableopt.base.values import Value
from stableopt.model import derived

Wrt: TypeAlias = Literal["params", "inputs"]
Blocks: TypeAlias = Sequence[tuple[int, ...]]
Factors: TypeAlias = "list[Kernel | None]"
Pullback: TypeAlias = Callable[[Array, Wrt], Array]

_DIAGONAL = 32  # points whose matrix is computed for its diagonal: more would be wasted, fewer would be slow


class Kernel(Value, ABC):
    """A positive semi-definite function k(x, z) of two points.

    A kernel of your own has `values`, and perhaps `gradient`; the head of this file has an example. `check_kernel`
    tests it. A `__post_init__` of its own calls ``super().__post_init__()``, which checks the hyperparameters.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ()
    """Fields that are learned besides lengthscale, variance and correlation. Each is a positive number, or several."""

    _own: ClassVar[bool] = False  # whether the class comes from outside, so that its results are checked
    __array_ufunc__ = None  # NumPy then leaves np.float64(2.0) * kernel to __rmul__

    @abstractmethod
    def values(self, X: Array, Z: Array) -> Array:
        """The (n, m) matrix of k(x_a, z_b), as a new array."""

    def gradient(self, X: Array, Z: Array, wrt: Wrt) -> Array | None:
        """Exact derivatives of k(x_a, z_b), if you have them. None: by central differences of `values`.

        The kernels of this package give theirs in `with_pullback` instead.
        By "inputs": (n, m, p), entry [a, b, j] is the derivative by coordinate j of x_a.
        By "params": (n, m, q), entry [a, b, i] is the derivative by `params[i]`, such as log lengthscale.
        """
        return None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._own = cls.__module__.split(".")[0] != "stableopt"
        names, known = cls.hyperparameters, {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
        if isinstance(names, str) or not known.issuperset(names) or not {"noise", "mean"}.isdisjoint(names):
            expected = f"{cls.__name__}.hyperparameters as a tuple of names of its fields, neither noise nor mean"
            remedy = "write hyperparameters = ('period',) for a field period: float"
            raise TypeError(f"expected {expected}, got {names!r}: {remedy}")

    def __post_init__(self) -> None:
        for name, value in self._learnable():
            if not isinstance(value, Kernel) or name in (*derived.LEARNED, *self.hyperparameters):
                object.__setattr__(self, name, derived.checked_value(name, value))

    def __call__(self, X: Array, Z: Array) -> Array:
        """The (n, m) matrix of k(x_a, z_b)."""
        _check(X, Z)
        values = self.values(X, Z)
        shape = len(X), len(Z)
        return derived.finite(_name(self, "values"), values, shape, derived.NotFiniteError) if self._own else values

    def diag(self, X: Array) -> Array:
        """The (n,) values k(x_a, x_a)."""
        return self.with_pullback(X)[0]

    def with_pullback(self, X: Array, Z: Array | None = None) -> tuple[Array, Pullback]:
        """The matrix (or the diagonal), and a function that sums its derivatives with weights W.

        By "params": Σ_ab W_ab dk(x_a, z_b)/dparams, (q,). By "inputs": row a is Σ_b W_ab dk(x_a, z_b)/dx_a, (n, p).
        """
        _check(X, X if Z is None else Z)
        return self._with_pullback(X, Z)

    @property
    def params(self) -> Array:
        """Unconstrained hyperparameters, (q,)."""
        parts = [v.params if isinstance(v, Kernel) else derived.unconstrained(name, v) for name, v in self._learnable()]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def param_names(self) -> tuple[str, ...]:
        """The path to each hyperparameter, such as ``left.kernel.log_lengthscale[0]``."""
        return tuple(path for name, value in self._learnable() for path in _paths(name, value))

    def with_params(self, vector: Array) -> Self:
        """The same kind of kernel with these hyperparameters."""
        vector = np.asarray(vector, dtype=float)
        if vector.shape != (self._count,):
            got = f"an array of shape {vector.shape}: pass one number per name, as in `params`"
            raise ValueError(f"expected {self._count} hyperparameters {self.param_names}, got {got}")
        changes, end = {}, 0
        for name, value in self._learnable():
            start, end = end, end + _count(value)
            u = vector[start:end]
            changes[name] = value.with_params(u) if isinstance(value, Kernel) else derived.constrained(name, value, u)
        return replace(self, **changes)  # type: ignore[type-var]

    @cached_property
    def has_own_parts(self) -> bool:
        """Whether it is, or contains, a kernel from outside this package."""
        return self._own or any(isinstance(v, Kernel) and v.has_own_parts for _, v in self._learnable())

    @property
    def is_stationary(self) -> bool:
        """Whether k(x, z) depends on |x_j − z_j| of the columns j only: then it is a table of offsets on a grid."""
        parts = [value for _, value in self._learnable() if isinstance(value, Kernel)]
        return not self._own and bool(parts) and all(part.is_stationary for part in parts)

    @cached_property
    def _count(self) -> int:
        return sum(_count(value) for _, value in self._learnable())

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
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    def __rmul__(self, variance: float) -> Scaled:
        return Scaled(self, variance)

    def _learnable(self) -> Iterator[tuple[str, Any]]:
        """The fields that are, or contain, hyperparameters."""
        known: Any = getattr(self, "__dataclass_fields__", None)
        if known is None:
            raise TypeError(f"expected {type(self).__name__} as a dataclass: write @dataclass(frozen=True) above it")
        for name in known:
            value = getattr(self, name, None)
            if name in derived.LEARNED or name in self.hyperparameters or isinstance(value, Kernel):
                yield name, value

    def _as_matern(self) -> tuple[float, float | Sequence[float]] | None:
        """ν and the lengthscale of a Matérn kernel, ν = ∞ for a squared exponential one; None for all others."""
        return None

    def _as_categorical(self) -> float | None:
        """The correlation of a `Categorical` kernel; None for all others."""
        return None

    # Defaults for a kernel that only has `values`. The kernels of this package have better ones.

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        given, shape = (_raw(self, X, None), (len(X),)) if Z is None else (self.values(X, Z), (len(X), len(Z)))
        values = derived.finite(_name(self, "values"), given, shape, derived.NotFiniteError)
        return values, lambda weights, wrt: _pulled(self, X, Z, weights, wrt)

    def _factor(self, blocks: Blocks) -> Factors | None:
        """Over a single block, the kernel itself; it is no product over several."""
        if sum(map(bool, blocks)) != 1:
            return None
        return [_at(self, tuple(b.index(c) for c in range(len(b))), len(b)) if b else None for b in blocks]


def _check_parts(*kernels: Any) -> None:
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"expected a kernel such as SE(0.2), got {kernel!r:.200}")


@final
@dataclass(frozen=True, eq=False)
class Scaled(Kernel):
    """A kernel times a variance; written ``2.0 * kernel``."""

    kernel: Kernel
    variance: float

    def __post_init__(self) -> None:
        _check_parts(self.kernel)
        super().__post_init__()

    def values(self, X: Array, Z: Array) -> Array:
        values = self.kernel(X, Z)
        return np.multiply(values, self.variance, out=values)

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        values, inner = self.kernel._with_pullback(X, Z)

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

    def __post_init__(self) -> None:
        _check_parts(self.left, self.right)

    def values(self, X: Array, Z: Array) -> Array:
        values = self.left(X, Z)
        return np.add(values, self.right(X, Z), out=values)

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        (f, by_left), (g, by_right) = self.left._with_pullback(X, Z), self.right._with_pullback(X, Z)
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

    def __post_init__(self) -> None:
        _check_parts(self.left, self.right)

    def values(self, X: Array, Z: Array) -> Array:
        values = self.left(X, Z)
        return np.multiply(values, self.right(X, Z), out=values)

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        (f, by_left), (g, by_right) = self.left._with_pullback(X, Z), self.right._with_pullback(X, Z)
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
        _check_parts(self.kernel)
        columns = tuple(listed(self.columns, "a list of columns, such as [0]"))
        if not columns or not all(is_whole(c, 0) for c in columns) or len(set(columns)) < len(columns):
            raise ValueError(f"expected at least one column, distinct and counted from 0, got {self.columns!r:.200}")
        columns = tuple(map(int, columns))
        object.__setattr__(self, "columns", columns)

    def values(self, X: Array, Z: Array) -> Array:
        return self.kernel(self._select(X), self._select(Z))

    def _with_pullback(self, X: Array, Z: Array | None) -> tuple[Array, Pullback]:
        values, inner = self.kernel._with_pullback(self._select(X), None if Z is None else self._select(Z))

        def pull(weights: Array, wrt: Wrt) -> Array:
            if wrt == "params":
                return inner(weights, wrt)
            out = np.zeros(X.shape)
            out[:, self.columns] = inner(weights, wrt)
            return out

        return values, pull

    def _select(self, X: Array) -> Array:
        self._check_range(X.shape[1])
        first, end = self.columns[0], self.columns[-1] + 1
        consecutive = self.columns == tuple(range(first, end))  # then a view, and no copy of 10^6 points
        return X[:, first:end] if consecutive else X[:, self.columns]

    def _check_range(self, p: int) -> None:
        if (largest := max(self.columns)) >= p:
            expected = f"at least {largest + 1} columns for a kernel on columns {self.columns}"
            raise ValueError(f"expected {expected}, got {p} columns: choose columns below {p}, counted from 0")

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


def _join(wrt: Wrt, left: Array, right: Array) -> Array:
    return left + right if wrt == "inputs" else np.append(left, right)


def _pulled(kernel: Kernel, X: Array, Z: Array | None, weights: Array, wrt: Wrt) -> Array:
    """The pullback of a kernel of one's own: from its `gradient` if there is one, else by differences."""
    count = X.shape[1] if wrt == "inputs" else kernel._count
    given = None if Z is None else kernel.gradient(X, Z, wrt)
    if given is not None:
        exact = derived.finite(_name(kernel, "gradient"), given, (*weights.shape, count))
        return np.asarray(np.einsum("ab,abj->aj" if wrt == "inputs" else "ab,abj->j", weights, exact))
    kept = 1 if wrt == "inputs" else 0  # axes of W over which there is no sum
    sums = [(weights * slope).sum(axis=(0, 1)[kept : weights.ndim]) for slope in slopes(kernel, X, Z, wrt)]
    return np.stack(sums, axis=-1) if sums else np.zeros((*weights.shape[:kept], count))


def slopes(kernel: Kernel, X: Array, Z: Array | None, wrt: Wrt) -> Iterator[Array]:
    """For each column or hyperparameter the derivative of k(X, Z), by central differences."""
    if wrt == "inputs":
        return derived.by_columns(lambda P: _raw(kernel, P, Z), X, X if Z is None else np.vstack([X, Z]))
    return derived.by_entries(lambda params: _raw(kernel.with_params(params), X, Z), kernel.params)


def _raw(kernel: Kernel, X: Array, Z: Array | None) -> Array:
    """Values or diagonal of a kernel of one's own, perhaps not finite."""
    if Z is None:
        parts = (X[start : start + _DIAGONAL] for start in range(0, len(X), _DIAGONAL))
        return np.concatenate([np.zeros(0), *(np.diagonal(_raw(kernel, part, part)) for part in parts)])
    return derived.shaped(_name(kernel, "values"), kernel.values(X, Z), (len(X), len(Z)))


def _name(kernel: Kernel, method: str) -> str:
    return f"{type(kernel).__name__}.{method}"


def _paths(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, Kernel):
        return tuple(f"{name}.{path}" for path in value.param_names)
    if isinstance(value, Sequence):
        return tuple(f"{derived.prefix(name)}{name}[{j}]" for j in range(len(value)))
    return (derived.prefix(name) + name,)


def _count(value: Any) -> int:
    return value._count if isinstance(value, Kernel) else np.size(value)


def _check(X: Array, Z: Array) -> None:
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        remedy = "one point is an array with one row"
        raise ValueError(f"expected points as arrays (n, p) and (m, p), got shapes {X.shape} and {Z.shape}: {remedy}")
