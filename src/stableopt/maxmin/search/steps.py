"""Steps of decisions: which rows of a batch go on, the proximal step of many decisions, and the exact climb of one.

Both steps lead up on the smallest of some active scenarios, which is concave at best and has kinks, where a gradient
leads nowhere. `proximal_step` sees a plane for each of them, `climb` evaluates their replies.

Notation
    v (n, m), g (n, m, d)   values and gradients by the decision, of m active scenarios each
    λ (n, m)                weights of the scenarios; non-negative, their sum is 1
    Δ (n,)                  length of a step for a gradient of length 1
    p (n, d)                the step: argmax over p of min_i (v_i + g_i·p) − |p|²/2Δ within the box
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np

from stableopt.base.arrays import AnyArray, Array, Indices, between
from stableopt.maxmin.search.oracle import FAR, Oracle
from stableopt.maxmin.solver import Region

_NEARBY = 1.5  # times k^(−1/q), which is the distance of k evenly spread points in a box with q dimensions
_MANY, _FEW = 32, 8  # rows of which few values are wanted: so many rows, and so many times fewer values
_ALIKE = 1e-4  # scenarios, of the order of 1: two that end in the same minimum


def norms(H: Array) -> Array:
    """Length of each gradient (..., 1), above 0, so that one can divide by it."""
    return np.asarray(np.maximum(np.sqrt(np.sum(H * H, axis=-1, keepdims=True)), 1e-300))


def taken(S: AnyArray, columns: Indices) -> AnyArray:
    """Of each row of S (n, m, ...) what is in these columns (n, k): `np.take_along_axis`, but much faster."""
    return S[np.arange(len(S))[:, None], columns]  # type: ignore[return-value]


def highest(v: Array, count: int) -> Indices:
    """Rows of the largest values, the largest first."""
    return np.argsort(-v, kind="stable")[:count]


def lowest(V: Array, m: int, apart: Array | None = None) -> Indices:
    """Columns of the m smallest values of each row, increasing (n, m).

    With scenarios ``apart`` (n, k, q), those that are almost the same as the next lower one come last.
    """
    if apart is None and len(V) > _MANY and _FEW * m <= V.shape[1]:
        return _one_by_one(V, m)
    order = np.argsort(V, axis=1, kind="stable")
    if apart is not None:
        S = taken(apart, order)
        same = np.zeros(V.shape, dtype=bool)
        same[:, 1:] = np.abs(np.diff(S, axis=1)).max(axis=2, initial=0.0) < _ALIKE
        order = taken(order, np.argsort(same, axis=1, kind="stable"))
    return order[:, :m]


def _one_by_one(V: Array, m: int) -> Indices:
    """Columns of the m smallest values of each row, increasing: faster than to sort rows of which few are wanted."""
    V, found, rows = V.copy(), np.empty((len(V), m), dtype=np.intp), np.arange(len(V))
    for i in range(m):
        found[:, i] = V.argmin(axis=1)
        V[rows, found[:, i]] = np.inf
    return found


def lowest_apart(V: Array, S: Array, Z: Array, m: int) -> Indices:
    """Columns of m low values of each row (n, m): first those without a lower one nearby, so one for each basin.

    The lowest of very many points often lie in one basin, and no other would ever be descended. Two are near if both
    their scenarios S (n, k, q) and their points Z (n, k, P) are: closer than k of them that fill the same box, about.
    """
    k, q = S.shape[1:]
    order = np.argsort(V, axis=1, kind="stable")
    if m == 1 or k <= m:
        return order[:, :m]
    widths, rows = np.ptp(Z, axis=1, keepdims=True), np.arange(len(V))[:, None]
    places = np.concatenate([(Z - Z[:, :1]) / np.where(widths > 0, widths, 1.0), S / 2], axis=2)[rows, order]
    half = np.einsum("ijk,ijk->ij", places, places) / 2
    enough = half - (_NEARBY * k ** (-1 / q)) ** 2  # |a − b|² < 2r² where a·b − |a|²/2 > |b|²/2 − r²
    has_lower = np.ones(V.shape, dtype=bool)
    # Whether one is first in its basin depends on lower ones only. So most often a part of them says enough; and in
    # parts, since large arrays take longer to get than to fill.
    for start in range(0, k, 4 * m):
        some, lower = slice(start, start + 4 * m), slice(0, start + 4 * m)
        product = np.matmul(places[:, some], places[:, lower].transpose(0, 2, 1))
        product -= half[:, some, None]
        has_lower[:, some] = np.argmax(product > enough[:, None, lower], axis=2) < np.arange(k)[some]
        if lower.stop - has_lower[:, lower].sum(axis=1).max() >= m:
            break
    return np.asarray(order[rows, np.argsort(has_lower, axis=1, kind="stable")[:, :m]])


def spread_out(X: Array, v: Array, count: int) -> Indices:
    """The highest rows that keep a distance from each other; it shrinks only as far as needed for this many."""
    order = highest(v, len(v))
    if len(order) <= count:
        return order
    P = X[order]
    nearest = np.sum((P - P[0]) ** 2, axis=1)  # squared distance to the nearest row that is chosen
    nearest[0] = -np.inf
    # Half of the distance that so many rows would have if they filled the space around the highest one.
    apart = 0.5 * float(np.median(nearest)) * count ** (-2 / max(P.shape[1], 1))
    chosen = [0]
    while len(chosen) < count:
        free = nearest > apart
        following = int(np.argmax(free))  # the highest of those that are far enough from all chosen ones
        if not free[following]:
            apart = 0.25 * apart if apart > 1e-12 else -1.0
            continue
        chosen.append(following)
        nearest = np.minimum(nearest, np.sum((P - P[following]) ** 2, axis=1))
        nearest[following] = -np.inf
    return order[chosen]


class Planes(NamedTuple):
    """Active scenarios of decisions, to first order: values (n, m) and gradients (n, m, d)."""

    V: Array
    G: Array


def proximal_step(
    region: Region, X: Array, planes: Planes, length: Array, weights: Array, steps: int = 12
) -> tuple[Array, Array, Array]:
    """The step p of every decision, the rise that it promises (n,), and λ to start from the next time.

    It is the step of bundle methods (Kiwiel; Lemaréchal), which takes all planes into account and stays near; with
    ``length`` (n,) along the steepest of the gradients. The dual problem, min over λ in the simplex of
    λ·v + max_p (gᵀλ·p − |p|²/2Δ), has the derivative v + g p(λ), where p(λ) is the projection of Δ gᵀλ into the box.
    It is solved by accelerated projected gradient (Nesterov's momentum), all decisions together.
    """
    V, G = planes
    squares = np.einsum("kmd,kmd->km", G, G)
    delta = length / np.maximum(np.sqrt(squares.max(axis=1)), 1e-300)
    V = V - V.min(axis=1, keepdims=True)
    rate = 1.0 / np.maximum(delta * squares.sum(axis=1), 1e-300)  # 1/L, L a bound on the curvature of the dual
    rate = np.minimum(rate, 1e300 / np.maximum(V.max(axis=1), 1.0))  # where no gradient is left, and values are huge

    far = FAR * np.ones((1, X.shape[1]))
    down, up = region.clip(X - far) - X, region.clip(X + far) - X
    longer = delta[:, None, None] * G

    def step(lam: Array) -> Array:
        return between(np.matmul(lam[:, None], longer)[:, 0], down, up)

    lam = ahead = weights
    momentum, rate = 1.0, rate[:, None]
    for _ in range(steps if V.shape[1] > 1 else 0):
        slope = np.matmul(G, step(ahead)[:, :, None])[:, :, 0]
        slope += V
        slope *= rate
        new = onto_simplex(ahead - slope)
        following = 0.5 + math.sqrt(0.25 + momentum**2)
        ahead = new - lam
        ahead *= (momentum - 1) / following
        ahead += new
        lam, momentum = new, following
    p = step(lam)
    return p, (V + np.matmul(G, p[:, :, None])[:, :, 0]).min(axis=1), lam


def onto_simplex(W: Array) -> Array:
    """The nearest non-negative rows that sum to 1."""
    ordered = W.copy()
    ordered.sort(axis=1)
    excess = np.add.accumulate(ordered[:, ::-1], axis=1)
    excess -= 1.0
    excess /= np.arange(1, W.shape[1] + 1)
    nearest = W - np.maximum.reduce(excess, axis=1, keepdims=True)
    return np.asarray(np.maximum(nearest, 0.0, out=nearest))


class _Enough(Exception):  # noqa: N818
    """Ends a climb: the solver has no other way to be stopped from within."""


def climb(oracle: Oracle, x: Array, T: Array, radius: float, steps: int) -> tuple[Array, float, Indices]:
    """A decision near x with a locally largest min over the replies to it, that value, and the order of the replies.

        maximise τ over (x, τ)   with   F(reply_i(x)) >= τ for i = 1..m   and   |x − x_0| <= radius

    This is the master problem of an exchange method, on the replies with the targets T (m, P), solved by sequential
    quadratic programming. The lowest reply comes first in the order. If nothing better is found, the decision is x.
    """
    from scipy.optimize import Bounds, minimize

    m = len(T)
    ends = oracle.region.clip(x + radius * np.array([[-1.0], [1.0]]))
    lower, upper = np.where(oracle.movable, ends, x)
    v, g = oracle.replies(x, T)
    first, scale = float(v.min()), oracle.scale
    best, last = (x, v), (x, v, g)
    most = oracle.budget.used + 2 * m * (steps + 5)  # at a kink a line search would go on for long

    def evaluated(u: Array) -> tuple[Array, Array]:
        """Values and gradients at u = (x, τ); the solver asks for both one after the other."""
        nonlocal best, last
        if not np.array_equal(u[:-1], last[0]):
            y = np.clip(u[:-1], lower, upper)
            if oracle.budget.used > most:
                raise _Enough
            v, g = oracle.replies(y, T)
            last = u[:-1].copy(), v, g
            if v.min() > best[1].min():
                best = y, v
        return last[1:]

    def slacks(u: Array) -> Array:
        """F(reply_i(x)) − τ, in units of the spread of F, from the first value on."""
        return np.asarray((evaluated(u)[0] - first) / scale - u[-1])

    jacobian = np.full((m, len(x) + 1), -1.0)

    def slopes(u: Array) -> Array:
        jacobian[:, :-1] = evaluated(u)[1] / scale
        return jacobian

    down = np.append(np.zeros(len(x)), -1.0)
    settings: dict[str, Any] = {
        "jac": lambda u: down,
        "bounds": Bounds(np.append(lower, -np.inf), np.append(upper, np.inf)),
        "constraints": {"type": "ineq", "fun": slacks, "jac": slopes},
        "options": {"maxiter": steps, "ftol": 1e-8},
    }
    with contextlib.suppress(_Enough):
        minimize(lambda u: float(-u[-1]), np.append(x, 0.0), method="SLSQP", **settings)  # type: ignore[call-overload]
    return best[0], float(best[1].min()), np.argsort(best[1], kind="stable")
