"""Runs on the hard functions of Theorem 2, for the experiment and for the verification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array
from stableopt.loop.play import play
from stableopt.maxmin.lists.listing import Listing
from stableopt.model.gp import GP
from stableopt.model.kernels import SE
from stableopt.paper.match import Match, number
from stableopt.sets.domains import Grid
from stableopt.sets.perturbations import Ball
from stableopt.theory.theorem2 import HardInstances

XI = 0.05
"""How often an algorithm may fail."""
HARD = HardInstances(SE(0.05), eta=0.2, norm=1.0, eps=0.3)


@dataclass(frozen=True, eq=False)
class HardGame:
    """Hard functions on a line of points. Algorithms know the true kernel and noise, but not the function."""

    instances: HardInstances = HARD
    noise: float = 1.0
    """Standard deviation of the noise."""
    cells: int = 161
    """Points on [0, 1]."""
    beta: float = 4.0

    def __post_init__(self) -> None:
        if self.instances.dim != 1:
            raise ValueError(f"expected hard functions in one dimension, got {self.instances.dim}")

    @cached_property
    def listing(self) -> Listing:
        """The points on the line, and how far the adversary moves them."""
        return Listing(Grid.linspace(0.0, 1.0, self.cells), Ball(self.instances.eps))

    @cached_property
    def values(self) -> Array:
        """All functions at all points (M, cells)."""
        return self.instances(self.listing.domain.points)

    @cached_property
    def bad(self) -> Array:
        """Whether a decision has an ε-regret of at least η, for each function (M, cells)."""
        return self.instances.bad(self.listing.domain.points)

    @cached_property
    def bound(self) -> int:
        """Rounds below which no algorithm succeeds on all functions with probability 1 − ξ."""
        return self.instances.rounds_necessary(XI, self.noise)

    def floor(self, rounds: int) -> Array:
        """The smallest probability of failure that any algorithm can have, after each round (T,)."""
        return np.array([self.instances.failure_probability(t, self.noise) for t in range(1, rounds + 1)])

    def reported(self, function: int, algorithm: str, errors: Array, seed: int) -> NDArray[np.intp]:
        """The decision that an algorithm reports after each round on one function, by its number.

        errors: the noise of each round (T,).
        """
        gp = GP(self.instances.kernel, self.noise)
        match = Match(self.listing, self.values[function], gp, errors, seed)
        optimizer = match.optimizer(algorithm, self.beta)
        choose = optimizer.algorithm.reporting.choose
        steps = play(optimizer, match.measure, match.rounds)
        return np.array([number(choose(optimizer.state)) for _ in steps], dtype=np.intp)
