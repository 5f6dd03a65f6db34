"""Promises of the theory: every quantity against brute force or a closed form, every frequency against the binomial.

Statistical tests have fixed seeds and a tolerance of one in a thousand from the binomial distribution (`consistent`);
each has a negative control that must fail.
"""

import itertools
import math

import numpy as np
import pytest
from helpers.cases import extra
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, kstest

from stableopt import GP, SE, Grid, Linear, Matern
from stableopt.loop.schedules import BayesianFinite, Constant, FixedDesign, LikelihoodRatio, PaperRkhs, Rkhs
from stableopt.theory.information import gain_rate, information_gain, max_information_gain
from stableopt.theory.sampling import _circulant, _dense, _embedding, _kronecker, sample_prior, sample_rkhs
from stableopt.theory.simulation import (
    Game,
    _rank,
    calibrate,
    consistent,
    largest_variance,
    optimistic,
    simulate,
    stable,
    stable_choices,
    uniform,
)
from stableopt.theory.theorem1 import Played, c1, check_chain, regret_bound, rounds_needed
from stableopt.theory.theorem2 import (
    Bump,
    HardInstances,
    log_spectral_density,
    necessary_rate,
    paper_width,
    plot_instances,
    valley_norm,
    valley_width,
)

LINE = np.linspace(0, 1, 50)[:, None]
AROUND = np.clip(np.arange(50)[:, None] + np.arange(-4, 5), 0, 49)  # the candidates within 4 steps of each
KERNELS = {"SE": SE(0.15), "Matern": 2.0 * Matern(2.5, 0.2)}


def rng(seed=0):
    return np.random.default_rng(seed)


# --- information gain


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_information_gain_is_half_the_log_determinant(kernel):
    X = rng().choice(LINE, size=30)  # with repetitions
    expected = 0.5 * np.linalg.slogdet(np.eye(30) + kernel(X, X) / 0.3**2)[1]
    assert information_gain(GP(kernel, 0.3), X) == pytest.approx(expected, rel=1e-12)
    assert GP(kernel, 0.3).condition(X, np.zeros(30)).information_gain == pytest.approx(expected, rel=1e-12)
    assert information_gain(GP(kernel, 0.3), np.empty((0, 1))) == 0.0


def largest_gain(gp, points, t):
    """γ_t by trying every choice of t points, with repetitions."""
    choices = itertools.combinations_with_replacement(range(len(points)), t)
    return max(information_gain(gp, points[list(choice)]) for choice in choices)


@given(st.integers(0, 10**6), st.sampled_from([0.03, 0.3, 2.0]), st.sampled_from([0.1, 0.5]), st.integers(1, 6))
@settings(max_examples=12)
def test_the_bracket_holds_the_maximum_information_gain_within_and_beyond_the_greedy_rounds(seed, noise, scale, rounds):
    points = rng(seed).uniform(size=(5, 2))
    gp = GP(Matern(1.5, scale), noise)
    bracket = max_information_gain(gp, points, rounds)
    for t in range(1, 6):
        lower, upper = bracket.at(t)
        exact = largest_gain(gp, points, t)
        assert lower <= exact * (1 + 1e-9) and exact <= upper * (1 + 1e-9)
        assert t > rounds or lower >= (1 - 1 / math.e) * exact


def test_the_greedy_gains_are_those_of_the_chosen_points_and_each_is_the_best_next_one():
    gp = GP(SE(0.1), 0.2)
    bracket = max_information_gain(gp, LINE, 12)
    for t in range(12):
        before = LINE[bracket.chosen[:t]]
        every = [information_gain(gp, np.vstack([before, x])) for x in LINE]
        assert bracket.lower[t] == pytest.approx(max(every), rel=1e-10)
    assert np.all(np.diff(bracket.upper) >= 0) and np.all(bracket.upper >= bracket.lower)


def test_the_bracket_is_narrow_where_the_greedy_points_cover_the_domain():
    bracket = max_information_gain(GP(SE(0.1), 0.1), LINE, 100)
    for t in (100, 1_000, 10**5, 10**7):
        lower, upper = bracket.at(t)
        assert lower <= upper <= 1.03 * lower
    assert bracket(0) == 0.0 and bracket(100) == bracket.upper[99]


