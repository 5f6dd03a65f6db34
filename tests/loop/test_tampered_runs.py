"""Promises about stored runs that somebody changed: each is refused with the place that is wrong, or it is a valid run.

Every place of every stored run is removed, and replaced by each of `WRONG`. A ninth of these thousands of mutations is
tried on every change, always the same; `make thorough` tries the others.
"""

import copy
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import extra

from stableopt import GP, SE, Ball, Float, Integer, Learned, Optimizer, Rectangle, Space

pytestmark = pytest.mark.usefixtures("quick")  # no promise here depends on the effort of a search

STORED = json.loads((Path(__file__).parent / "data" / "runs-of-format-2.json").read_text(encoding="utf-8"))
RUNS = {name: stored["run"] for name, stored in STORED.items()}
REMOVED = object()
WRONG = [REMOVED, None, True, "x", "", [], {}, [[]], math.nan, math.inf, 1e300, 1e-300, -1, 0, 10**400, 0.5]
WRONG += [{"kind": "SE"}, {"kind": "GP"}, {"kind": 5}, {"function": []}, [1, "a"], "ünï" * 1000]
PARTS = 9  # has no divisor in common with the number of `WRONG`, so each of them is in every part


def cityblock(a, b):
    return float(np.abs(a - b).sum())


def places(data, path=()):
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(run, path, new):
    run = copy.deepcopy(run)
    at = run
    for key in path[:-1]:
        at = at[key]
    if new is REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return run


def read(run):
    return Optimizer.from_json(json.dumps(run), {"cityblock": cityblock})


def refused_or_valid(run, what):
    """How it came out; anything but a clear refusal or a valid run fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            optimizer = read(run)
        except ValueError as error:
            message = str(error)
            ours = message.startswith(("expected", "the run uses")) or "the nearest that is" in message
            assert ours and "run" in message, (what, message)
            return "refused"
        assert all(math.isfinite(r.y) for r in optimizer.rounds), what
        assert json.loads(read(json.loads(optimizer.to_json())).to_json()) == json.loads(optimizer.to_json()), what
        if optimizer.rounds and isinstance(optimizer.gp, GP):  # what is learned may take a second to report
            report = optimizer.report()
            assert math.isfinite(report.lower) and math.isfinite(report.optimum_upper), what
    return "valid"


@pytest.mark.parametrize("part", [0, *map(extra, range(1, PARTS))])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_was_changed_anywhere_is_refused_with_the_place_or_valid(name, part):
    run, seen = RUNS[name], {"refused": 0, "valid": 0}
    every = [(path, new) for path in places(run) for new in WRONG]
    for path, new in every[part::PARTS]:
        seen[refused_or_valid(changed(run, path, new), (path, repr(new)[:50]))] += 1
    assert min(seen.values()) > 0, "both happen"


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_was_cut_off_is_refused(name):
    text = json.dumps(RUNS[name])
    for end in range(0, len(text) - 1, 97):
        with pytest.raises(ValueError, match=r"expected the text that Optimizer\.to_json wrote"):
            Optimizer.from_json(text[:end])


@pytest.mark.parametrize("text", [None, 5, ["{}"], {"format": 2}], ids=repr)
def test_what_is_no_text_is_refused(text):
    with pytest.raises(TypeError, match=r"expected the text that Optimizer\.to_json wrote"):
        Optimizer.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "5", "nul", "[" * 10**5, "9" * 5000, '{"format": []}', "run.json"], ids=len)
def test_text_that_is_no_run_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        Optimizer.from_json(text)


def test_values_that_are_nested_too_deeply_are_refused():
    run = copy.deepcopy(RUNS["bayes"])
    kernel = {"kind": "SE", "lengthscale": 1.0}
    for _ in range(700):
        kernel = {"kind": "Scaled", "kernel": kernel, "variance": 1.0}
    run["gp"] = {"kind": "GP", "kernel": kernel, "noise": 0.1, "mean": 0.0}
    refused_or_valid(run, "deep")


SPACE = Space({"x": (0.0, 1.0), "n": Integer(1, 5), "r": Float(0.1, 10.0, log=True)})


@pytest.fixture(scope="module")
def told():
    optimizer = Optimizer(SPACE, Rectangle([0.1, 0, 0.1]), GP(SE([0.3, 2.0, 1.0]), 0.1))
    for y in (1.0, 2.0, None, 3.0):
        optimizer.tell(optimizer.ask(), y)
    return json.loads(optimizer.to_json())


@pytest.mark.parametrize(
    ("where", "key", "value", "words"),
    [
        ("rounds[1]", "y", "2.0", "expected one number as the value y"),
        ("rounds[1]", "y", None, "expected y as a number"),
        ("rounds[1]", "y", 1e200, "expected a value y of at most 1e+140"),
        ("rounds[1]", "y", math.nan, "expected a finite value y"),
        ("rounds[1]", "noise", -1, "expected noise as a standard deviation above 0"),
        ("rounds[1]", "lower", "low", "expected lower as a finite number or null"),
        ("rounds[2]", "point", {"x": 7.0, "n": 2, "r": 1.0}, "expected x between 0.0 and 1.0, got 7.0"),
        ("rounds[2]", "point", {"x": 0.5, "n": 2.5, "r": 1.0}, "expected a whole number for n"),
        ("rounds[2]", "decision", [1, 2, 3], "as a dictionary with"),
        ("failures[0]", "y", 1.0, "expected y as null"),
        ("failures[0]", "t", 9, "expected t from 1 to 4"),
        ("failures[0]", "t", True, "expected t from 1 to 4"),
    ],
    ids=str,
)
def test_rounds_are_checked_as_tell_checks_them(told, where, key, value, words):
    run = copy.deepcopy(told)
    name, number = where[:-1].split("[")
    run[name][int(number)][key] = value
    with pytest.raises(ValueError) as caught:
        read(run)
    assert words in str(caught.value) and f"at {where}" in str(caught.value)


def test_a_model_of_another_problem_is_refused(told):
    one, two = (Optimizer(Space([(0, 1)] * d), Ball(0.1), Learned()) for d in (1, 2))
    for optimizer in (one, two):
        optimizer.tell(optimizer.ask(), 1.0)
    mixed = json.loads(one.to_json()) | {"learned": json.loads(two.to_json())["learned"]}
    for run, words in [
        (mixed, r"learned\.gps\[0\]: expected 2 columns"),
        (mixed | {"learned": None}, r"expected the model that was learned"),
        (told | {"learned": mixed["learned"]}, "expected null as learned"),
        (mixed | {"learned": mixed["learned"] | {"t": 2}}, r"expected learned\.t as at most its 1 rounds"),
    ]:
        with pytest.raises(ValueError, match=words):
            read(run)
