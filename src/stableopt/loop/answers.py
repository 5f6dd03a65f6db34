"""What the optimiser says: the point to measure next, and the decision to use with the bounds on its worst case."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from stableopt.base.values import ReadOnly
from stableopt.loop.outputs import Margin
from stableopt.maxmin.solver import Index

_LONG = 12  # numbers of a point that are shown; of more, the first ones
_DIGITS = 15  # that a number has

KEPT = ("keeps all limits", "may break a limit", "breaks a limit")
"""What is known of the limits at a decision."""


@dataclass(frozen=True, eq=False)
class Query(ReadOnly, Generic[Index]):
    """What to measure next: f at ``point``, on behalf of ``decision``."""

    t: int
    decision: Any
    point: Any
    lower: float
    """min over A(decision) of lcb_{t−1}, with the β that certifies."""
    decision_index: Index
    point_index: Index


@dataclass(frozen=True, eq=False)
class Report(ReadOnly, Generic[Index]):
    """The decision to use after t rounds, and what is known about its worst case.

    All bounds hold where the confidence bounds do: with the probability that belongs to ``beta``. They are exact on
    finite domains; in a space they are numerical, the results of searches.
    """

    t: int
    decision: Any
    worst_point: Any
    """Where the decision may be worst: the point of A(decision) with the smallest lower bound."""
    lower: float
    """Lower bound on the worst-case value of the decision."""
    upper: float
    """Upper bound on the worst-case value of the decision."""
    optimum_upper: float
    """Upper bound on the value of the stable optimum: what no decision can exceed."""
    exact: bool
    """Whether the bounds come from exact max-min solutions."""
    gap: float
    """How far the two sides of the search for the best decision are apart: the upper side is in ``optimum_upper``.

    0 where the search ended since they met, and where it is exact.
    """
    agreed: bool
    """Whether several independent starts led to one decision, without constraints also where the decision itself was
    searched for (the best guarantee of all); else a better one may have been missed."""
    contradictory: bool
    """Whether bounds of different rounds exclude each other somewhere: then beta is too small or the prior wrong."""
    decision_index: Index
    worst_point_index: Index
    proved: bool = False
    """Whether the bounds are proved although they are not exact: `Optimizer.report(proof=True)`."""
    feasible: str | None = None
    """Whether the decision keeps all limits, whatever the adversary does; None without constraints.

    "certified": all margins are guaranteed. "likely": expected to be 0 or more. "unknown": neither. "impossible": no
    decision can keep all limits; ``optimum_upper`` is then NaN, the best of none.
    """
    constraints: tuple[Margin, ...] = ()
    """What is known of each constraint at the decision."""
    left: bool = False
    """Whether another decision would be reported, but for a point that failed and that it can turn into, or nearly."""

    @property
    def settled(self) -> bool:
        """Whether no better decision was missed, as far as can be said: exact, proved, or independent starts agreed."""
        return self.exact or self.proved or (self.agreed and self.gap <= 1e-4 * abs(self.regret_bound))

    @property
    def regret_bound(self) -> float:
        """Upper bound on the ε-regret: how much better another decision could be at most."""
        return self.optimum_upper - self.lower

    def __str__(self) -> str:
        if self.contradictory:
            return (
                f"decision {readable(self.decision)} after {self.t} rounds, but the bounds of different rounds "
                "exclude each other: a larger beta or another prior is needed"
            )
        low, high = ends(self.lower, self.upper)
        return (
            f"decision {readable(self.decision)} after {self.t} rounds: worst case between {low} and {high} (at "
            f"{readable(self.worst_point)}), at most {self.regret_bound:.4g} below the optimum"
            f"{_SENTENCES.get(self.feasible, '')}"
        )


_SENTENCES = {
    None: "",
    "certified": "; it keeps all limits",
    "likely": "; it is likely, but not guaranteed, to keep all limits",
    "unknown": "; whether it keeps all limits is not known",
    "impossible": "; no decision keeps all limits",
}


def readable(value: Any, steps: Sequence[float] = ()) -> str:
    """A decision or a point in a sentence; ``steps`` as `Columns.steps` has them, column by column."""
    own = itertools.chain(steps, itertools.repeat(0.0))
    if isinstance(value, Mapping):
        widths = [len(v) if isinstance(v, tuple | list) else 1 for v in value.values()]
        parts = [list(itertools.islice(own, width)) for width in widths]
        return ", ".join(f"{name} = {readable(v, some)}" for (name, v), some in zip(value.items(), parts, strict=True))
    if not isinstance(value, np.ndarray | list | tuple):
        return number(value, next(own))
    shown = [number(v, next(own)) for v in (value if len(value) <= _LONG else value[:6])]
    return f"[{', '.join(shown)}{', ...' if len(value) > _LONG else ''}]"


def number(value: Any, step: float = 0.0, least: int = 4) -> str:
    """A number with as many digits as it takes to tell a step from the next, and no fewer than ``least``."""
    if not isinstance(value, float | np.floating):
        return str(value) if isinstance(value, np.integer) else repr(value)
    digits = least
    if 0 < step < math.inf and value and math.isfinite(value):
        digits = min(_DIGITS, max(least, math.floor(math.log10(abs(float(value)))) - math.floor(math.log10(step)) + 1))
    return f"{value:.{digits}g}"


def ends(low: float, high: float) -> tuple[str, str]:
    """Two bounds with as many digits as it takes to tell one from the other."""
    return number(low, high - low), number(high, high - low)
