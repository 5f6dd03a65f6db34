"""Promises of the Gaussian process: every way to a posterior gives the same one, and nothing that was computed changes.

References: scikit-learn, the textbook formulas in extended precision, and closed forms.
"""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from helpers.cases import extra
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import stableopt.model.factors
from stableopt import GP, SE, Grid, Linear, Matern, Points
from stableopt.base.arrays import cartesian
from stableopt.model.factors import NOISE_FLOOR, ProductFactor, RowFactor, Rows
from stableopt.model.gp import LinearMean

# In two columns: ours, and the same kernel of scikit-learn.
KERNELS = {
    "SE": (SE(0.4), sk.RBF(0.4)),
    "SE, ARD, scaled": (2.5 * SE([0.3, 0.8]), 2.5 * sk.RBF([0.3, 0.8])),
    "Matern 1/2": (Matern(0.5, 0.7), sk.Matern(0.7, nu=0.5)),
    "Matern 3/2, scaled": (0.3 * Matern(1.5, 0.5), 0.3 * sk.Matern(0.5, nu=1.5)),
    "Matern 5/2, ARD": (Matern(2.5, [0.6, 0.2]), sk.Matern([0.6, 0.2], nu=2.5)),
    "linear": (Linear([[1.0, 0.0], [0.0, 1.0]]), sk.DotProduct(0.0, "fixed")),
    "SE + linear": (SE(0.5) + 2.0 * Linear([[1.0, 0.0], [0.0, 1.0]]), sk.RBF(0.5) + 2.0 * sk.DotProduct(0.0, "fixed")),
    "Matern × SE": (Matern(1.5, 0.9) * SE(0.6), sk.Matern(0.9, nu=1.5) * sk.RBF(0.6)),
}
RNG = np.random.default_rng(0)
BLOCKS = {
    "points": Points(RNG.uniform(-1, 1, (25, 2))).blocks,
    "grid": Grid.linspace([-1, -1], [1, 0.5], [6, 5]).blocks,
    "grid with one row": Grid.linspace([0, -1], [0, 1], [1, 12]).blocks,
    "points × parameters": (np.sort(RNG.uniform(-1, 1, 7))[:, None], np.array([[-1.0], [0.3], [0.4]])),
}
# Kernels that are a product over the two columns, so that grids take the path without stored rows.
PRODUCTS = {
    "SE": SE([0.3, 0.5]),
    "Matern × SE": 0.7 * (Matern(2.5, 0.4).on([0]) * SE(0.6).on([1])),
    "one column": Matern(1.5, 0.4).on([1]),
    "linear × SE": Linear([[2.0]]).on([0]) * SE(0.3).on([1]),
}


def observations(n, most=15):
    """Some observations of n candidates, often repeated, often contradicting each other."""
    one = st.tuples(st.integers(0, n - 1), st.integers(-3, 3).map(float))
    return st.lists(one, min_size=1, max_size=most)


def after(posterior, told):
    for index, y in told:
        posterior = posterior.update(index, y)
    return posterior


def digits(noise):
    """How far double precision may be off with this noise (in units of the signal): 2e-16 times the condition number.

    It is met only where values contradict each other by more than the noise explains.
    """
    return 1e-14 + 3e-15 / max(noise, NOISE_FLOOR) ** 2


def data(points, told):
    return points[[index for index, _ in told]], np.array([y for _, y in told])


@st.composite
def cases(draw, kernels=KERNELS):
    kernel = kernels[draw(st.sampled_from(sorted(kernels)))]
    blocks = BLOCKS[draw(st.sampled_from(sorted(BLOCKS)))]
    noise = draw(st.sampled_from([1.0, 0.1, 1e-2, 1e-3]))
    return kernel, blocks, noise, draw(observations(len(cartesian(blocks))))


@given(cases(), st.sampled_from([0.0, -7.5]))
def test_tracked_posterior_is_a_fresh_factorisation_and_scikit_learns(case, mean):
    (kernel, reference), blocks, noise, told = case
    gp, points = GP(kernel, noise, mean), cartesian(blocks)
    X, y = data(points, told)
    tracked = after(gp.track(blocks), told)
    fresh_mean, fresh_variance = gp.condition(X, y)(points)
    regressor = GaussianProcessRegressor(reference, alpha=noise**2, optimizer=None).fit(X, y - mean)
    # The covariance, since predict(return_std=True) sets small negative variances to 0 and warns.
    sk_mean, sk_covariance = regressor.predict(points, return_cov=True)
    for other_mean, other_variance in ((fresh_mean, fresh_variance), (sk_mean + mean, np.diag(sk_covariance))):
        np.testing.assert_allclose(tracked.mean, other_mean, atol=1e-8)
        np.testing.assert_allclose(tracked.variance, other_variance, atol=1e-9)
    assert tracked.observed == tuple(index for index, _ in told)
    assert np.array_equal(tracked.points, points)


