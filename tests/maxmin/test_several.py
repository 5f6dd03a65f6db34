"""Promises of searches for several functions at once: each finds what it finds alone."""

import numpy as np
import pytest
from helpers.cases import extra

from stableopt import GP, SE, Ball, Integer, Matern, Parameters, Rectangle, Space
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.search.inner import Descent
from stableopt.maxmin.search.numbered import OneByOne, together
from stableopt.maxmin.search.oracle import Oracle
from stableopt.maxmin.search.plan import Budget
from stableopt.maxmin.solver import Hints
from stableopt.maxmin.spaces.region import SpaceRegion

REGIONS = {
    "box": SpaceRegion(Space([(0.0, 1.0)] * 2), Rectangle([0.1, 0.1])),
    "ball": SpaceRegion(Space([(0.0, 1.0)] * 3), Ball(0.15)),
    "mixed": SpaceRegion(
        Space([(0.0, 1.0), Integer(1, 8), ["a", "b", "c"]]),
        Rectangle([0.1, 1.0]) * Parameters(Space([(0.0, 1.0)])),
    ),
    "nothing": SpaceRegion(Space([(0.0, 1.0)] * 2), Rectangle(0.0)),
}


class Plain:
    """A function that knows nothing of others."""

    def __init__(self, F):
        self.F, self.evaluated = F, 0

    def __call__(self, Z):
        self.evaluated += len(Z)
        return self.F(Z)

    def with_gradient(self, Z):
        self.evaluated += len(Z)
        return self.F.with_gradient(Z)


def bounds(region, seed, t=12):
    rng = np.random.default_rng(seed)
    Z = region.points_space.rows(rng.random((t, len(region.points_space.parts))))
    posterior = GP(SE([0.4] * Z.shape[1]), 0.05).condition(Z, rng.standard_normal(t))
    return posterior.bound(-2.0), posterior.bound(2.0)


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 3))])
@pytest.mark.parametrize("name", REGIONS)
def test_two_searches_together_find_what_each_finds_alone(name, seed):
    region = REGIONS[name]
    # The budget of a suggestion: with much less, where a search ends depends on what it met on its way.
    solver, functions = ContinuousMaxMin(region, 10_000), bounds(region, seed)
    both = solver.maximins(functions, [Hints(), Hints()])
    for choice, F in zip(both, functions, strict=True):
        alone = solver.maximin(F)
        assert choice.value == pytest.approx(alone.value, abs=1e-5)
        assert solver.worst(choice.decision, F).value == pytest.approx(choice.value, abs=1e-5)
    decision = both[0].decision
    for choice, F in zip(solver.worsts(decision, functions), functions, strict=True):
        assert choice.decision == decision and choice.value == pytest.approx(solver.worst(decision, F).value, abs=1e-7)


def test_searches_from_where_others_ended_also_go_together():
    solver, functions = ContinuousMaxMin(REGIONS["box"], 6000), bounds(REGIONS["box"], 0)
    ends = [solver.maximin(F) for F in functions]
    hints = [Hints([end.decision, *end.others], enough=True) for end in ends]
    both = solver.maximins(functions, hints)
    assert [c.value for c in both] == pytest.approx([end.value for end in ends], abs=1e-5)


def test_functions_that_have_nothing_in_common_go_together_as_well():
    region = REGIONS["box"]
    first, other = bounds(region, 1)[0], bounds(region, 2)[1]
    assert isinstance(together([first, other]), OneByOne)
    both = ContinuousMaxMin(region, 6000).maximins([Plain(first), Plain(other)], [Hints(), Hints()])
    alone = [ContinuousMaxMin(region, 6000).maximin(F).value for F in (first, other)]
    assert [c.value for c in both] == pytest.approx(alone, abs=1e-5)


def test_together_gives_the_same_answer_again_and_the_functions_in_any_order():
    region = REGIONS["ball"]
    solver, (low, high) = ContinuousMaxMin(region, 10_000), bounds(region, 3)
    once, again = (solver.maximins([low, high], [Hints(), Hints()]) for _ in range(2))
    assert once == again
    swapped = solver.maximins([high, low], [Hints(), Hints()])
    assert [c.value for c in reversed(swapped)] == pytest.approx([c.value for c in once], abs=1e-5)


def test_bounds_of_one_model_share_its_evaluations():
    """The scans look at the same points, and what follows goes in one batch."""
    region, calls = REGIONS["box"], []

    def counted(stationary):
        original, stationary._rows = stationary.moments, 10**9  # all points of a call at once
        stationary.moments = lambda Z: (calls.append(len(Z)), original(Z))[1]

    low, high = bounds(region, 4)
    counted(low.moments.stationary)
    solver = ContinuousMaxMin(region, 6000)
    for F in (low, high):
        solver.maximin(F)
    apart = len(calls), sum(calls)
    calls.clear()
    solver.maximins([low, high], [Hints(), Hints()])
    assert len(calls) < 0.7 * apart[0] and sum(calls) < 0.9 * apart[1]


