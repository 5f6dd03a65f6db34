"""Which decisions are allowed: a rule of the user's on the inputs alone, known exactly, which costs no measurement.

Only decisions are restricted, not the points that an adversary makes of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.sets.spaces import Space
from stableopt.sets.variables import Integer, Range

Rule = Callable[[Any], Any]
"""From a decision as a user sees it to True or False."""

_TRIED = 64  # decisions on which a rule is tried, one by one and all at once
_NEIGHBOURS = (math.nan, math.inf, -math.inf)  # beside which it must say the same of each of them


def holds(rule: Rule, decision: Any) -> bool:
    """What a rule says of a decision; an error if it raises or says neither True nor False."""
    try:
        answer = rule(decision)
    except Exception as error:  # what a user's function may raise is not for us to know
        raise ValueError(
            f"expected where=... to return True or False for every decision, got {type(error).__name__}: {error} at "
            f"{decision!r:.200}"
        ) from error
    if not isinstance(answer, bool | np.bool_):
        raise ValueError(f"expected where=... to return True or False, got {answer!r:.200} at {decision!r:.200}")
    return bool(answer)


@dataclass(frozen=True, eq=False)
class Allowed:
    """A rule for the rows of a space.

    Most rules, such as ``point["a"] + point["b"] <= 1``, also take arrays. Where a rule says the same of many
    decisions at once as one by one, whatever stands beside them, that is used, which is a hundred times faster. A rule
    with a sum or a maximum over all numbers that it gets, such as ``x[0] <= 0.9 * x.sum()``, depends on what stands
    beside a decision.
    """

    rule: Rule
    space: Space

    def __post_init__(self) -> None:
        if not callable(self.rule):
            raise TypeError(f"expected where=... as a function of a decision, got {self.rule!r:.200}")

    def __call__(self, rows: Array) -> Mask:
        """Which of the rows (n, d) are allowed (n,)."""
        if self._takes_arrays and len(rows):
            answer = self._at_once(rows)
            if answer is not None:
                return answer
        return np.array([holds(self.rule, point) for point in self.space.decoded(rows)], dtype=bool)

    @cached_property
    def _takes_arrays(self) -> bool:
        rows = self.space.spread(_TRIED, 0)
        one_by_one = [holds(self.rule, point) for point in self.space.decoded(rows)]
        if not all(isinstance(v, Range) for v in self.space.parts):
            return False
        answers = [self._at_once(rows), *(self._at_once(rows, beside) for beside in _NEIGHBOURS)]
        return all(answer is not None and answer[: len(rows)].tolist() == one_by_one for answer in answers)

    def _at_once(self, rows: Array, beside: float | None = None) -> Mask | None:
        """What the rule says of all rows together, and of one that is made of nothing but ``beside``; None if it fails.

        It fails if it does not take arrays.
        """
        rows = self.space.settable(rows, decision=True)
        parts = enumerate(self.space.parts)
        columns = [v.value(rows[:, j]) for j, v in parts if isinstance(v, Range)]
        columns = [np.rint(c) if isinstance(v, Integer) else c for c, v in zip(columns, self.space.parts, strict=True)]
        if beside is not None:
            columns = [np.append(column, beside) for column in columns]
        names, count = self.space.flat_names, len(rows) + (beside is not None)
        try:
            with np.errstate(all="ignore"):
                answer = self.rule(np.array(columns) if names is None else dict(zip(names, columns, strict=True)))
        except Exception:
            return None
        good = isinstance(answer, np.ndarray) and answer.dtype == bool and answer.shape == (count,)
        return answer if good else None
