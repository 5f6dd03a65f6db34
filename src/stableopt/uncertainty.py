"""What the adversary may do: which points A(d) it can turn a decision d into.

A perturbation moves x within the domain; a parameter set picks an unknown θ that is appended to x; groups let it
pick any member. ``perturbation * parameters`` does both at once. Sets only say what is allowed: the max-min solvers
of `stableopt.maxmin` find the worst case.

Membership at the boundary: a distance up to 1e-9 (relative) beyond eps still counts as inside, so that a grid whose
steps divide eps on paper also does so in floating point.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stableopt._arrays import Array, matrix, numbers, row_of, vector
from stableopt._value import Value
from stableopt.spaces import Space

BOUNDARY = 1.0 + 1e-9
Mask = NDArray[np.bool_]


def boundary(reach: Array, magnitude: Array) -> float:
    """How long ‖(x' − x)/reach‖ may be: 1, and what rounding may add to coordinates of this magnitude."""
    free = reach > 0
    rounding = 4 * np.finfo(float).eps * np.max(magnitude[free] / reach[free], initial=0.0)
    return BOUNDARY + min(float(rounding), 1e-3)


class UncertaintySet(Value):
    """Any of the sets below."""

    @property
    def perturbations(self) -> list[Perturbation]:
        """The parts that move x."""
        return []

    @property
    def parameters(self) -> Parameters | Estimate | None:
        """The part that chooses θ, if there is one."""
        return None

    def scaled(self, factor: float) -> UncertaintySet:
        """The same set with every perturbation ``factor`` times as large; what has no size stays as it is."""
        return self

    def __mul__(self, other: UncertaintySet) -> Combined:
        return Combined((*_parts(self), *_parts(other)))


class Perturbation(UncertaintySet, ABC):
    """Moves x to another point x' of D; with ``columns``, only those coordinates (by number or name) may change."""

    columns: Sequence[int | str] | None

    @property
    def perturbations(self) -> list[Perturbation]:
        """Itself."""
        return [self]

    @abstractmethod
    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B each row of A may be turned into (len(A), len(B))."""

    @abstractmethod
    def scaled(self, factor: float) -> Perturbation:
        """The same perturbation, ``factor`` times as large."""

    def free(self, dim: int) -> list[int]:
        """The coordinates that may change, of ``dim``."""
        columns = range(dim) if self.columns is None else self.columns
        numbers = [c for c in columns if isinstance(c, int) and c < dim]
        if len(numbers) < len(columns):
            raise ValueError(f"expected numbers of columns of points with {dim} coordinates, got {list(columns)}")
        return numbers


class NormBall(Perturbation, ABC):
    """x' with ‖(x' − x) / reach‖ ≤ 1 in the l1, l2 or l∞ norm; a coordinate with reach 0 cannot change."""

    @property
    @abstractmethod
    def order(self) -> float:
        """1, 2 or ∞: the order of the norm."""

    @abstractmethod
    def reach(self, dim: int) -> Array:
        """How far each coordinate may move on its own (dim,)."""

    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B are in the ball around each row of A."""
        reach = self.reach(A.shape[1])
        return _within(A, B, reach, self.order)


@dataclass(frozen=True, eq=False)
class Ball(NormBall):
    """All x' in D with ‖(x' − x)/scales‖ ≤ eps in the l1, l2 or l∞ norm (``norm`` 1, 2 or "inf")."""

    eps: float
    norm: float | str = 2
    scales: float | Sequence[float] | None = None
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps", _eps(self.eps))
        if self.norm not in (1, 2, math.inf, "inf"):
            raise ValueError(f"expected the norm 1, 2 or 'inf', got {self.norm!r}; others: Distance(d, eps)")
        object.__setattr__(self, "norm", "inf" if self.norm in (math.inf, "inf") else int(self.norm))
        object.__setattr__(self, "columns", _columns(self.columns))
        if self.scales is not None:
            object.__setattr__(self, "scales", _lengths(self.scales, "scales", least=0.0, strict=True))

    @property
    def order(self) -> float:
        """1, 2 or ∞: the order of the norm."""
        return float(self.norm)

    def reach(self, dim: int) -> Array:
        """eps times the scale in the free coordinates, 0 in the others."""
        free = self.free(dim)
        return _spread(1.0 if self.scales is None else self.scales, free, dim, "scales") * self.eps

    def scaled(self, factor: float) -> Ball:
        """The ball with another eps."""
        return replace(self, eps=factor * self.eps)


