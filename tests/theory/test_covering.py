"""Promises of proved certificates: below and above what dense enumeration finds, close to it, and never numerical."""

import numpy as np
import pytest
from helpers.cases import extra
from hypothesis import given, settings
from hypothesis import strategies as st

from stableopt import (
    GP,
    SE,
    Ball,
    Ellipsoid,
    Float,
    Grid,
    Integer,
    Learned,
    Matern,
    Optimizer,
    Parameters,
    Rectangle,
    Relative,
    Space,
)
from stableopt.base.arrays import cartesian
from stableopt.loop.proof import PosteriorOnBoxes
from stableopt.loop.space import SpacePosterior
from stableopt.maxmin.spaces.region import SpaceRegion
from stableopt.model.interpolation import interpolation_error
from stableopt.model.kernels import Linear
from stableopt.theory.covering import certify, rigorous_certificate

KERNELS = {
    "SE": SE(0.3),
    "one lengthscale each": 2.0 * SE((0.2, 0.6)),
    "Matern 1/2": Matern(0.5, 0.5),
    "Matern 3/2": Matern(1.5, 0.4),
    "Matern 5/2": 3.0 * Matern(2.5, (0.3, 0.5)),
    "Matern 4": Matern(4.0, 0.4),
    "Matern 200": Matern(200.0, 0.4),
    "a sum": SE(0.3) + 0.5 * Matern(2.5, 0.2),
    "a product on separate columns": 2.0 * (SE(0.3).on([0]) * Matern(2.5, 0.4).on([1])),
}


def weights_of(z):
    """Multilinear interpolation at points of the unit square (n, 2): weights of its four corners (n, 4)."""
    x, y = z.T
    return np.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y], axis=1)


CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@settings(deadline=None, max_examples=40)
@given(
    widths=st.tuples(*[st.floats(1e-3, 2.0)] * 2),
    z=st.lists(st.tuples(*[st.floats(0, 1)] * 2), min_size=1, max_size=20),
)
def test_no_point_of_a_box_is_farther_from_its_interpolation_than_the_bound(kernel, widths, z):
    points, h = np.array(z), np.array(widths)
    Z, V, w = points * h, CORNERS * h, weights_of(points)
    squared = kernel.diag(Z) - 2 * np.sum(w * kernel(Z, V), axis=1) + np.sum((w @ kernel(V, V)) * w, axis=1)
    bound = np.sqrt(interpolation_error(kernel, h[None])).sum()
    assert np.sqrt(np.maximum(squared, 0.0)).max() <= bound + 1e-7  # the root of rounding


def test_the_bound_is_nearly_attained_by_small_boxes_of_a_smooth_kernel():
    h = 0.02
    V, middle = np.array([[0.0], [h]]), np.array([[h / 2]])
    for kernel in (SE(0.3), Matern(3.5, 0.3)):
        squared = 1 - 2 * kernel(middle, V).mean() + kernel(V, V).mean()
        assert np.sqrt(squared) >= 0.85 * np.sqrt(interpolation_error(kernel, np.array([[h]])))[0, 0]


def wave(z):
    return float(np.sin(5 * z[0]) * (np.cos(4 * z[1]) if len(z) > 1 else 1.0) + 0.4 * z[0])


def after(rounds, domain, uncertainty, gp, f=wave, **options):
    """An optimiser that was told values at evenly spread points."""
    optimizer = Optimizer(domain, uncertainty, gp, seed=3, **options)
    rng = np.random.default_rng(0)
    state = optimizer.state
    for i in range(rounds):
        z = state.setting.translation.point(state.setting.design(i))
        values = np.array(list(z.values()) if isinstance(z, dict) else z, dtype=float)
        optimizer.tell(z, f(values) + 0.05 * rng.standard_normal())
    return optimizer


