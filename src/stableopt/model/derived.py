"""What every kernel gets for free: coordinates of its hyperparameters, derivatives of its values, checks of both.

Coordinates are numbers without constraints: logs of positive hyperparameters, logits of correlations. Derivatives are
central differences. Nothing here knows kernels: fields have names and values, functions are differentiated, arrays are
compared with their expected shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import positive, share

LEARNED = ("lengthscale", "variance", "correlation")  # fields of these names are hyperparameters in every kernel
_STEP = float(np.cbrt(np.finfo(float).eps))  # relative: errors of truncation and of rounding are about equal


def prefix(name: str) -> str:
    """What the coordinate of a field is called before its name."""
    return "logit_" if name == "correlation" else "log_"


def unconstrained(name: str, value: float | Sequence[float]) -> Array:
    """The coordinates of a field, one or several."""
    logs = np.asarray(np.log(np.atleast_1d(value)), dtype=float)
    return logs if name != "correlation" else logs - np.log1p(-np.atleast_1d(value))


def constrained(name: str, like: float | Sequence[float], coordinates: Array) -> float | list[float]:
    """The value of a field from its coordinates: a number or several, as it was before."""
    with np.errstate(over="ignore"):  # the constructor of the kernel refuses infinite values
        numbers = np.exp(coordinates if name != "correlation" else -np.logaddexp(0.0, -coordinates))
    several: list[float] = numbers.tolist()
    return several if isinstance(like, Sequence) else several[0]


def checked_value(name: str, value: Any) -> float | tuple[float, ...]:
    """The value of a field as a plain number or as several, or an error that names the field."""
    if name == "correlation":
        return share(value, "a correlation strictly between 0 and 1", "try 0.5")
    dimensions = 0 if name == "variance" else np.ndim(value)
    if dimensions == 0:
        return strictly_positive(name, value)
    if dimensions > 1 or len(value) == 0:
        raise ValueError(f"expected {name} to be a number or a sequence with one per column, got {value}")
    return tuple(strictly_positive(name, part) for part in value)


def strictly_positive(name: str, value: float) -> float:
    """A field that is a positive finite number, or an error that names it."""
    return positive(value, f"a positive finite {name}", "pass a number above 0")


class NotFiniteError(ValueError):
    """The values of a kernel of one's own are NaN or infinite. A search for hyperparameters steps back from there."""


def by_entries(function: Callable[[Array], Array], vector: Array) -> Iterator[Array]:
    """The derivative of a function of a vector by each of its entries, which are of size 1 or so."""
    for axis in np.eye(len(vector)):
        yield _derivative(function, vector, _STEP * axis, _STEP)


def by_columns(function: Callable[[Array], Array], X: Array, around: Array) -> Iterator[Array]:
    """The derivative of a function of points by each of their coordinates, all points moving together.

    The step is small against the span of the points ``around``, and large against their rounding.
    """
    size = np.abs(around).max(axis=0, initial=0.0)
    span = around.max(axis=0, initial=-np.inf) - around.min(axis=0, initial=np.inf)
    unit = np.where(span > 0, span, np.where(size > 0, size, 1.0))
    rounding = np.maximum(np.finfo(float).eps, np.spacing(size) / unit)  # relative; large far from the origin
    exponents = np.round(np.log2(np.cbrt(rounding) * unit))
    for axis, step in zip(np.eye(X.shape[1]), 2.0**exponents, strict=True):  # by a power of two, x moves exactly
        yield _derivative(function, X, step * axis, float(step))


def _derivative(function: Callable[[Array], Array], x: Array, move: Array, step: float) -> Array:
    """From both sides, or from one only where the other has no value."""
    with np.errstate(all="ignore"):
        above, below = function(x + move), function(x - move)
        slope = (above - below) / (2 * step)
        if not np.isfinite(slope).all():  # such as at the end of the range, for a kernel of log x
            here = function(x)
            one_sided = np.where(np.isfinite(above), above - here, here - below) / step
            slope = np.where(np.isfinite(slope), slope, one_sided)
    return slope


def shaped(source: str, given: Any, shape: tuple[int, ...]) -> Array:
    """What a method gave, as a new array, or an error that names the method if the shape is wrong."""
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != shape:
        got = f"shape {array.shape}" if array.ndim else f"{given!r:.100}"
        remedy = "it has one row per row of X and one column per row of Z"
        raise ValueError(f"expected an array of shape {shape} from {source}, got {got}: {remedy}")
    return array


def finite(source: str, given: Any, shape: tuple[int, ...], error: type[ValueError] = ValueError) -> Array:
    """What a method gave, as a new array, or an error that names the method if something is wrong."""
    array = shaped(source, given, shape)
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        remedy = "check_kernel(kernel, X) tests a kernel on points of your choice"
        raise error(f"expected finite numbers from {source}, got {array[at]} at {list(at)}: {remedy}")
    return array
