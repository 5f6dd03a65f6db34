"""Promises of the checks: what they accept, in which type, and what they say otherwise."""

import math

import numpy as np
import pytest

from stableopt.base import checks

NUMBERS = [1, 0, -1, 2.5, np.int64(3), np.float32(0.5), True, None, "1", math.nan, math.inf, 10**400, [1], 1e308]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
@pytest.mark.parametrize(
    ("check", "good"),
    [
        (lambda v: checks.whole(v, 0, "it"), lambda v: float(v).is_integer() and v >= 0),
        (lambda v: checks.number(v, "it"), lambda v: True),
        (lambda v: checks.positive(v, "it"), lambda v: v > 0),
        (lambda v: checks.not_negative(v, "it"), lambda v: v >= 0),
        (lambda v: checks.share(v, "it"), lambda v: 0 < v < 1),
        (lambda v: checks.deviation(v, "it"), lambda v: 0 < float(v) < 1e150),
    ],
    ids=["whole", "number", "positive", "not_negative", "share", "deviation"],
)
def test_a_check_returns_the_value_or_says_what_came(check, good, value, request):
    usual = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    finite = usual and -1e308 <= (value.item() if isinstance(value, np.generic) else value) <= 1e308
    whole = "whole" in request.node.name
    if finite and good(value) and (not whole or isinstance(value, int | np.integer)):
        found = check(value)
        assert found == value and type(found) is (int if whole else float)
    else:
        with pytest.raises(ValueError, match="expected it, got "):
            check(value)


def test_a_remedy_comes_last():
    with pytest.raises(ValueError, match=r"^expected a seed, got -1: use 0$"):
        checks.whole(-1, 0, "a seed", "use 0")
