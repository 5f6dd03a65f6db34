"""Promises about bad input: it is refused with the right exception, a message that helps, and nothing has changed."""
# ruff: noqa: E501 (a table is read by its rows)

import functools
import json
import math
import warnings

import numpy as np
import pytest
from helpers.refusals import refused, table

from stableopt import (
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
    Linear,
    Matern,
    Optimizer,
    Parameters,
    Points,
    Rectangle,
)
from stableopt.loop.rules import LargestUcb, Last
from stableopt.maxmin.lists.listing import Listing
from stableopt.model.gp import LinearMean
from stableopt.model.tracked import TrackedPosterior
from stableopt.sets.uncertainty import Combined

NAN, INF = math.nan, math.inf
LINE, PLANE = Points([0.0, 0.5, 1.0]), Grid.linspace([0, 0], [1, 2], [3, 5])
PRIOR = GP(SE(0.3), 0.1)


def distance(value, **options):
    return Distance(lambda x, z: value, 1.0, **options)


# -------------------------------------------------------------------------------------------------------- building

UNCERTAINTY = [
    *(
        (f"eps {eps!r}", lambda eps=eps: Ball(eps), ValueError, "expected eps", ">= 0", f"got {eps!r}")
        for eps in (-0.1, NAN, INF, -INF, "0.1", None, [0.1], True)
    ),
    *(
        (f"eps of a distance {eps!r}", lambda eps=eps: Distance(max, eps), ValueError, "expected eps", f"got {eps!r}")
        for eps in (-0.1, NAN, None)
    ),
    ("eps of more digits than Python prints", lambda: Ball(10**5000), ValueError, "expected eps", "beyond 1e"),
    ("columns between columns", lambda: Ball(0.1, columns=[0.7]), ValueError, "expected distinct column numbers", "[0.7]"),
    ("whole columns as floats", lambda: Ball(0.1, columns=[1.0]), ValueError, "expected distinct column numbers", "[1.0]"),
    ("columns that are truth values", lambda: Ball(0.1, columns=[True]), ValueError, "expected distinct column numbers"),
    *(
        (f"columns {c!r}", lambda c=c: Ball(0.1, columns=c), ValueError, "expected", "column")
        for c in (0, "ab", {0: 1}, {0, 1}, [[0], [1, 2]], np.array(0), [None])
    ),
    ("an array as norm", lambda: Ball(0.1, np.array([1, 2])), ValueError, "norm 1, 2 or 'inf'"),
    *(
        (f"groups {g!r}", lambda g=g: Groups(g), ValueError, "expected groups as lists", f"got {g!r}")
        for g in (5, None, "ab", {0, 1})
    ),
    ("names of groups 5", lambda: Groups([[0]], 5), ValueError, "expected a list of names", "got 5"),
    *(
        (f"labels {g!r}", lambda g=g: Groups.from_labels(g), ValueError, "expected one label per point", "flat list")
        for g in (5, "ab", [["a"], ["b", "c"]], [{}, {}], [None, None], [])
    ),
    *(
        (f"linspace {a!r}", lambda a=a: Grid.linspace(*a), ValueError, "expected")
        for a in (("a", 1, 3), (None, 1, 3), (0, INF, 3), (0, NAN, 3), ([[0], [0, 1]], 1, 3), (0, 10**400, 3), (0, 1, [3, 4]), (0, 1, "3"), (0, 1, None), (0, 1, 2.5), (0, 1, 0))
    ),
    ("norm 3", lambda: Ball(0.1, 3), ValueError, "norm 1, 2 or 'inf'", "got 3", "Distance"),
    ("norm l2", lambda: Ball(0.1, "l2"), ValueError, "norm 1, 2 or 'inf'", "got 'l2'"),
    ("negative scale", lambda: Ball(0.1, scales=[1, -1]), ValueError, "scales", "> 0", "-1"),
    ("zero scale", lambda: Ball(0.1, scales=[0.0]), ValueError, "scales", "> 0"),
    ("NaN scale", lambda: Ball(0.1, scales=[NAN, 1]), ValueError, "scales", "finite", "nan"),
    ("negative half-width", lambda: Rectangle([0.1, -0.1]), ValueError, "half_widths", ">= 0", "-0.1"),
    ("infinite half-width", lambda: Rectangle([INF]), ValueError, "half_widths", "finite", "inf"),
    ("half-widths as a matrix", lambda: Rectangle([[0.1, 0.2]]), ValueError, "half_widths", "[[0.1, 0.2]]"),
    ("too few half-widths", lambda: Listing(PLANE, Rectangle([0.1])), ValueError, "expected 2 half_widths", "got 1"),
    ("too many scales", lambda: Listing(LINE, Ball(0.1, scales=[1, 2])), ValueError, "expected 1 scales", "got 2"),
    ("scales of other columns", lambda: Listing(PLANE, Ball(0.1, scales=[1, 2], columns=[1])), ValueError, "expected 1", "got 2"),
    ("columns twice", lambda: Ball(0.1, columns=[0, 0]), ValueError, "distinct column", "[0, 0]"),
    ("negative column", lambda: Hamming(1, columns=[-1]), ValueError, "column", "from 0", "[-1]"),
    ("no columns", lambda: Rectangle([], columns=[]), ValueError, "column"),
    ("column out of range", lambda: Listing(PLANE, Ball(0.1, columns=[2])), ValueError, "2 coordinates", "got [2]"),
    ("Hamming column out of range", lambda: Listing(PLANE, Hamming(1, [5])), ValueError, "2 coordinates", "got [5]"),
    *(
        (f"radius {r!r}", lambda r=r: Hamming(r), ValueError, "Hamming radius", f"got {r!r}")
        for r in (-1, 1.5, "1", True, None)
    ),
    ("no distance", lambda: Distance(0.1, 0.1), TypeError, "expected a function", "got 0.1"),
    ("NaN distance", lambda: Listing(LINE, distance(NAN)), ValueError, "NaN between", "[0.0]", "math.inf"),
    ("NaN distances", lambda: Listing(LINE, Distance(lambda x, Z: Z[:, 0] * NAN, 1.0, vectorized=True)), ValueError, "NaN between"),
    ("too few distances", lambda: Listing(LINE, Distance(lambda x, Z: [0.0, 0.0], 1.0, vectorized=True)), ValueError, "3 values", "got 2"),
    ("one distance", lambda: Listing(LINE, distance(0.0, vectorized=True)), ValueError, "3 values", "got 1"),
    ("matrix of distances", lambda: Listing(LINE, Distance(lambda x, Z: abs(Z - Z.T), 1.0, vectorized=True)), ValueError, "3 values", "got 9"),
    ("distances of varying number", lambda: Listing(LINE, Distance(lambda x, Z: [0.0] * int(1 + 2 * x[0]), 1.0, vectorized=True)), ValueError, "expected distance"),
    ("distance None", lambda: Listing(LINE, distance(None)), ValueError, "expected", "distance", "None"),
    ("distance of one pair as an array", lambda: Listing(PLANE, Distance(lambda x, z: abs(x - z), 1.0)), ValueError, "expected", "distance"),
    ("empty set", lambda: Listing(LINE, Distance(lambda x, z: 0.0 if x[0] < 1 else 9.0, 1.0)), ValueError, "set of [1.0] is empty"),
    ("duplicate parameters", lambda: Parameters([[0.0, 1.0], [0.0, 1.0]]), ValueError, "distinct parameters", "[0.0, 1.0]", "[0, 1]"),
    ("NaN parameter", lambda: Parameters([0.0, NAN]), ValueError, "finite parameters", "nan", "row 1"),
    ("no parameters", lambda: Parameters([]), ValueError, "parameters", "(0,)"),
    ("estimate not in Θ", lambda: Estimate([0.0, 1.0], 0.3, Ball(0.5)), ValueError, "estimate [0.3]", "nearest", "[0.0]"),
    ("estimate of wrong length", lambda: Estimate([0.0, 1.0], [0.0, 1.0], Ball(0.5)), ValueError, "estimate", "1 coordinate", "(2,)"),
    ("estimate within a number", lambda: Estimate([0.0, 1.0], 0.0, 0.5), TypeError, "Ball(0.1)", "got 0.5"),
    ("estimate that allows nothing", lambda: Estimate([0.0, 1.0], 0.0, distance(9.0)), ValueError, "no parameter", "[0.0]"),
    ("empty group", lambda: Groups([[0, 1], []]), ValueError, "empty group 1"),
    ("empty named group", lambda: Groups({"a": [0], "b": []}), ValueError, "empty group 'b'"),
    ("no groups", lambda: Groups([]), ValueError, "at least one group"),
    ("names twice", lambda: Groups([[0], [1]], ["a", "a"]), ValueError, "distinct name", "a"),
    *(
        (f"name {name!r}", lambda name=name: Groups([[0], [1]], [name, "b"]), TypeError, "names of groups", f"got {name!r}")
        for name in (None, 1.5, ("a", 1), True)
    ),
    ("labels of two kinds", lambda: Groups.from_labels([1, "1"]), ValueError, "['int', 'str']"),
    ("a label that is missing", lambda: Groups.from_labels(["a", None]), ValueError, "NoneType"),
    ("labels as a matrix", lambda: Groups.from_labels([["a", "x"], ["b", "x"]]), ValueError, "expected", "label"),
    ("too few names", lambda: Groups([[0], [1]], ["a"]), ValueError, "name", "2"),
    ("group beyond the domain", lambda: Listing(LINE, Groups([[0, 1, 2, 3]])), ValueError, "0 to 2", "point 3 does not exist"),
    ("group before the domain", lambda: Listing(LINE, Groups([[0, 1, 2], [-1]])), ValueError, "numbers of points, 0, 1, 2, ...", "got -1"),
    ("point in no group", lambda: Listing(LINE, Groups([[0], [2]])), ValueError, "point 1 is in no group"),
    ("member that is no number", lambda: Groups([[0.5, 1]]), ValueError, "expected", "0.5"),
    ("groups combined", lambda: Groups([[0]]) * Ball(0.1), TypeError, "members of groups"),
    ("combined with groups", lambda: Ball(0.1) * Groups([[0]]), TypeError, "Groups"),
    ("two sets of parameters", lambda: Parameters([0.0]) * Parameters([1.0]), TypeError, "at most one set of parameters"),
    ("combined with a number", lambda: Ball(0.1) * 2, TypeError, "uncertainty set", "got 2"),
    ("combined in the same columns", lambda: Ball(0.1, columns=[0, 1]) * Hamming(1, [1]), ValueError, "columns of their own", "(0, 1)"),
    ("combined without columns", lambda: Ball(0.1) * Hamming(1, [1]), ValueError, "columns of their own", "None"),
    ("combined with a distance", lambda: Ball(0.1, columns=[0]) * distance(0.0), ValueError, "columns of their own"),
    ("combined of strays", lambda: Combined((Ball(0.1), 3)), TypeError, "expected perturbations", "3"),
]  # fmt: skip


