"""Theorem 2 as an experiment: on the hard functions every algorithm fails until T is of the order of the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stableopt.base.checks import whole
from stableopt.loop.rules import ALGORITHMS
from stableopt.paper.hard import XI, HardGame
from stableopt.paper.verification.checks import LEVEL, Check
from stableopt.paper.verification.results import HardResults
from stableopt.theory.simulation import consistent

_GAME = HardGame()


def hard_experiment(
    game: HardGame = _GAME,
    *,
    rounds: int = 400,
    runs: int = 64,
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    seed: int = 0,
    played: Callable[[], None] = lambda: None,
) -> HardResults:
    """Each algorithm on the hard functions in turn; the runs share their noise.

    played: called after every run of one algorithm.
    """
    whole(rounds, 1, "at least one round")
    whole(runs, 1, "at least one run")
    success = {name: np.zeros(rounds) for name in algorithms}
    for run in range(runs):
        function = run % len(game.instances)
        errors = game.noise * np.random.default_rng([seed, run]).standard_normal(rounds)
        for name in algorithms:
            success[name] += ~game.bad[function, game.reported(function, name, errors, seed + run)]
            played()
    shares = {name: counts / runs for name, counts in success.items()}
    return HardResults(game.instances, XI, game.bound, game.floor(rounds), runs, shares)


def check_hard(results: HardResults) -> list[Check]:
    """Whether no algorithm succeeds more often than Theorem 2 allows; a line counts rounds, not runs."""
    bound, runs = results.bound, results.runs
    checks = []
    for name, share in results.success.items():
        failures = np.rint((1 - share) * runs).astype(int)
        level = LEVEL / len(share)
        rounds = [consistent(int(k), runs, float(p), level) for k, p in zip(failures, results.floor, strict=True)]
        last = min(bound, len(share)) - 1
        note = f"fails in {failures[last] / runs:.0%} of {runs} runs at t = {last + 1} (bound: {bound})"
        checks.append(Check("Theorem 2: rounds with failures", name, sum(rounds), len(rounds), 1.0, note=note))
    return checks
