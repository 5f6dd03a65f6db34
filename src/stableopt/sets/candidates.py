"""One of some fixed candidates as a knob of a space, and what knob is meant by what a user writes.

A candidate's coordinates are its columns, each scaled to [0, 1]; see `variables` for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.base.checks import is_number, is_number_text, row_of
from stableopt.sets.domains import Domain, Points
from stableopt.sets.variables import Category, Float, Variable


@dataclass(frozen=True, eq=False)
class Candidates(Variable):
    """One row of fixed candidates; written as ``Points(rows)`` in a space.

    words: what the numbers 0, 1, 2, ... in a column stand for: a list for each column, empty where they are numbers.
    """

    points: Points
    words: Sequence[Sequence[str]] = ()

    numeric = False

    @classmethod
    def listed(cls, rows: Sequence[Sequence[Any]]) -> Candidates:
        """Candidates from rows of which some columns have words only."""
        columns = list(zip(*rows, strict=True))
        words = [list(dict.fromkeys(c)) if all(isinstance(v, str) for v in c) else [] for c in columns]
        codes = [[w.index(v) for v in c] if w else c for c, w in zip(columns, words, strict=True)]
        return cls(Points([list(row) for row in zip(*codes, strict=True)]), words)

    def __post_init__(self) -> None:
        if not isinstance(self.points, Points):
            raise TypeError(f"expected candidates as Points(rows), got {self.points!r:.200}")
        words = tuple(tuple(w) for w in self.words) if any(self.words) else ()
        if words and len(words) != self.points.dim:
            raise ValueError(f"expected words for each of {self.points.dim} columns, got {self.words!r:.200}")
        for w, column in zip(words, self.points.points.T, strict=False):
            if w and not set(column.tolist()) <= set(range(len(w))):
                raise ValueError(f"expected numbers of the {len(w)} words {list(w)}, got {column.tolist()!r:.200}")
        vars(self).update(words=words)
        with np.errstate(over="ignore", invalid="ignore"):
            known = self.choices
        if not np.all(np.isfinite(known)) or len(np.unique(known, axis=0)) < len(known):
            raise ValueError(
                "expected candidates that still differ when scaled to 0 to 1, got some a billionth of a millionth of "
                f"the range apart in {self.points}: leave out all but one of them"
            )

    @property
    def width(self) -> int:
        return self.points.dim

    @cached_property
    def _scale(self) -> tuple[Array, Array]:
        low, span = self.points.points.min(axis=0), np.ptp(self.points.points, axis=0)
        span = np.where(span > 0, span, 1.0)
        low[list(self.categories)], span[list(self.categories)] = 0.0, 1.0
        return low, span

    @property
    def categories(self) -> Sequence[int]:
        return [j for j, w in enumerate(self.words) if w]

    @cached_property
    def choices(self) -> Array:
        low, span = self._scale
        return frozen((self.points.points - low) / span)

    def encode(self, value: Any, name: str) -> Sequence[float]:
        if not self.words:
            return [float(c) for c in self.choices[row_of(self.points.points, value, name, "the candidates")]]
        codes = self._coded(value, name)
        try:
            return [float(c) for c in self.choices[row_of(self.points.points, codes, name)]]
        except ValueError:
            known = [self.decode(row) for row in self.choices]
            raise ValueError(f"expected {name} to be one of {known!r:.200}, got {value!r:.200}") from None

    def _coded(self, value: Any, name: str) -> list[Any]:
        """A row with the numbers of its words."""
        given = [value] if isinstance(value, str) or np.ndim(value) == 0 else list(value)
        if len(given) != self.width:
            raise ValueError(f"expected {name} with {self.width} values, got {value!r:.200}")
        pairs = list(zip(given, self.words, strict=True))
        for v, w in pairs:
            if w and v not in w:
                raise ValueError(f"expected one of {list(w)} in {name}, got {v!r:.200}")
        return [w.index(v) if w else v for v, w in pairs]

    def settled(self, coordinates: Array) -> Array:
        return np.asarray(self.choices[[self._nearest(row) for row in coordinates]])

    def _nearest(self, coordinates: Array) -> int:
        """Which of the candidates is nearest."""
        return int(np.argmin(np.abs(self.choices - coordinates).sum(axis=1)))

    def decode(self, coordinates: Array) -> Any:
        row = self.points.points[self._nearest(coordinates)].tolist()
        return tuple(w[round(v)] if w else v for v, w in zip(row, self.words or [()] * len(row), strict=True))

    def natural(self, coordinates: Array) -> Array:
        low, span = self._scale
        return np.asarray(low + coordinates * span)

    def read(self, text: str, column: int = 0) -> Any:
        return text if column in self.categories else super().read(text)


def variable(given: Any, name: str) -> Variable:
    """A variable from what users write: two numbers are a range, other lists a category, Points candidates."""
    if isinstance(given, Variable):
        return given
    if isinstance(given, Domain):
        return Candidates(given if isinstance(given, Points) else Points(given.points))
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(given, Sequence) and not isinstance(given, str):
        words = [isinstance(v, str | bool) for v in given]
        listed = isinstance(given, list) and len(given) > 2 and all(map(is_number, given))
        try:
            if len(given) == 2 and all(isinstance(v, str) and is_number_text(v) for v in given):
                low, high = (v.strip() for v in given)
                remedy = f"({low}, {high}) is a range, stableopt.Category([{low!r}, {high!r}]) two choices"
                raise ValueError(f"expected two numbers or words, got {given!r}, which look like numbers: {remedy}")
            if len(given) and (all(words) or listed):
                return Category(tuple(given))
            if len(given) == 2 and not any(words):
                return Float(given[0], given[1])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    raise ValueError(
        f"expected {name} as two numbers (low, high), Float(...), Integer(...), a list of choices (of two numbers: "
        f"stableopt.Category), or Points(rows) of candidates, got {given!r:.200}"
    )
