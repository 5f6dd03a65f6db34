"""Bounds that are written out for common kernels are those of the general way."""

import itertools

import numpy as np
import pytest

from stableopt import GP, SE, Categorical, Linear, Matern
from stableopt.model.beliefs import Mixture
from stableopt.model.gp import Bound

CATEGORIES = [1, 4]
KERNELS = {
    "floats": 2.0 * Matern(2.5, [0.4, 0.9, 0.6, 1.3, 0.8]),
    "one category": 1.7 * (Matern(2.5, [0.4, 0.6, 1.3, 0.8]).on([0, 2, 3, 4]) * Categorical(0.3).on([1])),
    "two categories": Categorical(0.6).on([4]) * (3.0 * (SE([0.5, 0.7, 0.9]).on([3, 0, 2]) * Categorical(0.2).on([1]))),
    "one correlation": Categorical(0.6).on([4, 1]) * Matern(1.5, 0.7).on([0, 2]),
    "nested columns": (SE(0.5).on([1, 0]) * Categorical(0.4).on([2])).on([0, 3, 1]),
}


class _General:
    """A posterior that hides that its kernel is a common one."""

    stationary = None

    def __init__(self, posterior):
        self.t, self.with_pullback, self.moments = posterior.t, posterior.with_pullback, posterior

    def __call__(self, Z):
        return self.moments(Z)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((n, 5))
    Z[:, CATEGORIES] = rng.integers(0, 3, (n, 2))
    return Z


def posterior(kernel):
    X = rows(30, 0)
    return GP(kernel, 0.05, 0.3).condition(X, np.random.default_rng(1).standard_normal(30))


@pytest.mark.parametrize(("name", "c"), list(itertools.product(KERNELS, [2.0, 0.0, -1.5])))
def test_a_bound_that_is_written_out_is_the_general_one(name, c):
    known, Z = posterior(KERNELS[name]), np.vstack([rows(40, 2), rows(30, 0)[:5]])
    assert known.stationary is not None
    written, general = known.bound(c), Bound(_General(known), c)
    np.testing.assert_allclose(written(Z), general(Z), rtol=1e-9, atol=1e-11)
    for mine, other in zip(written.with_gradient(Z), general.with_gradient(Z), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_its_gradient_is_that_of_finite_differences(name):
    bound, Z = posterior(KERNELS[name]).bound(-1.5), rows(20, 3)
    values, gradient = bound.with_gradient(Z)
    np.testing.assert_allclose(values, bound(Z), rtol=1e-11)
    moves = np.where(np.isin(np.arange(5), CATEGORIES if name != "floats" else []), 0.0, 1e-5) * np.eye(5)
    moves = [move for move in moves if move.any()]
    columns = [int(np.argmax(move)) for move in moves]
    expected = np.column_stack([(bound(Z + move) - bound(Z - move)) / 2e-5 for move in moves])
    np.testing.assert_allclose(gradient[:, columns], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [
        SE(0.5).on([0, 2, 3]) + Categorical(0.3).on([1]),
        SE(0.5).on([0, 2]) * SE(0.4).on([3]),
        Categorical(0.3).on([1, 4]),
        Linear(np.eye(3).tolist()).on([0, 2, 3]) * Categorical(0.3).on([1]),
        Matern(0.5, 0.5),
    ],
)
def test_any_other_kernel_takes_the_general_way(kernel):
    assert posterior(kernel).stationary is None


@pytest.mark.parametrize("kernel", [lambda scale: Matern(2.5, scale), lambda scale: Matern(1.5, scale), SE])
@pytest.mark.parametrize("other", [[0.6, 0.8], [0.5, 0.9]])  # twice the lengthscales, and others
@pytest.mark.parametrize("t", [1, 2, 30, 130])
def test_a_mixture_that_is_written_out_is_the_general_one(kernel, other, t):
    rng = np.random.default_rng(t)
    X, y = rng.random((t, 2)), rng.standard_normal(t)
    parts = tuple(GP(kernel(scale), 0.1).condition(X, y) for scale in ([0.3, 0.4], other))
    mixture = Mixture(parts, (0.3, 0.7))
    assert mixture.stationary is not None
    written, general = mixture.bound(1.5), Bound(_General(mixture), 1.5)
    for n in (1, 3, 300, 3000):
        Z = rng.random((n, 2))
        (values, gradient), (expected, slope) = written.with_gradient(Z), general.with_gradient(Z)
        np.testing.assert_allclose(written(Z), expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
