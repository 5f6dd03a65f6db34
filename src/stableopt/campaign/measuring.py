"""One evaluation of a user's function: values by name, or why there are none. Whoever measures calls this, anywhere."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.checks import LARGEST_VALUE, is_value, nearest

Objective = Callable[[Any], Any]
Outcome = tuple[Mapping[str, float] | None, str]
"""Values by name and "", or None and why there are none."""


class Measuring(NamedTuple):
    """A user's function, and the names of what it returns: that of the value first, then those of constraints."""

    f: Objective
    names: tuple[str, ...] = ("value",)

    def __call__(self, point: Any) -> Outcome:
        """What f says of a point. One that was not measured is left out; if none was, or one is infinite, why."""
        where = point.tolist() if isinstance(point, np.ndarray) else copy.copy(point)  # f may change the point
        try:
            y = self.f(point)
        except Exception as error:  # what a user's function may raise is not for us to know
            return None, f"{said(error)} (at {where})"
        given = by_name(y, self.names[0])
        if y is not None:  # which nobody means: the function forgot to return anything
            given = {name: math.nan if v is None else v for name, v in given.items()}
        read = {name: _number(given[name]) for name in self.names if name in given}
        found = {name: number for name, number in read.items() if number is not None}
        if len(found) < len(self.names):
            raise TypeError(
                f"expected the function to return {self._expected}, got {y!r:.200} at {where}{self._meant(given)}"
            )
        values = {name: number for name, number in found.items() if is_value(number)}
        # An infinite stress was measured, and says that something is wrong there: that must not count as unknown.
        infinite = {name: number for name, number in found.items() if name not in values and not math.isnan(number)}
        if values and not infinite:
            return values, ""
        wrong = ", ".join(_why(n if len(found) > 1 else "the value", v) for n, v in (infinite or found).items())
        return None, f"{wrong} (at {where})"

    def _meant(self, given: Mapping[str, Any]) -> str:
        """Which name is missing, and which one of those that f returned may stand for it."""
        missing = next((name for name in self.names if name not in given), None)
        others = [str(name) for name in given if name not in self.names]
        if missing is None:
            return ""
        close = nearest(missing, others)
        if missing == self.names[0] and others:
            return close.replace("mean ", "mean value=") or f": did you mean value={others[0]!r}?"
        return f": there is no {missing!r}{close}"

    @property
    def _expected(self) -> str:
        if len(self.names) == 1:
            return "one number (NaN where that failed)"
        return f"numbers for {list(self.names)} by name (None or NaN where one was not measured)"


def by_name(y: Any, value: str) -> dict[str, Any]:
    """What was measured by name: y is the value, a dictionary, or the value and a dictionary of the others."""
    if isinstance(y, tuple) and len(y) == 2 and isinstance(y[1], Mapping) and value not in y[1]:
        return {value: y[0], **y[1]}
    return dict(y) if isinstance(y, Mapping) else {value: y}


def _number(y: Any) -> float | None:
    """A number that was returned, NaN if it says that there is none; None if it cannot be meant as a number."""
    if np.ma.is_masked(y):
        return math.nan
    if y is None or isinstance(y, str | bytes | Sequence | Mapping):
        return None
    try:
        return float(np.asarray(y).reshape(())) if np.asarray(y).dtype.kind in "biufO" else None
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def _why(name: str, number: float) -> str:
    return f"{name} {number}{f', beyond {LARGEST_VALUE:g}' if math.isfinite(number) else ''}"


def said(error: BaseException) -> str:
    """What an exception says, whatever its class makes of that."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
