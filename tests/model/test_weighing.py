"""What the models around the most likely one promise: weights by the data, bounds in closed form, a mixture that can be
stored, and more room where functions are rough.

References: the likelihood itself, brute force over variances, finite differences.
"""

import math

import numpy as np
import pytest

from stableopt import GP, SE, Ball, Grid, Learned, Optimizer
from stableopt.base.values import from_dict
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.model.beliefs import Belief
from stableopt.model.fit import log_likelihood
from stableopt.model.hyperparameters import LogNormal
from stableopt.model.weighing import Weighing

RNG = np.random.default_rng(3)
X = RNG.random((18, 2))
Y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.05 * RNG.normal(size=18)
Y = (Y - Y.mean()) / Y.std()
PRIORS = {"lengthscale": LogNormal(0.2, 0.35, common=1.0), "noise": LogNormal(0.05, 1.0)}
MIDDLE = GP(SE([0.4, 0.6]), 0.1)


def test_with_all_else_known_weights_are_likelihood_times_prior():
    fixed = ("noise", "mean", "variance")
    gps, weights = Weighing(X, Y, None, PRIORS, fixed).around(MIDDLE)
    assert len(gps) > 1 and sum(weights) == pytest.approx(1)

    def plausible(gp):
        away = np.mean(np.log(np.array(gp.kernel.lengthscale) / 0.2))  # of variance 1² + 0.35²/2, as both are
        return log_likelihood(gp, X, Y)[0] - 0.5 * away**2 / (1 + 0.35**2 / 2)

    expected = np.array([plausible(gp) for gp in gps])
    assert np.log(weights) - np.log(weights[0]) == pytest.approx(expected - expected[0], abs=1e-6)
    for gp in gps:
        assert (gp.noise, gp.mean) == (0.1, 0.0)
        ratio = np.array(gp.kernel.lengthscale) / [0.4, 0.6]
        assert ratio[0] == pytest.approx(ratio[1]), "one factor for all lengthscales"


def test_a_definite_prior_leaves_one_model():
    narrow = {"lengthscale": LogNormal(0.4, 1e-3)}
    gps, weights = Weighing(X, Y, None, PRIORS | narrow, ()).around(GP(SE([0.4, 0.4]), 0.1))
    assert len(gps) == 1 and weights == [1.0]


def test_the_signal_variance_is_the_most_plausible_one_for_its_noise():
    (gp,), _ = Weighing(X, Y, None, {}, ("lengthscale", "mean")).around(MIDDLE)
    a = 0.5 * (6 + len(Y))
    wider = (a / (a - 1)) ** 2
    v, ratio = gp.kernel.variance / wider, gp.noise / math.sqrt(gp.kernel.variance)

    def plausible(variance):  # the density of v, for which 1/v has a gamma prior of shape and rate 3
        gp = GP(variance * SE([0.4, 0.6]), ratio * math.sqrt(variance))
        return log_likelihood(gp, X, Y)[0] - 4 * math.log(variance) - 3 / variance + math.log(variance)

    around = v * np.linspace(0.7, 1.4, 141)
    assert around[np.argmax([plausible(w) for w in around])] == pytest.approx(v, rel=0.01)


def test_a_known_noise_stays_and_the_variance_is_searched():
    large = 3.0 * Y
    gps, _ = Weighing(X, large, None, PRIORS, ("noise",)).around(MIDDLE)
    assert all(gp.noise == 0.1 for gp in gps)
    assert all(gp.kernel.variance > 2 for gp in gps), "values three times as large"
    known = np.full(len(Y), 0.3)
    known[::2] = np.nan
    assert all(gp.noise == MIDDLE.noise for gp in Weighing(X, Y, known, PRIORS, ()).around(MIDDLE)[0])


@pytest.mark.parametrize(("length", "shorter"), [(0.06, True), (1.0, False)])
def test_the_data_decide_whether_shorter_or_longer_scales_count(length, shorter):
    inputs = np.random.default_rng(0).random((60, 2))
    rough = np.linalg.cholesky(SE(length)(inputs, inputs) + 1e-8 * np.eye(60)) @ np.random.default_rng(1).normal(
        size=60
    )
    middle = GP(SE([0.25, 0.25]), 0.05)
    gps, weights = Weighing(inputs, rough / rough.std(), None, PRIORS, ()).around(middle)
    mean = np.dot(weights, [np.log(gp.kernel.kernel.lengthscale[0] / 0.25) for gp in gps])
    assert mean < -0.4 if shorter else mean > 0.4


def test_data_that_no_factor_explains_leave_the_model_as_it_is():
    (gp,), weights = Weighing(X, np.full(18, np.nan), None, PRIORS, ()).around(MIDDLE)
    assert gp is MIDDLE and weights == [1.0]


# ------------------------------------------------------------------------------------------------------------- mixtures

GPS = (GP(SE([0.3, 0.5]), 0.1), GP(2.0 * SE([0.6, 0.6]), 0.3, 1.0))
WEIGHED = Belief(GPS, 18, (0.2, 0.8), MIDDLE)


def test_weights_count_in_moments_and_gradients():
    mixture, Z = WEIGHED.condition(X, Y), RNG.random((5, 2))
    (m1, v1), (m2, v2) = (gp.condition(X, Y)(Z) for gp in GPS)
    mean = 0.2 * m1 + 0.8 * m2
    variance = 0.2 * (v1 + m1**2) + 0.8 * (v2 + m2**2) - mean**2
    assert mixture(Z)[0] == pytest.approx(mean) and mixture(Z)[1] == pytest.approx(variance)
    values, gradient = mixture.bound(2.0).with_gradient(Z)
    assert values == pytest.approx(mean + 2 * np.sqrt(variance))
    for j, axis in enumerate(1e-6 * np.eye(2)):
        slope = (mixture.bound(2.0)(Z + axis) - mixture.bound(2.0)(Z - axis)) / 2e-6
        assert gradient[:, j] == pytest.approx(slope, rel=1e-4, abs=1e-5)
    means, variances, pull = mixture.with_pullback(Z)
    assert means == pytest.approx(mean) and variances == pytest.approx(variance)
    by_parts = pull(np.ones(5), 1 / np.sqrt(variance))
    assert by_parts == pytest.approx(gradient, rel=1e-6, abs=1e-8), "written out or not, it is the same"


def test_weights_are_checked_and_stored():
    assert from_dict(WEIGHED.to_dict()) == WEIGHED
    for wrong in ((1.0,), (0.5, 0.6), (0.0, 1.0)):
        with pytest.raises(ValueError, match="expected a weight above 0 for each of 2 GPs"):
            Belief(GPS, 18, wrong)


def test_a_run_with_a_mixture_is_replayed_bit_for_bit():
    options = {"algorithm": FRONT_DOOR.algorithm, "beta": FRONT_DOOR.beta, "explore": FRONT_DOOR.explore}
    optimizer = Optimizer(Grid.linspace([0, 0], [1, 1], 9), Ball(0.13), Learned(), **options)
    for _ in range(9):
        query = optimizer.ask()
        optimizer.tell(query, float(np.sin(5 * query.point).sum()))
    assert optimizer.state.belief.single is not None
    again = Optimizer.from_json(optimizer.to_json())
    assert again.to_json() == optimizer.to_json()
    assert again.ask().point_index == optimizer.ask().point_index
    assert again.report().lower == optimizer.report().lower
