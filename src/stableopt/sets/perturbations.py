"""Sets that move x to other points x' of the domain: balls in norms, boxes, ellipsoids, categories, sets of your own.

Membership at the boundary: a distance up to 1e-9 (relative) beyond eps still counts as inside, so that a grid whose
steps divide eps on paper also does so in floating point.

Notation
    x, x'                  where the decision is, and where the adversary moves it
    A, B   (n, p), (m, p)  points, one a row: x in the rows of A, candidates for x' in those of B
    reach  (p,)            how far each coordinate may move on its own; 0 in those that are not free
    Σ, R                   the matrix of an ellipsoid, and its lower triangular root, Σ = R Rᵀ
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.base.checks import is_number, is_whole, listed, not_negative, numbers, whole
from stableopt.sets.uncertainty import Perturbation

BOUNDARY = 1.0 + 1e-9
_LEAST = 1e-6  # times an ellipsoid is as good as nothing, and still invertible


def boundary(reach: Array, magnitude: Array) -> float:
    """How long ‖(x' − x)/reach‖ may be: 1, and what rounding may add to coordinates of this magnitude."""
    free = reach > 0
    rounding = 4 * np.finfo(float).eps * np.max(magnitude[free] / reach[free], initial=0.0)
    return BOUNDARY + min(float(rounding), 1e-3)


class NormBall(Perturbation, ABC):
    """x' with ‖(x' − x) / reach‖ ≤ 1 in the l1, l2 or l∞ norm; a coordinate with reach 0 cannot change."""

    @property
    @abstractmethod
    def order(self) -> float:
        """1, 2 or ∞: the order of the norm."""

    @abstractmethod
    def ends(self, dim: int) -> tuple[Array, Array]:
        """How far each coordinate may move on its own, down and up (dim,) each."""

    def reach(self, dim: int) -> Array:
        """How far each coordinate may move on its own in either direction (dim,)."""
        return np.maximum(*self.ends(dim))

    def skewed(self, dim: int) -> bool:
        """Whether it moves further in one direction than in the other."""
        down, up = self.ends(dim)
        return bool(np.any(down != up))

    def reaches(self, A: Array, B: Array) -> Mask:
        reach, (down, up) = self.reach(A.shape[1]), self.ends(A.shape[1])
        inside = _within(A, B, reach, self.order)
        for c in np.flatnonzero(down != up):
            inside &= _between(A[:, c], B[:, c], down[c], up[c])
        return inside


@dataclass(frozen=True, eq=False)
class Ball(NormBall):
    """All x' in D with ‖(x' − x)/scales‖ ≤ eps in the l1, l2 or l∞ norm (``norm`` 1, 2 or "inf")."""

    eps: float
    norm: float | str = 2
    scales: float | Sequence[float] | None = None
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        vars(self).update(eps=not_negative(self.eps, "eps as a finite number >= 0"), columns=column_list(self.columns))
        if np.ndim(self.norm) or self.norm not in (1, 2, math.inf, "inf"):
            raise ValueError(f"expected the norm 1, 2 or 'inf', got {self.norm!r}; others: Distance(d, eps)")
        vars(self).update(norm="inf" if self.norm in (math.inf, "inf") else int(self.norm))
        if self.scales is not None:
            vars(self).update(scales=_lengths(self.scales, "scales", strict=True))

    @property
    def order(self) -> float:
        return float(self.norm)

    def ends(self, dim: int) -> tuple[Array, Array]:
        reach = _spread(1.0 if self.scales is None else self.scales, self.free(dim), dim, "scales") * self.eps
        return reach, reach

    def scaled(self, factor: float) -> Ball:
        return replace(self, eps=factor * self.eps)

    def stretched(self, factors: Sequence[float], columns: Sequence[int]) -> Ball:
        scales = np.array(factors) * (1.0 if self.scales is None else np.asarray(self.scales))
        kept = np.flatnonzero(scales > 0).tolist()
        if not kept:
            return self.scaled(0.0)
        return replace(self, scales=scales[kept].tolist(), columns=[columns[i] for i in kept])


@dataclass(frozen=True, eq=False)
class Rectangle(NormBall):
    """All x' in D with |x'_j − x_j| ≤ half_widths_j in every coordinate; 0 keeps one, a single number is for all.

    A pair such as (-0.1, 0.3) in place of a half-width says how far it is down and up.
    """

    half_widths: float | Sequence[float | tuple[float, float]]
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        vars(self).update(half_widths=_pairs(self.half_widths, "half_widths"), columns=column_list(self.columns))

    @property
    def order(self) -> float:
        return math.inf

    def ends(self, dim: int) -> tuple[Array, Array]:
        return _spread_pairs(self.half_widths, self.free(dim), dim, "half_widths")

    def scaled(self, factor: float) -> Rectangle:
        return replace(self, half_widths=_times(factor, self.half_widths))

    def stretched(self, factors: Sequence[float], columns: Sequence[int]) -> Rectangle:
        return replace(self, half_widths=_each_times(factors, self.half_widths), columns=columns)


@dataclass(frozen=True, eq=False)
class Relative(Perturbation):
    """All x' in D with |x'_j − x_j| ≤ fractions_j·|x_j| in every coordinate: ±2 % is ``Relative(0.02)``.

    A pair such as (-0.01, 0.02) in place of a fraction says how far it is down and up.
    """

    fractions: float | Sequence[float | tuple[float, float]]
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        vars(self).update(fractions=_pairs(self.fractions, "fractions"), columns=column_list(self.columns))
        largest = [abs(end) for pair in _each(self.fractions) for end in np.atleast_1d(pair)]
        if not largest or max(largest) >= 1:
            raise ValueError(f"expected fractions below 1 (±2 % is 0.02), got {self.fractions}")

    def ends(self, dim: int) -> tuple[Array, Array]:
        """The fractions down and up in the free coordinates, 0 in the others."""
        return _spread_pairs(self.fractions, self.free(dim), dim, "fractions")

    def reaches(self, A: Array, B: Array) -> Mask:
        reached = np.ones((len(A), len(B)), dtype=bool)
        for a, b, down, up in zip(A.T, B.T, *self.ends(A.shape[1]), strict=True):
            reached &= _between(a, b, down * np.abs(a), up * np.abs(a))
        return reached

    def scaled(self, factor: float) -> Relative:
        return replace(self, fractions=_times(factor, self.fractions))

    def stretched(self, factors: Sequence[float], columns: Sequence[int]) -> Relative:
        return replace(self, fractions=_each_times(factors, self.fractions), columns=columns)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Perturbation):
    """All x' in D with (x' − x)ᵀ Σ⁻¹ (x' − x) ≤ 1, where Σ is the ``matrix``: for tolerances that go together.

    ``Ellipsoid(9 * covariance)`` holds all that is at most three standard deviations away.
    """

    matrix: Sequence[Sequence[float]]
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        cov = numbers(self.matrix, "matrix")
        if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not np.all(np.isfinite(cov)):
            raise ValueError(f"expected a square matrix of finite numbers, got shape {cov.shape}: {self.matrix!r:.200}")
        if np.abs(cov - cov.T).max() > 1e-9 * np.abs(cov).max() or np.linalg.eigvalsh(cov).min() <= 0:
            raise ValueError(f"expected a symmetric positive definite matrix, got {cov.tolist()}: is it a covariance?")
        symmetric = tuple(map(tuple, ((cov + cov.T) / 2).tolist()))
        vars(self).update(matrix=symmetric, columns=column_list(self.columns))

    def root(self, free: int) -> Array:
        """A lower triangular R with R Rᵀ = Σ, so that x' − x = R s with ‖s‖ ≤ 1 (free, free)."""
        if len(self.matrix) != free:
            raise ValueError(f"expected a matrix with {free} rows, one per free coordinate, got {len(self.matrix)}")
        return np.linalg.cholesky(np.array(self.matrix))

    def reaches(self, A: Array, B: Array) -> Mask:
        free = self.free(A.shape[1])
        whiten = np.linalg.inv(self.root(len(free))).T
        return _within(A[:, free] @ whiten, B[:, free] @ whiten, np.ones(len(free)), 2) & same_but(free, A, B)

    def scaled(self, factor: float) -> Ellipsoid:
        """The ellipsoid with other axes; its matrix must stay invertible, so a factor of 0 becomes 1e-6."""
        return replace(self, matrix=(max(factor, _LEAST) ** 2 * np.array(self.matrix)).tolist())

    def stretched(self, factors: Sequence[float], columns: Sequence[int]) -> Ellipsoid:
        along = np.maximum(factors, _LEAST)
        return replace(self, matrix=(along[:, None] * np.array(self.matrix) * along).tolist(), columns=columns)


