"""The loop over the evaluations of one call of `maximize` or `minimize`, on a campaign."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from stableopt.campaign.calls import Limits, ObjectiveError, Shown
from stableopt.campaign.campaign import Campaign
from stableopt.campaign.events import OPEN, Trial
from stableopt.campaign.kept import doubted
from stableopt.campaign.measuring import Outcome, said
from stableopt.campaign.results import Assessment, Result, named
from stableopt.campaign.team import Alone, Source, Team, Work
from stableopt.campaign.words import Words
from stableopt.loop.answers import readable
from stableopt.loop.defaults import MOST_FAILURES

_PATIENCE = 3  # times as long as a report took, there is no other one in the line of the progress


class Call:
    """One call of `maximize` or `minimize`: the loop over its evaluations."""

    def __init__(
        self, work: Work, words: Words, limits: Limits, shown: Shown, file: str | os.PathLike[str] | None
    ) -> None:
        progress, callback = shown
        self.work, self._crew = work, work.crew()
        if callback is not None and not callable(callback):
            raise TypeError(f"expected a callback that takes a result, got {callback!r}")
        self.limits, self.callback = limits, callback
        self.shown = sys.stderr.isatty() if progress is None else progress
        self._began = file is not None and not (Path(file).exists() and Path(file).stat().st_size)
        self.campaign = Campaign.of(words, file)
        self._asked = 0  # trials, by this call
        self.started = time.monotonic()
        self.last: Result[Any] | None = None  # the last one that could be computed
        self.refused: tuple[str, ...] = ()  # what a model could not take

    def run(self, data: Any) -> Result[Any]:
        """All evaluations, after the data; whatever ends them early, what is known is kept."""
        try:
            if data is not None:
                self.campaign.add(data, again=False)
            if not self.limits.evaluations and not self._known:
                raise ValueError("expected evaluations of at least 1, or data: there is nothing to go by")
            stopped = self._evaluate()
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt) or not self._known:
                self._keep(error)
                if self._began and isinstance(error, TypeError | ValueError):  # refused, not broken
                    _clear_up(self.campaign, self._asked)
                raise
            stopped = "interrupted"
        finally:
            if self.shown:
                print(file=sys.stderr)
        return self._result(stopped)

    def _evaluate(self) -> str:
        """One evaluation after the other; why they ended."""
        self.started = time.monotonic()
        if self._remaining() <= 0:
            return "budget"
        if finished := self._finished(self._result("running")):
            return finished
        source = self._source()
        try:
            stopped = self._evaluate_from(source)
            for trial, outcome in source.rest():
                _tell(self.campaign, trial, outcome)
            return stopped
        except BaseException:
            with contextlib.suppress(Exception):  # what ended it goes on
                for trial, outcome in source.rescued():
                    _tell(self.campaign, trial, outcome)
            raise
        finally:
            source.close()

    def _source(self) -> Source:
        if self._crew is None:
            return Alone(self.campaign, self.work, self.ask)
        return Team(self.campaign, self.work, self._crew(), (self.ask, self._room))

    def _remaining(self) -> int:
        """How many evaluations may still come."""
        return self.limits.evaluations - self.campaign.ledger.evaluated

    def _room(self) -> int:
        return 0 if self._over() else self._remaining()

    def _over(self) -> bool:
        """Whether the time is over; it never is before the first value."""
        seconds = self.limits.seconds
        return seconds is not None and time.monotonic() - self.started >= seconds and self._known

    def _evaluate_from(self, source: Source) -> str:
        evaluations, line = self.limits.evaluations, _Line()
        for number in range(evaluations - self._remaining() + 1, evaluations + 1):
            if self._over():
                return "time"
            result = self._evaluate_once(source)
            if self.shown:
                line.show(result, number, evaluations)
            answer = self.callback(result) if self.callback is not None and self._known else None
            if isinstance(answer, bool | np.bool_) and answer:
                return "callback"
            if finished := self._finished(result):
                return finished
        return "budget"

    def _evaluate_once(self, source: Source) -> Result[Any]:
        trial, outcome = source.next()
        values, error = outcome
        _tell(self.campaign, trial, outcome)
        failed = self.campaign.ledger.failed_in_a_row
        if failed >= MOST_FAILURES or (failed == self.limits.evaluations and not self._known):
            given = "" if self._known else f"; f gets the whole point, a {type(trial.point).__name__}"
            raise ObjectiveError(f"{failed} evaluations in a row failed, the last one with: {error}{given}")
        try:
            return self._result("running")
        except Exception as refused:  # by a model of the user's own, say: the value may have taken a day to measure
            shown = ", ".join(map(str, (values or {}).values()))
            kept = f"the value {shown} at {readable(trial.point)} was measured, but could not be added"
            self.refused = (f"{kept}: {said(refused)}",)
            refused.add_note(kept)
            raise

    @property
    def _known(self) -> bool:
        """Whether there is a value."""
        return self.campaign.ledger.known

    def ask(self) -> Trial:
        """What to measure next: an attack, if the decision is good enough or the budget is about to end."""
        ledger = self.campaign.ledger
        remaining = self._remaining() - sum(t.decision is not None for t in ledger.open)
        missing = self.limits.confirm - len(ledger.attacks)
        attack = (
            missing > 0 and self._known and (remaining <= missing or bool(self._good_enough(self._result("running"))))
        )
        self._asked += 1
        return self.campaign.ask(attack=attack)

    def _finished(self, result: Result[Any]) -> str:
        """Why the decision is good enough, if it was attacked as often as it has to be."""
        tried = [t for t in self.campaign.ledger.attacks if t.status != OPEN]
        return self._good_enough(result) if len(tried) >= self.limits.confirm else ""

    def _good_enough(self, result: Result[Any]) -> str:
        """Why the decision is good enough; nothing if it is not, or nothing is known of it."""
        target, sure = self.limits.target, self.limits.stop_when
        if not self._known or (target, sure) == (None, None) or result.feasible not in (None, "certified"):
            return ""
        # A model that was learned from a handful of values may be sure of anything.
        outputs = result.state.objective, *(k.output for k in result.state.constraints)
        models = zip(outputs, (result.health, *result.healths.values()), strict=True)
        founded = all(output.learned is None or known.trusted for output, known in models)
        if target is not None and result.regret_bound <= target and founded:
            return "target"
        asked = sure is not None and doubted(result).trusted
        return "confidence" if asked and result.done().reaches(sure) else ""

    def _result(self, stopped: str) -> Result[Any]:
        self.last = self.campaign.result.but(stopped)
        return self.last

    def _keep(self, error: BaseException) -> None:
        """What is known goes with the exception that ends a call, unless its class has such a thing."""
        stopped = "failures" if isinstance(error, ObjectiveError) else "error"
        try:
            result: Result[Any] | None = self._result(stopped)
        except Exception:  # a model of the user's that cannot take the last value: then without it
            result = None if self.last is None else self.last.but(stopped)
        if result is not None and not result.state.objective.t:
            result = None
        known = {"result": result, "errors": (*self.campaign.ledger.errors, *self.refused)}
        for name, what in known.items():
            if isinstance(error, ObjectiveError) or not hasattr(type(error), name):
                BaseException.__setattr__(error, name, what)  # its class may refuse attributes


def _clear_up(campaign: Campaign, asked: int) -> None:
    """Remove the file of a campaign in which nothing was told: it would only refuse the corrected call.

    asked: how many trials this call asked for. Where there are more, another process works in the file, too.
    """
    trials, file = campaign.ledger.trials, campaign.file
    if file is not None and len(trials) <= asked and all(trial.status == OPEN for trial in trials.values()):
        campaign.close()
        file.unlink(missing_ok=True)


def assessed(words: Words, data: Any) -> Assessment[Any]:
    """What data say, without any evaluation."""
    campaign = Campaign.of(words)
    campaign.add(data)
    known = campaign.result
    return named(Assessment[Any](known.optimizer, words.sign), known.label, known.numbers)


def _tell(campaign: Campaign, trial: Trial, measured: Outcome) -> None:
    """An interrupt waits until the value is recorded, which may have taken a day to measure."""
    values, error = measured
    outcome: dict[str, Any] = {"failed": error} if values is None else {"value": values}
    try:
        campaign.tell(trial.number, **outcome)
    except KeyboardInterrupt:
        if campaign.trial(trial.number).status == OPEN:
            campaign.tell(trial.number, **outcome)
        raise


class _Line:
    """One line that tells how good the answer is by now.

    A report may take longer than a suggestion. So there is a new one when the last one is a quarter of the time since
    it began, or less, and at the end.
    """

    def __init__(self) -> None:
        self._words, self._after, self._due = "", 0, -math.inf

    def show(self, result: Result[Any], done: int, evaluations: int) -> None:
        began = time.monotonic()
        if began >= self._due or done == evaluations:
            self._words, self._after = _guarantee(result), done
            ended = time.monotonic()
            self._due = ended + _PATIENCE * (ended - began)
        old = f" (after {self._after})" if self._words and self._after < done else ""
        print(f"\r\033[Kstableopt {done}/{evaluations}{self._words}{old}", end="", file=sys.stderr, flush=True)


def _guarantee(result: Result[Any]) -> str:
    """What is known of the decision, if anything is."""
    if not result.state.objective.t:
        return ""
    worst, better = result.worst_case, result.regret_bound
    sign, bound = ("≥", worst.lower) if result.sign > 0 else ("≤", worst.upper)
    words = f"  worst case {sign} {bound:.4g}"
    if math.isfinite(better):  # an audit knows nothing of other decisions
        words += f", the best possible is at most {better:.3g} better"
    return words + ("" if result.feasible is None else f", limits: {result.feasible}")
