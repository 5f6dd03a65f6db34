"""Proved certificates on a box: whether they hold for functions known everywhere, and the price of rigour."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.schedules import LikelihoodRatio
from stableopt.model.gp import GP
from stableopt.model.kernels import SE, Matern
from stableopt.paper.verification.bounds import EXPLORE, XI
from stableopt.paper.verification.cases import GUARANTEED
from stableopt.paper.verification.checks import Check
from stableopt.sets.perturbations import Ball
from stableopt.sets.spaces import Space
from stableopt.theory.covering import certify
from stableopt.theory.sampling import sample_rkhs

_NORM, _NOISE, _EPS = 1.0, 0.1, 0.08
_LINE = np.linspace(0.0, 1.0, 1001)
_GRID_ERROR = 1e-4  # of minima and maxima over the line's points instead of all
_KERNELS = {"SE on [0, 1]": SE(0.15), "Matérn 5/2 on [0, 1]": Matern(2.5, 0.2)}


def boxes(count: int, observations: int, seed: int) -> list[Check]:
    """Certificates of `certify` and those of `report` after some random points, on ``count`` functions per kernel."""
    checks = []
    for name, kernel in _KERNELS.items():
        rng = np.random.default_rng([seed, 40])
        centres = np.linspace(0.0, 1.0, 33)[:, None]
        functions = sample_rkhs(kernel, centres, _NORM, count, rng, terms=6)
        rows = [_compare(GP(kernel, _NOISE), f, observations, rng) for f in functions(_LINE[:, None])]
        true, within, price, wider = zip(*rows, strict=True)
        note = f"median {np.median(price):.0f} evaluations, regret bound {100 * np.median(wider):.1f} % wider"
        checks += [
            Check.of("boxes: proved certificates", name, true, 1 - XI, note=note),
            Check.of("boxes: numerical within proved", name, within, 1.0),
        ]
    return checks


def _compare(gp: GP, f: Array, observations: int, rng: np.random.Generator) -> tuple[bool, bool, int, float]:
    """Whether the proved certificate is true, whether the numerical one lies within it, its price, how much wider."""
    optimizer = Optimizer(
        Space([(0.0, 1.0)]), Ball(_EPS), gp, algorithm=GUARANTEED, beta=LikelihoodRatio(_NORM, XI), explore=EXPLORE
    )
    at = rng.integers(len(_LINE), size=observations)
    optimizer.tell(_LINE[at][:, None], f[at] + _NOISE * rng.standard_normal(observations))
    report, state = optimizer.report(), optimizer.state
    row = np.array(report.decision_index)
    proved = certify(optimizer)
    x = float(row[0])
    near = np.abs(_LINE[:, None] - _LINE) <= _EPS + 1e-12
    optimum = np.where(near, f, np.inf).min(axis=1).max()
    ends = np.interp([x - _EPS, x + _EPS], _LINE, f)
    worst = min(ends.min(), f[np.abs(_LINE - x) <= _EPS].min())
    true = proved.lower <= worst + _GRID_ERROR and worst <= proved.upper + _GRID_ERROR
    true = true and optimum <= proved.optimum_upper + _GRID_ERROR
    gap = state.certificate(report.decision_index)[2].gap  # of the search: it is added to the value found
    within = proved.lower <= report.lower and report.optimum_upper - gap <= proved.optimum_upper
    return bool(true), bool(within), proved.evaluations, proved.regret_bound / report.regret_bound - 1
