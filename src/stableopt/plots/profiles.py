"""A picture of a stability profile: how the guarantee falls as the tolerance grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stableopt.campaign.results import Profile
from stableopt.plots.style import BLACK, BLUE, RED, SKY, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def profile(axes: Axes, profile: Profile) -> None:
    """A stability profile: for each tolerance the guarantee, and a bound on the best possible value."""
    factors = [row.factor for row in profile]
    lower, upper = ([getattr(row.worst_case, end) for row in profile] for end in ("lower", "upper"))
    promised, possible = lower if profile.sign > 0 else upper, [row.optimum_bound for row in profile]
    axes.fill_between(factors, lower, upper, color=SKY, alpha=0.4, label="worst case of the decision")
    axes.plot(factors, promised, "o-", color=BLUE, label="what is guaranteed")
    axes.plot(factors, possible, "--", color=BLACK, lw=1, label="what no decision can surpass")
    if 1.0 in factors:
        axes.axvline(1.0, color=RED, lw=1, ls=":", label="the given tolerance")
    axes.set_xlabel("tolerance, in multiples of the given one")
    axes.set_ylabel("worst-case value")
    finish(axes)
