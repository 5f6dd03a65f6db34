"""Descent of scenarios: many at once, each along its own gradient, projected back into its set after every step.

Notation
    X (r, d), S (r, q)   decisions and their scenarios, row by row
    v, g, h, T           as in `oracle`: values, gradients by the decision and by the scenario, targets
"""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask
from stableopt.maxmin.search.oracle import Oracle

_HELD = 1e-9  # a projection that differs by more than this was held back by the domain, not by rounding
_PROMISE = 30.0  # steps: a scenario that would need more of the kind that it takes now does not reach its goal
_LAST = 1e-5  # of the spread of F: a step that promises less and leads nowhere is the last one


class Descent:
    """Projected descent of many scenarios at once, each with its own spectral (Barzilai–Borwein) step."""

    def __init__(self, oracle: Oracle, X: Array, S: Array) -> None:
        """From scenarios S (r, q) of the decisions X (r, d)."""
        self.oracle, self.X, self.S = oracle, X, oracle.region.project_inside(X, S)
        self.v, self.g, self.h, self.T = oracle.gradients(X, self.S)
        self.step = 0.5 / np.maximum(np.abs(self.h).max(axis=1, initial=0.0), 1e-300)
        self.move = np.zeros_like(self.S)

    def keep(self, rows: Indices) -> None:
        """Go on with these rows only."""
        for name in ("X", "S", "v", "g", "h", "T", "step", "move"):
            setattr(self, name, getattr(self, name)[rows])

    def replace(self, rows: Indices, other: Descent, by: Indices) -> None:
        """Put rows of another descent, for the same decisions, in place of some of these."""
        for name in ("S", "v", "g", "h", "T", "step", "move"):
            getattr(self, name)[rows] = getattr(other, name)[by]

    def advance(self, steps: int, tolerance: float, goal: Array | None = None) -> None:
        """Take steps until each scenario expects to lose less than the tolerance, in units of the oracle's scale.

        With a ``goal`` (r,), a scenario also ends where it does not promise to come below that.
        """
        moving: Indices = np.arange(len(self.S))
        for _ in range(steps if self.S.shape[1] else 0):
            h, step = self.h[moving], self.step[moving]
            aim = self.S[moving] - step[:, None] * h
            trial = self.oracle.region.project_inside(self.X[moving], aim)
            move = trial - self.S[moving]
            slope = np.einsum("ij,ij->i", move, h)
            stuck = slope >= -tolerance * self.oracle.scale
            waiting = self._with_shorter_steps(moving, np.flatnonzero(stuck), aim, trial)
            jumps = self._extrapolate(moving, trial, move)
            if goal is not None:
                stuck |= self.v[moving] + _PROMISE * slope > goal[moving]
            go = np.flatnonzero(~stuck)
            moving = moving[go]
            if len(moving):
                self._step(moving, trial[go], trial[go] - self.S[moving], slope[go], jumps[go])
            moving = np.concatenate([moving, waiting])
            if not len(moving):
                return

    def _with_shorter_steps(self, moving: Indices, stuck: Indices, aim: Array, trial: Array) -> Indices:
        """Shorten the steps of the stuck rows that may still go on, and return these rows.

        Where projections are approximate (`Region.exact` is False), a long step may lead nowhere and a shorter one
        down. Where they are exact, a stuck row has arrived.
        """
        if self.oracle.region.exact:
            return moving[:0]
        h, step = self.h[moving[stuck]], self.step[moving[stuck]]
        least = _LAST * self.oracle.scale / np.maximum(np.einsum("ij,ij->i", h, h), 1e-300)
        longer = step > least
        stuck, least, step = stuck[longer], least[longer], step[longer]
        projected = self.oracle.region.project(self.X[moving[stuck]], aim[stuck])
        held = np.abs(projected - trial[stuck]).max(axis=1, initial=0.0) > _HELD
        self.step[moving[stuck]] = np.where(held, 0.1 * step, least)
        return moving[stuck]

    def _extrapolate(self, at: Indices, trial: Array, move: Array) -> Mask:
        """Send the trials of rows whose steps shrink by a constant factor to the limit of these steps; say which rows.

        Along the edge of a curved set, steps shrink like a geometric series, however long they would be without the
        set. Aitken's rule sums the series. A jump that does not lead down is not repeated.
        """
        last = self.move[at]
        shrink = np.einsum("ij,ij->i", move, last) / np.maximum(np.einsum("ij,ij->i", last, last), 1e-300)
        jumps: Mask = (shrink > 0.3) & (shrink < 0.99)
        rows = np.flatnonzero(jumps)
        if len(rows):
            limit = self.S[at[rows]] + move[rows] / (1 - shrink[rows])[:, None]
            trial[rows] = self.oracle.region.project_inside(self.X[at[rows]], limit)
        return jumps

    def _step(self, at: Indices, trial: Array, move: Array, slope: Array, jumps: Mask) -> None:
        """Go to the trial scenarios where they are lower, and set the length of the next step."""
        v, h, step = self.v[at], self.h[at], self.step[at]
        new_v, new_g, new_h, new_T = self.oracle.gradients(self.X[at], trial)
        bend = np.einsum("ij,ij->i", move, new_h - h)
        length = np.einsum("ij,ij->i", move, move)
        # Barzilai and Borwein: |move|² / (move · change of gradient). A concave direction has no minimum of its own:
        # then go four times as far, and the projection ends the step.
        spectral = np.where(bend > 0.25 * length / step, length / np.where(bend > 0, bend, 1.0), 4 * step)
        spectral = np.minimum(spectral, 4.0 / np.maximum(np.abs(new_h).max(axis=1), 1e-300))
        # After a step that led up: the minimum of the parabola through both values and the slope. After a jump that
        # led up the step was not to blame.
        rise = new_v - v - slope
        shrunk = step * np.where(jumps, 1.0, np.clip(-slope / (2 * np.where(rise > 0, rise, np.inf)), 0.1, 0.5))
        better = new_v < v
        self.step[at] = np.where(better, spectral, shrunk)
        self.move[at] = np.where(better[:, None], move, 0.0)
        at = at[better]
        for old, new in ((self.S, trial), (self.v, new_v), (self.g, new_g), (self.h, new_h), (self.T, new_T)):
            old[at] = new[better]
