"""Where decisions live: finitely many scattered points, or a regular grid.

A domain only knows its points. What the adversary may do with them is an uncertainty set.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, cartesian, frozen
from stableopt.base.checks import is_whole, listed, matrix, numbers, row_of, vector
from stableopt.base.values import Value


class Domain(Value, ABC):
    """A finite set D of points with p coordinates, numbered from 0."""

    @property
    @abstractmethod
    def blocks(self) -> tuple[Array, ...]:
        """D as a product: every combination of one row per block is a point, the last block varies fastest."""

    @abstractmethod
    def locate(self, x: ArrayLike) -> int:
        """The number of the point x; an error that names the nearest point if x is not in D."""

    @cached_property
    def points(self) -> Array:
        """All points (n, p)."""
        return frozen(cartesian(self.blocks))

    @property
    def dim(self) -> int:
        """Number p of coordinates."""
        return sum(block.shape[1] for block in self.blocks)

    def __len__(self) -> int:
        return math.prod(len(block) for block in self.blocks)


@dataclass(frozen=True, eq=False, repr=False)
class Points(Domain):
    """Scattered points, one per row; a flat list means points with one coordinate.

    Duplicate rows are refused: a decision must have one number.
    """

    values: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", matrix(self.values, "points"))

    @property
    def blocks(self) -> tuple[Array, ...]:
        return (np.asarray(self.values),)

    def locate(self, x: ArrayLike) -> int:
        return row_of(np.asarray(self.values), x, "point")

    def __repr__(self) -> str:
        return f"Points({len(self)} points with {self.dim} coordinates)"


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Domain):
    """Every combination of values on evenly spaced axes; the last axis varies fastest."""

    axes: Sequence[ArrayLike]

    def __post_init__(self) -> None:
        if not isinstance(self.axes, Sequence | np.ndarray) or not len(self.axes):
            raise ValueError(f"expected a grid as a list of at least one axis, got {self.axes!r}")
        object.__setattr__(self, "axes", tuple(_axis(values, i) for i, values in enumerate(self.axes)))
        _check_size(self.shape)

    @classmethod
    def linspace(cls, lower: ArrayLike, upper: ArrayLike, num: int | Sequence[int]) -> Grid:
        """A grid from lower to upper, both included, with ``num`` values on each axis."""
        low, high = np.atleast_1d(numbers(lower, "lower")), np.atleast_1d(numbers(upper, "upper"))
        if low.ndim != 1 or low.shape != high.shape or not np.all(np.isfinite([low, high])):
            got = f"{low.tolist()} and {high.tolist()}"
            raise ValueError(f"expected lower and upper as finite numbers, equally many, got {got!s:.200}")
        counts: Sequence[Any] = (
            [num] * len(low) if np.ndim(num) == 0 else listed(num, "a number of values for each axis")
        )
        if len(counts) != len(low) or not all(is_whole(n, 1) for n in counts):
            raise ValueError(f"expected the number of values on each axis as 1, 2, 3, ..., got {num!r:.200}")
        _check_size([int(n) for n in counts])
        return cls([np.linspace(a, b, int(n)) for a, b, n in zip(low, high, counts, strict=True)])

    @property
    def blocks(self) -> tuple[Array, ...]:
        return tuple(np.asarray(axis)[:, None] for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values on each axis."""
        return tuple(len(block) for block in self.blocks)

    @property
    def steps(self) -> Array:
        """Distance of neighbouring values on each axis; infinite on an axis with one value."""
        axes = [block[:, 0] for block in self.blocks]
        return np.array([(axis[-1] - axis[0]) / (len(axis) - 1) if len(axis) > 1 else math.inf for axis in axes])

    def locate(self, x: ArrayLike) -> int:
        point = vector(x, self.dim, "point")
        rows = [int(np.argmin(np.abs(block[:, 0] - c))) for block, c in zip(self.blocks, point, strict=True)]
        nearest = np.array([block[i, 0] for block, i in zip(self.blocks, rows, strict=True)])
        steps = np.where(np.isfinite(self.steps), self.steps, 0.0)
        if np.any(np.abs(nearest - point) > 1e-6 * steps + 1e-12 * np.abs(point)):
            raise ValueError(f"point {point.tolist()} is not in the domain; the nearest that is: {nearest.tolist()}")
        return int(np.ravel_multi_index(rows, self.shape))

    def __repr__(self) -> str:
        return f"Grid({' × '.join(map(str, self.shape))})"


def _check_size(shape: Sequence[int]) -> None:
    """Refuse a grid of more points than a posterior on all of them fits into memory, before anything is listed."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        memory = 2**36
    needed = 8 * (len(shape) + 6) * math.prod(shape)  # coordinates, mean, variance, bounds and what they are made in
    if needed > memory:
        size = f"{' × '.join(map(str, shape))} = {math.prod(shape):.3g} points, which need {needed / 1e9:.3g} GB"
        remedy = "take fewer steps, or a Space, which is searched and not listed"
        raise ValueError(f"expected a grid that fits into {memory / 1e9:.3g} GB of memory, got {size}: {remedy}")


def _axis(values: ArrayLike, number: int) -> Array:
    axis = numbers(values, f"axis {number}")
    if axis.ndim != 1 or axis.size == 0:
        raise ValueError(f"expected axis {number} as a list of numbers, got {values!r:.200}")
    axis = vector(axis, len(axis), f"axis {number}").copy()
    step = (axis[-1] - axis[0]) / max(1, len(axis) - 1)
    rounding = 4 * np.spacing(np.abs(axis).max())
    uneven = np.abs(axis - np.linspace(axis[0], axis[-1], len(axis))) > 1e-6 * step + rounding
    if len(axis) > 1 and (step <= 4 * rounding or np.any(uneven)):
        raise ValueError(
            f"expected axis {number} to increase in equal steps, got {np.array2string(axis, threshold=6)}; "
            "other sets of points: Points(...)"
        )
    return frozen(axis)
