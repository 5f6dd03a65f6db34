"""Figures as SVG for a page: ink and paper follow the page, and what is drawn where is told to its script.

A figure is drawn in two colours that stand for the page's own; in the SVG they become ``currentColor`` and ``--paper``.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.plots.page.html import Html

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_INK, _PAPER = "#0a1b2d", "#fefcfb"  # nothing else has these colours
_FINE = 80  # dots per inch of what is no line
_MANY = 300  # marks of one kind that are drawn as dots, since each would take a line of the file
_FACES = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "patch.edgecolor")

Marks = list[dict[str, Any]]
"""For every pair of axes: its box, and what is drawn where, in the units of the SVG."""


@contextmanager
def drawing(ink: str = _INK, paper: str = _PAPER) -> Iterator[None]:
    """Figures that are made inside look alike whatever style is in use, and none of them stays open."""
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    look: Any = {"svg.fonttype": "none", "figure.facecolor": "none", "axes.facecolor": paper}
    with plt.style.context("default"), plt.rc_context(look | dict.fromkeys(_FACES, ink)), plt.ioff():
        try:
            yield
        finally:
            for number in set(plt.get_fignums()) - set(before):
                plt.close(number)


def inline(figure: Figure, name: str) -> tuple[Html, Marks]:
    """A figure as an element of a page, and what is where in it. Its parts have ids of their own."""
    text = _svg(figure, name)
    text = re.sub(r"<(metadata|style).*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # names of groups, which nothing refers to
    text = text.replace(_INK, "currentColor").replace(_PAPER, "var(--paper)")
    return Html(text), marks_of(figure)


def image(figure: Figure, name: str) -> str:
    """A figure as the address of a picture that brings its own paper."""
    return "data:image/svg+xml;base64," + base64.b64encode(_svg(figure, name).encode()).decode()


def _svg(figure: Figure, name: str) -> str:
    import matplotlib.pyplot as plt

    for artist in (*figure.findobj(_is_many),):
        artist.set_rasterized(True)
    file = io.StringIO()
    with plt.rc_context({"svg.hashsalt": name}):
        figure.savefig(file, format="svg", dpi=_FINE, metadata={"Date": None})
    text = file.getvalue()
    return re.sub(r'(?<= d=")[^"]*', _shorter, text[text.index("<svg") :])


def _is_many(artist: Any) -> bool:
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

    if isinstance(artist, Line2D):
        return artist.get_marker() not in ("None", None, "") and len(np.atleast_1d(artist.get_xdata())) > _MANY
    return isinstance(artist, PathCollection) and len(np.asarray(artist.get_offsets())) > _MANY


def _shorter(path: re.Match[str]) -> str:
    """A path with a hundredth of a point as its smallest step."""
    return re.sub(r"\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), path[0])


# ------------------------------------------------------------------------------------------------- what is drawn where


def marks_of(figure: Figure) -> Marks:
    """What a pointer can find in a drawn figure: the points of lines, marks, bars, and the values of fields."""
    plain = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    return [_Marks(figure, axes).found() for axes in plain]


class _Marks:
    """What is drawn where on one pair of axes."""

    def __init__(self, figure: Figure, axes: Axes) -> None:
        self.axes, self.scale = axes, 72 / figure.dpi
        self.height = figure.bbox.height * self.scale

    def found(self) -> dict[str, Any]:
        """All of it."""
        axes = self.axes
        left, bottom, right, top = axes.bbox.extents
        (x0, y0), (x1, y1) = self._places(np.array([[left, top], [right, bottom]]))
        field = next((self._field(mesh) for mesh in axes.collections if hasattr(mesh, "get_coordinates")), None)
        names = {"x": _plain(axes.get_xlabel()), "y": _plain(axes.get_ylabel() or _label(axes))}
        return {"box": [x0, y0, x1, y1], **names, "series": [*self._lines(), *self._bars()], "field": field}

    def _lines(self) -> Iterator[dict[str, Any]]:
        bars = {id(c[0]): str(c.get_label()) for c in self.axes.containers if hasattr(c, "has_yerr")}
        for line in self.axes.lines:
            name = bars.get(id(line), str(line.get_label()))
            if not name.startswith("_") and all(line.get_transform().contains_branch_seperately(self.axes.transData)):
                yield self._series(name, np.asarray(line.get_xydata(), dtype=float))
        for marks in self.axes.collections:
            name, rows = str(marks.get_label()), np.asarray(marks.get_offsets(), dtype=float)
            if not name.startswith("_") and hasattr(marks, "get_sizes") and len(rows):
                yield self._series(name, rows)

    def _series(self, name: str, rows: Array) -> dict[str, Any]:
        x, y = self.axes.xaxis, self.axes.yaxis
        good = rows[np.isfinite(rows).all(axis=1)]
        said = [[_said(x, a), _said(y, b)] for a, b in good.tolist()]
        return {"name": name, "at": self._places(self.axes.transData.transform(good)), "said": said}

    def _bars(self) -> Iterator[dict[str, Any]]:
        """Horizontal bars: where they end."""
        for bars in self.axes.containers:
            if hasattr(bars, "patches") and bars.patches:
                rows = [(bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height() / 2) for bar in bars.patches]
                yield self._series(str(bars.get_label()), np.array(rows))

    def _field(self, mesh: Any) -> dict[str, Any]:
        """A field of values over two axes."""
        corners, values = np.asarray(mesh.get_coordinates()), np.ma.filled(mesh.get_array(), np.nan)
        seen = self.axes.transData.transform(corners.reshape(-1, 2)).reshape(corners.shape)
        if corners.shape[:2] != values.shape:  # cells, and not their corners
            seen = (seen[:-1, :-1] + seen[1:, 1:]) / 2
        back = self.axes.transData.inverted().transform(seen.reshape(-1, 2)).reshape(seen.shape)
        x, y = self._places(seen[0]), self._places(seen[:, 0])
        return {
            "name": _plain(self.axes.get_title()),
            "x": [place[0] for place in x],
            "y": [place[1] for place in y],
            "xs": [_said(self.axes.xaxis, v) for v in back[0, :, 0].tolist()],
            "ys": [_said(self.axes.yaxis, v) for v in back[:, 0, 1].tolist()],
            "z": [[None if np.isnan(v) else float(f"{v:.4g}") for v in row] for row in values.tolist()],
        }

    def _places(self, seen: Array) -> list[list[float]]:
        """Places on the screen in the units of the SVG, whose origin is at the top."""
        return [
            [round(x * self.scale, 1), round(self.height - y * self.scale, 1)] for x, y in np.asarray(seen).tolist()
        ]


def _said(axis: Axis, value: float) -> str:
    """A value of an axis, as it is written there if words are."""
    from matplotlib.ticker import FixedFormatter

    formatter = axis.get_major_formatter()
    if not isinstance(formatter, FixedFormatter):
        return f"{value:.4g}"
    nearest = int(np.argmin(np.abs(np.asarray(axis.get_majorticklocs()) - value)))
    return _plain(formatter.seq[nearest])


def _label(axes: Axes) -> str:
    """What the values are, from the axes that share theirs."""
    shared = axes.get_shared_y_axes().get_siblings(axes)
    return next((other.get_ylabel() for other in shared if other.get_ylabel()), "")


def _plain(text: str) -> str:
    return " ".join(text.replace(r"\$", "$").split())
