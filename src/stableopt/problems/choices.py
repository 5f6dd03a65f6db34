"""Problems whose decisions are no points of a space: groups of films, and recipes with ingredients to choose.

The stable optima were found by evaluating every decision against every point it may be turned into; the test of the
problems does so again, from the definitions.
"""

from __future__ import annotations

import numpy as np

from stableopt import GP, SE, Ball, Categorical, Grid, Groups, Hamming, Points
from stableopt._arrays import Array
from stableopt.gp import LinearMean
from stableopt.problems.base import Problem

GENRES = (
    "animals",
    "art",
    "boxing",
    "circus",
    "comedy",
    "courtroom",
    "dance",
    "documentary",
    "espionage",
    "fairy tale",
    "family",
    "ghosts",
    "heist",
    "history",
    "horror",
    "musical",
    "mystery",
    "romance",
    "satire",
    "school",
    "science fiction",
    "sea",
    "war",
    "western",
)


def films() -> Problem:
    """A user who shall like every film of a group, as in the paper's movie experiment but drawn from its model.

    312 films in 24 genres have 5 features; a rating is their product with the user's taste u ~ N(μ, Σ), known up to
    that. Genres differ in how similar their films are: the best film is in a mixed one.
    """
    features, labels, taste = _drawn_films()
    return Problem(
        name="films",
        summary="The genre of which a user likes every film, for ratings that are linear in features of the films.",
        domain=Points(features),
        uncertainty=Groups.from_labels(labels),
        f=LinearMean(taste.tolist()),
        noise=0.3,
        gp=GP.linear(_MEAN_TASTE, np.diag(_TASTE_STD**2), noise=0.3),
        stable_decision="family",
        stable_value=0.0,
    )


_MEAN_TASTE = np.array([3.0, 0.3, 0.0, 0.0, 0.0])
_TASTE_STD = np.array([0.3, 0.8, 0.8, 0.8, 0.8])


def _drawn_films() -> tuple[Array, list[str], Array]:
    """Features (312, 5), genres, and the user's taste, from the legacy generator, whose numbers never change."""
    rng = np.random.RandomState(SEED)
    genre = np.arange(312) % len(GENRES)
    centres = rng.standard_normal((len(GENRES), 4)) * 0.8
    spread = rng.uniform(0.1, 0.6, len(GENRES))
    features = centres[genre] + spread[genre, None] * rng.standard_normal((312, 4))
    taste = _MEAN_TASTE + _TASTE_STD * rng.standard_normal(5)
    return np.column_stack([np.ones(312), features]), [GENRES[g] for g in genre], taste


SEED = 0

FLOURS, FATS, RAISING, SUGARS = (
    ("wheat", "spelt", "rye", "oat"),
    ("butter", "margarine", "oil"),
    ("baking powder", "yeast", "eggs"),
    ("white", "brown", "honey", "syrup"),
)


def recipe() -> Problem:
    """A cake that is still good if one ingredient is replaced by any other of its kind and the oven is 10 °C off.

    Four factors with codes 0, 1, ... as columns 0 to 3, and the oven's temperature as column 4. Ingredients add up,
    some go well together, and each way of raising has its own temperature.
    """
    return Problem(
        name="recipe",
        summary="A cake that survives one replaced ingredient and an oven that is off by 10 °C.",
        domain=Grid([range(4), range(3), range(3), range(4), np.linspace(150.0, 230.0, 17)]),
        uncertainty=Hamming(1, columns=[0, 1, 2, 3]) * Ball(10.0, columns=[4]),
        f=_taste,
        noise=0.1,
        gp=GP(5.0 * (Categorical(0.9).on([0, 1, 2, 3]) * SE(26.0).on([4])), noise=0.1, mean=4.0),
        stable_decision=np.zeros(5),
        stable_value=0.0,
    )


_FLOUR = np.array([1.0, 0.8, -0.2, 0.3])
_FAT = np.array([0.9, 0.3, 0.4])
_RAISING = np.array([0.5, 0.2, 0.6])
_SUGAR = np.array([0.4, 0.6, 0.5, 0.2])
_FLOUR_FAT = np.array([[0.6, 0.0, -0.3], [0.3, 0.1, 0.2], [-0.2, 0.0, 0.1], [0.0, 0.2, 0.4]])
_RAISING_SUGAR = np.array([[0.2, 0.1, -1.2, -0.9], [0.1, 0.4, 0.6, 0.3], [0.3, 0.2, 0.1, 0.0]])
_TEMPERATURE = np.array([185.0, 205.0, 170.0])
_TOLERANCE = np.array([18.0, 26.0, 24.0])


def _taste(X: Array) -> Array:
    flour, fat, raising, sugar = X[:, :4].astype(int).T
    ingredients = _FLOUR[flour] + _FAT[fat] + _RAISING[raising] + _SUGAR[sugar]
    together = _FLOUR_FAT[flour, fat] + _RAISING_SUGAR[raising, sugar]
    baked: Array = np.exp(-0.5 * ((X[:, 4] - _TEMPERATURE[raising]) / _TOLERANCE[raising]) ** 2)
    return 2.0 + (2.0 + ingredients + together) * baked
