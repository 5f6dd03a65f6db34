"""Rows and columns of batches: pairs of decisions and scenarios, the highest, the lowest, those far apart, others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array, Indices

_ALIKE = 1e-4  # scenarios, of the order of 1: two that end in the same minimum
_ROUNDING = 1e-12


def paired(X: Array, S: Array) -> tuple[Array, Array]:
    """Decisions (n, d) and their m scenarios (n, m, q) as n·m rows."""
    return np.repeat(X, S.shape[1], axis=0), S.reshape(S.shape[0] * S.shape[1], S.shape[2])


def norms(H: Array) -> Array:
    """Length of each gradient (..., 1), above 0, so that one can divide by it."""
    return np.asarray(np.maximum(np.sqrt(np.sum(H * H, axis=-1, keepdims=True)), 1e-300))


def highest(v: Array, count: int) -> Indices:
    """Rows of the largest values, the largest first."""
    return np.argsort(-v, kind="stable")[:count]


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
    """The highest rows that keep a distance from each other; it shrinks only as far as needed for this many."""
    order: Indices = np.argsort(-v, kind="stable")
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
            apart = 0.25 * apart if apart > _ROUNDING else -1.0
            continue
        chosen.append(following)
        nearest = np.minimum(nearest, np.sum((P - P[following]) ** 2, axis=1))
        nearest[following] = -np.inf
    return order[chosen]


def other_rows(rows: Array, own: int) -> Indices:
    """Numbers of rows to jump to from one of them: all others, or of many the nearest ones and some far away."""
    m = len(rows)
    near: Indices = np.arange(m)
    if m > 64:
        near = np.argsort(np.abs(rows - rows[own]).sum(axis=1), kind="stable")
        near = np.concatenate([near[:32], near[32 :: max(1, (m - 32) // 32)]])
    return np.asarray(near[near != own])
