"""Test problems that carry their domain, their uncertainty set, a model and their known stable optimum.

``PROBLEMS["peaks"]`` and ``peaks()`` are the same object. A problem is built when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from stableopt.problems.base import Problem
from stableopt.problems.choices import films, recipe
from stableopt.problems.parameters import dose, kiln, wind
from stableopt.problems.perturbed import alloys, mooring, peaks, polynomial


class _Catalogue(Mapping[str, Problem]):
    """A read-only dictionary whose values are built on first use."""

    def __init__(self, **builders: Callable[[], Problem]) -> None:
        self._builders = builders

    def __getitem__(self, name: str) -> Problem:
        if name not in self._builders:
            raise KeyError(f"expected the name of a problem, one of {list(self._builders)}, got {name!r}")
        return self._builders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)

    def __repr__(self) -> str:
        return f"PROBLEMS({', '.join(self)})"


PROBLEMS: Mapping[str, Problem] = _Catalogue(
    polynomial=polynomial,
    peaks=peaks,
    mooring=mooring,
    alloys=alloys,
    wind=wind,
    dose=dose,
    kiln=kiln,
    films=films,
    recipe=recipe,
)
"""All problems by name."""

__all__ = ["PROBLEMS", "Problem", "alloys", "dose", "films", "kiln", "mooring", "peaks", "polynomial", "recipe", "wind"]
