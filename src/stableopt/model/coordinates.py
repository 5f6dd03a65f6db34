"""Hyperparameters of kernels as numbers without constraints: logs of positive ones, logits of correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import positive, share

LEARNED = ("lengthscale", "variance", "correlation")  # fields of these names are hyperparameters in every kernel


def check_declared(owner: str, names: tuple[str, ...], fields: set[str]) -> None:
    """Refuse hyperparameters that a class declares and does not have, or that a GP has itself."""
    if isinstance(names, str) or not fields.issuperset(names) or not {"noise", "mean"}.isdisjoint(names):
        raise TypeError(
            f"expected {owner}.hyperparameters as a tuple of names of its fields, neither noise nor mean, "
            f"got {names!r}: write hyperparameters = ('period',) for a field period: float"
        )


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
