"""Places where bounds were wrong once while a report claimed that its search was settled: each a test of its own."""

import math
import warnings

import numpy as np
import pytest

from stableopt import GP, SE, Float, Integer, Optimizer, Parameters, Rectangle, Space
from stableopt.loop.reporting import report
from stableopt.loop.rules import BestOfAll

THETAS = {
    "float": (Parameters(Space([(0, 1)])), np.linspace(0, 1, 41)),
    "whole": (Parameters(Space([Integer(0, 3)])), np.arange(4.0)),
    "rows": (Parameters([[0.1], [0.5], [0.9]]), np.array([0.1, 0.5, 0.9])),
}


def _told(log, kind, seed):
    """An optimiser that was told values that have nothing to do with its model, which makes its bounds rough."""
    rng, (theta, values) = np.random.default_rng([seed, log]), THETAS[kind]
    variable, tolerance = (Float(1, 1e4, log=True), 3000.0) if log else (Float(0, 1), 0.15)
    gp = GP(SE([0.35 * (math.log(1e4) if log else 1.0), 0.5 if kind != "whole" else 1.5]), 0.05)
    optimizer = Optimizer(Space([variable]), Rectangle(tolerance) * theta, gp, seed=seed)
    m = int(rng.integers(6, 14))
    X = np.column_stack([variable.value(rng.random(m)), rng.choice(values, m)])
    with warnings.catch_warnings():  # the values may surprise the model
        warnings.simplefilter("ignore")
        optimizer.tell(X, rng.normal(size=m))
    return optimizer, values, tolerance


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", THETAS)
@pytest.mark.parametrize("log", [False, True])
def test_with_a_parameter_and_rough_data_no_decision_of_an_enumeration_is_above_the_bound(log, kind, seed):
    optimizer, values, tolerance = _told(log, kind, seed)
    state = optimizer.state
    known = report(state, BestOfAll())
    x = np.geomspace(1, 1e4, 61) if log else np.linspace(0, 1, 61)
    fine = np.geomspace(1, 1e4, 401) if log else np.linspace(0, 1, 401)
    points = [tuple(row) for row in _coordinates(optimizer, fine, values)]
    lower, upper = (bound.reshape(len(fine), -1).min(axis=1) for bound in state.bounds(points))
    reached = np.abs(fine - x[:, None]) <= tolerance
    optimum, best = (max(bound[row].min() for row in reached) for bound in (upper, lower))
    spread = float(np.ptp(np.concatenate([lower, upper])))
    # A grid may miss the worst point of a decision by a little, and then the decision looks too good.
    assert known.lower <= known.upper <= known.optimum_upper
    assert optimum <= known.optimum_upper + 0.01 * spread and best <= known.lower + 0.01 * spread
    low, high = state.bounds_of(list(dict.fromkeys(state.tried())))
    assert high.max() <= known.optimum_upper + 1e-9 and low.max() <= known.lower + 1e-6 * spread


def _coordinates(optimizer, fine, values):
    """Points of a grid in the coordinates of the search."""
    index = optimizer.state.setting.translation.point_index
    return [index([a, b]) for a in fine.tolist() for b in values.tolist()]


@pytest.mark.parametrize(("lengthscale", "noise", "conflict"), [(0.2, 1e-12, 1.0), (10.0, 0.05, 0.0)])
def test_thirty_duplicates_make_no_lower_bound_above_its_upper_bound(lengthscale, noise, conflict):
    optimizer = Optimizer(Space([(0, 1)]), Rectangle(0.1), GP(SE(lengthscale), noise))
    rng = np.random.default_rng(0)
    X = np.repeat([[0.2], [0.5], [0.9]], 10, axis=0)
    y = np.sin(3 * X[:, 0]) + conflict * rng.normal(size=30)
    optimizer.tell(X, y)
    known = report(optimizer.state, BestOfAll())
    assert known.lower <= known.upper <= known.optimum_upper
