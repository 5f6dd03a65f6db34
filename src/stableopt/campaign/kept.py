"""What an answer says of constraints: whether all limits are kept, and how far each quantity stays inside its own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stableopt.base.arrays import Array
from stableopt.campaign.health import Health, health_of
from stableopt.loop.answers import Report, readable
from stableopt.loop.outputs import Limited, Margin
from stableopt.loop.state import State
from stableopt.maxmin.solver import Index

_WORDS = {
    "certified": "certified: all limits hold for every perturbation",
    "likely": "likely: all limits are expected to hold for every perturbation, but that is not guaranteed yet",
    "unknown": "unknown: this decision comes closest to keeping all limits, as far as is known, but some may be broken",
    "impossible": "impossible: no decision can keep all limits; this one comes closest",
}
_OFTEN = 0.8  # a constraint that is measured in a smaller share of the evaluations deserves a remark
_AUDITED = {
    "unknown": "unknown: some limit may be broken",
    "impossible": "impossible: some limit is broken for certain",
}


class Limit(NamedTuple):
    """The limits of a quantity; None where there is none."""

    name: str
    lower: float | None = None
    upper: float | None = None

    @classmethod
    def of(cls, limited: Limited) -> Limit:
        """The limits of a constraint that something is known of."""
        ends = {side.sign: side.limit for side in limited.sides}
        return cls(limited.name, ends.get(1.0), ends.get(-1.0))


class Kept(ABC):
    """An answer with constraints."""

    numbers: Sequence[int] = ()
    """The number of the trial behind each round, as a campaign numbers them; empty: as they were told."""

    @property
    @abstractmethod
    def report(self) -> Report:
        """The optimiser's own report."""

    @property
    @abstractmethod
    def state(self) -> State:
        """All that was known."""

    @property
    @abstractmethod
    def health(self) -> Health:
        """How far the model of the value can be trusted."""

    @property
    def feasible(self) -> str | None:
        """Whether the decision keeps all limits: "certified", "likely", "unknown" or "impossible" (for any decision).

        None without constraints.
        """
        return self.report.feasible

    @property
    def constraints(self) -> dict[str, Margin]:
        """What is known of each constraint at the decision: bounds on its worst value, where, and on the margin."""
        return {known.name: known for known in self.report.constraints}

    @property
    def healths(self) -> dict[str, Health]:
        """How far the model of each constraint can be trusted."""
        setting, rounds = self.state.setting, self.state.rounds
        return {k.name: health_of(setting, k.output, k.rounds(rounds), self.numbers) for k in self.state.constraints}


def doubted(answer: Kept) -> Health:
    """The first of the models behind an answer that cannot be trusted; that of the value if all can."""
    return next((known for known in (answer.health, *answer.healths.values()) if not known.trusted), answer.health)


def audited(state: State[Index], decision: Index) -> tuple[str, tuple[Margin, ...]]:
    """Whether a decision that is given keeps all limits, and what is known of each; other decisions do not count."""
    known = state.limits.known_of(decision)
    return "impossible" if any(k.margin[1] < 0 for k in known) else state.limits.feasible(decision), known


def lines(answer: Kept, audit: bool = False) -> list[tuple[str, str]]:
    """What a person should know of the constraints of an answer; nothing where there are none."""
    if answer.feasible is None:
        return []
    words = _WORDS | _AUDITED if audit else _WORDS
    limits = [Limit.of(limited) for limited in answer.state.constraints]
    known = answer.constraints
    doubts = [(name, health.words) for name, health in answer.healths.items() if not health.trusted]
    said = words[answer.feasible]
    if answer.feasible == "unknown" and not audit and any(margin.margin[1] < 0 for margin in known.values()):
        said = "unknown: this decision breaks a limit, but others may keep all of them"
    if doubts and answer.feasible in ("certified", "impossible"):  # a promise that rests on models in doubt
        said = said.replace(": ", ", if the models were right: ", 1)
    return [
        ("limits", said),
        *(("", sentence(limit, known[limit.name], answer.state.setting.columns.steps)) for limit in limits),
        *(("", f"the model of {name}: {doubt}") for name, doubt in doubts),
        *(("", text) for text in _missing(answer.state)),
    ]


