"""Rules that attack a decision: measure it where it may be worst, and report it only if it withstands.

An audit attacks one decision that is given. A search may end by attacking the decision that it would report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.reporting import reported_decision
from stableopt.loop.rules import Algorithm, ReportingRule, SamplingRule, doubtful
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index


def _index(value: Any) -> Any:
    """An index as JSON may have changed it: a row of coordinates comes back as a list."""
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, eq=False)
class Given(ReportingRule):
    """Always the same decision, whatever was measured: that of an audit."""

    decision: Any
    """Its index."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decision", _index(self.decision))

    def choose(self, state: State[Index]) -> Index:
        decision: Index = self.decision
        return decision


@dataclass(frozen=True, eq=False)
class Attack(SamplingRule):
    """The decision that would be reported, measured where its lcb is smallest: Algorithm 1 without its line 2.

    With constraints, where it may break a limit, if less is known there.
    """

    reporting: ReportingRule
    explores = False

    def begin(self, state: State[Index], number: int) -> Choice[Index]:
        """Points of A(decision), each as far as possible from those before it."""
        decision = self.reporting.choose(state)
        own = state.setting.candidates(decision)
        return Choice(decision, own[_apart(state.setting.inputs(own, scaled=True), number)])

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        known = state.objective.t > 0  # an audit with a model that is given may have no value yet
        return doubtful(state, reported_decision(state, self.reporting) if known else self.reporting.choose(state))


@dataclass(frozen=True, eq=False)
class Confirmed(ReportingRule):
    """Of the decisions that were attacked the safest one, unless another one is better for certain.

    With constraints, of those that are guaranteed to keep all limits; if none of them is, what is reported otherwise.
    """

    attacked: Sequence[Any]
    """Their indices."""
    otherwise: ReportingRule
    """The rule that says which other one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attacked", tuple(map(_index, self.attacked)))

    @property
    def guarantees(self) -> bool:
        return self.otherwise.guarantees

    def choose(self, state: State[Index]) -> Index:
        last = reported_decision(state, self.otherwise)
        kept: list[Index] = [d for d in dict.fromkeys((*self.attacked, last)) if _keeps_limits(state, d)]
        mine = [i for i, d in enumerate(kept) if d in self.attacked]
        if not mine:
            return last
        lower, upper = state.bounds_of(kept)
        best = max(mine, key=lambda i: float(lower[i]))
        return last if kept[-1] == last and lower[-1] > upper[best] else kept[best]


def _keeps_limits(state: State[Index], decision: Index) -> bool:
    """Whether a decision is guaranteed to keep all limits, if there are any."""
    return not state.constraints or state.limits.feasible(decision) == "certified"


def attacking(reporting: ReportingRule) -> Algorithm:
    """The algorithm that attacks what a rule reports."""
    return Algorithm("attack", Attack(reporting), reporting)


def _apart(X: Array, number: int) -> int:
    """Which row comes at this number, from 0, if each is the farthest from those before it; then they repeat."""
    chosen = [0]
    away = np.full(len(X), np.inf)
    while len(chosen) <= number % len(X):
        away = np.minimum(away, np.linalg.norm(X - X[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(away)))
    return chosen[number % len(X)]