@table(UNCERTAINTY)
def test_bad_uncertainty_sets_are_refused(call, error, words):
    refused(call, error, *words)


DOMAINS = [
    ("duplicate points", lambda: Points([[0, 1], [1, 1], [0, 1]]), ValueError, "distinct points", "[0.0, 1.0]", "[0, 2]"),
    ("NaN point", lambda: Points([[0, 1], [NAN, 1]]), ValueError, "finite points", "row 1", "nan"),
    ("infinite point", lambda: Points([0.0, INF]), ValueError, "finite points", "row 1", "inf"),
    ("no points", lambda: Points([]), ValueError, "points", "shape (0,)"),
    ("points without coordinates", lambda: Points(np.empty((3, 0))), ValueError, "points", "(3, 0)"),
    ("a cube of points", lambda: Points(np.zeros((2, 2, 2))), ValueError, "(n, p)", "(2, 2, 2)"),
    ("one number", lambda: Points(3.0), ValueError, "(n, p)", "shape ()"),
    ("ragged points", lambda: Points([[0.0], [1.0, 2.0]]), ValueError),
    ("points in words", lambda: Points(["a", "b"]), ValueError, "'a'"),
    ("no axes", lambda: Grid([]), ValueError, "at least one axis"),
    ("a number of axes", lambda: Grid(5), ValueError, "expected a grid", "got 5"),
    ("irregular axis", lambda: Grid([[0, 1], [0.0, 0.1, 0.3]]), ValueError, "axis 1", "equal steps", "0.3", "Points"),
    ("decreasing axis", lambda: Grid([[1.0, 0.5, 0.0]]), ValueError, "axis 0", "increase"),
    ("axis whose steps are lost in rounding", lambda: Grid([1e16 + np.arange(5.0)]), ValueError, "axis 0", "increase"),
    ("axis with a repeated value", lambda: Grid([[1.0, 1.0]]), ValueError, "axis 0", "increase"),
    ("axis with NaN", lambda: Grid([[0.0, NAN]]), ValueError, "axis 0", "finite", "nan"),
    ("empty axis", lambda: Grid([[0.0], []]), ValueError, "axis 1", "[]"),
    ("flat axes", lambda: Grid([0.0, 1.0]), ValueError, "axis 0", "list"),
    ("bounds of different lengths", lambda: Grid.linspace([0, 0], [1], 3), ValueError, "lower and upper", "[0.0, 0.0] and [1.0]"),
    ("bounds in the wrong order", lambda: Grid.linspace(1, 0, 3), ValueError, "increase"),
    ("infinite bounds", np.errstate(invalid="ignore")(lambda: Grid.linspace(0, INF, 3)), ValueError, "finite"),
    ("fractional number of values", lambda: Grid.linspace(0, 1, 10.7), ValueError, "10.7"),
    ("negative number of values", lambda: Grid.linspace(0, 1, -1), ValueError, "-1"),
    ("no values", lambda: Grid.linspace(0, 1, 0), ValueError, "expected"),
    ("numbers for other axes", lambda: Grid.linspace([0, 0], [1, 1], [3, 3, 3]), ValueError),
]  # fmt: skip


