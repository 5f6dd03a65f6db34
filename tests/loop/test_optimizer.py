"""Promises of the loop: asking changes nothing, a run can be stopped, stored and replayed, and reports hold."""

import copy
import dataclasses
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from helpers.adversaries import adversary, polynomial
from helpers.runs import content
from helpers.settings import REPORTING, SETTINGS, asymmetric, objective
from hypothesis import given, settings
from hypothesis import strategies as st

import stableopt as so
from stableopt import (
    ALGORITHMS,
    GP,
    SE,
    Algorithm,
    Ball,
    Categorical,
    Distance,
    Estimate,
    Grid,
    Groups,
    Hamming,
    Matern,
    Optimizer,
    Parameters,
    Points,
    Query,
    Rectangle,
    Space,
)
from stableopt.loop.answers import ends, readable
from stableopt.loop.measurements import Measurement
from stableopt.loop.rules import BestIntersected, BestSoFar, LargestUcb, OptimisticPessimistic, ReportingRule
from stableopt.loop.updates import after

FUNCTIONS = {"asymmetric": asymmetric}


def start(where, algorithm="StableOpt", kernel=None, noise=0.1, **options):
    domain, uncertainty = SETTINGS[where]
    return Optimizer(domain, uncertainty, GP(kernel or SE(0.4), noise), algorithm=algorithm, **options)


def go_on(optimizer, rounds, seed=0):
    rng = np.random.default_rng([seed, len(optimizer.rounds)])
    for _ in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, float(objective(query.point) + 0.1 * rng.normal()))
    return optimizer


def same(one, other):
    """Whether two optimisers are in the same state, bit for bit, and do the same next."""
    mine, theirs = one.state, other.state
    for name in ("mean", "variance", "std", "observed", "information_gain"):
        assert np.array_equal(getattr(mine.posterior, name), getattr(theirs.posterior, name)), name
    assert np.array_equal(mine.lcb, theirs.lcb) and np.array_equal(mine.ucb, theirs.ucb)
    assert (mine.intersected is None) == (theirs.intersected is None)
    if mine.intersected is not None:
        for name in ("lower", "upper"):
            assert np.array_equal(getattr(mine.intersected, name), getattr(theirs.intersected, name))
    assert [content(r) for r in one.rounds] == [content(r) for r in other.rounds]
    assert content(one.ask()) == content(other.ask())
    if one.rounds:
        assert content(one.report()) == content(other.report())
    return True


# --------------------------------------------------------------------------------------------------- ask and tell


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("where", SETTINGS)
def test_asking_and_reporting_change_nothing(where, name):
    optimizer = go_on(start(where, name), 3)
    before, text = optimizer.state, optimizer.to_json()
    mean, variance = before.posterior.mean.copy(), before.posterior.variance.copy()
    queries, reports = [optimizer.ask() for _ in range(3)], [optimizer.report() for _ in range(3)]
    np.random.seed(1)  # a rule that used NumPy's own generator would now differ
    queries.append(optimizer.ask())
    assert all(content(q) == content(queries[0]) for q in queries)
    assert all(content(r) == content(reports[0]) for r in reports)
    assert np.array_equal(optimizer.decide(), reports[0].decision)
    assert optimizer.state is before and optimizer.to_json() == text
    assert np.array_equal(before.posterior.mean, mean) and np.array_equal(before.posterior.variance, variance)


def test_a_random_run_replays_with_its_seed_and_only_with_it():
    asked = [
        [r.point_index for r in go_on(start("ball on a grid", "Stable-GP-Random", seed=seed), 8).rounds]
        for seed in (3, 3, 4, np.int64(4), 2**70)
    ]
    assert asked[0] == asked[1] and asked[2] == asked[3]
    assert len({tuple(a) for a in asked}) == 3
    assert len(set(asked[0])) > 3, "every round draws anew"


def test_the_random_point_of_a_round_does_not_depend_on_what_was_told_before():
    one, other = (start("ball on points", "Stable-GP-Random", seed=3) for _ in range(2))
    one.tell(one.ask(), 1.0)
    other.tell(one.state.setting.translation.point(5), -3.0)
    assert one.ask().point_index == other.ask().point_index


@given(st.data())
@settings(max_examples=40)
def test_telling_rows_is_telling_them_one_by_one(data):
    where = data.draw(st.sampled_from(sorted(SETTINGS)))
    at_once, one_by_one = start(where), start(where)
    n = at_once.state.setting.translation.solver.n_points
    chosen = data.draw(st.lists(st.integers(0, n - 1), max_size=6))
    values = data.draw(st.lists(st.floats(-5, 5), min_size=len(chosen), max_size=len(chosen)))
    rows = at_once.state.posterior.points[chosen]
    at_once.tell(rows, values)
    for row, y in zip(rows, values, strict=True):
        one_by_one.tell(row.tolist(), y)
    assert same(at_once, one_by_one)
    assert [r.point_index for r in at_once.rounds] == chosen
    assert [r.t for r in at_once.rounds] == list(range(1, len(chosen) + 1))


