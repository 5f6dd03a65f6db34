"""What fitting promises: the likelihood of scikit-learn and at least its optima, bounds that hold, and honest samples.

References: scikit-learn, finite differences, brute force over a grid of hyperparameters, and known targets.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import extra
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from stableopt import GP, SE, Categorical, Linear, Matern
from stableopt.base.values import from_dict
from stableopt.model.factors import NOISE_FLOOR
from stableopt.model.fit import Fit, fit, log_likelihood, param_names, sample
from stableopt.model.gp import LinearMean
from stableopt.model.hyperparameters import Gamma, LogNormal, LogUniform, default_priors, joint_log_density
from stableopt.problems.perturbed import polynomial

MODULE = sys.modules["stableopt.model.fit"]


def inputs(t: int, p: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((t, p))


def draw(gp: GP, X: np.ndarray, seed: int = 0) -> np.ndarray:
    """Noisy values of one function from the prior."""
    L = np.linalg.cholesky(gp.kernel(X, X) + gp.noise**2 * np.eye(len(X)))
    return gp.prior_mean(X) + L @ np.random.default_rng(seed).normal(size=len(X))


def coordinates(gp: GP) -> np.ndarray:
    return np.array([*gp.kernel.params, math.log(gp.noise), gp.mean])


def at(gp: GP, u: np.ndarray) -> GP:
    return GP(gp.kernel.with_params(u[:-2]), math.exp(u[-2]), float(u[-1]))


def slopes(function, u: np.ndarray, step: float = 1e-5) -> np.ndarray:
    moves = step * np.eye(len(u))
    return np.array([(function(u + move) - function(u - move)) / (2 * step) for move in moves])


# --- the likelihood ---

# Ours, the same of scikit-learn, and which of our params its theta holds, in its order.
KERNELS = {
    "SE": (SE(0.4), sk.RBF(0.4), [0]),
    "SE, ARD, scaled": (2.5 * SE([0.3, 0.8]), 2.5 * sk.RBF([0.3, 0.8]), [2, 0, 1]),
    "Matern 1/2": (Matern(0.5, 0.7), sk.Matern(0.7, nu=0.5), [0]),
    "Matern 3/2, scaled": (0.3 * Matern(1.5, 0.5), 0.3 * sk.Matern(0.5, nu=1.5), [1, 0]),
    "Matern 5/2, ARD": (Matern(2.5, [0.6, 0.2]), sk.Matern([0.6, 0.2], nu=2.5), [0, 1]),
    "sum": (SE(0.5) + 2.0 * Matern(2.5, 0.3), sk.RBF(0.5) + 2.0 * sk.Matern(0.3, nu=2.5), [0, 2, 1]),
    "product": (Matern(1.5, 0.9) * SE([0.6, 0.4]), sk.Matern(0.9, nu=1.5) * sk.RBF([0.6, 0.4]), [0, 1, 2]),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [0.3, 0.01])
def test_likelihood_and_gradient_equal_scikit_learn(name, noise):
    kernel, reference, order = KERNELS[name]
    X = inputs(40)
    y = np.sin(7 * X[:, 0]) + X[:, 1]
    value, gradient = log_likelihood(GP(kernel, noise, mean=0.2), X, y)
    theirs = GaussianProcessRegressor(reference + sk.WhiteKernel(noise**2), alpha=0, optimizer=None).fit(X, y - 0.2)
    expected, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient[order], slope[:-1], rtol=1e-8, atol=1e-8)
    assert gradient[-2] == pytest.approx(2 * slope[-1], rel=1e-8), "log σ, where theirs is log σ²"


EYE = [[1.0, 0.2, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 0.5]]
SMOOTH = [
    SE(0.7),
    2.0 * Matern(2.5, (0.5, 1.2, 2.0)),
    SE((0.5, 0.7)).on([2, 0]) + 0.3 * Linear(EYE),
    3.0 * (Matern(1.5, 0.7).on([1]) * Categorical(0.3).on([2])),
    (SE(0.6).on([0, 1]) + 0.5 * Matern(0.8).on([1])) * (Linear(EYE) + Categorical(0.6).on([2])),
]


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
@pytest.mark.parametrize("noise", [0.1, np.geomspace(0.05, 1.0, 12), 1e-9], ids=["one", "each", "floored"])
def test_gradient_equals_finite_differences(kernel, noise):
    rng = np.random.default_rng(3)
    X, y = np.column_stack([rng.normal(size=(12, 2)), rng.integers(0, 3, 12)]), rng.normal(size=12)
    each = noise if isinstance(noise, np.ndarray) else None
    gp = GP(kernel, 0.1 if each is not None else noise, mean=0.4)
    _, gradient = log_likelihood(gp, X, y, noise=each)
    expected = slopes(lambda u: log_likelihood(at(gp, u), X, y, noise=each)[0], coordinates(gp))
    size = np.abs(expected).max()
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * size)
    if each is not None or noise < NOISE_FLOOR:
        assert gradient[-2] == 0, "the GP's noise has no influence"


def test_observations_of_unknown_noise_share_that_of_the_gp():
    rng = np.random.default_rng(4)
    X, y = rng.random((14, 2)), rng.normal(size=14)
    noise = np.where(np.arange(14) < 6, rng.uniform(0.1, 1.0, 14), math.nan)
    gp = GP(1.3 * SE((0.4, 0.6)), 0.2, mean=0.3)
    value, gradient = log_likelihood(gp, X, y, noise)
    assert value == pytest.approx(log_likelihood(gp, X, y, np.where(np.isnan(noise), 0.2, noise))[0], rel=1e-12)
    expected = slopes(lambda u: log_likelihood(at(gp, u), X, y, noise)[0], coordinates(gp))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    assert gradient[-2] != 0
    assert fit(gp, X, y, noise=noise).gp.noise != gp.noise
    assert log_likelihood(gp, X, y, np.full(14, math.nan))[0] == pytest.approx(log_likelihood(gp, X, y)[0], rel=1e-12)


def test_a_search_of_few_steps_ends_early_and_is_no_worse_than_its_start():
    X = inputs(30)
    y = draw(GP(4.0 * SE(0.3), 0.1), X)
    gp = GP(1.0 * SE([1.0, 1.0]), 0.5)
    short, full = fit(gp, X, y, starts=1, iterations=3), fit(gp, X, y, starts=1)
    assert log_likelihood(gp, X, y)[0] < short.log_likelihood < full.log_likelihood
    assert short.evaluations < full.evaluations and full.converged and not short.converged


def test_gradient_knows_the_floor_of_the_noise():
    # Equal inputs with different outputs: K = v (1 1ᵀ + floor I), so all that the likelihood sees is v times the floor
    X, y = np.zeros((2, 1)), np.array([0.0, 1e-3])
    gp = GP(3.0 * SE(1.0), 1e-9)
    value, (_, by_variance, by_noise, _) = log_likelihood(gp, X, y)
    assert by_variance == pytest.approx(0.25e-6 / (3.0 * NOISE_FLOOR**2) - 1, rel=1e-3)
    assert by_noise == 0 and value < 0


def test_equal_noise_per_observation_is_one_noise():
    X, y = inputs(15), inputs(15, 1, seed=1)[:, 0]
    gp = GP(1.5 * SE(0.3), 0.2)
    value, gradient = log_likelihood(gp, X, y)
    other, slope = log_likelihood(replace(gp, noise=7.0), X, y, noise=np.full(15, 0.2))
    assert value == other
    np.testing.assert_array_equal(np.delete(gradient, -2), np.delete(slope, -2))


def test_likelihood_is_that_of_the_posterior_which_the_gp_gives():
    X, y = inputs(20), inputs(20, 1, seed=1)[:, 0]
    X[7] = X[3]
    for noise in (0.1, 1e-12):
        gp = GP(4.0 * SE(0.3), noise, mean=0.5)
        posterior = gp.condition(X, y)
        whitened, L = posterior.whitened, posterior.factor
        expected = -0.5 * whitened @ whitened - np.log(np.diag(L)).sum() - 10 * math.log(2 * math.pi)
        assert log_likelihood(gp, X, y)[0] == pytest.approx(expected, rel=1e-6)


# --- priors ---

PRIORS = [
    (LogNormal(0.5, 0.7), stats.lognorm(0.7, scale=0.5)),
    (Gamma(2.5, 5.0), stats.gamma(2.5, scale=1 / 5.0)),
    (Gamma(0.3, 0.1), stats.gamma(0.3, scale=10.0)),
]


@pytest.mark.parametrize(("prior", "reference"), PRIORS, ids=[repr(prior) for prior, _ in PRIORS])
@given(st.floats(-8, 4))
def test_priors_have_the_density_of_log_v(prior, reference, u):
    value, slope = prior.log_density(u)
    assert value == pytest.approx(reference.logpdf(math.exp(u)) + u, abs=1e-9)
    difference = prior.log_density(u + 1e-6)[0] - prior.log_density(u - 1e-6)[0]
    assert slope == pytest.approx(difference / 2e-6, rel=1e-4, abs=1e-6)
    assert prior.log_density(math.log(prior.mode))[0] >= value


@given(st.lists(st.floats(-4, 3), min_size=1, max_size=5))
def test_lengthscales_with_a_common_factor_are_normal_together(logs):
    prior, u = LogNormal(0.3, 0.5, common=1.2), np.array(logs)
    covariance = 0.5**2 * np.eye(len(u)) + 1.2**2
    reference = stats.multivariate_normal(np.full(len(u), math.log(0.3)), covariance)
    value, gradient = joint_log_density([None, *[prior] * len(u), Gamma(2.5, 5.0)], np.array([7.0, *u, 0.1]))
    assert value == pytest.approx(reference.logpdf(u) + Gamma(2.5, 5.0).log_density(0.1)[0], abs=1e-8)
    assert gradient[1:-1] == pytest.approx(slopes(lambda v: prior.joint_log_density(v)[0], u), rel=1e-4, abs=1e-5)
    assert gradient[0] == 0 and gradient[-1] == Gamma(2.5, 5.0).log_density(0.1)[1]


def test_a_common_factor_lets_all_lengthscales_be_long_but_not_one_alone():
    shared, alone = LogNormal(0.3, 0.5, common=1.0), LogNormal(0.3, 0.5)
    long, one = np.log(0.3) + np.full(4, 1.5), np.log(0.3) + np.array([1.5, 0, 0, 0])

    def preferred(prior):
        return prior.joint_log_density(long)[0] - prior.joint_log_density(one)[0]

    assert preferred(shared) > 0 > preferred(alone)


def test_flat_prior_is_no_prior():
    X, y = inputs(12), inputs(12, 1, seed=1)[:, 0]
    gp = GP(1.0 * SE(0.3), 0.1)
    assert fit(gp, X, y, priors={"lengthscale": LogUniform()}) == fit(gp, X, y)


def test_default_lengthscales_grow_with_the_dimension():
    for p in (1, 6, 100):
        prior = default_priors(p)["lengthscale"]
        assert prior.median == pytest.approx(default_priors(1)["lengthscale"].median * math.sqrt(p))
        assert prior.scale == default_priors(1)["lengthscale"].scale


def test_priors_are_values():
    for prior in (LogNormal(0.5, 1.0), LogNormal(0.5, 1.0, common=2.0), Gamma(2.5, 5.0), LogUniform()):
        assert from_dict(json.loads(json.dumps(prior.to_dict()))) == prior


# --- the search ---


def test_the_search_sees_the_gradient_at_the_best_mean():
    X = inputs(15)
    gp = GP(2.0 * SE([0.4, 0.9]), 0.3)
    y = draw(replace(gp, mean=5.0), X)
    for bounds in ({}, {"mean": (-1.0, 0.5)}):
        target = MODULE._target(gp, (X, y, None), default_priors(2), (), bounds)
        u = coordinates(gp)
        _, gradient, _, mean = target(u)
        expected = slopes(lambda v, target=target: target(v)[0], u)
        np.testing.assert_allclose(gradient[:-1], expected[:-1], rtol=1e-5, atol=1e-6)
        means = np.linspace(target.lower[-1], target.upper[-1], 301)
        likelihoods = [log_likelihood(replace(gp, mean=m), X, y)[0] for m in means]
        assert mean == pytest.approx(means[np.argmax(likelihoods)], abs=means[1] - means[0])


DATA = {
    "smooth": (2.0 * SE([0.3, 1.0]), 0.05),
    "rough": (0.7 * Matern(0.5, 0.4), 0.2),
    "mostly noise": (0.3 * Matern(2.5, [0.2, 3.0]), 1.0),
    "two scales": (4.0 * SE(1.5) + 0.1 * Matern(1.5, 0.1), 0.05),
}
SAME = {
    "smooth": sk.ConstantKernel(1.0) * sk.RBF([1.0, 1.0]),
    "rough": sk.ConstantKernel(1.0) * sk.Matern(1.0, nu=0.5),
    "mostly noise": sk.ConstantKernel(1.0) * sk.Matern([1.0, 1.0], nu=2.5),
    "two scales": sk.ConstantKernel(1.0) * sk.RBF(1.0) + sk.ConstantKernel(1.0) * sk.Matern(1.0, nu=1.5),
}


@pytest.mark.parametrize("name", DATA)
def test_search_reaches_at_least_the_likelihood_of_scikit_learn(name):
    # Where there are many maxima, luck decides: of 169 such data sets ours was higher by 1e-3 in 3, lower in 3.
    kernel, noise = DATA[name]
    X = inputs(50, seed=8)
    y = draw(GP(kernel, noise), X, seed=13)
    reference = SAME[name] + sk.WhiteKernel(1.0, (1e-6, 1e2))
    for part in reference.get_params().values():
        for field in ("length_scale_bounds", "constant_value_bounds"):
            if hasattr(part, field):
                part.set_params(**{field: (1e-2, 1e2)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns when an optimum is at a bound
        theirs = GaussianProcessRegressor(reference, alpha=0, n_restarts_optimizer=4, random_state=0).fit(X, y)
    bounds = {"lengthscale": (1e-2, 1e2), "variance": (1e-2, 1e2), "noise": (1e-3, 10.0)}
    start = GP(kernel.with_params(np.zeros(len(kernel.params))), 1.0)
    ours = fit(start, X, y, fixed=("mean",), bounds=bounds)
    assert ours.log_likelihood >= theirs.log_marginal_likelihood_value_ - 1e-3
    assert ours.converged
    assert log_likelihood(ours.gp, X, y)[0] == pytest.approx(ours.log_likelihood, abs=1e-8)


def test_search_recovers_known_hyperparameters():
    X = inputs(300)
    truth = GP(2.0 * Matern(2.5, [0.15, 0.5]), 0.1, mean=3.0)
    found = fit(GP(1.0 * Matern(2.5, [1.0, 1.0]), 1.0), X, draw(truth, X), starts=2).gp
    np.testing.assert_allclose(found.kernel.kernel.lengthscale, [0.15, 0.5], rtol=0.25)
    assert found.kernel.variance == pytest.approx(2.0, rel=0.5)
    assert found.noise == pytest.approx(0.1, rel=0.1)
    assert found.mean == pytest.approx(3.0, abs=1.5)


def test_known_noise_per_observation_is_used():
    rng = np.random.default_rng(0)
    X = inputs(80, 1)
    noise = np.where(rng.random(80) < 0.5, 0.02, 2.0)
    y = draw(GP(SE(0.2), 1e-3), X) + noise * rng.normal(size=80)
    start = GP(1.0 * SE(1.0), 0.7)
    found, ignorant = fit(start, X, y, noise=noise), fit(start, X, y)
    assert found.gp.noise == 0.7, "what is not used is not touched"
    assert found.gp.kernel.kernel.lengthscale == pytest.approx(0.2, rel=0.3)
    assert found.log_likelihood > ignorant.log_likelihood + 30


def test_a_fit_does_not_depend_on_units():
    X = inputs(40)
    y = draw(GP(SE([0.3, 0.6]), 0.1, mean=0.3), X)
    one = fit(GP(1.0 * SE([1.0, 1.0]), 0.1), X, y)
    for unit, size, shift in (((1e-3, 1e4), 1e-12, 0.0), ((1.0, 1e6), 1e9, -3e9), ((1.0, 1.0), 1e-3, 1e3)):
        other = fit(GP(1.0 * SE([1.0, 1.0]), 0.1), X * unit, size * y + shift)
        np.testing.assert_allclose(
            np.divide(other.gp.kernel.kernel.lengthscale, unit), one.gp.kernel.kernel.lengthscale, rtol=0.01
        )
        assert other.gp.kernel.variance == pytest.approx(one.gp.kernel.variance * size**2, rel=0.03)
        assert other.gp.noise == pytest.approx(one.gp.noise * size, rel=0.01)
        assert other.gp.mean == pytest.approx(one.gp.mean * size + shift, abs=0.02 * size)


def test_the_variances_of_a_product_share_the_unit_of_the_outputs():
    X = inputs(25)
    y = draw(GP(SE([0.3, 0.6]), 0.1), X)
    gp = GP((2.0 * SE(1.0).on([0])) * (3.0 * SE(1.0).on([1])), 0.1)
    one, other = fit(gp, X, y), fit(gp, X, 1e9 * y)
    assert other.log_likelihood == pytest.approx(one.log_likelihood - 25 * math.log(1e9), abs=0.01)


def test_warm_start_is_quick_and_no_worse():
    X = inputs(60)
    y = draw(GP(SE([0.3, 0.6]), 0.1), X)
    before = fit(GP(1.0 * SE([1.0, 1.0]), 1.0), X[:-1], y[:-1])
    again = fit(before.gp, X[:-1], y[:-1], starts=1)
    assert again.objective >= before.objective - 1e-5
    assert again.evaluations < 10
    warm, cold = fit(before.gp, X, y, starts=1), fit(GP(1.0 * SE([1.0, 1.0]), 1.0), X, y)
    assert warm.objective == pytest.approx(cold.objective, abs=1e-3)
    assert warm.evaluations < cold.evaluations / 4


def test_seeds_reproduce():
    X, y = inputs(15), inputs(15, 1, seed=1)[:, 0]
    gp = GP(1.0 * SE([1.0, 1.0]) + 0.1 * Matern(1.5, 0.1), 0.1)
    assert fit(gp, X, y, starts=3, seed=3) == fit(gp, X, y, starts=3, seed=3)
    assert sample(gp, X, y, 2, burn_in=1, seed=3) == sample(gp, X, y, 2, burn_in=1, seed=3)
    assert sample(gp, X, y, 2, burn_in=1, seed=3) != sample(gp, X, y, 2, burn_in=1, seed=4)


# --- names, bounds, what is fixed ---


def test_names_follow_the_kernel():
    gp = GP(2.0 * SE([0.1, 0.2]) + Categorical(0.3).on([1]), 0.1)
    assert param_names(gp) == (
        "left.kernel.lengthscale[0]",
        "left.kernel.lengthscale[1]",
        "left.variance",
        "right.kernel.correlation",
        "noise",
        "mean",
    )


@settings(max_examples=15)
@given(st.data(), st.integers(1, 12), st.sampled_from([1e-12, 1.0, 1e9]))
def test_what_is_fixed_stays_and_what_is_bounded_stays_within(data, t, size):
    gp = GP(2.0 * SE([0.3, 0.8]) + Matern(1.5, 0.4), 0.2, mean=0.7)
    X, y = inputs(t), size * inputs(t, 1, seed=t)[:, 0]
    names = param_names(gp)
    fixed = data.draw(st.sets(st.sampled_from(names)))
    low = data.draw(st.floats(1e-3, 1e3))
    bounds = dict.fromkeys(names, (low, 2 * low))
    for found in (
        fit(gp, X, y, fixed=fixed, bounds=bounds, starts=2).gp,
        *sample(gp, X, y, 2, burn_in=0, thin=1, fixed=fixed, bounds=bounds),
    ):
        before = [*np.exp(coordinates(gp)[:-1]), gp.mean]
        after = [*np.exp(coordinates(found)[:-1]), found.mean]
        for name, old, new in zip(names, before, after, strict=True):
            if name in fixed:
                assert new == pytest.approx(old, rel=1e-14), name
            else:
                assert low * (1 - 1e-12) <= new <= 2 * low * (1 + 1e-12), name


def test_the_most_specific_name_wins():
    gp = GP(2.0 * SE([0.3, 0.8]), 0.2)
    X, y = inputs(20), inputs(20, 1, seed=1)[:, 0]
    bounds = {"lengthscale": (1.0, 2.0), "kernel.lengthscale": (3.0, 4.0), "kernel.lengthscale[1]": (5.0, 6.0)}
    first, second = fit(gp, X, y, bounds=bounds).gp.kernel.kernel.lengthscale
    assert 2.999 <= first <= 4.001 and 4.999 <= second <= 6.001
    assert fit(gp, X, y, fixed="lengthscale").gp.kernel.kernel.lengthscale == pytest.approx((0.3, 0.8), rel=1e-14)


def test_a_gp_with_nothing_free_comes_back_as_it_is():
    gp = GP(2.0 * SE([0.3, 0.8]), 0.2, mean=0.1)
    X, y = inputs(20), inputs(20, 1, seed=1)[:, 0]
    found = fit(gp, X, y, fixed=param_names(gp))
    assert found.gp == gp and found.converged
    assert found.log_likelihood == found.objective == log_likelihood(gp, X, y)[0]
    assert sample(gp, X, y, 2, fixed=param_names(gp)) == [gp, gp]


def test_a_linear_mean_stays():
    gp = GP(1.0 * SE(0.3), 0.2, mean=LinearMean([1.0, -1.0]))
    X = inputs(20)
    found = fit(gp, X, X @ [1.0, -1.0] + draw(GP(SE(0.3), 0.2), X))
    assert found.gp.mean == gp.mean and found.gp.kernel.variance < 10


def test_paper_polynomial_stays_bounded_and_predicts():
    # Unbounded likelihood runs to a signal variance of 7e10. 500 points with f > -15 and noise 0.1, as in the paper
    problem = polynomial()
    rng = np.random.default_rng(0)
    f = problem.f(problem.domain.points)
    rows = rng.permutation(np.flatnonzero(f > -15))[:600]
    X, y = problem.domain.points[rows], f[rows] + 0.1 * rng.normal(size=len(rows))
    # One start: a first step of the gradient's length would end in a corner of the bounds, and the search with it.
    gp = fit(GP(1.0 * SE([1.0, 1.0]), 0.1), X[:-100], y[:-100], starts=1).gp
    assert gp.kernel.variance <= 1.001e4 * y[:-100].var()
    assert 0.5 < min(gp.kernel.kernel.lengthscale) <= max(gp.kernel.kernel.lengthscale) < 5
    assert gp.noise == pytest.approx(0.1, rel=0.2)
    mean, _ = gp.condition(X[:-100], y[:-100])(X[-100:])
    assert np.sqrt(np.mean((mean - f[rows[-100:]]) ** 2)) < 0.02 * f[rows].std()


# --- MAP ---


def test_little_data_stays_near_the_prior_and_much_data_does_not():
    X = inputs(200)
    y = draw(GP(SE(0.1), 0.05), X)
    prior = {"lengthscale": LogNormal(1.0, 0.3), "noise": LogNormal(0.05, 0.5)}
    gp = GP(SE(0.5), 0.05)
    few, many = (fit(gp, X[:t], y[:t], priors=prior).gp.kernel.lengthscale for t in (3, 200))
    alone = fit(gp, X[:3], y[:3]).gp.kernel.lengthscale
    assert abs(math.log(few)) < 0.5 < abs(math.log(alone))
    assert many == pytest.approx(0.1, rel=0.3)


def test_objective_is_the_likelihood_times_the_priors_and_a_maximum_of_it():
    X = inputs(10)
    y = draw(GP(SE(0.3), 0.1), X)
    priors = {"lengthscale": Gamma(2.5, 5.0), "noise": LogNormal(0.1, 1.0)}
    found = fit(GP(SE(1.0), 1.0), X, y, priors=priors, fixed="mean")

    def objective(log_lengthscale, log_noise):
        density = stats.gamma(2.5, scale=0.2).logpdf(np.exp(log_lengthscale)) + log_lengthscale
        density += stats.norm(math.log(0.1), 1.0).logpdf(log_noise)
        return log_likelihood(GP(SE(math.exp(log_lengthscale)), math.exp(log_noise)), X, y)[0] + density

    u = np.log([found.gp.kernel.lengthscale, found.gp.noise])
    assert found.objective == pytest.approx(objective(*u), abs=1e-9)
    grid = [objective(a, b) for a in np.linspace(-3, 2, 20) for b in np.linspace(-5, 1, 20)]
    assert found.objective >= max(grid)


def test_a_fixed_hyperparameter_needs_no_prior():
    X, y = inputs(10), inputs(10, 1, seed=1)[:, 0]
    found = fit(GP(SE(0.3), 0.1), X, y, priors={"noise": LogNormal(5.0, 0.01)}, fixed=["noise"])
    assert found.objective == found.log_likelihood


# --- trouble ---

LINE = np.linspace(0, 1, 12)[:, None]
TROUBLE = {
    "one observation": (np.array([[0.3, 0.4]]), np.array([7.0])),
    "one observation of zero": (np.zeros((1, 1)), np.zeros(1)),
    "two": (np.array([[0.1], [0.9]]), np.array([1.0, 2.0])),
    "constant": (LINE, np.full(12, 0.1)),
    "constant and huge": (LINE, np.full(12, 1e20)),
    "constant column": (np.column_stack([LINE, np.ones(12)]), np.sin(9 * LINE[:, 0])),
    "nearly constant column": (np.column_stack([LINE, 0.3 + 1e-16 * LINE]), np.sin(9 * LINE[:, 0])),
    "the same input": (np.ones((6, 2)), np.arange(6.0)),
    "contradicting duplicates": (np.repeat(LINE, 2, axis=0), np.tile([0.0, 1.0], 12)),
    "duplicates that contradict by a little": (np.repeat(LINE, 2, axis=0), np.tile([0.0, 1e-13], 12) + 1),
    "nearly the same inputs": (1 + 1e-15 * np.arange(8.0)[:, None], np.arange(8.0) % 2),
    "outputs of 1e-12": (LINE, 1e-12 * np.sin(9 * LINE[:, 0])),
    "outputs of 1e9": (LINE, 1e9 * np.sin(9 * LINE[:, 0])),
    "outputs of 1e-300": (LINE, 1e-300 * np.sin(9 * LINE[:, 0])),
    "outputs of 1e300": (LINE, 1e300 * np.sin(9 * LINE[:, 0])),
    "a large offset": (LINE, 1e9 + np.sin(9 * LINE[:, 0])),
    "a jump": (LINE, np.where(LINE[:, 0] < 0.5, 0.0, 1e6) + np.sin(9 * LINE[:, 0])),
    "one outlier": (LINE, np.where(np.arange(12) == 5, 1e6, 0.0)),
    "tiny and huge inputs": (np.column_stack([1e-9 * LINE, 1e12 * LINE[::-1] ** 2]), np.sin(9 * LINE[:, 0])),
    "a polynomial without noise": (np.linspace(0, 1, 150)[:, None], np.linspace(0, 1, 150) ** 2),
}
MODELS = {
    "all free": lambda p: (GP(1.0 * SE([1.0] * p), 0.1), {}),
    "no noise": lambda p: (GP(1.0 * SE([1.0] * p), 1e-300), {"fixed": ("noise", "mean")}),
    "MAP": lambda p: (GP(Matern(2.5, [1.0] * p), 0.1), {"priors": default_priors(p)}),
    "noise per observation": lambda p: (GP(2.0 * Matern(1.5) + Linear(np.eye(p)), 0.1), {"noise": 1e-9}),
}


@pytest.mark.parametrize("model", ["all free", extra("no noise"), extra("MAP"), "noise per observation"])
@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_is_a_normal_input(model, name):
    X, y = TROUBLE[name]
    gp, options = MODELS[model](X.shape[1])
    if "noise" in options:
        options = {"noise": np.full(len(y), options["noise"])}
    found = fit(gp, X, y, starts=3, **options)
    assert not math.isnan(found.objective) and found.evaluations >= 2
    assert found.log_likelihood > -math.inf or (abs(y).max() > 1e200 and found.gp == gp)
    for each in (found.gp, *sample(gp, X, y, 1, burn_in=1, thin=1, **options)):
        assert np.all(np.isfinite(coordinates(each)))
        if abs(y).max() < 1e200:
            mean, variance = each.condition(X, y)(X)
            assert np.all(np.isfinite(mean)) and np.all(np.isfinite(variance))


@given(st.integers(1, 8), st.data())
@settings(max_examples=25)
def test_any_few_numbers_can_be_fitted(t, data):
    finite = st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1.0, 1e-12, 1e-300])
    X = np.array(data.draw(st.lists(st.lists(finite, min_size=2, max_size=2), min_size=t, max_size=t)))
    y = np.array(data.draw(st.lists(finite, min_size=t, max_size=t)))
    found = fit(GP(1.0 * SE([1.0, 1.0]), 0.1), X, y, starts=2)
    assert math.isfinite(found.log_likelihood) and np.all(np.isfinite(coordinates(found.gp)))


def refuse(monkeypatch, condition):
    """Let the Cholesky factorisation fail for matrices that meet a condition."""
    real = MODULE.lapack

    class Failing:
        dpotrs, dpotri = staticmethod(real.dpotrs), staticmethod(real.dpotri)

        @staticmethod
        def dpotrf(K, **options):
            return (K, 1) if condition(K) else real.dpotrf(K, **options)

    monkeypatch.setattr(MODULE, "lapack", Failing)


def test_a_step_to_a_matrix_without_factor_is_taken_back(monkeypatch):
    X = inputs(40)
    y = draw(GP(4.0 * SE(0.3), 0.1), X)
    gp = GP(1.0 * SE(0.3), 0.1)
    free, bounded = fit(gp, X, y), fit(gp, X, y, bounds={"variance": (0.01, 1.29)})
    refuse(monkeypatch, lambda K: K[0, 0] > 1.3)
    found = fit(gp, X, y, starts=1)
    assert found.gp.kernel.variance < 1.3 < free.gp.kernel.variance
    assert free.log_likelihood > found.log_likelihood > bounded.log_likelihood - 0.05
    assert all(each.kernel.variance < 1.3 for each in sample(gp, X, y, 5, burn_in=5))


def test_where_no_matrix_has_a_factor_the_gp_comes_back(monkeypatch):
    X, y = inputs(10), inputs(10, 1, seed=1)[:, 0]
    gp = GP(1.0 * SE(0.3), 0.1)
    refuse(monkeypatch, lambda K: True)
    found = fit(gp, X, y)
    assert (found.gp, found.log_likelihood, found.objective, found.converged) == (gp, -math.inf, -math.inf, False)
    value, gradient = log_likelihood(gp, X, y)
    assert value == -math.inf and not gradient.any()
    assert len(sample(gp, X, y, 2)) == 2


# --- samples ---


def agrees(draws: np.ndarray, values: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the mean, the spread and three quantiles of a chain are those of a distribution on a grid.

    Standard errors from 20 batches of the chain; 4.5 of them are allowed.
    """
    weights = weights / weights.sum()
    mean = values @ weights
    quantiles = np.interp([0.1, 0.5, 0.9], np.cumsum(weights) - weights / 2, values)
    expected = [mean, (values - mean) ** 2 @ weights, 0.1, 0.5, 0.9]
    batches = [
        [b.mean(), ((b - mean) ** 2).mean(), *(b[:, None] < quantiles).mean(axis=0)] for b in np.split(draws, 20)
    ]
    error = np.std(batches, axis=0) / math.sqrt(19)
    return bool(np.all(np.abs(np.mean(batches, axis=0) - expected) < 4.5 * error))


