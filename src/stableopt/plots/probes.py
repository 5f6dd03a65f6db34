"""What is known around a decision, as pictures ask for it: along blocks of a point, at its edges, near its trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array, Mask
from stableopt.loop.outputs import valued
from stableopt.maxmin.solver import AnyIndex, Hints
from stableopt.plots.parameters import Block, Column, flat_of
from stableopt.plots.subject import Subject
from stableopt.sets.allowed import holds
from stableopt.sets.variables import Integer

_TOGETHER = 256  # decisions whose worst cases are searched for at a time: of more, each would get less effort
_STEPS = 28  # of a bisection


class Section(NamedTuple):
    """What is known at points that differ from the decision in few blocks, in the user's sign."""

    flats: list[list[Any]]
    mean: Array
    low: Array
    high: Array
    guarantee: Array
    """The guaranteed worst case of the decision there; NaN where there is none."""
    reached: Mask
    """Which of these points the reported decision can turn into."""
    margins: Array
    """Bounds on the smallest margin of all limits at the decision there, (2, n); NaN where there is none."""
    margin: Array
    """The smallest margin that is expected if nothing is perturbed."""

    def at(self, flat: Sequence[Any]) -> int:
        """The number of a point among those of the section."""
        return self.flats.index(list(flat))


def section(subject: Subject, flats: Sequence[list[Any]], *, guarantees: bool = True) -> Section:
    """What is known at these points; those that do not exist are left out."""
    pairs = [(flat, point) for flat in flats if (point := subject.point(flat)) is not None]
    known, points = [flat for flat, _ in pairs], [point for _, point in pairs]
    worst, margins = np.full(len(points), math.nan), np.full((2, len(points)), math.nan)
    if guarantees:
        decisions = {i: d for i, flat in enumerate(known) if (d := subject.decision(flat)) is not None}
        worst[list(decisions)] = _guarantees(subject, list(decisions.values()))
        margins[:, list(decisions)] = _margins(subject, list(decisions.values()))
    (mean, _), (low, high) = subject.state.moments(points), subject.state.bounds(points)
    ends = (mean, low, high) if subject.sign > 0 else (-mean, -high, -low)
    return Section(known, *ends, worst, reached(subject, known), margins, _expected_margins(subject, points))


def along(subject: Subject, block: Block, count: int) -> Section:
    """The section along one block; the environment does not change what is guaranteed."""
    rows = block.some(count, tuple(subject.base[block.places]))
    return section(subject, [subject.moved([(block, row)]) for row in rows], guarantees=block.decided)


def _guarantees(subject: Subject, decisions: Sequence[AnyIndex]) -> Array:
    """The guaranteed worst cases of decisions; of the reported one, as it is reported."""
    own, solver, F, hints = subject.report.decision_index, solver_of(subject), lcb_of(subject), hints_of(subject)
    found = []
    for i in range(0, len(decisions), _TOGETHER):
        found += solver.minima(decisions[i : i + _TOGETHER], F, hints)
    worst = [subject.report.lower if d == own else c.value for d, c in zip(decisions, found, strict=True)]
    return subject.sign * np.array(worst, dtype=float)


def _margins(subject: Subject, decisions: Sequence[AnyIndex]) -> Array:
    """Bounds on the smallest margin of decisions in the worst case (2, n): below 0, a limit may be broken, or is.

    The reported decision is as it is reported.
    """
    state, found = subject.state, np.full((2, len(decisions)), math.inf)
    if state.constraints:
        for i in range(0, len(decisions), _TOGETHER):
            some = decisions[i : i + _TOGETHER]
            found[:, i : i + len(some)] = [state.limits.smallest_of(some, level) for level in ("lower", "upper")]
        if not state.limits.complete:
            found[0] = -math.inf
        own = [d == subject.report.decision_index for d in decisions]
        found[0, own] = min(known.margin[0] for known in subject.report.constraints)
    return np.where(_allowed(subject, decisions), found, -1.0)


