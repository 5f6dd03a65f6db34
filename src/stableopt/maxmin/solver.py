"""What every max-min solver can do, and what the search in spaces asks for: a smooth function and a region.

Exact solvers on lists (`lists`) and a search in spaces (`search`) satisfy `Solver`. Both take a function of points, in
the form that suits them. To the search, a decision says what we do, a scenario what the adversary does, and the two
together give a point. It knows nothing else: no model, no units, no kind of set.

Notation
    d, q, P     coordinates of a decision, of a scenario, of a point
    X (n, d)    decisions, row by row; x (d,) is one of them
    S (n, q)    scenarios, row by row; s (q,) is one of them
    Z (n, P)    points
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from stableopt.base.arrays import Array, Indices, Mask

Row = tuple[float, ...]
"""The index of a decision or a point in a space: its coordinates."""
AnyIndex = int | Row

# Index: what a decision or a point is to a solver, a number on a list or a row of coordinates in a space.
# F_contra: a function of points, its values on all of them on a list or something to be evaluated in a space.
if TYPE_CHECKING:  # type checkers know defaults of type variables before Python 3.13 does
    from typing_extensions import TypeVar as TypeVarWithDefault

    Index = TypeVarWithDefault("Index", default=AnyIndex)
    F_contra = TypeVarWithDefault("F_contra", contravariant=True, default=object)
else:
    Index, F_contra = TypeVar("Index"), TypeVar("F_contra", contravariant=True)


class Choice(NamedTuple, Generic[Index]):
    """A decision, and a point that the adversary can turn it into."""

    decision: Index
    point: Index
    value: float = math.nan
    """The value at the point, where the choice was made by values."""
    exact: bool = False
    """Whether no other choice is better, for certain."""
    gap: float = 0.0
    """How far the two sides of a search for the best decision are apart; 0 where they met."""
    agreed: bool = False
    """Whether several independent starts of a search led to this decision; else it may have missed a better one."""
    margin: float = math.inf
    """The smallest margin of the decision, where there are constraints; below 0 it breaks one."""
    others: Sequence[Index] = ()
    """Other good decisions that a search met, far apart: starts for a function that is almost the same."""


class Hints(NamedTuple, Generic[Index]):
    """What is known before a search: it may start there. Exact solvers need no hints."""

    decisions: Sequence[Index] = ()
    """Decisions that may be good."""
    points: Sequence[Index] = ()
    """Points that may be worst cases."""
    values: Sequence[float] = ()
    """What was measured at these points."""
    enough: bool = False
    """Whether the best decision is near one of these: they are the answers for a function that is almost the same."""


class Solver(Protocol[Index, F_contra]):
    """max over decisions d of min over points z in A(d) of any function F of points."""

    def maximin(
        self,
        F: F_contra,
        hints: Hints[Index] = ...,
        subject_to: Sequence[F_contra] = ...,
        near: Index | None = ...,
    ) -> Choice[Index]:
        """The decision with the largest worst case, and that worst case.

        subject_to: functions whose worst cases must be 0 or more. Where no decision has that, the answer is the one
        whose smallest worst case of all these functions is largest.
        near: with constraints, a search may climb from this decision alone, which takes much less time. If it reaches
        none that keeps them, the answer is where it began.
        """

    def maximins(self, functions: Sequence[F_contra], hints: Sequence[Hints[Index]]) -> list[Choice[Index]]:
        """`maximin` of each function, with hints of its own; together that may take much less time."""

    def jointly(self, functions: Sequence[F_contra], hints: Hints[Index] = ...) -> Choice[Index]:
        """The decision with the largest worst case where the adversary also chooses which of the functions counts."""

    def worst(self, decision: Index, F: F_contra, hints: Hints[Index] = ...) -> Choice[Index]:
        """The worst case of one decision."""

    def worsts(self, decision: Index, functions: Sequence[F_contra], hints: Hints[Index] = ...) -> list[Choice[Index]]:
        """The worst case of one decision for each function; together that may take much less time."""

    def minima(self, decisions: Sequence[Index], F: F_contra, hints: Hints[Index] = ...) -> list[Choice[Index]]:
        """The worst cases of several decisions."""

    def best(self, decisions: Sequence[Index], F: F_contra, hints: Hints[Index] = ...) -> Choice[Index]:
        """Among these decisions the one with the largest worst case."""

    def leading(
        self, decisions: Sequence[Index], F: F_contra, count: int, hints: Hints[Index] = ..., above: float = ...
    ) -> list[Choice[Index]]:
        """At most ``count`` of these decisions, those with the largest worst cases ``above`` a value, best first."""


class Smooth(Protocol):
    """A function of points with its gradient, evaluated in batches."""

    def __call__(self, Z: Array) -> Array:
        """Values at the points: (n, P) -> (n,)."""

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Values and gradients at the points: (n, P) -> (n,), (n, P)."""


