"""Promises about comparisons: what is expected by chance is what closed forms and enumeration say."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.refusals import refused
from helpers.settings import SETTINGS, objective

import stableopt as so
from stableopt.campaign.results import Answer
from stableopt.loop.perturbing import Chance, draws
from stableopt.loop.play import play
from stableopt.loop.settings import setting_of
from stableopt.maxmin import Listing

SURE = so.GP(4.0 * so.SE([0.8]), noise=1e-4, mean=0.5)


def slope(sign=1, **options):
    """f(a) = a, all but known."""
    x = np.linspace(0, 1, 8)
    return so.assess((x[:, None], sign * x), {"a": (0, 1)}, 0.1, minimize=sign < 0, model=SURE, **options)


@pytest.mark.parametrize("name", SETTINGS)
def test_on_a_list_all_that_a_decision_can_turn_into_is_equally_likely(name):
    domain, uncertainty = SETTINGS[name]
    listing = Listing(domain, uncertainty)
    gp = so.GP(so.SE([0.4] * len(listing.point(0))), noise=0.05)
    optimizer = so.Optimizer(domain, uncertainty, gp, seed=1)
    list(play(optimizer, lambda query: float(objective(query.point)), 6))
    state = optimizer.state
    comparison = Answer(optimizer, 1).compare(share=0.3)
    assert {row.what for row in comparison[2:]} <= {"tried"} and len(comparison) >= 2
    mean = state.posterior.bound(0.0)
    for row in comparison:
        index = listing.decision_index(row.decision)
        values = np.sort(mean[listing.solver.members(index)])
        assert row.mean == pytest.approx(values.mean()) and row.worst == pytest.approx(values[0])
        assert row.quantile == pytest.approx(np.quantile(values, 0.3))
        assert row.worst <= row.cvar + 1e-12 <= row.mean + 2e-12
        assert row.guaranteed == pytest.approx(state.lcb[listing.solver.members(index)].min())
        assert row.nominal == pytest.approx(mean[listing.home(index)].min())
    still = Listing(domain, uncertainty.scaled(0.0)).solver.maximin(mean)
    assert comparison[1].nominal == pytest.approx(still.value)


@pytest.mark.parametrize("sign", [1, -1])
def test_on_a_slope_everything_is_known(sign):
    comparison = slope(sign).compare(samples=20_000)
    row = next(row for row in comparison if 0.3 < row.decision["a"] < 0.7)
    a = row.decision["a"]
    expected = {"nominal": a, "mean": a, "quantile": a - 0.09, "cvar": a - 0.095, "worst": a - 0.1}
    for name, value in expected.items():
        assert getattr(row, name) == pytest.approx(sign * value, abs=2e-3), name


def test_a_normal_perturbation_has_the_tolerance_as_two_standard_deviations_and_given_ones_are_taken():
    answer = slope()
    row = next(r for r in answer.compare("normal", samples=40_000) if 0.4 < r.decision["a"] < 0.6)
    a = row.decision["a"]
    assert row.quantile == pytest.approx(a - 1.645 * 0.05, abs=2e-3)
    assert row.cvar == pytest.approx(a - 2.063 * 0.05, abs=3e-3)
    for given in ([[0.02], [0.04]], np.array([0.02, 0.04]), lambda rng, n: np.tile([[0.02], [0.04]], (n // 2, 1))):
        own = next(r for r in answer.compare(given, samples=10) if r.decision["a"] == a)
        assert own.mean == pytest.approx(a + 0.03, abs=1e-3)


@pytest.mark.parametrize(
    ("tolerance", "spread"),
    [
        (so.Ball(0.2), 0.2**2 / 4),  # E x² = r²/(k + 2) in a ball
        (so.Rectangle([0.2, 0.1]), 0.2**2 / 3),
        (so.Ball(0.2, 1), 0.2**2 / 6),  # 2 r²/((k + 1)(k + 2)) where the norm is l1
        (so.Ellipsoid([[0.04, 0.01], [0.01, 0.01]]), 0.04 / 4),
        (so.Relative(0.2), (0.2 * 0.5) ** 2 / 3),
    ],
)
def test_uniform_is_uniform_in_the_set(tolerance, spread):
    setting = setting_of(so.Space([(0.0, 1.0), (0.0, 1.0)]), tolerance)
    Z = np.asarray(draws(setting, (0.5, 0.5), Chance(samples=40_000)))
    assert tolerance.reaches(np.array([[0.5, 0.5]]), Z).all()
    assert np.mean((Z[:, 0] - 0.5) ** 2) == pytest.approx(spread, rel=0.03)
    assert np.abs(Z.mean(axis=0) - 0.5).max() < 2e-3


def test_log_scales_whole_numbers_pairs_and_environments_are_drawn_in_the_users_units():
    space = so.Space({"rate": so.Float(1.0, 100.0, log=True), "n": so.Integer(1, 9), "c": ["x", "y"]})
    wind = so.Parameters(so.Space({"wind": (0.0, 12.0)}))
    box = so.Rectangle([(-1.0, 3.0), 1.0], columns=["rate", "n"])
    setting = setting_of(space, box * wind)
    index = setting.translation.decision_index({"rate": 10.0, "n": 5, "c": "y"})
    points = [setting.translation.point(tuple(row)) for row in np.asarray(draws(setting, index, Chance(samples=2000)))]
    rates = np.array([p["rate"] for p in points])
    assert rates.min() == pytest.approx(9.0, abs=0.05) and rates.max() == pytest.approx(13.0, abs=0.05)
    assert rates.mean() == pytest.approx(11.0, abs=0.15)
    assert {p["n"] for p in points} == {4, 5, 6} and {p["c"] for p in points} == {"y"}
    assert np.mean([p["wind"] for p in points]) == pytest.approx(6.0, abs=0.4)


def two_peaks(x):
    return math.exp(-(((x - 0.3) / 0.2) ** 2)) + 1.3 * math.exp(-(((x - 0.8) / 0.04) ** 2))


def test_the_price_of_robustness_is_said_in_words():
    x = np.linspace(0, 1, 40)
    model = so.GP(so.SE([0.05]), noise=1e-3, mean=0.4)
    answer = so.assess((x[:, None], [two_peaks(v) for v in x]), {"a": (0, 1)}, 0.1, model=model)
    comparison = answer.compare()
    reported, nominal = comparison[0], comparison[1]
    assert abs(nominal.decision["a"] - 0.8) < 0.02 < abs(reported.decision["a"] - 0.8)
    assert comparison.words.startswith(
        f"robustness costs {nominal.nominal - reported.nominal:.3g} if nothing goes wrong"
    )
    assert f"the worst case {reported.worst - nominal.worst:.3g} better" in comparison.words
    assert all(a.worst >= b.worst for a, b in itertools.pairwise(comparison[2:]))
    hill = so.assess((x[:, None], 1 - (x - 0.5) ** 2), {"a": (0, 1)}, 0.1, model=SURE)
    assert "costs nothing here" in hill.compare().words
    rows = (reported._replace(worst=nominal.worst - 0.1), nominal, *comparison.rows[2:])
    said = replace(comparison, rows=rows).words
    assert "and 0.1 of the worst case that is expected" in said and "for a better guarantee" in said, "no -0.1 better"


def test_it_is_shown_as_a_table():
    comparison = slope().compare(samples=100)
    text = str(comparison)
    assert "quantile 0.05" in text and "nominal optimum" in text and "1 more that were tried" in text
    frame = comparison.to_dataframe()
    assert list(frame.columns)[:3] == ["what", "a", "nominal"] and len(frame) == len(comparison)
    assert "<table>" in comparison._repr_html_() and repr(comparison).startswith("Comparison(")


@pytest.mark.usefixtures("quick")
def test_bad_questions_are_refused_with_what_to_do():
    answer = slope()
    refused(lambda: answer.compare("gaussian"), ValueError, 'expected perturbations as "uniform"', "got 'gaussian'")
    refused(lambda: answer.compare(share=1.5), ValueError, "expected share", "got 1.5")
    refused(lambda: answer.compare(samples=0), ValueError, "expected samples", "got 0")
    refused(lambda: answer.compare([[1.0, 2.0]]), ValueError, "rows of 1 numbers", "got an array of shape (1, 2)")
    refused(lambda: answer.compare(lambda rng, n: [math.nan]), ValueError, "rows of 1 numbers", "got")
    own = so.Within(
        lambda X, Z: (abs(X - Z) < 0.1).all(axis=1), lambda X, Z: X + np.clip(Z - X, -0.1, 0.1), vectorized=True
    )
    mine = so.assess({"a": [0.1, 0.9], "value": [1.0, 2.0]}, {"a": (0, 1)}, own)
    refused(mine.compare, ValueError, "expected samples or a function", "got 'uniform'")
    assert mine.compare([[0.05], [-0.05]]).perturbation == "as given"
    grid = so.assess(([[0.0], [0.5]], [1.0, 2.0]), so.Grid.linspace(0, 1, 5), so.Ball(0.3))
    refused(lambda: grid.compare("normal"), ValueError, 'expected perturbation="uniform" on a list', "got 'normal'")


def test_with_constraints_the_nominal_optimum_keeps_limits_if_nothing_goes_wrong_and_each_row_says_more():
    """f(a) = a, and the heat 10 a must stay below 7: the nominal optimum is 0.7, the robust one 0.6."""
    grid = so.Grid.linspace(0, 1, 51)
    optimizer = so.Optimizer(
        grid,
        so.Ball(0.1),
        SURE,
        constraints=[so.Constraint("heat", upper=7.0, model=so.GP(400.0 * so.SE([0.8]), noise=1e-3, mean=5.0))],
    )
    for x in np.linspace(0, 1, 11):
        optimizer.tell([x], x, measured={"heat": 10 * x - 0.02})
    comparison = Answer(optimizer, 1).compare()
    own, nominal, *tried = comparison
    assert (own.decision[0], nominal.decision[0]) == (pytest.approx(0.6), pytest.approx(0.7))
    assert (own.limits, nominal.limits) == ("keeps all limits", "breaks a limit")
    kept = [row.decision[0] <= 0.6 + 1e-9 for row in tried]
    assert [row.limits == "keeps all limits" for row in tried] == kept == sorted(kept, reverse=True)
    assert "costs 0.1" in comparison.words and comparison.words.endswith("nothing goes wrong breaks a limit")
    assert list(comparison.to_dataframe()["limits"]) == [row.limits for row in comparison]
    assert "limits" in str(comparison) and "limits" not in str(slope().compare())


@pytest.mark.parametrize(("tolerance", "least"), [(1.0, -1.0), (1.6, -1.0), (2.0, -2.0), ("16%", -1.0)])
def test_whole_numbers_move_by_whole_steps_within_the_tolerance(tolerance, least):
    """f(n) = −|n − 10|: with ±1.6, n may be 9, 10 or 11, and no row may be worse than the report says."""
    n = np.arange(21)
    data = {"n": n.tolist(), "value": (-np.abs(n - 10.0)).tolist()}
    answer = so.assess(data, {"n": so.Integer(0, 20)}, {"n": tolerance}, noise=1e-3)
    own = answer.compare()[0]
    assert own.worst == pytest.approx(least, abs=0.05) == answer.worst_case.lower
    assert least < own.mean < 0 and own.quantile == pytest.approx(least, abs=0.05)


def test_what_failed_is_not_called_the_price_of_robustness():
    rng = np.random.default_rng(2)
    places = [(56.0, 4.9), *zip(rng.uniform(20, 100, 30), rng.uniform(1, 9, 30), strict=True)]
    rows = [{"T": a, "p": b, "y": 50 * 2.7 ** (-(((a - 60) / 20) ** 2) - ((b - 5) / 2) ** 2)} for a, b in places]
    rows.append({"T": 60, "p": 5, "y": None})
    answer = so.assess(rows, {"T": (20, 100), "p": (1, 9)}, {"T": 5, "p": 0.5}, value="y")
    words = answer.compare().words
    assert words.startswith("what failed costs") and "better" not in words and "left out" in str(answer)
    # What can turn into the settings that failed is not the best of the past.
    setting, failing = answer.state.setting, answer.state.failing
    indices = [setting.translation.decision_index(decision) for decision, _, _ in answer.decisions]
    good = [answer.state.avoids(index, failing) for index in indices]
    assert not all(good) and good == sorted(good, reverse=True) and answer.worst_case.lower >= answer.decisions[0][1]
