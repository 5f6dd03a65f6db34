"""Promises to a kernel of one's own: its values are enough, exact gradients are welcome, and mistakes are named.

References: scikit-learn, exact derivatives, and the kernels of the package written again with their values only.
"""

from __future__ import annotations

import json
import math
import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import stableopt as so
from stableopt.base.values import from_dict
from stableopt.model import Kernel, Learned, LogNormal, check_kernel, fit, log_likelihood, param_names
from stableopt.model.kernels import SE, Categorical, Linear, Matern

pytestmark = pytest.mark.usefixtures("quick")  # a brief search finds what is promised, too


@dataclass(frozen=True)
class Periodic(Kernel):
    period: float = 1.0
    lengthscale: float = 1.0
    hyperparameters = ("period",)

    def values(self, X, Z):
        waves = np.sin(np.pi * (X[:, None] - Z) / self.period) / self.lengthscale
        return np.exp(-2 * (waves**2).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class RationalQuadratic(Kernel):
    alpha: float = 1.0
    lengthscale: float = 1.0
    hyperparameters = ("alpha",)

    def values(self, X, Z):
        return self._base(X, Z) ** -self.alpha

    def _base(self, X, Z):
        return 1 + ((X[:, None] - Z) ** 2).sum(axis=-1) / (2 * self.alpha * self.lengthscale**2)


@dataclass(frozen=True, eq=False)
class Exact(RationalQuadratic):
    def gradient(self, X, Z, wrt):
        base = self._base(X, Z)
        if wrt == "inputs":
            return -(base ** (-self.alpha - 1))[:, :, None] * (X[:, None] - Z) / self.lengthscale**2
        by_alpha = base**-self.alpha * (-self.alpha * np.log(base) + self.alpha * (base - 1) / base)
        by_lengthscale = 2 * self.alpha * base ** (-self.alpha - 1) * (base - 1)
        return np.stack([by_alpha, by_lengthscale], axis=-1)


@dataclass(frozen=True)
class Plain(Kernel):
    """A kernel of the package of which only the values are known."""

    kernel: Kernel

    def values(self, X, Z):
        return self.kernel(X, Z)


@dataclass(frozen=True)
class Warped(Kernel):
    """Has no values left of 0, so that differences at the edge of the range have one side only."""

    lengthscale: float = 0.3

    def values(self, X, Z):
        return np.exp(-(np.abs(np.sqrt(X) - np.sqrt(Z)[:, 0]) ** 2) / self.lengthscale**2)


@dataclass(frozen=True)
class Fading(Kernel):
    """Several values in a field, a variance of its own, and more lengthscales than columns."""

    rates: tuple[float, ...] = (1.0, 3.0)
    variance: float = 2.0
    lengthscale: tuple[float, ...] = (0.3, 0.5, 1.0)
    hyperparameters = ("rates",)

    def values(self, X, Z):
        distances = ((X[:, None] - Z) ** 2).sum(axis=-1)
        bumps = sum(np.exp(-distances / scale**2) for scale in self.lengthscale)
        return self.variance * (bumps + sum(rate * np.exp(-rate * distances) for rate in self.rates))


OWN = [
    Periodic(0.7, 1.3),
    RationalQuadratic(0.6, 0.5),
    Exact(0.6, 0.5),
    Plain(SE((0.4, 0.9))),
    Fading(),
    2.0 * Periodic(0.7).on([1]) + SE(0.5) * RationalQuadratic(2.0, 0.4),
]
each_kernel = pytest.mark.parametrize("kernel", OWN, ids=lambda k: type(k).__name__)


def points(n: int, seed: int = 0, p: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).random((n, p))


def pulled(kernel: Kernel, X: np.ndarray, Z: np.ndarray | None, weights: np.ndarray, wrt: str) -> np.ndarray:
    return kernel.with_pullback(X, Z)[1](weights, wrt)


# --- values are enough ---


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        (Periodic(0.7, 1.3), sk.ExpSineSquared(1.3, 0.7)),
        (RationalQuadratic(0.6, 0.5), sk.RationalQuadratic(0.5, 0.6)),
        (2.0 * RationalQuadratic() + Periodic(0.3), 2.0 * sk.RationalQuadratic() + sk.ExpSineSquared(1.0, 0.3)),
    ],
)
def test_posteriors_equal_those_of_scikit_learn(own, theirs):
    X, Z = points(15, p=1), points(200, 1, p=1)
    y = np.sin(9 * X[:, 0])
    np.testing.assert_allclose(own(X, Z), theirs(X, Z), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(own.diag(Z), theirs.diag(Z), rtol=1e-12)
    regressor = GaussianProcessRegressor(theirs, alpha=0.01, optimizer=None).fit(X, y)
    mean, covariance = regressor.predict(Z, return_cov=True)
    gp = so.GP(own, 0.1)
    tracked = gp.track([np.vstack([Z, X])], range(200, 215), y)
    for found_mean, found_variance in (gp.condition(X, y)(Z), tracked.moments(range(200))):
        np.testing.assert_allclose(found_mean, mean, atol=1e-9)
        np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-9)


