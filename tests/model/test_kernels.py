"""What kernels promise: the values of scikit-learn, exact gradients, an algebra that factors, and errors that help."""

from __future__ import annotations

import inspect
import math
import os
import pickle
import subprocess
import sys
import warnings
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk

from stableopt.base.values import from_dict
from stableopt.model import algebra, kernels
from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled, Sum
from stableopt.model.kernels import SE, Categorical, Linear, Matern

COVARIANCE = ((2.0, 0.3, 0.0), (0.3, 1.0, -0.2), (0.0, -0.2, 0.5))
MATERNS = [Matern(nu, scale) for nu in (0.5, 0.7, 1.0, 1.5, 2.5, 3.3, 19.9, 20.5, 60) for scale in (0.9, (0.5, 1.2, 2))]
COMPOSITES = [
    2.0 * SE(0.8),
    SE((0.5, 0.7)).on([2, 0]) + Linear(COVARIANCE),
    3.0 * (Matern(2.5, 0.7).on([1]) * Categorical(0.3).on([2])),
    (SE(0.6).on([0, 1]) + 0.5 * Matern(1.5).on([1])) * (Linear(COVARIANCE) + Categorical(0.6).on([2])),
    (2.0 * Matern(0.8, (1.0, 2.0)).on([1, 0])).on([2, 0]) * (SE() * Categorical()),
]
KERNELS = [SE(0.7), SE((0.5, 1.2, 2.0)), *MATERNS, Linear(COVARIANCE), Categorical(0.3), *COMPOSITES]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: repr(k).replace("lengthscale=", ""))

seeds = st.integers(0, 2**32 - 1)
scales = st.floats(0.3, 3.0)
some_columns = st.permutations(range(3)).flatmap(lambda c: st.integers(1, 3).map(lambda size: c[:size]))
simple = st.one_of(
    st.builds(SE, st.one_of(scales, st.lists(scales, min_size=3, max_size=3))),
    st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]) | st.floats(0.3, 40.0), scales),
    st.builds(Categorical, st.floats(0.05, 0.95)),
    st.just(Linear(COVARIANCE)),
    st.builds(OnColumns, st.one_of(st.builds(SE, scales), st.builds(Matern, st.just(2.5), scales)), some_columns),
)
any_kernel = st.recursive(
    simple,
    lambda k: st.one_of(st.builds(Sum, k, k), st.builds(Product, k, k), st.builds(Scaled, k, scales)),
    max_leaves=4,
)


def points(n: int, seed: int = 0) -> np.ndarray:
    """Two continuous columns and one of three categories."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n)])


def pulled(wrt: str, kernel: Kernel, X: np.ndarray, Z: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
    """The sum of the derivatives of a matrix, or of a diagonal, with weights."""
    return kernel.with_pullback(X, Z)[1](weights, wrt)


def central_difference(function, x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of a scalar function of an array, entry by entry."""
    gradient = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        move = np.zeros(x.shape)
        move[i] = step
        gradient[i] = (function(x + move) - function(x - move)) / (2 * step)
    return gradient


# --- values ---


@pytest.mark.parametrize("nu", [0.5, 0.7, 1.5, 2.5, 3.3, 12.2, 30.0, 90.0])
@pytest.mark.parametrize("scale", [0.8, (0.5, 1.2, 2.0)])
def test_matern_equals_scikit_learn(nu, scale):
    X, Z = points(20), points(15, seed=1)
    np.testing.assert_allclose(Matern(nu, scale)(X, Z), sk.Matern(scale, nu=nu)(X, Z), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("scale", [0.8, (0.5, 1.2, 2.0)])
def test_se_equals_scikit_learn(scale):
    X, Z = points(20), points(15, seed=1)
    np.testing.assert_allclose(SE(scale)(X, Z), sk.RBF(scale)(X, Z), rtol=1e-13)


def test_linear_is_the_bilinear_form_and_scikit_learns_dot_product():
    X, Z = points(20), points(15, seed=1)
    np.testing.assert_allclose(Linear(np.eye(3))(X, Z), sk.DotProduct(sigma_0=0)(X, Z), atol=1e-13)
    np.testing.assert_allclose(Linear(COVARIANCE)(X, Z)[3, 4], X[3] @ np.array(COVARIANCE) @ Z[4], atol=1e-13)


def test_categorical_multiplies_one_correlation_per_differing_column():
    assert Categorical(0.3)(np.array([[0.0, 1, 2]]), np.array([[0.0, 1, 2], [0, 1, 5], [7, 0, 0]])).tolist() == [
        [1.0, 0.3, 0.3**3]
    ]


def test_sums_products_and_variances_equal_scikit_learn():
    X, Z = points(20), points(15, seed=1)
    ours = 2.0 * (SE(0.7) * Matern(2.5, (0.5, 1.0, 2.0))) + np.float64(0.3) * Matern(1.5)
    theirs = 2.0 * (sk.RBF(0.7) * sk.Matern((0.5, 1.0, 2.0), nu=2.5)) + 0.3 * sk.Matern(nu=1.5)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12)


