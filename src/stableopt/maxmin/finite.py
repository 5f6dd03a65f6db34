"""Exact max-min on finite sets: the smallest value that an adversary can reach from every decision, by structure.

A solver takes the values of any function on all points, so the same code finds x̃_t (from ucb), the adversary's reply
(from lcb), the reported decision and the true stable optimum of a known function. Minima are exact, without rounding,
hence all solvers agree bit for bit; ties go to the lowest number, of the decision and then of the point.

    solver        when                                        cost of all minima
    Sliding       norm balls and rectangles on a grid         (offsets + widths) passes over n values, in cache
    AxisMinima    Hamming balls on a grid                     one minimum along each choice of axes
    Lists         scattered points, groups                    one pass over the lists
    Pairwise      lists that would not fit into memory        n² memberships, in chunks, every time
    Successive    several adversaries with their own axes     the sum of the parts
    OverTheta     unknown parameters on top of any of these   one pass over the values, then the solver below
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stableopt._arrays import Array, Indices, frozen
from stableopt.uncertainty import BOUNDARY

Mask = NDArray[np.bool_]


class Solution(NamedTuple):
    """A decision, the point where it is worst, the value there, and whether both are exact."""

    decision: int
    point: int
    value: float
    exact: bool


class FiniteMaxMin(ABC):
    """min over A(d) of a function given by its values on all points, and the decision where that is largest."""

    n_decisions: int
    n_points: int

    @abstractmethod
    def minima(self, values: Array) -> Array:
        """min over A(d) of the values, for every decision d (n_decisions,)."""

    @abstractmethod
    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The same for some decisions only."""

    @abstractmethod
    def members(self, decision: int) -> Indices:
        """A(d): the numbers of the points, increasing."""

    def best(self, values: Array, among: Indices | None = None) -> int:
        """The decision with the largest minimum, among all or the given ones (in increasing order)."""
        if among is None:
            return int(np.argmax(self.minima(values)))
        return int(among[np.argmax(self.minima_at(among, values))])

    def maximin(self, values: Array) -> Solution:
        """The decision with the largest minimum, and the point of that minimum."""
        return self.worst(self.best(values), values)

    def worst(self, decision: int, values: Array) -> Solution:
        """The point where this decision is worst."""
        members = self.members(decision)
        point = int(members[np.argmin(values[members])])
        return Solution(decision, point, float(values[point]), True)


