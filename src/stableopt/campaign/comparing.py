"""How decisions are compared: what the model expects without a perturbation, at random ones, and at the worst one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import is_number, whole
from stableopt.base.threads import threads_for
from stableopt.campaign.comparison import NOMINAL, REPORTED, TRIED, ComparedDecision, Comparison
from stableopt.campaign.kept import ranks
from stableopt.loop.answers import KEPT
from stableopt.loop.outputs import valued
from stableopt.loop.perturbing import Chance, draws
from stableopt.loop.state import State
from stableopt.loop.tolerances import quiet
from stableopt.maxmin.solver import Hints


def check(state: State, chance: Chance, share: float) -> None:
    """Raise ValueError where the question has no answer, before anything is searched for it."""
    if not is_number(share) or not 0 < share < 1:
        raise ValueError(f"expected share=... as a number between 0 and 1, such as 0.05, got {share!r:.80}")
    whole(chance.samples, 1, "samples as a whole number of at least 1")
    if not state.objective.t:
        raise ValueError("nothing to compare yet: tell at least one value first")
    draws(state.setting, state.tried()[0], chance)


def compared(state: State, reported: Any, chance: Chance, share: float, sign: int) -> Comparison:
    """The reported decision (by its index), the nominal optimum and every tried one."""
    with threads_for(state.t):
        nominal = _nominal(state)
        others = [d for d in dict.fromkeys(state.tried()) if d not in (reported, nominal)]
        decisions = [reported, nominal, *others]
        names = [REPORTED, NOMINAL, *[TRIED] * len(others)]
        rows = _rows(state, decisions, names, (chance, share, sign))
        if state.constraints:
            kept = ranks(state, decisions)
            rows = [row._replace(limits=KEPT[rank]) for row, rank in zip(rows, kept, strict=True)]
    best = sorted(rows[2:], key=lambda row: (KEPT.index(row.limits) if row.limits else 0, -sign * row.worst))
    left = bool(state.failing) and state.avoids(reported, state.failing) and not state.avoids(nominal, state.failing)
    return Comparison((*rows[:2], *best), chance.words, float(share), sign, state.setting.columns.steps, left)


def _nominal(state: State) -> Any:
    """The best decision if nothing is perturbed, as the model expects it: of those that then keep all limits."""
    mean = state.posterior.bound(0.0)
    hints, limits = _hints(state, state.tried()), state.limits.margins("mean") if state.constraints else ()
    try:
        with quiet():
            return state.setting.rescaled(0.0).solver(state.t).maximin(mean, hints, limits).decision
    except ValueError:  # a set of one's own has no size
        return state.decision_of(state.setting.peak(mean, hints))


def _hints(state: State, decisions: Sequence[Any]) -> Hints[Any]:
    best, rounds = list(dict.fromkeys(decisions))[-32:], valued(state.rounds)
    return Hints(best, [r.point_index for r in rounds], [r.y for r in rounds])


def _rows(
    state: State, decisions: Sequence[Any], names: Sequence[str], how: tuple[Chance, float, int]
) -> list[ComparedDecision]:
    chance, share, sign = how
    mean, setting = state.posterior.bound(0.0), state.setting
    hints = _hints(state, ())
    worst = [choice.value for choice in setting.solver(state.t).minima(decisions, mean, hints)]
    lower = state.bounds_of(decisions)[0]
    found = []
    for name, decision, least, bound in zip(names, decisions, worst, lower.tolist(), strict=True):
        home = setting.home(decision, mean, hints)
        nominal = float(state.moments([home])[0][0])
        values = np.sort(state.moments(draws(setting, decision, chance))[0])
        tail, least = _tail(values, share), min(least, float(values[0]), nominal) if chance.inside else least
        numbers = nominal, float(values.mean()), float(np.quantile(values, share)), tail, least, min(bound, least)
        seen, (a, b, c, d, e, f) = setting.translation.decision(decision), (sign * n for n in numbers)
        found.append(ComparedDecision(name, seen, a, b, c, d, e, f))
    return found


def _tail(values: Array, share: float) -> float:
    """The mean of the smallest values, as many as the share says: of the last one, only a part may count."""
    weights = np.clip(share * len(values) - np.arange(len(values)), 0.0, 1.0)
    return float(weights @ values / weights.sum())
