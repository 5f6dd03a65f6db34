"""The answer in words: what to use, what that promises, and what nothing can surpass.

Numbers are rounded to the safe side: a promise is never larger than the bound behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple

import numpy as np

from stableopt.plots.parameters import Column
from stableopt.plots.probes import moved
from stableopt.plots.subject import Subject

_SAID = 5  # parameters that a sentence names
_UNIT = re.compile(r"(.+?)\s+\[([^\[\]]+)\]")
_DIGITS = 12


class Said(NamedTuple):
    """The answer, a sentence each."""

    use: str
    promise: str
    limit: str
    sure: str
    """How far the bounds can be relied on."""
    kept: str
    """Whether all limits of constraints are kept; empty without constraints."""


def said(subject: Subject) -> Said:
    """The answer in words."""
    report, sign = subject.report, subject.sign
    value, unit = named(subject.label)
    compared = not math.isinf(report.optimum_upper)  # an audit knows of no other decision
    best = report.optimum_upper if math.isfinite(report.optimum_upper) else report.upper
    low, high = sign * report.lower, sign * best
    beyond, more = ("above", "more") if sign > 0 else ("below", "less")
    promise, limit = safe(low, high, up=sign < 0), safe(high, low, up=sign > 0)
    return Said(
        f"{'Use' if compared else 'The given decision:'} {_settings(subject)}.",
        f"{_within(subject)} the {value} stays {beyond} {promise}{unit}.",
        f"{_who(subject)} promise {more} than {limit}{unit}.",
        _sure(subject),
        _KEPT[report.feasible],
    )


_KEPT = {
    None: "",
    "certified": "It keeps all limits, whatever goes wrong.",
    "likely": "It is likely, but not guaranteed, to keep all limits.",
    "unknown": "Whether it keeps all limits is not known yet.",
    "impossible": "No decision keeps all limits.",
}


def _who(subject: Subject) -> str:
    """Of whom it is said that more cannot be promised."""
    best = subject.report.optimum_upper
    if not math.isfinite(best):
        return "It cannot"
    return "No decision can" if subject.report.feasible is None else "No decision that keeps all limits can"


def named(name: str) -> tuple[str, str]:
    """A name without its unit, and the unit with a space before it that no line breaks: "temperature [°C]" has one."""
    found = _UNIT.fullmatch(name)
    return (found[1], f"\u00a0{found[2]}") if found else (name, "")


def number(value: Any) -> str:
    """A setting as a person writes it."""
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    return f"{float(value):.4g}" if isinstance(value, float | np.floating) else str(value)


def quantity(name: str, value: Any) -> str:
    """A setting with its name and its unit."""
    bare, unit = named(name)
    return f"{bare}\u00a0{number(value)}{unit}"


def safe(value: float, other: float, *, up: bool) -> str:
    """A bound with as many digits as its distance to another one deserves, rounded up or down."""
    if not math.isfinite(value):
        return "any number"
    apart = abs(value - other)
    if not math.isfinite(apart) or apart < 1e-9 * abs(value):
        apart = 1e-3 * abs(value)
    if apart == 0:
        return f"{value:.4g}"
    exponent = max(math.floor(math.log10(apart)) - 1, math.floor(math.log10(abs(value) or 1.0)) - _DIGITS)
    rounded = Decimal(value).quantize(Decimal(1).scaleb(exponent), ROUND_CEILING if up else ROUND_FLOOR)
    return f"{rounded:g}" if not 1e-5 < abs(rounded) < 1e9 and rounded else f"{rounded:f}"


def listed(parts: Sequence[str]) -> str:
    """Several things in a sentence."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _settings(subject: Subject) -> str:
    """What to set; of very many parameters the first ones."""
    if subject.grouped:
        return f"group {number(subject.report.decision)}"
    own: list[Column] = [column for column in subject.columns if column.block.decided]
    parts = [quantity(column.name, subject.base[column.place]) for column in own]
    if len(parts) > _SAID:
        parts = [*parts[: _SAID - 1], f"{len(parts) - _SAID + 1} more settings as listed below"]
    return listed(parts)


def _within(subject: Subject) -> str:
    """Under which conditions the promise holds."""
    if subject.grouped:
        return "For each of its members"
    blocks = moved(subject)
    around = [named(name)[0] for block in blocks if not block.decided for name in block.names]
    parts = ["within the tolerances"] if any(block.decided for block in blocks) else []
    parts += [f"whatever the {listed(around)} may be"] if around else []
    sentence = " and ".join(parts) or "if all is as decided"
    return sentence[0].upper() + sentence[1:]


def _sure(subject: Subject) -> str:
    """Where the bounds come from."""
    report = subject.report
    if report.contradictory:
        return "The bounds of different rounds exclude each other: a larger beta or another model is needed."
    if report.exact or report.proved:
        return "As far as the model is right, these bounds are " + ("exact." if report.exact else "proved.")
    agreed = "independent starts agree" if report.settled else "it may have missed something"
    return f"As far as the model is right, these bounds hold; they come from a search, and {agreed}."
