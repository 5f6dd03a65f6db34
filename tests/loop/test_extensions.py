"""Promises to extensions: they see the same state on lists and in spaces, and their mistakes are named.

`docs/extending.md` shows each kind at work; kernels have tests of their own in `tests/model/test_own_kernel.py`.
"""

import copy
import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from helpers.refusals import refused

import stableopt as so
from stableopt.loop import BestSoFar, Choice, OptimisticPessimistic, ReportingRule, SamplingRule, Schedule
from stableopt.model import Kernel

PRIOR = so.GP(so.SE(0.3), 0.1)
PLACES = {
    "a grid": (so.Grid.linspace([0, 0], [1, 1], 5), so.Ball(0.3)),
    "a list with parameters": (so.Points([[0.1], [0.5], [0.9]]), so.Parameters([[0.0], [1.0]])),
    "groups": (so.Points([[0.1, 0.2], [0.5, 0.3], [0.9, 0.4]]), so.Groups([[0, 1], [2]])),
    "a space": (so.Space([(0, 1), (0, 2)]), so.Ball(0.3)),
    "a mixed space": (so.Space({"x": (0, 1), "kind": ["a", "b"]}), so.Rectangle(0.1, columns=["x"])),
    "an environment": (so.Space({"x": (0, 1)}), so.Rectangle(0.1) * so.Parameters(so.Space({"wind": (0, 3)}))),
}
everywhere = pytest.mark.parametrize("place", PLACES)


def played(place, **options):
    """An optimiser after three rounds."""
    gp = so.Learned() if place == "a mixed space" else PRIOR
    optimizer = so.Optimizer(*PLACES[place], gp, **options)
    for i in range(3):
        query = optimizer.ask()
        optimizer.tell(query, math.sin(3 * i))
    return optimizer


usual = cache(played)


def started(place, **options):
    """One of one's own."""
    return played(place, **options) if options else copy.deepcopy(usual(place))


@everywhere
def test_a_state_answers_about_its_candidates(place):
    optimizer = started(place)
    state = optimizer.state
    points = state.candidates()
    mean, variance = state.moments(points)
    lcb, ucb = state.bounds(points)
    assert len(points) == len(mean) == len(variance) == len(set(map(repr, points)))
    np.testing.assert_allclose(lcb, mean - 2 * np.sqrt(variance), rtol=1e-12)
    np.testing.assert_allclose(ucb, mean + 2 * np.sqrt(variance), rtol=1e-12)
    translation = state.setting.translation
    for point in list(points)[:20]:
        assert translation.point_index(translation.point(point)) == point, "what is proposed can be told"
        decision = translation.decision(state.decision_of(point))
        assert translation.decision_index(decision) == state.decision_of(point)


@everywhere
def test_bounds_of_decisions_are_those_at_the_points_that_they_can_turn_into(place):
    state = started(place).state
    decisions = list(dict.fromkeys(state.tried()))
    lower, upper = state.bounds_of(decisions)
    for decision, low, high in zip(decisions, lower, upper, strict=True):
        lcb, ucb = state.bounds(state.setting.candidates(decision))
        assert low <= lcb.min() + 1e-9 and high <= ucb.min() + 1e-9


@dataclass(frozen=True)
class Sampling(SamplingRule):
    """Returns what a test wants."""

    kind: str

    def sample(self, state, seed):
        decision, point = state.tried()[0], state.candidates()[0]
        if self.kind == "another type":
            return decision, point
        if self.kind == "nothing":
            return None
        if self.kind == "no index":
            return Choice("left", point)
        if self.kind == "beyond":
            return Choice(10**6, 10**6) if isinstance(point, int | np.integer) else Choice((*decision, 0.5), point)
        return Choice(decision, (math.nan,) * 9)


@everywhere
@pytest.mark.parametrize("kind", ["another type", "nothing", "no index", "beyond", "not a number"])
def test_what_a_sampling_rule_must_not_return_is_named(place, kind):
    optimizer = started(place)
    mine = so.Optimizer(*PLACES[place], optimizer.gp, algorithm=so.Algorithm("mine", Sampling(kind), BestSoFar()))
    for r in optimizer.rounds:
        mine.tell(r.point, r.y)
    mine.initial, before = 0, mine.state
    refused(mine.ask, TypeError if kind in ("another type", "nothing") else ValueError, "Sampling.sample", "expected")
    assert mine.state is before