@dataclass(frozen=True, eq=False)
class Rectangle(NormBall):
    """All x' in D with |x'_j − x_j| ≤ half_widths_j in every coordinate; 0 keeps one, a single number is for all."""

    half_widths: float | Sequence[float]
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_widths", _lengths(self.half_widths, "half_widths", least=0.0, strict=False))
        object.__setattr__(self, "columns", _columns(self.columns))

    @property
    def order(self) -> float:
        """∞: the order of the norm."""
        return math.inf

    def reach(self, dim: int) -> Array:
        """The half-widths in the free coordinates, 0 in the others."""
        return _spread(self.half_widths, self.free(dim), dim, "half_widths")

    def scaled(self, factor: float) -> Rectangle:
        """The rectangle with other half-widths."""
        return replace(self, half_widths=(factor * np.asarray(self.half_widths)).tolist())


@dataclass(frozen=True, eq=False)
class Relative(Perturbation):
    """All x' in D with |x'_j − x_j| ≤ fractions_j·|x_j| in every coordinate: ±2 % is ``Relative(0.02)``."""

    fractions: float | Sequence[float]
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fractions", _lengths(self.fractions, "fractions", least=0.0, strict=False))
        if not np.size(self.fractions) or np.max(self.fractions) >= 1:
            raise ValueError(f"expected fractions below 1 (±2 % is 0.02), got {self.fractions}")
        object.__setattr__(self, "columns", _columns(self.columns))

    def fraction(self, dim: int) -> Array:
        """The fractions in the free coordinates, 0 in the others."""
        return _spread(self.fractions, self.free(dim), dim, "fractions")

    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B are within the fractions of each row of A."""
        reached = np.ones((len(A), len(B)), dtype=bool)
        for a, b, fraction in zip(A.T, B.T, self.fraction(A.shape[1]), strict=True):
            rounding = 4 * np.finfo(float).eps * np.maximum(np.abs(a).max(), np.abs(b).max()) if fraction else 0.0
            reached &= np.abs(b - a[:, None]) <= (BOUNDARY * fraction * np.abs(a) + rounding)[:, None]
        return reached

    def scaled(self, factor: float) -> Relative:
        """The same with other fractions."""
        return replace(self, fractions=(factor * np.asarray(self.fractions)).tolist())


@dataclass(frozen=True, eq=False)
class Ellipsoid(Perturbation):
    """All x' in D with (x' − x)ᵀ Σ⁻¹ (x' − x) ≤ 1, where Σ is the ``matrix``: for tolerances that go together.

    ``Ellipsoid(9 * covariance)`` holds all that is at most three standard deviations away.
    """

    matrix: Sequence[Sequence[float]]
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        sigma = numbers(self.matrix, "matrix")
        if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or not np.all(np.isfinite(sigma)):
            raise ValueError(
                f"expected a square matrix of finite numbers, got shape {sigma.shape}: {self.matrix!r:.200}"
            )
        if np.abs(sigma - sigma.T).max() > 1e-9 * np.abs(sigma).max() or np.linalg.eigvalsh(sigma).min() <= 0:
            raise ValueError(
                f"expected a symmetric positive definite matrix, got {sigma.tolist()}: is it a covariance?"
            )
        object.__setattr__(self, "matrix", tuple(map(tuple, ((sigma + sigma.T) / 2).tolist())))
        object.__setattr__(self, "columns", _columns(self.columns))

    def root(self, free: int) -> Array:
        """A lower triangular R with R Rᵀ = Σ, so that x' − x = R s with ‖s‖ ≤ 1 (free, free)."""
        if len(self.matrix) != free:
            raise ValueError(f"expected a matrix with {free} rows, one per free coordinate, got {len(self.matrix)}")
        return np.linalg.cholesky(np.array(self.matrix))

    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B are in the ellipsoid around each row of A."""
        free = self.free(A.shape[1])
        whiten = np.linalg.inv(self.root(len(free))).T
        inside = _within(A[:, free] @ whiten, B[:, free] @ whiten, np.ones(len(free)), 2)
        return inside & _same(A, B, np.setdiff1d(np.arange(A.shape[1]), free))

    def scaled(self, factor: float) -> Ellipsoid:
        """The ellipsoid with other axes; its matrix must stay invertible, so a factor of 0 becomes 1e-6."""
        return replace(self, matrix=(max(factor, 1e-6) ** 2 * np.array(self.matrix)).tolist())


@dataclass(frozen=True, eq=False)
class Within(Perturbation):
    """A set of your own: all x' with contains(x, x'), where project(x, z) is the nearest such x' to z.

    Both get the coordinates in ``columns`` (all that are numbers by default) as arrays, in your own units. With
    ``vectorized=True`` they get rows (n, k) instead and return n truth values and (n, k) coordinates. Finite domains
    need no ``project``.
    """

    contains: Callable[[Array, Array], Any]
    project: Callable[[Array, Array], Any] | None = None
    vectorized: bool = False
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _columns(self.columns))
        if not callable(self.contains) or not (self.project is None or callable(self.project)):
            raise TypeError(
                f"expected functions contains(x, z) and project(x, z), got {self.contains!r}, {self.project!r}"
            )

    def members(self, X: Array, Z: Array) -> Mask:
        """Row by row, whether z is in the set of x (n,)."""
        if self.vectorized:
            return np.asarray(self.contains(X, Z), dtype=bool).reshape(len(X))
        return np.array([bool(self.contains(x, z)) for x, z in zip(X, Z, strict=True)], dtype=bool)

    def projected(self, X: Array, Z: Array) -> Array:
        """Row by row, the nearest z in the set of x (n, k)."""
        if self.project is None:
            raise ValueError("expected a projection for a continuous domain: Within(contains, project)")
        nearest = self.project(X, Z) if self.vectorized else [self.project(x, z) for x, z in zip(X, Z, strict=True)]
        rows = np.asarray(nearest, dtype=float) if len(Z) else Z
        if rows.shape != Z.shape or not np.all(np.isfinite(rows)):
            raise ValueError(f"expected project(x, z) to return {Z.shape[1]} finite coordinates, got {nearest!r:.200}")
        return rows

    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B are in the set of each row of A."""
        free = self.free(A.shape[1])
        a, b = (np.repeat(A[:, free], len(B), axis=0), np.tile(B[:, free], (len(A), 1)))
        inside = self.members(a, b).reshape(len(A), len(B))
        return inside & _same(A, B, np.setdiff1d(np.arange(A.shape[1]), free))

    def scaled(self, factor: float) -> Within:
        """Refused: only its author knows how to make such a set larger."""
        raise ValueError("expected a set with a size, such as Ball(0.1): a set of your own cannot be made larger")


