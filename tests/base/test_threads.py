"""Promises about BLAS threads: one inside a call, and afterwards what the user had."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stableopt as so
import stableopt.loop
from stableopt.base.threads import MANY, OneThread, threads_for


class Library:
    """Counts what is set."""

    def __init__(self, number):
        self.number, self.calls = number, 0

    def read(self):
        return self.number

    def write(self, number):
        self.number, self.calls = number, self.calls + 1


def context(*libraries):
    one = OneThread()
    one._libraries = [(library.read, library.write) for library in libraries]
    return one


def test_there_is_one_thread_inside_and_the_users_number_afterwards():
    libraries = Library(4), Library(7), Library(1)
    one = context(*libraries)
    with one, one:
        assert [library.number for library in libraries] == [1, 1, 1]
    assert [library.number for library in libraries] == [4, 7, 1]
    assert libraries[2].calls == 0  # a user who has one thread is left alone


def test_an_error_restores_the_number_too():
    library = Library(4)
    with pytest.raises(ZeroDivisionError), context(library):
        1 / 0  # noqa: B018
    assert library.number == 4


def test_what_the_user_sets_meanwhile_stays():
    library = Library(4)
    with context(library):
        library.number = 3
    assert library.number == 3


def test_many_threads_at_once_end_with_the_users_number():
    library = Library(4)
    one, seen = context(library), []

    def work(_):
        for _ in range(200):
            with one:
                seen.append(library.number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert set(seen) == {1} and library.number == 4 and one._inside == 0


def test_few_observations_have_one_thread_and_many_have_all():
    assert isinstance(threads_for(MANY - 1), OneThread)
    assert not isinstance(threads_for(MANY), OneThread)


def test_the_libraries_of_numpy_and_scipy_are_found_and_an_optimiser_leaves_them_as_they_were():
    code = (
        "import numpy as np, stableopt as so\n"
        "from stableopt.base.threads import one_thread\n"
        "numbers = lambda: [read() for read, _ in one_thread._libraries]\n"
        "before, inside = numbers(), []\n"
        "optimizer = so.Optimizer(so.Space({'x': (0, 1)}), so.Ball(0.1), so.GP(so.SE(0.2), noise=0.1))\n"
        "with one_thread: inside = numbers()\n"
        "query = optimizer.ask(); optimizer.tell(query, 0.3); optimizer.report()\n"
        "assert numbers() == before and set(inside) <= {1}\n"
        "print(len(before), max(before, default=0))\n"
    )
    environment = {"OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    count, most = map(int, done.stdout.split())
    bundled = "scipy-openblas" in str(np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"])
    assert not bundled or (count >= 1 and most == 2)


def test_matrices_inside_ask_tell_and_report_see_one_thread(monkeypatch):
    library, seen = Library(4), []
    monkeypatch.setattr("stableopt.base.threads.one_thread", one := context(library))
    monkeypatch.setattr("stableopt.loop.optimizer.threads_for", lambda t: one)

    class Watching(so.loop.Constant):
        def beta(self, t, gain):
            seen.append(library.number)
            return super().beta(t, gain)

    optimizer = so.Optimizer(so.Grid.linspace(0, 1, 9), so.Ball(0.2), so.GP(so.SE(0.2), noise=0.1), beta=Watching(4.0))
    seen.clear()
    optimizer.tell([0.5], 1.0)
    assert seen and set(seen) == {1} and library.number == 4