@pytest.mark.parametrize(
    "kernel", [SE((0.4, 0.9)), 2.0 * Matern(2.5, 0.6), Linear([[1.0, 0.3], [0.3, 2.0]]), Matern(1.5).on([1])], ids=repr
)
@pytest.mark.parametrize(("unit", "origin"), [(1.0, 0.0), (1e6, 0.0), (1e-6, 0.0), (1.0, 1e6)])
def test_derivatives_by_differences_are_the_exact_ones_in_every_unit(kernel, unit, origin):
    X, Z, rng = origin + unit * points(8), origin + unit * points(6, 1), np.random.default_rng(2)
    kernel = kernel.with_params(
        kernel.params + np.array([math.log(unit) * ("length" in n) for n in kernel.param_names])
    )
    W, w, own = rng.normal(size=(8, 6)), rng.normal(size=8), Plain(kernel)
    for other, weights in ((Z, W), (None, w)):
        for wrt in ("inputs", "params"):
            expected = pulled(kernel, X, other, weights, wrt)
            size = np.abs(expected).max(initial=0.0) + 1e-6 * (1 / unit if wrt == "inputs" else 1)
            close = 1e-4 if origin else 1e-6  # X itself has 6 digits less
            np.testing.assert_allclose(pulled(own, X, other, weights, wrt), expected, atol=close * size)


def test_a_given_gradient_is_used_and_equals_differences():
    X, Z, W = points(8), points(6, 1), np.random.default_rng(2).normal(size=(8, 6))
    for wrt in ("inputs", "params"):
        exact = pulled(Exact(0.6, 0.5), X, Z, W, wrt)
        by_differences = pulled(RationalQuadratic(0.6, 0.5), X, Z, W, wrt)
        np.testing.assert_allclose(exact, by_differences, rtol=1e-7, atol=1e-9)
        assert not np.array_equal(exact, by_differences)


def test_one_gradient_may_be_given_and_the_other_left_to_differences():
    @dataclass(frozen=True)
    class Half(RationalQuadratic):
        def gradient(self, X, Z, wrt):
            return Exact(self.alpha, self.lengthscale).gradient(X, Z, wrt) if wrt == "inputs" else None

    X, Z, W = points(8), points(6, 1), np.ones((8, 6))
    for wrt, other in (("inputs", Exact()), ("params", RationalQuadratic())):
        assert np.array_equal(pulled(Half(), X, Z, W, wrt), pulled(other, X, Z, W, wrt))


