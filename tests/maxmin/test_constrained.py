"""Promises of max-min subject to constraints: on lists it is brute force, in spaces dense enumeration finds no better.

max over d of min over A(d) of F,   where min over A(d) of every M_k is 0 or more
"""

import numpy as np
import pytest
from helpers.adversaries import adversary
from helpers.cases import extra
from helpers.settings import SETTINGS
from hypothesis import given, settings
from hypothesis import strategies as st

from stableopt import Ball, Float, Grid, Integer, Parameters, Rectangle, Space
from stableopt.maxmin import ContinuousMaxMin, Hints, Listing, SpaceRegion
from stableopt.maxmin.search.constrained import Climb, ConstrainedSearch
from stableopt.maxmin.search.looking import alone

# ---------------------------------------------------------------------------------------------------------------- lists


@pytest.mark.parametrize("name", SETTINGS)
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([1, 2, 5, 1000]), st.integers(-2, 2))
def test_on_lists_it_is_the_brute_force(name, seed, count, levels, shift):
    """Few distinct values, so that ties and margins of exactly 0 are common."""
    domain, uncertainty = SETTINGS[name]
    solver, sets = Listing(domain, uncertainty).solver, adversary(domain, uncertainty)
    rng = np.random.default_rng(seed)
    F, *margins = rng.integers(-levels, levels + 1, size=(1 + count, solver.n_points)) / levels
    margins = [M + shift / 2 for M in margins]
    worst = [min(F[z] for z in members) for members in sets]
    margin = [min(M[z] for M in margins for z in members) for members in sets]
    feasible = [d for d in range(len(sets)) if margin[d] >= 0]
    best = max(feasible, key=lambda d: (worst[d], -d)) if feasible else max(range(len(sets)), key=lambda d: margin[d])
    found = solver.maximin(F, subject_to=margins)
    assert (found.decision, found.value, found.margin, found.exact) == (best, worst[best], margin[best], True)
    assert found.point == min(sets[best], key=lambda z: (F[z], z))
    assert solver.maximin(F, subject_to=margins, near=0) == found
    joint = solver.jointly(margins)
    assert (joint.decision, joint.value) == (max(range(len(sets)), key=lambda d: margin[d]), max(margin))


def test_without_constraints_there_is_no_margin():
    assert Listing(*SETTINGS["groups"]).solver.maximin(np.arange(30.0)).margin == np.inf


# --------------------------------------------------------------------------------------------------------------- spaces


class Waves:
    """A smooth function with many hills: a few waves with random directions."""

    def __init__(self, rng, dim, frequency, shift=0.0):
        self.W = frequency * rng.normal(size=(8, dim))
        self.phase, self.size, self.shift = rng.uniform(0, 2 * np.pi, 8), rng.normal(size=8) / 2, shift

    def __call__(self, Z):
        return np.sin(Z @ self.W.T + self.phase) @ self.size + self.shift

    def with_gradient(self, Z):
        inner = Z @ self.W.T + self.phase
        return np.sin(inner) @ self.size + self.shift, (np.cos(inner) * self.size) @ self.W


def problem(seed, dim):
    rng = np.random.default_rng(seed)
    constraints = [Waves(rng, dim, 4.0, rng.uniform(-0.3, 0.8)) for _ in range(rng.integers(1, 4))]
    return Waves(rng, dim, 6.0), constraints


def compare(space, grid, uncertainty, scale, seed, coarse=0.0):
    """The search in a space against the exact solver on a dense grid, whose steps are 1 in the units of ``scale``.

    A grid has fewer decisions and fewer points, so the search may be a little better; it must not be worse.
    """
    F, margins = problem(seed, grid.dim)
    listing = Listing(grid, uncertainty)
    rows = grid.points * scale
    dense = listing.solver.maximin(F(rows), subject_to=[M(rows) for M in margins])
    region = SpaceRegion(space, uncertainty)
    solver = ContinuousMaxMin(region, 10_000)
    found = solver.maximin(F, subject_to=margins)
    d = rows[dense.decision]
    index = region.decision_index(d)
    worst, *others = [solver.worst(index, function).value for function in (F, *margins)]
    if min(others) >= 0:
        assert found.margin >= 0, "the grid has a feasible decision"
        assert found.value >= worst - 2e-3 - coarse
    elif found.margin < 0:
        assert found.margin >= min(others) - 2e-3 - coarse
    assert found.margin == pytest.approx(min(solver.worst(found.decision, M).value for M in margins), abs=1e-6)
    assert found.value == pytest.approx(solver.worst(found.decision, F).value, abs=1e-6)


