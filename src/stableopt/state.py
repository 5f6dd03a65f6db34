"""What is known after t rounds: an immutable value that sampling and reporting rules look at.

`State` is what rules see; `FiniteState` keeps the bounds of all points of a finite domain, `search.SpaceState` looks
for decisions and points in a continuous one.

Notation: the bounds of this state are lcb_t and ucb_t; the paper's round t + 1 uses them. Two β are at work: the one
that certifies (`beta`), which must be valid, and the one that explores (`explore`), which may be smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from stableopt._arrays import Array, Indices, ReadOnly, frozen
from stableopt.gp import TrackedPosterior
from stableopt.learning import Belief, Learned, TrackedMixture
from stableopt.maxmin import Setting

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
    """β that explores: sampling uses it."""
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
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1}), with the β that explores."""

    @abstractmethod
    def certificate(self, decision: Index) -> tuple[Choice, float, Choice]:
        """Smallest lcb and smallest ucb of a decision, and the largest worst-case ucb, with the β that certifies."""

    @abstractmethod
    def lower(self, decision: Index) -> Choice:
        """The smallest lcb of a decision, with the β that certifies."""

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
    def after(self, observations: Sequence[Observation]) -> Self:
        """The state with more observations; a model that is learned is learned again once, if that is due."""

    @abstractmethod
    def with_belief(self, belief: Belief) -> Self:
        """The same observations under another model."""

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

    @abstractmethod
    def predicted(self, point: Index) -> tuple[float, float]:
        """Mean and standard deviation of an observation at a point."""

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

    def rounds_after(
        self, observations: Sequence[Observation], served: Sequence[tuple[Any, Any, Index]]
    ) -> list[Round]:
        """The rounds of observations, of which ``served`` has decision and point as a user sees them, and its index."""
        known = []
        for o, (decision, point, index) in zip(observations, served, strict=True):
            asked = o.decision is not None
            lower = -np.inf if not asked else self.lower(index).value if o.lower is None else o.lower
            y = np.nan if o.y is None else o.y
            known.append(Round(0, decision, point, y, lower, asked, index, o.point, o.noise))
        return known


def counted(before: State, new: Sequence[Round]) -> tuple[tuple[Round, ...], tuple[Round, ...]]:
    """All rounds and all failures, numbered."""
    rounds, failures = list(before.rounds), list(before.failures)
    for r in new:
        if np.isnan(r.y):
            failures.append(replace(r, t=len(rounds) + 1))
        else:
            rounds.append(replace(r, t=len(rounds) + 1))
    return tuple(rounds), tuple(failures)