@given(st.data())
@settings(max_examples=30)
def test_the_order_of_the_data_does_not_matter(data):
    where = data.draw(st.sampled_from(sorted(SETTINGS)))
    one, other = start(where), start(where)
    chosen = data.draw(
        st.lists(st.integers(0, one.state.setting.translation.solver.n_points - 1), min_size=1, max_size=6)
    )
    told = [(i, float(i % 3)) for i in chosen]
    for optimizer, order in ((one, told), (other, data.draw(st.permutations(told)))):
        for index, y in order:
            optimizer.tell(optimizer.state.setting.translation.point(index), y)
    np.testing.assert_allclose(one.state.lcb, other.state.lcb, atol=1e-9)
    np.testing.assert_allclose(one.state.ucb, other.state.ucb, atol=1e-9)


def test_a_point_that_was_not_asked_for_serves_the_decision_that_it_stands_for():
    grid = start("ball on a grid")
    grid.tell([0.5, 1.0], 1.0)
    assert grid.rounds[0].decision.tolist() == grid.rounds[0].point.tolist() == [0.5, 1.0]
    theta = start("ball × parameters")
    theta.tell([0.25, 0.8], 1.0)
    assert theta.rounds[0].decision.tolist() == [0.25] and theta.rounds[0].point.tolist() == [0.25, 0.8]
    groups = start("overlapping groups")
    groups.tell(groups.state.setting.translation.point(17), 1.0)
    assert groups.rounds[0].decision == 1
    groups.tell(groups.state.setting.translation.point(17), 1.0, decision=3)
    assert groups.rounds[1].decision == 3


def test_another_point_than_the_asked_one_may_serve_the_asked_decision():
    optimizer = go_on(start("ball on a grid"), 2)
    query = optimizer.ask()
    optimizer.tell([0.5, 1.0], 2.0, decision=query.decision)
    last = optimizer.rounds[-1]
    assert last.decision_index == query.decision_index and last.point.tolist() == [0.5, 1.0]
    optimizer.tell(query, 2.0, decision=[0.0, 2.0])
    last = optimizer.rounds[-1]
    assert last.point_index == query.point_index and last.decision.tolist() == [0.0, 2.0]


def test_a_query_may_be_told_late_and_twice():
    optimizer = start("ball on a grid")
    first = optimizer.ask()
    go_on(optimizer, 2)
    optimizer.tell(first, 0.5)
    optimizer.tell(first, 0.7)
    assert [r.point_index for r in optimizer.rounds[2:]] == [first.point_index] * 2
    assert [r.t for r in optimizer.rounds] == [1, 2, 3, 4]


def test_a_query_of_another_optimiser_is_told_at_its_own_point_or_refused():
    gp = GP(SE(0.3), 0.1)
    asker = Optimizer(Points([0.5, 0.0, 1.0]), Ball(0.0), gp)
    asker.tell(0.5, -3.0)
    query = asker.ask()
    listener = Optimizer(Points([0.0, 0.5, 1.0]), Ball(0.0), gp)
    try:
        listener.tell(query, 7.0)
    except ValueError:
        assert listener.rounds == ()
    else:
        assert listener.rounds[-1].point.tolist() == query.point.tolist()


def test_coordinates_are_found_in_spite_of_rounding():
    optimizer = Optimizer(Grid.linspace([0, 0], [1, 3], [11, 7]), Ball(0.2), GP(SE(0.3), 0.1))
    optimizer.tell([0.1 + 0.2, 0.5 * 3 + 1e-12], 1.0)
    assert optimizer.rounds[0].point_index == 3 * 7 + 3


def test_nearly_equal_points_are_told_apart():
    optimizer = Optimizer(Points([0.0, 1e-10, 2e-10, 1.0]), Ball(0.1), GP(SE(0.3), 0.1))
    optimizer.tell([[2e-10], [0.0], [1e-10]], [1.0, 2.0, 3.0])
    assert [r.point_index for r in optimizer.rounds] == [2, 0, 1]