@pytest.mark.parametrize(
    ("log_density", "lower", "upper", "tilt"),
    [
        (lambda x: -0.5 * x * x, -20.0, 20.0, 0.2),
        (lambda x: np.logaddexp(-0.5 * (x + 2) ** 2, -2 * (x - 2) ** 2), -20.0, 20.0, 0.5),
        (lambda x: -3 * x, 0.0, 1.0, 1.0),
        (lambda x: 0.0, -0.3, 0.1, 2.0),
        (lambda x: -(abs(x) ** 0.5), -50.0, 50.0, 0.05),
        (lambda x: -math.inf if 0.3 < x < 0.9 else 0.0, 0.0, 1.9, 0.5),
    ],
    ids=["normal", "two modes", "cut exponential", "uniform", "heavy tails", "a gap"],
)
def test_slice_sampling_leaves_known_targets_invariant(log_density, lower, upper, tilt):
    rng, x, draws = np.random.default_rng(0), 0.05, []
    for _ in range(4000):
        x = MODULE._slice(log_density, x, lower, upper, 1.0, rng)
        draws.append(x)
    grid = np.linspace(lower, upper, 20001)
    grid = 0.5 * (grid[1:] + grid[:-1])
    assert lower <= min(draws) <= max(draws) <= upper
    assert len(set(draws)) == len(draws), "every update moves"
    assert agrees(np.array(draws), grid, np.exp([log_density(x) for x in grid]))
    assert not agrees(np.array(draws), grid, np.exp([log_density(x) + tilt * x for x in grid]))


