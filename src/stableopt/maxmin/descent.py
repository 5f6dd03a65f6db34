"""The parts of the continuous max-min search: evaluation, descent of scenarios, direction of decisions, exact climb.

Everything works on whole batches of (decision, scenario) pairs; only the last climb, which polishes one decision,
goes pair by pair through the iterations of a solver.

Notation
    X (n, d), S (n, q)   decisions and scenarios, row by row; S (n, m, q) are m scenarios of each of n decisions
    v, g, h              values F(points(X, S)) and their gradients by the decision and by the scenario
    T (n, P)             targets of the adversary: the points, moved on against the gradient. If the decision moves, the
                         reply is close to the allowed scenario nearest to the target: it stays where F has a minimum
                         of its own, and goes along with the decision where the set holds it back.
    λ (n, m), Δ (n,)     weights of the active scenarios (they sum to 1), and the length of a proximal step
    p (n, d)             the step of a decision: argmax over p of min_i (v_i + g_i·p) − |p|²/2Δ within the box
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array, Indices

if TYPE_CHECKING:
    from stableopt.maxmin.continuous import Region, Smooth

FAR = 1e6  # coordinates are of the order of 1: what is this far away is projected onto an extreme scenario
_ROWS = 2048  # points evaluated together, which bounds the memory of a function with many observations
_ROUNDING = 1e-12
_HELD = 1e-9  # by so much the domain held a scenario back, and not rounding
_REACH = 0.3  # how far the adversary looks where F changes by its whole spread over a unit length
_STEP = 1e-6
_OFF = 1e-4
_CLOSER = np.array([1.0, 0.1, 0.01, 1e-4])
_ALIKE = 1e-4  # scenarios, of the order of 1: two that end in the same minimum
_PROMISE = 30.0  # steps: a scenario that would need more of the kind that it takes now does not reach its goal
_STILL = 1e-5  # of the spread: a step that promises less and leads nowhere is the last one


class Evaluated(NamedTuple):
    """F at pairs of decisions and scenarios."""

    v: Array
    g: Array
    h: Array
    T: Array


class Oracle:
    """F as a function of decisions and scenarios; it counts what it evaluates and knows the range of what it saw."""

    def __init__(self, region: Region, F: Smooth, budget: int, least: int = 1) -> None:
        self.region, self.F, self.budget = region, F, budget
        self.used, self._least = 0, least
        # A discrete coordinate is one that clipping leaves alone, however far away it is.
        away = np.zeros((1, region.dim)) - FAR
        self.movable: NDArray[np.bool_] = region.clip(away)[0] > away[0]
        self._low, self._high = np.inf, -np.inf

    @property
    def scale(self) -> float:
        """Spread of the values so far, above 0 even if all are equal."""
        size = max(abs(self._low), abs(self._high))
        return max(self._high - self._low, _ROUNDING * size, 1e-300)

    def left(self, share: float = 1.0) -> int:
        """How much of this share of the budget is left."""
        return int(share * self.budget) - self.used

    def at(self, Z: Array) -> Array:
        """F at points (n,)."""
        parts = [self.F(Z[i : i + _ROWS]) for i in range(0, len(Z), _ROWS)]
        v = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
        self._saw(v, 1)
        return v

    def values(self, X: Array, S: Array) -> Array:
        """v for S (n, q) as (n,), for S (n, m, q) as (n, m)."""
        if S.ndim == 2:
            return self.at(self.region.points(X, S))
        rows, flat = paired(X, S)
        return self.at(self.region.points(rows, flat)).reshape(S.shape[:2])

    def gradients(self, X: Array, S: Array) -> Evaluated:
        """v, g, h and T, shaped as S is."""
        if S.ndim == 3:
            rows, flat = paired(X, S)
            flat_parts = self.gradients(rows, flat)
            return Evaluated(*(part.reshape(*S.shape[:2], *part.shape[1:]) for part in flat_parts))
        Z = self.region.points(X, S)
        parts = [self.F.with_gradient(Z[i : i + _ROWS]) for i in range(0, len(Z), _ROWS)]
        v, G = parts[0] if len(parts) == 1 else (np.concatenate(part) for part in zip(*parts, strict=True))
        self._saw(v, 2)
        return Evaluated(v, *self.region.pull(X, S, G), Z - _REACH / self.scale * G)

    def anchored(self, X: Array, S: Array, T: Array) -> Array:
        """The targets (n, m, P), closer to the points where the way to them would lead away from these.

        This happens in narrow valleys and at edges, where a gradient says little about what is near.
        """
        (rows, flat), aims = paired(X, S), T.reshape(S.shape[0] * S.shape[1], T.shape[2])
        Z = self.region.points(rows, flat)
        near = Z[None] + np.multiply.outer(_CLOSER, aims - Z)
        many = np.tile(rows, (len(_CLOSER), 1))
        replies = self.region.points(many, self.region.scenario_of(many, near.reshape(len(many), T.shape[2])))
        off = np.abs(replies.reshape(near.shape) - Z).max(axis=2, initial=0.0) > _OFF
        off[-1] = False
        return np.asarray(near[np.argmin(off, axis=0), np.arange(len(rows))]).reshape(T.shape)

    def replies(self, x: Array, T: Array) -> tuple[Array, Array]:
        """Values (m,) and gradients by x (m, d) of the replies to one decision with targets T (m, P).

        How replies follow the decision is geometry, with edges of its own, and costs no evaluation: differences.
        """
        free = np.flatnonzero(self.movable)
        steps = np.where(x[free] > 0.5, -_STEP, _STEP)
        X = np.repeat(x[None], 1 + len(free), axis=0)
        X[np.arange(1, len(X)), free] += steps
        rows = np.repeat(X, len(T), axis=0)
        Z = self.region.points(rows, self.region.scenario_of(rows, np.tile(T, (len(X), 1))))
        Z = Z.reshape(len(X), *T.shape)
        v, G = self.F.with_gradient(Z[0])
        self._saw(v, 2)
        g = np.zeros((len(T), len(x)))
        g[:, free] = np.einsum("jmp,mp->mj", Z[1:] - Z[0], G) / steps
        return v, g

    def project(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios, for S (n, m, q)."""
        return self.region.project(*paired(X, S)).reshape(S.shape) if S.size else S

    def _saw(self, v: Array, cost: int) -> None:
        if len(v):
            self.used += cost * max(len(v), self._least)
            self._low, self._high = min(self._low, float(v.min())), max(self._high, float(v.max()))


