"""One step of many decisions at once: up on the smallest of their active scenarios, which is not smooth.

Each active scenario is a plane over the decision: its value and its gradient. The smallest of the planes is concave
and has kinks, where a gradient leads nowhere. The proximal step of bundle methods (Kiwiel; Lemaréchal) takes all planes
into account and stays near.

Notation
    v (n, m), g (n, m, d)   values and gradients by the decision, of m active scenarios each
    λ (n, m)                weights of the scenarios; non-negative, their sum is 1
    Δ (n,)                  length of a step for a gradient of length 1
    p (n, d)                the step: argmax over p of min_i (v_i + g_i·p) − |p|²/2Δ within the box
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.protocols import Region


class Planes(NamedTuple):
    """Active scenarios of decisions, to first order."""

    V: Array  # (n, m)
    G: Array  # (n, m, d)


def proximal_step(
    region: Region, X: Array, planes: Planes, length: Array, weights: Array, steps: int = 12
) -> tuple[Array, Array, Array]:
    """The step p of every decision, the rise that it promises (n,), and λ to start from the next time.

    ``length`` (n,) is that of a step along the steepest of the gradients. The dual problem, min over λ in the simplex
    of λ·v + max_p (gᵀλ·p − |p|²/2Δ), has the derivative v + g p(λ), where p(λ) is the projection of Δ gᵀλ into the
    box. It is solved by accelerated projected gradient (Nesterov's momentum), all decisions together.
    """
    V, G = planes
    squares = np.einsum("kmd,kmd->km", G, G)
    delta = length / np.maximum(np.sqrt(squares.max(axis=1)), 1e-300)
    rate = 1.0 / np.maximum(delta * squares.sum(axis=1), 1e-300)  # 1/L, L a bound on the curvature of the dual

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
