"""Where events are kept: in memory, or in a file (`files`). Both give them out in order, and nobody adds in between."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Protocol

from stableopt.campaign.events import Event, Happening

Append = Callable[[Sequence[Happening], str], None]
"""Adds what happened, and by whom."""


class Store(Protocol):
    """The events of a campaign."""

    def read(self, after: int) -> list[Event]:
        """The events with larger numbers than this one."""

    def writing(self) -> AbstractContextManager[Append]:
        """While it lasts, nobody else adds events. All that is added is kept at its end; on an error, nothing is."""

    def close(self) -> None:
        """Nothing more will be asked of it."""


def now() -> str:
    """The time as it is stored: in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def name_of(who: str | None) -> str:
    """Under which name somebody records: the one that is given, or that of the account."""
    if who is not None:
        return str(who)
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # an account without a name
        return "unknown"


class Memory:
    """Events that live as long as the process."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def read(self, after: int) -> list[Event]:
        return self._events[after:]

    @contextmanager
    def writing(self) -> Iterator[Append]:
        new: list[Event] = []

        def append(whats: Sequence[Happening], who: str) -> None:
            first = len(self._events) + len(new) + 1
            new.extend(Event(i, now(), who, what) for i, what in enumerate(whats, first))

        yield append
        self._events += new

    def close(self) -> None:
        self._events = []