@pytest.mark.parametrize("kernel", PRODUCTS.values(), ids=PRODUCTS)
@given(observations(30), st.sampled_from([1.0, 0.1, 1e-3, 1.1e-4]))
@settings(max_examples=30)
def test_product_form_and_stored_rows_agree(kernel, told, noise):
    blocks, gp = BLOCKS["grid"], GP(kernel, noise * 2, 0.5)
    product = after(gp.track(blocks), told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProductFactor, "of", lambda *args: None)
        stored = after(gp.track(blocks), told)
    assert isinstance(product._factor, ProductFactor) and isinstance(stored._factor, RowFactor)
    np.testing.assert_allclose(product.mean, stored.mean, atol=1e-7)
    np.testing.assert_allclose(product.std, stored.std, atol=1e-7)
    assert product.information_gain == pytest.approx(stored.information_gain, abs=1e-7)


@pytest.mark.parametrize(
    ("kernel", "blocks", "noise", "path"),
    [
        (SE(0.3), BLOCKS["grid"], 0.1, ProductFactor),
        (SE(0.3), BLOCKS["points × parameters"], 0.1, ProductFactor),
        (SE(0.3), BLOCKS["points"], 0.1, RowFactor),
        (Matern(2.5, 0.3), BLOCKS["grid"], 0.1, RowFactor),
        (SE(0.3) + Linear(np.eye(2).tolist()), BLOCKS["grid"], 0.1, RowFactor),
        (SE(0.3), BLOCKS["grid"], 1e-5, RowFactor),  # too little noise for the digits of the product form
        (1e6 * SE(0.3), BLOCKS["grid"], 1e-2, RowFactor),
        (SE(0.3), BLOCKS["grid with one row"], 0.1, RowFactor),
    ],
)
def test_product_form_is_chosen_where_it_pays_and_keeps_its_digits(kernel, blocks, noise, path):
    assert isinstance(GP(kernel, noise).track(blocks)._factor, path)


def test_linear_prior_with_a_mean_is_bayesian_linear_regression():
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(40, 3)), np.array([1.0, -2.0, 0.5])
    root = rng.normal(size=(3, 3))
    covariance, noise = root @ root.T, 0.3
    told = [(int(i), float(X[i] @ weights + noise * rng.normal())) for i in rng.integers(40, size=12)]
    A, y = data(X, told)
    precision = np.linalg.inv(covariance) + A.T @ A / noise**2
    prior_mean = np.array([0.5, 0.0, 1.0])
    posterior_mean = np.linalg.solve(precision, np.linalg.inv(covariance) @ prior_mean + A.T @ y / noise**2)
    gp = GP.linear(prior_mean, covariance, noise)
    tracked = after(gp.track([X]), told)
    np.testing.assert_allclose(tracked.mean, X @ posterior_mean, atol=1e-9)
    np.testing.assert_allclose(tracked.variance, np.sum(X @ np.linalg.inv(precision) * X, axis=1), atol=1e-9)
    assert gp.mean == LinearMean([0.5, 0.0, 1.0])


@given(cases())
@settings(max_examples=50)
def test_rank_one_updates_are_the_batch_posterior(case):
    (kernel, _), blocks, noise, told = case
    gp, points = GP(kernel, noise, 1.5), cartesian(blocks)
    X, y = data(points, told)
    one_by_one = gp.condition(X[:1], y[:1])
    for x, value in zip(X[1:], y[1:], strict=True):
        one_by_one = one_by_one.update(x, value)
    batch = gp.condition(X, y)
    for mine, other in zip(one_by_one(points), batch(points), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-8)
    assert one_by_one.information_gain == pytest.approx(batch.information_gain, rel=1e-9, abs=1e-9)
    assert np.array_equal(one_by_one.X, X) and np.array_equal(one_by_one.y, y)


@given(cases())
@settings(max_examples=50)
def test_information_gain_is_half_the_log_determinant(case):
    (kernel, _), blocks, noise, told = case
    gp, points = GP(kernel, noise), cartesian(blocks)
    X, y = data(points, told)
    sign, logdet = np.linalg.slogdet(np.eye(len(X)) + kernel(X, X) / noise**2)
    tracked = after(gp.track(blocks), told)
    assert sign == 1
    assert tracked.information_gain == pytest.approx(logdet / 2, rel=1e-8, abs=1e-9)
    assert gp.condition(X, y).information_gain == pytest.approx(logdet / 2, rel=1e-8, abs=1e-9)
    assert gp.track(blocks).information_gain == 0.0


OURS = PRODUCTS | {name: ours for name, (ours, _) in KERNELS.items()}


