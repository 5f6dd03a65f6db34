"""The nearest points of unit balls, and of what the ends of a domain leave of them: all rows at once, exactly."""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array


def into_ball(S: Array) -> Array:
    """The nearest points of the l2 unit ball."""
    return np.asarray(S / np.maximum(1.0, np.linalg.norm(S, axis=1, keepdims=True)))


def into_ball_within(S: Array, low: Array, high: Array) -> Array:
    """The nearest points of the l2 unit ball between low <= 0 and high >= 0.

    They are clip(μ·s) with the largest μ <= 1 that leads into the ball. While μ grows, one coordinate after the other
    reaches its end, and between two of these moments the square of the length is a parabola.
    """
    inside = into_ball(S)
    beyond = np.flatnonzero(((inside < low) | (inside > high)).any(axis=1))
    if not len(beyond):
        return inside
    inside[beyond] = clipped = np.clip(S[beyond], low[beyond], high[beyond])
    rows = beyond[np.einsum("ij,ij->i", clipped, clipped) > 1.0]
    if not len(rows):
        return inside
    S, low, high = S[rows], low[rows], high[rows]
    size, ends = np.abs(S), np.where(S > 0, high, -low)
    moments = np.divide(ends, size, out=np.ones(size.shape), where=size > ends)
    order = np.argsort(moments, axis=1)
    moments = np.take_along_axis(moments, order, axis=1)
    held = np.cumsum(np.take_along_axis(ends, order, axis=1) ** 2, axis=1)
    free = np.take_along_axis(size, order, axis=1) ** 2
    free = np.cumsum(free[:, ::-1], axis=1)[:, ::-1]  # of those that have not reached their end at each moment
    held = np.column_stack([np.zeros(len(rows)), held[:, :-1]])
    squares = held + moments**2 * free
    # The first moment outside the ball. All rows here end outside; should rounding deny it, the longest counts.
    first = np.argmax(squares >= np.minimum(squares.max(axis=1, keepdims=True), 1.0), axis=1)
    at = np.arange(len(rows)), first
    mu = np.sqrt(np.maximum(1.0 - held[at], 0.0) / np.maximum(free[at], 1e-300))
    # Not before the last moment inside: with a corner on the sphere, rounding could say so.
    mu = np.maximum(mu, np.where(first > 0, moments[at[0], first - 1], 0.0))
    inside[rows] = np.clip(mu[:, None] * S, low, high)
    return inside


def into_l1_within(S: Array, low: Array | float = -np.inf, high: Array | float = np.inf) -> Array:
    """The nearest points of the l1 unit ball between low <= 0 and high >= 0.

    All coordinates shrink by the same amount λ, none beyond 0, and are clipped; the sum is linear in λ between the
    amounts at which a coordinate leaves its end or reaches 0.
    """
    inside = np.clip(S, low, high)
    rows = np.flatnonzero(np.abs(inside).sum(axis=1) > 1.0)
    if not len(rows):
        return inside
    size, ends = np.abs(S), np.where(S > 0, high, np.negative(low))
    size, ends = size[rows], ends[rows]
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
