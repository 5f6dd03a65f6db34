"""Families of functions for which nobody knows the model: a new function for every seed, with its exact worst cases.

They are of many kinds on purpose, and most are no draw from any prior of the library: the question is how often bounds
are true where the model had to be learned. Nearly all live on lists, where truth is exact; those with categories and
whole numbers live in spaces, where a fine list stands for the truth. All functions have a standard deviation near 1.

Every third family, in the order of their names, is held out: no choice in the library was made by looking at it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stableopt.base.arrays import Array, cartesian, low_discrepancy
from stableopt.loop.answers import Report
from stableopt.maxmin.lists.listing import Listing
from stableopt.sets.domains import Domain, Grid, Points
from stableopt.sets.perturbations import Ball, Rectangle
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Groups, Parameters, UncertaintySet
from stableopt.sets.variables import Integer

Function = Callable[[Array], Array]
_WAVES = 300


@dataclass(frozen=True, eq=False)
class ListedTask:
    """A function on a list: its values at all points, with noise, and the exact worst case of every decision."""

    domain: Domain
    uncertainty: UncertaintySet
    f: Function
    noise: Function
    """Errors of as many measurements, from uniform numbers between 0 and 1."""

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self.domain, self.uncertainty)

    @cached_property
    def values(self) -> Array:
        """f at all points (n,)."""
        return self.f(cartesian(self._listing.blocks))

    @property
    def numeric(self) -> int:
        """How many inputs are numbers."""
        return sum(block.shape[1] for block in self._listing.blocks)

    def value(self, index: Any) -> float:
        """f at a point."""
        return float(self.values[index])

    def worst(self, report: Report[Any]) -> float:
        """The true worst case of the reported decision."""
        return self._listing.solver.worst(report.decision_index, self.values).value

    @cached_property
    def optimum(self) -> float:
        """The true worst case of the best decision."""
        return self._listing.solver.maximin(self.values).value


@dataclass(frozen=True, eq=False)
class MixedTask:
    """A function of a choice and a number x from 0 to 1; for every choice a fine list of x stands for the interval."""

    domain: Space
    uncertainty: UncertaintySet
    curves: Mapping[Any, Function]
    """f of x (n,) for every choice, by the value that the variable "choice" has."""
    noise: Function
    eps: float
    neighbours: int = 0
    """How many steps of the choice the adversary may go, too."""

    @property
    def numeric(self) -> int:
        """How many inputs are numbers."""
        return 1 if any(isinstance(choice, str) for choice in self.curves) else 2

    def value(self, index: Any) -> float:
        """f at a point."""
        point: Any = self.domain.decode(np.array(index))
        return float(self.curves[point["choice"]](np.array([point["x"]]))[0])

    def worst(self, report: Report[Any]) -> float:
        """The true worst case of the reported decision."""
        x, choices = float(report.decision["x"]), list(self.curves)
        at = choices.index(report.decision["choice"])
        reached = np.linspace(max(0.0, x - self.eps), min(1.0, x + self.eps), 401)
        near = choices[max(0, at - self.neighbours) : at + self.neighbours + 1]
        return min(float(self.curves[choice](reached).min()) for choice in near)

    @cached_property
    def optimum(self) -> float:
        """The true worst case of the best decision."""
        x = np.linspace(0.0, 1.0, 10_001)
        solver = Listing(Grid([x]), Ball(self.eps)).solver
        minima = np.array([solver.all_minima(curve(x)) for curve in self.curves.values()])
        reached = [
            minima[max(0, i - self.neighbours) : i + self.neighbours + 1].min(axis=0) for i in range(len(minima))
        ]
        return float(np.max(reached))


Task = ListedTask | MixedTask


@dataclass(frozen=True)
class Family:
    """Functions of one kind."""

    name: str
    make: Callable[[np.random.Generator], Task]
    smooth: bool = False
    """Whether bounds should hardly be wider than those of a model that takes smoothness for granted."""

    def task(self, seed: int) -> Task:
        """The function of a seed; functions of different families have nothing in common."""
        return self.make(np.random.default_rng([seed, *self.name.encode()]))

    @property
    def held_out(self) -> bool:
        """Whether no choice was made by looking at it."""
        return sorted(FAMILIES).index(self.name) % 3 == 2


# --------------------------------------------------------------------------------------------------------------- parts


def waves(rng: np.random.Generator, lengthscales: Any, tail: float = math.inf) -> Function:
    """A sum of random waves: a draw from a Gaussian process, with Student's t of ``tail`` degrees for frequencies."""
    scale = np.atleast_1d(np.asarray(lengthscales, dtype=float))
    frequencies = rng.standard_normal((_WAVES, len(scale))) / scale
    if tail < math.inf:
        frequencies *= np.sqrt(tail / rng.chisquare(tail, size=(_WAVES, 1)))
    phases, heights = rng.uniform(0, 2 * np.pi, _WAVES), rng.standard_normal(_WAVES) * math.sqrt(2 / _WAVES)
    return lambda X: np.asarray(np.cos(X @ frequencies.T + phases) @ heights)


