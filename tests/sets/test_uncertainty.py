"""Promises of the uncertainty sets: what they allow by definition, and that they are plain values."""

import json
import math
import operator
import pickle

import numpy as np
import pytest
from helpers.adversaries import adversary, grids, hammings, line_distance, may_move, norm_balls, parameters, points
from helpers.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from stableopt import (
    Ball,
    Distance,
    Ellipsoid,
    Estimate,
    Grid,
    Groups,
    Hamming,
    Parameters,
    Points,
    Rectangle,
    Relative,
)
from stableopt.base.values import from_dict
from stableopt.maxmin.lists.listing import Listing
from stableopt.sets.uncertainty import Combined


@given(st.data())
@settings(max_examples=150)
def test_reaches_is_the_definition_pair_by_pair(data):
    domain = data.draw(st.one_of(points(), grids(most=40)))
    perturbation = data.draw(st.one_of(norm_balls(domain.dim), hammings(domain.dim)))
    X = domain.points
    expected = [[may_move(perturbation, x, z) for z in X.tolist()] for x in X[::2].tolist()]
    assert perturbation.reaches(X[::2], X).tolist() == expected


@given(st.data())
def test_a_larger_eps_allows_more_and_every_point_stays_where_it_is(data):
    domain = data.draw(points())
    norm, eps = data.draw(st.sampled_from([1, 2, "inf"])), data.draw(st.just(0.0) | st.floats(1e-9, 5))
    small, large = (Ball(e, norm).reaches(domain.points, domain.points) for e in (eps, eps * 1.5))
    assert np.all(small <= large)
    assert np.all(np.diag(small)) and np.array_equal(small, small.T)


@given(st.data())
def test_balls_of_the_three_norms_are_nested(data):
    domain, eps = data.draw(points()), data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
    one, two, infinity = (Ball(eps, norm).reaches(domain.points, domain.points) for norm in (1, 2, math.inf))
    assert np.all(one <= two) and np.all(two <= infinity)


@given(st.data())
def test_a_rectangle_of_equal_sides_is_a_ball_of_the_maximum_norm(data):
    domain, eps = data.draw(points()), data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
    rectangle, ball = Rectangle([eps] * domain.dim), Ball(eps, "inf")
    assert np.array_equal(rectangle.reaches(domain.points, domain.points), ball.reaches(domain.points, domain.points))


@given(st.data())
def test_scales_are_units_of_the_coordinates(data):
    domain = data.draw(points(dim=2))
    norm, eps = data.draw(st.sampled_from([1, 2, "inf"])), data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]))
    scaled = Ball(eps, norm, scales=[2.0, 0.25]).reaches(domain.points, domain.points)
    rescaled = domain.points / [2.0, 0.25]
    assert np.array_equal(scaled, Ball(eps, norm).reaches(rescaled, rescaled))


@pytest.mark.parametrize("norm", [1, 2, "inf"])
@pytest.mark.parametrize("make", [lambda x: Grid([x]), Points], ids=["grid", "points"])
@pytest.mark.parametrize(("step", "cells"), [(0.1, 3), (0.1, 7), (1 / 3, 2), (1e-5, 6), (0.7, 9)])
def test_a_step_that_divides_eps_on_paper_does_so_in_floating_point(norm, make, step, cells):
    n = 40
    axis = np.linspace(0, step * (n - 1), n)
    solver = Listing(make(axis), Ball(round(step * cells, 12) if step != 1 / 3 else cells / 3, norm)).solver
    assert [len(solver.members(d)) for d in range(n)] == [min(d, cells) + 1 + min(n - 1 - d, cells) for d in range(n)]


def test_what_is_beyond_eps_by_more_than_a_billionth_is_outside():
    X = np.array([[0.0], [1.0]])
    for eps, inside in ((1 - 1e-6, False), (1 - 5e-9, False), (1 - 1e-10, True), (1.0, True), (1 + 1e-6, True)):
        assert bool(Ball(eps).reaches(X, X)[0, 1]) is inside
        assert (len(Listing(Points(X), Ball(eps)).solver.members(0)) == 2) is inside
        assert (len(Listing(Grid([X[:, 0]]), Ball(eps)).solver.members(0)) == 2) is inside


def test_a_vectorised_distance_is_the_same_set():
    domain = Points(np.random.default_rng(0).normal(size=(30, 2)))
    one = Distance(lambda x, z: float(np.abs(x - z).max()), 0.7)
    many = Distance(lambda x, Z: np.abs(x - Z).max(axis=1), 0.7, vectorized=True)
    for other in (many, Ball(0.7, "inf")):
        assert np.array_equal(one.reaches(domain.points, domain.points), other.reaches(domain.points, domain.points))