def test_a_kernel_on_columns_ignores_the_others():
    X, Z = points(20), points(15, seed=1)
    for columns in ([0], [2, 0], [1, 2], [2, 1, 0]):
        inner = SE(np.arange(1.0, 1 + len(columns)))
        np.testing.assert_allclose(inner.on(columns)(X, Z), inner(X[:, columns], Z[:, columns]), rtol=1e-14)


def test_matern_one_at_s_one_is_the_tabulated_bessel_function():
    # Abramowitz and Stegun, Table 9.8: e^x K_1(x) = 1.63615 34863 at x = 1; here ν = 1 and s = √2 r = 1
    value = Matern(1.0)(np.zeros((1, 1)), np.array([[math.sqrt(0.5)]])).item()
    assert value == pytest.approx(1.6361534863 / math.e, rel=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 10, 19, 20, 60, 100, 300])
def test_matern_of_half_integers_equals_the_exact_polynomial(order):
    # Rasmussen and Williams, eq. 4.16, in 80 digits: ν = order + 1/2
    nu, distances = order + 0.5, [1e-12, 1e-5, 0.1, 0.8, 2.0, 4.0, 9.0]

    def exact(r: float) -> float:
        with localcontext() as context:
            context.prec = 80
            s = (2 * Decimal(nu)).sqrt() * Decimal(r)
            terms = (
                (2 * s) ** (order - i) * math.factorial(order + i) / (math.factorial(i) * math.factorial(order - i))
                for i in range(order + 1)
            )
            return float((-s).exp() * math.factorial(order) / math.factorial(2 * order) * sum(terms))

    ours = Matern(nu)(np.array([distances]).T, np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(ours, [exact(r) for r in distances], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("nu", [0.5, 1.0, 1.5, 2.5, 20.0, 21.0])
@pytest.mark.parametrize("side", [-1e-9, 1e-9])
def test_closed_forms_bessel_form_and_mixture_meet_in_nu(nu, side):
    X, Z, W = points(20), points(15, seed=1), np.random.default_rng(2).normal(size=(20, 15))
    here, beside = Matern(nu, (0.5, 1.2, 2.0)), Matern(nu + side, (0.5, 1.2, 2.0))
    np.testing.assert_allclose(here(X, Z), beside(X, Z), atol=1e-8)
    np.testing.assert_allclose(pulled("params", here, X, Z, W), pulled("params", beside, X, Z, W), atol=1e-6)
    np.testing.assert_allclose(pulled("inputs", here, X, Z, W), pulled("inputs", beside, X, Z, W), atol=1e-6)


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.5, 0.7, 1, 1.5, 2, 2.5, 3.3, 19.9, 20.1, 60, 60.5, 100, 171, 1e4, 1e12])
def test_matern_is_finite_decreasing_and_silent_at_all_distances(nu):
    Z = np.array([[0.0, 1e-160, 1e-100, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e8, 1e100]]).T
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = Matern(nu)(np.zeros((2, 1)), Z)[0]
        weights = np.ones((1, len(Z) - 1))
        slopes = [pulled("params", Matern(nu, s), np.zeros((1, 1)), Z[:-1], weights) for s in (1.0, [1.0])]
        slopes += [
            pulled("inputs", Matern(nu), np.zeros((1, 1)), Z[[i]], np.ones((1, 1))) for i in range(3, len(Z) - 1)
        ]
    assert values[0] == pytest.approx(1.0, abs=1e-15) and values[-1] == 0.0
    assert np.all(np.diff(values) <= 1e-14) and np.all(values >= 0)
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_large_nu_tends_to_se():
    X = points(20)
    np.testing.assert_allclose(Matern(1e12, 0.8)(X, X), SE(0.8)(X, X), atol=1e-11)


