"""Work that needs worst cases now and then, written so that several pieces of it can wait for theirs together.

A `Looking` is a generator: it says at which decisions to look and how hard, and gets their worst cases. So it does not
know who else looks at the same time. Alone, it is driven by the search for worst cases of its function; several, for
different functions, are driven in turn, and all looks of a turn are one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.search.oracle import Oracle
from stableopt.maxmin.search.plan import Effort, Plan
from stableopt.maxmin.solver import Region

T = TypeVar("T")


class Minima(NamedTuple):
    """Local minima of n decisions, r of each, the lowest first."""

    V: Array  # values (n, r)
    S: Array  # scenarios (n, r, q)
    T: Array  # targets (n, r, P)


class Look(NamedTuple):
    """A question: the worst cases of decisions X (n, d); scenarios ``also`` (n, m, q) are tried, too."""

    X: Array
    effort: Effort
    also: Array | None = None


Looking = Generator[Look, Minima, T]
"""Work that yields questions, is sent their answers, and returns something."""


class Place(Protocol):
    """Where one function is searched: all that work knows beside the worst cases it asks for."""

    @property
    def oracle(self) -> Oracle: ...
    @property
    def region(self) -> Region: ...
    @property
    def plan(self) -> Plan: ...
    def remember(self, Z: Array, v: Array) -> None: ...


def alone(minima: Callable[[Array, Effort, Array | None], Minima], work: Looking[T]) -> T:
    """What the work returns, if each of its questions is answered at once."""
    try:
        look = next(work)
        while True:
            look = work.send(minima(*look))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def in_turn(answer: Callable[[dict[int, Look]], dict[int, Minima]], works: Sequence[Looking[T]]) -> list[T]:
    """What all of them return; the questions that wait for an answer are answered together, by number."""
    found: dict[int, T] = {}
    answers: dict[int, Minima | None] = dict.fromkeys(range(len(works)))
    while answers:
        asked: dict[int, Look] = {}
        for k, minima in answers.items():
            try:
                asked[k] = next(works[k]) if minima is None else works[k].send(minima)
            except StopIteration as end:
                found[k] = end.value
        answers = dict(answer(asked)) if asked else {}
    return [found[k] for k in range(len(works))]


def padded(also: Array, count: int) -> Array:
    """Scenarios (n, m, q) with the last ones repeated until they are ``count``: a repeated one changes nothing."""
    missing = count - also.shape[1]
    return np.concatenate([also, np.repeat(also[:, -1:], missing, axis=1)], axis=1) if missing else also
