"""How an allowance is found: the worst case falls as a tolerance grows, so it meets a specification once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic

import numpy as np

from stableopt.base.threads import threads_for
from stableopt.campaign.allowance import Allowance, Factors, Level, Share
from stableopt.loop.state import State
from stableopt.loop.tolerances import Falling, Knob, crossing, knobs_of, largest_factor, stretched
from stableopt.maxmin.solver import Index

_SEARCHED, _LISTED = 9, 65  # factors of the curve, beside those that matter: on a list they cost little


def allowance_of(state: State, decision: Any, value: float, sign: int) -> Allowance:
    """What a decision (by its index) can afford, if its value must be on the good side of ``value``."""
    knobs = knobs_of(state.setting)
    if not knobs:
        raise ValueError(
            f"expected a tolerance above 0, which can be smaller or larger, got {state.setting.uncertainty}: an "
            "environment and groups stay as they are"
        )
    with threads_for(state.t):
        found = _Search(state, decision, sign * value)
        whole = found.pair(lambda r: stretched(state.setting, lambda _: r))
        factors, curve = whole.factors, whole.curve(sign)
        shares = [found.share(knob) for knob in knobs] if len(knobs) > 1 else []
    if not shares:  # there are no others
        shares = [Share(knobs[0].name, factors, factors, whole.limit)]
    exact = whole.low.worst(0.0).exact
    seen = state.setting.translation.decision(decision)
    return Allowance(seen, value, sign, factors, tuple(shares), tuple(curve), whole.limit, exact)


class _Pair(Generic[Index]):
    """The smallest lcb and the smallest ucb as functions of one factor."""

    def __init__(self, low: Falling[Index], high: Falling[Index], value: float, limit: float) -> None:
        self.low, self.high, self.value, self.limit = low, high, value, limit

    @cached_property
    def factors(self) -> Factors:
        """The factor that is known to keep the specification, and the one that is known to miss it."""
        holds, _ = crossing(self.low, self.value, self.limit)
        kept, fails = crossing(self.high, self.value, self.limit, (1.0, *([holds] if holds else [])))
        if kept is None:
            return Factors(None, None)
        possible = self.limit if fails is None else fails
        return Factors(None if holds is None else min(holds, possible), possible)  # a search may miss a low lcb

    def curve(self, sign: int) -> list[Level]:
        """Both bounds from 0 to beyond the factors that matter."""
        last = min(self.limit, max(2.0, 1.25 * (self.factors.possible or 0.0)))
        factors = {*np.linspace(0.0, last, _LISTED if self.low.worst(0.0).exact else _SEARCHED).tolist()}
        factors |= {f for f in (1.0, *self.factors) if f is not None and f <= last}
        ends = [(f, self.low(f), self.high(f)) for f in sorted(factors)]
        return [Level(f, sign * min(low, high), sign * high) for f, low, high in ends]


class _Search(Generic[Index]):
    """All questions about one decision and one specification."""

    def __init__(self, state: State[Index], decision: Index, value: float) -> None:
        self.state, self.decision, self.value = state, decision, value
        both = state.intersected
        self.bounds = (state.lcb, state.ucb) if both is None else (both.lower, both.upper)

    def pair(self, scaled: Callable[[float], Any]) -> _Pair[Index]:
        """How the bounds fall with a factor."""
        limit = largest_factor(self.state.setting, self.decision, scaled)
        low, high = (Falling(self.state, self.decision, F, scaled) for F in self.bounds)
        return _Pair(low, high, self.value, limit)

    def share(self, knob: Knob) -> Share:
        """What one tolerance may grow to, while the others are as given and while they are 0."""
        pairs: Sequence[_Pair[Index]] = [
            self.pair(lambda r, rest=rest: stretched(self.state.setting, lambda k: r if k == knob else rest))  # type: ignore[misc]
            for rest in (1.0, 0.0)
        ]
        given, alone = (pair.factors for pair in pairs)
        return Share(knob.name, given, alone, pairs[0].limit)
