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
from stableopt.loop.constraints import Constraint
from stableopt.loop.measurements import Data, Measurement, Round
from stableopt.loop.outputs import Limited, Output, valued
from stableopt.loop.setting import Setting
from stableopt.loop.state import State
from stableopt.maxmin.solver import Index
from stableopt.model.beliefs import Belief
from stableopt.model.checking import check_own_values
from stableopt.model.gp import GP
from stableopt.model.learning import Learned

_ASKED = 0.25  # of the observations, which make a run of them (`Learned.warp`)
_TRIED = 20  # points on which a kernel of one's own is tried


def first_state(
    setting: Setting[Index],
    prior: GP | Learned,
    betas: tuple[float, float],
    *,
    intersects: bool = False,
    constraints: Sequence[Constraint] = (),
) -> State[Index]:
    """The state before any observation; with ``intersects``, the intersection of all bounds begins with its own."""
    limited = tuple(Limited(k.name, k.sides, _first_output(setting, k.prior), *betas) for k in constraints)
    state = State(setting, _first_output(setting, prior), *betas, constraints=limited)
    if not intersects:
        return state
    bounds = (None, None) if state.objective.posterior is None else (state.lcb, state.ucb)
    return replace(state, intersected=setting.intersection(*bounds))


def _first_output(setting: Setting[Index], prior: GP | Learned) -> Output[Index]:
    """A quantity of which nothing was measured; refused if its model does not fit the setting."""
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
    return Output(belief, learned, setting.posterior(belief, (), learned is not None))


def recorded(state: State[Index], measurements: Sequence[Measurement[Index]]) -> State[Index]:
    """The state with more rounds and failures, of which the posterior knows nothing yet."""
    translation = state.setting.translation
    rounds, failures = list(state.rounds), list(state.failures)
    for m in measurements:
        asked = m.decision is not None
        decision = translation.decision_of(m.point) if m.decision is None else m.decision
        lower = -math.inf if not asked else state.pessimistic(decision).value if m.lower is None else m.lower
        seen = translation.decision(decision), translation.point(m.point)
        measured = {name: v for name, v in (m.measured or {}).items() if v is not None} or None
        y, known = math.nan if m.value is None else m.value, rounds
        if m.value is None and measured is None:
            known = failures
        known.append(Round(len(rounds) + 1, *seen, y, lower, asked, decision, m.point, m.noise, measured))
    return replace(state, rounds=tuple(rounds), failures=tuple(failures))


def after(state: State[Index], measurements: Sequence[Measurement[Index]], *, learning: bool = True) -> State[Index]:
    """The state with more measurements; a model that is learned is learned again once, if that is due.

    ``learning=False``: not even then.
    """
    new = recorded(state, measurements)
    if new.t == state.t:
        return new
    objective = _knowing(new, state.objective, _valued(new), learning)
    constraints = tuple(
        replace(k, output=_knowing(new, k.output, k.rounds(new.rounds), learning)) for k in new.constraints
    )
    new = replace(new, objective=objective, constraints=constraints)
    return new if objective.belief is state.belief else _restarted(new)


def with_belief(state: State[Index], belief: Belief, limited: Sequence[Belief | None] = ()) -> State[Index]:
    """The same observations under another model; those that it was not learned from update it.

    It changes the bounds as a whole, so their intersection starts anew. ``limited``: models of the constraints, None
    where it is the one that is given.
    """
    setting = state.setting
    constraints = tuple(
        replace(k, output=_believing(setting, k.output, b or k.output.belief, k.rounds(state.rounds)))
        for k, b in zip(state.constraints, limited or [None] * len(state.constraints), strict=True)
    )
    objective = _believing(setting, state.objective, belief, _valued(state))
    return _restarted(replace(state, objective=objective, constraints=constraints))


def with_betas(
    state: State[Index], beta: float, explore: float, limited: Sequence[tuple[float, float]] = ()
) -> State[Index]:
    """The same state with other confidence bounds, which join the intersection of all bounds if one is kept.

    limited: β that certifies and β that explores, for each constraint.
    """
    new = state if (beta, explore) == (state.beta, state.explore) else replace(state, beta=beta, explore=explore)
    if limited:
        pairs = zip(new.constraints, limited, strict=True)
        new = replace(new, constraints=tuple(replace(k, beta=b, explore=e) for k, (b, e) in pairs))
    if new.intersected is None:
        return new
    return replace(new, intersected=new.intersected.joined(cast("Array", new.lcb), cast("Array", new.ucb)))


def rescaled(state: State[Index], factor: float) -> State[Index]:
    """The same state as if the adversary could do ``factor`` times as much."""
    return replace(state, setting=state.setting.rescaled(factor), like=())


def _valued(state: State[Index]) -> Sequence[Round[Index]]:
    """The rounds in which the objective was measured."""
    return valued(state.rounds) if state.constraints else state.rounds


def _restarted(state: State[Index]) -> State[Index]:
    return state if state.intersected is None else replace(state, intersected=state.intersected.restarted())


def _knowing(
    state: State[Index], output: Output[Index], rounds: Sequence[Round[Index]], learning: bool
) -> Output[Index]:
    """The quantity after these rounds, in which it was measured; its model is learned again if that is due."""
    if len(rounds) == output.t:
        return output
    learned = output.learned
    if learning and learned is not None and learned.due(len(rounds), output.belief.t):
        return _believing(state.setting, output, _learn(state.setting, output, learned, rounds), rounds)
    posterior = state.setting.posterior(output.belief, rounds, learned is not None, output.posterior)
    return replace(output, posterior=posterior)


def _believing(
    setting: Setting[Index], output: Output[Index], belief: Belief, rounds: Sequence[Round[Index]]
) -> Output[Index]:
    """The quantity under another model, after these rounds."""
    scaled = output.learned is not None
    return Output(belief, output.learned, setting.posterior(belief, rounds, scaled))


def _learn(setting: Setting[Index], output: Output[Index], learned: Learned, rounds: Sequence[Round[Index]]) -> Belief:
    """The model that is learned from these rounds."""
    data = Data.of(rounds)
    if learned.warp is None:
        learned = replace(learned, warp=sum(r.asked for r in rounds) >= _ASKED * len(rounds))
    X = setting.inputs(data.points, True)
    return learned.learn(X, data.y, data.noise, output.belief, setting.columns.categories, setting.seed)
