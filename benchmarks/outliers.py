"""What outliers do to a run, and what `noise="robust"` makes of them, with the same functions and the same noise.

    python -m benchmarks.outliers [seeds]

Three kinds of noise: that of the family alone ("none"), with one value that is off by 8 to 40 standard deviations of f
("outlier"), and with a tenth of all values off by N(0, 8²) ("tenth").
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from stableopt.campaign.health import health
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.play import play
from stableopt.model.learning import Learned
from stableopt.paper.verification.families import FAMILIES

NAMES = ("smooth 1-D", "smooth 2-D", "rough 1-D", "rough 2-D", "periodic", "noisy", "heavy-tailed noise", "environment")
KINDS = ("none", "outlier", "tenth")
ROUNDS = 40


def disturbed(kind: str, errors: Any, seed: int) -> Any:
    """The errors of a run with those that the kind adds."""
    rng = np.random.default_rng([seed, 7])
    more = np.zeros(ROUNDS)
    if kind == "outlier":
        more[rng.integers(6, 18)] = rng.choice([-1, 1]) * rng.uniform(8, 40)
    elif kind == "tenth":
        more = (rng.random(ROUNDS) < 0.1) * rng.normal(0, 8, ROUNDS)
    return errors + more


def run(name: str, kind: str, seed: int, robust: bool) -> tuple[float, ...]:
    """Whether lower, upper and optimum were true or the model not trusted; the width of the bounds, and the regret."""
    task = FAMILIES[name].task(seed)
    errors = disturbed(kind, task.noise(np.random.default_rng([seed, 1]).random(ROUNDS)), seed)
    options: Any = {"algorithm": FRONT_DOOR.algorithm, "beta": FRONT_DOOR.beta, "explore": FRONT_DOOR.explore}
    optimizer = Optimizer(task.domain, task.uncertainty, Learned(robust=robust), **options, seed=seed)
    for _ in play(optimizer, lambda q: task.value(q.point_index) + float(errors[q.t - 1]), ROUNDS):
        pass
    said, trusted = optimizer.report(), health(optimizer.state).trusted
    worst, best = task.worst(said), task.optimum
    true = said.lower <= worst + 1e-9, worst <= said.upper + 1e-9, best <= said.optimum_upper + 1e-9
    return *(float(each or not trusted) for each in true), said.optimum_upper - said.lower, best - worst


def main(seeds: int) -> None:
    print(f"after {ROUNDS} evaluations    runs  lower  upper  optimum  median width  mean regret")
    for kind in KINDS:
        for robust in (False, True):
            rows = np.array([run(name, kind, seed, robust) for seed in range(seeds) for name in NAMES])
            shares = "  ".join(f"{100 * share:4.0f} %" for share in rows[:, :3].mean(axis=0))
            noise = 'noise="robust"' if robust else "default"
            print(
                f"{kind:<8} {noise:<15} {len(rows):>5} {shares} {np.median(rows[:, 3]):9.3g} {rows[:, 4].mean():12.3g}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
