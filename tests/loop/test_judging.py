"""Decisions that a report compares are judged alike, whatever a search with less effort says of them."""

import gc
import weakref

import numpy as np
import pytest
from helpers.cases import extra

from stableopt import GP, SE, Learned, Optimizer, Rectangle, Space
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.judging import Judge, ends
from stableopt.maxmin.solver import Choice, Hints

ROOT = 2.0


class Posterior:
    """ucb is 1 above lcb everywhere."""

    def bound(self, c):
        return c

    def bounds(self, points, c):
        return np.full(len(points), 100.0), np.full(len(points), 100.0)


class Overrating:
    """A solver that overrates decisions when it judges many: ``true`` alone, ``seeming`` together."""

    def __init__(self, true, seeming):
        self.true, self.seeming, self.alone = true, seeming, []

    def value(self, values, decision, c):
        return values[decision] + (1.0 if c > 0 else 0.0)

    def worst(self, decision, F, hints):
        self.alone.append(decision)
        return Choice(decision, decision, self.value(self.true, decision, F))

    def worsts(self, decision, functions, hints):
        self.alone.append(decision)
        return [Choice(decision, decision, self.value(self.true, decision, c)) for c in functions]

    def minima(self, decisions, F, hints):
        return [Choice(d, d, self.value(self.seeming, d, F)) for d in decisions]

    def leading(self, decisions, F, count, hints, above=-np.inf):
        best = sorted(self.minima(decisions, F, hints), key=lambda choice: -choice.value)
        return [choice for choice in best[:count] if choice.value > above]


def judge(true, seeming):
    solver = Overrating(dict(enumerate(true)), dict(enumerate(seeming)))
    return Judge(Posterior(), ROOT, solver, solver, Hints()), solver


def test_those_that_fall_make_room_for_those_that_seemed_worse():
    judged, solver = judge([0.0] * 5 + [3.0, 2.5, 2.4] + [0.0] * 9, [5.0] * 5 + [3.5, 3.0, 2.9] + [1.0] * 9)
    assert judged.leading(range(17), 2) == [(5, 3.0, 4.0), (6, 2.5, 3.5)]
    assert len(set(solver.alone)) < 17, "those that can be no better are not judged"


@pytest.mark.parametrize("c", [-ROOT, ROOT], ids=["lcb", "ucb"])
def test_the_best_one_is_found_behind_many_that_are_overrated_and_nothing_is_better_than_itself(c):
    judged, _ = judge([0.0] * 5 + [3.0] + [0.0] * 11, [5.0] * 5 + [3.5] + [1.0] * 11)
    up = 1.0 if c > 0 else 0.0
    assert judged.better(range(17), c, 2.0 + up).decision == 5
    assert judged.better(range(17), c, 3.0 + up) is None


def test_the_best_of_very_many_are_judged_alone():
    true = [0.0] * 30
    true[7] = 2.0
    judged, solver = judge(true, [0.1 * i for i in range(20)] + [0.0] * 10)
    lower, upper = ends(judged.brackets(range(30)))
    assert len(set(solver.alone)) <= 17 and lower[19] == 0.0 and upper[19] == 1.0
    few, _ = judge(true, [9.0] * 30)
    assert ends(few.brackets(range(16)))[0].tolist() == true[:16]


def told(seed):
    run = Optimizer(
        Space([(0, 1)] * 2), Rectangle(0.1), Learned(), algorithm=FRONT_DOOR.algorithm, beta=6.25, explore=0.5
    )
    X = np.random.default_rng(seed).random((14, 2))
    run.tell(X, np.sin(6 * X).sum(axis=1))
    return run


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 4))])
def test_what_is_asked_does_not_depend_on_reports_before_nor_reports_on_what_was_asked(seed):
    asked, reported = told(seed), told(seed)
    reported.report()
    reported.state.bounds_of([asked.ask().decision_index])
    first, second = asked.ask(), reported.ask()
    assert (first.point_index, first.lower) == (second.point_index, second.lower)
    assert (asked.report().lower, asked.report().upper) == (reported.report().lower, reported.report().upper)


def test_a_state_that_nobody_needs_is_gone_at_once():
    """Its posterior is large: it must not wait for a collector of cycles."""
    run = Optimizer(Space([(0, 1)]), Rectangle(0.1), GP(SE(0.3), 0.1), initial=0)
    run.tell([[0.3], [0.6]], [0.1, 0.4])
    run.ask(), run.report()
    past = weakref.ref(run.state.judge)
    gc.collect()
    gc.disable()
    try:
        run.tell([0.5], 0.3)
        assert past() is None
    finally:
        gc.enable()
