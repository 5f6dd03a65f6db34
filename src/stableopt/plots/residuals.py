"""Calibration and health: does the model foretell each value from all others, and is it as sure as it may be?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.campaign.inputs import EFFECT, effects
from stableopt.loop.measurements import Data
from stableopt.loop.outputs import valued
from stableopt.model.residuals import leave_one_out, left_out
from stableopt.plots import style
from stableopt.plots.parameters import text
from stableopt.plots.style import Look
from stableopt.plots.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_BAND = 2.0  # standard deviations: the band holds 95 % of all values
_FAR = 3.0  # standard deviations: what is farther off has its number written at it


class Foretold(NamedTuple):
    """Every value as all others foretell it, in the user's sign."""

    mean: Array
    bars: Array
    """How far two standard deviations reach below and above (2, t)."""
    residuals: Array
    """Standardised: about N(0, 1) if all is well."""
    trials: Sequence[int]
    """The numbers of the trials."""


def calibration(source: Any, *, figure: Any = None, label: str | None = None) -> Figure | SubFigure:
    """Each value against what the model foretells of it from all others, and how far off that is, trial by trial.

    On the left, bars of two standard deviations should cross the line of equal values, 95 % of them. On the right are
    the same residuals in standard deviations; values that are more than three off have the number of their trial.

    source: a result, an assessment, a campaign or an optimiser.
    figure: a figure or a subfigure to draw on; a new one by default. It is returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    subject = subject_of(source, label)
    known = foretold(subject)
    drawn = style.figure_for(figure, (8.4, 3.9))
    left, right = drawn.subplots(1, 2)
    _draw_values(left, subject, known)
    _draw_residuals(right, known)
    style.share_legend(drawn, columns=3)
    return drawn


def health(source: Any, *, figure: Any = None, label: str | None = None) -> Figure | SubFigure:
    """The health of a model at a glance: `calibration`, and in how much of the variation of f each input has a part.

    The title is what the summary says of the model. Values that have lost their weight (``noise="robust"``) have bars
    as long as their noise. An input below the dashed line hardly matters. The arguments are those of `calibration`.
    """
    subject = subject_of(source, label)
    known = foretold(subject)
    drawn = style.figure_for(figure, (11.4, 4.1))
    left, middle, right = drawn.subplots(1, 3)
    _draw_values(left, subject, known)
    _draw_residuals(middle, known)
    _draw_effects(right, effects(subject.state))
    drawn.suptitle(text(subject.answer.health.words, 100), fontsize=11)
    style.share_legend(drawn, columns=4)
    return drawn


def foretold(subject: Subject) -> Foretold:
    """What the model, as it is, says of every value without that value."""
    state, rounds, numbers = subject.state, valued(subject.state.rounds), subject.answer.numbers
    data = Data.of(rounds)
    inputs = state.setting.inputs(data.points, state.objective.learned is not None)
    belief = state.belief
    posterior = belief.latent(inputs, data.y, data.noise)
    mean, std = left_out(posterior)
    low, high = (belief.in_units(mean + c * std) for c in (-_BAND, _BAND))
    mean = belief.in_units(mean)
    return Foretold(
        subject.sign * mean,
        np.array([mean - low, high - mean] if subject.sign > 0 else [high - mean, mean - low]),
        subject.sign * leave_one_out(posterior),
        [numbers[r.t - 1] if numbers else r.t for r in rounds],
    )


def _draw_values(axes: Axes, subject: Subject, known: Foretold) -> None:
    bars: Look = {"fmt": "o", "color": style.BLUE, "ms": 4, "lw": 1.0, "alpha": 0.9}
    name = "foretold from all others, ±2 std"
    axes.errorbar(subject.values, known.mean, known.bars, label=name, **bars)
    axes.axline((subject.values[0], subject.values[0]), slope=1, color=style.ink(), ls="--", lw=1, label="equal")
    axes.set_xlabel(text(f"{subject.label}, measured", 40))
    axes.set_ylabel(text(f"{subject.label}, foretold", 40))
    style.plain(axes)


def _draw_residuals(axes: Axes, known: Foretold) -> None:
    from matplotlib.ticker import MaxNLocator

    residuals, t = known.residuals, known.trials
    inside = int(np.sum(np.abs(residuals) <= _BAND))
    band: Look = {"facecolor": style.GREEN, "edgecolor": style.GREEN, "alpha": 0.18, "hatch": "////", "lw": 0.0}
    axes.axhspan(-_BAND, _BAND, label="where 95 % should be", **band)
    axes.axhline(0.0, color=style.ink(), lw=0.8)
    axes.plot(t, residuals, "s", color=style.RED, ms=4, label="measured minus foretold, over std")
    for i in np.flatnonzero(np.abs(residuals) > _FAR).tolist():
        offset: Look = {"textcoords": "offset points", "fontsize": 8}
        axes.annotate(str(t[i]), (t[i], residuals[i]), (4, 3), **offset)
    axes.set_title(f"{inside} of {len(residuals)} within two standard deviations", fontsize=9)
    axes.set_xlabel("trial")
    axes.set_ylabel("standard deviations off")
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    style.plain(axes)


def _draw_effects(axes: Axes, found: Sequence[tuple[str, float]]) -> None:
    names, sizes = [text(name, 16) for name, _ in found], [max(100 * size, 0.05) for _, size in found]
    axes.barh(names, sizes, color=style.BLUE, alpha=0.8)
    axes.axvline(100 * EFFECT, color=style.ink(), ls="--", lw=1, label="less hardly matters")
    axes.set_xscale("log")
    axes.set_xlim(0.05, 200)
    axes.invert_yaxis()
    axes.set_xlabel("part in the variation of f, %")
    style.plain(axes)
