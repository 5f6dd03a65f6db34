"""Promises of the one call: a function, ranges, tolerances and a budget are enough, and nothing that is known is lost."""
# ruff: noqa: E501 (a table is read by its rows)

import contextlib
import copy
import io
import itertools
import json
import math
import pickle
import re
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.cases import extra
from helpers.refusals import refused, table

import stableopt as so
from stableopt.campaign import evaluating
from stableopt.campaign.calls import ObjectiveError
from stableopt.campaign.words import MODEL
from stableopt.loop import space as search
from stableopt.loop.defaults import MOST_FAILURES
from stableopt.loop.measurements import Measurement
from stableopt.loop.rules import BestExpected

NAN, INF = math.nan, math.inf
RANGES = {"temperature": (20, 90), "ph": (3.0, 9.0)}
TOLERANCE = {"temperature": 2.0, "ph": 0.1}
LINE = {"x": (0.0, 1.0)}


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Searches with less effort: what is promised here does not depend on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "usual_budget", lambda dim, **_: 500)
        yield


def measure(temperature, ph):
    return -(((temperature - 60) / 20) ** 2) - (ph - 6) ** 2


def hill(point):
    """On the line, highest at 0.3, steeper to the left."""
    x = point["x"] if isinstance(point, dict) else point[0]
    return -8 * abs(x - 0.3) if x < 0.3 else -((x - 0.3) ** 2)


def climb(f=hill, ranges=LINE, tolerance=0.1, evaluations=6, **options):
    return so.maximize(f, ranges, tolerance, evaluations=evaluations, **options)


def brief(result):
    """All that a result says, ready to be compared bit for bit."""
    flat = [plain(e.point) for e in result.evaluations], [e.value for e in result.evaluations]
    return flat, plain(result.decision), plain(result.worst_case.point), result.worst_case[1:], result.optimum_bound


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


BROKEN = RuntimeError("it broke")


def failing_at(bad, f=hill, how=BROKEN):
    """f, whose calls with these numbers (from 0) fail."""
    count = itertools.count()

    def g(point):
        if next(count) not in bad:
            return f(point)
        if isinstance(how, BaseException):
            raise how
        return how

    return g