def enumerated(optimizer):
    """Largest worst-case ucb, and smallest lcb of the reported decision, by dense enumeration."""
    state, region = optimizer.state, optimizer.state.setting.region
    decisions, scenarios = 801 if region.dim == 1 else 41, 81 if region.width == 1 else 17
    X = cartesian(
        [np.linspace(0, 1, decisions)[:, None] if v.choices is None else v.choices for v in region.space.parts]
    )
    S = cartesian(
        [
            np.arange(float(len(m.rows)))[:, None] if hasattr(m, "rows") else np.linspace(-1, 1, scenarios)[:, None]
            for m in region.movers
            for _ in range(m.width)
        ]
    )
    S = np.unique(region.project(np.repeat(X[:1], len(S), axis=0), S), axis=0)

    def bound(X, sign):
        best = np.empty(len(X))
        for i in range(0, len(X), 50):
            part = X[i : i + 50]
            Z = region.points(np.repeat(part, len(S), axis=0), np.tile(S, (len(part), 1)))
            mean, variance = state.moments([tuple(row) for row in Z.tolist()])
            best[i : i + 50] = (mean + sign * np.sqrt(state.beta * variance)).reshape(len(part), -1).min(axis=1)
        return best

    at = np.array(optimizer.report().decision_index)[None]
    return bound(X, 1.0).max(), bound(at, -1.0)[0]


SETTINGS = {
    "ball on a line": (Space([(0.0, 1.0)]), Ball(0.1), GP(SE(0.2), 0.05), 8),
    "Matern, relative tolerance": (Space([(1.0, 3.0)]), Relative(0.05), GP(Matern(2.5, 0.5), 0.05), 8),
    "log scale": (Space({"x": Float(0.1, 10.0, log=True)}), Ball(0.05), GP(SE(1.0), 0.05), 8),
    "rough kernel": (Space([(0.0, 1.0)]), Ball(0.1), GP(Matern(1.5, 0.3), 0.05), 8),
    "disc": (Space([(0.0, 1.0)] * 2), Ball(0.12), GP(SE(0.4), 0.05), 15),
    "diamond": (Space([(0.0, 1.0)] * 2), Ball(0.12, norm=1), GP(Matern(2.5, 0.5), 0.05), 15),
    "rectangle": (Space([(0.0, 2.0), (0.0, 1.0)]), Rectangle([0.2, 0.05]), GP(SE((0.6, 0.4)), 0.05), 15),
    "parameter in a range": (Space([(0.0, 1.0)]), Parameters(Space([(0.0, 1.0)])), GP(SE(0.4), 0.05), 15),
    "finite parameter": (Space([(0.0, 1.0)]), Ball(0.1) * Parameters([[0.1], [0.9]]), GP(SE(0.4), 0.05), 12),
    "an integer": (Space([(0.0, 1.0), Integer(0, 3)]), Ball(0.1, columns=[0]), GP(SE((0.4, 2.0)), 0.05), 12),
    "learned": (Space([(0.0, 5.0)]), Ball(0.4), Learned(), 10),
    "the most likely model": (Space([(0.0, 5.0)]), Ball(0.4), Learned(method="map"), 10),
    "drawn models": (Space([(0.0, 5.0)]), Ball(0.4), Learned(method="bayes", samples=3, burn_in=4), 10),
}


@pytest.mark.parametrize("name", [extra(k) if k in ("rectangle", "disc") else k for k in SETTINGS])
def test_proved_bounds_enclose_what_enumeration_and_search_find_and_are_close(name):
    *what, rounds = SETTINGS[name]
    optimizer = after(rounds, *what)
    report = optimizer.report()
    tolerance = 0.05 * report.regret_bound
    proved = certify(optimizer)
    optimum, lowest = enumerated(optimizer)
    gap = optimizer.state.certificate(report.decision_index)[2].gap
    assert proved.lower <= min(lowest, report.lower) and proved.optimum_upper >= optimum - 1e-3 * tolerance
    assert report.optimum_upper - gap <= proved.optimum_upper and proved.lower <= proved.upper <= report.upper
    assert proved.reached and proved.evaluations > 0
    # Within the tolerance of what is reached, and a little that enumeration misses.
    assert proved.lower >= min(lowest, report.lower) - 1.1 * tolerance
    assert proved.optimum_upper <= max(optimum, report.optimum_upper) + 1.1 * tolerance
    assert proved.regret_bound == proved.optimum_upper - proved.lower


def test_a_proved_bound_is_right_where_a_search_misses_the_optimum():
    optimizer = after(12, *SETTINGS["finite parameter"][:3])
    optimum, _ = enumerated(optimizer)
    proved = certify(optimizer, tolerance=1e-3)
    assert optimum <= proved.optimum_upper <= optimum + 5e-3


