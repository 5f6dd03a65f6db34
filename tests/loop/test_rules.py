"""Promises of the rules: each of the paper's algorithms is its formula, in every setting.

The reference is written from the paper with dense linear algebra and lists: Section 2 for the posterior, Algorithm 1,
the baselines of Section 5, eq. (final_point) for Theorem 1, and the supplement for the settings.
"""

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from helpers.adversaries import adversary
from helpers.settings import REPORTING, SCATTERED, SETTINGS, THETA, objective
from hypothesis import given, settings
from hypothesis import strategies as st

from stableopt import (
    ALGORITHMS,
    GP,
    SE,
    Algorithm,
    Ball,
    Estimate,
    Groups,
    Optimizer,
    Parameters,
    Points,
)
from stableopt.loop.rules import (
    BestIntersected,
    BestOfAll,
    BestSoFar,
    BestWhenAsked,
    LargestUcb,
    Last,
    MostPromising,
    OptimisticItself,
    OptimisticPessimistic,
    UniformlyRandom,
)


class Paper:
    """The formulas of the paper for one setting, on the numbers of decisions and points."""

    lengthscale, noise, mean = 0.45, 0.1, 0.3

    def __init__(self, domain, uncertainty, beta):
        self.sets, self.beta = adversary(domain, uncertainty), beta
        parts = getattr(uncertainty, "parts", [uncertainty])
        theta = [p for p in parts if isinstance(p, Parameters | Estimate)]
        X = domain.points
        self.n_theta = len(theta[0].theta) if theta else 1
        self.points = X if not theta else np.array([[*x, *row] for x in X for row in np.asarray(theta[0].theta)])
        known = theta and isinstance(theta[0], Estimate)
        nominal = [k for k in range(self.n_theta) if not known or THETA[k, 0] == theta[0].estimate[0]]
        if isinstance(uncertainty, Groups):
            self.home = self.sets
            self.stands_for = [next(g for g, s in enumerate(self.sets) if z in s) for z in range(len(X))]
        else:
            self.home = [[d * self.n_theta + k for k in nominal] for d in range(len(X))]
            self.stands_for = [z // self.n_theta for z in range(len(self.points))]
        self.reachable = sorted({z for members in self.sets for z in members})

    def gp(self):
        return GP(SE(self.lengthscale), self.noise, self.mean)

    def bounds(self, told):
        """lcb_t and ucb_t (Section 2)."""
        at, y = [z for z, _ in told], np.array([y for _, y in told])
        K = np.exp(-((self.points[:, None] - self.points[None]) ** 2).sum(axis=-1) / (2 * self.lengthscale**2))
        if not told:
            mean, variance = np.full(len(K), self.mean), np.diag(K)
        else:
            solved = np.linalg.solve(K[np.ix_(at, at)] + self.noise**2 * np.eye(len(at)), K[at])
            mean = self.mean + (y - self.mean) @ solved
            variance = np.diag(K) - (K[at] * solved).sum(axis=0)
        width = np.sqrt(self.beta) * np.sqrt(variance)
        return mean - width, mean + width

    def worst(self, decision, values):
        return min(values[z] for z in self.sets[decision])

    def best(self, values, among=None):
        among = range(len(self.sets)) if among is None else among
        return max(among, key=lambda d: (self.worst(d, values), -d))

    def sample(self, name, lcb, ucb):
        """(decision, point) of an algorithm's next round, or None where it is random."""
        robust = self.best(ucb)
        if name == "StableOpt":
            return robust, min(self.sets[robust], key=lambda z: (lcb[z], z))
        if name == "MaxiMin-GP-UCB":
            return robust, min(self.home[robust], key=lambda z: (ucb[z], z))
        if name in ("GP-UCB", "Stable-GP-UCB"):
            point = max((z for home in self.home for z in home), key=lambda z: (ucb[z], -z))
            return self.stands_for[point], point
        return None


def generic_start(optimizer, paper, rng):
    """Three values at random points, so that no symmetry of a grid makes a tie that rounding decides."""
    told = []
    for z in rng.choice(len(paper.points), 3, replace=False):
        optimizer.tell(paper.points[z], float(rng.normal()))
        told.append((int(z), optimizer.rounds[-1].y))
    return told


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("where", SETTINGS)
def test_an_algorithm_is_its_formula(name, where):
    domain, uncertainty = SETTINGS[where]
    rng = np.random.default_rng([len(where), len(name)])
    paper = Paper(domain, uncertainty, beta=2.25)
    optimizer = Optimizer(domain, uncertainty, paper.gp(), algorithm=name, beta=2.25, seed=5)
    told = generic_start(optimizer, paper, rng)
    decisions = []  # of the rounds that were asked for: the data at the start serve none
    for t in range(4, 12):
        lcb, ucb = paper.bounds(told)
        query = optimizer.ask()
        expected = paper.sample(name, lcb, ucb)
        if expected is None:
            assert query.point_index in paper.reachable
            assert query.decision_index == paper.stands_for[query.point_index]
        else:
            assert (query.decision_index, query.point_index) == expected
        assert query.t == t
        assert query.point.tolist() == paper.points[query.point_index].tolist()
        assert query.lower == pytest.approx(paper.worst(query.decision_index, lcb), abs=1e-9)
        assert optimizer.state.optimistic.value == pytest.approx(paper.worst(paper.best(ucb), ucb), abs=1e-9)
        y = float(objective(query.point) + 0.1 * rng.normal())
        optimizer.tell(query, y)
        told.append((query.point_index, y))
        decisions.append(query.decision_index)

        lcb, ucb = paper.bounds(told)
        report = optimizer.report()
        reported = decisions[-1] if name in ("GP-UCB", "MaxiMin-GP-UCB") else paper.best(lcb, sorted(set(decisions)))
        assert report.decision_index == reported
        assert report.lower == pytest.approx(paper.worst(reported, lcb), abs=1e-9)
        assert report.upper == pytest.approx(paper.worst(reported, ucb), abs=1e-9)
        assert report.optimum_upper == pytest.approx(paper.worst(paper.best(ucb), ucb), abs=1e-9)
        assert report.worst_point_index == min(paper.sets[reported], key=lambda z: (lcb[z], z))


@pytest.mark.parametrize("rule", REPORTING)
@pytest.mark.parametrize("where", SETTINGS)
def test_a_reporting_rule_is_its_formula(rule, where):
    domain, uncertainty = SETTINGS[where]
    rng = np.random.default_rng([len(where), len(rule)])
    paper = Paper(domain, uncertainty, beta=1.0)
    chosen = Algorithm("mine", OptimisticPessimistic(), REPORTING[rule])
    optimizer = Optimizer(domain, uncertainty, paper.gp(), algorithm=chosen, beta=1.0)
    told, decisions = [], []
    history = [paper.bounds(told)]
    start = [(int(z), float(rng.normal())) for z in rng.choice(len(paper.points), 3, replace=False)]
    for t in range(9):
        if t < 3:
            point, y = start[t]
            optimizer.tell(paper.points[point], y)
            decisions.append(paper.stands_for[point])
        else:
            query = optimizer.ask()
            point, y = query.point_index, float(objective(query.point) + 0.1 * rng.normal())
            optimizer.tell(query, y)
            decisions.append(query.decision_index)
        told.append((point, y))
        history.append(paper.bounds(told))
        lcb, ucb = history[-1]
        lower, upper = np.max([h[0] for h in history], axis=0), np.min([h[1] for h in history], axis=0)
        eligible = range(3 if t >= 3 else 0, len(decisions))  # data stand for decisions only until a round is asked for
        tried = sorted({decisions[i] for i in eligible})
        # eq. (final_point): the bound of round τ is lcb_{τ−1}
        when_asked = max(eligible, key=lambda i: (paper.worst(decisions[i], history[i][0]), -i))
        expected = {
            "BestSoFar": paper.best(lcb, tried),
            "BestWhenAsked": decisions[when_asked] if t >= 3 else paper.best(lcb, tried),
            "BestIntersected": paper.best(lower, tried),
            "BestOfAll": paper.best(lcb),
            "BestExpected": paper.best((lcb + ucb) / 2),
            "MostPromising": paper.best(ucb),
            "Last": decisions[-1],
        }[rule]
        report = optimizer.report()
        assert report.decision_index == expected
        if rule != "BestIntersected":
            lower, upper = lcb, ucb
        assert report.lower == pytest.approx(paper.worst(expected, lower), abs=1e-9)
        assert report.upper == pytest.approx(paper.worst(expected, upper), abs=1e-9)
        assert report.optimum_upper == pytest.approx(paper.worst(paper.best(upper), upper), abs=1e-9)
        assert all(r.lower == -np.inf for r in optimizer.rounds[:3])
        assert [r.lower for r in optimizer.rounds[3:]] == pytest.approx(
            [paper.worst(d, h[0]) for d, h in list(zip(decisions, history, strict=False))[3:]], abs=1e-9
        )


def test_the_algorithms_differ_where_the_paper_says_so():
    """A negative control: with one transcription for all, the comparison above would prove nothing."""
    domain, uncertainty = SETTINGS["ball on a grid"]
    paper = Paper(domain, uncertainty, beta=2.25)
    chosen = set()
    for name in ALGORITHMS:
        optimizer = Optimizer(domain, uncertainty, paper.gp(), algorithm=name, beta=2.25)
        generic_start(optimizer, paper, np.random.default_rng(1))
        query = optimizer.ask()
        chosen.add((query.decision_index, query.point_index))
    assert len(chosen) == 4  # Stable-GP-UCB samples like GP-UCB


@pytest.mark.parametrize("where", SETTINGS)
def test_random_points_are_uniform_and_every_round_draws_anew(where):
    domain, uncertainty = SETTINGS[where]
    paper = Paper(domain, uncertainty, 4.0)
    state = Optimizer(domain, uncertainty, paper.gp(), algorithm="Stable-GP-Random").state
    repeats = 60 * len(paper.reachable)
    counts = Counter(UniformlyRandom().sample(state, seed).point for seed in range(repeats))
    assert sorted(counts) == paper.reachable
    # χ² with n − 1 degrees of freedom: mean n − 1, variance 2(n − 1)
    freedom = len(paper.reachable) - 1
    chi2 = sum((c - 60) ** 2 / 60 for c in counts.values())
    assert abs(chi2 - freedom) < 4 * np.sqrt(2 * freedom)


# ------------------------------------------------------------------------------------------------------ properties

RUNS = st.tuples(
    st.sampled_from(sorted(SETTINGS)), st.integers(0, 10**6), st.integers(1, 7), st.sampled_from([0.1, 1.0, 9.0])
)


def run(where, seed, rounds, beta, reporting, sampling=None):
    """A run on values that the prior finds plausible, and all its states."""
    domain, uncertainty = SETTINGS[where]
    chosen = Algorithm("mine", OptimisticPessimistic() if sampling is None else sampling, reporting)
    optimizer = Optimizer(domain, uncertainty, GP(SE(0.4), 0.1), algorithm=chosen, beta=beta, seed=seed)
    rng, states = np.random.default_rng(seed), [optimizer.state]
    for _ in range(rounds):
        optimizer.tell(optimizer.ask(), float(rng.normal()))
        states.append(optimizer.state)
    return optimizer, states


@given(RUNS)
@settings(max_examples=60)
def test_intersected_bounds_only_tighten_and_certify_no_less(case):
    intersected, states = run(*case, BestIntersected())
    plain, _ = run(*case, BestSoFar())
    for before, after in itertools.pairwise(states):
        assert np.all(after.intersected.lower >= before.intersected.lower)
        assert np.all(after.intersected.upper <= before.intersected.upper)
        assert np.all(after.intersected.lower >= after.lcb) and np.all(after.intersected.upper <= after.ucb)
    assert intersected.rounds[-1].decision_index == plain.rounds[-1].decision_index  # they sample alike
    assert intersected.report().lower >= plain.report().lower
    assert intersected.report().optimum_upper <= plain.report().optimum_upper


@given(RUNS)
@settings(max_examples=60)
def test_intersected_certificates_never_get_worse_over_the_rounds(case):
    where, seed, rounds, beta = case
    reports = [run(where, seed, t, beta, BestIntersected())[0].report() for t in range(1, rounds + 1)]
    lower, optimum = [r.lower for r in reports], [r.optimum_upper for r in reports]
    assert lower == sorted(lower) and optimum == sorted(optimum, reverse=True)


@given(RUNS)
@settings(max_examples=60)
def test_the_best_of_all_decisions_is_certified_at_least_as_well_as_the_best_so_far(case):
    best_of_all, best_so_far = run(*case, BestOfAll())[0].report(), run(*case, BestSoFar())[0].report()
    assert best_of_all.lower >= best_so_far.lower
    assert best_of_all.regret_bound <= best_so_far.regret_bound
    for other in (BestWhenAsked(), Last(), MostPromising()):
        assert best_of_all.lower >= run(*case, other)[0].report().lower


@given(RUNS)
@settings(max_examples=60)
def test_the_most_promising_decision_is_the_last_one_before_it_was_measured(case):
    optimizer, states = run(*case, MostPromising())
    assert optimizer.rounds[-1].decision_index == MostPromising().choose(states[-2])


@given(RUNS)
@settings(max_examples=40)
def test_without_an_adversary_stableopt_and_maximin_are_gp_ucb(case):
    _, seed, rounds, beta = case
    domain, rng = SCATTERED, np.random.default_rng(seed)
    values = rng.normal(size=rounds)
    asked = []
    for rule in (OptimisticPessimistic(), OptimisticItself(), LargestUcb()):
        optimizer = Optimizer(domain, Ball(0.0), GP(SE(0.4), 0.1), algorithm=Algorithm("mine", rule, Last()), beta=beta)
        for y in values:
            optimizer.tell(optimizer.ask(), float(y))
        asked.append([(r.decision_index, r.point_index) for r in optimizer.rounds])
    assert asked[0] == asked[1] == asked[2]


def test_theorem_one_reports_the_earliest_of_equal_bounds():
    optimizer = Optimizer(
        Points([0.0, 5.0, 9.0]),
        Ball(0.0),
        GP(SE(0.1), 0.1),
        algorithm=Algorithm("mine", LargestUcb(), BestWhenAsked()),
    )
    for x in (9.0, 0.0, 5.0):
        optimizer.tell([x], 1.0, decision=[x])
    assert [r.lower for r in optimizer.rounds] == pytest.approx([-2.0] * 3)
    assert optimizer.report().decision.tolist() == [9.0]


def test_of_equal_decisions_the_one_with_the_lowest_number_is_reported_whatever_came_first():
    domain = Points([0.0, 5.0, 9.0, 20.0])
    for rule in (BestSoFar(), BestIntersected(), BestOfAll()):
        chosen = Algorithm("mine", LargestUcb(), rule)
        optimizer = Optimizer(domain, Ball(0.0), GP(SE(0.1), 0.1), algorithm=chosen)
        for x in (9.0, 5.0, 9.0, 5.0):
            optimizer.tell(x, 1.0, decision=x)
        assert optimizer.report().decision.tolist() == [5.0]


def test_the_five_algorithms_are_the_papers_table():
    assert {name: (type(a.sampling).__name__, type(a.reporting).__name__) for name, a in ALGORITHMS.items()} == {
        "StableOpt": ("OptimisticPessimistic", "BestSoFar"),
        "Stable-GP-UCB": ("LargestUcb", "BestSoFar"),
        "Stable-GP-Random": ("UniformlyRandom", "BestSoFar"),
        "MaxiMin-GP-UCB": ("OptimisticItself", "Last"),
        "GP-UCB": ("LargestUcb", "Last"),
    }
    for name, chosen in ALGORITHMS.items():
        assert chosen.name == name
        found = {Algorithm.named(n) for n in (name, name.lower(), name.upper(), chosen)}
        assert found == {chosen} and all(Algorithm.named(n) is chosen for n in (name, name.upper()))


def test_rules_are_plain_values():
    assert BestSoFar() == BestSoFar() and BestSoFar() != Last() and hash(Last()) == hash(Last())
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALGORITHMS["StableOpt"].name = "other"