@dataclass(frozen=True, eq=False)
class Hamming(Perturbation):
    """All x' in D that differ from x in at most ``radius`` of the (categorical) columns and nowhere else."""

    radius: int = 1
    columns: Sequence[int | str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.radius, bool) or not isinstance(self.radius, int | np.integer) or self.radius < 0:
            raise ValueError(f"expected a Hamming radius of 0, 1, 2, ... columns, got {self.radius!r}")
        object.__setattr__(self, "radius", int(self.radius))
        object.__setattr__(self, "columns", _columns(self.columns))

    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B differ from each row of A in few enough columns."""
        from scipy.spatial.distance import cdist

        free = self.free(A.shape[1])
        differ = np.rint(cdist(A[:, free], B[:, free], "hamming") * len(free))
        return (differ <= self.radius) & _same(A, B, np.setdiff1d(np.arange(A.shape[1]), free))

    def scaled(self, factor: float) -> Hamming:
        """The same with another radius, rounded down to whole columns."""
        return replace(self, radius=math.floor(factor * self.radius))


@dataclass(frozen=True, eq=False)
class Distance(Perturbation):
    """All x' in D with distance(x, x') ≤ eps, for any function of two points; it need not be a metric.

    With ``columns``, it sees these coordinates only and the others cannot change. With ``vectorized=True`` it is called
    as distance(x, X) with the rows X of candidates, and returns one value each.
    """

    distance: Callable[[Array, Array], Any]
    eps: float
    vectorized: bool = False
    columns: Sequence[int | str] | None = None

    def scaled(self, factor: float) -> Distance:
        """The same distance with another eps."""
        return replace(self, eps=factor * self.eps)

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps", _eps(self.eps))
        object.__setattr__(self, "columns", _columns(self.columns))
        if not callable(self.distance):
            raise TypeError(f"expected a function distance(x, x') of two points, got {self.distance!r}")

    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B are within eps of each row of A."""
        free = self.free(A.shape[1])
        fixed = np.setdiff1d(np.arange(A.shape[1]), free)
        if len(fixed):
            return replace(self, columns=None).reaches(A[:, free], B[:, free]) & _same(A, B, fixed)
        distances = np.array([self._row(a, B) for a in A])
        if np.any(np.isnan(distances)):
            a, b = np.argwhere(np.isnan(distances))[0]
            raise ValueError(
                f"expected a distance that is a number, got NaN between {A[a].tolist()} and {B[b].tolist()}: "
                "return math.inf for points that cannot be reached"
            )
        return distances <= self.eps * BOUNDARY

    def _row(self, a: Array, B: Array) -> Array:
        if not self.vectorized:
            each = [self.distance(a, b) for b in B]
            plain = all(type(d) is float or type(d) is np.float64 for d in each)
            return np.array(each if plain else [_scalar(d) for d in each])
        distances = np.asarray(self.distance(a, B), dtype=float)
        if distances.shape != (len(B),):
            raise ValueError(f"expected distance(x, X) to return {len(B)} values, got {distances.size}")
        return distances


