"""The loop itself: ask, measure, tell, one round after the other.

Experiments, verifications and examples are built on it, so that none of them has a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from stableopt.loop.answers import Query
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.state import State


class Step(NamedTuple):
    """One round as it was played."""

    before: State
    """What was known when the point was chosen."""
    query: Query
    y: float | None
    """What was measured; None if that failed."""


def play(optimizer: Optimizer, measure: Callable[[Query], float | None], rounds: int) -> Iterator[Step]:
    """So many rounds; each is told before it is handed out, so that ``optimizer.report()`` then knows it.

    measure: the value at a query; None where that failed.
    """
    for _ in range(rounds):
        before, query = optimizer.state, optimizer.ask()
        y = measure(query)
        optimizer.tell(query, y)
        yield Step(before, query, y)
