"""Which exact solver fits a finite domain and an uncertainty set: the structure of both decides."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.maxmin.lists.solvers import (
    AxisMinima,
    ListedMaxMin,
    Lists,
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
from stableopt.sets.uncertainty import Perturbation

LIST_LIMIT = 2**26  # entries of neighbour lists that are kept (4 bytes each); beyond, pairs are tested every time


def perturbation_solver(domain: Domain, perturbations: Sequence[Perturbation]) -> ListedMaxMin:
    """The solver for perturbations within the domain, each with columns of its own."""
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


def _grid_solver(domain: Domain, perturbation: Perturbation) -> ListedMaxMin | None:
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
    own = np.arange(n)
    rows = np.concatenate([own, pairs[:, 0], pairs[:, 1]])
    columns = np.concatenate([own, pairs[:, 1], pairs[:, 0]])
    order = np.lexsort((columns, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Lists(n, starts, _compact(columns[order]))


def _compact(numbers: Indices) -> NDArray[np.integer]:
    """Long lists in half the memory, which short ones would pay with time."""
    return numbers if len(numbers) < 2**22 else numbers.astype(np.int32)


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
    return Lists(
        n, np.concatenate([[0], np.cumsum(np.concatenate(counts))]), _compact(np.concatenate(found, dtype=np.intp))
    )


def group_solver(groups: Groups, n: int) -> Lists:
    """The solver for groups that cover n points."""
    members = groups.lists
    outside = [i for group in members for i in group if not 0 <= i < n]
    missing = np.setdiff1d(np.arange(n), [i for group in members for i in group])
    if outside or len(missing):
        problem = f"point {outside[0]} does not exist" if outside else f"point {missing[0]} is in no group"
        raise ValueError(f"expected groups that cover the points 0 to {n - 1}, but {problem}")
    return Lists.of(n, members)