@dataclass(frozen=True, eq=False, repr=False)
class Parameters(UncertaintySet):
    """An unknown parameter θ in Θ: x is turned into (x, θ) for any row θ of ``theta``, or any θ of a ``Space``."""

    theta: ArrayLike | Space

    @property
    def parameters(self) -> Parameters:
        """Itself."""
        return self

    def __post_init__(self) -> None:
        if not isinstance(self.theta, Space):
            object.__setattr__(self, "theta", matrix(self.theta, "parameters"))

    @property
    def block(self) -> Array:
        """Θ, one row per parameter (m, q)."""
        return _rows(self.theta)

    @property
    def allowed(self) -> NDArray[np.intp]:
        """Which rows of Θ the adversary may choose: all."""
        return np.arange(len(self.block))

    @property
    def nominal(self) -> NDArray[np.intp]:
        """Which rows of Θ stand for "no perturbation": all, since none is preferred."""
        return self.allowed

    def __repr__(self) -> str:
        if isinstance(self.theta, Space):
            return f"Parameters({self.theta})"
        return f"Parameters({len(self.block)} parameters with {self.block.shape[1]} coordinates)"


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(UncertaintySet):
    """Robust estimation: θ is known to be near an estimate θ̄, within the perturbation ``within`` of it.

    ``Estimate(theta, [0.5], Ball(0.1))`` turns x into (x, θ) for every row θ of ``theta`` at most 0.1 from 0.5. The
    estimate is a row of ``theta`` itself, or a point of it where ``theta`` is a ``Space``.
    """

    theta: ArrayLike | Space
    estimate: Any
    within: Perturbation

    @property
    def parameters(self) -> Estimate:
        """Itself."""
        return self

    def __post_init__(self) -> None:
        if not isinstance(self.within, Perturbation):
            raise TypeError(f"expected a perturbation of the estimate such as Ball(0.1), got {self.within!r}")
        if isinstance(self.theta, Space):
            object.__setattr__(self, "estimate", _plain_point(self.theta, self.estimate))
            return
        theta = matrix(self.theta, "parameters")
        estimate = theta[row_of(theta, self.estimate, "estimate", "Θ")]
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "estimate", tuple(estimate.tolist()))
        if not len(self.allowed):
            raise ValueError(f"{self.within} allows no parameter at all for the estimate {estimate.tolist()}")

    @property
    def block(self) -> Array:
        """Θ, one row per parameter (m, q)."""
        return _rows(self.theta)

    def scaled(self, factor: float) -> Estimate:
        """The same estimate, with another perturbation of it."""
        return replace(self, within=self.within.scaled(factor))

    @property
    def allowed(self) -> NDArray[np.intp]:
        """Which rows of Θ the adversary may choose: those near the estimate."""
        return np.flatnonzero(self.within.reaches(np.array([self.estimate], dtype=float), self.block)[0])

    @property
    def nominal(self) -> NDArray[np.intp]:
        """Which row of Θ stands for "no perturbation": the estimate itself."""
        return np.array([row_of(self.block, self.estimate, "estimate", "Θ")])

    def __repr__(self) -> str:
        if isinstance(self.theta, Space):
            return f"Estimate({self.estimate}, within={self.within}, {self.theta})"
        return f"Estimate({np.asarray(self.estimate).tolist()}, within={self.within}, {len(self.allowed)} parameters)"


