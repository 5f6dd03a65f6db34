"""Workers that measure at the same time: processes of our own, threads of our own, or the executor of a user.

A crew is handed points under keys, and gives back an outcome for each key, in any order. An outcome that is an
exception is one that ends a call; all that can go wrong with a single evaluation is an outcome without a value.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures import wait as wait_for_futures
from multiprocessing import Pipe, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_connections
from typing import Any, NamedTuple, Protocol

import numpy as np

from stableopt.base.checks import is_whole
from stableopt.campaign.measuring import Measuring, Outcome, said

Answer = Outcome | BaseException
FORMS = 'workers as a number of processes, as "processes", "threads" or an Executor, or as such as ("threads", 8)'


_BROKEN = "what was under way is open still; with workers=8, a worker that dies is replaced"


class Crew(Protocol):
    """Workers that measure at the same time."""

    @property
    def free(self) -> int:
        """How many workers have nothing to do."""

    def start(self, key: int, point: Any) -> None:
        """Let a free worker measure."""

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        """What has come in by now; if nothing has, wait for it, but no longer than this."""

    def give_up(self, key: int) -> None:
        """Do not wait for this one any longer. Where it cannot be ended, its outcome may still come in."""

    def close(self) -> None:
        """End what is ours; what is under way is lost."""


def attempt(f: Measuring, point: Any) -> Answer:
    """What workers do."""
    try:
        return f(point)
    except BaseException as error:  # what is wrong with the function, or ends a program, ends the call
        return _portable(error)


def _portable(error: BaseException) -> BaseException:
    """The exception, or one that says the same and can be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(said(error))
    return error


def crew_of(f: Measuring, workers: Any) -> Callable[[], Crew] | None:
    """What makes the crew that a user means; None: nobody else measures. What cannot be meant is refused."""
    kind, count = workers if isinstance(workers, tuple) and len(workers) == 2 else (workers, None)
    if is_whole(kind, 1) and count is None:
        kind, count = "processes", int(kind)
        if count == 1:
            return None
    if count is not None and not is_whole(count, 1):
        raise ValueError(f"expected {FORMS}, got {workers!r:.200}")
    if kind == "threads":
        return lambda: Futures(f, Threads(), int(count or _processors()))
    if kind == "processes":
        pickled = _pickled(f)
        return lambda: Processes(pickled, int(count or _processors()))
    if not isinstance(kind, Executor) and not callable(getattr(kind, "submit", None)):
        raise ValueError(f"expected {FORMS}, got {workers!r:.200}")
    if isinstance(kind, ProcessPoolExecutor):
        _pickled(f)
    slots = int(count or _size(kind))
    return lambda: Futures(f, kind, slots)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pickled(f: Measuring) -> bytes:
    try:
        return pickle.dumps(f)
    except Exception as error:  # whatever the objects that it holds raise
        raise TypeError(
            f"expected a function that can be sent to another process, got {f.f!r:.200} ({error}): use "
            'workers="threads", or define it with def at the top of a file'
        ) from None


def _size(executor: Any) -> int:
    """How many workers an executor has."""
    size: Any = getattr(executor, "_max_workers", None)
    client: Any = getattr(executor, "_client", None)
    if size is None and hasattr(client, "nthreads"):  # Dask's
        size = sum(client.nthreads().values())
    if not is_whole(size, 1):
        raise ValueError(f"expected an executor that says how many workers it has, got {executor!r:.200}: use (it, 8)")
    return int(size)


# ---------------------------------------------------------------------------------------------------------- processes


class _Worker(NamedTuple):
    process: Any
    connection: Connection


