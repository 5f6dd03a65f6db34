"""Promises about the critical radius: exact on lists, known on cones, and a run like any other."""

import itertools
import math

import numpy as np
import pytest
from helpers.refusals import refused
from helpers.settings import SETTINGS, objective

import stableopt as so
from stableopt.loop.play import play
from stableopt.loop.radius import LargestFactor, OptimisticFactor, goals, radius
from stableopt.maxmin import Listing

SCALABLE = {
    name: setting
    for name, setting in SETTINGS.items()
    if setting[1].perturbations or isinstance(setting[1].parameters, so.Estimate)
}
KNOWN = so.GP(so.SE([0.3]), noise=0.02, mean=0.3)


def cone(point):
    """A wide cone of height 1 at 0.6, and a higher, narrow one at 0.15."""
    a = point["a"]
    return max(1 - 2 * abs(a - 0.6), 1.2 - 12 * abs(a - 0.15))


@pytest.mark.parametrize("name", SCALABLE)
@pytest.mark.filterwarnings("ignore:.*reaches less than one step")
def test_on_a_list_the_critical_radius_is_that_of_enumeration(name):
    domain, uncertainty = SCALABLE[name]
    gp = so.GP(so.SE([0.4] * len(Listing(domain, uncertainty).point(0))), noise=0.05)
    optimizer = so.Optimizer(domain, uncertainty, gp, seed=1)
    list(play(optimizer, lambda query: float(objective(query.point)), 8))
    state = optimizer.state
    factors = np.unique(np.append(np.linspace(0.0, 6.0, 49), 1e6))
    limit = 0.5 - np.random.default_rng(0).random(len(state.lcb)) ** 4  # kept by most points
    for aims in ([state.lcb - np.quantile(state.lcb, 0.6)], [state.ucb - np.quantile(state.ucb, 0.3), limit]):
        solvers = {r: Listing(domain, uncertainty.scaled(r)).solver for r in factors.tolist()}
        best = {r: solver.jointly(aims).value for r, solver in solvers.items()}
        found = radius(state, aims)
        reach = -1.0 if found.holds is None else math.inf if found.fails is None else found.holds
        judged = {r: value for r, value in best.items() if not math.isclose(r, reach, rel_tol=1e-6)}
        assert {r for r, value in judged.items() if value >= 0} == {r for r in judged if r <= reach}


def test_on_points_in_a_ball_it_is_the_largest_distance_to_a_bad_point():
    rows = np.random.default_rng(3).random((80, 2))
    optimizer = so.Optimizer(so.Points(rows), so.Ball(0.1), so.GP(so.SE([0.3, 0.3]), noise=0.05), seed=0)
    list(play(optimizer, lambda query: float(objective(query.point)), 10))
    F = optimizer.state.ucb
    v = float(np.quantile(F, 0.3))
    distances = np.linalg.norm(rows[:, None] - rows[None, F < v], axis=2).min(axis=1)  # noqa: SIM300
    found = radius(optimizer.state, [F - v])
    assert found.holds == pytest.approx(distances.max() / 0.1, rel=1e-6)
    assert found.fails == pytest.approx(found.holds, rel=1e-6)
    assert distances[found.decision] == distances.max()


def test_it_measures_the_optimistic_decision_where_it_is_worst_as_far_as_it_may_reach():
    rows = np.random.default_rng(3).random((80, 2))
    optimizer = so.Optimizer(so.Points(rows), so.Ball(0.1), so.GP(so.SE([0.3, 0.3]), noise=0.05), seed=0)
    optimizer.tell(rows[0], 1.0)
    state, v = optimizer.state, 0.1
    choice = OptimisticFactor(v).sample(state, 0)
    found = radius(state, [state.ucb - v])
    within = np.linalg.norm(rows - rows[choice.decision], axis=1) <= 0.1 * found.holds * (1 + 1e-9)
    assert choice.decision == found.decision and within.sum() > 5
    assert within[choice.point] and state.lcb[choice.point] == state.lcb[within].min()


def test_with_limits_it_measures_what_is_known_least_of_what_is_not_guaranteed():
    """The value is known well and the heat not at all; then the other way round, and a limit that is never reached."""
    grid = so.Grid.linspace(0, 1, 41)
    for told, level, key in (((1.0, None), 0.5, "heat"), ((None, 3.0), 0.5, "value"), ((1.0, None), 1e9, "value")):
        heat = so.Constraint("heat", upper=7.0 if level < 1 else level, model=so.GP(9.0 * so.SE([0.3]), 0.1, 5.0))
        optimizer = so.Optimizer(grid, so.Ball(0.05), KNOWN, constraints=[heat], seed=0)
        for x in (0.2, 0.5, 0.8):
            optimizer.tell([x], told[0], measured={"heat": told[1]})
        state = optimizer.state
        aims = goals(state, 0.2, "exploring")
        found = radius(state, aims)
        lower = dict(zip(("value", "heat"), goals(state, 0.2, "lower"), strict=True))[key]
        within = abs(grid.points[:, 0] - grid.points[found.decision, 0]) <= 0.05 * found.holds * (1 + 1e-9)
        choice = OptimisticFactor(0.2).sample(state, 0)
        assert choice.decision == found.decision and within[choice.point]
        assert lower[choice.point] == lower[within].min()


