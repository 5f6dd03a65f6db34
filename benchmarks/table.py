"""A measurement against its rival, and the table of them. No NumPy here: the parent process must stay small.

On Linux a child's peak memory starts at that of the process that started it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: ours and the rival's seconds or bytes, and what their ratio must reach."""

    case: str
    what: str
    rival: str
    unit: str
    """s or B: of ``ours`` and ``theirs``."""
    ours: float
    theirs: float
    must: str
    """">=": theirs / ours must be at least the limit (times faster). "<=": ours / theirs at most the limit."""
    limit: float

    @property
    def ratio(self) -> float:
        """Times faster than the rival (">=") or multiple of it ("<=")."""
        return self.theirs / self.ours if self.must == ">=" else self.ours / self.theirs

    @property
    def reached(self) -> bool:
        """Whether the ratio is what it must be."""
        return self.ratio >= self.limit if self.must == ">=" else self.ratio <= self.limit


def table(rows: Sequence[Row]) -> str:
    """The rows as plain text."""
    header = ("case", "what", "ours", "rival", "the rival", "ratio", "must be", "reached")
    body = [
        (
            row.case,
            row.what,
            _readable(row.ours, row.unit),
            _readable(row.theirs, row.unit),
            row.rival,
            f"{row.ratio:.2f}",
            f"{row.must} {row.limit:g}",
            "yes" if row.reached else "NO",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    numbers = {2, 3, 5}
    lines = [
        "  ".join(
            cell.rjust(w) if i in numbers else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in (header, tuple("-" * w for w in widths), *body)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _readable(value: float, unit: str) -> str:
    return f"{value / 1e6:.0f} MB" if unit == "B" else f"{value * 1e3:.2f} ms"
