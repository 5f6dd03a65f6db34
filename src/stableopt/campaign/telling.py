"""What a user tells, as the event that it means: which trial, at which settings, with which outcome.

A `Desk` is where somebody tells: the setting and all that is known by then. It changes nothing; what cannot be meant is
refused here, with what to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.checks import deviation, is_whole, nearest
from stableopt.campaign.events import ABANDONED, OPEN, Abandoned, Changed, Imported, Ledger, Told, Trial
from stableopt.campaign.measuring import by_name
from stableopt.campaign.words import Words
from stableopt.loop.measurements import Measurement
from stableopt.loop.reading import measured
from stableopt.loop.runs import plain
from stableopt.loop.setting import Setting
from stableopt.loop.settings import apart

_SHOWN = 5  # trials that an error names


class Outcome(NamedTuple):
    """What came out: values by name, or why there are none; None where nothing was said."""

    values: Mapping[str, float | None] | None
    failed: str | None
    noise: float | None

    @classmethod
    def of(cls, names: Sequence[str], value: Any, noise: Any, failed: Any) -> Outcome:
        """The outcome as a user says it; the name of the value comes first, those of constraints follow."""
        own = None if noise is None else deviation(noise, "noise as a standard deviation above 0")
        if failed is not None and failed is not False:
            if value is not None:
                raise ValueError(f"expected a value or failed=..., got both: {value!r:.80} and {failed!r:.80}")
            return cls({}, "no reason given" if failed is True else str(failed), own)
        if value is None:
            return cls(None, None, own)
        given = by_name(value, names[0])
        unknown = [name for name in given if name not in names]
        if not given or unknown:
            meant = nearest(str(unknown[0]), names) if unknown else ""
            raise ValueError(f"expected values for {list(names)}, got {list(given)}{meant}")
        if len(names) > 1 and not isinstance(value, Mapping | tuple):
            example = f'{{"{names[0]}": {value!r:.40}, "{names[1]}": ...}}'
            raise ValueError(f"expected values for {list(names)} by name, such as {example}, got {value!r:.200}")
        return cls({name: _value(y, name, len(names) > 1) for name, y in given.items()}, None, own)


class Desk(NamedTuple):
    """Where somebody tells: the setting of the campaign, and all that has happened."""

    setting: Setting
    ledger: Ledger

    def told(self, trial: Any, outcome: Outcome, at: Any) -> Told:
        """The outcome of a trial, given by itself, by its number, or by the settings that were used."""
        values = _measured(outcome.values or {})
        if not values and outcome.failed is None:
            raise ValueError("expected a value, got none: tell(7, 12.4), or tell(7, failed='why') if there is none")
        told = self._at_settings(trial, at) if _are_settings(trial) else self._by_number(trial, at)
        return replace(told, values=values, failed=outcome.failed, noise=outcome.noise)

    def _by_number(self, trial: Any, at: Any) -> Told:
        known = self.numbered(trial)
        if known.status not in (OPEN, ABANDONED):
            event = known.told
            first = "" if event is None else f" by {event.who} on {event.time[:16].replace('T', ' at ')} (UTC)"
            what = known.shown or f"it failed: {known.why}"
            raise ValueError(
                f"expected an open trial, got trial {known.number}, which was told{first}: {what}; "
                f"correct({known.number}, ...) replaces that"
            )
        return self._placed(known, at)

    def _at_settings(self, settings: Any, at: Any) -> Told:
        if at is not None:
            raise ValueError("expected settings once, got them as the trial and as at=...")
        done = self.setting.translation.point_index(settings)
        away = {t.number: self._apart(t, done) for t in self.ledger.open}
        nearest = min(away, key=lambda number: away[number], default=0)
        if nearest and math.isfinite(away[nearest]):
            return self._placed(self.ledger.trials[nearest], settings)
        return Told(self.ledger.next_number, {}, self.plain(settings), serves=False)

    def corrected(self, trial: Any, outcome: Outcome, at: Any) -> Told:
        """Another outcome in place of the one that was told; what is not given stays."""
        known = self.numbered(trial)
        if known.status in (OPEN, ABANDONED):
            raise ValueError(f"expected a trial with an outcome, got trial {known.number}, which is {known.status}")
        if outcome == (None, None, None) and at is None:
            raise ValueError(f"expected what to correct, got nothing: correct({known.number}, 12.1)")
        told = Told(known.number, known.values, known.at, known.noise, known.why or None, known.serves, True)
        if at is not None:
            placed = self._placed(known, at)
            told = replace(told, at=placed.at, serves=placed.serves)
        if outcome.values is not None:
            kept = known.values if outcome.failed is None else {}
            told = replace(told, values=_measured({**kept, **outcome.values}), failed=outcome.failed)
            if not told.values and told.failed is None:
                raise ValueError(f"expected a value that is left, got none: correct({known.number}, failed='why')")
        return told if outcome.noise is None else replace(told, noise=outcome.noise)

    def abandoned(self, trial: Any, why: str) -> Abandoned:
        """A trial that will not be made."""
        known = self.numbered(trial)
        if known.status != OPEN:
            remedy = f": correct({known.number}, failed=...) takes its value back" if known.values else ""
            raise ValueError(f"expected an open trial, got trial {known.number}, which is {known.status}{remedy}")
        return Abandoned(known.number, str(why))

    def imported(self, known: Sequence[Measurement[Any]], places: Sequence[str]) -> Imported:
        """Earlier experiments; an error says where the row is that it refuses."""
        rows = []
        for m, place in zip(known, places, strict=True):
            try:
                values = _measured({self.ledger.said.value: m.value, **(m.measured or {})})
                rows.append((self.plain(m.point), values, m.noise))
            except (TypeError, ValueError) as error:
                raise type(error)(f"{error} (in {place})") from None
        return Imported(self.ledger.next_number, tuple(rows))

    def changed(self, words: Words) -> Changed:
        """Other words, if all trials fit them; ``setting`` is theirs."""
        wrong: dict[int, str] = {}
        for trial in self.ledger.trials.values():
            try:
                if trial.status != ABANDONED:
                    self.setting.translation.point_index(trial.settings)
            except (TypeError, ValueError) as error:
                wrong[trial.number] = str(error)
        if wrong:
            first = [f"trial {number}: {error}" for number, error in wrong.items()][:_SHOWN]
            raise ValueError(
                f"expected words that fit all trials, got {len(wrong)} that do not, so nothing was changed: "
                f"{'; '.join(first)}{'; ...' if len(wrong) > _SHOWN else ''} (evaluate=(low, high) of a Float keeps "
                "what was measured outside its range; an open trial can be abandoned)"
            )
        return Changed(words)

    def numbered(self, trial: Any) -> Trial:
        """A trial of this campaign, by itself or by its number."""
        number = trial.number if isinstance(trial, Trial) else trial
        known = self.ledger.trials.get(number) if is_whole(number, 1) else None
        if known is None:
            waiting = [t.number for t in self.ledger.open]
            raise ValueError(f"expected a trial of this campaign (open: {waiting}), got {trial!r:.200}")
        if isinstance(trial, Trial) and self.plain(trial.point) != known.point:
            raise ValueError(
                f"expected trial {number} as it was asked for, at {known.point}, got it at {trial.point}: pass "
                "at=... for other settings"
            )
        return known

    def plain(self, point: Any) -> Any:
        """A point as it is stored."""
        translation = self.setting.translation
        return plain(translation.point(translation.point_index(point)))

    def shown(self, trial: Trial) -> Trial:
        """A trial as a user sees it, with points and decisions in their usual form."""
        translation = self.setting.translation

        def seen(point: Any) -> Any:
            return None if point is None else translation.point(translation.point_index(point))

        try:
            decision = trial.decision
            if decision is not None:
                decision = translation.decision(translation.decision_index(decision))
            return replace(trial, point=seen(trial.point), at=seen(trial.at), decision=decision)
        except ValueError:  # of the time before a change
            return trial

    def _placed(self, known: Trial, at: Any) -> Told:
        """What was done for a trial: as asked for, or at other settings, near or far; what is left out stays."""
        if isinstance(at, Mapping) and isinstance(known.settings, Mapping):
            at = {**known.settings, **at}
        if at is None or self.plain(at) == known.point:
            return Told(known.number, {})
        done = self.setting.translation.point_index(at)
        return Told(known.number, {}, self.plain(at), serves=math.isfinite(self._apart(known, done)))

    def _apart(self, trial: Trial, done: Any) -> float:
        return apart(self.setting, self.setting.translation.point_index(trial.point), done)


def _value(y: Any, name: str, several: bool) -> float | None:
    """A number that somebody tells; of several, NaN says that this one was not measured."""
    if several and isinstance(y, float | np.floating) and math.isnan(y):
        return None
    try:
        return measured(y, "failed='why' in place of a value if there is none")
    except ValueError:
        if not several:
            raise
        remedy = f"None if {name} was not measured, failed='why' if something is wrong there"
        raise ValueError(f"expected a finite number as {name}, got {y!r:.200}: {remedy}") from None


def _measured(values: Mapping[str, float | None]) -> dict[str, float]:
    """What was measured of it."""
    return {name: y for name, y in values.items() if y is not None}


def recorded_as(trial: Trial, ledger: Ledger) -> str:
    """What became of settings that are not near what was asked for; nothing where nothing was."""
    waiting = [t.number for t in ledger.open]
    if trial.decision is not None:
        what = f"recorded for trial {trial.number} as data of its own: that was asked for at {trial.point}"
    elif waiting:
        what = f"recorded as trial {trial.number}, data of its own; still open: {waiting}"
    else:
        return ""
    return f"{trial.settings} is not near a point that was asked for: {what}"


def _are_settings(trial: Any) -> bool:
    """Whether it is a point, and neither a trial nor the number of one."""
    return not isinstance(trial, Trial | bool | None) and not is_whole(trial, -(10**9))
