"""Test problems that carry their domain, their uncertainty set, a model and their known stable optimum.

``PROBLEMS["peaks"]`` and ``peaks()`` are the same problem. Nothing is computed before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from stableopt.problems import choices, parameters, perturbed
from stableopt.problems.base import Problem

polynomial = cache(perturbed.polynomial)
peaks = cache(perturbed.peaks)
mooring = cache(perturbed.mooring)
alloys = cache(perturbed.alloys)
wind = cache(parameters.wind)
dose = cache(parameters.dose)
kiln = cache(parameters.kiln)
films = cache(choices.films)
recipe = cache(choices.recipe)


class _Problems(Mapping[str, Problem]):
    def __init__(self, *builders: Callable[[], Problem]) -> None:
        self._builders = {builder.__name__: builder for builder in builders}

    def __getitem__(self, name: str) -> Problem:
        return self._builders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


PROBLEMS: Mapping[str, Problem] = _Problems(polynomial, peaks, mooring, alloys, wind, dose, kiln, films, recipe)
"""All problems by name."""

__all__ = ["PROBLEMS", "Problem", "alloys", "dose", "films", "kiln", "mooring", "peaks", "polynomial", "recipe", "wind"]
