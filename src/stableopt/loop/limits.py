"""What is known of the limits of a state: margins as functions of points, and what solvers make of them.

Notation
    f_k         the quantity of constraint k, with mean μ_k, standard deviation σ_k and β_k of its own model
    s_k         standard deviation of the prior of f_k: what is much or little for it
    M           a margin: sign · (f_k − limit) / s_k, one for each limit; 0 or more is allowed
    level       which bound of a margin is meant: "lower" and "upper" with the β that certifies, "exploring" with the
                one that explores, or the "mean"
    score       the mean of a margin over its width β_k^{1/2} σ_k: from 1 on the margin is guaranteed
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.values import ReadOnly
from stableopt.loop.constraints import Margin, Side
from stableopt.loop.outputs import Limited
from stableopt.loop.setting import Setting, View
from stableopt.maxmin.solver import Choice, Hints, Index, Solver

Level = Literal["lower", "mean", "upper", "exploring"]
_NARROW = 1e-3  # of s_k: a width below this is as good as none, so that scores stay finite


class _Limit(NamedTuple, Generic[Index]):
    """One limit of a quantity of which something is known."""

    limited: Limited[Index]
    view: View[Index]
    side: Side
    scale: float

    def margin(self, setting: Setting[Index], level: Level) -> object:
        """The margin in the form that the setting's solver takes."""
        sign, limit = self.side
        c = sign * math.sqrt(self.limited.beta)
        if level == "exploring" and self.limited.explore < self.limited.beta:
            bound = self.view.exploring_bound(sign * math.sqrt(self.limited.explore))
        else:
            bound = self.view.bound({"lower": -c, "mean": 0.0}.get(level, c))
        return setting.affine(bound, sign / self.scale, -sign * limit / self.scale)

    def bounds(self, points: Sequence[Index]) -> tuple[Array, Array]:
        """The lower and the upper bound of the margin at some points."""
        mean, variance = self.view.moments(points)
        centre, width = self.side.sign * (mean - self.side.limit), math.sqrt(self.limited.beta) * np.sqrt(variance)
        return (centre - width) / self.scale, (centre + width) / self.scale