class Descent:
    """Projected descent of many scenarios at once, each with its own spectral (Barzilai–Borwein) step."""

    def __init__(self, oracle: Oracle, X: Array, S: Array) -> None:
        """From scenarios S (r, q) of the decisions X (r, d)."""
        self.oracle, self.X, self.S = oracle, X, oracle.region.settle(X, S)
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
        """Steps until each scenario expects to lose less than the tolerance, in units of the oracle's scale.

        With a ``goal`` (r,), a scenario ends where it does not promise to come below that.
        """
        moving: Indices = np.arange(len(self.S))
        for _ in range(steps if self.S.shape[1] else 0):
            h, step = self.h[moving], self.step[moving]
            aim = self.S[moving] - step[:, None] * h
            trial = self.oracle.region.settle(self.X[moving], aim)
            move = trial - self.S[moving]
            slope = np.einsum("ij,ij->i", move, h)
            stuck = slope >= -tolerance * self.oracle.scale
            waiting = self._shortened(moving, np.flatnonzero(stuck), aim, trial)
            jumps = self._further(moving, trial, move)
            if goal is not None:
                stuck |= self.v[moving] + _PROMISE * slope > goal[moving]
            go = np.flatnonzero(~stuck)
            moving = moving[go]
            if len(moving):
                self._step(moving, trial[go], trial[go] - self.S[moving], slope[go], jumps[go])
            moving = np.concatenate([moving, waiting])
            if not len(moving):
                return

    def _shortened(self, moving: Indices, stuck: Indices, aim: Array, trial: Array) -> Indices:
        """Those of the stuck rows that may go on with a shorter step, which they get.

        A set within a domain may know only roughly what is nearest: a long step leads nowhere then, a shorter one down.
        """
        if self.oracle.region.exact:
            return moving[:0]
        h, step = self.h[moving[stuck]], self.step[moving[stuck]]
        least = _STILL * self.oracle.scale / np.maximum(np.einsum("ij,ij->i", h, h), 1e-300)
        longer = step > least
        stuck, least, step = stuck[longer], least[longer], step[longer]
        projected = self.oracle.region.project(self.X[moving[stuck]], aim[stuck])
        held = np.abs(projected - trial[stuck]).max(axis=1, initial=0.0) > _HELD
        self.step[moving[stuck]] = np.where(held, 0.1 * step, least)
        return moving[stuck]

    def _further(self, at: Indices, trial: Array, move: Array) -> NDArray[np.bool_]:
        """Change the trials of rows that go on and on in one direction by less and less to their limit, and say whose.

        Along the edge of a set, steps shrink by a constant factor however long they would be without it (Aitken's
        rule). A jump that does not lead down is not repeated.
        """
        last = self.move[at]
        shrink = np.einsum("ij,ij->i", move, last) / np.maximum(np.einsum("ij,ij->i", last, last), 1e-300)
        jumps: NDArray[np.bool_] = (shrink > 0.3) & (shrink < 0.99)
        rows = np.flatnonzero(jumps)
        if len(rows):
            limit = self.S[at[rows]] + move[rows] / (1 - shrink[rows])[:, None]
            trial[rows] = self.oracle.region.settle(self.X[at[rows]], limit)
        return jumps

    def _step(self, at: Indices, trial: Array, move: Array, slope: Array, jumps: NDArray[np.bool_]) -> None:
        """Go to the trial scenarios where they are lower; find out how far to go the next time."""
        v, h, step = self.v[at], self.h[at], self.step[at]
        new_v, new_g, new_h, new_T = self.oracle.gradients(self.X[at], trial)
        bend = np.einsum("ij,ij->i", move, new_h - h)
        length = np.einsum("ij,ij->i", move, move)
        # A concave direction has no minimum of its own: go four times as far, the projection ends it.
        spectral = np.where(bend > 0.25 * length / step, length / np.where(bend > 0, bend, 1.0), 4 * step)
        spectral = np.minimum(spectral, 4.0 / np.maximum(np.abs(new_h).max(axis=1), 1e-300))
        rise = new_v - v - slope
        shrunk = step * np.where(jumps, 1.0, np.clip(-slope / (2 * np.where(rise > 0, rise, np.inf)), 0.1, 0.5))
        better = new_v < v
        self.step[at] = np.where(better, spectral, shrunk)
        self.move[at] = np.where(better[:, None], move, 0.0)
        at = at[better]
        for old, new in ((self.S, trial), (self.v, new_v), (self.g, new_g), (self.h, new_h), (self.T, new_T)):
            old[at] = new[better]


