"""A picture of a posterior along one axis, on a list of points or in a space alike.

Notation
    x    a point's number, in the user's unit
    u    the same number as the setting's own coordinate; on a log scale it grows with log x
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stableopt.base.arrays import Array
from stableopt.base.checks import is_number
from stableopt.loop.answers import Query, Report, readable
from stableopt.loop.outputs import valued
from stableopt.loop.setting import Setting
from stableopt.loop.state import State
from stableopt.maxmin.solver import Index
from stableopt.plots.parameters import text
from stableopt.plots.style import BLUE, GREEN, RED, SKY, axes_for, finish, ink, paper
from stableopt.plots.subject import answer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DECISION = r"$\tilde{x}_t$ and what it can turn into"


def belief(
    source: Any,
    *,
    ax: Axes | None = None,
    f: Callable[[Array], Array] | None = None,
    query: Query[Index] | None = None,
    report: Report[Index] | None = None,
) -> Axes:
    """A posterior on points of one number: band, mean and observations.

    source: a state or an optimiser; or a result, an assessment or a campaign, whose values are in the user's sign.
    ax: axes to draw on; those of a new figure by default. They are returned.
    f: the true function, if it is known: values (n,) at rows (n, 1).
    query: a round. Its decision is a line, everything it can turn into is shaded, its point is a mark on lcb.
    report: a mark on the axis at the reported decision.
    """
    state, sign = _state_of(source)
    points, x = _in_order(state)
    axes = axes_for(ax, (6.4, 4.0))
    lcb, ucb = state.bounds(points)
    axes.fill_between(x, sign * lcb, sign * ucb, color=SKY, alpha=0.3, lw=0, label="between lcb and ucb")
    axes.plot(x, sign * state.moments(points)[0], color=BLUE, lw=1.2, ls="--", label="posterior mean")
    if f is not None:
        axes.plot(x, f(x[:, None]), color=ink(), lw=1.8, label="$f(x)$")
    rounds = valued(state.rounds)
    seen, y = _numbers(state.setting, [r.point_index for r in rounds]), [sign * r.y for r in rounds]
    axes.plot(seen, y, "o", color=ink(), mfc=paper(), ms=5, label="observations")
    if query is not None:
        _draw_query(axes, state, query, sign)
    if report is not None:
        _draw_report(axes, state, report)
    names = state.setting.translation.names
    axes.set_xlabel("$x$" if names is None else text(next(iter(names)), 40))
    if _on_log_scale(state.setting.inputs(points, True)[:, 0], x):
        axes.set_xscale("log")
    finish(axes)
    return axes


def _state_of(source: Any) -> tuple[State[Any], int]:
    """What is known, and the sign in which it is drawn."""
    if isinstance(source, State):
        return source, 1
    answer = answer_of(source)
    return answer.state, answer.sign


def _draw_query(axes: Axes, state: State[Index], query: Query[Index], sign: int) -> None:
    turned = _numbers(state.setting, state.setting.candidates(query.decision_index))
    axes.axvspan(float(turned.min()), float(turned.max()), color=GREEN, alpha=0.12, lw=0)
    axes.axvline(_place(state, query.decision_index), color=GREEN, lw=1.5, label=_DECISION)
    at, lcb = _numbers(state.setting, [query.point_index]), state.bounds([query.point_index])[0]
    axes.plot(at, sign * lcb, "v", color=RED, ms=9, label="sampled point, where lcb is smallest", zorder=5)


def _draw_report(axes: Axes, state: State[Index], report: Report[Index]) -> None:
    at, low = _place(state, report.decision_index), axes.get_ylim()[0]
    axes.plot(at, low, "^", color=BLUE, ms=11, clip_on=False, label="reported decision", zorder=6)
    axes.set_ylim(bottom=low)


def _in_order(state: State[Index]) -> tuple[list[Index], Array]:
    """The points of a state from left to right, and where they are (n,)."""
    points = list(state.candidates())
    x = _numbers(state.setting, points)
    order = np.argsort(x, kind="stable")
    return [points[i] for i in order], x[order]


def _numbers(setting: Setting[Index], points: Sequence[Index]) -> Array:
    """Where points of one number are on the axis (n,); refused if they have more."""
    return np.array([_number(setting.translation.point(index)) for index in points])


def _place(state: State[Index], decision: Index) -> float:
    """The number of an unperturbed decision; of a group, the number of its member with the smallest ucb."""
    return float(_numbers(state.setting, [state.unperturbed(decision)])[0])


def _number(point: object) -> float:
    parts: list[Any] = list(point.values()) if isinstance(point, Mapping) else [point]
    values = np.hstack(parts)
    if len(values) != 1 or not is_number(values[0]):
        raise ValueError(
            f"expected points of one number, got {readable(point)}: draw a slice of your own, with "
            "state.bounds(points) at indices from state.setting.translation.point_index(point)"
        )
    return float(values[0])


def _on_log_scale(u: Array, x: Array) -> bool:
    """Whether u grows with log x and not with x."""
    if x[0] <= 0 or x[0] == x[-1]:
        return False
    return _distance(u, np.log(x)) < _distance(u, x) - 1e-9


def _distance(u: Array, v: Array) -> float:
    """How far two columns are apart, each stretched to [0, 1]."""
    return float(np.abs((u - u.min()) / np.ptp(u) - (v - v.min()) / np.ptp(v)).max())
