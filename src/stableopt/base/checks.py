"""Checks of what a user passes: each returns the value in its usual type, or raises an error that names the remedy.

An error says what was expected, what came, and what to do: ``expected noise above 0, got -1: ...``. The caller writes
the first and the last part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 1e308  # what is beyond is infinite, or will be after the next step
LARGEST_NOISE = 1e150  # standard deviation: its square is a number


def is_number(value: Any) -> bool:
    """Whether it is one real number, finite, and no truth value."""
    value = value.item() if isinstance(value, np.generic) else value  # a comparison of float32 with 1e308 overflows
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def is_whole(value: Any, least: int) -> bool:
    """Whether it is a whole number (of an integer type, and no truth value) of at least ``least``."""
    return isinstance(value, int | np.integer) and is_number(value) and bool(value >= least)


def is_deviation(value: Any) -> bool:
    """Whether it can be the standard deviation of noise."""
    return is_number(value) and bool(0 < value < LARGEST_NOISE)


def whole(value: Any, least: int, expected: str, remedy: str = "") -> int:
    """A whole number of at least ``least``."""
    if not is_whole(value, least):
        raise _refusal(value, expected, remedy)
    return int(value)


def number(value: Any, expected: str, remedy: str = "") -> float:
    """A finite number."""
    if not is_number(value):
        raise _refusal(value, expected, remedy)
    return float(value)


def positive(value: Any, expected: str, remedy: str = "") -> float:
    """A finite number above 0."""
    if not (is_number(value) and value > 0):
        raise _refusal(value, expected, remedy)
    return float(value)


def not_negative(value: Any, expected: str, remedy: str = "") -> float:
    """A finite number of at least 0."""
    if not (is_number(value) and value >= 0):
        raise _refusal(value, expected, remedy)
    return float(value)


def share(value: Any, expected: str, remedy: str = "") -> float:
    """A number strictly between 0 and 1, such as a probability or a correlation."""
    if not (is_number(value) and 0 < value < 1):
        raise _refusal(value, expected, remedy)
    return float(value)


def deviation(value: Any, expected: str, remedy: str = "") -> float:
    """The standard deviation of noise: above 0, and its square is a number."""
    if not is_deviation(value):
        raise _refusal(value, expected, remedy)
    return float(value)


def _refusal(value: Any, expected: str, remedy: str) -> ValueError:
    return ValueError(f"expected {expected}, got {value!r:.200}{': ' if remedy else ''}{remedy}")


def matrix(values: ArrayLike, what: str) -> NDArray[np.float64]:
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
    array.flags.writeable = False
    return array


def numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """An array of numbers, or an error that says what they should have been."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"expected {what} as numbers, equally many in each row, got {values!r:.200}") from None
    if array.dtype.kind not in "iuf" and array.size:
        raise ValueError(f"expected {what} as numbers, got {values!r:.200}")
    return array.astype(float)


def row_of(array: NDArray[np.float64], value: ArrayLike, what: str, where: str = "the domain") -> int:
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


def vector(value: ArrayLike, length: int, what: str) -> NDArray[np.float64]:
    """The value as a finite vector of this length."""
    point = np.atleast_1d(numbers(value, what))
    if point.shape != (length,):
        raise ValueError(f"expected {what} with {length} coordinates, got shape {np.shape(value)}")
    if not np.all(np.isfinite(point)):
        raise ValueError(f"expected a finite {what}, got {point.tolist()}")
    return point