@dataclass(frozen=True)
class Reporting(ReportingRule):
    """Returns what a test wants."""

    answer: float

    def choose(self, state):
        return self.answer


@everywhere
@pytest.mark.parametrize("answer", [-1, 1.5, math.nan])
def test_what_a_reporting_rule_must_not_return_is_named(place, answer):
    optimizer = started(place, algorithm=so.Algorithm("mine", OptimisticPessimistic(), Reporting(answer)))
    refused(optimizer.report, ValueError, "Reporting.choose", "expected")


@dataclass(frozen=True)
class Wild(Schedule):
    value: float

    def at(self, t, gain):
        return self.value


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "4"])
def test_what_a_schedule_must_not_return_is_named(value):
    refused(lambda: so.Optimizer(*PLACES["a grid"], PRIOR, beta=Wild(value)), ValueError, "Wild.at", "above 0")


def test_a_schedule_promises_nothing_unless_it_says_so():
    assert not Wild(1.0).certifies and "Wild promises nothing" in Wild(1.0).promise


@dataclass(frozen=True)
class Odd(so.OwnSet):
    """Wrong in the way that a test wants."""

    wrong: str = ""

    def contains(self, X, Z):
        inside = np.abs(X - Z) <= 0.3 + 1e-9
        return inside if self.wrong == "shape" else inside.all(axis=1).astype(int if self.wrong == "type" else bool)

    def project(self, X, Z):
        if self.wrong == "project shape":
            return Z[:, :1]
        return np.full(Z.shape, math.nan) if self.wrong == "NaN" else np.clip(Z, X - 0.3, X + 0.3)


@pytest.mark.parametrize("wrong", ["shape", "type"])
@pytest.mark.parametrize("place", ["a grid", "a space"])
def test_a_wrong_membership_test_is_named(place, wrong):
    domain, _ = PLACES[place]
    refused(lambda: so.Optimizer(domain, Odd(wrong), PRIOR), ValueError, "Odd.contains", "truth values")


@pytest.mark.parametrize("wrong", ["project shape", "NaN"])
def test_a_wrong_projection_is_named(wrong):
    refused(lambda: so.Optimizer(PLACES["a space"][0], Odd(wrong), PRIOR), ValueError, "Odd.project", "finite")


@dataclass(frozen=True)
class NoProjection(so.OwnSet):
    def contains(self, X, Z):
        return (X == Z).all(axis=1)


def test_a_set_without_a_projection_is_for_lists():
    so.Optimizer(PLACES["a grid"][0], NoProjection(), PRIOR)
    refused(lambda: so.Optimizer(PLACES["a space"][0], NoProjection(), PRIOR), ValueError, "NoProjection.project")
    refused(lambda: NoProjection().scaled(2.0), ValueError, "cannot be made larger")


@pytest.mark.parametrize("place", ["a grid", "a space"])
def test_a_set_of_ones_own_has_the_worst_cases_of_the_same_set_of_the_library(place):
    domain, _ = PLACES[place]
    reports = []
    for uncertainty in (Odd(), so.Rectangle(0.3)):
        optimizer = so.Optimizer(domain, uncertainty, so.GP(so.SE(0.4), 0.1))
        optimizer.tell([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0], [0.0, 1.0]], [0.1, 1.0, -0.3, 0.4])
        reports.append(optimizer.report())
    mine, theirs = reports
    assert mine.decision.tolist() == theirs.decision.tolist()
    assert (mine.lower, mine.upper, mine.optimum_upper) == pytest.approx(
        (theirs.lower, theirs.upper, theirs.optimum_upper), abs=1e-4
    )


class Forgetful(SamplingRule):
    pass


class Plain(SamplingRule):
    def sample(self, state, seed):
        return state.optimistic