def paired(X: Array, S: Array) -> tuple[Array, Array]:
    """Decisions (n, d) and their m scenarios (n, m, q) as n·m rows."""
    return np.repeat(X, S.shape[1], axis=0), S.reshape(S.shape[0] * S.shape[1], S.shape[2])


def lowest(V: Array, m: int, apart: Array | None = None) -> NDArray[np.intp]:
    """Columns of the m smallest values of each row, increasing (n, m).

    With scenarios ``apart`` (n, k, q), those that are almost the same as the next lower one come last.
    """
    order = np.argsort(V, axis=1, kind="stable")
    if apart is not None:
        S = np.take_along_axis(apart, order[:, :, None], axis=1)
        same = np.zeros(V.shape, dtype=bool)
        same[:, 1:] = np.abs(np.diff(S, axis=1)).max(axis=2, initial=0.0) < _ALIKE
        order = np.take_along_axis(order, np.argsort(same, axis=1, kind="stable"), axis=1)
    return order[:, :m]


def spread_out(X: Array, v: Array, count: int) -> Indices:
    """The highest rows that keep a distance from each other, which shrinks only as far as needed for this many."""
    order: Indices = np.argsort(-v, kind="stable")
    if len(order) <= count:
        return order
    P = X[order]
    nearest = np.sum((P - P[0]) ** 2, axis=1)
    nearest[0] = -np.inf
    apart = 0.5 * float(np.median(nearest)) * count ** (-2 / max(P.shape[1], 1))
    chosen = [0]
    while len(chosen) < count:
        free = nearest > apart
        following = int(np.argmax(free))
        if not free[following]:
            apart = 0.25 * apart if apart > _ROUNDING else -1.0
            continue
        chosen.append(following)
        nearest = np.minimum(nearest, np.sum((P - P[following]) ** 2, axis=1))
        nearest[following] = -np.inf
    return order[chosen]


