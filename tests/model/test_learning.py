"""What learning promises: beliefs in the user's units whatever those are, mixtures with their own two moments, and that
what is learned predicts well.

References: brute-force moments, finite differences, the likelihood itself, and data drawn from known functions.
"""

import json
import math
import pickle

import numpy as np
import pytest
from helpers.cases import extra
from hypothesis import given, settings
from hypothesis import strategies as st

from stableopt import GP, SE, Categorical, Grid, Matern
from stableopt.base.values import from_dict
from stableopt.model.algebra import Scaled
from stableopt.model.beliefs import Mixture, TrackedMixture
from stableopt.model.fit import fit, log_likelihood
from stableopt.model.gp import Bound, Posterior
from stableopt.model.hyperparameters import Gamma, LogNormal, LogUniform
from stableopt.model.kernels import Linear
from stableopt.model.learning import Belief, Learned
from stableopt.model.tracked import TrackedPosterior
from stableopt.problems.perturbed import polynomial

RNG = np.random.default_rng(0)
X = RNG.random((25, 2))
F = np.sin(5 * X).sum(axis=1)
Y = F + 0.1 * RNG.normal(size=25)
GPS = (GP(SE([0.3, 0.5]), 0.1), GP(2.0 * Matern(2.5, 0.6), 0.3, 1.0), GP(0.5 * SE(0.2), 0.05, -1.0))


def learned(options, A=X, y=Y, noise=None, rounds=1, categories=(), seed=0):
    how = Learned(**options)
    belief = how.first(A.shape[1], categories)
    for _ in range(rounds):
        belief = how.learn(A, y, noise, belief, categories, seed)
    return belief


# --- mixtures ---


def moments(posteriors, Z):
    """Mean and variance of a mixture by a million draws' worth of arithmetic: E f and E f² - (E f)²."""
    parts = [posterior(Z) for posterior in posteriors]
    mean = np.mean([m for m, _ in parts], axis=0)
    return mean, np.mean([v + m**2 for m, v in parts], axis=0) - mean**2


def test_a_mixture_has_the_moments_of_its_draws():
    mixture = Belief(GPS).condition(X, Y)
    Z = RNG.random((4, 2))
    mean, variance = mixture(Z)
    rng, draws = np.random.default_rng(1), []
    for posterior in mixture.posteriors:
        m, v = posterior(Z)
        draws.append(m + np.sqrt(v) * rng.normal(size=(200_000, len(Z))))
    draws = np.concatenate(draws)
    np.testing.assert_allclose(mean, draws.mean(axis=0), atol=5e-3)
    np.testing.assert_allclose(variance, draws.var(axis=0), rtol=2e-2)
    average = np.mean([posterior(Z)[1] for posterior in mixture.posteriors], axis=0)
    assert np.abs(variance / average - 1).max() > 0.1, "the samples disagree, which an average of variances ignores"


def test_a_mixture_is_updated_part_by_part_and_gains_their_average():
    noise = np.linspace(0.1, 0.5, 25)
    whole, grown = Belief(GPS).condition(X, Y, noise), Belief(GPS).condition(X[:24], Y[:24], noise[:24])
    grown = grown.update(X[24], Y[24], noise[24])
    Z = RNG.random((30, 2))
    for mine, other, brute in zip(grown(Z), whole(Z), moments(whole.posteriors, Z), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)
        np.testing.assert_allclose(mine, brute, atol=1e-9)
    assert grown.t == 25 and np.array_equal(grown.X, X) and np.array_equal(grown.y, Y)
    assert grown.information_gain == pytest.approx(np.mean([p.information_gain for p in whole.posteriors]))