@dataclass(frozen=True, eq=False)
class Hamming(Perturbation):
    """All x' in D that differ from x in at most ``radius`` of the (categorical) columns and nowhere else."""

    radius: int = 1
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        radius = whole(self.radius, 0, "a Hamming radius of 0, 1, 2, ... columns")
        vars(self).update(radius=radius, columns=column_list(self.columns))

    def reaches(self, A: Array, B: Array) -> Mask:
        from scipy.spatial.distance import cdist

        free = self.free(A.shape[1])
        differ = np.rint(cdist(A[:, free], B[:, free], "hamming") * len(free))
        return (differ <= self.radius) & same_but(free, A, B)

    def scaled(self, factor: float) -> Hamming:
        return replace(self, radius=math.floor(factor * self.radius))  # whole columns


def _within(A: Array, B: Array, reach: Array, order: float) -> Mask:
    from scipy.spatial.distance import cdist

    free = np.flatnonzero(reach > 0)
    inside = np.ones((len(A), len(B)), dtype=bool)
    if len(free):
        metric: Any = {1: "cityblock", 2: "euclidean", math.inf: "chebyshev"}[order]
        origin = B[:, free].min(axis=0)  # differences of large numbers are exact, of their quotients they are not
        limit = boundary(reach, np.abs(B).max(axis=0))
        inside = cdist((A[:, free] - origin) / reach[free], (B[:, free] - origin) / reach[free], metric) <= limit
    return inside & same_but(free, A, B)


