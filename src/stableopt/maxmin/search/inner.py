"""The inner side: worst cases of decisions, that is min over scenarios, by descent from many starts.

    try      scenarios of a spread, and scenarios that lead to known low points
    descend  the lowest of them; after the first steps half of these go on, then a quarter
    poll     jump across the set or to a discrete neighbour, and descend from there, while that leads lower

A minimum that is missed makes a decision look better than it is. So the effort is a parameter, and every answer is
checked with the full one.

Notation
    X (r, d), S (r, q)   decisions and their scenarios, row by row
    v, g, h, T           as in `oracle`: values, gradients by the decision and by the scenario, targets
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, Indices, Mask, between, cartesian, dots
from stableopt.maxmin.search.looking import Minima
from stableopt.maxmin.search.oracle import Evaluated, Oracle, paired
from stableopt.maxmin.search.plan import Effort, Plan
from stableopt.maxmin.search.steps import lowest, lowest_apart, taken

POLLED = 1e-5  # of the spread of F: the least that a jump must gain
_HELD = 1e-9  # a projection that differs by more than this was held back by the domain, not by rounding
_PROMISE = 30.0  # steps: a scenario that would need more of the kind that it takes now does not reach its goal
_AROUND = np.array([0.1, 0.01, 0.001])  # distances at which a poll looks, of what a decision can reach in a column
_FEW = 3  # columns of which a poll tries the diagonals, too
_SHORT = 4.0  # of the spread of F: what a low point loses if the scenario stays a unit length behind it
_IN_CACHE = 32_768  # numbers of one array: larger ones take longer to get than to fill
_BEYOND, _BESIDE = 1e-4, 1e-6  # scenarios: how far out the slope along an edge is taken, and by which differences
_LAST = 1e-5  # of the spread of F: a step that promises less and leads nowhere is the last one


class Descent:
    """Projected descent of many scenarios at once, each with its own spectral (Barzilai–Borwein) step.

    Besides v and h, a scenario carries its point Z and the gradient G there. Rows that have arrived are left out of the
    arrays that a step works on, and come back in the end.
    """

    X: Array
    pace: Array
    """Of each coordinate of a scenario (`Region.pace`): a diagonal preconditioner."""
    S: Array
    v: Array
    h: Array
    Z: Array
    G: Array
    step: Array
    move: Array
    """The last step that led down; 0 before the first."""

    def __init__(self, oracle: Oracle, X: Array, S: Array, *, paced: bool = False) -> None:
        """From scenarios S (r, q) of the decisions X (r, d); ``paced``: at the pace of the region."""
        self.oracle, self.region, self.X = oracle, oracle.region, X
        self.S = self.region.project_inside(X, S)
        self.v, self.h, self.Z, self.G = oracle.slopes(X, self.S)
        self.pace = self.region.pace(X) if paced else np.ones(S.shape)
        self.step = 0.5 / _steepest(self.pace * self.h)
        self.move = np.zeros(self.S.shape)

    @property
    def found(self) -> Evaluated:
        """The scenarios, with what is known of them."""
        g = self.region.pull(self.X, self.S, self.G)[0]
        return Evaluated(self.S, self.v, g, self.h, self.oracle.targets(self.Z, self.G))

    def keep(self, rows: Indices) -> None:
        """Go on with these rows only."""
        for name in _CARRIED:
            setattr(self, name, getattr(self, name)[rows])

    def rows(self, rows: Indices) -> Descent:
        """A descent of these rows, on its own."""
        part = object.__new__(Descent)
        part.oracle, part.region = self.oracle, self.region
        for name in _CARRIED:
            setattr(part, name, getattr(self, name)[rows])
        return part

    def put(self, at: Indices, other: Descent, rows: Indices | slice = slice(None)) -> None:
        """Replace the rows ``at`` by rows of another descent of the same decisions."""
        for name in _CARRIED[2:]:
            getattr(self, name)[at] = getattr(other, name)[rows]

    def advance(self, steps: int, tolerance: float, goal: Array | None = None) -> None:
        """Take steps until each scenario expects to lose less than the tolerance, in units of the oracle's scale.

        With a ``goal`` (r,), a scenario also ends where it does not promise to come below that.
        """
        part, at = self, np.arange(len(self.S))
        least = np.broadcast_to(-tolerance * self.oracle.scale_of(self.X), len(at))
        for _ in range(steps if self.S.shape[1] else 0):
            aim = part.S - part.step[:, None] * (part.pace * part.h)
            trial = self.region.project_inside(part.X, aim)
            move = trial - part.S
            slope = dots(move, part.h)
            stuck = slope >= least[at]
            waiting = at[:0]
            if not self.region.exact and stuck.any():
                waiting = at[part._held_by_an_edge(np.flatnonzero(stuck), aim, trial, least[at])]
                move = trial - part.S
                slope = dots(move, part.h)
                stuck = slope >= least[at]
            if goal is not None:
                stuck |= part.v + _PROMISE * slope > goal[at]
            if stuck.any():
                if part is not self:
                    self.put(at, part)
                go = np.flatnonzero(~stuck)
                at = at[go]
                if not len(at) + len(waiting):
                    return
                part, trial, move, slope = self.rows(at), trial[go], move[go], slope[go]
            if len(at):
                part._step(trial, move, slope)
            if len(waiting):
                self.put(at, part)
                at = np.concatenate([at, waiting])
                part = self.rows(at)
        if part is not self:
            self.put(at, part)

    def _held_by_an_edge(self, stuck: Indices, aim: Array, trial: Array, least: Array) -> Indices:
        """Lead stuck rows along the edge that holds them; return those that need a shorter step, which is set.

        Where projections are approximate (`Region.exact` is False), a step against the slope may lead up or nowhere
        once it is projected. One along the edge leads down, if it is short enough. Where projections are exact, a stuck
        row has arrived.
        """
        h, step = self.h[stuck], self.step[stuck]
        last = _LAST * self.oracle.scale_of(self.X[stuck]) / np.maximum(dots(h, self.pace[stuck] * h), 1e-300)
        longer = step > last
        stuck, last, step, h = stuck[longer], last[longer], step[longer], h[longer]
        X, S, along = self.X[stuck], self.S[stuck], self._along_the_edge(stuck)
        held = np.abs(self.region.project(X, aim[stuck]) - trial[stuck]).max(axis=1, initial=0.0) > _HELD
        held |= -step * dots(along, h) < least[stuck]
        trial[stuck] = self.region.project_inside(X, S - step[:, None] * along)
        again = dots(trial[stuck] - S, h) >= least[stuck]
        self.step[stuck[again]] = np.where(held, 0.1 * step, last)[again]
        return stuck[again]

    def _along_the_edge(self, rows: Indices) -> Array:
        """J Jᵀh for these rows (n, q), where J is the derivative of the projection just beyond the edge.

        It lies along the edge, and a step against it leads down: −h·J Jᵀh < 0, in whatever units a projection is the
        nearest.
        """
        X, h, q = self.X[rows], self.h[rows], self.S.shape[1]
        beyond = self.S[rows] - _BEYOND * h / _steepest(h)[:, None]
        around = beyond[:, None] + _BESIDE * np.vstack([np.zeros((1, q)), np.eye(q)])
        P = self.region.project(*paired(X, around)).reshape(around.shape)
        J = (P[:, 1:] - P[:, :1]) / _BESIDE
        return np.asarray(np.einsum("ijk,ij->ik", J, np.einsum("ijk,ik->ij", J, h)))

    def _extrapolate(self, trial: Array, move: Array) -> Mask | None:
        """Send the trials of rows whose steps shrink by a constant factor to the limit of these steps; say which rows.

        Along the edge of a curved set, steps shrink like a geometric series, however long they would be without the
        set. Aitken's rule sums the series. A jump that does not lead down is not repeated.
        """
        shrink = dots(move, self.move) / np.maximum(dots(self.move, self.move), 1e-300)
        jumps: Mask = (shrink > 0.3) & (shrink < 0.99)
        if not jumps.any():
            return None
        limit = self.S[jumps] + move[jumps] / (1 - shrink[jumps])[:, None]
        trial[jumps] = self.region.project_inside(self.X[jumps], limit)
        return jumps

    def _step(self, trial: Array, move: Array, slope: Array) -> None:
        """Go to the trial scenarios where they are lower, and set the length of the next step."""
        jumps = self._extrapolate(trial, move)
        if jumps is not None:
            move = trial - self.S
        v, h, Z, G = self.oracle.slopes(self.X, trial)
        bend, length = dots(move, h - self.h), dots(move, move / self.pace)
        # Barzilai and Borwein: |move|² / (move · change of gradient). A concave direction has no minimum of its own:
        # then go four times as far, and the projection ends the step.
        curved = bend > 0.25 * length / self.step
        spectral = np.divide(length, bend, out=4 * self.step, where=curved)
        spectral = np.minimum(spectral, 4.0 / _steepest(self.pace * h))
        better = v < self.v
        if better.all():
            self.S, self.v, self.h, self.Z, self.G, self.step, self.move = trial, v, h, Z, G, spectral, move
            return
        # After a step that led up: the minimum of the parabola through both values and the slope. After a jump that
        # led up the step was not to blame.
        rise = v - self.v - slope
        shrink = between(-slope / (2 * np.where(rise > 0, rise, np.inf)), 0.1, 0.5)
        if jumps is not None:
            shrink[jumps] = 1.0
        self.v, self.step = np.where(better, v, self.v), np.where(better, spectral, self.step * shrink)
        better = better[:, None]
        self.S, self.h = np.where(better, trial, self.S), np.where(better, h, self.h)
        self.Z, self.G = np.where(better, Z, self.Z), np.where(better, G, self.G)
        self.move = np.where(better, move, 0.0)


_CARRIED = ("X", "pace", "S", "v", "h", "Z", "G", "step", "move")  # of each row of a descent


def _steepest(h: Array) -> Array:
    """The largest slope of each row, above 0, so that one can divide by it."""
    return np.asarray(np.maximum(np.maximum.reduce(np.abs(h), axis=1, initial=0.0), 1e-300))


class InnerSearch:
    """min over scenarios, for one function F: the adversary of one search.

    It remembers points whose values are low: likely worst cases of the decisions around them.
    """

    def __init__(self, oracle: Oracle, plan: Plan, spread: Array, known: Array) -> None:
        """With scenarios ``spread`` (m, q) to try for every decision, and points ``known`` (t, P) that may be low."""
        self.oracle, self.plan, self.region, self.spread = oracle, plan, oracle.region, spread
        self.unit = plan.unit
        self._low, self._low_values = known, oracle.at(known) if self.region.width else np.empty(0)

    def remember(self, Z: Array, v: Array) -> None:
        """Add these points to those that are known to be low."""
        if not self.region.width:  # each decision has only one point: others say nothing about it
            return
        self._low = np.concatenate([self._low, Z]) if len(self._low) else Z
        self._low_values = np.append(self._low_values, v)

    def near_low_points(self, X: Array, count: int) -> Array:
        """Scenarios (n, <= count, q) that turn each decision into low points nearby, or lead towards them."""
        region, n = self.region, len(X)
        if not len(self._low_values):
            return np.empty((n, 0, region.width))
        # First by how far a point is from all that the decision could reach in each column, on its own.
        low, high = region.reach(X)
        some = max(1, _IN_CACHE // len(self._low))
        ranks = [self._ranks(low[i : i + some], high[i : i + some], 2 * count) for i in range(0, max(n, 1), some)]
        near = np.concatenate(ranks)
        rows, Z = np.repeat(X, near.shape[1], axis=0), self._low[near.ravel()]
        S = region.scenario_of(rows, Z)
        # A point that is out of reach is worth less, the further the scenario stays behind.
        short = np.sqrt(np.sum((region.points(rows, S) - Z) ** 2, axis=1)).reshape(near.shape)
        chosen = lowest(self._low_values[near] + _SHORT * self.oracle.scale * short, count)
        return taken(S.reshape(*near.shape, region.width), chosen)

    def _ranks(self, low: Array, high: Array, count: int) -> Indices:
        """The low points that promise most in boxes from low to high (n, P), the best ones first (n, <= count)."""
        away = np.zeros((len(low), len(self._low)))
        for least, most, z in zip(low.T[:, :, None], high.T[:, :, None], self._low.T, strict=True):
            away += np.square(np.maximum(np.maximum(least - z, z - most), 0.0))
        return lowest(self._low_values + _SHORT * self.oracle.scale * np.sqrt(away), min(count, len(self._low)))

    def minima(self, X: Array, effort: Effort, also: Array | None = None) -> Minima:
        """Local minima of the decisions; scenarios ``also`` (n, m, q) are tried, too."""
        n, q = len(X), self.region.width
        if q == 0 or n == 0:
            alone = self.oracle.gradients(X, np.zeros((n, 1, q)))
            return Minima(alone.v, alone.S, alone.T)
        tried = [np.broadcast_to(self.spread[: effort.scan], (n, min(effort.scan, len(self.spread)), q))]
        tried += [self.near_low_points(X, effort.known)] + ([] if also is None else [also])
        S = self.oracle.project(X, np.concatenate(tried, axis=1))
        if effort.filling:
            S = np.concatenate([S, self.region.filling(X, self.unit[: effort.filling])], axis=1)
        m = min(effort.starts, S.shape[1])
        Z = self.region.points(*paired(X, S))
        starts = lowest_apart(self.oracle.at(Z).reshape(n, -1), S, Z.reshape(*S.shape[:2], -1), m)
        descent = Descent(self.oracle, *paired(X, taken(S, starts)), paced=effort.paced)
        for steps, share in ((3, 2), (5, 2), (effort.steps, 1)):
            # On the last leg a scenario must promise to come below the lowest one of its decision.
            goal = None if share > 1 else np.repeat(descent.v.reshape(n, m).min(axis=1), m)
            descent.advance(steps, effort.tolerance, goal)
            kept = max(1, m // share)
            best = lowest(descent.v.reshape(n, m), kept, descent.S.reshape(n, m, q) if effort.apart else None)
            descent.keep((best + m * np.arange(n)[:, None]).ravel())
            m = kept
        self._poll(descent, effort)
        descent.keep((lowest(descent.v.reshape(n, m), m) + m * np.arange(n)[:, None]).ravel())
        T = self.oracle.targets(descent.Z, descent.G)
        return Minima(*(part.reshape(n, m, *part.shape[1:]) for part in (descent.v, descent.S, T)))

    def _poll(self, descent: Descent, effort: Effort) -> None:
        """Jumps from all scenarios while one leads lower: across, to a discrete neighbour, or to a point around."""
        q, rows = self.region.width, np.arange(len(descent.v))
        across = np.concatenate([2 * np.eye(q), -2 * np.eye(q)])
        for _ in range(effort.polls):
            X, S = descent.X[rows], descent.S[rows]
            others = [self.region.other_scenarios(x, s, effort.jumps) for x, s in zip(X, S, strict=True)]
            owner = np.repeat(np.append(rows, rows), [2 * q] * len(rows) + [len(other) for other in others])
            trials = np.concatenate([(S[:, None] + across).reshape(-1, q), *others])
            S = self.region.project_inside(descent.X[owner], trials)
            if effort.polls > 1 and len(self._directions):
                around = self._around(descent.X[rows], descent.S[rows])
                owner, S = np.append(owner, np.repeat(rows, len(around) // len(rows))), np.concatenate([S, around])
            v = self.oracle.values(descent.X[owner], S)
            order = np.lexsort((v, owner))
            starts = order[np.searchsorted(owner[order], rows)]  # the lowest trial of each row
            trial = Descent(self.oracle, descent.X[rows], S[starts], paced=effort.paced)
            trial.advance(effort.steps // 2, effort.tolerance, descent.v[rows])
            lower = np.flatnonzero(trial.v < descent.v[rows] - POLLED * self.oracle.scale_of(trial.X))
            rows = rows[lower]
            descent.put(rows, trial, lower)
            if not len(rows):
                return

    def _around(self, X: Array, S: Array) -> Array:
        """Scenarios (n·k, q) that lead to points around each of these, near and less near, in their coordinates.

        A descent goes by scenarios. On a log scale, or where a set is cut off, it may hardly move where F does.
        """
        Z, (low, high) = self.region.points(X, S), self.region.reach(X)
        steps = np.multiply.outer(_AROUND, self._directions).reshape(-1, Z.shape[1])
        near = Z[:, None] + steps * (high - low)[:, None]
        return self.region.near(X, near).reshape(-1, S.shape[1])

    @cached_property
    def _directions(self) -> Array:
        """Axes of the columns that move (r, P), and for a few columns the diagonals, too: edges of sets lie askew."""
        moved = np.flatnonzero(self.region.moved)
        if not 0 < len(moved) <= _FEW:
            steps = np.concatenate([np.eye(len(moved)), -np.eye(len(moved))])
        else:
            steps = cartesian([np.array([[-1.0], [0.0], [1.0]])] * len(moved))
            steps = steps[np.abs(steps).sum(axis=1) > 0]
        out = np.zeros((len(steps), len(self.region.moved)))
        out[:, moved] = steps
        return out