@dataclass(frozen=True, eq=False)
class Limits(ReadOnly, Generic[Index]):
    """The limits of all constraints of a state."""

    setting: Setting[Index]
    outputs: tuple[Limited[Index], ...]
    places: Sequence[Index]
    """Where something was measured."""
    hints: Hints[Index]

    @cached_property
    def _limits(self) -> list[_Limit[Index]]:
        found = [(k, k.output.posterior, k.output.scale(self.setting, self.places)) for k in self.outputs]
        return [_Limit(k, view, side, s) for k, view, s in found if view is not None for side in k.constraint.sides]

    @property
    def _complete(self) -> bool:
        """Whether something is known of every constraint; in a space there may be one that was never measured."""
        return all(k.output.posterior is not None for k in self.outputs)

    @cached_property
    def _solver(self) -> Solver[Index]:
        return self.setting.solver(len(self.places))

    def margins(self, level: Level) -> list[object]:
        """The margins as functions of points, one for each limit of which something is known."""
        if level not in self._margins:
            self._margins[level] = [limit.margin(self.setting, level) for limit in self._limits]
        return self._margins[level]

    @cached_property
    def _margins(self) -> dict[Level, list[object]]:
        return {}

    def worst(self, decision: Index, level: Level) -> list[Choice[Index]]:
        """Where each margin of a decision is smallest."""
        if (decision, level) not in self._worst:
            found = [self._solver.worst(decision, M, self.hints) for M in self.margins(level)]
            self._worst[decision, level] = found
        return self._worst[decision, level]

    @cached_property
    def _worst(self) -> dict[tuple[Index, Level], list[Choice[Index]]]:
        return {}

    def smallest(self, decision: Index, level: Level) -> float:
        """The smallest of all margins of a decision; infinite if nothing is known of any."""
        return min((choice.value for choice in self.worst(decision, level)), default=math.inf)

    def safest(self, lcb: object) -> Index:
        """The decision with the largest worst-case lcb, of those whose margins are guaranteed.

        If there is none, the one that most likely keeps all limits. It has the largest score in its worst case: the
        largest share of β^{1/2} with which all its margins would be guaranteed.
        """
        found = self._solver.maximin(lcb, self.hints, self.margins("lower"))
        if not self._limits or (found.margin >= 0 and self._complete):
            return found.decision
        both = zip(self.margins("mean"), self.margins("upper"), strict=True)
        scores = [self.setting.score(mean, upper, _NARROW) for mean, upper in both]
        return self._solver.jointly(scores, self.hints).decision

    def feasible(self, decision: Index) -> str:
        """Whether a decision keeps all limits: "certified", "likely" or "unknown"."""
        if not self._complete:
            return "unknown"
        if all(known.margin[0] >= 0 for known in self.known_of(decision)):
            return "certified"
        return "likely" if self.smallest(decision, "mean") >= 0 else "unknown"

    def doubtful(self, decision: Index, objective: tuple[Choice[Index], float] | None) -> Choice[Index]:
        """Of the places where this decision may fail, the one that says most.

        objective: where its value may be worst, and how little is known of it there, in units of the objective's prior;
        None if the decision cannot be feasible, and its value says nothing.
        """
        lowest = self.worst(decision, "lower")
        if objective is None:  # the adversary chooses the limit, too
            return min(lowest, key=lambda choice: choice.value)
        places = [objective]
        for limit, choice in zip(self._limits, lowest, strict=True):
            if choice.value < 0:  # not yet guaranteed
                low, high = limit.bounds([choice.point])
                places.append((choice, float(high[0] - low[0]) / 2))
        return max(places, key=lambda place: place[1])[0]

    def known_of(self, decision: Index) -> tuple[Margin, ...]:
        """What is known of every constraint at a decision, in its own units."""
        brackets = self._brackets(decision)
        return tuple(self._margin(k, decision, [b for b in brackets if b[0].limited is k]) for k in self.outputs)

    def _margin(
        self, limited: Limited[Index], decision: Index, brackets: Sequence[tuple[_Limit[Index], Index, float, float]]
    ) -> Margin:
        unknown = (-math.inf, math.inf)
        ends = {side.sign: unknown for side in limited.constraint.sides}
        for limit, _, low, high in brackets:
            sign, edge = limit.side
            ends[sign] = tuple(sorted((edge + sign * low, edge + sign * high)))  # type: ignore[assignment]
        none = (math.nan, math.nan)
        if not brackets:
            point = self.setting.candidates(decision)[0]
            seen = self.setting.translation.point(point)
            return Margin(limited.constraint.name, ends.get(1.0, none), ends.get(-1.0, none), seen, unknown)
        _, point, *_ = min(brackets, key=lambda bracket: bracket[2])
        margin = min(low for *_, low, _ in brackets), min(high for *_, high in brackets)
        seen = self.setting.translation.point(point)
        return Margin(limited.constraint.name, ends.get(1.0, none), ends.get(-1.0, none), seen, margin)

    def _brackets(self, decision: Index) -> list[tuple[_Limit[Index], Index, float, float]]:
        """Of every limit, where its margin may be smallest, and bounds on it there, in the constraint's units.

        Each bound is also looked at where the other one was found: a search may miss a place.
        """
        found = []
        for limit, low, high in zip(
            self._limits, self.worst(decision, "lower"), self.worst(decision, "upper"), strict=True
        ):
            lower, upper = low.value, high.value
            if not (low.exact and high.exact):
                others = limit.bounds([high.point, low.point])
                lower, upper = min(lower, float(others[0][0])), min(upper, float(others[1][1]))
            found.append((limit, low.point, min(lower, upper) * limit.scale, upper * limit.scale))
        return found