@dataclass(frozen=True, eq=False)
class FiniteState(State):
    """The state on a finite domain: the bounds of all points are known, and every max-min is exact."""

    setting: Setting
    posterior: TrackedPosterior | TrackedMixture
    decisions: Indices = field(default_factory=lambda: frozen(np.empty(0, dtype=np.intp)))
    """The numbers of the decisions that rounds were asked for, increasing, each once."""
    intersected: tuple[Array, Array] | None = None
    """The largest lcb and the smallest ucb of all states so far, if a rule wants them (footnote in Section 5)."""

    @classmethod
    def start(
        cls, setting: Setting, belief: Belief, learned: Learned | None, betas: tuple[float, float], seed: int
    ) -> FiniteState:
        """Before any observation."""
        posterior = belief.track(model_blocks(setting, learned), [], [])
        return cls(*betas, (), (), setting, belief, learned, seed, posterior)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        return self.posterior.bounds(self.beta)

    @cached_property
    def _exploring(self) -> tuple[Array, Array]:
        return self._bounds if self.explore == self.beta else self.posterior.bounds(self.explore)

    @property
    def lcb(self) -> Array:
        """Lower confidence bound on every point, with the β that certifies."""
        return self._bounds[0]

    @property
    def ucb(self) -> Array:
        """Upper confidence bound on every point, with the β that certifies."""
        return self._bounds[1]

    @cached_property
    def optimistic(self) -> Choice:
        """x̃_{t+1}: the decision with the largest worst-case ucb (Alg. 1, line 2)."""
        return Choice(*self.setting.solver.maximin(self._exploring[1]))

    def pessimistic(self, decision: int) -> Choice:
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1})."""
        if decision not in self._pessimistic:
            self._pessimistic[decision] = Choice(*self.setting.solver.worst(decision, self._exploring[0]))
        return self._pessimistic[decision]

    @cached_property
    def _pessimistic(self) -> dict[int, Choice]:
        return {}

    def lower(self, decision: int) -> Choice:
        """The smallest lcb of a decision, with the β that certifies."""
        if self.explore == self.beta:
            return self.pessimistic(decision)
        return Choice(*self.setting.solver.worst(decision, self.lcb))

    def certificate(self, decision: int) -> tuple[Choice, float, Choice]:
        """The smallest lcb of a decision, its smallest ucb, and the largest worst-case ucb."""
        solver = self.setting.solver
        if self.intersected is None:
            upper = solver.worst(decision, self.ucb).value
            optimum = self.optimistic if self.explore == self.beta else Choice(*solver.maximin(self.ucb))
            return self.lower(decision), upper, optimum
        low, high = self.intersected
        worst = Choice(*solver.worst(decision, low))
        return worst, solver.worst(decision, high).value, Choice(*solver.maximin(high))

    def bounds_of(self, decisions: Sequence[int]) -> tuple[Array, Array]:
        """The smallest lcb and the smallest ucb of several decisions, with the β that certifies."""
        at, solver = np.array(decisions, dtype=np.intp), self.setting.solver
        return solver.minima_at(at, self.lcb), solver.minima_at(at, self.ucb)

    def avoids(self, decision: int, points: Sequence[int]) -> bool:
        """Whether the adversary can turn the decision into none of these points."""
        return not np.isin(points, self.setting.solver.members(decision)).any()

    def unperturbed(self, decision: int) -> int:
        """The point that the decision stands for if nobody perturbs it; of several, the one with the smallest ucb."""
        home = self.setting.home(decision)
        return int(home[np.argmin(self._exploring[1][home])])

    def most_promising_point(self) -> int:
        """The point with the largest ucb, of all that some decision stands for if nobody perturbs it."""
        homes, ucb = self.setting.homes, self._exploring[1]
        if len(homes) == len(ucb):
            return int(np.argmax(ucb))
        return int(homes[np.argmax(ucb[homes])])

    def random_point(self, seed: int) -> int:
        """A uniformly random point; the same for the same seed and number of rounds."""
        reachable = self.setting.reachable
        draw = np.random.default_rng([seed, self.t + len(self.failures) + 1])
        return int(reachable[draw.integers(len(reachable))])

    def design_point(self, number: int, seed: int) -> int:
        """Point ``number`` (from 0) of a random order of all points that can be reached."""
        reachable = self.setting.reachable
        return int(reachable[np.random.default_rng([seed, 0]).permutation(len(reachable))[number % len(reachable)]])

    def decision_of(self, point: int) -> int:
        """The decision that a point on its own stands for."""
        return self.setting.decision_of(point)

    def safest(self, *, tried: bool = True, intersected: bool = False) -> int:
        """The decision with the largest worst-case lcb."""
        lower = self.intersected[0] if intersected and self.intersected is not None else self.lcb
        return self.setting.solver.best(lower, self._candidates if tried else None)

    @property
    def _candidates(self) -> Indices:
        return self.decisions if len(self.decisions) else np.unique([r.decision_index for r in self.rounds])

    def with_intersection(self) -> FiniteState:
        """The same state that also tracks the intersection of all its successors' bounds, starting with its own."""
        return replace(self, intersected=(self.lcb, self.ucb))

    def intersecting(self) -> FiniteState:
        """The bounds of this state, whose β is that of its round, join the intersection if one is tracked."""
        if self.intersected is None:
            return self
        highest, lowest = np.maximum(self.intersected[0], self.lcb), np.minimum(self.intersected[1], self.ucb)
        return replace(self, intersected=(frozen(highest), frozen(lowest)))

    def after(self, observations: Sequence[Observation]) -> FiniteState:
        """The state with more observations.

        A model that is learned changes its bounds as a whole, so their intersection starts anew with it.
        """
        if not observations:
            return self
        serve = [self.decision_of(o.point) if o.decision is None else o.decision for o in observations]
        seen = [
            (self.setting.decision(d), self.setting.point(o.point), d) for d, o in zip(serve, observations, strict=True)
        ]
        new = self.rounds_after(observations, seen)
        rounds, failures = counted(self, new)
        decisions = self.decisions
        for r in new:
            if r.asked:
                decisions = _with(decisions, r.decision_index)
        state = replace(self, rounds=rounds, failures=failures, decisions=decisions)
        if self.learned is not None and self.learned.due(len(rounds), self.belief.t):
            return state._learned_again(self.learned)
        for o in observations:
            if o.y is not None:
                state = state._updated(o.point, o.y, o.noise)
        return state

    def _updated(self, point: int, y: float, noise: float | None) -> FiniteState:
        return replace(self, posterior=self.posterior.update(point, y, noise))

    def _learned_again(self, learned: Learned) -> FiniteState:
        blocks = model_blocks(self.setting, learned)
        observed, y, noise = observed_data(self.rounds)
        shape = [len(block) for block in blocks]
        numbers = np.unravel_index(observed, shape)
        X = np.hstack([block[i] for block, i in zip(blocks, numbers, strict=True)])
        return self.with_belief(learned.learn(X, y, noise, self.belief, (), self.seed))

    def with_belief(self, belief: Belief) -> FiniteState:
        """The same observations under another model; those that it was not learned from update it."""
        observed, y, noise = observed_data(self.rounds[: belief.t])
        posterior = belief.track(model_blocks(self.setting, self.learned), observed, y, noise)
        state = replace(self, belief=belief, posterior=posterior)
        if self.intersected is not None:
            unbounded = np.full(len(self.intersected[0]), np.inf)
            state = replace(state, intersected=(frozen(-unbounded), frozen(unbounded)))
        for r in self.rounds[belief.t :]:
            state = state._updated(r.point_index, r.y, r.noise)
        return state

    def imagining(self, points: Sequence[int], failed: Sequence[int] = ()) -> FiniteState:
        """A throw-away state in which these points were measured too and gave what the model expects there."""
        posterior = self.posterior
        for point, most in [*((p, self.smallest) for p in failed), *((p, np.inf) for p in points)]:
            posterior = posterior.update(point, min(float(posterior.mean[point]), most))
        return self if posterior is self.posterior else replace(self, posterior=posterior, intersected=None)

    def untaken(self, decision: int, point: int, taken: Sequence[int]) -> tuple[int, int]:
        """This decision and point, or another point that is none of ``taken``."""
        own = np.setdiff1d(self.setting.solver.members(decision), taken)
        free = np.setdiff1d(self.setting.reachable, taken)
        if point not in taken or not len(free):
            return decision, point
        if len(own):
            return decision, int(own[np.argmax(self.posterior.std[own])])
        other = int(free[np.argmax(self._exploring[1][free])])
        return self.decision_of(other), other

    def predicted(self, point: int) -> tuple[float, float]:
        """Mean and standard deviation of an observation at a point."""
        return float(self.posterior.mean[point]), self.posterior.predictive_std(point)

    @property
    def information_gain(self) -> float:
        """½ log det(I + σ⁻²K) of the observations so far."""
        return self.posterior.information_gain


def observed_data(rounds: Sequence[Round]) -> tuple[list[Index], Array, Array | None]:
    """Indices of the points, values, and noise if any has its own; NaN stands for the model's, which may change."""
    own = [np.nan if r.noise is None else r.noise for r in rounds]
    noise = None if all(r.noise is None for r in rounds) else np.array(own)
    return [r.point_index for r in rounds], np.array([r.y for r in rounds]), noise


def model_blocks(setting: Setting, learned: Learned | None) -> list[Array]:
    """The blocks of points as the model sees them: scaled to [0, 1] if it is learned."""
    if learned is None:
        return list(setting.blocks)
    lows, spans = zip(*((b.min(axis=0), np.ptp(b, axis=0)) for b in setting.blocks), strict=True)
    return [(b - low) / np.where(span > 0, span, 1.0) for b, low, span in zip(setting.blocks, lows, spans, strict=True)]


def _with(numbers: Indices, number: int) -> Indices:
    """Increasing numbers and one more, unless it is among them."""
    at = int(np.searchsorted(numbers, number))
    known = at < len(numbers) and numbers[at] == number
    return numbers if known else frozen(np.insert(numbers, at, number))
