"""Exploring and certifying: a small β finds the optimum sooner, a large one makes it certain sooner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stableopt.loop.play import play
from stableopt.paper.match import Match, number
from stableopt.paper.verification.cases import GUARANTEED
from stableopt.paper.verification.results import Tradeoff
from stableopt.problems.perturbed import polynomial

_CERTIFY = 2.0  # β^{1/2} of the bounds


def tradeoff(
    explore: tuple[float, ...] = (1.0, 2.0),
    *,
    rounds: int = 100,
    runs: int = 5,
    initial: int = 10,
    seed: int = 0,
    played: Callable[[], None] = lambda: None,
) -> list[Tradeoff]:
    """StableOpt with the polynomial's known model, from the same random points and with the same noise.

    explore: roots β^{1/2} that choose decisions.
    played: called after every run.
    """
    problem = polynomial()
    worst = problem.listing.solver.all_minima(problem.values)
    found = []
    for root in explore:
        regret, bound = np.empty((runs, rounds)), np.empty((runs, rounds))
        for run in range(runs):
            rng = np.random.default_rng([seed, run])
            match = Match.drawn(problem, rng, initial=initial, rounds=rounds, seed=seed + run)
            optimizer = match.optimizer(GUARANTEED, beta=_CERTIFY**2, explore=root**2)
            for t, _ in enumerate(play(optimizer, match.measure, match.rounds)):
                report = optimizer.report()
                regret[run, t] = problem.stable_value - worst[number(report.decision_index)]
                bound[run, t] = report.regret_bound
            played()
        found.append(Tradeoff(root, regret, bound))
    return found
