"""Promises of variables and spaces: what a user writes and what a solver sees are the same thing, there and back."""
# ruff: noqa: E501 (a table is read by its rows)

import functools
import itertools
import json
import math
import operator
import pickle

import numpy as np
import pytest
from helpers.refusals import refused, table
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from stableopt import Grid, Points
from stableopt.base.arrays import low_discrepancy
from stableopt.base.values import from_dict
from stableopt.sets.candidates import Candidates, variable
from stableopt.sets.spaces import Space, space_of
from stableopt.sets.variables import Category, Float, Integer

NAN, INF = math.nan, math.inf
NAMES = ["speed", "temp", "kind", "alloy", "stir", "flow"]


def allowed(make, *args, **options):
    """What a class makes of arguments that it may refuse."""
    try:
        return make(*args, **options)
    except ValueError:
        assume(False)


@st.composite
def floats(draw, wider=False):
    """Floats with ends of any size: around 0, far from 0, narrow, wide, linear and log."""
    log = draw(st.booleans())
    exponent = st.floats(-200, 200) if draw(st.booleans()) else st.floats(-3, 3)
    size = st.builds(lambda e: 10.0**e, exponent)
    low = draw(size if log else size | st.just(0.0) | size.map(operator.neg))
    high = low + draw(size) if draw(st.booleans()) else low + abs(low) * draw(st.floats(1e-9, 10))
    if not wider or draw(st.booleans()):
        return allowed(Float, low, high, log)
    room = (high - low) * draw(st.floats(0.0, 3.0))
    outside = (low / (1 + draw(st.floats(0.0, 9.0))) if log else low - room, high + room)
    return allowed(Float, low, high, log, outside)


@st.composite
def integers(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -1000, 10 ** draw(st.integers(0, 9))))
    return Integer(low, low + draw(st.integers(1, 300)), log)


labels = st.text("abc ", min_size=1, max_size=3)
categories = st.lists(labels | st.integers(-9, 9) | st.floats(2.25, 9), min_size=2, max_size=5, unique=True).map(
    Category
)


@st.composite
def candidates(draw):
    size = 10.0 ** draw(st.integers(-9, 9))
    rows = draw(
        st.lists(st.tuples(*[st.integers(-50, 50)] * draw(st.integers(1, 3))), min_size=1, max_size=6, unique=True)
    )
    return Points(size * np.array(rows, dtype=float) + draw(st.sampled_from([0.0, 0.1, -7.0])) * size)


@st.composite
def spaces(draw, named=None, most=4, numbers=False):
    kinds = floats(wider=True) | integers() if numbers else floats(wider=True) | integers() | categories | candidates()
    variables = draw(st.lists(kinds, min_size=1, max_size=most))
    if not (draw(st.booleans()) if named is None else named):
        return Space(variables)
    names = [
        tuple(f"{n}{j}" for j in range(v.dim)) if isinstance(v, Points) and draw(st.booleans()) else n
        for n, v in zip(NAMES, variables, strict=False)
    ]
    return Space(dict(zip(names, variables, strict=True)))


def a_row(draw, space):
    """Any row that a search may come to: ranges anywhere, ends included, everything discrete at one of its choices."""
    row = []
    for v in space.parts:
        if v.choices is not None:
            row.extend(draw(st.sampled_from(v.choices.tolist())))
        else:
            low, high = v.reachable
            u = draw(st.sampled_from([0.0, 1.0, low, high, math.nextafter(1, 0), 1e-17, 0.5]) | st.floats(0, 1))
            row.append(min(max(u, low), high) if draw(st.booleans()) else low + (high - low) * u)
    return np.array(row)


def same_point(a, b):
    """Equality of points, of arrays too."""
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


# ----------------------------------------------------------------------------------------------------- there and back


@given(st.data())
@settings(max_examples=150)
def test_a_row_that_came_back_from_a_user_comes_back_bit_for_bit_ever_after(data):
    """Replay: a run stores points as the user sees them, and gets the same rows from them."""
    space = data.draw(spaces())
    once = space.encode(space.decode(a_row(data.draw, space)))
    again = space.encode(space.decode(once))
    assert again.tobytes() == once.tobytes()
    written = space.decode(once)
    plain = written.tolist() if isinstance(written, np.ndarray) else written
    assert space.encode(json.loads(json.dumps(plain))).tobytes() == once.tobytes()


