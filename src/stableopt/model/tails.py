"""Noise with heavy tails: an observation that is far from what all others say of it loses its weight.

The noise is Student's t with ν degrees of freedom: a normal one whose variance σ²/w has an unknown w for every
observation. Given the rest, the expected w has a closed form (the step E of the EM algorithm). Here it is taken from
the leave-one-out residual: an outlier pulls the model towards itself, and would look innocent in its own company.

Notation (see `residuals`)
    e_i, g_i   the residual of y_i from the posterior of the others, and the variance of f there
    σ_i        the usual noise of the observation: the model's, or its own
    w_i        (ν + 1)/(ν + e_i²/(g_i + σ_i²))
    n_i        the noise that it counts with instead: n_i² = (g_i + σ_i²)/w_i − g_i
"""

from __future__ import annotations

import numpy as np

from stableopt.base.arrays import Array
from stableopt.model.gp import GP

SWEEPS = 4  # at most, between noise and model
_DEGREES = 4.0  # ν
_DOUBT = 0.5  # a weight above is that of a usual observation
_SETTLED = 0.1  # relative change of the noise that needs no further sweep


def doubtful(gp: GP, X: Array, y: Array, own: Array, used: Array) -> Array:
    """The noise of observations that deserve less weight; NaN for all others (t,).

    own: the usual noise of each observation, NaN where it is the model's. used: that of the last sweep.
    """
    usual = np.where(np.isnan(own), gp.noise, own)
    posterior = gp.condition(X, y, np.where(np.isnan(used), usual, used))
    mean, std = posterior.left_out()
    variance = np.maximum(std**2 - posterior.noise_variance, 0.0)
    expected = variance + usual**2
    weight = (_DEGREES + 1) / (_DEGREES + (y - mean) ** 2 / expected)
    return np.where(weight < _DOUBT, np.sqrt(np.maximum(expected / weight - variance, usual**2)), np.nan)


def settled(noise: Array, before: Array) -> bool:
    """Whether two sweeps agree on who is doubtful, and about how much."""
    same = np.array_equal(np.isnan(noise), np.isnan(before))
    return same and bool(np.all(np.isnan(noise) | (np.abs(noise - before) <= _SETTLED * before)))
