"""Problems where the input itself is perturbed: balls in two norms and a rectangle.

Stable optima come from evaluating every decision at every point that it may be turned into, to all digits; the test
of the problems repeats that from the definitions. Lengthscales are of the order that maximum likelihood gives for 300
noisy values at random points, and variances are large enough for the highest peak.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.model.gp import GP
from stableopt.model.kernels import SE
from stableopt.problems.base import Problem
from stableopt.sets.domains import Grid, Points
from stableopt.sets.perturbations import Ball, Rectangle


@cache
def polynomial() -> Problem:
    """The paper's synthetic function (Section 5, from Bertsimas et al. 2010) on its grid of 10^4 points.

    The paper has max f = 20.82 at (2.82, 4.0), the stable optimum −4.33 at (−0.195, 0.284), and −22.34 as the worst
    case of the maximiser. Both ends of the axes are included, and perturbations stay on the grid: this is what
    reproduces those numbers. Likelihood would raise the variance of the kernel without end; it stops at 100² here.
    """
    return Problem(
        name="polynomial",
        summary="The paper's polynomial, whose highest peak lies next to a cliff.",
        domain=Grid.linspace([-0.95, -0.45], [3.2, 4.4], 100),
        uncertainty=Ball(0.5),
        f=_polynomial,
        noise=0.1,
        gp=GP(10000.0 * SE((0.9, 1.0)), noise=0.1, mean=-20.0),
        stable_decision=frozen(np.array([-0.95 + 4.15 * 18 / 99, -0.45 + 4.85 * 15 / 99])),
        stable_value=-4.33344652864271,
    )


def _polynomial(X: Array) -> Array:
    x, y = X.T
    only_x = -2 * x**6 + 12.2 * x**5 - 21.2 * x**4 + 6.4 * x**3 + 4.7 * x**2 - 6.2 * x
    only_y = -(y**6) + 11 * y**5 - 43.3 * y**4 + 74.8 * y**3 - 56.9 * y**2 + 10 * y
    both = 4.1 * x * y + 0.1 * x**2 * y**2 - 0.4 * x * y**2 - 0.4 * x**2 * y
    values: Array = only_x + only_y + both
    return values


@cache
def peaks() -> Problem:
    """A high narrow peak and a lower wide one, after the paper's Figure 1, with its eps = 0.06.

    From 3 random points, GP-UCB is on the narrow peak and StableOpt on the wide one within 20 rounds. The narrowest
    bump has a width above l/√2, so ‖f‖_k is finite, as the paper assumes.
    """
    return Problem(
        name="peaks",
        summary="A high narrow peak and a lower wide one on a line, as in the paper's Figure 1.",
        domain=Grid.linspace(0.0, 1.0, 301),
        uncertainty=Ball(0.06),
        f=_peaks,
        noise=0.02,
        gp=GP(0.25 * SE(0.055), noise=0.02, mean=0.3),
        stable_decision=frozen(np.array([0.66])),
        stable_value=0.7755891715137772,
    )


_BUMPS = np.array(
    [  # height, centre, width
        [1.20, 0.24, 0.04],
        [0.90, 0.66, 0.11],
        [0.42, 0.95, 0.05],
        [0.30, 0.05, 0.05],
        [-0.35, 0.37, 0.05],
        [-0.22, 0.14, 0.05],
    ]
)


def _peaks(X: Array) -> Array:
    height, centre, width = _BUMPS.T
    values: Array = np.sum(height * _bump(X, centre, width), axis=1)
    return values


@cache
def mooring() -> Problem:
    """A sensor that drifts by 1.5 km along a lake and 4 m in depth: a rectangle, as in the paper's lake experiment.

    x = (distance in km, depth in m). The richest water is a sloping layer that is thinner than the drift.
    """
    return Problem(
        name="mooring",
        summary="Where to moor a chlorophyll sensor that drifts along a lake and in depth.",
        domain=Grid.linspace([0.0, 1.0], [30.0, 41.0], [61, 41]),
        uncertainty=Rectangle([1.5, 4.0]),
        f=_chlorophyll,
        noise=0.05,
        gp=GP(2.0 * SE((4.5, 4.5)), noise=0.05, mean=1.0),
        stable_decision=frozen(np.array([21.0, 22.0])),
        stable_value=2.6458583036440846,
    )


def _chlorophyll(X: Array) -> Array:
    distance, depth = X.T
    layer = 4.2 * _bump(distance, 9.0, 4.0) * _bump(depth - 0.3 * distance, 9.0, 3.2)
    patch = 3.0 * _bump(distance, 21.0, 4.5) * _bump(depth, 22.0, 8.0)
    surface = 1.5 * _bump(distance, 27.0, 2.5) * _bump(depth, 5.0, 4.0)
    background: Array = 0.8 * np.exp(-depth / 15.0)
    return layer + patch + surface + background


@cache
def alloys() -> Problem:
    """800 alloys with amounts of four additives that may be off by 0.4 in total: an l1 ball among scattered points.

    The amounts are the multiples of z^−1 … z^−4 modulo 1 with z^5 = z + 1, to 4 digits: a sequence that fills the
    cube evenly.
    """
    return Problem(
        name="alloys",
        summary="The toughest of 800 alloys when the amounts of four additives are not exact.",
        domain=Points(np.round(np.arange(1, 801)[:, None] * 1.1673039782614187 ** -np.arange(1.0, 5.0) % 1.0, 4)),
        uncertainty=Ball(0.4, norm=1),
        f=_toughness,
        noise=0.05,
        gp=GP(0.5 * SE(0.3), noise=0.05, mean=0.5),
        stable_decision=frozen(np.array([0.7682, 0.4395, 0.4543, 0.3335])),
        stable_value=1.0698453168868216,
    )


def _toughness(X: Array) -> Array:
    narrow = np.prod(_bump(X, np.array([0.25, 0.7, 0.3, 0.65]), 0.17), axis=1)
    wide = np.prod(_bump(X, np.array([0.7, 0.4, 0.6, 0.35]), np.array([0.35, 0.4, 0.4, 0.35])), axis=1)
    toughness: Array = 2.2 * narrow + 1.7 * wide - 0.4 * X[:, 2] * X[:, 3]
    return toughness


def _bump(x: Array, centre: float | Array, width: float | Array) -> Array:
    bump: Array = np.exp(-0.5 * ((x - centre) / width) ** 2)
    return bump
