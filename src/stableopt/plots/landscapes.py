"""The landscape around the decision: what is expected and what is guaranteed, over one or two parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.answers import readable
from stableopt.plots import limits, style
from stableopt.plots.parameters import Column, chosen, text
from stableopt.plots.probes import Section, along, interval, reached, section
from stableopt.plots.sections import draw_section
from stableopt.plots.style import Look
from stableopt.plots.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_ACROSS, _SIDE = 101, 27  # values of a range: of one parameter, of each of two
_COARSE = 13  # enough to see how much a parameter matters
_SAID = 4  # other parameters whose values are said
_RAYS = 40  # along which the edge of a neighbourhood is looked for
NOMINAL = "best if nothing goes wrong"


def landscape(
    source: Any,
    parameters: str | int | Sequence[str | int] | None = None,
    *,
    figure: Any = None,
    label: str | None = None,
) -> Figure | SubFigure:
    """Expected value and guaranteed worst case over one or two parameters, all others as decided.

    Shown are the decision with all that it can turn into, the point where it may be worst, the trials, and the point
    that would be best if nothing went wrong. Of two parameters the left panel shows what is expected and the right one
    what is guaranteed, in the same colours: light is good. With constraints, hatched is where a limit is broken: on the
    left as it is expected if nothing goes wrong, on the right in the worst case.

    source: a result, an assessment, a campaign or an optimiser.
    parameters: one or two, by name or by number. By default the two of the decision along which the expected value
        varies most.
    figure: a figure or a subfigure to draw on; a new one by default. It is returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    subject = subject_of(source, label)
    columns = important(subject) if parameters is None else chosen(subject.columns, parameters)
    if len(columns) > 2:
        raise ValueError(f"expected one or two parameters, got {[c.name for c in columns]}: slices(...) draws them all")
    return over(subject, columns, figure)


def over(subject: Subject, columns: Sequence[Column], figure: Any = None, side: int = 0) -> Figure | SubFigure:
    """The landscape over one or two columns; of two, with about ``side`` values of each, if that is given."""
    return _one(subject, columns[0], figure) if len(columns) == 1 else _two(subject, columns, figure, side or _SIDE)


def important(subject: Subject, count: int = 2, *, decided: bool = True) -> list[Column]:
    """The columns (of the decision) along which the expected value varies most, in their order."""
    columns = [column for column in subject.columns if column.block.decided or not decided]
    if len(columns) <= count:
        return columns
    spans = []
    for column in columns:
        block = column.block
        flats = [subject.moved([(block, row)]) for row in block.some(_COARSE, tuple(subject.base[block.places]))]
        spans.append(_span(column, section(subject, flats, guarantees=False)))
    best = sorted(np.argsort(spans, kind="stable")[-count:].tolist())
    return [columns[i] for i in best]


def _span(column: Column, section: Section) -> float:
    """By how much the expected value varies along a column; of rows of a list, how much a line through them rises."""
    if len(column.block.names) == 1:
        return float(np.ptp(section.mean))
    x = column.of(section.flats)
    slope = np.polyfit(x - x.mean(), section.mean, 1)[0] if np.ptp(x) > 0 else 0.0
    return float(abs(slope) * np.ptp(x))


# ---------------------------------------------------------------------------------------------------- one parameter


def _one(subject: Subject, column: Column, figure: Any) -> Figure | SubFigure:
    drawn = style.figure_for(figure, (6.4, 4.4))
    axes = drawn.subplots()
    known = along(subject, column.block, _ACROSS)
    draw_section(axes, subject, column, known)
    at, x = _nominal(subject, known), column.of(known.flats)
    axes.plot(x[at], known.mean[at], "D", mfc="none", mec=style.ink(), ms=13, mew=1.4, label=NOMINAL, zorder=7)
    if not math.isnan(known.guarantee[at]):
        axes.plot([x[at]] * 2, [known.mean[at], known.guarantee[at]], color=style.ink(), ls=":", lw=1.2)
    axes.set_ylabel(text(subject.label, 40))
    _say_the_rest(drawn, subject, [column])
    style.share_legend(drawn, columns=3)
    return drawn