def test_a_distance_may_be_no_metric_and_infinite():
    domain = Points([0.0, 1.0, 2.0])
    up = Listing(domain, Distance(lambda x, z: z[0] - x[0], 0.0)).solver
    assert [up.members(d).tolist() for d in range(3)] == [[0], [0, 1], [0, 1, 2]]
    fixed = Listing(domain, Distance(lambda x, z: 0.0 if x[0] == z[0] else math.inf, 1e6)).solver
    assert [fixed.members(d).tolist() for d in range(3)] == [[0], [1], [2]]


@given(st.data())
def test_the_papers_variations_are_unusual_distances(data):
    """Supplement C: parameters, estimates and groups as distances on the concatenated input."""
    X = data.draw(points(most=6)).points
    theta = data.draw(parameters())
    T = np.asarray(theta.theta)
    p = X.shape[1]
    both = np.hstack([np.repeat(X, len(T), axis=0), np.tile(T, (len(X), 1))])
    if isinstance(theta, Estimate):
        distance = lambda u, v: abs(u[p] - v[p]) if np.array_equal(u[:p], v[:p]) else math.inf  # noqa: E731
        plain = Distance(distance, theta.within.eps)
        at = [d * len(T) + int(np.flatnonzero(T[:, 0] == theta.estimate[0])[0]) for d in range(len(X))]
    else:
        plain = Distance(lambda u, v: math.dist(u[:p], v[:p]), 0.0)
        at = [d * len(T) for d in range(len(X))]
    mine, papers = Listing(Points(X), theta).solver, Listing(Points(both), plain).solver
    assert [mine.members(d).tolist() for d in range(len(X))] == [papers.members(d).tolist() for d in at]


def test_groups_are_a_distance_between_groups():
    labels = np.array([0, 2, 1, 0, 2, 2])
    domain = Points(np.arange(6.0))
    papers = Listing(domain, Distance(lambda x, z: float(labels[int(x[0])] != labels[int(z[0])]), 0.0)).solver
    mine = Listing(domain, Groups.from_labels(labels)).solver
    assert [mine.members(labels[i]).tolist() for i in range(6)] == [papers.members(i).tolist() for i in range(6)]


@given(st.data())
def test_a_hamming_ball_on_a_grid_is_one_on_its_points(data):
    grid = data.draw(grids(most=40))
    ball = data.draw(hammings(grid.dim))
    assert adversary(grid, ball) == [
        Listing(Points(grid.points), ball).solver.members(d).tolist() for d in range(len(grid))
    ]


def test_groups_from_labels_are_the_sorted_labels():
    groups = Groups.from_labels(["b", "a", "b", "c"])
    assert (groups.names, groups.members) == (("a", "b", "c"), ((1,), (0, 2), (3,)))


def test_groups_by_name_keep_their_order_and_forget_repetitions():
    groups = Groups({"z": [3, 1, 3], "a": (0, 2)})
    assert (groups.names, groups.members) == (("z", "a"), ((1, 3), (0, 2)))
    assert Groups([[3, 1], [0, 2]]).names == (0, 1)
    assert Groups([[3, 1], [0, 2]], ["z", "a"]) == groups


def test_an_estimate_allows_what_is_near_it():
    estimate = Estimate([0.0, 0.5, 1.0, 1.5], [0.5], Ball(0.5))
    assert estimate.allowed.tolist() == [0, 1, 2]
    assert estimate.nominal.tolist() == [1]
    assert Parameters([0.0, 0.5]).allowed.tolist() == Parameters([0.0, 0.5]).nominal.tolist() == [0, 1]
    categories = Estimate([[0, 0], [0, 1], [1, 1]], [0, 0], Hamming(1))
    assert categories.allowed.tolist() == [0, 1]


def test_a_product_of_sets_does_not_depend_on_brackets():
    a, b, c = Ball(0.1, columns=[0]), Hamming(1, [1]), Parameters([0.0, 1.0])
    assert (a * b) * c == a * (b * c) == Combined((a, b, c))
    assert ((a * b) * c).perturbations == [a, b] and (a * c).parameters == c and (a * b).parameters is None


# ---------------------------------------------------------------------------------------------------------- values

SETS = {
    "ball": lambda: Ball(0.1, math.inf, scales=[1, 2], columns=[0, 2]),
    "rectangle": lambda: Rectangle(np.array([0.1, 0.0])),
    "hamming": lambda: Hamming(np.int64(2), range(2)),
    "distance": lambda: Distance(line_distance, 1),
    "parameters": lambda: Parameters(np.eye(2)),
    "estimate": lambda: Estimate([0.0, 0.5, 1.0], 0.5, Ball(0.5)),
    "groups": lambda: Groups({"a": [0, 1], 5: [1, 2]}),
    "combined": lambda: Ball(0.1, columns=[1]) * Estimate([0.0, 0.5, 1.0], 0.5, Ball(0.5)),
}


