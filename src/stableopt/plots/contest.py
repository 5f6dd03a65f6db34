"""The contenders: the best decisions side by side, with the bounds on their worst cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import whole
from stableopt.loop.outputs import valued
from stableopt.plots import style
from stableopt.plots.parameters import Column, flat_of, text
from stableopt.plots.style import Look
from stableopt.plots.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_JUDGED = 64  # tried decisions that are judged: of more, those with the best values
_SAME = 0.02  # of every scale: so close, two decisions are one contender
_COLOURS = (style.BLUE, style.RED, style.GREEN, style.PINK)
_LINES = ("-", "--", "-.", ":")
_MARKS = "osD^vPX*"
_WORDS = 8  # words that are written on a scale


@dataclass(frozen=True)
class Scale:
    """A vertical axis of its own, from 0 to 1."""

    name: str
    low: float
    high: float
    log: bool = False
    words: tuple[Any, ...] = ()
    ticks: bool = False
    """Whether round numbers are written at it, and not its ends."""

    @classmethod
    def of(cls, column: Column) -> Scale:
        """The scale of a parameter."""
        return cls(column.name, *column.ends(), column.log, column.words)

    def height(self, value: Any) -> float:
        """Where a value is."""
        low, high, x = self.low, self.high, self.words.index(value) if self.words else float(value)
        if self.log:
            low, high, x = math.log(low), math.log(high), math.log(x)
        return (x - low) / (high - low) if high > low else 0.5


class Contender(NamedTuple):
    """A decision with the bounds on its worst case, in the user's sign."""

    flat: list[Any]
    low: float
    high: float


def contenders(source: Any, count: int = 6, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The best decisions in parallel coordinates, one line each, and the bounds on their worst cases at the right.

    The reported decision comes first and is drawn strongest. The others are those that were tried, the best guarantee
    first; of several that are all but the same, one is shown. Every parameter has a scale of its own, from the smallest
    to the largest value that it can have.

    source: a result, an assessment, a campaign or an optimiser.
    count: how many decisions at most.
    ax: axes to draw on; those of a new figure by default. They are returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    subject = subject_of(source, label)
    most = whole(count, 1, "a number of decisions 1, 2, 3, ...")
    scales = scales_of(subject)
    shown = contenders_of(subject, scales, most)
    axes = style.axes_for(ax, (max(6.4, 2.4 + 0.8 * len(scales)), 4.6))
    ends = np.array([(contender.low, contender.high) for contender in shown])
    room = 0.05 * max(np.ptp(ends), 1e-9 * np.abs(ends).max(), 1e-300)
    values = Scale(f"worst-case {subject.label}", float(ends.min() - room), float(ends.max() + room), ticks=True)
    for place, scale in enumerate([*scales, values]):
        _draw_scale(axes, place, scale)
    for i in range(len(shown) - 1, -1, -1):
        _draw(axes, scales, values, shown, i, subject.sign)
    _name_scales(axes, [scale.name for scale in (*scales, values)])
    axes.tick_params("x", length=0, pad=14)
    axes.set(xlim=(-0.5, len(scales) + 1.0), ylim=(-0.02, 1.02), yticks=[])
    axes.spines[:].set_visible(False)
    handles, said = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], said[::-1], fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.04), ncols=3
    )
    return axes


def contenders_of(subject: Subject, scales: Sequence[Scale], count: int) -> list[Contender]:
    """The reported decision, then the tried ones with the best guarantees that differ from those before."""
    report, translation, sign = subject.report, subject.state.setting.translation, subject.sign
    tried = _tried(subject)
    lower, upper = subject.state.bounds_of(tried) if tried else (np.empty(0), np.empty(0))
    order = np.argsort(-lower, kind="stable").tolist()
    known = [(report.decision, report.lower, report.upper)]
    known += [(translation.decision(tried[i]), float(lower[i]), float(upper[i])) for i in order]
    found: list[Contender] = []
    places: list[Array] = []
    for decision, low, high in known:
        flat = flat_of(decision)
        place = np.array([scale.height(v) for scale, v in zip(scales, flat, strict=True)])
        if len(found) < count and all(np.abs(place - other).max() > _SAME for other in places):
            found.append(Contender(flat, *((low, high) if sign > 0 else (-high, -low))))
            places.append(place)
    return found