def same_but(free: Sequence[int] | Indices, A: Array, B: Array) -> Mask:
    """Which rows of B agree with each row of A in all but the free columns."""
    same = np.ones((len(A), len(B)), dtype=bool)
    for c in np.setdiff1d(np.arange(A.shape[1]), free):
        same &= A[:, c, None] == B[None, :, c]
    return same


def _between(a: Array, b: Array, down: ArrayLike, up: ArrayLike) -> Mask:
    """Which of the numbers b are at most so far below and above each of the numbers a (n, m)."""
    size = max(np.abs(a).max(), np.abs(b).max())
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), a.shape)[:, None] for end in (down, up))
    rounding = np.where(np.maximum(low, high) > 0, 4 * np.finfo(float).eps * size, 0.0)
    offset = b - a[:, None]
    return np.asarray((offset >= -BOUNDARY * low - rounding) & (offset <= BOUNDARY * high + rounding))


Widths = float | Sequence[float | tuple[float, float]]


def _each(widths: Any) -> list[Any]:
    return list(widths) if isinstance(widths, Sequence) else [widths]


def _pairs(values: Any, what: str) -> Widths:
    """Widths, of which some may be pairs (-down, up); those that are as far down as up are one number again."""
    if not isinstance(values, Sequence) or not any(isinstance(v, Sequence) and not isinstance(v, str) for v in values):
        return _lengths(values, what)
    found: list[float | tuple[float, float]] = []
    for v in values:
        if not isinstance(v, Sequence) or isinstance(v, str):
            found.append(float(_lengths(v, what)))  # type: ignore[arg-type]
        elif len(v) == 2 and all(map(is_number, v)) and v[0] <= 0 <= v[1]:
            found.append(float(v[1]) if v[1] == -v[0] else (float(v[0]), float(v[1])))
        else:
            raise ValueError(f"expected {what} as numbers >= 0 or as pairs such as (-0.1, 0.3), got {values!r:.200}")
    return tuple(found)


def _times(factor: float, widths: Any) -> Any:
    """Widths ``factor`` times as large."""
    if isinstance(widths, Sequence):
        return tuple(_times(factor, width) for width in widths)
    return factor * widths


def _each_times(factors: Sequence[float], widths: Any) -> Any:
    """Widths, each with a factor of its own."""
    each = widths if isinstance(widths, Sequence) else [widths] * len(factors)
    return tuple(_times(f, w) for f, w in zip(factors, each, strict=True))


def _spread_pairs(widths: Any, free: list[int], dim: int, what: str) -> tuple[Array, Array]:
    """Widths down and up in the free coordinates, 0 in the others."""
    if not isinstance(widths, Sequence):
        both = _spread(widths, free, dim, what)
        return both, both
    ends = [(-w[0], w[1]) if isinstance(w, Sequence) else (w, w) for w in widths]
    down, up = (_spread([e[side] for e in ends], free, dim, what) for side in (0, 1))
    return down, up


def _lengths(values: Any, what: str, *, strict: bool = False) -> float | tuple[float, ...]:
    array = numbers(values, what)
    wrong = ~np.isfinite(array) | (array <= 0 if strict else array < 0)
    if array.ndim > 1 or np.any(wrong):
        raise ValueError(f"expected {what} as finite numbers {'>' if strict else '>='} 0.0, got {values}")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def column_list(columns: Sequence[int | str] | None) -> tuple[int | str, ...] | None:
    """The columns that a set may change, by number or name, as a tuple."""
    if columns is None:
        return None
    chosen = listed(columns, "a list of column numbers or names")
    good = len(chosen) > 0 and all(isinstance(c, str) or is_whole(c, 0) for c in chosen)
    if not good or len(set(chosen)) < len(chosen):
        raise ValueError(f"expected distinct column numbers from 0, or names, got {chosen!r:.200}")
    return tuple(c if isinstance(c, str) else int(c) for c in chosen)


def _spread(values: ArrayLike, free: list[int], dim: int, what: str) -> Array:
    lengths = np.asarray(values, dtype=float)
    if lengths.ndim and len(lengths) != len(free):
        raise ValueError(f"expected {len(free)} {what}, one per free coordinate, got {len(lengths)}")
    full = np.zeros(dim)
    full[free] = lengths
    return full