def _expected_margins(subject: Subject, points: Sequence[AnyIndex]) -> Array:
    """The smallest expected margin at points, if nothing is perturbed (n,); below 0 where no decision is allowed."""
    state, smallest = subject.state, np.full(len(points), math.inf)
    for limited, scale in zip(state.constraints, state.limits.scales if state.constraints else (), strict=True):
        if limited.output.posterior is not None:
            mean = limited.output.posterior.moments(points)[0]
            for side in limited.sides:
                smallest = np.minimum(smallest, side.sign * (mean - side.limit) / scale)
    if state.setting.where is None:
        return smallest
    return np.where(_allowed(subject, [state.decision_of(point) for point in points]), smallest, -1.0)


def _allowed(subject: Subject, decisions: Sequence[AnyIndex]) -> Mask:
    where, show = subject.state.setting.where, subject.state.setting.translation.decision
    return np.array([where is None or holds(where, show(decision)) for decision in decisions], dtype=bool)


def solver_of(subject: Subject) -> Any:
    """The solver of the setting."""
    return subject.state.setting.solver(subject.state.t)


def lcb_of(subject: Subject) -> Any:
    """What reports are made of, in the form that the solver takes."""
    joint = subject.state.intersected
    return subject.state.lcb if joint is None else joint.lower


def hints_of(subject: Subject) -> Hints[AnyIndex]:
    """What was measured where: there may be worst cases."""
    rounds = valued(subject.state.rounds)
    return Hints((), [r.point_index for r in rounds], [r.y for r in rounds])


def reached(subject: Subject, flats: Sequence[list[Any]]) -> Mask:
    """Which of these are points that the decision can turn into."""
    setting, decision = subject.state.setting, subject.report.decision_index
    points = [subject.point(flat) for flat in flats]
    # No point is nearer to the decision than itself, so it is avoided only if it cannot be reached.
    return np.array([p is not None and not setting.avoids(decision, [p], [p]) for p in points], dtype=bool)


def moved(subject: Subject) -> list[Block]:
    """The blocks that the adversary can change; a group has none of its own."""
    if subject.grouped:
        return []
    setting = subject.state.setting
    turned = setting.candidates(subject.report.decision_index, settable=False)
    points = [flat_of(setting.translation.point(i)) for i in turned]
    return [b for b in subject.blocks if len({tuple(point[b.places]) for point in points}) > 1]


def interval(subject: Subject, column: Column) -> tuple[float, float]:
    """From where to where the adversary can move a range on its own."""
    at, (low, high) = float(subject.base[column.place]), column.ends()
    return _edge(subject, column, at, low), _edge(subject, column, at, high)


def _edge(subject: Subject, column: Column, inside: float, outside: float) -> float:
    """The last number on the way that the adversary reaches, by bisection."""
    for step in range(_STEPS):
        middle = (inside + outside) / 2 if step else outside  # the end itself may be reached
        middle = round(middle) if isinstance(column.block.range, Integer) else middle
        if reached(subject, [subject.moved([(column.block, (middle,))])])[0]:
            inside = middle
        else:
            outside = middle
    return inside


def nearness(subject: Subject, column: Column) -> Array:
    """How strongly the model ties each trial to the section through the decision, from 0 to 1 (t,)."""
    state, block = subject.state, column.block
    found = [subject.point(subject.moved([(block, trial[block.places])])) for trial in subject.trials]
    there = {i: point for i, point in enumerate(found) if point is not None}
    ties, scaled = np.zeros(len(found)), state.objective.learned is not None
    A = state.setting.inputs([valued(state.rounds)[i].point_index for i in there], scaled)
    B = state.setting.inputs(list(there.values()), scaled)
    for gp in state.belief.gps:
        size = np.sqrt(gp.kernel.diag(A) * gp.kernel.diag(B))
        both = np.array([gp.kernel(a[None], b[None])[0, 0] for a, b in zip(A, B, strict=True)])
        ties[list(there)] += np.divide(both, size, out=np.zeros(len(size)), where=size > 0) / len(state.belief.gps)
    return np.clip(ties, 0.0, 1.0)