@pytest.mark.parametrize(
    ("v", "u"),
    [  # each of these needs more than one step to a coordinate that stays
        (Float(-0.16758472620244358, 3.4617322586812205), 0.5),
        (Float(-0.10602606838265535, 0.8375118143758848), 0.5),
        (Float(-5710692.379108305, 15270575.075661859), 0.7300256662877824),
        (Float(0.65802762749287, 29.36386831838916, log=True), 0.5071955693140758),
        (Float(0.007553410427313079, 302103534.19589233, log=True), 0.6169922441787487),
        (Float(1e6, 1e6 + 1), 1 / 3),
        (Float(-1e-300, 1e-300), 1e-17),
        (Float(1e-300, 1e300, log=True), 0.1),
    ],
    ids=str,
)
def test_known_hard_cases_of_coming_back_bit_for_bit(v, u):
    once = v.encode(v.decode(np.array([u])), "x")
    assert v.encode(v.decode(np.array(once)), "x") == once


@given(st.data())
@settings(max_examples=100)
def test_a_value_survives_being_a_coordinate(data):
    space = data.draw(spaces(named=True))
    point = space.decode(a_row(data.draw, space))
    back = space.decode(space.encode(point))
    assert list(back) == list(point)
    for name, v in zip(space.names, space.parts, strict=True):
        if isinstance(v, Float):
            low, high = v.evaluate or (v.low, v.high)
            assert low <= back[name] <= high
            size = abs(point[name]) if v.log else max(abs(low), abs(high))
            decades = math.log10(high / low) if v.log else 0.0  # rounding of a coordinate grows with its range
            assert abs(back[name] - point[name]) <= (1e-12 + 1e-14 * decades) * size
        else:
            for n in name if isinstance(name, tuple) else [name]:
                assert back[n] == point[n] and type(back[n]) is type(point[n])


@given(floats(wider=True))
@settings(max_examples=100)
def test_the_ends_of_a_range_are_exact(v):
    assert v.encode(v.low, "x") == [0.0] and v.encode(v.high, "x") == [1.0]
    assert v.decode(np.array([0.0])) == v.low and v.decode(np.array([1.0])) == v.high
    if v.evaluate is None:
        assert v.reachable == (0.0, 1.0)
    else:
        found = [v.decode(np.array(v.encode(end, "x"))) for end in v.evaluate]
        assert found == pytest.approx(v.evaluate, rel=1e-12, abs=1e-12 * (v.evaluate[1] - v.evaluate[0]))
        assert v.evaluate[0] <= found[0] and found[1] <= v.evaluate[1]