def test_the_best_guarantee_within_what_is_expected_to_be_reached_is_reported():
    rows = np.random.default_rng(4).random((70, 2))
    optimizer = so.Optimizer(so.Points(rows), so.Ball(0.1), so.GP(so.SE([0.3, 0.3]), noise=0.05), seed=0)
    list(play(optimizer, lambda query: float(objective(query.point)), 10))
    state = optimizer.state
    mean = state.moments(range(70))[0]
    v = float(np.quantile(mean, 0.4))
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    expected = apart[:, mean < v].min(axis=1).max()  # up to the nearest point that is expected to be bad
    within = apart < expected
    worst = np.where(within, state.lcb, np.inf).min(axis=1)
    assert worst[LargestFactor(v).choose(state)] == pytest.approx(worst.max())


@pytest.fixture(scope="module")
def on_a_cone():
    return so.widest(cone, {"a": (0, 1)}, 0.05, at_least=0.5, evaluations=16, noise=0.01)


def test_on_a_cone_the_factor_is_known(on_a_cone):
    """At least 0.5 within 0.25 of the tip: 5 times the tolerance. The other cone is higher, and good for 1.2 times."""
    low, high = on_a_cone.factors
    true = (0.25 - abs(on_a_cone.decision["a"] - 0.6)) / 0.05
    assert 2.5 < low <= true + 0.05 <= high + 0.1
    assert high <= on_a_cone.factor_bound and on_a_cone.factor_bound > 4.95
    sure, factor = on_a_cone.surest
    assert factor >= 0.98 * low and factor <= (0.25 - abs(sure["a"] - 0.6)) / 0.05 + 0.05
    text = str(on_a_cone)
    assert text.splitlines()[1].startswith("widest      at least 0.5 is guaranteed up to")
    allowed = on_a_cone.allowance(at_least=0.5)
    assert allowed.factors.guaranteed == pytest.approx(low, rel=0.01)
    assert "widest" in on_a_cone._repr_html_()


@pytest.mark.usefixtures("quick")
def test_limits_are_kept_as_far_as_the_specification():
    """Within r of a decision d, the cone needs r <= 0.25 - |d - 0.6| and the limit r <= 0.7 - d: most at d = 0.525."""
    for domain, evaluations, near in ((so.Grid.linspace(0, 1, 81), 14, 0.026), (so.Space([(0.0, 1.0)]), 10, 0.05)):
        found = so.widest(
            lambda x: (cone({"a": x[0]}), {"heat": 10 * float(x[0])}),
            domain,
            so.Ball(0.05),
            at_least=0.5,
            constraints={"heat": so.Constraint("heat", upper=7.0, model=so.GP(9.0 * so.SE([1.0]), 0.02, 5.0))},
            model=KNOWN,
            evaluations=evaluations,
        )
        assert found.decision[0] == pytest.approx(0.525, abs=near)
        true = min(0.25 - abs(found.decision[0] - 0.6), 0.7 - found.decision[0]) / 0.05
        assert 2.4 < found.factors.guaranteed <= true + 0.05 <= found.factors.possible + 0.1
        assert found.factor_bound > 3.45 and found.feasible == "certified"
        assert "at least 0.5 within all limits is guaranteed up to" in str(found)


def test_what_is_minimised_is_the_mirror_image():
    grid = so.Grid.linspace(0, 1, 41)
    options = {"evaluations": 8, "model": KNOWN}
    up = so.widest(lambda x: cone({"a": x[0]}), grid, so.Ball(0.05), at_least=0.5, **options)
    down = so.widest(lambda x: -cone({"a": x[0]}), grid, so.Ball(0.05), at_most=-0.5, **options)
    assert up.factors == down.factors and up.factor_bound == down.factor_bound
    assert up.decision == down.decision and "at most -0.5" in str(down)


