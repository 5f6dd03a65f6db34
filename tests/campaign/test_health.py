"""Promises of the line about the model: well explained data are called so, an outlier is named, a wrong or a drifting
model is not to be trusted, and few values are too early."""

import numpy as np
import pytest

import stableopt as so
from stableopt.campaign.health import health

GRID = so.Grid.linspace(0, 1, 101)
MODEL = so.GP(so.Matern(2.5, 0.2), noise=0.05)


def state(values, model=MODEL, points=None):
    optimizer = so.Optimizer(GRID, so.Ball(0.05), model)
    order = np.random.default_rng(0).permutation(101)[: len(values)] if points is None else points
    with pytest.warns() if points is not None else np.errstate():
        optimizer.tell(GRID.points[order], values)
    return optimizer.state, order


def smooth(order, sigma=0.05):
    rng = np.random.default_rng(1)
    return np.sin(5 * GRID.points[order, 0]) + sigma * rng.normal(size=len(order))


ORDER = np.random.default_rng(0).permutation(101)[:40]


@pytest.mark.parametrize("model", [MODEL, so.Learned()])
def test_data_that_the_model_explains_are_called_so(model):
    found = health(state(smooth(ORDER), model)[0])
    assert found == (True, "the model explains the data well", ())


@pytest.mark.parametrize("model", [MODEL, so.Learned()])
def test_an_outlier_is_named_by_its_trial(model):
    values = smooth(ORDER)
    values[16] += 3.0
    optimizer = so.Optimizer(GRID, so.Ball(0.05), model)
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        optimizer.tell(GRID.points[ORDER], values)
    found = health(optimizer.state)
    assert found.unusual[0] == 17 and "trial 17 " in found.words or "17" in found.words


def test_a_model_whose_errors_are_larger_than_it_says_is_not_to_be_trusted():
    found = health(state(smooth(ORDER, 0.12))[0])
    assert not found.trusted and "not to be trusted" in found.words


def test_a_drift_with_time_is_noticed():
    values = smooth(ORDER) + 0.1 * np.linspace(-1, 1, 40)
    found = health(state(values)[0])
    assert not found.trusted and "drift" in found.words


def test_few_values_are_too_early_and_no_error():
    for count in range(1, 9):
        found = health(state(smooth(ORDER[:count]), so.Learned())[0])
        assert not found.trusted and found.words.startswith("too early to")
    assert health(state(smooth(ORDER[:9]))[0]).trusted, "a model that is given needs not be learned"


def test_the_summary_says_it():
    result = so.maximize(lambda x: float(np.sin(5 * x[0])), GRID, 0.05, model=MODEL, evaluations=6)
    assert "model       the model explains the data well" in str(result)
    assert result.health.trusted
