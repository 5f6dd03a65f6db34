"""The decision's side of a region: where decisions and points live, and which decisions there are.

Notation: X (n, d) are decisions as rows of coordinates; x (d,) is one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, Mask, cartesian
from stableopt.base.values import ReadOnly
from stableopt.maxmin.search.batches import other_rows
from stableopt.maxmin.solver import Row
from stableopt.sets.domains import Domain, Points
from stableopt.sets.spaces import Space, space_of
from stableopt.sets.uncertainty import Estimate, UncertaintySet
from stableopt.sets.variables import Integer

_CORNERS = 6  # whole numbers of which all ways to round are tried


@dataclass(frozen=True, eq=False)
class SpaceDecisions(ReadOnly):
    """The decisions of a space (or of a finite domain with a continuous θ), and the space of their points."""

    domain: Space | Domain
    uncertainty: UncertaintySet

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Space | Domain):
            raise TypeError(f"expected a domain such as Space(...), Grid(...) or Points(...), got {self.domain!r}")
        if not isinstance(self.uncertainty, UncertaintySet):
            raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {self.uncertainty!r}")

    @cached_property
    def space(self) -> Space:
        """Where decisions live."""
        return space_of(self.domain)

    @cached_property
    def theta(self) -> Space | None:
        """Where the unknown parameter lives, if there is one."""
        if self.uncertainty.parameters is None:
            return None
        theta = self.uncertainty.parameters.theta
        return theta if isinstance(theta, Space) else Space([Points(np.asarray(theta))])

    @cached_property
    def points_space(self) -> Space:
        """Where points live: the variables of the decision and those of the parameter."""
        return self.space if self.theta is None else self.space.joined(self.theta)

    @property
    def dim(self) -> int:
        """d, the number of coordinates of a decision."""
        return self.space.dim

    @cached_property
    def count(self) -> float:
        """How many decisions there are; infinity if any coordinate is continuous."""
        return math.prod(math.inf if v.choices is None else len(v.choices) for v in self.space.parts)

    @cached_property
    def discrete(self) -> Mask:
        """Which coordinates of a decision take finitely many values (d,)."""
        return np.array([v.choices is not None for v in self.space.parts for _ in range(v.width)])

    @cached_property
    def _nominal_theta(self) -> Array:
        """The parameter in the point that a decision stands for: the estimate, or the middle (θ columns,)."""
        if self.theta is None:
            return np.empty(0)
        if isinstance(self.uncertainty.parameters, Estimate):
            names, values = self.theta.flat_names, self.uncertainty.parameters.estimate
            return self.theta.encode(values if names is None else dict(zip(names, values, strict=True)), "estimate")
        middle = [[0.5] if v.choices is None else v.choices[0] for v in self.theta.parts]
        return np.concatenate(middle)

    def base(self, X: Array) -> Array:
        """The points that decisions stand for if they are not perturbed (n, P)."""
        if not len(self._nominal_theta):
            return X.copy()
        return np.hstack([X, np.tile(self._nominal_theta, (len(X), 1))])

    def decisions(self, count: int, seed: int) -> Array:
        """Evenly spread decisions, or all of them."""
        return self.space.spread(count, seed)

    def clip(self, X: Array) -> Array:
        """The nearest decisions: ranges are clipped, discrete coordinates are left as they are."""
        return np.where(self.discrete, X, np.clip(X, 0.0, 1.0))

    def other_decisions(self, x: Array) -> Array:
        """Decisions that differ from this one in one discrete variable (m, d)."""
        found = [np.empty((0, self.dim))]
        for v, columns in zip(self.space.parts, self.space.columns, strict=True):
            if v.choices is None:
                continue
            part = slice(columns.start, columns.stop)
            others = other_rows(v.choices, int(np.argmin(np.abs(v.choices - x[part]).sum(axis=1))))
            rows = np.tile(x, (len(others), 1))
            rows[:, part] = v.choices[others]
            found.append(rows)
        return np.vstack(found)

    def rounded(self, x: Array) -> Array:
        """The decisions around one of the relaxed region (m, d).

        All ways to round a few whole numbers; of very many, the nearest way and those that differ from it in one.
        """
        parts = zip(self.space.parts, self.space.columns, strict=True)
        grids = {columns.start: v.choices[:, 0] for v, columns in parts if isinstance(v, Integer)}
        whole, k = list(grids), len(grids)
        above = [np.clip(np.searchsorted(grid, x[j]), 1, len(grid) - 1) for j, grid in grids.items()]
        ends = np.array([grid[i - 1 : i + 1] for i, grid in zip(above, grids.values(), strict=True)])
        if k <= _CORNERS:
            ways = cartesian([np.array([[0], [1]])] * k)
        else:
            nearest = np.argmin(np.abs(ends - x[whole, None]), axis=1)
            ways = nearest ^ np.vstack([np.zeros(k, dtype=int), np.eye(k, dtype=int)])
        X = np.tile(x, (len(ways), 1))
        X[:, whole] = ends[np.arange(k), ways]
        return X

    def decision_index(self, row: Array) -> Row:
        """The row of a decision as it comes back from a user, so that a run can be replayed bit for bit."""
        return _through_user(self.space, row)

    def point_index(self, row: Array) -> Row:
        """The row of a point as it comes back from a user."""
        return _through_user(self.points_space, row)


def _through_user(space: Space, row: Array) -> Row:
    return tuple(space.encode(space.decode(row)).tolist())