@given(floats(), st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_coordinates_keep_the_order_of_values(v, pair):
    a, b = (v.decode(np.array([u])) for u in sorted(pair))
    assert a <= b and v.encode(a, "x") <= v.encode(b, "x")


@given(floats(), st.floats(0, 1))
def test_a_log_scale_is_even_in_ratios_and_a_linear_one_in_differences(v, u):
    value = v.decode(np.array([u]))
    if v.log:
        wide = math.log(v.high) - math.log(v.low)
        assert math.log(value) - math.log(v.low) == pytest.approx(u * wide, rel=1e-6, abs=1e-9)
    else:
        assert value - v.low == pytest.approx(u * (v.high - v.low), rel=1e-6, abs=1e-15 * max(abs(v.low), abs(v.high)))


@given(integers())
@settings(max_examples=60)
@example(Integer(10**13, 10**13 + 50, log=True))
@example(Integer(1, 999_999, log=True))
@example(Integer(-500_000, 499_000))
@example(Integer(0, 1))
def test_all_whole_numbers_are_exact_and_rounded_to_the_nearest(v):
    some = np.unique(np.linspace(v.low, v.high, 60).round()).astype(int).tolist()
    rows = [v.encode(k, "x") for k in some]
    assert [v.decode(np.array(row)) for row in rows] == some
    assert all(type(v.decode(np.array(row))) is int for row in rows)
    assert len(v.choices) == v.high - v.low + 1 and np.all(np.diff(v.choices[:, 0]) > 0)
    assert v.encode(float(some[-1]), "x") == v.encode(np.int64(some[-1]), "x") == [1.0]
    assert v.decode(np.array([-5.0])) == v.low and v.decode(np.array([5.0])) == v.high


@given(candidates())
def test_candidates_are_exact_and_the_nearest_one_is_found(points):
    v = variable(points, "x")
    for row in points.points:
        assert v.decode(np.array(v.encode(row, "x"))) == tuple(row.tolist())
    assert v.choices.min() >= 0 and v.choices.max() <= 1
    assert np.allclose(v.natural(v.choices), points.points, rtol=1e-12, atol=1e-12 * np.abs(points.points).max())


def test_categories_keep_their_values_and_types():
    v = Category(["red", 2, 2.5, True])
    assert [v.decode(c) for c in v.choices] == ["red", 2, 2.5, True]
    assert v.encode(np.str_("red"), "x") == [0.0] and v.encode(np.int64(2), "x") == [1.0]
    assert v.reachable == (0.0, 3.0) and not v.numeric


# ------------------------------------------------------------------------------------------------------ kinds of points


def test_choices_may_look_like_numbers():
    assert Space({"k": Category(["0", "1"])}).parts[0].values == ("0", "1")
    assert Space({"k": ["1", "2", "5"], "l": ["1", "b"], "m": ["nan", "inf"]}).categories == (0, 1, 2)


def test_a_named_point_is_a_dictionary():
    space = Space({"x": (0, 10), "n": Integer(1, 3), "kind": ["a", "b"], ("c", "d"): Points([[1, 2], [3, 4]])})
    point = {"x": 2.5, "n": 3, "kind": "b", "c": 3.0, "d": 4.0}
    assert space.encode(point).tolist() == [0.25, 1.0, 1.0, 1.0, 1.0]
    assert space.decode(space.encode(point)) == point
    assert space.encode(dict(reversed(point.items()))).tolist() == space.encode(point).tolist()
    assert (space.dim, space.numeric, space.categories) == (5, [0, 1], (2,))
    assert space.labels == space.flat_names == ["x", "n", "kind", "c", "d"]
    assert [space.column(n) for n in ("x", "d", 1, np.int64(2))] == [0, 4, 1, 2]


def test_candidates_under_one_name_are_a_tuple():
    space = Space({"mix": Points([[1, 2], [3, 4]]), "x": (0, 1)})
    assert space.decode(np.array([1.0, 1.0, 0.5])) == {"mix": (3.0, 4.0), "x": 0.5}
    for mix in ((3, 4), [3.0, 4.0], np.array([3, 4])):
        assert space.encode({"mix": mix, "x": 0.5}).tolist() == [1.0, 1.0, 0.5]
    assert space.labels == ["mix[0]", "mix[1]", "x"]
    assert space.column("mix[1]") == 1


def test_an_unnamed_point_is_an_array_or_a_list_if_it_has_categories():
    numbers = Space([(0, 10), Integer(1, 3), Points([[1, 2], [3, 4]])])
    point = numbers.decode(np.array([0.25, 1.0, 1.0, 1.0]))
    assert isinstance(point, np.ndarray) and point.tolist() == [2.5, 3.0, 3.0, 4.0]
    for same in (point, point.tolist(), tuple(point)):
        assert numbers.encode(same).tolist() == [0.25, 1.0, 1.0, 1.0]
    mixed = Space([(0, 10), ["a", "b"], Points([[1, 2], [3, 4]])])
    assert mixed.decode(np.array([0.25, 1.0, 1.0, 1.0])) == [2.5, "b", 3.0, 4.0]
    assert mixed.encode([2.5, "b", 3, 4]).tolist() == [0.25, 1.0, 1.0, 1.0]
    assert mixed.labels == ["0", "1", "2", "3"] and mixed.flat_names is None
    assert Space([(0, 1)]).encode(0.5).tolist() == Space([(0, 1)]).encode([0.5]).tolist() == [0.5]


@given(st.data())
@settings(max_examples=60)
def test_joined_spaces_are_side_by_side(data):
    left, right = data.draw(spaces(most=2)), data.draw(spaces(named=False, most=2))
    both = left.joined(right)
    a, b = a_row(data.draw, left), a_row(data.draw, right)
    row = np.concatenate([a, b])
    assert both.dim == left.dim + right.dim and both.parts == left.parts + right.parts
    point = both.decode(row)
    if left.names is None:
        assert both.names is None
        assert list(point) == [*left.decode(a), *right.decode(b)]
    else:
        kept = {n: point[n] for n in left.flat_names}
        assert same_point(kept, left.decode(a))
        assert both.flat_names[: len(left.flat_names)] == left.flat_names
        assert all(n.startswith("theta") for n in both.flat_names[len(left.flat_names) :])
    assert both.encode(point)[: left.dim].tobytes() == left.encode(left.decode(a)).tobytes()


def test_joined_spaces_keep_both_names():
    both = Space({"x": (0, 1)}).joined(Space({"t": (0, 1), ("u", "v"): Points([[0, 1], [2, 3]])}))
    assert both.flat_names == ["x", "t", "u", "v"]
    assert Space([(0, 1)]).joined(Space({"t": (0, 1)})).names is None
    unnamed = Space({"x": (0, 1)}).joined(Space([(0, 1), Points([[0, 1], [2, 3]])]))
    assert unnamed.flat_names == ["x", "theta0", "theta1_0", "theta1_1"]


@given(st.data())
@settings(max_examples=60)
def test_a_space_is_a_value_that_json_and_pickle_keep(data):
    space = data.draw(spaces())
    row = a_row(data.draw, space)
    for copy in (
        from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False))),
        pickle.loads(pickle.dumps(space)),
    ):
        assert copy == space and hash(copy) == hash(space) and repr(copy) == repr(space)
        assert same_point(copy.decode(row), space.decode(row))
        assert copy.encode(copy.decode(row)).tobytes() == space.encode(space.decode(row)).tobytes()
    assert space != Space([*space.parts, Integer(0, 1)])