def test_samples_have_the_posterior_of_brute_force_and_a_wrong_prior_is_detected():
    X = inputs(8, 1)
    y = draw(GP(SE(0.3), 0.3), X)
    box = {"lengthscale": (1e-2, 1e2), "noise": (1e-2, 10.0)}
    prior, wrong = Gamma(2.5, 5.0), Gamma(2.5, 2.5)
    gps = sample(GP(SE(0.3), 0.3), X, y, 1000, thin=1, priors={"lengthscale": prior}, fixed="mean", bounds=box)
    lengths, noises = np.linspace(*np.log(box["lengthscale"]), 80), np.linspace(*np.log(box["noise"]), 40)
    likelihood = np.array([[log_likelihood(GP(SE(a), b), X, y)[0] for b in np.exp(noises)] for a in np.exp(lengths)])
    draws = np.log([(gp.kernel.lengthscale, gp.noise) for gp in gps])

    def all_agree(prior):
        density = likelihood + np.array([prior.log_density(u)[0] for u in lengths])[:, None]
        weights = np.exp(density - density.max())
        return agrees(draws[:, 0], lengths, weights.sum(axis=1)) and agrees(draws[:, 1], noises, weights.sum(axis=0))

    assert all_agree(prior)
    assert not all_agree(wrong)


