"""What a picture is of: a result, an assessment, a campaign or an optimiser, with its values in the user's sign."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.answers import Report
from stableopt.loop.outputs import valued
from stableopt.loop.state import State
from stableopt.maxmin.solver import AnyIndex
from stableopt.plots.parameters import Block, Column, blocks_of, flat_of
from stableopt.sets.uncertainty import Groups


class Known(Protocol):
    """What pictures need of an answer: `stableopt.Result` and `stableopt.Assessment` have it."""

    optimizer: Any
    sign: int
    """1 where large values are good, −1 where small ones are."""
    label: str
    """What the values are called."""
    numbers: Sequence[int]
    """The number of the trial behind each round; empty: as they were told."""

    @property
    def state(self) -> State:
        """All that was known."""

    @property
    def report(self) -> Report:
        """The decision, as the optimiser reports it, which maximises."""

    @property
    def health(self) -> Any:
        """How far the model can be trusted."""

    @property
    def worst_case(self) -> Any:
        """The bounds on the worst case of the decision."""

    @property
    def optimum_bound(self) -> float:
        """What the worst case of no decision can surpass."""

    @property
    def regret_bound(self) -> float:
        """How much better the worst case of another decision can be at most."""

    def profile(self) -> Any:
        """Its stability profile."""

    def allowance(self, *, at_least: float | None, at_most: float | None) -> Any:
        """How much tolerance a specification allows."""


@dataclass(frozen=True, eq=False)
class Subject:
    """An answer as pictures see it."""

    answer: Known
    label: str = "value"
    """What the values are."""
    corrected: tuple[int, ...] = ()
    """After how many values a trial of a campaign came whose outcome was corrected."""

    @property
    def state(self) -> State:
        """All that was known."""
        return self.answer.state

    @property
    def sign(self) -> int:
        """1 where large values are good, −1 where small ones are."""
        return self.answer.sign

    @property
    def report(self) -> Report:
        """The decision, as the optimiser reports it, which maximises."""
        return self.answer.report

    @property
    def guarantee(self) -> float:
        """The bound that the worst case of the decision keeps."""
        return self.sign * self.report.lower

    @cached_property
    def blocks(self) -> list[Block]:
        """What a point is made of."""
        return blocks_of(self.state.setting)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of a point: those of the decision first."""
        return [column for block in self.blocks for column in block.columns]

    @property
    def grouped(self) -> bool:
        """Whether decisions are groups, which have no place of their own."""
        return isinstance(self.state.setting.uncertainty, Groups)

    @cached_property
    def worst(self) -> list[Any]:
        """The adversary's point."""
        return flat_of(self.report.worst_point)

    @cached_property
    def base(self) -> list[Any]:
        """The decision, in the environment that the adversary would choose; of a group, its worst member."""
        if self.grouped:
            return self.worst
        decision = flat_of(self.report.decision)
        return [*decision, *self.worst[len(decision) :]]

    @cached_property
    def trials(self) -> list[list[Any]]:
        """Where values were measured."""
        return [flat_of(r.point) for r in valued(self.state.rounds)]

    @cached_property
    def failures(self) -> list[list[Any]]:
        """Where a measurement failed."""
        return [flat_of(r.point) for r in self.state.failures]

    @cached_property
    def values(self) -> Array:
        """What was measured at the trials."""
        return self.sign * np.array([r.y for r in valued(self.state.rounds)])

    def moved(self, rows: Sequence[tuple[Block, Sequence[Any]]]) -> list[Any]:
        """The base with other values in some blocks."""
        flat = list(self.base)
        for block, row in rows:
            flat[block.places] = row
        return flat

    def point(self, flat: Sequence[Any]) -> AnyIndex | None:
        """The index of a point; None if it is none."""
        try:
            return self.state.setting.translation.point_index(_value(self.state, flat))
        except ValueError:
            return None

    def decision(self, flat: Sequence[Any]) -> AnyIndex | None:
        """The index of the decision at a point; None if there is none."""
        if self.grouped:
            return None
        try:
            own = _value(self.state, flat[: self.state.setting.domain.dim])
            return self.state.setting.translation.decision_index(own)
        except ValueError:
            return None


def _value(state: State, flat: Sequence[Any]) -> Any:
    """A flat point or decision as the user writes it."""
    named = state.setting.translation.names
    if named is None:
        return list(flat)
    value, at = {}, 0
    for name, width in named.items():
        if at < len(flat):
            value[name] = flat[at] if width == 1 else tuple(flat[at : at + width])
        at += width
    return value


def subject_of(source: Any, label: str | None = None) -> Subject:
    """The subject of a picture, from all that has one; ``label`` says what its values are."""
    if isinstance(source, Subject):  # of several pictures
        return source
    answer, ledger = answer_of(source), getattr(source, "ledger", None)
    if not answer.state.objective.t:
        raise ValueError("expected at least one value to draw, got none: tell at least one value first")
    corrected = () if ledger is None else _corrected(ledger)
    return Subject(answer, label or answer.label, corrected)


def _corrected(ledger: Any) -> tuple[int, ...]:
    """After how many values the corrected trials of a campaign came."""
    told = [ledger.trials[number] for batch in ledger.batches for number in batch]
    before = itertools.accumulate((trial.status == "done" for trial in told), initial=0)
    histories = zip(told, before, strict=False)
    return tuple(n for trial, n in histories if any(event.kind == "corrected" for event in trial.history))


def answer_of(source: Any) -> Known:
    """A result or an assessment itself, that of a campaign, or what an optimiser would answer."""
    from stableopt.campaign.results import Answer
    from stableopt.loop.optimizer import Optimizer

    known = getattr(source, "result", source)
    if isinstance(known, Optimizer):
        return Answer[Any](known, 1)
    if not isinstance(known, Answer):
        raise TypeError(
            "expected a result, an assessment, a campaign or an optimiser to draw, got "
            f"{type(source).__name__}: {source!r:.100}"
        )
    return known
