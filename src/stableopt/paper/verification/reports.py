"""The same promises for what a user sees: `Optimizer.report()` after every round, in every setting."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.schedules import LikelihoodRatio
from stableopt.paper.verification.bounds import EXPLORE, XI
from stableopt.paper.verification.cases import GUARANTEED, Case
from stableopt.paper.verification.checks import Check


def reports(case: Case, count: int, rounds: int, seed: int) -> list[Check]:
    """Whether all that `report` says is true, after every round of ``count`` runs."""
    functions = case.functions(count, np.random.default_rng([seed, 30]))
    held = [_true(case, f, rounds, seed + i) for i, f in enumerate(functions)]
    return [Check.of("reports of an Optimizer", case.name, held, 1 - XI)]


def _true(case: Case, f: Array, rounds: int, seed: int) -> bool:
    schedule = LikelihoodRatio(case.norm, XI)
    optimizer = Optimizer(
        case.domain, case.uncertainty, case.gp, algorithm=GUARANTEED, beta=schedule, explore=EXPLORE, seed=seed
    )
    noise = case.gp.noise * np.random.default_rng([seed, 31]).standard_normal(rounds)
    worst = case.worst(f[None])[0]
    for z in noise.tolist():
        query = optimizer.ask()
        optimizer.tell(query, float(f[query.point_index]) + z)
        report = optimizer.report()
        at = float(worst[report.decision_index])
        regret = float(worst.max()) - at
        if not (report.lower <= at <= report.upper and regret <= report.regret_bound):
            return False
        if worst.max() > report.optimum_upper:
            return False
    return True
