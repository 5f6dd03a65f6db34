"""Every kind of setting on a list, small enough for brute force."""

import numpy as np

from stableopt import Ball, Distance, Estimate, Grid, Groups, Hamming, Parameters, Points, Rectangle
from stableopt.loop.rules import BestExpected, BestIntersected, BestOfAll, BestSoFar, BestWhenAsked, Last, MostPromising

SCATTERED = Points(np.random.default_rng(0).uniform(0, 1, (30, 2)))


CATEGORIES = Grid([np.arange(3), np.arange(4), np.arange(2)])


THETA = np.array([[0.0], [0.35], [0.8], [1.0]])


def asymmetric(x, z):
    """May move right by 0.3, or left by 0.1, in the first coordinate."""
    step = z[0] - x[0]
    return abs(z[1] - x[1]) + (step / 3 if step > 0 else -step)


SETTINGS = {
    "ball on a grid": (Grid.linspace([0, 0], [1, 2], [7, 5]), Ball(0.4)),
    "ball on points": (SCATTERED, Ball(0.3, 1)),
    "rectangle": (Grid.linspace([0, 0], [1, 2], [7, 5]), Rectangle([0.2, 0.5])),
    "one column": (Grid.linspace([0, 0], [1, 2], [7, 5]), Ball(0.4, columns=[1])),
    "distance": (SCATTERED, Distance(asymmetric, 0.1)),
    "hamming": (CATEGORIES, Hamming(1, [0, 1])),
    "parameters": (Grid.linspace(0, 1, 9), Parameters(THETA)),
    "estimate": (Grid.linspace(0, 1, 9), Estimate(THETA, [0.35], Ball(0.5))),
    "groups": (SCATTERED, Groups.from_labels(np.arange(30) % 7)),
    "overlapping groups": (SCATTERED, Groups([range(0, 12), range(8, 20), range(15, 30), [3, 17, 29], [5]])),
    "ball × parameters": (Grid.linspace(0, 1, 9), Ball(0.25) * Parameters(THETA)),
    "ball × estimate": (Points(np.linspace(0, 1, 9) ** 2), Estimate(THETA, [0.8], Ball(0.3)) * Ball(0.25)),
    "two perturbations": (CATEGORIES, Ball(1.0, columns=[1]) * Hamming(1, [2])),
}


def objective(z):
    return np.sin(7 * z[0] + 0.3) + np.cos(4 * z[-1]) * z[0]


REPORTING = {
    "BestSoFar": BestSoFar(),
    "BestWhenAsked": BestWhenAsked(),
    "BestIntersected": BestIntersected(),
    "BestOfAll": BestOfAll(),
    "BestExpected": BestExpected(),
    "MostPromising": MostPromising(),
    "Last": Last(),
}
