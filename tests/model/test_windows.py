"""Promises of posteriors on large grids: windows of one table give what stored rows and scikit-learn give."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs

from stableopt import GP, SE, Categorical, Linear, Matern
from stableopt.base.arrays import cartesian
from stableopt.model import windows
from stableopt.model.factors import ProductFactor, RowFactor
from stableopt.model.windows import WindowFactor

SHAPES = [(13,), (1, 9), (9, 1), (11, 7), (4, 17), (5, 4, 6), (3, 4, 2, 5)]
KERNELS = {
    "matern": 1.7 * Matern(2.5, 0.3),
    "one lengthscale each": Matern(1.5, [0.3, 0.7]),
    "sum": 0.5 * SE([0.2, 0.4]) + Matern(0.5, 1.0),
    "product": Matern(2.5, 0.3) * SE(0.2).on([1]),
    "category": Matern(2.5, 0.4) * Categorical(0.3).on([0]),
}


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(windows, "SMALLEST", 0)


def grid(shape, low=-1.0, high=2.0):
    return [np.linspace(low, high, n)[:, None] for n in shape]


def data(shape, t, seed=0):
    rng = np.random.default_rng(seed)
    observed = rng.integers(np.prod(shape), size=t)
    observed[t // 2 :: 3] = observed[0]  # one point again and again
    return observed.tolist(), rng.normal(size=t)


def told(posterior, observed, y, noise=None):
    for i, value in zip(observed, y, strict=True):
        posterior = posterior.update(i, value, noise)
    return posterior


def stored(gp, blocks, *args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "SMALLEST", 2**60)
        posterior = gp.track(blocks, *args)
    assert isinstance(posterior._factor, RowFactor)
    return posterior


def assert_same(one, other, tolerance=1e-11):
    scale = np.sqrt(one.prior_variance.max())
    np.testing.assert_allclose(one.mean, other.mean, atol=tolerance * scale)
    np.testing.assert_allclose(one.variance, other.variance, atol=tolerance * scale**2)
    assert one.information_gain == pytest.approx(other.information_gain, rel=1e-10)
    np.testing.assert_allclose(one.whitened, other.whitened, atol=1e-8)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("first", [0, 20])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_windows_and_stored_rows_agree_in_every_dimension(shape, first):
    gp, blocks, (observed, y) = GP(1.7 * Matern(2.5, 0.8), noise=0.1, mean=0.3), grid(shape), data(shape, 40)
    rows = told(stored(gp, blocks, observed[:first], y[:first]), observed[first:], y[first:])
    summed = gp.track(blocks, observed[:first], y[:first])
    assert isinstance(summed._factor, WindowFactor)
    assert_same(rows, told(summed, observed[first:], y[first:]))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", KERNELS)
def test_windows_and_stored_rows_agree_for_every_kernel(name, monkeypatch):
    monkeypatch.setattr(windows, "_BLOCK", 8)  # several blocks, the last one shorter
    monkeypatch.setattr(windows, "_TOGETHER", 3)
    gp, blocks, (observed, y) = GP(KERNELS[name], noise=0.1), grid((11, 7)), data((11, 7), 25)
    summed = gp.track(blocks)
    assert isinstance(summed._factor, WindowFactor)
    assert_same(told(stored(gp, blocks), observed, y), told(summed, observed, y))


@pytest.mark.usefixtures("always")
def test_two_hundred_updates_with_little_noise_are_scikit_learns():
    shape, noise = (30, 40), 1e-3
    blocks, (observed, y) = grid(shape), data(shape, 200)
    y = np.sin(3 * cartesian(blocks)[observed].sum(axis=1)) + noise * y
    summed = told(GP(Matern(2.5, 0.8), noise).track(blocks), observed, y)
    reference = GaussianProcessRegressor(theirs.Matern(0.8, nu=2.5), alpha=noise**2, optimizer=None)
    reference.fit(cartesian(blocks)[observed], y)
    mean, std = reference.predict(cartesian(blocks), return_std=True)
    np.testing.assert_allclose(summed.mean, mean, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(summed.variance), std, atol=1e-8)


@pytest.mark.usefixtures("always")
def test_an_observation_with_all_but_no_noise_goes_on_with_stored_rows():
    gp, blocks, (observed, y) = GP(Matern(2.5, 0.8), noise=0.1), grid((11, 7)), data((11, 7), 12)
    before = told(gp.track(blocks), observed, y)
    after = told(before, [5, 5], [0.3, 0.3 + 1e-6], noise=1e-6)
    assert isinstance(before._factor, WindowFactor) and isinstance(after._factor, RowFactor)
    rows = told(told(stored(gp, blocks), observed, y), [5, 5], [0.3, 0.3 + 1e-6], noise=1e-6)
    np.testing.assert_allclose(rows.mean, after.mean, atol=1e-9)
    np.testing.assert_allclose(rows.variance, after.variance, atol=1e-9)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("way", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=["copied", "pickled"])
def test_a_copy_and_a_branch_go_on_by_themselves(way):
    gp, blocks, (observed, y) = GP(Matern(2.5, 0.8), noise=0.1), grid((11, 7)), data((11, 7), 12)
    half = told(gp.track(blocks), observed[:6], y[:6])
    told(half, observed[:3], y[:3])
    assert_same(told(gp.track(blocks), observed, y), told(way(half), observed[6:], y[6:]), 1e-15)


@pytest.mark.parametrize(
    "kernel, blocks, chosen",
    [
        (Matern(2.5, 0.3), grid((11, 7)), True),
        (SE(0.3), grid((11,)), True),
        (Linear(np.eye(2).tolist()), grid((11, 7)), False),
        (Matern(2.5, 0.3) + Linear(np.eye(2).tolist()), grid((11, 7)), False),
        (Matern(2.5, 0.3), [np.array([[0.0], [1.0], [2.0 + 1e-7]])], False),  # a step that differs a little
        (Matern(2.5, 0.3), grid((11, 7), 1e9, 1e9 + 1), False),  # few digits are left of the steps
        (Matern(2.5, 0.3), [np.random.default_rng(0).random((9, 2))], False),
        (Matern(2.5, 0.3), grid((2, 2, 2, 2, 2)), False),  # the table would be 16 times as large as the grid
    ],
)
def test_windows_are_used_where_the_kernel_is_a_table_of_steps(kernel, blocks, chosen):
    assert (WindowFactor.of(kernel, blocks) is not None) is chosen


def test_small_grids_and_products_keep_what_is_faster(monkeypatch):
    assert isinstance(GP(Matern(2.5, 0.3), 0.1).track(grid((11, 7)))._factor, RowFactor)
    monkeypatch.setattr(windows, "SMALLEST", 0)
    assert isinstance(GP(SE(0.3), 0.1).track(grid((11, 7)))._factor, ProductFactor)
    assert isinstance(GP(Matern(2.5, 0.3), 1e-5).track(grid((11, 7)))._factor, RowFactor)


@pytest.mark.parametrize("name", KERNELS)
def test_a_stationary_kernel_depends_on_distances_along_the_columns_only(name):
    X, Z = np.random.default_rng(0).integers(0, 3, (2, 20, 2)) / 2
    shift, flip = np.array([5.0, -3.0]), np.array([-1.0, 1.0])
    kernel = KERNELS[name]
    assert kernel.is_stationary
    np.testing.assert_allclose(kernel(X, Z), kernel(flip * X + shift, flip * Z + shift), rtol=1e-12)
