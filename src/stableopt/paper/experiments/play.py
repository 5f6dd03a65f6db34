"""A run of one algorithm on a problem whose true values are known: the loop that most experiments share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stableopt.base.arrays import Array, Indices
from stableopt.loop.answers import Report
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import Algorithm
from stableopt.model.gp import GP
from stableopt.problems.base import Problem


def play(
    problem: Problem,
    gp: GP,
    algorithm: str | Algorithm,
    *,
    initial: Indices,
    initial_noise: Array,
    noise: Array,
    seed: int,
    beta: float = 4.0,
) -> Iterator[Report]:
    """The report after each round; there are as many rounds as there is noise.

    initial: numbers of the points that are measured before the first round, with noise of their own.
    """
    optimizer = Optimizer(problem.domain, problem.uncertainty, gp, algorithm=algorithm, beta=beta, seed=seed)
    if len(initial):
        points = [problem.setting.point(int(index)) for index in initial]
        optimizer.tell(points, problem.values[initial] + initial_noise)
    for disturbance in noise:
        query = optimizer.ask()
        optimizer.tell(query, problem.values[query.point_index] + disturbance)
        yield optimizer.report()


def run_seed(seed: int, run: int) -> int:
    """A seed for the rules that are random, one per run."""
    return int(np.random.SeedSequence([seed, run]).generate_state(1)[0])
