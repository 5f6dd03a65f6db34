"""Searches that begin where those of an almost equal state ended: as good as searches of their own."""

from dataclasses import replace

import numpy as np
import pytest

from stableopt import Learned, Optimizer, Rectangle, Space
from stableopt.loop.asking import imagining
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.reporting import report
from stableopt.loop.updates import rescaled


@pytest.fixture(scope="module")
def optimizer():
    defaults = {"algorithm": FRONT_DOOR.algorithm, "beta": FRONT_DOOR.beta, "explore": FRONT_DOOR.explore}
    made = Optimizer(Space([(0, 1)] * 2), Rectangle(0.1), Learned(), **defaults)
    X = np.random.default_rng(0).random((25, 2))
    made.tell(X, np.sin(7 * X).sum(axis=1) - np.square(X - 0.6).sum(axis=1))
    return made


def test_further_queries_are_as_good_as_if_each_had_a_search_of_its_own(optimizer):
    state, queries = optimizer.state, optimizer.ask(6)
    spread = float(np.ptp(state.exploring(np.array(state.candidates()))))
    for i in range(1, 6):
        alone = imagining(state, [q.point_index for q in queries[:i]])
        worst = state.setting.solver(state.t).worst(queries[i].decision_index, alone.exploring)
        assert worst.value > alone.optimistic.value - 0.01 * spread
    assert [q.lower for q in queries] == pytest.approx([state.pessimistic(q.decision_index).value for q in queries])


def test_a_search_between_two_tolerances_finds_what_one_of_its_own_finds(optimizer):
    state, rule = optimizer.state, optimizer.algorithm.reporting
    ends = tuple(rescaled(state, factor) for factor in (0.0, 1.0))
    for factor in (0.25, 0.75):
        own = rescaled(state, factor)
        found, expected = report(replace(own, like=ends), rule), report(own, rule)
        assert (found.lower, found.optimum_upper) == pytest.approx((expected.lower, expected.optimum_upper), abs=1e-4)
