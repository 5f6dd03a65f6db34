"""A domain together with an uncertainty set: which decisions there are, which points, and who can turn into whom.

This is the only place that looks at the kind of domain and set. It picks the max-min solver and translates between
the numbers that solvers use and what a user sees (coordinates, (x, θ), names of groups).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stableopt.base.arrays import Array, Indices, Mask, frozen
from stableopt.base.checks import row_of, vector
from stableopt.base.values import ReadOnly
from stableopt.maxmin.finite import (
    AxisMinima,
    FiniteMaxMin,
    Lists,
    OverTheta,
    Pairwise,
    Sliding,
    Successive,
    ball_offsets,
    chunk_rows,
    padded_shape,
)
from stableopt.sets.domains import Domain, Grid
from stableopt.sets.groups import Groups
from stableopt.sets.perturbations import Hamming, NormBall, boundary
from stableopt.sets.uncertainty import Estimate, Parameters, Perturbation, UncertaintySet

LIST_LIMIT = 2**26  # entries of neighbour lists that are kept (4 bytes each); beyond, pairs are tested every time

Decision = Array | str | int
"""What is reported: the coordinates x, or the name of a group."""


@dataclass(frozen=True, eq=False)
class Setting(ReadOnly):
    """max over decisions d of min over points in A(d), for one domain and one uncertainty set."""

    domain: Domain
    uncertainty: UncertaintySet

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise TypeError(
                f"expected a domain such as Space({{...}}), Grid(...) or Points(...), got {self.domain!r:.200}"
            )
        if not isinstance(self.uncertainty, UncertaintySet):
            raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {self.uncertainty!r}")
        _ = self.solver  # a set that does not fit the domain is refused here

    @cached_property
    def solver(self) -> FiniteMaxMin:
        """The exact max-min solver for this domain and set."""
        if self._groups is not None:
            return _group_lists(self._groups, len(self.domain))
        below = _solver(self.domain, self._perturbations)
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
        return self.domain.points[index] if self._groups is None else self._names[index]

    def locate_point(self, value: ArrayLike, guess: int = -1) -> int:
        """The number of a point, at once if it is the guess; an error that names the nearest one if there is none."""
        if 0 <= guess < self.solver.n_points and np.array_equal(self.point(guess), value):
            return guess
        if not self._theta.size:
            return self.domain.locate(value)
        dim = self.domain.dim
        point = vector(value, dim + self._theta.shape[1], "point (x, θ)")
        return self.domain.locate(point[:dim]) * len(self._theta) + row_of(self._theta, point[dim:], "parameter", "Θ")

    def locate_decision(self, value: Any, guess: int = -1) -> int:
        """The number of a decision, at once if it is the guess."""
        if self._groups is None:
            known = 0 <= guess < len(self.domain) and np.array_equal(self.domain.points[guess], value)
            return guess if known else self.domain.locate(value)
        if 0 <= guess < len(self._names) and self._names[guess] == value:
            return guess
        if value not in self._names:
            raise ValueError(f"expected the name of a group, such as {list(self._names[:10])}, got {value!r}")
        return self._names.index(value)

    def decision_of(self, point: int) -> int:
        """The decision that a point on its own stands for: its x, or the first group that it belongs to."""
        return point // len(self._theta) if self._groups is None else int(self._first_group[point])

    def home(self, decision: int) -> Indices:
        """The points that a decision stands for if nobody perturbs it: x itself, with any (or the estimated) θ."""
        if self._groups is not None:
            return self.solver.members(decision)
        return np.asarray(decision * len(self._theta) + self._nominal)

    @cached_property
    def homes(self) -> Indices:
        """All points that some decision stands for: where an algorithm that ignores the adversary looks."""
        return self._with_every_x(self._nominal)

    @cached_property
    def reachable(self) -> Indices:
        """All points with a θ that the adversary may choose."""
        return self._with_every_x(self._allowed)

    def _with_every_x(self, theta: Indices) -> Indices:
        return np.add.outer(np.arange(len(self.domain)) * len(self._theta), theta).ravel()

    @cached_property
    def _theta(self) -> Array:
        """Θ, or one row without coordinates where there is no parameter."""
        return np.empty((1, 0)) if self._parameters is None else self._parameters.block

    @cached_property
    def _allowed(self) -> Indices:
        return np.zeros(1, dtype=np.intp) if self._parameters is None else self._parameters.allowed

    @cached_property
    def _nominal(self) -> Indices:
        return np.zeros(1, dtype=np.intp) if self._parameters is None else self._parameters.nominal

    @property
    def _parameters(self) -> Parameters | Estimate | None:
        return self.uncertainty.parameters

    @cached_property
    def _perturbations(self) -> list[Perturbation]:
        return self.uncertainty.perturbations

    @cached_property
    def _groups(self) -> Groups | None:
        return self.uncertainty if isinstance(self.uncertainty, Groups) else None

    @property
    def _names(self) -> tuple[str | int, ...]:
        return () if self._groups is None else tuple(self._groups.names or ())

    @cached_property
    def _first_group(self) -> NDArray[np.intp]:
        groups = [] if self._groups is None else self._groups.lists
        first = np.full(len(self.domain), -1)
        for number in reversed(range(len(groups))):
            first[groups[number]] = number
        return first


def _solver(domain: Domain, perturbations: Sequence[Perturbation]) -> FiniteMaxMin:
    if not perturbations:
        identity = np.arange(len(domain) + 1)
        return Lists(len(domain), identity, identity[:-1])
    structured = [_grid_solver(domain, p) for p in perturbations]
    if all(part is not None for part in structured):
        parts = [part for part in structured if part is not None]
        return parts[0] if len(parts) == 1 else Successive(parts)
    if len(perturbations) == 1 and isinstance(perturbations[0], NormBall):
        return _neighbour_lists(domain.points, perturbations[0])
    return _pair_lists(domain.points, partial(_reach_together, perturbations))


def _grid_solver(domain: Domain, perturbation: Perturbation) -> FiniteMaxMin | None:
    """The structured solver for a perturbation on a grid, if there is one."""
    if isinstance(domain, Grid) and isinstance(perturbation, Hamming):
        return AxisMinima(domain.shape, perturbation.radius, perturbation.free(domain.dim))
    if not (isinstance(domain, Grid) and isinstance(perturbation, NormBall)):
        return None
    reach, order = perturbation.reach(domain.dim), perturbation.order
    limit = boundary(reach, np.abs([(block[0, 0], block[-1, 0]) for block in domain.blocks]).max(axis=1))
    lengths = domain.steps / np.where(reach > 0, reach, 1.0)  # a step in units of the reach
    extents = zip(lengths.tolist(), domain.shape, reach, strict=True)
    cells = [0 if r == 0 else n - 1 if h * (n - 1) <= limit else int(limit / h) for h, n, r in extents]
    stuck = [axis for axis, (r, c, n) in enumerate(zip(reach, cells, domain.shape, strict=True)) if r and n > 1 > c]
    if stuck:
        warnings.warn(
            f"{perturbation} reaches less than one step of the grid along the axes {stuck} (steps "
            f"{domain.steps[stuck].tolist()}), so the adversary cannot move there: use a finer grid",
            stacklevel=2,
        )
    padding = math.prod(padded_shape(domain.shape, cells)) / len(domain)
    if padding > 4 and order == math.inf:
        return Successive([_one_axis(domain.shape, axis, c) for axis, c in enumerate(cells) if c])
    offsets = ball_offsets(cells, lengths, order, limit)
    if padding > 4 and (padding > 64 or len(offsets) * len(domain) <= LIST_LIMIT):
        return None  # in many dimensions neighbour lists are shorter than the padding
    return Sliding(domain.shape, cells, offsets, box=order == math.inf)


def _one_axis(shape: Sequence[int], axis: int, cells: int) -> Sliding:
    offsets = np.zeros((2 * cells + 1, len(shape)), dtype=np.intp)
    offsets[:, axis] = np.arange(-cells, cells + 1)
    return Sliding(shape, [cells if i == axis else 0 for i in range(len(shape))], offsets, box=True)


def _reach_together(perturbations: Sequence[Perturbation], A: Array, B: Array) -> Mask:
    """Which rows of B all perturbations together can turn each row of A into, each with columns of its own."""
    if len(perturbations) == 1:
        return perturbations[0].reaches(A, B)
    dim = A.shape[1]
    columns = [p.free(dim) for p in perturbations]
    masks = [_on_own_columns(p).reaches(A[:, c], B[:, c]) for p, c in zip(perturbations, columns, strict=True)]
    fixed = np.setdiff1d(np.arange(dim), np.concatenate(columns))
    return np.asarray(np.logical_and.reduce([*masks, *(A[:, c, None] == B[None, :, c] for c in fixed)]), dtype=bool)


def _on_own_columns(perturbation: Perturbation) -> Perturbation:
    """The same perturbation for points that hold its columns only."""
    return replace(perturbation, columns=None)  # type: ignore[type-var]


def _neighbour_lists(points: Array, ball: NormBall) -> FiniteMaxMin:
    """Lists from a k-d tree; coordinates that cannot change become numbers that are far apart unless equal."""
    from scipy.spatial import KDTree

    reach, n = ball.reach(points.shape[1]), len(points)
    limit = boundary(reach, np.abs(points).max(axis=0))
    scaled = (points - points.min(axis=0)) / np.where(reach > 0, reach, 1.0)
    for c in np.flatnonzero(reach == 0):
        scaled[:, c] = 4.0 * np.unique(points[:, c], return_inverse=True)[1]
    tree = KDTree(scaled)
    radius = limit * (1.0 + 1e-8)  # a little beyond the ball, since the comparison below has the last word
    if tree.count_neighbors(tree, radius, p=ball.order) > LIST_LIMIT:
        return Pairwise(points, ball.reaches)
    pairs = tree.query_pairs(radius, p=ball.order, output_type="ndarray")
    distances = np.linalg.norm(scaled[pairs[:, 0]] - scaled[pairs[:, 1]], ord=ball.order, axis=1)
    pairs = pairs[distances <= limit]
    own = np.arange(n)
    rows = np.concatenate([own, pairs[:, 0], pairs[:, 1]])
    columns = np.concatenate([own, pairs[:, 1], pairs[:, 0]])
    order = np.lexsort((columns, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Lists(n, starts, _compact(columns[order]))


def _compact(numbers: Indices) -> NDArray[np.integer]:
    """Long lists in half the memory, which short ones would pay with time."""
    return numbers if len(numbers) < 2**22 else numbers.astype(np.int32)


def _pair_lists(points: Array, reaches: Callable[[Array, Array], Mask]) -> FiniteMaxMin:
    """Lists from a membership test on all pairs, in chunks; the test itself where the lists would be too long."""
    n, counts, found, total = len(points), [], [], 0
    for start in range(0, n, chunk_rows(n)):
        rows, columns = np.nonzero(reaches(points[start : start + chunk_rows(n)], points))
        count = np.bincount(rows, minlength=min(chunk_rows(n), n - start))
        if np.any(count == 0):
            empty = points[start + int(np.argmin(count))].tolist()
            raise ValueError(
                f"the uncertainty set of {empty} is empty, so its worst case is undefined: expected at least one x' "
                "with d(x, x') <= eps for every x (often x itself)"
            )
        counts.append(count)
        total += len(columns)
        if total <= LIST_LIMIT:
            found.append(columns.astype(np.int32))
    if total > LIST_LIMIT:
        return Pairwise(points, reaches)
    return Lists(
        n, np.concatenate([[0], np.cumsum(np.concatenate(counts))]), _compact(np.concatenate(found, dtype=np.intp))
    )


def _group_lists(groups: Groups, n: int) -> Lists:
    members = groups.lists
    outside = [i for group in members for i in group if not 0 <= i < n]
    missing = np.setdiff1d(np.arange(n), [i for group in members for i in group])
    if outside or len(missing):
        problem = f"point {outside[0]} does not exist" if outside else f"point {missing[0]} is in no group"
        raise ValueError(f"expected groups that cover the points 0 to {n - 1}, but {problem}")
    return Lists.of(n, members)
