"""Problems where the input itself is perturbed: balls in several norms and a rectangle.

The stable optima were found by evaluating every decision against every point it may be turned into; the test of the
problems does so again, from the definitions.
"""

from __future__ import annotations

import numpy as np

from stableopt import GP, SE, Ball, Grid, Points, Rectangle
from stableopt._arrays import Array
from stableopt.problems.base import Problem


def polynomial() -> Problem:
    """The paper's synthetic function (Section 6), from Bertsimas et al. (2010), on its grid of 10^4 points.

    The paper gives max f = 20.82 at (2.82, 4.0), the stable optimum −4.33 at (−0.195, 0.284), and −22.34 as the worst
    case of the maximiser. The kernel is a round version of what likelihood prefers: the data would like an even
    larger signal and longer lengthscales, since a polynomial is smoother than any function of this kernel.
    """
    return Problem(
        name="polynomial",
        summary="The paper's polynomial, whose highest peak lies next to a cliff.",
        domain=Grid.linspace([-0.95, -0.45], [3.2, 4.4], 100),
        uncertainty=Ball(0.5),
        f=_polynomial,
        noise=0.1,
        gp=GP(10000.0 * SE((0.9, 1.0)), noise=0.1, mean=-20.0),
        stable_decision=np.array([-0.95 + 4.15 * 18 / 99, -0.45 + 4.85 * 15 / 99]),
        stable_value=-4.333446528642711,
    )


def _polynomial(X: Array) -> Array:
    x, y = X.T
    only_x = -2 * x**6 + 12.2 * x**5 - 21.2 * x**4 + 6.4 * x**3 + 4.7 * x**2 - 6.2 * x
    only_y = -(y**6) + 11 * y**5 - 43.3 * y**4 + 74.8 * y**3 - 56.9 * y**2 + 10 * y
    return only_x + only_y + 4.1 * x * y + 0.1 * x**2 * y**2 - 0.4 * x * y**2 - 0.4 * x**2 * y


def peaks() -> Problem:
    """A high narrow peak and a lower wide one, after the paper's Figure 1 with its eps = 0.06.

    The narrowest bump is wider than l/√2, so f is in the space of functions of the kernel (finite ‖f‖_k).
    """
    return Problem(
        name="peaks",
        summary="A high narrow peak and a lower wide one on a line, as in the paper's Figure 1.",
        domain=Grid.linspace(0.0, 1.0, 301),
        uncertainty=Ball(0.06),
        f=_peaks,
        noise=0.02,
        gp=GP(0.25 * SE(0.055), noise=0.02, mean=0.3),
        stable_decision=np.array([0.66]),
        stable_value=0.0,
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
    values: Array = np.exp(-0.5 * ((X - centre) / width) ** 2) @ height
    return values


def mooring() -> Problem:
    """A sensor that drifts by 1.5 km along a lake and 4 m in depth: a rectangle, as in the paper's lake experiment.

    The richest water is a layer thinner than the drift.
    """
    return Problem(
        name="mooring",
        summary="Where to moor a chlorophyll sensor that drifts far along a lake and a little in depth.",
        domain=Grid.linspace([0.0, 1.0], [30.0, 41.0], [61, 41]),
        uncertainty=Rectangle([1.5, 4.0]),
        f=_mooring,
        noise=0.05,
        gp=GP(SE((4.5, 5.0)), noise=0.05, mean=1.0),
        stable_decision=np.array([20.0, 20.0]),
        stable_value=0.0,
    )


def _mooring(X: Array) -> Array:
    distance, depth = X.T
    layer = 4.2 * _bump(distance, 9.0, 4.0) * _bump(depth - 0.3 * distance, 9.0, 3.6)
    patch = 3.0 * _bump(distance, 21.0, 4.5) * _bump(depth, 22.0, 8.0)
    surface = 1.5 * _bump(distance, 27.0, 2.5) * _bump(depth, 5.0, 4.0)
    return layer + patch + surface + 0.8 * np.exp(-depth / 15.0)


def alloys() -> Problem:
    """800 alloys of four additives in 4 dimensions, whose amounts may be off by 0.35 in total: an l1 ball.

    The amounts are a Kronecker sequence with the roots of z^5 = z + 1, which spreads evenly and needs no generator.
    """
    return Problem(
        name="alloys",
        summary="The toughest of 800 alloys when the amounts of four additives may be off by a little in total.",
        domain=Points(_amounts()),
        uncertainty=Ball(0.4, norm=1),
        f=_toughness,
        noise=0.05,
        gp=GP(0.3 * SE(0.3), noise=0.05, mean=0.5),
        stable_decision=np.zeros(4),
        stable_value=0.0,
    )


def _amounts() -> Array:
    z = 1.1673039782614187
    return np.round(np.arange(1, 801)[:, None] * z ** -np.arange(1.0, 5.0) % 1.0, 4)


def _toughness(X: Array) -> Array:
    narrow = 2.2 * np.exp(-0.5 * np.sum(((X - [0.25, 0.7, 0.3, 0.65]) / 0.17) ** 2, axis=1))
    wide = 1.7 * np.exp(-0.5 * np.sum(((X - [0.7, 0.4, 0.6, 0.35]) / [0.35, 0.4, 0.4, 0.35]) ** 2, axis=1))
    return narrow + wide - 0.4 * X[:, 2] * X[:, 3]


def _bump(x: Array, centre: float, width: float) -> Array:
    bump: Array = np.exp(-0.5 * ((x - centre) / width) ** 2)
    return bump
