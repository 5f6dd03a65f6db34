"""Max-min with a proof: cells that cover all decisions and all scenarios, each bounded as a whole.

A search finds a large worst case; it cannot show that nothing larger or smaller was missed. Here the cells that matter
are split until their bounds are tight. The price grows quickly with the number of continuous coordinates.

Notation
    F          two functions of points: values(Z, +1) is maximised over decisions after minimising over scenarios, and
               −values(Z, −1) is the one whose smallest value over scenarios is bounded from below
    C          a cell: a box with corners v; λ_v(z) the weights of multilinear interpolation, λ_v >= 0, Σ λ_v = 1
    slack      bounds F(z) − Σ λ_v F(v) for all z in boxes with given widths

Optimum: a cell of decisions that scenario s turns into a box with corners v + s has, for any probabilities p_s,
max_d min_s F(d + s) <= max_v Σ_s p_s F(v + s) + slack: the value of a small game between corners and scenarios.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask, cartesian
from stableopt.maxmin.spaces.movers import ChoiceMover, NormMover
from stableopt.maxmin.spaces.region import SpaceRegion
from stableopt.sets.variables import Integer

_BATCH = 128  # cells that are split together
_COMBINATIONS = 4096  # of discrete values that are gone through
_SCENARIOS = 12  # tried in every cell, besides the good ones of the larger cell around it
_KEPT = 2  # scenarios of a cell; its parts try and vary them
_CAREFULLY = 256  # scenarios for the decision that seems best
_PLAYS = 48  # of the game between corners and scenarios


class OnBoxes(Protocol):
    """Two functions of points, with a bound on how far they are above interpolation between the corners of a box."""

    evaluations: int
    """How many values were asked for so far."""

    def values(self, Z: Array, sign: int) -> Array:
        """The function of this sign at points (n, P): (n,)."""

    def axis_errors(self, widths: Array) -> Array:
        """What each axis contributes to the slack of boxes with these widths (n, P), up to a common factor (n, P)."""

    def slack(self, widths: Array) -> Array:
        """How much larger values inside boxes can be than interpolation between the corners (n,)."""


class _Cells(NamedTuple):
    """Boxes, and notes on them that their parts inherit: one row each."""

    low: Array
    high: Array
    notes: Array


class _Assessed(NamedTuple):
    """Bounds on cells, and how to go on."""

    bounds: Array
    """Upper bounds on the function that is maximised (n,)."""
    reached: Array
    """Values of the function that some point of each cell reaches (n,)."""
    axis: Indices
    """Where to split each cell (n,)."""
    notes: Array
    """For the parts of each cell."""


_Assess = Callable[[_Cells], _Assessed]


class Covering:
    """A function on a region that can be covered by cells; other regions are refused."""

    def __init__(self, F: OnBoxes, region: SpaceRegion) -> None:
        self.F, self.region = F, region
        space = region.points_space
        owners = {c[0]: v for v, c in zip(space.parts, space.columns, strict=True)}
        for mover in region.movers:
            whole = [c for c in mover.columns if isinstance(owners.get(c), Integer)]
            if isinstance(mover, ChoiceMover) or (isinstance(mover, NormMover) and not whole):
                continue
            raise TypeError(
                f"expected balls, rectangles, relative tolerances or parameters on floats, got {region.uncertainty}: "
                "for others there is only the numerical certificate of Optimizer.report()"
            )


def worst_case(covering: Covering, x: Array, tolerance: float, budget: int) -> tuple[float, float, bool]:
    """Lower and upper bound on the worst case of a decision, by covering its scenarios."""
    region = covering.region
    target = [c for mover in region.movers for c in _moved(mover)]
    bits = _corner_bits(len(target))

    def assess(cells: _Cells) -> _Assessed:
        low, high, notes = cells
        n, corners = len(low), len(bits)
        S = np.where(bits, high[:, None], low[:, None]).reshape(n * corners, -1)
        X = np.tile(x, (n * corners, 1))
        Z = region.points(X, S).reshape(n, corners, -1)
        widths = Z.max(axis=1) - Z.min(axis=1)
        top = covering.F.values(Z.reshape(n * corners, -1), -1).reshape(n, corners).max(axis=1)
        inside = region.points(X[:n], region.project(X[:n], (low + high) / 2))
        axis = np.argmax(covering.F.axis_errors(widths)[:, target] + 1e-9 * (high - low), axis=1) if target else None
        bounds = np.where(_outside(region, low, high), -np.inf, top + covering.F.slack(widths))
        return _Assessed(bounds, covering.F.values(inside, -1), np.zeros(n, np.intp) if axis is None else axis, notes)

    roots = _scenario_roots(region)
    cells = _Cells(*roots, np.empty((len(roots[0]), 0)))
    best, _, sure = _branch_and_bound(cells, assess, covering, tolerance, budget)
    scenarios = region.scenarios(_CAREFULLY, 0)
    at = region.points(np.tile(x, (len(scenarios), 1)), scenarios)
    return -best, float(covering.F.values(at, 1).min()), sure


def optimum(covering: Covering, tolerance: float, budget: int) -> tuple[float, float, bool]:
    """Upper bound on the largest worst-case ucb, by covering the decisions."""
    region = covering.region
    q, common = region.width, region.scenarios(_SCENARIOS, 0)
    steps = np.where(_chosen(region), 0.0, np.vstack([np.zeros((1, q)), np.eye(q), -np.eye(q)]))
    bits = _corner_bits(region.dim)

    def assess(cells: _Cells) -> _Assessed:
        low, high, notes = cells
        n, corners = len(low), len(bits)
        V = np.where(bits, high[:, None], low[:, None])  # (n, corners, d)
        # Their root: near a minimum, being off by δ costs δ² only, and a search by small steps arrives nowhere.
        reach = np.sqrt((high - low).max(axis=1))[:, None, None, None]
        kept = notes.reshape(n, _KEPT, 1, q) + reach * steps
        S = np.concatenate([np.broadcast_to(common, (n, *common.shape)), kept.reshape(n, -1, q)], axis=1)
        m = S.shape[1]
        centres = np.repeat((low + high) / 2, m, axis=0)
        S = region.project(centres, S.reshape(n * m, q)).reshape(n, m, q)
        X = np.repeat(V, m, axis=1).reshape(-1, region.dim)
        Z = region.points(X, np.tile(S, (1, corners, 1)).reshape(-1, q)).reshape(n, corners, m, -1)
        values = covering.F.values(Z.reshape(n * corners * m, -1), 1).reshape(n, corners, m)
        widths = Z.max(axis=1) - Z.min(axis=1)  # (n, m, P)
        error = covering.F.slack(widths.reshape(n * m, -1)).reshape(n, m)
        bounds, weights = _game(_mixable(values, widths[:, :, : region.dim], high - low) + error[:, None])
        top = np.argsort(-weights, axis=1, kind="stable")[:, :_KEPT]
        padded = np.hstack([high - low, np.zeros((n, region.points_space.dim - region.dim))])
        axis = np.argmax(covering.F.axis_errors(padded)[:, : region.dim] + 1e-9 * (high - low), axis=1)
        reached = np.full(n, _reached(covering, V, S, values.min(axis=2)))
        return _Assessed(bounds, reached, axis, np.take_along_axis(S, top[:, :, None], 1).reshape(n, -1))

    low, high = _decision_roots(region)
    notes = np.tile(np.resize(common, (_KEPT, q)).ravel(), (len(low), 1))
    return _branch_and_bound(_Cells(low, high, notes), assess, covering, tolerance, budget)


def _reached(covering: Covering, V: Array, S: Array, worst: Array) -> float:
    """The worst-case ucb of the corner where it seems largest, with many scenarios: few would overstate it."""
    cell, corner = np.unravel_index(np.argmax(worst), worst.shape)
    region = covering.region
    many = np.vstack([region.scenarios(_CAREFULLY, 0), S[cell]])
    Z = region.points(np.tile(V[cell, corner], (len(many), 1)), many)
    return float(covering.F.values(Z, 1).min())


def _branch_and_bound(
    cells: _Cells, assess: _Assess, covering: Covering, tolerance: float, budget: int
) -> tuple[float, float, bool]:
    """Upper bound on a maximum over cells, the largest value reached, and whether they are as close as wanted."""
    end = covering.F.evaluations + budget
    low, high, _ = cells
    bounds, values, axis, notes = assess(cells)
    best, settled = float(values.max()), -math.inf
    while True:
        active = (bounds > best + tolerance) & np.any(high > low, axis=1)
        settled = max(settled, float(bounds[~active].max(initial=-np.inf)))
        low, high, bounds, axis, notes = (part[active] for part in (low, high, bounds, axis, notes))
        if not len(low) or covering.F.evaluations >= end:
            largest = max(settled, float(bounds.max(initial=-np.inf)))
            return largest, best, largest <= best + tolerance
        order = np.argsort(-bounds, kind="stable")
        split, rest = order[:_BATCH], order[_BATCH:]
        halves = _halved(low[split], high[split], axis[split])
        new = assess(_Cells(*halves, np.tile(notes[split], (2, 1))))
        best = max(best, float(new.reached.max()))
        known = np.minimum(new.bounds, np.tile(bounds[split], 2))  # a part cannot be worse than the whole
        low, high = np.vstack([low[rest], halves[0]]), np.vstack([high[rest], halves[1]])
        bounds, axis = np.concatenate([bounds[rest], known]), np.concatenate([axis[rest], new.axis])
        notes = np.vstack([notes[rest], new.notes])


def _halved(low: Array, high: Array, axis: Indices) -> tuple[Array, Array]:
    rows = np.arange(len(low))
    middle = (low[rows, axis] + high[rows, axis]) / 2
    left, right = high.copy(), low.copy()
    left[rows, axis] = right[rows, axis] = middle
    return np.vstack([low, right]), np.vstack([left, high])


def _game(U: Array) -> tuple[Array, Array]:
    """min over probabilities p of max_v Σ_s p_s U_vs, from above (n,), and such p (n, m), by fictitious play.

    Each side answers in turn to what the other did so far. Any p gives a valid bound, so it may stop at any time.
    """
    rows = np.arange(len(U))
    chosen, scores = np.zeros(U.shape[::2]), np.zeros(U.shape[:2])  # how often each s; Σ_s chosen U_vs
    against = np.zeros(U.shape[::2])  # Σ over past corners of U_vs
    s = np.argmin(U.max(axis=1), axis=1)
    bounds, weights = np.full(len(U), np.inf), chosen.copy()
    for play in range(1, _PLAYS + 1):
        chosen[rows, s] += 1
        scores += U[rows, :, s]
        v = np.argmax(scores, axis=1)
        value = scores[rows, v] / play
        better = value < bounds
        bounds[better], weights[better] = value[better], chosen[better] / play
        against += U[rows, v]
        s = np.argmin(against, axis=1)
    return bounds, weights


def _mixable(values: Array, widths: Array, cell: Array) -> Array:
    """Values at corners (n, corners, m) of boxes that may be mixed: a box that is no shifted cell gets its largest.

    Where a scenario is clipped inside the cell (or stretches it), the weights λ of a decision are not those of its
    point. Where it is clipped on the whole cell, the box has no width there and any weights are right.
    """
    same = (np.abs(widths - cell[:, None]) <= 1e-12) | (widths <= 1e-12)
    largest = values.max(axis=1, keepdims=True)
    return np.where(np.all(same, axis=2)[:, None], values, largest)


def _corner_bits(dim: int) -> Mask:
    return np.array(list(itertools.product((False, True), repeat=dim)), dtype=bool).reshape(2**dim, dim)


def _moved(mover: Any) -> list[int]:
    """The column that each coordinate of the mover's scenarios changes."""
    return list(mover.columns[: mover.width])