def test_small_distances_far_from_the_origin_keep_their_digits():
    X, Z = np.array([[1e6, 1e6]]), np.array([[1e6 + 1e-3, 1e6], [1e6, 1e6]])
    delta = Z[0, 0] - X[0, 0]
    np.testing.assert_allclose(1 - Matern(0.5)(X, Z), [[-math.expm1(-delta), 0.0]], rtol=1e-6)
    assert SE(1e-3)(X, Z)[0, 0] == pytest.approx(math.exp(-0.5 * (delta / 1e-3) ** 2), rel=1e-6)


@given(kernel=any_kernel, seed=seeds)
def test_one_row_blocks_and_transposes_agree(kernel, seed):
    X, Z = points(40, seed), points(7, seed + 1)
    matrix = kernel(X, Z)
    by_column = np.hstack([kernel(X, z[None]) for z in Z])
    np.testing.assert_allclose(by_column, matrix, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(Z, X).T, matrix, rtol=1e-12, atol=1e-13)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "_BLOCK", 20)
        np.testing.assert_allclose(kernel(X, Z), matrix, rtol=1e-12, atol=1e-13)


@given(kernel=any_kernel, seed=seeds)
def test_matrices_are_symmetric_and_positive_semi_definite_with_the_diagonal_of_diag(kernel, seed):
    X = points(12, seed)
    X[3] = X[7]
    matrix = kernel(X, X)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diag(matrix), rtol=1e-12, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() >= -1e-12 * np.trace(matrix)


