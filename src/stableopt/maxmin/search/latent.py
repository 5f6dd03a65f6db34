"""A function that is an increasing transformation of another one is searched as that one.

Decisions and worst cases are the same, and the values come back transformed. But a search goes by differences of
values: what is far below everything else, and stretched, would be all that it sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from stableopt.base.arrays import Array
from stableopt.maxmin.solver import Choice, Hints, Row, Smooth, Solver

_NO_HINTS: Hints[Row] = Hints()


@runtime_checkable
class Transformed(Protocol):
    """A `Smooth` function that is an increasing transformation of another one."""

    @property
    def latent(self) -> Smooth:
        """The other one."""

    def outside(self, values: float) -> Array:
        """What this one is where the other one has these values."""

    def inside(self, values: float) -> Array:
        """What the other one is where this one has these values."""


class LatentMaxMin(NamedTuple):
    """A `Solver` that leaves it to another one to search, for what was transformed."""

    solver: Solver[Row, Smooth]

    def maximin(
        self, F: Smooth, hints: Hints[Row] = _NO_HINTS, subject_to: Sequence[Smooth] = (), near: Row | None = None
    ) -> Choice[Row]:
        return _outside(F, self.solver.maximin(_inside(F), hints, subject_to, near))

    def maximins(self, functions: Sequence[Smooth], hints: Sequence[Hints[Row]]) -> list[Choice[Row]]:
        return list(map(_outside, functions, self.solver.maximins(list(map(_inside, functions)), hints)))

    def jointly(self, functions: Sequence[Smooth], hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        """They are compared with each other, so they are searched as they are."""
        return self.solver.jointly(functions, hints)

    def worst(self, decision: Row, F: Smooth, hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        return _outside(F, self.solver.worst(decision, _inside(F), hints))

    def worsts(self, decision: Row, functions: Sequence[Smooth], hints: Hints[Row] = _NO_HINTS) -> list[Choice[Row]]:
        return list(map(_outside, functions, self.solver.worsts(decision, list(map(_inside, functions)), hints)))

    def minima(self, decisions: Sequence[Row], F: Smooth, hints: Hints[Row] = _NO_HINTS) -> list[Choice[Row]]:
        return [_outside(F, choice) for choice in self.solver.minima(decisions, _inside(F), hints)]

    def best(self, decisions: Sequence[Row], F: Smooth, hints: Hints[Row] = _NO_HINTS) -> Choice[Row]:
        return _outside(F, self.solver.best(decisions, _inside(F), hints))

    def leading(
        self, decisions: Sequence[Row], F: Smooth, count: int, hints: Hints[Row] = _NO_HINTS, above: float = -math.inf
    ) -> list[Choice[Row]]:
        least = float(F.inside(above)) if isinstance(F, Transformed) and math.isfinite(above) else above
        return [_outside(F, choice) for choice in self.solver.leading(decisions, _inside(F), count, hints, least)]


def _inside(F: Smooth) -> Smooth:
    return F.latent if isinstance(F, Transformed) else F


def _outside(F: Smooth, choice: Choice[Row]) -> Choice[Row]:
    if not isinstance(F, Transformed) or math.isnan(choice.value):
        return choice
    value = float(F.outside(choice.value))
    return choice._replace(value=value, gap=float(F.outside(choice.value + choice.gap)) - value)
