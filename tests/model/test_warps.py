"""Warps: the transformation against SciPy, bounds that are quantiles in the units of y, and a search among latents."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import yeojohnson

import stableopt as so
from stableopt.base.values import from_dict
from stableopt.maxmin.search.latent import LatentMaxMin
from stableopt.model.beliefs import Belief, WarpedOnCandidates, WarpedPosterior
from stableopt.model.learning import Learned
from stableopt.model.warps import POWERS, Warp, likeliest

VALUES = np.concatenate([3 * np.random.default_rng(0).standard_normal(40), [-1e3, 1e3, 0.3, 1e-9]])


@pytest.mark.parametrize("power", POWERS)
def test_it_is_the_transformation_of_yeo_and_johnson_but_pulls_no_high_values_apart(power):
    warp = Warp(power, 0.3, 2.0)
    theirs = 0.3 + 2 * yeojohnson((VALUES - 0.3) / 2, power)
    expected = np.where((VALUES > 0.3) & (power > 1), VALUES, theirs)
    assert np.allclose(warp(VALUES), expected, rtol=1e-9)
    high = VALUES[VALUES > 0.3]
    assert np.all(warp(high) <= high * (1 + 1e-12))


@pytest.mark.parametrize("power", POWERS)
def test_it_has_an_inverse_and_a_slope(power):
    warp = Warp(power, 0.3, 2.0)
    assert np.allclose(warp.inverse(warp(VALUES)), VALUES, rtol=1e-9, atol=1e-9)
    h = 1e-6 * (1 + np.abs(VALUES))
    away = np.abs(VALUES - 0.3) > h  # the second derivative jumps at the centre
    assert np.allclose((warp(VALUES + h) - warp(VALUES - h))[away] / (2 * h[away]), warp.slope(VALUES)[away], rtol=1e-4)
    assert np.allclose(warp.inverse_slope(warp(VALUES)) * warp.slope(VALUES), 1.0)


def test_huge_latent_values_are_huge_and_not_an_error():
    with np.errstate(all="raise"):
        assert Warp(0.0, 0.0, 1.0).inverse(1e6) > 1e200
        assert Warp(2.0, 0.0, 1.0).inverse(-1e6) < -1e200


@pytest.mark.parametrize("wrong", [{"power": 2.1}, {"power": math.nan}, {"unit": 0.0}, {"centre": math.inf}])
def test_what_is_no_warp_is_refused(wrong):
    with pytest.raises(ValueError, match="warp"):
        Warp(**{"power": 0.5, "centre": 0.0, "unit": 1.0} | wrong)


def data(transform, t=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((t, 2))
    latent = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1]) + 0.05 * rng.standard_normal(t)
    return X, transform(latent)


def learned(X, y, **options):
    model = Learned(warp=True, **options)
    return model.learn(X, y, None, model.first(X.shape[1]))


def test_a_long_tail_is_warped_and_what_has_none_is_not():
    powers = [
        [1.0 if (warp := learned(*data(transform, seed=seed)).warp) is None else warp.power for seed in range(5)]
        for transform in (lambda w: np.exp(1.5 * w), lambda w: w, lambda w: -np.exp(-1.5 * w))
    ]
    assert max(powers[0]) < 1
    assert np.mean(powers[1]) == pytest.approx(1.0, abs=0.2)
    assert min(powers[2]) > 1


def test_the_likeliest_power_is_that_of_the_density_of_y():
    """By brute force: the same density with a grid over variances and means in place of the best of each."""
    X, y = data(lambda w: np.exp(1.2 * w), 26)
    z = (y - y.mean()) / y.std()
    kernel, noise = so.SE([0.4, 0.4]), np.full(26, 0.1)
    whole = X, z
    others = np.abs(z - np.median(z)) < np.abs(z - np.median(z)).max()  # that one has no say
    X, z = X[others], z[others]
    K = kernel(X, X) + 0.01 * np.eye(25)

    def density(power):
        warp = Warp(power, 0.0, 1.0)
        w = warp(z)
        jacobian = np.log(warp.slope(z)).sum() - 25 * math.log(w.std())
        w = (w - w.mean()) / w.std()
        found = -math.inf
        for mean in np.linspace(-3, 3, 121):
            Q = (w - mean) @ np.linalg.solve(K, w - mean)
            for v in np.exp(np.linspace(-4, 6, 201)):  # the prior is worth four observations of variance 1
                found = max(found, -0.5 * (25 + 4) * math.log(v) - 0.5 * (Q + 4) / v)
        return found + jacobian - (power - 1) ** 2

    assert likeliest(kernel, noise, *whole) == max(POWERS, key=density) != 1.0


def test_one_value_in_another_unit_is_no_long_tail():
    X, y = data(lambda w: w)
    y[3] *= 1000
    assert learned(X, y).warp is None


@pytest.mark.parametrize("usual", [0.3, 1 / 3, 7.7, 333.33, -1e-9])
def test_equal_values_and_one_other_have_no_long_tail(usual):
    """The deviation of the others is rounding, and would choose a power by chance."""
    for t in range(8, 36, 3):
        y = np.full(t, usual)
        y[3] += 5.0
        X = np.random.default_rng(t).random((t, 2))
        assert likeliest(so.SE([0.4, 0.4]), np.full(t, 0.1), X, (y - y.mean()) / y.std()) == 1.0


def test_the_noise_of_an_observation_depends_on_its_value():
    belief = learned(*data(lambda w: np.exp(1.5 * w)))
    assert belief.warp is not None and belief.warp.power < 1
    for y in (0.5, 3.0, 9.0):
        small = replace(belief, gps=(replace(belief.likely, noise=1e-5),), weights=())
        assert small.noise_at(float(belief.warp(y))) == pytest.approx(1e-5 / belief.warp.slope(y), rel=1e-3)
    assert belief.noise_at(float(belief.warp(9.0))) > belief.noise_at(float(belief.warp(0.5)))
    plain = replace(belief, warp=None)
    assert plain.noise_at(3.0) == pytest.approx(plain.likely.noise)


def test_bounds_are_quantiles_with_their_gradient():
    X, y = data(lambda w: -np.exp(-1.5 * w))
    belief = learned(X, y)
    posterior = belief.condition(X, y)
    assert isinstance(posterior, WarpedPosterior) and belief.warp is not None
    Z = np.random.default_rng(1).random((30, 2))
    mean, variance = belief.latent(X, y)(Z)
    for c in (-2.5, 0.0, 2.5):
        values, gradient = posterior.bound(c).with_gradient(Z)
        assert np.allclose(belief.warp(values), mean + c * np.sqrt(variance), rtol=1e-9, atol=1e-9)
        assert np.allclose(posterior.bound(c)(Z), values)
        for j in range(2):
            step = 1e-6 * np.eye(2)[j]
            slope = (posterior.bound(c)(Z + step) - posterior.bound(c)(Z - step)) / 2e-6
            assert np.allclose(gradient[:, j], slope, rtol=1e-3, atol=1e-4 * np.abs(slope).max())
    both = posterior.bound(-2.0).together([posterior.bound(-2.0), posterior.bound(1.0)])
    which = np.arange(30) % 2
    expected = np.array([posterior.bound(-2.0)(Z), posterior.bound(1.0)(Z)])
    assert np.allclose(both.each(Z), expected)
    assert np.allclose(both.at(Z, which), expected[which, np.arange(30)])
    assert np.allclose(both.with_gradient(Z, which)[0], expected[which, np.arange(30)])


def test_bounds_hold_as_often_in_the_units_of_y():
    """Quantiles of latents are quantiles of y: the share of new values within them is the same, and large."""
    inside = []
    for seed in range(6):
        X, y = data(np.exp, seed=seed)
        Z, truth = data(np.exp, 300, seed=100 + seed)
        belief = learned(X, y)
        posterior = belief.condition(X, y)
        low, high = (posterior.bound(c)(Z) for c in (-2.5, 2.5))
        inside.append(np.mean((low - 0.3 * truth <= truth) & (truth <= high + 0.3 * truth)))
    assert np.mean(inside) > 0.97


def test_an_update_is_a_posterior_with_one_more_value():
    X, y = data(np.exp, 20)
    belief = learned(X, y)
    assert belief.warp is not None
    noise = np.full(20, 0.2)
    whole = belief.condition(X, y, noise)
    grown = belief.condition(X[:-1], y[:-1], noise[:-1]).update(X[-1], float(y[-1]), 0.2)
    Z = np.random.default_rng(1).random((30, 2))
    assert np.allclose(whole(Z), grown(Z))
    assert grown.t == 20


def test_on_a_list_it_is_the_same_model():
    X, y = data(np.exp, 20)
    belief = learned(X, y)
    assert belief.warp is not None
    grid = np.random.default_rng(2).random((50, 2))
    blocks = [np.vstack([X, grid])]
    tracked = belief.track(blocks, list(range(19)), y[:19]).update(19, float(y[19]))
    assert isinstance(tracked, WarpedOnCandidates) and tracked.t == 20
    posterior = belief.condition(X, y)
    assert np.allclose(tracked.bound(-2.0)[20:], posterior.bound(-2.0)(grid), rtol=1e-6)
    low, high = tracked.bounds(range(20, 70), 2.0)
    assert np.allclose(low, tracked.bound(-2.0)[20:]) and np.allclose(high, tracked.bound(2.0)[20:])
    assert np.allclose(tracked.moments(range(20, 70)), posterior(grid), rtol=1e-6)


def test_a_belief_with_a_warp_is_written_and_read():
    X, y = data(np.exp, 20)
    belief = learned(X, y)
    assert belief.warp is not None
    assert from_dict(belief.to_dict()) == belief
    with pytest.raises(TypeError, match="warp"):
        Belief(belief.gps, warp="log")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"noise": 0.1}, {"mean": 0.0}, {"robust": True}])
def test_what_is_given_in_units_of_y_leaves_no_room_for_a_warp(options):
    assert learned(*data(np.exp, 20), **options).warp is None


@pytest.mark.parametrize("method", ["map", "ml", "bayes"])
def test_every_method_may_have_one(method):
    belief = learned(*data(lambda w: np.exp(1.5 * w)), method=method)
    assert belief.warp is not None and belief.warp.power < 1


def test_equal_values_and_tiny_or_huge_ones_are_learned_from():
    X, y = data(np.exp, 20)
    assert learned(X, np.full(20, 3.0)).warp is None
    for unit in (1e-12, 1e12):
        scaled = learned(X, unit * y).warp
        assert scaled is not None and scaled.power == learned(X, y).warp.power


class Shifted:
    """z -> exp(3 F(z)), which a search may see as F."""

    def __init__(self, F):
        self.latent = F

    def __call__(self, Z):
        return self.outside(self.latent(Z))

    def with_gradient(self, Z):
        v, G = self.latent.with_gradient(Z)
        return np.exp(3 * v), 3 * np.exp(3 * v)[:, None] * G

    def outside(self, values):
        return np.exp(3 * np.asarray(values))

    def inside(self, values):
        return np.log(values) / 3


def test_a_search_sees_what_was_transformed_as_it_was():
    optimizer = so.Optimizer(so.Space([(0, 1)] * 2), so.Rectangle([0.1] * 2), so.GP(so.SE([0.3, 0.3]), noise=0.05))
    X, y = data(lambda w: w, 15)
    optimizer.tell(X, y)
    solver, F = optimizer.state.setting.solver(15), optimizer.state.lcb
    assert isinstance(solver, LatentMaxMin)
    G = Shifted(F)
    plain, other = solver.maximin(F), solver.maximin(G)
    assert other.decision == plain.decision and other.point == plain.point
    assert other.value == pytest.approx(math.exp(3 * plain.value)) and other.gap >= 0
    decisions = [(0.2, 0.3), (0.7, 0.6), (0.5, 0.5)]
    for a, b in zip(solver.minima(decisions, F), solver.minima(decisions, G), strict=True):
        assert b.value == pytest.approx(math.exp(3 * a.value)) and a.point == b.point
    assert solver.best(decisions, G).decision == solver.best(decisions, F).decision
    least = solver.minima(decisions, F)[1].value - 1e-3
    found = [solver.leading(decisions, F, 3, above=least), solver.leading(decisions, G, 3, above=math.exp(3 * least))]
    assert [c.decision for c in found[0]] == [c.decision for c in found[1]]
    a, b = solver.worsts(decisions[0], [F, G])
    assert b.value == pytest.approx(math.exp(3 * a.value))
