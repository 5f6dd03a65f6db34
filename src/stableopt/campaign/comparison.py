"""What does robustness cost? Decisions side by side: if nothing goes wrong, by chance, and in the worst case.

Values are in the user's sign. Nothing is measured: all of it follows from the model that was learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stableopt.campaign.show import table
from stableopt.loop.answers import KEPT, readable

REPORTED, NOMINAL, TRIED = "reported", "nominal optimum", "tried"
_SHOWN = 8  # rows of a printed table
_NUMBERS = 6  # columns of it


class ComparedDecision(NamedTuple):
    """One decision as the model expects it; only ``guaranteed`` is a bound."""

    what: str
    """"reported", "nominal optimum" or "tried"."""
    decision: Any
    nominal: float
    """If nothing is perturbed; in the worst environment, where there is one."""
    mean: float
    """On average over the perturbations."""
    quantile: float
    """What is missed in 5 % of all cases only."""
    cvar: float
    """On average over the worst 5 % of all cases (conditional value at risk)."""
    worst: float
    """In the worst case."""
    guaranteed: float
    """The bound on the worst case."""
    limits: str = ""
    """With constraints: whether it "keeps all limits", "may break a limit" or "breaks a limit" in the worst case."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Decisions side by side: the reported one, the nominal optimum, then those tried, the best worst case first."""

    rows: tuple[ComparedDecision, ...]
    perturbation: str
    """How perturbations are distributed, in words."""
    share: float
    """Of which share of all cases ``quantile`` and ``cvar`` are."""
    sign: int
    steps: tuple[float, ...] = ()
    """How finely decisions are shown (`Columns.steps`)."""
    left: bool = False
    """Whether the nominal optimum can turn into settings that failed, and the reported one cannot."""

    def __iter__(self) -> Iterator[ComparedDecision]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> ComparedDecision:
        return self.rows[i]

    @property
    def words(self) -> str:
        """What robustness costs here, in a sentence."""
        own, nominal = self.rows[0], self.rows[1]
        price, gain = (self.sign * (a - b) for a, b in ((nominal.nominal, own.nominal), (own.worst, nominal.worst)))
        scale = 1e-3 * max(abs(nominal.nominal), abs(nominal.nominal - nominal.worst), 1e-300)
        same = own.limits == nominal.limits
        if same and own.limits not in ("", KEPT[0]):
            return f"the decision {own.limits} in the worst case, as does what is best if nothing goes wrong"
        if price <= scale and gain <= scale and same:
            return (
                f"robustness costs nothing here: what is best if nothing goes wrong ({nominal.nominal:.4g}) is robust"
            )
        cost = "nothing" if price <= scale else f"{price:.3g} if nothing goes wrong"
        ends = f"{nominal.nominal:.4g} to {own.nominal:.4g}"
        if not same:
            other = f"what is best if nothing goes wrong {nominal.limits}"
            return f"robustness costs {cost} (from {ends}); the decision {own.limits} in the worst case, {other}"
        worst = f"{nominal.worst:.4g} to {own.worst:.4g}"
        if gain >= 0:
            return f"robustness costs {cost} (from {ends}), and makes the worst case {gain:.3g} better (from {worst})"
        surer = f"{nominal.guaranteed:.4g} to {own.guaranteed:.4g}"
        lost = f"{cost} (from {ends}) and {-gain:.3g} of the worst case that is expected (from {worst})"
        if self.left:
            return f"what failed costs {lost}: what is best if nothing goes wrong can turn into settings that failed"
        return f"robustness costs {lost}, for a better guarantee (from {surer})"

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame, with a column for every variable of the decision."""
        from stableopt.campaign.tables import frame

        rows = [{"what": row.what, **_columns(row.decision), **_numbers(row)} for row in self.rows]
        return frame([row | self._limits(r, "limits") for row, r in zip(rows, self.rows, strict=True)])

    def _limits(self, row: ComparedDecision, name: str) -> dict[str, str]:
        """The column of limits, where there are any."""
        return {name: row.limits} if self.rows[0].limits else {}

    def _cells(self, count: int) -> list[tuple[Any, ...]]:
        return [
            (row.what, *_numbers(row).values(), *self._limits(row, "").values(), readable(row.decision, self.steps))
            for row in self.rows[:count]
        ]

    def _header(self) -> tuple[str, ...]:
        at = f"{self.share:.3g}"
        limits = self._limits(self.rows[0], "limits")
        return ("", "nominal", "mean", f"quantile {at}", f"CVaR {at}", "worst", "guaranteed", *limits, "decision")

    def __repr__(self) -> str:
        return f"Comparison({len(self.rows)} decisions: {self.words})"

    def __str__(self) -> str:
        lines = [self.words, f"perturbations: {self.perturbation}"]
        for what, *cells in (self._header(), *self._cells(_SHOWN)):
            shown = [c if isinstance(c, str) else f"{c:.4g}" for c in cells]
            padded = [f"{c:<{15 if i < _NUMBERS else 19}}" for i, c in enumerate(shown[:-1])]
            lines.append(f"{what:<17}" + "".join(padded) + shown[-1])
        if len(self.rows) > _SHOWN:
            lines.append(f"{len(self.rows) - _SHOWN} more that were tried: iterate, or to_dataframe()")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The rows as a table, for notebooks."""
        return table(self._header(), self._cells(len(self.rows)), f"{self.words} ({self.perturbation})")


def _numbers(row: ComparedDecision) -> dict[str, float]:
    return {name: getattr(row, name) for name in ("nominal", "mean", "quantile", "cvar", "worst", "guaranteed")}


def _columns(decision: Any) -> dict[str, Any]:
    if isinstance(decision, dict):
        return decision
    values = np.atleast_1d(np.asarray(decision, dtype=object)).tolist()
    return {f"x{i}": v for i, v in enumerate(values)}
