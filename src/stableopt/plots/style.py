"""The look of all pictures: a palette, plain axes, axes that are given or made, and one legend for several of them.

Colours are readable on a white and on a black page; ink and paper are matplotlib's own, so that
``plt.style.context("dark_background")`` is all that a dark page needs. Nothing is told by colour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Look = dict[str, Any]
"""How something is drawn, as matplotlib is told."""

# Okabe & Ito's palette, which people with any colour vision can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"

EXPECTED, GUARANTEED = "expected value", "guaranteed worst case"
POSSIBLE = "what no decision can surpass"
DECISION, TURNED, WORST = "decision", "what it can turn into", "where it may be worst"
TRIALS, FAILED = "trials", "failed trials"


def ink() -> str:
    """The colour of text: dark on a light page, light on a dark one."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def paper() -> str:
    """The colour behind a picture."""
    from matplotlib import rcParams

    return str(rcParams["axes.facecolor"])


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure."""
    from matplotlib.axes import Axes

    if ax is None:
        return figure_for(None, size).subplots()
    if not isinstance(ax, Axes):
        raise TypeError(f"expected matplotlib axes (or None for a new figure), got ax={ax!r:.100}")
    return ax


def figure_for(figure: Any, size: tuple[float, float]) -> Figure | SubFigure:
    """The figure given, or a new one of this size."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import FigureBase

    if figure is None:
        return plt.figure(figsize=size, layout="constrained")
    if not isinstance(figure, FigureBase):
        raise TypeError(f"expected a matplotlib figure (or None for a new one), got figure={figure!r:.100}")
    return figure  # type: ignore[return-value]


def plain(axes: Axes) -> None:
    """Axes without a frame at the top and at the right."""
    axes.spines[["top", "right"]].set_visible(False)


def finish(axes: Axes) -> None:
    """Plain axes with a legend."""
    plain(axes)
    axes.legend(fontsize=8, frameon=False)


def legend_above(axes: Axes, columns: int = 2) -> None:
    """Plain axes with a legend above them, where it hides nothing."""
    plain(axes)
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)


def share_legend(figure: Figure | SubFigure, *, columns: int = 4) -> None:
    """One legend below all axes of a figure with a constrained layout, instead of one inside each."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {str(label): handle for label, handle in zip(labels, handles, strict=True) if label not in entries}
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    below: Look = {"loc": "outside lower center", "ncols": columns, "fontsize": 9, "frameon": False}
    figure.legend(list(entries.values()), list(entries), **below)
