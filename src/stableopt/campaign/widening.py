"""The decision that meets a specification under the largest multiple of the tolerance."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, cast

from stableopt.base.threads import threads_for
from stableopt.campaign.allowance import Factors, specification
from stableopt.campaign.measuring import Objective
from stableopt.campaign.results import Result, named
from stableopt.campaign.words import Ranges, Words
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.outputs import Level
from stableopt.loop.radius import LargestFactor, OptimisticFactor, goals, radius, reach
from stableopt.loop.rules import Algorithm
from stableopt.loop.settings import setting_of
from stableopt.loop.tolerances import knobs_of, largest_factor, stretched

_LEVELS: tuple[Level, Level] = ("lower", "upper")
_CLOSE = 1e-3  # as closely as searches find a factor


class Widest(Result[Any]):
    """What `widest` returns: the decision, and bounds on the factor of the tolerance up to which it is good enough.

    Good enough is a value that meets the specification within the limits of all constraints.

    ``worst_case``, ``optimum_bound`` and ``regret_bound`` are about the tolerance as given, as in any result.
    """

    specification: float
    """What the value must be at least, or at most if small values are good."""

    @classmethod
    def of(cls, result: Result[Any], value: float) -> Widest:
        """The result of a run, as an answer to how far the tolerance can grow."""
        answer = named(cls(result.optimizer, result.sign, result.stopped, result.errors), result.label, result.numbers)
        answer.specification = value
        return answer

    @cached_property
    def factors(self) -> Factors:
        """Up to which factor the decision is guaranteed to meet the specification, and up to which it is possible."""
        state, decision, v = self.state, self.report.decision_index, self.sign * self.specification
        limit = largest_factor(state.setting, decision, state.setting.uncertainty.scaled)
        with threads_for(state.t):
            low, high = (reach(state, decision, goals(state, v, level)) for level in _LEVELS)
        if high.holds is None:
            return Factors(None, None)
        possible = limit if high.fails is None else high.fails
        known = low.holds is not None and (not state.constraints or state.limits.complete)
        return Factors(min(low.holds or 0.0, possible) if known else None, possible)

    @cached_property
    def factor_bound(self) -> float | None:
        """From this factor on no decision can meet the specification; None: none can, even if nothing is perturbed.

        Infinite where one may meet it as far as the tolerance can grow.
        """
        with threads_for(self.state.t):
            found = radius(self.state, goals(self.state, self.sign * self.specification, "upper"))
        if found.holds is None:
            return None
        return float("inf") if found.fails is None else max(found.fails, self.factors.possible or 0.0)

    @cached_property
    def surest(self) -> tuple[Any, float] | None:
        """The decision that is guaranteed up to the largest factor, and that factor; None: none is guaranteed yet.

        The reported one is expected to reach further, and may be guaranteed for less.
        """
        state = self.state
        if state.constraints and not state.limits.founded:
            return None
        with threads_for(state.t):
            found = radius(state, goals(state, self.sign * self.specification, "lower"))
        return None if found.holds is None else (state.setting.translation.decision(found.decision), found.holds)

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        must = "at least" if self.sign > 0 else "at most"
        goal, low, bound = f"{must} {self.specification:.4g}", self.factors.guaranteed, self.factor_bound
        goal += " within all limits" if self.state.constraints else ""
        if bound is None:
            return f"{goal} is out of reach for every decision, even if nothing is perturbed"
        kept = "is not guaranteed yet" if low is None else f"is guaranteed up to {low:.4g} times the tolerance"
        if math.isfinite(bound):
            return f"{goal} {kept}; no decision reaches {bound:.4g} times"
        setting = self.state.setting
        fits = largest_factor(setting, self.report.decision_index, lambda r: stretched(setting, lambda _: r))
        all_of_it = low is not None and low >= (1 - _CLOSE) * fits
        return f"{goal} {kept}; {'that is all that fits' if all_of_it else 'no larger one is excluded'}"

    def _lines(self) -> list[tuple[str, str]]:
        # Whether a run is done is about worst cases within the tolerance as given: not what was asked.
        lines = [line for line in super()._lines() if line[0] != "done"]
        return [lines[0], ("widest", self.words), *lines[1:]] if self.state.t else lines


def widest(
    f: Objective,
    ranges: Ranges,
    tolerance: Any = None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    **options: Any,
) -> Widest:
    """Find the decision that meets a specification under the largest multiple of the tolerance.

    Every evaluation looks at the decision that may keep it furthest, and measures where it may fail first.

    f, ranges, tolerance, options: as in `maximize`, but for ``algorithm``, ``target``, ``confirm`` and ``stop_when``,
        which are about worst cases within one tolerance. The tolerance says in which proportions; an environment stays
        as it is. The limits of ``constraints`` are to be kept as far, too.
    at_least: what the value must reach; at_most, if small values are good.
    """
    from stableopt.campaign.calls import maximize, minimize

    sign = -1 if at_least is None and at_most is not None else 1
    value = specification(at_least, at_most, sign)
    if "minimize" in options:
        raise ValueError("expected at_most=... in place of minimize=..., where small values are good")
    refused = [name for name in ("algorithm", "target", "confirm", "stop_when") if name in options]
    if refused:
        raise ValueError(f"expected no {refused[0]}=... for widest, which has a rule of its own, got {refused}")
    words = Words(ranges, tolerance, options.get("environment"))
    if not knobs_of(setting_of(words.domain, words.uncertainty)):
        raise ValueError(f"expected a tolerance above 0, which can grow, got {words.uncertainty}: say its proportions")
    words.uncertainty.scaled(0.0)  # refuses a set without a size
    goal = sign * value
    options.setdefault("explore", FRONT_DOOR.limited)
    options["algorithm"] = Algorithm("Widest", OptimisticFactor(goal), LargestFactor(goal))
    run = maximize if sign > 0 else minimize
    return Widest.of(run(f, cast("Any", ranges), tolerance, **options), value)
