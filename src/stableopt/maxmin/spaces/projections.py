"""The nearest points of unit balls, also where the domain cuts a part of them off."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array, Indices, between, dots

_TURNS = 30  # of iterations that end after a few
_CLOSE = 1e-12  # to the sphere, or to a slab


def into_ball(S: Array) -> Array:
    """The nearest points of the l2 unit ball."""
    return np.asarray(S / np.maximum(1.0, np.sqrt(dots(S, S)))[:, None])


def into_ball_within(S: Array, low: Array, high: Array) -> Array:
    """The nearest points of the l2 unit ball between low <= 0 and high >= 0.

    They are clip(μ·s) with the largest μ <= 1 that leads into the ball. A coordinate that is held by its end leaves
    more of the ball to the others. So μ grows from where no end holds, and one that is held stays held.
    """
    inside = into_ball(S)
    outside = (inside < low) | (inside > high)
    if not outside.any():
        return inside
    beyond = np.flatnonzero(outside.any(axis=1))
    inside[beyond] = clipped = between(S[beyond], low[beyond], high[beyond])
    rows = beyond[dots(clipped, clipped) > 1.0]
    if not len(rows):
        return inside
    S, low, high = S[rows], low[rows], high[rows]
    size, ends = np.abs(S), np.where(S > 0, high, -low)
    mu = 1 / np.sqrt(dots(size, size))
    for _ in range(S.shape[1]):
        held = size * mu[:, None] > ends
        fixed, free = np.where(held, ends, 0.0), np.where(held, 0.0, size)
        before, mu = mu, np.sqrt(np.maximum(1.0 - dots(fixed, fixed), 0.0) / np.maximum(dots(free, free), 1e-300))
        mu = np.maximum(mu, before)  # rounding could say otherwise
        if (mu <= before).all():
            break
    inside[rows] = between(mu[:, None] * S, low, high)
    return inside


def into_l1_within(S: Array, low: Array | float, high: Array | float) -> Array:
    """The nearest points of the l1 unit ball between low <= 0 and high >= 0.

    All coordinates shrink by the same amount λ, none beyond 0, and are clipped; the sum is linear in λ between the
    amounts at which a coordinate leaves its end or reaches 0.
    """
    inside = np.clip(S, low, high)
    rows = np.flatnonzero(np.abs(inside).sum(axis=1) > 1.0)
    if not len(rows):
        return inside
    size, ends = np.abs(S)[rows], np.where(S > 0, high, np.negative(low))[rows]
    q, at = S.shape[1], np.arange(len(rows))
    amounts = np.hstack([np.maximum(size - ends, 0.0), size])  # a coordinate begins to shrink, and has shrunk to 0
    order = np.argsort(amounts, axis=1, kind="stable")
    amounts = np.take_along_axis(amounts, order, axis=1)
    shrinking = np.cumsum(np.where(order < q, 1.0, -1.0), axis=1)
    sums = np.minimum(size, ends).sum(axis=1, keepdims=True)
    sums = sums - np.cumsum(shrinking[:, :-1] * np.diff(amounts, axis=1), axis=1)  # at all amounts but the first
    last = np.argmax(sums <= np.maximum(sums.min(axis=1, keepdims=True), 1.0), axis=1)
    amount = amounts[at, last + 1] - np.maximum(1.0 - sums[at, last], 0.0) / np.maximum(shrinking[at, last], 1.0)
    size = np.clip(size - amount[:, None], 0.0, ends)
    # From far away, the difference of large numbers may leave a sum above 1 by rounding.
    inside[rows] = np.sign(S[rows]) * size / np.maximum(1.0, size.sum(axis=1, keepdims=True))
    return inside


class SlicedBall:
    """The l2 unit ball between slabs, lower <= R s <= upper: what the ends of ranges leave of an ellipsoid.

    The nearest point to t is the projection of a·t into the slabs alone, with the largest a <= 1 that leads into the
    ball: a multiplier of the ball only shortens t. While the same slabs hold it, this projection is linear in a, so
    Newton's method for its length ends after a few steps. Which slabs hold is found by a primal-dual active set method.
    """

    def __init__(self, root: Array) -> None:
        self._size = np.linalg.norm(root, axis=1)
        self._root = root / self._size[:, None]  # rows in units of their length
        self._inverse = np.linalg.inv(self._root)
        self._metric = self._inverse.T @ self._inverse

    def nearest(self, T: Array, lower: Array, upper: Array) -> Array:
        """The nearest points to the rows of T, row by row, where lower <= 0 <= upper."""
        lower, upper = lower / self._size, upper / self._size
        length = np.maximum(np.linalg.norm(T, axis=1, keepdims=True), 1.0)
        towards, most = T / length @ self._root.T, length[:, 0]  # a is counted in units of the length of t
        S, side = np.empty(T.shape), np.zeros(T.shape, dtype=int)
        low, high, a = np.zeros(len(T)), most.copy(), most.copy()
        rows = np.arange(len(T))
        for _ in range(_TURNS):
            fixed, along, side[rows] = self._held(towards[rows], a[rows], lower[rows], upper[rows], side[rows])
            fixed, along = fixed @ self._inverse.T, along @ self._inverse.T
            S[rows] = fixed + a[rows, None] * along
            length = np.linalg.norm(S[rows], axis=1)
            inside = length <= 1.0
            low[rows], high[rows] = np.where(inside, a[rows], low[rows]), np.where(inside, high[rows], a[rows])
            going = np.flatnonzero(~(inside & ((a[rows] == most[rows]) | (length > 1 - _CLOSE))))
            if not len(going):
                break
            rows, fixed, along = rows[going], fixed[going], along[going]
            # Where |fixed + a·along| = 1; outside the bracket, the middle of it.
            p, q = np.einsum("ij,ij->i", along, fixed), np.maximum(np.einsum("ij,ij->i", along, along), 1e-300)
            root = p * p - q * (np.einsum("ij,ij->i", fixed, fixed) - 1.0 + _CLOSE / 2)
            step = (np.sqrt(np.maximum(root, 0.0)) - p) / q
            within = (root >= 0) & (step > low[rows]) & (step < high[rows])
            a[rows] = np.where(within, step, (low[rows] + high[rows]) / 2)
        return np.asarray(S / np.maximum(1.0, np.linalg.norm(S, axis=1, keepdims=True)))

    def _held(self, W: Array, a: Array, lower: Array, upper: Array, side: Indices) -> tuple[Array, Array, Indices]:
        """The nearest z = R s to a·w between the slabs, as z = fixed + a·along, and which slabs hold it (−1, 0, +1)."""
        k = W.shape[1]
        goal = W @ self._metric
        for turn in range(_TURNS + 2**k):
            held, bound = side != 0, np.where(side > 0, upper, lower)
            matrix = np.where(held[:, :, None], np.eye(k), self._metric)
            right = np.stack([np.where(held, bound, 0.0), np.where(held, 0.0, goal)], axis=2)
            fixed, along = np.moveaxis(np.linalg.solve(matrix, right), 2, 0)
            z = fixed + a[:, None] * along
            pull = a[:, None] * goal - z @ self._metric
            rounding = _CLOSE * (1.0 + np.abs(z))
            up = np.where(side > 0, pull > 0, z > upper + rounding)
            down = np.where(side < 0, pull < 0, z < lower - rounding)
            new = up.astype(int) - down
            changed = new != side
            if not changed.any():
                break
            if turn > k + 3:  # all changes at once may go round in circles; one at a time they do not (Murty)
                new = np.where(changed & (np.cumsum(changed, axis=1) == 1), new, side)
            side = new
        return fixed, along, side
