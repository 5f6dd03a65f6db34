"""Sampling rules and reporting rules, and the paper's five algorithms as a table of the two.

A sampling rule says which point to measure, and on behalf of which decision. A reporting rule says which decision to
use after what has been measured. Neither knows the setting: points, groups and parameters look the same from here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from stableopt.base.checks import positive
from stableopt.base.values import Value
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index


class SamplingRule(Value, ABC):
    """Which point to measure next."""

    explores: ClassVar[bool] = True
    """Whether the β that explores makes a difference to it."""

    @abstractmethod
    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        """The point to measure and the decision that it serves; the same for the same state and seed."""

    def begin(self, state: State[Index], number: int) -> Choice[Index]:
        """Point ``number`` (from 0) of those that are spread out before the model is asked."""
        point = state.setting.design(number)
        return Choice(state.decision_of(point), point)


class ReportingRule(Value, ABC):
    """Which decision to use."""

    intersects: bool = False
    """Whether the rule looks at the intersection of the bounds of all rounds."""

    @property
    def guarantees(self) -> bool:
        """Whether it reports the best guarantee of all decisions: in a space, a search finds that, or misses it."""
        return False

    @abstractmethod
    def choose(self, state: State[Index]) -> Index:
        """The decision to report, as the state numbers it."""


@dataclass(frozen=True, eq=False)
class OptimisticPessimistic(SamplingRule):
    """StableOpt: the decision with the best worst-case ucb, measured where its lcb is smallest (Alg. 1)."""

    attack: float | None = None
    """β of that lcb; None: the one that certifies, as Theorem 1 needs it. A very large one measures what is unknown
    rather than what is likely to be bad. With constraints, the one that certifies is used."""

    def __post_init__(self) -> None:
        if self.attack is not None:
            positive(self.attack, "a beta above 0 to attack with, or None")

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        best = state.optimistic  # Alg. 1, line 2
        if not state.constraints:
            return state.pessimistic(best.decision, self.attack)  # Alg. 1, line 3
        if best.margin < 0:  # no decision can be feasible: the adversary chooses the limit, too
            return min(state.limits.worst(best.decision, "lower"), key=lambda choice: choice.value)
        return _dearest(state, best)


def _dearest(state: State[Index], best: Choice[Index]) -> Choice[Index]:
    """Of the places where the most promising decision may fail, that of the quantity with the highest price.

    Who is pessimistic about one quantity alone chooses another decision; how much better the most promising one may be
    is the price of that quantity. For a limit, it is the best one that is guaranteed to keep it; the price is infinite
    where a climb reaches none, and then the least known limit counts. For the value, it is the one with the largest
    worst-case lcb: a width that all decisions share changes no choice, and costs nothing.
    """
    limits, worst = state.limits, state.pessimistic(best.decision)
    hopeful, certain = limits.margins("exploring"), limits.margins("lower")
    chosen = state.climbed(state.lcb, hopeful, best.decision).decision
    price = best.value - limits.solver.worst(chosen, state.exploring, limits.hints).value
    places = [(price, 0.0, worst)]
    for k, choice, width in limits.doubts(best.decision):
        found = state.climbed(state.exploring, [*hopeful[:k], certain[k], *hopeful[k + 1 :]], best.decision)
        price = best.value - found.value if found.margin >= 0 else math.inf
        places.append((price, width, choice))
    return max(places, key=lambda place: place[:2])[2]


def doubtful(state: State[Index], decision: Index) -> Choice[Index]:
    """Of the places where a decision may fail, the one where least is known, in units of each quantity's prior.

    Without constraints it is where its lcb is smallest. With them there is a place for each limit that is not
    guaranteed, too.
    """
    worst = state.pessimistic(decision)
    if not state.constraints:
        return worst
    deviation = math.sqrt(float(state.latent([worst.point])[1][0]))
    places = [(math.sqrt(state.beta) * deviation / state.scale(state.objective), worst)]
    places += [(width, choice) for _, choice, width in state.limits.doubts(decision)]
    return max(places, key=lambda place: place[0])[1]


class OptimisticItself(SamplingRule):
    """MaxiMin-GP-UCB: the decision with the best worst-case ucb, measured where it is if nobody perturbs it.

    Where a decision stands for several points (a group, an unknown parameter), the one with the smallest ucb.
    """

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        decision = state.optimistic.decision
        return Choice(decision, state.unperturbed(decision))


class LargestUcb(SamplingRule):
    """GP-UCB: the point with the largest ucb, as if there were no adversary (eq. gpucb)."""

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        point = state.most_promising_point()
        return Choice(state.decision_of(point), point)


class UniformlyRandom(SamplingRule):
    """Any point, with equal probability."""

    explores = False

    def sample(self, state: State[Index], seed: int) -> Choice[Index]:
        point = state.random_point(seed)
        return Choice(state.decision_of(point), point)


class BestSoFar(ReportingRule):
    """Among the decisions of all rounds, the one with the largest worst-case lcb_t: the paper's experiments."""

    def choose(self, state: State[Index]) -> Index:
        return state.safest()


