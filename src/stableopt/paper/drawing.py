"""Pictures of the paper's problems and of comparisons of its algorithms, on axes that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.plots.style import BLACK, BLUE, GREEN, ORANGE, PINK, RED, finish
from stableopt.problems.base import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "StableOpt": BLUE,
    "GP-UCB": RED,
    "MaxiMin-GP-UCB": GREEN,
    "Stable-GP-Random": ORANGE,
    "Stable-GP-UCB": PINK,
}
"""One colour per algorithm, the same in every figure."""
_MARKERS = dict(zip(COLOURS, ("o", "s", "^", "D", "v"), strict=True))


def colour_of(algorithm: str) -> str:
    """The same colour in every figure; algorithms that are not the paper's are grey."""
    return COLOURS.get(algorithm, "#777777")


def objective(axes: Axes, problem: Problem, *, robust: bool = False) -> None:
    """f of a one-dimensional problem with its maximiser; with ``robust``, its worst case and the stable optimum."""
    x, f = problem.domain.points[:, 0], problem.values
    axes.plot(x, f, color=BLACK, lw=1.8, label="$f(x)$")
    peak = problem.peak[0]
    if not robust:
        axes.plot(x[peak], f[peak], "*", color=RED, ms=15, label="$x_0^*$, the maximiser of $f$", zorder=5)
    else:
        worst = problem.listing.solver.all_minima(f)
        best = problem.listing.decision_index(problem.stable_decision)
        axes.plot(x, worst, color=BLUE, lw=1.8, label=r"worst case, $\min_\delta\, f(x+\delta)$")
        _window(axes, problem, peak, RED)
        _window(axes, problem, best, GREEN)
        axes.plot(x[peak], worst[peak], "*", color=RED, ms=15, label="$x_0^*$ when perturbed", zorder=5)
        label = r"$x_\epsilon^*$, the stable optimum"
        axes.plot(x[best], problem.stable_value, "*", color=GREEN, ms=15, label=label, zorder=5)
    axes.set_xlabel("$x$")
    finish(axes)


def _window(axes: Axes, problem: Problem, decision: int, colour: str) -> None:
    x = problem.domain.points[problem.listing.solver.members(decision), 0]
    axes.axvspan(x.min(), x.max(), color=colour, alpha=0.12, lw=0)


def surface(axes: Axes, problem: Problem, values: Array, title: str) -> None:
    """A function on a two-dimensional grid in colours, with both optima of the problem."""
    grid: Any = problem.domain
    table = values.reshape(grid.shape).T
    colours: dict[str, Any] = {"cmap": "viridis", "vmin": np.quantile(values, 0.15), "vmax": values.max()}
    mesh = axes.pcolormesh(*grid.axes, table, shading="gouraud", rasterized=True, **colours)
    axes.figure.colorbar(mesh, ax=axes, extend="min")
    peak, best = problem.domain.points[problem.peak[0]], np.asarray(problem.stable_decision)
    edge: dict[str, Any] = {"mec": BLACK, "ms": 15, "ls": "none"}
    axes.plot(*peak, "*", color=RED, label="maximiser of $f$", **edge)
    axes.plot(*best, "*", color="white", label="stable optimum", **edge)
    axes.set(title=title, xlabel="$x$", ylabel="$y$")
    axes.legend(loc="lower right", fontsize=8, framealpha=0.9)


def worst_case_surface(axes: Axes, problem: Problem, title: str) -> None:
    """The worst case of every decision of a two-dimensional problem, in colours."""
    surface(axes, problem, problem.listing.solver.all_minima(problem.values), title)


def curves(axes: Axes, measured: Mapping[str, Array], label: str = "mean ε-regret", bottom: float | None = 0.0) -> None:
    """The mean over runs by round for each algorithm, with a band of one standard error; rows of a curve are runs."""
    for name, runs in measured.items():
        t = np.arange(1, runs.shape[1] + 1)
        mean = runs.mean(axis=0)
        error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.zeros_like(mean)
        style: dict[str, Any] = {"marker": _MARKERS.get(name), "markevery": max(1, len(t) // 10), "ms": 5}
        axes.plot(t, mean, lw=1.8, color=colour_of(name), label=name, **style)
        axes.fill_between(t, mean - error, mean + error, color=colour_of(name), alpha=0.15, lw=0)
    axes.set(xlabel="round $t$", ylabel=label, xlim=(1, None))
    axes.set_ylim(bottom=bottom)
    finish(axes)