@each_kernel
def test_no_points_give_empty_matrices_and_zero_gradients(kernel):
    X, none = points(4), np.zeros((0, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(X, none).shape == (4, 0) and kernel(none, X).shape == (0, 4) and kernel.diag(none).shape == (0,)
        assert np.array_equal(pulled("inputs", kernel, X, none, np.zeros((4, 0))), np.zeros((4, 3)))
        assert np.array_equal(pulled("params", kernel, X, none, np.zeros((4, 0))), np.zeros(len(kernel.params)))


@each_kernel
def test_arguments_are_not_changed(kernel):
    X, Z, W = points(6), points(5, seed=1), np.ones((6, 5))
    copies = X.copy(), Z.copy(), W.copy()
    for call in (
        kernel,
        lambda X, Z: pulled("params", kernel, X, Z, W),
        lambda X, Z: pulled("inputs", kernel, X, Z, W),
    ):
        call(X, Z)
    assert all(map(np.array_equal, (X, Z, W), copies))


# --- gradients ---


def assert_gradients_equal_finite_differences(kernel: Kernel, seed: int) -> None:
    X, Z, rng = points(6, seed), points(5, seed + 1), np.random.default_rng(seed)
    W, w = rng.normal(size=(6, 5)), rng.normal(size=6)
    close = {"rtol": 1e-5, "atol": 1e-5 * (1 + np.abs(kernel(X, Z)).max())}

    by_params = central_difference(lambda v: np.sum(W * kernel.with_params(v)(X, Z)), kernel.params)
    np.testing.assert_allclose(pulled("params", kernel, X, Z, W), by_params, **close)
    by_params = central_difference(lambda v: w @ kernel.with_params(v).diag(X), kernel.params)
    np.testing.assert_allclose(pulled("params", kernel, X, None, w), by_params, **close)

    # categories cannot move a little: the last column is compared only where no kernel reads it as a category
    moving = slice(0, 2) if "Categorical" in repr(kernel) else slice(0, 3)
    by_inputs = central_difference(lambda P: np.sum(W * kernel(P, Z)), X)
    np.testing.assert_allclose(pulled("inputs", kernel, X, Z, W)[:, moving], by_inputs[:, moving], **close)
    by_inputs = central_difference(lambda P: w @ kernel.diag(P), X)
    np.testing.assert_allclose(pulled("inputs", kernel, X, None, w), by_inputs, **close)


@each_kernel
def test_gradients_equal_finite_differences(kernel):
    if kernel == Categorical(0.3):  # on all columns: only its hyperparameter moves
        X, Z, W = points(6), points(5, seed=1), np.random.default_rng(2).normal(size=(6, 5))
        X[:3] = Z[:3]
        by_params = central_difference(lambda v: np.sum(W * kernel.with_params(v)(X, Z)), kernel.params)
        np.testing.assert_allclose(pulled("params", kernel, X, Z, W), by_params, rtol=1e-8)
        assert not pulled("inputs", kernel, X, Z, W).any() and not pulled("inputs", kernel, X, None, W[:, 0]).any()
    else:
        assert_gradients_equal_finite_differences(kernel, seed=0)


@given(kernel=any_kernel, seed=st.integers(0, 50))
def test_gradients_of_composites_equal_finite_differences(kernel, seed):
    assert_gradients_equal_finite_differences(kernel, seed)


@each_kernel
def test_gradients_are_finite_where_points_coincide(kernel):
    X, W = points(6), np.ones((6, 6))
    assert np.isfinite(pulled("params", kernel, X, X, W)).all() and np.isfinite(pulled("inputs", kernel, X, X, W)).all()


def test_gradients_keep_their_digits_far_from_the_origin():
    X, Z, W = points(6), points(5, seed=1), np.random.default_rng(2).normal(size=(6, 5))
    kernel, far = SE((0.5, 1.2, 2.0)), 2.0**20
    shift = np.round(far / 2**-20) * 2**-20
    X, Z = np.round(X * 2**20) / 2**20, np.round(Z * 2**20) / 2**20  # so that the shift is exact
    np.testing.assert_allclose(
        pulled("params", kernel, X + shift, Z + shift, W), pulled("params", kernel, X, Z, W), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        pulled("inputs", kernel, X + shift, Z + shift, W), pulled("inputs", kernel, X, Z, W), rtol=1e-8, atol=1e-8
    )


# --- hyperparameters and values as data ---


def test_hyperparameters_follow_the_fields_and_are_named_by_their_path():
    kernel = 2.0 * (SE((0.5, 3.0)).on([0, 1]) + Categorical(0.25).on([2])) * Linear(COVARIANCE)
    assert kernel.param_names == (
        "left.kernel.left.kernel.log_lengthscale[0]",
        "left.kernel.left.kernel.log_lengthscale[1]",
        "left.kernel.right.kernel.logit_correlation",
        "left.log_variance",
    )
    np.testing.assert_allclose(kernel.params, np.log([0.5, 3.0, 1 / 3, 2.0]))
    assert SE(2.0).param_names == Matern(2.5).param_names == ("log_lengthscale",)
    assert Linear(COVARIANCE).params.shape == (0,)


@given(kernel=any_kernel, seed=seeds)
def test_with_params_sets_what_params_reads_and_keeps_the_kind(kernel, seed):
    vector = np.random.default_rng(seed).normal(size=len(kernel.params))
    changed = kernel.with_params(vector)
    np.testing.assert_allclose(changed.params, vector, rtol=1e-12, atol=1e-12)
    assert type(changed) is type(kernel) and changed.param_names == kernel.param_names


@given(kernel=any_kernel)
def test_kernels_survive_dictionaries_and_pickles(kernel):
    X = points(5)
    for copy in (from_dict(kernel.to_dict()), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel and hash(copy) == hash(kernel)
        assert np.array_equal(copy(X, X), kernel(X, X))


def test_numpy_arguments_become_plain_numbers():
    assert SE(np.array([1.0, 2.0])) == SE([1, 2]) and SE(np.float64(2)).to_dict() == {"kind": "SE", "lengthscale": 2.0}
    assert Linear(np.eye(2)).covariance == ((1.0, 0.0), (0.0, 1.0))
    assert SE().on(np.array([2, 0])).columns == (2, 0)


def test_operators_build_the_named_kernels():
    a, b = SE(0.5), Matern(2.5)
    assert a + b == Sum(a, b) and a * b == Product(a, b)
    assert 2.0 * a == a * 2.0 == np.float64(2.0) * a == Scaled(a, 2.0) and a.on([1]) == OnColumns(a, (1,))
    with pytest.raises(TypeError):
        a + 1.0
    with pytest.raises(ValueError, match="expected a positive finite variance, got 'two'"):
        a * "two"


# --- factors ---


def product_of_factors(kernel: Kernel, blocks, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    matrix = np.ones((len(X), len(Z)))
    for factor, block in zip(kernel.factor(blocks), blocks, strict=True):
        if factor is not None:
            matrix *= factor(X[:, block], Z[:, block])
    return matrix


partitions = st.tuples(st.permutations(range(3)), st.integers(0, 3), st.integers(0, 3)).map(
    lambda t: [list(t[0])[: min(t[1:])], list(t[0])[min(t[1:]) : max(t[1:])], list(t[0])[max(t[1:]) :]]
)
separable = st.recursive(
    st.one_of(
        st.builds(SE, st.one_of(scales, st.lists(scales, min_size=3, max_size=3))),
        st.builds(Categorical, st.floats(0.05, 0.95)),
        st.permutations(range(3)).map(SE((0.5, 1.2, 2.0)).on),
        st.integers(0, 2).map(lambda column: Matern(1.5, 0.8).on([column])),
        st.integers(0, 2).map(lambda column: (SE(0.5) + Linear(((2.0,),))).on([column])),
        some_columns.map(SE(0.4).on),
    ),
    lambda k: st.one_of(st.builds(Product, k, k), st.builds(Scaled, k, scales)),
    max_leaves=4,
)


@given(kernel=separable, blocks=partitions)
def test_factors_multiply_to_the_kernel_on_grids(kernel, blocks):
    axes = np.linspace(-1, 1, 3), np.linspace(0, 2, 4), np.arange(2.0)
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(product_of_factors(kernel, blocks, X, X[::5]), kernel(X, X[::5]), rtol=1e-12)


@pytest.mark.parametrize("kernel", [*KERNELS[:2], *MATERNS, Linear(COVARIANCE), *COMPOSITES[:2]])
@pytest.mark.parametrize("block", [[0, 1, 2], [2, 0, 1]])
def test_every_kernel_factors_into_itself_over_a_single_block(kernel, block):
    X = points(6)
    np.testing.assert_allclose(product_of_factors(kernel, [[], block], X, X), kernel(X, X), rtol=1e-12)
    if block == [0, 1, 2]:
        assert kernel.factor([block]) == [kernel]


def test_kernels_that_mix_blocks_have_no_factors():
    blocks = [[0], [1, 2]]
    for kernel in (Matern(1.5), Linear(COVARIANCE), SE() + SE(2.0), SE().on([0]) + SE().on([1])):
        assert kernel.factor(blocks) is None
        assert (2.0 * kernel).factor(blocks) is None
        assert (SE() * kernel).factor(blocks) is None
        assert (SE() + kernel).factor(blocks) is None
        assert kernel.on([0, 1, 2]).factor(blocks) is None


def test_a_block_that_the_kernel_ignores_has_the_factor_one_and_a_variance_counts_once():
    assert SE(0.5).on([2]).factor([[0, 1], [2]]) == [None, SE(0.5)]
    assert SE(0.5).on([2]).factor([[0], [1, 2]]) == [None, SE(0.5).on([1])]
    assert (2.0 * SE((1.0, 2.0))).factor([[1], [0]]) == [2.0 * SE([2.0]), SE([1.0])]
    assert (SE().on([2]) + Matern(1.5).on([1])).factor([[0], [2, 1]]) == [None, SE().on([0]) + Matern(1.5).on([1])]


# --- errors ---

NAN, INF = math.nan, math.inf
ONE, TWO, FOUR = np.zeros((5, 1)), np.zeros((5, 2)), np.zeros((5, 4))


@pytest.mark.parametrize(
    ("message", "call"),
    [
        *((f"positive finite lengthscale, got {v}", lambda v=v: SE(v)) for v in (0.0, -1.0, NAN, INF)),
        *((f"positive finite lengthscale, got {v}", lambda v=v: Matern(1.5, (1.0, v))) for v in (0.0, -1.0, NAN, INF)),
        *((f"positive finite nu, got {v}", lambda v=v: Matern(v)) for v in (0.0, -1.0, NAN, INF)),
        *((f"positive finite variance, got {v}", lambda v=v: v * SE()) for v in (0.0, -1.0, NAN, INF)),
        *((f"between 0 and 1, got {v}: try 0.5", lambda v=v: Categorical(v)) for v in (0.0, 1.0, -1.0, NAN, INF)),
        ("a number or a sequence with one per column", lambda: SE([])),
        ("a number or a sequence with one per column", lambda: SE([[1.0]])),
        (r"square covariance, got shape \(2,\): use np.diag", lambda: Linear([1.0, 2.0])),
        (r"square covariance, got shape \(1, 2\)", lambda: Linear([[1.0, 2.0]])),
        (r"symmetric covariance, got .*pass \(C \+ C.T\) / 2", lambda: Linear([[1.0, 0.5], [0.0, 1.0]])),
        ("finite symmetric covariance", lambda: Linear([[NAN]])),
        ("semi-definite covariance, got an eigenvalue -1: set its", lambda: Linear([[1.0, 2.0], [2.0, 1.0]])),
        ("at least one column, distinct and counted from 0, got", lambda: SE().on([])),
        ("distinct", lambda: SE().on([0, 0])),
        ("counted from 0", lambda: SE().on([-1])),
        ("expected 3 columns, one per lengthscale, got 2 columns: give one", lambda: SE([1, 2, 3])(TWO, TWO)),
        ("expected 3 columns, one per lengthscale", lambda: Matern(1.5, [1, 2, 3]).with_pullback(ONE, ONE)),
        ("expected 3 columns, one per lengthscale", lambda: SE([1, 2, 3]).factor([[0], [1]])),
        ("expected 3 columns, as the covariance has, got 4 columns: give", lambda: Linear(COVARIANCE)(FOUR, FOUR)),
        ("expected 3 columns, as the covariance has", lambda: Linear(COVARIANCE).diag(TWO)),
        (r"at least 4 columns for a kernel on columns \(3,\), got 2 columns: choose", lambda: SE().on([3])(TWO, TWO)),
        ("at least 4 columns", lambda: SE().on([3]).factor([[0], [1]])),
        (r"points as arrays \(n, p\) and \(m, p\), got shapes \(5, 2\) and \(5, 4\)", lambda: SE()(TWO, FOUR)),
        (r"got shapes \(4,\) and \(5, 4\): one point is an array with one row", lambda: SE()(FOUR[0], FOUR)),
        (r"points as arrays", lambda: SE().diag(FOUR[0])),
        (r"expected 2 hyperparameters \('kernel.log_lengthscale', 'log_variance'\), got an array of shape \(3,\): pass",
         lambda: (2.0 * SE()).with_params(np.zeros(3))),
        ("positive finite lengthscale, got inf", lambda: SE().with_params(np.array([1e4]))),
        ("between 0 and 1, got 1.0", lambda: Categorical().with_params(np.array([1e4]))),
        ("every column 0, 1, ... exactly once, got", lambda: SE().factor([[0], [0]])),
        ("every column 0, 1, ... exactly once, got", lambda: SE().factor([[0], [2]])),
    ],
)  # fmt: skip
def test_errors_say_what_was_expected_and_what_came(message, call):
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        warnings.simplefilter("error")
        call()


# --- the house rules ---


def test_a_class_is_abstract_or_final_and_no_implemented_method_is_overridden():
    modules = kernels, algebra
    classes = {c for m in modules for c in vars(m).values() if inspect.isclass(c) and issubclass(c, Kernel)}
    defaults = {"gradient", "_with_pullback", "_factor", "_as_matern", "_as_categorical"}  # with values only
    assert {c.__name__ for c in classes if not inspect.isabstract(c)} == {
        "SE", "Matern", "Linear", "Categorical", "Scaled", "Sum", "Product", "OnColumns",
    }  # fmt: skip
    for c in classes:
        assert inspect.isabstract(c) != getattr(c, "__final__", False)
        for base in c.__mro__[1:-1]:
            ours = {name for name, item in vars(c).items() if callable(item) and not name.startswith("__")}
            theirs = {name for name, item in vars(base).items() if not getattr(item, "__isabstractmethod__", False)}
            assert not ours & theirs - defaults, (c, base, ours & theirs)


def test_importing_kernels_does_not_load_the_slow_parts_of_scipy():
    code = "import sys, stableopt.model.kernels; assert not {'scipy.spatial', 'scipy.special'} & set(sys.modules)"
    source = str(Path(kernels.__file__).parents[2])
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": source})