@pytest.mark.parametrize("c", [2.0, 0.0, -1.5])
def test_the_gradient_of_a_mixtures_bound_is_that_of_finite_differences(c):
    bound, Z = Belief(GPS).condition(X, Y).bound(c), RNG.random((40, 2))
    values, gradient = bound.with_gradient(Z)
    np.testing.assert_allclose(values, bound(Z), rtol=1e-11)
    moves = 1e-5 * np.eye(2)
    expected = np.column_stack([(bound(Z + move) - bound(Z - move)) / 2e-5 for move in moves])
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("c", [2.0, 0.0, -1.5])
def test_a_mixture_written_out_for_a_common_kernel_is_the_general_one(c):
    alike = (GP(Matern(2.5, [0.3, 0.5]), 0.1), GP(2.0 * Matern(2.5, 0.6), 0.3, 1.0), GP(0.5 * Matern(2.5, 0.2), 0.05))
    mixture, Z = Belief(alike).condition(X, Y), np.random.default_rng(1).random((40, 2))
    Z[:5] = X[:5]
    assert mixture.stationary is not None
    general, written = Bound(_General(mixture), c), mixture.bound(c)
    mean, variance = moments(mixture.posteriors, Z)
    np.testing.assert_allclose(written(Z), mean + c * np.sqrt(variance), rtol=1e-9)
    for mine, other in zip(written.with_gradient(Z), general.with_gradient(Z), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
    for gps in ((*alike, GP(Linear(np.eye(2).tolist()), 0.1)), GPS):
        odd = Belief(gps).condition(X, Y)
        assert odd.stationary is None and np.all(np.isfinite(odd.bound(c).with_gradient(Z)[1]))


class _General:
    """A mixture that hides that its kernels are common ones."""

    stationary = None

    def __init__(self, mixture):
        self.t, self.with_pullback = mixture.t, mixture.with_pullback


def test_a_mixture_of_equal_parts_is_the_part_even_far_from_zero():
    far = [GP(SE(0.4), 1e-3, 1e8)] * 3
    Z = RNG.random((20, 2))
    mixture, alone = Belief(far).condition(X, 1e8 + Y), far[0].condition(X, 1e8 + Y)
    for mine, other in zip(mixture(Z), alone(Z), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.parametrize("blocks", [(X,), Grid.linspace([0, 0], [1, 1], [6, 7]).blocks], ids=["points", "grid"])
def test_a_tracked_mixture_is_the_mixture_on_the_candidates(blocks):
    observed, y = [3, 8, 3, 20], np.array([1.0, -1.0, 0.5, 2.0])
    noise = np.array([0.1, math.nan, 0.2, math.nan])
    started = Belief(GPS).track(blocks, observed, y, noise)
    told = Belief(GPS).track(blocks, observed[:2], y[:2], noise[:2]).update(3, 0.5, 0.2).update(20, 2.0)
    points = started.points
    anywhere = Belief(GPS).condition(points[observed], y, noise)
    mean, variance = anywhere(points)
    for tracked in (started, told, pickle.loads(pickle.dumps(told))):
        np.testing.assert_allclose(tracked.mean, mean, atol=1e-9)
        np.testing.assert_allclose(tracked.variance, variance, atol=1e-9)
        np.testing.assert_allclose(tracked.std, np.sqrt(variance), atol=1e-9)
        lcb, ucb = tracked.bound(-2.0), tracked.bound(2.0)
        np.testing.assert_allclose([lcb, ucb], [mean - 2 * np.sqrt(variance), mean + 2 * np.sqrt(variance)], atol=1e-8)
        np.testing.assert_allclose(tracked.whitened, np.mean([p.whitened for p in told.posteriors], axis=0), atol=1e-9)
        np.testing.assert_allclose(tracked.whitened, anywhere.whitened, atol=1e-9)
        assert np.array_equal(tracked.moments([5, 0]), [tracked.mean[[5, 0]], tracked.variance[[5, 0]]])
        assert tracked.observed == (3, 8, 3, 20) and tracked.t == 4
        assert tracked.information_gain == pytest.approx(np.mean([p.information_gain for p in told.posteriors]))
    assert not any(array.flags.writeable for array in (told.mean, told.variance, told.std, told.bound(1.0)))


def test_a_belief_of_one_gp_gives_no_mixture():
    one = Belief(GPS[0])
    assert isinstance(one.condition(X, Y), Posterior) and isinstance(one.track([X]), TrackedPosterior)
    assert isinstance(Belief(GPS).condition(X, Y), Mixture) and isinstance(Belief(GPS).track([X]), TrackedMixture)


@pytest.mark.parametrize("nothing", [(), ("GP",), 3.0])
def test_nothing_to_believe_or_to_mix_is_refused(nothing):
    with pytest.raises(TypeError):
        Belief(nothing)
    with pytest.raises(TypeError):
        Mixture(nothing)


# --- units ---

METHODS = {
    "map": {},
    "ml": {"method": "ml"},
    "se, learned signal": {"kernel": "se", "signal": "learned"},
    "bayes": {"method": "bayes", "samples": 3, "burn_in": 5},
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("scale", "shift"), [extra(1e-12, 0.0), extra(1e12, 0.0), (3.0, 1e6), (1e-130, 0.0), (1e130, 0.0)]
)
def test_units_of_the_outputs_do_not_matter(name, scale, shift):
    plain, other = learned(METHODS[name], rounds=2), learned(METHODS[name], y=scale * Y + shift, rounds=2)
    Z = RNG.random((20, 2))
    mean, variance = plain.condition(X, Y)(Z)
    their_mean, their_variance = other.condition(X, scale * Y + shift)(Z)
    np.testing.assert_allclose((their_mean - shift) / scale, mean, atol=1e-4 if shift else 1e-6)
    np.testing.assert_allclose(np.sqrt(their_variance) / scale, np.sqrt(variance), rtol=1e-4 if shift else 1e-6)


def largest_variance(y):
    """Of the first ten values or more: the unit of the outputs, squared."""
    return max(np.var(y[:t]) for t in range(10, len(y) + 1))


def test_a_run_that_ends_around_one_decision_does_not_forget_how_much_f_varies():
    inputs = np.vstack([X, np.repeat(X[:1], 60, axis=0)])
    many = np.append(Y, np.full(60, Y[0]))
    gp = Learned().learn(inputs, many, None, Learned().first(2)).single
    assert gp.kernel.variance == pytest.approx(largest_variance(many)) and largest_variance(many) > 2 * np.var(many)


def test_what_is_learned_is_in_the_units_of_the_data():
    gp = learned({"kernel": "se", "method": "ml", "signal": "learned"}, y=7.0 * Y + 3.0).gps[0]
    known = fit(GP(1.0 * SE([0.5, 0.5]), 0.1), X, 7.0 * Y + 3.0, bounds={"lengthscale": (0.01, 1e3)}).gp
    assert log_likelihood(gp, X, 7.0 * Y + 3.0)[0] == pytest.approx(
        log_likelihood(known, X, 7.0 * Y + 3.0)[0], abs=1e-3
    )
    unit = learned({}, y=7.0 * Y + 3.0).single
    assert unit.kernel.variance == pytest.approx(largest_variance(7.0 * Y + 3.0))


def jump():
    y = Y.copy()
    y[7] = 1e6
    return y


def doubled():
    A = X.copy()
    A[1] = A[0]
    return A


TROUBLE = {
    "a jump at one point": (X, jump()),
    "a step": (X, Y + 1e6 * (X[:, 0] > 0.5)),
    "constant": (X, np.full(25, 3.0)),
    "zero": (X, np.zeros(25)),
    "constant but for rounding": (X, 3.0 + 1e-15 * F),
    "one": (X[:1], Y[:1]),
    "one that is zero": (X[:1], np.zeros(1)),
    "two": (X[:2], Y[:2]),
    "two at one point": (doubled()[:2], np.array([0.0, 1.0])),
    "a repeated point": (doubled(), Y),
    "all at one point": (0 * X, Y),
    "a large offset": (X, 1e12 + Y),
    "below all units": (X, 1e-300 * Y),
}


@pytest.mark.filterwarnings("ignore:values y that differ by")
@pytest.mark.parametrize("name", TROUBLE)
@pytest.mark.parametrize("options", [*METHODS.values(), {"noise": 1e-9}, {"noise": 1e3}], ids=str)
def test_trouble_gives_finite_and_usable_bounds(name, options):
    A, y = TROUBLE[name]
    belief = learned(options, A, y, rounds=2)
    posterior, Z = belief.condition(A, y), np.random.default_rng(1).random((40, 2))
    mean, variance = posterior(Z)
    values, gradient = posterior.bound(2.0).with_gradient(Z)
    assert all(np.all(np.isfinite(array)) for array in (mean, variance, values, gradient))
    unit = max(np.std(y), 1e-3 * np.abs(y).max() if np.ptp(y) < 1e-14 * np.abs(y).max() else 0.0)
    assert np.abs(mean - y.mean()).max() <= 10 * max(unit, np.ptp(y)) + 1e-4 * np.abs(y).max() * (unit == 0)
    # Noise that is known to be 1e-9 forbids to explain anything by it: a few points may then be all that f does.
    assert np.sqrt(variance).max() > 1e-6 * unit and belief.t == len(y)


@pytest.mark.filterwarnings("ignore:values y that differ by")
@given(st.integers(1, 6), st.data())
@settings(max_examples=25)
def test_any_few_numbers_can_be_learned_from(t, data):
    number = st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1.0, 1e-12, 1e100])
    y = np.array(data.draw(st.lists(number, min_size=t, max_size=t)))
    A = np.array(data.draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=t, max_size=t)))
    mean, variance = learned({}, A, y).condition(A, y)(A)
    assert np.all(np.isfinite(mean)) and np.all(np.isfinite(variance))


