"""Promises of many workers: no two points are the same, none waits for another, and one that dies, raises or hangs is
one failed evaluation. With one worker nothing changes."""

import concurrent.futures
import functools
import io
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest

import stableopt as so

RANGES = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
TOLERANCE = {"x": 0.1}


def hill(point):
    return 1.0 - (point["x"] - 0.4) ** 2 - (point["y"] - 0.6) ** 2


def slow(point):
    time.sleep(0.05)
    return hill(point)


def once(folder, point, what):
    """What happens at the first call only."""
    try:
        (Path(folder) / "done").mkdir()
    except FileExistsError:
        return hill(point)
    return what()


def dies_once(folder, point):
    return once(folder, point, lambda: os._exit(3))


def hangs_once(folder, point):
    return once(folder, point, lambda: time.sleep(600))


def raises_once(folder, point):
    return once(folder, point, lambda: 1 / 0)


def wrong(point):
    return "a word"


def leaves(point):
    raise SystemExit(4)


def fails(point):
    raise ValueError("no crystals")


def drawn(point):
    time.sleep(0.05)
    return float(np.random.random())


def call(f, workers, **options):
    return so.maximize(f, RANGES, TOLERANCE, **{"evaluations": 8, "workers": workers} | options)


def distinct(result):
    return len({(e.point["x"], e.point["y"]) for e in result.evaluations})


@pytest.fixture(scope="module")
def dask_client():
    distributed = pytest.importorskip("distributed")
    quiet = {"processes": False, "dashboard_address": None, "n_workers": 1, "threads_per_worker": 2}
    with distributed.LocalCluster(**quiet) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("workers", [2, ("processes", 1), "processes", "threads", ("threads", 4)], ids=str)
def test_all_evaluations_are_made_at_different_points(workers):
    result = call(slow, workers)
    assert result.stopped == "budget" and len(result.evaluations) == distinct(result) == 8
    assert all(e.value == pytest.approx(hill(e.point)) for e in result.evaluations)


@pytest.mark.parametrize("kind", [concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor])
def test_an_executor_of_the_user_is_used_and_stays_his(kind):
    with kind(3) as executor:
        result = call(slow, executor)
        assert executor.submit(abs, -5).result() == 5
    assert len(result.evaluations) == distinct(result) == 8


def test_the_executor_of_dask_is_used_as_it_is(dask_client):
    result = call(lambda point: slow(point), dask_client.get_executor())
    assert len(result.evaluations) == distinct(result) == 8


def test_an_executor_without_a_size_is_refused_with_what_to_do():
    class Own(concurrent.futures.Executor):
        def submit(self, fn, /, *args, **kwargs):
            future = concurrent.futures.Future()
            future.set_result(fn(*args, **kwargs))
            return future

    with pytest.raises(ValueError, match=r"how many workers it has, got .*: use \(it, 8\)"):
        call(hill, Own())
    assert len(call(hill, (Own(), 2)).evaluations) == 8


def test_one_worker_changes_nothing():
    plain, one = so.maximize(hill, RANGES, TOLERANCE, evaluations=8), call(hill, 1)
    assert plain.evaluations == one.evaluations and plain.worst_case == one.worst_case


def test_as_many_as_there_are_workers_measure_at_once():
    together, count = threading.Barrier(4, timeout=60), iter(range(100))

    def f(point):
        if next(count) < 4:
            together.wait()
        return hill(point)

    assert not call(f, ("threads", 4)).errors


def test_none_waits_for_the_others():
    """One evaluation ends only when six others have begun: they begin on the three workers beside it."""
    enough, count = threading.Event(), iter(range(100))

    def f(point):
        number = next(count)
        if number == 6:
            enough.set()
        assert number or enough.wait(60)
        return hill(point)

    assert not call(f, ("threads", 4), evaluations=10).errors


def test_the_next_trial_is_there_before_a_worker_is_free(tmp_path):
    seen = []

    def f(point):
        for _ in range(6000):
            campaign = so.Campaign.open(tmp_path / "c.db")
            waiting = len(campaign.open_trials)
            campaign.close()
            if waiting == 3 or seen:  # what the first one saw counts
                break
            time.sleep(0.01)
        seen.append(waiting)
        return hill(point)

    call(f, ("threads", 2), evaluations=3, file=tmp_path / "c.db", callback=lambda result: True)
    assert seen[0] == 3, "two under way and one prepared"


def test_workers_that_were_forked_draw_different_noise():
    values = [e.value for e in call(drawn, ("processes", 4)).evaluations]
    assert len(set(values)) == len(values)


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "workers", [0, -1, 2.5, "fibres", None, True, ("threads", 0), (2, 2), ("threads", 2, 3)], ids=str
)
def test_what_is_no_crew_is_refused(workers):
    with pytest.raises(ValueError, match="expected workers as a number of processes"):
        call(hill, workers)


def test_a_function_that_cannot_be_sent_is_refused_before_anything_is_measured(tmp_path):
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        for workers in (2, "processes", executor):
            with pytest.raises(TypeError, match=r'another process.*use workers="threads"'):
                call(lambda point: hill(point), workers, file=tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()
    assert len(call(lambda point: hill(point), "threads").evaluations) == 8


def test_patience_without_workers_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r'workers=\("processes", 1\)'):
        call(hill, 1, patience=1.0)


@pytest.mark.parametrize("options", [{"patience": 0}, {"patience": "long"}, {"retries": -1}, {"retries": 0.5}], ids=str)
def test_patience_and_retries_that_cannot_be_meant_are_refused(options):
    with pytest.raises(ValueError, match=r"expected (patience|retries)"):
        call(hill, 2, **options)


