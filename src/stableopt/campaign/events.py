"""What happened in a campaign, one event after the other, and the trials that follow from it.

Nothing but events is stored, and nothing is ever erased: a correction is an event as well. Values are in the user's
sign, and points are plain: dictionaries, lists, numbers and strings, as JSON has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stableopt.campaign.words import Words
from stableopt.loop.measurements import Measurement

DONE, FAILED, OPEN, ABANDONED = STATUSES = "done", "failed", "open", "abandoned"


@dataclass(frozen=True)
class Created:
    """The campaign began; without words, they were others later on."""

    words: Words | None


@dataclass(frozen=True)
class Changed:
    """The words are others from now on; without words, they were others again later on."""

    words: Words | None


@dataclass(frozen=True)
class Asked:
    """A point was proposed, on behalf of a decision."""

    trial: int
    decision: Any
    point: Any
    lower: float | None
    """The bound on the worst case of the decision at that time; None if there was none."""
    attack: bool = False
    """Whether it attacks the decision that would have been reported then."""


@dataclass(frozen=True)
class Told:
    """What came out of a trial: values by name, or why there are none."""

    trial: int
    values: Mapping[str, float]
    at: Any = None
    """The settings that were really used; None: as asked."""
    noise: float | None = None
    failed: str | None = None
    serves: bool = True
    """Whether the settings are near those that were asked for, so that the values count for the decision."""
    corrects: bool = False


@dataclass(frozen=True)
class Abandoned:
    """A trial will not be made."""

    trial: int
    why: str = ""


@dataclass(frozen=True)
class Imported:
    """Earlier experiments: a trial for each row of (settings, values, noise); a row without values failed."""

    first: int
    rows: tuple[tuple[Any, Mapping[str, float], float | None], ...]


Happening = Created | Changed | Asked | Told | Abandoned | Imported


class Event(NamedTuple):
    """Something that happened, with its number, its time and whoever did it."""

    seq: int
    time: str
    who: str
    what: Happening

    @property
    def kind(self) -> str:
        """A word for it."""
        if isinstance(self.what, Told):
            return "corrected" if self.what.corrects else FAILED if self.what.failed is not None else "told"
        return type(self.what).__name__.lower()


@dataclass(frozen=True)
class Trial:
    """One experiment of a campaign: what was asked for, what was done, what came out."""

    number: int
    point: Any
    """What to set: as it was asked for or, of earlier experiments, as it was."""
    decision: Any = None
    """The decision that it serves; None: data of its own."""
    status: str = OPEN
    """"open", "done", "failed" or "abandoned"."""
    values: Mapping[str, float] = field(default_factory=dict)
    """What was measured, by name."""
    at: Any = None
    """The settings that were really used; None: as asked."""
    noise: float | None = None
    """Standard deviation of the values' noise, where it is not the model's."""
    why: str = ""
    """Why it failed or was abandoned."""
    lower: float | None = None
    """The bound on the worst case of the decision when it was asked for."""
    serves: bool = True
    """Whether what was done counts for the decision."""
    attack: bool = False
    """Whether it attacks the decision that would have been reported when it was asked for."""
    history: tuple[Event, ...] = ()
    """All that happened to it."""

    @property
    def settings(self) -> Any:
        """The settings that were used, or are to be used."""
        return self.point if self.at is None else self.at

    @property
    def told(self) -> Event | None:
        """The event with its outcome, the last one if it was corrected."""
        return next((e for e in reversed(self.history) if isinstance(e.what, Told | Imported)), None)

    @property
    def shown(self) -> str:
        """Its values; where there are several, with their names."""
        named = len(self.values) > 1
        return ", ".join(f"{name} {v:.6g}" if named else f"{v:.6g}" for name, v in self.values.items())

    def __repr__(self) -> str:
        outcome = {OPEN: "", DONE: f" = {self.shown}"}
        why = f": {self.why}" if self.why else ""
        return f"Trial({self.number}, {self.settings}, {self.status}{outcome.get(self.status, why)})"


@dataclass(frozen=True)
class Ledger:
    """All trials, and the order in which a model learns from them: a pure function of the events."""

    words: Words | None = None
    seq: int = 0
    """The number of the last event."""
    trials: Mapping[int, Trial] = field(default_factory=dict)
    batches: tuple[tuple[int, ...], ...] = ()
    """The trials with an outcome: those of one batch are learned from at once."""
    generation: int = 0
    """The last event that changed what had been learned; then all that is known is one batch."""
    last_asked: int = 0
    """The last event after which a suggestion may be out of date."""
    changed: str = ""
    """When the words were last changed, if they were."""

    def after(self, events: Iterable[Event]) -> Ledger:
        """The ledger when these have happened, too."""
        ledger = self
        for event in events:
            ledger = replace(ledger._with(event), seq=event.seq)
        return ledger

    def _with(self, event: Event) -> Ledger:
        what, trials = event.what, dict(self.trials)
        if isinstance(what, Created | Changed):
            changed = event.time if isinstance(what, Changed) else ""
            return replace(self, words=what.words, last_asked=event.seq, changed=changed)._afresh(event.seq)
        if isinstance(what, Asked):
            asked = Trial(what.trial, what.point, what.decision, lower=what.lower, attack=what.attack, history=(event,))
            trials[what.trial] = asked
            return replace(self, trials=trials, last_asked=event.seq)
        if isinstance(what, Imported):
            new = {n: _imported(n, row, event) for n, row in enumerate(what.rows, what.first)}
            return replace(self, trials=trials | new, batches=(*self.batches, tuple(new)))
        before = trials.get(what.trial, Trial(what.trial, getattr(what, "at", None)))
        if isinstance(what, Abandoned):
            trials[what.trial] = _happened(before, event, status=ABANDONED, why=what.why)
            return replace(self, trials=trials)
        status, why = (DONE, "") if what.failed is None else (FAILED, what.failed)
        trials[what.trial] = _happened(
            before, event, status=status, values=what.values, at=what.at, noise=what.noise, why=why, serves=what.serves
        )
        if what.corrects:
            return replace(self, trials=trials)._afresh(event.seq)
        return replace(self, trials=trials, batches=(*self.batches, (what.trial,)))

    def _afresh(self, seq: int) -> Ledger:
        known = tuple(number for batch in self.batches for number in batch)
        return replace(self, batches=(known,) if known else (), generation=seq)

    @property
    def said(self) -> Words:
        """The words, which the first event brings."""
        if self.words is None:
            raise ValueError("expected a campaign that was begun, got a file without its first event: it is damaged")
        return self.words

    @property
    def next_number(self) -> int:
        """The number of the next trial."""
        return max(self.trials, default=0) + 1

    @property
    def open(self) -> list[Trial]:
        """The trials whose outcome is not known yet."""
        return [trial for trial in self.trials.values() if trial.status == OPEN]

    @property
    def done(self) -> list[int]:
        """The numbers of the trials with values, in the order in which they are learned from."""
        wanted = set(self.said.outputs)  # a constraint that is none any more is nothing to learn from
        return [n for batch in self.batches for n in batch if wanted & self.trials[n].values.keys()]

    @property
    def evaluated(self) -> int:
        """How many trials that were asked for have an outcome."""
        return sum(t.decision is not None and t.status in (DONE, FAILED) for t in self.trials.values())

    @property
    def attacks(self) -> list[Trial]:
        """The attacks since the last trial that was asked for otherwise, but for abandoned ones."""
        asked = [t for t in self.trials.values() if t.decision is not None and t.status != ABANDONED]
        last = max((t.number for t in asked if not t.attack), default=0)
        return [t for t in asked if t.number > last]

    @property
    def failed_in_a_row(self) -> int:
        """How many of the last outcomes, but for imported ones, were failures."""
        last = [self.trials[number] for batch in self.batches for number in batch]
        last = [t for t in last if isinstance(t.history[-1].what, Told)]
        return next((i for i, t in enumerate(reversed(last)) if t.status == DONE), len(last))

    @property
    def known(self) -> bool:
        """Whether there is a value to go by: what is known of constraints alone is not enough."""
        return any(self.said.value in t.values for t in self.trials.values())

    @property
    def errors(self) -> tuple[str, ...]:
        """What went wrong in trials that failed."""
        return tuple(t.why for t in self.trials.values() if t.status == FAILED and t.why)

    def measurement(self, number: int) -> Measurement[Any]:
        """What a model learns from a trial; it maximises."""
        trial, sign = self.trials[number], self.said.sign
        value, *others = (trial.values.get(name) for name in self.said.outputs)
        measured = dict(zip(self.said.outputs[1:], others, strict=True)) or None
        lower: float | None = -math.inf if trial.lower is None else sign * trial.lower
        if trial.history[0].seq < self.generation:
            lower = None  # a bound of the time before a correction or a change says nothing now
        decision = trial.decision if trial.serves else None
        y = None if value is None else sign * value
        return Measurement(trial.settings, y, decision, trial.noise, lower, measured)


def _imported(number: int, row: tuple[Any, Mapping[str, float], float | None], event: Event) -> Trial:
    settings, values, noise = row
    return Trial(number, settings, None, DONE if values else FAILED, values, None, noise, history=(event,))


def _happened(trial: Trial, event: Event, **changes: Any) -> Trial:
    return replace(trial, history=(*trial.history, event), **changes)
