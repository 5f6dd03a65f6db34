"""What is known along one parameter through the decision: one panel, or a small one for each parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.plots import limits, style
from stableopt.plots.parameters import Column, chosen, text
from stableopt.plots.probes import Section, along, interval, nearness
from stableopt.plots.style import Look
from stableopt.plots.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_ACROSS = 41  # values of a range in a small panel
_NEAR = 0.2  # correlation with the section below which a trial tells nothing about it
_BAR = 0.38  # half the width of what is shaded around a single value, of the way to the next one


def slices(
    source: Any,
    parameters: str | int | Sequence[str | int] | None = None,
    *,
    figure: Any = None,
    label: str | None = None,
) -> Figure | SubFigure:
    """One small panel per parameter, through the decision: all other parameters stay as decided.

    Expected value with its band, what the tolerance makes of the decision (shaded), the guaranteed worst case of every
    decision on the way, and the trials that the model takes to be near (the stronger, the nearer). Where there is an
    environment, it is the one that the adversary would choose; its variables have panels, too. With constraints,
    hatched decisions may break a limit, or do.

    source: a result, an assessment, a campaign or an optimiser.
    parameters: which ones, by name or by number; all by default.
    figure: a figure or a subfigure to draw on; a new one by default. It is returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    subject = subject_of(source, label)
    columns = chosen(subject.columns, parameters)
    across = min(len(columns), 3 if len(columns) <= 9 else 5)
    down = math.ceil(len(columns) / across)
    height = 2.2 + 0.8 * any(_upright(column) for column in columns)
    drawn = style.figure_for(figure, (max(5.5, 1.2 + 2.5 * across), 1.0 + height * down))
    panels = drawn.subplots(down, across, sharey=True, squeeze=False)
    sections = {column.block: along(subject, column.block, _ACROSS) for column in columns}
    for axes, column in zip(panels.ravel(), columns, strict=False):
        draw_section(axes, subject, column, sections[column.block])
    for axes in panels.ravel()[len(columns) :]:
        axes.remove()
    for axes in panels[:, 0]:
        axes.set_ylabel(text(subject.label, 24))
    style.share_legend(drawn, columns=max(2, across))
    return drawn


def draw_section(axes: Axes, subject: Subject, column: Column, section: Section) -> None:
    """One panel."""
    x = column.of(section.flats)
    _shade(axes, subject, column, x, section)
    limits.draw_spans(axes, column, x, section.margins, limits.word_for(subject.state))
    (_joined if column.joined else _single)(axes, x, section)
    if np.isnan(section.guarantee).all():  # of a group, or along the environment
        axes.axhline(subject.guarantee, color=style.RED, ls="--", lw=1.6, label=style.GUARANTEED)
    _draw_trials(axes, subject, column)
    at = section.at(subject.base)
    axes.plot(x[at], section.mean[at], "*", color=style.ink(), ms=11, label=style.DECISION, zorder=6)
    worst = column.of([subject.worst])
    axes.plot(worst, [subject.guarantee], "v", color=style.RED, mec=style.ink(), ms=7, label=style.WORST, zorder=6)
    column.dress(axes, "x")
    if column.words:
        _turn_words(axes, column)
    style.plain(axes)


def _joined(axes: Axes, x: Array, section: Section) -> None:
    """A line for the expected value with a band, another one for the worst case."""
    axes.fill_between(x, section.low, section.high, color=style.BLUE, alpha=0.2, lw=0, label="its band")
    axes.plot(x, section.mean, color=style.BLUE, lw=1.8, label=style.EXPECTED)
    if not np.isnan(section.guarantee).all():
        axes.plot(x, section.guarantee, color=style.RED, ls="--", lw=1.6, label=style.GUARANTEED)


def _single(axes: Axes, x: Array, section: Section) -> None:
    """Marks for single values."""
    size = 5 if len(x) <= 30 else 3
    axes.vlines(x, section.low, section.high, color=style.BLUE, alpha=0.35, lw=size, label="its band")
    axes.plot(x, section.mean, "s", color=style.BLUE, ms=size, label=style.EXPECTED)
    if not np.isnan(section.guarantee).all():
        axes.plot(x, section.guarantee, "_", color=style.RED, ms=2.4 * size, mew=2, label=style.GUARANTEED)


def _shade(axes: Axes, subject: Subject, column: Column, x: Array, section: Section) -> None:
    """What the decision can turn into: an interval, strips around single values, or rings around rows of a list."""
    reached = x[section.reached]
    if len(column.block.names) > 1:
        ring: Look = {"mfc": "none", "mec": style.GREEN, "ms": 9, "mew": 1.5, "ls": "none"}
        axes.plot(reached, section.mean[section.reached], "o", label=style.TURNED, **ring)
        return
    if not column.joined:
        half = _BAR * float(np.diff(np.unique(x)).min(initial=1.0))
        strips = [(v - half, v + half) for v in np.unique(reached).tolist()]
        spans = strips if len(strips) > 1 else []
    elif column.block.range is not None:
        spans = [interval(subject, column)]
    else:
        spans = [(float(reached.min()), float(reached.max()))]
    look: Look = {"facecolor": style.GREEN, "edgecolor": style.GREEN, "alpha": 0.22, "hatch": "////", "lw": 0.0}
    for i, (low, high) in enumerate(spans):
        if high > low:
            axes.axvspan(low, high, label=f"{'_' if i else ''}{style.TURNED}", **look)


def _draw_trials(axes: Axes, subject: Subject, column: Column) -> None:
    """The trials that the model takes to be near the section, and those that failed at the foot of the panel."""
    from matplotlib.colors import to_rgba

    ties = nearness(subject, column)
    near = np.flatnonzero(ties >= _NEAR)
    if len(near):
        x, edges = column.of(subject.trials)[near], [to_rgba(style.ink(), tie) for tie in ties[near]]
        look: Look = {"s": 20, "facecolors": "none", "edgecolors": edges, "linewidths": 1.1, "zorder": 5}
        axes.scatter(x, subject.values[near], label=style.TRIALS, **look)
    if subject.failures:
        foot = axes.get_xaxis_transform()
        axes.plot(
            column.of(subject.failures),
            [0.03] * len(subject.failures),
            "x",
            color=style.ink(),
            ms=5,
            transform=foot,
            label=style.FAILED,
        )


def _turn_words(axes: Axes, column: Column) -> None:
    """Long words stand upright, and single values get room at the ends."""
    axes.set_xlim(-0.6, len(column.words) - 0.4)
    if _upright(column):
        axes.tick_params("x", rotation=90)


def _upright(column: Column) -> bool:
    """Whether its words are too long to stand side by side."""
    return max((len(str(word)) for word in column.words), default=0) * len(column.words) > 24
