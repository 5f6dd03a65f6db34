"""Promises of a space with an adversary: all points are allowed, all that is allowed can be reached, gradients agree.

Membership is tested here in the user's units, by code that shares nothing with the movers.
"""
# ruff: noqa: E501 (a table is read by its rows)

import functools
import itertools
import json
import math

import numpy as np
import pytest
from helpers.cases import extra
from helpers.refusals import refused, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from stableopt import Ball, Distance, Estimate, Grid, Groups, Hamming, Parameters, Points, Rectangle
from stableopt.base.values import from_dict
from stableopt.maxmin.lists.listing import Listing
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.spaces.movers import ChoiceMover, NormMover
from stableopt.maxmin.spaces.projections import SlicedBall
from stableopt.maxmin.spaces.region import SpaceRegion, SpaceTranslation
from stableopt.maxmin.spaces.set_movers import EllipsoidMover, OwnMover
from stableopt.sets.own import Within
from stableopt.sets.perturbations import Ellipsoid, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Combined, continuous
from stableopt.sets.variables import Float, Integer, Range

NAN, INF = math.nan, math.inf
pytestmark = pytest.mark.filterwarnings("ignore:a tolerance of .* reaches less than one step")

NORMS = [1, 2, "inf"]


# ------------------------------------------------------------------------------------------ spaces, sets and membership


@st.composite
def floats(draw):
    """Ranges of a user: units of many sizes, linear or log, sometimes with a wider evaluation range."""
    log, size = draw(st.booleans()), 10.0 ** draw(st.integers(-6, 6))
    low = size * draw(st.floats(0.1, 2.0) if log else st.sampled_from([0.0, -1.0, 0.3, -0.7, 5.0]))
    high = low * draw(st.sampled_from([1.5, 10.0, 1e6])) if log else low + size * draw(st.floats(0.5, 3.0))
    wider = draw(st.sampled_from([None, None, 0.2, 4.0]))
    if wider is None:
        return Float(low, high, log)
    return Float(
        low, high, log, (low / (1 + wider) if log else low - wider * (high - low), high + wider * (high - low))
    )


@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -20, 50))
    return Integer(low, low + draw(st.integers(1, 40)), log)


others = st.sampled_from([("k", ["a", "b", "c"]), (("p", "q"), Points([[0.0, 1.0], [2.0, 5.0], [2.0, 1.0]]))])


@st.composite
def spaces(draw, kinds=None, most=3):
    variables = draw(st.lists(floats() | integers() if kinds is None else kinds, min_size=1, max_size=most))
    named = {f"x{i}": v for i, v in enumerate(variables)}
    return Space(dict([draw(others)]) | named if draw(st.booleans()) else named)


def ranges(space):
    return {n: v for n, v in zip(space.names, space.parts, strict=True) if isinstance(v, Range)}


def ellipsoid(draw, space, names):
    """An ellipsoid with axes of the sizes of the ranges, in a random direction."""
    sizes = np.array([ranges(space)[n].high - ranges(space)[n].low for n in names])
    root = np.tril(np.random.default_rng(draw(st.integers(0, 99))).normal(size=(len(names),) * 2)) + 2 * np.eye(
        len(names)
    )
    root *= sizes[:, None] / np.linalg.norm(root, axis=1, keepdims=True) * draw(st.floats(0.01, 0.9))
    return Ellipsoid((root @ root.T).tolist(), columns=names)


@st.composite
def skewed(draw, width):
    """The same width, or one that is smaller to one side."""
    less = draw(st.sampled_from([0.0, 0.3, 1.0]))
    return width if draw(st.booleans()) else draw(st.sampled_from([(-width, less * width), (-less * width, width)]))


def moved(widths, offset):
    """How much of its width each offset takes, by the definition: that to its own side."""
    ends = [w if isinstance(w, tuple) else (-w, w) for w in (widths if isinstance(widths, tuple) else [widths] * len(offset))]  # fmt: skip
    return np.array([high if d > 0 else -low for (low, high), d in zip(ends, offset, strict=True)])


@st.composite
def perturbations(draw, space, names=None):
    names = names or draw(st.lists(st.sampled_from(list(ranges(space))), min_size=1, unique=True))
    chosen = [ranges(space)[n] for n in names]
    widths = [(v.high - v.low) * draw(st.floats(0.01, 1.0)) for v in chosen]
    whole = any(isinstance(v, Integer) for v in chosen)
    kind = draw(st.sampled_from(["ball", "rectangle", "relative"] + ["ellipsoid"] * 2 * (not whole)))
    if kind == "ball":
        return Ball(1.0, draw(st.sampled_from(NORMS)), scales=widths, columns=names)
    if kind == "rectangle":
        return Rectangle([0.0 if draw(st.booleans()) else draw(skewed(w)) for w in widths], columns=names)
    if kind == "relative":
        most = [0.99 * (v.high - v.low) / max(abs(v.low), abs(v.high)) for v in chosen]
        sizes = [min(draw(st.sampled_from([0.0, 0.02, 0.3, 0.9])), m) for m in most]
        return Relative([draw(skewed(size)) for size in sizes], columns=names)
    return ellipsoid(draw, space, names)


def member(p, space, x, z, slack=1e-8):
    """Whether dictionary x may become dictionary z: the definition, in the user's units."""
    names = [n if isinstance(n, str) else space.labels[n] for n in p.columns or ranges(space)]
    fixed = [n for n in space.flat_names if n not in names]
    for n, v in ranges(space).items():
        low, high = getattr(v, "evaluate", None) or (v.low, v.high)
        if not low <= z[n] <= high or (isinstance(v, Integer) and z[n] != round(z[n])):
            return False
    if any(x[n] != z[n] for n in fixed):
        return False
    a, b = (np.array([float(q[n]) for n in names]) for q in (x, z))
    away, rounding = np.abs(b - a), 1e-12 * np.maximum(np.abs(a), np.abs(b)) + slack * 1e-3 * np.abs(b - a)
    if isinstance(p, Relative):
        return bool(np.all(away <= moved(p.fractions, b - a) * np.abs(a) * (1 + slack) + rounding))
    if isinstance(p, Rectangle):
        return bool(np.all(away <= moved(p.half_widths, b - a) * (1 + slack) + rounding))
    if isinstance(p, Ball):
        scales = np.broadcast_to(1.0 if p.scales is None else p.scales, len(a))
        return bool(np.linalg.norm(away / scales, ord=p.order) <= p.eps * (1 + slack) + (rounding / scales).sum())
    inverse = np.linalg.inv(np.array(p.matrix))
    return bool((b - a) @ inverse @ (b - a) <= 1 + 1e-6)


def cases(draw, n=6, kinds=None):
    """A region, some decisions and some allowed scenarios, extreme ones too."""
    space = draw(spaces(kinds))
    region = SpaceRegion(space, draw(perturbations(space)))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    X = region.decisions(n, draw(st.integers(0, 99)))
    if draw(st.booleans()):  # decisions at the ends of their ranges
        X = np.where(region.discrete, X, rng.integers(0, 2, X.shape))
    S = rng.normal(size=(len(X), region.width)) * 10.0 ** rng.integers(-2, 3, (len(X), 1))
    return region, X, region.project(X, S)


def ends(space):
    """The smallest and the largest coordinates at which f can be evaluated."""
    return np.array([v.reachable for v in space.parts for _ in range(v.width)]).T


# ------------------------------------------------------------------------------------------------------- A(x) is A(x)


@given(st.data())
@settings(max_examples=80)
def test_points_are_allowed(data):
    region, X, S = cases(data.draw)
    Z = region.points(X, S)
    low, high = ends(region.points_space)
    assert np.all((low <= Z) & (high >= Z))
    seen = SpaceTranslation(region)
    for x, z in zip(X, Z, strict=True):
        assert member(region.uncertainty, region.space, seen.decision(x), seen.point(z))


@given(st.data())
@settings(max_examples=80)
def test_all_that_is_allowed_can_be_reached(data):
    """Random members, found by trial in the user's units, are what their scenarios lead to."""
    space = data.draw(spaces())
    region = SpaceRegion(space, data.draw(perturbations(space)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**20)))
    x = region.decisions(1, data.draw(st.integers(0, 99)))[0]
    low, high = ends(space)
    trials = x + rng.normal(size=(80, space.dim)) * 10.0 ** rng.uniform(-4, 0, (80, 1))
    trials = np.clip(trials, low, high)
    fixed = [c for c in range(space.dim) if c not in space.numeric]
    trials[:, fixed] = x[fixed]
    unmoved = [c for c in space.numeric if space.labels[c] not in (region.uncertainty.columns or space.labels)]
    trials[:, unmoved] = x[unmoved]
    decoded = [space.decode(z) for z in [x, *trials]]
    inside = [z for z in decoded if member(region.uncertainty, space, decoded[0], z, slack=0.0)]
    Z = np.array([space.encode(z) for z in inside])
    X = np.tile(space.encode(decoded[0]), (len(Z), 1))
    S = region.scenario_of(X, Z)
    assert np.allclose(region.project(X, S), S, atol=1e-12)
    assert np.allclose(region.points(X, S), Z, atol=2e-9)
    for z, found in zip(inside, region.points(X, S), strict=True):
        back = space.decode(found)
        assert all(back[n] == z[n] for n, v in ranges(space).items() if isinstance(v, Integer))


