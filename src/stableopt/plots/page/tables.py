"""The tables of a page: the decision, its contenders, the trials, and what the answer rests on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stableopt.base.checks import is_number
from stableopt.loop.answers import readable
from stableopt.plots.contest import contenders_of, scales_of
from stableopt.plots.page.html import Html, element
from stableopt.plots.page.words import named, number
from stableopt.plots.parameters import Column, flat_of
from stableopt.plots.probes import interval, moved
from stableopt.plots.subject import Subject
from stableopt.sets.variables import Integer

Rows = Sequence[Mapping[str, Any]]
_TRIALS = 1000  # that a page shows: the last ones
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*")
_SHORT = 24  # letters that stay in one line
_WORDS = 6  # choices that are written out


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, sorts: bool = False) -> Html:
    """A table that scrolls on its own where the page is narrow. Numbers are to the right, and keep their digits."""
    head = element("thead", element("tr", [element("th", name, scope="col") for name in header]))
    body = element("tbody", [element("tr", [_cell(cell) for cell in row]) for row in rows])
    inside = element("table", head, body, class_="sorts" if sorts else None)
    return element("div", inside, class_="scroll", tabindex="0", role="region", aria_label=", ".join(header))


def _cell(cell: Any) -> Html:
    if is_number(cell):
        text = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
        return element("td", text, class_="number", data_value=repr(float(cell)))
    text = "" if cell is None else str(cell)
    return element("td", text, class_="short" if len(text) <= _SHORT else None)


def decision(subject: Subject) -> Html:
    """Every parameter: what to set, what may come of it, and where it may be worst."""
    if subject.grouped:
        return table(("group", "its worst member"), [(number(subject.report.decision), _point(subject))])
    hit = moved(subject)
    rows = [_parameter(subject, column, column.block in hit) for column in subject.columns]
    return table(("parameter", "use", "what it may turn out as", "where it may be worst", "what it can be"), rows)


def _parameter(subject: Subject, column: Column, hit: bool) -> tuple[Any, ...]:
    name, unit = named(column.name)
    use = number(subject.base[column.place]) + unit if column.block.decided else "not ours to set"
    worst = number(subject.worst[column.place]) + unit
    return name, use, _turned(subject, column, unit) if hit else "as it is set", worst, _range(column, unit)


def _turned(subject: Subject, column: Column, unit: str) -> str:
    if column.block.range is None or not column.block.decided:
        return "any of its values" if not column.block.decided else "another of its values"
    low, high = interval(subject, column)
    return f"{number(low)} to {number(high)}{unit}"


def _range(column: Column, unit: str) -> str:
    if column.block.range is not None:
        kind = "whole numbers " if isinstance(column.block.range, Integer) else ""
        low, high = column.ends()
        return f"{kind}{low:.6g} to {high:.6g}{unit}{', on a log scale' if column.log else ''}"
    values = list(dict.fromkeys(row[column.place - column.block.first] for row in column.block.rows))
    shown = ", ".join(number(v) for v in values[:_WORDS])
    return shown if len(values) <= _WORDS else f"{len(values)} values: {shown}, …"


def _point(subject: Subject) -> str:
    return ", ".join(f"{c.name} {number(subject.worst[c.place])}" for c in subject.columns)


def contenders(subject: Subject, count: int) -> Html:
    """The best decisions with the bounds on their worst cases."""
    scales = scales_of(subject)
    header = ("", *(scale.name for scale in scales), f"worst-case {subject.label} from", "to")
    shown = contenders_of(subject, scales, count)
    return table(header, [(i + 1, *each.flat, each.low, each.high) for i, each in enumerate(shown)], sorts=True)


def constraints(subject: Subject) -> Html | None:
    """Each constraint at the decision: how far inside its limits it stays, and where it may be worst."""
    known = subject.report.constraints
    if not known:
        return None
    rows = [(each.name, *each.margin, readable(each.point, subject.state.setting.columns.steps)) for each in known]
    return table(
        ("constraint", "inside its limits by, from", "to (below 0: beyond them)", "where it may be worst"), rows
    )


def trials(rows: Rows) -> Html:
    """All trials, or the last of very many; a reader can sort them."""
    shown = rows[-_TRIALS:]
    names = list(dict.fromkeys(name for row in shown for name in row))
    names = [name for name in names if any(row.get(name) not in (None, "") for row in shown)]
    more = f"The last {_TRIALS} of {len(rows)} trials." if len(rows) > _TRIALS else None
    cells = [[_shorter(row.get(name)) for name in names] for row in shown]
    return Html((element("p", more) if more else "") + table(names, cells, sorts=True))


def _shorter(cell: Any) -> Any:
    """A time without what nobody reads; all else as it is."""
    return f"{cell[:10]} {cell[11:16]}" if isinstance(cell, str) and _TIME.fullmatch(cell) else cell


def trial_rows(subject: Subject) -> Rows:
    """What an answer knows of its evaluations, as a campaign would write it."""
    names = [column.name for column in subject.columns]
    state, taken, rows = subject.state, {*names, subject.label}, []
    for i, r in enumerate((*state.rounds, *state.failures), start=1):
        about = {"trial": i, "status": "done" if i <= len(state.rounds) else "failed"}
        row = {_other(name, taken): v for name, v in about.items()} | dict(zip(names, flat_of(r.point), strict=True))
        value = None if math.isnan(r.y) else subject.sign * r.y
        measured = {_other(name, taken): v for name, v in (r.measured or {}).items()}
        rows.append(row | {subject.label: value} | measured | {_other("noise", taken): r.noise})
    return rows


def _other(name: str, taken: set[str]) -> str:
    return f"trial {name}" if name in taken else name


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Terms and what they are."""
    return element("dl", [(element("dt", name), element("dd", str(text))) for name, text in pairs])