class Processes:
    """Processes, each with a pipe of its own: one that dies or hangs is replaced, and the others do not notice."""

    def __init__(self, pickled: bytes, count: int) -> None:
        self._pickled = pickled
        self._busy: dict[int, _Worker] = {}
        self._idle: list[_Worker] = []
        try:
            for _ in range(count):
                self._idle.append(self._hired())
            for worker in self._idle:
                _greeted(worker)
        except BaseException:
            self.close()
            raise

    def _hired(self) -> _Worker:
        ours, theirs = Pipe()
        process = get_context().Process(target=_serve, args=(theirs, self._pickled))
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        return _Worker(process, ours)

    @property
    def free(self) -> int:
        return len(self._idle)

    def start(self, key: int, point: Any) -> None:
        worker = self._idle.pop()
        self._busy[key] = worker
        with contextlib.suppress(OSError):  # it died while it had nothing to do: `wait` finds that out
            worker.connection.send(point)

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        keys = {worker.connection: key for key, worker in self._busy.items()}
        found: list[tuple[int, Answer]] = []
        for connection in wait_for_connections(list(keys), seconds):
            key = keys[connection]  # type: ignore[index]
            worker = self._busy.pop(key)
            try:
                found.append((key, worker.connection.recv()))
                self._idle.append(worker)
            except (EOFError, OSError):
                worker.process.join()
                found.append((key, (None, f"the worker died with exit code {worker.process.exitcode}")))
                self._replace(worker)
        return found

    def give_up(self, key: int) -> None:
        self._replace(self._busy.pop(key))

    def _replace(self, worker: _Worker) -> None:
        _dismiss(worker)
        new = self._hired()
        self._idle.append(new)
        _greeted(new)

    def close(self) -> None:
        for worker in (*self._idle, *self._busy.values()):
            _dismiss(worker)
        self._idle, self._busy = [], {}


def _dismiss(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.connection.close()
    worker.process.close()


def _greeted(worker: _Worker) -> None:
    """Wait until a worker is ready; an error says why it cannot be."""
    try:
        problem = worker.connection.recv()
    except (EOFError, OSError):
        problem = 'it ended at once; a script needs `if __name__ == "__main__":` around the call'
    if problem:
        raise RuntimeError(f'expected workers that know the function, got: {problem}; or use workers="threads"')


def _serve(connection: Connection, pickled: bytes) -> None:
    """The life of a worker process: it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    np.random.seed()  # a fork has its parent's state, so that all workers would draw the same noise
    try:
        f = pickle.loads(pickled)
    except BaseException as error:
        connection.send(f"a new process cannot load the function ({said(error)}): define it at the top of a file")
        return
    connection.send("")
    parent = parent_process()
    ends = [] if parent is None else [parent.sentinel]
    while connection in wait_for_connections([connection, *ends]):
        try:
            connection.send(attempt(f, connection.recv()))
        except (EOFError, OSError):
            return


# ------------------------------------------------------------------------------------------------------------ futures


class Threads(Executor):
    """A thread for each task. A program can end while one hangs, other than with a ThreadPoolExecutor."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            future.set_result(fn(*args, **kwargs))

        future.set_running_or_notify_cancel()
        threading.Thread(target=run, daemon=True).start()
        return future


class Futures:
    """The workers of an executor."""

    def __init__(self, f: Measuring, executor: Any, count: int) -> None:
        self._f, self._executor, self._count = f, executor, count
        self._busy: dict[int, Future[Any]] = {}
        self._late: dict[int, Future[Any]] = {}

    @property
    def free(self) -> int:
        hanging = 0 if isinstance(self._executor, Threads) else len(self._late)
        return self._count - len(self._busy) - hanging

    def start(self, key: int, point: Any) -> None:
        try:
            self._busy[key] = self._executor.submit(attempt, self._f, point)
        except BrokenExecutor as error:
            error.add_note(_BROKEN)
            raise

    def wait(self, seconds: float) -> list[tuple[int, Answer]]:
        futures = {**self._late, **self._busy}
        done = wait_for_futures(list(futures.values()), seconds, FIRST_COMPLETED).done
        keys = [key for key, future in futures.items() if future in done]
        for key in keys:
            self._late.pop(key, None)
            self._busy.pop(key, None)
        return [(key, _answer(futures[key])) for key in keys]

    def give_up(self, key: int) -> None:
        future = self._busy.pop(key)
        if not future.cancel():
            self._late[key] = future

    def close(self) -> None:
        for future in self._busy.values():
            future.cancel()  # the executor is its owner's


def _answer(future: Future[Any]) -> Answer:
    try:
        answer: Answer = future.result()
        return answer
    except BrokenExecutor as error:
        error.add_note(_BROKEN)
        return error
    except (Exception, CancelledError) as error:  # of the executor: a worker that was lost, say
        return None, said(error)
