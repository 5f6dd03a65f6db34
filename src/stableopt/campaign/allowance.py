"""How much tolerance a specification allows: up to which factor it is guaranteed, and up to which it is possible.

Values are in the user's sign. Nothing is measured: all of it follows from the model that was learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stableopt.base.checks import is_number
from stableopt.campaign.show import table
from stableopt.loop.answers import readable


class Factors(NamedTuple):
    """Up to which factors of a tolerance a specification holds; None: not even without any perturbation."""

    guaranteed: float | None
    """Up to here the worst case keeps it for certain, as far as the model is right."""
    possible: float | None
    """From here on the worst case misses it for certain."""


class Share(NamedTuple):
    """What one tolerance may grow to, as factors of it."""

    name: str
    others_as_given: Factors
    """While all others are as large as given."""
    others_exact: Factors
    """While all others are 0."""
    limit: float
    """The factor at which it is as wide as its range, or reaches all of a list: it cannot grow further."""


class Level(NamedTuple):
    """The bounds on the worst case within a factor of the tolerance."""

    factor: float
    guaranteed: float
    possible: float


@dataclass(frozen=True, repr=False)
class Allowance:
    """How much of its tolerance a decision can afford; `stableopt.plots.allowance` draws it.

    A factor equal to ``limit`` says: at least that much, since the tolerance cannot grow further.
    """

    decision: Any
    specification: float
    """What the value must be at least, or at most if small values are good."""
    sign: int
    factors: Factors
    """Of all tolerances together."""
    shares: tuple[Share, ...]
    """Of each tolerance by itself."""
    curve: tuple[Level, ...]
    """The worst case within more and more of the tolerance, from 0 on."""
    limit: float
    """The largest factor that was considered: there, a tolerance is as wide as its range, or reaches all of a list."""
    exact: bool
    """Whether worst cases come from exact solutions, not from searches."""
    steps: tuple[float, ...] = ()
    """How finely decisions are shown (`Columns.steps`)."""
    of: str | None = None
    """The constraint that it is about; None: the value."""
    label: str = "value"
    """What the value is called, or the constraint."""
    doubt: str = ""
    """Why the model behind it cannot be trusted, if it cannot."""

    @property
    def words(self) -> str:
        """The answer in a sentence or two."""
        low, high = self.factors
        goal = f"{'' if self.of is None else f'{self.of} '}{self._must} {self.specification:.4g}"
        goal = f"if the model were right, {goal}" if self.doubt else goal
        if high is None:
            return f"{goal} is out of reach for this decision: it is missed even if nothing is perturbed"
        beyond = f"possible up to {self._times(high, self.limit)}"
        if low is None:
            return f"{goal} is not guaranteed even if nothing is perturbed, and {beyond}"
        return f"{goal} is guaranteed up to {self._times(low, self.limit)} the tolerance, and {beyond}"

    @property
    def _must(self) -> str:
        return "at least" if self.sign > 0 else "at most"

    @staticmethod
    def _times(factor: float, limit: float) -> str:
        return f"{factor:.4g} times{' (all that fits)' if factor >= limit else ''}"

    def _cell(self, factor: float | None, limit: float) -> str:
        return "never" if factor is None else f"{'≥ ' if factor >= limit else ''}{factor:.4g}×"

    def _rows(self) -> list[tuple[str, ...]]:
        """A row for all tolerances together, then one for each: guaranteed and possible, the others as given and 0."""
        together = [self._cell(f, self.limit) for f in self.factors]
        if len(self.shares) == 1:  # there are no others
            return [(self.shares[0].name, *together, "", "")]
        cells = [("all together", *together, "", "")]
        for share in self.shares:
            both = (*share.others_as_given, *share.others_exact)
            cells.append((share.name, *(self._cell(f, share.limit) for f in both)))
        return cells

    def _how(self) -> str:
        return "exact" if self.exact else "searched, not proved"

    def __repr__(self) -> str:
        return f"Allowance({readable(self.decision, self.steps)}: {self.words})"

    def __str__(self) -> str:
        rows = self._rows()
        width = max(len("tolerance"), *(len(row[0]) for row in rows)) + 2
        lines = [
            f"{'decision':<{width}}{readable(self.decision, self.steps)}",
            f"{'answer':<{width}}{self.words} ({self._how()})",
            *([f"{'model':<{width}}{self.doubt}"] if self.doubt else []),
        ]
        several = len(rows) > 1
        if several:
            lines.append(f"{'':<{width}}{'the others as given':<24}the others 0")
        header = ("tolerance", *("guaranteed", "possible") * (1 + several))
        lines += [f"{name:<{width}}" + "".join(f"{c:<12}" for c in cells).rstrip() for name, *cells in (header, *rows)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The numbers that matter as two tables, for notebooks."""
        about = [("decision", readable(self.decision, self.steps)), ("answer", self.words), ("bounds", self._how())]
        about += [("model", self.doubt)] if self.doubt else []
        header = ("tolerance", "guaranteed", "possible", "guaranteed, the others 0", "possible, the others 0")
        return table((), about, "Allowance") + table(header, self._rows(), "Factors of the tolerance")


def specification(at_least: Any, at_most: Any, sign: int) -> float:
    """The one limit that is meant; the other one is refused, since the worst case has one side."""
    given, other = (at_least, at_most) if sign > 0 else (at_most, at_least)
    name, better = ("at_least", "large") if sign > 0 else ("at_most", "small")
    if other is not None or not is_number(given):
        got = f"at_least={at_least!r:.80}, at_most={at_most!r:.80}"
        raise ValueError(f"expected {name}=... as a number, since {better} values are good here, got {got}")
    return float(given)