class Sliding(FiniteMaxMin):
    """A norm ball on a grid, slid over it: every offset is a shift of one flat array padded with infinity.

    Padding each axis by the ball's extent lets shifts run over the ends of rows without a test. Along its longest
    axis the window grows with the ball's width: a minimum over half-width w becomes one over w' ≤ 2w by one comparison
    of two shifted views. l∞ balls do this axis by axis; the others combine one shift per offset in the other axes.
    """

    def __init__(self, shape: Sequence[int], steps: Array, reach: Array, order: float) -> None:
        self.n_decisions = self.n_points = math.prod(shape)
        self._shape = tuple(shape)
        lengths = zip(reach.tolist(), steps.tolist(), shape, strict=True)
        cells = [int(min(r / h * BOUNDARY, n - 1)) if n > 1 else 0 for r, h, n in lengths]
        self._cells = cells
        padded = [n + c for n, c in zip(shape, cells, strict=True)]
        self._strides = [math.prod(padded[i + 1 :]) for i in range(len(padded))]
        self._window = _ball(cells, steps, reach, order)
        offsets = np.argwhere(self._window) - np.array(cells)
        self._flat_offsets = offsets @ np.array(self._strides, dtype=np.intp)
        self._whole_window = offsets @ np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], dtype=np.intp)
        self._margin = int(np.sum(np.array(cells) * self._strides))
        self._padded = tuple(padded)
        self._chunk = max(2**16, 2 * self._margin)  # values that stay in cache, with a halo that does not dominate
        self._levels = _levels(offsets, cells, self._strides, separable=order == math.inf)

    def minima(self, values: Array) -> Array:
        """The smallest value in the window around every grid point."""
        source = self._embed(values)
        result = np.full(math.prod(self._padded), math.inf)
        margin = self._margin
        longest = min(self._chunk, len(result)) + 2 * margin
        scratch = (np.empty(longest), np.empty(longest))
        for start in range(0, len(result), self._chunk):
            out = result[start : start + self._chunk]
            self._slide(source[start : start + len(out) + 2 * margin], out, scratch)
        interior = result.reshape(self._padded)[tuple(slice(n) for n in self._shape)]
        return np.ascontiguousarray(interior).ravel()

    def _slide(self, window: Array, out: Array, scratch: tuple[Array, Array]) -> None:
        """Minima around the middle part of a window; its margin on both sides holds what lies around."""
        buffers = itertools.cycle([s[: len(window)] for s in scratch])
        for level in self._levels:
            width = level.start
            while width < level.width:
                grown = min(2 * width, level.width) if width else 1
                window, width = _grown(window, width, grown, level.stride, buffers), grown
            for shift in level.shifts:
                at = self._margin + shift
                np.minimum(out, window[at : at + len(out)], out=out)

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The smallest value in the windows around some grid points."""
        source = self._embed(values)
        coordinates = np.unravel_index(decisions, self._shape)
        centres = self._margin + np.array(self._strides) @ np.array(coordinates)
        minima = np.empty(len(decisions))
        rows = max(1, 2**20 // len(self._flat_offsets))
        for start in range(0, len(decisions), rows):
            chunk = slice(start, start + rows)
            minima[chunk] = source.take(centres[chunk, None] + self._flat_offsets).min(axis=1)
        return minima

    def members(self, decision: int) -> Indices:
        """The grid points in the window around this one."""
        centre: list[int] = []
        rest = decision
        for n in reversed(self._shape):
            rest, i = divmod(rest, n)
            centre.insert(0, i)
        if all(c <= i < n - c for i, c, n in zip(centre, self._cells, self._shape, strict=True)):
            return np.asarray(decision + self._whole_window)
        low = [max(0, c - i) for i, c in zip(centre, self._cells, strict=True)]
        high = [c + min(c, n - 1 - i) + 1 for i, c, n in zip(centre, self._cells, self._shape, strict=True)]
        inside = np.nonzero(self._window[tuple(map(slice, low, high))])
        around = tuple(o + (a + i - c) for o, a, i, c in zip(inside, low, centre, self._cells, strict=True))
        return np.asarray(np.ravel_multi_index(around, self._shape), dtype=np.intp)

    def _embed(self, values: Array) -> Array:
        """The values in a flat array with infinity between rows and at both ends."""
        size = math.prod(self._padded)
        flat = np.full(size + 2 * self._margin, math.inf)
        middle = flat[self._margin : self._margin + size].reshape(self._padded)
        middle[tuple(slice(n) for n in self._shape)] = values.reshape(self._shape)
        return flat


def _ball(cells: Sequence[int], steps: Array, reach: Array, order: float) -> Mask:
    """Which offsets are in the ball: a mask of 2·cells + 1 along each axis, centred on no offset."""
    shape = [2 * c + 1 for c in cells]
    free = np.array(cells) > 0
    offsets = np.indices(shape).reshape(len(cells), -1).T - np.array(cells)
    distances = np.linalg.norm(offsets[:, free] * (steps[free] / reach[free]), ord=order, axis=1)
    return np.asarray(distances <= BOUNDARY).reshape(shape)


class _Level(NamedTuple):
    """One step of a slide: let windows grow along a stride, then take the minimum over shifted copies of them."""

    stride: int
    start: int
    width: int
    shifts: list[int]


def _levels(offsets: Indices, cells: Sequence[int], strides: Sequence[int], *, separable: bool) -> list[_Level]:
    """A box grows along one axis after the other; other balls have a width along their longest axis per offset."""
    free = [axis for axis, c in enumerate(cells) if c > 0]
    if separable or len(free) < 2:
        return [*(_Level(strides[axis], 0, cells[axis], []) for axis in free), _Level(1, 0, 0, [0])]
    axis = int(np.argmax(cells))
    lines, counts = np.unique(np.delete(offsets, axis, axis=1), axis=0, return_counts=True)
    shifts = lines @ np.delete(np.array(strides, dtype=np.intp), axis)
    widths = (counts - 1) // 2
    distinct = np.unique(widths).tolist()
    starts = [0, *distinct[:-1]]
    return [_Level(strides[axis], a, b, shifts[widths == b].tolist()) for a, b in zip(starts, distinct, strict=True)]


def _grown(window: Array, width: int, grown: int, stride: int, buffers: Iterator[Array]) -> Array:
    """Minima over half-width ``grown`` ≤ 2·width (or 1 from 0) along a stride, from those over half-width ``width``."""
    shift = (grown - width) * stride
    larger = next(buffers)
    inner = larger[shift:-shift]
    np.minimum(window[: -2 * shift], window[2 * shift :], out=inner)
    if width == 0:
        np.minimum(inner, window[shift:-shift], out=inner)
    larger[:shift], larger[-shift:] = math.inf, math.inf  # outside every window that the middle part can see
    return larger


class AxisMinima(FiniteMaxMin):
    """A Hamming ball on a grid: at most ``radius`` of the axes may take any of their values."""

    def __init__(self, shape: Sequence[int], radius: int, axes: Sequence[int]) -> None:
        self.n_decisions = self.n_points = math.prod(shape)
        self._shape = tuple(shape)
        self._choices = list(itertools.combinations(axes, min(radius, len(axes))))

    def minima(self, values: Array) -> Array:
        """The smallest value over every choice of axes."""
        grid = values.reshape(self._shape)
        result = np.full(self._shape, math.inf)
        for axes in self._choices:
            np.minimum(result, grid.min(axis=axes, keepdims=True) if axes else grid, out=result)
        return result.ravel()

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The same for some decisions."""
        return _minima_by_members(self, decisions, values)

    def members(self, decision: int) -> Indices:
        """All grid points that differ in few enough axes."""
        mask = np.zeros(self._shape, dtype=bool)
        coordinates = np.unravel_index(decision, self._shape)
        for axes in self._choices:
            mask[tuple(slice(None) if a in axes else c for a, c in enumerate(coordinates))] = True
        return np.flatnonzero(mask)


