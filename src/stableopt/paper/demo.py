"""The demonstration: five algorithms on the running example of the paper's Figure 1 and on its polynomial.

All algorithms of a run share their initial points and their noise, so their regrets can be compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from stableopt.base.arrays import Array
from stableopt.paper import drawing
from stableopt.paper.example import draw_step, figure_1, play
from stableopt.plots.style import share_legend
from stableopt.problems.base import Problem


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


def draw(peaks: Problem, polynomial: Problem, curves: dict[str, Array], folder: Path) -> Iterator[Path]:
    """All figures of the demonstration, one after the other, as PNG files in a folder."""
    figures: dict[str, Callable[[], Figure]] = {
        "figure-1.png": lambda: figure_1(peaks, seed=0, initial=3),
        "execution.png": lambda: execution(peaks, seed=0, initial=3),
        "polynomial.png": lambda: comparison(polynomial, curves),
    }
    for name, make in figures.items():
        make().savefig(folder / name, dpi=130)
        yield folder / name


def execution(problem: Problem, *, seed: int, initial: int) -> Figure:
    """The supplement's execution figure: StableOpt's choices at t = 5 and t = 15."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    steps = list(play(problem, "StableOpt", rounds=15, initial=initial, seed=seed))
    for axes, t in zip(figure.subplots(1, 2, sharey=True), (5, 15), strict=True):
        draw_step(axes, problem, steps[t - 1])
        axes.set_title(f"StableOpt, t = {t} (after {initial} initial points)")
    share_legend(figure)
    return figure


def comparison(problem: Problem, curves: dict[str, Array]) -> Figure:
    """The surfaces of f and of its worst case on a two-dimensional grid, and the regrets."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    drawing.surface(left, problem, problem.values, "$f(x, y)$")
    drawing.worst_case_surface(middle, problem, "worst case $g(x, y)$")
    drawing.curves(right, curves)
    right.set_title(f"mean over {len(next(iter(curves.values())))} runs")
    return figure