class Together(Protocol):
    """Several functions of points that share work: two bounds of one model, for example.

    A `Smooth` function may have a method ``together(functions)``, itself the first of them, that returns this, or None.
    """

    def each(self, Z: Array) -> Array:
        """Values of all functions at the points: (n, P) -> (K, n)."""

    def at(self, Z: Array, which: Indices) -> Array:
        """Values of the functions with these numbers (n,), point by point: (n, P) -> (n,)."""

    def with_gradient(self, Z: Array, which: Indices) -> tuple[Array, Array]:
        """Values and gradients of the functions with these numbers: (n, P) -> (n,), (n, P)."""


class Adversary(Protocol):
    """Scenarios, and the points that they make of decisions. All coordinates are of the order of 1."""

    @property
    def width(self) -> int:
        """q, coordinates of a scenario; with 0 a decision has just one point."""

    @property
    def exact(self) -> bool:
        """Whether `project_inside` finds the nearest of a convex set: then short and long steps lead down alike."""

    @property
    def curved(self) -> bool:
        """Whether an even spread of scenarios is no even spread of points, as on log scales."""

    @property
    def moved(self) -> Mask:
        """The columns of a point that scenarios change by steps, not by a choice (P,)."""

    def reach(self, X: Array) -> tuple[Array, Array]:
        """The lowest and the highest of the points of each decision, column by column (n, P) each, or a bit more."""

    def scenarios(self, count: int, seed: int) -> Array:
        """A spread of scenarios (<= count, q): the one that changes nothing, then extreme ones, then inner ones."""

    def filling(self, X: Array, unit: Array) -> Array:
        """Scenarios (n, m, q) whose points fill what each decision can turn into, from m rows of the unit cube (m, q).

        They are spread in the coordinates of points, in which F varies. On log scales the scenarios themselves may be
        spread quite differently.
        """

    def near(self, X: Array, Z: Array) -> Array:
        """Allowed scenarios (n, m, q) that turn decisions (n, d) into points as near to Z (n, m, P) as coordinates say.

        On log scales, `scenario_of` may say so in other units.
        """

    def other_scenarios(self, x: Array, s: Array, most: int) -> Array:
        """Neighbours (m, q) of one scenario of a decision that differ in something discrete.

        Of something that has more values than ``most``, only so many: the nearest ones and some far away.
        """

    def project(self, X: Array, S: Array) -> Array:
        """The nearest scenarios that are allowed for these decisions, row by row; from far away, an extreme one."""

    def project_inside(self, X: Array, S: Array) -> Array:
        """The nearest allowed scenarios whose points lie inside the domain before anything is clipped, row by row.

        There `pull` finds a slope in every continuous coordinate. A clipped coordinate has none, and a descent would
        never bring it back.
        """

    def points(self, X: Array, S: Array) -> Array:
        """The points that the scenarios make of the decisions, row by row (n, P); the moved decision comes first."""

    def pull(self, X: Array, S: Array, G: Array) -> tuple[Array, Array]:
        """Gradients by points (n, P) as gradients by decisions (n, d) and by scenarios (n, q).

        0 in discrete coordinates and where clipping holds a coordinate: beyond its bound, not at it.
        """

    def scenario_of(self, X: Array, Z: Array) -> Array:
        """Allowed scenarios that turn X into Z, or as near as possible, row by row."""

    def point_index(self, row: Array) -> Row:
        """The row of a point as it comes back from a user, so that a run can be replayed bit for bit."""


class Region(Adversary, Protocol):
    """Decisions, and an adversary. The box of a decision is [0, 1]^d in its continuous coordinates."""

    @property
    def dim(self) -> int:
        """d, coordinates of a decision."""

    @property
    def count(self) -> float:
        """How many decisions there are; infinity if any coordinate is continuous."""

    @property
    def few(self) -> bool:
        """Whether each discrete variable has so few values that `other_decisions` has all others of each."""

    @property
    def choices(self) -> float:
        """How many combinations of discrete values there are; 1 without any."""

    @property
    def relaxed(self) -> Region | None:
        """The same region with real numbers in place of whole ones, which then have a slope; None if there are none."""

    def decisions(self, count: int, seed: int) -> Array:
        """Space-filling decisions (<= count, d); all of them if there are no more than that."""

    def pace(self, X: Array) -> Array:
        """How fast a descent goes in each coordinate of a scenario, relative to its slope there (n, q), above 0.

        With equal paces it is slow where one coordinate reaches far and another one hardly anywhere: a unit of the one
        changes F much more. They may differ only between coordinates that are projected one by one.
        """

    def clip(self, X: Array) -> Array:
        """The nearest decisions that exist; discrete coordinates are left alone."""

    def other_decisions(self, x: Array) -> Array:
        """Neighbours (m, d) of one decision that differ in a discrete variable."""

    def rounded(self, x: Array) -> Array:
        """Decisions (m, d) of this region around one of the relaxed region."""

    def decision_index(self, row: Array) -> Row:
        """The row of a decision as it comes back from a user, so that a run can be replayed bit for bit."""