@given(st.data())
@settings(max_examples=60)
def test_natural_is_the_users_unit_or_its_log(data):
    space = data.draw(spaces(named=False, numbers=True))
    rows = np.array([space.encode(space.decode(a_row(data.draw, space))) for _ in range(3)])
    natural, values = space.natural(rows), np.array([space.decode(row) for row in rows])
    for j, v in enumerate(space.parts):
        expected = np.log(values[:, j]) if v.log else values[:, j]
        assert np.allclose(natural[:, j], expected, rtol=1e-9, atol=1e-9 * space.span[j])
        assert space.span[j] == pytest.approx(v.ends[1] - v.ends[0], rel=1e-6)


def test_a_finite_domain_is_a_space_of_candidates():
    grid = Grid.linspace([0, 0], [1, 4], [3, 2])
    space = space_of(grid)
    assert space_of(space) is space and space.dim == 2
    assert np.array_equal(np.array([space.decode(c) for c in space.parts[0].choices]), grid.points)
    assert not space.numeric


# --------------------------------------------------------------------------------------------------------------- spread


@given(st.data(), st.integers(1, 60), st.integers(0, 5))
@settings(max_examples=100)
def test_a_spread_is_inside_distinct_and_complete_where_it_can_be(data, count, seed):
    space = data.draw(spaces())
    rows = space.spread(count, seed)
    assert rows.shape[1] == space.dim and 1 <= len(rows) <= count
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert np.array_equal(rows, space.spread(count, seed))
    for v, c in zip(space.parts, space.columns, strict=True):
        part = rows[:, c.start : c.stop]
        if v.choices is None:
            assert np.all((part >= 0) & (part <= 1))
        else:
            assert {tuple(r) for r in part.tolist()} <= {tuple(r) for r in v.choices.tolist()}
    if all(v.choices is not None for v in space.parts):
        everything = set(itertools.product(*(map(tuple, v.choices.tolist()) for v in space.parts)))
        if len(everything) <= count:
            assert len(rows) == len(everything)
            assert {functools.reduce(operator.add, e) for e in everything} == {tuple(r) for r in rows.tolist()}
    elif any(v.choices is None for v in space.parts):
        assert len(rows) == count