def test_a_run_goes_on_from_its_file_and_is_the_same(tmp_path):
    grid, calls = so.Grid.linspace(0, 1, 41), []

    def f(x):
        calls.append(float(x[0]))
        return cone({"a": x[0]})

    options = {"at_least": 0.5, "model": KNOWN}
    whole = so.widest(f, grid, so.Ball(0.05), evaluations=8, **options)
    first, again = calls.copy(), calls.clear()
    for evaluations in (3, 8):
        again = so.widest(f, grid, so.Ball(0.05), evaluations=evaluations, file=tmp_path / "run.db", **options)
    assert calls == first and again.factors == whole.factors
    kept = so.Campaign.open(tmp_path / "run.db")
    assert kept.result.decision == whole.decision
    copy = so.Optimizer.from_json(whole.optimizer.to_json())
    assert copy.ask().point == whole.optimizer.ask().point


@pytest.mark.usefixtures("quick")
def test_workers_failures_and_an_environment_are_no_obstacle():
    count = itertools.count()

    def f(point):
        if next(count) == 2:
            raise RuntimeError("the pump was off")
        return cone(point) - 0.1 * point["wind"]

    words = {"at_least": 0.4, "environment": {"wind": (0, 1)}, "model": so.GP(so.SE([0.3, 1.0]), 0.02, 0.3)}
    found = so.widest(f, {"a": (0, 1)}, 0.05, **words, evaluations=6, workers=("threads", 2))
    assert len(found.evaluations) == 6 and len(found.errors) == 1 and found.factor_bound is not None


def test_a_specification_out_of_reach_is_said_in_words():
    grid = so.Grid.linspace(0, 1, 21)
    found = so.widest(lambda x: 0.1 * x[0], grid, so.Ball(0.05), at_least=5.0, evaluations=6, model=KNOWN)
    assert found.factors == (None, None) and found.factor_bound is None and found.surest is None
    assert "out of reach for every decision" in found.words and "\ndone" not in str(found)


def test_what_holds_everywhere_has_no_bound():
    grid = so.Grid.linspace(0, 1, 21)
    found = so.widest(lambda x: 0.1 * x[0], grid, so.Ball(0.05), at_least=-9.0, evaluations=3, model=KNOWN)
    assert found.factor_bound == math.inf and found.factors.guaranteed == pytest.approx(20.0)


def test_bad_questions_are_refused_before_anything_is_measured():
    def never(point):
        raise AssertionError("measured")

    line = {"a": (0, 1)}
    refused(lambda: so.widest(never, line, 0.1), ValueError, "expected at_least", "got at_least=None")
    refused(lambda: so.widest(never, line, 0.1, at_least=1, at_most=2), ValueError, "expected at_least", "at_most=2")
    refused(lambda: so.widest(never, line, 0.1, at_least="high"), ValueError, "expected at_least", "got")
    refused(lambda: so.widest(never, line, 0, at_least=1), ValueError, "expected a tolerance above 0", "got Rectangle")
    refused(lambda: so.widest(never, line, at_least=1), ValueError, "expected a tolerance", "got neither")
    refused(
        lambda: so.widest(never, line, 0.1, at_least=1, target=0.1), ValueError, "expected no target", "got ['target']"
    )
    refused(lambda: so.widest(never, line, 0.1, at_least=1, stop_when=0.9), ValueError, "expected no stop_when")
    refused(lambda: so.widest(never, line, 0.1, at_least=1, minimize=True), ValueError, "expected at_most=...")
    own = so.Within(lambda x, z: abs(x - z).max() < 0.1, lambda x, z: x)
    refused(lambda: so.widest(never, line, own, at_least=1), ValueError, "expected a set with a size", "your own")
    refused(lambda: OptimisticFactor(math.nan), ValueError, "expected at_least", "got nan")


@pytest.mark.usefixtures("quick")
def test_a_specification_that_everything_keeps_is_said_without_infinity():
    found = so.widest(lambda p: -((p["x"] - 0.3) ** 2), {"x": (0, 1)}, {"x": 0.1}, at_least=-5, evaluations=8, seed=0)
    assert "that is all that fits" in str(found) and "inf" not in str(found)


def test_all_that_fits_is_said_only_where_the_tolerance_cannot_grow():
    """Between 0.3 and 0.7 all is well, and nothing was measured elsewhere: nobody knows that it ends there."""
    x = np.linspace(0.3, 0.7, 9)
    gp = so.GP(4.0 * so.SE(0.1), noise=1e-3)
    found = so.widest(
        lambda p: 0.0,
        {"x": (0, 1)},
        {"x": 0.05},
        at_least=-0.5,
        evaluations=0,
        data={"x": x.tolist(), "value": [0.0] * 9},
        model=gp,
    )
    assert found.factors.guaranteed < 6 and not math.isfinite(found.factor_bound)
    assert found.words.endswith("no larger one is excluded")