def test_blocks_give_the_gain_of_their_combinations():
    grid = Grid.linspace([0, 0], [1, 1], [8, 9])
    gp = GP(SE([0.2, 0.3]), 0.1)
    from_blocks, from_points = (max_information_gain(gp, item, 20) for item in (list(grid.blocks), grid.points))
    np.testing.assert_allclose(from_blocks.lower, from_points.lower, rtol=1e-9)
    np.testing.assert_allclose(from_blocks.upper, from_points.upper, rtol=1e-9)
    assert from_blocks.at(50) == pytest.approx(from_points.at(50), rel=1e-6)


def test_growth_rates_are_those_of_the_paper():
    assert gain_rate(SE(0.1), 100, 2) == pytest.approx(math.log(100) ** 3)
    assert gain_rate(3.0 * Matern(2.5, 0.1), 100, 2) == pytest.approx(100 ** (6 / 11) * math.log(100))
    assert necessary_rate(SE(0.1), 0.1, 2.0, 0.5, 3) == pytest.approx(25 * math.log(20) ** 1.5)
    assert necessary_rate(Matern(2.5, 0.1), 0.1, 2.0, 0.5, 3) == pytest.approx(25 * 20 ** (3 / 2.5))


# --- Theorem 1


def test_c1_is_that_of_the_theorem():
    assert c1(0.1) == pytest.approx(8 / math.log(1 + 100))
    # With another prior variance, f, B and σ scale together, and so does √(C_1 γ_T).
    assert c1(0.3, variance=9.0) == pytest.approx(9 * c1(0.1))


@pytest.mark.parametrize("eta", [extra(0.05), 0.3, 2.0])
def test_rounds_needed_is_where_the_condition_begins_to_hold(eta):
    schedule, noise = Rkhs(1.0, 0.1), 0.5
    bracket = max_information_gain(GP(SE(0.3), noise), LINE, 40)

    def bound(t):
        return regret_bound(t, schedule.beta(t, bracket(t - 1)), bracket(t), noise)

    needed = rounds_needed(eta, schedule, bracket, noise)
    assert bound(needed) <= eta < bound(needed - 1)
    assert needed > rounds_needed(2 * eta, schedule, bracket, noise)


def test_rounds_needed_in_closed_form_where_the_gain_is_constant():
    assert rounds_needed(0.1, Constant(4.0), lambda t: 3.0, 1.0) == math.ceil(8 / math.log(2) * 12 / 0.01)
    with pytest.raises(ValueError, match="1000 rounds do not suffice"):
        rounds_needed(0.1, Constant(4.0), lambda t: 3.0, 1.0, limit=1000)


def run_of_stableopt(gp, f, schedule, rounds, seed):
    """Arguments of `check_chain` from Algorithm 1, written out on the line with its neighbourhoods."""
    noise, posterior, rows = rng(seed), gp.track([LINE]), []
    for t in range(1, rounds + 1):
        beta = schedule.beta(t, posterior.information_gain)
        lcb, ucb = (posterior.bound(sign * math.sqrt(beta)) for sign in (-1, 1))
        decision = int(np.argmax(ucb[AROUND].min(axis=1)))
        point = int(AROUND[decision][np.argmin(lcb[AROUND[decision]])])
        worst = f[AROUND[decision]].min()
        rows.append([worst, ucb[AROUND[decision]].min(), lcb[point], math.sqrt(posterior.variance[point]), beta])
        posterior = posterior.update(point, f[point] + gp.noise * noise.standard_normal())
    return f[AROUND].min(axis=1).max(), *np.array(rows).T, posterior.information_gain


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_every_link_of_the_proof_holds_with_a_valid_beta_and_breaks_without(kernel):
    gp = GP(kernel, 0.2)
    functions = sample_rkhs(kernel, LINE, 1.5, 20, rng(1), terms=6)(LINE)
    variance = kernel.diag(LINE[:1])[0]
    held = {LikelihoodRatio(1.5, 0.1): 0, Constant(LikelihoodRatio(1.5, 0.1).beta(1) / 100): 0}
    for schedule in held:
        for seed, f in enumerate(functions):
            optimum, *columns, gain = run_of_stableopt(gp, f, schedule, 60, seed)
            chain = check_chain(optimum, Played(*columns), gain, gp.noise, variance)
            links = {link.split(" in ")[0] for link in chain.broken}
            # What uses the bounds may break; what follows from how points are chosen may not.
            assert links <= {"regret <= pessimistic", "pessimistic <= gap", "reported <= average"}
            held[schedule] += chain.holds
    valid, invalid = held.values()
    assert consistent(valid, 20, 0.9) and not consistent(invalid, 20, 0.9)