def _nominal(subject: Subject, section: Section) -> int:
    """Where the expected value is best, within all limits: at the decision, unless it is better elsewhere."""
    good, own = subject.sign * section.mean, section.at(subject.base)
    best = int(np.argmax(np.where(section.margin >= 0, good, -np.inf)))
    better = section.margin[best] >= 0 and good[best] > good[own] + 1e-9 * np.abs(good).max()
    return best if better else own


# --------------------------------------------------------------------------------------------------- two parameters


def _two(subject: Subject, columns: Sequence[Column], figure: Any, side: int) -> Figure | SubFigure:
    blocks = list(dict.fromkeys(column.block for column in columns))
    rows = [block.some(side, tuple(subject.base[block.places])) for block in blocks]
    flats = [subject.moved(list(zip(blocks, each, strict=True))) for each in itertools.product(*rows)]
    decided = all(column.block.decided for column in columns)
    known = section(subject, flats, guarantees=decided)
    expected = np.tile(known.margin, (2, 1))
    shown = [("expected", known.mean, expected), ("guaranteed in the worst case", known.guarantee, known.margins)]
    shown = shown[: 1 if np.isnan(known.guarantee).all() else 2]
    drawn = style.figure_for(figure, (2.0 + 3.7 * len(shown), 4.4))
    panels = drawn.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    colours = _Colours(subject, np.concatenate([values for _, values, _ in shown]))
    edge = _outline(subject, columns) if all(column.smooth for column in columns) else None
    for axes, (title, values, margins) in zip(panels, shown, strict=True):
        colours.draw(axes, columns, known.flats, values)
        limits.draw_area(axes, columns, known.flats, margins, limits.word_for(subject.state))
        _draw_neighbourhood(axes, subject, columns, known, edge)
        _draw_places(axes, subject, columns, known)
        axes.set_title(title, fontsize=10)
        columns[0].dress(axes, "x")
    columns[1].dress(panels[0], "y")
    drawn.colorbar(colours.scale, ax=list(panels), label=text(subject.label, 40))
    _say_the_rest(drawn, subject, columns)
    style.share_legend(drawn, columns=3)
    return drawn


class _Colours:
    """One scale of colours for both panels: light is good, and so it is without colours."""

    def __init__(self, subject: Subject, values: Array) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        known = values[np.isfinite(values)]
        low, high = float(known.min()), float(known.max())
        room = 0.0 if high > low else max(abs(low), 1.0) * 0.5
        norm = Normalize(low - room, high + room)
        self.scale = ScalarMappable(norm, "cividis" if subject.sign > 0 else "cividis_r")

    def draw(self, axes: Axes, columns: Sequence[Column], flats: Sequence[list[Any]], values: Array) -> None:
        """A field over two columns: colours, and lines of equal value that tell them without colours."""
        x, y = (column.of(flats) for column in columns)
        look: Look = {"cmap": self.scale.cmap, "norm": self.scale.norm}
        if columns[0].block is columns[1].block or any(len(column.block.names) > 1 for column in columns):
            axes.scatter(x, y, c=values, s=36, marker="s", **look)
            return
        across, down = np.unique(x), np.unique(y)
        field = np.full((len(down), len(across)), np.nan)
        field[np.searchsorted(down, y), np.searchsorted(across, x)] = values
        shading: Any = "gouraud" if all(column.smooth for column in columns) else "nearest"
        axes.pcolormesh(across, down, field, shading=shading, rasterized=True, **look)
        if all(column.joined for column in columns) and np.nanmax(field) > np.nanmin(field):
            lines = axes.contour(across, down, field, levels=6, colors="white", linewidths=0.7, alpha=0.8)
            axes.clabel(lines, fontsize=7, fmt="%.3g")