@dataclass(frozen=True, eq=False, repr=False)
class Groups(UncertaintySet):
    """The decision is a group and the adversary picks its worst member.

    ``members`` lists the numbers of the points in each group, as a list of lists or a dictionary by name. Every point
    belongs to a group at least; where it belongs to several, the first one is "its" group.
    """

    members: Mapping[str, Iterable[int]] | Sequence[Iterable[int]]
    names: Sequence[str | int] | None = None

    def __post_init__(self) -> None:
        members = self.members
        if isinstance(members, Mapping):
            object.__setattr__(self, "names", tuple(members))
            members = list(members.values())
        if any(isinstance(group, str) or not isinstance(group, Iterable) for group in members):
            raise ValueError(
                f"expected a list of members for each group, got {members!r:.200}; labels: from_labels(...)"
            )
        groups = tuple(tuple(sorted({_number(i) for i in group})) for group in members)
        names = tuple(range(len(groups))) if self.names is None else tuple(_name(name) for name in self.names)
        if not groups or len(names) != len(groups) or len(set(names)) != len(names):
            raise ValueError(f"expected at least one group and one distinct name each, got {len(groups)} and {names}")
        for name, group in zip(names, groups, strict=True):
            if not group:
                raise ValueError(f"expected members in every group, got an empty group {name!r}: leave it out")
        object.__setattr__(self, "members", groups)
        object.__setattr__(self, "names", names)

    @classmethod
    def from_labels(cls, labels: Sequence[Any] | NDArray[Any]) -> Groups:
        """Groups from one label per point, in the order of the sorted labels."""
        if np.ndim(labels) != 1:
            raise ValueError(f"expected one label per point in a flat list, got shape {np.shape(labels)}")
        kinds = {type(label.item() if isinstance(label, np.generic) else label) for label in labels}
        if len(kinds) != 1:
            raise ValueError(
                f"expected labels of one kind, such as all strings, got {sorted(k.__name__ for k in kinds)}"
            )
        found, inverse, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
        members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
        names = found.tolist() if found.dtype.kind in "iuU" else [str(label) for label in found]
        return cls([group.tolist() for group in members], names)

    @property
    def lists(self) -> list[list[int]]:
        """The numbers of the points in each group, increasing."""
        groups = self.members.values() if isinstance(self.members, Mapping) else self.members
        return [list(group) for group in groups]

    def __repr__(self) -> str:
        return f"Groups({len(self.lists)} groups)"


@dataclass(frozen=True, eq=False)
class Combined(UncertaintySet):
    """Several adversaries at once, each with its own coordinates; written as a product of sets."""

    parts: Sequence[UncertaintySet]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        strays = [p for p in self.parts if not isinstance(p, Perturbation | Parameters | Estimate)]
        if strays or len(self.parts) - len(self.perturbations) > 1:
            raise TypeError(
                f"expected perturbations and at most one set of parameters, got {list(self.parts)}: list combinations "
                "of parameters as rows of one Θ, and points of D × Θ as members of groups"
            )
        chosen = [p.columns for p in self.perturbations]
        flat = [c for columns in chosen for c in columns or ()]
        if len(chosen) > 1 and (None in chosen or len(set(flat)) < len(flat)):
            raise ValueError(f"expected perturbations with columns of their own (columns=...), got {chosen}")

    def scaled(self, factor: float) -> Combined:
        """Every part with another size."""
        return Combined([part.scaled(factor) for part in self.parts])

    @property
    def perturbations(self) -> list[Perturbation]:
        """The parts that move x."""
        return [part for part in self.parts if isinstance(part, Perturbation)]

    @property
    def parameters(self) -> Parameters | Estimate | None:
        """The part that chooses θ, if there is one."""
        return next((part for part in self.parts if isinstance(part, Parameters | Estimate)), None)


def continuous(uncertainty: UncertaintySet) -> bool:
    """Whether the adversary has more than finitely many choices even on a finite domain."""
    _parts(uncertainty)  # refuses what is no uncertainty set
    return uncertainty.parameters is not None and isinstance(uncertainty.parameters.theta, Space)


