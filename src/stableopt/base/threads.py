"""One BLAS thread while matrices are small: with more, threads wait for each other longer than they work.

NumPy and SciPy ship OpenBLAS libraries of their own. Their number of threads is set to 1 inside a call of this library
and to what it was afterwards. Where there are no such libraries (MKL, Accelerate, a system's own), nothing happens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
import scipy

MANY = 1000  # observations: from here on threads pay
_NAMES = [prefix + "openblas_{}_num_threads" + suffix for prefix in ("scipy_", "") for suffix in ("64_", "")]
_Switch = tuple[Callable[[], int], Callable[[int], None]]


class OneThread:
    """A context in which BLAS has one thread. Any number of threads may be in it, each any number of times."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, list[int]()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = [number() for number, _ in self._libraries]
                self._set([(before, 1) for before in self._before])

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set([(1, before) for before in self._before])

    def _set(self, changes: list[tuple[int, int]]) -> None:
        """From one number to another, unless somebody else has changed it meanwhile."""
        for (number, set_number), (old, new) in zip(self._libraries, changes, strict=True):
            if old != new and number() == old:
                set_number(new)

    @cached_property
    def _libraries(self) -> list[_Switch]:
        """How to read and set the number of threads of each library."""
        folders = [Path(str(package.__file__)).parent for package in (np, scipy)]
        places = [place for f in folders for place in (f.parent / f"{f.name}.libs", f / ".dylibs")]
        found = [_switch(str(path)) for place in places for path in sorted(place.glob("*openblas*"))]
        return [switch for switch in found if switch is not None]


one_thread = OneThread()


def threads_for(t: int) -> AbstractContextManager[None]:
    """The context for a calculation with t observations: one thread if they are few, else as many as there are."""
    return one_thread if t < MANY else nullcontext()


def _switch(path: str) -> _Switch | None:
    try:
        library = ctypes.CDLL(path)  # loaded already: this only finds it
    except OSError:
        return None
    for name in _NAMES:
        read, write = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
        if read is not None and write is not None:
            return read, write
    return None
