"""Noise of observations: its variance, and checks of what a user passes.

Notation (see `gp`)
    σ, σ_i   standard deviation of the noise, of all observations or of each
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array
from stableopt.base.checks import LARGEST_NOISE, numbers

# A noise below this fraction of the prior's standard deviation is raised to it: repeated points stay harmless.
NOISE_FLOOR = 1e-6


def noise_variance(sigma: float, prior_variance: Array, noise: ArrayLike | None = None) -> Array:
    """σ_i² at points with this prior variance, after the floor. ``noise`` replaces σ, except where it is NaN."""
    own = sigma if noise is None else np.where(np.isnan(noise), sigma, noise)
    return np.maximum(np.maximum(np.square(own), sys.float_info.min), NOISE_FLOOR**2 * prior_variance)


def check_value(y: float) -> None:
    """Refuse a value that is no finite number."""
    if not math.isfinite(y):
        raise ValueError(f"expected a finite value y, got {y}: leave failed evaluations out")


def check_noise(noise: ArrayLike | None, t: int | None = None) -> None:
    """Refuse what is no standard deviation; with t, one for all or one for each of t observations."""
    if noise is None:
        return
    values = numbers(noise, "noise")
    if values.shape not in ((), (t,)):
        raise ValueError(f"expected noise as one standard deviation or {t} of them, got shape {values.shape}")
    if not np.all((values > 0) & (values < LARGEST_NOISE) | (np.isnan(values) & (values.ndim > 0))):
        raise ValueError(f"expected noise standard deviations above 0, got {noise!r:.200}; use a tiny one if none")
