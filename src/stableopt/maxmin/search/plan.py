"""How hard a search looks: its budget, how that is divided, and efforts for the worst case of a decision.

The numbers were chosen by `benchmarks.accuracy`, which measures the loss that they leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from stableopt.base.arrays import Array, low_discrepancy
from stableopt.maxmin.solver import Region


def usual_budget(dim: int, *, brief: bool) -> int:
    """How often F is evaluated in one search with so many coordinates on either side: `benchmarks.accuracy`.

    A suggestion makes do with less than a report: what it misses is found in one of the next rounds.
    """
    if brief:
        return 8_000 + 1_000 * dim
    return max(5_000 + 2_500 * dim, 12_000 + 1_500 * dim) + 8_000 * max(0, dim - 4)  # hills become many


class Budget:
    """Evaluated points, counted against a total. It is a plan and no wall: a step that has begun is finished.

    A function with many observations takes as long for one point as for several. So a batch of fewer points than
    ``least`` counts as so many.
    """

    def __init__(self, total: int, least: int = 1) -> None:
        self.total, self.least, self.used = total, least, 0

    def left(self, share: float = 1.0) -> int:
        """How many points of this share of the total are left; below 0 if more were evaluated."""
        return int(share * self.total) - self.used

    def spend(self, points: int, each: int = 1) -> None:
        """Count a batch of points; ``each`` is 2 for a value with its gradient."""
        self.used += each * max(points, self.least)

    def reserve(self, share: float) -> None:
        """At least this share of the total is left for what follows, whatever was spent before."""
        self.used = min(self.used, int((1 - share) * self.total))


class Effort(NamedTuple):
    """How hard to look for the worst case of one decision."""

    scan: int  # scenarios of the spread
    filling: int  # scenarios that fill what the decision can turn into
    known: int  # known low points that are tried
    starts: int  # the lowest of these that descend; half of them after the first steps, a quarter after the next
    steps: int  # of the last quarter
    tolerance: float  # of the spread of F
    polls: int  # rounds of jumps
    jumps: int = 64  # values of something discrete that one jump tries; of more, the nearest and some far away
    apart: bool = False  # whether of scenarios that meet on their way down only one goes on
    paced: bool = False  # whether coordinates go at a pace of their own: a rough look at a front needs them apart


COMBINED = 64  # combinations of discrete values that a scan meets in any case

SCREEN = Effort(scan=4, filling=0, known=2, starts=1, steps=2, tolerance=1e-3, polls=0)
QUICK = Effort(scan=12, filling=0, known=4, starts=4, steps=6, tolerance=1e-4, polls=1)
_SOUND = Effort(scan=16, filling=32, known=6, starts=8, steps=12, tolerance=1e-6, polls=1, apart=True, paced=True)
_FULL = Effort(
    scan=128, filling=128, known=16, starts=12, steps=40, tolerance=1e-7, polls=8, jumps=256, apart=True, paced=True
)


@dataclass(frozen=True, eq=False)
class Plan:
    """How a search in a region spends its budget; a batch of fewer points than ``least`` counts as so many."""

    region: Region
    budget: int
    least: int
    brief: bool = False
    """Whether one good decision is enough, as for a suggestion: no other start is followed to its end."""
    patient: bool = False
    """Whether that one is followed to its very end: with limits, a few turns cost regret (`benchmarks.constraints`)."""

    @property
    def short(self) -> bool:
        """Whether a few turns of the best start are enough."""
        return self.brief and not self.patient

    @cached_property
    def ample(self) -> bool:
        """Whether there is as much as a suggestion with few observations has."""
        return self.budget >= usual_budget(max(self.region.dim, self.region.width), brief=True)

    @cached_property
    def sound(self) -> Effort:
        """For decisions on their way. With a small budget, more exchanges are worth more than thorough ones.

        A suggestion does without jumps and the last digits: on 24 of `benchmarks.rounds` that hardly cost anything.
        """
        if not self.ample:
            return _SOUND._replace(polls=0, apart=False)
        return _SOUND._replace(polls=0, tolerance=self.close) if self.short else _SOUND

    @cached_property
    def unit(self) -> Array:
        """Evenly spread rows of the unit cube, for scenarios that fill what a decision can turn into."""
        return low_discrepancy(self.full(1).filling, self.region.width, 0)

    def full(self, n: int) -> Effort:
        """For n decisions whose worst cases are reported; less where they are many or the budget is small."""
        share = min(64.0, self.budget / (2500.0 * n)) ** 0.5
        counts = {name: int(share * getattr(_FULL, name)) for name in ("scan", "filling", "known", "starts", "jumps")}
        # Where a point takes as long as several, steps one after the other are dearer than more starts at a time.
        counts |= {name: getattr(_FULL, name) // self.least for name in ("steps", "polls")}
        return _FULL._replace(**{name: max(getattr(QUICK, name), count) for name, count in counts.items()})

    def answer(self, n: int) -> Effort:
        """For n decisions whose worst cases are answers: in full, for a suggestion with a quarter of the starts."""
        return self.full(16 * n if self.brief else n)

    @property
    def front(self) -> int:
        """Decisions that climb together."""
        return self.decisions(8 if self.brief else 16)

    @property
    def legs(self) -> tuple[int, int]:
        """Steps of a front after which half of it goes on, and of the last ones."""
        return (2, 4) if self.short else (4, 6)

    @property
    def close(self) -> float:
        """Of the spread of F: the two sides of an exchange have met."""
        return 1e-4 if self.brief else 2e-6

    @property
    def radius(self) -> float:
        """Of the first box of an exchange, where a decision's box is [0, 1]^d."""
        return 0.1 if self.brief else 0.2

    @property
    def active(self) -> int:
        """Active scenarios of each decision of a front: more could be active at a kink, but rarely are."""
        return min(self.region.dim + 2, 6) if self.region.width else 1

    @property
    def replies(self) -> int:
        """Replies that an exchange carries along: some more than the d + 1 that can be active at an optimum."""
        return (4 if self.ample else 2) * (self.region.dim + 2)

    def decisions(self, usual: int) -> int:
        """How many decisions go on where it is this many with a budget of 20,000."""
        return max(2, round(usual * math.sqrt(self.budget / 20_000)))
