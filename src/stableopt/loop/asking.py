"""Which point to measure next: a pure function of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple

from stableopt.loop.answers import Query
from stableopt.loop.rules import Algorithm, SamplingRule
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index


class Asking(NamedTuple, Generic[Index]):
    """How the next point is chosen: by an algorithm, after ``initial`` points that are spread out."""

    algorithm: Algorithm
    initial: int
    seed: int

    def query(self, state: State[Index], pending: Sequence[Query[Index]]) -> Query[Index]:
        """What to measure next, while the values of other queries are not in yet."""
        number = state.t + len(state.failures) + len(pending)
        waiting = [q.point_index for q in pending]
        if number < self.initial or state.objective.t == 0 < self.initial:
            choice = _begin(self.algorithm.sampling, state, number, waiting)
        else:
            # Pending points are taken to give what the model expects, failed ones the smallest value so far.
            imagined = state.imagining(waiting, [f.point_index for f in state.failures])
            seed = self.seed + 7919 * len(pending)  # random rules draw anew for every worker
            choice = imagined.other_point(
                _sampled(self.algorithm.sampling, imagined, seed), [*waiting, *_avoided(state)]
            )
        translation = state.setting.translation
        seen = translation.decision(choice.decision), translation.point(choice.point)
        lower = state.pessimistic(choice.decision).value
        return Query(number + 1, *seen, lower, choice.decision, choice.point)


def _sampled(rule: SamplingRule, state: State[Index], seed: int) -> Choice[Index]:
    """What a rule chooses, checked: it may be a user's own."""
    choice = rule.sample(state, seed)
    where = f"{type(rule).__name__}.sample"
    if not isinstance(choice, Choice):
        raise TypeError(f"expected {where} to return a Choice(decision, point), got {choice!r:.200}")
    try:
        return state.setting.translation.canonical(choice)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected {where} to return indices of a decision and of a point: {error}") from None


def _begin(rule: SamplingRule, state: State[Index], number: int, pending: Sequence[Index]) -> Choice[Index]:
    """This point of the design, or the next one that nobody measured or is measuring: not all values come back."""
    taken = {*pending, *(r.point_index for r in (*state.rounds, *state.failures))}
    for following in range(number, number + len(taken) + 1):
        choice = rule.begin(state, following)
        if choice.point not in taken:
            break
    return choice


def _avoided(state: State[Index]) -> list[Index]:
    """The points that failed since the last value, or more than once."""
    failed = [f.point_index for f in state.failures]
    return [f.point_index for f in state.failures if f.t > state.t or failed.count(f.point_index) > 1]