@given(st.data())
@settings(max_examples=60)
def test_nobody_moves_means_that_nothing_changes(data):
    region, X, S = cases(data.draw)
    Z = region.points(X, np.zeros_like(S))
    assert np.array_equal(Z, region.base(X)) or isinstance(region.uncertainty, Ellipsoid)
    assert np.allclose(Z, region.base(X), atol=1e-13)
    assert np.allclose(region.points(X, region.scenario_of(X, region.base(X))), region.base(X), atol=1e-13)


@given(st.data())
@settings(max_examples=80)
def test_the_scenario_of_a_point_leads_to_it(data):
    region, X, S = cases(data.draw)
    Z = region.points(X, S)
    again = region.scenario_of(X, Z)
    assert np.allclose(region.points(X, again), Z, atol=1e-8)
    far = region.scenario_of(X, Z + 1e5 * np.random.default_rng(0).normal(size=Z.shape))
    assert np.all(np.isfinite(far)) and np.all(np.abs(far) <= 1 + 1e-12)


def test_whole_numbers_take_all_whole_steps_and_no_others():
    space = Space({"n": Integer(0, 10), "m": Integer(1, 100, log=True)})
    for norm, eps in itertools.product(NORMS, [0.9, 1.0, 2.0, math.sqrt(5), 3.7]):
        region = SpaceRegion(space, Ball(eps, norm))
        seen = SpaceTranslation(region)
        x = seen.decision_index({"n": 4, "m": 50})
        X, S = np.tile(x, (1000, 1)), np.random.default_rng(0).normal(size=(1000, 2)) * 2
        found = {tuple(seen.point(z).values()) for z in region.points(X, region.project(X, S))}
        steps = itertools.product(range(-4, 5), repeat=2)
        allowed = {(4 + i, 50 + j) for i, j in steps if np.linalg.norm([i, j], ord=float(norm)) <= eps * (1 + 1e-9)}
        assert found <= allowed
        Z = np.array([seen.point_index({"n": n, "m": m}) for n, m in sorted(allowed)])
        X = np.tile(x, (len(Z), 1))
        reached = [tuple(seen.point(z).values()) for z in region.points(X, region.scenario_of(X, Z))]
        assert reached == sorted(allowed)


def test_an_ellipsoid_is_cut_at_the_boundary_and_stays_an_ellipsoid():
    sigma = np.array([[0.04, 0.03], [0.03, 0.05]])
    region = SpaceRegion(Space([(0, 1), (0, 1)]), Ellipsoid(sigma.tolist()))
    X = np.repeat(np.array([[0.05, 0.5], [1.0, 1.0], [0.0, 0.97]]), 200, axis=0)
    S = np.random.default_rng(0).normal(size=X.shape)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    Z = region.points(X, S)
    length = np.einsum("ni,ij,nj->n", Z - X, np.linalg.inv(sigma), Z - X)
    assert length.max() <= 1 + 1e-9 and Z.min() >= 0 and Z.max() <= 1
    wanted = X + S @ np.linalg.cholesky(sigma).T
    inside = np.all((wanted >= 0) & (wanted <= 1), axis=1)
    assert np.allclose(Z[inside], wanted[inside]) and inside.any() and not inside.all()
    assert np.mean(np.abs(Z - X)[~inside].max(axis=1) > 1e-3) > 0.7  # it slides along the boundary


def descended(region, x, c):
    """The smallest c·z that steps of decreasing length and projections find: the plainest of all descents."""
    S = region.scenarios(16, 0)
    X, G = np.tile(x, (len(S), 1)), np.tile(c, (len(S), 1))
    for k in range(150):
        h = region.pull(X, S, G)[1]
        S = region.project(X, S - 3 / (10 + k) * h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12))
    return np.min(region.points(X, S) @ c)


@pytest.mark.parametrize("dim", [2, 3, 4])
@pytest.mark.parametrize("kind", ["ellipsoid", "ball"])
def test_the_worst_case_at_the_boundary_is_what_another_optimiser_finds(kind, dim):
    rng = np.random.default_rng(dim)
    for _ in range(3):
        c, root = rng.normal(size=dim), 0.15 * rng.normal(size=(dim, dim))
        sigma = root @ root.T + 1e-3 * np.eye(dim) if kind == "ellipsoid" else 0.09 * np.eye(dim)
        region = SpaceRegion(Space([(0, 1)] * dim), Ellipsoid(sigma.tolist()) if kind == "ellipsoid" else Ball(0.3))
        x, inverse = rng.integers(0, 2, dim).astype(float), np.linalg.inv(sigma)
        x[0] = rng.random()
        limit = {"type": "ineq", "fun": lambda z, x=x, M=inverse: 1 - (z - x) @ M @ (z - x)}
        starts = [np.clip(x + 0.02 * rng.normal(size=dim), 0, 1) for _ in range(3)]
        solve = functools.partial(
            minimize, lambda z, c=c: z @ c, method="SLSQP", bounds=[(0, 1)] * dim, constraints=[limit]
        )
        theirs = min(solve(s).fun for s in starts)
        assert descended(region, x, c) == pytest.approx(theirs, abs=2e-3)
        assert ContinuousMaxMin(region).worst(tuple(x), Line(c)).value == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("length", [1.5, 4.0, 1e6])
def test_the_projection_into_an_ellipsoid_at_the_boundary_is_what_another_optimiser_finds(length):
    rng = np.random.default_rng(4)
    for dim in (2, 3, 3, 4):
        root = 0.2 * rng.normal(size=(dim, dim))
        region = SpaceRegion(Space([(0, 1)] * dim), Ellipsoid((root @ root.T + 1e-3 * np.eye(dim)).tolist()))
        R, x = region.movers[0]._root, rng.integers(0, 2, dim).astype(float)
        wanted = rng.normal(size=dim)
        wanted *= length / np.linalg.norm(wanted)
        found = region.project(x[None], wanted[None])[0]
        limits = [
            {"type": "ineq", "fun": lambda s: 1 - s @ s},
            {"type": "ineq", "fun": lambda s, R=R, x=x: np.concatenate([x + R @ s, 1 - x - R @ s])},
        ]
        away = lambda s, w=wanted: ((s - w) ** 2).sum() / length**2  # noqa: E731
        theirs = minimize(away, 0 * wanted, method="SLSQP", constraints=limits, options={"ftol": 1e-14, "maxiter": 500})
        assert np.linalg.norm(found) <= 1 + 1e-9
        assert np.all(np.abs(np.clip(x + R @ found, 0, 1) - x - R @ found) < 1e-6)
        assert np.linalg.norm(found - wanted) <= np.linalg.norm(theirs.x - wanted) + 1e-7


def test_the_projection_into_a_thin_ellipsoid_in_many_dimensions_is_what_another_optimiser_finds():
    rng = np.random.default_rng(11)
    for _ in range(25):
        k = int(rng.integers(3, 6))
        A = rng.normal(size=(k, k))
        R = np.linalg.cholesky(A @ A.T + 0.02 * np.eye(k))
        high = np.linalg.norm(R, axis=1) * rng.random(k) * (rng.random(k) < 0.7)
        low, t = -np.linalg.norm(R, axis=1) * rng.random(k), 3 * rng.normal(size=k)
        found = SlicedBall(R).nearest(t[None], low[None], high[None])[0]
        assert (
            np.linalg.norm(found) <= 1 + 1e-12 and np.all(R @ found <= high + 1e-9) and np.all(R @ found >= low - 1e-9)
        )
        limits = [
            {"type": "ineq", "fun": lambda s: 1 - s @ s},
            {"type": "ineq", "fun": lambda s, R=R, h=high, w=low: np.concatenate([h - R @ s, R @ s - w])},
        ]
        settings = {"method": "SLSQP", "constraints": limits, "options": {"ftol": 1e-14, "maxiter": 500}}
        theirs = minimize(lambda s, t=t: ((s - t) ** 2).sum(), 0 * t, **settings)
        assert np.linalg.norm(found - t) <= np.linalg.norm(theirs.x - t) + 1e-6


@pytest.mark.parametrize(
    "uncertainty", [Ball(3000.0), Rectangle(3000.0), Ellipsoid((9e6 * np.eye(2)).tolist())], ids=str
)
def test_scenarios_that_fill_a_set_are_spread_in_coordinates_also_on_log_scales(uncertainty):
    region = SpaceRegion(Space([Float(1, 1e4, log=True)] * 2), uncertainty)
    x, unit = np.array([[0.86, 0.5]]), np.random.default_rng(0).random((400, 2))  # the first value is about 2,750
    S = region.filling(x, unit)[0]
    Z = region.points(np.tile(x, (400, 1)), S)
    # In the user's units, values up to 27 are a hundredth of all that can be reached; in coordinates about a third.
    assert 0.25 < np.mean(Z[:, 0] < 0.36) < 0.55 and Z[:, 0].min() < 0.01


