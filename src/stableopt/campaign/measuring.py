"""One evaluation of a user's function: a value, or why there is none. Whoever measures calls this, in any process."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from stableopt.base.checks import LARGEST_VALUE, is_value

Objective = Callable[[Any], Any]
Outcome = tuple[float | None, str]
"""A value and "", or None and why there is none."""


def measure(f: Objective, point: Any) -> Outcome:
    """One value of f, or None and why there is none."""
    where = point.tolist() if isinstance(point, np.ndarray) else copy.copy(point)  # f may change the point
    try:
        y = f(point)
    except Exception as error:  # what a user's function may raise is not for us to know
        return None, f"{said(error)} (at {where})"
    if np.ma.is_masked(y):
        return None, f"a masked value (at {where})"
    try:
        wrong = y is None or isinstance(y, str | bytes | Sequence | Mapping) or np.asarray(y).dtype.kind not in "biufO"
        number = math.nan if wrong else float(np.asarray(y).reshape(()))
    except OverflowError:
        number, wrong = math.inf, False
    except (TypeError, ValueError):
        wrong = True
    if wrong:
        raise TypeError(
            f"expected the function to return one number (NaN where that failed), got {y!r:.200} at {where}"
        )
    if not is_value(number):
        return None, f"the value {number}{f', beyond {LARGEST_VALUE:g}' if math.isfinite(number) else ''} (at {where})"
    return number, ""


def said(error: BaseException) -> str:
    """What an exception says, whatever its class makes of that."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
