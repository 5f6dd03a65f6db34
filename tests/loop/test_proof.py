"""Reports that are proved: their bounds hold against enumeration, and what has no proof is refused."""

import numpy as np
import pytest

from stableopt import GP, SE, Ball, Float, Grid, Matern, Optimizer, Parameters, Points, Rectangle, Space, assess
from stableopt.base.arrays import cartesian


def told(space, uncertainty, gp, count=8):
    optimizer, rng = Optimizer(space, uncertainty, gp), np.random.default_rng(1)
    points = optimizer.state.setting.region.points_space
    rows = points.rows(rng.random((count, len(points.parts))))
    optimizer.tell([points.decode(row) for row in rows], rng.standard_normal(count).tolist())
    return optimizer


@pytest.mark.parametrize("log", [False, True], ids=["linear", "log"])
def test_a_proved_report_bounds_what_enumeration_finds(log):
    space = Space([Float(1.0, 100.0, log=log)])
    scale = space.span[0]
    optimizer = told(space, Rectangle(20.0) * Parameters([[0.0], [1.0]]), GP(Matern(2.5, [0.2 * scale, 1.0]), 0.1))
    searched, proved = optimizer.report(), optimizer.report(proof=True)
    assert proved.proved and proved.settled and not searched.proved and proved.decision == searched.decision
    assert proved.lower <= searched.lower and proved.optimum_upper >= searched.optimum_upper - 1e-9
    assert proved.regret_bound <= 1.11 * searched.regret_bound
    state, x = optimizer.state, np.linspace(1.0, 100.0, 400)
    rows = cartesian([space.parts[0].coordinate(x)[:, None], np.array([[0.0], [1.0]])])
    lcb, ucb = (values.reshape(400, 2).min(axis=1) for values in state.bounds(rows))
    near = np.abs(x[:, None] - x) <= 20.0
    assert np.where(near, ucb, np.inf).min(axis=1).max() <= proved.optimum_upper
    assert lcb[np.abs(x - searched.decision[0]) <= 20.0].min() >= proved.lower


def test_a_finite_domain_needs_no_proof():
    optimizer = Optimizer(Grid.linspace(0, 1, 20), Ball(0.1), GP(SE(0.2), 0.1))
    optimizer.tell([0.0], 1.0)
    assert optimizer.report(proof=True).exact and not optimizer.report(proof=True).proved


def test_a_proof_in_four_dimensions_is_refused_and_one_in_three_is_not():
    wide = told(Space([(0.0, 1.0)] * 2), Ball(0.1), GP(SE(0.3), 0.1))
    with pytest.raises(ValueError, match=r"at most 3 continuous coordinates .* got 2 \+ 2"):
        wide.report(proof=True)
    mixed = told(Space([Points([[0.0], [0.5], [1.0]]), (0.0, 1.0)]), Ball(0.1, columns=[1]), GP(SE(0.4), 0.1))
    assert mixed.report(proof=True).proved


def test_an_answer_says_that_it_is_proved():
    x = np.linspace(0, 1, 9)
    answer = assess((x[:, None], np.sin(3 * x)), [(0, 1)], 0.1, model=GP(SE(0.3), 0.05))
    proved = answer.proved()
    assert "(proved)" in str(proved) and "(searched" in str(answer)
    assert proved.worst_case.lower <= answer.worst_case.lower and proved.optimum_bound >= answer.optimum_bound - 1e-9
    assert proved.decisions == answer.decisions