@pytest.mark.parametrize("whole", [Integer(1, 17), Integer(1, 17, log=True)], ids=str)
@pytest.mark.parametrize(("half_width", "counted"), [(1.0, 3), (2.5, 5)])
def test_scenarios_that_fill_a_set_lead_to_each_whole_number_as_often(whole, half_width, counted):
    """Between two of them they would be rounded towards the decision, and with one step never leave it."""
    region = SpaceRegion(Space([(0, 1), whole]), Rectangle([0.1, half_width]))
    x = region.space.encode([0.5, 4])[None]
    S = region.filling(x, np.random.default_rng(0).random((500, 2)))[0]
    values, counts = np.unique(region.points(np.tile(x, (500, 1)), S)[:, 1], return_counts=True)
    assert len(values) == counted and counts.min() > 0.7 * 500 / counted


def _tilted(kind):
    """An ellipse in two columns that lies askew: as an ellipsoid, or with a membership test and a projection."""
    root = np.array([[1.9, 0.0], [5600.0, 3700.0]])
    if kind == "ellipsoid":
        return Ellipsoid((root @ root.T).tolist())
    inverse = np.linalg.inv(root)

    def project(X, Z):
        S = (Z - X) @ inverse.T
        return X + S / np.maximum(1.0, np.linalg.norm(S, axis=1, keepdims=True)) @ root.T

    return Within(lambda X, Z: np.linalg.norm((Z - X) @ inverse.T, axis=1) <= 1 + 1e-9, project, vectorized=True)


@pytest.mark.parametrize("kind", ["ellipsoid"])
def test_the_thin_tips_of_a_set_on_a_log_scale_are_filled(kind):
    """The second number can fall from 6,400 to 1, where the first hardly moves: a projection never leads there."""
    region = SpaceRegion(Space([Float(1, 64, log=True), Float(1, 51665, log=True)]), _tilted(kind))
    x, unit = np.array([[0.83, 0.807]]), np.random.default_rng(0).random((400, 2))
    Z = region.points(np.tile(x, (400, 1)), region.filling(x, unit)[0])
    low, high = (end[0] for end in region.reach(x))
    counts, _ = np.histogram(Z[:, 1], bins=5, range=(low[1], high[1]))
    assert low[1] == pytest.approx(0, abs=1e-9) and counts.min() > 20


@given(st.data())
@settings(max_examples=60)
def test_all_points_lie_within_the_reach_and_the_reach_is_no_wider_than_needed(data):
    region, X, _ = cases(data.draw, n=3)
    low, high = region.reach(X)
    S = np.random.default_rng(0).normal(size=(200, region.width))
    S = np.vstack([S, 100 * S, 100 * np.eye(region.width), -100 * np.eye(region.width)])
    for x, a, b in zip(X, low, high, strict=True):
        rows = np.tile(x, (len(S), 1))
        Z = region.points(rows, region.project(rows, S))
        assert np.all(a - 1e-9 <= Z) and np.all(b + 1e-9 >= Z)
        if not any(isinstance(mover, EllipsoidMover) for mover in region.movers):  # at an end of a range it may be cut
            assert Z.min(axis=0) == pytest.approx(a, abs=1e-6) and Z.max(axis=0) == pytest.approx(b, abs=1e-6)


def test_what_moves_an_ellipsoid_also_moves_it_on_its_surface():
    region = SpaceRegion(Space([(0, 1), (0, 2)]), Ellipsoid([[0.04, 0.03], [0.03, 0.05]]))
    R, rng = region.movers[0]._root, np.random.default_rng(0)
    X, S, G = np.full((200, 2), 0.5), rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    S = region.project(X, S / np.linalg.norm(S, axis=1, keepdims=True))
    by_x, by_s = region.pull(X, S, G)
    assert np.allclose(by_x, G) and np.allclose(by_s, G / [1.0, 2.0] @ R, rtol=1e-12)


def test_a_tolerance_in_another_unit_is_noticed():
    space = Space({"x": (100, 101), "n": Integer(0, 5)})
    for wide in (Rectangle(50.0, columns=["x"]), Relative(0.5, columns=["x"]), Ellipsoid([[2500.0]], columns=["x"])):
        refused(lambda wide=wide: SpaceRegion(space, wide), ValueError, "no wider than its range", "±50", "unit")
    for little in (Rectangle(0.4, columns=["n"]), Relative(0.1, columns=["n"])):
        with pytest.warns(UserWarning, match="less than one step of the whole numbers 'n'"):
            SpaceRegion(space, little)
    SpaceRegion(space, Rectangle(1.0))


@pytest.mark.parametrize("log", [False, True])
def test_a_wider_evaluation_range_lets_points_leave_but_not_decisions(log):
    x = Float(1.0, 2.0, log=log, evaluate=(0.8, 2.5))
    for uncertainty in (Rectangle(1.0), Ball(0.9), Relative(0.5), Ellipsoid([[0.7]])):
        region = SpaceRegion(Space({"x": x}), uncertainty)
        seen = SpaceTranslation(region)
        X = np.array([[0.0], [1.0], [0.5]])
        Z = np.vstack([region.points(X, np.full((3, 1), s)) for s in (-1.0, 1.0)])
        values = [seen.point(z)["x"] for z in Z]
        assert all(0.8 <= v <= 2.5 for v in values) and min(values) < 1 and max(values) > 2
        rows = region.decisions(50, 0)
        assert rows.min() >= 0 and rows.max() <= 1
        assert seen.decision(seen.decision_of(seen.point_index({"x": 2.4}))) == {"x": 2.0}
        refused(lambda seen=seen: seen.decision_index({"x": 2.2}), ValueError, "expected a decision within", "got")
    inner = SpaceRegion(Space({"x": Float(1.0, 2.0, log=log)}), Rectangle(0.9))
    assert SpaceTranslation(inner).point(inner.points(np.ones((1, 1)), np.ones((1, 1)))[0]) == {"x": 2.0}


# ------------------------------------------------------------------------------------------- sets of a user: Within


def disc(radius):
    """A disc of the user with no slack at all, so that rounding may put a projection outside."""

    def contains(x, z):
        return math.hypot(*(z - x)) <= radius

    def project(x, z):
        return x + (z - x) * min(1.0, radius / max(math.hypot(*(z - x)), 1e-300))

    return Within(contains, project)


def test_a_set_of_your_own_is_reached_up_to_its_boundary():
    """A projection that lands outside by rounding must not mean that nobody moves."""
    region, ball = SpaceRegion(Space([(0, 3), (0, 3)]), disc(0.1)), SpaceRegion(Space([(0, 3), (0, 3)]), Ball(0.1))
    rng = np.random.default_rng(0)
    X, T = rng.random((300, 2)), rng.random((300, 2))
    Z = region.points(X, region.project(X, T - X))
    moved = 3 * np.linalg.norm(Z - X, axis=1)
    assert moved.max() <= 0.1 * (1 + 1e-9)
    inside = np.all((X > 0.04) & (X < 0.96), axis=1)
    assert moved[inside].min() >= 0.1 * (1 - 1e-8)
    assert np.allclose(Z[inside], ball.points(X, ball.project(X, 30 * (T - X)))[inside], atol=1e-6)
    assert np.allclose(region.project(X, Z - X), Z - X, atol=1e-7)


@given(st.data())
@settings(max_examples=25)
def test_points_of_a_set_of_your_own_are_members(data):
    space = data.draw(spaces(floats(), most=2))
    names = list(ranges(space))
    low, high = (np.array([getattr(ranges(space)[n], end) for n in names]) for end in ("low", "high"))
    half = (high - low) * data.draw(st.floats(0.05, 0.8))

    def contains(x, z):  # a box that leans to one side
        return bool(np.all((z - x <= half * (1 + 1e-9)) & (x - z <= 0.5 * half * (1 + 1e-9))))

    def project(x, z):
        return np.clip(z, x - 0.5 * half, x + half)

    region = SpaceRegion(space, Within(contains, project, columns=names))
    X = region.decisions(8, 0)
    S = np.random.default_rng(0).normal(size=(len(X), region.width))
    for Z in (region.points(X, region.project(X, S)), region.points(X, 0 * S), region.points(X, S)):
        for x, z in zip(X, Z, strict=True):
            a, b = SpaceTranslation(region).decision(x), SpaceTranslation(region).point(z)
            a, b = (np.array([q[n] for n in names]) for q in (a, b))
            assert np.all(b - a <= half * (1 + 1e-7) + 1e-12 * abs(a)) and np.all(
                a - b <= 0.5 * half * (1 + 1e-7) + 1e-12 * abs(a)
            )
            for n, value in zip(names, b, strict=True):
                ends = ranges(space)[n].evaluate or (ranges(space)[n].low, ranges(space)[n].high)
                assert ends[0] <= value <= ends[1]


def test_a_vectorised_set_is_the_same_set():
    one = disc(0.2)
    many = Within(
        lambda X, Z: np.hypot(*(Z - X).T) <= 0.2,
        lambda X, Z: X + (Z - X) * np.minimum(1.0, 0.2 / np.maximum(np.hypot(*(Z - X).T), 1e-300))[:, None],
        vectorized=True,
    )
    space = Space([(0, 1), (0, 2)])
    a, b = SpaceRegion(space, one), SpaceRegion(space, many)
    X, S = np.random.default_rng(1).random((40, 2)), np.random.default_rng(2).normal(size=(40, 2))
    assert np.allclose(a.points(X, S), b.points(X, S), atol=1e-9)
    domain = Points(np.random.default_rng(3).random((30, 2)))
    assert np.array_equal(one.reaches(domain.points, domain.points), many.reaches(domain.points, domain.points))


