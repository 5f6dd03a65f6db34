"""What hurts most: how much of the worst case each tolerance, and each variable of the environment, costs.

The adversary keeps all its powers, but one block of a point stays where it was planned whatever he does: so the same
solver finds the worst case without that tolerance, for every kind of set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.answers import readable
from stableopt.plots import style
from stableopt.plots.parameters import Block, Row, flat_of, text
from stableopt.plots.probes import hints_of, lcb_of, moved, solver_of
from stableopt.plots.style import Look
from stableopt.plots.subject import Subject, subject_of
from stableopt.sets.uncertainty import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHOICES = 9  # values of an environment among which the most favourable is looked for


class Cost(NamedTuple):
    """What one block costs, in the user's sign."""

    name: str
    without: float
    """The guaranteed worst case if this block alone were as planned."""
    alone: float
    """The guaranteed worst case if all others were as planned."""


def hurts(source: Any, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """What hurts most: how much of the worst case each tolerance costs, the largest first.

    A full bar goes from the guaranteed worst case to what could be guaranteed if this tolerance alone were 0. A hatched
    one goes from what could be guaranteed if nothing went wrong to the worst case if only this went wrong. A variable
    of the environment counts as planned where it is most favourable, an estimated one where it is estimated.

    source: a result, an assessment, a campaign or an optimiser.
    ax: axes to draw on; those of a new figure by default. They are returned.
    label: what the values are, for the axis; a campaign knows it.
    """
    subject = subject_of(source, label)
    costs, planned = costs_of(subject)
    costs = sorted(costs, key=lambda cost: subject.sign * (cost.without - subject.guarantee))
    axes = style.axes_for(ax, (6.4, 1.6 + 0.42 * len(costs)))
    heights, guarantee = np.arange(len(costs)), subject.guarantee
    gains, losses = (np.array([getattr(cost, name) for cost in costs]) for name in ("without", "alone"))
    ink: Look = {"edgecolor": style.ink(), "linewidth": 0.7}
    name = "gained if this alone were exact"
    axes.barh(heights + 0.19, gains - guarantee, 0.34, left=guarantee, color=style.BLUE, label=name, **ink)
    look: Look = {"facecolor": "none", "hatch": "////", "label": "lost if this alone were off"}
    axes.barh(heights - 0.19, losses - planned, 0.34, left=planned, **look, **ink)
    axes.axvline(guarantee, color=style.RED, ls="--", lw=1.6, label=style.GUARANTEED)
    axes.axvline(planned, color=style.GREEN, ls="-.", lw=1.6, label="guaranteed if nothing goes wrong")
    axes.set_yticks(heights, [text(cost.name, 30) for cost in costs])
    axes.set_xlabel(text(subject.label, 60))
    axes.use_sticky_edges = False  # both lines are ends of bars, and seen only off the frame
    axes.margins(x=0.05)
    style.legend_above(axes)
    return axes


def costs_of(subject: Subject) -> tuple[list[Cost], float]:
    """What each block costs that the adversary can move, and what is guaranteed if he moves none."""
    blocks, held, without = moved(subject), [], []
    if not blocks:
        raise ValueError(
            f"expected a tolerance or an environment that can hurt {readable(subject.report.decision)}, got "
            f"{subject.state.setting.uncertainty}: contenders(...) compares decisions"
        )
    for block in blocks:
        rows = [(_worst(subject, [(block, row)]), (block, row)) for row in _planned(subject, block)]
        worst, best = max(rows, key=lambda pair: pair[0])
        held.append(best)
        without.append(worst)
    alone = [_worst(subject, [pair for pair in held if pair[0] is not block]) for block in blocks]
    names, sign = [", ".join(block.names) for block in blocks], subject.sign
    costs = [Cost(name, sign * a, sign * b) for name, a, b in zip(names, without, alone, strict=True)]
    return costs, sign * _worst(subject, held)


def _planned(subject: Subject, block: Block) -> Iterable[Row]:
    """Where a block is if nothing goes wrong: as decided, as estimated, or one of many values of the environment."""
    parameters = subject.state.setting.uncertainty.parameters
    if block.decided:
        return [tuple(subject.base[block.places])]
    if isinstance(parameters, Estimate):
        first = subject.state.setting.domain.dim
        return [tuple(flat_of(parameters.estimate)[block.first - first :][: len(block.names)])]
    return block.some(_CHOICES, tuple(subject.base[block.places]))


def _worst(subject: Subject, held: Sequence[tuple[Block, Row]]) -> float:
    """The guaranteed worst case of the decision while some blocks are held; as the optimiser sees it, who maximises."""
    decision, F, solver = subject.report.decision_index, lcb_of(subject), solver_of(subject)
    if isinstance(F, np.ndarray):
        return float(solver.worst(decision, _held_on_list(subject, F, held)).value)
    columns = [c for block, _ in held for c in range(block.first, block.first + len(block.names))]
    at = np.array(subject.point(subject.moved(held)), dtype=float)[columns]
    return float(solver.worst(decision, _Held(F, columns, at), hints_of(subject)).value)


def _held_on_list(subject: Subject, F: Array, held: Sequence[tuple[Block, Row]]) -> Array:
    """The values on all points, of those that the adversary reaches with some blocks held."""
    values, setting = F.copy(), subject.state.setting
    for index in setting.candidates(subject.report.decision_index):
        flat = flat_of(setting.translation.point(index))
        for block, row in held:
            flat[block.places] = row
        values[index] = F[subject.point(flat)]  # type: ignore[index]
    return values


@dataclass(frozen=True)
class _Held:
    """A function of rows of coordinates that does not see how some of them are moved."""

    F: Any
    columns: list[int]
    at: Array

    def __call__(self, Z: Array) -> Array:
        return np.asarray(self.F(self._back(Z)))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        values, gradient = self.F.with_gradient(self._back(Z))
        gradient[:, self.columns] = 0.0
        return values, gradient

    def _back(self, Z: Array) -> Array:
        held = Z.copy()
        held[:, self.columns] = self.at
        return held