def _parts(uncertainty: UncertaintySet) -> tuple[UncertaintySet, ...]:
    if not isinstance(uncertainty, UncertaintySet):
        raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {uncertainty!r}")
    return tuple(uncertainty.parts) if isinstance(uncertainty, Combined) else (uncertainty,)


def _within(A: Array, B: Array, reach: Array, order: float) -> Mask:
    from scipy.spatial.distance import cdist

    free = np.flatnonzero(reach > 0)
    inside = np.ones((len(A), len(B)), dtype=bool)
    if len(free):
        metric: Literal["cityblock", "euclidean", "chebyshev"]
        metric = "cityblock" if order == 1 else "euclidean" if order == 2 else "chebyshev"
        origin = B[:, free].min(axis=0)  # differences of large numbers are exact, of their quotients they are not
        limit = boundary(reach, np.abs(B).max(axis=0))
        inside = cdist((A[:, free] - origin) / reach[free], (B[:, free] - origin) / reach[free], metric) <= limit
    return inside & _same(A, B, np.flatnonzero(reach == 0))


def _same(A: Array, B: Array, columns: NDArray[np.intp]) -> Mask:
    same = np.ones((len(A), len(B)), dtype=bool)
    for c in columns:
        same &= A[:, c, None] == B[None, :, c]
    return same


def _scalar(distance: Any) -> float:
    if np.ndim(distance) != 0 or np.asarray(distance).dtype.kind not in "iuf":
        raise ValueError(f"expected a distance that is one number, got {distance!r:.200}")
    return float(distance)


def _number(member: Any) -> int:
    if isinstance(member, bool) or not isinstance(member, int | np.integer):
        raise ValueError(f"expected members of groups as numbers of points, 0, 1, 2, ..., got {member!r}")
    return int(member)


def _name(name: Any) -> str | int:
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise TypeError(f"expected names of groups as strings or whole numbers, got {name!r}")
    return str(name) if isinstance(name, str) else int(name)


def _eps(eps: float) -> float:
    if isinstance(eps, bool) or not isinstance(eps, int | float | np.number) or not (math.isfinite(eps) and eps >= 0):
        raise ValueError(f"expected eps as a finite number >= 0, got {eps!r}")
    return float(eps)


def _lengths(values: Any, what: str, *, least: float, strict: bool) -> float | tuple[float, ...]:
    array = numbers(values, what)
    wrong = ~np.isfinite(array) | (array <= least if strict else array < least)
    if array.ndim > 1 or np.any(wrong):
        raise ValueError(f"expected {what} as finite numbers {'>' if strict else '>='} {least}, got {values}")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _columns(columns: Sequence[int | str] | None) -> tuple[int | str, ...] | None:
    if columns is None:
        return None
    if np.ndim(columns) != 1:
        raise ValueError(f"expected a list of column numbers or names, got {columns!r}")
    chosen = tuple(c if isinstance(c, str) else int(c) for c in columns)
    if not chosen or any(c < 0 for c in chosen if isinstance(c, int)) or len(set(chosen)) < len(chosen):
        raise ValueError(f"expected distinct column numbers from 0, or names, got {list(columns)}")
    return chosen


def _rows(theta: ArrayLike | Space) -> Array:
    if isinstance(theta, Space):
        raise TypeError(f"expected finitely many parameters as rows, got {theta}")
    return np.asarray(theta)


def _plain_point(space: Space, estimate: Any) -> tuple[Any, ...]:
    """The values of an estimate that is a point of the space: in the order of its variables, whatever their names."""
    names = space.flat_names
    if isinstance(estimate, tuple | list) and names is not None and len(estimate) == len(names):
        estimate = dict(zip(names, estimate, strict=True))
    space.encode(estimate, "estimate")
    values = np.atleast_1d(np.asarray(estimate, dtype=object)) if names is None else [estimate[n] for n in names]
    return tuple(v.item() if isinstance(v, np.generic) else v for v in values)


def _spread(values: ArrayLike, free: list[int], dim: int, what: str) -> Array:
    lengths = np.asarray(values, dtype=float)
    lengths = np.full(len(free), lengths) if lengths.ndim == 0 else lengths
    if len(lengths) != len(free):
        raise ValueError(f"expected {len(free)} {what}, one per free coordinate, got {len(lengths)}")
    full = np.zeros(dim)
    full[free] = vector(lengths, len(free), what)
    return full