def test_a_target_far_away_is_reached_where_f_can_be_evaluated():
    free = Within(lambda x, z: True, lambda x, z: z)
    region = SpaceRegion(Space({"x": Float(0, 1, evaluate=(-9, 9))}), free)
    row = np.array([SpaceTranslation(region).point_index({"x": 9.0})])
    assert region.points(np.zeros((1, 1)), region.scenario_of(np.zeros((1, 1)), row)) == pytest.approx(row)


# ---------------------------------------------------------------------------------------------- gradients, projections


def smooth(Z):
    """A function of points with its gradient."""
    w = np.linspace(0.7, 1.9, Z.shape[1])
    return np.sin(Z * w).sum(axis=1) + Z.prod(axis=1), np.cos(Z * w) * w + np.array(
        [[np.prod(np.delete(z, j)) for j in range(len(z))] for z in Z]
    )


@given(st.data())
@settings(max_examples=80)
def test_pull_is_what_differences_say(data):
    region, X, S = cases(data.draw, kinds=floats())
    X, S = 0.02 + 0.96 * X, 0.9 * S
    X[:, region.discrete] = region.decisions(1, 0)[0, region.discrete]
    if any(isinstance(mover, EllipsoidMover) for mover in region.movers):
        S = 0.9 * region.project(X, S)  # outside, a scenario means the nearest one inside
    h = 1e-6
    by_x, by_s = region.pull(X, S, smooth(region.points(X, S))[1])
    assert np.all(by_x[:, region.discrete] == 0)
    for given_gradient, which in ((by_x, 0), (by_s, 1)):
        for j in range(given_gradient.shape[1]):
            if which == 0 and region.discrete[j]:
                continue
            step = h * np.eye(given_gradient.shape[1])[j]
            ends = [(X + a * step, S) if which == 0 else (X, S + a * step) for a in (-2, -1, 1, 2)]
            v = [smooth(region.points(*end))[0] for end in ends]
            inner, outer = (v[2] - v[1]) / (2 * h), (v[3] - v[0]) / (4 * h)
            left, right = (v[1] - v[0]) / h, (v[3] - v[2]) / h
            plain = np.abs(left - right) <= 1e-3 * (1 + np.abs(inner))  # no kink nearby
            assert np.allclose(given_gradient[plain, j], inner[plain], rtol=2e-3, atol=2e-4), (inner, outer)


OWN = {  # by what x' differs from x at most, and how a point at the edge of the set follows x: dx'/dx
    "amount": (lambda X: (X - 0.3, X + 0.3), lambda x, end: 1.0),
    "factor": (lambda X: (X / 1.2, X * 1.2), lambda x, end: end / x),
    "share of the way to the end": (lambda X: (X - 0.3 * (X - 1), X + 0.3 * (2 - X)), lambda x, end: 0.7),
}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("ends", "slope"), OWN.values(), ids=OWN.keys())
def test_at_the_edge_of_a_set_of_your_own_a_point_follows_its_decision_as_the_set_does(ends, slope, log):
    def contains(X, Z):
        low, high = ends(X)
        return ((low - 1e-12 <= Z) & (high + 1e-12 >= Z)).all(axis=1)

    own = Within(contains, lambda X, Z: np.clip(Z, *ends(X)), vectorized=True)
    region = SpaceRegion(Space([Float(1, 2, log=log)]), own)
    X, G = np.array([[0.5], [0.5], [0.6], [0.5]]), np.full((4, 1), 1.7)
    S = region.project(X, np.array([[-9.0], [9.0], [-9.0], [0.02]]))  # at an edge, and once inside
    Z = region.points(X, S)
    x, z = (np.exp(A * math.log(2)) if log else 1 + A for A in (X, Z))
    follows = np.array([slope(x[i, 0], z[i, 0]) for i in range(3)])
    by_coordinates = follows * x[:3, 0] / z[:3, 0] if log else follows
    by_x, by_s = region.pull(X, S, G)
    assert by_x[:, 0] == pytest.approx(1.7 * np.append(by_coordinates, 1.0), rel=1e-4)
    assert np.array_equal(by_s, G)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("uncertainty", [Rectangle(0.3), Relative(0.2), Ball(0.3), Ellipsoid([[0.09]])], ids=repr)
def test_at_the_end_of_a_range_there_is_a_slope_and_beyond_it_none(uncertainty, log):
    region = SpaceRegion(Space([Float(1, 2, log=log)]), uncertainty)
    X, G = np.array([[0.0], [1.0]]), np.ones((2, 1))
    by_x, by_s = region.pull(X, np.zeros((2, 1)), G)
    assert np.all(by_x > 0) and np.all(by_s > 0)
    by_x, by_s = region.pull(X, np.array([[-0.5], [0.5]]), G)
    # In a box on a log scale, a scenario is a share of the way to an end: half of the way moves along by half.
    share = log and not isinstance(uncertainty, Ellipsoid)
    assert np.allclose(by_x, 0.5 if share else 0, atol=1e-12) and np.allclose(by_s, 0, atol=1e-12)


@given(st.data())
@settings(max_examples=80)
def test_projecting_twice_is_projecting_once(data):
    region, X, S = cases(data.draw)
    exact = not isinstance(region.uncertainty, Ellipsoid)  # which alternates between two sets until both are near
    assert np.allclose(region.project(X, S), S, atol=1e-14 if exact else 1e-3)


@pytest.mark.parametrize("order", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("q", [1, 2, 3, 6])
def test_a_scenario_projected_inside_is_the_nearest_one_that_stays_in_the_domain(order, q):
    rng = np.random.default_rng(q)
    mover = NormMover(range(q), [Float(0, 1)] * q, order, np.full(q, 0.3))
    C = np.where(rng.random((300, q)) < 0.3, rng.integers(0, 2, (300, q)), rng.random((300, q)))
    S = rng.normal(size=(300, q)) * 10.0 ** rng.uniform(-1, 6, (300, 1))
    S[:20, 0] = 0.0
    if q == 2 and order == 2:  # the corner of what is left lies on the sphere, up to rounding
        C[20:120], S[20:120] = [0.76, 0.5], np.column_stack([np.full(100, 10.0), np.linspace(0.6, 0.6 + 1e-15, 100)])
    P = mover.project_inside(C, S)
    assert np.linalg.norm(P, ord=order, axis=1).max() <= 1 + 1e-12
    assert np.array_equal(mover.move(C, P), C + 0.3 * P)  # nothing is clipped
    # nearest: no member is at an acute angle; points of the ball, clipped towards 0, are members
    members = mover.project(C[:1], rng.normal(size=(3000, q)) * 10.0 ** rng.uniform(-1, 2, (3000, 1)))
    for c, s, p in zip(C, S, P, strict=True):
        M = np.clip(members, -c / 0.3, (1 - c) / 0.3)
        assert np.max((M - p) @ (s - p)) <= 1e-9 * (1 + np.linalg.norm(s))


@pytest.mark.parametrize("order", [1.0, 2.0])
@pytest.mark.parametrize("q", [2, 3, 8, extra(20)])
def test_a_scenario_on_the_sphere_stays_where_it_is_if_it_is_projected(order, q):
    """Rounding decides whether it is inside, also in the other order of memory and where ends meet the sphere."""
    mover, rng = NormMover(range(q), [Float(0, 1)] * q, order, np.full(q, 0.3)), np.random.default_rng(q)
    S = rng.normal(size=(3000, q))
    S /= np.linalg.norm(S, ord=order, axis=1, keepdims=True)
    for project in (lambda C, S: mover.project(C, S), lambda C, S: mover.project_inside(C, S)):
        for layout in (np.ascontiguousarray, np.asfortranarray):
            assert project(np.full((3000, q), 0.5), layout(S)) == pytest.approx(S, abs=1e-9)
    C = np.clip(0.5 - 0.15 * np.sign(S), 0, 1) + np.where(S > 0, 0.65 - 0.3 * S, -0.65 - 0.3 * S)
    inside = np.all(
        (C >= 0) & (C <= 1), axis=1
    )  # where the scenario leads to a corner of the domain, just on the sphere
    C, S = C[inside], S[inside]
    far = S * rng.uniform(1.0, 1e3, S.shape)
    assert np.linalg.norm(mover.project_inside(C, far), ord=order, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_scenarios_of_tiny_tolerances_are_projected_without_a_warning():
    for x in (Float(0, 1), Float(1e-9, 1, log=True)):
        region = SpaceRegion(Space([x, (0, 1), (0, 1)]), Ball(1e-10))
        S = region.project_inside(
            np.full((4, 3), 0.5), np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 1e-12], [0.0] * 3, [1e-300, 1, 1]])
        )
        assert np.all(np.linalg.norm(S, axis=1) <= 1 + 1e-12)


