"""The few array helpers that both halves of the library (model and max-min) need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


def cartesian(blocks: Sequence[Array]) -> Array:
    """Every combination of one row from each block, side by side; the last block varies fastest."""
    if len(blocks) == 1:
        return blocks[0]
    indices = np.indices([len(block) for block in blocks]).reshape(len(blocks), -1)
    return np.hstack([block[i] for block, i in zip(blocks, indices, strict=True)])


class ReadOnly:
    """Base of values whose arrays are read-only, also in copies: pickling alone would make them writeable."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for item in state.values():
            for part in item if isinstance(item, tuple) else (item,):
                if isinstance(part, np.ndarray):
                    frozen(part)


def frozen(array: AnyArray) -> AnyArray:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def matrix(values: ArrayLike, what: str) -> Array:
    """A read-only copy with one row per item; a flat list is one column. ``what`` names the rows in errors."""
    array = numbers(values, what).copy()
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"expected {what} as rows of an (n, p) array with n, p >= 1, got shape {np.shape(values)}")
    if not np.all(np.isfinite(array)):
        row = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise ValueError(f"expected finite {what}, got {array[row].tolist()} in row {row}: remove or repair it")
    _, first, counts = np.unique(array, axis=0, return_index=True, return_counts=True)
    if len(first) < len(array):
        twice = array[first[np.argmax(counts > 1)]]
        rows = np.flatnonzero((array == twice).all(axis=1))[:2].tolist()
        raise ValueError(f"expected distinct {what}, got {twice.tolist()} in rows {rows}: np.unique(..., axis=0) helps")
    return frozen(array)


def numbers(values: ArrayLike, what: str) -> Array:
    """An array of numbers, or an error that says what they should have been."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"expected {what} as numbers, equally many in each row, got {values!r:.200}") from None
    if array.dtype.kind not in "iuf" and array.size:
        raise ValueError(f"expected {what} as numbers, got {values!r:.200}")
    return array.astype(float)


def is_number(value: Any) -> bool:
    """Whether it is one real number, finite, and no truth value."""
    known = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return known and bool(-1e308 < value < 1e308)


def row_of(array: Array, value: ArrayLike, what: str, where: str = "the domain") -> int:
    """Index of the row that equals the value (up to rounding); the error names the nearest row."""
    point = vector(value, array.shape[1], what)
    same = np.flatnonzero(array[:, 0] == point[0])
    for c in range(1, len(point)):
        same = same[array[same, c] == point[c]]
    if len(same):  # as almost always, and found far faster than the nearest row
        return int(same[0])
    span = np.ptp(array, axis=0)
    distances = np.abs(array - point)
    nearest = int(np.argmin((distances / np.where(span > 0, span, 1.0)).max(axis=1)))
    rounding = 1e-12 * np.maximum(np.abs(array[nearest]), np.abs(point)) + 1e-15 * span
    if np.any(distances[nearest] > rounding):
        raise ValueError(f"{what} {point.tolist()} is not in {where}; the nearest that is: {array[nearest].tolist()}")
    return nearest


def vector(value: ArrayLike, length: int, what: str) -> Array:
    """The value as a finite vector of this length."""
    point = np.atleast_1d(numbers(value, what))
    if point.shape != (length,):
        raise ValueError(f"expected {what} with {length} coordinates, got shape {np.shape(value)}")
    if not np.all(np.isfinite(point)):
        raise ValueError(f"expected a finite {what}, got {point.tolist()}")
    return point
