"""An experiment on Ray, one of whose workers is killed while it computes; it prints what came of it, as JSON.

python -m helpers.dying FOLDER
"""

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stableopt.paper.experiments.base import Plan
from stableopt.paper.experiments.engines import Engine
from stableopt.paper.experiments.illustration import Illustration
from stableopt.paper.experiments.runner import run

PLAN = Plan(runs=6, rounds=3, seed=3, algorithms=("StableOpt", "Stable-GP-Random"))


@dataclass(frozen=True)
class Dying(Illustration):
    """The first worker that computes replicate 2 is killed in the middle of it."""

    note: str = ""

    def replicate(self, plan, number):
        if number == 2 and not Path(self.note).exists():
            Path(self.note).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().replicate(plan, number)


def main() -> None:
    folder, finished = Path(sys.argv[1]), []
    note = folder / "killed"
    there = run(Dying(note=str(note)), PLAN, folder / "ray", Engine("ray", 2), lambda: finished.append(None))
    here = run(Illustration(), PLAN, folder / "here", Engine(jobs=1))
    same = all(np.array_equal(there.stacked(name), here.stacked(name)) for name in PLAN.algorithms)
    print(json.dumps({"killed": note.exists(), "runs": len(finished), "same": same}))


if __name__ == "__main__":
    from helpers.dying import main as importable  # so that workers find the class by its name

    importable()