def test_a_spread_reaches_every_choice_and_every_part_of_a_range():
    space = Space([(0, 1), Integer(1, 5), ["a", "b", "c"], Points(np.arange(7.0))])
    rows = space.spread(400, 1)
    for v, c in zip(space.parts[1:], space.columns[1:], strict=True):
        assert len(np.unique(rows[:, c[0]])) == len(v.choices)
    assert np.histogram(rows[:, 0], 20, (0, 1))[0].min() >= 15


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_low_discrepancy_points_are_more_even_than_random_ones(dim):
    """Means of products of sines are 0 over the cube: an independent measure of evenness, with random points as control."""
    n, frequencies = 2000, np.arange(1, 6)

    def unevenness(points):
        waves = [np.abs(np.mean(np.sin(2 * np.pi * f * points).prod(axis=1))) for f in frequencies]
        return max(*waves, *np.abs(points.mean(axis=0) - 0.5))

    quiet = [unevenness(low_discrepancy(n, dim, seed)) for seed in range(3)]
    control = [unevenness(np.random.default_rng(seed).random((n, dim))) for seed in range(3)]
    assert np.median(quiet) < np.median(control)
    points = low_discrepancy(n, dim, 0)
    assert points.shape == (n, dim) and np.all((points >= 0) & (points < 1))


# ------------------------------------------------------------------------------------------------------------- bad input

X = Space({"speed": (0, 1), "temp": Float(1e-3, 10, log=True), "kind": ["a", "b"], "n": Integer(1, 5)})
GOOD = {"speed": 0.5, "temp": 1.0, "kind": "a", "n": 2}
PAIR = Space([(0, 1), Points([[1, 2], [3, 4]])])

