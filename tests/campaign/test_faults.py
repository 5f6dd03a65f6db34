"""Promises about faults: whatever a function, a model or data do, nothing is lost and the reason is said in words."""

import numpy as np
import pytest
from helpers.cases import extra

import stableopt as so

RANGES = {"x": (0.0, 1.0)}


def never(point):
    raise AssertionError("f was called")


# ------------------------------------------------------------------------------------- models are checked beforehand


@pytest.mark.parametrize("ranges", [RANGES, so.Grid.linspace(0, 1, 11)], ids=["space", "grid"])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        (so.Learned(fixed=["lenghtscale"]), "lenghtscale"),
        (so.Learned(bounds={"lengthscal": (0.1, 1.0)}), "lengthscal"),
        (so.Learned(bounds={"lengthscale[1]": (0.1, 1.0)}), "lengthscale"),
        (so.Learned(kernel=so.SE([0.1, 0.2])), "expected 2 columns"),
        (so.GP(so.SE([0.1, 0.2]), 0.1), "expected 2 columns"),
        (so.GP.linear([1.0, 2.0], np.eye(2), 0.1), "expected 2 columns"),
    ],
    ids=["misspelt fixed", "misspelt bounds", "no such column", "learned of two columns", "of two columns", "linear"],
)
def test_a_model_that_does_not_fit_is_refused_before_anything_is_measured(model, words, ranges):
    with pytest.raises(ValueError, match=words):
        so.maximize(never, ranges, 0.2, model=model, evaluations=5)


@pytest.mark.parametrize(
    "wrong",
    [{"fixed": 5}, {"fixed": [5]}, {"priors": 5}, {"priors": [5]}, {"bounds": 5}, {"bounds": {5: (1.0, 2.0)}}],
    ids=str,
)
def test_what_is_no_list_of_names_is_refused_when_a_model_is_made(wrong):
    with pytest.raises(TypeError, match=r"expected .*, such as "):
        so.Learned(**wrong)


@pytest.mark.parametrize("ends", [5, (1.0,), (2.0, 1.0), (1.0, 10**400), None, "ab"], ids=repr)
def test_bounds_that_are_none_are_refused_when_a_model_is_made(ends):
    with pytest.raises(ValueError, match="expected bounds of 'noise'"):
        so.Learned(bounds={"noise": ends})


@pytest.mark.parametrize("wrong", [[], {}, np.array([1, 2]), 5, {1, 2}], ids=repr)
def test_what_is_no_name_is_refused_when_a_model_is_made(wrong):
    for field in ("kernel", "method", "signal"):
        with pytest.raises(ValueError, match="expected"):
            so.Learned(**{field: wrong})


@pytest.mark.parametrize("wrong", [5, None, "ab", {"x": 0.5}, [None], [[0.5, 1.0]], np.array([1.0])], ids=repr)
def test_what_is_no_list_of_measurements_is_not_told(wrong):
    optimizer = so.Optimizer(so.Space(RANGES), so.Ball(0.1))
    with pytest.raises((TypeError, ValueError), match=r"expected .*Measurement\(point, value\)"):
        optimizer.tell_all(wrong)
    assert not optimizer.rounds


def test_a_value_that_cannot_be_added_goes_with_the_error(monkeypatch):
    def broken(self, *told):
        raise RuntimeError("the model broke")

    monkeypatch.setattr(so.Learned, "learn", broken)
    with pytest.raises(RuntimeError, match="the model broke") as caught:
        so.maximize(lambda p: 41.5, RANGES, 0.1, evaluations=5)
    assert "the value 41.5 at x = " in caught.value.errors[-1]
    assert "the value 41.5 at x = " in caught.value.__notes__[0], "it is in the traceback, too"


# ------------------------------------------------------------------------------------------------- values and errors


@pytest.mark.parametrize("call", [so.maximize, so.minimize])
@pytest.mark.parametrize("value", [1e200, extra(-1e200), np.float64(1e141), extra(10**200), 10**400])
def test_a_value_too_large_for_arithmetic_is_a_failure_as_infinity_is(call, value):
    values = iter([1.0, value, 2.0, 3.0, 2.5, 0.5])
    result = call(lambda p: next(values), RANGES, 0.1, evaluations=6)
    assert len(result.evaluations) == 6 and [e.value for e in result.evaluations].count(None) == 1
    assert len(result.errors) == 1 and "the value" in result.errors[0]
    assert np.isfinite(result.worst_case.lower) and np.isfinite(result.optimum_bound)


@pytest.mark.parametrize("value", [9e139, -9e139])
def test_a_value_just_not_too_large_is_learned_from(value):
    result = so.maximize(lambda p: value * p["x"], RANGES, 0.1, evaluations=6)
    small = so.maximize(lambda p: np.sign(value) * p["x"], RANGES, 0.1, evaluations=6)
    assert result.worst_case.lower == pytest.approx(abs(value) * small.worst_case.lower, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-139, 1e-100])
def test_small_values_are_learned_as_well_as_others(unit):
    small, usual = (so.assess((X[:, None], scale * Y), RANGES, 0.1) for scale in (unit, 1.0))
    assert np.array(small.worst_case[1:]) / unit == pytest.approx(np.array(usual.worst_case[1:]), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e-170, 1e-310])