def test_a_difference_is_one_sided_where_a_kernel_has_no_values_on_the_other_side():
    X, Z = np.array([[0.0], [0.25]]), np.array([[0.16], [0.81]])
    inside = pulled(Warped(), X[1:], Z, np.ones((1, 2)), "inputs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = pulled(Warped(), X, Z, np.ones((2, 2)), "inputs")
    assert np.isfinite(both).all()
    np.testing.assert_allclose(both[1], inside[0], rtol=1e-6)


@each_kernel
def test_gradients_of_posteriors_and_likelihoods_equal_differences(kernel):
    X, Z, y = points(12), points(5, 1), np.random.default_rng(2).normal(size=12)
    gp = so.GP(kernel, 0.3, 0.2)
    bound = gp.condition(X, y).bound(1.5)
    values, gradient = bound.with_gradient(Z)
    np.testing.assert_allclose(values, bound(Z), atol=1e-12)
    for j, move in enumerate(1e-5 * np.eye(2)):
        np.testing.assert_allclose(gradient[:, j], (bound(Z + move) - bound(Z - move)) / 2e-5, rtol=1e-4, atol=1e-6)
    _, slope = log_likelihood(gp, X, y)
    for i, move in enumerate(1e-5 * np.eye(len(kernel.params))):
        ends = [so.GP(kernel.with_params(kernel.params + sign * move), 0.3, 0.2) for sign in (1, -1)]
        above, below = (log_likelihood(end, X, y)[0] for end in ends)
        assert slope[i] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-5)