class Lists(FiniteMaxMin):
    """A(d) as one list of point numbers per decision, all in one array."""

    def __init__(self, n_points: int, starts: Indices, points: Indices) -> None:
        """The list of decision d is points[starts[d]:starts[d + 1]], increasing and not empty."""
        self.n_decisions, self.n_points = len(starts) - 1, n_points
        self._starts, self._points = starts, frozen(points)

    @classmethod
    def of(cls, n_points: int, lists: Sequence[Sequence[int]]) -> Lists:
        """From a list of increasing lists."""
        starts = np.cumsum([0, *map(len, lists)])
        return cls(n_points, starts, np.fromiter(itertools.chain.from_iterable(lists), dtype=np.intp, count=starts[-1]))

    def minima(self, values: Array) -> Array:
        """The smallest value in every list."""
        return np.minimum.reduceat(values.take(self._points), self._starts[:-1])

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The smallest value in some lists."""
        lengths = self._starts[decisions + 1] - self._starts[decisions]
        ends = np.cumsum(lengths)
        entries = np.repeat(self._starts[decisions] - (ends - lengths), lengths) + np.arange(ends[-1])
        return np.minimum.reduceat(values.take(self._points[entries]), ends - lengths)

    def members(self, decision: int) -> Indices:
        """The list of this decision."""
        return self._points[self._starts[decision] : self._starts[decision + 1]]


class Pairwise(FiniteMaxMin):
    """A(d) by a membership test on pairs of points, evaluated in chunks whenever it is needed."""

    def __init__(self, points: Array, reaches: Callable[[Array, Array], Mask]) -> None:
        self.n_decisions = self.n_points = len(points)
        self._points, self._reaches = points, reaches

    def minima(self, values: Array) -> Array:
        """The smallest value that each point may be turned into."""
        return self.minima_at(np.arange(self.n_decisions), values)

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The same for some decisions."""
        rows = chunk_rows(self.n_points)
        parts = [self._points[decisions[i : i + rows]] for i in range(0, len(decisions), rows)]
        return np.concatenate([np.where(self._reaches(part, self._points), values, math.inf).min(1) for part in parts])

    def members(self, decision: int) -> Indices:
        """The points that this one may be turned into."""
        return np.flatnonzero(self._reaches(self._points[decision : decision + 1], self._points)[0])


class Successive(FiniteMaxMin):
    """Several adversaries on one grid, each with axes of its own: the minima are taken one after the other."""

    def __init__(self, parts: Sequence[FiniteMaxMin]) -> None:
        self.n_decisions, self.n_points = parts[0].n_decisions, parts[0].n_points
        self._parts = parts

    def minima(self, values: Array) -> Array:
        """The smallest value that all of them can reach together."""
        for part in self._parts:
            values = part.minima(values)
        return values

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The same for some decisions."""
        return _minima_by_members(self, decisions, values)

    def members(self, decision: int) -> Indices:
        """Every combination of their choices."""
        reached = np.array([decision])
        for part in self._parts:
            reached = np.concatenate([part.members(int(i)) for i in reached])
        return np.sort(reached)


class OverTheta(FiniteMaxMin):
    """Points (x, θ), θ fastest: the adversary chooses an allowed θ, and x as the solver below lets it."""

    def __init__(self, below: FiniteMaxMin, n_theta: int, allowed: Indices) -> None:
        self.n_decisions, self.n_points = below.n_decisions, below.n_points * n_theta
        self._below, self._n_theta, self._allowed = below, n_theta, allowed

    def minima(self, values: Array) -> Array:
        """The smallest value over θ, then over x."""
        return self._below.minima(self._over_theta(values))

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The same for some decisions."""
        return self._below.minima_at(decisions, self._over_theta(values))

    def members(self, decision: int) -> Indices:
        """Every reachable x with every allowed θ."""
        return (self._below.members(decision)[:, None] * self._n_theta + self._allowed).ravel()

    def _over_theta(self, values: Array) -> Array:
        table = values.reshape(-1, self._n_theta)
        if len(self._allowed) == self._n_theta:
            return np.asarray(table.min(axis=1))
        minima: Array = np.minimum.reduce([table[:, i] for i in self._allowed])
        return minima


def chunk_rows(n: int) -> int:
    """How many rows of an n-column table of pairs to treat at once."""
    return max(1, 2**22 // n)


def _minima_by_members(solver: FiniteMaxMin, decisions: Indices, values: Array) -> Array:
    lists = [solver.members(int(d)) for d in decisions]
    return np.minimum.reduceat(values[np.concatenate(lists)], np.cumsum([0, *map(len, lists[:-1])]))
