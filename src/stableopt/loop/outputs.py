"""What is measured at a point: the objective, and constraints beside it; and what is known of their limits.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.values import ReadOnly
from stableopt.loop.functions import affine, score
from stableopt.loop.measurements import Round
from stableopt.loop.views import View
from stableopt.maxmin.solver import Choice, Hints, Index, Solver
from stableopt.model.beliefs import Belief
from stableopt.model.learning import Learned

Level = Literal["lower", "mean", "upper", "exploring"]
_FAR = 1e6  # units of a warp: no value is as far from the others
_NARROW = 1e-3  # of s_k: a width below this is as good as none
_HARDLY = -0.5  # a score: in 1 of 10 cases all limits are kept, with β^{1/2} = 2.5
_HALF = 0.5  # of the noise: what is known as well as this is known
_FEWEST = 3  # values of which one differs: with less, a learned model knows no scale of its quantity


def tells(deviation: float, noise: float, scale: float) -> bool:
    """Whether a measurement tells anything worth it where a quantity has this standard deviation.

    It does not below half of the noise (as after four measurements), or below a thousandth of what is much for it.
    """
    return deviation >= max(_HALF * noise, _NARROW * scale)


@dataclass(frozen=True, eq=False)
class Output(ReadOnly, Generic[Index]):
    """A measured quantity: how its model is learned, what is believed of it, and the posterior."""

    belief: Belief
    """The model, given or learned."""
    learned: Learned | None
    """How the model is learned; None: it is given, in the user's units."""
    posterior: View[Index] | None
    """None where nothing can be said before the first observation."""

    @property
    def t(self) -> int:
        """Number of its observations."""
        return 0 if self.posterior is None else self.posterior.t

    @property
    def known(self) -> View[Index] | None:
        """The posterior, if it says anything: a model that is learned from values does not before the first one."""
        return None if self.learned is not None and self.t == 0 else self.posterior

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of its observations."""
        return 0.0 if self.posterior is None else self.posterior.information_gain

    def imagining(self, lows: Sequence[tuple[Index, float]]) -> Output[Index]:
        """The quantity as if these points had given what is expected, or less where there is a largest value."""
        posterior = self.posterior
        for point, most in lows if posterior is not None else ():
            assert posterior is not None
            posterior = posterior.update(point, min(float(posterior.moments([point])[0][0]), most))
        return replace(self, posterior=posterior)

    def teaches(self, point: Index, scale: float, noise: float | None = None) -> bool:
        """Whether a measurement at this point, with the model's noise or this one, would tell anything worth it."""
        if self.posterior is None:
            return True
        mean, variance = self.posterior.latent([point])
        own = None if noise is None else self.belief.latent_values(self.belief.in_units(mean), [noise])[1]
        known = self.belief.likely.noise if own is None else float(own[0])
        return tells(math.sqrt(float(variance[0])), known, scale)

    def scale(self, X: Array) -> float:
        """The prior's standard deviation, in the mean over these rows: what is much or little for this quantity."""
        kernel = (self.belief.single or self.belief.gps[0]).kernel
        scale = math.sqrt(float(np.mean(kernel.diag(X))))
        return scale if scale > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Limited(ReadOnly, Generic[Index]):
    """A constraint with what is known of its quantity."""

    name: str
    sides: tuple[Side, ...]
    """Its limits."""
    output: Output[Index]
    beta: float
    """β that certifies it."""
    explore: float
    """β that explores it."""

    def rounds(self, rounds: Sequence[Round[Index]]) -> list[Round[Index]]:
        """The rounds in which it was measured, with its values."""
        name = self.name
        return [replace(r, y=r.measured[name], noise=None) for r in rounds if r.measured and name in r.measured]

    def founded(self, rounds: Sequence[Round[Index]]) -> bool:
        """Whether its model can guarantee anything: one that is learned has to have seen how the quantity varies."""
        if self.output.learned is None:
            return self.output.known is not None
        values = [r.y for r in self.rounds(rounds)]
        return len(values) >= _FEWEST and min(values) < max(values)


def valued(rounds: Sequence[Round[Index]]) -> Sequence[Round[Index]]:
    """The rounds in which the objective was measured."""
    return rounds if all(r.y == r.y for r in rounds) else [r for r in rounds if not math.isnan(r.y)]


class Side(NamedTuple):
    """One limit. The margin of a value v is sign · (v − limit)."""

    sign: float
    """1 for a lower limit, −1 for an upper one."""
    limit: float


