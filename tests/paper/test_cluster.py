"""Experiments on a cluster: a real Dask scheduler with two worker processes, one of which is killed during the run.

Ray is real where it is installed. A package of this file stands in for it where clusters do not answer.
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("joblib")

from typer.testing import CliRunner

from stableopt.cli.commands import app
from stableopt.paper.experiments.base import Plan
from stableopt.paper.experiments.engines import Engine, EngineError
from stableopt.paper.experiments.illustration import Illustration
from stableopt.paper.experiments.runner import run

PLAN = Plan(runs=24, rounds=12, seed=3, algorithms=("StableOpt", "Stable-GP-Random"))


def start(*arguments):
    command = [sys.executable, "-m", *map(str, arguments)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, **quiet)


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler, and the processes of its two workers."""
    pytest.importorskip("distributed", reason="needs dask and distributed")
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


@pytest.mark.thorough  # on every change a worker of Dask's is killed, and what Ray is told is checked
def test_a_run_on_ray_is_the_same_and_complete_though_a_worker_is_killed(tmp_path):
    pytest.importorskip("ray", reason="needs Ray")
    tests = Path(__file__).resolve().parent.parent
    paths = os.pathsep.join([str(tests), *filter(None, sys.path)])  # for the workers, too
    quiet = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": paths}
    command = [sys.executable, "-m", "helpers.dying", str(tmp_path)]
    said = tmp_path / "said.txt"  # and no pipe: Ray's own processes would keep that open for a minute
    with said.open("w") as file:
        done = subprocess.run(command, env={**os.environ, **quiet}, stdout=file, stderr=file, timeout=300)
    assert done.returncode == 0, said.read_text()
    results = [line for line in said.read_text().splitlines() if line.startswith("{")]
    assert json.loads(results[-1]) == {"killed": True, "runs": 6, "same": True}


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="needs dask and distributed")
    monkeypatch.setattr("stableopt.paper.experiments.engines._PATIENCE", 1)
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        run(Illustration(), PLAN, tmp_path, Engine("dask", address="tcp://127.0.0.1:9"))


RAY = """
calls, failure = [], None

def init(**options):
    calls.append(options)
    if failure is not None:
        raise failure

def shutdown():
    calls.append("shutdown")

def cluster_resources():
    return {"CPU": 2.0}

def remote(**options):
    def made(function):
        class Task:
            def remote(*arguments):
                return function(*arguments)
        return Task
    return made

def wait(tasks):
    return tasks[-1:], tasks[:-1]

def get(task):
    return task
"""


@pytest.fixture
def ray(tmp_path, monkeypatch):
    """A package that takes Ray's place, notes its calls, and computes here."""
    for name in [name for name in sys.modules if name.split(".")[0] == "ray"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "packages" / "ray").mkdir(parents=True)
    (tmp_path / "packages" / "ray" / "__init__.py").write_text(RAY)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    yield importlib.import_module("ray")
    sys.modules.pop("ray", None)


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def silent():
    """A port that is taken, so nobody else gets it, but at which nobody listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        yield server.getsockname()[1]


@pytest.mark.parametrize("address", [None, "auto", "local", "127.0.0.1:{}", "ray://head.invalid:10001"])
def test_ray_is_given_the_address_and_computes_the_same(ray, listening, tmp_path, address):
    address = address and address.format(listening)
    plan = Plan(runs=5, rounds=3, seed=3, algorithms=PLAN.algorithms)
    there = run(Illustration(), plan, tmp_path / "ray", Engine("ray", 1, address))
    (options, end) = ray.calls
    assert options["address"] == address and end == "shutdown"
    here = run(Illustration(), plan, tmp_path / "here", Engine(jobs=1))
    assert all(np.array_equal(there.stacked(name), here.stacked(name)) for name in plan.algorithms)


def refused(tmp_path, address):
    """What the command says on the standard error when it refuses the address."""
    out = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["reproduce", "illustration", "--backend", "ray", "--address", address, "--out", out]
    )
    assert result.exit_code == 2, result.output
    assert not out.exists() and "Traceback" not in result.output
    return result.stderr


def test_a_ray_cluster_that_does_not_answer_is_named_before_ray_waits_for_it(ray, silent, tmp_path):
    said = refused(tmp_path, f"127.0.0.1:{silent}")
    assert f"no Ray cluster answers at 127.0.0.1:{silent}" in said and "`ray start --head`" in said
    assert ray.calls == []


@pytest.mark.parametrize("address", ["auto", "ray://head.invalid:10001"])
@pytest.mark.parametrize("kind", [ConnectionError, RuntimeError])
def test_what_ray_says_itself_is_passed_on(ray, tmp_path, address, kind):
    ray.failure = kind("no running instance, or one of another version")
    assert f"no Ray cluster answers at {address} (no running instance, or one of another" in refused(tmp_path, address)
    assert [options["address"] for options in ray.calls] == [address]


@pytest.mark.parametrize(
    "address",
    ["host:abc", "host", "host:", ":6379", "host:0", "host:70000", "host:-1", "ray://host", "tcp://host:6379", ""],
)
def test_a_malformed_address_of_ray_is_refused_with_what_was_expected(ray, tmp_path, address):
    said = refused(tmp_path, address)
    assert "expected --address auto, local, HOST:PORT or ray://HOST:PORT" in said and repr(address) in said
    assert ray.calls == []