@each_kernel
def test_it_survives_json_pickles_and_new_hyperparameters(kernel):
    for copy in (from_dict(json.loads(json.dumps(kernel.to_dict()))), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel and hash(copy) == hash(kernel)
        assert np.array_equal(copy(points(4), points(3)), kernel(points(4), points(3)))
    changed = kernel.with_params(kernel.params + 0.5)
    np.testing.assert_allclose(changed.params, kernel.params + 0.5)
    assert type(changed) is type(kernel) and len(kernel.param_names) == len(kernel.params)


def test_no_points_give_empty_matrices_and_zero_gradients():
    X, none = points(4), np.zeros((0, 2))
    for kernel in OWN:
        assert kernel(X, none).shape == (4, 0) and kernel.diag(none).shape == (0,)
        assert np.array_equal(pulled(kernel, X, none, np.zeros((4, 0)), "inputs"), np.zeros((4, 2)))
        assert np.array_equal(pulled(kernel, X, none, np.zeros((4, 0)), "params"), np.zeros(len(kernel.params)))


def test_it_is_no_product_over_several_blocks_and_itself_over_one():
    own = Periodic(0.5)
    assert (
        own.factor([[0], [1]]) is None
        and own.factor([[0, 1]]) == [own]
        and own.factor([[], [1, 0]])[1] == own.on([1, 0])
    )
    assert (own.on([0]) * SE(0.3).on([1])).factor([[0], [1]]) == [own, SE(0.3)]


# --- hyperparameters ---


def test_declared_fields_are_hyperparameters_with_names_like_all_others():
    gp = so.GP(2.0 * Periodic(0.5) + Fading(), 0.1)
    assert param_names(gp) == (
        "left.kernel.period", "left.kernel.lengthscale", "left.variance", "right.rates[0]", "right.rates[1]",
        "right.variance", "right.lengthscale[0]", "right.lengthscale[1]", "right.lengthscale[2]", "noise", "mean",
    )  # fmt: skip
    X = points(20)
    found = fit(gp, X, np.sin(9 * X[:, 0]), fixed=["rates"], bounds={"period": (0.4, 0.6)}, starts=2).gp.kernel
    assert found.right.rates == pytest.approx((1.0, 3.0)) and 0.4 <= found.left.kernel.period <= 0.6
    held = fit(gp, X, np.sin(9 * X[:, 0]), priors={"period": LogNormal(0.5, 1e-4)}, starts=1).gp.kernel
    assert held.left.kernel.period == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("kind", [RationalQuadratic, Exact])
def test_learning_finds_what_scikit_learn_finds(kind):
    X = 3 * points(30, p=1)
    y = np.sin(4 * X[:, 0]) + 0.5 * np.sin(11 * X[:, 0]) + 0.05 * np.random.default_rng(1).normal(size=30)
    found = fit(so.GP(1.0 * kind(), 0.1), X, y, fixed=["mean"], bounds={"alpha": (1e-3, 1e3)}, starts=5)
    theirs = 1.0 * sk.RationalQuadratic(1.0, 1.0, alpha_bounds=(1e-3, 1e3)) + sk.WhiteKernel(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of theirs, on their bounds
        regressor = GaussianProcessRegressor(theirs, n_restarts_optimizer=5, random_state=0, alpha=0).fit(X, y)
    assert found.converged and found.log_likelihood > regressor.log_marginal_likelihood_value_ - 1e-3
    best = regressor.kernel_.k1.k2
    assert found.gp.kernel.kernel.lengthscale == pytest.approx(best.length_scale, rel=0.05)


def test_the_period_of_a_periodic_function_is_found():
    X = 2 * points(40, p=1)
    y = np.sin(2 * np.pi * X[:, 0] / 0.8)
    found = fit(so.GP(1.0 * Periodic(0.7), 0.1), X, y, bounds={"period": (0.5, 1.2)}).gp.kernel.kernel
    assert found.period == pytest.approx(0.8, rel=0.01)


@pytest.mark.parametrize("method", ["ml", "map", "bayes"])
def test_it_can_be_learned_again_and_again_without_leaving_its_range(method):
    X = points(40)
    y = np.cos(5 * X[:, 0]) * X[:, 1]
    learned = Learned(1.0 * RationalQuadratic(1.0, 0.3), method=method, samples=2, burn_in=2)
    belief = learned.first(2)
    for t in (10, 20, 30, 40):
        belief = learned.learn(X[:t], y[:t], None, belief)
    alpha = belief.gps[-1].kernel.kernel.alpha
    assert 1e-3 * 0.999 <= alpha <= 1e3 * 1.001
    mean, _ = belief.condition(X, y)(X)
    assert np.abs(mean - y).max() < 0.1


def test_a_search_steps_back_from_hyperparameters_at_which_the_values_overflow():
    @dataclass(frozen=True)
    class Growing(Kernel):
        lengthscale: float = 1.0

        def values(self, X, Z):
            return np.exp(X @ Z.T / self.lengthscale**2)

    X = points(20)
    found = fit(so.GP(1.0 * Growing(30.0), 0.1), 40 * X, np.sin(3 * X[:, 0]), bounds={"lengthscale": (1e-2, 1e3)})
    assert math.isfinite(found.log_likelihood) and found.gp.kernel.kernel.lengthscale > 0.1


# --- in a run ---


def bump(x: np.ndarray) -> float:
    """A narrow peak at 0.2 and a broad one, lower, at 0.7."""
    return float(1.2 * np.exp(-((x[0] - 0.2) ** 2) / 0.002) + np.exp(-((x[0] - 0.7) ** 2) / 0.05))


@pytest.mark.parametrize(
    "model", [so.GP(Exact(2.0, 0.15), 0.01), Learned(RationalQuadratic(2.0, 0.15))], ids=["GP", "learned"]
)
@pytest.mark.parametrize("domain", [so.Grid.linspace([0], [1], 101), so.Space([(0.0, 1.0)])], ids=["grid", "space"])
def test_a_run_with_it_finds_the_stable_optimum_and_can_be_replayed(model, domain):
    uncertainty = so.Ball(0.1) if isinstance(domain, so.Grid) else so.Rectangle(0.1)
    optimizer = so.Optimizer(domain, uncertainty, model, seed=1)
    for _ in range(25):
        query = optimizer.ask()
        optimizer.tell(query, bump(np.atleast_1d(query.point)))
    assert np.atleast_1d(optimizer.report().decision)[0] == pytest.approx(0.7, abs=0.05)
    again = so.Optimizer.from_json(optimizer.to_json())
    assert again.report().decision == optimizer.report().decision


# --- mistakes are named ---


def own(values, gradient=None, **more) -> Kernel:
    """A kernel called Wrong with these methods."""
    content = {"__module__": __name__, "__annotations__": {"lengthscale": float}, "lengthscale": 0.5, "values": values}
    content |= {"gradient": gradient} if gradient else {}
    return dataclass(frozen=True)(type("Wrong", (Kernel,), content | more))()


def distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.sqrt(((X[:, None] - Z) ** 2).sum(axis=-1))


def se(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.exp(-2 * distances(X, Z) ** 2)


def half_gradient(self, X, Z, wrt):
    exact = -4 * (X[:, None] - Z) * se(X, Z)[:, :, None]
    return 0.5 * exact if wrt == "inputs" else (4 * distances(X, Z) ** 2 * se(X, Z))[:, :, None]


def wrong_param(self, X, Z, wrt):
    exact = -4 * (X[:, None] - Z) * se(X, Z)[:, :, None]
    return exact if wrt == "inputs" else (-4 * distances(X, Z) ** 2 * se(X, Z))[:, :, None]


@pytest.mark.parametrize(
    "kernel", [*OWN, SE((0.3, 0.8)), Matern(0.5, 0.3), Matern(1.5), Categorical(0.3), Warped().on([0])]
)
def test_the_check_accepts_what_is_right(kernel):
    assert check_kernel(kernel, points(20)) is None


WRONG = {
    r"shape \(20, 20\) from Wrong.values, got shape \(20,\)": own(lambda self, X, Z: se(X, Z)[:, 0]),
    r"shape \(1, 20\) from Wrong.values, got shape \(20, 1\)": own(lambda self, X, Z: se(X, Z).T),
    r"from Wrong.values, got None: it has one row per row of X": own(lambda self, X, Z: None),
    r"finite numbers from Wrong.values, got nan at \[0, 0\]": own(
        lambda self, X, Z: np.where(distances(X, Z) > 0, se(X, Z), np.nan)
    ),
    "a symmetric matrix from Wrong.values, got .* instead of .* at": own(lambda self, X, Z: se(X, Z) * (1 + X[:, :1])),
    "semi-definite matrix from Wrong.values, got an eigenvalue -": own(lambda self, X, Z: 1 + distances(X, Z)),
    "expected a positive semi-definite matrix": own(  # a kernel of one column only, which is easily overlooked
        lambda self, X, Z: np.exp(-1.2 * np.sin(np.pi * distances(X, Z) / 0.7) ** 2)
    ),
    "from Wrong.values, whichever other rows X has": own(lambda self, X, Z: se(X, Z) * (1 + np.ptp(X))),
    "by 'inputs' from Wrong.gradient that agree .* deviation": own(lambda self, X, Z: se(X, Z), half_gradient),
    "by 'params' from Wrong.gradient that agree": own(
        lambda self, X, Z: np.exp(-0.5 * (distances(X, Z) / self.lengthscale) ** 2), wrong_param
    ),
    r"shape \(20, 20, 2\) from Wrong.gradient, got shape \(20, 20\)": own(
        lambda self, X, Z: se(X, Z), lambda self, X, Z, wrt: se(X, Z)
    ),
    r"finite numbers from Wrong.gradient, got nan": own(
        lambda self, X, Z: se(X, Z), lambda self, X, Z, wrt: np.full((len(X), len(Z), 2), np.nan)
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
@pytest.mark.parametrize("inside", [lambda k: k, lambda k: 2.0 * (SE(0.3) + k)], ids=["alone", "in a sum"])
def test_the_check_names_what_is_wrong(message, inside):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        check_kernel(inside(WRONG[message]), points(20))


def test_the_check_tells_right_gradients_from_wrong_ones():
    def right(self, X, Z, wrt):
        return 2 * half_gradient(self, X, Z, wrt) if wrt == "inputs" else half_gradient(self, X, Z, wrt)

    def values(self, X, Z):
        return np.exp(-0.5 * (distances(X, Z) / self.lengthscale) ** 2)

    check_kernel(own(values, right), points(20))
    with pytest.raises(ValueError, match=r"Wrong.gradient"):
        check_kernel(own(values, half_gradient), points(20))


def test_the_check_wants_a_frozen_dataclass_and_points():
    class Bare(Kernel):
        def values(self, X, Z):
            return SE()(X, Z)

    @dataclass
    class Melted(Kernel):
        def values(self, X, Z):
            return SE()(X, Z)

    for kind in (Bare, Melted):
        with pytest.raises(TypeError, match=f"expected {kind.__name__} as a frozen dataclass"):
            check_kernel(kind(), points(5))
    with pytest.raises(TypeError, match="expected Bare as a dataclass: write @dataclass"):
        fit(so.GP(Bare(), 0.1), points(5), np.ones(5))
    old = own(lambda self, X, Z: se(X, Z))
    own(lambda self, X, Z: 2 * se(X, Z))
    with pytest.raises(ValueError, match="expected one class Wrong in its module, got another one"):
        check_kernel(old, points(5))
    with pytest.raises(ValueError, match="expected at least 2 points"):
        check_kernel(SE(), points(1))
    with pytest.raises(TypeError, match="expected a kernel, got 'se'"):
        check_kernel("se", points(5))


def test_a_forgotten_method_is_named():
    @dataclass(frozen=True)
    class Forgetful(Kernel):
        lengthscale: float = 1.0

    with pytest.raises(TypeError, match=r"Forgetful.*values"):
        Forgetful()


@pytest.mark.parametrize("names", ["period", ("perid",), ("noise",), ("mean",)])
def test_hyperparameters_that_are_no_fields_are_named(names):
    with pytest.raises(TypeError, match=r"expected Wrong.hyperparameters as a tuple of names of its fields"):
        own(lambda self, X, Z: se(X, Z), hyperparameters=names)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "two", [], [[1.0]], [1.0, -1.0]])
def test_values_of_hyperparameters_are_checked(value):
    with pytest.raises(ValueError, match=r"expected (a positive finite period|period to be a number)"):
        Periodic(value)


def test_mistakes_are_named_where_they_are_met_in_a_run():
    X, y = points(6), np.arange(6.0)
    nan = own(lambda self, X, Z: np.where(distances(X, Z) > 0.3, np.nan, 1.0))
    flat = own(lambda self, X, Z: se(X, Z)[0])
    bad = own(lambda self, X, Z: se(X, Z), lambda self, X, Z, wrt: np.full((len(X), len(Z), 2), np.nan))
    for kernel in (nan, 2.0 * nan, nan.on([0, 1]) + SE()):
        for use in (lambda gp: gp.condition(X, y), lambda gp: gp.track([X], [0, 1], [0.0, 1.0])):
            with pytest.raises(ValueError, match=r"finite numbers from Wrong.values, got nan at"):
                use(so.GP(kernel, 0.1))
    with pytest.raises(ValueError, match=r"an array of shape \(6, 6\) from Wrong.values, got shape \(6,\)"):
        so.GP(3.0 * flat, 0.1).condition(X, y)
    with pytest.raises(ValueError, match=r"finite numbers from Wrong.gradient, got nan"):
        so.GP(3.0 * bad, 0.1).condition(X, y).bound(1.0).with_gradient(X)
    negative = own(lambda self, X, Z: -se(X, Z))
    with pytest.raises(np.linalg.LinAlgError, match=r"positive semi-definite kernel, .* Wrong.*check_kernel"):
        so.GP(negative, 0.1).condition(X, y)
