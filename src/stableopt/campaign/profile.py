"""How the decision and its guarantee change with the tolerance, in a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from stableopt.campaign.show import table
from stableopt.loop.answers import ends, readable


class WorstCase(NamedTuple):
    """Where a decision may be worst, and the bounds on its worst-case value."""

    point: Any
    lower: float
    upper: float


class ProfileRow(NamedTuple):
    """One tolerance: how many times the given one, the decision to use, its worst case, and the optimum's bound."""

    factor: float
    decision: Any
    worst_case: WorstCase
    optimum_bound: float
    feasible: str | None = None


@dataclass(frozen=True, repr=False)
class Profile:
    """How decision and guarantee change with the tolerance; `stableopt.plots.profile` draws it."""

    rows: tuple[ProfileRow, ...]
    sign: int = 1
    steps: tuple[float, ...] = ()
    """How finely decisions are shown (`Columns.steps`)."""
    label: str = "value"
    """What the values are called."""

    def __iter__(self) -> Iterator[ProfileRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> ProfileRow:
        return self.rows[i]

    def __repr__(self) -> str:
        factors = ", ".join(f"{row.factor:g}" for row in self.rows)
        return f"Profile({len(self.rows)} tolerances: {factors} times the given one)"

    def _repr_html_(self) -> str:
        """The rows as a table, for notebooks."""
        header = ("tolerance", "worst case from", "to", "decision")
        rows = [(f"{r.factor:g}×", *r.worst_case[1:], readable(r.decision, self.steps)) for r in self.rows]
        return table(header, rows, "Stability profile")

    def __str__(self) -> str:
        lines = ["tolerance   worst case between     decision"]
        for row in self.rows:
            low, high = ends(*row.worst_case[1:])
            limits = "" if row.feasible is None else f" (limits: {row.feasible})"
            shown = readable(row.decision, self.steps)
            lines.append(f"{row.factor:>8.3g}×   {low:>9} {high:>9}    {shown}{limits}")
        return "\n".join(lines)
