"""Theorem 2 as an experiment: on the hard functions every algorithm fails until T is of the order of the bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import ALGORITHMS
from stableopt.model.gp import GP
from stableopt.model.kernels import SE
from stableopt.paper.verification.checks import LEVEL, Check
from stableopt.sets.domains import Grid
from stableopt.sets.perturbations import Ball
from stableopt.theory.simulation import consistent
from stableopt.theory.theorem2 import HardInstances

XI = 0.05
HARD = HardInstances(SE(0.05), eta=0.2, norm=1.0, eps=0.3)
NOISE = 1.0


@dataclass(frozen=True)
class HardResults:
    """How often each algorithm's report has an ε-regret below η, by the number of rounds."""

    instances: HardInstances
    noise: float
    runs: int
    success: Mapping[str, Array]
    """Share of the runs (T,) for each algorithm."""

    @property
    def ceiling(self) -> Array:
        """What no algorithm's success can exceed, averaged over the functions, after each round (T,)."""
        rounds = len(next(iter(self.success.values())))
        return np.array([1 - self.instances.failure_probability(t, self.noise) for t in range(1, rounds + 1)])

    def checks(self) -> list[Check]:
        """That no algorithm succeeds more often than Theorem 2 allows; a line counts rounds, not runs."""
        bound = self.instances.rounds_necessary(XI, self.noise)
        checks = []
        for name, share in self.success.items():
            failures = np.rint((1 - share) * self.runs).astype(int)
            least = 1 - self.ceiling
            level = LEVEL / len(share)
            rounds = [consistent(int(k), self.runs, float(p), level) for k, p in zip(failures, least, strict=True)]
            last = min(bound, len(share)) - 1
            note = f"fails in {failures[last] / self.runs:.0%} of {self.runs} runs at t = {last + 1} (bound: {bound})"
            what = "Theorem 2: rounds with failures"
            checks.append(Check(what, name, sum(rounds), len(rounds), 1.0, note=note))
        return checks


def line(instances: HardInstances, cells: int) -> Grid:
    """Where hard functions are played: ``cells`` points on [0, 1]."""
    if instances.dim != 1:
        raise ValueError(f"expected hard functions in one dimension, got {instances.dim}")
    return Grid.linspace(0.0, 1.0, cells)


def reported(
    instances: HardInstances,
    number: int,
    algorithm: str,
    noise: float,
    errors: Array,
    *,
    cells: int,
    beta: float,
    seed: int,
) -> NDArray[np.intp]:
    """The decision that an algorithm, given the true kernel and noise, reports after each round on one function.

    ``errors`` has the noise of each round (T,); decisions are numbers of points on the line.
    """
    domain = line(instances, cells)
    values = instances(domain.points)[number]
    gp = GP(instances.kernel, noise)
    optimizer = Optimizer(domain, Ball(instances.eps), gp, algorithm=algorithm, beta=beta, seed=seed)
    decisions = []
    for error in errors.tolist():
        query = optimizer.ask()
        optimizer.tell(query, float(values[query.point_index]) + error)
        decisions.append(optimizer.algorithm.reporting.choose(optimizer.state))
    return np.array(decisions, dtype=np.intp)


def hard_experiment(
    instances: HardInstances = HARD,
    noise: float = NOISE,
    *,
    rounds: int = 400,
    runs: int = 64,
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    cells: int = 161,
    beta: float = 4.0,
    seed: int = 0,
    played: Callable[[], None] = lambda: None,
) -> HardResults:
    """Each algorithm on the hard functions in turn; the runs share their noise.

    ``played`` is called after every run of one algorithm.
    """
    for value, what in ((rounds, "round"), (runs, "run")):
        if value < 1:
            raise ValueError(f"expected at least one {what}, got {value}")
    bad = instances.bad(line(instances, cells).points)
    success = {name: np.zeros(rounds) for name in algorithms}
    for run in range(runs):
        number = run % len(instances)
        errors = noise * np.random.default_rng([seed, run]).standard_normal(rounds)
        for name in algorithms:
            chosen = reported(instances, number, name, noise, errors, cells=cells, beta=beta, seed=seed + run)
            success[name] += ~bad[number, chosen]
            played()
    return HardResults(instances, noise, runs, {name: counts / runs for name, counts in success.items()})
