"""The critical radius: the decision that keeps a specification under the largest multiple of the tolerance.

R_F(d) is the largest factor r with min over A_r(d) of F at least v. Sampling is optimistic about the decision, the
largest R_ucb, and pessimistic about where to measure it: within so many times the tolerance, where its lcb is smallest.
For this tolerance it is Algorithm 1. Where lcb falls below v first would be next to what is known already: the known
part would grow by small steps, also that of a decision which is good for nothing further out.

Reported is the best guarantee within the largest factor that any decision is expected to keep, max over d of R_μ(d).
The largest R_lcb would be that of a decision which few measurements happen to surround: one point with an lcb below v
ends it. Limits of constraints are part of the specification: R is up to where the first of all these goals is missed.

Factors are found by climbing: of the decision at hand, R is known from searches for its worst case alone. If no other
keeps v a little beyond, it is the best one. Else the one that keeps it there with the largest margin takes its place.
Each step is one max-min at another tolerance, and few are needed. On lists the answer is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

from stableopt.base.checks import is_number
from stableopt.loop.functions import affine, at
from stableopt.loop.outputs import Level, valued
from stableopt.loop.rules import ReportingRule, SamplingRule
from stableopt.loop.state import State
from stableopt.loop.tolerances import Crossing, Falling, crossing, largest_factor, quiet
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


Goals = Sequence[object]
"""Functions of points that must all be 0 or more: F − v, and the margins of constraints."""


def goals(state: State[Index], at_least: float, level: Level) -> Goals:
    """What must be 0 or more, by this bound: the value above the specification, and all limits.

    With a warp they are those of latent values, as margins are.
    """
    certify, explore = math.sqrt(state.beta), math.sqrt(state.explore)
    c = {"lower": -certify, "mean": 0.0, "upper": certify, "exploring": explore}[level]
    F = state.posterior.latent_bound(c)
    at_least = float(state.belief.latent_values(at_least)[0])
    if not state.constraints:
        return [affine(F, 1.0, -at_least)]
    scale = state.scale(state.objective)  # as margins are in units of their priors, too
    return [affine(F, 1.0 / scale, -at_least / scale), *state.limits.margins(level)]


def radius(state: State[Index], aims: Goals) -> Radius[Index]:
    """The decision with the largest R, among all; without any, the one that comes closest if nothing is perturbed."""
    decision = next((r.decision_index for r in reversed(state.rounds) if r.asked), None)
    best: Radius[Index] | None = None
    if decision is None or min(g(0.0) for g in falling(state, decision, aims)) < 0:
        still = _best_at(state, 0.0, aims, [])
        if still.value < 0:
            return Radius(still.decision, None, 0.0)
        decision = still.decision
    met: list[Index] = []
    for _ in range(_CLIMBS):
        met.append(decision)
        holds, fails = reach(state, decision, aims)
        reached = -1.0 if holds is None else holds
        if best is None or reached > (best.holds or 0.0):
            best = Radius(decision, holds, fails)
        if fails is None:
            return best
        beyond = max(fails, best.fails or 0.0) * (1 + (_SEARCHED if state.setting.takes_hints else _LISTED))
        try:
            found = _best_at(state, beyond, aims, met)
        except ValueError:  # wider than its range: nothing is beyond
            return best._replace(fails=None)
        if found.value < 0 or found.decision in met:
            return best._replace(fails=beyond)
        decision = found.decision
    assert best is not None
    return best


def falling(state: State[Index], decision: Index, aims: Goals) -> list[Falling[Index]]:
    """The worst case of each goal as a function of the factor of all tolerances."""
    return [Falling(state, decision, F, state.setting.uncertainty.scaled) for F in aims]


def reach(state: State[Index], decision: Index, aims: Goals) -> Crossing:
    """Between which factors a decision misses the first of its goals."""
    limit = largest_factor(state.setting, decision, state.setting.uncertainty.scaled)
    holds: float | None = limit
    fails = None
    for g in falling(state, decision, aims):
        # What is missed later than another one does not matter.
        own = crossing(g, 0.0, limit if fails is None else fails)
        holds = None if own.holds is None or holds is None else min(holds, own.holds)
        fails = fails if own.fails is None else own.fails
    return Crossing(holds, fails)


def _best_at(state: State[Index], factor: float, aims: Goals, met: list[Index]) -> Choice[Index]:
    """The decision whose goals are missed by least, or kept by most, within so many times the tolerance."""
    tried = list(dict.fromkeys([*met, *reversed(state.tried())]))[:32]
    rounds = valued(state.rounds)
    hints = Hints(tried, [r.point_index for r in rounds], [r.y for r in rounds])
    with quiet():
        solver = state.setting.rescaled(factor).solver(state.t)
        return solver.maximin(aims[0], hints) if len(aims) == 1 else solver.jointly(aims, hints)


@dataclass(frozen=True, eq=False)
class OptimisticFactor(SamplingRule):
    """The decision whose ucb stays at least ``at_least`` for the largest multiple of the tolerance.

    It is measured where its lcb is smallest within that multiple. With constraints there is such a place for each goal
    that is not guaranteed; the one that is least known is measured, in units of its prior.
    """

    at_least: float

    def __post_init__(self) -> None:
        _checked(self.at_least)

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        decision, factor, _ = radius(state, goals(state, self.at_least, "exploring"))
        certain, possible = (goals(state, self.at_least, level) for level in ("lower", "upper"))
        places = [g.worst(factor or 0.0) for g in falling(state, decision, certain)]
        widths = [at(F, place.point) - place.value for F, place in zip(possible, places, strict=True)]
        open_ = [i for i, place in enumerate(places) if place.value < 0] or range(len(places))
        return Choice(decision, places[max(open_, key=lambda i: widths[i])].point)


@dataclass(frozen=True, eq=False)
class LargestFactor(ReportingRule):
    """Of all decisions the one with the largest lcb within the largest multiple that any is expected to keep.

    Expected is what the posterior mean says. If no decision is expected to reach ``at_least`` even without a
    perturbation: the one with the largest lcb there.
    """

    at_least: float

    def __post_init__(self) -> None:
        _checked(self.at_least)

    def choose(self, state: State[Index]) -> Index:
        expected = radius(state, goals(state, self.at_least, "mean")).holds
        return _best_at(state, expected or 0.0, goals(state, self.at_least, "lower"), []).decision


def _checked(at_least: float) -> None:
    if not is_number(at_least):
        raise ValueError(f"expected at_least=... as a finite number, got {at_least!r:.80}")