def test_the_chain_names_the_link_and_the_round_that_break():
    played = Played(worst=[0.0, -1.0], ucb=[1.0, 1.0], lcb=[-0.5, -1.2], std=[0.5, 0.6], beta=[4.0, 4.0])
    narrow, falling = played._replace(std=[0.5, 0.2]), played._replace(beta=[9.0, 4.0])
    good = check_chain(0.5, played, gain=10.0, noise=1.0)
    assert good.holds and good.regret.tolist() == [0.5, 1.5] and good.reported == 1.0
    assert check_chain(1.5, played, gain=10.0, noise=1.0).broken[:1] == ["pessimistic <= gap in round 1"]
    assert check_chain(0.5, narrow, gain=10.0, noise=1.0).broken == ["gap <= width in round 2"]
    assert check_chain(0.5, played, gain=0.01, noise=1.0).broken == ["with_last_beta <= bound"]
    assert check_chain(0.5, falling, gain=10.0, noise=1.0).broken == ["average <= with_last_beta"]


# --- Theorem 2


def test_the_bump_is_the_inverse_fourier_transform_of_the_smooth_indicator():
    def smooth(squared):
        return math.exp(-1 / (1 - squared)) if squared < 1 else 0.0

    bump = Bump(1)
    for r in (0.0, 0.3, 1.0, 4.0):
        line = quad(lambda u, r=r: 2 * smooth(u * u) * math.cos(2 * math.pi * r * u), 0, 1, epsabs=1e-13)[0]
        assert bump(r) * bump.height == pytest.approx(line, abs=1e-11)
    for dim in (2, 3, 4):  # along the first axis, the transform of what is left after integrating over the others
        u = np.linspace(-1, 1, 401)[1:-1]
        s = np.linspace(0, 1, 2001)
        bump, sphere = Bump(dim), 2 * math.pi ** ((dim - 1) / 2) / math.gamma((dim - 1) / 2)
        squared = np.minimum(u[:, None] ** 2 + s**2, 1 - 1e-3)
        rest = np.exp(-1 / (1 - squared)) * s ** (dim - 2) * sphere
        rest[:, 0] /= 2  # the trapezoidal rule, exact to rounding for functions that vanish smoothly at the end
        line = rest.sum(axis=1) / 2000
        for r in (0.0, 0.7, 2.0):
            expected = np.sum(line * np.cos(2 * np.pi * r * u)) / 200
            assert bump(r) * bump.height == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_bump_has_half_its_height_at_its_radius_and_never_again(dim):
    bump, far = Bump(dim), np.linspace(0, 60, 5001)
    assert bump(bump.half_radius) == pytest.approx(0.5, abs=1e-9)
    values = bump(far)
    assert (
        np.all(np.abs(values[far > bump.half_radius]) < 0.5) and np.abs(values).max() == pytest.approx(1.0) == values[0]
    )
    assert np.all(bump.largest_beyond(far) >= np.maximum.accumulate(np.abs(values)[::-1])[::-1] - 1e-12)


@pytest.mark.parametrize("kernel", [SE(0.3), 2.0 * Matern(1.5, 0.4), Matern(3.3, 0.5)], ids=["SE", "3/2", "3.3"])
def test_the_spectral_density_is_the_fourier_transform_of_the_kernel(kernel):
    for x in (0.0, 0.4):
        value = quad(
            lambda s, x=x: 2 * math.exp(log_spectral_density(kernel, s, 1)) * math.cos(2 * math.pi * s * x), 0, 60
        )
        assert value[0] == pytest.approx(kernel(np.array([[x]]), np.zeros((1, 1)))[0, 0], rel=1e-4)
    in_plane = quad(lambda s: 2 * math.pi * s * math.exp(log_spectral_density(kernel, s, 2)), 0, 60, limit=200)[0]
    assert in_plane == pytest.approx(kernel.diag(np.zeros((1, 1)))[0], rel=1e-3)


