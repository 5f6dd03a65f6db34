"""Which point to measure next: a pure function of the state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, NamedTuple

import numpy as np

from stableopt.base.arrays import Mask, squared_distances
from stableopt.loop.answers import Query
from stableopt.loop.rules import Algorithm, SamplingRule
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index

_ALIKE = 3  # places next to each other where a quantity is missing: it cannot be measured around there
_AGAIN = 5  # in every so many rounds it is tried there again
_ELSEWHERE = 64  # decisions to choose from where it can be measured


class Asking(NamedTuple, Generic[Index]):
    """How the next point is chosen: by an algorithm, after ``initial`` points that are spread out."""

    algorithm: Algorithm
    initial: int
    seed: int

    def queries(self, state: State[Index], pending: Sequence[Query[Index]], count: int) -> list[Query[Index]]:
        """What to measure next, while the values of other queries are not in yet."""
        found: list[Query[Index]] = []
        chooser = state
        imagined = imagining(state, [q.point_index for q in pending], state.failing)
        for _ in range(count):
            if found:
                imagined = imagining(imagined, [found[-1].point_index])
            query, larger = self._query(chooser, imagined, [*pending, *found])
            if larger is not None:  # what one of them finds to be known is known to those that follow
                chooser, imagined = chooser.bolder(larger), imagined.bolder(larger)
            found.append(query)
        lower = state.guarantees([q.decision_index for q in found])
        return [replace(q, lower=low) for q, low in zip(found, lower, strict=True)]

    def _query(
        self, state: State[Index], imagined: State[Index], pending: Sequence[Query[Index]]
    ) -> tuple[Query[Index], float | None]:
        """One of them, from the state in which all others have their values; its lower bound is not known yet.

        Also the larger β that chose it, if one did.
        """
        larger = None
        number = state.t + len(state.failures) + len(pending)
        waiting = [q.point_index for q in pending]
        if number < self.initial or state.objective.t == 0 < self.initial:
            choice = _begin(self.algorithm.sampling, state, number, waiting)
        else:
            # Who asks for several at once has one search, and the others begin where that ended.
            if [q.t for q in pending] == list(range(number - len(waiting) + 1, number + 1)) and waiting:
                imagined = replace(imagined, like=(state,))
            seed = self.seed + 7919 * len(pending)  # random rules draw anew for every worker
            choice, larger = self._sampled(imagined, seed)
            if number % _AGAIN and self.algorithm.sampling.explores:
                choice = _measurable(imagined, choice)
            choice = other_point(imagined, choice, [*waiting, *_avoided(state)])
        translation = state.setting.translation
        seen = translation.decision(choice.decision), translation.point(choice.point)
        return Query(number + 1, *seen, math.nan, choice.decision, choice.point), larger

    def _sampled(self, state: State[Index], seed: int) -> tuple[Choice[Index], float | None]:
        """What the rule chooses, with the smallest β whose choice would tell something; which one, if it is larger."""
        rule, larger = self.algorithm.sampling, None
        choice = _sampled(rule, state, seed)
        for beta in state.instead if rule.explores else ():
            if teaches(state, choice.point):
                break
            choice, larger = _sampled(rule, state.bolder(beta), seed), beta
        return choice, larger


def teaches(state: State[Index], point: Index) -> bool:
    """Whether a measurement at this point would tell anything of the objective or of a constraint."""
    own = [r.noise for r in state.valued if r.noise is not None]  # it may be more usual than that of the model
    noise = float(np.median(own)) if 2 * len(own) > len(state.valued) else None
    outputs = [(state.objective, noise), *((k.output, None) for k in state.constraints)]
    return any(output.teaches(point, state.scale(output), known) for output, known in outputs)


def imagining(state: State[Index], points: Sequence[Index], failed: Sequence[Index] = ()) -> State[Index]:
    """A throw-away state in which these points were measured too and gave what the model expects there.

    A failed point counts as the smaller of its expected value and the smallest value so far: so its surroundings are
    left as well.
    """
    if state.objective.posterior is None or not (len(points) or len(failed)):
        return state
    smallest = min((r.y for r in state.valued), default=math.inf)
    lows = [*((p, smallest) for p in failed), *((p, math.inf) for p in points)]
    expected = [(p, math.inf) for p, _ in lows]
    limited = tuple(replace(k, output=k.output.imagining(expected)) for k in state.constraints)
    return replace(state, objective=state.objective.imagining(lows), constraints=limited, intersected=None)


def other_point(state: State[Index], choice: Choice[Index], taken: Sequence[Index]) -> Choice[Index]:
    """This choice, unless its point is one of ``taken`` (or very close to one).

    Then, of what the adversary can turn the decision into, the point that is known least; if all of them are taken, the
    one with the largest ucb of all.
    """
    setting, decision = state.setting, choice.decision
    if not setting.is_taken(choice.point, taken):
        return choice
    own = setting.candidates(decision, without=taken, draw=state.t)
    if len(own):
        return Choice(decision, own[int(np.argmax(state.latent(own)[1]))])
    free = setting.candidates(without=taken, draw=state.t)
    if not len(free):
        return choice
    mean, variance = state.latent(free)
    other = free[int(np.argmax(mean + math.sqrt(state.explore) * np.sqrt(variance)))]
    return Choice(state.decision_of(other), other)


def _measurable(state: State[Index], choice: Choice[Index]) -> Choice[Index]:
    """This choice, unless a constraint that is known elsewhere cannot be measured around its point.

    One value that is missing may be an accident; of three places next to each other, it is none. Then it is the most
    promising decision of a spread of others, measured where its constraints are known least, as far as they can be.
    """
    if not state.constraints or not _unmeasured(state, [choice.point]).any():
        return choice
    setting = state.setting
    points = setting.candidates(draw=state.t)
    open_ones = [z for z, no in zip(points, _unmeasured(state, points).tolist(), strict=True) if not no]
    decisions = [d for d in dict.fromkeys(map(state.decision_of, open_ones[:_ELSEWHERE])) if setting.allows(d)]
    if not decisions:
        return choice
    margins = np.minimum(state.limits.smallest_of(decisions, "exploring"), 0.0)
    values = [c.value for c in setting.solver(state.t, brief=True).minima(decisions, state.exploring)]
    best = decisions[int(np.lexsort((-np.array(values), -margins))[0])]
    own = setting.candidates(best)
    own = [z for z, no in zip(own, _unmeasured(state, own).tolist(), strict=True) if not no]
    if not own:
        return choice
    known = [(k.output.posterior, state.scale(k.output)) for k in state.constraints]
    widths = [np.sqrt(view.latent(own)[1]) / scale for view, scale in known if view is not None]
    return Choice(best, own[int(np.argmax(np.max(widths, axis=0)))])


def _unmeasured(state: State[Index], points: Sequence[Index]) -> Mask:
    """Whether the closest place that was asked for, or at which a constraint is known, is one of several without it."""
    found: Mask = np.zeros(len(points), dtype=bool)
    X = state.setting.inputs(points, True)
    for k in state.constraints:
        known = {r.t for r in k.rounds(state.rounds)}
        places = [r for r in state.rounds if r.asked or r.t in known]
        missing = np.array([r.t not in known for r in places], dtype=bool)
        if known and np.count_nonzero(missing) >= _ALIKE:
            Z = state.setting.inputs([r.point_index for r in places], True)
            closest = np.argsort(squared_distances(Z, Z), axis=1, kind="stable")[:, :_ALIKE]
            alike: Mask = np.all(missing[closest], axis=1)
            found |= alike[np.argmin(squared_distances(X, Z), axis=1)]
    return found


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
    """The points that failed since the last value, or more than once; and those where a quantity cannot be measured."""
    failing, last = state.failing, {f.point_index for f in state.failures if f.t > state.t}
    twice = [point for point in failing if point in last or failing.count(point) > 1]
    if not state.constraints:
        return twice
    measured = [state.valued, *(k.rounds(state.rounds) for k in state.constraints)]
    return twice + [z for known in measured for z in _unmeasurable(state, {r.t for r in known})]


def _unmeasurable(state: State[Index], known: set[int]) -> list[Index]:
    """The points at which a quantity, known in these rounds, was missing each time they were asked for, and twice."""
    taken = state.setting.is_taken
    there = [r.point_index for r in state.rounds if r.t in known]
    missing = [r.point_index for r in state.rounds if r.asked and r.t not in known]
    return [z for i, z in enumerate(missing) if taken(z, missing[:i]) and not taken(z, there)]