@table(DOMAINS)
def test_bad_domains_are_refused(call, error, words):
    refused(call, error, *words)


PRIORS = [
    *(
        (f"noise {noise}", lambda noise=noise: GP(SE(0.3), noise), ValueError, "noise standard deviation above 0", f"got {noise}")
        for noise in (0, 0.0, -0.1, NAN, INF, True)
    ),
    ("noise in words", lambda: GP(SE(0.3), "0.1"), ValueError, "expected", "'0.1'"),
    ("no noise", lambda: GP(SE(0.3), None), ValueError, "expected", "None"),
    ("kernel is a number", lambda: GP(0.3, 0.1), TypeError, "SE(0.2)", "got 0.3"),
    ("kernel is a class", lambda: GP(SE, 0.1), TypeError, "SE(0.2)", "SE"),
    *((f"mean {mean}", lambda mean=mean: GP(SE(0.3), 0.1, mean), ValueError, "prior mean", f"got {mean}") for mean in (NAN, -INF)),
    ("mean in words", lambda: GP(SE(0.3), 0.1, "zero"), ValueError, "expected", "'zero'"),
    ("NaN weights", lambda: LinearMean([1.0, NAN]), ValueError, "weights", "finite", "nan"),
    *(
        (f"lengthscale {scale}", lambda scale=scale: SE(scale), ValueError, "positive finite lengthscale", f"got {scale}")
        for scale in (0, -0.3, NAN, INF)
    ),
    ("one bad lengthscale", lambda: Matern(2.5, [0.3, -1.0]), ValueError, "lengthscale", "-1.0"),
    ("nu 0", lambda: Matern(0), ValueError, "nu", "got 0"),
    ("NaN nu", lambda: Matern(NAN), ValueError, "nu", "got nan"),
    ("negative variance", lambda: -1.0 * SE(0.3), ValueError, "variance", "-1.0"),
    ("correlation 1", lambda: Categorical(1.0), ValueError, "correlation", "1.0"),
    ("indefinite covariance", lambda: Linear([[0.0, 1.0], [1.0, 0.0]]), ValueError, "positive semi-definite"),
    ("lengthscales of other columns", lambda: Optimizer(LINE, Ball(0.1), GP(SE([0.1, 0.2]), 0.1)), ValueError, "expected 2 columns", "got 1"),
    ("covariance of other columns", lambda: Optimizer(PLANE, Ball(0.1), GP(Linear([[1.0]]), 0.1)), ValueError, "expected 1 columns", "got 2"),
    ("kernel on a missing column", lambda: Optimizer(LINE, Ball(0.1), GP(SE(0.3).on([1]), 0.1)), ValueError, "column", "got 1"),
    ("weights of other columns", lambda: Optimizer(PLANE, Ball(0.1), GP(SE(0.3), 0.1, LinearMean([1.0]))), ValueError, "1 columns", "got 2"),
    ("flat X of two points", lambda: PRIOR.condition([0.1, 0.2], [1.0, 2.0]), ValueError, "X (t, p)", "y (t,)"),
    ("too few y", lambda: PRIOR.condition([[0.1], [0.2]], [1.0]), ValueError, "y (t,)", "(2, 1)", "(1,)"),
    ("NaN y", lambda: PRIOR.condition([[0.1]], [NAN]), ValueError, "finite", "NaN"),
    ("infinite X", lambda: PRIOR.condition([[INF]], [1.0]), ValueError, "finite"),
    ("NaN y of an update", lambda: PRIOR.condition([[0.1]], [1.0]).update([0.2], NAN), ValueError, "finite"),
    ("update in other columns", lambda: PRIOR.condition([[0.1]], [1.0]).update([0.2, 0.3], 1.0), ValueError, "expected"),
    ("prediction in other columns", lambda: PRIOR.condition([[0.1]], [1.0])([[0.2, 0.3]]), ValueError, "expected", "(1, 2)"),
]  # fmt: skip