def _tried(subject: Subject) -> list[Any]:
    """The decisions that were tried, but for the reported one; of very many, those with the best values.

    What can turn into a point that failed is left out; so is, with constraints, what is not certain to keep all limits
    or, where the reported one is not either, what is certain to break one.
    """
    tried = dict.fromkeys(subject.state.tried(), -math.inf)
    for r in valued(subject.state.rounds):
        if r.decision_index in tried:
            tried[r.decision_index] = max(tried[r.decision_index], r.y)
    tried.pop(subject.report.decision_index, None)
    state = subject.state
    found = sorted(tried, key=lambda index: -tried[index])
    if state.failing:
        found = [decision for decision in found if state.avoids(decision, state.failing)]
    found = found[:_JUDGED]
    if not state.constraints or not found:
        return found
    margins = state.limits.smallest_of(found, "lower" if subject.report.feasible == "certified" else "upper")
    return [decision for decision, margin in zip(found, margins.tolist(), strict=True) if margin >= 0]


def scales_of(subject: Subject) -> list[Scale]:
    """A scale for every parameter of a decision; groups have one for their names."""
    if subject.grouped:
        names = tuple(subject.state.setting.uncertainty.names)  # type: ignore[attr-defined]
        return [Scale("group", 0.0, len(names) - 1.0, words=names)]
    return [Scale.of(column) for column in subject.columns if column.block.decided]


def _draw_scale(axes: Axes, place: int, scale: Scale) -> None:
    """A vertical line with its ends, its words or some numbers written at it."""
    from matplotlib.ticker import MaxNLocator

    axes.plot([place, place], [0, 1], color=style.ink(), lw=0.8, alpha=0.6)
    behind: Look = {"facecolor": style.paper(), "edgecolor": "none", "alpha": 0.75, "pad": 0.5}
    if scale.words and len(scale.words) <= _WORDS:
        for word in scale.words:
            at = place - 0.08, scale.height(word)
            axes.text(*at, text(str(word), 0), ha="right", va="center", fontsize=7, bbox=behind, zorder=8)
        return
    if scale.ticks:
        for y in MaxNLocator(6).tick_values(scale.low, scale.high):
            if scale.low <= y <= scale.high:
                axes.text(place - 0.08, scale.height(y), f"{y:.4g}", ha="right", va="center", fontsize=7)
                axes.plot([place - 0.05, place], [scale.height(y)] * 2, color=style.ink(), lw=0.8, alpha=0.6)
        return
    for y, end, va in ((-0.02, scale.low, "top"), (1.02, scale.high, "bottom")):
        said = text(str(scale.words[round(end)]), 0) if scale.words else f"{end:.4g}"
        axes.text(place, y, said, ha="center", va=va, fontsize=7)


def _name_scales(axes: Axes, names: Sequence[str]) -> None:
    """Names below the scales: in several lines if there is room, else turned."""
    room, longest = 84 // len(names), max(len(word) for name in names for word in name.split())
    if max(8, longest) <= room:
        axes.set_xticks(range(len(names)), [text(name, max(8, longest)) for name in names], fontsize=8)
    else:
        turned: Look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(names)), [text(name, 0, most=24) for name in names], fontsize=8, **turned)


def _draw(axes: Axes, scales: Sequence[Scale], values: Scale, shown: Sequence[Contender], i: int, sign: int) -> None:
    """The line of one contender through all scales, and its bounds beside the last one."""
    contender, last = shown[i], len(scales)
    heights = [scale.height(v) for scale, v in zip(scales, contender.flat, strict=True)]
    spot = last + 0.15 + 0.65 * i / max(1, len(shown) - 1)
    look: Look = {"color": _COLOURS[i % 4] if i else style.ink(), "lw": 1.4 if i else 2.6}
    said = f"{i + 1}: at least {contender.low:.4g}" if sign > 0 else f"{i + 1}: at most {contender.high:.4g}"
    mark: Look = {"marker": _MARKS[i % 8], "ms": 6, "mec": style.ink(), "mew": 0.5}
    axes.plot(range(last), heights, ls=_LINES[i % 4], label=said, **mark, **look)
    low, high = values.height(contender.low), values.height(contender.high)
    axes.plot([spot, spot], [low, high], marker="_", ms=7, **look)
    offset: Look = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
    axes.annotate(str(i + 1), (spot, high), (0, 3), **offset)