def test_scattered_points_are_found_exactly_and_in_spite_of_rounding():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    rows[:, 0] = np.round(rows[:, 0])  # many share their first coordinate, which is 0.0 or -0.0 for some
    rows[1] = np.nextafter(rows[0], np.inf)
    domain = Points(rows)
    assert [domain.locate(row) for row in rows + 0.0] == list(range(60))
    assert [domain.locate(row * (1 + 1e-14)) for row in rows[2:]] == list(range(2, 60))
    with pytest.raises(ValueError, match="is not in the domain; the nearest that is: "):
        domain.locate(rows[5] + [0, 0, 1e-6])


def test_a_domain_of_one_point_works():
    for domain in (Points([[1.0, 2.0]]), Grid([[1.0], [2.0]])):
        for uncertainty in (Ball(0.5), Groups([[0]]), Parameters([3.0]), Hamming(1)):
            optimizer = Optimizer(domain, uncertainty, GP(SE(0.3), 0.1))
            optimizer.tell(optimizer.ask(), 2.0)
            assert optimizer.report().lower < 2.0 < optimizer.report().upper + 0.1
            assert same(Optimizer.from_json(optimizer.to_json()), optimizer)


# ------------------------------------------------------------------------------------- nothing that is known changes


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy} | {
    f"pickle {p}": lambda value, p=p: pickle.loads(pickle.dumps(value, protocol=p)) for p in (4, 5)
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("where", SETTINGS)
def test_what_the_optimiser_or_its_copy_hands_out_is_read_only(where, way):
    optimizer = way(go_on(start(where, Algorithm("mine", OptimisticPessimistic(), BestIntersected())), 2))
    state, query, report = optimizer.state, optimizer.ask(), optimizer.report()
    arrays = {
        "query.point": query.point,
        "query.decision": query.decision,
        "report.decision": report.decision,
        "report.worst_point": report.worst_point,
        "round.point": optimizer.rounds[0].point,
        "round.decision": optimizer.rounds[0].decision,
        "lcb": state.lcb,
        "ucb": state.ucb,
        "intersected lcb": state.intersected.lower,
        "intersected ucb": state.intersected.upper,
        "mean": state.posterior.mean,
        "variance": state.posterior.variance,
        "points": state.posterior.points,
        "domain": state.setting.domain.points,
    }
    writeable = [name for name, array in arrays.items() if isinstance(array, np.ndarray) and array.flags.writeable]
    assert writeable == []
    for value in (state, query, report, optimizer.rounds[0]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.t = 7


THROWN = [Measurement(1, 5.0, 0), Measurement(2, -5.0, 1)]


@pytest.mark.parametrize("where", ["ball on a grid", "ball on points", "parameters", "groups"])
@pytest.mark.parametrize("kernel", [SE(0.4), Matern(2.5, 0.4)], ids=["SE", "Matern"])
def test_an_old_state_stays_what_it_was(where, kernel):
    optimizer = go_on(start(where, kernel=kernel), 3)
    old = optimizer.state
    before = np.array([old.posterior.mean, old.posterior.variance, old.lcb, old.ucb])
    fantasy = after(after(old, THROWN[:1]), THROWN[1:])  # a throw-away state
    reference = go_on(start(where, kernel=kernel), 3)
    go_on(optimizer, 3), go_on(reference, 3)
    assert same(optimizer, reference)
    assert np.array_equal(before, [old.posterior.mean, old.posterior.variance, old.lcb, old.ucb])
    again = after(go_on(start(where, kernel=kernel), 3).state, THROWN)
    assert np.array_equal(fantasy.posterior.mean, again.posterior.mean)
    assert old.t == 3 and fantasy.t == 5


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("where", SETTINGS)
def test_a_copied_optimiser_goes_on_identically_and_alone(way, where):
    for kernel, algorithm in ((SE(0.4), "Stable-GP-Random"), (Matern(1.5, 0.4), "StableOpt")):
        original = go_on(start(where, algorithm, kernel), 3)
        duplicate = way(original)
        assert same(original, duplicate)
        duplicate.tell(duplicate.ask(), 5.0)
        assert len(original.rounds) == 3
        original.tell(original.ask(), 5.0)
        go_on(original, 2), go_on(duplicate, 2)
        assert same(original, duplicate)
        other = way(original)
        other.tell(other.ask(), 100.0)
        go_on(original, 1), go_on(duplicate, 1)
        assert same(original, duplicate)


# ----------------------------------------------------------------------------------------------------------- JSON


def strict(text):
    """JSON as others read it: Python's NaN and Infinity are not."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("where", SETTINGS)
def test_a_stored_run_replays_bit_for_bit(where, name):
    optimizer = start(where, name, seed=11, beta=2.5)
    assert same(Optimizer.from_json(optimizer.to_json(), FUNCTIONS), optimizer)
    optimizer.tell(optimizer.state.setting.translation.point(4), 0.1 + 0.2)
    optimizer.tell(
        optimizer.state.setting.translation.point(4), -0.0, decision=optimizer.state.setting.translation.decision(2)
    )
    go_on(optimizer, 4)
    text = optimizer.to_json()
    strict(text)
    replayed = Optimizer.from_json(text, FUNCTIONS)
    assert same(replayed, optimizer)
    assert replayed.to_json() == text
    assert (replayed.gp, replayed.algorithm, replayed.seed) == (optimizer.gp, optimizer.algorithm, optimizer.seed)
    assert replayed.state.setting.domain == optimizer.state.setting.domain
    assert replayed.state.setting.uncertainty == optimizer.state.setting.uncertainty
    assert same(go_on(replayed, 3), go_on(optimizer, 3))


@pytest.mark.parametrize("rule", REPORTING)
def test_a_stored_run_replays_with_any_reporting_rule(rule):
    chosen = Algorithm("mine", OptimisticPessimistic(), REPORTING[rule])
    optimizer = go_on(start("ball on a grid", chosen), 5)
    assert same(Optimizer.from_json(optimizer.to_json()), optimizer)


PRIORS = {
    "SE": GP(SE([0.4, 0.7]), 0.1, 2.0),
    "sum": GP(0.1 * SE(0.3) + 2.0 * Matern(2.5, [0.4, 1.0]), 1e-3),
    "product": GP(SE(0.3).on([0]) * Matern(1.5, 0.2).on([1]), 0.1),
    "categorical": GP(Categorical(0.3).on([1]) * SE(0.3).on([0]), 0.1),
    "linear": GP.linear([0.5, -1.0], [[1.0, 0.3], [0.3, 2.0]], 0.1),
    "no noise": GP(1e10 * SE(0.3), 1e-12),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("where", ["ball on a grid", "ball on points"])
def test_a_stored_run_replays_with_any_prior(prior, where):
    domain, _ = SETTINGS[where]
    optimizer = go_on(Optimizer(domain, Ball(0.4), PRIORS[prior]), 6)
    assert same(Optimizer.from_json(optimizer.to_json()), optimizer)


@given(st.lists(st.floats(-1e140, 1e140, allow_subnormal=True), min_size=1, max_size=4), st.floats(1e-300, 1e300))
@settings(max_examples=50)
def test_no_number_is_rounded_in_json(values, beta):
    optimizer = Optimizer(Points([0.1, 1 / 3, 1e-17]), Ball(0.1), GP(SE(1 / 3), 1 / 7, 1e-5), beta=beta)
    for i, y in enumerate(values):
        optimizer.tell(optimizer.state.setting.translation.point(i % 3), y)
    replayed = Optimizer.from_json(optimizer.to_json())
    assert [r.y for r in replayed.rounds] == values
    assert replayed.state.beta == beta
    assert np.array_equal(replayed.state.posterior.mean, optimizer.state.posterior.mean)


@pytest.mark.parametrize(
    "names", [["b", "a"], [7, 3], [2, "1"], ["é", "∅"], np.array([10, 20]), np.array(["x", "y"])], ids=repr
)
def test_a_stored_run_replays_with_the_names_of_its_groups(names):
    optimizer = Optimizer(Points([0.0, 1.0, 2.0]), Groups([[0, 1], [1, 2]], names), GP(SE(0.5), 0.1))
    go_on(optimizer, 3)
    optimizer.tell(1.0, 0.3, decision=names[1])
    replayed = Optimizer.from_json(optimizer.to_json())
    assert same(replayed, optimizer)
    assert replayed.rounds[-1].decision == names[1]


def test_a_run_with_a_distance_of_ones_own_needs_it_by_name():
    optimizer = go_on(start("distance"), 2)
    with pytest.raises(ValueError, match=r"functions=\{'asymmetric'"):
        Optimizer.from_json(optimizer.to_json())
    with pytest.raises(ValueError, match="asymmetric"):
        Optimizer.from_json(optimizer.to_json(), {"another": asymmetric})
    assert same(Optimizer.from_json(optimizer.to_json(), functions={"asymmetric": asymmetric}), optimizer)


def test_a_run_with_a_distance_on_the_parameters_replays():
    theta = Estimate([[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]], [1.0, 0.5], Distance(asymmetric, 0.6))
    optimizer = go_on(Optimizer(Points([0.0, 0.5, 1.0]), theta, GP(SE(0.5), 0.1)), 3)
    assert same(Optimizer.from_json(optimizer.to_json(), FUNCTIONS), optimizer)


# -------------------------------------------------------------------------------------------------------- reports


@given(
    st.sampled_from(sorted(SETTINGS)),
    st.sampled_from([*ALGORITHMS, *REPORTING]),
    st.integers(0, 10**6),
    st.sampled_from([0.01, 1.0, 4.0, 100.0]),
)
@settings(max_examples=150)
def test_the_bounds_of_a_report_are_consistent(where, name, seed, beta):
    beta = 100.0 if name == "BestIntersected" else beta  # then all of these values are plausible
    chosen = name if name in ALGORITHMS else Algorithm("mine", OptimisticPessimistic(), REPORTING[name])
    domain, uncertainty = SETTINGS[where]
    optimizer = start(where, chosen, beta=beta, seed=seed)
    rng, sets = np.random.default_rng(seed), adversary(domain, uncertainty)
    for t in range(1, 6):
        query = optimizer.ask()
        assert query.lower <= optimizer.state.optimistic.value and optimizer.state.optimistic.exact
        optimizer.tell(query, float(rng.normal()))
        report = optimizer.report()
        assert report.lower <= report.upper <= report.optimum_upper
        assert not report.contradictory
        assert report.regret_bound == report.optimum_upper - report.lower >= 0
        assert report.worst_point_index in sets[report.decision_index]
        setting = optimizer.state.setting.translation
        assert report.worst_point.tolist() == setting.point(report.worst_point_index).tolist()
        assert setting.decision_index(report.decision) == report.decision_index
        assert report.t == t and report.exact


def prior_draw(optimizer, rng):
    """f ~ GP(mean, kernel) on all points of a setting."""
    posterior = optimizer.state.posterior
    K = posterior.kernel(posterior.points, posterior.points)
    values, vectors = np.linalg.eigh(K)
    return posterior.mean + vectors @ (np.sqrt(np.maximum(values, 0)) * rng.normal(size=len(K)))


def misses(beta, rules, runs):
    """How often a bound of a report or query excludes the truth, over runs on functions that the prior draws."""
    count = 0
    for where in SETTINGS:
        domain, uncertainty = SETTINGS[where]
        sets = adversary(domain, uncertainty)
        for run in range(runs):
            for rule in rules:
                rng = np.random.default_rng([run, len(where)])
                chosen = ALGORITHMS.get(rule) or Algorithm("mine", OptimisticPessimistic(), REPORTING[rule])
                optimizer = start(where, chosen, beta=beta, seed=run)
                f = prior_draw(optimizer, rng)
                truth = np.array([f[members].min() for members in sets])
                for _ in range(8):
                    query = optimizer.ask()
                    count += not query.lower <= truth[query.decision_index]
                    count += not truth.max() <= optimizer.state.optimistic.value
                    optimizer.tell(query, float(f[query.point_index] + 0.1 * rng.normal()))
                    report = optimizer.report()
                    count += not report.lower <= truth[report.decision_index] <= report.upper
                    count += not truth.max() <= report.optimum_upper
                    count += not truth.max() - truth[report.decision_index] <= report.regret_bound
    return count


def test_wide_bounds_contain_the_truth_and_narrow_ones_do_not():
    rules = ["StableOpt", "Stable-GP-Random", "BestIntersected", "BestOfAll"]
    assert misses(36.0, rules, 3) == 0  # six standard deviations
    assert misses(0.04, rules, 1) > 100


def test_intersected_bounds_that_exclude_each_other_say_so():
    """A lower bound above the upper one certifies nothing; two standard deviations do not hold for 60 rounds."""
    domain, contradictory = Grid.linspace(0, 1, 40), []
    for run in range(12):
        rng = np.random.default_rng(run)
        chosen = Algorithm("mine", OptimisticPessimistic(), BestIntersected())
        optimizer = Optimizer(domain, Ball(0.05), GP(SE(0.1), 0.1), algorithm=chosen)
        f = prior_draw(optimizer, rng)
        for _ in range(60):
            query = optimizer.ask()
            optimizer.tell(query, float(f[query.point_index] + 0.1 * rng.normal()))
        report = optimizer.report()
        assert report.contradictory == (report.lower > report.upper)
        assert ("exclude each other" in str(report)) == report.contradictory
        assert report.contradictory or report.upper <= report.optimum_upper
        contradictory.append(report.contradictory)
    assert 0 < sum(contradictory) < 12


def test_beta_enters_with_its_root():
    state = Optimizer(Points([0.0, 1.0]), Ball(0.0), GP(9.0 * SE(0.3), 0.1, 5.0)).state
    assert state.beta == 4.0
    assert state.lcb.tolist() == [-1.0, -1.0] and state.ucb.tolist() == [11.0, 11.0]


def test_a_report_reads_like_a_sentence():
    optimizer = Optimizer(Points([0.0, 1.0]), Ball(0.0), GP(SE(0.3), 0.1))
    optimizer.tell(1.0, 2.0)
    text = str(optimizer.report())
    assert text.startswith("decision [1] after 1 round")
    assert "between 1.781 and 2.179" in text
    groups = Optimizer(Points([0.0, 1.0]), Groups({"low": [0], "high": [1]}), GP(SE(0.3), 0.1))
    groups.tell(1.0, 2.0)
    assert "'high'" in str(groups.report())


# ------------------------------------------------------------------------------------------------------ whole runs


def test_stableopt_finds_the_broad_peak_and_gp_ucb_the_high_one():
    """A narrow peak of height 2 and a broad one of height 1: Figure 1 of the paper."""
    grid = Grid.linspace(0, 1, 101)
    x = grid.points[:, 0]
    f = 2 * np.exp(-(((x - 0.2) / 0.03) ** 2)) + np.exp(-(((x - 0.7) / 0.2) ** 2))
    reported = {}
    for name in ("StableOpt", "GP-UCB"):
        optimizer = Optimizer(grid, Ball(0.1), GP(SE(0.05), 0.01), algorithm=name)
        for _ in range(60):
            query = optimizer.ask()
            optimizer.tell(query, float(f[query.point_index]))
        reported[name] = optimizer.report()
    assert reported["StableOpt"].decision == pytest.approx([0.7], abs=0.03)
    assert reported["StableOpt"].lower == pytest.approx(math.exp(-0.25), abs=0.05)
    assert reported["GP-UCB"].decision == pytest.approx([0.2], abs=0.03)


def test_stableopt_finds_the_stable_optimum_of_the_papers_polynomial():
    # g* = −4.333 on the 100 × 100 grid; on this 34 × 34 one the brute force of the solver gives the optimum.
    grid = Grid.linspace([-0.95, -0.45], [3.2, 4.4], 34)
    optimizer = Optimizer(grid, Ball(0.5), GP(400.0 * SE([0.5, 0.5]), 0.1))
    f = polynomial(grid.points)
    best = optimizer.state.setting.translation.solver.maximin(f)
    for _ in range(90):
        query = optimizer.ask()
        optimizer.tell(query, float(f[query.point_index]))
    report = optimizer.report()
    regret = best.value - optimizer.state.setting.translation.solver.worst(report.decision_index, f).value
    assert 0 <= regret < 1.0


def test_three_hundred_rounds_replay():
    optimizer = go_on(Optimizer(Grid.linspace([0, 0], [1, 1], 12), Ball(0.1), GP(SE(0.2), 0.1)), 300)
    assert len(optimizer.rounds) == 300
    assert same(Optimizer.from_json(optimizer.to_json()), optimizer)


def test_queries_and_rounds_carry_what_a_user_needs():
    chosen = Algorithm("mine", LargestUcb(), BestSoFar())
    optimizer = Optimizer(Grid.linspace(0, 1, 3), Parameters([[5.0, 6.0]]), GP(SE(0.3), 0.1), algorithm=chosen)
    query = optimizer.ask()
    assert isinstance(query, Query)
    assert (query.t, query.decision.tolist(), query.point.tolist()) == (1, [0.0], [0.0, 5.0, 6.0])
    assert (query.lower, optimizer.state.optimistic.value) == (-2.0, 2.0)
    optimizer.tell(query, 3)
    assert content(optimizer.rounds[0]) == {
        "t": 1,
        "decision": [0.0],
        "point": [0.0, 5.0, 6.0],
        "y": 3.0,
        "lower": -2.0,
        "asked": True,
        "decision_index": 0,
        "point_index": 0,
        "noise": None,
        "measured": None,
    }
    assert isinstance(optimizer.rounds[0].y, float)


# ------------------------------------------------------------------------------------- data and rounds, early and late


def test_data_that_nobody_asked_for_inform_the_model_but_are_not_reported():
    optimizer = Optimizer(Grid.linspace(0, 1, 11), Ball(0.0), GP(SE(0.1), 0.1))
    optimizer.tell([[0.5], [0.6]], [5.0, 4.0])
    assert [r.asked for r in optimizer.rounds] == [False, False]
    assert optimizer.report().decision.tolist() == [0.5]  # nothing was asked for yet: the best of what there is
    optimizer.tell([0.9], -1.0, decision=[0.9])
    assert optimizer.rounds[-1].asked
    assert optimizer.report().decision.tolist() == [0.9]
    again = Optimizer.from_json(optimizer.to_json())
    assert [r.asked for r in again.rounds] == [False, False, True]


def test_a_list_of_one_point_on_a_line_is_one_row():
    optimizer = Optimizer(Grid.linspace(0, 1, 5), Ball(0.1), GP(SE(0.3), 0.1))
    optimizer.tell([0.25], [2.0])
    assert [(r.point.tolist(), r.y) for r in optimizer.rounds] == [([0.25], 2.0)]


def test_a_flat_list_of_points_on_a_line_is_rows():
    optimizer = Optimizer(Grid.linspace(0, 1, 5), Ball(0.1), GP(SE(0.3), 0.1))
    optimizer.tell([0.0, 0.25, 0.5], [1.0, 2.0, 3.0])
    assert [(r.point.tolist(), r.y) for r in optimizer.rounds] == [([0.0], 1.0), ([0.25], 2.0), ([0.5], 3.0)]


def test_a_round_keeps_the_bound_that_was_known_when_it_was_asked_for():
    optimizer = Optimizer(Grid.linspace(0, 1, 5), Ball(0.0), GP(SE(0.3), 0.1))
    query = optimizer.ask()
    optimizer.tell([[0.0], [1.0]], [3.0, 3.0])
    optimizer.tell(query, 3.0)
    assert optimizer.rounds[-1].lower == query.lower == -2.0
    assert Optimizer.from_json(optimizer.to_json()).rounds[-1].lower == -2.0


def test_contradicting_bounds_are_admitted_and_plain_ones_never_contradict():
    for rule, contradictory in ((BestIntersected(), True), (BestSoFar(), False)):
        chosen = Algorithm("mine", OptimisticPessimistic(), rule)
        optimizer = Optimizer(Points([0.0, 1.0]), Ball(0.0), GP(SE(0.3), 0.1), algorithm=chosen, beta=0.01)
        optimizer.tell([0.0, 0.0], [9.0, -9.0])
        report = optimizer.report()
        assert report.contradictory is contradictory
        assert ("exclude each other" in str(report)) is contradictory


def test_an_optimiser_shows_what_it_is():
    optimizer = Optimizer(Grid.linspace(0, 1, 5), Ball(0.1), GP(SE(0.3), 0.1))
    assert (optimizer.domain, optimizer.uncertainty, optimizer.beta) == (Grid.linspace(0, 1, 5), Ball(0.1), 4.0)
    assert "Grid(5)" in repr(optimizer) and "StableOpt" in repr(optimizer)


def test_a_class_of_the_user_does_not_replace_one_of_the_library():
    text = Optimizer(Grid.linspace(0, 1, 5), Ball(0.1), GP(SE(0.3), 0.1), algorithm="GP-UCB").to_json()

    @dataclasses.dataclass(frozen=True, eq=False)
    class Last(ReportingRule):
        def choose(self, state):
            return 0

    assert type(Optimizer.from_json(text).algorithm.reporting) is not Last
    mine = Optimizer(
        Grid.linspace(0, 1, 5), Ball(0.1), GP(SE(0.3), 0.1), algorithm=Algorithm("mine", LargestUcb(), Last())
    )
    assert type(Optimizer.from_json(mine.to_json()).algorithm.reporting) is Last


def test_a_pickle_holds_no_room_for_rows_to_come():
    optimizer = Optimizer(Points(np.arange(20_000.0)), Ball(1.0), GP(Matern(2.5, 5.0), 0.1))
    empty = len(pickle.dumps(optimizer))
    optimizer.tell(optimizer.ask(), 1.0)
    assert len(pickle.dumps(optimizer)) < empty + 10 * 8 * 20_000


# ------------------------------------------------------------------------------------------------- kind words in time


def test_a_value_that_the_prior_all_but_excludes_is_remarked_upon():
    optimizer = Optimizer(Grid.linspace(0, 1, 5), Ball(0.25), GP(4.0 * SE(0.3), 0.1, mean=10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.tell(0.0, 25.0)
    with pytest.warns(UserWarning, match=r"y = 100 is 46 standard deviations from what the model expected there"):
        Optimizer(Grid.linspace(0, 1, 5), Ball(0.25), optimizer.gp).tell([0.0, 0.5], [10.0, 100.0])
    with pytest.warns(UserWarning, match="y = -3 is"):
        optimizer.tell(0.0, -3.0)
    assert optimizer.rounds[-1].y == -3.0


@pytest.mark.parametrize("domain", [Grid.linspace(0, 1, 5), Space([(0, 1)])], ids=["a grid", "a range"])
def test_every_value_of_the_data_is_compared_with_what_those_before_made_the_model_expect(domain):
    optimizer = Optimizer(domain, Ball(0.25), GP(SE(0.3), 0.1))
    with pytest.warns(UserWarning, match=r"y = 200 is 2\d\d standard") as remarks:
        optimizer.tell([[0.0], [0.5], [1.0]], [0.1, 200.0, 0.1])
    assert len(remarks) == 1 and len(optimizer.rounds) == 3


@pytest.mark.parametrize("domain", [Grid.linspace(0, 1, 5), Space([(0, 1)])], ids=["a grid", "a range"])
def test_a_value_that_its_own_noise_explains_is_no_surprise(domain):
    optimizer = Optimizer(domain, Ball(0.25), GP(SE(0.3), 0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.tell([0.0], 30.0, noise=20.0)
        optimizer.tell([[0.0], [1.0]], [-30.0, 0.5], noise=[20.0, None])
    with pytest.warns(UserWarning, match="y = 30 is"):
        optimizer.tell([0.0], 30.0)


def test_a_tolerance_below_the_step_of_the_grid_is_remarked_upon():
    with pytest.warns(UserWarning, match=r"less than one step of the grid along the axes \[1\] \(steps \[0.5\]\)"):
        Optimizer(Grid.linspace([0, 0], [1, 1], [11, 3]), Rectangle([0.1, 0.4]), GP(SE(0.3), 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Optimizer(Grid.linspace([0, 0], [1, 1], [11, 3]), Rectangle([0.1, 0.0]), GP(SE(0.3), 0.1))


def test_points_in_mixed_units_are_readable():
    optimizer = Optimizer(Points([[0.00012, 1800.0, -10.0]]), Ball(0.0), GP(SE(0.3), 0.1))
    optimizer.tell(optimizer.ask(), 1.0)
    assert "decision [0.00012, 1800, -10] after 1 rounds" in str(optimizer.report())


def test_rounds_that_were_told_as_points_are_candidates_for_the_report():
    """Thirty settings, rounded, told as plain points: once only the first, told as a query, could be reported."""
    optimizer = so.Optimizer(so.Space({"x": (0, 10)}), so.Rectangle([0.5]))
    query = optimizer.ask()
    optimizer.tell(query, -((query.point["x"] - 3) ** 2))
    for x in np.linspace(0, 10, 21).round(1).tolist():
        optimizer.tell({"x": x}, -((x - 3) ** 2))
    assert optimizer.report().decision["x"] == pytest.approx(3.0, abs=0.5)


def test_data_from_before_the_first_query_are_no_candidates():
    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 11), so.Ball(0.1), so.GP(so.SE(0.3), 0.1))
    optimizer.tell([[0.1], [0.9]], [5.0, 0.0])
    assert {d[0] for d in map(optimizer.state.setting.translation.decision, optimizer.state.tried())} == {0.1, 0.9}
    query = optimizer.ask()
    optimizer.tell(query, 0.0)
    optimizer.tell([0.5], 0.0)
    tried = [optimizer.state.setting.translation.decision(i)[0] for i in optimizer.state.tried()]
    assert tried == [query.decision[0], 0.5]


@pytest.mark.parametrize(
    ("space", "tolerance", "point", "shown"),
    [
        (so.Space({"x": (0.0, 1.0)}), 0.05, {"x": 0.123456}, "x = 0.1235"),
        (so.Space({"nm": (1549.0, 1551.0)}), 0.02, {"nm": 1550.37123}, "nm = 1550.371"),
        (so.Space({"x": (0.0, 1.0)}), 1e-6, {"x": 0.12345678}, "x = 0.1234568"),
        (
            so.Space({"f": so.Float(1.0, 1e6, log=True), "n": so.Integer(1, 9)}),
            0.5,
            {"f": 2345.678, "n": 3},
            "f = 2345.68, n = 3",
        ),
        (so.Space({"f": (2.4e9, 2.4001e9)}), 1000.0, {"f": 2400050123.4}, "f = 2.4000501e+09"),
    ],
)
def test_numbers_are_shown_as_finely_as_the_tolerance_needs(space, tolerance, point, shown):
    columns = [name for name in space.labels if name != "n"]
    optimizer = so.Optimizer(space, so.Rectangle(tolerance, columns=columns), so.Learned())
    assert readable(point, optimizer.state.setting.columns.steps) == shown


def test_bounds_are_shown_so_that_they_can_be_told_apart():
    assert ends(4.9, 5.1) == ("4.9", "5.1")
    assert ends(1e9 + 0.25, 1e9 + 0.75) == ("1000000000.2", "1000000000.8")
    assert ends(3.0, 3.0) == ("3", "3") and ends(-math.inf, 2.0) == ("-inf", "2")
    assert readable({"a": (1.0, 2.34567), "b": "c"}, (0.0, 1e-4, 0.0)) == "a = [1, 2.3457], b = 'c'"