def test_the_norm_of_the_valley_is_that_of_its_interpolants():
    """The RKHS norm is the limit of the smallest norm through finitely many values, from below."""
    kernel, eta, width = SE(0.1), 0.05, 0.06
    bump = Bump(1)
    scale = bump.half_radius / width
    norms = []
    for n in (41, 61, 91):
        x = np.linspace(-1.2, 1.2, n)[:, None]
        values = -2 * eta * bump(np.abs(x[:, 0]) * scale)
        values_in_span, *_ = np.linalg.lstsq(kernel(x, x), values, rcond=1e-13)
        norms.append(math.sqrt(values @ values_in_span))
    exact = valley_norm(kernel, eta, width, 1)
    assert norms == sorted(norms) and norms[-1] <= exact * (1 + 1e-6)
    assert norms[-1] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("kernel", [SE(0.05), 2.0 * Matern(2.5, 0.1), Matern(1.5, 0.2)], ids=["SE", "5/2", "3/2"])
@pytest.mark.parametrize("dim", [1, 2])
def test_the_narrowest_valley_has_the_allowed_norm_and_is_narrower_than_the_papers(kernel, dim):
    width = valley_width(kernel, 0.05, 10.0, dim)
    assert valley_norm(kernel, 0.05, width, dim) == pytest.approx(10.0, rel=1e-9)
    assert width < paper_width(kernel, 0.05, 10.0, dim)
    assert valley_norm(kernel, 0.05, paper_width(kernel, 0.05, 10.0, dim), dim) < 10.0