def _missing(state: State[Index]) -> list[str]:
    """Which constraints could often not be measured: what is said of them rests on the other evaluations."""
    counts = [(k.name, k.output.t) for k in state.constraints]
    return [f"{name} was measured in {t} of {state.t} evaluations" for name, t in counts if 0 < t < _OFTEN * state.t]


def ranks(state: State[Index], decisions: Sequence[Index]) -> list[int]:
    """0 where a decision is guaranteed to keep all limits, 2 where it breaks one for sure, else 1: as in `KEPT`."""
    return [{True: 0, None: 1, False: 2}[kept] for kept in state.limits.kept(decisions)]


def sentence(limit: Limit, known: Margin, steps: Sequence[float] = ()) -> str:
    """A constraint in plain words, such as: stress stays below 13.2 (limit 14, margin 0.8), worst at x = 0.3."""
    low, high = known.margin
    at = f"worst at {readable(known.point, steps)}"
    if math.isinf(low):
        return f"{limit.name} was never measured ({_limits(limit)})"
    if low >= 0:
        return f"{limit.name} stays {_inside(limit, known)} ({_limits(limit)}, margin {low:.2g}), {at}"
    worst, bounds = _worst(limit, known)
    if high < 0:
        surely, _ = _worst(limit, known, certain=True)
        at = f", {at}" if surely == worst else ""  # it is where the other limit may be broken
        return f"{limit.name} goes {surely} ({_limits(limit)}), by {-high:.4g} or more{at}"
    return f"{limit.name} may go {worst} ({_limits(limit)}): its worst value is between {bounds}, {at}"


def _limits(limit: Limit) -> str:
    ends = [f"{end:.6g}" for end in (limit.lower, limit.upper) if end is not None]
    return f"limit {ends[0]}" if len(ends) == 1 else f"limits {' and '.join(ends)}"


def _inside(limit: Limit, known: Margin) -> str:
    if limit.upper is None:
        return f"above {known.lowest[0]:.5g}"
    if limit.lower is None:
        return f"below {known.highest[1]:.5g}"
    return f"between {known.lowest[0]:.5g} and {known.highest[1]:.5g}"


def _worst(limit: Limit, known: Margin, certain: bool = False) -> tuple[str, str]:
    """The side on which a limit may be broken furthest, or is for certain, and the bounds on the worst value there."""
    high, low = (known.highest[0], known.lowest[1]) if certain else (known.highest[1], known.lowest[0])
    above = -math.inf if limit.upper is None else high - limit.upper
    below = -math.inf if limit.lower is None else limit.lower - low
    end, bounds = ("above", known.highest) if above >= below else ("below", known.lowest)
    edge = limit.upper if above >= below else limit.lower
    return f"{end} {edge:.6g}", f"{bounds[0]:.4g} and {bounds[1]:.4g}"


def plain(known: Mapping[str, Margin]) -> dict[str, dict[str, object]]:
    """Constraints ready for JSON; None where there is no such limit."""
    return {
        name: {
            "lowest": _ends(margin.lowest),
            "highest": _ends(margin.highest),
            "margin": _ends(margin.margin),
            "at": margin.point,
        }
        for name, margin in known.items()
    }


def _ends(ends: tuple[float, float]) -> list[float | None] | None:
    return None if math.isnan(ends[0]) else [end if math.isfinite(end) else None for end in ends]


def moments(state: State[Index], number: int, points: Sequence[Index]) -> tuple[Array, Array]:
    """Posterior mean and variance of a constraint at these points, (n,) each."""
    posterior = state.constraints[number].output.known
    if posterior is None:
        raise ValueError(f"nothing is known of {state.constraints[number].name} yet: it was never measured")
    return posterior.moments(points)


def margins(state: State[Index], number: int, decisions: Sequence[Index]) -> list[Margin]:
    """What is known of the limits of a constraint at these decisions."""
    return [state.limits.known_of(decision)[number] for decision in decisions]