class Certificate(NamedTuple, Generic[Index]):
    """What is known of a decision and of the best one."""

    worst: Choice[Index]
    """The smallest lcb of the decision."""
    upper: float
    """Its smallest ucb."""
    optimum: Choice[Index]
    """The largest worst-case ucb of all decisions; its value includes the gap of the search."""


class Margin(NamedTuple):
    """What is known of a constraint at the reported decision, in the constraint's units."""

    name: str
    lowest: tuple[float, float]
    """Bounds on its smallest value over all that the decision can turn into; NaN without a lower limit."""
    highest: tuple[float, float]
    """Bounds on its largest value there; NaN without an upper limit."""
    point: object
    """Where its pessimistic bound is closest to a limit, or furthest beyond it."""
    margin: tuple[float, float]
    """Bounds on how far inside its limits it stays in the worst case; below 0 it is beyond one."""


class Limit(NamedTuple, Generic[Index]):
    """One limit of a quantity of which something is known. Margins are those of latent values, if there is a warp."""

    limited: Limited[Index]
    view: View[Index]
    side: Side
    scale: float

    @property
    def edge(self) -> float:
        """The limit as a latent value.

        One that is very far from all values, as some are that say "none", would cost a margin all its digits.
        """
        belief, limit = self.limited.output.belief, self.side.limit
        if belief.warp is None:
            return limit
        far = _FAR * belief.warp.unit
        return float(np.clip(belief.warp(limit), belief.warp.centre - far, belief.warp.centre + far))

    def margin(self, level: Level) -> object:
        """The margin in the form that the setting's solver takes."""
        sign = self.side.sign
        certify, explore = (sign * math.sqrt(beta) for beta in (self.limited.beta, self.limited.explore))
        c = {"lower": -certify, "mean": 0.0, "upper": certify, "exploring": explore}[level]
        return affine(self.view.latent_bound(c), sign / self.scale, -sign * self.edge / self.scale)

    def bounds(self, points: Sequence[Index]) -> tuple[Array, Array]:
        """The lower and the upper bound of the margin at some points."""
        mean, variance = self.view.latent(points)
        centre, width = self.side.sign * (mean - self.edge), math.sqrt(self.limited.beta) * np.sqrt(variance)
        return (centre - width) / self.scale, (centre + width) / self.scale

    def in_units(self, margin: float) -> float:
        """A margin in the units of the quantity."""
        sign, limit = self.side
        if self.limited.output.belief.warp is None:
            return margin * self.scale
        latent = np.array([self.edge + sign * margin * self.scale])
        return sign * float(self.limited.output.belief.in_units(latent)[0] - limit)