@table(PRIORS)
def test_bad_priors_are_refused(call, error, words):
    refused(call, error, *words)


def build(domain=LINE, uncertainty=None, gp=PRIOR, **options):
    return Optimizer(domain, Ball(0.1) if uncertainty is None else uncertainty, gp, **options)


ALL_FIVE = ("StableOpt", "GP-UCB", "MaxiMin-GP-UCB", "Stable-GP-Random", "Stable-GP-UCB")
OPTIMIZERS = [
    ("domain is an array", lambda: build(np.zeros((2, 1))), TypeError, "Grid(...) or Points(...)", "array"),
    ("domain is a class", lambda: build(Grid), TypeError, "Grid(...) or Points(...)"),
    ("uncertainty is a number", lambda: build(uncertainty=0.1), TypeError, "Ball(0.1)", "got 0.1"),
    ("gp is a kernel", lambda: build(gp=SE(0.3)), TypeError, "GP(SE(0.2), noise=0.1)", "SE"),
    ("gp and uncertainty swapped", lambda: Optimizer(LINE, PRIOR, Ball(0.1)), TypeError, "GP(SE(0.2), noise=0.1)", "Ball"),
    *((f"beta {b}", lambda b=b: build(beta=b), ValueError, "beta above 0", f"got {b}") for b in (0, -4.0, NAN, INF, True)),
    ("beta in words", lambda: build(beta="4"), ValueError, "expected", "'4'"),
    ("beta None", lambda: build(beta=None), ValueError, "expected", "None"),
    *((f"seed {s!r}", lambda s=s: build(seed=s), ValueError, "seed 0, 1, 2", f"got {s!r}") for s in (-1, 1.0, "0", None, True)),
    ("unknown algorithm", lambda: build(algorithm="EI"), ValueError, *ALL_FIVE, "got 'EI'"),
    ("algorithm is a class", lambda: build(algorithm=Algorithm), ValueError, *ALL_FIVE, "Algorithm"),
    ("algorithm None", lambda: build(algorithm=None), ValueError, *ALL_FIVE, "None"),
    ("algorithm without rules", lambda: build(algorithm=Algorithm("mine", "GP-UCB", Last())), TypeError, "expected", "sampling rule", "'GP-UCB'"),
    ("algorithm with rules swapped", lambda: build(algorithm=Algorithm("mine", Last(), LargestUcb())), TypeError, "expected", "sampling rule", "Last"),
]  # fmt: skip