@pytest.mark.parametrize("make", SETS.values(), ids=SETS)
def test_a_set_is_its_fields_also_after_json_and_pickle(make):
    value = make()
    assert value == make() and hash(value) == hash(make()) and not operator.is_(value, make())
    text = json.dumps(value.to_dict())
    assert from_dict(json.loads(text), {"line_distance": line_distance}) == value
    assert pickle.loads(pickle.dumps(value)) == value
    others = [SETS[name]() for name in SETS if SETS[name] is not make]
    assert value not in others
    assert repr(value).startswith(type(value).__name__)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Ball(0.1), Ball(0.2)),
        (Ball(0.1), Ball(0.1, 1)),
        (Ball(0.1), Ball(0.1, columns=[0])),
        (Hamming(1), Hamming(2)),
        (Parameters([0.0, 1.0]), Parameters([1.0, 0.0])),
        (Groups([[0], [1]]), Groups([[0], [1]], ["a", "b"])),
        (Distance(lambda x, z: 0.0, 1.0), Distance(lambda x, z: 1.0, 1.0)),
    ],
)
def test_sets_with_different_fields_are_not_equal(one, other):
    assert one != other


def test_a_distance_may_be_any_callable():
    class Scaled:
        def __call__(self, x, z):
            return float(2 * np.abs(x - z).sum())

    value = Distance(Scaled(), 2.0)
    assert Listing(Points([0.0, 1.0, 2.0]), value).solver.members(0).tolist() == [0, 1]
    assert value in [value] and value == Distance(value.distance, 2.0) and isinstance(hash(value), int)
    assert value != Distance(Scaled(), 2.0)


def test_arrays_of_a_set_do_not_change():
    theta = np.array([[0.0], [1.0]])
    sets = [Parameters(theta), Estimate(theta, [0.0], Ball(0.5))]
    theta[0] = 7.0
    for value in sets:
        assert np.asarray(value.theta).tolist() == [[0.0], [1.0]]
        assert not np.asarray(value.theta).flags.writeable


def test_members_of_a_solver_cannot_be_overwritten():
    for uncertainty in (Ball(1.0), Groups([[0, 2], [1]])):
        setting = Listing(Points([0.0, 1.0, 2.0]), uncertainty)
        before = setting.solver.members(0).tolist()
        members = setting.solver.members(0)
        if members.flags.writeable:
            members[:] = 1
        assert setting.solver.members(0).tolist() == before


@pytest.mark.parametrize(
    "make",
    [lambda: Grid.linspace([0.0, 0.0], [1.0, 1.0], 10**6), lambda: Grid.linspace(0.0, 1.0, 10**12)],
    ids=["two axes", "one axis"],
)
def test_a_grid_too_large_for_memory_is_refused_when_it_is_made(make):
    refused(make, ValueError, "1e+12 points", "memory", "GB", "fewer steps", "Space")
    assert len(Grid.linspace([0.0, 0.0], [1.0, 1.0], 1000)) == 10**6


@pytest.mark.parametrize(
    "perturbation",
    [
        Ball(0.3),
        Ball(0.3, 1, scales=[1.0, 2.0]),
        Rectangle([0.2, (-0.1, 0.4)]),
        Rectangle(0.2),
        Relative([0.2, 0.4]),
        Ellipsoid([[0.04, 0.01], [0.01, 0.09]]),
    ],
)
@pytest.mark.parametrize("factors", [(0.5, 2.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)])
def test_a_stretched_set_is_the_image_of_the_set(perturbation, factors):
    """x' = x + stretched move: a point is reached if the move, shrunk back, was allowed; along 0 nothing moves."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.0, (1, 2))
    moves = rng.uniform(-0.8, 0.8, (400, 2)) * np.where(np.array(factors) > 0, 1.0, 0.0)
    back = np.divide(moves, factors, out=np.zeros_like(moves), where=np.array(factors) > 0)
    stretched = perturbation.stretched(factors, [0, 1])
    expected = perturbation.reaches(x, x + back)[0]
    assert (stretched.reaches(x, x + moves)[0] == expected).all()
    assert any(factors) <= (len(set(expected)) == 2)
    aside = np.array([[1e-3, 1e-3]]) * (np.array(factors) == 0)
    assert stretched.reaches(x, x + aside)[0, 0] == (not aside.any())


def test_sets_without_a_size_for_each_column_cannot_be_stretched():
    for perturbation in (Hamming(1), Distance(lambda a, b: 0.0, 1.0)):
        assert perturbation.stretched([2.0, 1.0], [0, 1]) is None