def test_samples_of_the_mean_are_from_its_posterior():
    X = inputs(6, 1)
    y = draw(GP(SE(0.3), 0.3, mean=2.0), X)
    gps = sample(GP(SE(0.3), 0.3), X, y, 1000, thin=1, fixed=("lengthscale", "noise"), bounds={"mean": (-1.0, 3.0)})
    means = np.linspace(-1.0, 3.0, 401)
    weights = np.exp([log_likelihood(GP(SE(0.3), 0.3, mean=m), X, y)[0] for m in means])
    assert agrees(np.array([gp.mean for gp in gps]), means, weights)
    assert not agrees(np.array([gp.mean for gp in gps]), means, weights * np.exp(means))


def alternate(priors, rounds, **options):
    """Geweke (2004): y ~ p(y | θ), θ ~ a step that leaves p(θ | y) invariant, and so on, visits θ ~ p(θ)."""
    rng, X = np.random.default_rng(0), np.array([[0.0], [0.3], [1.0]])
    box = {"lengthscale": (1e-4, 1e4), "noise": (1e-4, 1e4), "mean": (-1.0, 1.0)}
    gp, draws = GP(SE(0.5), 0.3), []
    for i in range(rounds):
        L = np.linalg.cholesky(gp.kernel(X, X) + gp.noise**2 * np.eye(3))
        y = gp.mean + L @ rng.normal(size=3)
        gp = sample(gp, X, y, 1, burn_in=0, thin=1, priors=priors, bounds=box, seed=i, **options)[0]
        draws.append(coordinates(gp))
    return np.array(draws).T