@pytest.mark.parametrize("low", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("uncertainty", [Ball(0.3), Ball(0.3, norm=1), Rectangle(0.3)], ids=str)
def test_the_end_of_a_log_scale_is_reached(uncertainty, low):
    region = SpaceRegion(Space([Float(low, 1.0, log=True), (0, 1)]), uncertainty)
    x = SpaceTranslation(region).decision_index([0.2, 0.5])
    assert ContinuousMaxMin(region).worst(x, Line(np.array([1.0, 0.0]))).value == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("uncertainty", [Relative(0.4), Ball(0.5), Ball(0.5, norm=1), Rectangle(0.6)], ids=str)
def test_a_scenario_projected_inside_has_a_slope_in_every_coordinate(uncertainty, log):
    region = SpaceRegion(Space([Float(1.0, 2.0, log=log), Float(1.0, 3.0)]), uncertainty)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 2)) < 0.4, rng.integers(0, 2, (200, 2)), rng.random((200, 2)))
    S = region.project_inside(X, 3 * rng.normal(size=(200, 2)))
    assert region.exact
    assert np.all(region.pull(X, S, np.ones((200, 2)))[1] != 0)
    assert np.allclose(region.scenario_of(X, region.points(X, S)), S, atol=1e-8)
    assert np.allclose(region.project_inside(X, S), S, atol=1e-14)


