"""How a state becomes the next one: measurements are recorded, the model is learned again, the posterior follows.

All functions are pure: they return another state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.measurements import Data, Measurement, Round
from stableopt.loop.setting import Setting
from stableopt.loop.state import Output, State
from stableopt.maxmin.solver import Index
from stableopt.model.checking import check_own_values
from stableopt.model.gp import GP
from stableopt.model.learning import Belief, Learned

_TRIED = 20  # points on which a kernel of one's own is tried


def first_state(
    setting: Setting[Index], prior: GP | Learned, betas: tuple[float, float], *, intersects: bool = False
) -> State[Index]:
    """The state before any observation; with ``intersects``, the intersection of all bounds begins with its own."""
    learned = prior if isinstance(prior, Learned) else None
    columns = setting.columns
    belief = Belief((prior,)) if isinstance(prior, GP) else prior.first(columns.width, columns.categories)
    gp, places = belief.gps[0], np.zeros((1, columns.width))
    if gp.kernel.has_own_parts:
        points = setting.candidates()
        places = setting.inputs(points[:: max(1, len(points) // _TRIED)][:_TRIED], learned is not None)
        check_own_values(gp.kernel, places)
    gp.kernel(places, places)  # refuses a wrong number of columns, as the mean does: now, and not when f was measured
    gp.prior_mean(places)
    posterior = setting.posterior(belief, (), learned is not None)
    state = State(setting, Output(belief, learned, posterior), *betas)
    if not intersects:
        return state
    bounds = (None, None) if posterior is None else (state.lcb, state.ucb)
    return replace(state, intersected=setting.intersection(*bounds))


def recorded(state: State[Index], measurements: Sequence[Measurement[Index]]) -> State[Index]:
    """The state with more rounds and failures, of which the posterior knows nothing yet."""
    translation = state.setting.translation
    rounds, failures = list(state.rounds), list(state.failures)
    for m in measurements:
        asked = m.decision is not None
        decision = translation.decision_of(m.point) if m.decision is None else m.decision
        lower = -math.inf if not asked else state.pessimistic(decision).value if m.lower is None else m.lower
        seen = translation.decision(decision), translation.point(m.point)
        y, known = (math.nan, failures) if m.value is None else (m.value, rounds)
        known.append(Round(len(rounds) + 1, *seen, y, lower, asked, decision, m.point, m.noise))
    return replace(state, rounds=tuple(rounds), failures=tuple(failures))


def after(state: State[Index], measurements: Sequence[Measurement[Index]], *, learning: bool = True) -> State[Index]:
    """The state with more measurements; a model that is learned is learned again once, if that is due.

    ``learning=False``: not even then.
    """
    new, learned = recorded(state, measurements), state.objective.learned
    if new.t == state.t:
        return new
    if learning and learned is not None and learned.due(new.t, state.belief.t):
        return with_belief(new, _learn(new, learned))
    return _with_posterior(new, state.belief, afresh=False)


def with_belief(state: State[Index], belief: Belief) -> State[Index]:
    """The same observations under another model; those that it was not learned from update it.

    It changes the bounds as a whole, so their intersection starts anew.
    """
    new = _with_posterior(state, belief, afresh=True)
    if state.intersected is None:
        return new
    return replace(new, intersected=state.intersected.restarted())


def with_betas(state: State[Index], beta: float, explore: float) -> State[Index]:
    """The same state with other confidence bounds, which join the intersection of all bounds if one is kept."""
    new = state if (beta, explore) == (state.beta, state.explore) else replace(state, beta=beta, explore=explore)
    if new.intersected is None:
        return new
    return replace(new, intersected=new.intersected.joined(cast("Array", new.lcb), cast("Array", new.ucb)))


def rescaled(state: State[Index], factor: float) -> State[Index]:
    """The same state as if the adversary could do ``factor`` times as much."""
    return replace(state, setting=state.setting.rescaled(factor))


def _learn(state: State[Index], learned: Learned) -> Belief:
    """The model that is learned from all rounds."""
    setting, data = state.setting, Data.of(state.rounds)
    X = setting.inputs(data.points, True)
    return learned.learn(X, data.y, data.noise, state.belief, setting.columns.categories, setting.seed)


def _with_posterior(state: State[Index], belief: Belief, *, afresh: bool) -> State[Index]:
    """The state whose posterior knows all rounds."""
    before = None if afresh else state.objective.posterior
    scaled = state.objective.learned is not None
    posterior = state.setting.posterior(belief, state.rounds, scaled, before)
    return replace(state, objective=Output(belief, state.objective.learned, posterior))
