"""Pictures of problems, beliefs and comparisons. Needs matplotlib: ``pip install 'stableopt[plots]'``.

Functions draw on axes that they are given and return nothing, so that figures can be composed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.campaign.results import Profile
from stableopt.loop.answers import Query, Report
from stableopt.loop.state import State
from stableopt.problems.base import Problem

try:
    import matplotlib  # noqa: F401
except ImportError as error:  # pragma: no cover - shown by a test in a process without matplotlib
    raise ImportError("stableopt.plots needs matplotlib: pip install 'stableopt[plots]'") from error

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette, which people with any colour vision can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"
COLOURS = {
    "StableOpt": BLUE,
    "GP-UCB": RED,
    "MaxiMin-GP-UCB": GREEN,
    "Stable-GP-Random": ORANGE,
    "Stable-GP-UCB": PINK,
}
"""One colour per algorithm, the same in every figure."""
_MARKERS = dict(zip(COLOURS, ("o", "s", "^", "D", "v"), strict=True))


def objective(axes: Axes, problem: Problem, *, robust: bool = False) -> None:
    """f of a one-dimensional problem with its maximiser; with ``robust``, its worst case and the stable optimum."""
    x, f = problem.domain.points[:, 0], problem.values
    axes.plot(x, f, color=BLACK, lw=1.8, label="$f(x)$")
    peak = problem.peak[0]
    if not robust:
        axes.plot(x[peak], f[peak], "*", color=RED, ms=15, label="$x_0^*$, the maximiser of $f$", zorder=5)
    else:
        worst = problem.setting.solver.all_minima(f)
        best = problem.setting.decision_index(problem.stable_decision)
        axes.plot(x, worst, color=BLUE, lw=1.8, label=r"worst case, $\min_\delta\, f(x+\delta)$")
        _window(axes, problem, peak, RED)
        _window(axes, problem, best, GREEN)
        axes.plot(x[peak], worst[peak], "*", color=RED, ms=15, label="$x_0^*$ when perturbed", zorder=5)
        label = r"$x_\epsilon^*$, the stable optimum"
        axes.plot(x[best], problem.stable_value, "*", color=GREEN, ms=15, label=label, zorder=5)
    axes.set_xlabel("$x$")
    _finish(axes)


def profile(axes: Axes, profile: Profile) -> None:
    """A stability profile: what can be promised, and what is possible, for tolerances up to the largest of them."""
    factors = [row.factor for row in profile]
    lower, upper = ([getattr(row.worst_case, end) for row in profile] for end in ("lower", "upper"))
    optimum = [row.optimum_bound for row in profile]
    axes.fill_between(factors, lower, upper, color=SKY, alpha=0.4, label="worst case of the decision")
    promised, possible = (lower, optimum) if profile.sign > 0 else (upper, optimum)
    axes.plot(factors, promised, "o-", color=BLUE, label="what is guaranteed")
    axes.plot(factors, possible, "--", color=BLACK, lw=1, label="what no decision can surpass")
    for row in profile:
        if row.factor == 1.0:
            axes.axvline(1.0, color=RED, lw=1, ls=":", label="the given tolerance")
    axes.set_xlabel("tolerance, in multiples of the given one")
    axes.set_ylabel("worst-case value")
    _finish(axes)


def belief(
    axes: Axes,
    state: State[int],
    *,
    problem: Problem | None = None,
    query: Query | None = None,
    report: Report | None = None,
) -> None:
    """A one-dimensional posterior: band, mean and observations, and the decision, sample and report of a round."""
    x = state.setting.domain.points[:, 0]
    axes.fill_between(x, state.lcb, state.ucb, color=SKY, alpha=0.3, lw=0, label="between lcb and ucb")
    axes.plot(x, state.posterior.mean, color=SKY, lw=1.2, ls="--", label="posterior mean")
    if problem is not None:
        axes.plot(x, problem.values, color=BLACK, lw=1.8, label="$f(x)$")
    points = np.array([r.point[0] for r in state.rounds])
    axes.plot(points, [r.y for r in state.rounds], "o", color=BLACK, mfc="white", ms=5, label="observations")
    if query is not None:
        shadow = state.setting.solver.members(query.decision_index)
        axes.axvspan(x[shadow].min(), x[shadow].max(), color=GREEN, alpha=0.12, lw=0)
        axes.axvline(
            float(x[query.decision_index]), color=GREEN, lw=1.5, label=r"$\tilde{x}_t$ and what it can turn into"
        )
        at = query.point_index
        axes.plot(x[at], state.lcb[at], "v", color=RED, ms=9, label="sampled point, where lcb is smallest", zorder=5)
    if report is not None:
        at = report.decision_index
        low = axes.get_ylim()[0]
        axes.plot(x[at], low, "^", color=BLUE, ms=11, clip_on=False, label="reported decision", zorder=6)
        axes.set_ylim(bottom=low)
    axes.set_xlabel("$x$")
    _finish(axes)


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
    _finish(axes)


def colour_of(algorithm: str) -> str:
    """The same colour in every figure; what is not an algorithm of the paper is grey."""
    return COLOURS.get(algorithm, "#777777")


def share_legend(figure: Figure) -> None:
    """One legend below all axes of a figure with a constrained layout, instead of one inside each."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries.update((str(label), handle) for label, handle in zip(labels, handles, strict=True))
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=4, fontsize=9, frameon=False)


def _window(axes: Axes, problem: Problem, decision: int, colour: str) -> None:
    x = problem.domain.points[problem.setting.solver.members(decision), 0]
    axes.axvspan(x.min(), x.max(), color=colour, alpha=0.12, lw=0)


def _finish(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
