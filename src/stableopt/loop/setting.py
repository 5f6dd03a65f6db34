"""What a run is about: a domain with an uncertainty set, seen by models, solvers and users alike.

There are two settings: `listed` (finitely many decisions and points, by number) and `space` (rows of coordinates).
Nothing outside these two files asks which one it has. What they share:

    translation   between a user's values and indices, in one place
    solver        max over decisions of min over points of a function F of points
    posterior     a model after some data, as the setting sees it: it gives the functions F that solvers take
    points        a design to begin with, random points, and others where one is taken

Notation
    Index   what a decision or a point is: a number on a list, a row of coordinates in a space
    F       a function of points in the form that the setting's solver takes; nobody else looks into it
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.base.values import ReadOnly
from stableopt.loop.measurements import Round
from stableopt.loop.views import View
from stableopt.maxmin.solver import Choice, Hints, Index, Solver
from stableopt.model.beliefs import Belief
from stableopt.sets.allowed import Rule, holds
from stableopt.sets.domains import Domain
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import UncertaintySet

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    F = TypeVarWithDefault("F", default=object)
else:
    F = TypeVar("F")


FINE = 1000  # parts of a range: that is how finely a number is read


class Translation(Protocol[Index]):
    """Between what a user sees and indices."""

    @property
    def names(self) -> Mapping[str, int] | None:
        """The names of a point's values, if they have any, and how many columns each of them has."""

    def decision(self, index: Index) -> object:
        """What a decision looks like."""

    def point(self, index: Index) -> object:
        """What a point looks like."""

    def decision_index(self, value: object) -> Index:
        """The index of a decision; an error that says what it could be."""

    def point_index(self, value: object) -> Index:
        """The index of a point; an error that says what it could be."""

    def decision_of(self, point: Index) -> Index:
        """The decision that a point on its own stands for."""

    def canonical(self, choice: Choice[Index]) -> Choice[Index]:
        """The choice with its indices in their usual form; an error if they are none of this setting."""


@dataclass(frozen=True, eq=False)
class Intersection(ReadOnly):
    """The largest lcb and the smallest ucb of all rounds so far, on all points of a list (footnote in Section 5)."""

    lower: Array
    upper: Array

    @property
    def contradictory(self) -> bool:
        """Whether the bounds of different rounds exclude each other somewhere."""
        return bool(np.any(self.lower > self.upper))

    def joined(self, lower: Array, upper: Array) -> Intersection:
        """The intersection with further bounds."""
        return Intersection(frozen(np.maximum(self.lower, lower)), frozen(np.minimum(self.upper, upper)))

    def restarted(self) -> Intersection:
        """The intersection of no bounds yet."""
        unbounded = np.full(len(self.lower), np.inf)
        return Intersection(frozen(-unbounded), frozen(unbounded))


class Columns(NamedTuple):
    """The numbers of a point, as a model and as people see them."""

    width: int
    """How many numbers it has."""
    categories: tuple[int, ...]
    """Which of them are codes of categories."""
    variables: int
    """How many variables and parameters these stand for."""
    steps: tuple[float, ...]
    """How finely a person has to read each of them: a difference that does not matter; 0: as usual."""


class Setting(ABC, Generic[Index, F]):
    """A domain with an uncertainty set."""

    domain: Domain | Space
    uncertainty: UncertaintySet
    seed: int
    """For all that is random in searches and designs."""
    where: Rule | None
    """Which decisions are allowed; None: all."""
    takes_hints: bool
    """Whether its solver is a search, which begins with what is known."""
    least_initial: int
    """How many points of a design a model that is given needs before it can be asked."""

    @property
    @abstractmethod
    def translation(self) -> Translation[Index]:
        """Between what a user sees and indices."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """What a model sees of a point."""

    @abstractmethod
    def solver(self, t: int, *, brief: bool = False) -> Solver[Index, F]:
        """The max-min solver for functions that are made of t observations; a brief one is enough for a suggestion."""

    @abstractmethod
    def inputs(self, points: Sequence[Index], scaled: bool) -> Array:
        """Points as a model sees them (n, p): with ranges from 0 to 1 if it is learned, else in the user's units."""

    @abstractmethod
    def posterior(
        self, belief: Belief, rounds: Sequence[Round[Index]], scaled: bool, before: View[Index, F] | None = None
    ) -> View[Index, F] | None:
        """The posterior after all these rounds; None where nothing can be said yet.

        before: the posterior under the same belief after the first of these rounds, which may be extended.
        """

    @abstractmethod
    def intersection(self, lower: F, upper: F) -> Intersection:
        """The intersection of bounds, to begin with these; refused where it cannot be represented."""

    @abstractmethod
    def avoids(self, decision: Index, points: Sequence[Index], measured: Sequence[Index]) -> bool:
        """Whether the adversary can turn the decision into none of these points.

        In a space, none of them may be closer to what it can turn into than all that was measured, either.
        """

    @abstractmethod
    def is_taken(self, point: Index, points: Sequence[Index]) -> bool:
        """Whether the point is one of these, or so close to one that a second measurement would tell little."""

    @abstractmethod
    def home(self, decision: Index, F: F, hints: Hints[Index]) -> Index:
        """The point that a decision stands for if nobody perturbs it; of several, the one with the smallest F."""

    @abstractmethod
    def peak(self, F: F, hints: Hints[Index]) -> Index:
        """The point with the largest F, of all that some decision stands for if nobody perturbs it."""

    @abstractmethod
    def design(self, number: int) -> Index:
        """Point ``number`` (from 0) of a spread of points to begin with."""

    @abstractmethod
    def random(self, rng: np.random.Generator) -> Index:
        """A uniformly random point that the adversary can reach."""

    @abstractmethod
    def candidates(
        self, decision: Index | None = None, *, without: Sequence[Index] = (), draw: int = 0, settable: bool = True
    ) -> Sequence[Index]:
        """Points to choose from: all of a list, many of a space; those that a decision can turn into, if one is given.

        without: points that do not count, nor does what is very close to them. draw: another selection for each number.
        settable: only what can be set for a measurement; False: whatever happens to the decision, each point once.
        """

    def allows(self, decision: Index) -> bool:
        """Whether the rule of this setting, if it has one, allows a decision."""
        return self.where is None or holds(self.where, self.translation.decision(decision))

    def rescaled(self, factor: float) -> Setting[Index, F]:
        """The same setting with perturbations ``factor`` times as large."""
        return type(self)(self.domain, self.uncertainty.scaled(factor), self.seed, self.where)  # type: ignore[call-arg]


def allowed(setting: Setting[Index], points: Sequence[Index]) -> Sequence[Index]:
    """Those of these points that stand for decisions that are allowed."""
    if setting.where is None:
        return points
    return [z for z in points if setting.allows(setting.translation.decision_of(z))]


def column_names(setting: Setting[Index]) -> list[str]:
    """A name for every column of a point; where the user gave none, as the column would be indexed."""
    named = setting.translation.names
    if named is not None:
        return [n if w == 1 else f"{n}[{i}]" for n, w in named.items() for i in range(w)]
    width, d = setting.columns.width, setting.domain.dim
    parameters = setting.uncertainty.parameters
    theta = parameters.theta if parameters is not None else None
    own = theta.labels if isinstance(theta, Space) and theta.names is not None else _numbered("theta", width - d)
    return [*_numbered("x", d), *own]


def _numbered(letter: str, count: int) -> list[str]:
    """Names of columns that have none."""
    return [letter] if count == 1 else [f"{letter}[{i}]" for i in range(count)]
