"""What is known after t rounds: an immutable value that sampling and reporting rules look at.

Notation: the bounds of this state are lcb_t and ucb_t; the paper's round t + 1 uses them, with β_{t+1} (`beta`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stableopt._arrays import Array, Indices, ReadOnly, frozen
from stableopt.gp import TrackedPosterior
from stableopt.maxmin import Decision, Setting, Solution


@dataclass(frozen=True, eq=False)
class Round(ReadOnly):
    """One observation: y was measured at ``point``, on behalf of ``decision``."""

    t: int
    decision: Decision
    """What the round was for; of data that nobody asked for, what the point stands for itself."""
    point: Array
    y: float
    lower: float
    """min over A(decision) of the lcb that was known when the point was chosen (Theorem 1)."""
    asked: bool
    """Whether the round served a decision, as opposed to data that were there anyway."""
    decision_index: int
    point_index: int


@dataclass(frozen=True, eq=False)
class State(ReadOnly):
    """The posterior after the rounds so far, with its confidence bounds on all points.

    Rules speak to a state only through its methods, in numbers of decisions and points that mean nothing to them.
    """

    setting: Setting
    posterior: TrackedPosterior
    beta: float
    rounds: tuple[Round, ...] = ()
    decisions: Indices = field(default_factory=lambda: frozen(np.empty(0, dtype=np.intp)))
    """The numbers of the decisions that rounds were asked for, increasing, each once."""
    intersected: tuple[Array, Array] | None = None
    """The largest lcb and the smallest ucb of all states so far, if a rule wants them (footnote in Section 5)."""

    @property
    def t(self) -> int:
        """Number of observations so far."""
        return len(self.rounds)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        return self.posterior.bounds(self.beta)

    @property
    def lcb(self) -> Array:
        """Lower confidence bound on every point."""
        return self._bounds[0]

    @property
    def ucb(self) -> Array:
        """Upper confidence bound on every point."""
        return self._bounds[1]

    @cached_property
    def optimistic(self) -> Solution:
        """x̃_{t+1}: the decision with the largest worst-case ucb (Alg. 1, line 2)."""
        return self.setting.solver.maximin(self.ucb)

    def pessimistic(self, decision: int) -> Solution:
        """Where this decision has its smallest lcb (Alg. 1, line 3, for x̃_{t+1})."""
        if decision not in self._pessimistic:
            self._pessimistic[decision] = self.setting.solver.worst(decision, self.lcb)
        return self._pessimistic[decision]

    @cached_property
    def _pessimistic(self) -> dict[int, Solution]:
        return {}

    def unperturbed(self, decision: int) -> int:
        """The point that the decision stands for if nobody perturbs it; of several, the one with the smallest ucb."""
        home = self.setting.home(decision)
        return int(home[np.argmin(self.ucb[home])])

    def most_promising_point(self) -> int:
        """The point with the largest ucb, of all that some decision stands for if nobody perturbs it."""
        homes = self.setting.homes
        if len(homes) == len(self.ucb):
            return int(np.argmax(self.ucb))
        return int(homes[np.argmax(self.ucb[homes])])

    def random_point(self, seed: int) -> int:
        """A uniformly random point; the same for the same seed and number of rounds."""
        reachable = self.setting.reachable
        return int(reachable[np.random.default_rng([seed, self.t + 1]).integers(len(reachable))])

    def safest(self, *, tried: bool = True, intersected: bool = False) -> int:
        """The decision with the largest worst-case lcb, among those of the rounds or (``tried=False``) all.

        Where no round was asked for yet, the decisions that the data stand for take their place. ``intersected`` uses
        the largest lcb of all states so far.
        """
        lower = self.intersected[0] if intersected and self.intersected is not None else self.lcb
        return self.setting.solver.best(lower, self._candidates if tried else None)

    @property
    def _candidates(self) -> Indices:
        if len(self.decisions):
            return self.decisions
        return np.unique([r.decision_index for r in self.rounds])

    def with_intersection(self) -> State:
        """The same state that also tracks the intersection of all its successors' bounds, starting with its own."""
        return replace(self, intersected=(self.lcb, self.ucb))

    def after(self, decision: int | None, point: int, y: float, lower: float | None = None) -> State:
        """The state with one more round, or with one more observation that was made for no decision (None).

        lower: the worst-case lcb of the decision when it was chosen, if that was before other rounds came in.
        """
        served = self.setting.decision_of(point) if decision is None else decision
        known = self.pessimistic(served).value if lower is None else lower
        named = self.setting.decision(served), self.setting.point(point)
        this = Round(self.t + 1, *named, y, known, decision is not None, served, point)
        decisions = self.decisions if decision is None else _with(self.decisions, decision)
        state = State(self.setting, self.posterior.update(point, y), self.beta, (*self.rounds, this), decisions)
        if self.intersected is None:
            return state
        highest, lowest = np.maximum(self.intersected[0], state.lcb), np.minimum(self.intersected[1], state.ucb)
        return replace(state, intersected=(frozen(highest), frozen(lowest)))


def _with(numbers: Indices, number: int) -> Indices:
    """Increasing numbers and one more, unless it is among them."""
    at = int(np.searchsorted(numbers, number))
    known = at < len(numbers) and numbers[at] == number
    return numbers if known else frozen(np.insert(numbers, at, number))
