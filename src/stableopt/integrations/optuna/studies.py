"""A campaign as a study of Optuna, for its dashboards, storages and workers; and a study as a campaign."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Unpack

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState, create_trial

from stableopt.campaign.campaign import Campaign
from stableopt.campaign.events import ABANDONED, DONE, OPEN, Created, Trial
from stableopt.campaign.words import Words
from stableopt.campaign.written import text_of
from stableopt.integrations.optuna.answers import known_of
from stableopt.integrations.optuna.learning import DECISION, FAILED, PROPOSAL, WORDS
from stableopt.integrations.optuna.parameters import internal
from stableopt.integrations.optuna.said import StudyWords
from stableopt.loop.constraints import Constraint
from stableopt.sets.spaces import Space
from stableopt.sets.variables import Category, Float, Integer, Variable


def to_campaign(
    study: Study, tolerance: Any = None, *, file: str | os.PathLike[str] | None = None, **words: Unpack[StudyWords]
) -> Campaign:
    """A campaign that goes on where the study is now: its finished trials are earlier experiments."""
    known = known_of(study, tolerance, words)
    campaign = Campaign.of(known.learner.problem.words, file)
    made = known.learner.measurements(known.trials, 1, strict=True)
    campaign.add([m._replace(decision=None) for m in made.values()], again=False)
    return campaign


def to_study(campaign: Campaign, *, name: str | None = None, storage: Any = None, sampler: Any = None) -> Study:
    """A new study with the trials of a campaign: those that have an outcome, and the open ones as enqueued.

    name, storage, sampler: as in `optuna.create_study`. The study holds the words of the campaign, so `stable_best`
    answers as the campaign does.
    """
    words = campaign.ledger.said
    trials = [trial for trial in campaign.ledger.trials.values() if trial.status != ABANDONED]
    space = _distributions(words, [trial.settings for trial in trials])
    made = [_created(trial, space, words) for trial in trials if trial.status != OPEN]
    direction = StudyDirection.MINIMIZE if words.minimize else StudyDirection.MAXIMIZE
    study = optuna.create_study(storage=storage, study_name=name, direction=direction, sampler=sampler)
    study.set_user_attr(WORDS, text_of(Created(words))[1])
    study.add_trials(made)
    for trial in trials:
        if trial.status == OPEN:
            study.enqueue_trial(dict(trial.point))
    return study


def _created(trial: Trial, space: Mapping[str, BaseDistribution], words: Words) -> optuna.trial.FrozenTrial:
    params, told = dict(trial.settings), trial.status == DONE and words.value in trial.values
    asked = trial.decision is not None and trial.serves
    others = {name: trial.values[name] for name in words.outputs[1:] if name in trial.values}
    beyond = {f"constraints:{k.name}": _beyond(k, others[k.name]) for k in words.limits if k.name in others}
    return create_trial(
        state=TrialState.COMPLETE if told else TrialState.FAIL,
        params=params,
        distributions=dict(space),
        value=trial.values[words.value] if told else None,
        user_attrs=({DECISION: trial.decision} if asked else {}) | others,
        system_attrs=({PROPOSAL: internal(params, space), FAILED: True} if asked else {}) | beyond,
    )


def _beyond(limit: Constraint, value: float) -> float:
    """How far a value is beyond its limits, which Optuna calls a constraint: at most 0 where they are kept."""
    below = -math.inf if limit.lower is None else limit.lower - value
    return max(below, -math.inf if limit.upper is None else value - limit.upper)


def _distributions(words: Words, settings: list[Any]) -> dict[str, BaseDistribution]:
    """What an objective would suggest: every variable, and every parameter of the environment."""
    parameters = words.uncertainty.parameters
    spaces = [words.domain, *([] if parameters is None else [parameters.theta])]
    named = [s for s in spaces if isinstance(s, Space) and s.names is not None]
    if len(named) < len(spaces):
        raise ValueError("expected a campaign with named ranges, as Optuna has them, got one without names")
    pairs = [(n, v) for s in named for n, v in zip(s.names or (), s.parts, strict=True)]
    return {str(name): _distribution(name, v, [point[name] for point in settings]) for name, v in pairs}


def _distribution(name: Any, v: Variable, used: list[Any]) -> BaseDistribution:
    if isinstance(v, Integer):
        return IntDistribution(int(v.low), int(v.high), log=v.log)
    if isinstance(v, Category):
        return CategoricalDistribution(list(v.values))
    if not isinstance(v, Float):
        raise ValueError(f"expected ranges and categories, as Optuna has them, got fixed candidates for {name!r}")
    low, high = (v.low, v.high) if v.evaluate is None else v.evaluate
    stepped = v.step is not None and not v.log and v.evaluate is None
    on_step = FloatDistribution(low, high, step=v.step) if stepped else None
    if on_step is not None and all(on_step._contains(value) for value in used):
        return on_step
    return FloatDistribution(low, high, log=v.log)
