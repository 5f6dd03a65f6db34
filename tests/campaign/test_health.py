"""Promises of the line about the model: well explained data are called so, an outlier is named, a wrong or a drifting
model is not to be trusted, and few values are too early."""

import math
import warnings

import numpy as np
import pytest
from helpers.cases import extra

import stableopt as so
from stableopt.campaign.health import health
from stableopt.campaign.inputs import EFFECT, effects, idle
from stableopt.loop import space as search

pytestmark = pytest.mark.usefixtures("quick")  # no promise here depends on the effort of a search

GRID = so.Grid.linspace(0, 1, 101)
MODEL = so.GP(so.Matern(2.5, 0.2), noise=0.05)


ORDER = np.random.default_rng(0).permutation(101)[:40]


def checked(values, model=MODEL):
    optimizer = so.Optimizer(GRID, so.Ball(0.05), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a surprising value is warned of when it is told
        optimizer.tell(GRID.points[ORDER[: len(values)]], values)
    return health(optimizer.state)


def smooth(order, sigma=0.05):
    rng = np.random.default_rng(1)
    return np.sin(5 * GRID.points[order, 0]) + sigma * rng.normal(size=len(order))


@pytest.mark.parametrize("model", [MODEL, so.Learned()])
def test_data_that_the_model_explains_are_called_so(model):
    assert checked(smooth(ORDER), model)[:3] == (True, "the model explains the data well", ())


@pytest.mark.parametrize("model", [MODEL, so.Learned()])
def test_an_outlier_is_named_by_its_trial(model):
    values = smooth(ORDER)
    values[16] += 3.0
    found = checked(values, model)
    assert found.unusual[0] == 17 and found.off > 4
    assert ("17" in found.words and "widen" in found.words) or "far from what it expects" in found.words


def test_a_model_whose_errors_are_larger_than_it_says_is_not_to_be_trusted():
    found = checked(smooth(ORDER, 0.12))
    assert not found.trusted and "not to be trusted" in found.words


def test_a_drift_with_time_is_noticed():
    found = checked(smooth(ORDER) + 0.2 * np.linspace(-1, 1, 40))
    assert not found.trusted and "drift" in found.words


def test_values_that_are_all_equal_say_so_and_do_not_drift():
    found = so.assess({"x": np.linspace(0, 1, 25), "value": np.full(25, 1000.0)}, {"x": (0, 1)}, {"x": 0.1}).health
    assert not found.trusted and "all 25 values are equal" in found.words


def test_few_values_are_too_early_and_no_error():
    for count in range(1, 9):
        found = checked(smooth(ORDER[:count]), so.Learned())
        assert not found.trusted and found.words.startswith("too early to")
    assert checked(smooth(ORDER[:9])).trusted, "a model that is given needs not be learned"


def test_the_summary_says_it():
    result = so.maximize(lambda x: float(np.sin(5 * x[0])), GRID, 0.05, model=MODEL, evaluations=6)
    assert "model       the model explains the data well" in str(result)
    assert result.health.trusted


RNG = np.random.default_rng(3)
PLACES = RNG.random((40, 4))
VALUES = 10 + np.sin(4 * PLACES[:, 0]) + PLACES[:, 1] ** 2 + 0.02 * RNG.normal(size=40)
RANGES = dict.fromkeys("abcd", (0.0, 1.0))


def assessed(values, places=PLACES, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 1000)
        table = {name: places[:, i] for i, name in enumerate("abcd")}
        return so.assess({**table, "value": values}, RANGES, 0.05, **options)


def test_inputs_that_hardly_matter_are_named():
    known = assessed(VALUES)
    assert known.health.idle == ("c", "d")
    assert "inputs      c and d make hardly a difference to f" in str(known)
    assert assessed(VALUES + 2 * PLACES[:, 2] * PLACES[:, 3]).health.idle == ()


def test_an_input_matters_beside_a_steep_corner_and_for_a_limit():
    """Nearly all of the variation of f is where a is above 0.85; b matters elsewhere, or for the stress alone."""
    a, b = PLACES[:, 0], PLACES[:, 1]
    steep = 300 * np.maximum(a - 0.85, 0) ** 2 * np.exp(2 * a)
    assert idle(assessed(2 * a + 2 * b + steep).state) == ("c", "d"), "b has 0.5 % of the variation of the values"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 1000)
        table = {name: PLACES[:, i] for i, name in enumerate("abcd")} | {"value": 10 * a, "stress": 5 * b}
        known = so.assess(table, RANGES, 0.05, constraints={"stress": (None, 4.0)})
    assert idle(known.state) == ("c", "d")
    assert [name for name, effect in effects(known.state) if effect < EFFECT] == ["b", "c", "d"]


def test_nothing_is_said_of_inputs_where_too_little_is_known():
    noise = np.random.default_rng(0).normal(size=40)
    assert assessed(noise).health.idle == ()


