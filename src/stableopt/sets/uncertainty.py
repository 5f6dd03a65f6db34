"""What every uncertainty set says of itself, the parameters θ that an adversary may choose, products of sets, groups.

Here is all that a product needs to know: which parts move x (a `Perturbation`, of which there are many kinds) and which
one chooses θ (`Parameters`, or an `Estimate` with a perturbation of its own).

Notation
    x, D           a decision and its domain
    θ, Θ   (m, q)  a parameter, and all that there are, one a row; or a `Space` of them
    θ̄              what the parameter is estimated to be
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stableopt.base.arrays import Array, Mask
from stableopt.base.checks import listed, matrix, row_of, whole
from stableopt.base.values import Value
from stableopt.sets.spaces import Space

_MEMBERS = "members of groups as numbers of points, 0, 1, 2, ..."


class UncertaintySet(Value):
    """Any set of this package."""

    @property
    def perturbations(self) -> list[Perturbation]:
        """The parts that move x."""
        return []

    @property
    def parameters(self) -> Parameters | Estimate | None:
        """The part that chooses θ, if there is one."""
        return None

    def scaled(self, factor: float) -> UncertaintySet:
        """The same set with every perturbation ``factor`` times as large; what has no size stays as it is."""
        return self

    def __mul__(self, other: UncertaintySet) -> Combined:
        return Combined((*parts_of(self), *parts_of(other)))


class Perturbation(UncertaintySet, ABC):
    """Moves x to another point x' of D; with ``columns``, only those coordinates (by number or name) may change."""

    columns: Sequence[int | str] | None

    @property
    def perturbations(self) -> list[Perturbation]:
        return [self]

    @abstractmethod
    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B each row of A may be turned into (len(A), len(B))."""

    @abstractmethod
    def scaled(self, factor: float) -> Perturbation:
        """The same perturbation, ``factor`` times as large."""

    def stretched(self, factors: Sequence[float], columns: Sequence[int]) -> Perturbation | None:
        """The same perturbation, ``factors`` times as large in each of the columns that may change.

        None where columns have no size of their own.
        """
        return None

    def free(self, dim: int) -> list[int]:
        """The coordinates that may change, of ``dim``."""
        columns = range(dim) if self.columns is None else self.columns
        numbers = [c for c in columns if isinstance(c, int) and c < dim]
        if len(numbers) < len(columns):
            raise ValueError(f"expected numbers of columns of points with {dim} coordinates, got {list(columns)}")
        return numbers


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSet(UncertaintySet):
    """Chooses θ: one of the rows of Θ, or a point of a `Space`."""

    theta: ArrayLike | Space

    @property
    def block(self) -> Array:
        """Θ, one row per parameter (m, q)."""
        if isinstance(self.theta, Space):
            raise TypeError(f"expected finitely many parameters as rows, got {self.theta}")
        return np.asarray(self.theta)


@dataclass(frozen=True, eq=False, repr=False)
class Parameters(ParameterSet):
    """An unknown parameter θ in Θ: x is turned into (x, θ) for any row θ of ``theta``, or any θ of a ``Space``."""

    def __post_init__(self) -> None:
        if not isinstance(self.theta, Space):
            vars(self).update(theta=matrix(self.theta, "parameters"))

    @property
    def parameters(self) -> Parameters:
        return self

    @property
    def allowed(self) -> NDArray[np.intp]:
        """Which rows of Θ the adversary may choose: all."""
        return np.arange(len(self.block))

    @property
    def nominal(self) -> NDArray[np.intp]:
        """Which rows of Θ stand for "no perturbation": all, since none is preferred."""
        return self.allowed

    def __repr__(self) -> str:
        if isinstance(self.theta, Space):
            return f"Parameters({self.theta})"
        return f"Parameters({len(self.block)} parameters with {self.block.shape[1]} coordinates)"


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(ParameterSet):
    """Robust estimation: θ is known to be near an estimate θ̄, within the perturbation ``within`` of it.

    ``Estimate(theta, [0.5], Ball(0.1))`` turns x into (x, θ) for every row θ of ``theta`` at most 0.1 from 0.5. The
    estimate is a row of ``theta`` itself, or a point of it where ``theta`` is a ``Space``.
    """

    estimate: Any
    within: Perturbation

    @property
    def parameters(self) -> Estimate:
        return self

    def __post_init__(self) -> None:
        if not isinstance(self.within, Perturbation):
            raise TypeError(f"expected a perturbation of the estimate such as Ball(0.1), got {self.within!r}")
        if isinstance(self.theta, Space):
            vars(self).update(estimate=_plain_point(self.theta, self.estimate))
            return
        theta = matrix(self.theta, "parameters")
        estimate = theta[row_of(theta, self.estimate, "estimate", "Θ")]
        vars(self).update(theta=theta, estimate=tuple(estimate.tolist()))
        if not len(self.allowed):
            raise ValueError(f"{self.within} allows no parameter at all for the estimate {estimate.tolist()}")

    def scaled(self, factor: float) -> Estimate:
        return replace(self, within=self.within.scaled(factor))

    @property
    def allowed(self) -> NDArray[np.intp]:
        """Which rows of Θ the adversary may choose: those near the estimate."""
        return np.flatnonzero(self.within.reaches(np.array([self.estimate], dtype=float), self.block)[0])

    @property
    def nominal(self) -> NDArray[np.intp]:
        """Which row of Θ stands for "no perturbation": the estimate itself."""
        return np.array([row_of(self.block, self.estimate, "estimate", "Θ")])

    def __repr__(self) -> str:
        if isinstance(self.theta, Space):
            return f"Estimate({self.estimate}, within={self.within}, {self.theta})"
        return f"Estimate({np.asarray(self.estimate).tolist()}, within={self.within}, {len(self.allowed)} parameters)"


@dataclass(frozen=True, eq=False)
class Combined(UncertaintySet):
    """Several adversaries at once, each with its own coordinates; written as a product of sets."""

    parts: Sequence[UncertaintySet]

    def __post_init__(self) -> None:
        vars(self).update(parts=tuple(self.parts))
        strays = [p for p in self.parts if not isinstance(p, Perturbation | Parameters | Estimate)]
        if strays or len(self.parts) - len(self.perturbations) > 1:
            raise TypeError(
                f"expected perturbations and at most one set of parameters, got {list(self.parts)}: list combinations "
                "of parameters as rows of one Θ, and points of D × Θ as members of groups"
            )
        chosen = [p.columns for p in self.perturbations]
        flat = [c for columns in chosen for c in columns or ()]
        if len(chosen) > 1 and (None in chosen or len(set(flat)) < len(flat)):
            raise ValueError(f"expected perturbations with columns of their own (columns=...), got {chosen}")

    def scaled(self, factor: float) -> Combined:
        return Combined([part.scaled(factor) for part in self.parts])

    @property
    def perturbations(self) -> list[Perturbation]:
        return [part for part in self.parts if isinstance(part, Perturbation)]

    @property
    def parameters(self) -> Parameters | Estimate | None:
        return next((part for part in self.parts if isinstance(part, Parameters | Estimate)), None)


@dataclass(frozen=True, eq=False, repr=False)
class Groups(UncertaintySet):
    """The decision is a group and the adversary picks its worst member.

    ``members`` lists the numbers of the points in each group, as a list of lists or a dictionary by name. Every point
    belongs to a group at least; where it belongs to several, the first one is "its" group.
    """

    members: Mapping[str, Iterable[int]] | Sequence[Iterable[int]]
    names: Sequence[str | int] | None = None

    def __post_init__(self) -> None:
        lists, given = self.members, self.names
        if isinstance(lists, Mapping):
            given, lists = tuple(lists), list(lists.values())
        lists = listed(lists, "groups as lists of the numbers of their points, such as [[0, 1], [2]]")
        if any(isinstance(group, str) or not isinstance(group, Iterable) for group in lists):
            raise ValueError(f"expected a list of members for each group, got {lists!r:.200}; labels: from_labels(...)")
        groups = tuple(tuple(sorted({whole(i, 0, _MEMBERS) for i in group})) for group in lists)
        given = range(len(groups)) if given is None else listed(given, "a list of names, one for each group")
        names = tuple(map(_group_name, given))
        if not groups or len(names) != len(groups) or len(set(names)) != len(names):
            raise ValueError(f"expected at least one group and one distinct name each, got {len(groups)} and {names}")
        for name, group in zip(names, groups, strict=True):
            if not group:
                raise ValueError(f"expected members in every group, got an empty group {name!r}: leave it out")
        vars(self).update(members=groups, names=names)

    @classmethod
    def from_labels(cls, labels: Sequence[Any] | NDArray[Any]) -> Groups:
        """Groups from one label per point, in the order of the sorted labels."""
        each = listed(labels, "one label per point in a flat list")
        kinds = {type(label.item() if isinstance(label, np.generic) else label) for label in each}
        if len(kinds) != 1 or not issubclass(next(iter(kinds)), str | int | float):
            names = sorted(kind.__name__ for kind in kinds)
            raise ValueError(f"expected one label per point, all strings or all numbers, in a flat list, got {names}")
        found, inverse, counts = np.unique(np.asarray(each), return_inverse=True, return_counts=True)
        members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
        names = found.tolist() if found.dtype.kind in "iuU" else [str(label) for label in found]
        return cls([group.tolist() for group in members], names)

    @property
    def lists(self) -> list[list[int]]:
        """The numbers of the points in each group, increasing."""
        groups = self.members.values() if isinstance(self.members, Mapping) else self.members
        return [list(group) for group in groups]

    def __repr__(self) -> str:
        return f"Groups({len(self.lists)} groups)"


def continuous(uncertainty: UncertaintySet) -> bool:
    """Whether the adversary has more than finitely many choices even on a finite domain."""
    parts_of(uncertainty)  # refuses what is no uncertainty set
    return uncertainty.parameters is not None and isinstance(uncertainty.parameters.theta, Space)


def parts_of(uncertainty: UncertaintySet) -> tuple[UncertaintySet, ...]:
    """The factors of a product, or the set itself."""
    if not isinstance(uncertainty, UncertaintySet):
        raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {uncertainty!r}")
    return tuple(uncertainty.parts) if isinstance(uncertainty, Combined) else (uncertainty,)


def _plain_point(space: Space, estimate: Any) -> tuple[Any, ...]:
    """The values of an estimate that is a point of the space: in the order of its variables, whatever their names."""
    names = space.flat_names
    if isinstance(estimate, tuple | list) and names is not None and len(estimate) == len(names):
        estimate = dict(zip(names, estimate, strict=True))
    space.encode(estimate, "estimate")
    values = np.atleast_1d(np.asarray(estimate, dtype=object)) if names is None else [estimate[n] for n in names]
    return tuple(v.item() if isinstance(v, np.generic) else v for v in values)


def _group_name(name: Any) -> str | int:
    if isinstance(name, str):
        return str(name)
    if isinstance(name, bool) or not isinstance(name, int | np.integer):
        raise TypeError(f"expected names of groups as strings or whole numbers, got {name!r}")
    return int(name)
