"""The paper's experiments, one file each, on one runner: ``stableopt reproduce NAME``.

``experiment(name)`` imports an experiment when it is asked for, since each needs packages of its own:
``pip install 'stableopt[experiments]'``.
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stableopt.paper.experiments.base import Experiment

EXPERIMENTS = {
    "illustration": "Illustration",
    "synthetic": "Synthetic",
    "lake": "Lake",
    "robot": "Robot",
    "movies": "Movies",
    "lower-bound": "LowerBound",
    "tuning": "Tuning",
}
"""The class of each experiment; its file has the experiment's name."""


def experiment(name: str) -> type[Experiment]:
    """The experiment with this name."""
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name.lower(), EXPERIMENTS, n=1, cutoff=0.4)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"expected an experiment, one of {', '.join(EXPERIMENTS)} or all, got {name!r}{hint}")
    module = importlib.import_module(f"stableopt.paper.experiments.{name.replace('-', '_')}")
    found: type[Experiment] = getattr(module, EXPERIMENTS[name])
    return found
