"""The record of a campaign: its events, and an optimiser that has learned from them.

Two locks keep threads apart: one for what is recorded, which takes no time, and one for the optimiser, which thinks.
Who holds the second may take the first, never the other way round: so nobody who tells waits for somebody who asks.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from stableopt.base.locks import Lock
from stableopt.campaign.events import DONE, Asked, Event, Happening, Ledger, Trial
from stableopt.campaign.store import Store
from stableopt.campaign.telling import Desk
from stableopt.campaign.words import Words
from stableopt.loop.answers import Query
from stableopt.loop.attacking import Confirmed, Given, attacking
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.measurements import Measurement
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import ReportingRule
from stableopt.loop.runs import plain
from stableopt.loop.setting import Setting

_ATTEMPTS = 2  # to find a suggestion before nobody else may write meanwhile

Decide = Callable[[Ledger], Sequence[Happening]]


class _OvertakenError(Exception):
    """Somebody else asked, or changed the words, while a suggestion was searched for."""


class Record:
    """Events in a store, and what follows from them."""

    def __init__(self, store: Store, fresh: tuple[Words, Optimizer] | None = None) -> None:
        """``fresh``: the optimiser of these words, which is not made again, nor its warnings."""
        self.store = store
        self._recording, self._thinking = Lock(), Lock()
        self._ledger = Ledger()
        self._fresh = fresh  # before anything is told
        self._learned: tuple[int, Optimizer] | None = None  # by the generation of the ledger

    def ledger(self) -> Ledger:
        """All that has happened by now, also in other processes."""
        with self._recording:
            self._ledger = self._ledger.after(self.store.read(self._ledger.seq))
            return self._ledger

    def write(self, decide: Decide, who: str) -> list[Event]:
        """Record what is decided when all that happened before is known; the new events."""
        with self._recording:
            with self.store.writing() as append:
                before = self.ledger()
                append(decide(before), who)
            events = self.store.read(before.seq)
            self._ledger = self._ledger.after(events)
            return events

    def decide(self, who: str, at_desk: Callable[[Desk], Any]) -> Any:
        """Record what is decided at the desk, if anything is, and return it."""
        made: list[Happening] = []

        def whats(ledger: Ledger) -> list[Happening]:
            what = at_desk(self.desk(ledger))
            made[:] = [] if what is None else [what]
            return made

        self.write(whats, who)
        return made[0] if made else None

    def optimizer(self, ledger: Ledger | None = None) -> Optimizer:
        """An optimiser that knows all outcomes. It is a copy: what it is told beside the campaign stays there."""
        with self._thinking:
            ledger = self.ledger() if ledger is None else ledger
            if self._learned is None or self._learned[0] != ledger.generation:
                self._learned = ledger.generation, copy.copy(self.fresh(ledger))
            optimizer = self._learned[1]
            known = len(optimizer.rounds) + len(optimizer.failures)
            for batch in ledger.batches:
                if known >= len(batch):
                    known -= len(batch)  # learned before
                else:
                    optimizer.tell_all([self._measurement(ledger, number) for number in batch])
            return copy.copy(optimizer)

    def fresh(self, ledger: Ledger) -> Optimizer:
        """The optimiser of the campaign's words before anything was told."""
        if self._fresh is None or self._fresh[0] is not ledger.said:
            self._fresh = ledger.said, optimizer_of(ledger.said)
        return self._fresh[1]

    def setting(self, ledger: Ledger) -> Setting:
        """The setting that the words describe."""
        return self.fresh(ledger).state.setting

    def desk(self, ledger: Ledger) -> Desk:
        """Where somebody tells who knows all this."""
        return Desk(self.setting(ledger), ledger)

    @property
    def words(self) -> Words:
        """What the campaign is about."""
        return self.ledger().said

    def _measurement(self, ledger: Ledger, number: int) -> Measurement[Any]:
        """What is learned from a trial. A decision of the time before the ranges were changed may be none any more."""
        m = ledger.measurement(number)
        if m.decision is not None and ledger.trials[number].history[0].seq < ledger.generation:
            try:
                self.setting(ledger).translation.decision_index(m.decision)
            except ValueError:
                return m._replace(decision=None)
        return m

    def ask(self, count: int, who: str, attack: bool = False) -> list[int]:
        """The numbers of new open trials, at points that differ from all open ones.

        A search takes a while, and nobody has to wait for it: only if another process has asked meanwhile, it is
        repeated; after some attempts, while nobody else can write.
        """
        with self._thinking:
            for _ in range(_ATTEMPTS):
                ledger = self.ledger()
                queries = self._queries(ledger, count, attack)
                try:
                    return self._asked(partial(_still, since=ledger.seq, queries=queries), who, attack)
                except _OvertakenError:
                    continue
            return self._asked(lambda now: self._queries(now, count, attack), who, attack)

    def _asked(self, queries: Callable[[Ledger], Sequence[Query]], who: str, attack: bool) -> list[int]:
        numbers: list[int] = []

        def decide(now: Ledger) -> list[Happening]:
            found = queries(now)
            numbers[:] = range(now.next_number, now.next_number + len(found))
            return [_asked(n, q, now.said.sign, attack) for n, q in zip(numbers, found, strict=True)]

        self.write(decide, who)
        return numbers

    def _queries(self, ledger: Ledger, count: int, attack: bool) -> list[Query]:
        pending = [self._query(ledger, trial) for trial in ledger.open]
        optimizer = self.optimizer(ledger)
        if attack:
            if not optimizer.rounds:
                raise ValueError("expected a value before an attack, got none: there is no decision to attack yet")
            optimizer.algorithm = attacking(confirmed(optimizer, ledger))
            optimizer.initial = 0
        return optimizer.ask(count, pending=pending)

    def _query(self, ledger: Ledger, trial: Trial) -> Query:
        """An open trial as the optimiser knows it."""
        return waiting(self.setting(ledger), trial.point, trial.decision)


