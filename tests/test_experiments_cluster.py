"""Experiments on a cluster: a real Dask scheduler with two worker processes, one of which is killed during the run."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs dask and distributed")
pytest.importorskip("joblib")

from stableopt.experiments.base import Plan
from stableopt.experiments.engines import Engine, EngineError
from stableopt.experiments.illustration import Illustration
from stableopt.experiments.runner import run

PLAN = Plan(runs=24, rounds=12, seed=3, algorithms=("StableOpt", "Stable-GP-Random"))


def start(*arguments):
    command = [sys.executable, "-m", *map(str, arguments)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, **quiet)


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler, and the processes of its two workers."""
    note = tmp_path / "scheduler.json"
    scheduler = start(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", note
    )
    options = ["--scheduler-file", note, "--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", tmp_path]
    workers = [start("distributed.cli.dask_worker", *options) for _ in range(2)]
    try:
        while not note.exists() or not note.read_text().strip():
            assert scheduler.poll() is None, "the scheduler ended at once"
            time.sleep(0.05)
        address = json.loads(note.read_text())["address"]
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.mark.filterwarnings("ignore")  # of the engine itself, about the worker that is gone
def test_a_run_is_the_same_and_complete_though_a_worker_is_killed(cluster, tmp_path):
    address, workers = cluster
    finished = []

    def kill_one():
        finished.append(None)
        if len(finished) == 3:
            workers[0].send_signal(signal.SIGKILL)

    there = run(Illustration(), PLAN, tmp_path / "cluster", Engine("dask", address=address), kill_one)
    assert workers[0].wait(10) == -signal.SIGKILL and workers[1].poll() is None
    assert len(finished) == PLAN.runs
    here = run(Illustration(), PLAN, tmp_path / "here", Engine(jobs=1))
    for name in PLAN.algorithms:
        assert np.array_equal(there.stacked(name), here.stacked(name))


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("stableopt.experiments.engines._PATIENCE", 1)
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        run(Illustration(), PLAN, tmp_path, Engine("dask", address="tcp://127.0.0.1:9"))