@pytest.mark.parametrize(("dim", "scale", "finer"), [(1, 0.06, 20), (2, 0.25, 2)])
def test_decisions_near_a_valley_are_bad_and_others_are_not(dim, scale, finer):
    instances = HardInstances(SE(scale), eta=0.05, norm=1.0, eps=0.2, dim=dim)
    per_axis = round(len(instances) ** (1 / dim))
    grid = Grid.linspace([0] * dim, [1] * dim, [2 * per_axis * finer + 1] * dim).points
    values, bad = instances(grid), instances.bad(grid)
    assert values.shape == (len(instances), len(grid)) and len(instances) == math.floor(1 / instances.width) ** dim
    np.testing.assert_allclose(values.min(axis=1), -0.1, rtol=1e-12)  # depth 2η, in the centre, which is on the grid
    outside = np.abs(grid - instances.centres[:, None]).max(axis=2) >= instances.width
    assert np.all(values[outside] > -0.05) and np.abs(values).max() <= 0.1 * (1 + 1e-12)
    near = np.linalg.norm(grid[:, None] - grid[None], axis=2) <= 0.2 + 1e-12
    for f, marked in zip(values[:: max(1, len(values) // 5)], bad[:: max(1, len(values) // 5)], strict=True):
        robust = np.where(near, f, np.inf).min(axis=1)
        assert np.all(robust.max() - robust[marked] >= 0.05)  # eq. (r_lb)


def test_no_algorithm_can_beat_the_bound_on_failures():
    """The constants against their definitions, and an algorithm that knows the functions but has few measurements."""
    instances = HardInstances(SE(0.06), eta=0.05, norm=1.0, eps=0.2)
    share, spread = instances.constants
    M, noise = len(instances), 1.0
    fine = np.linspace(0, 1, 40 * M + 1)
    cells = np.minimum((fine * M).astype(int), M - 1)
    largest = np.array([np.abs(instances(fine[cells == j][:, None])).max(axis=1) for j in range(M)])  # v̄_m^j
    assert math.sqrt((largest**2).sum(axis=1).max() / 4) / 0.05 <= spread * (1 + 1e-9) <= 1.05 * spread
    assert share <= instances.bad(fine[:, None]).mean(axis=0).min()

    needed = instances.rounds_necessary(0.05, noise)
    assert instances.failure_probability(needed, noise) <= 0.05 < instances.failure_probability(needed - 1, noise)

    # Measure every centre equally often, and stay away from the smallest mean: close to the best that one can do.
    each, trials, draws = 1, 400, rng(0)
    truth = draws.integers(M, size=trials)
    means = instances(instances.centres)[truth] + noise / math.sqrt(each) * draws.standard_normal((trials, M))
    guess = instances.centres[means.argmin(axis=1), 0]
    away = np.where(guess < 0.5, 1.0, 0.0)[:, None]
    failures = int(instances.bad(away)[truth, np.arange(trials)].sum())
    bound = instances.failure_probability(M * each, noise)
    assert bound > 0.05 and binom.cdf(failures, trials, bound) > 1e-3


def test_the_illustration_shows_every_function_and_one_bad_region():
    instances = HardInstances(SE(0.3), eta=0.05, norm=1.0, eps=0.2)
    ax = plot_instances(instances, shaded=1)
    assert len(ax.lines) == len(instances) and len(ax.patches) == 1
    with pytest.raises(ValueError, match="one dimension"):
        plot_instances(HardInstances(SE(0.06), 0.05, 1.0, 0.2, dim=2))


# --- functions from the classes


@pytest.mark.parametrize("kernel", [SE(0.2), 2.0 * Matern(1.5, 0.3) + Linear([[1.0]])], ids=["SE", "sum"])
def test_functions_have_exactly_the_norm_and_are_expansions(kernel):
    functions = sample_rkhs(kernel, LINE, 2.5, 6, rng(), terms=7)
    K = kernel(LINE, LINE)
    for weights, values in zip(functions.weights, functions(LINE), strict=True):
        assert np.count_nonzero(weights) == 7
        assert weights @ K @ weights == pytest.approx(2.5**2, rel=1e-12)
        np.testing.assert_allclose(values, K @ weights, atol=1e-12)
        assert np.all(np.abs(values) <= 2.5 * np.sqrt(np.diag(K)) + 1e-12)  # the reproducing property
    np.testing.assert_allclose(functions.norms, 2.5, rtol=1e-12)


def test_draws_on_a_grid_have_the_covariance_of_a_product_kernel():
    grid, kernel = Grid.linspace([0, -1], [1, 2], [7, 9]), 0.7 * (SE(0.3).on([0]) * Matern(2.5, 0.4).on([1]))
    factors = kernel.factor([[0], [1]])
    basis = np.eye(63).reshape(63, 7, 9)
    root = _kronecker(factors, grid.blocks, basis).reshape(63, 63)  # row i is the draw that basis vector i makes
    np.testing.assert_allclose(root.T @ root, kernel(grid.points, grid.points), atol=1e-13)


def test_dense_draws_have_the_covariance_up_to_the_jitter():
    root = _dense(SE(0.3), LINE, np.eye(50))
    np.testing.assert_allclose(root.T @ root, SE(0.3)(LINE, LINE), atol=1e-8)


@pytest.mark.parametrize("kernel", [Matern(0.5, 0.3), 2.0 * Matern(2.5, [0.1, 0.15]), SE(0.2) + Matern(1.5, 0.1)])
def test_the_circulant_has_the_kernel_in_its_first_row(kernel):
    grid = Grid.linspace([0, 0], [1, 1], [21, 16])
    eigenvalues = np.maximum(_embedding(kernel, grid.blocks), 0.0)
    row = np.fft.ifftn(eigenvalues).real[:21, :16].ravel()
    np.testing.assert_allclose(row, kernel(grid.points, grid.points[:1])[:, 0], atol=2e-6)


def test_circulant_draws_have_the_variance_of_any_projection():
    grid, kernel = Grid.linspace([0, 0], [1, 1], [21, 16]), Matern(2.5, 0.1)
    draws = _circulant(kernel, grid.blocks, 1001, rng(2)).reshape(1001, -1)
    for weights in rng(3).standard_normal((5, grid.points.shape[0])):
        deviation = math.sqrt(weights @ kernel(grid.points, grid.points) @ weights)
        assert kstest(draws @ weights / deviation, "norm").pvalue > 1e-3
        assert kstest(1.4 * draws @ weights / deviation, "norm").pvalue < 1e-3


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [(SE(0.1), (300, 300)), (Matern(2.5, 0.1), (30, 30)), (Matern(1.5, 0.05), (120, 120))],
    ids=["product", "dense", "circulant"],
)
def test_draws_of_the_prior_are_around_its_mean_on_every_path(kernel, sizes):
    blocks = Grid.linspace([0, 0], [1, 1], sizes).blocks
    draws = sample_prior(GP(kernel, 0.1, mean=5.0), blocks, 3, rng(4))
    assert draws.shape == (3, math.prod(sizes))
    assert abs(draws.mean() - 5.0) < 0.3 and abs(draws.std() - 1.0) < 0.15
    corner = draws.reshape(3, *sizes)[:, :-1] - draws.reshape(3, *sizes)[:, 1:]
    points = np.array([[0.0, 0.0], [1 / (sizes[0] - 1), 0.0]])
    step = math.sqrt(2 - 2 * kernel(points[:1], points[1:])[0, 0])
    assert np.std(corner) == pytest.approx(step, rel=0.1)


# --- simulated runs


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("rule", [uniform, largest_variance, optimistic(4.0), stable(AROUND, 4.0)])
def test_simulated_runs_are_those_of_the_posterior(kernel, rule):
    gp = GP(kernel, 0.3, mean=1.0)
    functions = sample_rkhs(kernel, LINE, 2.0, 3, rng(5))(LINE) + 1.0
    runs = simulate(Game(gp, LINE, 12, rule), functions, rng(6))
    for j, f in enumerate(functions):
        X = LINE[runs.chosen[j]]
        K = kernel(X, X) + 0.09 * np.eye(12)
        assert runs.gain[j, 12] == pytest.approx(information_gain(gp, X), rel=1e-10)
        # The errors are linear in noise that we do not see: recover it from the largest one being reachable.
        w = np.linalg.solve(K, kernel(X, LINE))
        a2 = kernel.diag(LINE) - 2 * np.sum(w * kernel(X, LINE), axis=0) + np.sum(w * (kernel(X, X) @ w), axis=0)
        variance = gp.condition(X, np.zeros(12))(LINE)[1]
        np.testing.assert_allclose(a2 + 0.09 * np.sum(w * w, axis=0), variance, atol=1e-10)  # a² + b² = σ_s²
        bias = np.abs(f - 1 - w.T @ (f[runs.chosen[j]] - 1))
        assert np.all(bias <= 2.0 * np.sqrt(a2) + 1e-9)
        assert runs.error[j, 12] <= math.sqrt(2.0**2 + runs.noise[j, 12] ** 2) + 1e-9
        assert runs.error[j, 0] == pytest.approx(np.max(np.abs(f - 1) / np.sqrt(kernel.diag(LINE))))


def test_simulated_noise_is_standardised():
    """Without a function, and with one observation, the largest ratio is |z|/σ everywhere."""
    runs = simulate(Game(GP(SE(0.2), 0.5), LINE, 3, largest_variance), np.zeros((2000, 50)), rng(7))
    assert kstest(runs.noise[:, 1], lambda x: 2 * binormal(x) - 1).pvalue > 1e-3
    std = 1 / math.sqrt(1 + 0.25)  # μ_1(x)/σ_1(x) is largest where x was observed: z/1.25 over 0.5/√1.25
    np.testing.assert_allclose(runs.error[:, 1], runs.noise[:, 1] * std, rtol=1e-9)


def binormal(x):
    return 0.5 * (1 + np.vectorize(math.erf)(np.asarray(x) / math.sqrt(2)))


SCENES = {
    "SE, uniform": (SE(0.1), uniform),
    "SE, StableOpt": (SE(0.1), stable(AROUND, 4.0)),
    "Matern, GP-UCB": (Matern(2.5, 0.1), optimistic(4.0)),
}


@pytest.mark.parametrize("name", SCENES)
def test_valid_bounds_hold_as_often_as_they_promise_and_the_printed_lemma_does_not(name):
    kernel, rule = SCENES[name]
    gp, count = GP(kernel, 0.1), 100
    runs = simulate(Game(gp, LINE, 60, rule), sample_rkhs(kernel, LINE, 1.0, count, rng(8), 12)(LINE), rng(9))
    held = {
        schedule: int(runs.held(schedule).sum())
        for schedule in (LikelihoodRatio(1.0, 0.1), Rkhs(1.0, 0.1), PaperRkhs(1.0, 0.1, 0.1))
    }
    valid, classical, printed = held.values()
    assert consistent(valid, count, 0.9) and consistent(classical, count, 0.9) and classical >= valid
    assert not consistent(printed, count, 0.9)
    hundredth = Constant(LikelihoodRatio(1.0, 0.1).beta(60, float(runs.gain.mean())) / 100)
    assert not consistent(int(runs.held(hundredth).sum()), count, 0.9)


def test_the_likelihood_ratio_bound_is_not_idle():
    """Where f has few degrees of freedom, it fails about as often as it may: far more often than never."""
    gp = GP(SE(10.0), 1.0)
    functions = sample_rkhs(SE(10.0), LINE, 0.1, 400, rng(10), 4)(LINE)
    runs = simulate(Game(gp, LINE, 100, uniform), functions, rng(11))
    held = int(runs.held(LikelihoodRatio(0.1, 0.5)).sum())
    assert consistent(held, 400, 0.5) and held < 0.85 * 400


def test_an_adversary_who_knows_f_cannot_break_the_valid_bound():
    functions = sample_rkhs(SE(0.05), LINE, 0.2, 200, rng(12), 4)(LINE)

    def where_it_is_most_wrong(mean, std, _):
        return np.argmax(np.abs(functions - mean) / std, axis=1)

    runs = simulate(Game(GP(SE(0.05), 1.0), LINE, 60, where_it_is_most_wrong), functions, rng(13))
    assert consistent(int(runs.held(LikelihoodRatio(0.2, 0.1)).sum()), 200, 0.9)
    assert not consistent(int(runs.held(LikelihoodRatio(0.2, 0.99)).sum()), 200, 0.9)


def test_functions_of_the_prior_stay_within_the_bayesian_bounds():
    kernel = Matern(2.5, 0.1)
    functions = sample_prior(GP(kernel, 0.1), [LINE], 150, rng(14))
    runs = simulate(Game(GP(kernel, 0.1), LINE, 50, stable(AROUND, 4.0)), functions, rng(15))
    assert consistent(int(runs.held(BayesianFinite(50, 0.1)).sum()), 150, 0.9)
    assert not consistent(int(runs.held(Constant(BayesianFinite(50, 0.1).beta(1) / 100)).sum()), 150, 0.9)


@pytest.mark.parametrize("rule", [uniform, largest_variance])
def test_designs_that_ignore_the_values_need_less(rule):
    kernel, norm = SE(0.05), 3.0
    bumps = norm * kernel(LINE[rng(16).integers(50, size=150)], LINE)  # as large as the norm allows
    runs = simulate(Game(GP(kernel, 0.1), LINE, 80, rule), bumps, rng(17))
    schedule = FixedDesign(50, norm, 0.1)
    assert consistent(int(runs.held(schedule).sum()), 150, 0.9)
    assert schedule.beta(81) < LikelihoodRatio(norm, 0.1).beta(81, float(runs.gain[:, -1].min()))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 5))