def _between(rng: np.random.Generator, low: float, high: float, count: int = 1) -> Array:
    return np.exp(rng.uniform(math.log(low), math.log(high), count))


def gaussian(sigma: float) -> Function:
    """Gaussian errors of this standard deviation."""

    def errors(uniform: Array) -> Array:
        from scipy.special import ndtri

        return np.asarray(sigma * ndtri(uniform), dtype=float)

    return errors


def student(sigma: float, degrees: float) -> Function:
    """Errors with heavy tails."""

    def errors(uniform: Array) -> Array:
        from scipy.special import stdtrit

        return np.asarray(sigma * stdtrit(degrees, uniform), dtype=float)

    return errors


def _scattered(rng: np.random.Generator, dim: int, count: int = 500) -> Points:
    return Points(low_discrepancy(count, dim, int(rng.integers(1 << 30))))


_LINE = Grid.linspace(0.0, 1.0, 101)
_SQUARE = Grid.linspace([0.0] * 2, [1.0] * 2, 25)
_CUBE = Grid.linspace([0.0] * 3, [1.0] * 3, 8)
_EXACT = gaussian(0.02)


def _on_line(make: Callable[[np.random.Generator], Function], noise: Function = _EXACT) -> Callable[..., Task]:
    return lambda rng: ListedTask(_LINE, Ball(0.05), make(rng), noise)


def _on_square(make: Callable[[np.random.Generator], Function], noise: Function = _EXACT) -> Callable[..., Task]:
    return lambda rng: ListedTask(_SQUARE, Ball(0.09), make(rng), noise)


def _in_space(dim: int, eps: float, make: Callable[[np.random.Generator], Function]) -> Callable[..., Task]:
    return lambda rng: ListedTask(_scattered(rng, dim), Ball(eps), make(rng), _EXACT)


# ------------------------------------------------------------------------------------------------------------ families


def _cliff(rng: np.random.Generator) -> Function:
    smooth, normal = waves(rng, _between(rng, 0.3, 0.6, 2)), rng.standard_normal(2)
    edge, height = float(normal @ rng.uniform(0.25, 0.75, 2)), rng.uniform(1.5, 3.0)
    return lambda X: smooth(X) + height * (X @ normal > edge)


def _plateau(rng: np.random.Generator) -> Function:
    smooth, steepness = waves(rng, _between(rng, 0.2, 0.4, 2)), rng.uniform(2.0, 6.0)
    return lambda X: np.tanh(steepness * smooth(X))


def _skewed(rng: np.random.Generator) -> Function:
    smooth, sign = waves(rng, _between(rng, 0.25, 0.5, 2)), rng.choice([-1.0, 1.0])
    return lambda X: sign * np.exp(0.8 * smooth(X))


def _periodic(rng: np.random.Generator) -> Function:
    periods, phases, slope = rng.uniform(2.0, 4.0, 2), rng.uniform(0, 2 * np.pi, 2), rng.normal(0, 1, 2)
    return lambda X: np.sin(2 * np.pi * X * periods + phases).sum(axis=1) + X @ slope


def _kinked(rng: np.random.Generator) -> Function:
    slopes, heights = rng.normal(0, 3, (6, 2)), rng.uniform(0, 2, 6)
    middle = rng.uniform(0.2, 0.8, (6, 2))
    return lambda X: (heights + ((X[:, None, :] - middle) * slopes).sum(axis=2)).min(axis=1)


def _wells(rng: np.random.Generator) -> Function:
    smooth, centres = waves(rng, _between(rng, 0.4, 0.7, 2)), rng.uniform(0, 1, (3, 2))
    depth, width = rng.uniform(1.5, 3.0, 3), rng.uniform(0.06, 0.12, 3)

    def f(X: Array) -> Array:
        away = np.square(X[:, None, :] - centres).sum(axis=2)
        return np.asarray(smooth(X) - (depth * np.exp(-0.5 * away / width**2)).sum(axis=1))

    return f


def _bumps(rng: np.random.Generator) -> Function:
    centres, heights, width = rng.uniform(0.1, 0.9, (6, 4)), rng.uniform(1, 4, 6), rng.uniform(0.2, 0.35, 6)
    return lambda X: np.asarray(
        (heights * np.exp(-0.5 * np.square(X[:, None, :] - centres).sum(axis=2) / width**2)).max(axis=1)
    )


def _some_matter(rng: np.random.Generator) -> Function:
    matter, smooth = rng.permutation(4)[:2], waves(rng, _between(rng, 0.25, 0.5, 2))
    return lambda X: smooth(X[:, matter])