def _chosen(region: SpaceRegion) -> Mask:
    """Whether a coordinate of a scenario is the number of a choice (q,)."""
    return np.array([isinstance(m, ChoiceMover) for m in region.movers for _ in range(m.width)], dtype=bool)


def _outside(region: SpaceRegion, low: Array, high: Array) -> Mask:
    """Whether a cell of scenarios lies outside the ball of some mover altogether (n,)."""
    outside, start = np.zeros(len(low), dtype=bool), 0
    for mover in region.movers:
        part = slice(start, start + mover.width)
        if isinstance(mover, NormMover):
            nearest = np.maximum(np.maximum(low[:, part], -high[:, part]), 0.0)
            outside |= np.linalg.norm(nearest, ord=mover.order, axis=1) > 1 + 1e-9
        start += mover.width
    return outside


def _scenario_roots(region: SpaceRegion) -> tuple[Array, Array]:
    """Cells of all scenarios: the cube around the ball of every mover, times all choices."""
    ends = [
        (np.arange(float(len(m.rows)))[:, None],) * 2
        if isinstance(m, ChoiceMover)
        else (-np.ones((1, m.width)), np.ones((1, m.width)))
        for m in region.movers
    ]
    return _products(ends)


def _decision_roots(region: SpaceRegion) -> tuple[Array, Array]:
    """Cells of all decisions: the cube of the ranges, times all choices."""
    choices = [v.choices for v in region.space.parts]
    return _products([(np.zeros((1, 1)), np.ones((1, 1))) if c is None else (c, c) for c in choices])


def _products(ends: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    count = math.prod(len(low) for low, _ in ends)
    if count > _COMBINATIONS:
        raise ValueError(
            f"expected up to {_COMBINATIONS} combinations of discrete values, got {count}: use a finite domain"
        )
    if not ends:
        return np.empty((1, 0)), np.empty((1, 0))
    return cartesian([low for low, _ in ends]), cartesian([high for _, high in ends])