@given(cases(kernels=OURS), st.sampled_from([1.0, 1e-4, 1e-8]))
def test_variance_never_grows_and_is_never_negative(case, less):
    kernel, blocks, noise, told = case
    posterior = GP(kernel, noise * less).track(blocks)
    for index, y in told * 3:
        following = posterior.update(index, y)
        assert np.all(following.variance <= posterior.variance)
        assert np.all(following.variance >= 0) and np.all(np.isfinite(following.mean))
        assert following.variance[index] < posterior.variance[index] or posterior.variance[index] == 0 or less < 1
        assert following.information_gain >= posterior.information_gain
        posterior = following


@given(st.integers(1, 40), st.integers(-6, 10), st.integers(-8, 0), st.sampled_from(["points", "grid"]))
def test_contradicting_values_at_one_point_have_the_closed_form(repeats, scale, level, where):
    signal, noise = 10.0**scale, 10.0 ** (scale + level)
    blocks = BLOCKS[where]
    posterior = GP(signal**2 * SE(0.3), noise).track(blocks)
    values = signal * np.resize([1.0, -1.0, 0.5], repeats)
    posterior = after(posterior, [(3, float(y)) for y in values])
    floored = max(noise, NOISE_FLOOR * signal)
    denominator = repeats * signal**2 + floored**2
    tolerance = digits(10.0**level)
    assert posterior.mean[3] == pytest.approx(signal**2 * values.sum() / denominator, abs=tolerance * signal)
    # 1e-16 of cancellation against a variance of 1e-12: two digits may go.
    assert posterior.std[3] == pytest.approx(signal * floored / math.sqrt(denominator), rel=1e-2)
    fresh_mean, fresh_variance = GP(signal**2 * SE(0.3), noise).condition(
        np.repeat(posterior.points[3:4], repeats, axis=0), values
    )(posterior.points)
    np.testing.assert_allclose(posterior.mean, fresh_mean, atol=tolerance * signal)
    np.testing.assert_allclose(posterior.std, np.sqrt(fresh_variance), atol=1e-7 * signal)


@given(st.sampled_from(sorted(PRODUCTS)), st.sampled_from(["points", "grid"]), st.data())
@settings(max_examples=60)
def test_units_do_not_matter(name, where, draws):
    kernel, blocks = PRODUCTS[name], BLOCKS[where]
    told = draws.draw(observations(len(cartesian(blocks))))
    noise, scale = draws.draw(st.sampled_from([0.3, 1e-2, 1e-8])), 10.0 ** draws.draw(st.integers(-6, 10))
    plain = after(GP(kernel, noise).track(blocks), told)
    scaled = after(GP(scale**2 * kernel, noise * scale).track(blocks), [(i, y * scale) for i, y in told])
    np.testing.assert_allclose(scaled.mean / scale, plain.mean, atol=30 * digits(noise))
    np.testing.assert_allclose(scaled.std / scale, plain.std, atol=1e-7)
    assert scaled.information_gain == pytest.approx(plain.information_gain, rel=1e-3, abs=1e-3)


# ---------------------------------------------------------------------------------------------- extended precision