@dataclass(frozen=True, eq=False)
class Limits(ReadOnly, Generic[Index]):
    """The limits of all constraints of a state."""

    outputs: tuple[Limited[Index], ...]
    scales: Sequence[float]
    """s_k of each of them."""
    solver: Solver[Index]
    hints: Hints[Index]
    seen: Callable[[Index], object]
    """What a point looks like to a user."""
    points: Callable[[Index], Sequence[Index]]
    """Points that a decision can turn into."""
    founded: bool
    """Whether the models of all constraints can guarantee anything."""

    @cached_property
    def each(self) -> list[Limit[Index]]:
        """The limits of which something is known, one by one."""
        known = [(k, k.output.known, s) for k, s in zip(self.outputs, self.scales, strict=True)]
        return [Limit(k, view, side, s) for k, view, s in known if view is not None for side in k.sides]

    @property
    def complete(self) -> bool:
        """Whether something is known of every constraint: there may be one that was never measured."""
        return all(k.output.known is not None for k in self.outputs)

    def margins(self, level: Level) -> list[object]:
        """The margins as functions of points, one for each limit of which something is known."""
        if level not in self._margins:
            self._margins[level] = [limit.margin(level) for limit in self.each]
        return self._margins[level]

    @cached_property
    def _margins(self) -> dict[Level, list[object]]:
        return {}

    def worst(self, decision: Index, level: Level) -> list[Choice[Index]]:
        """Where each margin of a decision is smallest."""
        if (decision, level) not in self._worst:
            margins = self.margins(level)
            self._worst[decision, level] = self.solver.worsts(decision, margins, self.hints) if margins else []
        return self._worst[decision, level]

    @cached_property
    def _worst(self) -> dict[tuple[Index, Level], list[Choice[Index]]]:
        return {}

    def smallest_of(self, decisions: Sequence[Index], level: Level) -> Array:
        """The smallest of all margins of several decisions (n,); infinite where nothing is known of any."""
        found = [self.solver.minima(decisions, M, self.hints) for M in self.margins(level)]
        values = [[c.value for c in choices] for choices in found] or [[math.inf] * len(decisions)]
        return np.asarray(np.min(values, axis=0))

    def kept(self, decisions: Sequence[Index]) -> list[bool | None]:
        """Whether decisions keep all limits: True and False are guaranteed."""
        low, high = (self.smallest_of(decisions, level).tolist() for level in ("lower", "upper"))
        kept = True if self.founded else None  # one of which hardly anything is known may be broken, too
        return [kept if a >= 0 else False if b < 0 else None for a, b in zip(low, high, strict=True)]

    def smallest(self, decision: Index, level: Level) -> float:
        """The smallest of all margins of a decision; infinite if nothing is known of any."""
        return min((choice.value for choice in self.worst(decision, level)), default=math.inf)

    def safest(self, lcb: object) -> Index:
        """The decision with the largest worst-case lcb, of those whose margins are guaranteed.

        If there is none, the one that most likely keeps all limits. It has the largest score in its worst case: the
        largest share of β^{1/2} with which all its margins would be guaranteed. Where even that one hardly can keep
        them, the score would prefer what is least known: then the one that is expected to come closest.
        """
        found = self.solver.maximin(lcb, self.hints, self.margins("lower"))
        if not self.each or (found.margin >= 0 and self.complete):
            return found.decision
        both = zip(self.margins("mean"), self.margins("upper"), strict=True)
        scores = [score(mean, upper, _NARROW) for mean, upper in both]
        likely = self.solver.jointly(scores, self.hints)
        if likely.value < _HARDLY:
            return self.solver.jointly(self.margins("mean"), self.hints).decision
        if likely.value >= 1 and self.complete:  # a search missed what is guaranteed here
            hints = self.hints._replace(decisions=[likely.decision, *self.hints.decisions])
            found = self.solver.maximin(lcb, hints, self.margins("lower"))
        return found.decision if found.margin >= 0 and self.complete else likely.decision

    def feasible(self, decision: Index) -> str:
        """Whether a decision keeps all limits: "certified", "likely" or "unknown"."""
        if not self.complete:
            return "unknown"
        if self.founded and all(known.margin[0] >= 0 for known in self.known_of(decision)):
            return "certified"
        return "likely" if self.smallest(decision, "mean") >= 0 else "unknown"

    def doubts(self, decision: Index) -> list[tuple[int, Choice[Index], float]]:
        """The margins of a decision that are not guaranteed: number, where it may be smallest, and width there.

        The width is half of what is between its bounds: how little is known.
        """
        found = enumerate(zip(self.each, self.worst(decision, "lower"), strict=True))
        return [(k, c, float(np.ptp(limit.bounds([c.point]))) / 2) for k, (limit, c) in found if c.value < 0]

    def known_of(self, decision: Index) -> tuple[Margin, ...]:
        """What is known of every constraint at a decision, in its own units."""
        brackets = self._brackets(decision)
        return tuple(self._margin(k, decision, [b for b in brackets if b[0].limited is k]) for k in self.outputs)

    def _margin(
        self, limited: Limited[Index], decision: Index, brackets: Sequence[tuple[Limit[Index], Index, float, float]]
    ) -> Margin:
        unknown = (-math.inf, math.inf)
        ends = {side.sign: unknown for side in limited.sides}
        for limit, _, low, high in brackets:
            sign, edge = limit.side
            ends[sign] = tuple(sorted((edge + sign * low, edge + sign * high)))  # type: ignore[assignment]
        none = (math.nan, math.nan)
        point, margin = self.points(decision)[0], unknown
        if brackets:
            point = min(brackets, key=lambda bracket: bracket[2])[1]
            margin = min(low for *_, low, _ in brackets), min(high for *_, high in brackets)
        return Margin(limited.name, ends.get(1.0, none), ends.get(-1.0, none), self.seen(point), margin)

    def _brackets(self, decision: Index) -> list[tuple[Limit[Index], Index, float, float]]:
        """Of every limit, where its margin may be smallest, and bounds on it there, in the constraint's units.

        Each bound is also looked at where the other one was found: a search may miss a place.
        """
        found = []
        for limit, low, high in zip(
            self.each, self.worst(decision, "lower"), self.worst(decision, "upper"), strict=True
        ):
            point, lower, upper = low.point, low.value, high.value
            if not (low.exact and high.exact):
                others = limit.bounds([high.point, low.point])
                point = high.point if others[0][0] < lower else point
                lower, upper = min(lower, float(others[0][0])), min(upper, float(others[1][1]))
            found.append((limit, point, limit.in_units(min(lower, upper)), limit.in_units(upper)))
        return found
