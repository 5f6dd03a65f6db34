"""Checks of what a user passes: each returns the value in its usual type, or says what was expected and what to do."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST_NOISE = 1e150  # standard deviation: its square is a number
LARGEST_VALUE = 1e140  # of f: its square is a number, also times very many observations, and so is that of its inverse


def is_number(value: Any) -> bool:
    """Whether it is one real number, finite, and no truth value."""
    value = value.item() if isinstance(value, np.generic) else value  # a comparison of float32 with 1e308 overflows
    # What is beyond 1e308 is infinite, or will be after the next step.
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e308 <= value <= 1e308


def is_value(value: Any) -> bool:
    """Whether it is a number that f may have: beyond, the arithmetic of models would overflow."""
    return is_number(value) and -LARGEST_VALUE <= float(value) <= LARGEST_VALUE


def is_whole(value: Any, least: int) -> bool:
    """Whether it is a whole number (of an integer type, and no truth value) of at least ``least``."""
    return isinstance(value, int | np.integer) and is_number(value) and bool(value >= least)


def whole(value: Any, least: int, expected: str, remedy: str = "") -> int:
    """A whole number of at least ``least``."""
    return int(_good(is_whole(value, least), value, expected, remedy))


def not_negative(value: Any, expected: str, remedy: str = "") -> float:
    """A finite number of at least 0."""
    return float(_good(is_number(value) and value >= 0, value, expected, remedy))


def number(value: Any, expected: str, remedy: str = "", above: float = -math.inf, below: float = math.inf) -> float:
    """A finite number, strictly between two limits."""
    return float(_good(is_number(value) and above < float(value) < below, value, expected, remedy))


positive = partial(number, above=0)
share = partial(number, above=0, below=1)  # such as a probability or a correlation
deviation = partial(number, above=0, below=LARGEST_NOISE)  # of noise


def _good(good: bool, value: Any, expected: str, remedy: str) -> Any:
    if not good:
        raise ValueError(f"expected {expected}, got {_shown(value)}{': ' if remedy else ''}{remedy}")
    return value


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.200}"
    except ValueError:  # a whole number of more digits than Python prints
        return f"a number beyond 1e{sys.int_info.default_max_str_digits}"


def listed(values: Any, expected: str, remedy: str = "") -> list[Any]:
    """The items of anything that has them in an order; a string is none, nor is a dictionary."""
    scalar = isinstance(values, np.ndarray) and values.ndim == 0
    unordered = scalar or isinstance(values, str | bytes | Mapping | Set)
    return list(_good(isinstance(values, Iterable) and not unordered, values, expected, remedy))


def is_number_text(text: str) -> bool:
    """Whether a text is that of a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error about a name that is not known: the one that was meant, if it looks like one that is."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f": did you mean {close[0]!r}?" if close else ""


def destination(file: str | os.PathLike[str], what: str) -> Path:
    """The path of a file that can be written, or an error that says why it cannot."""
    path = no_folder(Path(file), what)
    if not path.parent.is_dir():
        wrong = "is a file" if path.parent.exists() else "is not there"
        raise FileNotFoundError(f"expected {what} in a folder, got {path}: {path.parent} {wrong}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"expected {what} where it can be written, got {path}: look at the permissions")
    return path


def no_folder(path: Path, what: str) -> Path:
    """The path, if it is not that of a folder."""
    if path.is_dir():
        raise IsADirectoryError(f"expected {what}, got {path}, which is a folder: add the name of a file")
    return path


def matrix(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """A read-only copy with one row per item; a flat list is one column. ``what`` names the rows in errors."""
    array = numbers(values, what).copy()
    array = array[:, None] if array.ndim == 1 else array
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


def unmasked(values: Any, what: str) -> Any:
    """The same values, if none of them is masked: NumPy would use what is behind the mask."""
    if np.ma.is_masked(values):
        raise ValueError(f"expected {what} without masked values, got {values.tolist()!r:.200}: fill or leave out")
    return values


def numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """An array of numbers, or an error that says what they should have been."""
    unmasked(values, what)
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
    span, distances = np.ptp(array, axis=0), np.abs(array - point)
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
