"""A picture of a stability profile: how the guarantee falls as the tolerance grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stableopt.campaign.profile import Profile
from stableopt.plots import style
from stableopt.plots.parameters import text
from stableopt.plots.subject import subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def profile(source: Any, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """A stability profile: for each tolerance what is guaranteed, and what no decision can surpass.

    source: a profile; or a result, an assessment, a campaign or an optimiser, whose profile is computed.
    ax: axes to draw on; those of a new figure by default. They are returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    known = None if isinstance(source, Profile) else subject_of(source, label)
    profile: Profile = source if known is None else known.answer.profile()
    axes = style.axes_for(ax, (6.4, 4.0))
    factors = [row.factor for row in profile]
    lower, upper = ([getattr(row.worst_case, end) for row in profile] for end in ("lower", "upper"))
    promised, possible = lower if profile.sign > 0 else upper, [row.optimum_bound for row in profile]
    axes.fill_between(factors, lower, upper, color=style.BLUE, alpha=0.2, lw=0, label="worst case of the decision")
    axes.plot(factors, promised, "o--", color=style.RED, lw=1.6, ms=5, label=style.GUARANTEED)
    axes.plot(factors, possible, color=style.ink(), lw=1.2, ls="-.", label=style.POSSIBLE)
    if 1.0 in factors:
        axes.axvline(1.0, color=style.GREEN, lw=1.2, ls=":", label="the given tolerance")
    axes.set_xlabel("tolerance, in multiples of the given one")
    axes.set_ylabel(text(label or (profile.label if known is None else known.label), 40))
    style.legend_above(axes)
    return axes
