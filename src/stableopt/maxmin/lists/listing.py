"""A finite domain together with an uncertainty set: its decisions and points by number, and the solver that fits.

A `Listing` translates between the numbers that solvers use and what a user sees: coordinates, (x, θ), names of groups.
The structure of domain and set decides which exact solver it has.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask, frozen
from stableopt.base.checks import is_whole, row_of, vector
from stableopt.base.values import ReadOnly
from stableopt.maxmin.lists import solvers
from stableopt.maxmin.lists.solvers import ListedMaxMin, Lists, Pairwise, Sliding, chunk_rows
from stableopt.maxmin.solver import Choice
from stableopt.sets.domains import Domain, Grid
from stableopt.sets.perturbations import Hamming, NormBall, boundary
from stableopt.sets.uncertainty import Groups, Perturbation, UncertaintySet

Decision = Array | str | int
"""What is reported: the coordinates x, or the name of a group."""

LIST_LIMIT = 2**26  # entries of neighbour lists that are kept (4 bytes each); beyond, pairs are tested every time


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
        if self._groups is not None:
            return _group_solver(self._groups, len(self.domain))
        below = _perturbation_solver(self.domain, self.uncertainty.perturbations)
        return solvers.OverTheta(below, len(self._theta), self._allowed) if self._theta.size else below

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
        return self.domain.points[index] if self._groups is None else (self._groups.names or ())[index]

    def point_index(self, value: Any) -> int:
        """The number of a point; an error that names the nearest one if there is none."""
        if not self._theta.size:
            return self.domain.locate(value)
        dim = self.domain.dim
        point = vector(value, dim + self._theta.shape[1], "point (x, θ)")
        return self.domain.locate(point[:dim]) * len(self._theta) + row_of(self._theta, point[dim:], "parameter", "Θ")

    def decision_index(self, value: Any) -> int:
        """The number of a decision; an error that names the nearest one if there is none."""
        if self._groups is None:
            return self.domain.locate(value)
        names = self._groups.names or ()
        if value not in names:
            raise ValueError(f"expected the name of a group, such as {list(names[:10])}, got {value!r}")
        return names.index(value)

    def decision_of(self, point: int) -> int:
        """The decision that a point on its own stands for: its x, or the first group that it belongs to."""
        if self._groups is None:
            return point // len(self._theta)
        return next(number for number, group in enumerate(self._groups.lists) if point in group)

    def canonical(self, choice: Choice[int]) -> Choice[int]:
        """The choice with its numbers as whole numbers; an error if there is no such decision or point."""
        numbers = choice.decision, choice.point
        limits = self.solver.n_decisions, self.solver.n_points
        if not all(is_whole(number, 0) and number < n for number, n in zip(numbers, limits, strict=True)):
            most = f"a decision from 0 to {limits[0] - 1} and a point from 0 to {limits[1] - 1}"
            raise ValueError(f"expected {most}, got {numbers[0]!r:.80} and {numbers[1]!r:.80}")
        return choice._replace(decision=int(choice.decision), point=int(choice.point))

    def home(self, decision: int) -> Indices:
        """The points that a decision stands for if nobody perturbs it: x itself, with any (or the estimated) θ."""
        if self._groups is not None:
            return self.solver.members(decision)
        parameters = self.uncertainty.parameters
        nominal = np.zeros(1, dtype=np.intp) if parameters is None else parameters.nominal
        return np.asarray(decision * len(self._theta) + nominal)

    @cached_property
    def homes(self) -> Indices:
        """All points that some decision stands for: where an algorithm that ignores the adversary looks."""
        if self._groups is not None:
            return np.arange(len(self.domain))
        return np.add.outer(np.arange(len(self.domain)) * len(self._theta), self.home(0)).ravel()

    @cached_property
    def reachable(self) -> Indices:
        """All points with a θ that the adversary may choose."""
        return frozen(np.add.outer(np.arange(len(self.domain)) * len(self._theta), self._allowed).ravel())

    @property
    def _groups(self) -> Groups | None:
        return self.uncertainty if isinstance(self.uncertainty, Groups) else None

    @cached_property
    def _theta(self) -> Array:
        """Θ, or one row without coordinates where there is no parameter."""
        return np.empty((1, 0)) if self.uncertainty.parameters is None else self.uncertainty.parameters.block

    @cached_property
    def _allowed(self) -> Indices:
        parameters = self.uncertainty.parameters
        return np.zeros(1, dtype=np.intp) if parameters is None else parameters.allowed


def reached(domain: Domain, uncertainty: UncertaintySet, decision: int) -> Indices:
    """What a decision (not a group) can turn into, without the solver that knows this of all of them."""
    x = np.array([decision])
    if uncertainty.perturbations:
        x = np.flatnonzero(_reach_together(uncertainty.perturbations, domain.points[x], domain.points)[0])
    parameters = uncertainty.parameters
    return x if parameters is None else np.add.outer(x * len(parameters.block), parameters.allowed).ravel()


def _group_solver(groups: Groups, n: int) -> ListedMaxMin:
    """The solver for groups that cover n points."""
    members = [i for group in groups.lists for i in group]
    outside = [i for i in members if not 0 <= i < n]
    missing = np.setdiff1d(np.arange(n), members)
    if outside or len(missing):
        problem = f"point {outside[0]} does not exist" if outside else f"point {missing[0]} is in no group"
        raise ValueError(f"expected groups that cover the points 0 to {n - 1}, but {problem}")
    return Lists(n, np.cumsum([0, *map(len, groups.lists)]), np.array(members, dtype=np.intp))


def _perturbation_solver(domain: Domain, perturbations: Sequence[Perturbation]) -> ListedMaxMin:
    """The solver for perturbations within the domain, each with columns of its own."""
    if not perturbations:
        identity = np.arange(len(domain) + 1)
        return Lists(len(domain), identity, identity[:-1])
    structured = [_grid_solver(domain, p) if isinstance(domain, Grid) else None for p in perturbations]
    parts = [part for part in structured if part is not None]
    if len(parts) == len(perturbations):
        return parts[0] if len(parts) == 1 else solvers.Successive(parts)
    if len(perturbations) == 1 and isinstance(perturbations[0], NormBall) and not perturbations[0].skewed(domain.dim):
        return _neighbour_lists(domain.points, perturbations[0])
    return _pair_lists(domain.points, partial(_reach_together, perturbations))


def _grid_solver(grid: Grid, perturbation: Perturbation) -> ListedMaxMin | None:
    """The structured solver for a perturbation on a grid, if there is one."""
    if isinstance(perturbation, Hamming):
        return solvers.AxisMinima(grid.shape, perturbation.radius, perturbation.free(grid.dim))
    if not isinstance(perturbation, NormBall) or perturbation.skewed(grid.dim):
        return None
    reach, order = perturbation.reach(grid.dim), perturbation.order
    limit = boundary(reach, np.abs([(block[0, 0], block[-1, 0]) for block in grid.blocks]).max(axis=1))
    lengths = grid.steps / np.where(reach > 0, reach, 1.0)  # a step in units of the reach
    extents = zip(lengths.tolist(), grid.shape, reach, strict=True)
    cells = [0 if r == 0 else n - 1 if h * (n - 1) <= limit else int(limit / h) for h, n, r in extents]
    stuck = [axis for axis, (r, c, n) in enumerate(zip(reach, cells, grid.shape, strict=True)) if r and n > 1 > c]
    if stuck:
        warnings.warn(
            f"{perturbation} reaches less than one step of the grid along the axes {stuck} (steps "
            f"{grid.steps[stuck].tolist()}), so the adversary cannot move there: use a finer grid",
            stacklevel=2,
        )
    padding = math.prod(n + c for n, c in zip(grid.shape, cells, strict=True)) / len(grid)
    if padding > 4 and order == math.inf:
        return solvers.Successive([_one_axis(grid.shape, axis, c) for axis, c in enumerate(cells) if c])
    offsets = solvers.ball_offsets(cells, lengths, order, limit)
    if padding > 4 and len(offsets) * len(grid) <= LIST_LIMIT:
        return _offset_lists(grid.shape, offsets)  # in many dimensions these are shorter than the padding
    if padding > 64:
        return None
    return Sliding(grid.shape, cells, offsets, box=order == math.inf)


def _one_axis(shape: Sequence[int], axis: int, cells: int) -> Sliding:
    offsets = np.zeros((2 * cells + 1, len(shape)), dtype=np.intp)
    offsets[:, axis] = np.arange(-cells, cells + 1)
    return Sliding(shape, [cells if i == axis else 0 for i in range(len(shape))], offsets, box=True)


def _offset_lists(shape: Sequence[int], offsets: Indices) -> Lists:
    """Lists of the points that lie at these offsets in a grid, as far as they are inside."""
    n, columns = math.prod(shape), offsets @ solvers.strides_of(shape)
    offsets, columns = offsets[order := np.argsort(columns, kind="stable")], columns[order]
    counts, found = [], []
    for start in range(0, n, chunk_rows(len(offsets))):
        rows = np.arange(start, min(n, start + chunk_rows(len(offsets))))
        inside = np.ones((len(rows), len(offsets)), dtype=bool)
        for at, away, size in zip(np.unravel_index(rows, shape), offsets.T, shape, strict=True):
            if away.any():
                there = at[:, None] + away
                inside &= (there >= 0) & (there < size)
        counts.append(np.count_nonzero(inside, axis=1))
        found.append((rows[:, None] + columns)[inside])
    return _lists(np.concatenate(counts), np.concatenate(found))


def _reach_together(perturbations: Sequence[Perturbation], A: Array, B: Array) -> Mask:
    """Which rows of B all perturbations together can turn each row of A into, each with columns of its own."""
    if len(perturbations) == 1:
        return perturbations[0].reaches(A, B)
    columns = [p.free(A.shape[1]) for p in perturbations]
    own = [replace(p, columns=None) for p in perturbations]  # type: ignore[type-var]
    masks = [p.reaches(A[:, c], B[:, c]) for p, c in zip(own, columns, strict=True)]
    fixed = np.setdiff1d(np.arange(A.shape[1]), np.concatenate(columns))
    return np.asarray(np.logical_and.reduce([*masks, *(A[:, c, None] == B[None, :, c] for c in fixed)]), dtype=bool)


def _neighbour_lists(points: Array, ball: NormBall) -> ListedMaxMin:
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
    rows, columns = np.concatenate([np.arange(n)[:, None].repeat(2, axis=1), pairs, pairs[:, ::-1]]).T
    return _lists(np.bincount(rows, minlength=n), columns[np.lexsort((columns, rows))])


def _pair_lists(points: Array, reaches: Callable[[Array, Array], Mask]) -> ListedMaxMin:
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
    return _lists(np.concatenate(counts), np.concatenate(found, dtype=np.intp))


def _lists(counts: Indices, points: Indices) -> Lists:
    """Lists of these lengths, one after the other; long ones in half the memory, which short ones pay with time."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Lists(len(counts), starts, points if len(points) < 2**22 else points.astype(np.int32))
