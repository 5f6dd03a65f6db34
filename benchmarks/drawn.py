"""The choices behind the defaults on functions that nobody chose: drawn from priors, each seed its own.

    python -m benchmarks.drawn [--functions 100] [--rounds 50] [--kinds smooth rough slope polynomial] [--jobs 2]

Functions on a grid of 41 × 41 points of the unit square, drawn with random lengthscales, for an l2 ball of 0.1: smooth
(SE), rough (Matérn-3/2), and smooth on a slope, whose best decisions are at the edges. Noise 0.03 of the standard
deviation, ten initial points, then the algorithm of `maximize` with a model that is learned. Max-min problems on a grid
are solved exactly, so regret is exact and rows differ by nothing but their choice. Beside them the paper's polynomial
on a grid of its box, where seeds differ by their initial points and their noise.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SIDE, INITIAL = 41, 10
KINDS = ("smooth", "rough", "slope", "polynomial")
MARKS = (15, 20, 30, 50)


class Choice(NamedTuple):
    """What a row has: the defaults of `maximize`, which None stands for, but for one."""

    kernel: str | None = None
    explore: tuple[float, float] | None = None
    """β, and that of every fifth round from the 25th on."""
    margin: float | None = None
    """The part of a range, at both ends, that initial points leave out."""
    expects: bool = False
    """Whether the best expectation is reported, not the best guarantee."""


CHOICES = {
    "the defaults": Choice(),
    "SE": Choice(kernel="se"),
    "Matérn-3/2": Choice(kernel="matern32"),
    "β = ½ throughout": Choice(explore=(0.5, 0.5)),
    "β = ¼": Choice(explore=(0.25, 4.0)),
    "β = 1": Choice(explore=(1.0, 4.0)),
    "β = 4": Choice(explore=(4.0, 4.0)),
    "initial points up to the edges": Choice(margin=0.0),
    "twice the margin": Choice(margin=0.2),
    "reporting the best expectation": Choice(expects=True),
}


def draw(kind: str, seed: int, points: Array) -> Array:
    """Values at the points: a sum of 1,000 waves, whose frequencies have the kernel's spectral density."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    lengthscales = np.exp(rng.uniform(np.log(0.15), np.log(0.6), size=2))
    frequencies = rng.standard_normal((1000, 2)) / lengthscales
    if kind == "rough":  # Matérn-3/2: Student's t with 3 degrees of freedom
        frequencies *= np.sqrt(3 / rng.chisquare(3, size=(1000, 1)))
    waves = np.cos(points @ frequencies.T + rng.uniform(0, 2 * np.pi, size=1000))
    values: Array = waves @ rng.standard_normal(1000) * np.sqrt(2 / 1000)
    return values + points @ rng.normal(0, 3, size=2) if kind == "slope" else values


def regrets(job: tuple[str, Choice, int, int]) -> list[float]:
    """ε-regret at the marks."""
    kind, choice, seed, rounds = job
    from scipy.spatial.distance import cdist

    from benchmarks.rivals.problems import PROBLEMS
    from stableopt import Ball, Grid, Learned, Optimizer
    from stableopt.base.arrays import low_discrepancy
    from stableopt.loop import space as search
    from stableopt.loop.defaults import FRONT_DOOR
    from stableopt.loop.rules import BestExpected
    from stableopt.loop.schedules import Alternating

    lower, upper, eps, sigma = np.zeros(2), np.ones(2), 0.1, 0.03
    if kind == "polynomial":
        known = PROBLEMS[kind]
        lower, upper, eps, sigma = known.lower, known.upper, known.eps, known.noise
    domain = Grid.linspace(lower, upper, SIDE)
    points = domain.points
    values = PROBLEMS[kind].f(points) if kind == "polynomial" else draw(kind, seed, points)
    noise = sigma * np.random.default_rng([seed, 9]).standard_normal(rounds)
    worst = np.array([values[row].min() for row in cdist(points, points) <= eps + 1e-9])
    margin = search._MARGIN if choice.margin is None else choice.margin
    design = margin + (1 - 2 * margin) * low_discrepancy(INITIAL, 2, seed)
    first = np.argmin(cdist(design, (points - lower) / (upper - lower)), axis=1)
    optimizer = Optimizer(
        domain,
        Ball(eps),
        Learned(choice.kernel),
        algorithm=FRONT_DOOR.algorithm,
        explore=FRONT_DOOR.explore if choice.explore is None else Alternating(*choice.explore),
        seed=seed,
    )
    optimizer.tell(points[first], values[first] + noise[:INITIAL])
    found = []
    for t in range(INITIAL, rounds + 1):
        if t in MARKS:
            rule = BestExpected() if choice.expects else FRONT_DOOR.algorithm.reporting
            found.append(float(worst.max() - worst[rule.choose(optimizer.state)]))
        if t < rounds:
            query = optimizer.ask()
            optimizer.tell(query, float(values[query.point_index] + noise[t]))
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, metavar="K")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # a worker a core
    marks = [t for t in MARKS if t <= arguments.rounds]
    print("| functions | choice | " + " | ".join(f"t = {t}" for t in marks) + " |")
    print("|---" * (2 + len(marks)) + "|")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for kind in arguments.kinds:
            for label, choice in CHOICES.items():
                jobs = [(kind, choice, seed, arguments.rounds) for seed in range(arguments.functions)]
                found = np.array(list(pool.map(regrets, jobs)))
                error = found.std(axis=0, ddof=1) / len(found) ** 0.5
                cells = " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(found.mean(axis=0), error, strict=True))
                print(f"| {kind} | {label} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
