"""Promises of floats with a step, and of lists that are choices: what can be set is proposed, anything can be told."""

import itertools

import numpy as np
import pytest
from helpers.refusals import refused
from hypothesis import given
from hypothesis import strategies as st

import stableopt as so
from stableopt.loop import space as search
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.spaces.region import SpaceRegion
from stableopt.sets.candidates import variable


def on_step(value, step, low=0.0):
    return abs((value - low) / step - round((value - low) / step)) < 1e-9


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (so.Float(20, 22, step=0.5), [20.0, 20.5, 21.0, 21.5, 22.0]),
        (so.Float(0, 1, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (so.Float(0.05, 0.3, step=0.1), [0.05, 0.15, 0.25]),
        (so.Float(1, 100, log=True, step=33), [1.0, 34.0, 67.0, 100.0]),
        (so.Float(0, 1e6, step=250_000), [0.0, 250_000.0, 500_000.0, 750_000.0, 1e6]),
        (so.Float(0, 1, step=1 / 3), [0.0, 1 / 3, 2 / 3, 1.0]),
    ],
)
def test_steps_have_no_more_digits_than_they_need(given, values):
    assert [given.decode(row) for row in given.settings] == values
    assert [given.decode(np.array(given.encode(v, "x"))) for v in values] == values


@given(st.floats(-50, 50), st.floats(0.01, 30), st.floats(0.003, 1), st.floats(-0.2, 1.2))
def test_the_nearest_setting_is_on_a_step_and_at_most_half_a_step_away(low, width, share, where):
    v = so.Float(low, low + width, step=share * width, evaluate=(low - 0.5 * width, low + 1.5 * width))
    u = np.array([where])
    near = v.value(v.settable(u))[0]
    assert abs((near - low) / v.step - round((near - low) / v.step)) < 1e-6
    assert abs(near - v.value(u)[0]) <= 0.5 * v.step * (1 + 1e-6) + 1e-9
    decision = v.value(v.settable(u, decision=True))[0]
    assert low - 1e-9 <= decision <= low + width * (1 + 1e-9)


@pytest.mark.parametrize("step", [0.0, -1.0, 2.0, float("nan"), "1", 1e-9, True])
def test_a_step_that_cannot_be_meant_is_refused(step):
    refused(lambda: so.Float(0, 1, step=step), ValueError, "step")


def test_anything_can_be_told_and_only_steps_are_proposed_and_reported(monkeypatch):
    monkeypatch.setattr(search, "usual_budget", lambda dim, **_: 500)
    ranges = {"t": so.Float(20, 90, step=0.5, evaluate=(10, 100)), "rate": so.Float(0.1, 10, log=True, step=0.1)}
    campaign = so.Campaign(ranges, {"t": 4.3, "rate": "7%"}, environment={"wind": so.Float(0, 10, step=2.5)})
    for i in range(9):
        trial = campaign.ask()
        for part, where in itertools.product(("t", "rate"), (trial.point, trial.decision)):
            assert on_step(where[part], {"t": 0.5, "rate": 0.1}[part])
        assert on_step(trial.point["wind"], 2.5)
        done = trial.point | {"t": trial.point["t"] + 0.123}
        value = -((trial.point["t"] - 44.7) ** 2) - trial.point["rate"] - trial.point["wind"]
        assert campaign.tell(done, value).number == i + 1 and campaign.trial(i + 1).settings == done
    result = campaign.result
    assert on_step(result.decision["t"], 0.5) and on_step(result.decision["rate"], 0.1)
    assert campaign.bounds(result.decision | {"t": 44.321}).lower <= 0, "any decision can be asked about"
    for points in [t.point for t in campaign.ask(3)]:
        assert on_step(points["t"], 0.5) and on_step(points["wind"], 2.5)


def test_a_perturbation_and_an_environment_know_no_steps():
    """The best decision on steps of 0.5 is found, with its worst case in between: against brute force."""

    class Valley:
        def __call__(self, Z):
            return -((Z[:, 0] - 0.37) ** 2) - 0.3 * np.cos(9 * Z[:, 1])

        def with_gradient(self, Z):
            return self(Z), np.column_stack([-2 * (Z[:, 0] - 0.37), 2.7 * np.sin(9 * Z[:, 1])])

    space = so.Space({"x": so.Float(0, 2, step=0.5)})
    region = SpaceRegion(space, so.Rectangle([0.3]) * so.Parameters(so.Space({"w": so.Float(0, 1, step=0.5)})))
    found = ContinuousMaxMin(region, 2000).maximin(Valley())
    x, fine = np.linspace(0, 1, 5), np.linspace(0, 1, 2001)
    worst = [min(-((np.clip([a - 0.15, a + 0.15], 0, 1) - 0.37) ** 2).max(), 0) for a in x]
    assert found.decision == (x[int(np.argmax(worst))],) == (0.25,) or found.decision == (0.5,)
    assert found.decision[0] == x[int(np.argmax(worst))]
    assert found.value == pytest.approx(max(worst) - 0.3 * np.cos(9 * fine).max(), abs=1e-6)


def test_a_run_with_steps_is_written_and_read():
    space = so.Space({"x": so.Float(0, 1, step=0.1)})
    optimizer = so.Optimizer(space, so.Rectangle([(-0.1, 0.2)]), so.GP(so.SE(0.3), 0.1))
    optimizer.tell({"x": 0.123}, 1.0)
    again = so.Optimizer.from_json(optimizer.to_json())
    assert again.domain == space and again.uncertainty == optimizer.uncertainty
    assert again.ask().point == optimizer.ask().point and on_step(again.ask().point["x"], 0.1)


@pytest.mark.parametrize(
    ("given", "means"),
    [
        ([1, 2, 5], so.Category([1, 2, 5])),
        ([0.5, 1.5, 2.5, 9], so.Category([0.5, 1.5, 2.5, 9])),
        ([True, False], so.Category([True, False])),
        ((True, False), so.Category([True, False])),
        (["a", "b"], so.Category(["a", "b"])),
        (np.array([1, 2, 5]), so.Category([1, 2, 5])),
        ([20, 90], so.Float(20, 90)),
        ((20, 90), so.Float(20, 90)),
        (np.array([20, 90]), so.Float(20, 90)),
    ],
)
def test_lists_are_choices_and_two_numbers_are_a_range(given, means):
    assert variable(given, "x") == means


@pytest.mark.parametrize("given", [(0, 1, 0.1), [1], [], [1, None, 2], [1, [2], 3], "abc", 5, [1, 2, 2]])
def test_what_is_neither_is_refused(given):
    refused(lambda: variable(given, "x"), ValueError, "expected")
