"""Promises of the test problems: their optimum is right, ignoring the adversary costs, and StableOpt solves them."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from stableopt import Groups, Optimizer, problems
from stableopt.problems import PROBLEMS

INSIDE = 1 + 1e-9  # the library's tolerance at the boundary

# Which rows of D the point x may be turned into, written out from the definitions; elsewhere x stays as it is.
MOVES = {
    "polynomial": lambda x, D: np.hypot(*(D - x).T) <= 0.5 * INSIDE,
    "peaks": lambda x, D: np.abs(D[:, 0] - x[0]) <= 0.06 * INSIDE,
    "mooring": lambda x, D: (np.abs(D[:, 0] - x[0]) <= 1.5 * INSIDE) & (np.abs(D[:, 1] - x[1]) <= 4.0 * INSIDE),
    "alloys": lambda x, D: np.abs(D - x).sum(axis=1) <= 0.4 * INSIDE,
    "kiln": lambda x, D: np.hypot((D[:, 0] - x[0]) / 20.0, (D[:, 1] - x[1]) / 0.75) <= INSIDE,
    "recipe": lambda x, D: ((D[:, :4] != x[:4]).sum(axis=1) <= 1) & (np.abs(D[:, 4] - x[4]) <= 10.0 * INSIDE),
}
THETA = {
    "wind": [[6], [8], [10], [12], [14], [16], [18]],
    "dose": [[c, v] for c in range(2, 9) for v in range(24, 57, 8) if np.hypot((c - 5) / 2, (v - 40) / 12) <= INSIDE],
    "kiln": [[0.5], [0.6], [0.7], [0.8]],
}
# After how many rounds (5 random points included) the regret is at most a tenth of what ignoring the adversary costs.
ROUNDS = {
    "polynomial": 60,
    "peaks": 20,
    "mooring": 50,
    "alloys": 100,
    "wind": 50,
    "dose": 70,
    "kiln": 40,
    "films": 40,
    "recipe": 60,
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def brute_force(problem):
    """All decisions and their worst cases, one decision at a time."""
    D = problem.domain.points
    if isinstance(problem.uncertainty, Groups):
        members = problem.uncertainty.members
        return list(problem.uncertainty.names), np.array(
            [min(problem.f(D[[i]])[0] for i in group) for group in members]
        )
    thetas = THETA.get(problem.name, [[]])
    values = [problem.f(np.hstack([D, np.tile(theta, (len(D), 1))])) for theta in thetas]
    worst = np.minimum.reduce(values)
    moves = MOVES.get(problem.name)
    return list(D), worst if moves is None else np.array([worst[moves(x, D)].min() for x in D])


def naive_decision(problem):
    """What those report who ignore the adversary."""
    return problem.listing.decision(problem.listing.decision_of(problem.peak[0]))


def run(problem, algorithm, seed, initial, rounds):
    """An optimiser with beta^{1/2} = 2 after some rounds, of which the first are at random points shared by all."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(problem.domain, problem.uncertainty, problem.gp, algorithm=algorithm, beta=4.0)
    for number in rng.choice(problem.listing.reachable, initial, replace=False):
        point = problem.listing.point(int(number))
        optimizer.tell(point, problem.observe(point, rng))
    while len(optimizer.rounds) < rounds:
        query = optimizer.ask()
        optimizer.tell(query, problem.observe(query.point, rng))
    return optimizer


def test_known_optimum_is_what_brute_force_finds(problem):
    decisions, worst = brute_force(problem)
    best = int(np.argmax(worst))
    assert problem.stable_value == pytest.approx(worst[best], rel=1e-9)
    if isinstance(problem.stable_decision, str):
        assert problem.stable_decision == decisions[best]
    else:
        np.testing.assert_allclose(problem.stable_decision, decisions[best], rtol=1e-12)
    for number in np.random.default_rng(0).choice(len(decisions), 20):
        assert problem.worst_case(decisions[number]) == pytest.approx(worst[number], rel=1e-9, abs=1e-12)


def test_regret_is_zero_at_the_stable_decision_and_never_negative(problem):
    assert problem.epsilon_regret(problem.stable_decision) == pytest.approx(0.0, abs=1e-9)
    numbers = np.random.default_rng(1).choice(problem.listing.solver.n_decisions, 20)
    regrets = [problem.epsilon_regret(problem.listing.decision(number)) for number in numbers]
    assert min(regrets) >= -1e-9
    assert max(regrets) > 0.1 * np.ptp(problem.values)