def test_values_beyond_floating_point_are_refused_with_advice():
    with pytest.raises(ValueError, match=r"below 1e.140, got 1e.200: measure them in a larger unit"):
        learned({}, y=1e200 * np.ones(25))


# --- what is learned ---


def test_map_is_the_best_that_a_patient_search_finds():
    quick = learned({}, rounds=3).gps[0]
    patient = learned({"fixed": (), "priors": {}}, seed=5).gps[0]
    np.testing.assert_allclose(quick.kernel.params, patient.kernel.params, atol=0.05)
    assert quick.noise == pytest.approx(patient.noise, rel=0.05)


def test_a_warm_start_follows_the_data():
    how = Learned()
    belief = how.first(2)
    for t in range(1, 26):
        if how.due(t, belief.t):
            belief = how.learn(X[:t], Y[:t], None, belief)
    fresh = how.learn(X[: belief.t], Y[: belief.t], None, how.first(2))
    np.testing.assert_allclose(belief.gps[0].kernel.params, fresh.gps[0].kernel.params, atol=0.1)


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_values_that_were_all_equal_do_not_spare_the_first_search(options):
    how, y = Learned(**options), np.append(np.zeros(6), [1.0, -0.5, 2.0])
    flat = how.learn(X[:6], y[:6], None, how.first(2))
    assert flat.t == 6 and how.learn(X[:9], y, None, flat) == how.learn(X[:9], y, None, how.first(2))


