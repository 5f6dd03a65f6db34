"""A picture of an allowance: how the worst case falls as the tolerance grows, and where it meets the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.campaign.allowance import Allowance
from stableopt.plots import style
from stableopt.plots.parameters import text
from stableopt.plots.style import Look
from stableopt.plots.subject import subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def allowance(
    source: Any,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    ax: Axes | None = None,
    label: str | None = None,
) -> Axes:
    """The guaranteed and the possible worst case against the factor of the tolerance, with the specification as a line.

    Vertical lines show up to which factor the specification is guaranteed, and from which on it is missed for certain.

    source: an allowance; or a result, an assessment, a campaign or an optimiser, with the specification.
    at_least, at_most: the specification, as `Result.allowance` takes it.
    ax: axes to draw on; those of a new figure by default. They are returned.
    label: what the values are, for the axis; a campaign knows it, and so does the allowance of a constraint.
    """
    known = None if isinstance(source, Allowance) else subject_of(source, label)
    if known is None and (at_least, at_most) != (None, None):
        raise ValueError("expected no specification beside an allowance, which has its own, got both")
    found = source if known is None else known.answer.allowance(at_least=at_least, at_most=at_most)
    axes = style.axes_for(ax, (6.4, 4.0))
    factors, low, high = (list(part) for part in zip(*found.curve, strict=True))
    axes.fill_between(factors, low, high, color=style.BLUE, alpha=0.2, lw=0)
    axes.plot(factors, low, "--", color=style.RED, lw=1.6, label=style.GUARANTEED)
    axes.plot(factors, high, "-.", color=style.BLUE, lw=1.6, label="possible worst case")
    side = "at least" if found.sign > 0 else "at most"
    axes.axhline(
        found.specification, color=style.ink(), lw=1.2, label=f"specification: {side} {found.specification:.4g}"
    )
    for name, factor, ends, mark in zip(("guaranteed", "possible"), found.factors, (low, high), "os", strict=True):
        if factor is not None:
            open_end = factor >= found.limit  # the tolerance cannot grow further
            # Where a model guarantees no more because it knows no more, the curve is not at the specification yet.
            beyond = [
                found.sign * (v - found.specification) >= 0 for f, v in zip(factors, ends, strict=True) if f > factor
            ]
            height = np.interp(factor, factors, ends) if any(beyond) else found.specification
            color, words = axes.lines[mark == "s"].get_color(), f"{'at least ' if open_end else ''}{factor:.3g}×"
            look: Look = {"color": color, "mec": style.paper(), "ms": 8, "ls": "none", "zorder": 4}
            axes.plot(factor, ends[-1] if open_end else height, mark, **look, label=f"{name} up to {words}")
    if factors[-1] >= 1.0:
        axes.axvline(1.0, color=style.GREEN, lw=1.2, ls=":", label="the given tolerance")
    axes.set_xlabel("tolerance, in multiples of the given one")
    axes.set_ylabel(text(label or (found.label if known is None or found.of is not None else known.label), 40))
    style.legend_above(axes)
    return axes