def extended_posterior(X, y, Z, lengthscale, signal, noise):
    """Mean and variance of the SE prior by the textbook formulas, in the longest floating point there is."""
    long = np.longdouble

    def kernel(A, B):
        squared = ((A[:, None].astype(long) - B[None].astype(long)) ** 2).sum(axis=-1)
        return long(signal) ** 2 * np.exp(-squared / (2 * long(lengthscale) ** 2))

    K = kernel(X, X) + np.eye(len(X)) * max(long(noise), NOISE_FLOOR * long(signal)) ** 2
    right = np.hstack([kernel(X, Z), y.astype(long)[:, None]])
    L, solved = np.zeros(K.shape, long), np.zeros(right.shape, long)
    for j in range(len(K)):
        L[j, j] = np.sqrt(K[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (K[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
        solved[j] = (right[j] - L[j, :j] @ solved[:j]) / L[j, j]
    V, whitened = solved[:, :-1], solved[:, -1]
    return whitened @ V, long(signal) ** 2 - (V**2).sum(axis=0)


@pytest.mark.parametrize("level", [1e-1, 1.01e-4, 0.99e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("where", ["grid", "points"])
@pytest.mark.parametrize("signal", [extra(1e-6), 1.0, extra(1e10)])
def test_three_hundred_rounds_do_not_drift(level, where, signal):
    rng = np.random.default_rng(5)
    grid = Grid.linspace([0, 0], [1, 1], 9)
    domain = grid if where == "grid" else Points(grid.points + rng.uniform(0, 0.02, grid.points.shape))
    chosen = np.concatenate([rng.integers(len(domain), size=150), rng.integers(4, size=150)])
    y = signal * (np.sin(5 * domain.points.sum(axis=1))[chosen] + level * rng.standard_normal(300))
    posterior = after(GP(signal**2 * SE(0.3), level * signal).track(domain.blocks), zip(chosen, y, strict=True))
    mean, variance = extended_posterior(domain.points[chosen], y, domain.points, 0.3, signal, level * signal)
    std = np.sqrt(variance)
    assert np.abs(posterior.mean - mean).max() < 1e-6 * signal
    assert np.abs(posterior.std - std).max() < 1e-8 * signal
    # The bounds move by a hundredth of their width at most.
    assert np.max(np.abs(posterior.mean - mean) / std) < 1e-2
    assert np.max(np.abs(posterior.std - std) / std) < 1e-2


@pytest.mark.parametrize("level", [0.1, 1e-4, 1e-8])
@pytest.mark.parametrize("gap", [1e-9, 1e-12, 1e-15])
def test_nearly_repeated_points_are_harmless(level, gap):
    base = np.linspace(0, 1, 10)
    X = np.concatenate([base, base + gap])[:, None]
    told = [(i, float(np.sin(3 * X[i, 0]) + (i >= 10) * 0.01)) for i in (*range(20), 0, 10, 0, 10)]
    gp = GP(SE(0.2), level)
    tracked = after(gp.track([X]), told)
    A, y = data(X, told)
    mean, variance = extended_posterior(A, y, X, 0.2, 1.0, level)
    assert np.abs(tracked.mean - mean).max() < digits(level)
    assert np.abs(tracked.std - np.sqrt(variance)).max() < 1e-7
    fresh_mean, fresh_variance = gp.condition(A, y)(X)
    assert np.abs(fresh_mean - mean).max() < digits(level)
    assert np.abs(np.sqrt(fresh_variance) - np.sqrt(variance)).max() < 1e-7


def test_a_grid_of_a_millionth_of_a_lengthscale_is_harmless():
    grid = Grid.linspace([0, 0], [1e-6, 1e-6], 8)
    rng = np.random.default_rng(2)
    chosen, y = rng.integers(64, size=60), rng.standard_normal(60)
    for level in (1e-3, 1.01e-4, 1e-8):
        posterior = after(GP(SE(1.0), level).track(grid.blocks), zip(chosen, y, strict=True))
        mean, variance = extended_posterior(grid.points[chosen], y, grid.points, 1.0, 1.0, level)
        assert np.abs(posterior.mean - mean).max() < 10 * digits(level)
        assert np.abs(posterior.std - np.sqrt(variance)).max() < 1e-7


def test_eight_hundred_values_where_rounding_would_make_variances_negative():
    """At points that are all but equal, 800 values leave a variance of 1e-15, which is what rounding adds up to."""
    posterior, rng = GP(Matern(2.5, 1.0), 1e-8).track([np.linspace(0, 1e-9, 30)[:, None]]), np.random.default_rng(0)
    for t in range(800):
        posterior = posterior.update(int(rng.integers(30)) if t % 3 else 0, 0.0)
        assert posterior.variance.min() >= 0
    assert posterior.std.max() < 1e-6


# ------------------------------------------------------------------------------------------- branching, immutability


def short_blocks(patch, height):
    """Blocks of so few rows that small tests cross their boundaries."""
    original = Rows.__init__

    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.height = height

    patch.setattr(Rows, "__init__", init)


TREES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 24), st.integers(-3, 3).map(float)), max_size=40)


@given(TREES, st.sampled_from([1, 2, 3, 7]), st.sampled_from([Matern(2.5, 0.3), SE(0.3)]), st.booleans())
def test_every_branch_stays_right(tree, height, kernel, gridded):
    blocks = Grid.linspace([0, 0], [1, 1], 5).blocks if gridded else BLOCKS["points"]
    gp = GP(kernel, 0.1)
    with pytest.MonkeyPatch.context() as patch:
        short_blocks(patch, height)
        nodes = [(gp.track(blocks), [])]
        for parent, index, y in tree:
            posterior, told = nodes[parent % len(nodes)]
            nodes.append((posterior.update(index, y), [*told, (index, y)]))
    points = cartesian(blocks)
    for posterior, told in nodes:
        alone = after(gp.track(blocks), told)  # in full blocks, which nobody shares
        np.testing.assert_allclose(posterior.mean, alone.mean, atol=1e-10)
        np.testing.assert_allclose(posterior.variance, alone.variance, atol=1e-10)
        # Mean and variance were written when the node was made; its next update reads the shared rows again.
        mean, variance = gp.condition(*data(points, [*told, (7, 2.0)]))(points)
        extended = posterior.update(7, 2.0)
        np.testing.assert_allclose(extended.mean, mean, atol=1e-8)
        np.testing.assert_allclose(extended.variance, variance, atol=1e-8)


def test_branches_of_a_large_domain_stay_right_across_blocks():
    n = 200_000
    X = np.linspace(0, 1, n)[:, None]
    gp, rng = GP(Matern(1.5, 0.2), 0.1), np.random.default_rng(3)
    posteriors = [gp.track([X])]
    height = posteriors[0]._factor.rows.height
    assert height < 50
    trunk = [(int(i), float(rng.normal())) for i in rng.integers(n, size=2 * height + 3)]
    for index, y in trunk:
        posteriors.append(posteriors[-1].update(index, y))
    sample = X[:: n // 200]
    for start in (0, 5, height - 1, height, height + 1, 2 * height, len(trunk)):
        branches = [[(k * n // 5 + 100 * j, float(k - j)) for j in range(3)] for k in (1, 2)]
        grown = [after(posteriors[start], branch) for branch in branches]
        for posterior, told in zip([posteriors[start], *grown], [[], *branches], strict=True):
            once_more = [*trunk[:start], *told, (1234, 1.0)]
            mean, variance = gp.condition(*data(X, once_more))(sample)
            extended = posterior.update(1234, 1.0)
            np.testing.assert_allclose(extended.mean[:: n // 200], mean, atol=1e-9)
            np.testing.assert_allclose(extended.variance[:: n // 200], variance, atol=1e-9)


def test_an_update_that_fails_spoils_nothing(monkeypatch):
    gp, told = GP(Matern(2.5, 0.3), 0.1), [(3, 1.0), (5, -1.0)]
    posterior = after(gp.track(BLOCKS["points"]), told)
    with monkeypatch.context() as patch:
        patch.setattr(stableopt.model.factors.blas, "dgemv", lambda *args, **kwargs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            posterior.update(7, 2.0)
    expected = after(gp.track(BLOCKS["points"]), [*told, (9, 3.0), (7, 2.0)])
    again = posterior.update(9, 3.0).update(7, 2.0)
    assert np.array_equal(again.mean, expected.mean) and np.array_equal(again.variance, expected.variance)


def arrays(value):
    return {name: item for name, item in vars(value).items() if isinstance(item, np.ndarray)}


@pytest.mark.parametrize("where", sorted(BLOCKS))
def test_arrays_of_a_tracked_posterior_are_read_only(where):
    prior = GP(SE(0.3), 0.1).track(BLOCKS[where])
    for posterior in (prior, prior.update(2, 1.0)):
        _ = posterior.std
        found = arrays(posterior) | dict(
            zip(("lcb", "ucb"), (posterior.bound(-2.0), posterior.bound(2.0)), strict=True)
        )
        assert {"mean", "variance", "std", "points"} <= set(found)
        assert [name for name, array in found.items() if array.flags.writeable] == []


def test_arrays_of_a_posterior_are_read_only():
    posterior = GP(SE(0.3), 0.1).condition([[0.1], [0.5]], [1.0, 2.0])
    found = [arrays(p) for p in (posterior, posterior.update([0.7], 1.0))]
    assert {"X", "y", "factor", "whitened"} <= set(found[0])
    assert [name for each in found for name, array in each.items() if array.flags.writeable] == []


def test_a_posterior_does_not_change_with_the_callers_arrays():
    X, y = np.array([[0.1], [0.5]]), np.array([1.0, 2.0])
    gp = GP(SE(0.3), 0.1)
    posterior = gp.condition(X, y)
    before = posterior([[0.2], [0.6]])
    X[0], y[0] = 0.9, 50.0
    assert np.array_equal(posterior([[0.2], [0.6]]), before)
    assert posterior.y[0] == 1.0


def test_tracked_candidates_do_not_change_with_the_callers_array():
    X = np.array([[0.1], [0.5], [0.9]])
    posterior = GP(SE(0.3), 0.1).track([X])
    X[2] = 0.1
    assert posterior.update(0, 1.0).mean[2] == pytest.approx(math.exp(-(0.8**2) / 0.18) / 1.01)


WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {p}": lambda value, p=p: pickle.loads(pickle.dumps(value, protocol=p)) for p in (2, 4, 5)},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kernel", [SE(0.3), Matern(2.5, 0.3)], ids=["product form", "stored rows"])
def test_a_copied_posterior_goes_on_identically(way, kernel, monkeypatch):
    short_blocks(monkeypatch, 3)
    told = [(3, 1.0), (5, -1.0), (3, 0.5), (8, 2.0), (9, 0.0)]
    original = after(GP(kernel, 0.1).track(BLOCKS["grid"]), told)
    older = original.update(1, 1.0)  # its row must not end up in the copy's next block
    duplicate = way(original)
    for posterior in (original, older, duplicate):
        assert isinstance(posterior._factor, ProductFactor if kernel == SE(0.3) else RowFactor)
    mine, other = after(original, told), after(duplicate, told)
    for name in ("mean", "variance", "information_gain", "observed", "std"):
        assert np.array_equal(getattr(mine, name), getattr(other, name)), name
    assert np.array_equal(mine.bound(2.0), other.bound(2.0))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copied_posterior_is_as_read_only_as_the_original(way):
    duplicate = way(GP(SE(0.3), 0.1).track(BLOCKS["points"]).update(3, 1.0))
    assert not duplicate.mean.flags.writeable and not duplicate.variance.flags.writeable


def test_a_pickled_posterior_of_any_points_goes_on_identically():
    posterior = GP(Matern(1.5, 0.3), 0.1, 2.0).condition([[0.1], [0.5]], [1.0, 2.0])
    Z = np.linspace(0, 1, 9)[:, None]
    mine, other = (p.update([0.3], 1.0)(Z) for p in (posterior, pickle.loads(pickle.dumps(posterior))))
    assert np.array_equal(mine, other)


# -------------------------------------------------------------------------------------------- bounds with gradients

SMOOTH = {
    "SE": SE([0.3, 0.8]),
    "Matern 5/2, scaled": 2.5 * Matern(2.5, [0.4, 0.6]),
    "Matern 3/2": Matern(1.5, 0.5),
    "SE + linear": SE(0.5) + 2.0 * Linear([[1.0, 0.2], [0.2, 1.0]]),
    "Matern × SE": 1.5 * (Matern(2.5, 0.4).on([0]) * SE(0.6).on([1])),
    "one column": Matern(2.5, 0.4).on([1]),
}


def some_posterior(kernel, noise=0.1, mean=0.5, t=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (t, 2))
    return GP(kernel, noise, mean).condition(X, np.sin(3 * X).sum(axis=1) + noise * rng.normal(size=t))


def differences(function, Z, step=1e-5):
    moves = step * np.eye(Z.shape[1])
    return np.column_stack([(function(Z + move) - function(Z - move)) / (2 * step) for move in moves])


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("c", [2.0, 0.0, -1.5])
@pytest.mark.parametrize("mean", [0.5, LinearMean([1.0, -2.0])], ids=["constant", "linear"])
def test_a_bound_is_mean_plus_c_std_and_its_gradient_that_of_finite_differences(name, c, mean):
    posterior, Z = some_posterior(SMOOTH[name], mean=mean), np.random.default_rng(1).uniform(-1, 1, (40, 2))
    bound = posterior.bound(c)
    expected_mean, variance = posterior(Z)
    np.testing.assert_allclose(bound(Z), expected_mean + c * np.sqrt(variance), rtol=1e-13, atol=1e-13)
    values, gradient = bound.with_gradient(Z)
    np.testing.assert_allclose(values, bound(Z), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(bound, Z), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_bound_is_scikit_learns(name):
    kernel, reference = KERNELS[name]
    posterior, Z = some_posterior(kernel, mean=0.0), np.random.default_rng(1).uniform(-1, 1, (30, 2))
    regressor = GaussianProcessRegressor(reference, alpha=0.01, optimizer=None).fit(posterior.X, posterior.y)
    mean, std = regressor.predict(Z, return_std=True)
    for c in (2.0, -2.0):
        np.testing.assert_allclose(posterior.bound(c)(Z), mean + c * std, atol=1e-9)
        np.testing.assert_allclose(posterior.bound(c).with_gradient(Z)[0], mean + c * std, atol=1e-9)


def test_a_large_batch_is_worked_on_in_parts_that_change_nothing(monkeypatch):
    posterior, Z = some_posterior(SMOOTH["SE"], t=30), np.random.default_rng(1).uniform(-1, 1, (400, 2))
    whole = posterior.bound(2.0).with_gradient(Z), posterior(Z)
    monkeypatch.setattr(stableopt.model.factors, "_CHUNK", 200)
    parts = posterior.bound(2.0).with_gradient(Z), posterior(Z)
    for mine, other in zip(itertools.chain(*whole), itertools.chain(*parts), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("repeats", [1, 20])
def test_gradients_are_finite_where_nothing_is_uncertain(noise, repeats):
    X = np.repeat(np.linspace(-1, 1, 7)[:, None], repeats, axis=0)
    posterior = GP(SE(0.5), noise).condition(X, np.sin(3 * X[:, 0]))
    for kernel in (SE(0.5), Matern(2.5, 0.5), Linear([[1.0]])):
        bound = GP(kernel, noise).condition(X, 0.5 * X[:, 0]).bound(2.0)
        values, gradient = bound.with_gradient(np.vstack([X, [[0.0]]]))
        assert np.all(np.isfinite(values)) and np.all(np.isfinite(gradient))
        assert np.abs(gradient).max() < 10
    assert np.abs(posterior.bound(0.0).with_gradient(X)[1][:, 0] - 3 * np.cos(3 * X[:, 0])).max() < 1


def test_a_bound_before_any_observation_is_that_of_the_prior():
    bound = GP(4.0 * SE(0.5), 0.1, 1.0).condition(np.zeros((0, 2)), []).bound(2.0)
    values, gradient = bound.with_gradient(np.ones((3, 2)))
    assert values.tolist() == bound(np.ones((3, 2))).tolist() == [5.0] * 3 and not gradient.any()


@pytest.mark.parametrize("kernel", [SE, lambda scale: Matern(1.5, scale), lambda scale: Matern(2.5, scale)])
@pytest.mark.parametrize("scale", [1e-3, 5e-155, 1e-160, 1e-300])
def test_a_bound_is_that_of_the_prior_many_lengthscales_from_the_data(kernel, scale):
    bound = GP(2.0 * kernel(scale), 0.1, 1.0).condition([[0.0], [1.0]], [1.0, 2.0]).bound(2.0)
    values, gradient = bound.with_gradient([[0.4]])
    assert values.tolist() == bound([[0.4]]).tolist() == [1.0 + 2.0 * math.sqrt(2.0)] and abs(gradient) < 1e-100


# -------------------------------------------------------------------------------- noise per observation, many at once


@given(cases(), st.data())
@settings(max_examples=60)
def test_noise_of_each_observation_is_its_own_in_every_way_to_a_posterior(case, draws):
    (kernel, reference), blocks, _, told = case
    noise = np.array(draws.draw(st.lists(st.sampled_from([1.0, 0.1, 0.03]), min_size=len(told), max_size=len(told))))
    gp, points = GP(kernel, 0.5), cartesian(blocks)
    X, y = data(points, told)
    regressor = GaussianProcessRegressor(reference, alpha=noise**2, optimizer=None).fit(X, y)
    mean, covariance = regressor.predict(points, return_cov=True)
    batch = gp.condition(X, y, noise)
    one_by_one, tracked = gp.condition(X[:1], y[:1], noise[:1]), gp.track(blocks)
    for (index, value), sigma in zip(told, noise.tolist(), strict=True):
        tracked = tracked.update(index, value, sigma)
    for x, value, sigma in zip(X[1:], y[1:], noise[1:], strict=True):
        one_by_one = one_by_one.update(x, value, sigma)
    started = gp.track(blocks, [index for index, _ in told], y, noise)
    gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + kernel(X, X) / noise[:, None] ** 2)[1]
    for found in (
        batch(points),
        one_by_one(points),
        (tracked.mean, tracked.variance),
        (started.mean, started.variance),
    ):
        np.testing.assert_allclose(found[0], mean, atol=1e-8)
        np.testing.assert_allclose(found[1], np.diag(covariance), atol=1e-8)
    for posterior in (batch, one_by_one, tracked, started):
        assert posterior.information_gain == pytest.approx(gain, rel=1e-8, abs=1e-9)


@given(cases(kernels=OURS), st.sampled_from([1, 3, 7]), st.integers(0, 15))
def test_a_start_with_many_observations_goes_on_as_if_told_one_by_one(case, height, first):
    kernel, blocks, noise, told = case
    gp, now, later = GP(kernel, noise, 0.5), told[:first], told[first:]
    with pytest.MonkeyPatch.context() as patch:
        short_blocks(patch, height)
        slow = after(gp.track(blocks), now)
        quick = gp.track(blocks, [index for index, _ in now], [y for _, y in now])
        for mine, other in ((quick, slow), (after(quick, later), after(slow, later)), (quick, slow)):
            assert type(mine._factor) is type(other._factor) and mine.observed == other.observed
            np.testing.assert_allclose(mine.mean, other.mean, atol=1e-8)
            np.testing.assert_allclose(mine.variance, other.variance, atol=1e-9)
            assert mine.information_gain == pytest.approx(other.information_gain, rel=1e-9, abs=1e-9)


def test_an_observation_with_all_but_no_noise_leaves_the_product_form_and_keeps_its_digits():
    gp, blocks = GP(SE(0.3), 0.1), BLOCKS["grid"]
    told = [(3, 1.0), (5, -1.0), (8, 2.0)]
    tracked = after(gp.track(blocks), told).update(4, 0.5, 1e-6).update(9, 1.0)
    X, y = data(tracked.points, [*told, (4, 0.5), (9, 1.0)])
    mean, variance = gp.condition(X, y, [0.1, 0.1, 0.1, 1e-6, 0.1])(tracked.points)
    assert isinstance(after(gp.track(blocks), told)._factor, ProductFactor)
    assert isinstance(tracked._factor, RowFactor)
    np.testing.assert_allclose(tracked.mean, mean, atol=1e-9)
    np.testing.assert_allclose(tracked.variance, variance, atol=1e-12)
    assert tracked.mean[4] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda gp, p: gp.condition([[0.1], [0.2]], [1, 2], [0.1]), r"one standard deviation or 2 of them, got shape"),
        (lambda gp, p: gp.condition([[0.1], [0.2]], [1, 2], [0.1, 0.0]), "above 0, got"),
        (lambda gp, p: gp.condition([[0.1]], [1], math.nan), "above 0, got nan"),
        (lambda gp, p: p.update(0, 1.0, -0.1), "expected noise standard deviations above 0, got -0.1"),
        (lambda gp, p: p.update(0, 1.0, [0.1]), "got shape"),
        (lambda gp, p: gp.condition([[0.1]], [1]).update([0.2], 1.0, "big"), "expected noise as numbers, got 'big'"),
        (lambda gp, p: gp.track([p.points], [0, 1], [1.0]), "expected 2 finite values y, one per observed candidate"),
        (lambda gp, p: gp.track([p.points], [0], [math.inf]), "expected 1 finite values y"),
    ],
)
def test_bad_noise_and_values_are_refused(call, message):
    gp = GP(SE(0.3), 0.1)
    with pytest.raises(ValueError, match=message):
        call(gp, gp.track([np.array([[0.1], [0.2], [0.7]])]))


# ------------------------------------------------------------------------------------------------------ small promises


@given(st.floats(1e-3, 100), observations(25, most=5))
@settings(max_examples=30)
def test_bounds_are_mean_and_root_beta_standard_deviations(beta, told):
    posterior = after(GP(SE(0.3), 0.1).track(BLOCKS["points"]), told)
    lcb, ucb = posterior.bound(-math.sqrt(beta)), posterior.bound(math.sqrt(beta))
    np.testing.assert_allclose((ucb + lcb) / 2, posterior.mean, atol=1e-12)
    np.testing.assert_allclose((ucb - lcb) / 2, math.sqrt(beta) * np.sqrt(posterior.variance), atol=1e-12)
    width = math.sqrt(beta) * posterior.std
    for sign, bound in ((-1, lcb), (1, ucb)):
        assert np.array_equal(bound, posterior.mean + sign * width)
    assert not posterior.bound(0.0).flags.writeable and posterior.t == len(told)
    for chosen in ([3, 1, 3], np.array([0, 24]), []):
        mean, variance = posterior.moments(chosen)
        assert mean.tolist() == [posterior.mean[i] for i in chosen]
        assert variance.tolist() == [posterior.variance[i] for i in chosen]


def test_noise_is_raised_to_a_millionth_of_the_prior_standard_deviation_and_no_further():
    assert GP(SE(0.3), 1e-9).noise_variance(np.array([1.0, 1e4])).tolist() == pytest.approx([1e-12, 1e-8])
    assert GP(SE(0.3), 1e-3).noise_variance(np.array([1.0, 1e4])).tolist() == pytest.approx([1e-6, 1e-6])


def test_no_noise_to_speak_of_is_harmless_even_where_the_prior_variance_is_zero():
    posterior = GP(Linear([[1.0]]), 1e-200).track([np.array([[0.0], [1.0]])])
    posterior = posterior.update(0, 0.0).update(1, 2.0)
    assert posterior.mean.tolist() == pytest.approx([0.0, 2.0])
    assert np.all(np.isfinite(posterior.variance)) and math.isfinite(posterior.information_gain)


def test_golden_numbers_of_one_observation():
    # μ = y/(1 + σ²)·k and σ² = 1 − k²/(1 + σ²) with k = exp(−d²/2l²); here y = 2, σ = 1/2, l = 1, d = 0, 1.
    posterior = GP(SE(1.0), 0.5).track([np.array([[0.0], [1.0]])]).update(0, 2.0)
    assert posterior.mean.tolist() == pytest.approx([1.6, 1.6 * math.exp(-0.5)], rel=1e-14)
    assert posterior.variance.tolist() == pytest.approx([0.2, 1 - 0.8 * math.exp(-1)], rel=1e-14)
    assert posterior.information_gain == pytest.approx(math.log(5) / 2, rel=1e-14)


def test_the_last_block_varies_fastest():
    blocks = [np.array([[0.0], [1.0]]), np.array([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])]
    expected = [[a, *b] for a, b in itertools.product([0.0, 1.0], blocks[1].tolist())]
    assert GP(SE(1.0), 0.1).track(blocks).points.tolist() == expected


@pytest.mark.parametrize(
    "wrong", ["x", {}, [[1, 2], [3]], 10**400, 1j, b"a", {1, 2}, object()], ids=lambda wrong: type(wrong).__name__
)
def test_points_and_values_that_are_no_numbers_are_refused_in_words(wrong):
    for points, values in ((wrong, [1.0]), ([[0.1]], wrong)):
        with pytest.raises(ValueError, match=r"expected (points|values|X) "):
            GP(SE(0.3), 0.1).condition(points, values)