@pytest.mark.parametrize("order", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("q", [1, 2, 4])
def test_the_projection_is_the_nearest_point_of_the_ball(order, q):
    mover = NormMover(range(q), [Float(0, 1)] * q, order, np.full(q, 0.1))
    rng = np.random.default_rng(q)
    S = rng.normal(size=(200, q)) * 10.0 ** rng.uniform(-1, 1, (200, 1))
    P = mover.project(np.full((200, q), 0.5), S)
    size = np.linalg.norm(P, ord=order, axis=1)
    assert size.max() <= 1 + 1e-12
    within = np.linalg.norm(S, ord=order, axis=1) <= 1
    assert within.any() and np.array_equal(P[within], S[within])
    # the nearest point of a convex set is the one from which no other member is at an acute angle: (s − p)·(m − p) ≤ 0
    corners = np.vstack([np.eye(q), -np.eye(q)])
    if order == math.inf:
        corners = np.array(list(itertools.product([-1.0, 1.0], repeat=q)))
    if order == 2:
        corners = rng.normal(size=(500, q))
        corners = np.vstack([corners / np.linalg.norm(corners, axis=1, keepdims=True), np.eye(q), -np.eye(q)])
    assert np.max(np.einsum("nq,nmq->nm", S - P, corners[None] - P[:, None])) <= 1e-9
    for s, p in zip(S[:4], P[:4], strict=True):  # and an optimiser of others finds no nearer one: s = a − b, a, b ≥ 0
        if order == 1:
            limit = {"type": "ineq", "fun": lambda ab: 1 - ab.sum()}
        elif order == 2:
            limit = {"type": "ineq", "fun": lambda ab: 1 - np.sum((ab[:q] - ab[q:]) ** 2)}
        else:
            limit = {"type": "ineq", "fun": lambda ab: 1 - np.concatenate([ab[:q] - ab[q:], ab[q:] - ab[:q]])}
        start = np.concatenate([np.maximum(p, 0), np.maximum(-p, 0)]) * 0.5
        other = minimize(
            lambda ab, s=s: np.sum((ab[:q] - ab[q:] - s) ** 2),
            start,
            method="SLSQP",
            bounds=[(0, 20)] * (2 * q),
            constraints=[limit],
        )
        assert np.sum((p - s) ** 2) <= other.fun + 1e-5 * (1 + other.fun)


def test_the_worst_case_of_a_linear_function_is_the_closed_form():
    """min over the ball of c·z is c·x − eps·‖c‖*, the dual norm; over an ellipsoid it is c·x − √(cᵀΣc)."""
    c = np.array([1.0, -2.0, 0.5])
    sigma = np.diag([0.01, 0.02, 0.03]) + 0.005
    sets = [(Ball(0.1, 1), 0.1 * 2.0), (Ball(0.1), 0.1 * np.linalg.norm(c)), (Ball(0.1, "inf"), 0.1 * 3.5)]
    sets += [(Ellipsoid(sigma.tolist()), np.sqrt(c @ sigma @ c)), (Rectangle([0.1, 0.2, 0.0]), 0.5)]
    x = (0.5, 0.5, 0.5)
    for uncertainty, loss in sets:
        region = SpaceRegion(Space([(0, 1)] * 3), uncertainty)
        assert ContinuousMaxMin(region).worst(x, Line(c)).value == pytest.approx(c @ x - loss, abs=1e-6)
    relative = SpaceRegion(Space([(0, 1)] * 3), Relative([0.1, 0.2, 0.0]))
    assert ContinuousMaxMin(relative).worst(x, Line(c)).value == pytest.approx(c @ x - 0.05 - 0.2, abs=1e-6)


def test_whole_numbers_far_from_zero_reach_the_ends_of_their_range():
    for low in (0, 5_000_000, 100_000_000):
        solver = ContinuousMaxMin(SpaceRegion(Space([Integer(low, low + 10)]), Rectangle(1.0)))
        assert solver.worst((0.9,), Line(np.array([-1.0]))).point == pytest.approx([1.0])
        assert solver.worst((0.1,), Line(np.array([1.0]))).point == pytest.approx([0.0])


@pytest.mark.parametrize("count", [2, 6, 8])
def test_decisions_around_a_relaxed_one_are_whole_and_next_to_it(count):
    region = SpaceRegion(Space([Integer(0, 9)] * count + [(0, 1)]), Rectangle(1.0))
    x = np.random.default_rng(0).random(count + 1)
    X = region.rounded(x)
    assert len(X) == (2**count if count <= 6 else count + 1) and len(np.unique(X, axis=0)) == len(X)
    assert np.all(np.abs(X - x)[:, :count] < 1 / 9) and np.all(X[:, count] == x[count])
    assert np.allclose(9 * X[:, :count], np.rint(9 * X[:, :count]))
    assert np.any(np.all(np.abs(X - x)[:, :count] <= 0.5 / 9 + 1e-12, axis=1)), "the nearest"


@pytest.mark.parametrize("count", [2, 64, 200])
def test_few_values_of_a_whole_number_are_all_neighbours(count):
    region = SpaceRegion(Space([Integer(1, count), (0, 1)]), Rectangle(1.0, columns=[0]))
    assert region.few == (len(region.other_decisions(np.array([0.0, 0.3]))) == count - 1) == (count <= 64)


def test_floats_and_whole_numbers_of_a_box_have_movers_of_their_own():
    space = Space([(0, 1), Integer(1, 9), (0, 1)])
    apart = SpaceRegion(space, Rectangle([0.1, 2.0, 0.2])).movers
    assert [mover.columns for mover in apart] == [[0, 2], [1]] and [mover.discrete for mover in apart] == [False, True]
    (ball,) = SpaceRegion(space, Ball(2.0, scales=[0.1, 1.0, 0.1])).movers
    assert ball.columns == [0, 1, 2], "how far one goes limits the others"


class Line:
    """A linear function of coordinates."""

    def __init__(self, c):
        self.c = c

    def __call__(self, Z):
        return Z @ self.c

    def with_gradient(self, Z):
        return Z @ self.c, np.tile(self.c, (len(Z), 1))


# -------------------------------------------------------------------------------------------------- scenarios to begin


@st.composite
def parameters(draw, names=("t", "u", "v")):
    """An unknown parameter of any kind: rows, or a space with floats, integers, categories and candidates."""
    if draw(st.booleans()):
        rows = np.unique(
            np.round(np.random.default_rng(draw(st.integers(0, 99))).normal(size=(draw(st.integers(1, 5)), 2)), 3),
            axis=0,
        )
        return (
            Parameters(rows)
            if draw(st.booleans())
            else Estimate(rows, rows[-1], Ball(draw(st.sampled_from([0.0, 0.5, 3.0]))))
        )
    kinds = st.one_of(floats(), integers(), st.just(["lo", "mid", "hi"]), st.just(Points([1.0, 4.0])))
    return Parameters(Space({n: draw(kinds) for n in draw(st.sampled_from([names[:1], names[:2], names]))}))


@given(st.data(), st.integers(1, 200), st.integers(0, 3))
@settings(max_examples=80)
def test_scenarios_begin_with_nobody_and_are_allowed_and_not_too_many(data, count, seed):
    space = data.draw(spaces())
    perturbation, theta = data.draw(perturbations(space)), data.draw(parameters())
    region = SpaceRegion(space, data.draw(st.sampled_from([perturbation, theta, perturbation * theta])))
    S = region.scenarios(count, seed)
    assert S.shape == (len(S), region.width) and 1 <= len(S) <= count
    assert np.all(S[0] == 0)
    assert np.array_equal(S, region.scenarios(count, seed))
    X = np.tile(region.decisions(1, seed), (len(S), 1))
    for mover, part in region._placed:
        if isinstance(mover, EllipsoidMover):  # it also projects into the domain of each decision
            assert np.all(np.linalg.norm(S[:, part], axis=1) <= 1 + 1e-12)
            S[:, part] = 0.0
    allowed = region.project(X, S)
    assert np.allclose(region.project(X, allowed), allowed, atol=1e-12)
    whole = any(isinstance(v, Integer) for v in space.parts)  # they are put at the steps they stand for
    assert whole or np.allclose(allowed, S, atol=1e-12)
    assert np.allclose(region.points(X, S)[0], region.base(X)[0], atol=1e-13)
    choices = [j for j, m in zip(range(region.width), flat_movers(region), strict=True) if isinstance(m, ChoiceMover)]
    sizes = [len(flat_movers(region)[j].rows) for j in choices]
    if choices and math.prod(sizes) <= count:
        assert len(np.unique(S[:, choices], axis=0)) == math.prod(sizes)
    elif choices:
        assert len(np.unique(S[:, choices], axis=0)) > 0.2 * min(count, 20) ** 0.5


def flat_movers(region):
    """The mover of each coordinate of a scenario."""
    return [m for m in region.movers for _ in range(m.width)]


@pytest.mark.parametrize("uncertainty", [Rectangle(0.1), Ball(0.1), Ball(0.1, 1), Relative(0.1)], ids=repr)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_scenarios_are_different_and_hold_the_extremes(uncertainty, dim):
    region = SpaceRegion(Space([(1, 2)] * dim), uncertainty)
    S = region.scenarios(40, 0)
    assert len(S) == len(np.unique(S, axis=0)) == 40
    extremes = np.vstack([np.eye(dim), -np.eye(dim)])
    if region.movers[0].order == math.inf:
        extremes = np.array(list(itertools.product([-1.0, 1.0], repeat=dim)))
    assert all(np.any(np.all(np.isclose(S, e), axis=1)) for e in extremes)


@given(st.data())
@settings(max_examples=60)
def test_neighbours_differ_in_something_discrete_and_are_allowed(data):
    space = data.draw(spaces())
    perturbation, theta = data.draw(perturbations(space)), data.draw(parameters())
    region = SpaceRegion(space, perturbation * theta)
    x = region.decisions(5, 0)[-1]
    near = region.other_decisions(x)
    expected = sum(min(len(v.choices), 64) - 1 for v in space.parts if v.choices is not None)
    assert len(near) == expected and len(np.unique(near, axis=0)) == len(near)
    assert all(space.encode(space.decode(z)).tobytes() == z.tobytes() for z in near[:, : region.dim]) or len(
        space.numeric
    )
    changed = [[n for n in space.flat_names if space.decode(x)[n] != space.decode(z)[n]] for z in near]
    groups = [n if isinstance(n, tuple) else (n,) for n in space.names]
    assert all(any(set(c) <= set(g) for g in groups) and c for c in changed)
    s = region.project(x[None], region.scenarios(7, 1)[-1:])[0]
    others = region.other_scenarios(x, s, 64)
    assert others.shape[1] == region.width
    X = np.tile(x, (len(others), 1))
    if not isinstance(perturbation, Ellipsoid):
        assert np.allclose(region.project(X, others), others, atol=1e-12)
    assert not np.any(np.all(others == s, axis=1))
    for m, part in region._placed:
        if isinstance(m, ChoiceMover):
            seen = {int(r) for r in [*others[:, part].ravel(), *s[part]]}
            assert seen == set(range(len(m.rows)))


# ------------------------------------------------------------------------------------------------- unknown parameters


def test_a_parameter_in_a_space_takes_all_its_values_and_no_others():
    theta = Space(
        {"t": Float(1e-3, 10, log=True), "n": Integer(2, 4), "kind": ["a", "b"], "row": Points([[0, 1], [2, 3]])}
    )
    region = SpaceRegion(Space({"x": (0, 1)}), Parameters(theta))
    S = region.scenarios(600, 0)
    seen = SpaceTranslation(region)
    points = [seen.point(z) for z in region.points(np.full((len(S), 1), 0.3), S)]
    assert {(p["n"], p["kind"], p["row"]) for p in points} == set(
        itertools.product([2, 3, 4], ["a", "b"], [(0.0, 1.0), (2.0, 3.0)])
    )
    values = [p["t"] for p in points]
    assert min(values) == 1e-3 and max(values) == 10 and all(p["x"] == 0.3 for p in points)
    assert points[0] == {"x": 0.3, "t": pytest.approx(0.1), "n": 2, "kind": "a", "row": (0.0, 1.0)}
    target = {"x": 0.3, "t": 5.0, "n": 3, "kind": "b", "row": (2.0, 3.0)}
    row = np.array([seen.point_index(target)])
    found = seen.point(region.points(np.full((1, 1), 0.3), region.scenario_of(np.full((1, 1), 0.3), row))[0])
    assert found == {**target, "t": pytest.approx(5.0)}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("within", [Ball(0.3), Rectangle(0.3), Relative(0.15), Ellipsoid([[0.09]])], ids=repr)
def test_an_estimate_in_a_space_moves_around_the_estimate(log, within):
    theta = Space({"t": Float(1, 4, log=log), "kind": ["a", "b"]})
    uncertainty = Estimate(
        theta, {"t": 2.0, "kind": "b"}, within if within.columns else type(within)(*_first(within), columns=["t"])
    )
    region = SpaceRegion(Space({"x": (0, 1)}), uncertainty)
    X = np.full((3, 1), 0.5)
    found = [SpaceTranslation(region).point(z) for z in region.points(X, np.array([[-1.0], [0.0], [1.0]]))]
    assert [p["t"] for p in found] == pytest.approx([1.7, 2.0, 2.3])
    assert all(p["kind"] == "b" and p["x"] == 0.5 for p in found)
    assert uncertainty.scaled(0.5).within == uncertainty.within.scaled(0.5)


def _first(perturbation):
    name = {Ball: "eps", Rectangle: "half_widths", Relative: "fractions", Ellipsoid: "matrix"}[type(perturbation)]
    return [getattr(perturbation, name)]


def test_rows_of_parameters_are_chosen_and_the_estimate_comes_first():
    rows = [[0.0, 1.0], [2.0, 3.0], [2.5, 3.0], [9.0, 9.0]]
    region = SpaceRegion(Space({"x": (0, 1)}), Estimate(rows, [2.0, 3.0], Ball(1.0)))
    X = np.zeros((2, 1))
    assert [SpaceTranslation(region).point(z) for z in region.points(X, np.array([[0.0], [1.0]]))] == [
        {"x": 0.0, "theta0_0": 2.0, "theta0_1": 3.0},
        {"x": 0.0, "theta0_0": 2.5, "theta0_1": 3.0},
    ]
    unnamed = SpaceRegion(Space([(0, 1)]), Parameters(rows))
    Z = unnamed.points(np.zeros((4, 1)), unnamed.scenarios(10, 0))
    found = {tuple(SpaceTranslation(unnamed).point(z)) for z in Z}
    assert found == {(0.0, *row) for row in map(tuple, rows)}


def test_a_finite_domain_with_a_continuous_parameter_is_a_region():
    grid = Grid.linspace([0, 0], [1, 2], [3, 2])
    uncertainty = Parameters(Space([(0, 1)]))
    assert continuous(uncertainty) and not continuous(Parameters([0.0, 1.0])) and not continuous(Ball(0.1))
    region = SpaceRegion(grid, uncertainty)
    X, seen = region.decisions(100, 0), SpaceTranslation(region)
    assert np.array_equal([seen.decision(x) for x in X], grid.points)
    assert np.allclose(seen.point(region.points(X, np.ones((len(X), 1)))[3]), [*grid.points[3], 1.0])


def test_adversaries_side_by_side_keep_to_their_columns():
    space = Space({"a": (0, 1), "b": (0, 1), "k": ["u", "v"], "n": Integer(0, 9), "c": (1, 2)})
    sets = (
        Ball(0.1, columns=["b"])
        * Rectangle(2, columns=["n"])
        * Relative(0.1, columns=[4])
        * Parameters(Space({"t": (0, 1)}))
    )
    region = SpaceRegion(space, sets)
    assert (region.dim, region.width) == (5, 4)
    x = {"a": 0.5, "b": 0.5, "k": "v", "n": 5, "c": 1.5}
    seen = SpaceTranslation(region)
    assert (
        list(seen.names) == ["a", "b", "k", "n", "c", "t"]
        and SpaceTranslation(SpaceRegion(PLANE, Ball(0.1))).names is None
    )
    X = np.tile(seen.decision_index(x), (2, 1))
    points = [seen.point(z) for z in region.points(X, np.array([[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0]]))]
    assert [list(p.values()) for p in points] == [
        [0.5, pytest.approx(0.6), "v", 7, pytest.approx(1.65), 1.0],
        [0.5, pytest.approx(0.4), "v", 3, pytest.approx(1.35), 0.0],
    ]
    back = from_dict(json.loads(json.dumps(sets.to_dict())))
    assert back == sets and np.array_equal(SpaceRegion(space, back).points(X, X[:, :4]), region.points(X, X[:, :4]))


@given(st.data())
@settings(max_examples=40)
def test_decisions_and_points_are_found_again(data):
    space = data.draw(spaces())
    region = SpaceRegion(space, data.draw(perturbations(space)) * data.draw(parameters()))
    X = region.decisions(4, 0)
    Z = region.points(X, region.project(X, np.random.default_rng(0).normal(size=(len(X), region.width))))
    seen = SpaceTranslation(region)
    for x, z in zip(X, Z, strict=True):
        index = seen.decision_index(seen.decision(x))
        assert np.allclose(index, x, atol=1e-9)
        assert index == seen.decision_index(seen.decision(index)) == region.decision_index(x)
        index = seen.point_index(seen.point(z))
        assert index == seen.point_index(seen.point(index)) == region.point_index(z)
        own = seen.decision_of(index)
        assert own == seen.decision_index(seen.decision(own))
    assert np.array_equal(region.clip(X), X)
    assert np.array_equal(region.clip(X + 9)[:, ~region.discrete], np.ones_like(X)[:, ~region.discrete])


# ---------------------------------------------------------------------------------------- the new sets on finite domains


def finite_domains():
    scattered = st.integers(0, 99).map(lambda seed: Points(np.random.default_rng(seed).normal(size=(12, 2)).round(2)))
    return scattered | st.sampled_from([Grid.linspace([-1, 0], [1, 3], [5, 4]), Grid.linspace([1, 1], [2, 2], [3, 6])])


@given(finite_domains(), st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.9])] * 2))
@settings(max_examples=40)
def test_relative_on_a_finite_domain_is_its_definition(domain, fractions):
    X = domain.points
    expected = [
        [
            all(
                abs(b - a) <= f * abs(a) * (1 + 1e-9) + 1e-14 * (f > 0) for a, b, f in zip(x, z, fractions, strict=True)
            )
            for z in X
        ]
        for x in X
    ]
    assert Relative(fractions).reaches(X, X).tolist() == expected
    solver = Listing(domain, Relative(fractions)).solver
    assert [solver.members(d).tolist() for d in range(len(X))] == [np.flatnonzero(row).tolist() for row in expected]