def waiting(setting: Setting, point: Any, decision: Any = None) -> Query:
    """A point whose value is not in yet, as an optimiser knows it; for the point's own decision if for no other."""
    translation = setting.translation
    index = translation.point_index(point)
    try:
        served = translation.decision_of(index) if decision is None else translation.decision_index(decision)
    except ValueError:
        served = translation.decision_of(index)
    return Query(0, translation.decision(served), translation.point(index), 0.0, served, index)


def unsaid(words: Words) -> list[str]:
    """Names of the words that nobody said: they are the defaults themselves."""
    known = (FRONT_DOOR.limited, FRONT_DOOR.sorts)
    explore = words.explore if any(words.explore is each for each in known) else FRONT_DOOR.explore
    usual = {"algorithm": FRONT_DOOR.algorithm, "beta": FRONT_DOOR.beta, "explore": explore}
    return [name for name, value in usual.items() if getattr(words, name) is value]


def settled(words: Words) -> Words:
    """The words, with what depends on others where nobody said it: with limits or categories, other β explore."""
    if words.explore is not FRONT_DOOR.explore:
        return words
    return replace(words, explore=FRONT_DOOR.exploring(words.domain, bool(words.constraints)))


def optimizer_of(words: Words) -> Optimizer:
    """The optimiser that the words describe, before anything is known."""
    algorithm = FRONT_DOOR.algorithm if words.algorithm is None else words.algorithm
    beta = FRONT_DOOR.beta if words.beta is None else words.beta
    options: Any = {"algorithm": algorithm, "beta": beta, "explore": words.explore}
    options |= {"initial": words.initial, "seed": words.seed, "constraints": words.limits, "where": words.where}
    optimizer = Optimizer(words.domain, words.uncertainty, words.prior, **options)
    if words.decision is not None:
        optimizer.algorithm = attacking(Given(optimizer.state.setting.translation.decision_index(words.decision)))
    return optimizer


def confirmed(optimizer: Optimizer, ledger: Ledger) -> ReportingRule:
    """The rule that reports: after attacks, it stays with what was attacked while nothing is better for certain."""
    translation, found, rule = optimizer.state.setting.translation, [], optimizer.algorithm.reporting
    for trial in ledger.attacks if ledger.said.decision is None else ():
        with contextlib.suppress(ValueError):  # of the time before a change of the ranges
            if trial.status == DONE:
                found.append(translation.decision_index(trial.decision))
    return Confirmed(found, rule) if found else rule


def _still(now: Ledger, since: int, queries: Sequence[Query]) -> Sequence[Query]:
    """The queries, if nobody has asked since."""
    if now.last_asked > since:
        raise _OvertakenError
    return queries


def _asked(number: int, query: Query, sign: int, attack: bool) -> Asked:
    lower = None if query.lower == -float("inf") else sign * query.lower
    return Asked(number, plain(query.decision), plain(query.point), lower, attack)