def test_learning_is_deterministic_for_a_seed():
    for options in ({}, METHODS["bayes"]):
        assert learned(options, seed=3) == learned(options, seed=3)
    assert learned(METHODS["bayes"], seed=3) != learned(METHODS["bayes"], seed=4)


def test_data_are_not_changed():
    A, y, noise = X.copy(), Y.copy(), np.full(25, 0.2)
    learned({}, A, y, noise)
    assert np.array_equal(A, X) and np.array_equal(y, Y) and np.all(noise == 0.2)


def test_known_noise_is_kept_and_noise_of_single_observations_counts():
    assert learned({"noise": 0.25}, rounds=2).gps[0].noise == pytest.approx(0.25)
    rough = Y + np.where(np.arange(25) < 12, 3.0, 0.0) * np.random.default_rng(2).normal(size=25)
    noise = np.where(np.arange(25) < 12, 3.0, math.nan)
    smooth = {"lengthscale": LogNormal(0.5, 0.1)}  # a rough function would explain the noise as well
    told, untold = (learned({"priors": smooth}, y=rough, noise=own).gps[0] for own in (noise, None))
    assert told.noise < 0.7 < untold.noise, "what is known to be noisy does not raise the noise of the others"


@pytest.mark.parametrize("method", ["map", "ml", "bayes"])
def test_the_user_can_fix_anything(method):
    options = {"method": method, "samples": 2, "burn_in": 2}
    kernel = 2.0 * Matern(2.5, [0.2, 0.3])
    assert all(
        gp.kernel.kernel.lengthscale == pytest.approx((0.2, 0.3))
        for gp in learned(options | {"kernel": kernel, "fixed": "lengthscale"}, rounds=2).gps
    )
    for gp in learned(options | {"kernel": kernel, "fixed": ["kernel.lengthscale[1]", "variance"]}, rounds=2).gps:
        assert gp.kernel.kernel.lengthscale[1] == pytest.approx(0.3) != gp.kernel.kernel.lengthscale[0]
        assert gp.kernel.variance == pytest.approx(2.0 * largest_variance(Y))
    for gp in learned(options | {"mean": -4.0, "noise": 0.2}, rounds=2).gps:
        assert (gp.mean, gp.noise) == (pytest.approx(-4.0), pytest.approx(0.2))
    for gp in learned(options | {"bounds": {"lengthscale": (0.05, 0.1)}}, rounds=2).gps:
        assert 0.05 <= min(gp.kernel.kernel.lengthscale) <= max(gp.kernel.kernel.lengthscale) <= 0.1 + 1e-12


