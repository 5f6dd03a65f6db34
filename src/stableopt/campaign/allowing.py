"""How an allowance is found: the worst case falls as a tolerance grows, so it meets a specification once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic

import numpy as np

from stableopt.base.threads import threads_for
from stableopt.campaign.allowance import Allowance, Factors, Level, Share, specification
from stableopt.campaign.health import known_at
from stableopt.loop.functions import affine
from stableopt.loop.outputs import Output
from stableopt.loop.settings import points_under
from stableopt.loop.state import State
from stableopt.loop.tolerances import Falling, Knob, crossing, knobs_of, largest_factor, quiet, stretched
from stableopt.maxmin.solver import Index

_SEARCHED, _LISTED = 9, 65  # factors of the curve, beside those that matter: on a list they cost little


_CLOSE = 1e-3  # relative: as closely as searches find a factor


Bounds = tuple[object, object]
"""The lower and the upper bound of what must be large, as functions of points."""


def bounds_of(state: State[Index]) -> Bounds:
    """The bounds of the value."""
    both = state.intersected
    return (state.lcb, state.ucb) if both is None else (both.lower, both.upper)


def of_constraint(state: State[Index], name: str, at_least: Any, at_most: Any) -> tuple[float, int, Bounds]:
    """The specification of a constraint's quantity, 1 or −1 where it must be large or small, and its bounds.

    Its own limit is meant where no other one is given.
    """
    found = {k.name: k for k in state.constraints}
    if name not in found:
        raise ValueError(f"expected of=... as the name of a constraint among {list(found)}, got {name!r:.80}")
    limited = found[name]
    given = [(1, at_least)] * (at_least is not None) + [(-1, at_most)] * (at_most is not None)
    given = given or [(int(side.sign), side.limit) for side in limited.sides]
    if len(given) != 1:
        sides = " or ".join(f"{'at_least' if sign > 0 else 'at_most'}={value!r:.80}" for sign, value in given)
        raise ValueError(f"expected one side of {name!r}, which has two: say {sides}, got {len(given)} of them")
    sign, value = given[0]
    value = specification(value if sign > 0 else None, value if sign < 0 else None, sign)
    if (known := limited.output.known) is None:
        raise ValueError(f"expected at least one measurement of {name!r}, got none: tell one first")
    c = sign * math.sqrt(limited.beta)
    low, high = (affine(known.bound(b), sign, 0.0) for b in (-c, c))
    return value, sign, (low, high)


def allowance_of(state: State, decision: Any, output: Output, goal: tuple[float, int, Bounds]) -> Allowance:
    """What a decision (by its index) can afford, if a quantity with these bounds must be on the good side of a value.

    A model that was learned guarantees nothing beyond the given tolerance where it knows next to nothing: there, its
    bounds are an assumption about how much the quantity varies, learned from what was measured elsewhere.
    """
    value, sign, bounds = goal
    knobs = knobs_of(state.setting)
    if not knobs:
        raise ValueError(
            f"expected a tolerance above 0, which can be smaller or larger, got {state.setting.uncertainty}: an "
            "environment and groups stay as they are"
        )
    with threads_for(state.t):
        found = _Search(state, decision, sign * value, bounds, output)
        whole = found.pair(lambda r: stretched(state.setting, lambda _: r))
        factors, curve = whole.factors, whole.curve(sign)
        shares = [found.share(knob) for knob in knobs] if len(knobs) > 1 else []
    if not shares:  # there are no others
        shares = [Share(knobs[0].name, factors, factors, whole.limit)]
    exact = whole.low.worst(0.0).exact
    seen = state.setting.translation.decision(decision)
    return Allowance(
        seen, value, sign, factors, tuple(shares), tuple(curve), whole.limit, exact, state.setting.columns.steps
    )


class _Pair(Generic[Index]):
    """The smallest lcb and the smallest ucb as functions of one factor."""

    def __init__(
        self, low: Falling[Index], high: Falling[Index], value: float, limit: float, output: Output[Index]
    ) -> None:
        self.low, self.high, self.value, self.limit, self.output = low, high, value, limit, output

    @cached_property
    def factors(self) -> Factors:
        """The factor that is known to keep the specification, and the one that is known to miss it."""
        holds, _ = crossing(self.low, self.value, self.limit)
        kept, fails = crossing(self.high, self.value, self.limit, (1.0, *([holds] if holds else [])))
        if kept is None:
            return Factors(None, None)
        possible = self.limit if fails is None else fails
        holds = None if holds is None else self._known(holds)
        return Factors(None if holds is None else min(holds, possible), possible)  # a search may miss a low lcb

    def _known(self, r: float) -> float:
        """This factor, or the largest one, but none below 1, within which the model knows something."""
        low, high = 1.0, r
        if r <= low or self._knows(r):
            return r
        while high - low > _CLOSE * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._knows(middle) else (low, middle)
        return low

    def _knows(self, r: float) -> bool:
        state, decision = self.low.state, self.low.decision
        with quiet():
            return known_at(state, self.output, points_under(state.setting, self.low.scaled(r), decision))

    def curve(self, sign: int) -> list[Level]:
        """Both bounds from 0 to beyond the factors that matter."""
        last = min(self.limit, max(2.0, 1.25 * (self.factors.possible or 0.0)))
        factors = {*np.linspace(0.0, last, _LISTED if self.low.worst(0.0).exact else _SEARCHED).tolist()}
        factors |= {f for f in (1.0, *self.factors) if f is not None and f <= last}
        ends = [(f, self.low(f), self.high(f)) for f in sorted(factors)]
        return [Level(f, sign * min(low, high), sign * high) for f, low, high in ends]


class _Search(Generic[Index]):
    """All questions about one decision and one specification."""

    def __init__(
        self, state: State[Index], decision: Index, value: float, bounds: Bounds, output: Output[Index]
    ) -> None:
        self.state, self.decision, self.value, self.bounds, self.output = state, decision, value, bounds, output

    def pair(self, scaled: Callable[[float], Any]) -> _Pair[Index]:
        """How the bounds fall with a factor."""
        limit = largest_factor(self.state.setting, self.decision, scaled)
        low, high = (Falling(self.state, self.decision, F, scaled) for F in self.bounds)
        return _Pair(low, high, self.value, limit, self.output)

    def share(self, knob: Knob) -> Share:
        """What one tolerance may grow to, while the others are as given and while they are 0."""
        pairs: Sequence[_Pair[Index]] = [
            self.pair(lambda r, rest=rest: stretched(self.state.setting, lambda k: r if k == knob else rest))  # type: ignore[misc]
            for rest in (1.0, 0.0)
        ]
        given, alone = (pair.factors for pair in pairs)
        return Share(knob.name, given, alone, pairs[0].limit)
