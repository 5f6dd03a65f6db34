"""Problems with something to choose from instead of coordinates: groups of films, and the ingredients of a cake.

Stable optima come from evaluating every decision at every point that it may be turned into, to all digits; the test
of the problems repeats that from the definitions.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.model.gp import GP, LinearMean
from stableopt.model.kernels import SE, Categorical
from stableopt.problems.base import Problem
from stableopt.sets.domains import Grid, Points
from stableopt.sets.perturbations import Ball, Hamming
from stableopt.sets.uncertainty import Groups

# fmt: off
_GENRES = [
    "animals", "art", "boxing", "circus", "comedy", "courtroom", "dance", "documentary", "espionage", "fairy tale",
    "family", "ghosts", "heist", "history", "horror", "musical", "mystery", "romance", "satire", "school",
    "science fiction", "sea", "war", "western",
]
# fmt: on
_MEAN_TASTE = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
_TASTE_STD = np.array([0.3, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6])


@cache
def films() -> Problem:
    """A user who should like every film of a genre, drawn from the model of the paper's movie experiment.

    312 films of 24 genres have 8 features, the first of them 1. A rating is their product with the user's taste
    u ~ N(μ, Σ), of which only μ and Σ are known. Some genres are more mixed than others: the best film of all is in
    a mixed one. The seed is one with ratings between 1 and 5.
    """
    rng = np.random.RandomState(4)  # unlike default_rng, its numbers are promised to stay the same
    genre = np.arange(312) % len(_GENRES)
    centres = 0.5 * rng.standard_normal((len(_GENRES), 7))
    spread = rng.uniform(0.1, 0.5, len(_GENRES))
    features = centres[genre] + spread[genre, None] * rng.standard_normal((312, 7))
    taste = _MEAN_TASTE + _TASTE_STD * rng.standard_normal(8)
    return Problem(
        name="films",
        summary="The genre of which a user likes every film, when ratings are linear in features of the films.",
        domain=Points(np.column_stack([np.ones(312), features])),
        uncertainty=Groups.from_labels([_GENRES[g] for g in genre]),
        f=LinearMean(taste.tolist()),
        noise=0.5,
        gp=GP.linear(_MEAN_TASTE, np.diag(_TASTE_STD**2), noise=0.5),
        stable_decision="courtroom",
        stable_value=3.8736591246389747,
    )


@cache
def recipe() -> Problem:
    """A cake for unreliable kitchens: one ingredient is replaced, and the oven is off by 10 °C (categories and a ball).

    Columns 0 to 3 hold the numbers of flour (wheat, spelt, rye, oat), fat (butter, margarine, oil), raising agent
    (baking powder, yeast, eggs) and sugar (white, brown, honey, syrup); column 4 is the temperature of the oven in
    °C. Each raising agent needs its own temperature, so the best cake fails with another one.
    """
    return Problem(
        name="recipe",
        summary="A cake that survives one replaced ingredient and an oven that is off by 10 °C.",
        domain=Grid([range(4), range(3), range(3), range(4), np.linspace(150.0, 230.0, 17)]),
        uncertainty=Hamming(1, columns=[0, 1, 2, 3]) * Ball(10.0, columns=[4]),
        f=_cake,
        noise=0.1,
        gp=GP(5.0 * (Categorical(0.9).on([0, 1, 2, 3]) * SE(26.0).on([4])), noise=0.1, mean=4.0),
        stable_decision=frozen(np.array([0.0, 0.0, 0.0, 1.0, 185.0])),
        stable_value=4.9293650746290245,
    )


_FLOUR = np.array([1.0, 0.8, -0.2, 0.3])
_FAT = np.array([0.9, 0.3, 0.4])
_RAISING = np.array([0.5, 0.2, 0.6])
_SUGAR = np.array([0.4, 0.6, 0.5, 0.2])
_FLOUR_FAT = np.array([[0.6, 0.0, -0.3], [0.3, 0.1, 0.2], [-0.2, 0.0, 0.1], [0.0, 0.2, 0.4]])
_RAISING_SUGAR = np.array([[0.2, 0.1, -1.2, -0.9], [0.1, 0.4, 0.6, 0.3], [0.3, 0.2, 0.1, 0.0]])
_TEMPERATURE = np.array([185.0, 205.0, 170.0])  # best for each raising agent
_TOLERANCE = np.array([18.0, 26.0, 24.0])


def _cake(X: Array) -> Array:
    flour, fat, raising, sugar = X[:, :4].astype(int).T
    ingredients = _FLOUR[flour] + _FAT[fat] + _RAISING[raising] + _SUGAR[sugar]
    together = _FLOUR_FAT[flour, fat] + _RAISING_SUGAR[raising, sugar]
    baked = np.exp(-0.5 * ((X[:, 4] - _TEMPERATURE[raising]) / _TOLERANCE[raising]) ** 2)
    cake: Array = 2.0 + (2.0 + ingredients + together) * baked
    return cake
