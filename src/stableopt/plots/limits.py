"""Where limits are broken, and how a picture shows it: over bounds on the smallest margin of decisions (2, n).

Hatched, so that it is seen without colours, too: wide where a limit may be broken, dense where one is for certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.loop.state import State
from stableopt.plots import style
from stableopt.plots.parameters import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAY, BREAKS = "may break a limit", "breaks a limit"
_HATCHES = {MAY: "//", BREAKS: "xxx"}
_MARKS = {MAY: "$/$", BREAKS: "x"}
_VEILS = {MAY: 0.2, BREAKS: 0.45}


def _broken(bounds: Array) -> list[tuple[str, Array]]:
    """What is shown, with what is below 0 there."""
    low, high = bounds
    return [(MAY, np.where(high < 0, math.nan, low)), (BREAKS, high)]


def word_for(state: State[Any]) -> str:
    """What is wrong with decisions that break something for certain: a limit, or the rule for decisions."""
    if state.setting.where is None:
        return BREAKS
    return f"{BREAKS}, or is not allowed" if state.constraints else "is not allowed"


def draw_spans(axes: Axes, column: Column, x: Array, bounds: Array, broken: str = BREAKS) -> None:
    """Hatched strips where decisions along one column break limits, or may; ``broken`` is what the legend says."""
    order = np.argsort(x, kind="stable")
    middle = (x[order][1:] + x[order][:-1]) / 2
    edges = np.concatenate([x[order][:1], middle, x[order][-1:]])
    if not column.joined and len(x) > 1:  # single values have room on both sides
        edges[[0, -1]] += np.array([-0.5, 0.5]) * np.diff(x[order])[[0, -1]]
    look: style.Look = {"facecolor": "none", "edgecolor": style.ink(), "alpha": 0.35, "lw": 0.0, "zorder": 0.5}
    for name, margin in _broken(bounds[:, order]):
        for i, j in _runs(margin < 0):
            said = broken if name == BREAKS else name
            axes.axvspan(edges[i], edges[j], hatch=_HATCHES[name], label=said, **look)


def _runs(mask: Mask) -> list[tuple[int, int]]:
    """Where runs of True begin and end."""
    steps = np.diff(np.concatenate([[0], mask.astype(int), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def draw_area(
    axes: Axes, columns: Sequence[Column], flats: Sequence[list[Any]], bounds: Array, broken: str = BREAKS
) -> None:
    """Hatched areas of a plane where decisions break limits, or may; marks where places are single ones."""
    x, y = (column.of(flats) for column in columns)
    if all(column.joined for column in columns):
        _draw_hatched(axes, x, y, bounds, broken)
        return
    for name, margin in _broken(bounds):
        own = margin < 0
        if own.any():
            said = broken if name == BREAKS else name
            axes.plot(x[own], y[own], marker=_MARKS[name], color=style.BLACK, ls="none", ms=6, label=said)


def _draw_hatched(axes: Axes, x: Array, y: Array, bounds: Array, broken: str) -> None:
    across, down = np.unique(x), np.unique(y)
    where = np.searchsorted(down, y), np.searchsorted(across, x)
    for name, margin in zip((MAY, BREAKS), bounds, strict=True):
        field = np.ones((len(down), len(across)))
        field[where] = np.clip(margin, -1.0, 1.0)
        other = (field < 0).sum() > (bounds[1] < 0).sum()  # where it is broken for certain, it need not be said twice
        if not (field < 0).any() or (name == MAY and not other):
            continue
        # A veil below the hatching: what is under it is not to choose from.
        axes.contourf(across, down, field, levels=[-2.0, 0.0], colors=["white"], alpha=_VEILS[name])
        axes.contourf(across, down, field, levels=[-2.0, 0.0], colors="none", hatches=[_HATCHES[name]])
        axes.contour(across, down, field, levels=[0.0], colors=style.BLACK, linewidths=1.0)
        said = broken if name == BREAKS else name
        axes.fill([], [], fc="none", ec=style.ink(), lw=0.0, hatch=_HATCHES[name], label=said)
