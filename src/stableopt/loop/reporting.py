"""Which decision to use now, and what is known of its worst case: a pure function of the state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stableopt.loop.answers import Report
from stableopt.loop.rules import ReportingRule
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index

# Where the decision that a rule would report can reach what failed:
_OTHERS = 256  # decisions that nobody tried
_AROUND = 8  # of the last ones that were tried, the surroundings


def report(state: State[Index], rule: ReportingRule) -> Report[Index]:
    """The decision that the rule chooses, with the bounds on its worst case."""
    decision, translation = reported_decision(state, rule), state.setting.translation
    left = bool(state.failing) and not state.avoids(_checked(rule, state, rule.choose(state)), state.failing)
    worst, upper, optimum = state.certificate(decision)
    found = not rule.guarantees or bool(state.constraints) or state.guaranteed.agreed
    return Report(
        state.t,
        translation.decision(decision),
        translation.point(worst.point),
        worst.value,
        upper,
        optimum.value,
        worst.exact and optimum.exact,
        optimum.gap,
        optimum.agreed and found,
        state.intersected is not None and state.intersected.contradictory,
        decision,
        worst.point,
        feasible=state.feasible(decision),
        constraints=state.limits.known_of(decision) if state.constraints else (),
        left=left,
    )


def reported_decision(state: State[Index], rule: ReportingRule) -> Index:
    """The rule's decision, or the safest one if that is not allowed.

    If it can reach a point that failed, or what is closest to one: the safest decision that cannot, of those tried, of
    their surroundings and of a spread of others.
    """
    if state.objective.t == 0:
        raise ValueError("nothing to report yet: tell at least one value first")
    decision = _checked(rule, state, rule.choose(state))
    if not state.setting.allows(decision):
        decision = state.safest(tried=True)
    if not state.failing or state.avoids(decision, state.failing):
        return decision
    setting = state.setting
    tried = list(dict.fromkeys([*(r.decision_index for r in state.rounds), *state.tried()]))
    spread = setting.candidates()
    points = [z for d in (decision, *tried[-_AROUND:]) for z in setting.candidates(d)]
    others = map(state.decision_of, [*points, *spread[:: max(1, len(spread) // _OTHERS)]])
    good = [d for d in dict.fromkeys([*tried, *others]) if state.avoids(d, state.failing) and setting.allows(d)]
    return _safest(state, good) if good else decision


def _safest(state: State[Index], decisions: Sequence[Index]) -> Index:
    """The best guarantee of these decisions; with constraints, of those that are certified, if there are any."""
    if state.constraints:
        margins = state.limits.smallest_of(decisions, "lower")
        kept = [d for d, margin in zip(decisions, margins.tolist(), strict=True) if margin >= 0]
        lower = state.bounds_of(kept)[0] if kept else np.empty(0)
        certified = (kept[i] for i in np.argsort(-lower, kind="stable") if state.feasible(kept[i]) == "certified")
        return next(certified, decisions[int(np.argmax(margins))])
    return decisions[int(np.argmax(state.bounds_of(decisions)[0]))]


def _checked(rule: ReportingRule, state: State[Index], decision: Index) -> Index:
    """What a rule chose, checked: it may be a user's own."""
    try:
        return state.setting.translation.canonical(Choice(decision, state.rounds[0].point_index)).decision
    except (TypeError, ValueError) as error:
        where = f"{type(rule).__name__}.choose"
        raise ValueError(
            f"expected {where} to return the index of a decision, got {decision!r:.200}: {error}"
        ) from None
