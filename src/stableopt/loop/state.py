"""What is known after t rounds: an immutable value that sampling and reporting rules look at.

`State` is what rules see; `finite.FiniteState` keeps the bounds of all points of a finite domain, `search.SpaceState`
looks for decisions and points in a continuous one.

Notation: the bounds of this state are lcb_t and ucb_t; the paper's round t + 1 uses them. Two β are at work: the one
that certifies (`beta`), which must be valid, and the one that explores (`explore`), which may be smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.values import ReadOnly
from stableopt.model.learning import Belief, Learned

Index: TypeAlias = Any
"""What a decision or a point is to rules: its number on a finite domain, its row of coordinates in a space."""


class Choice(NamedTuple):
    """A decision, the point where it is worst, the value there, whether that is exact, and else about how far off."""

    decision: Index
    point: Index
    value: float
    exact: bool
    gap: float = 0.0


class Observation(NamedTuple):
    """What `tell` adds: a decision that it serves (or None), a point, the value, and what else is known of it."""

    decision: Index | None
    point: Index
    y: float | None
    """None: the evaluation failed."""
    noise: float | None = None
    lower: float | None = None


@dataclass(frozen=True, eq=False)
class Round(ReadOnly):
    """One observation: y was measured at ``point``, on behalf of ``decision``."""

    t: int
    decision: Any
    """What the round was for; of data that nobody asked for, what the point stands for itself."""
    point: Any
    y: float
    """The value; NaN of an evaluation that failed."""
    lower: float
    """min over A(decision) of the lcb that was known when the point was chosen (Theorem 1); −∞ of mere data."""
    asked: bool
    """Whether the round served a decision, as opposed to data that were there anyway."""
    decision_index: Index
    point_index: Index
    noise: float | None = None
    """Standard deviation of this observation's noise, if it has one of its own."""


