"""What every uncertainty set says of itself, the parameters θ that an adversary may choose, and products of sets.

Here is all that a product needs to know: which parts move x (a `Perturbation`, of which there are many kinds) and which
one chooses θ (`Parameters`, or an `Estimate` with a perturbation of its own).

Notation
    x, D           a decision and its domain
    θ, Θ   (m, q)  a parameter, and all that there are, one a row; or a `Space` of them
    θ̄              what the parameter is estimated to be
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stableopt.base.arrays import Array, Mask
from stableopt.base.checks import matrix, row_of
from stableopt.base.values import Value
from stableopt.sets.spaces import Space


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
        return Combined((*_parts(self), *_parts(other)))


class Perturbation(UncertaintySet, ABC):
    """Moves x to another point x' of D; with ``columns``, only those coordinates (by number or name) may change."""

    columns: Sequence[int | str] | None

    @property
    def perturbations(self) -> list[Perturbation]:
        """Itself."""
        return [self]

    @abstractmethod
    def reaches(self, A: Array, B: Array) -> Mask:
        """Which rows of B each row of A may be turned into (len(A), len(B))."""

    @abstractmethod
    def scaled(self, factor: float) -> Perturbation:
        """The same perturbation, ``factor`` times as large."""

    def free(self, dim: int) -> list[int]:
        """The coordinates that may change, of ``dim``."""
        columns = range(dim) if self.columns is None else self.columns
        numbers = [c for c in columns if isinstance(c, int) and c < dim]
        if len(numbers) < len(columns):
            raise ValueError(f"expected numbers of columns of points with {dim} coordinates, got {list(columns)}")
        return numbers


@dataclass(frozen=True, eq=False, repr=False)
class Parameters(UncertaintySet):
    """An unknown parameter θ in Θ: x is turned into (x, θ) for any row θ of ``theta``, or any θ of a ``Space``."""

    theta: ArrayLike | Space

    @property
    def parameters(self) -> Parameters:
        """Itself."""
        return self

    def __post_init__(self) -> None:
        if not isinstance(self.theta, Space):
            object.__setattr__(self, "theta", matrix(self.theta, "parameters"))

    @property
    def block(self) -> Array:
        """Θ, one row per parameter (m, q)."""
        return _rows(self.theta)

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
class Estimate(UncertaintySet):
    """Robust estimation: θ is known to be near an estimate θ̄, within the perturbation ``within`` of it.

    ``Estimate(theta, [0.5], Ball(0.1))`` turns x into (x, θ) for every row θ of ``theta`` at most 0.1 from 0.5. The
    estimate is a row of ``theta`` itself, or a point of it where ``theta`` is a ``Space``.
    """

    theta: ArrayLike | Space
    estimate: Any
    within: Perturbation

    @property
    def parameters(self) -> Estimate:
        """Itself."""
        return self

    def __post_init__(self) -> None:
        if not isinstance(self.within, Perturbation):
            raise TypeError(f"expected a perturbation of the estimate such as Ball(0.1), got {self.within!r}")
        if isinstance(self.theta, Space):
            object.__setattr__(self, "estimate", _plain_point(self.theta, self.estimate))
            return
        theta = matrix(self.theta, "parameters")
        estimate = theta[row_of(theta, self.estimate, "estimate", "Θ")]
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "estimate", tuple(estimate.tolist()))
        if not len(self.allowed):
            raise ValueError(f"{self.within} allows no parameter at all for the estimate {estimate.tolist()}")

    @property
    def block(self) -> Array:
        """Θ, one row per parameter (m, q)."""
        return _rows(self.theta)

    def scaled(self, factor: float) -> Estimate:
        """The same estimate, with another perturbation of it."""
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
        object.__setattr__(self, "parts", tuple(self.parts))
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
        """Every part with another size."""
        return Combined([part.scaled(factor) for part in self.parts])

    @property
    def perturbations(self) -> list[Perturbation]:
        """The parts that move x."""
        return [part for part in self.parts if isinstance(part, Perturbation)]

    @property
    def parameters(self) -> Parameters | Estimate | None:
        """The part that chooses θ, if there is one."""
        return next((part for part in self.parts if isinstance(part, Parameters | Estimate)), None)


def continuous(uncertainty: UncertaintySet) -> bool:
    """Whether the adversary has more than finitely many choices even on a finite domain."""
    _parts(uncertainty)  # refuses what is no uncertainty set
    return uncertainty.parameters is not None and isinstance(uncertainty.parameters.theta, Space)


def _parts(uncertainty: UncertaintySet) -> tuple[UncertaintySet, ...]:
    if not isinstance(uncertainty, UncertaintySet):
        raise TypeError(f"expected an uncertainty set such as Ball(0.1), got {uncertainty!r}")
    return tuple(uncertainty.parts) if isinstance(uncertainty, Combined) else (uncertainty,)


def _rows(theta: ArrayLike | Space) -> Array:
    if isinstance(theta, Space):
        raise TypeError(f"expected finitely many parameters as rows, got {theta}")
    return np.asarray(theta)


def _plain_point(space: Space, estimate: Any) -> tuple[Any, ...]:
    """The values of an estimate that is a point of the space: in the order of its variables, whatever their names."""
    names = space.flat_names
    if isinstance(estimate, tuple | list) and names is not None and len(estimate) == len(names):
        estimate = dict(zip(names, estimate, strict=True))
    space.encode(estimate, "estimate")
    values = np.atleast_1d(np.asarray(estimate, dtype=object)) if names is None else [estimate[n] for n in names]
    return tuple(v.item() if isinstance(v, np.generic) else v for v in values)
