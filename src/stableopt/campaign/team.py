"""Where the values of a call come from: f is called here, one point after the other, or a crew measures many at once.

A crew is never without work: while it measures, the next trial is asked for, and a worker that becomes free gets it at
once. All trials that are under way are open trials of the campaign, so that no two of them are the same.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from stableopt.base.checks import number, whole
from stableopt.campaign.crews import Answer, Crew, crew_of
from stableopt.campaign.events import FAILED, Trial
from stableopt.campaign.measuring import Measuring, Outcome

_GLANCE = 0.5  # seconds after which a wait is interrupted to look at the clock, and at Ctrl-C where waits hide it

Measured = tuple[Trial, Outcome]
Ask = Callable[[], Trial]
"""What to measure next."""


class Campaign(Protocol):
    """What is needed of a campaign."""

    @property
    def open_trials(self) -> list[Trial]:
        """Those that wait for an outcome."""

    def trial(self, number: int) -> Trial:
        """As it is now."""

    def correct(self, trial: int, value: Any) -> Trial:
        """Another outcome."""

    def abandon(self, trial: int, why: str) -> Trial:
        """It will not be made."""


class Work(NamedTuple):
    """What measures: the function, by whom, for how long, and how often it is tried again."""

    f: Measuring
    workers: Any = 1
    patience: float | None = None
    retries: int = 0

    def crew(self) -> Callable[[], Crew] | None:
        """What makes the crew; None: nobody else measures. What cannot be meant is refused."""
        if not callable(self.f.f):
            raise TypeError(f"expected a function of a point, got {self.f.f!r}")
        whole(self.retries, 0, "retries as a whole number of at least 0")
        crew = crew_of(self.f, self.workers)
        if self.patience is not None:
            number(self.patience, "patience in seconds, a number above 0", above=0.0)
            if crew is None:
                raise ValueError(
                    f"expected workers beside patience={self.patience!r}, got none: a function that hangs here cannot "
                    'be ended; workers=("processes", 1) runs it in another process'
                )
        return crew


class Source(Protocol):
    """Gives one measured trial after the other."""

    def next(self) -> Measured:
        """A trial, and what came out of it."""

    def rest(self) -> Iterator[Measured]:
        """What is still under way, when no more is begun."""

    def rescued(self) -> list[Measured]:
        """Values that have come in but were not given out yet, when an error has ended all."""

    def close(self) -> None:
        """End what is under way."""


class Alone:
    """f is called here."""

    def __init__(self, campaign: Campaign, work: Work, ask: Ask) -> None:
        self._work, self._ask = work, ask
        self._waiting = campaign.open_trials  # of a call that was killed

    def next(self) -> Measured:
        trial = self._waiting.pop(0) if self._waiting else self._ask()
        for _ in range(self._work.retries + 1):
            outcome = self._work.f(copy.copy(trial.point))  # a copy, since f may change it
            if outcome[0] is not None:
                break
        return trial, outcome

    def rest(self) -> Iterator[Measured]:
        return iter(())

    def rescued(self) -> list[Measured]:
        return []

    def close(self) -> None:
        pass


class Team:
    """A crew measures. Every attempt has a key of its own, so that a late answer is not taken for that of another."""

    def __init__(self, campaign: Campaign, work: Work, crew: Crew, more: tuple[Ask, Callable[[], int]]) -> None:
        """``more``: what to measure next, and how many may still come, with those that are under way."""
        self._campaign, self._crew = campaign, crew
        self._ask, self._room = more
        self._patience, self._retries = work.patience, work.retries
        self._waiting = campaign.open_trials  # of a call that was killed, or to be tried again
        self._prepared: Trial | None = None
        self._failures: dict[int, list[Outcome]] = {}  # of trials that are tried again
        self._keys = itertools.count()
        self._under_way: dict[int, tuple[Trial, float]] = {}  # with the time of their begin
        self._given_up: dict[int, Trial] = {}
        self._arrived: deque[Measured] = deque()

    def next(self) -> Measured:
        while self._crew.free and self._more():
            self._begin(self._taken() or self._ask())
        while not self._arrived:
            if self._prepared is None and self._room() > self._pending + len(self._waiting):
                self._prepared = self._ask()
            self._collect(_GLANCE)
            self._hand_out()
        return self._arrived.popleft()

    def rest(self) -> Iterator[Measured]:
        self._retries = 0
        for trial in self._waiting:
            if trial.number in self._failures:
                yield trial, self._failures[trial.number][-1]
        if self._prepared is not None:
            self._campaign.abandon(self._prepared.number, "not begun before the call ended")
        while self._under_way or self._arrived:
            while not self._arrived:
                self._collect(_GLANCE)
            yield self._arrived.popleft()

    def rescued(self) -> list[Measured]:
        for key, answer in self._crew.wait(0.0):
            if key in self._under_way and not isinstance(answer, BaseException):
                self._arrived.append((self._under_way[key][0], answer))
        return [(trial, outcome) for trial, outcome in self._arrived if outcome[0] is not None]

    def close(self) -> None:
        self._crew.close()

    @property
    def _pending(self) -> int:
        return len(self._under_way) + len(self._arrived)

    def _more(self) -> bool:
        """Whether another one may begin: if none is under way, one does in any case."""
        return self._room() > self._pending or not self._pending

    def _taken(self) -> Trial | None:
        """A trial that is there already."""
        if self._waiting:
            return self._waiting.pop(0)
        prepared, self._prepared = self._prepared, None
        return prepared

    def _hand_out(self) -> None:
        """What is there already, to workers that are free."""
        while self._crew.free and self._more() and (trial := self._taken()) is not None:
            self._begin(trial)

    def _begin(self, trial: Trial) -> None:
        key = next(self._keys)
        self._crew.start(key, copy.copy(trial.point))
        self._under_way[key] = trial, time.monotonic()

    def _collect(self, seconds: float) -> None:
        """What comes in within that time; those that took too long are given up."""
        if not self._under_way and not self._crew.free:
            raise RuntimeError(f"expected workers that answer, got {len(self._given_up)} that hang: none is left")
        for key, answer in self._crew.wait(seconds):
            self._came(key, answer)
        now = time.monotonic()
        for key, (trial, begin) in list(self._under_way.items()):
            if self._patience is not None and now - begin > self._patience:
                self._crew.give_up(key)
                self._given_up[key] = trial
                self._came(key, (None, f"no answer within {self._patience:g} s (at {trial.point})"))

    def _came(self, key: int, answer: Answer) -> None:
        if key not in self._under_way:
            self._came_late(self._given_up.pop(key), answer)
            return
        if isinstance(answer, BaseException):
            raise answer
        trial, _ = self._under_way.pop(key)
        failures = self._failures.setdefault(trial.number, [])
        if answer[0] is None and len(failures) < self._retries:
            failures.append(answer)
            self._waiting.insert(0, trial)
        else:
            self._arrived.append((trial, answer))

    def _came_late(self, trial: Trial, answer: Answer) -> None:
        """The value of a trial that was given up; if it is tried again, that one counts."""
        values = None if isinstance(answer, BaseException) else answer[0]
        if values is not None and self._campaign.trial(trial.number).status == FAILED:
            self._campaign.correct(trial.number, values)
