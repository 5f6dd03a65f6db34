"""A model at finitely many points: joint draws of f, and what measurements of a draw would tell."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from stableopt.base.arrays import Array
from stableopt.model.gp import Posterior

_JITTER = 1e-10  # of the largest variance: what is left of a covariance, and less, is rounding


class Joint(NamedTuple):
    """One of the models of a quantity, at m points."""

    weight: float
    mean: Array
    covariance: Array
    noise: float

    @classmethod
    def of(cls, posterior: Posterior, Z: Array, weight: float) -> Joint:
        mean, covariance = posterior.joint(Z)
        return cls(weight, mean, covariance, posterior.gp.noise)

    def draws(self, count: int, rng: np.random.Generator) -> Array:
        """Values of f (count, m)."""
        largest = max(float(self.covariance.diagonal().max()), sys.float_info.min)
        L, order, rank, _ = lapack.dpstrf(self.covariance, tol=_JITTER * largest, lower=1)
        drawn = np.empty((count, len(self.mean)))
        drawn[:, order - 1] = rng.standard_normal((count, rank)) @ np.tril(L)[:, :rank].T
        return drawn + self.mean


def shuffled(joints: Sequence[Joint], count: int, rng: np.random.Generator) -> list[tuple[Joint, Array]]:
    """So many draws of a quantity, each with its model, in random order: quantities know nothing of each other."""
    drawn = [(joint, f) for joint in joints for f in joint.draws(math.ceil(joint.weight * count), rng)]
    return [drawn[i] for i in rng.permutation(len(drawn))[:count]]


class Playing:
    """A quantity in a game: a draw is the truth, and what is known of it grows with every measurement.

    With the covariance C at the points and a measurement at z, the covariance falls by uuᵀ with u = C[:, z] divided by
    the root of C[z, z] + noise². Only the u are kept, and the variances: a column costs as much as a few of them.
    """

    def __init__(self, joint: Joint, f: Array, errors: Array) -> None:
        """errors: those of all measurements, in units of the noise."""
        self.f, self.mean, self._variances = f, joint.mean.copy(), joint.covariance.diagonal().copy()
        self.noise = joint.noise
        self._joint, self._errors = joint, errors
        self._falls = np.empty((0, len(f)))

    @property
    def std(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(self._variances, 0.0)))

    def measure(self, z: int) -> bool:
        """Learn from a measurement at a point; whether there was anything to learn."""
        noise, error = self.noise, float(self._errors[len(self._falls)])
        column = self._joint.covariance[z] - self._falls[:, z] @ self._falls
        variance = column[z] + noise**2
        if variance <= 0:
            return False
        self.mean += column * ((self.f[z] + noise * error - self.mean[z]) / variance)
        fall = column / math.sqrt(variance)
        self._falls = np.vstack([self._falls, fall])
        self._variances -= fall**2
        return True
