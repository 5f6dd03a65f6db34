"""A lock for objects that many threads use and that can still be copied, pickled and sent elsewhere."""

from __future__ import annotations

import threading


class Lock:
    """One thread at a time, as often as it likes; a copy is a lock of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