def test_algorithm_1_in_many_runs_is_that_of_each_alone(seed, decisions, width):
    draw = rng(seed)
    members = draw.integers(8, size=(decisions, width))
    ucb, lcb = draw.integers(5, size=(2, 7, 8)).astype(float)  # with many ties
    found = stable_choices(members, ucb, lcb)
    for run in range(7):
        worst = [min(ucb[run, z] for z in row) for row in members]
        decision = worst.index(max(worst))
        assert found.decisions[run] == decision
        assert found.points[run] == min(members[decision], key=lambda z: lcb[run, z])


@pytest.mark.parametrize("rule", [uniform, stable(AROUND, 4.0)], ids=["uniform", "StableOpt"])
def test_a_calibrated_beta_holds_on_fresh_runs_and_is_much_smaller(rule):
    game = Game(GP(SE(0.1), 0.05), LINE, 50, rule)
    schedule = calibrate(game, 1.0, 0.1, rng(18), runs=240)
    assert (schedule.xi, schedule.rounds, schedule.norm) == (0.1, 50, 1.0)
    for terms in (1, 3, 20):  # other functions than those simulated
        runs = simulate(game, sample_rkhs(game.gp.kernel, LINE, 1.0, 100, rng(19), terms)(LINE), rng(20))
        assert consistent(int(runs.held(schedule).sum()), 100, 0.9)
        assert not consistent(int(runs.held(Constant(schedule.beta(1) / 4)).sum()), 100, 0.9)
    assert 4 * schedule.beta(1) < LikelihoodRatio(1.0, 0.1).beta(game.rounds, float(runs.gain[:, -1].mean()))


