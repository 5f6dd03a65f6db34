"""Exploring and certifying: a small β finds the optimum sooner, a large one makes it certain sooner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.optimizer import Optimizer
from stableopt.paper.verification.cases import GUARANTEED
from stableopt.problems import PROBLEMS


@dataclass(frozen=True)
class Tradeoff:
    """Runs on the paper's polynomial that explore with some β^{1/2} and certify with another; rows are runs."""

    explore: float
    """β^{1/2} that chose the points."""
    regret: Array
    """True ε-regret of the reported decision (runs, rounds)."""
    bound: Array
    """Certified bound on it (runs, rounds)."""


def tradeoff(
    explore: tuple[float, ...] = (1.0, 2.0),
    *,
    certify: float = 2.0,
    rounds: int = 100,
    runs: int = 5,
    initial: int = 10,
    seed: int = 0,
    played: Callable[[], None] = lambda: None,
) -> list[Tradeoff]:
    """StableOpt with the polynomial's known model, from the same random points and with the same noise.

    ``explore`` and ``certify`` are roots β^{1/2}. ``played`` is called after every run.
    """
    problem = PROBLEMS["polynomial"]
    worst = problem.setting.solver.all_minima(problem.values)
    found = []
    for root in explore:
        regret, bound = np.empty((runs, rounds)), np.empty((runs, rounds))
        for run in range(runs):
            rng = np.random.default_rng([seed, run])
            optimizer = Optimizer(
                problem.domain,
                problem.uncertainty,
                problem.gp,
                algorithm=GUARANTEED,
                beta=certify**2,
                explore=root**2,
                seed=seed + run,
            )
            start = rng.choice(len(problem.values), size=initial, replace=False)
            y = problem.values[start] + problem.noise * rng.standard_normal(initial)
            optimizer.tell(problem.domain.points[start], y)
            for t, z in enumerate((problem.noise * rng.standard_normal(rounds)).tolist()):
                query = optimizer.ask()
                optimizer.tell(query, float(problem.values[query.point_index]) + z)
                report = optimizer.report()
                regret[run, t] = problem.stable_value - worst[report.decision_index]
                bound[run, t] = report.regret_bound
            played()
        found.append(Tradeoff(root, regret, bound))
    return found
