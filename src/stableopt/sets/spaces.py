"""Domains with ranges instead of lists: every combination of values of some variables, named or not.

A `Space` translates between what a user sees (a dictionary of named values, or an array) and the rows of numbers that
models and solvers use: the coordinates of all variables side by side (see `variables`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, cartesian, frozen, low_discrepancy
from stableopt.base.checks import is_whole, listed, nearest, unmasked
from stableopt.base.values import Value
from stableopt.sets.candidates import Candidates, variable
from stableopt.sets.domains import Domain
from stableopt.sets.variables import Float, Variable

Point = dict[str, Any] | Array | list[Any]
"""A point as a user sees it: a dictionary if the variables are named, else an array (a list if some are no numbers)."""


@dataclass(frozen=True, eq=False, repr=False)
class Space(Value):
    """Every combination of values of some variables, named (a dictionary) or not (a list).

    A variable is a range ``(low, high)``, a ``Float`` (log scale, wider evaluation range, steps), an ``Integer``, a
    list of choices (strings, truth values, three or more numbers), or ``Points(rows)``: fixed candidates. The columns
    of candidates may have names of their own, as in ``{("carbon", "nickel"): Points(rows)}``.
    """

    variables: Mapping[Any, Any] | Sequence[Any]
    names: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        given, names = self.variables, self.names
        if isinstance(given, Mapping):
            if names is not None:
                raise ValueError(f"expected names as keys or as a list, got both: leave out names={names!r:.200}")
            given, names = list(given.values()), list(given)
        given = given.tolist() if isinstance(given, np.ndarray) else given
        if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
            raise ValueError(f'expected ranges such as {{"x": (0, 1)}} or [(0, 1)], got {self.variables!r:.200}')
        if names is not None:
            expected = f"a list of {len(given)} names, one per variable"
            names = listed(names, expected)
            if len(names) != len(given):
                raise ValueError(f"expected {expected}, got {names!r:.200}")
        labels = [f"variable {i}" for i in range(len(given))] if names is None else [repr(n) for n in names]
        parsed = tuple(variable(v, label) for v, label in zip(given, labels, strict=True))
        vars(self).update(variables=parsed)
        if names is not None:
            vars(self).update(names=tuple(_name(n, v) for n, v in zip(names, parsed, strict=True)))
            flat = self.flat_names or []
            if len(set(flat)) < len(flat):
                raise ValueError(f"expected distinct names, got {flat}")

    @property
    def parts(self) -> tuple[Variable, ...]:
        """The variables."""
        return tuple(self.variables)

    @cached_property
    def columns(self) -> tuple[range, ...]:
        """Which columns of a row belong to each variable."""
        ends = np.cumsum([0, *(v.width for v in self.parts)]).tolist()
        return tuple(range(a, b) for a, b in itertools.pairwise(ends))

    @property
    def dim(self) -> int:
        """Number of columns of a row."""
        return sum(v.width for v in self.parts)

    @cached_property
    def numeric(self) -> list[int]:
        """The columns that a perturbation can change: of floats and integers."""
        return [c[0] for v, c in zip(self.parts, self.columns, strict=True) if v.numeric]

    @cached_property
    def categories(self) -> tuple[int, ...]:
        """The columns that hold numbers of categories."""
        return tuple(c[j] for v, c in zip(self.parts, self.columns, strict=True) for j in v.categories)

    @property
    def labels(self) -> list[str]:
        """A name for every column."""
        if self.names is None:
            return [str(i) for i in range(self.dim)]
        labels = []
        for name, v in zip(self.names, self.parts, strict=True):
            several = isinstance(name, str) and v.width > 1
            labels += [f"{name}[{i}]" for i in range(v.width)] if several else list(keys_of(name))
        return labels

    def column(self, name: Any) -> int:
        """The column of a variable by its name, or by its number."""
        if isinstance(name, str):
            if name not in self.labels:
                raise ValueError(f"expected one of the names {self.labels}, got {name!r}{nearest(name, self.labels)}")
            return self.labels.index(name)
        if not is_whole(name, 0) or name >= self.dim:
            raise ValueError(f"expected a column between 0 and {self.dim - 1}, got {name!r}")
        return int(name)

    def encode(self, point: Any, what: str = "point") -> Array:
        """The row of a point; an error that says what it should have been."""
        values = self._values(point, what)
        names = self.names or [f"coordinate {i}" for i in range(len(self.parts))]
        row = [c for v, value, n in zip(self.parts, values, names, strict=True) for c in v.encode(value, str(n))]
        return frozen(np.array(row, dtype=float))

    def decode(self, row: Array) -> Point:
        """The point at a row, with everything discrete rounded to what it can be."""
        return self.decoded(row[None])[0]

    def decoded(self, rows: Array) -> list[Point]:
        """The points at rows (n, d)."""
        parts = [v.decoded(rows[:, c.start : c.stop]) for v, c in zip(self.parts, self.columns, strict=True)]
        return list(map(self._point, zip(*parts, strict=True)))

    def _point(self, values: Sequence[Any]) -> Point:
        """The point of which these are the values, one for each variable."""
        if self.names is None:
            flat = [x for value in values for x in (value if isinstance(value, tuple) else (value,))]
            return flat if self.categories else frozen(np.array(flat, dtype=float))
        named: dict[str, Any] = {}
        for name, value in zip(self.names, values, strict=True):
            named.update({name: value} if isinstance(name, str) else dict(zip(name, value, strict=True)))
        return named

    def settled(self, rows: Array) -> Array:
        """The rows (n, d) of the points at these rows: the same, with everything discrete rounded to what it can be."""
        parts = zip(self.parts, self.columns, strict=True)
        return np.hstack([v.settled(rows[:, c.start : c.stop]) for v, c in parts])

    def natural(self, rows: Array) -> Array:
        """Rows in the user's units (log on log scales), which the kernels of a prior that is given see."""
        parts = zip(self.parts, self.columns, strict=True)
        return np.hstack([v.natural(rows[:, c.start : c.stop]) for v, c in parts])

    @cached_property
    def span(self) -> Array:
        """How long the unit of each coordinate is in the units of `natural` (d,)."""
        ends = self.natural(np.array([np.zeros(self.dim), np.ones(self.dim)]))
        return frozen(ends[1] - ends[0])

    def spread(self, count: int, seed: int) -> Array:
        """About evenly spread, distinct rows (≤ count, d): all of them where there are no more than ``count``."""
        choices = [v.settings for v in self.parts]
        finite = [c for c in choices if c is not None]
        if len(finite) == len(choices) and math.prod(len(c) for c in finite) <= count:
            return cartesian(finite)
        return distinct(self.rows(low_discrepancy(count, len(choices), seed)))

    def rows(self, unit: Array) -> Array:
        """Rows (n, d) from numbers between 0 and 1, one per variable: any of its values is as likely as another."""
        pairs = [(u, v.settings) for u, v in zip(unit.T, self.parts, strict=True)]
        rows = (u[:, None] if c is None else c[np.minimum((u * len(c)).astype(int), len(c) - 1)] for u, c in pairs)
        return np.hstack(list(rows))

    def settable(self, rows: Array, *, decision: bool = False) -> Array:
        """The nearest rows (..., d) that can be set: floats with a step are on one."""
        out = np.array(rows, dtype=float)
        for v, c in zip(self.parts, self.columns, strict=True):
            if isinstance(v, Float) and v.step is not None:
                out[..., c[0]] = v.settable(out[..., c[0]], decision=decision)
        return out

    def joined(self, other: Space) -> Space:
        """The variables of both, side by side; names where this space has them."""
        numbered = [
            tuple(f"theta{i}_{j}" for j in range(v.width)) if isinstance(v, Candidates) else f"theta{i}"
            for i, v in enumerate(other.parts)
        ]
        theirs = other.names or numbered
        return Space([*self.parts, *other.parts], None if self.names is None else [*self.names, *theirs])

    def _values(self, point: Any, what: str) -> list[Any]:
        """One value per variable."""
        what = f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
        if self.names is not None:
            names = self.flat_names or []
            if not isinstance(point, Mapping):
                raise ValueError(f"expected {what} as a dictionary with {names}, got {point!r:.200}")
            unknown = [n for n in point if n not in names]
            if unknown or len(point) < len(names):
                hint = nearest(str(unknown[0]), names) if unknown else ""
                raise ValueError(f"expected {what} with the names {names}, got {list(point)}{hint}")
            return [point[n] if isinstance(n, str) else [point[m] for m in n] for n in self.names]
        if isinstance(point, Mapping | str):
            raise ValueError(f"expected {what} as a list of {self.dim} values, got {point!r:.200}")
        given = np.atleast_1d(np.asarray(unmasked(point, what), dtype=object))
        flat = [v.item() if isinstance(v, np.generic) else v for v in given]
        if len(flat) != self.dim:
            raise ValueError(f"expected {what} with {self.dim} values, got {len(flat)}: {point!r:.200}")
        pairs = zip(self.parts, self.columns, strict=True)
        return [flat[c.start : c.stop] if isinstance(v, Candidates) else flat[c[0]] for v, c in pairs]

    @property
    def flat_names(self) -> list[str] | None:
        """The keys of a point, if it has any."""
        return None if self.names is None else [n for name in self.names for n in keys_of(name)]

    def __repr__(self) -> str:
        names = self.names or range(len(self.parts))
        return f"Space({', '.join(f'{n}: {v}' for n, v in zip(names, self.parts, strict=True))})"


def distinct(rows: Array) -> Array:
    """The rows without repetitions, in their order."""
    return np.asarray(rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])])


def keys_of(name: Any) -> tuple[str, ...]:
    """The keys of a point that belong to a variable of this name: one, or one for each column of candidates."""
    return (name,) if isinstance(name, str) else tuple(name)


def _name(name: Any, v: Variable) -> Any:
    several = isinstance(name, tuple | list) and len(name) == v.width and isinstance(v, Candidates)
    if not isinstance(name, str) and not (several and all(isinstance(n, str) for n in name)):
        raise ValueError(f"expected names as strings (a tuple of {v.width} for columns of candidates), got {name!r}")
    return name if isinstance(name, str) else tuple(name)


def space_of(domain: Domain | Space) -> Space:
    """A domain as a space: a list of points is one variable with fixed candidates."""
    return domain if isinstance(domain, Space) else Space([variable(domain, "domain")])
