"""What the parts of a round cost against each other: ratios of processor times, measured in one process.

    python -m benchmarks.rounds [row ...] [--repeats 5] [--observations 20 60]

    report     a report against a suggestion
    batch      eight suggestions for eight workers against one
    profile    nine tolerances against one report
    mixed      a round (learning, suggestion) in a space of three floats, a whole number, a category and an environment
               against one of as many columns of floats
    assess     2,500 rows assessed, printed, against learning the model from them again

The two sides take turns on the same runs, each with a state that remembers nothing. The ratio is that of the medians.
Exit code 1 if one is above its limit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

from stableopt import Integer, Learned, Optimizer, Parameters, Rectangle, Space, assess
from stableopt.campaign.results import Answer
from stableopt.campaign.words import MODEL
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.updates import with_belief

LIMITS = {"report": 1.5, "batch": 4.0, "profile": 4.0, "mixed": 2.0, "assess": 5.0}
SETTINGS = {
    "2-D": (Space([(0, 1)] * 2), Rectangle([0.1] * 2)),
    "4-D": (Space([(0, 1)] * 4), Rectangle([0.1] * 4)),
    "floats": (Space([(0, 1)] * 5), Rectangle([0.1] * 5) * Parameters(Space([(0, 1)]))),
    "mixed": (
        Space([*[(0, 1)] * 3, Integer(1, 8), ["a", "b", "c"]]),
        Rectangle([0.1, 0.1, 0.1, 1.0]) * Parameters(Space([(0, 1)])),
    ),
}


def f(Z: Any) -> Any:
    """Smooth, with several hills, of rows of coordinates."""
    frequencies = 3.0 + np.arange(Z.shape[1])
    return np.sin(2 * Z * frequencies / Z.shape[1] ** 0.5 + frequencies).sum(axis=1) - np.square(Z - 0.6).sum(axis=1)


def run(name: str, t: int, seed: int) -> Optimizer:
    """A run with the defaults of `maximize` that was told t values at random points."""
    choices = {"algorithm": FRONT_DOOR.algorithm, "beta": FRONT_DOOR.beta, "explore": FRONT_DOOR.explore}
    optimizer = Optimizer(*SETTINGS[name], replace(MODEL, warp=True), **choices, seed=seed)  # as in a run
    points = optimizer.state.setting.region.points_space  # type: ignore[attr-defined]
    rows = points.rows(np.random.default_rng([seed, t]).random((t, len(points.parts))))
    optimizer.tell([points.decode(row) for row in rows], f(rows))
    return optimizer


def forgetful(optimizer: Optimizer) -> Optimizer:
    """The same optimiser with a state that has searched for nothing yet."""
    optimizer._state = replace(optimizer.state)
    return optimizer


def seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    began = time.process_time()
    work()
    return time.process_time() - began


def parts(row: str, name: str, sizes: Sequence[int], repeats: int) -> list[tuple[str, float]]:
    """Ratios of one row of the table in one space, for each number of observations."""
    ours: Callable[[Optimizer], object] = {
        "report": lambda o: o.report(),
        "batch": lambda o: o.ask(8),
        "profile": lambda o: Answer(o, 1).profile(),
    }[row]
    found = []
    for t in sizes:
        times = []
        for seed in range(repeats):
            optimizer = run(name, t, seed)
            optimizer.ask()  # what a search prepares is the same for every state
            first = seconds(partial(ours, forgetful(optimizer)))
            theirs = forgetful(optimizer).report if row == "profile" else forgetful(optimizer).ask
            times.append((first, seconds(theirs)))
        found.append((f"{name}, {t} values", _ratio(times)))
    return found


def mixed(sizes: Sequence[int], repeats: int) -> list[tuple[str, float]]:
    """A round in the mixed space against one in a space of floats."""

    def one_round(name: str, t: int, seed: int) -> float:
        optimizer = run(name, t, seed)
        query = optimizer.ask()
        return seconds(lambda: (optimizer.tell(query, 0.5), optimizer.ask()))

    return [
        (f"{t} values", _ratio([(one_round("mixed", t, s), one_round("floats", t, s)) for s in range(repeats)]))
        for t in sizes
    ]


def assessed(rows: int = 2500) -> list[tuple[str, float]]:
    """An assessment of very many rows, printed, against learning from them again."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 4))
    y = f(X) + 0.1 * rng.standard_normal(rows)
    answer = assess((X, y), [(0, 1)] * 4, [0.1] * 4)
    state, learned = answer.optimizer.state, answer.optimizer.gp
    assert isinstance(learned, Learned)
    again = seconds(lambda: with_belief(state, learned.learn(X, y, None, learned.first(4))))
    return [(f"{rows} rows", seconds(lambda: str(answer)) / again)]


def _ratio(times: Sequence[tuple[float, float]]) -> float:
    ours, theirs = np.median(np.array(times), axis=0)
    return float(ours / theirs)


def main() -> int:
    """0 if every ratio is within its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="row", help=f"all if none is named: {', '.join(LIMITS)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--observations", type=int, nargs="+", default=[20, 60])
    arguments = parser.parse_args()
    sizes, repeats, reached = arguments.observations, arguments.repeats, True
    for row in arguments.rows or LIMITS:
        if row in ("mixed", "assess"):
            found = mixed(sizes, repeats) if row == "mixed" else assessed()
        else:
            found = [each for name in SETTINGS for each in parts(row, name, sizes, repeats)]
        for what, ratio in found:
            good = ratio <= LIMITS[row]
            reached &= good
            print(f"{row:<10}{what:<20}{ratio:>8.2f}   at most {LIMITS[row]:g}{'' if good else '   NO'}", flush=True)
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
