"""What all tests share: deterministic Hypothesis examples, plots that need no screen, and brief searches."""

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Read when matplotlib is first imported, here or in a subprocess.
os.environ["MPLBACKEND"] = "Agg"


@pytest.fixture
def quick(monkeypatch):
    """Searches with less effort, for promises that do not depend on it."""
    monkeypatch.setattr("stableopt.loop.space.usual_budget", lambda dim, **_: 2000)
