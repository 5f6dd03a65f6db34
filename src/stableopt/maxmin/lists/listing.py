"""A finite domain together with an uncertainty set: its decisions and points by number, and the solver that fits.

A `Listing` translates between the numbers that solvers use and what a user sees: coordinates, (x, θ), names of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stableopt.base.arrays import Array, Indices, frozen
from stableopt.base.checks import is_whole, row_of, vector
from stableopt.base.values import ReadOnly
from stableopt.maxmin.lists.solvers import ListedMaxMin, OverTheta
from stableopt.maxmin.lists.structure import group_solver, perturbation_solver
from stableopt.maxmin.solver import Choice
from stableopt.sets.domains import Domain
from stableopt.sets.groups import Groups
from stableopt.sets.uncertainty import UncertaintySet

Decision = Array | str | int
"""What is reported: the coordinates x, or the name of a group."""


@dataclass(frozen=True, eq=False)
class Listing(ReadOnly):
    """max over decisions d of min over points in A(d), for one finite domain and one uncertainty set."""

    domain: Domain
    uncertainty: UncertaintySet
    names: ClassVar[None] = None
    """The values of a point on a list have no names."""

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise TypeError(
                f"expected a domain such as Space({{...}}), Grid(...) or Points(...), got {self.domain!r:.200}"
            )
        if not isinstance(self.uncertainty, UncertaintySet):
            raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {self.uncertainty!r}")
        _ = self.solver  # a set that does not fit the domain is refused here

    @cached_property
    def solver(self) -> ListedMaxMin:
        """The exact max-min solver for this domain and set."""
        if (groups := _groups(self.uncertainty)) is not None:
            return group_solver(groups, len(self.domain))
        below = perturbation_solver(self.domain, self.uncertainty.perturbations)
        return OverTheta(below, len(self._theta), self._allowed) if self._theta.size else below

    @property
    def blocks(self) -> tuple[Array, ...]:
        """All points as a product of blocks: those of the domain, then Θ."""
        return (*self.domain.blocks, self._theta) if self._theta.size else self.domain.blocks

    def point(self, index: int) -> Array:
        """Coordinates of a point: x, followed by θ if there is one."""
        if not self._theta.size:
            return np.asarray(self.domain.points[index])
        x, theta = divmod(index, len(self._theta))
        return frozen(np.concatenate([self.domain.points[x], self._theta[theta]]))

    def decision(self, index: int) -> Decision:
        """What a decision looks like to the user."""
        groups = _groups(self.uncertainty)
        return self.domain.points[index] if groups is None else (groups.names or ())[index]

    def point_index(self, value: Any) -> int:
        """The number of a point; an error that names the nearest one if there is none."""
        if not self._theta.size:
            return self.domain.locate(value)
        dim = self.domain.dim
        point = vector(value, dim + self._theta.shape[1], "point (x, θ)")
        return self.domain.locate(point[:dim]) * len(self._theta) + row_of(self._theta, point[dim:], "parameter", "Θ")

    def decision_index(self, value: Any) -> int:
        """The number of a decision; an error that names the nearest one if there is none."""
        if (groups := _groups(self.uncertainty)) is None:
            return self.domain.locate(value)
        names = groups.names or ()
        if value not in names:
            raise ValueError(f"expected the name of a group, such as {list(names[:10])}, got {value!r}")
        return names.index(value)

    def decision_of(self, point: int) -> int:
        """The decision that a point on its own stands for: its x, or the first group that it belongs to."""
        return point // len(self._theta) if _groups(self.uncertainty) is None else int(self._first_group[point])

    def canonical(self, choice: Choice[int]) -> Choice[int]:
        """The choice with its numbers as whole numbers; an error if there is no such decision or point."""
        numbers = choice.decision, choice.point
        limits = self.solver.n_decisions, self.solver.n_points
        if not all(is_whole(number, 0) and number < n for number, n in zip(numbers, limits, strict=True)):
            raise ValueError(f"expected a decision below {limits[0]} and a point below {limits[1]}, got {numbers}")
        return choice._replace(decision=int(choice.decision), point=int(choice.point))

    def home(self, decision: int) -> Indices:
        """The points that a decision stands for if nobody perturbs it: x itself, with any (or the estimated) θ."""
        if _groups(self.uncertainty) is not None:
            return self.solver.members(decision)
        parameters = self.uncertainty.parameters
        nominal = np.zeros(1, dtype=np.intp) if parameters is None else parameters.nominal
        return np.asarray(decision * len(self._theta) + nominal)

    @cached_property
    def homes(self) -> Indices:
        """All points that some decision stands for: where an algorithm that ignores the adversary looks."""
        if _groups(self.uncertainty) is not None:
            return np.arange(len(self.domain))
        return np.add.outer(np.arange(len(self.domain)) * len(self._theta), self.home(0)).ravel()

    @cached_property
    def reachable(self) -> Indices:
        """All points with a θ that the adversary may choose."""
        return np.add.outer(np.arange(len(self.domain)) * len(self._theta), self._allowed).ravel()

    @cached_property
    def _theta(self) -> Array:
        """Θ, or one row without coordinates where there is no parameter."""
        return np.empty((1, 0)) if self.uncertainty.parameters is None else self.uncertainty.parameters.block

    @cached_property
    def _allowed(self) -> Indices:
        parameters = self.uncertainty.parameters
        return np.zeros(1, dtype=np.intp) if parameters is None else parameters.allowed

    @cached_property
    def _first_group(self) -> Indices:
        groups, first = _groups(self.uncertainty), np.full(len(self.domain), -1)
        lists = [] if groups is None else groups.lists
        for number in reversed(range(len(lists))):
            first[lists[number]] = number
        return first


def _groups(uncertainty: UncertaintySet) -> Groups | None:
    return uncertainty if isinstance(uncertainty, Groups) else None