@given(finite_domains(), st.integers(0, 99), st.floats(0.05, 2.0))
@settings(max_examples=40)
def test_an_ellipsoid_on_a_finite_domain_is_its_definition(domain, seed, size):
    root = size * np.random.default_rng(seed).normal(size=(2, 2))
    sigma = root @ root.T + 1e-2 * np.eye(2)
    X, inverse = domain.points, np.linalg.inv(sigma)
    length = np.array([[(z - x) @ inverse @ (z - x) for z in X] for x in X])
    assume(np.abs(length - 1).min() > 1e-6)
    solver = Listing(domain, Ellipsoid(sigma.tolist())).solver
    assert [solver.members(d).tolist() for d in range(len(X))] == [np.flatnonzero(row <= 1).tolist() for row in length]
    round_one = Ellipsoid((size**2 * np.eye(2)).tolist()).reaches(X, X)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    assert np.array_equal(round_one[np.abs(distance - size) > 1e-6], (distance < size)[np.abs(distance - size) > 1e-6])


@given(finite_domains())
@settings(max_examples=20)
def test_a_set_of_your_own_on_a_finite_domain_needs_no_projection(domain):
    own = Within(lambda x, z: z[0] >= x[0] and abs(z[0] - x[0]) <= 1.0, columns=[0])
    X = domain.points
    expected = [[bool(z[1] == x[1] and x[0] <= z[0] <= x[0] + 1.0) for z in X] for x in X]
    assert own.reaches(X, X).tolist() == expected
    solver = Listing(domain, own).solver
    assert [solver.members(d).tolist() for d in range(len(X))] == [np.flatnonzero(row).tolist() for row in expected]


def test_finite_and_continuous_domains_agree():
    """The worst case on a fine grid of points, and on the box that it fills."""
    axis = np.linspace(0.5, 1.5, 41)
    grid, space = Grid([axis, axis]), Space([(0.5, 1.5), (0.5, 1.5)])
    sigma = [[0.04, 0.018], [0.018, 0.01]]
    for uncertainty in (Relative([0.1, 0.2]), Ellipsoid(sigma), Ball(0.2, 1), Rectangle([0.1, 0.0])):
        setting, region = Listing(grid, uncertainty), SpaceRegion(space, uncertainty)
        for d in (0, 430, 840, 1680):
            Z = (grid.points[setting.solver.members(d)] - 0.5) / 1.0
            X = np.tile(grid.points[d] - 0.5, (len(Z), 1))
            assert np.allclose(region.points(X, region.scenario_of(X, Z)), Z, atol=1e-8)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (Ball(0.1, 1, [1, 2]), Ball(0.2, 1, [1, 2])),
        (Rectangle([0.1, 0.0]), Rectangle([0.2, 0.0])),
        (Rectangle(0.1, ["a"]), Rectangle(0.2, ["a"])),
        (Relative([0.1, 0.2]), Relative([0.2, 0.4])),
        (Ellipsoid([[1.0, 0.5], [0.5, 2.0]]), Ellipsoid([[4.0, 2.0], [2.0, 8.0]])),
        (Hamming(1), Hamming(2)),
        (Estimate([0.0, 1.0], 0.0, Ball(0.5)), Estimate([0.0, 1.0], 0.0, Ball(1.0))),
        (Parameters([0.0, 1.0]), Parameters([0.0, 1.0])),
        (Ball(0.1) * Parameters([0.0, 1.0]), Ball(0.2) * Parameters([0.0, 1.0])),
        (Groups([[0, 1], [2]]), Groups([[0, 1], [2]])),
    ],
    ids=repr,
)
def test_a_set_can_be_scaled(small, large):
    assert small.scaled(2.0) == large and small.scaled(1.0) == small
    assert from_dict(json.loads(json.dumps(small.to_dict()))) == small


def test_new_sets_and_spaces_of_parameters_are_values_that_json_keeps():
    theta = Space([Float(1e-3, 1, log=True), ["a", "b"]])
    estimate = Estimate(theta, [0.1, "b"], Relative(0.1, columns=[0]))
    both = Ball(0.1, columns=["a"]) * estimate
    for value in (Parameters(theta), estimate, Ellipsoid(np.eye(2), columns=["a", 1]), both):
        again = from_dict(json.loads(json.dumps(value.to_dict(), allow_nan=False)))
        assert again == value and hash(again) == hash(value) and repr(again) == repr(value)
    own = disc(0.1)
    functions = {own.contains.__qualname__: own.contains, own.project.__qualname__: own.project}
    assert from_dict(own.to_dict(), functions) == own


def test_functions_that_json_could_not_tell_apart_are_refused():
    pair = Within(lambda x, z: True, lambda x, z: x)
    refused(pair.to_dict, TypeError, "expected functions with names of their own", "<lambda>", "use def")
    nameless = Within(functools.partial(max, 0))
    refused(nameless.to_dict, TypeError, "expected functions with names of their own", "use def")
    alone = Within(lambda x, z: True)
    assert from_dict(alone.to_dict(), {alone.contains.__qualname__: alone.contains}) == alone


def test_an_estimate_with_names_is_a_value_that_json_keeps():
    estimate = Estimate(Space({"t": (0, 1), "kind": ["a", "b"]}), {"t": 0.1, "kind": "b"}, Ball(0.1, columns=["t"]))
    assert from_dict(json.loads(json.dumps(estimate.to_dict()))) == estimate


# ------------------------------------------------------------------------------------------------------------ bad input

XY = Space({"speed": (0, 1), "temp": Float(1, 100, log=True), "kind": ["a", "b"], "n": Integer(1, 5)})
PLANE = Space([(0, 1), (0, 1)])
KINDS = Space({"kind": ["a", "b"]})