@table(OPTIMIZERS)
def test_bad_optimisers_are_refused(call, error, words):
    refused(call, error, *words)


# ------------------------------------------------------------------------------------------------------ ask and tell

RUNS = {
    "line": lambda: build(),
    "plane": lambda: build(PLANE),
    "theta": lambda: build(LINE, Parameters([0.0, 0.25])),
    "groups": lambda: build(LINE, Groups({"a": [0, 1], "b": [2]})),
}
TELLS = [
    *(
        (f"y {y!r}", "line", lambda o, y=y: o.tell(0.5, y), ValueError, "expected a finite value y", f"got {y}", "tell None for a failed")
        for y in (NAN, INF, -INF)
    ),
    ("y a NaN of NumPy", "line", lambda o: o.tell(0.5, np.float32("nan")), ValueError, "expected a finite value y"),
    *(
        (f"y {y!r}", "line", lambda o, y=y: o.tell(0.5, y), ValueError, "expected one number as the value y", f"got {y!r}")
        for y in ("1.0", (1.0,), [1.0, 2.0], np.array([1.0]), 1j, True, b"1.5", {}, np.True_, np.array("1.5"), max)
    ),
    ("y too large for a float", "line", lambda o: o.tell(0.5, 10**400), ValueError, "y"),
    ("y of a query NaN", "line", lambda o: o.tell(o.ask(), NAN), ValueError, "finite value y"),
    ("y of a query a tuple", "line", lambda o: o.tell(o.ask(), (1.0, 2.0)), ValueError, "one number", "(1.0, 2.0)"),
    ("point outside", "line", lambda o: o.tell(0.6, 1.0), ValueError, "[0.6]", "not in the domain", "nearest", "[0.5]"),
    ("point far outside", "plane", lambda o: o.tell([7, 0.9], 1.0), ValueError, "[7.0, 0.9]", "nearest", "[1.0, 1.0]"),
    ("point a little outside", "line", lambda o: o.tell(0.5 + 1e-7, 1.0), ValueError, "not in the domain", "[0.5]"),
    ("point a little outside a grid", "plane", lambda o: o.tell([0.5, 1.0 + 1e-5], 1.0), ValueError, "not in the domain", "[0.5, 1.0]"),
    ("parameter outside", "theta", lambda o: o.tell([0.5, 0.3], 1.0), ValueError, "parameter [0.3]", "nearest", "[0.25]"),
    ("x of (x, θ) outside", "theta", lambda o: o.tell([0.6, 0.25], 1.0), ValueError, "point [0.6]", "nearest", "[0.5]"),
    ("point without θ", "theta", lambda o: o.tell(0.5, 1.0), ValueError, "(x, θ)", "2 coordinates"),
    ("point too long", "line", lambda o: o.tell([0.5, 0.5], 1.0), ValueError, "1 coordinate", "(2,)"),
    ("point too short", "plane", lambda o: o.tell([0.5], 1.0), ValueError, "2 coordinates", "(1,)"),
    ("point a number", "plane", lambda o: o.tell(0.5, 1.0), ValueError, "2 coordinates", "()"),
    ("point empty", "line", lambda o: o.tell([], []), ValueError, "1 coordinate", "(0,)"),
    ("point NaN", "plane", lambda o: o.tell([0.5, NAN], 1.0), ValueError, "finite point", "nan"),
    ("point infinite", "line", lambda o: o.tell(INF, 1.0), ValueError, "finite point", "inf"),
    ("point None", "line", lambda o: o.tell(None, 1.0), ValueError, "point"),
    ("point in words", "line", lambda o: o.tell("a", 1.0), ValueError, "'a'"),
    ("a list of queries", "line", lambda o: o.tell([o.ask()], [1.0]), ValueError, "expected", "Query"),
    ("rows with one value", "line", lambda o: o.tell([[0.0], [0.5]], 1.0), ValueError, "m values", "(2, 1)", "()"),
    ("rows with too few values", "line", lambda o: o.tell([[0.0], [0.5]], [1.0]), ValueError, "m values", "(2, 1)", "(1,)"),
    ("rows with a column of values", "line", lambda o: o.tell([[0.0], [0.5]], [[1.0], [2.0]]), ValueError, "m values", "(2, 1)"),
    ("one row with two values", "plane", lambda o: o.tell([[0.0, 0.5]], [1.0, 2.0]), ValueError, "m values", "(1, 2)", "(2,)"),
    ("a cube of rows", "line", lambda o: o.tell([[[0.0]]], [1.0]), ValueError, "rows of points", "(1, 1, 1)"),
    ("ragged rows", "line", lambda o: o.tell([[0.0], [0.5, 1.0]], [1.0, 2.0]), ValueError, "expected", "rows"),
    ("rows transposed", "plane", lambda o: o.tell([[0.0, 0.5, 1.0], [0.0, 1.0, 2.0]], [1.0, 2.0]), ValueError, "2 coordinates", "(3,)"),
    ("rows with a bad point", "line", lambda o: o.tell([[0.0], [0.6], [1.0]], [1.0, 2.0, 3.0]), ValueError, "[0.6]", "nearest", "[0.5]"),
    ("rows with a NaN value", "line", lambda o: o.tell([[0.0], [0.5]], [1.0, NAN]), ValueError, "finite value y", "nan"),
    ("rows with a NaN value first", "line", lambda o: o.tell([[0.0], [0.5]], [NAN, 1.0]), ValueError, "finite value y", "nan"),
    ("rows with values in words", "line", lambda o: o.tell([[0.0], [0.5]], ["1.0", "2.0"]), ValueError, "expected", "'1.0'"),
    ("rows with values that are no numbers", "line", lambda o: o.tell([[0.0], [0.5]], ["a", "b"]), ValueError, "'a'"),
    ("rows with a decision", "line", lambda o: o.tell([[0.0], [0.5]], [1.0, 2.0], decision=[0.0]), ValueError, "single point", "one by one"),
    ("decision outside", "line", lambda o: o.tell(0.5, 1.0, decision=[0.7]), ValueError, "[0.7]", "nearest", "[0.5]"),
    ("decision of a query outside", "line", lambda o: o.tell(o.ask(), 1.0, decision=[0.7]), ValueError, "[0.7]", "nearest"),
    ("unknown group", "groups", lambda o: o.tell(0.5, 1.0, decision="c"), ValueError, "name of a group", "['a', 'b']", "got 'c'"),
    ("coordinates for a group", "groups", lambda o: o.tell(0.5, 1.0, decision=[0.5]), ValueError, "name of a group", "[0.5]"),
    ("array for a group", "groups", lambda o: o.tell(0.5, 1.0, decision=np.array([0.0, 0.5])), ValueError),
    ("name for coordinates", "line", lambda o: o.tell(0.5, 1.0, decision="a"), ValueError, "'a'"),
    ("name for a point", "groups", lambda o: o.tell("a", 1.0), ValueError, "'a'"),
]  # fmt: skip