@pytest.mark.thorough
def test_alternating_data_and_hyperparameters_has_the_prior_as_its_marginal():
    length, noise, mean = alternate({"lengthscale": LogNormal(0.5, 0.5), "noise": LogNormal(0.3, 0.5)}, 600)
    grid = np.linspace(-6, 6, 4001)
    density = stats.norm(math.log(0.5), 0.5).pdf(grid)
    assert agrees(length, grid, density)
    assert agrees(noise, grid, stats.norm(math.log(0.3), 0.5).pdf(grid))
    assert agrees(mean, np.linspace(-1, 1, 1001), np.ones(1001))
    length, *_ = alternate({"lengthscale": LogNormal(0.5, 1.2)}, 300, fixed=("noise", "mean"))
    assert not agrees(length, grid, density)


# --- bad input ---

GOOD = {"X": [[0.1], [0.4], [0.9]], "y": [0.0, 1.0, 0.5]}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": [0.0, math.nan, 1.0]}, ValueError, "expected a finite y, got"),
        ({"X": [[0.1], [math.inf], [0.9]]}, ValueError, "expected finite X, got NaN or infinity"),
        ({"y": [0.0, 1.0]}, ValueError, "expected y with 3 coordinates, got shape"),
        ({"y": "abc"}, ValueError, "expected y as numbers, got 'abc'"),
        ({"X": [0.1, 0.4, 0.9]}, ValueError, r"expected X of shape \(t, p\) .* got \(3,\)"),
        ({"X": np.zeros((0, 1)), "y": []}, ValueError, r"with t, p >= 1, got \(0, 1\)"),
        ({"X": [[0.1], [0.4, 0.2], [0.9]]}, ValueError, "expected X as numbers, equally many in each row, got"),
        ({"gp": GP(SE([1.0, 1.0]), 0.1)}, ValueError, "expected 2 columns, one per lengthscale, got 1"),
        ({"gp": GP(SE(1.0).on([3]), 0.1)}, ValueError, "expected at least 4 columns"),
        ({"gp": GP(SE(1.0), 0.1, LinearMean([1.0, 2.0]))}, ValueError, "expected points with 2 columns for this mean"),
        ({"noise": [0.1, 0.2]}, ValueError, "expected noise, one standard deviation per observation, with 3 coord"),
        ({"noise": [0.1, 0.0, 0.2]}, ValueError, "expected noise above 0, got 0.0"),
        ({"noise": [0.1, math.inf, 0.2]}, ValueError, "expected a finite noise"),
        ({"fixed": ["length"]}, ValueError, r"expected names among .*'lengthscale'.* in fixed, got \['length'\]"),
        ({"fixed": "nois"}, ValueError, r"in fixed, got \['nois'\]"),
        ({"bounds": {"log_noise": (0.1, 1)}}, ValueError, r"in bounds, got \['log_noise'\]"),
        ({"priors": {"kernel.lengthscale": LogUniform()}}, ValueError, r"in priors, got \['kernel.lengthscale'\]"),
        ({"bounds": {"lengthscale": (2, 1)}}, ValueError, r"with 0.0 < lower < upper < inf, got \(2, 1\): to keep it"),
        ({"bounds": {"noise": (0, 1)}}, ValueError, r"bounds of 'noise' .* got \(0, 1\)"),
        ({"bounds": {"mean": (0, math.inf)}}, ValueError, r"bounds of 'mean' .* got \(0, inf\)"),
        ({"bounds": {"noise": 0.1}}, ValueError, r"bounds of 'noise' .* got 0.1"),
        ({"bounds": {"noise": (0.1, math.nan)}}, ValueError, r"bounds of 'noise' .* got \(0.1, nan\)"),
        ({"priors": {"noise": 0.1}}, TypeError, "expected priors such as .* got 0.1 for 'noise'"),
        ({"priors": {"mean": LogNormal(1.0, 1.0)}}, TypeError, "none of the mean, got"),
    ],
)
@pytest.mark.parametrize("function", [fit, sample])
def test_bad_input_says_what_was_expected_and_what_came(function, change, error, message):
    with pytest.raises(error, match=message):
        function(**{"gp": GP(SE(1.0), 0.1), **GOOD, **change})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda gp, X, y: fit(gp, X, y, starts=0), "expected starts as a whole number of at least 1, got 0"),
        (lambda gp, X, y: fit(gp, X, y, starts=2.0), "expected starts as a whole number of at least 1, got 2.0"),
        (lambda gp, X, y: fit(gp, X, y, iterations=0), "expected iterations as a whole number of at least 1, got 0"),
        (lambda gp, X, y: sample(gp, X, y, 0), "expected n as a whole number of at least 1, got 0"),
        (lambda gp, X, y: sample(gp, X, y, thin=0), "expected thin as a whole number of at least 1, got 0"),
        (lambda gp, X, y: sample(gp, X, y, burn_in=-1), "expected burn_in as a whole number of at least 0, got -1"),
        (lambda gp, X, y: LogNormal(-1.0, 1.0), "expected a positive finite median, got LogNormal"),
        (lambda gp, X, y: LogNormal(1.0, 0.0), "expected a positive finite scale, got LogNormal"),
        (lambda gp, X, y: LogNormal(1.0, 1.0, -1.0), "expected a positive finite common, got LogNormal"),
        (lambda gp, X, y: Gamma(math.inf, 1.0), "expected a positive finite shape, got Gamma"),
        (lambda gp, X, y: Gamma(1.0, math.nan), "expected a positive finite rate, got Gamma"),
        (lambda gp, X, y: Gamma("2", 1.0), "expected a positive finite shape, got Gamma"),
    ],
)
def test_bad_numbers_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(GP(SE(1.0), 0.1), **GOOD)


def test_data_are_not_changed():
    X, y, noise = inputs(5), inputs(5, 1, seed=1)[:, 0], np.full(5, 0.1)
    before = X.copy(), y.copy(), noise.copy()
    fit(GP(1.0 * SE(1.0), 0.1), X, y, noise=noise)
    sample(GP(1.0 * SE(1.0), 0.1), X, y, 1, burn_in=0, noise=noise)
    for array, old in zip((X, y, noise), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_a_fit_is_a_frozen_value():
    found = fit(GP(SE(1.0), 0.1), **GOOD)
    assert isinstance(found, Fit)
    with pytest.raises(AttributeError):
        found.gp = None


def test_importing_it_does_not_load_the_optimiser():
    code = "import stableopt.model.fit, sys; print('scipy.optimize' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