def test_values_too_small_to_be_told_apart_are_not_taken_for_equal_in_silence(unit):
    with pytest.warns(UserWarning, match=r"values y that differ by .* are equal to the model.*: use a smaller unit"):
        so.assess((X[:, None], unit * Y), RANGES, 0.1)


def test_values_that_are_equal_need_no_warning():
    so.assess((X[:, None], np.zeros(8)), RANGES, 0.1)
    so.assess((X[:, None], np.full(8, 1e-200)), RANGES, 0.1)


@pytest.mark.filterwarnings("error")
def test_single_precision_is_fine_everywhere():
    single = np.float32
    ranges, points = {"x": (single(0), single(1))}, X[:, None].astype(single)
    result = so.maximize(lambda p: single(p["x"]), ranges, single(0.1), data=(points, Y.astype(single)), evaluations=2)
    assert np.isfinite(result.worst_case.lower)
    optimizer = so.Optimizer(so.Grid.linspace(single(0), single(1), 11), so.Ball(single(0.2)), beta=single(4))
    optimizer.tell(optimizer.ask(), single(0.5), noise=single(0.1))
    optimizer.tell(np.array([0.5], dtype=single), np.array(0.7, dtype=single))
    assert len(optimizer.rounds) == 2


def test_too_large_a_value_is_refused_by_tell_and_left_out_of_data():
    optimizer = so.Optimizer(so.Space(RANGES), so.Ball(0.1))
    with pytest.raises(ValueError, match=r"expected a value y of at most 1e\+140, got 1e\+200"):
        optimizer.tell({"x": 0.5}, 1e200)
    assert not optimizer.rounds
    known = so.assess({"x": [0.1, 0.5, 0.9], "value": [1.0, 1e200, 2.0]}, RANGES, 0.1)
    assert [e.value for e in known.evaluations] == [1.0, 2.0, None]


class StubbornError(BaseException):
    __slots__ = ()

    def __setattr__(self, name, value):
        raise AttributeError(f"no {name} here")


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")


def test_an_error_that_refuses_attributes_still_carries_the_result():
    values = iter([1.0, 2.0, None])

    def f(point):
        if (value := next(values)) is None:
            raise StubbornError
        return value

    with pytest.raises(StubbornError) as caught:
        so.maximize(f, RANGES, 0.1, evaluations=5)
    assert [e.value for e in caught.value.result.evaluations] == [1.0, 2.0]


def test_an_error_that_cannot_be_printed_is_a_failure_like_others():
    values = iter([SilentError(), 1.0, 2.0])

    def f(point):
        if isinstance(value := next(values), Exception):
            raise value
        return value

    result = so.maximize(f, RANGES, 0.1, evaluations=3)
    assert result.errors[0].startswith("SilentError (at ")


# -------------------------------------------------------------------------------------------------------- masked data

X = np.linspace(0.05, 0.95, 8)
Y = np.sin(5 * X)
MASKED = np.ma.array(np.where(X < 0.3, 1e6, Y), mask=X < 0.3)


@pytest.mark.parametrize(
    "data",
    [(X[:, None], MASKED), {"x": X, "value": MASKED}, (X[:, None], MASKED, np.full(8, 0.1))],
    ids=["arrays", "table", "arrays with noise"],
)
def test_masked_values_are_missing_values(data):
    known = so.assess(data, RANGES, 0.1)
    assert [e.value for e in known.evaluations] == [*Y[X >= 0.3], None, None]


def test_masked_noise_is_that_of_the_model():
    noise = np.ma.array(np.full(8, 0.1), mask=[True] + [False] * 7)
    known = so.assess((X[:, None], Y, noise), RANGES, 0.1)
    assert [e.noise for e in known.evaluations] == [None, *[0.1] * 7]


@pytest.mark.parametrize("ranges", [RANGES, [(0.0, 1.0)], so.Points(X)], ids=["named", "space", "points"])
def test_masked_points_are_refused(ranges):
    points = np.ma.array(X[:, None], mask=X[:, None] > 0.9)
    with pytest.raises(ValueError, match=r"(masked|None).*in row 7"):
        so.assess((points, Y), ranges, 0.2)


def test_masked_tables_of_numbers_are_refused():
    masked = np.ma.array([[0.1], [0.2]], mask=[[False], [True]])
    for make in (so.Points, so.Parameters, lambda rows: so.Grid([rows[:, 0]])):
        with pytest.raises(ValueError, match="without masked values"):
            make(masked)


# ------------------------------------------------------------------------------------------------------- an outlier


@pytest.mark.parametrize("ranges", [{"x": (0.0, 1.0)}, so.Points(X)], ids=["space", "points"])
@pytest.mark.parametrize("minimize", [False, True])
def test_the_summary_names_a_value_that_is_unlike_all_others(ranges, minimize):
    named = isinstance(ranges, dict)
    x, y = np.linspace(0.05, 0.95, 16) if named else np.tile(X, 2), np.zeros(16)
    y[:] = np.sin(5 * x)
    well = str(so.assess((x[:, None], y), ranges, 0.2, minimize=minimize))
    assert "unusual" not in well
    y[11] = -1e6
    text = str(so.assess((x[:, None], y), ranges, 0.2, minimize=minimize))
    line = next(line for line in text.splitlines() if line.startswith("unusual"))
    assert "-1e+06 at " in line and f"{x[11]:.4g}" in line and "standard deviations" in line
