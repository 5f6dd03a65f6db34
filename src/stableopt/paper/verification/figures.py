"""The figures of ``stableopt verify``: coverage, looseness of certificates, the trade-off, the lower bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from stableopt.paper.drawing import colour_of
from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.results import Certificates, HardResults, Tradeoff
from stableopt.plots.style import BLACK, BLUE, GREEN, ORANGE, RED, plain
from stableopt.theory.theorem2 import plot_instances


def coverage_figure(checks: Sequence[Check]) -> Figure:
    """How often the bounds of each schedule held, with the promise as a line."""
    shown = [check for check in checks if check.what.startswith("bounds")]
    figure = Figure(figsize=(8.5, 0.24 * len(shown) + 1.0), layout="constrained")
    axes = figure.subplots()
    labels = [f"{check.what.removeprefix('bounds: ')} ({check.setting})" for check in shown]
    colours = [GREEN if check.must_hold else RED for check in shown]
    axes.barh(labels, [check.held / check.runs for check in shown], color=colours, height=0.65)
    axes.axvline(shown[0].promised, color=BLACK, lw=1.2, ls="--")
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel=f"share of {shown[0].runs} runs in which all bounds held; dashed: what is promised")
    axes.tick_params(labelsize=8)
    plain(axes)
    return figure


def looseness_figure(found: Mapping[str, Certificates]) -> Figure:
    """Certified and true regret over time: means over the runs, one panel per setting."""
    figure = Figure(figsize=(3.2 * len(found), 3.2), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(found), sharey=True))
    for axes, (name, each) in zip(panels, found.items(), strict=True):
        t = np.arange(each.plain.lower.shape[1])
        true = (each.optimum[:, None] - each.plain.worst).mean(axis=0)
        axes.plot(t, each.plain.regret_bound.mean(axis=0), color=ORANGE, lw=1.8, label="certified")
        axes.plot(t, each.intersected.regret_bound.mean(axis=0), color=BLUE, lw=1.4, label="certified, intersected")
        axes.plot(t, np.maximum(true, 1e-4), color=BLACK, lw=1.8, label="true")
        axes.set(yscale="log", xlabel="observations", title=name)
        plain(axes)
    panels[0].set_ylabel("mean ε-regret")
    panels[0].legend(fontsize=8, frameon=False)
    return figure


def tradeoff_figure(found: Sequence[Tradeoff]) -> Figure:
    """Certified and true regret on the polynomial, by the β that explored."""
    figure = Figure(figsize=(8.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for each, colour in zip(found, (BLUE, ORANGE, GREEN), strict=False):
        t = np.arange(1, each.regret.shape[1] + 1)
        label = rf"explored with $\beta^{{1/2}}$ = {each.explore:g}"
        left.plot(t, each.regret.mean(axis=0), color=colour, lw=1.8, label=label)
        right.plot(t, np.median(each.bound, axis=0), color=colour, lw=1.8, label=label)
    left.set(xlabel="round $t$", ylabel="mean true ε-regret", yscale="symlog")
    right.set(xlabel="round $t$", ylabel="median certified ε-regret", yscale="log")
    for axes in (left, right):
        axes.legend(fontsize=8, frameon=False)
        plain(axes)
    return figure


def hard_figure(results: HardResults) -> Figure:
    """The hard functions, and how often the algorithms succeed on them."""
    figure = Figure(figsize=(10.5, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_instances(results.instances, ax=left)
    for name, share in results.success.items():
        right.plot(np.arange(1, len(share) + 1), share, color=colour_of(name), lw=1.5, label=name)
    ceiling = 1 - results.floor
    right.plot(np.arange(1, len(ceiling) + 1), ceiling, color=BLACK, ls="--", lw=1.5, label="Theorem 2 allows")
    bound = results.bound
    right.axvline(bound, color=BLACK, lw=0.8)
    right.set(xscale="log", ylim=(0, 1.02), xlabel="rounds $T$", ylabel="share of runs with ε-regret < η")
    right.set_title(f"{results.runs} runs; 1 − ξ = {1 - results.xi:g} is impossible before T = {bound}", fontsize=10)
    right.legend(fontsize=8, frameon=False)
    plain(right)
    return figure