REFUSED = [
    ("wider than its range", lambda: SpaceRegion(XY, Rectangle(2.0, ["speed"])), ValueError, "no wider than its range", "got ±2", "'speed'", "from 0 to 1", "unit"),
    ("an ellipsoid wider than its range", lambda: SpaceRegion(PLANE, Ellipsoid([[0.1, 0.0], [0.0, 9.0]])), ValueError, "no wider", "got ±3", "'1'", "unit"),
    ("wider by a scale", lambda: SpaceRegion(XY, Ball(0.5, scales=[1, 1000], columns=["speed", "temp"])), ValueError, "no wider", "±500", "'temp'"),
    ("wider in an estimate", lambda: SpaceRegion(PLANE, Estimate(Space({"t": (0, 1)}), {"t": 0.5}, Ball(3))), ValueError, "no wider", "'t'"),
    ("a tolerance on a category", lambda: SpaceRegion(XY, Ball(0.1, columns=["kind"])), ValueError, "floats and integers only", "got one on ['kind']"),
    ("a tolerance on candidates", lambda: SpaceRegion(Space({("a", "b"): Points([[0, 1], [1, 2]])}), Ball(0.1, columns=["b"])), ValueError, "floats and integers only", "['b']"),
    ("nothing to change", lambda: SpaceRegion(KINDS, Ball(0.1)), ValueError, "expected floats or integers", "got Space"),
    ("nothing to change among candidates", lambda: SpaceRegion(Points([0.0, 1.0]), Ball(0.1) * Parameters(PLANE)), ValueError, "expected floats or integers", "got Space"),
    ("misspelt column", lambda: SpaceRegion(XY, Ball(0.1, columns=["sped"])), ValueError, "one of the names", "got 'sped'", "did you mean 'speed'?"),
    ("column out of range", lambda: SpaceRegion(PLANE, Ball(0.1, columns=[2])), ValueError, "column between 0 and 1", "got 2"),
    ("one column by name and by number", lambda: SpaceRegion(XY, Ball(0.1, columns=["speed", 0])), ValueError, "distinct columns", "got ['speed', 0]"),
    ("one column in two sets", lambda: SpaceRegion(XY, Ball(0.1, columns=["speed"]) * Rectangle(0.1, [0])), ValueError, "columns of their own", "got", "speed"),
    ("two sets without columns", lambda: Ball(0.1) * Rectangle(0.1), ValueError, "columns of their own", "got"),
    ("a name on a finite domain", lambda: Listing(Points([0.0, 1.0]), Ball(0.1, columns=["x"])), ValueError, "expected numbers of columns", "got ['x']"),
    ("too many half-widths", lambda: SpaceRegion(XY, Rectangle([0.1] * 4)), ValueError, "expected 3 half_widths", "got 4"),
    ("too few fractions", lambda: SpaceRegion(PLANE, Relative([0.1])), ValueError, "expected 2 fractions", "got 1"),
    ("a matrix of another size", lambda: SpaceRegion(PLANE, Ellipsoid([[1.0]])), ValueError, "matrix with 2 rows", "got 1"),
    ("an ellipsoid of integers", lambda: SpaceRegion(XY, Ellipsoid(np.eye(2).tolist(), columns=["speed", "n"])), ValueError, "expected floats", "got the integers ['n']", "Rectangle"),
    ("own set of integers", lambda: SpaceRegion(XY, Within(max, max, columns=["n"])), ValueError, "expected floats", "['n']"),
    ("own set that contains nothing", lambda: SpaceRegion(PLANE, Within(lambda x, z: False, lambda x, z: x)), ValueError, "expected contains(x, z) to accept what project(x, z) returns", "one of the two is wrong"),
    ("own set with rows of answers", lambda: SpaceRegion(PLANE, Within(lambda x, z: z > x, lambda x, z: x)), ValueError, "expected contains(x, z) to return True or False"),
    ("own set of rows with one answer", lambda: SpaceRegion(PLANE, Within(lambda x, z: True, lambda x, z: x, vectorized=True)), ValueError, "expected contains(x, z) to return 16 truth values"),
    ("own set without a projection", lambda: SpaceRegion(PLANE, Within(lambda x, z: True)), ValueError, "expected a projection", "Within(contains, project)"),
    ("a distance on a space", lambda: SpaceRegion(PLANE, Distance(math.dist, 0.1)), TypeError, "expected Ball", "got Distance", "Within"),
    ("Hamming on a space", lambda: SpaceRegion(XY, Hamming(1)), TypeError, "expected Ball", "got Hamming", "Points"),
    ("groups on a space", lambda: SpaceRegion(PLANE, Groups([[0]])), TypeError, "expected a perturbation or parameters", "got Groups"),
    ("no domain", lambda: SpaceRegion([(0, 1)], Ball(0.1)), TypeError, "expected a domain such as Space", "got [(0, 1)]"),
    ("no set", lambda: SpaceRegion(PLANE, 0.1), TypeError, "expected an uncertainty set such as Ball", "got 0.1"),
    ("a class for a set", lambda: SpaceRegion(PLANE, Ball), TypeError, "expected an uncertainty set", "got <class"),
    ("rows of a space", lambda: Parameters(PLANE).block, TypeError, "finitely many parameters", "got Space"),
    ("a space on a finite solver", lambda: Listing(Points([0.0, 1.0]), Parameters(PLANE)), TypeError, "finitely many", "got Space"),
    ("an estimate outside of its space", lambda: Estimate(Space({"t": (0, 1)}), {"t": 3}, Ball(0.1)), ValueError, "expected t between 0.0 and 1.0", "got 3"),
    ("an estimate of another name", lambda: Estimate(Space({"theta": (0, 1)}), {"teta": 0.5}, Ball(0.1)), ValueError, "names ['theta']", "did you mean 'theta'?"),
    ("estimate within a number", lambda: Estimate(PLANE, [0.5, 0.5], 0.1), TypeError, "Ball(0.1)", "got 0.1"),
    ("decision and parameter of one name", lambda: SpaceRegion(XY, Parameters(Space({"n": (0, 1)}))).points_space, ValueError, "distinct names", "'n'"),
    ("a decision outside", lambda: SpaceTranslation(SpaceRegion(XY, Rectangle(0.0))).decision_index({"speed": 2, "temp": 1, "kind": "a", "n": 1}), ValueError, "speed between 0.0 and 1.0", "got 2"),
    *(
        (f"fractions {f!r}", lambda f=f: Relative(f), ValueError, "fractions", "expected")
        for f in (-0.1, 1.0, [0.1, 2], NAN, INF, "0.1", None, [[0.1]], True)
    ),
    *(
        (f"matrix {m!r}", lambda m=m: Ellipsoid(m), ValueError, "expected", "matrix", "got")
        for m in (1.0, [1.0], [[1.0, 2.0]], [[NAN]], [[INF]], [[0.0]], [[-1.0]], [[1, 2], [2, 1]], [[1, 0.5], [0, 1]], "ab", None, [[1], [2, 3]], [])
    ),
    ("own set that is no function", lambda: Within(0.1), TypeError, "expected functions contains(x, z)", "got 0.1"),
    ("projection that is no function", lambda: Within(max, 0.1), TypeError, "expected functions", "0.1"),
    ("own set of another size", lambda: Within(max).scaled(2), ValueError, "expected a set with a size", "Ball(0.1)"),
    ("Relative of 120 %", lambda: Relative(0.6).scaled(2), ValueError, "fractions below 1", "got 1.2"),
    ("a projection of another length", lambda: own(lambda x, z: z[:1]), ValueError, "project(x, z)", "2 finite coordinates", "got"),
    ("a projection that is NaN", lambda: own(lambda x, z: z * NAN), ValueError, "project(x, z)", "2 finite coordinates", "got"),
    ("parameters and parameters", lambda: Parameters(PLANE) * Parameters([1.0]), TypeError, "at most one set of parameters", "got"),
    ("a stray in a product", lambda: Combined([Ball(0.1), 3]), TypeError, "expected perturbations", "got"),
]  # fmt: skip


def own(project):
    region = SpaceRegion(PLANE, Within(lambda x, z: True, project))
    return region.points(np.full((1, 2), 0.5), np.zeros((1, 2)))


@table(REFUSED)
def test_a_set_that_does_not_fit_is_refused(call, error, words):
    refused(call, error, *words)


def test_an_adversary_of_size_0_does_nothing():
    for uncertainty in (Ball(0.0), Rectangle(0.0), Relative(0.0)):
        region = SpaceRegion(PLANE, uncertainty)
        assert region.width == 0 and region.scenarios(9, 0).shape == (1, 0)
        X = region.decisions(4, 0)
        assert np.array_equal(region.points(X, np.empty((4, 0))), X)
    still = SpaceRegion(KINDS, Rectangle(0.0) * Parameters([1.0, 2.0]))  # also where there is nothing to move
    assert still.width == 1 and SpaceRegion(KINDS, Rectangle(0.0)).width == 0
    assert isinstance(SpaceRegion(PLANE, Ellipsoid(np.eye(2))).movers[0], EllipsoidMover)
    assert isinstance(SpaceRegion(PLANE, disc(0.1)).movers[0], OwnMover)


def test_a_full_look_jumps_to_all_of_hundreds_of_rows_and_a_quick_one_to_some():
    region = SpaceRegion(Space([(0, 1)]), Parameters(np.random.default_rng(0).random((400, 2))))
    x, s = np.array([0.5]), np.array([7.0])
    assert {int(row[0]) for row in region.other_scenarios(x, s, 1024)} == set(range(400)) - {7}
    assert 60 <= len(region.other_scenarios(x, s, 64)) <= 70


# ------------------------------------------------------------------------------------------------- boxes side by side


@pytest.mark.parametrize(
    ("space", "uncertainty", "movers"),
    [
        (Space([(0, 2), (-1, 1)]), Rectangle([0.3, 0.2]) * Parameters(Space([(0, 1)])), 1),
        (Space([(0, 2), (-1, 1)]), Rectangle([(-0.3, 0.1), 0.2]) * Parameters(Space([(0, 1), Float(1, 9, True)])), 1),
        (Space([(0, 1)]), Parameters(Space([(0, 1), (2, 3)])), 1),
        (Space([(0, 1), Integer(0, 9)]), Rectangle([0.1, 1]) * Parameters(Space([(0, 1)])), 3),
        (Space([(0, 1)] * 2), Ball(0.2) * Parameters(Space([(0, 1)])), 2),
        (Space([Float(1, 9, True)]), Rectangle(0.2) * Parameters(Space([(0, 1)])), 2),
    ],
)
def test_boxes_next_to_each_other_are_one_box_that_does_the_same_to_the_last_digit(space, uncertainty, movers):
    region, apart = SpaceRegion(space, uncertainty), SpaceRegion(space, uncertainty)
    ends = np.cumsum([0, *(mover.width for mover in apart.movers)]).tolist()
    alone = [(mover, slice(*part)) for mover, part in zip(apart.movers, itertools.pairwise(ends), strict=True)]
    vars(apart)["_placed"] = alone
    assert len(alone) == len(apart.movers) >= len(region._placed) == movers
    rng = np.random.default_rng(0)
    X = region.decisions(40, 0)
    S, G = rng.normal(size=(40, region.width)), rng.normal(size=(40, region.points_space.dim))
    S[::2] = region.project(X, S)[::2]
    near = rng.random((40, 5, region.points_space.dim))
    asked = dict.fromkeys(("points", "project", "project_inside"), (X, S))
    asked |= {"reach": (X,), "pace": (X,), "scenario_of": (X, G), "near": (X, near), "pull": (X, S, G)}
    asked |= {"filling": (X, rng.random((8, region.width)))}
    for name, others in asked.items():
        found, expected = (getattr(each, name)(*others) for each in (region, apart))
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other, err_msg=name)
