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
    point: Array
    y: float
    lower: float
    """min over A(decision) of lcb_{t−1}: the bound that was known when the point was chosen (Theorem 1)."""
    decision_index: int
    point_index: int


@dataclass(frozen=True, eq=False)
class State(ReadOnly):
    """The posterior after the rounds so far, with its confidence bounds on all points."""

    setting: Setting
    posterior: TrackedPosterior
    beta: float
    rounds: tuple[Round, ...] = ()
    decisions: Indices = field(default_factory=lambda: frozen(np.empty(0, dtype=np.intp)))
    """The numbers of the decisions of all rounds so far, increasing, each once."""
    intersected: tuple[Array, Array] | None = None
    """The largest lcb and the smallest ucb of all states so far, if a rule wants them (footnote in Section 5)."""

    @property
    def t(self) -> int:
        """Number of rounds so far."""
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

    def with_intersection(self) -> State:
        """The same state that also tracks the intersection of all its successors' bounds, starting with its own."""
        return replace(self, intersected=(self.lcb, self.ucb))

    def after(self, decision: int, point: int, y: float) -> State:
        """The state with one more round."""
        lower = self.pessimistic(decision).value
        user_decision, user_point = self.setting.decision(decision), self.setting.point(point)
        this = Round(self.t + 1, user_decision, user_point, y, lower, decision, point)
        posterior = self.posterior.update(point, y)
        state = State(self.setting, posterior, self.beta, (*self.rounds, this), _with(self.decisions, decision))
        if self.intersected is None:
            return state
        highest, lowest = np.maximum(self.intersected[0], state.lcb), np.minimum(self.intersected[1], state.ucb)
        return replace(state, intersected=(frozen(highest), frozen(lowest)))


def _with(numbers: Indices, number: int) -> Indices:
    """Increasing numbers and one more, unless it is among them."""
    at = int(np.searchsorted(numbers, number))
    known = at < len(numbers) and numbers[at] == number
    return numbers if known else frozen(np.insert(numbers, at, number))