def _slope(rng: np.random.Generator) -> Function:
    smooth, slope = waves(rng, _between(rng, 0.3, 0.6, 2)), rng.normal(0, 3, 2)
    return lambda X: smooth(X) + X @ slope


def _environment(rng: np.random.Generator) -> Task:
    theta = np.linspace(0.0, 1.0, 9)
    return ListedTask(Grid.linspace(0.0, 1.0, 41), Parameters(theta), waves(rng, _between(rng, 0.15, 0.6, 2)), _EXACT)


def _groups(rng: np.random.Generator) -> Task:
    points = _scattered(rng, 2, 200)
    cells = (points.points[:, 0] * 6).astype(int) * 6 + (points.points[:, 1] * 6).astype(int)
    return ListedTask(points, Groups.from_labels(cells.tolist()), waves(rng, _between(rng, 0.2, 0.4, 2)), _EXACT)


def _categories(rng: np.random.Generator) -> Task:
    names = ("steel", "brass", "glass", "paper")
    heights, common = rng.normal(0, 1.5, 4), waves(rng, 0.3)
    own = [waves(rng, 0.3) for _ in names]

    def curve(height: float, part: Function) -> Function:
        return lambda x: height + 0.5 * common(x[:, None]) + 0.5 * part(x[:, None])

    curves = {name: curve(height, part) for name, height, part in zip(names, heights, own, strict=True)}
    space = Space({"choice": list(names), "x": (0.0, 1.0)})
    return MixedTask(space, Ball(0.05, columns=["x"]), curves, _EXACT, 0.05)


def _alloys(rng: np.random.Generator) -> Task:
    names, common = ("A", "B", "C", "D", "E", "F"), waves(rng, 0.25)

    def curve(height: float, shift: float) -> Function:
        return lambda x: height + common(x[:, None] + shift)

    curves = {name: curve(rng.normal(0, 1.0), rng.uniform(-0.3, 0.3)) for name in names}
    space = Space({"choice": list(names), "x": (0.0, 1.0)})
    return MixedTask(space, Ball(0.05, columns=["x"]), curves, _EXACT, 0.05)


def _whole_numbers(rng: np.random.Generator) -> Task:
    smooth, steps = waves(rng, [4.0, 0.3]), rng.normal(0, 0.5, 11)

    def curve(n: int) -> Function:
        return lambda x: smooth(np.column_stack([np.full(len(x), float(n)), x])) + steps[n]

    space = Space({"choice": Integer(0, 10), "x": (0.0, 1.0)})
    return MixedTask(space, Rectangle([1.0, 0.05]), {n: curve(n) for n in range(11)}, _EXACT, 0.05, neighbours=1)


FAMILIES = {
    each.name: each
    for each in (
        Family("smooth 1-D", _on_line(lambda rng: waves(rng, _between(rng, 0.15, 0.4))), smooth=True),
        Family("smooth 2-D", _on_square(lambda rng: waves(rng, _between(rng, 0.25, 0.6, 2))), smooth=True),
        Family(
            "smooth 3-D",
            lambda rng: ListedTask(_CUBE, Ball(0.15), waves(rng, _between(rng, 0.3, 0.8, 3)), _EXACT),
            smooth=True,
        ),
        Family("smooth 6-D", _in_space(6, 0.35, lambda rng: waves(rng, _between(rng, 0.6, 1.5, 6))), smooth=True),
        Family("rough 1-D", _on_line(lambda rng: waves(rng, _between(rng, 0.06, 0.15), tail=3.0))),
        Family("rough 2-D", _on_square(lambda rng: waves(rng, _between(rng, 0.1, 0.2, 2), tail=3.0))),
        Family("short waves 2-D", _on_square(lambda rng: waves(rng, _between(rng, 0.1, 0.16, 2)))),
        Family("anisotropic", _on_square(lambda rng: waves(rng, rng.permutation([0.12, 1.0])))),
        Family("slope", _on_square(_slope), smooth=True),
        Family("cliff", _on_square(_cliff)),
        Family("plateaus", _on_square(_plateau)),
        Family("skewed", _on_square(_skewed)),
        Family("periodic", _on_square(_periodic)),
        Family("kinked", _on_square(_kinked)),
        Family("wells", _on_square(_wells)),
        Family("bumps 4-D", _in_space(4, 0.2, _bumps)),
        Family("two of four matter", _in_space(4, 0.2, _some_matter)),
        Family("noisy", _on_square(lambda rng: waves(rng, _between(rng, 0.25, 0.6, 2)), gaussian(0.3))),
        Family(
            "heavy-tailed noise", _on_square(lambda rng: waves(rng, _between(rng, 0.25, 0.6, 2)), student(0.1, 2.0))
        ),
        Family("environment", _environment),
        Family("groups", _groups),
        Family("categories", _categories),
        Family("alloys", _alloys),
        Family("whole numbers", _whole_numbers),
    )
}
"""All families by name."""