BUILDING = [
    *(
        (f"range {ends!r}", lambda ends=ends: Space({"x": ends}), ValueError, "'x'", "expected", "got", *words)
        for ends, words in [
            ((1, 0), ["low < high", "swap"]),
            ((1.0, 1.0), ["low < high", "leave out"]),
            ((0, NAN), ["finite", "nan"]),
            ((-INF, 0), ["finite", "-inf"]),
            ((0, INF), ["finite", "inf"]),
            ((0, 10**400), ["finite"]),
            ((False, 2.0), ["(low, high)", "False"]),
            (("0", 1), ["(low, high)"]),
            ((None, 1), ["finite", "None"]),
            ((0, 1, 2), ["(low, high)", "(0, 1, 2)"]),
            ((0,), ["(low, high)"]),
            ((), ["(low, high)"]),
            (5, ["(low, high)", "got 5"]),
            (None, ["(low, high)", "None"]),
            ("ab", ["(low, high)", "'ab'"]),
            ({"a"}, ["(low, high)"]),
            (np.array(0.5), ["(low, high)"]),
            (np.zeros((2, 2)), ["finite numbers"]),
            (["a"], ["two or more", "['a']", "got"][:1]),
            (["a", "a"], ["distinct"]),
            (Float, ["Float(...)"]),
            (((0, 1), (2, 3)), ["finite numbers"]),
            ((0, 1j), ["finite numbers"]),
        ]
    ),
    ("log from 0", lambda: Float(0, 1, log=True), ValueError, "low > 0", "log scale", "Float(0, 1)", "log=False"),
    ("log from below 0", lambda: Float(-1, 1, log=True), ValueError, "low > 0", "got Float(-1, 1)"),
    ("log of integers from 0", lambda: Integer(0, 9, log=True), ValueError, "low > 0", "Integer(0, 9)", "Integer(..., log=False)"),
    ("log as a text", lambda: Float(1, 2, log="no"), ValueError, "log=True or log=False", "got log='no'"),
    ("evaluate in the place of log", lambda: Float(1, 2, (0, 3)), ValueError, "log=True or log=False", "got log=(0, 3)"),
    ("bool as an end", lambda: Float(False, True), ValueError, "expected two finite numbers", "got Float(False, True)"),
    ("text as an end", lambda: Float("0", "1"), ValueError, "expected two finite numbers", "got Float('0', '1')"),
    ("too wide", lambda: Float(-1e308 + 1e300, 1e308 - 1e300), ValueError, "width", "got Float"),
    ("too narrow", lambda: Float(1.0, math.nextafter(1.0, 2.0)), ValueError, "width", "got Float(1.0, 1.000", "unit"),
    ("too narrow for logs", lambda: Float(1e100, 1e100 * (1 + 3e-15), log=True), ValueError, "width", "got Float(1e+100"),
    *(
        (f"evaluate {e!r}", lambda e=e: Float(0, 1, evaluate=e), ValueError, "expected evaluate=(low, high)", "contain 0.0 to 1.0", "got")
        for e in [(0.5, 2), (-1, 0.5), (1, 0), (NAN, 2), (-INF, INF), (0,), 3, "ab", (0, 1, 2), ("0", "1"), (False, True), [None, 2]]
    ),
    ("evaluate from 0 on a log scale", lambda: Float(1, 2, True, (0, 3)), ValueError, "evaluate", "positive", "got (0, 3)"),
    ("evaluate of another unit", lambda: Float(0, 1e-300, evaluate=(-1, 1e300)), ValueError, "expected evaluate", "got (-1.0, 1e+300)", "unit"),
    ("parts of integers", lambda: Integer(0.5, 3), ValueError, "whole numbers", "got Integer(0.5, 3.0)", "Float"),
    ("too many integers", lambda: Integer(0, 10**7), ValueError, "less than 1000000 apart", "got Integer", "Float"),
    ("integers whose logs are the same", lambda: Integer(10**15, 10**15 + 99, log=True), ValueError, "logs differ", "got Integer", "log=False"),
    ("one integer", lambda: Integer(3, 3), ValueError, "low < high", "Integer(3, 3)", "leave out"),
    *(
        (f"categories {c!r:.40}", lambda c=c: Category(c), ValueError, "expected", "got", word)
        for c, word in [
            (["a"], "two or more"), ([], "two or more"), ("abc", "list"), (None, "list"), (5, "list"), ({"a": 1, "b": 2}, "list"),
            ({"a"}, "list"), ([None, "a"], "strings or finite"), ([NAN, 1.0], "finite"), ([INF, 1.0], "finite"),
            (["a", ["b"]], "strings"), (["a", "b", "a"], "distinct"), ([1, True], "distinct"), ([1, 1.0], "distinct"),
        ]
    ),
    ("candidates that are a list", lambda: Candidates([[1, 2]]), TypeError, "expected", "Points(rows)", "got [[1, 2]]"),
    ("candidates that scaling merges", lambda: Space([Points([-1e6, 1e-11, 2e-11])]), ValueError, "expected candidates", "got", "leave out"),
    ("candidates too far apart", lambda: Space([Points([-1.7e308, 1.7e308])]), ValueError, "expected candidates", "got"),
    *(
        (f"space {s!r}", lambda s=s: Space(s), ValueError, "expected ranges such as", "got")
        for s in [{}, [], None, 5, "ab", {"a"}, np.array(0.5), np.empty((0, 2))]
    ),
    ("one range without a list", lambda: Space((0, 1)), ValueError, "variable 0", "(low, high)", "got 0"),
    ("a name that is a number", lambda: Space({1: (0, 1)}), ValueError, "names as strings", "got 1"),
    ("two names for a range", lambda: Space({("a", "b"): (0, 1)}), ValueError, "names as strings", "got ('a', 'b')"),
    ("a tuple of one name for a category", lambda: Space({("a",): ["u", "v"]}), ValueError, "names as strings", "got ('a',)"),
    ("too few names of candidates", lambda: Space({("a",): Points([[1, 2], [3, 4]])}), ValueError, "tuple of 2", "got ('a',)"),
    ("names of candidates that are numbers", lambda: Space({("a", 1): Points([[1, 2], [3, 4]])}), ValueError, "strings", "got ('a', 1)"),
    ("the same name twice", lambda: Space({"a": (0, 1), ("a", "b"): Points([[1, 2], [3, 4]])}), ValueError, "distinct names", "got ['a', 'a', 'b']"),
    ("the same names in joined spaces", lambda: X.joined(Space({"speed": (0, 1)})), ValueError, "distinct names", "got", "speed"),
    ("too many names", lambda: Space([(0, 1)], ["x", "y"]), ValueError, "list of 1 names", "got ['x', 'y']"),
    ("too few names", lambda: Space([(0, 1), (0, 1)], ["x"]), ValueError, "list of 2 names", "got ['x']"),
    ("names as one text", lambda: Space([(0, 1), (0, 1)], "xy"), ValueError, "list of 2 names", "got 'xy'"),
    ("names twice over", lambda: Space({"x": (0, 1)}, ["y"]), ValueError, "expected names", "got both", "leave out"),
]  # fmt: skip