@pytest.mark.parametrize("call, where, error, words", [pytest.param(r[2], r[1], r[3], r[4:], id=r[0]) for r in TELLS])
@pytest.mark.parametrize("told", [0, 2])
def test_a_refused_value_leaves_everything_as_it_was(call, where, error, words, told):
    optimizer = RUNS[where]()
    for _ in range(told):
        optimizer.tell(optimizer.ask(), 0.5)
    before, rounds, text = optimizer.state, optimizer.rounds, optimizer.to_json()
    refused(lambda: call(optimizer), error, *words)
    assert optimizer.state is before and optimizer.rounds is rounds and optimizer.to_json() == text
    optimizer.tell(optimizer.ask(), 0.25)
    reference = RUNS[where]()
    for y in [0.5] * told + [0.25]:
        reference.tell(reference.ask(), y)
    assert np.array_equal(optimizer.state.lcb, reference.state.lcb)


def test_rows_that_are_interrupted_leave_everything_as_it_was(monkeypatch):
    optimizer = RUNS["line"]()
    optimizer.tell(0.5, 1.0)
    before, update = optimizer.state, TrackedPosterior.update

    def interrupted(posterior, index, y, noise):
        if y == 3.0:
            raise KeyboardInterrupt
        return update(posterior, index, y, noise)

    with monkeypatch.context() as patch:
        patch.setattr(TrackedPosterior, "update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            optimizer.tell([[0.0], [0.5], [1.0]], [1.0, 2.0, 3.0])
    assert optimizer.state is before
    optimizer.tell([[0.0], [0.5]], [1.0, 2.0])
    reference = RUNS["line"]()
    reference.tell([[0.5], [0.0], [0.5]], [1.0, 1.0, 2.0])
    assert np.array_equal(optimizer.state.lcb, reference.state.lcb)


def test_a_warning_that_is_turned_into_an_error_leaves_everything_as_it_was():
    """As under pytest's filterwarnings = error: whoever catches it and tells again must not count the value twice."""
    optimizer = RUNS["line"]()
    before = optimizer.state
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="prior"):
            optimizer.tell(0.5, 99.0)
    assert optimizer.state is before