class Stateful(Plain):
    def __init__(self):
        self.calls = 0


@dataclass(frozen=True)
class Unwritable(Plain):
    what: object = None


def test_a_forgotten_method_is_named():
    refused(Forgetful, TypeError, "Forgetful", "sample")
    refused(type("Empty", (so.OwnSet,), {}), TypeError, "Empty", "contains")
    refused(type("Blank", (Schedule,), {}), TypeError, "Blank", "at")


def test_what_cannot_be_written_is_named():
    def written(rule):
        return so.Optimizer(*PLACES["a grid"], PRIOR, algorithm=so.Algorithm("mine", rule, BestSoFar())).to_json()

    refused(lambda: written(Stateful()), TypeError, "Stateful", "dataclass")
    refused(lambda: written(Unwritable({1, 2})), TypeError, "Unwritable.what", "{1, 2}")
    assert "Unwritable" in written(Unwritable("fine"))
    assert "Plain" in written(Plain())


def test_a_class_without_fields_is_a_value_as_it_is():
    assert Plain() == Plain() != OptimisticPessimistic()
    assert len({Plain(), Plain(), OptimisticPessimistic()}) == 2
    assert repr(Plain()) == "Plain()"


@everywhere
def test_what_is_proposed_cannot_be_changed_in_the_state(place):
    state = started(place).state
    before = list(state.candidates())
    points = state.candidates()
    if isinstance(points, np.ndarray):
        with pytest.raises(ValueError, match="read-only"):
            points[:] = 0
    else:
        points.clear()
    assert list(state.candidates()) == before


@everywhere
@pytest.mark.parametrize("points", [[0.3], [[0.3]], [-1], ["left"], [{"x": 0.3}]], ids=repr)
def test_what_is_no_index_has_no_moments(place, points):
    state = started(place).state
    refused(lambda: state.moments(points), ValueError, "expected", "got")
    assert [len(part) for part in state.moments([])] == [0, 0]


@dataclass(frozen=True, eq=False)
class Crooked(Kernel):
    """Wrong in the way that a test wants."""

    wrong: str

    def values(self, X, Z):
        K = np.exp(-((X[:, None] - Z) ** 2).sum(axis=-1))
        return -K if self.wrong == "negative" else K + X[:, :1] if self.wrong == "asymmetric" else K**-1


@pytest.mark.parametrize("place", ["a grid", "a space"])
@pytest.mark.parametrize("wrong", ["negative", "asymmetric", "indefinite"])
def test_what_is_no_kernel_is_refused_before_anything_is_measured(place, wrong):
    for kernel in (Crooked(wrong), 2.0 * Crooked(wrong) + so.SE(0.3)):
        refused(lambda k=kernel: so.Optimizer(*PLACES[place], so.GP(k, 0.1)), ValueError, "Crooked.values", "expected")
        refused(lambda k=kernel: so.Optimizer(*PLACES[place], so.Learned(k)), ValueError, "Crooked.values", "expected")


def test_classes_of_one_name_are_told_apart_by_their_module():
    def made(module, value):
        members = {"at": lambda self, t, gain: value, "__module__": module}
        return dataclass(frozen=True, eq=False)(type("Same", (Schedule,), members))

    one, other = made("one", 4.0), made("other", 9.0)
    text = so.Optimizer(*PLACES["a grid"], PRIOR, beta=one(), explore=other()).to_json()
    assert so.Optimizer.from_json(text, classes=[one, other]).beta == 4.0
    assert so.Optimizer.from_json(text, classes=[other, one]).beta == 4.0
    moved = text.replace("one.Same", "elsewhere.Same").replace("other.Same", "elsewhere.Same")
    refused(lambda: so.Optimizer.from_json(moved, classes=[one, other]), ValueError, "one class for", "elsewhere.Same")
    assert so.Optimizer.from_json(moved, classes=[other]).beta == 9.0
    assert so.Optimizer.from_json(moved, classes=other).beta == 9.0, "a single class needs no list"
    refused(lambda: so.Optimizer.from_json(moved, classes=["Same"]), TypeError, "classes=[...]", "Same")
