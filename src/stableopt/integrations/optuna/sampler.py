"""StableOpt as a sampler of Optuna: each trial is a point at which the best decision may be at its worst.

The storage is all that processes share. A process reads it before it proposes, and what others are running is pending.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from stableopt.base.checks import whole
from stableopt.base.locks import Lock
from stableopt.campaign.events import Created
from stableopt.campaign.written import text_of
from stableopt.integrations.optuna.certificates import Certificate
from stableopt.integrations.optuna.learning import (
    CERTIFICATE,
    DECISION,
    FAILED,
    FIXED,
    LOWER,
    PROPOSAL,
    UPPER,
    WORDS,
    Learner,
    minimizes,
    trials_of,
)
from stableopt.integrations.optuna.limits import ConstraintsFunction, keep, limits_of
from stableopt.integrations.optuna.parameters import internal
from stableopt.integrations.optuna.said import Said, StudyWords
from stableopt.integrations.optuna.spaces import shared
from stableopt.loop.answers import Query

_ATTEMPTS = 10  # to find a point that no other worker proposes at the same moment; a small space may have none
_MOMENT, _WAITS = 0.05, 20  # seconds for another worker to move on, and how often


class StableOptSampler(BaseSampler):
    """Proposes points at which a promising decision may be at its worst, so that the best worst case is found.

    tolerance: how far a decision may be off, in the units of the objective: ``{"x": 0.5, "lr": "20%"}``, one for all
        numbers, or an uncertainty set such as ``Ball(0.5, columns=["x", "y"])``.
    environment: the names of parameters that can be set now but not later: the adversary has their whole range.
    ranges: decisions are kept to ``{"x": (1.0, 9.0)}`` where the objective suggests a wider range to evaluate in.
    constraints_func: a function of a finished trial that returns numbers, each at most 0 where a constraint is kept, as
        in Optuna's samplers; `Trial.set_constraint` needs none. They must be kept at every point of a decision.
    certify: every so many trials, the best decision and its bounds are computed and stored with the trial; 0: never.
        It takes about three times as long as a proposal.
    noise, model, algorithm, beta, explore, initial, seed: as in `maximize`.

    Parameters that some trials do not have, or whose range changes, are sampled at random, with one warning.
    """

    def __init__(
        self,
        tolerance: Any = None,
        *,
        certify: int = 10,
        constraints_func: ConstraintsFunction | None = None,
        **words: Unpack[StudyWords],
    ) -> None:
        self.said = Said.of(tolerance, words)
        if constraints_func is not None and not callable(constraints_func):
            raise TypeError(f"expected constraints_func as a function of a finished trial, got {constraints_func!r}")
        self._constraints = constraints_func
        self._certify = whole(certify, 0, "certify as a number of trials 0, 1, 2, ...")
        self._seed = whole(self.said.options.get("seed", 0), 0, "a seed 0, 1, 2, ...")
        self._lock = Lock()  # of what was learned: threads of one process propose one after the other
        self._learner: tuple[str, Learner] | None = None
        self._written: str | None = None
        self._warned = False

    def __str__(self) -> str:
        return f"StableOptSampler(tolerance={self.said.tolerance!r}, environment={list(self.said.environment)!r})"

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that the model knows: those of all complete trials."""
        minimizes(study)
        found = shared(trials_of(study), self.said.ranges)
        if not found.names:
            return {}
        self._check(found.names, found.changed)
        return found.space if any(name not in self.said.environment for name in found.space) else {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The point at which the next decision may be worst, given all that is in the storage."""
        minimize = minimizes(study)
        given = {*trial.params, *trial.system_attrs.get(FIXED, {})}
        if not search_space or search_space.keys() <= given:
            return {}
        with self._lock:
            trials = trials_of(study)
            learner = self._learner_of(study, search_space, minimize, limits_of(trials))
            learner.learn(trials)
            return self._proposed(study, trial, learner, trials)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value, where the model knows nothing of a parameter; another one in every trial."""
        minimizes(study)
        if not self._warned:
            self._warn(param_name, param_distribution, trials_of(study))
        seed = zlib.crc32(f"{self._seed} {trial.number} {param_name}".encode())
        return RandomSampler(seed).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Note that an objective failed, as opposed to its worker; refuse words about what it never suggests."""
        if state in (TrialState.FAIL, TrialState.PRUNED):
            study._storage.set_trial_system_attr(trial._trial_id, FAILED, True)
            return
        if self._constraints is not None:
            keep(self._constraints, study, trial)
        if any(name not in trial.params for name in self.said.names):
            found = shared(trials_of(study), self.said.ranges)
            self._check([*found.names, *trial.params], found.changed)

    def _check(self, names: Sequence[str], changed: Mapping[str, Sequence[BaseDistribution]]) -> None:
        """Refuse words that cannot be meant."""
        self.said.check(names)
        for name in self.said.names:
            if name in changed:
                known = " and ".join(map(str, changed[name]))
                raise ValueError(
                    f"expected one range of {name!r} in all trials, got {known}: pass ranges={{{name!r}: (low, high)}} "
                    "for the decisions, or begin another study"
                )

    def _warn(self, name: str, distribution: BaseDistribution, trials: Sequence[FrozenTrial]) -> None:
        """Say once that a parameter is left to chance; in the first trials, all are."""
        found = shared(trials, self.said.ranges)
        if distribution.single() or not found.names or found.space.get(name) == distribution:
            return
        self._warned = True
        why = "its range is not always the same" if name in {**found.changed, **found.space} else "some lack it"
        warnings.warn(
            f"the model knows the parameters that all trials share, {list(found.space)}, and not {name!r} ({why}): it "
            "is sampled at random, and so is any other such parameter; what it does to the values counts as noise",
            stacklevel=5,
        )

    def _learner_of(
        self, study: Study, space: Mapping[str, BaseDistribution], minimize: bool, limits: Sequence[str]
    ) -> Learner:
        """What this process has learned; a new one for another study, another space or other constraints."""
        key = f"{study._study_id} {study.study_name} {minimize} {dict(space)} {limits}"
        if self._learner is None or self._learner[0] != key:
            self._learner = key, Learner(self.said.problem(space, minimize=minimize, limits=limits))
            self._write_words(study, self._learner[1])
        return self._learner[1]

    def _write_words(self, study: Study, learner: Learner) -> None:
        """The words go with the study, so that anybody can ask for its stable decision."""
        with contextlib.suppress(TypeError):  # functions of the user's own: then they are said again
            text = text_of(Created(learner.problem.words))[1]
            if text != study.user_attrs.get(WORDS):
                study.set_user_attr(WORDS, text)

    def _proposed(
        self, study: Study, trial: FrozenTrial, learner: Learner, trials: Sequence[FrozenTrial]
    ) -> dict[str, Any]:
        """A proposal that no running trial has, written down before anybody else can miss it."""
        pending = learner.pending(trials, trial.number)
        query = learner.optimizer.ask(pending=pending.values())
        params = self._propose(study, trial, learner, query)
        waits = attempts = 0
        # Both of two workers wrote before they look, so at least one of them sees the other, and moves.
        while attempts < _ATTEMPTS:
            trials = trials_of(study)
            same = [n for n, q in learner.pending(trials, trial.number).items() if q.point_index == query.point_index]
            overtaken = learner.overtaken(trials, query)
            if not (same or overtaken):
                break
            if not overtaken and min(same) > trial.number and waits < _WAITS:
                waits += 1  # the later trial moves, unless it looked before we wrote
                time.sleep(_MOMENT)
                continue
            waits, attempts = 0, attempts + 1
            study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, {})  # so that nobody waits for us
            trials = trials_of(study)
            learner.learn(trials)
            earlier = sum(number < trial.number for number in same)  # they may have to move as well: each its own way
            pending = learner.pending(trials, trial.number)
            query = learner.optimizer.ask(max(1, earlier), pending=pending.values())[-1]
            params = self._propose(study, trial, learner, query)
        self._explain(study, trial, learner, query)
        return params

    def _propose(self, study: Study, trial: FrozenTrial, learner: Learner, query: Query) -> dict[str, Any]:
        params = learner.problem.params(query.point)
        study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, internal(params, learner.space))
        return params

    def _explain(self, study: Study, trial: FrozenTrial, learner: Learner, query: Query) -> None:
        """The decision behind the trial and what is known of it, where the dashboard shows it."""
        optimizer, sign = learner.optimizer, learner.problem.words.sign
        said: dict[str, Any] = {DECISION: dict(query.decision)}
        if optimizer.rounds:
            # The point is one that the adversary can choose, so what f can be there bounds the worst case from above.
            upper = float(optimizer.state.bounds([query.point_index])[1][0])
            lower, upper = sorted((sign * query.lower, sign * max(upper, query.lower)))
            said |= {LOWER: lower, UPPER: upper}
            if self._certify and trial.number % self._certify == 0:
                said[CERTIFICATE] = Certificate.of(optimizer.report(), sign).data
        for name, value in said.items():
            if not isinstance(value, float) or math.isfinite(value):
                study._storage.set_trial_user_attr(trial._trial_id, name, value)
                trial.user_attrs[name] = value  # of the trial in hand, which is not read again
