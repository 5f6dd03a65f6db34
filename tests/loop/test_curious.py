"""What is known already is not measured again: a larger β looks elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from stableopt import GP, SE, Ball, Constraint, Grid, Learned, Optimizer, Rectangle, Space
from stableopt.campaign.record import settled
from stableopt.campaign.words import Words
from stableopt.loop import ALGORITHMS, BestOfAll, Curious, OptimisticPessimistic, Schedule
from stableopt.loop.asking import teaches
from stableopt.loop.attacking import Attack
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.prospects import prospects
from stableopt.loop.rules import Algorithm

GRID = Grid.linspace(0, 1, 51)
NOISE = 0.05


def told(times, explore, domain=GRID, uncertainty=None, algorithm="StableOpt", seed=0):
    """A run that knows one hill, at 0.2, as well as ``times`` measurements of it tell, and little of the rest."""
    uncertainty = uncertainty or Ball(0.02)
    optimizer = Optimizer(
        domain, uncertainty, GP(SE(0.08), NOISE), algorithm=algorithm, beta=6.25, explore=explore, initial=1, seed=seed
    )
    optimizer.tell(np.linspace(0.0, 1.0, 11)[:, None], -0.5 * np.ones(11))
    for _ in range(times):
        optimizer.tell(np.array([[0.18], [0.2], [0.22]]), np.ones(3))
    return optimizer


def known(optimizer, query):
    variance = optimizer.state.moments([query.point_index])[1][0]
    return variance < (NOISE / 2) ** 2


def test_a_hill_that_is_known_is_left_for_another_one():
    """The negative control is the small β alone: it measures what it knows."""
    stays, leaves = told(8, 0.01), told(8, Curious(0.01, (25.0,)))
    assert known(stays, stays.ask()) and abs(stays.ask().decision[0] - 0.2) < 0.05
    assert not known(leaves, leaves.ask())


def test_a_hill_that_is_not_known_yet_is_measured_first():
    before, curious = told(1, 0.01), told(1, Curious(0.01, (4.0,)))
    assert before.ask().point_index == curious.ask().point_index


def test_the_smallest_beta_that_tells_something_chooses_as_if_it_were_the_only_one():
    plain = {b: told(8, b) for b in (0.01, 0.02, 25.0, 1e4)}
    assert known(plain[0.02], plain[0.02].ask()) and not known(plain[25.0], plain[25.0].ask())
    chosen = told(8, Curious(0.01, (0.02, 25.0, 1e4))).ask().point_index
    assert chosen == plain[25.0].ask().point_index != plain[1e4].ask().point_index
    assert told(8, Curious(0.01, (1e4, 25.0))).ask().point_index == chosen, "whatever order they were given in"


def test_a_huge_beta_looks_where_least_is_known():
    optimizer = told(8, Curious(0.01, (1e8,)))
    query, state = optimizer.ask(), optimizer.state
    std = np.sqrt(state.moments(range(len(GRID.points)))[1])
    least = np.array([std[max(0, i - 1) : i + 2].min() for i in range(len(std))])
    assert least[query.decision_index] == pytest.approx(least.max(), rel=1e-3)


def test_in_a_space_it_leaves_a_known_hill_too_and_asking_twice_gives_the_same():
    optimizer = told(8, Curious(0.01, (25.0,)), Space([(0, 1)]), Rectangle(0.02))
    query = optimizer.ask()
    assert not known(optimizer, query) and optimizer.ask().point_index == query.point_index
    again = Optimizer.from_json(optimizer.to_json())
    assert again.ask().point_index == query.point_index


def test_several_workers_get_different_places_beside_what_is_known():
    optimizer = told(8, Curious(0.01, (1e4,)), Space([(0, 1)]), Rectangle(0.02))
    points = [q.point_index for q in optimizer.ask(6)]
    assert len(set(points)) == 6
    assert np.ptp(points, axis=0).max() > 0.3


def test_where_everything_is_known_something_is_measured_all_the_same():
    optimizer = Optimizer(Grid.linspace(0, 1, 3), Ball(0.0), GP(SE(0.2), 1.0), explore=Curious(0.5, (4.0,)))
    for _ in range(30):
        optimizer.tell(np.array([[0.0], [0.5], [1.0]]), np.zeros(3))
    assert not teaches(optimizer.state, 0)
    assert optimizer.ask().point.shape == (1,)


def test_a_constraint_that_is_not_known_is_worth_a_measurement():
    limit = Constraint("heat", upper=2.0, model=GP(SE(0.08), NOISE))
    optimizer = Optimizer(
        GRID, Ball(0.02), GP(SE(0.08), NOISE), beta=6.25, explore=Curious(0.01, (4.0,)), constraints=[limit]
    )
    rows = np.repeat([[0.18], [0.2], [0.22]], 8, axis=0)
    optimizer.tell(rows, np.ones(len(rows)))
    state, here = optimizer.state, [int(np.argmin(abs(GRID.points[:, 0] - x))) for x in (0.2, 0.5)]
    assert teaches(state, here[0]), "its heat was never measured"
    optimizer.tell(rows, np.ones(len(rows)), measured={"heat": [0.0] * len(rows)})
    assert not teaches(optimizer.state, here[0]) and teaches(optimizer.state, here[1])
    bold = optimizer.state.bolder(9.0)
    assert bold.explore == 9.0 and bold.constraints[0].explore == 9.0 and bold.beta == 6.25
    assert optimizer.state.bolder(9.0) is bold


def test_what_is_a_thousandth_of_all_variation_counts_as_known():
    """A function without noise would otherwise be refined on one hill, digit by digit, for good."""
    optimizer = Optimizer(GRID, Ball(0.02), GP(SE(0.3), 1e-7), beta=6.25, explore=Curious(0.5, (4.0,)))
    optimizer.tell(np.linspace(0, 0.3, 6)[:, None], np.zeros(6))
    between = int(np.argmin(abs(GRID.points[:, 0] - 0.14)))
    std = float(np.sqrt(optimizer.state.moments([between])[1][0]))
    assert 1e-7 < std < 1e-3
    assert not teaches(optimizer.state, between)


def test_rules_to_which_exploring_makes_no_difference_are_asked_once():
    calls = []

    class Counted(Attack):
        def sample(self, state, seed):
            calls.append(state.explore)
            return super().sample(state, seed)

    optimizer = told(8, Curious(0.01, (4.0,)))
    optimizer.algorithm = Algorithm("attack", Counted(BestOfAll()), BestOfAll())
    optimizer.ask()
    assert calls == [0.01]


def test_a_decision_is_attacked_with_the_beta_of_the_rule():
    plain = told(1, 0.5)
    state = plain.state
    decision = state.optimistic.decision
    for beta in (0.25, 4.0, 100.0):
        rule = OptimisticPessimistic(attack=beta)
        c = -(beta**0.5)
        mean, variance = state.moments(range(len(GRID.points)))
        lcb = mean + c * np.sqrt(variance)
        reach = [i for i, x in enumerate(GRID.points[:, 0]) if abs(x - GRID.points[decision, 0]) <= 0.02 + 1e-9]
        assert lcb[rule.sample(state, 0).point] == pytest.approx(lcb[reach].min())
    named = ALGORITHMS["StableOpt"].sampling
    assert named.attack is None and named.sample(state, 0).point == state.pessimistic(decision).point
    with pytest.raises(ValueError, match="above 0 to attack with"):
        OptimisticPessimistic(attack=0.0)


def test_what_a_query_promises_is_the_guarantee_of_its_decision_whatever_attacks_it():
    rule = replace(ALGORITHMS["StableOpt"], sampling=OptimisticPessimistic(attack=1.0))
    optimizer = told(1, 0.5, algorithm=rule)
    query = optimizer.ask()
    assert query.lower == pytest.approx(optimizer.state.pessimistic(query.decision_index).value)


def test_what_more_evaluations_would_find_is_played_as_a_run_goes_on():
    """Who measured what is known in every one of the ten rounds would find nothing."""
    optimizer = Optimizer(GRID, Ball(0.02), GP(SE(0.15), NOISE), beta=6.25, explore=Curious(0.01, (4.0,)))
    optimizer.tell(np.repeat([[0.18], [0.2], [0.22]], 8, axis=0), np.ones(24))
    state, decision = optimizer.state, optimizer.report().decision_index
    goes, stays = (prospects(each, decision).gains.mean() for each in (state, replace(state, instead=())))
    assert goes > 2 * stays


@pytest.mark.parametrize("domain", [GRID, Space([(0, 1)])], ids=["list", "space"])
def test_of_a_batch_those_after_one_that_is_known_do_not_look_there_again(domain, monkeypatch):
    """Its second query and all that follow explore with the larger β, and with nothing else."""
    optimizer, betas = told(8, Curious(0.01, (25.0,)), domain, Rectangle(0.02)), []
    sample = OptimisticPessimistic.sample
    monkeypatch.setattr(
        OptimisticPessimistic, "sample", lambda rule, s, seed: (betas.append(s.explore), sample(rule, s, seed))[1]
    )
    queries = optimizer.ask(4)
    assert betas == [0.01, 25.0, 25.0, 25.0, 25.0]
    assert len({q.point_index for q in queries}) == 4


def test_noise_that_values_came_with_says_what_is_known():
    """A value with a noise of 0.5 each, measured ten times, is known to 0.16: less than half of its noise."""
    optimizer = Optimizer(GRID, Ball(0.02), GP(SE(0.08), 0.01), beta=6.25, explore=Curious(0.01, (25.0,)))
    optimizer.tell(np.repeat([[0.2]], 10, axis=0), np.ones(10), noise=0.5)
    here = int(np.argmin(abs(GRID.points[:, 0] - 0.2)))
    assert not teaches(optimizer.state, here)
    optimizer.tell(np.repeat([[0.6]], 11, axis=0), np.ones(11))  # most values have the noise of the model now
    assert teaches(optimizer.state, here)


def test_with_limits_the_defaults_look_elsewhere_at_fixed_times_and_what_was_said_counts():
    said, limits = {"ranges": {"a": (0, 1)}, "tolerance": 0.1}, {"heat": (None, 1.0)}
    assert settled(Words(**said, explore=FRONT_DOOR.explore)).explore is FRONT_DOOR.explore
    sorts = {"ranges": {"a": (0, 1), "s": ["water", "ethanol"]}, "tolerance": {"a": 0.1}}
    assert settled(Words(**sorts, explore=FRONT_DOOR.explore)).explore is FRONT_DOOR.sorts
    assert settled(Words(**said, explore=FRONT_DOOR.explore, constraints=limits)).explore is FRONT_DOOR.limited
    same = Curious(FRONT_DOOR.explore.small, FRONT_DOOR.explore.larger)
    assert settled(Words(**said, explore=same, constraints=limits)).explore is same


def test_a_report_does_not_depend_on_what_was_asked_before():
    fresh, asked = (told(8, Curious(0.01, (25.0,)), Space([(0, 1)]), Rectangle(0.02)) for _ in range(2))
    asked.ask(3)
    asked.state.guarantees([asked.report().decision_index])
    assert fresh.report().lower == asked.report().lower and fresh.report().upper == asked.report().upper


def test_a_schedule_of_ones_own_is_checked():
    class Wild(Schedule):
        def at(self, t, gain):
            return 1.0

        def instead(self, t):
            return [9.0, -1.0]

    optimizer = Optimizer(GRID, Ball(0.02), GP(SE(0.08), NOISE), explore=Wild())
    with pytest.raises(ValueError, match=r"Wild\.instead to return β above 0"):
        optimizer.tell([0.2], 1.0)
    assert optimizer.state.t == 0


def test_a_learned_model_reaches_the_better_hill_that_the_small_beta_alone_misses():
    """Two hills, the initial points near the lower one; five seeds each, with the control."""

    def f(x):
        return np.exp(-(((x - 0.2) / 0.1) ** 2)) + 1.5 * np.exp(-(((x - 0.85) / 0.05) ** 2))

    found, grid = {}, Grid.linspace(0, 1, 201)
    for name, explore in (("small", 0.05), ("curious", Curious(0.05, (4.0, 25.0, 1e4)))):
        found[name] = 0
        for seed in range(5):
            rng = np.random.default_rng(seed)
            optimizer = Optimizer(grid, Rectangle(0.02), Learned(), beta=6.25, explore=explore, seed=seed)
            X = np.linspace(0.02, 0.5, 6).round(2)[:, None]
            optimizer.tell(X, f(X[:, 0]) + 0.02 * rng.standard_normal(6))
            for _ in range(26):
                query = optimizer.ask()
                optimizer.tell(query, float(f(query.point[0])) + 0.02 * rng.standard_normal())
            found[name] += abs(optimizer.report().decision[0] - 0.85) < 0.1
    assert found["curious"] == 5 and found["small"] <= 3, found
