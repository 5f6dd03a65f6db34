"""What every max-min solver can do: find the decision that suffers least, and where each decision is worst.

Two kinds of solvers satisfy `Solver`: exact ones on lists (`listed`) and a search in spaces (`continuous`). Both take a
function of points, in the form that suits them, and answer with a `Choice`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

Row = tuple[float, ...]
"""The index of a decision or a point in a space: its coordinates."""
AnyIndex = int | Row

if TYPE_CHECKING:  # type checkers know defaults of type variables before Python 3.13 does
    from typing_extensions import TypeVar as TypeVarWithDefault

    Index = TypeVarWithDefault("Index", default=AnyIndex)
    F_contra = TypeVarWithDefault("F_contra", contravariant=True, default=object)
else:
    Index = TypeVar("Index")
    """What a decision or a point is to a solver: a number on a list, a row of coordinates (a tuple) in a space."""
    F_contra = TypeVar("F_contra", contravariant=True)
    """A function of points: its values on all of them on a list, something to be evaluated in a space."""


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


class Hints(NamedTuple, Generic[Index]):
    """What is known before a search: it may start there. Exact solvers need no hints."""

    decisions: Sequence[Index] = ()
    """Decisions that may be good."""
    points: Sequence[Index] = ()
    """Points that may be worst cases."""
    values: Sequence[float] = ()
    """What was measured at these points."""


class Solver(Protocol[Index, F_contra]):
    """max over decisions d of min over points z in A(d) of any function F of points."""

    def maximin(self, F: F_contra, hints: Hints[Index] = ...) -> Choice[Index]:
        """The decision with the largest worst case, and that worst case."""

    def worst(self, decision: Index, F: F_contra, hints: Hints[Index] = ...) -> Choice[Index]:
        """The worst case of one decision."""

    def minima(self, decisions: Sequence[Index], F: F_contra, hints: Hints[Index] = ...) -> list[Choice[Index]]:
        """The worst cases of several decisions."""

    def best(self, decisions: Sequence[Index], F: F_contra, hints: Hints[Index] = ...) -> Choice[Index]:
        """Among these decisions the one with the largest worst case."""