@pytest.mark.parametrize(("runs", "xi", "confidence"), [(29, 0.1, 0.95), (200, 0.1, 0.95), (1000, 0.05, 0.99)])
def test_the_order_statistic_bounds_the_quantile_with_its_confidence(runs, xi, confidence):
    rank = _rank(runs, xi, confidence)
    assert 1 - binom.cdf(rank - 1, runs, 1 - xi) <= 1 - confidence  # the chance that it lies below the quantile
    assert rank == 1 or 1 - binom.cdf(rank - 2, runs, 1 - xi) > 1 - confidence
    samples = np.sort(rng(21).random((4000, runs)), axis=1)[:, rank - 1]
    assert consistent(int((samples >= 1 - xi).sum()), 4000, confidence)


# --- what is refused


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: c1(0.0), ValueError, "without which C_1 is 0"),
        (lambda: regret_bound(0, 4.0, 1.0, 0.1), ValueError, "at least one round"),
        (lambda: rounds_needed(0.0, Constant(4.0), lambda t: 1.0, 0.1), ValueError, "eta above 0"),
        (lambda: check_chain(0.0, Played([], [], [], [], []), 1.0, 0.1), ValueError, "at least one round"),
        (lambda: check_chain(0.0, Played([1.0], [1.0, 2.0], [1.0], [1.0], [4.0]), 1.0, 0.1), ValueError, "ucb with 1"),
        (lambda: max_information_gain(GP(SE(), 0.1), LINE, 0), ValueError, "1 or more, got 0"),
        (lambda: max_information_gain(GP(SE(), 0.1), LINE, 2).at(-1), ValueError, "0 or more"),
        (lambda: information_gain(GP(SE(), 0.1), [1.0, 2.0]), ValueError, "array, got shape"),
        (lambda: gain_rate(Linear([[1.0]]), 10, 1), TypeError, "SE or Matern"),
        (lambda: gain_rate(SE(), 0, 1), ValueError, "t >= 1"),
        (lambda: necessary_rate(SE(), 1.0, 0.5, 0.1, 1), ValueError, "eta below the norm"),
        (lambda: necessary_rate(SE([1.0, 2.0]), 0.1, 1.0, 0.1, 2), TypeError, "one lengthscale"),
        (lambda: valley_width(SE(0.1), 2.0, 1.0, 1), ValueError, "no valley so deep"),
        (lambda: valley_norm(SE(0.1), -1.0, 0.1, 1), ValueError, "eta above 0"),
        (lambda: paper_width(SE(0.01), 0.4, 1.0, 1), ValueError, "needs a larger B"),
        (lambda: HardInstances(SE(0.05), 0.05, 1.0, 0.49), ValueError, "use a smaller eps"),
        (lambda: HardInstances(SE(0.05), 0.0, 1.0, 0.1), ValueError, "eta above 0"),
        (lambda: HardInstances(SE(0.05), 0.05, 1.0, 0.1).rounds_necessary(0.9, 1.0), ValueError, "larger eps"),
        (lambda: HardInstances(SE(0.05), 0.05, 1.0, 0.1).rounds_necessary(0.0, 1.0), ValueError, "between 0 and 1"),
        (lambda: HardInstances(SE(0.05), 0.05, 1.0, 0.1).failure_probability(1, 0.0), ValueError, "noise above 0"),
        (lambda: HardInstances(SE(0.05), 0.05, 1.0, 0.1)(np.zeros((3, 2))), ValueError, r"\(n, 1\) array"),
        (lambda: sample_rkhs(SE(), LINE, 0.0, 1, rng()), ValueError, "norm above 0"),
        (lambda: sample_rkhs(SE(), LINE, 1.0, 1, rng(), terms=51), ValueError, "between 1 and 50"),
        (lambda: simulate(Game(GP(SE(), 0.1), LINE, 1, uniform), np.zeros((1, 3)), rng()), ValueError, "at 50 points"),
        (lambda: Game(GP(SE(), 0.1), LINE, 0, uniform), ValueError, "one round"),
        (lambda: stable([1, 2], 4.0), ValueError, "one row of candidates"),
        (
            lambda: calibrate(Game(GP(SE(), 0.1), LINE, 5, uniform), 1.0, 0.1, rng(), runs=100),
            ValueError,
            "at least 29 runs",
        ),
        (lambda: calibrate(Game(GP(SE(), 0.1), LINE, 5, uniform), 1.0, 1.5, rng()), ValueError, "strictly between"),
        (lambda: consistent(5, 4, 0.9), ValueError, "between 0 and 4"),
    ],
)
def test_bad_input_is_refused_with_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_grid_that_no_path_can_draw_on_is_refused_with_what_would_help():
    blocks = Grid.linspace([0, 0], [1, 1], [100, 100]).blocks
    with pytest.raises(ValueError, match="draw on fewer points"):
        sample_prior(GP(Linear(np.eye(2).tolist()), 0.1), blocks, 1, rng())
    with pytest.raises(ValueError, match="use a coarser grid or a shorter lengthscale"):
        sample_prior(GP(Matern(2.5, 5.0), 0.1), blocks, 1, rng())
    uneven = [np.linspace(0, 1, 100)[:, None] ** 2, blocks[1]]
    with pytest.raises(ValueError, match="evenly spaced axes"):
        sample_prior(GP(Matern(2.5, 0.1), 0.1), uneven, 1, rng())