class Frame:
    """What a DataFrame looks like from afar."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __len__(self):
        return len(self._columns[self.columns[0]])

    def __getitem__(self, name):
        return self._columns[name]  # a KeyError for row 0, as in pandas


# -------------------------------------------------------------------------------------------------------- one call


@pytest.fixture(scope="module")
def result():
    def f(point):  # a dict when the ranges are named, an array when they are a list
        return measure(point["temperature"], point["ph"])

    return so.maximize(f, {"temperature": (20, 90), "ph": (3.0, 9.0)}, tolerance={"temperature": 2.0, "ph": 0.1}, evaluations=25, seed=0)  # fmt: skip


def test_a_function_ranges_tolerances_and_a_budget_are_enough(result):
    assert list(result.decision) == ["temperature", "ph"]
    assert result.decision["temperature"] == pytest.approx(60, abs=1) and result.decision["ph"] == pytest.approx(
        6, abs=0.05
    )
    point, lower, upper = result.worst_case
    assert lower <= upper <= result.optimum_bound and result.regret_bound == result.optimum_bound - lower
    assert abs(point["temperature"] - result.decision["temperature"]) <= 2.0 + 1e-9
    assert abs(point["ph"] - result.decision["ph"]) <= 0.1 + 1e-9
    assert len(result.evaluations) == 25 and result.stopped == "budget" and result.errors == ()
    for e in result.evaluations:
        assert e.value == measure(**e.point) and type(e.point["ph"]) is float
        assert 20 <= e.point["temperature"] <= 90 and 3 <= e.point["ph"] <= 9


def test_the_true_worst_case_is_between_the_bounds(result):
    corners = itertools.product((-2.0, 2.0), (-0.1, 0.1))  # measure is concave
    true = min(measure(result.decision["temperature"] + a, result.decision["ph"] + b) for a, b in corners)
    optimum = measure(62, 6.1)
    assert result.worst_case.lower - 1e-3 <= true <= result.worst_case.upper + 1e-3
    assert optimum <= result.optimum_bound + 1e-3 and optimum - true <= result.regret_bound + 1e-3


def test_a_person_can_read_the_result(result):
    text = str(result)
    assert len(text.splitlines()) == 6 and len(repr(result).splitlines()) == 1
    words = (
        "decision",
        "temperature",
        "ph",
        "worst case",
        "between",
        "optimum",
        "better",
        "model",
        "25 values",
        "budget",
    )
    for word in words:
        assert word in text
    shown = re.search(r"between (\S+) and (\S+),", text).groups()
    assert [float(bound) for bound in shown] == pytest.approx(
        [result.worst_case.lower, result.worst_case.upper], rel=1e-3
    )
    assert "(searched" in text


def test_names_change_nothing_but_the_form():
    named, unnamed = climb(evaluations=5), climb(ranges=[(0.0, 1.0)], evaluations=5)
    assert isinstance(unnamed.decision, np.ndarray) and isinstance(unnamed.evaluations[0].point, np.ndarray)
    assert [e.point["x"] for e in named.evaluations] == [e.point[0] for e in unnamed.evaluations]
    assert named.decision["x"] == unnamed.decision[0] and named.worst_case[1:] == unnamed.worst_case[1:]


@pytest.mark.parametrize("ranges, options", [(LINE, {}), (so.Grid.linspace(0, 1, 21), {}), extra(LINE, {"model": so.GP(so.SE(0.3), 0.1)})])  # fmt: skip
def test_minimize_is_the_mirror_image_of_maximize(ranges, options):
    up = so.maximize(hill, ranges, 0.1, evaluations=6, **options)
    down = so.minimize(lambda p: -hill(p), ranges, 0.1, evaluations=6, **options)
    assert [plain(e.point) for e in up.evaluations] == [plain(e.point) for e in down.evaluations]
    assert [e.value for e in up.evaluations] == [-e.value for e in down.evaluations]
    assert plain(up.decision) == plain(down.decision) and plain(up.worst_case.point) == plain(down.worst_case.point)
    assert (up.worst_case.lower, up.worst_case.upper) == (-down.worst_case.upper, -down.worst_case.lower)
    assert up.optimum_bound == -down.optimum_bound and up.regret_bound == down.regret_bound
    assert "below" in str(down) and "above" in str(up)


def test_a_seed_repeats_a_run_bit_for_bit_and_another_one_does_not():
    one, again, other = (
        climb(evaluations=5, seed=3),
        climb(evaluations=5, seed=np.int64(3)),
        climb(evaluations=5, seed=4),
    )
    assert brief(one) == brief(again) and str(one) == str(again)
    assert brief(one)[0] != brief(other)[0]


def test_the_same_objects_are_underneath():
    result = climb(evaluations=6, seed=1)
    optimizer = so.Optimizer(so.Space(LINE), so.Rectangle([0.1], columns=[0]), MODEL, algorithm=result.optimizer.algorithm, beta=result.optimizer.schedule, explore=result.optimizer.exploring, seed=1)  # fmt: skip
    for _ in range(6):
        query = optimizer.ask()
        optimizer.tell(query, hill(query.point))
    assert [r.point for r in optimizer.rounds] == [e.point for e in result.evaluations]
    assert optimizer.to_json() == result.optimizer.to_json()
    assert optimizer.report().lower == result.worst_case.lower


def test_a_result_can_be_stored_copied_and_gone_on_with():
    result = climb(evaluations=5)
    for twin in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert brief(twin) == brief(result) and str(twin) == str(result)
    again = so.Optimizer.from_json(result.optimizer.to_json())
    assert again.ask().point == result.optimizer.ask().point
    before = brief(result)
    query = result.optimizer.ask()
    result.optimizer.tell(query, hill(query.point))
    assert len(result.optimizer.rounds) == 6 and brief(result) == before, "a result is of its time"


def test_a_function_may_change_the_point_that_it_gets():
    def greedy(point):
        x = point.pop("x")
        point["y"] = 7.0
        return -((x - 0.3) ** 2)

    def scaling(point):
        point *= 0.5
        return point[0]

    assert all(e.value == -((e.point["x"] - 0.3) ** 2) for e in climb(greedy, evaluations=3).evaluations)
    assert all(e.value == 0.5 * e.point[0] for e in climb(scaling, [(0, 1)], evaluations=3).evaluations)
    assert all(
        e.value == 0.5 * e.point[0] for e in climb(scaling, so.Grid.linspace(0, 1, 9), evaluations=3).evaluations
    )


# ------------------------------------------------------------------------------------------- what f may return

NUMBERS = [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), np.array([2.0]), np.array([[2]])]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_any_kind_of_one_number_is_a_value(value):
    assert climb(lambda p: value, evaluations=1).evaluations[0].value == 2.0


@pytest.mark.parametrize("value", [NAN, INF, -INF, np.float64(NAN), np.array([NAN]), np.ma.masked, 10**400], ids=lambda v: repr(v)[:9])  # fmt: skip
def test_a_value_that_is_no_finite_number_is_a_failure(value):
    result = climb(failing_at({0, 2}, how=value), evaluations=4)
    assert [e.value is None for e in result.evaluations] == [False, False, True, True]
    assert len(result.errors) == 2 and "value" in result.errors[0]


WRONG = [None, (1.0, 2.0), (1.0,), [1.0], "1.0", b"1", {}, {"y": 1.0}, {1.0}, np.array([1.0, 2.0]), np.array("1"), np.array([]), 1j, np.array(1j), object]  # fmt: skip


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_what_is_no_number_is_refused_and_nothing_is_lost(value):
    seen = []
    call = lambda: climb(failing_at({2}, lambda p: seen.append(p) or hill(p), value), evaluations=5)  # noqa: E731
    refused(call, TypeError, "expected the function to return one number", f"got {value!r}"[:100])
    with pytest.raises(TypeError) as caught:
        call()
    assert [e.value for e in caught.value.result.evaluations] == [hill(p) for p in seen[-2:]]
    assert caught.value.result.stopped == "error"


# ------------------------------------------------------------------------------------------- evaluations that fail


def test_a_failed_evaluation_is_recorded_and_another_point_is_tried():
    asked = []
    bad = failing_at({1, 5, 6})
    result = climb(lambda p: asked.append(p["x"]) or bad(p), evaluations=9)
    assert len(set(asked)) == 9, "no failed point is proposed again at once"
    assert [e.point["x"] for e in result.evaluations if e.value is None] == [asked[i] for i in (1, 5, 6)]
    assert len(result.optimizer.rounds) == 6 and len(result.optimizer.failures) == 3
    assert [f.t for f in result.optimizer.failures] == [2, 5, 5]
    assert "3 failed" in str(result) and len(result.errors) == 3
    assert "RuntimeError: it broke" in result.errors[0] and str(asked[1]) in result.errors[0]


@pytest.mark.parametrize("ranges", [LINE, so.Grid.linspace(0, 1, 41), {"x": so.Integer(0, 40)}], ids=["float", "grid", "integer"])  # fmt: skip
def test_a_region_where_everything_fails_is_left(ranges):
    def f(point):
        x = point["x"] if isinstance(point, dict) else point[0]
        if x > (0.8 if x <= 1 and not isinstance(x, int) else 32):
            raise RuntimeError("it diverged")
        return float(x)

    tolerance = 2 if isinstance(ranges, dict) and ranges is not LINE else 0.05
    for seed in range(2):
        result = so.maximize(f, ranges, tolerance, evaluations=14, seed=seed)
        assert result.stopped == "budget" and len(result.errors) <= 7


@pytest.mark.parametrize("known", [0, 2])
def test_failures_in_a_row_end_it_and_nothing_is_lost(known):
    calls = itertools.count()
    bad = failing_at(set(range(known, 99)), how=ZeroDivisionError("by zero"))
    with pytest.raises(ObjectiveError, match=r"5 evaluations in a row failed, .*ZeroDivisionError: by zero") as caught:
        climb(lambda p: (next(calls) and None) or bad(p), evaluations=30)
    assert next(calls) == known + MOST_FAILURES == known + 5
    result, errors = caught.value.result, caught.value.errors
    assert len(errors) == 5 and len({e for e in errors if "ZeroDivisionError: by zero (at {'x': " in e}) == 5
    if not known:
        assert result is None
        return
    assert result.errors == errors
    assert result.stopped == "failures" and len(result.errors) == 5 and len(result.evaluations) == 7
    assert 0 <= result.decision["x"] <= 1 and "5 failed" in str(result)


def test_a_value_in_between_forgives_failures():
    assert climb(failing_at({1, 2, 3, 4, 6, 7, 8, 9}), evaluations=11).stopped == "budget"


def test_a_budget_that_only_sees_failures_says_so():
    with pytest.raises(ObjectiveError, match="2 evaluations in a row failed"):
        climb(failing_at(range(9)), evaluations=2)


def test_a_decision_that_may_fail_is_not_recommended():
    def fails_above(point):
        if point["x"] > 0.8:
            raise RuntimeError("too hot")
        return point["x"]

    result = so.maximize(fails_above, {"x": (0, 1)}, {"x": 0.05}, evaluations=14, seed=0)
    assert result.errors
    assert 0.5 < result.decision["x"] < 0.82
    blind = result.optimizer.algorithm.reporting.choose(result.optimizer.state)
    assert blind[0] > 0.85, "the model alone would recommend what fails"


def test_failures_do_not_change_the_bounds():
    result = climb(evaluations=5)
    optimizer = result.optimizer
    before = optimizer.report()
    asked = []
    for _ in range(3):
        asked.append(optimizer.ask())
        optimizer.tell(asked[-1], None)
    assert len({q.point["x"] for q in asked}) == 3
    after = optimizer.report()
    assert (after.optimum_upper, after.t) == (before.optimum_upper, 5)
    assert after.lower <= before.lower + 1e-6 and after.lower <= after.upper


# ------------------------------------------------------------------------------------------------- when it stops


def test_ctrl_c_returns_what_is_known():
    result = climb(failing_at({3}, how=KeyboardInterrupt()), evaluations=30)
    assert result.stopped == "interrupted" and len(result.evaluations) == 3 and "interrupted" in str(result)
    assert brief(result) == brief(climb(evaluations=3))
    with pytest.raises(KeyboardInterrupt):  # nothing is known
        climb(failing_at({0}, how=KeyboardInterrupt()))

    def impatient(result):
        raise KeyboardInterrupt

    assert climb(callback=impatient).stopped == "interrupted"


@pytest.mark.parametrize(("call", "sign"), [(so.maximize, 1), (so.minimize, -1)])
@pytest.mark.parametrize("ranges", [LINE, [(0.0, 1.0)]], ids=["named", "unnamed"])
def test_another_call_goes_on_with_the_evaluations_of_a_result(call, sign, ranges):
    def f(point):
        calls.append(point)
        return sign * -((point["x"] if isinstance(point, dict) else point[0]) ** 2) if len(calls) != 3 else NAN

    calls = []
    first = call(f, ranges, 0.1, evaluations=6)
    more = call(f, ranges, 0.1, evaluations=2, data=first.evaluations)
    assert len(calls) == 8 and len(more.evaluations) == 8
    assert [e.value for e in more.evaluations[:5]] == [e.value for e in first.evaluations[:5]]
    assert more.evaluations[-1].value is None and first.evaluations[-1].value is None, "what failed comes last"


def test_categories_alone_need_no_tolerance():
    result = so.maximize(
        lambda point: {"a": 1.0, "b": 3.0, "c": 2.0}[point["c"]], {"c": ["a", "b", "c"]}, 0, evaluations=6
    )
    assert result.decision == {"c": "b"}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("where", [(so.Campaign, "tell"), (so.Optimizer, "tell_all")], ids=["recorded", "learned"])
def test_ctrl_c_does_not_lose_the_value_that_was_just_measured(monkeypatch, where, late):
    tell, calls = getattr(*where), itertools.count(1)

    def interrupted(self, *told, **options):
        call = next(calls)
        if call == 4 and not late:
            raise KeyboardInterrupt
        done = tell(self, *told, **options)
        if call == 4 and late:
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patch:
        patch.setattr(*where, interrupted)
        result = climb(evaluations=30)
    assert result.stopped == "interrupted" and brief(result) == brief(climb(evaluations=4))


def test_ctrl_c_before_the_first_value_keeps_what_went_wrong():
    def f(point):
        if point.append(0) or len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(point[0])
        raise OSError("no connection")

    seen = []
    with pytest.raises(KeyboardInterrupt) as caught:
        climb(f, ranges=[(0.0, 1.0), ["a", "b"]])  # points are lists, which f changes
    assert caught.value.result is None and len(caught.value.errors) == 2
    for x, error in zip(seen, caught.value.errors, strict=True):
        assert f"OSError: no connection (at [{x!r}, " in error and ", 0]" not in error


class Final(BaseException):
    errors = "its own"


@pytest.mark.parametrize("how", [SystemExit(3), GeneratorExit(), Final("the end")], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("known", [0, 3])
def test_whatever_ends_a_call_has_the_result_so_far(how, known):
    for _ in range(2):  # also an exception that has been raised before
        with pytest.raises(type(how)) as caught:
            climb(failing_at({known}, how=how), evaluations=30)
        assert caught.value is how
        if known:
            assert how.result.stopped == "error" and brief(how.result) == brief(climb(evaluations=known))
        else:
            assert how.result is None
        assert how.errors == ("its own" if isinstance(how, Final) else ())


def test_it_stops_when_the_time_is_over():
    result = climb(seconds=0, evaluations=10)
    assert result.stopped == "time" and len(result.evaluations) == 1
    known = climb(seconds=0, evaluations=10, data=([{"x": 0.5}], [1.0]))
    assert known.stopped == "time" and len(known.evaluations) == 1
    assert climb(seconds=1e9, evaluations=2).stopped == "budget"


def test_it_stops_as_soon_as_the_regret_is_small_enough():
    trace = []
    result = climb(
        target=0.5, evaluations=30, callback=lambda r: trace.append(r.regret_bound <= 0.5 and r.health.trusted)
    )
    assert result.stopped == "target" and result.regret_bound <= 0.5 and len(trace) < 30
    assert not any(trace[:-1]) and trace[-1]
    again = climb(target=0.5, data=([e.point for e in result.evaluations], [e.value for e in result.evaluations]))
    assert again.stopped == "target" and len(again.evaluations) == len(trace), "nothing is left to do"


@pytest.mark.parametrize("seed", [0, extra(2)])
def test_a_target_is_not_reached_by_a_model_that_knows_next_to_nothing(seed):
    """After one value near 0, a learned model takes everything for near 0: the narrow peak is still to be found."""
    result = so.maximize(
        lambda p: 0.01 * p["a"] + math.exp(-(((p["a"] - 0.86) / 0.06) ** 2)),
        {"a": (0, 1)},
        {"a": 0.03},
        evaluations=30,
        seed=seed,
        target=0.05,
    )
    assert result.stopped == "target" and result.health.trusted
    assert result.decision["a"] == pytest.approx(0.86, abs=0.01)


def test_a_callback_sees_every_result_and_can_stop():
    seen = []

    def callback(result):
        seen.append((len(result.evaluations), result.worst_case.lower, result.stopped))
        return np.True_ if len(seen) == 3 else "not True"

    result = climb(failing_at({0}), callback=callback, evaluations=30)
    assert result.stopped == "callback" and [n for n, *_ in seen] == [2, 3, 4], "from the first value on"
    assert seen[-1][1] == result.worst_case.lower and {stopped for *_, stopped in seen} == {"running"}


def test_a_callback_that_fails_loses_nothing():
    def callback(result):
        if len(result.evaluations) == 3:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full") as caught:
        climb(callback=callback)
    assert len(caught.value.result.evaluations) == 3


def test_progress_shows_the_guarantee_on_stderr_and_only_if_wanted(monkeypatch):
    def printed(call, terminal=False):
        out, err = io.StringIO(), io.StringIO()
        err.isatty = lambda: terminal
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = call()
        assert out.getvalue() == ""
        return err.getvalue(), result

    text, result = printed(lambda: climb(progress=True, evaluations=3))
    last = text.splitlines()[-1].split("\r")[-1]
    assert "3/3" in last and f"worst case ≥ {result.worst_case.lower:.4g}" in last
    assert f"at most {result.regret_bound:.3g} better" in last and text.endswith("\n") and text.count("\r") == 3
    text, result = printed(lambda: so.minimize(hill, LINE, 0.1, evaluations=2, progress=True))
    assert f"worst case ≤ {result.worst_case.upper:.4g}" in text
    assert printed(lambda: climb(progress=False, evaluations=2), terminal=True)[0] == ""
    assert printed(lambda: climb(evaluations=2))[0] == "", "no terminal, no progress"
    assert "2/2" in printed(lambda: climb(evaluations=2), terminal=True)[0]
    text, _ = printed(lambda: climb(failing_at({0}), progress=True, evaluations=2))
    assert "1/2" in text and "2/2" in text, "also while nothing is known"


def test_the_line_of_the_progress_takes_a_quarter_of_the_time_at_most(monkeypatch):
    clock = iter([0.0, 2.0, 5.0, 8.5, 8.5, 9.0, 9.0])  # a report of 2 s; too early; a new one of 0 s; the last one
    result = climb(evaluations=2)
    monkeypatch.setattr(evaluating, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with contextlib.redirect_stderr(io.StringIO()) as err:
        line = evaluating._Line()
        for number in (1, 2, 3, 4):
            line.show(result, number, 4)
    shown = err.getvalue().split("\r\033[K")[1:]
    assert ["(after" in each for each in shown] == [False, True, False, False]
    assert shown[1].endswith("(after 1)") and "worst case" in shown[1]


# ------------------------------------------------------------------------------------------------- earlier data

XS, YS = [0.1, 0.4, 0.6, 0.9], [-1.6, -0.01, -0.09, -0.36]
FORMS = {
    "points and values": ([{"x": x} for x in XS], YS),
    "rows and values": (np.array(XS)[:, None], np.array(YS)),
    "numbers and values": (XS, tuple(YS)),
    "unnamed rows and values": (np.array(XS)[:, None], np.array(YS)),
    "with a noise": (np.array(XS), YS, [None] * 4),
    "columns and values": ({"x": XS}, YS),
    "a frame and values": (Frame({"x": np.array(XS)}), np.array(YS)),
    "values in a column": ([{"x": x} for x in XS], np.array(YS)[:, None]),
    "columns": {"x": XS, "value": np.array(YS), "remark": ["a", None, "b", ""]},
    "a frame": Frame({"x": np.array(XS), "value": YS, "remark": ["a", None, "b", ""]}),
    "rows": [{"x": x, "value": y, "remark": "a"} for x, y in zip(XS, YS, strict=True)],
}


@pytest.fixture(scope="module")
def assessment():
    return so.assess(FORMS["columns"], LINE, 0.1)


@pytest.mark.parametrize("form", FORMS)
def test_earlier_data_may_have_any_form(form, assessment):
    ranges = [(0.0, 1.0)] if form == "unnamed rows and values" else LINE
    answer = so.assess(FORMS[form], ranges, 0.1)
    assert answer.evaluations[0] == Measurement(answer.evaluations[0].point, -1.6)
    assert answer.worst_case[1:] == assessment.worst_case[1:] and answer.optimum_bound == assessment.optimum_bound


def test_columns_of_an_array_are_in_the_order_of_the_names_and_then_of_the_environment():
    ranges = {"b": (0, 9), "a": so.Points([[1, 2], [3, 4]]), ("c", "d"): so.Points([[5, 6], [7, 8]]), "k": ["u", "v"]}
    environment = {"wind": (0, 20), "load": so.Integer(0, 3)}
    X = [[0.5, 3, 4, 5, 6, "v", 11.5, 2], [1.5, 1, 2, 7, 8, "u", 12.5, 3]]
    meant = [{"b": r[0], "a": (r[1], r[2]), "c": r[3], "d": r[4], "k": r[5], "wind": r[6], "load": r[7]} for r in X]
    whole = [[r[0], (r[1], r[2]), *r[3:]] for r in X]
    for rows in (X, whole, np.array(X, dtype=object), meant):
        answer = so.maximize(hill, ranges, {"b": 1}, environment=environment, data=(rows, [1.0, 2.0]), evaluations=0)
        assert [e.point for e in answer.evaluations] == meant
    grid = so.assess((np.array([[0.5], [1.0]]), [1.0, 2.0]), so.Grid.linspace(0, 1, 3), 0.5)
    assert [e.point.tolist() for e in grid.evaluations] == [[0.5], [1.0]]


def test_every_value_may_have_a_noise_of_its_own():
    noise = [0.5, None, 0.01, 0.3]
    forms = [
        (XS, YS, noise),
        (np.array(XS)[:, None], YS, np.array(noise, dtype=object)[:, None]),
        (XS, YS, np.array(noise, dtype=float)),  # NaN for None, as in a column of numbers
        {"x": XS, "value": YS, "noise": np.array(noise, dtype=float)},
        {"x": XS, "value": YS, "noise": noise},
        [{"x": x, "value": y, "noise": s} for x, y, s in zip(XS, YS, noise, strict=True)],
        Frame({"x": XS, "value": YS, "noise": noise}),
    ]
    by_hand = so.Optimizer(so.Space(LINE), so.Rectangle([0.1], columns=[0]))
    by_hand.tell_all([Measurement({"x": x}, y, None, s) for x, y, s in zip(XS, YS, noise, strict=True)])
    for data in forms:
        optimizer = so.maximize(hill, LINE, 0.1, data=data, evaluations=0).optimizer
        assert [r.noise for r in optimizer.rounds] == noise
        assert optimizer.state.belief.to_dict() == by_hand.state.belief.to_dict()
    same = so.assess((XS, YS, 0.2), LINE, 0.1, minimize=True).optimizer
    assert [r.noise for r in same.rounds] == [0.2] * 4
    failed = so.assess((XS, [*YS[:3], NAN], [0.1, 0.1, 0.1, NAN]), LINE, 0.1).optimizer
    assert len(failed.failures) == 1, "what failed has no noise"
    variable = so.assess({"noise": XS, "value": YS}, {"noise": (0, 1)}, 0.1).optimizer
    assert {r.noise for r in variable.rounds} == {None}, "a variable of that name is no noise"


def test_a_noisy_value_counts_for_less():
    xs = np.linspace(0, 1, 9)
    ys, noise = np.where(xs == 0.5, 3.0, 0.0), np.where(xs == 0.5, 5.0, 0.01)
    model = so.GP(so.SE(0.1), noise=0.01)
    taken, doubted = (so.assess(data, LINE, 0.0, model=model).report for data in ((xs, ys), (xs, ys, noise)))
    assert taken.lower > 2.5 and doubted.lower < 0.5


def test_values_may_have_another_name_and_another_sign(assessment):
    other = so.assess({"x": XS, "loss": [-y for y in YS]}, LINE, 0.1, value="loss", minimize=True)
    assert other.decision == assessment.decision
    assert other.worst_case.upper == -assessment.worst_case.lower
    assert [(d, -b, -a) for d, a, b in other.decisions] == assessment.decisions


def test_assess_knows_every_past_decision_and_the_best_of_all(assessment):
    assert sorted(d["x"] for d, _, _ in assessment.decisions) == XS
    lowers = [low for _, low, _ in assessment.decisions]
    assert lowers == sorted(lowers, reverse=True)
    assert all(low <= high for _, low, high in assessment.decisions)
    assert assessment.worst_case.lower >= lowers[0] - 1e-3 * (lowers[0] - lowers[-1])
    text = str(assessment)
    assert "4 decisions" in text and "worst case between" in text and "x = 0.4" in text and "\n" not in repr(assessment)


def test_a_printed_assessment_solves_only_for_what_it_shows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    found = so.assess((X, np.sin(5 * X).sum(axis=1)), [(0, 1)] * 2, 0.1, model=so.GP(so.SE(0.3), noise=0.1))
    with monkeypatch.context() as patch:
        patch.setattr(type(found._state), "bounds_of", None)
        text = str(found)
    shown = [f"{low:.4g} and {high:.4g}" for _, low, high in found.decisions[:5]]
    assert "past        40 decisions" in text and all(each in text for each in shown)
    assert len(text.splitlines()) == 10 and len(found.decisions) == 40
    lowers = [low for _, low, _ in found.decisions]
    assert lowers == sorted(lowers, reverse=True)
    # The general way finds no other five.
    indices = [found._state.setting.translation.decision_index(d) for d, _, _ in found.decisions]
    np.testing.assert_allclose(found._state.bounds_of(indices)[0], lowers, atol=2e-3)


def test_rows_without_a_value_are_counted_and_left_out():
    found = so.assess({"x": [0.1, 0.5, 0.9], "value": [1.0, 2.0, NAN]}, {"x": (0, 1)}, 0.1)
    assert "2 decisions (1 without a value left out), the best guarantees first" in str(found)


def test_a_function_that_never_worked_is_told_what_it_gets():
    with pytest.raises(ObjectiveError, match=r"unary -: 'dict' .*; f gets the whole point, a dict$"):
        so.maximize(lambda x: -x, {"x": (0, 1)}, 0.1)


def test_a_peak_whose_surroundings_nobody_measured_is_not_reported():
    x = np.array([0.05, 0.15, 0.22, 0.3, 0.38, 0.45, 0.55, 0.8])
    y = 0.6 + np.exp(-(((x - 0.3) / 0.2) ** 2)) + 1.2 * np.exp(-(((x - 0.8) / 0.04) ** 2))
    found = so.assess({"x": x.tolist(), "value": y.tolist()}, {"x": (0, 1)}, 0.1)
    state = found.optimizer.state
    assert y.argmax() == 7 and found.decision["x"] == pytest.approx(0.3, abs=0.02)
    assert state.setting.translation.decision(BestExpected().choose(state))["x"] > 0.7, (
        "the expectation is fooled by it"
    )


def test_past_decisions_have_the_bounds_that_a_report_of_them_would_have(assessment):
    state = assessment.optimizer.state
    for decision, low, high in assessment.decisions:
        index = state.setting.translation.decision_index(decision)
        worst, upper, _ = state.certificate(index)
        assert low == pytest.approx(worst.value, abs=1e-3) and high == pytest.approx(upper, abs=1e-3)


def test_no_evaluation_is_needed_where_there_are_data(assessment):
    def never(point):
        raise AssertionError("nothing is to be evaluated")

    result = so.maximize(never, LINE, 0.1, evaluations=0, data=FORMS["rows"])
    assert result.worst_case == assessment.worst_case and result.stopped == "budget"


def test_rows_without_a_value_count_as_failed():
    values = [-1.6, None, NAN, -0.36, INF, np.ma.masked, -0.3, np.float64(NAN)]
    xs = np.linspace(0, 1, 8).tolist()
    result = climb(data={"x": xs, "value": values}, evaluations=0)
    assert [e.value for e in result.evaluations if e.value is not None] == [-1.6, -0.36, -0.3]
    assert [e.point["x"] for e in result.evaluations if e.value is None] == [x for x, v in zip(xs, values, strict=True) if v not in (-1.6, -0.36, -0.3)]  # fmt: skip


def test_data_come_first_and_count_for_the_model():
    result = climb(data=FORMS["rows"], evaluations=2)
    assert [e.value for e in result.evaluations[:4]] == YS and len(result.evaluations) == 6
    assert [e.decision is None for e in result.evaluations] == [True] * 4 + [False] * 2


# ----------------------------------------------------------------------------------------- kinds of uncertainty


def seen_by(f_value=lambda p: 0.0, evaluations=5, **options):
    """The points that f saw, and the result."""
    points = []
    result = so.maximize(lambda p: points.append(p) or f_value(p), evaluations=evaluations, **options)
    return points, result


TOLERANCES = {
    "a dictionary": ({"a": 0.1, "b": 20}, so.Rectangle([0.1, 20.0], columns=[0, 1])),
    "one of two": ({"b": 20}, so.Rectangle([20.0], columns=[1])),
    "a number": (0.5, so.Rectangle([0.5, 0.5], columns=[0, 1])),
    "a list": ([0.1, 20], so.Rectangle([0.1, 20.0], columns=[0, 1])),
    "an array": (np.array([0.1, 20]), so.Rectangle([0.1, 20.0], columns=[0, 1])),
    "percent": ("2%", so.Relative([0.02, 0.02], columns=[0, 1])),
    "percent of one": ({"a": " 2.5 %"}, so.Relative([0.025], columns=[0])),
    "both": ({"a": "2%", "b": 5}, so.Rectangle([5.0], columns=[1]) * so.Relative([0.02], columns=[0])),
    "a set": (so.Ball(0.3, 1), so.Ball(0.3, 1)),
    "nothing": (0, so.Rectangle(0.0)),
}


@pytest.mark.parametrize("name", TOLERANCES)
def test_a_tolerance_may_be_written_in_many_ways(name):
    tolerance, meant = TOLERANCES[name]
    _, result = seen_by(ranges={"a": (0, 1), "b": (100, 200)}, tolerance=tolerance, evaluations=1)
    assert result.optimizer.uncertainty == meant
    _, unnamed = seen_by(ranges=[(0, 1), (100, 200)], tolerance=dict(zip((0, 1), tolerance.values(), strict=False)) if name in ("a dictionary", "both") else tolerance if name not in ("one of two", "percent of one") else {int(k == "b"): v for k, v in tolerance.items()}, evaluations=1)  # fmt: skip
    assert unnamed.optimizer.uncertainty == meant


def test_a_percentage_is_of_the_value():
    result = climb(lambda p: -((p["x"] - 50) ** 2), {"x": (10, 100)}, "10%", evaluations=15)
    reach = abs(result.worst_case.point["x"] - result.decision["x"])
    assert reach <= 0.1 * result.decision["x"] * (1 + 1e-9) and reach == pytest.approx(
        0.1 * result.decision["x"], rel=0.05
    )


ENVIRONMENTS = {
    "a range": ({"wind": (0, 12)}, lambda w: type(w) is float and 0 <= w <= 12),
    "a log range": ({"wind": so.Float(0.01, 100, log=True)}, lambda w: type(w) is float and 0.01 <= w <= 100),
    "whole numbers": ({"wind": so.Integer(0, 3)}, lambda w: type(w) is int and 0 <= w <= 3),
    "categories": ({"wind": ["calm", "gale"]}, lambda w: w in ("calm", "gale")),
    "scenarios": ([{"wind": 3.0}, {"wind": 9}], lambda w: type(w) is float and w in (3.0, 9.0)),
    "named scenarios": ([{"wind": "calm"}, {"wind": "gale"}], lambda w: w in ("calm", "gale")),
}


@pytest.mark.parametrize("tolerance", [0.1, extra(None)])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_is_part_of_the_point_but_not_of_the_decision(name, tolerance):
    environment, fits = ENVIRONMENTS[name]
    value = {"calm": 0.0, "gale": 9.0}
    f = lambda p: -abs(p["x"] - 0.5) - 0.1 * value.get(p["wind"], p["wind"])  # noqa: E731
    points, result = seen_by(f, ranges=LINE, tolerance=tolerance, environment=environment, evaluations=6)
    assert all(list(p) == ["x", "wind"] and fits(p["wind"]) for p in points)
    assert list(result.decision) == ["x"] and fits(result.worst_case.point["wind"])
    assert len({p["wind"] for p in points}) > 1, "the environment is explored"
    again = so.assess([{**p, "value": f(p)} for p in points], LINE, tolerance, environment=environment)
    assert list(again.decisions[0][0]) == ["x"]
    again.optimizer.tell_all([Measurement(p, f(p)) for p in points])


def test_scenarios_of_several_names_come_together():
    rows = [{"wind": 3.0, "rain": 0.0}, {"wind": 9.0, "rain": 1.0}, {"rain": 2.0, "wind": 5.0}]
    points, result = seen_by(ranges=LINE, environment=rows, evaluations=6)
    assert {(p["wind"], p["rain"]) for p in points} <= {(3.0, 0.0), (9.0, 1.0), (5.0, 2.0)}
    assert list(points[0]) == ["x", "wind", "rain"] and list(result.decision) == ["x"]


def test_scenarios_may_have_words_beside_numbers():
    rows = [{"wind": 3.0, "sky": "clear"}, {"wind": 9.0, "sky": "rain"}, {"sky": "clear", "wind": 5.0}]
    f = lambda p: -((p["x"] - p["wind"] / 20 - 0.3 * (p["sky"] == "rain")) ** 2)  # noqa: E731
    points, result = seen_by(f, ranges=LINE, environment=rows, evaluations=10)
    assert {(p["wind"], p["sky"]) for p in points} == {(3.0, "clear"), (9.0, "rain"), (5.0, "clear")}
    assert result.decision["x"] == pytest.approx(0.45, abs=0.1), "the middle between 0.15 and 0.75"
    space = result.optimizer.state.setting.region.points_space
    assert space.labels == ["x", "wind", "sky"] and space.categories == (2,), "words have no order"
    again = so.Optimizer.from_json(result.optimizer.to_json())
    assert again.uncertainty == result.optimizer.uncertainty and again.ask().point == result.optimizer.ask().point
    arrays = [list(p.values()) for p in points]
    known = so.assess((arrays, [f(p) for p in points]), LINE, environment=rows)
    assert [e.point for e in known.evaluations] == points
    for scenario, words in (({"wind": 9.0, "sky": "clear"}, ("one of", "(9.0, 'rain')")), ({"wind": 9.0, "sky": "fog"}, ("one of ['clear', 'rain']", "got 'fog'"))):  # fmt: skip
        refused(lambda s=scenario: again.tell({"x": 0.5, **s}, 1.0), ValueError, "expected", *words)


def test_one_scenario_may_be_a_word():
    points, result = seen_by(hill, ranges=LINE, environment=[{"sky": "clear"}], evaluations=4)
    assert {p["sky"] for p in points} == {"clear"} and result.worst_case.point["sky"] == "clear"


def test_the_worst_environment_is_guarded_against():
    f = lambda p: -((p["x"] - p["shift"]) ** 2)  # noqa: E731
    result = so.maximize(f, LINE, environment={"shift": (0.0, 0.6)}, evaluations=16)
    assert result.decision["x"] == pytest.approx(0.3, abs=0.1), "the middle of what may come"
    assert result.worst_case.lower - 0.02 <= -(max(result.decision["x"], 0.6 - result.decision["x"]) ** 2) <= result.worst_case.upper + 0.02  # fmt: skip


def test_unnamed_ranges_have_the_environment_behind_them():
    points, result = seen_by(ranges=[(0, 1)], tolerance=0.1, environment=[[3.0], [9.0]], evaluations=5)
    assert all(p.shape == (2,) and p[1] in (3.0, 9.0) for p in points) and result.decision.shape == (1,)


def test_values_have_the_types_of_their_variables():
    ranges = {"n": so.Integer(1, 5), "kind": ["a", "b"], "alloy": so.Points([[1, 2], [3, 4]]), ("c", "d"): so.Points([[0.5, 6], [7, 8]]), "x": so.Float(1e-3, 1e3, log=True)}  # fmt: skip
    points, result = seen_by(
        lambda p: p["n"] - abs(math.log(p["x"])), ranges=ranges, tolerance={"n": 1, "x": 1e-3}, evaluations=8
    )
    for p in [*points, result.decision, result.worst_case.point]:
        assert list(p) == ["n", "kind", "alloy", "c", "d", "x"]
        assert type(p["n"]) is int and 1 <= p["n"] <= 5 and type(p["kind"]) is str and p["kind"] in "ab"
        assert p["alloy"] in ((1.0, 2.0), (3.0, 4.0)) and (p["c"], p["d"]) in ((0.5, 6.0), (7.0, 8.0))
        assert type(p["x"]) is float and 1e-3 <= p["x"] <= 1e3
    json.dumps(points)
    mixed, _ = seen_by(ranges=[(0, 1), ["a", "b"]], tolerance=0.1, evaluations=2)
    assert all(type(p) is list and type(p[0]) is float and p[1] in "ab" for p in mixed)


def test_a_finite_domain_works_as_well():
    result = climb(ranges=so.Grid.linspace(0, 1, 41), evaluations=10)
    assert result.decision.shape == (1,) and result.report.exact and "(exact)" in str(result)
    low, high = result.worst_case[1:]
    assert (
        low - 1e-9
        <= min(hill([x]) for x in np.linspace(0, 1, 41) if abs(x - result.decision[0]) <= 0.1 + 1e-9)
        <= high + 0.2
    )


# ------------------------------------------------------------------------------------------------------ the profile


def test_robustness_has_its_price(result):
    profile = result.profile([0.0, 0.5, 1.0, 2.0])
    assert [row.factor for row in profile] == [0.0, 0.5, 1.0, 2.0] and len(profile) == 4
    slack = 1e-3
    for wide, narrow in itertools.pairwise(reversed(profile.rows)):
        assert wide.worst_case.lower <= narrow.worst_case.lower + slack
        assert wide.optimum_bound <= narrow.optimum_bound + slack
    one = profile[2]
    assert one.decision == result.decision and one.worst_case == result.worst_case
    assert one.optimum_bound == result.optimum_bound
    assert profile[0].worst_case.point == profile[0].decision
    assert "0.5×" in str(profile) and "temperature" in str(profile) and len(str(profile).splitlines()) == 5


def test_the_default_profile_goes_as_far_as_a_tolerance_makes_sense():
    answer = so.assess(FORMS["rows"], LINE, 0.7)
    assert [row.factor for row in answer.profile()] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    refused(lambda: answer.profile([2.0]), ValueError, "expected factors of at most 1.428, got 2: beyond, a tolerance")
    percent = so.assess(FORMS["rows"], LINE, "10%")
    refused(lambda: percent.profile([0, 100]), ValueError, "expected factors of at most 9.999, got 100")
    for factors in ([-1.0], [NAN], [], "a", [[1.0]], [True]):
        refused(lambda factors=factors: answer.profile(factors), ValueError, "expected factors", "got")


@pytest.mark.parametrize("ranges, tolerance", [({"x": so.Integer(0, 6)}, 1), (so.Grid.linspace(0, 6, 7), so.Ball(1.0))])
def test_a_profile_does_not_warn_of_its_own_tolerances(ranges, tolerance):
    answer = so.assess(([0, 2, 4, 6], [0.0, 1.0, 2.0, 0.5]), ranges, tolerance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile = answer.profile()
    lower = [row.worst_case.lower for row in profile]
    assert lower[0] == pytest.approx(lower[3]) and lower[3] > lower[4] + 0.1


def test_a_profile_counts_on_a_terminal_and_only_there(assessment, monkeypatch, capsys):
    silent = assessment.profile([0.5, 1.0])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert assessment.profile([0.5, 1.0]) == silent and silent[1].worst_case == assessment.worst_case
    shown = capsys.readouterr().err
    assert shown.split("\r\033[K")[1:] == ["stableopt profile 1/2", "stableopt profile 2/2", ""]


def test_without_a_tolerance_there_is_no_profile():
    data = [{"x": x, "wind": 3.0, "value": y} for x, y in zip(XS, YS, strict=True)]
    answer = so.assess(data, LINE, environment={"wind": (0, 12)})
    for factors in (None, [0, 1, 2]):
        refused(lambda factors=factors: answer.profile(factors), ValueError, "expected a tolerance", "got Parameters(")
    groups = so.assess(([[0.0], [1.0]], [1.0, 2.0]), so.Points([0.0, 1.0]), so.Groups({"a": [0], "b": [1]}))
    refused(groups.profile, ValueError, "expected a tolerance", "got Groups")
    both = so.assess(data, LINE, 0.2, environment={"wind": (0, 12)}).profile([0, 1])
    assert both[0].optimum_bound > both[1].optimum_bound


@pytest.mark.parametrize("minimize", [False, True])
def test_a_profile_is_drawn_as_it_is(minimize):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from stableopt import plots

    profile = so.assess(FORMS["rows"], LINE, 0.1, minimize=minimize).profile([0.0, 1.0, 1.5])
    axes = figure.subplots()
    plots.profile(profile, ax=axes)
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    end = "upper" if minimize else "lower"
    assert lines["guaranteed worst case"] == [[r.factor, getattr(r.worst_case, end)] for r in profile]
    assert lines["what no decision can surpass"] == [[r.factor, r.optimum_bound] for r in profile]
    assert [x for x, _ in lines["the given tolerance"]] == [1.0, 1.0]
    corners = axes.collections[0].get_paths()[0].vertices.tolist()
    assert all([r.factor, y] in corners for r in profile for y in r.worst_case[1:])


def test_a_learned_belief_is_drawn_in_the_users_units():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from stableopt import plots

    optimizer, x = so.Optimizer(so.Grid.linspace(100, 200, 21), so.Ball(10)), [100.0, 125.0, 150.0, 200.0]
    optimizer.tell(x, np.sin(x))
    axes = figure.subplots()
    plots.belief(optimizer, ax=axes, query=optimizer.ask(), report=optimizer.report())
    lines = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert lines["posterior mean"] == np.linspace(100, 200, 21).tolist() and lines["observations"] == x
    assert lines["reported decision"] == optimizer.report().decision.tolist()


def test_the_profile_of_a_minimum_is_the_mirror_image(assessment):
    mirror = so.assess({"x": XS, "value": [-y for y in YS]}, LINE, 0.1, minimize=True).profile([0.5, 1.0])
    for up, down in zip(assessment.profile([0.5, 1.0]), mirror, strict=True):
        assert up.decision == down.decision and up.worst_case.lower == -down.worst_case.upper
        assert up.optimum_bound == -down.optimum_bound


# ------------------------------------------------------------------------------------------------ numerical trouble

TROUBLE = {
    "constant": lambda p: 3.0,
    "zero": lambda p: 0.0,
    "a jump": lambda p: 1e6 * (p["x"] > 0.5) + p["x"],
    "tiny": lambda p: 1e-12 * hill(p),
    "huge": lambda p: 1e12 * hill(p),
    "far from zero": lambda p: 1e9 + hill(p),
}


@pytest.mark.parametrize("name", [extra(name) if name in ("tiny", "huge") else name for name in TROUBLE])
def test_strange_outputs_are_survived(name):
    result = climb(TROUBLE[name], evaluations=8)
    numbers = [*result.worst_case[1:], result.optimum_bound, result.regret_bound]
    assert np.all(np.isfinite(numbers)) and result.worst_case.lower <= result.worst_case.upper
    assert result.regret_bound >= 0
    str(result)
    again = so.Optimizer.from_json(result.optimizer.to_json())
    assert again.ask().point == result.optimizer.ask().point


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_do_not_matter(unit):
    usual = climb(evaluations=6)
    outputs = climb(lambda p: unit * hill(p), evaluations=6)
    inputs = climb(lambda p: hill({"x": p["x"] / unit}), {"x": (0.0, unit)}, 0.1 * unit, evaluations=6)
    assert outputs.worst_case.lower == pytest.approx(unit * usual.worst_case.lower, rel=1e-3)
    assert outputs.decision["x"] == pytest.approx(usual.decision["x"], abs=1e-3)
    assert inputs.decision["x"] == pytest.approx(unit * usual.decision["x"], rel=1e-2)
    assert inputs.worst_case.lower == pytest.approx(usual.worst_case.lower, rel=1e-2)


def test_one_evaluation_is_enough_for_an_answer():
    result = climb(evaluations=1)
    assert len(result.evaluations) == 1 and np.isfinite([*result.worst_case[1:], result.optimum_bound]).all()


def test_the_same_point_with_different_values_is_noise():
    data = [{"x": x, "value": y} for x in (0.2, 0.7) for y in (1.0, 2.0, 3.0)] * 2
    result = climb(data=data, evaluations=1)
    assert np.isfinite([*result.worst_case[1:], result.optimum_bound]).all()


def test_noise_can_be_told_and_widens_the_bounds():
    data = [{"x": x, "value": math.sin(5 * x)} for x in np.linspace(0, 1, 9).tolist()]
    sure, unsure = (so.assess(data, LINE, 0.05, noise=noise).worst_case for noise in (1e-3, 0.5))
    assert unsure.upper - unsure.lower > sure.upper - sure.lower


# ---------------------------------------------------------------------------------------------------------- bad input


def never(point):
    raise AssertionError("a call that is refused must not evaluate anything")


def call(f=never, ranges=LINE, tolerance=0.1, **options):
    return lambda: so.maximize(f, ranges, tolerance, **options)


BAD = [
    *((f"{name} {value!r}", call(**{name: value}), ValueError, f"expected {name}", f"got {value!r}")
      for name, values in {"evaluations": (-1, 2.5, "3", None, True), "seconds": (-1, NAN, "3", True, [1]), "target": (-0.5, NAN, INF, "3"), "initial": (-1, 2.5, "3", True), "beta": (0, -1, NAN, "2"), "explore": (0, -1, NAN, "2")}.items() for value in values),
    *((f"noise {value!r}", call(noise=value), ValueError, "expected noise", f"got {value!r}") for value in (-1, 0, NAN, "3", [0.1])),
    *((f"seed {value!r}", call(seed=value), ValueError, "expected a seed", f"got {value!r}") for value in (-1, 2.5, "3", None, True)),
    ("f is no function", call(f=3), TypeError, "expected a function", "got 3"),
    ("the callback is no function", call(callback=3), TypeError, "expected a callback", "got 3"),
    ("nothing to go by", call(evaluations=0), ValueError, "expected evaluations of at least 1, or data"),
    ("unknown algorithm", call(algorithm="StableOp"), ValueError, "expected an Algorithm", "got 'StableOp'"),
    ("a kernel as model", call(model=so.SE(0.1)), TypeError, "expected a prior", "got SE"),
    ("noise and model", call(noise=0.1, model=so.GP(so.SE(0.3), 0.1)), ValueError, "expected noise or a model", "got both"),
    ("a grid with a tolerance and named scenarios", lambda: so.maximize(hill, so.Grid.linspace(0, 1, 9), 0.1, environment=[{"w": 2.0}, {"w": 6.0}]), ValueError, "rows of numbers as scenarios", "[[2.0], [6.0]]", "got [{'w': 2.0}"),
    ("a grid with a tolerance and a named range", lambda: so.maximize(hill, so.Grid.linspace(0, 1, 9), 0.1, environment={"w": (0, 1)}), ValueError, "rows of numbers as scenarios", "ranges in place of the grid"),
    ("no uncertainty", call(tolerance=None), ValueError, "expected a tolerance", "environment", "got neither", "tolerance=0"),
    ("no tolerances", call(tolerance={}), ValueError, "expected a tolerance", "environment"),
    ("only categories", call(ranges={"k": ["a", "b"]}, tolerance=None), ValueError, "expected a tolerance", "environment", "categories"),
    ("reversed range", call(ranges={"x": (1, 0)}), ValueError, "expected low < high", "got Float(1, 0)", "swap", "'x'"),
    ("empty range", call(ranges={"x": (1, 1)}), ValueError, "expected low < high", "got Float(1, 1)"),
    ("infinite range", call(ranges={"x": (0, INF)}), ValueError, "expected two finite numbers", "got Float(0, inf)", "'x'"),
    ("NaN in a range", call(ranges={"x": (NAN, 1)}), ValueError, "expected two finite numbers", "got Float(nan, 1)"),
    ("a number as range", call(ranges={"x": 3}), ValueError, "expected 'x' as two numbers", "got 3"),
    ("no ranges", call(ranges={}), ValueError, "expected ranges", "got {}"),
    ("ranges as text", call(ranges="x"), ValueError, "expected ranges", "got 'x'"),
    ("a log scale with zero", lambda: call(ranges={"x": so.Float(0, 1, log=True)})(), ValueError, "expected low > 0 on a log scale", "got Float(0, 1)"),
    ("unknown name in the tolerance", call(ranges=RANGES, tolerance={"temprature": 2}), ValueError, "expected one of the names ['temperature', 'ph']", "got 'temprature'", "did you mean 'temperature'?"),
    ("unknown number in the tolerance", call(ranges=[(0, 1)], tolerance={1: 0.1}), ValueError, "expected a column between 0 and 0", "got 1"),
    ("a tolerance wider than its range", call(tolerance={"x": 1.5}), ValueError, "expected a tolerance no wider than its range", "got ±1.5", "'x'", "unit"),
    ("a ball wider than a range", call(tolerance=so.Ball(1.5)), ValueError, "expected a tolerance no wider than its range", "got ±1.5"),
    ("a percentage wider than its range", call(ranges={"x": (100, 101)}, tolerance="2%"), ValueError, "expected a tolerance no wider than its range", "got ±0.02 times the value", "'x'"),
    ("a tolerance on a category", call(ranges={"x": (0, 1), "k": ["a", "b"]}, tolerance={"k": 1}), ValueError, "expected a tolerance on floats and integers", "got one on ['k']"),
    ("a tolerance on candidates", call(ranges={"x": (0, 1), "k": so.Points([1.0, 2.0])}, tolerance={"k": 1}), ValueError, "expected a tolerance on floats and integers", "got one on ['k']"),
    *((f"tolerance {t!r}", call(tolerance={"x": t}), ValueError, "expected a tolerance of 'x'", f"got {t!r}") for t in (-0.1, NAN, INF, None, "a", "-2%", "100%", "x%", True, [0.1])),
    ("a percentage of 100", call(tolerance={"x": "120%"}), ValueError, "(below 100%)", "got '120%'"),
    ("a tolerance of an environment", call(tolerance={"x": 0.1, "w": 0.1}, environment={"w": (0, 1)}), ValueError, "expected tolerances of what is decided", "got one of 'w', which is an environment: leave it out"),
    ("a tolerance of scenarios", call(tolerance={"w": 0.1}, environment=[{"w": 0.0}, {"w": 2.0}]), ValueError, "got one of 'w', which is an environment"),
    ("a range in words", call(ranges={"x": ("0", "1")}), ValueError, "'x': expected two numbers", "got ('0', '1'), which look like numbers: (0, 1) is a range", "stableopt.Category(['0', '1'])"),
    ("too many tolerances", call(tolerance=[0.1, 0.1]), ValueError, "expected one tolerance, or one for each of 1", "got [0.1, 0.1]"),
    ("a percentage on a grid", call(ranges=so.Grid.linspace(0, 1, 5), tolerance="2%"), ValueError, "expected an uncertainty set", "got '2%'"),
    ("an environment of text", call(environment="wind"), ValueError, "expected an environment", "got 'wind'"),
    ("no scenarios", call(environment=[]), ValueError, "expected an environment", "got []"),
    *((f"an environment {given!r}", call(environment=given), ValueError, "expected a range by name", '{"wind": (0, 12)}', f"got {given!r}") for given in ([(0, 12)], (0, 12), [3.0])),
    ("scenarios with other names", call(environment=[{"a": 1}, {"b": 1}]), ValueError, "expected scenarios with the same names", "got [['a'], ['b']]"),
    ("a word or a number by scenario", call(environment=[{"a": "u", "b": 1}, {"a": 3.0, "b": 2}]), ValueError, "expected a word or a number for 'a' in all scenarios", "got ('u', 3.0)"),
    ("a scenario twice", call(environment=[{"a": "u", "b": 1}, {"a": "u", "b": 1}]), ValueError, "expected distinct scenarios", "got [{"),
    ("a scenario without a value", call(environment=[{"a": "u", "b": None}]), ValueError, "expected", "numbers", "None"),
    ("an environment like a range", call(environment={"x": (0, 1)}), ValueError, "expected distinct names", "got ['x', 'x']"),
    ("unknown name in data", call(data=([{"y": 0.5}], [1.0])), ValueError, "expected a point with the names ['x']", "got ['y']"),
    ("a name too many in data", call(data=([{"x": 0.5, "y": 0.5}], [1.0])), ValueError, "expected a point with the names ['x']", "got ['x', 'y']"),
    ("a column is missing", call(data={"y": [0.5], "value": [1.0]}), ValueError, "expected columns ['x']", "got none for ['x']"),
    ("no column of values", call(data={"x": [0.5], "loss": [1.0]}), ValueError, "a column 'value'", "value=", "got the columns ['x', 'loss']"),
    ("a variable named like the values", call(ranges={"value": (0, 1)}, data={"value": [0.5]}), ValueError, "expected another name", "got 'value'"),
    ("a table for unnamed ranges", call(ranges=[(0, 1)], data={"x": [0.5], "value": [1.0]}), ValueError, "expected named ranges"),
    ("columns of other lengths", call(data={"x": [0.5, 0.6], "value": [1.0]}), ValueError, "expected columns of one length", "got {'x': 2, 'value': 1}"),
    ("no columns", call(data={"x": 0.5, "value": 1.0}), ValueError, "expected columns of one length", "got"),
    ("fewer columns", call(ranges=RANGES, data=([[50.0]], [1.0])), ValueError, "expected points with 2 columns in the order ['temperature', 'ph']", "got 1"),
    ("more columns", call(data=(np.zeros((3, 2)), [1.0] * 3), environment={"wind": (0, 12), "rain": (0, 1)}), ValueError, "3 columns in the order ['x', 'wind', 'rain']", "got 2"),
    ("a word for a point", call(data=(["a"], [1.0])), ValueError, "expected a point as a dictionary", "got 'a'"),
    *((f"noise {s!r} in data", call(data=([0.5, 0.6], [1.0, 2.0], [0.1, s])), ValueError, "expected the noise of a value as a standard deviation above 0", f"got {s!r}") for s in (-1.0, 0.0, INF, "a", True)),
    ("an infinite noise in a table", call(data={"x": [0.5], "value": [1.0], "noise": [INF]}), ValueError, "expected the noise of a value", "got inf"),
    ("one bad noise for all", call(data=([0.5], [1.0], -0.1)), ValueError, "expected the noise of a value", "got -0.1"),
    ("fewer noises", call(data=([0.5, 0.6], [1.0, 2.0], [0.1])), ValueError, "expected as many noises as points", "got noises (1,) for 2"),
    ("noises of other lengths", call(data={"x": [0.5, 0.6], "value": [1.0, 2.0], "noise": [0.1]}), ValueError, "expected columns of one length", "'noise': 1"),
    ("fewer values", call(data=([{"x": 0.5}], [1.0, 2.0])), ValueError, "expected as many values as points", "got values (2,) for 1"),
    ("values as text", call(data=([{"x": 0.5}], ["1.0 g"])), ValueError, "expected values as numbers", "got '1.0 g'"),
    ("no value at all", call(data=([{"x": 0.5}], [None])), ValueError, "expected data with at least one value", "got 1 without"),
    ("no data at all", call(data=([], [])), ValueError, "expected data with at least one value", "got 0 without"),
    ("data as a number", call(data=3), ValueError, "expected data as (X, y)", "got 3"),
    ("data as numbers", call(data=[1, 2, 3]), ValueError, "expected data as (X, y)", "got [1, 2, 3]"),
    ("data out of range", call(data=([{"x": 0.5}, {"x": 5.0}], [1.0, 1.0])), ValueError, "expected x between 0.0 and 1.0", "got 5.0", "row 1 of the data"),
    ("a missing input", call(data=([{"x": None}], [1.0])), ValueError, "expected a finite number for x", "got None"),
]  # fmt: skip


@table(BAD)
def test_bad_input_is_refused_before_anything_is_evaluated(call, error, words):
    refused(call, error, *words)


def test_bad_input_to_the_other_calls_is_refused_alike():
    refused(lambda: so.minimize(never, LINE, {"y": 1}), ValueError, "expected one of the names ['x']", "got 'y'")
    refused(lambda: so.assess([], LINE, 0.1), ValueError, "expected data with at least one value", "got 0")
    refused(lambda: so.assess(FORMS["rows"], LINE), ValueError, "expected a tolerance", "got neither")


def test_nothing_is_printed_by_a_call_that_is_refused(capsys):
    with pytest.raises(ValueError):
        call(evaluations=-1, progress=True)()
    assert capsys.readouterr() == ("", "") and sys.stderr is not None


def test_a_result_can_be_pickled_after_it_was_printed():
    result = climb()
    assert str(pickle.loads(pickle.dumps(result))) == str(result) == str(pickle.loads(pickle.dumps(result)))
