"""Sets of one's own: described by functions (`Within`, `Distance`), or by a class (`OwnSet`).

Notation, beside that of `perturbations`
    X, Z   (n, k), (n, k)  the coordinates that may change, row by row: x, and where it is to be moved
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.base.checks import not_negative
from stableopt.sets.perturbations import BOUNDARY, column_list, same_but
from stableopt.sets.uncertainty import Perturbation


class RowwiseSet(Perturbation, ABC):
    """A set with a membership test and a projection, both row by row."""

    @abstractmethod
    def members(self, X: Array, Z: Array) -> Mask:
        """Row by row, whether z is in the set of x (n,)."""

    @abstractmethod
    def projected(self, X: Array, Z: Array) -> Array:
        """Row by row, the nearest z in the set of x (n, k)."""

    def reaches(self, A: Array, B: Array) -> Mask:
        free = self.free(A.shape[1])
        inside = self.members(np.repeat(A[:, free], len(B), axis=0), np.tile(B[:, free], (len(A), 1)))
        return inside.reshape(len(A), len(B)) & same_but(free, A, B)

    def scaled(self, factor: float) -> Perturbation:
        raise ValueError("expected a set with a size, such as Ball(0.1): a set of your own cannot be made larger")


class OwnSet(RowwiseSet):
    """Base of a set of your own: a frozen dataclass with `contains`, and with `project` for continuous domains.

    Both get rows of the coordinates that may change, in your own units: all numbers, unless a field ``columns`` names
    some. In a space with whole numbers it must name floats.
    With `scaled`, the set has stability profiles, too.
    """

    columns: Sequence[int | str] | None = None

    @abstractmethod
    def contains(self, X: Array, Z: Array) -> Any:
        """Row by row, whether x may become z: n truth values for rows X (n, k) and Z (n, k)."""

    def project(self, X: Array, Z: Array) -> Any:
        """Row by row, the nearest point to z that x may become (n, k); only continuous domains need it."""
        name = type(self).__name__
        raise ValueError(f"expected {name}.project(X, Z) for a continuous domain, got none: write it, or use a list")

    def members(self, X: Array, Z: Array) -> Mask:
        found = np.asarray(self.contains(X, Z))
        if found.shape != (len(X),) or found.dtype != bool:
            raise ValueError(
                f"expected {type(self).__name__}.contains to return {len(X)} truth values, got "
                f"{found.dtype} of shape {found.shape}: reduce the coordinates with .all(axis=1)"
            )
        return found

    def projected(self, X: Array, Z: Array) -> Array:
        found = np.asarray(self.project(X, Z))
        if found.shape != Z.shape or found.dtype.kind not in "iuf" or not np.all(np.isfinite(found)):
            raise ValueError(
                f"expected {type(self).__name__}.project to return finite numbers of shape {Z.shape}, got "
                f"{found.dtype} of shape {found.shape}: {found!r:.200}"
            )
        return found.astype(float)


@dataclass(frozen=True, eq=False)
class Within(RowwiseSet):
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
        vars(self).update(columns=column_list(self.columns))
        contains, project = self.contains, self.project
        if not callable(contains) or not (project is None or callable(project)):
            raise TypeError(f"expected functions contains(x, z) and project(x, z), got {contains!r}, {project!r}")

    def members(self, X: Array, Z: Array) -> Mask:
        try:
            if self.vectorized:
                return np.asarray(self.contains(X, Z), dtype=bool).reshape(len(X))
            return np.array([bool(self.contains(x, z)) for x, z in zip(X, Z, strict=True)], dtype=bool)
        except ValueError as error:
            what = f"{len(X)} truth values for as many rows" if self.vectorized else "True or False"
            raise ValueError(f"expected contains(x, z) to return {what}, got what NumPy says of it: {error}") from error

    def projected(self, X: Array, Z: Array) -> Array:
        if self.project is None:
            raise ValueError("expected a projection for a continuous domain: Within(contains, project)")
        nearest = self.project(X, Z) if self.vectorized else [self.project(x, z) for x, z in zip(X, Z, strict=True)]
        rows = np.asarray(nearest, dtype=float) if len(Z) else Z
        if rows.shape != Z.shape or not np.all(np.isfinite(rows)):
            raise ValueError(f"expected project(x, z) to return {Z.shape[1]} finite coordinates, got {nearest!r:.200}")
        return rows


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
        return replace(self, eps=factor * self.eps)

    def __post_init__(self) -> None:
        vars(self).update(eps=not_negative(self.eps, "eps as a finite number >= 0"), columns=column_list(self.columns))
        if not callable(self.distance):
            raise TypeError(f"expected a function distance(x, x') of two points, got {self.distance!r}")

    def reaches(self, A: Array, B: Array) -> Mask:
        free = self.free(A.shape[1])
        if len(free) < A.shape[1]:
            return replace(self, columns=None).reaches(A[:, free], B[:, free]) & same_but(free, A, B)
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


def _scalar(distance: Any) -> float:
    if np.ndim(distance) != 0 or np.asarray(distance).dtype.kind not in "iuf":
        raise ValueError(f"expected a distance that is one number, got {distance!r:.200}")
    return float(distance)