POINTS = [
    *(
        (f"speed {v!r}", lambda v=v: X.encode({**GOOD, "speed": v}), ValueError, "expected", "speed", *words)
        for v, words in [
            (1.5, ["between 0.0 and 1.0", "got 1.5"]),
            (-1e-6, ["between", "got -1e-06"]),
            (NAN, ["finite number", "got nan"]),
            (INF, ["finite number", "got inf"]),
            (True, ["finite number", "got True"]),
            ("0.5", ["finite number", "got '0.5'"]),
            (None, ["finite number", "got None"]),
            ([0.5], ["finite number", "got [0.5]"]),
            (1j, ["finite number"]),
        ]
    ),
    ("0 on a log scale", lambda: X.encode({**GOOD, "temp": 0.0}), ValueError, "expected temp between 0.001 and 10.0", "got 0.0"),
    ("a hair below 0 on a log scale", lambda: Space({"x": Float(1e-10, 10, True)}).encode({"x": -1e-12}), ValueError, "expected x between", "got -1e-12"),
    ("a tenth of low on a log scale", lambda: Space({"x": Float(1e-10, 10, True)}).encode({"x": 1e-11}), ValueError, "expected x between", "got 1e-11"),
    ("unknown kind", lambda: X.encode({**GOOD, "kind": "c"}), ValueError, "expected kind to be one of ['a', 'b']", "got 'c'"),
    ("a list as a kind", lambda: X.encode({**GOOD, "kind": ["a"]}), ValueError, "expected kind to be one of", "got ['a']"),
    ("an array as a kind", lambda: X.encode({**GOOD, "kind": np.array(["a", "b"])}), ValueError, "expected kind to be one of", "got array"),
    ("True for 1", lambda: Space({"k": Category([1, 2])}).encode({"k": True}), ValueError, "one of [1, 2]", "got True"),
    ("1 for True", lambda: Space({"k": Category([True, False])}).encode({"k": 1}), ValueError, "one of [True, False]", "got 1"),
    ("half an integer", lambda: X.encode({**GOOD, "n": 2.5}), ValueError, "whole number for n", "got 2.5"),
    ("bool for an integer", lambda: X.encode({**GOOD, "n": True}), ValueError, "whole number for n", "got True"),
    ("NaN for an integer", lambda: X.encode({**GOOD, "n": NAN}), ValueError, "whole number for n", "got nan"),
    ("text for an integer", lambda: X.encode({**GOOD, "n": "2"}), ValueError, "whole number for n", "got '2'"),
    ("integer too large", lambda: X.encode({**GOOD, "n": 10**300}), ValueError, "n between 1 and 5", "got 1000"),
    ("integer too small", lambda: X.encode({**GOOD, "n": 0}), ValueError, "n between 1 and 5", "got 0"),
    ("misspelt name", lambda: X.encode({"sped": 0.5, "temp": 1, "kind": "a", "n": 2}), ValueError, "with the names", "got ['sped'", "did you mean 'speed'?"),
    ("one name too many", lambda: X.encode({**GOOD, "temps": 1}), ValueError, "names", "got", "did you mean 'temp'?"),
    ("a name that is a number", lambda: X.encode({**GOOD, 3: 1}), ValueError, "names", "got", "3"),
    ("a name too few", lambda: X.encode({"speed": 0.5}), ValueError, "expected a point with the names", "got ['speed']"),
    ("no names", lambda: X.encode([0.5, 1.0, "a", 2]), ValueError, "expected a point as a dictionary", "'speed'", "got [0.5"),
    ("nothing", lambda: X.encode(None, "decision"), ValueError, "expected a decision as a dictionary", "got None"),
    ("names where there are none", lambda: PAIR.encode({"x": 1}), ValueError, "list of 3 values", "got {'x': 1}"),
    ("a text", lambda: PAIR.encode("abc"), ValueError, "list of 3 values", "got 'abc'"),
    ("too few values", lambda: PAIR.encode([0.5, 1]), ValueError, "with 3 values", "got 2"),
    ("too many values", lambda: PAIR.encode([0.5, 1, 2, 3]), ValueError, "with 3 values", "got 4"),
    ("a matrix", lambda: PAIR.encode(np.zeros((3, 3))), ValueError, "expected a finite number", "got array"),
    ("no value", lambda: PAIR.encode(None), ValueError, "with 3 values", "got 1", "None"),
    ("no candidate", lambda: PAIR.encode([0.5, 1, 4]), ValueError, "[1.0, 4.0] is not in the candidates", "nearest", "[1.0, 2.0]"),
    ("text for a candidate", lambda: PAIR.encode([0.5, "1", 2]), ValueError, "expected", "numbers", "got ['1', 2]"),
    ("NaN for a candidate", lambda: PAIR.encode([0.5, NAN, 2]), ValueError, "expected a finite", "nan"),
    ("candidate with too few columns", lambda: Space({"m": Points([[1, 2], [3, 4]])}).encode({"m": [1]}), ValueError, "expected m with 2 coordinates", "got shape (1,)"),
    ("outside of evaluate", lambda: Space({"x": Float(0, 1, evaluate=(-1, 2))}).encode({"x": 2.1}), ValueError, "x between -1.0 and 2.0", "got 2.1"),
    ("column of another name", lambda: X.column("tmep"), ValueError, "expected one of the names", "got 'tmep'", "did you mean 'temp'?"),
    *(
        (f"column {c!r}", lambda c=c: X.column(c), ValueError, "expected a column between 0 and 3", f"got {c!r}")
        for c in (4, -1, 1.0, True, None)
    ),
]  # fmt: skip


