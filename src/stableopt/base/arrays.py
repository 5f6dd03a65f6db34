"""The few array helpers that both halves of the library (model and max-min) need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


def cartesian(blocks: Sequence[Array]) -> Array:
    """Every combination of one row from each block, side by side; the last block varies fastest."""
    if len(blocks) == 1:
        return blocks[0].copy()  # it may belong to somebody, who keeps it
    indices = np.indices([len(block) for block in blocks]).reshape(len(blocks), -1)
    return np.hstack([block[i] for block, i in zip(blocks, indices, strict=True)])


def between(X: Array, low: Array | float, high: Array | float) -> Array:
    """X, but no entry below ``low`` or above ``high``: `np.clip` without the time that it takes to begin."""
    return np.asarray(np.minimum(np.maximum(X, low), high))


def dots(A: Array, B: Array) -> Array:
    """The product of each row of A with the same row of B (n,)."""
    return np.asarray(np.einsum("ij,ij->i", A, B))


def squared_distances(X: Array, Z: Array) -> Array:
    """Of each row of X to each row of Z (n, m), the same to the last digit for equal rows."""
    found = np.zeros((len(X), len(Z)))
    for x, z in zip(X.T, Z.T, strict=True):
        found += (x[:, None] - z) ** 2
    return found


def frozen(array: AnyArray) -> AnyArray:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def low_discrepancy(count: int, dim: int, seed: int) -> Array:
    """Evenly spread points of the unit cube (count, dim): multiples of a generalised golden ratio, shifted at random.

    The ratio g solves g^(dim + 1) = g + 1, and the steps are g^-1, g^-2, ... (Roberts' R sequence).
    """
    g = 2.0
    for _ in range(60):
        g = (1 + g) ** (1 / (dim + 1))
    steps = g ** -np.arange(1.0, dim + 1)
    shift = np.random.default_rng([seed, dim]).random(dim)
    return np.asarray((shift + np.arange(1, count + 1)[:, None] * steps) % 1.0)
