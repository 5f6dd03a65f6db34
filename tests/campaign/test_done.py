"""Promises about "are we done?": what draws say agrees with counting, and what cannot be said is not said."""

import math

import numpy as np
import pytest
from helpers.refusals import refused

import stableopt as so
from stableopt.campaign.done import Done, done
from stableopt.campaign.health import Health
from stableopt.loop import space as search
from stableopt.loop.prospects import prospects

GOOD = Health(True, "")


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Searches with less effort: what is promised here does not depend on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 500)
        yield


def known(t=6, noise=0.3):
    """A run on a short list with a model that is given, where all can be counted."""
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 21), so.Ball(0.11), so.GP(so.SE(0.2), noise))
    for x in np.linspace(0, 1, 21)[:: 20 // t][:t]:
        optimizer.tell([x], float(np.sin(6 * x)))
    return optimizer


def counted(optimizer, eta, draws=20_000):
    """The probability by draws of f at all points of the list, and exact worst cases."""
    state, X = optimizer.state, np.linspace(0, 1, 21)[:, None]
    data = X[[r.point_index for r in state.rounds]], [r.y for r in state.rounds]
    posterior = state.belief.gps[0].condition(*data)
    V = np.linalg.solve(posterior.factor, posterior.gp.kernel(posterior.X, X))
    mean, covariance = posterior.whitened @ V, posterior.gp.kernel(X, X) - V.T @ V
    f = np.random.default_rng(5).multivariate_normal(mean, covariance, draws, method="svd")
    padded = np.pad(f, ((0, 0), (2, 2)), constant_values=np.inf)
    worst = np.min([padded[:, i : i + 21] for i in range(5)], axis=0)
    return float(np.mean(worst.max(axis=1) - worst[:, optimizer.report().decision_index] <= eta))


@pytest.mark.parametrize("t", [3, 5, 10])
@pytest.mark.parametrize("eta", [0.02, 0.2])
def test_the_probability_is_that_of_draws_at_all_points(t, eta):
    optimizer = known(t)
    sure = prospects(optimizer.state, optimizer.report().decision_index).sure(eta)
    assert sure == pytest.approx(counted(optimizer, eta), abs=0.08)  # of 512 draws


def limited(t):
    """The same with a quantity that must stay within limits, and is known from other rounds than the value."""
    stress = so.Constraint("stress", lower=-1.3, upper=0.6, model=so.GP(so.SE(0.3), 0.1))
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 21), so.Ball(0.11), so.GP(so.SE(0.2), 0.3), constraints=[stress])
    for i, x in enumerate(np.linspace(0, 1, 21)[:: 20 // t][:t]):
        measured = None if i == 1 else {"stress": float(np.cos(4 * x))}
        optimizer.tell([x], float(np.sin(6 * x)), measured=measured)
    return optimizer


def drawn(gp, rounds, draws, seed):
    """Draws of a quantity at all points of the list, by dense formulas."""
    X = np.linspace(0, 1, 21)[:, None]
    at, y = X[[i for i, _ in rounds]], np.array([value for _, value in rounds])
    K = gp.kernel(at, at) + gp.noise**2 * np.eye(len(at))
    mean, fall = gp.kernel(X, at) @ np.linalg.solve(K, y), gp.kernel(X, at) @ np.linalg.solve(K, gp.kernel(at, X))
    return np.random.default_rng(seed).multivariate_normal(mean, gp.kernel(X, X) - fall, draws, method="svd")


@pytest.mark.parametrize("t", [4, 10, 20])
@pytest.mark.parametrize("eta", [0.05, 0.3])
def test_with_limits_the_probability_is_that_it_keeps_them_and_none_that_does_is_better(t, eta):
    optimizer = limited(t)
    state, reported = optimizer.state, optimizer.report().decision_index
    f = drawn(so.GP(so.SE(0.2), 0.3), [(r.point_index, r.y) for r in state.rounds], 20_000, 5)
    stresses = [(r.point_index, r.measured["stress"]) for r in state.rounds if r.measured]
    g = drawn(so.GP(so.SE(0.3), 0.1), stresses, 20_000, 6)
    near = [np.abs(np.arange(21) - i) <= 2 for i in range(21)]
    worst = np.array([f[:, some].min(axis=1) for some in near]).T
    kept = np.array([(g[:, some].min(axis=1) >= -1.3) & (g[:, some].max(axis=1) <= 0.6) for some in near]).T
    counting = np.where(kept, worst, -np.inf)
    right = kept[:, reported] & (counting.max(axis=1) <= worst[:, reported] + eta)
    found = prospects(state, reported)
    assert found.sure(eta) == pytest.approx(float(np.mean(right)), abs=0.08)  # of 512 draws
    assert found.chances.sum() == pytest.approx(float(np.mean(kept.any(axis=1))), abs=0.08)


def test_limits_count():
    """Negative control: without its constraint the same data speak for another decision."""
    state, reported = limited(10).state, limited(10).report().decision_index
    assert prospects(state, reported).sure(0.3) > prospects(known(10).state, reported).sure(0.3) + 0.1


def test_more_evaluations_help_less_where_more_is_known_with_limits():
    few, many = (done(o.state, o.report().decision_index, GOOD, 0.2) for o in (limited(4), limited(20)))
    assert many.improvement < 0.3 < few.improvement
    assert "it keeps all limits and no decision" in str(many)


def test_a_call_with_limits_stops_when_it_is_sure():
    def f(x):
        return {"cost": (x[0] - 0.3) ** 2, "stress": 1 - x[0]}

    grid = so.Grid.linspace(0, 1, 21)
    limits = {"stress": (None, 0.68)}
    result = so.minimize(f, grid, so.Ball(0.1), value="cost", constraints=limits, evaluations=40, stop_when=0.9)
    assert result.stopped == "confidence" and result.state.t < 40
    assert result.feasible == "certified" and result.decision[0] == pytest.approx(0.45)


def test_joint_moments_are_those_of_single_points_and_of_a_dense_formula():
    rng = np.random.default_rng(0)
    X, Z = rng.random((9, 2)), rng.random((7, 2))
    posterior = so.GP(so.Matern(2.5, [0.3, 0.5]), 0.1, 0.7).condition(X, rng.normal(size=9))
    mean, covariance = posterior.joint(Z)
    single = posterior(Z)
    np.testing.assert_allclose(mean, single[0], atol=1e-12)
    np.testing.assert_allclose(covariance.diagonal(), single[1], atol=1e-12)
    k = posterior.gp.kernel
    dense = k(Z, Z) - k(Z, X) @ np.linalg.solve(k(X, X) + 0.01 * np.eye(9), k(X, Z))
    np.testing.assert_allclose(covariance, dense, atol=1e-12)


def test_more_data_make_it_likelier_and_leave_less_to_find():
    few, many = (done(o.state, o.report().decision_index, GOOD, 0.1) for o in (known(3), known(20, 0.05)))
    assert few.probability < 0.7 < 0.95 < many.probability
    assert many.improvement < 0.05 < few.improvement
    assert sum(c.chance for c in few.contenders) == pytest.approx(1.0)
    chances = [c.chance for c in few.contenders]
    assert chances == sorted(chances, reverse=True)


def test_ten_more_evaluations_are_played_as_they_would_be_made():
    """Against real runs on functions of the prior: the share that improves by more than η is what was foretold."""
    rng = np.random.default_rng(1)
    X = np.linspace(0, 1, 21)[:, None]
    gp = so.GP(so.SE(0.15), 0.05)
    root = np.linalg.cholesky(gp.kernel(X, X) + 1e-9 * np.eye(21))
    foretold, improved = [], []
    for _ in range(30):
        f = root @ rng.standard_normal(21)
        padded = np.pad(f, (2, 2), constant_values=np.inf)
        worst = np.min([padded[i : i + 21] for i in range(5)], axis=0)
        optimizer = so.Optimizer(so.Grid.linspace(0, 1, 21), so.Ball(0.11), gp)
        for i in (2, 9, 16):
            optimizer.tell(X[i], f[i] + 0.05 * rng.standard_normal())
        before = optimizer.report().decision_index
        foretold.append(done(optimizer.state, before, GOOD, 0.1).improvement)
        for _ in range(10):
            query = optimizer.ask()
            optimizer.tell(query, f[query.point_index] + 0.05 * rng.standard_normal())
        improved.append(worst[optimizer.report().decision_index] - worst[before] > 0.1)
    assert np.mean(foretold) == pytest.approx(np.mean(improved), abs=0.2)  # of 30 runs
    assert 0.2 < np.mean(foretold) < 0.95, "the comparison says something"


def test_before_three_values_it_is_too_early_to_say():
    campaign = so.Campaign({"x": (0, 1)}, 0.1)
    for x in (0.2, 0.8):
        assert str(campaign.result.done()) == "too early to say"
        campaign.tell({"x": x}, x)
    result = campaign.result.done(0.1)
    assert math.isnan(result.probability) and math.isnan(result.improvement) and result.contenders == []
    assert "done        too early to say" in str(campaign.result)
    assert not result.reaches(0.01)


@pytest.mark.parametrize("eta", [0, -1.0, math.nan, math.inf, "0.1", True, [0.1]])
def test_eta_is_a_number_above_0(eta):
    result = so.Campaign({"x": (0, 1)}, 0.1).result
    refused(lambda: result.done(eta), ValueError, "eta above 0")


@pytest.mark.parametrize("stop_when", [0, 1, 1.5, -0.1, math.nan, "90%", True, 90])
def test_stop_when_is_a_probability(stop_when):
    def forbidden(p):
        raise AssertionError("measured")

    refused(lambda: so.maximize(forbidden, {"x": (0, 1)}, 0.1, stop_when=stop_when), ValueError, "stop_when")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_call_stops_when_it_is_sure_enough_and_the_summary_says_so(sign):
    solve = so.maximize if sign > 0 else so.minimize
    grid = so.Grid.linspace(0, 1, 41)
    result = solve(lambda p: -sign * (p[0] - 0.3) ** 2, grid, so.Ball(0.1), evaluations=30, stop_when=0.9)
    assert result.stopped == "confidence" and 12 <= len(result.evaluations) < 30
    assert result.done().probability >= 0.9 and result.health.trusted
    assert "that no decision is more than" in str(result) and "10 more evaluations" in str(result)


def test_a_model_that_is_not_to_be_trusted_stops_nothing():
    optimizer = known(20, 0.05)
    found = done(optimizer.state, optimizer.report().decision_index, Health(False, ""), 0.1)
    assert found.probability > 0.9 and not found.reaches(0.5) and str(found).startswith("if the model were right")
    assert Done(found.eta, GOOD, found.prospects).reaches(0.5)


def test_contenders_stand_for_all_hills_and_not_for_the_highest_one_alone():
    """Where little is known, the highest bounds are neighbours of each other: draws of these alone are too sure."""
    grid, rng = so.Grid.linspace([0, 0], [1, 1], 16), np.random.default_rng(4)
    gp = so.GP(so.SE(0.15), 0.02)
    optimizer = so.Optimizer(grid, so.Ball(0.07), gp)
    near = [i for i, x in enumerate(grid.points) if np.abs(x - 0.4).max() < 0.12]
    for i in [*near, *rng.permutation(256)[:12].tolist()]:
        optimizer.tell(grid.points[i], float(1.5 * np.exp(-20 * np.sum((grid.points[i] - 0.4) ** 2))))
    state, decision = optimizer.state, optimizer.report().decision_index
    data = [r.point_index for r in state.rounds], [r.y for r in state.rounds]
    mean, covariance = gp.condition(grid.points[data[0]], data[1]).joint(grid.points)
    f = rng.multivariate_normal(mean, covariance, 4000, method="svd")
    worst = np.array([state.setting.solver().all_minima(each) for each in f])
    counted = np.mean(worst.max(axis=1) - worst[:, decision] <= 0.05)
    found = prospects(state, decision)
    highest = np.argsort(-state.bounds_of(range(256))[1])[:32]
    one_hill = np.mean(worst[:, highest].max(axis=1) - worst[:, decision] <= 0.05)
    assert found.sure(0.05) == pytest.approx(counted, abs=0.1)
    assert one_hill > counted + 0.15, "the comparison says something"


def test_whole_numbers_are_judged_as_the_same_points_of_a_list():
    """A decision that can turn into three points has each of them once, not one of them again and again."""
    x, y = [1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0], [0.948, 1.805, 0.009, -0.792, 0.287, 1.426, -0.465, -2.333]
    grid, space = (
        so.Optimizer(domain, so.Rectangle([1.0]), so.GP(so.SE(1.0), noise=1e-3))
        for domain in (so.Grid.linspace(0, 10, 11), so.Space([so.Integer(0, 10)]))
    )
    grid.tell([[v] for v in x], y)
    space.tell([[int(v)] for v in x], y)
    chances = []
    for whole in range(1, 10, 2):
        index = space.state.setting.translation.decision_index([whole])
        points = space.state.setting.candidates(index, settable=False)
        assert len(set(points)) == len(points) == 3
        chances.append([done(o.state, d, GOOD, 0.05).probability for o, d in ((grid, whole), (space, index))])
    assert np.ptp(chances, axis=1).max() < 0.05 and np.ptp(chances) > 0.1


def test_a_perturbation_knows_no_steps():
    """A tolerance of less than half a step leads to points between the steps."""
    optimizer = so.Optimizer(so.Space([so.Float(0, 10, step=2.5)]), so.Rectangle([0.5]), so.GP(so.SE(1.0), noise=0.1))
    optimizer.tell([[2.5]], [1.0])
    setting = optimizer.state.setting
    places = np.array([setting.translation.point(z)[0] for z in setting.candidates((0.25,), settable=False)])
    assert places.min() == pytest.approx(2.0) and places.max() == pytest.approx(3.0) and len(set(places)) > 10
    assert {setting.translation.point(z)[0] for z in setting.candidates((0.25,))} == {2.5}, "what can be measured"


def test_a_summary_plays_its_games_once():
    result = so.maximize(lambda p: -abs(p["x"] - 0.4), {"x": (0, 1)}, 0.1, evaluations=6, seed=0)
    assert result.done() is result.done() and result.done(0.1).eta == 0.1