@pytest.mark.parametrize("kernel", [SE([0.3, 0.5]), Matern(2.5, [0.3, 0.5]), SE([0.3, 0.5]) + SE([1.0, 1.0])])
def test_several_bounds_at_once_are_those_one_by_one(kernel):
    rng = np.random.default_rng(0)
    posterior = GP(kernel, 0.1).condition(rng.random((9, 2)), rng.standard_normal(9))
    functions, Z, which = [posterior.bound(c) for c in (-2.0, 0.0, 1.5)], rng.random((40, 2)), rng.integers(3, size=40)
    found = together(functions)
    assert not isinstance(found, OneByOne)
    assert np.allclose(found.each(Z), [F(Z) for F in functions], atol=1e-12)
    plain = OneByOne(functions)
    assert np.allclose(found.at(Z, which), plain.at(Z, which), atol=1e-12)
    for ours, theirs in zip(found.with_gradient(Z, which), plain.with_gradient(Z, which), strict=True):
        assert np.allclose(ours, theirs, atol=1e-10)


class Valley:
    """A quadratic whose curvature is the same in every column of a point, around a place inside of all sets."""

    def __call__(self, Z):
        return self.with_gradient(Z)[0]

    def with_gradient(self, Z):
        away = Z - np.array([0.52, 0.3])
        return 4 * (away**2).sum(axis=1) + 3 * away[:, 0] * away[:, 1], 8 * away + 3 * away[:, ::-1]


def test_a_descent_at_its_pace_needs_fewer_steps_where_coordinates_reach_differently_far(monkeypatch):
    """A parameter goes anywhere, a tolerance hardly anywhere."""
    region = SpaceRegion(Space([(0.0, 1.0)]), Rectangle(0.04) * Parameters(Space([(0.0, 1.0)])))
    X, S = np.full((1, 1), 0.5), np.array([[-0.5, 0.9]])

    def steps():
        taken = []
        original = Descent._step
        with monkeypatch.context() as patch:
            patch.setattr(Descent, "_step", lambda self, *a: (taken.append(1), original(self, *a))[1])
            oracle = Oracle(region, Valley(), Budget(10_000))
            descent = Descent(oracle, X, S, paced=True)
            descent.advance(200, 1e-9)
        assert descent.v[0] == pytest.approx(0.0, abs=1e-6)
        return len(taken)

    ours = steps()
    monkeypatch.setattr(SpaceRegion, "pace", lambda self, X: np.ones((len(X), self.width)))
    assert ours < steps()


def test_paces_differ_only_where_coordinates_are_held_back_one_by_one():
    X = np.full((3, 2), 0.5)
    assert np.allclose(SpaceRegion(Space([(0, 1)] * 2), Rectangle([0.2, 0.05])).pace(X), [1.0, 16.0])
    assert np.allclose(SpaceRegion(Space([(0, 1)] * 2), Rectangle([0.2, 0.15])).pace(X), 1.0)
    assert np.allclose(SpaceRegion(Space([(0, 1)] * 2), Rectangle([0.2, 0.001])).pace(X), [1.0, 100.0])
    assert np.allclose(SpaceRegion(Space([(0, 1), (0, 10)]), Ball(0.2)).pace(X), 1.0)


def test_each_function_profits_from_the_hints_of_all():
    """Two narrow peaks, each hinted for one function only: together they find what they find alone."""

    class Peak:
        def __init__(self, centre):
            self.centre = np.array(centre)

        def _above(self, Z):  # nothing leads there from farther away than 0.002
            return np.maximum(1 - 2.5e5 * np.square(Z - self.centre).sum(axis=1), 0.0)

        def __call__(self, Z):
            return self._above(Z) ** 2

        def with_gradient(self, Z):
            return self(Z), -1e6 * self._above(Z)[:, None] * (Z - self.centre)

    region = SpaceRegion(Space([(0.0, 1.0)] * 2), Rectangle(0.0001))
    centres = [(0.123, 0.871), (0.777, 0.333)]
    functions, hints = [Peak(c) for c in centres], [Hints([c]) for c in centres]
    solver = ContinuousMaxMin(region, 3000, 0)
    alone = [solver.maximin(F, own).value for F, own in zip(functions, hints, strict=True)]
    both = [choice.value for choice in solver.maximins(functions, hints)]
    assert min(alone) > 0.9 and both == pytest.approx(alone, abs=1e-3)
    assert solver.maximin(functions[1], hints[0]).value < 0.5, "without its hint, a peak is missed"