# -------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("f", "words"),
    [(dies_once, "the worker died with exit code 3"), (raises_once, "ZeroDivisionError"), (hangs_once, "no answer")],
)
@pytest.mark.parametrize("retries", [0, 1])
def test_a_worker_that_dies_raises_or_hangs_is_one_failed_evaluation_unless_it_is_tried_again(
    f, words, retries, tmp_path
):
    result = call(functools.partial(f, str(tmp_path)), 2, patience=1.0 if f is hangs_once else None, retries=retries)
    assert len(result.evaluations) == distinct(result) == 8
    assert [words in error for error in result.errors] == [True] * (1 - retries)
    assert [e.value for e in result.evaluations].count(None) == 1 - retries


def test_retries_work_without_workers(tmp_path):
    assert not call(functools.partial(raises_once, str(tmp_path)), 1, retries=1).errors
    with pytest.raises(so.ObjectiveError):
        call(fails, 1, retries=2)


def test_the_late_value_of_a_thread_that_was_given_up_is_kept():
    first = threading.Event()

    def f(point):
        late = not first.is_set()
        first.set()
        time.sleep(1.0 if late else 0.2)
        return hill(point)

    result = call(f, ("threads", 2), patience=0.5, evaluations=16)
    assert not result.errors and len(result.evaluations) == distinct(result) == 16
    assert all(e.value is not None for e in result.evaluations)


def test_an_executor_whose_workers_all_hang_ends_the_call_with_what_is_known():
    go_on = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        count = iter(range(100))
        try:
            with pytest.raises(RuntimeError, match="2 that hang: none is left") as caught:
                call(lambda p: hill(p) if next(count) < 3 else float(go_on.wait(60)), executor, patience=0.2)
        finally:
            go_on.set()
    assert len(caught.value.result.evaluations) >= 3


def test_a_broken_executor_ends_the_call_and_its_trials_stay_open(tmp_path):
    broken = functools.partial(dies_once, str(tmp_path))
    broke = pytest.raises(concurrent.futures.BrokenExecutor)
    with concurrent.futures.ProcessPoolExecutor(2) as executor, broke as caught:
        call(broken, executor, file=tmp_path / "c.db")
    assert "workers=8" in caught.value.__notes__[0]
    assert so.Campaign.open(tmp_path / "c.db").counts["open"] > 0
    assert len(call(broken, 2, file=tmp_path / "c.db").evaluations) == 8


@pytest.mark.parametrize("workers", [2, "threads"])
@pytest.mark.parametrize(
    ("f", "error"),
    [(wrong, TypeError), (leaves, SystemExit), (fails, so.ObjectiveError)],
    ids=["word", "exit", "fails"],
)
def test_what_ends_a_call_with_one_worker_ends_it_with_many(f, error, workers):
    with pytest.raises(error) as caught:
        call(f, workers)
    assert caught.value.result is None
    if error is so.ObjectiveError:
        assert "5 evaluations in a row failed" in str(caught.value) and len(caught.value.errors) == 5


# -------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("workers", [2, ("threads", 3)], ids=str)
def test_limits_stop_and_what_is_under_way_is_kept(workers, tmp_path):
    stops = {
        "time": {"seconds": 0.0},
        "target": {"target": 1e6, "model": so.GP(so.SE([0.3, 0.3]), noise=0.05)},
        "callback": {"callback": lambda result: result.optimizer.state.t >= 2},
    }
    for stopped, options in stops.items():
        file = tmp_path / f"{stopped}.db"
        result = call(slow, workers, file=file, **options)
        campaign = so.Campaign.open(file)
        assert result.stopped == stopped and len(result.evaluations) < 8
        assert campaign.counts["open"] == 0 and campaign.counts["done"] == len(result.evaluations)


def test_progress_and_callbacks_see_every_evaluation():
    seen = []
    with redirect_stderr(io.StringIO()) as terminal:
        call(slow, 2, progress=True, callback=lambda result: seen.append(len(result.evaluations)))
    assert seen == list(range(1, 9)) and "stableopt 8/8" in terminal.getvalue()


@pytest.fixture
def heeds_interrupts():
    """What a shell starts in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
def test_ctrl_c_returns_what_is_known_and_ends_the_workers(tmp_path):
    interrupted = []

    def interrupt(result):
        if len(result.evaluations) >= 3 and not interrupted:
            interrupted.append(result)
            signal.raise_signal(signal.SIGINT)

    result = call(slow, 2, callback=interrupt, file=tmp_path / "c.db")
    assert result.stopped == "interrupted" and 3 <= len(result.evaluations) <= 5
    assert len(call(slow, 2, file=tmp_path / "c.db").evaluations) == 8


KILLED = """
import sys, time
import stableopt as so

def slow(point):
    time.sleep(0.1)
    return point["x"]

if __name__ == "__main__":
    so.maximize(slow, {"x": (0.0, 1.0)}, 0.1, evaluations=12, workers=3, file=sys.argv[1])
"""


def test_a_call_that_was_killed_goes_on_and_its_workers_end(tmp_path):
    (tmp_path / "script.py").write_text(KILLED)
    run = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "c.db")]
    process = subprocess.Popen(run, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (tmp_path / "c.db").exists() and so.Campaign.open(tmp_path / "c.db").counts["done"] >= 3:
            break
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)  # the pipe ends when the last worker does
    before = so.Campaign.open(tmp_path / "c.db").ledger
    assert 3 <= before.evaluated < 12 and before.open
    subprocess.run(run, check=True, timeout=120)
    campaign = so.Campaign.open(tmp_path / "c.db")
    assert campaign.ledger.evaluated == 12 and campaign.counts["open"] == 0
    assert {t.number for t in before.open} <= {n for n, t in campaign.ledger.trials.items() if t.status == "done"}