def test_a_masked_value_is_not_taken_for_data():
    optimizer = RUNS["line"]()
    before, values = optimizer.state, np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ValueError):
        optimizer.tell([[0.0], [0.5]], values)
    assert optimizer.state is before


def test_nothing_is_reported_before_the_first_value():
    for where in RUNS:
        refused(RUNS[where]().report, ValueError, "nothing to report", "tell")


def test_an_optimiser_cannot_be_turned_into_another():
    optimizer = RUNS["line"]()
    for name in ("state", "rounds"):
        with pytest.raises(AttributeError):
            setattr(optimizer, name, None)


# ------------------------------------------------------------------------------------------------------------- JSON


def stored(**changes):
    optimizer = RUNS["line"]()
    optimizer.tell(0.5, 1.0)
    return json.dumps(json.loads(optimizer.to_json()) | changes)


JSON = [
    ("nothing", lambda: Optimizer.from_json("{}"), ValueError, "Optimizer.to_json", "stableopt run 2"),
    ("a list", lambda: Optimizer.from_json("[1]"), ValueError, "Optimizer.to_json"),
    ("another format", lambda: Optimizer.from_json(stored(format="stableopt run 99")), ValueError, "stableopt run 2"),
    ("an unknown kind", lambda: Optimizer.from_json(stored(uncertainty={"kind": "Cube", "eps": 1})), ValueError, "Ball", "got 'Cube'"),
    ("a bad value", lambda: Optimizer.from_json(stored(uncertainty={"kind": "Ball", "eps": -1})), ValueError, "eps", "-1"),
    ("a kind in the wrong place", lambda: Optimizer.from_json(stored(domain={"kind": "Ball", "eps": 1})), ValueError, "expected a domain"),
    ("a point outside", lambda: Optimizer.from_json(stored(rounds=[{"point": [3.0], "y": 1.0, "decision": [0.5], "lower": None, "noise": None}])), ValueError, "[3.0]", "nearest"),
]  # fmt: skip


@table(JSON)
def test_bad_stored_runs_are_refused(call, error, words):
    refused(call, error, *words)


def test_text_that_is_no_json_is_refused():
    with pytest.raises(ValueError):
        Optimizer.from_json("stableopt")


def test_a_run_whose_distance_has_no_name_says_so_when_it_is_stored():
    nameless = functools.partial(lambda scale, x, z: scale * abs(x[0] - z[0]), 2.0)
    optimizer = build(uncertainty=Distance(nameless, 1.0))
    optimizer.tell(optimizer.ask(), 1.0)
    with pytest.raises((TypeError, ValueError), match="name"):
        optimizer.to_json()
