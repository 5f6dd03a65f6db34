"""What the trials of any study say, whichever sampler ran it: the stable decision, its certificate, its price."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from numpy.typing import ArrayLike
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from stableopt.campaign.events import Created
from stableopt.campaign.profile import Profile
from stableopt.campaign.results import Assessment, Result
from stableopt.campaign.written import Reader
from stableopt.integrations.optuna.certificates import Certificate
from stableopt.integrations.optuna.learning import WORDS, Learner, minimizes, trials_of
from stableopt.integrations.optuna.limits import limits_of
from stableopt.integrations.optuna.parameters import Parameter
from stableopt.integrations.optuna.said import Problem, Said, StudyWords
from stableopt.integrations.optuna.spaces import Shared, shared

Decision = dict[str, Any]


def stable_best(study: Study, tolerance: Any = None, **words: Unpack[StudyWords]) -> Result[Decision]:
    """The decision whose worst case is best, as far as the trials of the study tell: not the luckiest trial.

    tolerance and words are those of `StableOptSampler`. A study that this sampler ran knows them: they need not be said
    again. Others are answered for as well, if they are.
    """
    known = known_of(study, tolerance, words)
    return Result(known.learner.learn(known.trials, strict=True), known.learner.problem.words.sign, "")


def assess(study: Study, tolerance: Any = None, **words: Unpack[StudyWords]) -> Assessment[Decision]:
    """How stable are the trials of a study? Bounds on the worst case of every one, and of the best decision of all."""
    known = known_of(study, tolerance, words)
    return Assessment(known.learner.learn(known.trials, strict=True), known.learner.problem.words.sign)


def certificate(
    study: Study, tolerance: Any = None, *, proof: bool = False, **words: Unpack[StudyWords]
) -> Certificate:
    """What can be promised of the stable decision now, as plain numbers.

    proof: prove the bounds instead of searching for them, as `Optimizer.report` does.
    """
    best = stable_best(study, tolerance, **words)
    return Certificate.of((best.proved() if proof else best).report, best.sign)


def profile(
    study: Study, tolerance: Any = None, *, factors: ArrayLike | None = None, **words: Unpack[StudyWords]
) -> Profile:
    """The price of robustness: decision and bounds for tolerances ``factors`` times as large; see `Result.profile`."""
    return stable_best(study, tolerance, **words).profile(factors)


class Known(NamedTuple):
    """The trials of a study, and what learns from them."""

    trials: list[FrozenTrial]
    learner: Learner


def known_of(study: Study, tolerance: Any, words: StudyWords) -> Known:
    """What is known of a study: by the words that are given, or by those that it holds."""
    minimize, trials = minimizes(study), trials_of(study)
    if not any(trial.state is TrialState.COMPLETE for trial in trials):
        raise ValueError(f"expected a study with at least one complete trial, got {len(trials)} trials without")
    said = _said(study, tolerance, words)
    found = shared(trials, {} if said is None else said.ranges)
    if said is None:
        return Known(trials, Learner(_stored(study, found)))
    said.check(found.names)
    _refuse_changed(found, [*found.changed])
    lacking = [name for name in said.names if name in found.sometimes]
    if lacking:
        raise ValueError(
            f"expected words about parameters of all trials, {list(found.space)}, got some about {lacking}, which some "
            "trials lack"
        )
    if found.sometimes:
        warnings.warn(
            f"some trials lack {found.sometimes}: they are left out, and what they do to the values counts as noise",
            stacklevel=4,
        )
    return Known(trials, Learner(said.problem(found.space, minimize=minimize, limits=limits_of(trials))))


def _said(study: Study, tolerance: Any, words: StudyWords) -> Said | None:
    """The words that were given, or those of the sampler; None: those that the study holds."""
    if tolerance is not None or words:
        return Said.of(tolerance, words)
    if isinstance(said := getattr(study.sampler, "said", None), Said):
        return said
    if WORDS in study.user_attrs:
        return None
    raise ValueError(
        'expected a tolerance such as {"x": 0.5} or an environment such as ["wind"], got neither, and the study holds '
        "none since another sampler ran it: stable_best(study, tolerance=...)"
    )


def _stored(study: Study, found: Shared) -> Problem:
    """The problem that a sampler wrote into the study."""
    read = Reader().read("created", str(study.user_attrs[WORDS]))
    assert isinstance(read, Created) and read.words is not None
    space = read.words.domain
    uncertainty = read.words.uncertainty.parameters
    names = [*getattr(space, "labels", []), *(getattr(uncertainty.theta, "labels", []) if uncertainty else [])]
    _refuse_changed(found, names)
    missing = [name for name in names if name not in found.space]
    if missing:
        raise ValueError(
            f"expected the parameters {names} that the study's words are about in all trials, got none for {missing}: "
            "say the words again, such as stable_best(study, tolerance=...)"
        )
    return Problem(read.words, {name: Parameter.of(name, found.space[name], None) for name in names})


def _refuse_changed(found: Shared, names: Sequence[str]) -> None:
    for name in names:
        if name in found.changed:
            known = " and ".join(map(str, found.changed[name]))
            raise ValueError(
                f"expected one range of {name!r} in all trials, got {known}: pass ranges={{{name!r}: (low, high)}} for "
                "the decisions that you can choose"
            )
