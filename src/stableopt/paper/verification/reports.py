"""The same promises for `Optimizer.report()`, after every round and in every setting."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.play import play
from stableopt.loop.schedules import LikelihoodRatio
from stableopt.paper.match import Match, number
from stableopt.paper.verification.bounds import EXPLORE, XI
from stableopt.paper.verification.cases import GUARANTEED, Case
from stableopt.paper.verification.checks import Check


def reports(case: Case, count: int, rounds: int, seed: int) -> list[Check]:
    """Whether everything in a report is true, after every round of ``count`` runs."""
    functions = case.functions(count, np.random.default_rng([seed, 30]))
    held = [_true(case, f, rounds, seed + i) for i, f in enumerate(functions)]
    return [Check.of("reports of an Optimizer", case.name, held, 1 - XI)]


def _true(case: Case, f: Array, rounds: int, seed: int) -> bool:
    errors = case.gp.noise * np.random.default_rng([seed, 31]).standard_normal(rounds)
    match = Match(case.listing, f, case.gp, errors, seed)
    optimizer = match.optimizer(GUARANTEED, LikelihoodRatio(case.norm, XI), EXPLORE)
    worst = case.worst(f[None])[0]
    for _ in play(optimizer, match.measure, match.rounds):
        report = optimizer.report()
        at = float(worst[number(report.decision_index)])
        regret = float(worst.max()) - at
        if not (report.lower <= at <= report.upper and regret <= report.regret_bound):
            return False
        if worst.max() > report.optimum_upper:
            return False
    return True
