"""One run for several algorithms: they share its conditions, so their results can be compared one by one.

The loop is `stableopt.loop.play`:

    optimizer = match.optimizer("StableOpt")
    reports = [optimizer.report() for _ in play(optimizer, match.measure, match.rounds)]
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.loop.answers import Query
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import Algorithm
from stableopt.loop.schedules import Schedule
from stableopt.maxmin.lists.listing import Listing
from stableopt.maxmin.solver import AnyIndex
from stableopt.model.gp import GP
from stableopt.problems.base import Problem


@dataclass(frozen=True, eq=False)
class Match:
    """A known function with its model, and everything random that algorithms share: first points and errors."""

    listing: Listing
    """Decisions and points, with the uncertainty set."""
    values: Array
    """f on all points."""
    gp: GP
    errors: Array
    """The noise of each round (T,)."""
    seed: int
    """For rules that are random."""
    initial: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Numbers of the points that are measured before the first round."""
    initial_errors: Array = field(default_factory=lambda: np.empty(0))
    """Their noise."""

    @classmethod
    def drawn(
        cls, problem: Problem, rng: np.random.Generator, *, initial: int, rounds: int, seed: int, gp: GP | None = None
    ) -> Match:
        """A match on a problem with random first points and errors; ``gp`` takes the place of the problem's model."""
        return cls(
            listing=problem.listing,
            values=problem.values,
            gp=problem.gp if gp is None else gp,
            initial=rng.choice(problem.listing.reachable, size=initial, replace=False),
            initial_errors=problem.noise * rng.standard_normal(initial),
            errors=problem.noise * rng.standard_normal(rounds),
            seed=seed,
        )

    @property
    def rounds(self) -> int:
        """How many rounds are played."""
        return len(self.errors)

    def optimizer(
        self, algorithm: str | Algorithm, beta: float | Schedule = 4.0, explore: float | Schedule | None = None
    ) -> Optimizer:
        """An optimiser that plays this algorithm and knows the first points."""
        domain, uncertainty = self.listing.domain, self.listing.uncertainty
        optimizer = Optimizer(
            domain, uncertainty, self.gp, algorithm=algorithm, beta=beta, explore=explore, seed=self.seed
        )
        if len(self.initial):
            points = [self.listing.point(int(index)) for index in self.initial]
            optimizer.tell(points, self.values[self.initial] + self.initial_errors)
        return optimizer

    def measure(self, query: Query) -> float:
        """f at the point of a query, with the error of its round."""
        error = self.errors[query.t - 1 - len(self.initial)]
        return float(self.values[number(query.point_index)] + error)


def number(index: AnyIndex) -> int:
    """The index of a decision or a point on a list, which is a number."""
    if isinstance(index, tuple):
        raise TypeError(f"expected the number of a decision or a point on a list, got the coordinates {index}")
    return int(index)


def run_seed(seed: int, run: int) -> int:
    """A seed for rules that are random, one per run."""
    return int(np.random.SeedSequence([seed, run]).generate_state(1)[0])
