"""Which decision to use now, and what is known of its worst case: a pure function of the state."""

from __future__ import annotations

import numpy as np

from stableopt.loop.answers import Report
from stableopt.loop.rules import ReportingRule
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index


def report(state: State[Index], rule: ReportingRule) -> Report[Index]:
    """The decision that the rule chooses, with the bounds on its worst case."""
    decision, translation = reported_decision(state, rule), state.setting.translation
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
    )


def reported_decision(state: State[Index], rule: ReportingRule) -> Index:
    """The rule's decision, or the safest one if that is not allowed.

    If it can reach a point that failed: the safest tried decision that cannot.
    """
    if state.objective.t == 0:
        raise ValueError("nothing to report yet: tell at least one value first")
    decision = _checked(rule, state, rule.choose(state))
    if not state.setting.allows(decision):
        decision = state.safest(tried=True)
    failed = [r.point_index for r in state.failures]
    if not failed or state.avoids(decision, failed):
        return decision
    tried = dict.fromkeys([*state.tried(), *(r.decision_index for r in state.rounds)])
    good = [d for d in tried if state.avoids(d, failed) and state.setting.allows(d)]
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
