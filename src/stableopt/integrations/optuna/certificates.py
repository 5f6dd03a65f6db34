"""What is promised of a decision, as plain numbers: they are stored with trials and studies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from stableopt.loop.answers import Report, readable
from stableopt.loop.runs import plain


class Certificate(NamedTuple):
    """The decision to use, the bounds on its worst case, and how much better another one can be at most."""

    decision: Mapping[str, Any]
    worst_point: Mapping[str, Any]
    """Where the decision may be worst."""
    lower: float
    """Lower bound on its worst-case value; where small values are good, that is the largest one."""
    upper: float
    optimum: float
    """What the worst case of no decision can surpass."""
    regret: float
    how: str
    """"exact", "proved", "searched: independent starts agree" or "searched"."""
    values: int
    """From how many values it was computed."""
    feasible: str | None = None
    """Whether it keeps all constraints: "certified", "likely", "unknown", "impossible"; None: there are none."""

    @classmethod
    def of(cls, report: Report, sign: int) -> Certificate:
        """The certificate of a report, which maximises ``sign`` times the values."""
        agreed = "searched: independent starts agree"
        how = "exact" if report.exact else "proved" if report.proved else agreed if report.settled else "searched"
        lower, upper = sorted((sign * report.lower, sign * report.upper))
        known = sign * report.optimum_upper, report.regret_bound, how, report.t, report.feasible
        return cls(report.decision, report.worst_point, lower, upper, *known)

    @property
    def data(self) -> dict[str, Any]:
        """All of it as JSON has it; None where a bound is not finite."""
        return {
            "decision": plain(self.decision),
            "worst point": plain(self.worst_point),
            "worst case": [finite(self.lower), finite(self.upper)],
            "optimum": finite(self.optimum),
            "regret": finite(self.regret),
            "how": self.how,
            "values": self.values,
            **({} if self.feasible is None else {"limits": self.feasible}),
        }

    def __str__(self) -> str:
        worst = f"worst case between {self.lower:.4g} and {self.upper:.4g}"
        better = f"at most {self.regret:.4g} from the best one ({self.how}, from {self.values} values)"
        limits = "" if self.feasible is None else f", limits: {self.feasible}"
        return f"{readable(self.decision)}: {worst}, {better}{limits}"


def finite(number: float) -> float | None:
    """A number that JSON can hold."""
    return float(number) if math.isfinite(number) else None
