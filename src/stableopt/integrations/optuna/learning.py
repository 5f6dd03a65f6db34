"""What is learned from the trials of a study: all at once, or what is new since the last look.

A trial keeps what was proposed for it. So a trial that was set by hand is data, and one whose worker died is told from
one whose objective failed.

    proposal    values that were proposed for the trial, as storages hold them (a system attribute)
    decision    the decision that they serve; lower and upper, the bounds on its worst case then (user attributes)
    failed      the objective itself failed, or was pruned (a system attribute)
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from stableopt.base.checks import is_value
from stableopt.integrations.optuna.limits import infinite, measured
from stableopt.integrations.optuna.parameters import internal
from stableopt.integrations.optuna.said import Problem
from stableopt.integrations.optuna.spaces import finished
from stableopt.loop.answers import Query
from stableopt.loop.measurements import Measurement
from stableopt.loop.optimizer import Optimizer

PROPOSAL = "stableopt:proposal"
DECISION = "stableopt:decision"
LOWER, UPPER = "stableopt:lower", "stableopt:upper"
CERTIFICATE = "stableopt:certificate"
FAILED = "stableopt:failed"
WORDS = "stableopt:words"
FIXED = "fixed_params"  # Optuna's own, of trials that were enqueued


def trials_of(study: Study) -> list[FrozenTrial]:
    """All trials by now, also those of other processes."""
    try:
        return study.get_trials(deepcopy=False)
    except Exception as error:
        error.add_note("the storage of the study did not answer, and nothing was changed: is its server running?")
        raise


def minimizes(study: Study) -> bool:
    """Whether small values are good; an error for a study with several objectives."""
    if len(study.directions) != 1:
        raise ValueError(
            f"expected a study with one objective, got {len(study.directions)}: make one of them the objective of a "
            "study, and the others constraints of it"
        )
    return study.direction is StudyDirection.MINIMIZE


class Learner:
    """An optimiser that follows the trials of a study."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.space = {name: p.distribution for name, p in problem.parameters.items()}
        from stableopt.campaign.record import optimizer_of  # which knows more than a sampler that is only imported

        self._fresh = optimizer_of(problem.words)
        self.optimizer = copy.copy(self._fresh)
        self._told: set[int] = set()
        self._read: dict[tuple[int, int], Measurement[Any]] = {}  # by number and sign; what is finished never changes

    def learn(self, trials: Sequence[FrozenTrial], *, strict: bool = False) -> Optimizer:
        """The optimiser, after whatever is new.

        strict: refuse trials that do not fit the space; else they are left out.
        """
        known = self.measurements(trials, self.problem.words.sign, strict=strict)
        if self._told - known.keys():  # what failed once has a value now
            self.optimizer, self._told = copy.copy(self._fresh), set()
        new = sorted(known.keys() - self._told)
        self.optimizer.tell_all([known[number] for number in new])
        self._told |= known.keys()
        return self.optimizer

    def measurements(
        self, trials: Sequence[FrozenTrial], sign: int, *, strict: bool = False
    ) -> dict[int, Measurement[Any]]:
        """What the trials say about f, by their numbers; values times ``sign``."""
        made = [t for t in trials if finished(t) and self.space.keys() <= t.params.keys()]
        others = [t for t in trials if t.state is not TrialState.FAIL and self.space.keys() <= t.params.keys()]
        repeated = {self._key(t) for t in others} if any(t.state is TrialState.FAIL for t in made) else set()
        found: dict[int, Measurement[Any]] = {}
        for trial in made:
            if trial.state is TrialState.FAIL and (self._killed(trial) or self._key(trial) in repeated):
                continue
            key = trial.number, sign
            try:
                if key not in self._read:
                    self._read[key] = self._measurement(trial, sign)
                found[trial.number] = self._read[key]
            except ValueError as error:
                if strict:
                    raise ValueError(f"{error} (in trial {trial.number} of the study)") from None
        return found

    def _measurement(self, trial: FrozenTrial, sign: int) -> Measurement[Any]:
        translation = self.optimizer.state.setting.translation
        point = self.problem.point(trial.params)
        translation.point_index(point)  # refuses what is outside
        value = trial.value if trial.state is TrialState.COMPLETE and not infinite(trial) else None
        known = value is not None and is_value(value)
        decision = trial.user_attrs.get(DECISION)
        if decision is not None:
            try:
                own = trial.system_attrs.get(PROPOSAL) == internal(trial.params, self.space)
                translation.decision_index(decision)
            except ValueError:
                own = False
            decision = decision if own else None
        others = None if value is None else measured(trial, self.problem.words.outputs[1:])
        return Measurement(point, sign * value if known and value is not None else None, decision, measured=others)

    def _key(self, trial: FrozenTrial) -> tuple[float, ...]:
        return tuple(internal(trial.params, self.space).values())

    def _killed(self, trial: FrozenTrial) -> bool:
        """Whether nobody told that it failed: then its worker died, which says nothing about f."""
        return PROPOSAL in trial.system_attrs and FAILED not in trial.system_attrs

    def pending(self, trials: Iterable[FrozenTrial], but: int) -> dict[int, Query]:
        """What others are measuring now, by the numbers of the trials."""
        from stableopt.campaign.record import waiting

        setting, found = self.optimizer.state.setting, {}
        for trial in trials:
            values = self._proposed(trial) if trial.state is TrialState.RUNNING and trial.number != but else None
            if values is not None:
                try:
                    found[trial.number] = waiting(setting, self.problem.point(values))
                except ValueError:  # of other ranges
                    continue
        return found

    def overtaken(self, trials: Iterable[FrozenTrial], query: Query) -> bool:
        """Whether somebody has finished a trial at this point since the last `learn`: by the same thoughts as ours."""
        new = self.measurements([t for t in trials if t.number not in self._told], self.problem.words.sign)
        translation = self.optimizer.state.setting.translation
        return any(translation.point_index(m.point) == query.point_index for m in new.values())

    def _proposed(self, trial: FrozenTrial) -> dict[str, Any] | None:
        """The values of a running trial: as they were suggested, set by hand, or proposed."""
        proposal = trial.system_attrs.get(PROPOSAL, {})
        proposed = {n: d.to_external_repr(proposal[n]) for n, d in self.space.items() if n in proposal}
        values = {**proposed, **trial.system_attrs.get(FIXED, {}), **trial.params}
        return {name: values[name] for name in self.space} if self.space.keys() <= values.keys() else None
