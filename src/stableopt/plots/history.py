"""Progress: how the guarantee and the bound of the optimum came closer, round by round."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from stableopt.base.checks import whole
from stableopt.loop.answers import Report
from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.reporting import report
from stableopt.loop.state import State
from stableopt.plots import style
from stableopt.plots.parameters import text
from stableopt.plots.style import Look
from stableopt.plots.subject import Subject, subject_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SEARCHED, _LISTED = 6, 30  # moments that are looked at by default: in a space a report is a search


class Moment(NamedTuple):
    """What was known after so many values, in the optimiser's sign."""

    t: int
    lower: float
    upper: float


_known: WeakKeyDictionary[State, dict[int, Moment]] = WeakKeyDictionary()
"""Reports of earlier moments are dear: those of a state are found once."""


def progress(source: Any, reports: int | None = None, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """What was guaranteed, and what no decision could surpass, after more and more values.

    Between the two lines lies all that the best decision can still gain: the certificate closes. Each mark is a report
    from the values up to then. At the foot are crosses where evaluations failed, and diamonds where the outcome of a
    trial was corrected.

    source: a result, an assessment, a campaign or an optimiser.
    reports: of how many moments; each costs about as much as a report, the first time. By default 6 in a space, where
        a report is a search, and up to 30 on a list.
    ax: axes to draw on; those of a new figure by default. They are returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    from matplotlib.ticker import MaxNLocator

    subject = subject_of(source, label)
    usual = _SEARCHED if subject.state.setting.takes_hints else _LISTED
    count = usual if reports is None else whole(reports, 1, "a number of reports 1, 2, 3, ...")
    moments = history_of(subject, count)
    axes = style.axes_for(ax, (6.4, 4.0))
    t, foot = [moment.t for moment in moments], axes.get_xaxis_transform()
    lower, upper = (subject.sign * np.array([getattr(m, end) for m in moments]) for end in ("lower", "upper"))
    axes.fill_between(t, lower, upper, color=style.BLUE, alpha=0.15, lw=0, label="what may still be gained")
    axes.plot(t, upper, "s-.", color=style.ink(), lw=1.2, ms=4, label=style.POSSIBLE)
    axes.plot(t, lower, "o--", color=style.RED, lw=1.6, ms=5, label=style.GUARANTEED)
    marks = [("x", style.FAILED, _between([r.t - 1 for r in subject.state.failures]))]
    marks += [("D", "corrected trials", [n + 1.0 for n in subject.corrected])]
    for mark, name, x in marks:
        if x:
            look: Look = {"color": style.ink(), "mfc": "none", "ms": 6, "ls": "none", "transform": foot, "label": name}
            axes.plot(x, [0.03] * len(x), mark, **look)
    axes.set_xlabel("values measured")
    axes.set_ylabel(text(subject.label, 40))
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if len(t) == 1:
        axes.set_xlim(t[0] - 1, t[0] + 1)
    style.legend_above(axes)
    return axes


def history_of(subject: Subject, count: int) -> list[Moment]:
    """What was known at about ``count`` moments, the last one now; each from the values up to then."""
    t, known = subject.state.t, _known.setdefault(subject.state, {})
    wanted = sorted({round(n) for n in np.linspace(min(t, 2), t, min(count, t))} if count > 1 else {t})
    known[t] = _moment(t, subject.report)
    missing = [n for n in wanted if n not in known]
    if missing:
        known |= {moment.t: moment for moment in _replayed(subject, missing)}
    return [known[n] for n in wanted if n in known]


def _replayed(subject: Subject, moments: Sequence[int]) -> list[Moment]:
    """Reports after the first so many values, from an optimiser that is told them again; its model is learned anew."""
    old, state = subject.answer.optimizer, subject.state
    options = {"algorithm": old.algorithm, "beta": old.schedule, "explore": old.exploring}
    options |= {"constraints": old.constraints, "initial": old.initial, "seed": old.seed}
    options["where"] = state.setting.where
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was to be said was said when the values came
        new = type(old)(old.domain, old.uncertainty, old.gp, **options)
        told = 0
        for n in moments:
            new.tell_all([_measurement(r) for r in state.rounds[told:n]])
            told = n
            if new.state.objective.t:
                found.append(_moment(n, report(new.state, old.algorithm.reporting)))
    return found


def _moment(t: int, known: Report) -> Moment:
    """What a report says; nothing is guaranteed by a decision that may break a limit."""
    kept = known.feasible in (None, "certified")
    return Moment(t, known.lower if kept else math.nan, known.optimum_upper)


def _between(before: Sequence[int]) -> list[float]:
    """Where failures are, from the number of values before each: one after the other, before the next value."""
    counts = Counter(before)
    return [n + (k + 1) / (counts[n] + 1) for n in counts for k in range(counts[n])]


def _measurement(r: Round) -> Measurement[object]:
    value = None if math.isnan(r.y) else r.y
    return Measurement(r.point, value, r.decision if r.asked else None, r.noise, measured=r.measured)