class BestWhenAsked(ReportingRule):
    """Among the decisions of all rounds, the one whose worst-case lcb_{τ−1} at its own round τ was largest.

    This is x^(T) of Theorem 1 (eq. final_point); of equal ones, the earliest. Before any round, `BestSoFar` takes over.
    """

    def choose(self, state: State[Index]) -> Index:
        best = max(state.rounds, key=lambda r: (r.asked, r.lower, -r.t))
        return best.decision_index if best.asked else state.safest()


class BestIntersected(ReportingRule):
    """Among the decisions of all rounds, the best worst case of the intersection of all bounds so far.

    The bounds then only tighten, which makes the guarantee of Theorem 1 hold for a common bound (footnote).
    """

    intersects = True

    def choose(self, state: State[Index]) -> Index:
        return state.safest(intersected=True)


class BestOfAll(ReportingRule):
    """Of all decisions, tried or not, the one with the largest worst-case lcb_t: never a worse guarantee."""

    @property
    def guarantees(self) -> bool:
        return True

    def choose(self, state: State[Index]) -> Index:
        return state.safest(tried=False)


class BestExpected(ReportingRule):
    """Of all decisions, tried or not, the one with the largest worst-case posterior mean μ_t.

    It takes the model at its word: after a single high value it may report a peak whose surroundings nobody measured,
    where `BestOfAll` waits for what can be guaranteed.
    """

    def choose(self, state: State[Index]) -> Index:
        return state.expected()


class MostPromising(ReportingRule):
    """Of all decisions, the one with the largest worst-case ucb_t: what the paper's movie experiment reports.

    There it is stated with the bounds before the last measurement (ucb_{t−1}), which is `Last` for StableOpt and
    MaxiMin-GP-UCB; this rule uses the newest ones.
    """

    def choose(self, state: State[Index]) -> Index:
        return state.optimistic.decision


class Last(ReportingRule):
    """The decision of the last round."""

    def choose(self, state: State[Index]) -> Index:
        return max(state.rounds, key=lambda r: (r.asked, r.t)).decision_index


@dataclass(frozen=True, eq=False)
class Algorithm(Value):
    """A sampling rule with a reporting rule."""

    name: str
    sampling: SamplingRule
    reporting: ReportingRule

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"expected the name of an algorithm, got {self.name!r:.200}")
        if not isinstance(self.sampling, SamplingRule):
            raise TypeError(f"expected a sampling rule such as LargestUcb(), got {self.sampling!r}")
        if not isinstance(self.reporting, ReportingRule):
            raise TypeError(f"expected a reporting rule such as BestSoFar(), got {self.reporting!r}")

    @classmethod
    def named(cls, name: str | Algorithm) -> Algorithm:
        """One of the paper's algorithms by its name, in any case; an algorithm is returned as it is."""
        if isinstance(name, Algorithm):
            return name
        found = [a for a in ALGORITHMS.values() if isinstance(name, str) and a.name.lower() == name.lower()]
        if not found:
            raise ValueError(f"expected an Algorithm or one of {list(ALGORITHMS)}, got {name!r}")
        return found[0]


ALGORITHMS = {
    a.name: a
    for a in (
        Algorithm("StableOpt", OptimisticPessimistic(), BestSoFar()),
        Algorithm("GP-UCB", LargestUcb(), Last()),
        Algorithm("MaxiMin-GP-UCB", OptimisticItself(), Last()),
        Algorithm("Stable-GP-Random", UniformlyRandom(), BestSoFar()),
        Algorithm("Stable-GP-UCB", LargestUcb(), BestSoFar()),
    )
}
"""The paper's five algorithms."""
