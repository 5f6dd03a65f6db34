"""Warps: increasing transformations of outputs, after which a Gaussian process suits them better.

Costs, times and stresses have a long tail on one side, and steep edges set the scale of everything else. Max-min
commutes with every increasing transformation, so the best decision stays the same. A bound is a quantile, so it is
carried back exactly: whatever is said of f is in the units of y, only `latent` values are not.

Notation
    z = (y − centre)/unit, and w = centre + unit·ψ(z): the latent value, of about the size of y
    ψ         Yeo and Johnson's transformation (Biometrika, 2000) with the power λ, which pulls no high values apart:
              z >= 0: ((1 + z)^λ − 1)/λ, or log(1 + z) for λ = 0; z if λ > 1
              z < 0: −((1 − z)^(2 − λ) − 1)/(2 − λ), or −log(1 − z) for λ = 2
              λ = 1 changes nothing, λ < 1 pulls high values in, λ > 1 low ones; for 0 <= λ <= 2 it is onto the reals

High values pulled apart would make a narrow peak higher still. Then its surroundings, of which a model knows little,
are promised to be high, too: on data of the paper's polynomial that nobody asked for, such a warp doubled the share of
reports that were fooled by its peak (`docs/defaults.md`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from stableopt.base.arrays import Array
from stableopt.base.checks import number, positive
from stableopt.base.values import Value
from stableopt.model.algebra import Kernel, Scaled

POWERS = (0.0, 0.5, 1.0, 1.5, 2.0)
_PRIOR = 1.0  # of a power: its log density falls by so much times (λ − 1)²
_WORTH = 4.0  # observations, that the variance of the outputs is known from before any
_VARIES = 1e-9  # of standardised values: a deviation below this is rounding
_LARGEST = 600.0  # an argument of exp that is still a number


@dataclass(frozen=True, eq=False)
class Warp(Value):
    """An increasing transformation of outputs with its inverse."""

    power: float
    """λ, from 0 to 2."""
    centre: float
    unit: float

    def __post_init__(self) -> None:
        if not 0 <= number(self.power, "the power of a warp as a number") <= 2:
            raise ValueError(f"expected the power of a warp from 0 to 2, got {self.power!r}")
        number(self.centre, "the centre of a warp as a number")
        positive(self.unit, "the unit of a warp above 0")

    def __call__(self, y: ArrayLike) -> Array:
        """Latent values."""
        z = self._relative(y)
        return np.asarray(self.centre + self.unit * np.copysign(_stretched(np.abs(z), self._powers(z)), z))

    def slope(self, y: ArrayLike) -> Array:
        """How much a latent value changes with y."""
        z = self._relative(y)
        return np.asarray((1 + np.abs(z)) ** (self._powers(z) - 1))

    def inverse(self, w: ArrayLike) -> Array:
        """What has these latent values."""
        z = self._relative(w)
        return np.asarray(self.centre + self.unit * np.copysign(_shrunk(np.abs(z), self._powers(z)), z))

    def inverse_slope(self, w: ArrayLike) -> Array:
        """How much y changes with a latent value."""
        return np.asarray(1 / self.slope(self.inverse(w)))

    def noise(self, y: ArrayLike, noise: ArrayLike | None) -> Array | None:
        """Standard deviations of observations y as those of their latent values, to first order."""
        return None if noise is None else np.asarray(np.asarray(noise, dtype=float) * self.slope(y))

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The median, and the square of half of what lies between one standard deviation below and above."""
        std = np.sqrt(variance)
        return self.inverse(mean), ((self.inverse(mean + std) - self.inverse(mean - std)) / 2) ** 2

    def _relative(self, y: ArrayLike) -> Array:
        return (np.asarray(y, dtype=float) - self.centre) / self.unit

    def _powers(self, z: Array) -> Array:
        return np.where(z < 0, 2 - self.power, min(self.power, 1.0))


def _stretched(z: Array, powers: Array) -> Array:
    """ψ of numbers that are not below 0."""
    logs = np.log1p(z)
    safe = np.where(powers == 0, 1.0, powers)
    return np.asarray(np.where(powers == 0, logs, np.expm1(np.minimum(safe * logs, _LARGEST)) / safe))


def _shrunk(w: Array, powers: Array) -> Array:
    """Its inverse."""
    safe = np.where(powers == 0, 1.0, powers)
    logs = np.where(powers == 0, w, np.log1p(safe * w) / safe)
    return np.expm1(np.minimum(logs, _LARGEST))


def likeliest(kernel: Kernel, noise: Array, X: Array, y: Array) -> float:
    """The power with which a model of this kernel and noise (t,) explains y (t,), all standardised, best.

    The variance and the mean of the latent values are those that suit each power best. So all powers share one
    factorisation, and to compare them costs little beside learning one model. The value that is farthest from all
    others has no say: one typed in another unit is no long tail.
    """
    rest = np.delete(np.arange(len(y)), np.argmax(np.abs(y - np.median(y))))
    X, y, noise, t = X[rest], y[rest], noise[rest], len(rest)
    inner, variance = (kernel.kernel, kernel.variance) if isinstance(kernel, Scaled) else (kernel, 1.0)
    K = inner(X, X)
    K.flat[:: t + 1] += np.maximum(noise**2 / variance, 1e-10)
    L, failed = lapack.dpotrf(K.T, lower=1, overwrite_a=1)
    if failed:
        return 1.0
    warps = [Warp(power, 0.0, 1.0) for power in POWERS]
    latent = np.array([warp(y) for warp in warps])
    sizes = latent.std(axis=1)
    if not (sizes > _VARIES).all():  # equal values, but for rounding, say nothing
        return 1.0
    latent = (latent - latent.mean(axis=1, keepdims=True)) / sizes[:, None]
    white, _ = lapack.dtrtrs(L, np.column_stack([*latent, np.ones(t)]), lower=1)
    one = white[:, -1:]
    residuals = white[:, :-1] - one * (one.T @ white[:, :-1] / float(one[:, 0] @ one[:, 0]))
    Q = np.einsum("ij,ij->j", residuals, residuals)
    jacobian = np.array([np.log(warp.slope(y)).sum() for warp in warps]) - t * np.log(sizes)
    prior = -_PRIOR * (np.array(POWERS) - 1) ** 2
    score = jacobian + prior - 0.5 * (_WORTH + t) * np.log(_WORTH + Q)
    return POWERS[int(np.argmax(np.where(np.isfinite(score), score, -math.inf)))]
