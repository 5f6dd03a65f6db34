"""Whether what is said of constraints is true: runs on functions drawn from the priors that the models have.

    python -m benchmarks.feasible [--runs 200] [--space]

The value and two constraints with three limits are drawn on 61 points of a line; decisions may move by 0.05. On the
list, β is valid with ξ = 0.1 for all of them together. In the space, it is 9, and the truth is that of the 61 points
and of interpolation between them, which is smooth enough here. Counted are words that are false: a certified decision
that breaks a limit, "impossible" where some decision keeps all, and bounds on a wrong side of the truth.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.interpolate import CubicSpline

import stableopt as so
from stableopt.base.arrays import Array
from stableopt.loop import BayesianFinite, BestOfAll, OptimisticPessimistic
from stableopt.maxmin import Listing
from stableopt.theory import sample_prior

GRID, FINE, BALL, NOISE, ROUNDS = so.Grid.linspace(0, 1, 61), so.Grid.linspace(0, 1, 1201), so.Ball(0.05), 0.05, 25
PRIORS = [so.GP(so.SE(0.12), NOISE), so.GP(so.SE(0.2), NOISE), so.GP(2.0 * so.SE(0.25), NOISE)]
CONSTRAINTS = [
    so.Constraint("h", lower=0.2, upper=1.8, model=PRIORS[1]),
    so.Constraint("k", upper=1.0, model=PRIORS[2]),
]
RULES = so.Algorithm("StableOpt", OptimisticPessimistic(), BestOfAll())


def one(drawn: Sequence[Array], seed: int, space: bool) -> list[str]:
    """The word of one run, and what was false in it."""
    f, h, k = (CubicSpline(GRID.points[:, 0], values) for values in drawn)
    domain = so.Space([(0.0, 1.0)]) if space else GRID
    beta = 9.0 if space else BayesianFinite(len(GRID), 0.1)
    options = {"algorithm": RULES, "beta": beta, "explore": 2.0, "constraints": CONSTRAINTS}
    optimizer, rng = so.Optimizer(domain, BALL, PRIORS[0], **options), np.random.default_rng(seed)
    for _ in range(ROUNDS):
        query = optimizer.ask()
        x, noise = float(query.point[0]), NOISE * rng.standard_normal(3)
        optimizer.tell(query, float(f(x) + noise[0]), measured={"h": h(x) + noise[1], "k": k(x) + noise[2]})
    report, truth = optimizer.report(), FINE if space else GRID
    at, solver = truth.points[:, 0], Listing(truth, BALL).solver
    margins = [h(at) - 0.2, 1.8 - h(at), 1.0 - k(at)]
    best = solver.maximin(f(at), subject_to=margins)
    own = truth.locate(truth.points[np.argmin(np.abs(at - report.decision[0]))])
    slack = 0.02 if space else 0.0  # the decision and its worst points lie between points of the fine list
    inside = min(solver.worst(own, M).value for M in margins) >= -slack
    false = {
        "certified and infeasible": report.feasible == "certified" and not inside,
        "impossible and feasible": report.feasible == "impossible" and best.margin >= slack,
        "below the lower bound": solver.worst(own, f(at)).value < report.lower - slack,
        "above the optimum's bound": best.margin >= slack and best.value > report.optimum_upper + slack,
    }
    return [str(report.feasible), *(name for name, wrong in false.items() if wrong)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--space", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    drawn = [sample_prior(gp, GRID.blocks, options.runs, rng) for gp in PRIORS]
    counts: Counter[str] = Counter()
    for seed, functions in enumerate(zip(*drawn, strict=True)):
        counts.update(one(functions, seed, options.space))
    for name, count in counts.most_common():
        print(f"{name:<28}{count:>5} of {options.runs}")


if __name__ == "__main__":
    main()