@pytest.mark.parametrize("seed", [*range(3), *map(extra, range(3, 5))])
def test_on_a_line_no_decision_of_a_dense_grid_is_better(seed):
    compare(Space([(0.0, 1.0)]), Grid.linspace(0, 1, 801), Ball([0.02, 0.1, 0.2][seed % 3]), 1.0, seed)


@pytest.mark.parametrize("seed", [*range(3), *map(extra, range(3, 6))])
def test_in_the_plane_no_decision_of_a_dense_grid_is_better(seed):
    uncertainty = Ball([0.03, 0.08, 0.15][seed % 3], "inf" if seed % 2 else 2)
    compare(Space([(0.0, 1.0)] * 2), Grid.linspace([0, 0], [1, 1], [101, 101]), uncertainty, 1.0, seed)


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 3))])
def test_with_whole_numbers_no_decision_of_a_dense_grid_is_better(seed):
    grid = Grid([np.linspace(0, 1, 201), np.arange(13.0)])
    space = Space([Float(0.0, 1.0), Integer(0, 12)])
    compare(space, grid, Ball(0.1, columns=[0]), np.array([1.0, 1 / 12]), seed)


class Vessel:
    """A pressure vessel: plates of 10..24 and 5..14 sixteenths of an inch, radius 35..65 and length 20..200.

    Its cost, negated (0), how far plates are thick enough (1, 2), and how far the volume is large enough (3).
    """

    low, span = np.array([10.0, 5.0, 35.0, 20.0]), np.array([14.0, 9.0, 30.0, 180.0])

    def __init__(self, which):
        self.which = which

    def __call__(self, Z):
        shell, head, r, length = (self.low + self.span * Z).T * np.array([[0.0625], [0.0625], [1.0], [1.0]])
        if self.which == 0:
            cost = 0.6224 * shell * r * length + 1.7781 * head * r**2
            return -(cost + 3.1661 * shell**2 * length + 19.84 * shell**2 * r) / 1000
        if self.which < 3:
            return shell - 0.0193 * r if self.which == 1 else head - 0.00954 * r
        return np.pi * r**2 * (length + 4 / 3 * r) / 1e6 - 1.296

    def with_gradient(self, Z):
        steps = 1e-6 * np.eye(4)
        return self(Z), np.column_stack([(self(Z + step) - self(Z - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize("brief", [True, False])
def test_whole_numbers_are_left_for_better_ones_though_all_else_has_to_follow(brief):
    """One sixteenth less breaks a limit until the radius is smaller, and then the length must grow.

    The best has 13 and 7 sixteenths and costs 6.45245 (`benchmarks.constraints optimum`). With these numbers there is
    a second hill at the end of the range of lengths, 0.04 below, and that is good enough for a suggestion.
    """
    space = Space([Integer(10, 24), Integer(5, 14), Float(35.0, 65.0), Float(20.0, 200.0)])
    region = SpaceRegion(space, Rectangle([0.0, 0.0, 0.5, 2.0]))
    for seed in range(2):
        solver = ContinuousMaxMin(region, 15_000, seed, brief=brief)
        tried = [region.decision_index((np.array([16.0, 8.0, 51.0, 98.0]) - Vessel.low) / Vessel.span)]
        found = solver.maximin(Vessel(0), Hints(tried), [Vessel(k) for k in (1, 2, 3)])
        assert found.margin >= 0 and found.value == pytest.approx(-6.45245, abs=0.041 if brief else 0.001)
        assert Vessel.low[:2] + Vessel.span[:2] * found.decision[:2] == pytest.approx([13, 7])


@pytest.mark.parametrize("seed", [0, *map(extra, range(1, 3))])
def test_with_a_parameter_no_decision_of_a_dense_grid_is_better(seed):
    """The parameter's rows are as they are; the margins have worst cases of their own among them."""
    F, margins = problem(seed, 2)
    theta = np.array([[0.0], [0.3], [1.0]])
    region = SpaceRegion(Space([(0.0, 1.0)]), Ball(0.05) * Parameters(theta))
    found = ContinuousMaxMin(region, 10_000).maximin(F, subject_to=margins)
    listing = Listing(Grid.linspace(0, 1, 801), Ball(0.05) * Parameters(theta))
    rows = np.array([listing.point(i) for i in range(801 * 3)])
    dense = listing.solver.maximin(F(rows), subject_to=[M(rows) for M in margins])
    if dense.margin >= 5e-3:
        assert found.margin >= 0
        assert found.value >= dense.value - 2e-2  # the grid's adversary is a little weaker
    elif dense.margin < -5e-3:
        assert found.margin == pytest.approx(dense.margin, abs=2e-2)


@pytest.mark.parametrize("seed", range(4))
def test_several_functions_at_once_are_the_largest_smallest_worst_case(seed):
    _, margins = problem(seed + 50, 2)
    grid, uncertainty = Grid.linspace([0, 0], [1, 1], [101, 101]), Ball(0.08)
    dense = Listing(grid, uncertainty).solver.jointly([M(grid.points) for M in margins])
    region = SpaceRegion(Space([(0.0, 1.0)] * 2), uncertainty)
    solver = ContinuousMaxMin(region, 10_000)
    found = solver.jointly(margins)
    index = region.decision_index(grid.points[dense.decision])
    assert found.value >= min(solver.worst(index, M).value for M in margins) - 2e-3


class Bowl:
    """1 − |z − centre|² · steep: one hill."""

    def __init__(self, centre, steep=1.0):
        self.centre, self.steep = np.array(centre), steep

    def __call__(self, Z):
        return self.with_gradient(Z)[0]

    def with_gradient(self, Z):
        away = Z - self.centre
        return 1 - self.steep * (away * away).sum(axis=1), -2 * self.steep * away


def test_on_one_hill_a_climb_finds_what_a_search_finds():
    """From a decision that breaks a limit to the best one that keeps it; without any, it stays where it is."""
    solver = ContinuousMaxMin(SpaceRegion(Space([(0.0, 1.0)] * 2), Ball(0.05)), 10_000)
    F, limit = Bowl([0.9, 0.8]), Bowl([0.3, 0.4], 12.0)
    found, best = solver.maximin(F, subject_to=[limit], near=(0.85, 0.75)), solver.maximin(F, subject_to=[limit])
    assert found.margin >= 0 and found.value == pytest.approx(best.value, abs=1e-3)
    nowhere = solver.maximin(F, subject_to=[limit, Bowl([0.9, 0.8], 12.0)], near=(0.85, 0.75))
    assert nowhere.margin < 0 and nowhere.decision == (0.85, 0.75)


@pytest.mark.parametrize("turns", [None, 3])
@pytest.mark.parametrize("start", [(0.85, 0.75), (0.35, 0.35), (0.05, 0.95)])
def test_what_a_climb_says_of_its_decision_is_what_a_full_look_finds(start, turns):
    """Also after its level has risen, in units of the function and of the margins."""
    solver = ContinuousMaxMin(SpaceRegion(Space([(0.0, 1.0)] * 2), Ball(0.05)), 10_000, brief=True)
    functions = [Bowl([0.9, 0.8]), Bowl([0.3, 0.4], 12.0), Bowl([0.5, 0.3], 6.0)]
    search = ConstrainedSearch(solver, functions[0], functions[1:], Hints())
    merit = search._merit(search.scan.lowest, 64.0)
    inner = search.joint.inner(merit, search.known)
    climb = Climb(inner, merit, search.scan.lowest, np.array(start))
    looks = [climb.judged]
    alone(inner.minima, climb.run(None) if turns is None else climb.few(turns))
    for judged in (*looks, climb.judged):
        value, *margins = [solver.worst(tuple(judged.x), F).value for F in functions]
        assert judged.value == pytest.approx(value, abs=1e-5) and judged.margin == pytest.approx(min(margins), abs=1e-5)
    assert np.allclose(climb.judged.x, climb.x) and (turns or climb.level > search.scan.lowest)


class ByWord:
    """Another function of a number for each word, which has no slope."""

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, Z):
        return self.with_gradient(Z)[0]

    def with_gradient(self, Z):
        v, G = np.empty(len(Z)), np.zeros(Z.shape)
        for code, part in enumerate(self.parts):
            own = Z[:, 1] == code
            v[own], G[own, :1] = part.with_gradient(Z[own, :1])
        return v, G


@pytest.mark.parametrize("seed", range(4))
def test_with_categories_no_decision_of_an_enumeration_is_better(seed):
    rng = np.random.default_rng(seed)
    F, *margins = [ByWord([Waves(rng, 1, 8.0, shift) for _ in range(4)]) for shift in (0.0, 0.2, 0.4)]
    region = SpaceRegion(Space([Float(0.0, 1.0), ["oak", "ash", "elm", "fir"]]), Ball(0.05, columns=[0]))
    found = ContinuousMaxMin(region, 10_000).maximin(F, subject_to=margins)
    grid, best = Grid.linspace(0, 1, 801), (-np.inf, -np.inf)
    for code in range(4):
        rows = np.column_stack([grid.points, np.full(801, float(code))])
        dense = Listing(grid, Ball(0.05)).solver.maximin(F(rows), subject_to=[M(rows) for M in margins])
        best = max(best, (min(dense.margin, 0.0), dense.value))
    assert best[0] >= 0 and found.margin >= 0
    assert found.value == pytest.approx(best[1], abs=2e-2)  # the grid's adversary is a little weaker
    assert found.value >= best[1] - 1e-2


@pytest.mark.parametrize("seed", range(3))
def test_without_an_adversary_it_is_the_best_point_within_the_limits(seed):
    F, margins = problem(seed + 20, 2)
    region = SpaceRegion(Space([(0.0, 1.0)] * 2), Ball(0.0))
    found = ContinuousMaxMin(region, 10_000).maximin(F, Hints(points=[(0.5, 0.5)], values=[0.0]), margins)
    rows = Grid.linspace([0, 0], [1, 1], [301, 301]).points
    smallest = np.min([M(rows) for M in margins], axis=0)
    best = F(rows)[smallest >= 0].max() if (smallest >= 0).any() else None
    if best is None:
        assert found.margin >= smallest.max() - 1e-3
    else:
        assert found.margin >= 0 and found.value >= best - 1e-3


def test_starts_agree_on_one_hill_and_not_where_a_better_one_was_missed():
    """Where they agree, with little effort, too, dense enumeration finds nothing better."""
    agreed = []
    for dim, seed, frequency in (*((2, seed, 1.0) for seed in range(5)), (3, 307, 6.0)):
        rng = np.random.default_rng(seed)
        F = Waves(rng, dim, frequency)
        margins = [Waves(rng, dim, 4.0, rng.uniform(-0.1, 0.8)) for _ in range(2)]
        region, grid = (
            SpaceRegion(Space([(0.0, 1.0)] * dim), Ball(0.08)),
            Grid.linspace([0] * dim, [1] * dim, [26] * dim),
        )
        solver = ContinuousMaxMin(region, 4_166)
        found = solver.maximin(F, subject_to=margins)
        agreed.append(found.agreed)
        dense = Listing(grid, Ball(0.08)).solver.maximin(F(grid.points), subject_to=[M(grid.points) for M in margins])
        index = region.decision_index(grid.points[dense.decision])
        if found.agreed and min(solver.worst(index, M).value for M in margins) >= 0:
            assert found.value >= solver.worst(index, F).value - 1e-3
    assert any(agreed) and not agreed[-1], "there, a hill that is higher by a quarter is hard to find"
