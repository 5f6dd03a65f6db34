"""Exact max-min on finite sets: the smallest value that an adversary can reach from every decision, by structure.

A solver takes the values of any function on all points, so the same code finds x̃_t (from ucb), the adversary's reply
(from lcb), the reported decision and the true stable optimum of a known function. Minima are exact, without rounding,
hence all solvers agree bit for bit; ties go to the lowest number, of the decision and then of the point.

    solver        when                                        cost of all minima
    Sliding       norm balls and rectangles on a grid         (offsets + widths) passes over n values, in cache
    AxisMinima    Hamming balls on a grid                     axes · radius passes over n values
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

from stableopt.base.arrays import Array, Indices, Mask, frozen
from stableopt.maxmin.solver import Choice, Hints

_NO_HINTS: Hints[int] = Hints()
GATHERED = 2**22  # about how many values of lists are brought together at once
_HALO, _STRIP = 2**14, 512  # values around a chunk that may be in the cache with it; columns that are treated together
_GATHER_ALL = 2**11  # lists of fewer entries in all are faster to go through than to choose from


class ListedMaxMin(ABC):
    """min over A(d) of a function given by its values on all points, and the decision where that is largest."""

    n_decisions: int
    n_points: int

    @abstractmethod
    def all_minima(self, values: Array) -> Array:
        """min over A(d) of the values, for every decision d (n_decisions,)."""

    @abstractmethod
    def members(self, decision: int) -> Indices:
        """A(d): the numbers of the points, increasing."""

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        """The minima of some decisions only, which some solvers find faster than those of all."""
        return self.all_minima(values)[decisions]

    def maximin(
        self, F: Array, hints: Hints[int] = _NO_HINTS, subject_to: Sequence[Array] = (), near: int | None = None
    ) -> Choice[int]:
        minima = self.all_minima(F)
        if not len(subject_to):
            return self.worst(int(minima.argmax()), F)
        margins = np.minimum.reduce([self.all_minima(M) for M in subject_to])
        feasible = np.flatnonzero(margins >= 0)
        best = int(feasible[minima[feasible].argmax()] if len(feasible) else margins.argmax())
        return self.worst(best, F)._replace(margin=float(margins[best]))

    def maximins(self, functions: Sequence[Array], hints: Sequence[Hints[int]]) -> list[Choice[int]]:
        return [self.maximin(F) for F in functions]

    def jointly(self, functions: Sequence[Array], hints: Hints[int] = _NO_HINTS) -> Choice[int]:
        minima = [self.all_minima(F) for F in functions]
        best = int(np.minimum.reduce(minima).argmax())
        return self.worst(best, functions[int(np.argmin([m[best] for m in minima]))])

    def worst(self, decision: int, F: Array, hints: Hints[int] = _NO_HINTS) -> Choice[int]:
        members = self.members(decision)
        values = F.take(members)
        lowest = values.argmin()
        return Choice(decision, int(members[lowest]), float(values[lowest]), exact=True)

    def worsts(self, decision: int, functions: Sequence[Array], hints: Hints[int] = _NO_HINTS) -> list[Choice[int]]:
        return [self.worst(decision, F) for F in functions]

    def minima(self, decisions: Sequence[int], F: Array, hints: Hints[int] = _NO_HINTS) -> list[Choice[int]]:
        return [self.worst(decision, F) for decision in decisions]

    def best(self, decisions: Sequence[int], F: Array, hints: Hints[int] = _NO_HINTS) -> Choice[int]:
        some = np.array(sorted(decisions), dtype=np.intp)
        return self.worst(int(some[self.minima_at(some, F).argmax()]), F)

    def leading(
        self, decisions: Sequence[int], F: Array, count: int, hints: Hints[int] = _NO_HINTS, above: float = -math.inf
    ) -> list[Choice[int]]:
        some = np.array(decisions, dtype=np.intp)
        minima = self.minima_at(some, F)
        order = np.argsort(-minima, kind="stable")[:count]
        return [self.worst(int(decision), F) for decision in some[order[minima[order] > above]]]


class Sliding(ListedMaxMin):
    """A norm ball on a grid, slid over it: every offset is a shift of one flat array padded with infinity.

    Padding each axis by the ball's extent lets shifts run over the ends of rows without a test. Along its longest
    axis the window grows with the ball's width: a minimum over half-width w becomes one over w' ≤ 2w by one comparison
    of two shifted views. l∞ balls do this axis by axis; the others combine one shift per offset in the other axes.
    """

    def __init__(self, shape: Sequence[int], cells: Sequence[int], offsets: Indices, *, box: bool) -> None:
        """The ball by its extent in cells along each axis and all its offsets (m, p), in lexicographic order."""
        self.n_decisions = self.n_points = math.prod(shape)
        self._shape, self._cells = tuple(shape), tuple(cells)
        # Room for the ball's extent after the end of each axis, which serves the next row as room before its start.
        self._padded = tuple(n + c for n, c in zip(shape, cells, strict=True))
        self._strides = strides_of(self._padded)
        self._offsets, self._flat_offsets = offsets, offsets @ self._strides
        self._whole_window = offsets @ strides_of(self._shape)
        self._margin = int(np.sum(np.array(cells) * self._strides))
        self._chunk = max(2**15, 2 * self._margin)  # values that stay in cache, with a halo that does not dominate
        self._levels = _levels(offsets, cells, self._strides.tolist(), separable=box)
        self._box = box

    def all_minima(self, values: Array) -> Array:
        if self._margin > _HALO and self._shape[-1] > 2 * self._strip:
            return self._in_strips(values.reshape(self._shape))
        source, margin = self._embed(values), self._margin
        result = np.full(math.prod(self._padded), math.inf)
        longest = min(self._chunk, len(result)) + 2 * margin
        scratch = (np.empty(longest), np.empty(longest))
        for start in range(0, len(result), self._chunk):
            out = result[start : start + self._chunk]
            self._slide(source[start : start + len(out) + 2 * margin], out, scratch)
        interior = result.reshape(self._padded)[tuple(slice(n) for n in self._shape)]
        return np.ascontiguousarray(interior).ravel()

    @property
    def _strip(self) -> int:
        return max(_STRIP, 16 * self._cells[-1])

    def _in_strips(self, values: Array) -> Array:
        """Rows so long that the halo of a chunk fills the cache: the same for one strip of columns after the other."""
        result, last, reach = np.empty(self._shape), self._shape[-1], self._cells[-1]
        for start in range(0, last, self._strip):
            stop, before = min(start + self._strip, last), min(start, reach)
            around = values[..., start - before : stop + reach]
            below = Sliding(around.shape, self._cells, self._offsets, box=self._box)
            minima = below.all_minima(around).reshape(around.shape)
            result[..., start:stop] = minima[..., before : before + stop - start]
        return result.ravel()

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
        if len(decisions) * len(self._flat_offsets) > 8 * self.n_points:
            return self.all_minima(values)[decisions]
        if self.n_points > 4 * len(decisions) * len(self._flat_offsets):  # not worth a copy of all values
            return np.array([values.take(self.members(d)).min() for d in decisions.tolist()])
        source = self._embed(values)
        centres = self._margin + self._strides @ np.array(np.unravel_index(decisions, self._shape))
        rows = max(1, 2**20 // len(self._flat_offsets))
        chunks = [centres[i : i + rows, None] for i in range(0, len(centres), rows)]
        return np.concatenate([source.take(chunk + self._flat_offsets).min(axis=1) for chunk in chunks])

    def members(self, decision: int) -> Indices:
        centre = np.array(np.unravel_index(decision, self._shape)).tolist()
        if all(c <= i < n - c for i, c, n in zip(centre, self._cells, self._shape, strict=True)):
            return np.asarray(decision + self._whole_window)
        around = self._offsets + centre
        inside = np.all((around >= 0) & (around < self._shape), axis=1)
        return np.asarray(decision + self._whole_window[inside])

    def _embed(self, values: Array) -> Array:
        """The values in a flat array with infinity between rows and at both ends."""
        size = math.prod(self._padded)
        flat = np.full(size + 2 * self._margin, math.inf)
        middle = flat[self._margin : self._margin + size].reshape(self._padded)
        middle[tuple(slice(n) for n in self._shape)] = values.reshape(self._shape)
        return flat


def ball_offsets(cells: Sequence[int], lengths: Array, order: float, boundary: float) -> Indices:
    """All offsets in cells with ‖offset · lengths‖ ≤ boundary (m, p), in lexicographic order, built axis by axis."""
    offsets, sizes = np.zeros((1, 0), dtype=np.intp), np.zeros(1)
    power, combine = (1.0, np.maximum) if order == math.inf else (order, np.add)
    for c, length in zip(cells, lengths.tolist(), strict=True):
        steps = np.arange(-c, c + 1)
        total = combine.outer(sizes, (np.abs(steps) * (length if c else 0.0)) ** power)
        row, column = np.nonzero(total <= boundary**power)
        offsets = np.column_stack([offsets[row], steps[column]])
        sizes = total[row, column]
    return offsets


def strides_of(shape: Sequence[int]) -> Indices:
    """How far apart neighbours along each axis of a grid are in its list of points (p,)."""
    return np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], dtype=np.intp)


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
    steps = itertools.pairwise([0, *np.unique(widths).tolist()])
    return [_Level(strides[axis], a, b, shifts[widths == b].tolist()) for a, b in steps]


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


class AxisMinima(ListedMaxMin):
    """A Hamming ball on a grid: at most ``radius`` of the axes may take any of their values."""

    def __init__(self, shape: Sequence[int], radius: int, axes: Sequence[int]) -> None:
        self.n_decisions = self.n_points = math.prod(shape)
        self._shape, self._axes, self._radius = tuple(shape), tuple(axes), min(radius, len(axes))

    def all_minima(self, values: Array) -> Array:
        # best[k]: with at most k of the axes so far changed
        best = [values.reshape(self._shape)] * (self._radius + 1)
        for axis in self._axes:
            for k in range(self._radius, 0, -1):
                best[k] = np.minimum(best[k], best[k - 1].min(axis=axis, keepdims=True))
        return best[-1].ravel()

    def members(self, decision: int) -> Indices:
        centre = np.array(np.unravel_index(decision, self._shape))
        coordinates, changes = np.zeros((1, 0), dtype=np.intp), np.zeros(1, dtype=np.intp)
        for axis, n in enumerate(self._shape):
            choices = np.arange(n) if axis in self._axes else centre[axis : axis + 1]
            total = changes[:, None] + (choices != centre[axis])
            row, column = np.nonzero(total <= self._radius)
            coordinates = np.column_stack([coordinates[row], choices[column]])
            changes = total[row, column]
        return np.asarray(coordinates @ strides_of(self._shape))


class Lists(ListedMaxMin):
    """A(d) as one list of point numbers per decision, all in one array."""

    def __init__(self, n_points: int, starts: Indices, points: NDArray[np.integer]) -> None:
        """The list of decision d is points[starts[d]:starts[d + 1]], increasing and not empty."""
        self.n_decisions, self.n_points = len(starts) - 1, n_points
        self._starts, self._points = starts, frozen(points)
        self._ranks = _by_rank(starts, points)
        rows = max(1, GATHERED * self.n_decisions // len(points))
        chunks = [starts[first : first + rows + 1] for first in range(0, self.n_decisions, rows)]
        self._chunks = [(points[some[0] : some[-1]], some[:-1] - some[0]) for some in chunks]

    def all_minima(self, values: Array) -> Array:
        if self._ranks is not None:
            ranks, places = self._ranks
            minima = values.take(ranks[0])
            buffer = np.empty(len(minima))
            for rank in ranks[1:]:
                entries = buffer[: len(rank)]
                values.take(rank, out=entries, mode="wrap")  # with a mode, numpy writes to out without a detour
                np.minimum(minima[: len(rank)], entries, out=minima[: len(rank)])
            return minima.take(places)
        return np.concatenate([np.minimum.reduceat(values.take(points), starts) for points, starts in self._chunks])

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        if len(self._points) < _GATHER_ALL:
            return self.all_minima(values)[decisions]
        lengths = self._starts[decisions + 1] - self._starts[decisions]
        ends = lengths.cumsum()
        entries = np.repeat(self._starts[decisions] - (ends - lengths), lengths) + np.arange(ends[-1])
        return np.minimum.reduceat(values.take(self._points[entries]), ends - lengths)

    def members(self, decision: int) -> Indices:
        return self._points[self._starts[decision] : self._starts[decision + 1]].astype(np.intp, copy=False)


def _by_rank(starts: Indices, points: NDArray[np.integer]) -> tuple[list[Indices], Indices] | None:
    """The lists turned around: the first entries of all, then the second ones, ..., the longest lists in front.

    Minima then run along whole arrays, which is faster where the lists are many, alike and not too long in all (None
    otherwise). Also returned: where in this order each list is.
    """
    lengths = np.diff(starts)
    longest = int(lengths.max())
    if len(points) > GATHERED or len(points) < 1000 * longest:
        return None
    order = np.argsort(-lengths, kind="stable")
    counts = len(lengths) - np.searchsorted(np.sort(lengths), np.arange(longest), side="right")
    ranks = [points[starts[order[:count]] + rank].astype(np.intp, copy=False) for rank, count in enumerate(counts)]
    return ranks, np.argsort(order)


class Pairwise(ListedMaxMin):
    """A(d) by a membership test on pairs of points, evaluated in chunks whenever it is needed."""

    def __init__(self, points: Array, reaches: Callable[[Array, Array], Mask]) -> None:
        self.n_decisions = self.n_points = len(points)
        self._points, self._reaches = points, reaches

    def all_minima(self, values: Array) -> Array:
        return self.minima_at(np.arange(self.n_decisions), values)

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        rows = chunk_rows(self.n_points)
        parts = [self._points[decisions[i : i + rows]] for i in range(0, len(decisions), rows)]
        return np.concatenate([np.where(self._reaches(part, self._points), values, math.inf).min(1) for part in parts])

    def members(self, decision: int) -> Indices:
        return np.flatnonzero(self._reaches(self._points[decision : decision + 1], self._points)[0])


class Successive(ListedMaxMin):
    """Several adversaries on one grid, each with axes of its own: the minima are taken one after the other."""

    def __init__(self, parts: Sequence[ListedMaxMin]) -> None:
        self.n_decisions, self.n_points = parts[0].n_decisions, parts[0].n_points
        self._parts = parts

    def all_minima(self, values: Array) -> Array:
        for part in self._parts:
            values = part.all_minima(values)
        return values

    def members(self, decision: int) -> Indices:
        reached = np.array([decision])
        for part in self._parts:
            reached = np.concatenate([part.members(int(i)) for i in reached])
        return np.sort(reached)


class OverTheta(ListedMaxMin):
    """Points (x, θ), θ fastest: the adversary chooses an allowed θ, and x as the solver below lets it."""

    def __init__(self, below: ListedMaxMin, n_theta: int, allowed: Indices) -> None:
        self.n_decisions, self.n_points = below.n_decisions, below.n_points * n_theta
        self._below, self._n_theta, self._allowed = below, n_theta, allowed

    def all_minima(self, values: Array) -> Array:
        return self._below.all_minima(self._over_theta(values))

    def minima_at(self, decisions: Indices, values: Array) -> Array:
        return self._below.minima_at(decisions, self._over_theta(values))

    def members(self, decision: int) -> Indices:
        return (self._below.members(decision)[:, None] * self._n_theta + self._allowed).ravel()

    def _over_theta(self, values: Array) -> Array:
        table = values.reshape(-1, self._n_theta)
        if len(self._allowed) == self._n_theta:
            return np.asarray(table.min(axis=1))
        return np.asarray(np.minimum.reduce([table[:, i] for i in self._allowed]))


def chunk_rows(n: int) -> int:
    """How many rows of an n-column table of pairs to treat at once."""
    return max(1, 2**22 // n)