def test_ignoring_the_adversary_is_costly(problem):
    number, value = problem.peak
    assert problem.f(problem.listing.point(number)[None])[0] == pytest.approx(value, rel=1e-9)
    assert value == problem.values[problem.listing.homes].max()
    assert problem.epsilon_regret(naive_decision(problem)) > 0.2 * np.ptp(problem.values)


def test_stableopt_solves_the_problem_and_gp_ucb_does_not(problem):
    cost = problem.epsilon_regret(naive_decision(problem))

    def regrets(algorithm):
        reports = [run(problem, algorithm, seed, 5, ROUNDS[problem.name]).report() for seed in range(3)]
        return [problem.epsilon_regret(report.decision) for report in reports]

    assert max(regrets("StableOpt")) <= 0.1 * cost
    assert np.mean(regrets("GP-UCB")) > 0.3 * cost


def test_observations_are_f_plus_noise_of_the_stated_size(problem):
    point = problem.listing.point(int(problem.listing.reachable[-1]))
    rng = np.random.default_rng(2)
    errors = np.array([problem.observe(point, rng) for _ in range(1000)]) - problem.f(point[None])[0]
    assert abs(errors.mean()) < 5 * problem.noise / 1000**0.5
    assert errors.std() == pytest.approx(problem.noise, rel=0.15)
    assert problem.gp.noise == problem.noise
    with pytest.raises(ValueError, match="coordinates"):
        problem.observe([*point, 0.0], rng)


def test_a_problem_is_found_by_its_name_and_can_be_sent_to_another_process(problem):
    assert getattr(problems, problem.name)() is problem
    assert problem.summary.endswith(".") and problem.summary.count(". ") == 0
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.epsilon_regret(copy.stable_decision) == problem.epsilon_regret(problem.stable_decision)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match=r"polynomial.*got 'peak'"):
        PROBLEMS["peak"]


def test_the_catalogue_is_complete():
    assert set(problems.__all__) == {"PROBLEMS", "Problem", *PROBLEMS}


def test_importing_the_problems_builds_none():
    code = "import sys, numpy, scipy.linalg, stableopt.problems; print('scipy.spatial' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def test_polynomial_has_the_numbers_of_the_paper():
    # Section 5 of the paper, to the four digits that the same grid gives in an independent prototype.
    problem = PROBLEMS["polynomial"]
    number, value = problem.peak
    assert value == pytest.approx(20.8225, abs=5e-5)
    np.testing.assert_allclose(problem.listing.point(number), [2.8227, 4.0081], atol=5e-5)
    assert problem.stable_value == pytest.approx(-4.3334, abs=5e-5)
    np.testing.assert_allclose(problem.stable_decision, [-0.1955, 0.2848], atol=5e-5)
    assert problem.worst_case(naive_decision(problem)) == pytest.approx(-22.3498, abs=5e-5)


def test_wind_punishes_planning_for_the_mean():
    problem = PROBLEMS["wind"]
    mean_wind = problem.values.reshape(-1, 7)[:, 3]
    planned = problem.domain.points[np.argmax(mean_wind)]
    assert problem.epsilon_regret(planned) > 0.1 * np.ptp(problem.values)


def test_peaks_tells_stableopt_from_gp_ucb_within_twenty_rounds():
    # Figure 1 of the paper: 3 shared random points, beta^{1/2} = 2. Of 200 seeds, 94 % and 100 % did as asserted.
    problem, seeds = PROBLEMS["peaks"], range(8)
    cost = problem.epsilon_regret(naive_decision(problem))
    stable = [run(problem, "StableOpt", seed, 3, 14).ask() for seed in seeds]
    greedy = [run(problem, "GP-UCB", seed, 3, 19).ask() for seed in seeds]
    assert sum(problem.epsilon_regret(query.decision) <= 0.1 * cost for query in stable) >= 7
    assert sum(abs(query.point[0] - naive_decision(problem)[0]) <= 0.02 for query in greedy) >= 7
    assert not any(problem.epsilon_regret(query.decision) <= 0.3 * cost for query in greedy)
