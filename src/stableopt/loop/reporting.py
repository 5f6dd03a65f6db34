"""Which decision to use now, and what is known of its worst case: a pure function of the state."""

from __future__ import annotations

import numpy as np

from stableopt.loop.answers import Report
from stableopt.loop.rules import ReportingRule
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index

_OTHERS = 256  # decisions that nobody tried, where those that a rule would report can reach what failed


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

    If it can reach a point that failed: the safest decision that cannot, of those tried and, without constraints, of
    many others.
    """
    if state.objective.t == 0:
        raise ValueError("nothing to report yet: tell at least one value first")
    decision = _checked(rule, state, rule.choose(state))
    if not state.setting.allows(decision):
        decision = state.safest(tried=True)
    if not state.failing or state.avoids(decision, state.failing):
        return decision
    some = dict.fromkeys([*state.tried(), *(r.decision_index for r in state.rounds)])
    if not state.constraints:
        points = state.setting.candidates()
        some |= dict.fromkeys(map(state.decision_of, points[:: max(1, len(points) // _OTHERS)]))
    good = [d for d in some if state.avoids(d, state.failing) and state.setting.allows(d)]
    if state.constraints:
        kept = [d for d in good if state.feasible(d) == "certified"]
        good = kept or sorted(good, key=lambda d: state.limits.smallest(d, "lower"))[-1:]
    return good[int(np.argmax(state.bounds_of(good)[0]))] if good else decision


def _checked(rule: ReportingRule, state: State[Index], decision: Index) -> Index:
    """What a rule chose, checked: it may be a user's own."""
    try:
        return state.setting.translation.canonical(Choice(decision, state.rounds[0].point_index)).decision
    except (TypeError, ValueError) as error:
        where = f"{type(rule).__name__}.choose"
        raise ValueError(
            f"expected {where} to return the index of a decision, got {decision!r:.200}: {error}"
        ) from None
