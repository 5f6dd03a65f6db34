"""``stableopt verify --learned``: how often bounds are true where the model had to be learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.learned import (
    CONTROL,
    DEFAULTS,
    MARKS,
    Measurements,
    Row,
    Summary,
    checks,
    confident,
    groups,
    summaries,
    width_ratio,
)


class LearnedEvidence(NamedTuple):
    """All rows of the defaults and of the control, and the judgement."""

    rows: list[Row]
    control: list[Row]
    checks: list[Check]


def gather(measurements: Measurements, step: Callable[[str], None] = lambda what: None) -> LearnedEvidence:
    """All runs; ``step`` is told of each of them."""
    found: dict[str, list[Row]] = {}
    for method in (DEFAULTS, CONTROL):
        rows = found[method.name] = []
        for some in measurements(method):
            rows += some
            step(f"{method.name}, {some[0].family}")
    rows, control = found[DEFAULTS.name], found[CONTROL.name]
    return LearnedEvidence(rows, control, checks(rows, control))


def table(found: LearnedEvidence) -> Table:
    """Percentages of true statements, and of runs that said that the model is not to be trusted."""
    ours, control, some = summaries(found.rows), summaries(found.control), groups(found.rows)
    marks = [t for t in MARKS if any(row.t == t for row in found.rows)]
    title = f"True statements in percent after {' / '.join(map(str, marks))} evaluations (in brackets: the control)"
    shown = Table(title=title, title_justify="left")
    shown.add_column("family", no_wrap=True)
    for name in ("runs", "lower", "upper", "optimum", "not trusted", "width / control's", "regret", "(regret)"):
        shown.add_column(name, justify="right")
    for name in sorted({name for name, _ in ours}, key=_last):
        mine, other = ([each[name, t] for t in marks] for each in (ours, control))
        cells = [f"{_percent(mine, j)} ({_percent(other, j)})" for j in range(3)]
        untrusted = " ".join(f"{100 * each.untrusted:.0f}" for each in mine)
        ratios = " ".join(f"{width_ratio(some[name, t], found.control):.2f}" for t in marks)
        regrets = (" ".join(f"{each.regret:.3f}" for each in side) for side in (mine, other))
        shown.add_row(name, str(mine[0].runs), *cells, untrusted, ratios, *regrets)
    right = confident(found.rows)
    shown.caption = f"Sure by 90 % or more that they are done: {len(right)} runs, right in {sum(right)} of these"
    return shown


def _last(name: str) -> tuple[int, str]:
    """Families by name; families of families come last."""
    groups = ["chosen on", "held out", "all"]
    return (groups.index(name) + 1 if name in groups else 0), name


def _percent(some: list[Summary], statement: int) -> str:
    return " ".join(f"{100 * each.true[statement]:.0f}" for each in some)


def save(found: LearnedEvidence, out: Path) -> Path:
    """Everything as JSON."""
    path = out / "verify-learned.json"
    content = {
        "checks": [check.to_dict() for check in found.checks],
        DEFAULTS.name: [asdict(row) for row in found.rows],
        CONTROL.name: [asdict(row) for row in found.control],
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return path
