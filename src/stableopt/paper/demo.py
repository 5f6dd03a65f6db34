"""The demonstration: five algorithms on the running example of the paper's Figure 1 and on its polynomial.

All algorithms of a run share their initial points and their noise, so their regrets can be compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from stableopt.base.arrays import Array
from stableopt.loop.answers import Query, Report
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.state import State
from stableopt.plots import drawing as plots
from stableopt.problems.base import Problem


@dataclass(frozen=True)
class Step:
    """One round as it was played: what was known, asked, and reported afterwards."""

    before: State[int]
    query: Query
    report: Report
    regret: float


def play(problem: Problem, algorithm: str, *, rounds: int, initial: int, seed: int) -> Iterator[Step]:
    """Rounds of one algorithm on a problem; the seed fixes the initial points and the noise for all algorithms."""
    rng = np.random.default_rng([seed, 0])
    optimizer = Optimizer(problem.domain, problem.uncertainty, problem.gp, algorithm=algorithm, seed=seed)
    start = rng.choice(problem.setting.reachable, size=initial, replace=False)
    points = [problem.setting.point(int(index)) for index in start]
    optimizer.tell(points, problem.values[start] + problem.noise * rng.normal(size=initial))
    for noise in problem.noise * rng.normal(size=rounds):
        before, query = optimizer.state, optimizer.ask()
        optimizer.tell(query, problem.values[query.point_index] + noise)
        report = optimizer.report()
        yield Step(before, query, report, problem.epsilon_regret(report.decision))


def compare(
    problem: Problem, algorithms: list[str], *, rounds: int, initial: int, runs: int, played: Callable[[], None]
) -> dict[str, Array]:
    """ε-regrets (runs, rounds) of each algorithm; ``played`` is called after every run of one.

    Ctrl-C ends it early: the runs that all algorithms have finished are returned.
    """
    finished: list[list[list[float]]] = []
    try:
        for seed in range(runs):
            regrets = []
            for name in algorithms:
                steps = play(problem, name, rounds=rounds, initial=initial, seed=seed)
                regrets.append([step.regret for step in steps])
                played()
            finished.append(regrets)
    except KeyboardInterrupt:
        pass
    table = np.array(finished).reshape(-1, len(algorithms), rounds)
    return {name: table[:, i] for i, name in enumerate(algorithms)}


def draw(peaks: Problem, polynomial: Problem, curves: dict[str, Array], folder: Path) -> list[Path]:
    """All figures of the demonstration, as PNG files in a folder."""
    figures = {
        "figure-1.png": figure_1(peaks, seed=0, initial=3),
        "execution.png": execution(peaks, seed=0, initial=3),
        "polynomial.png": comparison(polynomial, curves),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=130)
    return [folder / name for name in figures]


def figure_1(problem: Problem, *, seed: int, initial: int) -> Figure:
    """The paper's Figure 1: the maximiser of f, the stable optimum, and where GP-UCB is after 20 rounds."""
    figure = Figure(figsize=(13.5, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, sharey=True)
    left.set_ylabel("$f$")
    plots.objective(left, problem)
    left.set_title("The best point on paper")
    plots.objective(middle, problem, robust=True)
    middle.set_title(f"The best point when it may move by {problem.uncertainty.eps}")  # type: ignore[attr-defined]
    *_, step = play(problem, "GP-UCB", rounds=20, initial=initial, seed=seed)
    plots.belief(right, step.before, problem=problem, report=step.report)
    right.set_title("What GP-UCB reports at t = 20")
    return figure


def execution(problem: Problem, *, seed: int, initial: int) -> Figure:
    """The supplement's execution figure: StableOpt's choices at t = 5 and t = 15."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    steps = list(play(problem, "StableOpt", rounds=15, initial=initial, seed=seed))
    for axes, t in zip(figure.subplots(1, 2, sharey=True), (5, 15), strict=True):
        step = steps[t - 1]
        plots.belief(axes, step.before, problem=problem, query=step.query, report=step.report)
        axes.set_title(f"StableOpt, t = {t} (after {initial} initial points)")
    plots.share_legend(figure)
    return figure


def comparison(problem: Problem, curves: dict[str, Array]) -> Figure:
    """The surfaces of f and of its worst case on a two-dimensional grid, and the regrets."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    plots.surface(left, problem, problem.values, "$f(x, y)$")
    plots.surface(middle, problem, problem.setting.solver.all_minima(problem.values), "worst case $g(x, y)$")
    plots.curves(right, curves)
    right.set_title(f"mean over {len(next(iter(curves.values())))} runs")
    return figure
