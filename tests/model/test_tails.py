"""Promises of noise with heavy tails: outliers lose their weight, all others keep it, and it can be stored."""

import numpy as np
import pytest

import stableopt as so
from stableopt.base.values import from_dict
from stableopt.loop.optimizer import Optimizer

X = np.random.default_rng(0).random((30, 1))
F = np.sin(6 * X[:, 0])
GRID = np.linspace(0, 1, 50)[:, None]
TRUTH = np.sin(6 * GRID[:, 0])


def learned(y, robust=True, noise=None):
    model = so.Learned(robust=robust)
    return model.learn(X, y, noise, model.first(1))


def clean(sigma=0.05):
    return F + sigma * np.random.default_rng(1).normal(size=30)


@pytest.mark.parametrize("size", [2.0, 20.0, 2000.0])
@pytest.mark.parametrize("count", [1, 3])
def test_outliers_lose_their_weight_and_the_rest_is_as_it_was_without_them(size, count):
    y, wrong = clean(), [4, 11, 23][:count]
    y[wrong] += size
    belief = learned(y)
    assert all(belief.noises[i] > 0.3 * size for i in wrong)
    assert sum(n is not None for n in belief.noises) <= count + 2
    mean = belief.condition(X, y)(GRID)[0]
    without = np.delete(np.arange(30), wrong)
    model = so.Learned()
    known = model.learn(X[without], y[without], None, model.first(1)).condition(X[without], y[without])(GRID)[0]
    spoiled = learned(y, robust=False).condition(X, y)(GRID)[0]
    assert np.abs(mean - known).max() < 0.15
    assert np.abs(mean - TRUTH).mean() < 0.5 * np.abs(spoiled - TRUTH).mean()


def test_without_outliers_hardly_anything_changes():
    y = clean()
    robust, usual = learned(y), learned(y, robust=False)
    assert usual.noises == ()
    assert sum(n is not None for n in robust.noises) <= 2
    gap = np.abs(robust.condition(X, y)(GRID)[0] - usual.condition(X, y)(GRID)[0])
    assert gap.max() < 0.1


def test_a_peak_that_others_confirm_keeps_its_weight():
    X2 = np.linspace(0, 1, 41)[:, None]
    y = 3 * np.exp(-(((X2[:, 0] - 0.5) / 0.05) ** 2)) + 0.01 * np.random.default_rng(2).normal(size=41)
    model = so.Learned(robust=True)
    belief = model.learn(X2, y, None, model.first(1))
    assert belief.condition(X2, y)([[0.5]])[0][0] > 2.7


def test_noise_that_an_observation_came_with_is_its_own_unless_it_is_an_outlier():
    y = clean()
    y[4] += 5.0
    own = np.full(30, np.nan)
    own[[4, 7]] = 0.05, 0.2
    belief = learned(y, noise=own)
    merged = belief.noise_of(30, own)
    assert merged[4] > 2 and merged[7] == 0.2


def test_a_run_with_robust_noise_is_replayed_bit_for_bit():
    run = Optimizer(so.Grid.linspace(0, 1, 30), so.Ball(0.1), so.Learned(robust=True), beta=6.25)
    for i in range(14):
        query = run.ask()
        run.tell(query, float(np.sin(5 * query.point[0]) + 0.02 * np.cos(40 * i) + 30 * (i == 8)))
    assert run.state.belief.noises[8] > 10
    again = Optimizer.from_json(run.to_json())
    assert again.to_json() == run.to_json() and again.ask().point_index == run.ask().point_index
    assert again.report().lower == run.report().lower
    assert from_dict(run.state.belief.to_dict()) == run.state.belief


@pytest.mark.parametrize("robust", [1, "yes", None])
def test_robust_is_a_truth_value(robust):
    with pytest.raises(ValueError, match="robust=True"):
        so.Learned(robust=robust)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "robust", "model": so.Learned()}, "got both: Learned\\(robust=True\\) is such a model"),
        ({"noise": "heavy"}, 'or "robust"'),
    ],
)
def test_robust_noise_beside_a_model_is_refused_before_anything_is_measured(options, words):
    def forbidden(p):
        raise AssertionError("measured")

    with pytest.raises(ValueError, match=words):
        so.maximize(forbidden, {"x": (0, 1)}, 0.1, **options)
