"""What a user tells, as the event that it means: which trial, at which settings, with which outcome.

A `Desk` is where somebody tells: the setting and all that is known by then. It changes nothing; what cannot be meant is
refused here, with what to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stableopt.base.checks import deviation, is_whole
from stableopt.campaign.events import ABANDONED, OPEN, Abandoned, Changed, Imported, Ledger, Told, Trial
from stableopt.campaign.words import Words
from stableopt.loop.measurements import Measurement
from stableopt.loop.reading import measured
from stableopt.loop.runs import plain
from stableopt.loop.setting import Setting
from stableopt.loop.settings import apart

_SHOWN = 5  # trials that an error names


class Outcome(NamedTuple):
    """What came out: values by name, or why there are none; None where nothing was said."""

    values: Mapping[str, float] | None
    failed: str | None
    noise: float | None

    @classmethod
    def of(cls, name: str, value: Any, noise: Any, failed: Any) -> Outcome:
        """The outcome as a user says it."""
        own = None if noise is None else deviation(noise, "noise as a standard deviation above 0")
        if failed is not None and failed is not False:
            if value is not None:
                raise ValueError(f"expected a value or failed=..., got both: {value!r:.80} and {failed!r:.80}")
            return cls({}, "no reason given" if failed is True else str(failed), own)
        if isinstance(value, Mapping):
            if set(value) != {name}:
                raise ValueError(f"expected values for {[name]}, got {list(value)}")
            value = value[name]
        if value is None:
            return cls(None, None, own)
        try:
            y = measured(value)
        except ValueError as error:
            raise ValueError(str(error).replace("tell None for a failed evaluation", "failed=... says why")) from None
        return cls(None if y is None else {name: y}, None, own)


class Desk(NamedTuple):
    """Where somebody tells: the setting of the campaign, and all that has happened."""

    setting: Setting
    ledger: Ledger

    def told(self, trial: Any, outcome: Outcome, at: Any) -> Told:
        """The outcome of a trial, given by itself, by its number, or by the settings that were used."""
        if outcome.values is None:
            raise ValueError("expected a value, got none: tell(7, 12.4), or tell(7, failed='why') if there is none")
        told = self._at_settings(trial, at) if _are_settings(trial) else self._by_number(trial, at)
        return replace(told, values=outcome.values, failed=outcome.failed, noise=outcome.noise)

    def _by_number(self, trial: Any, at: Any) -> Told:
        known = self.numbered(trial)
        if known.status not in (OPEN, ABANDONED):
            event = known.told
            first = "" if event is None else f" by {event.who} on {event.time[:16].replace('T', ' at ')} (UTC)"
            what = ", ".join(f"{v:.6g}" for v in known.values.values()) or f"it failed: {known.why}"
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
            told = replace(told, values=outcome.values, failed=outcome.failed)
        return told if outcome.noise is None else replace(told, noise=outcome.noise)

    def abandoned(self, trial: Any, why: str) -> Abandoned:
        """A trial that will not be made."""
        known = self.numbered(trial)
        if known.status != OPEN:
            remedy = f": correct({known.number}, failed=...) takes its value back" if known.values else ""
            raise ValueError(f"expected an open trial, got trial {known.number}, which is {known.status}{remedy}")
        return Abandoned(known.number, str(why))

    def imported(self, known: Sequence[Measurement[Any]], places: Sequence[str], name: str) -> Imported:
        """Earlier experiments; an error says where the row is that it refuses."""
        rows = []
        for m, place in zip(known, places, strict=True):
            try:
                rows.append((self.plain(m.point), {} if m.value is None else {name: m.value}, m.noise))
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
        """What was done for a trial: as asked for, or at other settings, near or far."""
        if at is None or self.plain(at) == known.point:
            return Told(known.number, {})
        done = self.setting.translation.point_index(at)
        return Told(known.number, {}, self.plain(at), serves=math.isfinite(self._apart(known, done)))

    def _apart(self, trial: Trial, done: Any) -> float:
        return apart(self.setting, self.setting.translation.point_index(trial.point), done)


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