@dataclass(frozen=True, eq=False)
class State(ReadOnly, ABC):
    """The posterior after the rounds so far, as rules see it.

    Rules speak to a state only through its methods, in indices of decisions and points that mean nothing to them.
    """

    beta: float
    """β that certifies: reports use it."""
    explore: float
    """β that explores: it chooses the decision to look at."""
    rounds: tuple[Round, ...]
    """The observations."""
    failures: tuple[Round, ...]
    """The evaluations that failed."""
    setting: Any
    """The domain and the uncertainty set: a `Setting` or a `SpaceRegion`."""
    belief: Belief
    """The model, given or learned."""
    learned: Learned | None
    """How the model is learned; None: it is given, in the user's units."""
    seed: int

    @property
    def t(self) -> int:
        """Number of observations so far."""
        return len(self.rounds)

    @property
    @abstractmethod
    def optimistic(self) -> Choice:
        """x̃_{t+1}: the decision with the largest worst-case ucb (Alg. 1, line 2), with the β that explores."""

    @abstractmethod
    def pessimistic(self, decision: Index) -> Choice:
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1}), with the β that certifies.

        A small β may be right about which decision is good and blind to what could spoil it: it would measure the worst
        case that is known, again and again.
        """

    @abstractmethod
    def certificate(self, decision: Index) -> tuple[Choice, float, Choice]:
        """Smallest lcb and smallest ucb of a decision, and the largest worst-case ucb, with the β that certifies."""

    @abstractmethod
    def bounds_of(self, decisions: Sequence[Index]) -> tuple[Array, Array]:
        """The smallest lcb and the smallest ucb of several decisions, with the β that certifies (n,) each."""

    @abstractmethod
    def avoids(self, decision: Index, points: Sequence[Index]) -> bool:
        """Whether the adversary can turn the decision into none of these points."""

    @abstractmethod
    def unperturbed(self, decision: Index) -> Index:
        """The point that the decision stands for if nobody perturbs it; of several, the one with the smallest ucb."""

    @abstractmethod
    def most_promising_point(self) -> Index:
        """The point with the largest ucb, of all that some decision stands for if nobody perturbs it."""

    @abstractmethod
    def random_point(self, seed: int) -> Index:
        """A uniformly random point; the same for the same seed and number of rounds."""

    @abstractmethod
    def design_point(self, number: int, seed: int) -> Index:
        """Point ``number`` (from 0) of a spread of points to begin with."""

    @abstractmethod
    def decision_of(self, point: Index) -> Index:
        """The decision that a point on its own stands for."""

    @abstractmethod
    def safest(self, *, tried: bool = True, intersected: bool = False) -> Index:
        """The decision with the largest worst-case lcb, among those of the rounds or (``tried=False``) all.

        Where no round was asked for yet, the decisions that the data stand for take their place. ``intersected`` uses
        the largest lcb of all states so far.
        """

    @abstractmethod
    def expected(self) -> Index:
        """The decision with the largest worst-case posterior mean, of all."""

    def after(self, observations: Sequence[Observation], *, learning: bool = True) -> Self:
        """The state with more observations; a model that is learned is learned again once, if that is due.

        ``learning=False``: not even then.
        """
        state = self.recording(observations)
        if state.t == self.t:
            return state
        if learning and self.learned is not None and self.learned.due(state.t, self.belief.t):
            return state.with_belief(state.learn(self.learned))
        return state.updated(self.t)

    def recording(self, observations: Sequence[Observation]) -> Self:
        """The state with more rounds and failures, of which the posterior knows nothing yet."""
        rounds, failures = list(self.rounds), list(self.failures)
        for o in observations:
            asked = o.decision is not None
            index = o.decision if asked else self.decision_of(o.point)
            lower = -np.inf if not asked else self.pessimistic(index).value if o.lower is None else o.lower
            seen = self.setting.decision(index), self.setting.point(o.point)
            y, known = (np.nan, failures) if o.y is None else (o.y, rounds)
            known.append(Round(len(rounds) + 1, *seen, y, lower, asked, index, o.point, o.noise))
        return replace(self, rounds=tuple(rounds), failures=tuple(failures))

    @abstractmethod
    def updated(self, known: int) -> Self:
        """The state whose posterior knows all rounds, of which it knew only the first ``known`` ones."""

    @abstractmethod
    def learn(self, learned: Learned) -> Belief:
        """The model that is learned from all rounds."""

    @abstractmethod
    def with_belief(self, belief: Belief) -> Self:
        """The same observations under another model; those that it was not learned from update it."""

    @abstractmethod
    def imagining(self, points: Sequence[Index], failed: Sequence[Index] = ()) -> Self:
        """A throw-away state in which these points were measured too and gave what the model expects there.

        Those that failed gave the smallest value so far, if that is less, so that their surroundings are left as well.
        """

    @abstractmethod
    def untaken(self, decision: Index, point: Index, taken: Sequence[Index]) -> tuple[Index, Index]:
        """This decision and point, unless the point is one of ``taken``.

        Then, of what the adversary can turn the decision into, the point that is known least; if all of them are taken,
        the one with the largest ucb of all.
        """

    @property
    @abstractmethod
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observations so far."""

    @property
    def smallest(self) -> float:
        """The smallest value so far."""
        return min((r.y for r in self.rounds), default=np.inf)

    def with_betas(self, beta: float, explore: float) -> Self:
        """The same state with other confidence bounds."""
        return self if (beta, explore) == (self.beta, self.explore) else replace(self, beta=beta, explore=explore)

    def intersecting(self) -> Self:
        """The bounds of this state join the intersection of all bounds so far, if one is tracked."""
        return self

    def tried(self) -> list[Index]:
        """The decisions that rounds were asked for, or else those that the data stand for."""
        asked = [r.decision_index for r in self.rounds if r.asked]
        return asked or [r.decision_index for r in self.rounds]


def observed_data(rounds: Sequence[Round]) -> tuple[list[Index], Array, Array | None]:
    """Indices of the points, values, and noise if any has its own; NaN stands for the model's, which may change."""
    own = [np.nan if r.noise is None else r.noise for r in rounds]
    noise = None if all(r.noise is None for r in rounds) else np.array(own)
    return [r.point_index for r in rounds], np.array([r.y for r in rounds]), noise