def _draw_places(axes: Axes, subject: Subject, columns: Sequence[Column], section: Section) -> None:
    """Trials, the decision, its worst point, and the best point without an adversary."""
    first, second = columns
    look: Look = {"mfc": "white", "mec": "black", "ls": "none"}
    for flats, mark, name in ((subject.trials, "o", style.TRIALS), (subject.failures, "X", style.FAILED)):
        if flats:
            axes.plot(first.of(flats), second.of(flats), mark, ms=4 if mark == "o" else 6, label=name, **look)
    best = section.flats[_nominal(subject, section)]
    marks = [
        (best, "D", style.GREEN, 12, NOMINAL),
        (subject.worst, "v", style.RED, 9, style.WORST),
        (subject.base, "*", "white", 15, style.DECISION),
    ]
    for flat, mark, colour, size, name in marks:
        place = first.of([flat]), second.of([flat])
        axes.plot(*place, mark, color=colour, mec="black", ms=size, ls="none", zorder=7, label=name)


def _draw_neighbourhood(
    axes: Axes, subject: Subject, columns: Sequence[Column], section: Section, edge: Array | None
) -> None:
    """All that the decision can turn into: an outline in two ranges, rings around single points otherwise."""
    from matplotlib.patheffects import withStroke

    look: Look = {"path_effects": [withStroke(linewidth=3.2, foreground="black")], "label": style.TURNED}
    if edge is not None and np.ptp(edge, axis=0).max() > 0:
        axes.plot(*edge.T, color="white", lw=1.4, **look)
    flats = [flat for flat, within in zip(section.flats, section.reached, strict=True) if within]
    if edge is None and len(flats) > 1:
        look |= {"mfc": "none", "mec": "white", "ms": 7, "mew": 1.5, "ls": "none"}
        axes.plot(columns[0].of(flats), columns[1].of(flats), "o", **look)


def _outline(subject: Subject, columns: Sequence[Column]) -> Array:
    """The edge of the neighbourhood around the decision, ray by ray, in the user's units (m, 2)."""
    base = np.array([column.of([subject.base])[0] for column in columns])
    ends = np.array([interval(subject, column) for column in columns])
    turns = np.linspace(0, 2 * np.pi, _RAYS, endpoint=False)
    corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]) / math.sqrt(2)
    rays = np.vstack([np.column_stack([np.cos(turns), np.sin(turns)]), corners])
    rays = rays[np.argsort(np.arctan2(rays[:, 1], rays[:, 0]))]
    reach = rays * np.where(rays < 0, base - ends[:, 0], ends[:, 1] - base)
    room = np.array([column.ends() for column in columns])
    room = np.where(rays < 0, room[:, 0], room[:, 1]) - base
    # Each ray goes to the end of the ranges: a slanted set reaches farther aslant than along the axes.
    longest = np.divide(room, reach, out=np.full(reach.shape, np.inf), where=reach != 0).min(axis=1)
    far = reach * np.where(np.isfinite(longest), longest, 0.0)[:, None]
    inside, outside = np.zeros(len(rays)), np.ones(len(rays))
    for step in range(22):
        share = (inside + outside) / 2 if step else outside
        within = reached(subject, _on_plane(subject, columns, base + share[:, None] * far))
        inside, outside = np.where(within, share, inside), np.where(within, outside, share)
    edge = base + inside[:, None] * far
    return np.vstack([edge, edge[:1]])


def _on_plane(subject: Subject, columns: Sequence[Column], places: Array) -> list[list[Any]]:
    """The points at these places of the plane through the decision."""
    blocks = [column.block for column in columns]
    return [subject.moved([(b, (v,)) for b, v in zip(blocks, place, strict=True)]) for place in places.tolist()]


def _say_the_rest(figure: Figure | SubFigure, subject: Subject, columns: Sequence[Column]) -> None:
    """What the other parameters are, and how much of a long list is drawn, above the picture."""
    others = [c for c in subject.columns if c.place not in {column.place for column in columns}]
    words = [block.shown for block in dict.fromkeys(column.block for column in columns) if block.shown]
    if others:
        said = ", ".join(f"{c.name} = {readable(subject.base[c.place])}" for c in others[:_SAID])
        more = f" and {len(others) - _SAID} more as decided" if len(others) > _SAID else ""
        words.insert(0, f"at {said}{more}")
    if words:
        figure.suptitle(text("; ".join(words), 90), fontsize=9)
