"""The space that the trials of a study share: parameters that all of them have, with one range.

An objective may suggest what it likes. A model knows the parameters that are always there; chance has the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState


class Shared(NamedTuple):
    """What the complete trials of a study have in common."""

    space: dict[str, BaseDistribution]
    """The parameters of all trials, in the order of the first one; those that cannot vary are left out."""
    sometimes: list[str]
    """Parameters that some trials have and others do not."""
    changed: dict[str, list[BaseDistribution]]
    """Parameters whose range was not always the same."""

    @property
    def names(self) -> list[str]:
        """Every parameter that can vary."""
        return [*self.space, *self.changed, *self.sometimes]


def shared(trials: Sequence[FrozenTrial], ranges: Mapping[str, Any]) -> Shared:
    """The space of these trials. Where ``ranges`` has the range of decisions, the other one may have changed."""
    seen: dict[str, list[BaseDistribution]] = {}
    counts: dict[str, int] = {}
    complete = [t for t in trials if t.state is TrialState.COMPLETE]
    for trial in complete:
        for name, d in trial.distributions.items():
            known = seen.setdefault(name, [])
            if d not in known[-1:] and d not in known:
                known.append(d)
            counts[name] = counts.get(name, 0) + 1
    found = Shared({}, [], {})
    for name, known in seen.items():
        if all(d.single() for d in known):
            continue
        if counts[name] < len(complete):
            found.sometimes.append(name)
        elif len(known) == 1:
            found.space[name] = known[0]
        elif name in ranges and (whole := _whole(known)) is not None:
            found.space[name] = whole
        else:
            found.changed[name] = known
    return found


def _whole(known: Sequence[BaseDistribution]) -> BaseDistribution | None:
    """One range of floats around all of them; None where they are on different scales."""
    floats = [d for d in known if isinstance(d, FloatDistribution)]
    if len(floats) < len(known) or len({d.log for d in floats}) > 1:
        return None
    return FloatDistribution(min(d.low for d in floats), max(d.high for d in floats), log=floats[0].log)


def finished(trial: FrozenTrial) -> bool:
    """Whether a trial says something about f: a value, or that there is none."""
    return trial.state in (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)