def test_priors_of_the_user_replace_the_default_ones():
    short = learned({"priors": {"lengthscale": LogNormal(0.05, 0.01)}}).gps[0]
    assert max(short.kernel.kernel.lengthscale) < 0.07
    paper = {"lengthscale": Gamma(2.5, 5.0), "variance": LogUniform(), "noise": LogUniform()}
    how = Learned(1.0 * SE([1.0, 1.0]), method="bayes", priors=paper, samples=4, burn_in=10)
    belief = how.learn(X, Y, None, how.first(2))
    assert len(belief.gps) == 4 and len(set(map(repr, belief.gps))) == 4
    assert all(isinstance(gp.kernel, Scaled) and isinstance(gp.kernel.kernel, SE) for gp in belief.gps)


def test_categories_get_a_kernel_of_their_own():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    A = np.column_stack([rng.random(60), codes, rng.random(60), rng.integers(0, 2, 60)])
    y = np.sin(5 * A[:, 0]) + 2.0 * (codes == 1) + 0.1 * rng.normal(size=60)
    how = Learned()
    belief = how.learn(A, y, None, how.first(4, [1, 3]), [1, 3])
    kernel = belief.gps[0].kernel.kernel
    assert kernel.left.left.columns == (0, 2) and kernel.left.right.columns == (1,) and kernel.right.columns == (3,)
    assert kernel.left.right.kernel.correlation < 0.8 < kernel.right.kernel.correlation, "the second does not matter"
    mean, _ = belief.condition(A[:50], y[:50])(A[50:])
    assert np.sqrt(np.mean((mean - y[50:]) ** 2)) < 0.3
    only = Learned().learn(codes[:, None].astype(float), y, None, Learned().first(1, [0]), [0]).gps[0]
    assert isinstance(only.kernel.kernel.kernel, Categorical)