@pytest.mark.parametrize("noise", [None, "robust"])
def test_a_wrong_unit_is_named_and_with_robust_noise_it_spoils_nothing(noise):
    wrong = VALUES.copy()
    wrong[16] *= 1000
    clean, known = assessed(VALUES), assessed(wrong, noise=noise)
    assert known.health.unusual == (17,)
    assert "10^3 times " + ("most values" if noise is None else "that") + " (another unit" in str(known)
    spoiled = abs(known.worst_case.lower - clean.worst_case.lower) / np.ptp(VALUES)
    if noise is None:
        assert spoiled > 10 and "widens all bounds: not to be trusted until that is checked" in str(known)
        assert not known.health.trusted
    else:
        assert spoiled < 0.05 and "has lost its weight" in known.health.words
        assert known.health.trusted and known.health.idle == ("c", "d")


def learned(order, values):
    optimizer = so.Optimizer(GRID, so.Ball(0.05), so.Learned())
    optimizer.tell(GRID.points[order], values)
    return optimizer.state


def test_a_bound_of_the_optimum_that_rests_on_few_places_is_not_to_be_trusted():
    """Twenty values in one corner are three looks at f, and the bound of the optimum lies where none of them is."""
    corner, everywhere = np.arange(0, 40, 2), np.arange(0, 100, 5)
    found = health(learned(corner, smooth(corner)))
    assert not found.trusted
    assert found.words == (
        "too early to trust the bound of the optimum: 20 values say as much about f as 3 far apart, and 9 are needed"
    )
    assert health(learned(corner, smooth(corner)), optimum=False).trusted, "all else is explained well"
    assert health(learned(everywhere, smooth(everywhere))).trusted, "as many values, spread out"


def test_an_audit_says_nothing_of_the_optimum_and_needs_not_be_trusted_with_it():
    audit = so.audit(lambda p: float(np.sin(5 * p["x"])), {"x": 0.1}, {"x": (0, 1)}, 0.05, evaluations=14)
    assert audit.health.trusted and not health(audit.state).trusted


def test_a_bound_of_the_optimum_is_not_to_be_trusted_where_more_is_unknown_than_known():
    corner = np.arange(20)
    found = health(learned(corner, np.sin(60 * GRID.points[corner, 0])))
    assert not found.trusted and found.words.endswith("more is unknown than known")
    assert health(learned(5 * corner, smooth(5 * corner))).trusted, "as many values, spread out"


def test_what_others_say_of_an_unusual_value_has_the_sign_of_the_values():
    wrong = VALUES.copy()
    wrong[16] *= 1000
    low, high = assessed(wrong, noise="robust", minimize=True), assessed(wrong, noise="robust")
    assert low.health.unusual == high.health.unusual == (17,)
    assert low.health.foretold == pytest.approx(high.health.foretold, abs=1) and low.health.foretold > 5
    assert "10^3 times that (another unit" in str(low)


@pytest.mark.parametrize("order", ["failed", extra("abandoned"), "reversed"])
def test_an_unusual_value_has_the_number_of_its_trial(order):
    """What failed has a number, too, and values may come in another order than trials were asked for."""
    campaign = so.Campaign({"a": (0, 1), "b": (0, 1)}, 0.05, value="y", initial=22)
    trials = campaign.ask(22)
    for trial in trials[::-1] if order == "reversed" else trials:
        if order != "reversed" and trial.number in (2, 3, 5):
            campaign.tell(trial, failed="no time") if order == "failed" else campaign.abandon(trial, "no time")
        else:
            y = math.sin(4 * trial.point["a"]) + trial.point["b"]
            campaign.tell(trial, 1000 * y if trial.number == 12 else y)
    result = campaign.result
    assert len(result.numbers) == result.state.t
    assert result.health.unusual[0] == 12 and "trial 12" in result.health.words
    said = next(line for line in str(result).splitlines() if line.startswith("unusual"))
    assert f"{campaign.trial(12).values['y']:.4g} at a = {campaign.trial(12).point['a']:.2f}"[:9] in said
    campaign.correct(12, campaign.trial(12).values["y"] / 1000)
    assert 12 not in campaign.result.health.unusual


def test_a_constraint_that_was_dropped_leaves_the_numbers_of_trials_alone():
    campaign = so.Campaign({"a": (0, 1)}, 0.05, value="y", constraints={"s": (None, 9.0)}, initial=12)
    for trial in campaign.ask(12):
        campaign.tell(trial, {"s": 1.0} if trial.number == 2 else {"y": trial.point["a"], "s": 1.0})
    assert campaign.result.numbers == list(range(1, 13))
    campaign.change(constraints=None)
    result = campaign.result
    assert result.numbers == [1, *range(3, 13)] and len(result.numbers) == result.state.t
