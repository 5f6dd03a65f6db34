"""Worst cases of decisions, as the bounds of one state have them.

A search may miss a worst case, and one that looks less hard misses more. A report compares decisions, so all that it
compares are judged in one way: each alone, by both bounds, each also at the place that the other found. Very many are
judged together, with less effort for each, and the best of them alone again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Generic

import numpy as np

from stableopt.base.arrays import Array
from stableopt.loop.views import View
from stableopt.maxmin.solver import Choice, Hints, Index, Solver

_FEW = 16  # decisions that are judged one by one; of more, so many at most
_APART = 1e-6  # of the spread of the values: as near as a search for a worst case comes to it
_RIVALS = 4  # decisions that seem to be the best, and are judged


class Judge(Generic[Index]):
    """The worst cases of decisions by mean + c·std of one posterior."""

    def __init__(
        self, posterior: View[Index], root: float, solver: Solver[Index], brief: Solver[Index], hints: Hints[Index]
    ) -> None:
        """lcb and ucb have c = ∓ root; the brief solver is for suggestions."""
        self.root, self._posterior, self._solver, self._brief, self._hints = root, posterior, solver, brief, hints
        self._bounds: dict[float, object] = {}
        self._worst: dict[tuple[Index, float], Choice[Index]] = {}
        self._lowest: dict[Index, float] = {}
        self._brackets: dict[Index, tuple[Choice[Index], float]] = {}

    def bound(self, c: float) -> object:
        """The function mean + c·std, in the form that the solver takes."""
        if c not in self._bounds:
            self._bounds[c] = self._posterior.bound(c)
        return self._bounds[c]

    def worst(self, decision: Index, c: float) -> Choice[Index]:
        """Where a decision has its smallest value."""
        if (decision, c) not in self._worst:
            self._worst[decision, c] = self._solver.worst(decision, self.bound(c), self._hints)
        return self._worst[decision, c]

    def attacked(self, decision: Index, c: float) -> Choice[Index]:
        """The same for a suggestion. Its smallest lcb is known as well, which takes little longer: a query needs it."""
        if c == -self.root:
            return self.worst(decision, c)
        found, lowest = self._brief.worsts(decision, [self.bound(c), self.bound(-self.root)], self._hints)
        self._lowest[decision] = lowest.value
        if lowest.exact:  # then it is as good as any, and a report needs it
            self.knows(lowest)
        return found

    def knows(self, choice: Choice[Index]) -> None:
        """This is where its decision has its smallest lcb, for certain."""
        self._worst[choice.decision, -self.root] = choice

    def lowest(self, decisions: Sequence[Index]) -> list[float]:
        """The smallest lcb of each of these decisions, for suggestions: of several with less effort for each."""
        if len(decisions) == 1:
            known = self._lowest.get(decisions[0])
            return [self.worst(decisions[0], -self.root).value if known is None else known]
        return [choice.value for choice in self._solver.minima(decisions, self.bound(-self.root), self._hints)]

    def bracket(self, decision: Index) -> tuple[Choice[Index], float]:
        """The smallest lcb of a decision, with its place, and its smallest ucb."""
        if decision not in self._brackets:  # the two together take little longer than one
            both = self._solver.worsts(decision, [self.bound(-self.root), self.bound(self.root)], self._hints)
            self._brackets[decision] = self._crossed(*both)
        return self._brackets[decision]

    def brackets(self, decisions: Sequence[Index]) -> list[tuple[Choice[Index], float]]:
        """The same of several decisions."""
        if len(decisions) <= _FEW:
            return [self.bracket(decision) for decision in decisions]
        low, high = (self._solver.minima(decisions, self.bound(c), self._hints) for c in (-self.root, self.root))
        found = list(map(self._crossed, low, high))
        alone: set[int] = set()
        while len(alone) < _FEW and not found[0][0].exact:
            again = {int(np.argmax(end)) for end in ends(found)} - alone
            if not again:
                break
            alone |= again
            for i in again:
                found[i] = self.bracket(decisions[i])
        return found

    def leading(self, decisions: Sequence[Index], count: int) -> list[tuple[Index, float, float]]:
        """The ``count`` of these decisions with the largest worst-case lcb, best first: decision, lower, upper."""
        known = self._best(decisions, -self.root, count, -np.inf)
        return [(worst.decision, worst.value, upper) for worst, upper in known]

    def better(self, decisions: Sequence[Index], c: float, above: float) -> Choice[Index] | None:
        """The best of these decisions by lcb or ucb (c = ∓ root), if its worst case is above a value."""
        for worst, upper in self._best(decisions, c, 1, above):
            found = worst if c < 0 else worst._replace(value=upper)
            return found if found.value > above else None
        return None

    def _best(
        self, decisions: Sequence[Index], c: float, count: int, above: float
    ) -> list[tuple[Choice[Index], float]]:
        """The best of these decisions by one bound: of those that seem to be, until none that is left can be."""

        def end(known: tuple[Choice[Index], float]) -> float:
            return known[0].value if c < 0 else known[1]

        asked = max(_RIVALS, count)
        while True:
            found = self._solver.leading(decisions, self.bound(c), asked, self._hints, above - self._slack)
            judged = sorted((self.bracket(choice.decision) for choice in found), key=end, reverse=True)
            if len(found) < asked or found[0].exact or end(judged[count - 1]) >= found[-1].value:
                return judged[:count]
            asked *= 4

    @cached_property
    def _slack(self) -> float:
        """How far two searches for the worst case of one decision may be apart: together, and alone."""
        return _APART * float(np.ptp(self._hints.values)) if self._hints.values else 0.0

    def _crossed(self, worst: Choice[Index], highest: Choice[Index]) -> tuple[Choice[Index], float]:
        """The smallest lcb and the smallest ucb, each also where the other was found: a search may miss a place."""
        upper = highest.value
        if worst.exact and highest.exact:
            return worst, upper
        low, high = self._posterior.bounds([highest.point, worst.point], self.root)
        lcb, ucb = float(low[0]), float(high[1])
        if clearly_below(lcb, worst.value):
            worst = worst._replace(point=highest.point, value=lcb)
        upper = ucb if clearly_below(ucb, upper) else upper
        return worst._replace(value=min(worst.value, upper)), upper


def ends(brackets: Sequence[tuple[Choice[Index], float]]) -> tuple[Array, Array]:
    """The lower and the upper ends, (n,) each."""
    return np.array([worst.value for worst, _ in brackets]), np.array([upper for _, upper in brackets])


def clearly_below(value: float, other: float) -> bool:
    """Whether it is smaller by more than rounding: one bound has several ways to be computed."""
    return value < other - 1e-9 * (1 + abs(other))