@pytest.mark.parametrize("kernel", ["matern52", "se"])
def test_what_is_learned_predicts_held_out_values_of_the_polynomial(kernel):
    problem = polynomial()
    points, values = problem.domain.points, problem.values
    A = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    gains, covered = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        seen, held = np.split(rng.permutation(len(A))[:1080], [80])
        y = values[seen] + 0.1 * rng.normal(size=80)
        mean, variance = learned({"kernel": kernel}, A[seen], y).condition(A[seen], y)(A[held])
        density = -0.5 * np.log(variance) - 0.5 * (values[held] - mean) ** 2 / variance
        plain = -0.5 * np.log(y.var()) - 0.5 * (values[held] - y.mean()) ** 2 / y.var()
        gains.append(density.mean() - plain.mean())
        covered.append(np.mean(np.abs(values[held] - mean) < 2 * np.sqrt(variance)))
    assert min(gains) > 0 and np.mean(gains) > 0.5, "nats per value, against a normal distribution of all values"
    assert np.mean(covered) > 0.75


# --- when ---


def test_refits_come_every_round_at_first_and_cost_no_more_than_a_few_times_the_last():
    for method in ("map", "ml"):
        how, last, at = Learned(method=method), 0, []
        for t in range(2001):
            if how.due(t, last):
                last = t
                at.append(t)
        assert at[:100] == list(range(1, 101))
        assert sum(t**3 for t in at) < 4.5 * 2000**3 and len(at) < 150


def test_samples_are_redrawn_every_few_rounds():
    how, last, at = Learned(method="bayes", every=10), 0, []
    for t in range(60):
        if how.due(t, last):
            last = t
            at.append(t)
    assert at == [1, 2, 4, 8, 16, 26, 36, 46, 56]


# --- values ---


@pytest.mark.parametrize(
    "how",
    [
        Learned(),
        Learned("se", 0.1, 2.0, "ml", "learned"),
        Learned(1.0 * SE([0.1, 0.2]), priors={"lengthscale": Gamma(2.5, 5.0)}, fixed=["variance"]),
        Learned(method="bayes", bounds={"noise": (1e-3, 1.0)}, samples=3, every=5, burn_in=7, thin=2),
    ],
    ids=str,
)
def test_how_to_learn_and_what_was_learned_are_values(how):
    again = from_dict(json.loads(json.dumps(how.to_dict())))
    assert again == how and hash(again) == hash(how) and isinstance(again, Learned)
    belief = how.learn(X, Y, None, how.first(2))
    same = from_dict(json.loads(json.dumps(belief.to_dict())))
    assert same == belief and isinstance(same.gps, tuple) and same.t == 25
    assert again.learn(X, Y, None, again.first(2)) == belief


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rbf"}, r"expected a kernel or one of \['se', .* got 'rbf'"),
        ({"method": "mle"}, r"expected method as one of \['ml', 'map', 'mixture', 'bayes'\], got 'mle'"),
        ({"signal": 1.0}, "expected signal as one of"),
        ({"noise": 0.0}, "expected noise as a standard deviation above 0, or None to learn it, got 0.0"),
        ({"mean": math.nan}, "expected a finite mean, or None to learn it, got nan"),
        ({"fixed": "noise"}, "expected the value at which to fix the noise, got none: pass noise="),
        ({"fixed": ["mean"]}, "expected the value at which to fix the mean"),
        ({"samples": 0}, "expected samples as a whole number of at least 1, got 0"),
        ({"every": 2.5}, "expected every as a whole number of at least 1, got 2.5"),
        ({"burn_in": -1}, "expected burn_in as a whole number of at least 0, got -1"),
    ],
)
def test_bad_choices_say_what_was_expected(options, message):
    with pytest.raises(ValueError, match=message):
        Learned(**options)


def test_unknown_names_are_refused_when_they_meet_the_model():
    with pytest.raises(ValueError, match=r"expected names among .* in fixed, got \['length'\]"):
        learned({"fixed": "length"})
