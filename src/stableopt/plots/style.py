"""The look of all pictures: a palette, plain axes, and one legend for several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette, which people with any colour vision can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"


def plain(axes: Axes) -> None:
    """Axes without a frame at the top and at the right."""
    axes.spines[["top", "right"]].set_visible(False)


def finish(axes: Axes) -> None:
    """Plain axes with a legend."""
    plain(axes)
    axes.legend(fontsize=8, frameon=False)


def share_legend(figure: Figure) -> None:
    """One legend below all axes of a figure with a constrained layout, instead of one inside each."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries.update((str(label), handle) for label, handle in zip(labels, handles, strict=True))
        if (legend := axes.get_legend()) is not None:
            legend.remove()
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=4, fontsize=9, frameon=False)
