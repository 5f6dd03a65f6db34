"""The critical radius: the decision that keeps a specification under the largest multiple of the tolerance.

R_F(d) is the largest factor r with min over A_r(d) of F at least v. Sampling is optimistic about the decision, the
largest R_ucb, and pessimistic about where to measure it: where its lcb falls below v first. The decision with the
largest R_lcb is reported.

Both are found by climbing: of the decision at hand, R is known from searches for its worst case alone. If no decision
keeps v a little beyond, it is the best one. Else the one that keeps it there with the largest margin takes its place.
Each step is one max-min at another tolerance, and few are needed. On lists the answer is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, NamedTuple

from stableopt.base.checks import is_number
from stableopt.loop.rules import ReportingRule, SamplingRule
from stableopt.loop.state import State
from stableopt.loop.tolerances import Falling, crossing, largest_factor, quiet
from stableopt.maxmin.solver import Choice, Hints, Index

_SEARCHED, _LISTED = 1e-2, 1e-9  # how much further another decision must reach to take the place of one
_CLIMBS = 30  # decisions that take another one's place, at most


class Radius(NamedTuple, Generic[Index]):
    """The decision that reaches furthest, and how far that is."""

    decision: Index
    holds: float | None
    """Up to this factor it keeps the specification; None: no decision does, even if nothing is perturbed."""
    fails: float | None
    """From this factor on no decision was found that does; None: it does as far as the tolerance can grow."""


def radius(state: State[Index], F: object, v: float) -> Radius[Index]:
    """The decision with the largest R_F, among all; without any, the one with the largest F if nothing is perturbed."""
    decision = next((r.decision_index for r in reversed(state.rounds) if r.asked), None)
    best: Radius[Index] | None = None
    if decision is None or falling(state, decision, F)(0.0) < v:
        still = _best_at(state, 0.0, F, [])
        if still.value < v:
            return Radius(still.decision, None, 0.0)
        decision = still.decision
    met: list[Index] = []
    for _ in range(_CLIMBS):
        met.append(decision)
        limit = largest_factor(state.setting, decision, state.setting.uncertainty.scaled)
        holds, fails = crossing(falling(state, decision, F), v, limit)
        reached = -1.0 if holds is None else holds
        if best is None or reached > (best.holds or 0.0):
            best = Radius(decision, holds, fails)
        if fails is None:
            return best
        beyond = max(fails, best.fails or 0.0) * (1 + (_SEARCHED if state.setting.takes_hints else _LISTED))
        try:
            found = _best_at(state, beyond, F, met)
        except ValueError:  # wider than its range: nothing is beyond
            return best._replace(fails=None)
        if found.value < v or found.decision in met:
            return best._replace(fails=beyond)
        decision = found.decision
    assert best is not None
    return best


def falling(state: State[Index], decision: Index, F: object) -> Falling[Index]:
    """The worst case of a decision as a function of the factor of all tolerances."""
    return Falling(state, decision, F, state.setting.uncertainty.scaled)


def exploring(state: State[Index]) -> object:
    """ucb with the β that explores."""
    wide = state.explore >= state.beta
    return state.ucb if wide else state.posterior.exploring_bound(math.sqrt(state.explore))


def _best_at(state: State[Index], factor: float, F: object, met: list[Index]) -> Choice[Index]:
    """The decision with the best worst case within so many times the tolerance."""
    tried = list(dict.fromkeys([*met, *reversed(state.tried())]))[:32]
    hints = Hints(tried, [r.point_index for r in state.rounds], [r.y for r in state.rounds])
    with quiet():
        return state.setting.rescaled(factor).solver(state.t).maximin(F, hints)


@dataclass(frozen=True, eq=False)
class OptimisticFactor(SamplingRule):
    """The decision whose ucb stays at least ``at_least`` for the largest multiple of the tolerance.

    It is measured where its lcb falls below that first.
    """

    at_least: float

    def __post_init__(self) -> None:
        _checked(self.at_least)

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        decision = radius(state, exploring(state), self.at_least).decision
        g = falling(state, decision, state.lcb)
        limit = largest_factor(state.setting, decision, state.setting.uncertainty.scaled)
        fails = crossing(g, self.at_least, limit).fails
        return Choice(decision, g.worst(limit if fails is None else fails).point)


@dataclass(frozen=True, eq=False)
class LargestFactor(ReportingRule):
    """Of all decisions the one whose lcb stays at least ``at_least`` for the largest multiple of the tolerance.

    If none is known to reach it even without a perturbation: the one with the largest lcb there.
    """

    at_least: float

    def __post_init__(self) -> None:
        _checked(self.at_least)

    def choose(self, state: State[Index]) -> Index:
        return radius(state, state.lcb, self.at_least).decision


def _checked(at_least: float) -> None:
    if not is_number(at_least):
        raise ValueError(f"expected at_least=... as a finite number, got {at_least!r:.80}")