def ascent(
    region: Region, X: Array, V: Array, G: Array, length: Array, weights: Array, steps: int = 12
) -> tuple[Array, Array, Array]:
    """The step p of every decision, the rise that it promises (n,), and λ to start from the next time.

    The dual min over λ in the simplex of λ·v + max_p (Gᵀλ·p − |p|²/2Δ) has the derivative v + G p(λ), where p(λ) is
    the projection of Δ Gᵀλ into the box: accelerated projected gradient, all decisions together. ``length`` is that of
    a step along the steepest of the gradients.
    """
    squares = np.einsum("kmd,kmd->km", G, G)
    size = np.maximum(np.sqrt(squares.max(axis=1)), 1e-300)
    delta = length / size
    rate = 1.0 / np.maximum(delta * squares.sum(axis=1), 1e-300)

    def step(lam: Array) -> Array:
        return region.clip(X + delta[:, None] * np.matmul(lam[:, None], G)[:, 0]) - X

    V = V - V.min(axis=1, keepdims=True)
    lam = ahead = weights
    momentum = 1.0
    for _ in range(steps if V.shape[1] > 1 else 0):
        slope = V + np.matmul(G, step(ahead)[:, :, None])[:, :, 0]
        new = onto_simplex(ahead - rate[:, None] * slope)
        following = 0.5 + np.sqrt(0.25 + momentum**2)
        ahead = new + (momentum - 1) / following * (new - lam)
        lam, momentum = new, following
    p = step(lam)
    promised = (V + np.matmul(G, p[:, :, None])[:, :, 0]).min(axis=1)
    return p, promised, lam


def onto_simplex(W: Array) -> Array:
    """The nearest non-negative rows that sum to 1."""
    ordered = -np.sort(-W, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, W.shape[1] + 1)
    return np.asarray(np.maximum(W - excess.max(axis=1, keepdims=True), 0.0))


def highest(v: Array, count: int) -> Indices:
    """Rows of the largest values, the largest first."""
    return np.argsort(-v, kind="stable")[:count]


def size(h: Array) -> Array:
    """Length of each gradient, above 0."""
    return np.asarray(np.maximum(np.sqrt(np.sum(h * h, axis=-1, keepdims=True)), 1e-300))


class _Enough(Exception):  # noqa: N818
    """Ends a climb."""


def climb(oracle: Oracle, x: Array, T: Array, radius: float, steps: int) -> tuple[Array, float, Indices]:
    """A decision near x with a locally largest min over the replies to it, that value, and the order of the replies.

    Maximises τ over (x, τ) with F ≥ τ at the replies with targets T (m, P), by sequential quadratic programming within
    a box around x.
    """
    from scipy.optimize import Bounds, minimize

    m = len(T)
    lower, upper = oracle.region.clip(x + radius * np.array([[-1.0], [1.0]]))
    lower, upper = np.where(oracle.movable, lower, x), np.where(oracle.movable, upper, x)
    v, g = oracle.replies(x, T)
    first, scale = float(v.min()), oracle.scale
    best, last = (x, v), (x, v, g)
    most = oracle.used + 2 * m * (steps + 5)  # at a kink a line search would go on for long

    def evaluated(u: Array) -> tuple[Array, Array]:
        nonlocal best, last
        if not np.array_equal(u[:-1], last[0]):
            y = np.clip(u[:-1], lower, upper)
            if oracle.used > most:
                raise _Enough
            v, g = oracle.replies(y, T)
            last = u[:-1].copy(), v, g
            if v.min() > best[1].min():
                best = y, v
        return last[1:]

    jacobian = np.full((m, len(x) + 1), -1.0)

    def rooms(u: Array) -> Array:
        return np.asarray((evaluated(u)[0] - first) / scale - u[-1])

    def slopes(u: Array) -> Array:
        jacobian[:, :-1] = evaluated(u)[1] / scale
        return jacobian

    down = np.append(np.zeros(len(x)), -1.0)
    settings: dict[str, Any] = {
        "jac": lambda u: down,
        "bounds": Bounds(np.append(lower, -np.inf), np.append(upper, np.inf)),
        "constraints": {"type": "ineq", "fun": rooms, "jac": slopes},
        "options": {"maxiter": steps, "ftol": 1e-8},
    }
    with contextlib.suppress(_Enough):
        minimize(lambda u: float(-u[-1]), np.append(x, 0.0), method="SLSQP", **settings)  # type: ignore[call-overload]
    return best[0], float(best[1].min()), np.argsort(best[1], kind="stable")
