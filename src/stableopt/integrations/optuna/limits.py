"""Constraints of a study, in Optuna's convention: a number for each, at most 0 where it is kept.

They come from `Trial.set_constraint`, by name, or from a function of the finished trial, by number. Here a decision
keeps them if they are kept at every point that the adversary can choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

ATTRIBUTE = "constraints"  # Optuna's own

ConstraintsFunction = Callable[[FrozenTrial], Sequence[float]]


def constraints(trial: FrozenTrial) -> dict[str, float]:
    """What was measured of the constraints, by name; those without a name are numbered."""
    numbered = {f"constraint {i}": value for i, value in enumerate(trial.system_attrs.get(ATTRIBUTE) or ())}
    prefix = f"{ATTRIBUTE}:"
    named = {k.removeprefix(prefix): v for k, v in trial.system_attrs.items() if k.startswith(prefix)}
    return numbered | named


def limits_of(trials: Iterable[FrozenTrial]) -> tuple[str, ...]:
    """The names of all constraints that complete trials have."""
    found = [constraints(trial) for trial in trials if trial.state is TrialState.COMPLETE]
    return tuple(dict.fromkeys(name for one in found for name in one))


def measured(trial: FrozenTrial, names: Sequence[str]) -> dict[str, float | None] | None:
    """What was measured of these constraints; attributes of a trial that came from a campaign are in its own units."""
    found: Mapping[str, Any] = {**constraints(trial), **{n: v for n, v in trial.user_attrs.items() if n in names}}
    known = {name: found.get(name) for name in names}
    return {n: float(v) if v is not None and math.isfinite(v) else None for n, v in known.items()} or None


def infinite(trial: FrozenTrial) -> bool:
    """Whether a constraint is infinite: then something is wrong there, and the trial counts as failed."""
    return any(isinstance(v, float) and math.isinf(v) for v in constraints(trial).values())


def keep(function: ConstraintsFunction, study: Study, trial: FrozenTrial) -> None:
    """Store what a function says of a finished trial."""
    found = [float(value) for value in function(trial)]
    if any(map(math.isnan, found)):
        raise ValueError(f"expected constraints_func to return numbers, at most 0 where they are kept, got {found}")
    study._storage.set_trial_system_attr(trial._trial_id, ATTRIBUTE, found)
