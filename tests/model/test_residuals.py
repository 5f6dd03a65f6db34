"""Promises of leave-one-out residuals: they are those of a model without the row, and they name an outlier."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stableopt import GP, SE, Matern
from stableopt.model.beliefs import Belief
from stableopt.model.learning import Learned
from stableopt.model.residuals import distinct, leave_one_out, most_unusual


def data(t, seed, p=2):
    rng = np.random.default_rng(seed)
    X = rng.random((t, p))
    return X, 3.0 + np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(t)


@given(st.integers(2, 12), st.integers(0, 50), st.floats(0.01, 1.0), st.booleans())
def test_residuals_are_those_of_a_posterior_without_the_row(t, seed, noise, own):
    X, y = data(t, seed)
    each = np.where(np.arange(t) % 2, np.nan, 0.3) if own else None
    gp = GP(2.0 * Matern(2.5, [0.3, 0.7]), noise, 2.5)
    found = leave_one_out(gp.condition(X, y, each))
    for i in range(t):
        others = np.arange(t) != i
        mean, variance = gp.condition(X[others], y[others], None if each is None else each[others])(X[i])
        sigma = noise if each is None or np.isnan(each[i]) else each[i]
        assert found[i] == pytest.approx((y[i] - mean[0]) / np.sqrt(variance[0] + sigma**2), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("weights", [(), (0.9, 0.1)])
def test_residuals_of_a_mixture_are_those_of_its_own_moments(weights):
    X, y = data(8, 0)
    gps, shares = (GP(SE(0.2), 0.1, 3.0), GP(SE(0.5), 0.2, 3.0)), np.array(weights or (0.5, 0.5))
    found = leave_one_out(Belief(gps, weights=weights).condition(X, y))
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        parts = [gp.condition(X[others], y[others])(X[i]) for gp in gps]
        means, variances = np.array([m[0] for m, _ in parts]), np.array([v[0] for _, v in parts])
        variances += [gp.noise**2 for gp in gps]
        mean = shares @ means
        variance = shares @ (variances + (means - mean) ** 2)
        assert found[i] == pytest.approx((y[i] - mean) / np.sqrt(variance), rel=1e-6)


def test_residuals_do_not_depend_on_the_unit():
    X, y = data(10, 1)
    plain = leave_one_out(GP(SE(0.3), 0.1, 3.0).condition(X, y))
    large = leave_one_out(GP(1e100 * SE(0.3), 1e49, 3e50).condition(X, 1e50 * y))
    assert large == pytest.approx(plain, rel=1e-6)


def learned_posterior(X, y):
    """That of the model that explores, by which the health of a model names an outlier."""
    learned = Learned()
    belief = learned.learn(X, y, None, learned.first(X.shape[1]))
    assert belief.single is not None
    return belief.single.condition(X, y)


@pytest.mark.parametrize("t", [10, 20, 40])
@pytest.mark.parametrize("off", [1e3, 1e6, -1e6, 1e12])
def test_an_outlier_is_named_although_the_model_was_learned_with_it(t, off):
    X, y = data(t, t)
    y[t // 3] += off
    assert most_unusual(learned_posterior(X, y)) == t // 3


@pytest.mark.parametrize("seed", range(10))
def test_none_is_named_where_all_is_well(seed):
    assert most_unusual(learned_posterior(*data(25, seed))) is None


def test_of_few_none_is_unusual():
    X = np.arange(5.0)[:, None]  # so far apart that nothing is foretold
    y = np.array([0.0, 0.0, 0.0, 99.0, 0.0])
    gp = GP(SE(0.1), 0.1)
    assert most_unusual(gp.condition(X[:4], y[:4])) is None
    assert most_unusual(gp.condition(X, y)) == 3


def test_a_value_far_from_all_data_is_not_compared_with_those_that_others_foretell():
    hill = np.linspace(0.0, 0.1, 30)[:, None]
    X = np.vstack([hill, [[0.5], [0.75], [1.0]]])
    posterior = GP(SE(0.3), 0.01).condition(X, 4.0 * X[:, 0] ** 2)
    assert int(np.argmax(np.abs(leave_one_out(posterior)))) == 32  # the last one is a surprise, and no outlier
    assert abs(leave_one_out(posterior)[32]) > 3
    assert most_unusual(posterior) is None
    wrong = posterior.y.copy()
    wrong[15] += 1.0
    assert most_unusual(GP(SE(0.3), 0.01).condition(X, wrong)) == 15


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_places_are_counted_as_by_taking_the_least_known_one_next(share):
    rng = np.random.default_rng(2)
    kernel = Matern(2.5, 0.3)
    X = np.concatenate([rng.random((12, 2)), 0.5 + 0.01 * rng.random((12, 2))])
    chosen = []
    while True:
        known = GP(kernel, 1e-6).condition(X[chosen], np.zeros(len(chosen)))(X)[1] if chosen else np.ones(len(X))
        if known.max() <= share:
            break
        chosen.append(int(np.argmax(known)))
    assert distinct(kernel, X, share) == len(chosen) < 14, "a dozen values close together are one place"