@table(BUILDING)
def test_a_space_that_makes_no_sense_is_refused(call, error, words):
    refused(call, error, *words)


@table(POINTS)
def test_a_point_that_makes_no_sense_is_refused(call, error, words):
    refused(call, error, *words)


def test_rounding_at_the_ends_is_forgiven():
    assert X.encode({**GOOD, "speed": 1 + 1e-12})[0] == 1.0
    assert X.encode({**GOOD, "temp": 1e-3 * (1 - 1e-12)})[1] == 0.0
    assert Space({"x": Float(1e-10, 10, True)}).encode({"x": 10 * (1 + 1e-12)})[0] == 1.0


@given(floats(wider=True), st.floats(0, 1))
def test_a_float_is_encoded_by_the_nearest_coordinate_that_leads_back_to_it(variable, share):
    low, high = variable.evaluate or (variable.low, variable.high)
    value = low * (high / low) ** share if variable.log else low + share * (high - low)
    value = min(max(value, low), high)
    exact, found = float(variable.coordinate(np.array(value))), variable.encode(value, "x")[0]
    decoded = variable.decode(np.array([found]))
    assert variable.encode(decoded, "x") == [found]
    assert abs(found - exact) <= 1e-9 and decoded == pytest.approx(value, rel=1e-8, abs=1e-8 * (high - low))


@given(st.data())
@settings(max_examples=60)
def test_many_rows_at_once_are_what_they_are_one_by_one(data):
    """`settled` and `decoded` are faster ways to say `encode(decode(row))` and `decode(row)`, bit for bit."""
    numbers = data.draw(st.lists(floats(wider=True), min_size=1, max_size=3))
    others = [Integer(-3, 17), Integer(1, 1000, log=True), Float(0, 1, step=0.1), Category(["a", "b", "c"])]
    rows_of_two = Points([[0.0, 1.0], [2.0, 5.0], [2.5, 0.0]])
    space = Space([*numbers, *others, rows_of_two])
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    rows = space.rows(rng.random((12, len(space.parts))))
    rows[0, : len(numbers)], rows[1, : len(numbers)] = 0.0, 1.0 - 1e-12
    rows += np.where(rng.random(rows.shape) < 0.5, 0.0, 1e-4 * rng.standard_normal(rows.shape))
    reach = [v.reachable for v in space.parts for _ in range(v.width)]
    rows = np.clip(rows, [low for low, _ in reach], [high for _, high in reach])
    assert [repr(p) for p in space.decoded(rows)] == [repr(space.decode(row)) for row in rows]
    assert np.array_equal(space.settled(rows), [space.encode(space.decode(row)) for row in rows])
    assert np.array_equal(space.settled(space.settled(rows)), space.settled(rows))
