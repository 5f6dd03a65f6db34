"""Functions of a scaled distance: the distance itself, and the Matérn function of it.

They take few passes over memory, and keep the digits that the textbook formulas lose at tiny distances and large ν.

Notation (see `kernels`)
    X, Z     (n, p), (m, p)  points, one a row
    r        (n, m)          scaled distance, r² = Σ_j ((x_j - z_j) / l_j)², with the lengthscales l (p,)
    ν, s                     smoothness of a Matérn kernel, and the argument s = √(2ν) r of its Bessel function
    g, h     (n, m)          the kernel as a function of r, and g'(r) / r
"""

from __future__ import annotations

import math

import numpy as np

from stableopt.base.arrays import Array


def squared_distances(X: Array, Z: Array, scale: Array) -> Array:
    """r² pair by pair, since x² - 2xz + z² would lose the digits of small distances."""
    if len(Z) != 1:
        from scipy.spatial.distance import cdist

        return cdist(X / scale, Z / scale, "sqeuclidean")
    total, squares = np.zeros(len(X)), np.empty(len(X))
    for x, z, factor in zip(X.T, Z[0], 1 / scale, strict=True):  # a fifth of the time of cdist for one z
        np.subtract(x, z, out=squares)
        squares *= factor
        squares *= squares
        total += squares
    return total[:, None]


def matern(nu: float, s: Array) -> Array:
    """The Matérn function m_ν(s) = 2^(1-ν)/Γ(ν) s^ν K_ν(s), with m_ν(0) = 1; may overwrite s.

    It is k_Mat of the paper, section 2, where the transcription lacks the power ν on s and writes J_ν for K_ν.
    """
    if nu > 20:
        return _mixture(nu, s)
    np.minimum(s, 1e4, out=s)  # m_ν is 0 in floating point there, and 0 · inf further on
    if nu == 0.5:
        return np.exp(-s)
    if nu == 1.5:
        return (1 + s) * np.exp(-s)
    if nu == 2.5:
        return matern_and_slope(s)[0]
    values = bessel(nu, nu, s)
    values[s == 0] = 1.0
    return values


def matern_and_slope(s: Array) -> tuple[Array, Array]:
    """g and h of ν = 5/2, which share their exponential, in few passes over memory; overwrites s."""
    np.minimum(s, 1e4, out=s)
    e = np.negative(s)
    np.exp(e, out=e)
    h = s + 1
    h *= e
    s *= s
    s *= e
    s *= 1 / 3
    s += h
    h *= -5 / 3
    return s, h


def bessel(nu: float, order: float, s: Array) -> Array:
    """2^(1-ν)/Γ(ν) s^μ K_μ(s) of the order μ, where s = 0 stands for a positive number that does not overflow."""
    from scipy.special import kve

    s = np.maximum(s, 1e-150 ** (1 / max(1.0, nu)))
    return np.asarray(kve(order, s) * s**order * np.exp(-s) * (2 ** (1 - nu) / math.gamma(nu)), dtype=float)


def _mixture(nu: float, s: Array) -> Array:
    """m_ν(s) = E exp(-s²/4τ) for τ ~ Gamma(ν), by the trapezoidal rule in √ν log(τ/ν); overwrites s.

    K_ν(s) overflows for large ν; this mixture of SE kernels cannot, and for ν > 20 its error is below 1e-15.
    """
    x = np.linspace(-13.0, 9.0, 45) / math.sqrt(nu)
    weights = np.exp(nu * (x - np.expm1(x)))
    s *= 0.5 / math.sqrt(nu)
    s *= s
    total = np.zeros_like(s)
    for weight, rate in zip(weights / weights.sum(), np.exp(-x), strict=True):
        total += weight * np.exp(-rate * s)
    return total
