"""Worst cases of decisions, as the bounds of one state have them.

A search may miss a worst case, and one that looks less hard misses more. So a decision that is judged on its own, or
with a few others, is judged in one way, by the search for one decision, and once: two answers never differ. Only very
many are judged together, with less effort for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

import numpy as np

from stableopt.base.arrays import Array
from stableopt.maxmin.solver import Choice, Hints, Index, Solver

_FEW = 16  # decisions that are judged one by one
_RIVALS = 4  # decisions that seem to be better than one that was found, and are judged


class Judge(Generic[Index]):
    """The worst cases of decisions by mean + c·std of one posterior."""

    def __init__(
        self,
        bound: Callable[[float], object],
        at: Callable[[float, Index], float],
        root: float,
        solver: Solver[Index],
        hints: Hints[Index],
    ) -> None:
        """``bound`` makes a function for a solver of c, ``at`` is its value at a point; ± root are lcb and ucb."""
        self._bound, self._at, self.root, self._solver, self._hints = bound, at, root, solver, hints
        self._known: dict[tuple[Index, float], Choice[Index]] = {}

    def worst(self, decision: Index, c: float) -> Choice[Index]:
        """Where a decision has its smallest value."""
        if (decision, c) not in self._known:
            self._known[decision, c] = self._solver.worst(decision, self._bound(c), self._hints)
        return self._known[decision, c]

    def pair(self, decision: Index, cs: tuple[float, float]) -> tuple[Choice[Index], Choice[Index]]:
        """The same for two functions: together they take little longer than one."""
        if not any((decision, c) in self._known for c in cs):
            found = self._solver.worsts(decision, [self._bound(c) for c in cs], self._hints)
            self._known |= {(decision, c): choice for c, choice in zip(cs, found, strict=True)}
        return self.worst(decision, cs[0]), self.worst(decision, cs[1])

    def knows(self, choice: Choice[Index], c: float) -> None:
        """This is the worst case of its decision, for certain."""
        self._known[choice.decision, c] = choice

    def bracket(self, decision: Index) -> tuple[Choice[Index], float]:
        """The smallest lcb of a decision, with its place, and its smallest ucb."""
        return self._bracket(*self.pair(decision, (-self.root, self.root)))

    def brackets(self, decisions: Sequence[Index]) -> list[tuple[Choice[Index], float]]:
        """The same of several decisions."""
        if len(decisions) <= _FEW:
            return [self.bracket(decision) for decision in decisions]
        low, high = (self._solver.minima(decisions, self._bound(c), self._hints) for c in (-self.root, self.root))
        return list(map(self._bracket, low, high))

    def _bracket(self, worst: Choice[Index], highest: Choice[Index]) -> tuple[Choice[Index], float]:
        """The smallest lcb and the smallest ucb, each also where the other was found: a search may miss a place."""
        upper = highest.value
        if worst.exact and highest.exact:
            return worst, upper
        lcb, ucb = self._at(-self.root, highest.point), self._at(self.root, worst.point)
        if clearly_below(lcb, worst.value):
            worst = worst._replace(point=highest.point, value=lcb)
        upper = ucb if clearly_below(ucb, upper) else upper
        return worst._replace(value=min(worst.value, upper)), upper

    def leading(self, decisions: Sequence[Index], count: int) -> list[tuple[Index, float, float]]:
        """The ``count`` of these decisions with the largest worst-case lcb, best first: decision, lower, upper."""
        found = self._solver.leading(decisions, self._bound(-self.root), count, self._hints)
        known = [(worst.decision, worst.value, upper) for worst, upper in self.brackets([d.decision for d in found])]
        return sorted(known, key=lambda each: -each[1])

    def better(self, decisions: Sequence[Index], c: float, above: float) -> Choice[Index] | None:
        """The best of these decisions, if its worst case is above a value."""
        found = self._solver.leading(decisions, self._bound(c), _RIVALS, self._hints, above)
        judged = [self.worst(choice.decision, c) for choice in found]
        best = max(judged, key=lambda choice: choice.value, default=None)
        return best if best is not None and best.value > above else None

    def lowest(self, decisions: Sequence[Index]) -> list[float]:
        """The smallest lcb of each of these decisions."""
        if len(decisions) == 1:
            return [self.worst(decisions[0], -self.root).value]
        return [choice.value for choice in self._solver.minima(decisions, self._bound(-self.root), self._hints)]


def ends(brackets: Sequence[tuple[Choice[Index], float]]) -> tuple[Array, Array]:
    """The lower and the upper ends, (n,) each."""
    return np.array([worst.value for worst, _ in brackets]), np.array([upper for _, upper in brackets])


def clearly_below(value: float, other: float) -> bool:
    """Whether it is smaller by more than rounding: one bound has several ways to be computed."""
    return value < other - 1e-9 * (1 + abs(other))
