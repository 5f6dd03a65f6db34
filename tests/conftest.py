"""What all tests share: deterministic Hypothesis examples, plots that need no screen, and brief searches."""

import os
from itertools import islice

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Read when matplotlib is first imported, here or in a subprocess.
os.environ["MPLBACKEND"] = "Agg"

# Tests that take longest, and share nothing that is computed once for a file.
LONG = (
    "tests/paper/test_cluster.py::test_a_run_on_ray",
    "tests/integrations/test_optuna_faults.py",
    "tests/test_documentation.py::test_examples",
    "tests/maxmin/test_accuracy.py",
)


@pytest.hookimpl(trylast=True)  # when it is known which tests run
def pytest_collection_modifyitems(items):
    """Every worker begins with long tests: one that begins last would leave the other cores idle."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for prefix in LONG for item in items if item.nodeid.startswith(prefix)]
    rest = iter([item for item in items if not item.nodeid.startswith(LONG)])
    if workers > 1:  # each of which gets an equal share, in this order, before it takes from others
        ordered = []
        for i in range(workers):
            own = long[i::workers]
            share = len(items) * (i + 1) // workers - len(ordered) - len(own)
            ordered += own + list(islice(rest, max(share, 0)))
        items[:] = [*ordered, *rest]


@pytest.fixture
def quick(monkeypatch):
    """Searches with less effort, for promises that do not depend on it."""
    monkeypatch.setattr("stableopt.loop.space.usual_budget", lambda dim, **_: 500)