def test_a_small_budget_is_kept_and_its_bounds_are_wider_but_true():
    optimizer = after(15, *SETTINGS["disc"][:3])
    precise, hasty = certify(optimizer), certify(optimizer, budget=2_000)
    assert not hasty.reached and hasty.evaluations < precise.evaluations
    assert hasty.optimum_upper >= precise.optimum_upper and hasty.lower <= precise.lower


def test_a_smaller_tolerance_costs_more_and_gives_narrower_bounds():
    optimizer = after(8, *SETTINGS["ball on a line"][:3])
    coarse, fine = certify(optimizer, tolerance=0.1), certify(optimizer, tolerance=1e-3)
    assert coarse.evaluations < fine.evaluations and fine.regret_bound < coarse.regret_bound


def test_corners_alone_would_not_be_a_bound():
    gp = GP(SE(0.1), 0.01)
    posterior = gp.condition([[0.5]], [3.0])  # a bump between the corners
    covering = PosteriorOnBoxes(SpacePosterior(posterior, Space([(0.0, 1.0)]), False), 4.0)
    z = np.linspace(0, 1, 101)[:, None]
    corners, inside = covering.values(z[[0, -1]], 1).max(), covering.values(z, 1).max()
    assert inside > corners + 0.5 and inside <= corners + covering.slack(np.ones((1, 1)))[0]


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_bounds_of_a_box_hold_at_its_points(seed):
    rng = np.random.default_rng(seed)
    gp = GP(1.5 * Matern(2.5, (0.3, 0.6)), 0.1, mean=-1.0)
    posterior = gp.condition(rng.random((6, 2)), 2 * rng.standard_normal(6))
    covering = PosteriorOnBoxes(SpacePosterior(posterior, Space([(0.0, 1.0)] * 2), False), 9.0)
    low, width = 0.7 * rng.random(2), 0.3 * rng.random(2)
    points = rng.random((200, 2))
    for sign in (1, -1):
        interpolated = weights_of(points) @ covering.values(low + CORNERS * width, sign)
        inside = covering.values(low + points * width, sign)
        assert np.all(inside <= interpolated + covering.slack(width[None]) + 1e-9)


def test_a_finite_domain_is_exact_already():
    optimizer = Optimizer(Grid.linspace(0, 1, 20), Ball(0.1), GP(SE(0.2), 0.1))
    optimizer.tell([0.0], 1.0)
    report, proved = optimizer.report(), certify(optimizer)
    assert (proved.lower, proved.optimum_upper, proved.evaluations) == (report.lower, report.optimum_upper, 0)


@pytest.mark.parametrize(
    ("domain", "uncertainty", "gp", "options", "error", "message"),
    [
        ([(0.0, 1.0)] * 2, Ellipsoid([[0.01, 0.0], [0.0, 0.01]]), GP(SE(0.3), 0.1), {}, TypeError, "expected balls"),
        ([Integer(0, 9)], Rectangle(1.0), GP(SE(3.0), 0.1), {}, TypeError, "on floats"),
        ([(0.0, 1.0)], Ball(0.1), GP(Linear([[1.0]]), 0.1), {}, TypeError, "SE and Matern kernels"),
        ([(0.0, 1.0)], Ball(0.1), GP(SE(0.3), 0.1), {"tolerance": 0.0}, ValueError, "tolerance above 0"),
        ([(0.0, 1.0)], Ball(0.1), GP(SE(0.3), 0.1), {"budget": -1}, ValueError, "budget above 0"),
    ],
)
def test_what_cannot_be_proved_is_refused(domain, uncertainty, gp, options, error, message):
    optimizer = after(5, Space(domain), uncertainty, gp)
    with pytest.raises(error, match=message):
        certify(optimizer, **options)


def test_a_posterior_and_a_region_are_enough():
    region = SpaceRegion(Space([(0.0, 1.0)]), Ball(0.1))
    model = GP(SE(0.2), 0.1).condition([[0.2], [0.7]], [1.0, 0.0])
    posterior = SpacePosterior(model, region.points_space, scaled=False)
    found = rigorous_certificate(posterior, region, np.array([0.25]), 4.0, tolerance=0.05)
    assert found.reached and found.lower < found.upper <= found.optimum_upper and found.decision.tolist() == [0.25]
