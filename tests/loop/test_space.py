"""Promises of ask and tell in a space: names, batches, failures, stored runs, and bounds that hold."""
# ruff: noqa: E501 (a table is read by its rows)

import copy
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from helpers.cases import extra
from helpers.refusals import refused, table
from helpers.runs import content

from stableopt import (
    ALGORITHMS,
    GP,
    SE,
    Algorithm,
    Ball,
    Categorical,
    Constraint,
    Estimate,
    Float,
    Grid,
    Integer,
    Learned,
    Matern,
    Optimizer,
    Parameters,
    Points,
    Rectangle,
    Relative,
    Space,
    assess,
    maximize,
)
from stableopt.loop import space as search
from stableopt.loop.asking import other_point
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.measurements import Measurement
from stableopt.loop.rules import BestIntersected, BestOfAll, OptimisticPessimistic
from stableopt.maxmin.solver import Choice
from stableopt.model.gp import Posterior
from stableopt.model.tracked import TrackedPosterior

NAN, INF = math.nan, math.inf
MIXED = Space({"x": (0, 1), "speed": Float(0.1, 100, log=True), "n": Integer(0, 9), "kind": ["a", "b", "c"], ("c", "d"): Points([[0.5, 6], [7, 8]])})  # fmt: skip
LINE = Space({"x": (0.0, 1.0)})
PRIOR = GP(SE(0.3), 0.1)
SPACES = {
    "a line": (LINE, Rectangle(0.1)),
    "a square": (Space([(0, 1), (-1, 1)]), Ball(0.2)),
    "mixed": (MIXED, Rectangle([0.1, 1.0], columns=["x", "n"]) * Relative(0.1, columns=["speed"])),
    "an environment": (LINE, Rectangle(0.1) * Parameters(Space({"wind": (0, 12)}))),
    "scenarios": (LINE, Parameters(Space([Points([[1.0, 2.0], [3.0, 4.0]])], [("wind", "rain")]))),
    "an estimate": (LINE, Estimate(Space({"wind": (0, 12)}), {"wind": 3.0}, Rectangle(1.0))),
    "a list with an environment": (Grid.linspace(0, 1, 5), Parameters(Space([(0, 1)]))),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Searches with less effort, where the promise does not depend on it."""
    monkeypatch.setattr(search, "usual_budget", lambda dim, **_: 500)


USUAL = search.usual_budget


@pytest.fixture
def thorough(monkeypatch, quick):
    """Searches as users have them."""
    monkeypatch.setattr(search, "usual_budget", USUAL)


def start(where, gp=None, **options):
    return Optimizer(*SPACES[where], gp, **options)


def wave(point):
    """Something that depends on every number of a point."""
    values = point.values() if isinstance(point, dict) else point
    return float(sum(math.sin(3 * v + i) for i, v in enumerate(values) if not isinstance(v, str)))


def go_on(optimizer, rounds, failing=(), noisy=()):
    for i in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, None if i in failing else wave(query.point), noise=0.3 if i in noisy else None)
    return optimizer


def same(one, other):
    """Whether two optimisers know the same, bit for bit, and do the same next."""
    assert [repr(content(r)) for r in (*one.rounds, *one.failures)] == [repr(content(r)) for r in (*other.rounds, *other.failures)]  # fmt: skip
    assert one.to_json() == other.to_json() and one.beta == other.beta
    assert content(one.ask()) == content(other.ask())
    if one.rounds:
        assert content(one.report()) == content(other.report())
    return True


def points_of(queries):
    return [
        tuple(q.point.values()) if isinstance(q.point, dict) else tuple(np.ravel(q.point).tolist()) for q in queries
    ]


# --------------------------------------------------------------------------------------------------- ask and tell


@pytest.mark.parametrize(
    ("name", "where"),
    [
        extra(name, where) if name != "StableOpt" and where != "a line" else (name, where)
        for name in ALGORITHMS
        for where in ("a line", "mixed", "an environment", "an estimate")
    ],
)
def test_every_algorithm_runs_in_every_space(name, where):
    optimizer = go_on(start(where, algorithm=name, initial=2), 3)
    report = optimizer.report()
    assert report.lower <= report.upper <= report.optimum_upper and report.regret_bound >= 0
    assert not report.exact and not report.contradictory and report.t == 3
    setting, region = optimizer.state.setting.translation, optimizer.state.setting.region
    for r in optimizer.rounds:
        assert setting.point(setting.point_index(r.point)) == r.point
        d, z = (np.array(i) for i in (setting.decision_index(r.decision), setting.point_index(r.point)))
        nearest = region.points(d[None], region.scenario_of(d[None], z[None]))[0]
        np.testing.assert_allclose(z, nearest, atol=1e-9, err_msg="the point is one that the adversary can choose")


@pytest.mark.parametrize("where", [extra(k) if k in ("a square", "scenarios", "an estimate") else k for k in SPACES])
def test_asking_and_reporting_change_nothing(where):
    optimizer = go_on(start(where, initial=2), 3, failing={1})
    before, text = optimizer.state, optimizer.to_json()
    asked, reports = [optimizer.ask() for _ in range(2)], [optimizer.report() for _ in range(2)]
    optimizer.ask(2)
    np.random.seed(1)
    again = Optimizer.from_json(text)
    assert content(asked[0]) == content(asked[1]) == content(again.ask())
    assert content(reports[0]) == content(reports[1]) == content(again.report())
    assert optimizer.state is before and optimizer.to_json() == text


def test_the_first_points_are_spread_out_and_then_the_model_takes_over():
    optimizer = start("a square", initial=6)
    for _ in range(6):
        query = optimizer.ask()
        assert np.array_equal(query.point, query.decision), "of the initial points none is perturbed"
        optimizer.tell(query, wave(query.point))
    asked = np.array([r.point for r in optimizer.rounds]) / [1, 2] + [0, 0.5]
    gaps = [np.abs(a - b).max() for a, b in itertools.combinations(asked, 2)]
    assert min(gaps) > 0.1 and optimizer.initial == 6
    query, state = optimizer.ask(), optimizer.state
    assert query.decision_index == state.optimistic.decision
    assert query.point_index == state.pessimistic(query.decision_index).point
    assert (
        start("a square").initial >= 4
        and start("a square", PRIOR).initial == 1
        and start("a square", initial=0).initial == 1
    )


def test_the_first_points_are_two_more_than_variables_and_parameters_in_a_space_and_on_a_list():
    theta = Parameters(Grid.linspace([0] * 3, [1] * 3, 2).points)
    listed = Optimizer(Grid.linspace([0] * 3, [1] * 3, 2), theta)
    ranged = Optimizer(Space([(0, 1)] * 3), Parameters(Space([(0, 1)] * 3)))
    assert listed.initial == ranged.initial == 8


def test_the_first_points_keep_off_the_edges_of_ranges_and_go_everywhere_else():
    for where, inner in {"a square": [0, 1], "mixed": [0, 1], "an environment": [0]}.items():
        state = start(where).state
        Z = np.array([state.setting.design(i) for i in range(200)])
        assert 0.1 <= Z[:, inner].min() < 0.12 and 0.88 < Z[:, inner].max() <= 0.9
        points = [state.setting.translation.point(z) for z in Z]
        if where == "an environment":
            assert Z[:, 1].min() < 0.05 and Z[:, 1].max() > 0.95, "its extremes are likely worst cases"
        if where == "mixed":
            assert {z["n"] for z in points} == set(range(10)) and {z["kind"] for z in points} == set("abc")


@pytest.mark.parametrize("domain", [Space({"x": (0, 1)}), Grid.linspace(0, 1, 41)], ids=["a range", "a grid"])
def test_a_decision_that_promises_with_one_beta_is_measured_where_the_other_fears_most(domain):
    optimizer = Optimizer(domain, Rectangle(0.2), PRIOR, beta=9.0, explore=0.01)
    inputs, values = np.array([[0.1], [0.2]]), [1.0, 0.9]
    optimizer.tell([{"x": x} for x in inputs[:, 0]] if isinstance(domain, Space) else inputs, values)
    query = optimizer.ask()
    decision, point = (v["x"] if isinstance(v, dict) else float(v[0]) for v in (query.decision, query.point))
    fine = np.linspace(0, 1, 41)[:, None]
    fine = fine[np.abs(fine[:, 0] - decision) <= 0.2 + 1e-9]
    mean, variance = PRIOR.condition(inputs, values)(fine)
    bold, fearful = (fine[np.argmin(mean - np.sqrt(beta * variance))][0] for beta in (0.01, 9.0))
    assert point == pytest.approx(fearful, abs=0.026) and abs(fearful - bold) > 0.1


def test_data_replace_the_initial_points():
    optimizer = start("a line", initial=4)
    optimizer.tell([{"x": x} for x in (0.1, 0.4, 0.6, 0.9)], [1.0, 2.0, 2.5, 0.0])
    query = optimizer.ask()
    assert query.t == 5 and query.point != query.decision


def test_points_can_be_told_in_every_form():
    one, other = start("a line"), start("a line")
    one.tell([{"x": 0.2}, {"x": 0.7}, {"x": np.float64(0.9)}], [1.0, None, 2.0], noise=[0.1, None, 0.3])
    for x, y, noise in ((0.2, 1.0, 0.1), (0.7, None, None), (0.9, 2.0, 0.3)):
        other.tell({"x": x}, y, noise=noise)
    assert [(r.point, r.y, r.noise, r.asked) for r in one.rounds] == [
        (r.point, r.y, r.noise, r.asked) for r in other.rounds
    ]
    assert [r.point for r in one.failures] == [{"x": 0.7}] and len(one.rounds) == 2
    mixed = Optimizer(Space([(0, 1), ["a", "b"]]), Rectangle(0.1))
    mixed.tell([[0.5, "a"], [0.25, "b"]], [1.0, 2.0])
    assert [r.point for r in mixed.rounds] == [[0.5, "a"], [0.25, "b"]]
    square = start("a square")
    square.tell(np.array([[0.5, 0.5], [0.1, -1.0]]), np.array([1.0, 2.0]), noise=0.2)
    assert [r.noise for r in square.rounds] == [0.2, 0.2]


def test_a_decision_can_be_named_with_a_point():
    optimizer = start("an environment")
    optimizer.tell({"x": 0.55, "wind": 3.0}, 1.0, decision={"x": 0.5})
    assert optimizer.rounds[0].decision == {"x": 0.5} and optimizer.rounds[0].asked
    optimizer.tell({"x": 0.55, "wind": 3.0}, 1.0)
    assert optimizer.rounds[1].decision == {"x": 0.55} and not optimizer.rounds[1].asked


@pytest.mark.parametrize("domain", [Space([(0, 1)]), Grid.linspace(0, 1, 5)], ids=["a range", "a grid"])
def test_arrays_that_are_handed_out_are_read_only(domain):
    optimizer = go_on(Optimizer(domain, Ball(0.1), PRIOR), 2)
    query, report, known = optimizer.ask(), optimizer.report(), optimizer.rounds[0]
    arrays = [query.point, query.decision, known.point, known.decision, report.decision, report.worst_point]
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("what", ["point", "decision"])
@pytest.mark.parametrize("space", [Space({"x": (0, 1), "kind": ["a", "b"]}), Space([(0, 1), ["a", "b"]])], ids=["named", "unnamed"])  # fmt: skip
def test_a_query_that_was_changed_is_refused(space, what):
    optimizer = Optimizer(space, Rectangle(0.1, columns=[0]))
    query = optimizer.ask()
    getattr(query, what)["x" if space.names else 0] *= 0.5
    for call in (lambda: optimizer.tell(query, 1.0), lambda: optimizer.ask(pending=[query])):
        refused(call, ValueError, "expected a query as `ask` of this run returned it", "tell(point, y, decision=...)")
    assert optimizer.rounds == ()


def test_a_stored_run_has_what_was_told_whatever_became_of_its_dictionaries():
    optimizer = go_on(start("mixed", initial=2), 3, failing={1})
    text = optimizer.to_json()
    for r in (*optimizer.rounds, *optimizer.failures):
        r.point["x"], r.decision["x"] = 0.123, 0.456
    assert optimizer.to_json() == text


# -------------------------------------------------------------------------------------------------------- batches

BATCHES = {
    "a line": (lambda **o: start("a line", **o), 5),
    "mixed": (lambda **o: start("mixed", **o), 4),
    "an environment": (lambda **o: start("an environment", **o), 3),
    "much noise": (lambda **o: start("a line", GP(SE(0.3), 2.0), **o), 5),
    "a few whole numbers": (lambda **o: Optimizer(Space({"x": Integer(0, 4)}), Rectangle(1), **o), 5),
    "no tolerance": (lambda **o: Optimizer(LINE, Rectangle(0.0), GP(SE(0.3), 2.0), **o), 3),
    "a grid": (lambda **o: Optimizer(Grid.linspace(0, 1, 9), Ball(0.2), **o), 9),
    "a grid with much noise": (lambda **o: Optimizer(Grid.linspace(0, 1, 9), Ball(0.2), GP(SE(0.3), 2.0), **o), 9),
}


@pytest.mark.parametrize("told", [0, extra(1), 5])
@pytest.mark.parametrize("name", BATCHES)
def test_no_two_workers_get_the_same_point(name, told):
    make, n = BATCHES[name]
    optimizer = make(initial=4)
    for _ in range(told):
        query = optimizer.ask()
        optimizer.tell(query, -10.0 * np.ravel(list(query.point.values())[:1] if isinstance(query.point, dict) else query.point)[0])  # fmt: skip
    before = optimizer.state
    queries = optimizer.ask(n)
    assert len(queries) == n and len(set(points_of(queries))) == n and optimizer.state is before
    one_by_one = []
    for _ in range(n):
        one_by_one.append(optimizer.ask(pending=one_by_one))
    assert points_of(one_by_one) == points_of(queries), "asking again before the results are in is the same"
    for query in reversed(queries):  # in any order
        optimizer.tell(query, wave(query.point) if name != "mixed" else 1.0)
    assert len(optimizer.rounds) == told + n


@pytest.mark.parametrize("lost", range(4))
def test_a_worker_that_is_lost_does_not_make_two_others_do_the_same(lost):
    for make in (
        lambda: Optimizer(Space({"x": (0, 1), "y": (0, 1)}), Rectangle(0.1), seed=1, initial=8),
        lambda: Optimizer(Grid.linspace(0, 1, 30), Ball(0.1), seed=1, initial=8),
    ):
        optimizer = make()
        queries = optimizer.ask(4)
        others = queries[:lost] + queries[lost + 1 :]
        more = optimizer.ask(3, pending=others)
        assert len(set(points_of([*others, *more]))) == 6
        for query in reversed(queries[2:]):  # the others do not come back
            optimizer.tell(query, 1.0)
        again = optimizer.ask(4)
        assert not set(points_of(again)) & set(points_of(queries[2:]))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_gives_batches(name):
    for optimizer in (
        start("a line", PRIOR, algorithm=name),
        Optimizer(Grid.linspace(0, 1, 9), Ball(0.2), PRIOR, algorithm=name),
    ):
        optimizer.tell(optimizer.ask(), 1.0)
        assert len(set(points_of(optimizer.ask(4)))) == 4


def test_more_workers_than_points_share_them():
    optimizer = Optimizer(Grid.linspace(0, 1, 3), Ball(0.1), PRIOR)
    assert set(points_of(optimizer.ask(5))) == {(0.0,), (0.5,), (1.0,)}
    assert len(optimizer.ask(5)) == 5


def another(state, taken):
    return other_point(state, Choice(2, 2), taken)[:2]


def test_another_point_is_looked_for_only_if_this_one_is_taken():
    optimizer = Optimizer(Grid.linspace(0, 1, 9), Ball(0.15), PRIOR)
    optimizer.tell([0.375], 1.0)
    optimizer.ask()
    state = optimizer.state
    assert another(state, [1, 3]) == (2, 2)
    assert "reachable" not in vars(state.setting.translation), "nothing has listed all points so far"
    assert another(state, [2]) == (2, 1), "the least known of those that 2 can become"
    other = max(set(range(9)) - {1, 2, 3}, key=lambda z: state.ucb[z])
    assert another(state, [3, 1, 2]) == (other, other), "the most promising elsewhere"
    assert another(state, list(range(9))) == (2, 2), "there is no other"


def test_a_pending_query_can_come_from_a_copy():
    optimizer = go_on(start("a line"), 5)
    first = optimizer.ask()
    twin = Optimizer.from_json(optimizer.to_json())
    assert content(twin.ask(pending=[first])) == content(optimizer.ask(pending=[twin.ask()]))
    assert content(twin.ask(1)[0]) == content(first)


def test_one_pending_query_needs_no_list():
    optimizer = start("a line")
    query = optimizer.ask()
    assert content(optimizer.ask(pending=query)) == content(optimizer.ask(pending=[query])) != content(query)


BATCH = [
    *((f"n = {n!r}", lambda n=n: start("a line").ask(n), ValueError, "expected a number of queries", f"got {n!r}") for n in (0, -1, 2.5, "2", True)),
    *((f"pending = {p!r}", lambda p=p: start("a line").ask(pending=p), ValueError, "expected pending queries as a list", f"got {p!r}") for p in (5, None, "ab", {"x": 0.5})),
    ("a point as pending", lambda: start("a line").ask(pending=[{"x": 0.5}]), TypeError, "expected a query that `ask` returned", "got {'x'"),
]  # fmt: skip


@table(BATCH)
def test_bad_batches_are_refused(call, error, words):
    refused(call, error, *words)


# ------------------------------------------------------------------------------------------- failures and noise


@pytest.mark.parametrize("where", ["a line", "an environment"])
@pytest.mark.parametrize("known", [0, 2, extra(5)])
def test_a_failed_point_is_not_proposed_again_at_once(where, known):
    optimizer = go_on(start(where, initial=3), known)
    failed = []
    for _ in range(4):
        query = optimizer.ask()
        assert points_of([query])[0] not in points_of(failed)
        optimizer.tell(query, None)
        failed.append(query)
    assert len(optimizer.failures) == 4 and len(optimizer.rounds) == known
    assert all(math.isnan(f.y) and f.t == known + 1 for f in optimizer.failures)


def test_a_point_that_failed_by_accident_can_come_back():
    optimizer = Optimizer(Points([0.0, 1.0]), Ball(0.1), GP(SE(0.1), 0.1))
    optimizer.tell([0.0], -5.0)
    for _ in range(2):
        assert optimizer.ask().point[0] == 1.0
        optimizer.tell([1.0], None)
        assert optimizer.ask().point[0] == 0.0
        optimizer.tell([0.0], -5.0)
        if len(optimizer.failures) > 1:
            assert optimizer.ask().point[0] == 0.0, "but not after it failed twice"


def test_failures_change_what_is_asked_and_not_the_bounds():
    optimizer = go_on(start("a line"), 6)
    before, query = optimizer.report(), optimizer.ask()
    optimizer.tell(query, None)
    assert optimizer.report().optimum_upper == before.optimum_upper
    assert optimizer.ask().point != query.point


@pytest.mark.parametrize("domain", [Space([(0, 1)]), Grid.linspace(0, 1, 11)], ids=["a range", "a grid"])
def test_a_decision_whose_only_evaluation_failed_is_not_reported(domain):
    optimizer = Optimizer(domain, Ball(0.1), PRIOR)
    optimizer.tell([0.5], 1.0)
    optimizer.tell([0.6], None, decision=[0.7])
    decision = optimizer.report().decision[0]
    assert 0.39 < decision <= 0.5, "0.4 is the best that cannot reach 0.6, where that is at the end of what 0.5 reaches"


@pytest.mark.parametrize("domain", [Space([(0, 1)]), Grid.linspace(0, 1, 41)], ids=["a range", "a grid"])
def test_what_failed_and_was_measured_later_is_as_good_as_any_other(domain):
    """While it has no value, the best decision that cannot reach it is reported, also one that nobody tried."""
    rule = Algorithm("mine", OptimisticPessimistic(), BestOfAll())
    optimizer = Optimizer(domain, Ball(0.1), GP(SE(1.0), 0.01), algorithm=rule)
    optimizer.tell([0.5], None)
    tried = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    optimizer.tell([[x] for x in tried], [-((x - 0.5) ** 2) for x in tried])
    known = optimizer.report()
    # In a space, nothing that it turns into is closer to what failed than to what was measured.
    assert known.left and 0.1 < abs(known.decision[0] - 0.5) < (0.21 if isinstance(domain, Space) else 0.15)
    optimizer.tell([0.5], 0.0)
    known = optimizer.report()
    assert not known.left and abs(known.decision[0] - 0.5) < 0.03
    assert optimizer.state.failing == [] and len(optimizer.failures) == 1


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_that_a_reported_decision_turns_into_is_closest_to_what_failed(seed, limited):
    """The value rises towards a corner where everything fails: the best guarantee lies where nothing can be measured."""
    rng = np.random.default_rng(seed)
    Z = rng.random((25, 2))
    fails = Z.sum(axis=1) < 0.7
    limits = [Constraint("heat", upper=1.5, model=GP(SE([0.5, 0.5]), 0.01))] if limited else []
    algorithm = Algorithm("mine", OptimisticPessimistic(), BestOfAll())
    model = GP(SE([0.8, 0.8]), 0.01)
    optimizer = Optimizer(Space([(0, 1)] * 2), Rectangle([0.08, 0.08]), model, algorithm=algorithm, constraints=limits)
    for z, failed in zip(Z, fails, strict=True):
        y = -float(z.sum())
        others = {"measured": {"heat": 1.0}} if limited and not failed else {}
        optimizer.tell(z, None if failed else y, **others)
    known = optimizer.report()
    box = np.clip(known.decision + 0.08 * np.mgrid[-1:1:9j, -1:1:9j].reshape(2, -1).T, 0, 1)
    assert not fails[np.linalg.norm(box[:, None] - Z, axis=2).argmin(axis=1)].any() and known.left
    assert known.feasible == ("certified" if limited else None)


@pytest.mark.parametrize("domain", [Space([(0, 1)]), Grid.linspace(0, 1, 11)], ids=["a range", "a grid"])
def test_what_was_measured_and_fails_since_is_left(domain):
    optimizer = Optimizer(domain, Ball(0.1), PRIOR)
    optimizer.tell([0.5], 1.0)
    for _ in range(3):
        query = optimizer.ask()
        optimizer.tell(query, 2.0)
        optimizer.tell(query.point, None)
        assert query.point_index in optimizer.state.failing
        assert not optimizer.state.setting.is_taken(optimizer.ask().point_index, [query.point_index])


def test_only_observations_with_their_own_noise_have_it():
    optimizer = start("a line")
    for i, x in enumerate(np.linspace(0, 1, 12).tolist()):
        optimizer.tell({"x": x}, 1e4 * math.sin(7 * x), noise=500.0 if i == 3 else None)
    parts, gps = optimizer.state.posterior.model.posteriors, optimizer.state.belief.gps
    assert len(parts) == len(gps) > 1
    for part, gp in zip(parts, gps, strict=True):
        own = np.full(12, gp.noise)
        own[3] = 500.0
        np.testing.assert_allclose(part.noise_variance, own**2, rtol=1e-9)
    plain = start("a line")
    plain.tell(
        [{"x": x} for x in np.linspace(0, 1, 12).tolist()], [1e4 * math.sin(7 * x) for x in np.linspace(0, 1, 12)]
    )
    usual = plain.state.belief.single
    assert gp.noise == pytest.approx(usual.noise, rel=0.5, abs=100), "one noisy observation does not change the others'"


def test_noise_of_an_observation_weakens_it():
    sure, unsure = start("a line", PRIOR), start("a line", PRIOR)
    for optimizer, noise in ((sure, 0.01), (unsure, 3.0)):
        optimizer.tell({"x": 0.5}, 1.0, noise=noise)
    assert sure.state.moments([(0.5,)])[0] > 0.9 > 0.2 > unsure.state.moments([(0.5,)])[0]


# ----------------------------------------------------------------------------------------------------- stored runs


def told_at_once(optimizer, n):
    """n random points at once, to get past the rounds in which the model is learned every time."""
    rows = optimizer.state.setting.region.points_space.spread(n, 5)
    points = [optimizer.state.setting.translation.point(row) for row in rows]
    optimizer.tell_all([Measurement(p, wave(p)) for p in points])
    return optimizer


RUNS = {
    "nothing yet": lambda: start("mixed"),
    "only failures": lambda: go_on(start("a line"), 2, failing={0, 1}),
    "mixed": lambda: go_on(start("mixed", initial=2, seed=5), 5, failing={1, 3}, noisy={2}),
    "an environment": lambda: go_on(start("an environment", initial=2), 4, failing={0}),
    "an estimate": lambda: go_on(start("an estimate", initial=2), 3),
    "a list with an environment": lambda: go_on(start("a list with an environment", initial=2), 3),
    "a prior": lambda: go_on(start("a square", GP(Matern(2.5, [0.3, 0.6]), 0.1), beta=9.0, explore=1.0), 4, failing={2}, noisy={1}),
    "a prior and much data": lambda: go_on(told_at_once(start("a line", PRIOR), 40), 2),
    "much data": lambda: go_on(told_at_once(start("mixed"), 30), 2, failing={0}),
    "samples of the model": lambda: go_on(start("a line", Learned(method="bayes", samples=3, burn_in=5, every=3), initial=2), 5, failing={2}),
    "a grid": lambda: go_on(Optimizer(Grid.linspace(0, 1, 21), Ball(0.1)), 7, failing={1, 5}, noisy={6}),
    "a grid and a rule that intersects": lambda: go_on(Optimizer(Grid.linspace(0, 1, 21), Ball(0.1), algorithm=Algorithm("mine", OptimisticPessimistic(), BestIntersected())), 6),
}  # fmt: skip


@pytest.mark.parametrize("name", [extra(k) if k in ("much data", "a prior") else k for k in RUNS])
def test_a_stored_run_goes_on_as_if_nothing_had_happened(name):
    run = RUNS[name]()
    text = run.to_json()
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    again = Optimizer.from_json(text)
    assert same(run, again) and [f.t for f in run.failures] == [f.t for f in again.failures]
    for optimizer in (run, again):
        go_on(optimizer, 1)
    assert same(run, again)


def test_a_grid_with_a_learned_model_replays_after_rounds_without_learning():
    learned = Learned(method="bayes", samples=2, burn_in=2, every=10)
    optimizer = Optimizer(Grid.linspace(0, 1, 50), Rectangle(0.1), learned)
    xs = np.linspace(0, 1, 50)[::2]
    optimizer.tell(xs[:, None], np.sin(5 * xs))
    go_on(optimizer, 1)
    assert optimizer.state.belief.t < len(optimizer.rounds) and same(
        optimizer, Optimizer.from_json(optimizer.to_json())
    )


@pytest.mark.parametrize("at_once", [False, True])
def test_bounds_that_were_intersected_between_two_models_are_so_in_the_replay(at_once):
    rule = Algorithm("mine", OptimisticPessimistic(), BestIntersected())
    learned = Learned(method="bayes", samples=2, burn_in=2, every=10)
    run = go_on(Optimizer(Grid.linspace(0, 1, 40), Ball(0.1), learned, algorithm=rule), 11)
    if at_once:
        run.tell([[0.0], [0.0], [1.0]], [wave([0.0]), None, wave([1.0])])
    else:
        go_on(run, 5, failing={1})
    assert 0 < run.state.belief.t < len(run.rounds) - 1
    again = Optimizer.from_json(run.to_json())
    assert np.array_equal(run.state.intersected.lower, again.state.intersected.lower) and same(run, again)


@pytest.mark.parametrize("domain", [LINE, Grid.linspace(0, 1, 21)], ids=["a range", "a grid"])
def test_a_stored_run_is_replayed_under_the_model_that_was_learned_and_no_other(domain, monkeypatch):
    run = go_on(Optimizer(domain, Ball(0.1), initial=2), 4, failing={1})
    text, used = run.to_json(), []
    for kind in (Posterior, TrackedPosterior):
        monkeypatch.setattr(kind, "update", lambda self, *told, update=kind.update: used.append(self.gp) or update(self, *told))  # fmt: skip
    again = Optimizer.from_json(text)
    assert again.state.belief == run.state.belief and used == []


def test_copies_are_equal_and_apart():
    optimizer = go_on(start("mixed", initial=2), 4, failing={1})
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert same(optimizer, twin)
        twin.tell(twin.ask(), 1.0)
        assert len(optimizer.rounds) == 3 and len(twin.rounds) == 4


def test_a_long_run_told_at_once_or_one_by_one_is_the_same():
    one, other = start("a line", PRIOR), start("a line", PRIOR)
    points = [{"x": float(x)} for x in np.random.default_rng(0).random(70)]
    one.tell(points, [wave(p) for p in points])
    for point in points:
        other.tell(point, wave(point))
    assert same(one, other)


# ------------------------------------------------------------------------------------------------------ bad input

BAD = [
    ("unknown name", lambda o: o.tell({"y": 0.5}, 1.0), ValueError, "expected a point with the names ['x']", "got ['y']"),
    ("a name too many", lambda o: o.tell({"x": 0.5, "xx": 0.5}, 1.0), ValueError, "expected a point with the names ['x']", "got ['x', 'xx']"),
    ("a list for names", lambda o: o.tell([0.5], 1.0), ValueError, "expected a point as a dictionary", "got [0.5]"),
    ("out of range", lambda o: o.tell({"x": 1.5}, 1.0), ValueError, "expected x between 0.0 and 1.0", "got 1.5"),
    ("NaN in a point", lambda o: o.tell({"x": NAN}, 1.0), ValueError, "expected a finite number for x", "got nan"),
    *((f"y = {y!r}", lambda o, y=y: o.tell({"x": 0.5}, y), ValueError, "expected", "y", "got") for y in (NAN, INF, "1", [1.0], (1.0, 2.0), 1j, True)),
    *((f"noise = {s!r}", lambda o, s=s: o.tell({"x": 0.5}, 1.0, noise=s), ValueError, "expected noise", "got") for s in (0, -1.0, NAN, INF, "a", True)),
    ("two noises for three", lambda o: o.tell([{"x": 0.1}, {"x": 0.2}, {"x": 0.3}], [1, 2, 3], noise=[0.1, 0.2]), ValueError, "expected one noise, or one per value", "got 2 for 3"),
    ("two values for three", lambda o: o.tell([{"x": 0.1}, {"x": 0.2}, {"x": 0.3}], [1, 2]), ValueError, "expected as many values as points", "got"),
    ("the last of three is bad", lambda o: o.tell([{"x": 0.1}, {"x": 0.2}, {"x": 3}], [1, 2, 3]), ValueError, "expected x between", "got 3"),
    ("a decision out of range", lambda o: o.tell({"x": 0.5}, 1.0, decision={"x": 2.0}), ValueError, "expected x between", "got 2.0"),
    ("a query of another space", lambda o: o.tell(start("a square").ask(), 1.0), ValueError, "expected a decision as a dictionary", "got"),
    ("rows with one decision", lambda o: o.tell([{"x": 0.1}, {"x": 0.2}], [1, 2], decision={"x": 0.1}), ValueError, "expected a decision with a single point only"),
]  # fmt: skip


@pytest.fixture(scope="module")
def running():
    return go_on(start("a line", initial=2), 3, failing={1})


@pytest.mark.parametrize("call, error, words", [pytest.param(r[1], r[2], r[3:], id=r[0]) for r in BAD])
def test_a_refused_call_changes_nothing(call, error, words, running):
    before, text = running.state, running.to_json()
    refused(lambda: call(running), error, *words)
    assert running.state is before and running.to_json() == text


def test_rules_that_need_a_list_of_points_are_refused_in_a_space():
    rule = Algorithm("mine", OptimisticPessimistic(), BestIntersected())
    refused(
        lambda: start("a line", algorithm=rule),
        ValueError,
        "expected a finite domain",
        "BestIntersected",
        "BestSoFar()",
    )


def test_nothing_can_be_reported_before_anything_is_known():
    optimizer = start("a line")
    refused(optimizer.decide, ValueError, "nothing to report yet")
    refused(optimizer.report, ValueError, "nothing to report yet")
    optimizer.tell(optimizer.ask(), None)
    refused(optimizer.report, ValueError, "nothing to report yet")


# ---------------------------------------------------------------------------------------------- bounds that hold


def test_a_model_that_is_given_sees_the_users_units_and_logs_on_log_scales():
    space = Space({"x": (100, 300), "speed": Float(0.1, 100, log=True), "n": Integer(0, 9)})
    gp = GP(Matern(2.5, [40.0, 0.7, 3.0]), 0.1, 2.0)
    optimizer = Optimizer(space, Rectangle(10.0, columns=["x"]), gp)
    points = [
        {"x": 120.0, "speed": 0.5, "n": 3},
        {"x": 250.0, "speed": 40.0, "n": 8},
        {"x": 200.0, "speed": 3.0, "n": 5},
    ]
    optimizer.tell(points, [1.0, 3.0, 2.5])
    rows = np.array([[p["x"], math.log(p["speed"]), p["n"]] for p in points])
    posterior = gp.condition(rows, [1.0, 3.0, 2.5])
    np.testing.assert_allclose(optimizer.state.posterior.model.X, rows, rtol=1e-12)
    np.testing.assert_allclose(optimizer.state.posterior.model(rows + 5.0), posterior(rows + 5.0), rtol=1e-9)
    report = optimizer.report()
    z = report.worst_point
    mean, variance = posterior([[z["x"], math.log(z["speed"]), z["n"]]])
    assert report.lower == pytest.approx(float(mean[0] - 2 * math.sqrt(variance[0])), rel=1e-6)


def test_only_the_beta_that_certifies_widens_the_bounds():
    points, values = [{"x": x} for x in (0.1, 0.4, 0.8)], [0.2, 1.0, -0.5]
    states = {}
    for betas in ((4.0, 4.0), (4.0, 0.25), (9.0, 4.0)):
        optimizer = start("a line", PRIOR, algorithm=FRONT_DOOR.algorithm, beta=betas[0], explore=betas[1])
        optimizer.tell(points, values)
        states[betas] = optimizer
    usual, bold, sure = (o.report() for o in states.values())
    assert (usual.lower, usual.upper) == pytest.approx((bold.lower, bold.upper), abs=1e-6)
    assert sure.lower < usual.lower and sure.optimum_upper > usual.optimum_upper
    assert states[4.0, 4.0].ask().point != states[4.0, 0.25].ask().point


def drawn(kernel, seed, n=60):
    """A function drawn from a GP on [0, 1], as the interpolation of its values at n points."""
    rng, Z = np.random.default_rng(seed), np.linspace(0, 1, n)[:, None]
    K = kernel(Z, Z) + 1e-8 * np.eye(n)
    weights = np.linalg.solve(K, np.linalg.cholesky(K) @ rng.normal(size=n))
    return lambda x: kernel(np.reshape(x, (-1, 1)), Z) @ weights


def held(beta, draws=12, eps=0.08):
    """In how many draws the bounds of the best decision, and that of the optimum, hold by dense enumeration."""
    kernel, noise, fine = SE(0.15), 0.05, np.linspace(0, 1, 1001)
    inside = above = 0
    for seed in range(draws):
        f, rng = drawn(kernel, seed), np.random.default_rng([seed, 1])
        X = rng.random((7, 1))
        answer = assess((X, f(X) + noise * rng.normal(size=7)), [(0, 1)], eps, model=GP(kernel, noise), beta=beta)
        values = f(fine)
        around = lambda d, v=values: v[np.abs(fine - d) <= eps].min()  # noqa: E731
        inside += answer.worst_case.lower - 1e-3 <= around(answer.decision[0]) <= answer.worst_case.upper + 1e-3
        above += max(around(d) for d in fine[::5]) <= answer.optimum_bound + 1e-3
    return inside, above


def test_bounds_hold_for_functions_from_the_prior_and_not_with_a_tiny_beta(thorough):
    inside, above = held(9.0)
    assert inside >= 11 and above >= 11
    inside, above = held(1e-4, draws=6)
    assert inside <= 2 and above <= 4, "the negative control"


def on_a_grid_and_a_line(uncertainty, lengthscale, seed, n):
    """The same data on a fine grid, whose reports are exact, and on the line itself, with the spread of the ucb."""
    rule, gp = Algorithm("mine", OptimisticPessimistic(), BestOfAll()), GP(SE(lengthscale), 0.05)
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.random((n, 1)) * 2000) / 2000, rng.normal(size=n)
    pair = [
        Optimizer(domain, uncertainty, gp, algorithm=rule) for domain in (Grid.linspace(0, 1, 2001), Space([(0, 1)]))
    ]
    for optimizer in pair:
        optimizer.tell(X, y)
    return *pair, float(np.ptp(pair[0].state.ucb))


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 4))])
@pytest.mark.parametrize("uncertainty", [Ball(0.1), Rectangle(0.2)], ids=str)
def test_the_bounds_of_a_decision_are_those_on_a_fine_grid(uncertainty, seed, thorough):
    grid, line, spread = on_a_grid_and_a_line(uncertainty, 0.1, seed, 8)
    report = line.report()
    lower, upper = grid.state.bounds_of([round(2000 * report.decision[0])])
    assert (report.lower, report.upper) == pytest.approx((lower[0], upper[0]), abs=0.01 * spread)


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 4))])
def test_on_a_line_the_search_agrees_with_a_fine_grid(seed, thorough):
    grid, line, spread = on_a_grid_and_a_line(Ball(0.1), 0.1, seed, 4)
    exact, found = grid.report(), line.report()
    assert found.lower >= exact.lower - 0.01 * spread, "the guarantee"
    assert found.optimum_upper == pytest.approx(exact.optimum_upper, abs=0.01 * spread)


def test_in_the_plane_the_search_agrees_with_a_fine_grid(thorough):
    rng = np.random.default_rng(2)
    X, y, gp = np.round(rng.random((12, 2)) * 100) / 100, rng.normal(size=12), GP(SE([0.2, 0.3]), 0.05)
    rule = Algorithm("mine", OptimisticPessimistic(), BestOfAll())
    grid = Optimizer(Grid.linspace([0, 0], [1, 1], [101, 101]), Ball(0.1), gp, algorithm=rule)
    plane = Optimizer(Space([(0, 1), (0, 1)]), Ball(0.1), gp, algorithm=rule)
    for optimizer in (grid, plane):
        optimizer.tell(X, y)
    exact, found, spread = grid.report(), plane.report(), float(np.ptp(grid.state.ucb))
    assert found.lower >= exact.lower - 0.02 * spread
    assert found.optimum_upper == pytest.approx(exact.optimum_upper, abs=0.02 * spread)


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 3))])
@pytest.mark.parametrize(
    ("uncertainty", "most"),
    [(Rectangle(1.0), 20), (Ball(2.5), 20), (Ball(3.0, 1), 20), (Relative(0.2), 40), (Rectangle(9.0), 150)],
    ids=str,
)
def test_in_whole_numbers_the_search_agrees_with_all_of_them_on_a_grid(uncertainty, most, seed, thorough):
    rng, rule = np.random.default_rng(seed), Algorithm("mine", OptimisticPessimistic(), BestOfAll())
    X, y, gp = rng.integers(0, most + 1, (25, 2)), rng.normal(size=25), GP(SE(most / 6), 0.05)
    whole = Space([Integer(0, most)] * 2)
    grid = Grid.linspace([0, 0], [most, most], most + 1)
    pair = [Optimizer(domain, uncertainty, gp, algorithm=rule) for domain in (grid, whole)]
    for optimizer in pair:
        optimizer.tell(X, y)
    exact, found, spread = pair[0].report(), pair[1].report(), float(np.ptp(pair[0].state.ucb))
    lower, upper = pair[0].state.bounds_of([grid.locate(found.decision)])
    assert (found.lower, found.upper) == pytest.approx((lower[0], upper[0]), abs=1e-6)
    assert found.lower >= exact.lower - 0.01 * spread
    assert found.optimum_upper == pytest.approx(exact.optimum_upper, abs=0.01 * spread)


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 3))])
@pytest.mark.parametrize("norm", [1, 2])
def test_whole_numbers_leave_what_they_do_not_use_of_a_ball_to_the_others(norm, seed, thorough):
    rng, reach = np.random.default_rng(seed), np.array([2.5, 3.5, 0.3])
    space, ball = Space([Integer(0, 12), Integer(0, 12), (0, 1)]), Ball(1.0, norm, scales=reach.tolist())
    optimizer = Optimizer(space, ball, GP(SE([3.0, 3.0, 0.25]), 0.05), seed=seed)
    optimizer.tell(np.column_stack([rng.integers(0, 13, (30, 2)), rng.random(30)]), rng.normal(size=30))
    report, lowest = optimizer.report(), math.inf
    for steps in itertools.product(range(-2, 3), range(-3, 4)):
        whole, used = report.decision[:2] + steps, np.linalg.norm(steps / reach[:2], ord=norm)
        if used <= 1 and whole.min() >= 0 and whole.max() <= 12:
            far = 0.3 * (1 - used**norm) ** (1 / norm)
            last = np.clip(np.linspace(report.decision[2] - far, report.decision[2] + far, 401), 0, 1)
            mean, variance = optimizer.state.posterior.model(np.column_stack([np.tile(whole, (401, 1)), last]))
            lowest = min(lowest, float((mean - 2 * np.sqrt(variance)).min()))
    assert report.lower <= lowest + 1e-6


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 4))])
@pytest.mark.parametrize("kind", ["candidates", "categories", "a parameter in a box"])
def test_with_choices_or_a_parameter_the_search_agrees_with_all_of_them_on_a_grid(kind, seed, thorough):
    rng, fine = np.random.default_rng([seed, 60]), np.linspace(0, 1, 251)
    if kind == "candidates":
        rows = rng.random((60, 2))
        space, uncertainty = Space([Points(rows), (0, 1)]), Rectangle(0.08, columns=[2])
        X, gp = [[*rows[rng.integers(60)], rng.random()] for _ in range(30)], GP(SE([0.25, 0.25, 0.15]), 0.05)
    elif kind == "categories":
        names = [f"c{i}" for i in range(20)]
        space, uncertainty = Space([names, (0, 1)]), Rectangle(0.08, columns=[1])
        X = [[names[rng.integers(20)], float(rng.random())] for _ in range(30)]
        gp = GP(Categorical(0.3).on([0]) * SE(0.15).on([1]), 0.05)
    else:
        space, uncertainty = Space([(0, 1)]), Rectangle(0.08) * Parameters(Space([(0, 1)] * 2))
        X, gp = rng.random((25, 3)), GP(SE([0.2, 0.4, 0.4]), 0.05)
    optimizer = Optimizer(space, uncertainty, gp, seed=seed)
    optimizer.tell(X, rng.normal(size=len(X)).tolist())
    bound, some = optimizer.state.ucb, np.linspace(0, 1, 31)
    if kind == "a parameter in a box":
        others = np.stack(np.meshgrid(some, some), axis=-1).reshape(-1, 2)
        values = np.array([bound(np.column_stack([np.full(len(others), x), others])) for x in fine]).T
        worst, spread = values.min(axis=0)[None], np.ptp(values)
    else:
        values = np.array([bound(np.column_stack([np.tile(c, (251, 1)), fine])) for c in space.parts[0].choices])
        worst, spread = values, np.ptp(values)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(worst, ((0, 0), (20, 20)), mode="edge"), 41, axis=1)
    exact = around.min(axis=2).max()
    assert optimizer.state.optimistic.value >= exact - 0.01 * spread


def test_gp_ucb_asks_for_points_that_a_decision_stands_for():
    wider = Space([Float(0, 1, evaluate=(-0.5, 1.5))])
    optimizer = Optimizer(wider, Ball(0.1), GP(9.0 * SE(0.05), 0.05), algorithm="GP-UCB")
    optimizer.tell([[1.4], [0.2], [0.5]], [6.0, 0.0, 0.0])
    query = optimizer.ask()
    assert query.point == query.decision == 1.0


def test_the_optimum_bound_is_above_every_past_decision(thorough):
    xs, ys = [0.1, 0.4, 0.6, 0.9], [-1.6, -0.01, -0.09, -0.36]
    answer = assess(([[x] for x in xs], ys), [(0, 1)], 0.1)
    assert all(high <= answer.optimum_bound + 1e-6 for _, _, high in answer.decisions)


def test_a_run_finds_the_stable_optimum_and_not_the_peak(thorough):
    def f(x):  # a narrow peak at 0.2 and a wide hill around 0.7
        return 1.5 * math.exp(-(((x[0] - 0.2) / 0.03) ** 2)) + math.exp(-(((x[0] - 0.7) / 0.2) ** 2))

    result = maximize(f, [(0, 1)], 0.08, evaluations=20)
    assert result.decision[0] == pytest.approx(0.7, abs=0.04)


# ------------------------------------------------------------------------------------------- log scales, and reports


def test_on_a_log_scale_the_low_end_of_a_wide_tolerance_is_searched(thorough):
    """In the user's units, 1 to 100 is a thirtieth of the way from 1 to 3100; on the model's scale it is most of it."""
    domain, theta = Space([Float(1, 1e4, log=True)]), Parameters(Space([(0, 1)]))
    optimizer = Optimizer(domain, Rectangle(3000.0) * theta, GP(SE([0.9, 0.6]), noise=0.05))
    optimizer.tell([[67, 0.6], [17, 0.7], [17, 0.1]], [0, -0.1, -1.5])
    optimizer.tell([4200, 1.0], -0.6, decision=[100.0])
    state = optimizer.state
    decision, low = (
        state.setting.translation.decision_index([100.0]),
        state.setting.translation.point_index([7.1, 0.0]),
    )
    assert state.pessimistic(decision).value <= state.bounds([low])[0][0] < -2.56


@pytest.mark.parametrize("seed", [*range(4), *map(extra, range(4, 12))])
@pytest.mark.parametrize("kind", ["rows", "whole numbers"])
def test_worst_cases_on_a_log_scale_are_those_of_enumeration(kind, seed, thorough):
    rng = np.random.default_rng([seed, 5])
    values = np.array([0.1, 0.5, 0.9]) if kind == "rows" else np.arange(10.0)
    theta = Parameters(values[:, None]) if kind == "rows" else Parameters(Space([Integer(0, 9)]))
    gp = GP(SE([0.9, 0.6 if kind == "rows" else 4.0]), 0.05)
    optimizer = Optimizer(Space([Float(1, 1e4, log=True)]), Rectangle(3000.0) * theta, gp, seed=seed)
    m = int(rng.integers(3, 12))
    X = np.column_stack([np.exp(rng.random(m) * math.log(1e4)), rng.choice(values, m)])
    optimizer.tell(X, rng.normal(size=m))
    state = optimizer.state
    for x in np.exp(rng.random(3) * math.log(1e4)).tolist():
        fine = np.linspace(math.log(max(1.0, x - 3000)), math.log(min(1e4, x + 3000)), 400)
        points = np.stack(np.meshgrid(fine, values, indexing="ij"), axis=-1).reshape(-1, 2)
        mean, variance = state.posterior.model(points)
        worst = state.pessimistic(state.setting.translation.decision_index([x])).value
        assert worst <= float((mean - 2 * np.sqrt(variance)).min()) + 1e-3


@pytest.mark.parametrize("noise", [1e-12, 0.05])
@pytest.mark.parametrize("lengthscale", [0.1, 10.0])
def test_a_report_does_not_contradict_itself(noise, lengthscale):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        optimizer = Optimizer(
            LINE, Rectangle(0.1), GP(SE(lengthscale), noise), algorithm=FRONT_DOOR.algorithm, seed=seed
        )
        for _ in range(10):
            optimizer.tell(
                {"x": float(rng.integers(0, 3)) / 2}, float(rng.normal())
            )  # values that contradict each other
        report, state = optimizer.report(), optimizer.state
        lower, upper = state.bounds_of(list(dict.fromkeys(state.tried())))
        assert report.lower <= report.upper <= report.optimum_upper
        scale = 1e-6 * (1 + abs(report.optimum_upper))
        assert upper.max() <= report.optimum_upper + scale and lower.max() <= report.lower + scale


def test_a_prior_that_is_given_answers_before_the_first_value():
    state = Optimizer(Space({"x": (0, 1)}), Ball(0.1), GP(2.0 * SE(0.3), 0.1, 5.0)).state
    mean, variance = state.moments([(0.2,), (0.7,)])
    assert mean.tolist() == [5.0, 5.0] and variance.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="nothing is known yet"):
        Optimizer(Space({"x": (0, 1)}), Ball(0.1)).state.moments([(0.2,)])
