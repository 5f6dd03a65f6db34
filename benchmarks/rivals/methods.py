"""What the runner asks of a method, whichever side it is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from benchmarks.rivals.problems import Array, Problem


class Suggestion(NamedTuple):
    """What to evaluate next."""

    point: Array
    """Where f is evaluated."""
    decision: Array
    """The decision it was chosen for; the same as the point for a method that evaluates its decisions."""


class Method(Protocol):
    """A run of a method on one problem. Coordinates are those of the problem."""

    remembers: bool
    """Whether what it does next depends on more than the seed and all observations."""

    def initial(self) -> Array:
        """The first points, (INITIAL, d): those that all methods of a seed share, or of a design of its own."""

    def tell(self, X: Array, y: Array) -> None:
        """Take all observations so far, (t, d) and (t,): those of the last call and what came since."""

    def suggest(self) -> Suggestion:
        """What to evaluate next; ``tell`` and ``suggest`` together are what is timed."""

    def report(self, thorough: bool) -> dict[str, Array]:
        """The decision to use now, by the name of the reporting rule; the first is the method's own.

        If ``thorough``, also by rules that are too slow for every round.
        """


Start = Callable[[Problem, int], Method]
"""From a problem and a seed to a method that knows no observation."""

METHODS: dict[str, Start] = {}
"""Methods of one's own, by name."""


def start(name: str, problem: Problem, seed: int) -> Method:
    """The method of that name: one's own, ``ours``, ``paper``, ``random`` (ours.py), ``carbo``, BoTorch's."""
    if name in METHODS:
        return METHODS[name](problem, seed)
    if name.split("-")[0] in ("ours", "paper", "random"):
        from benchmarks.rivals.ours import Ours

        return Ours(problem, seed, name)
    if name == "carbo":
        from benchmarks.rivals.carbo import Carbo

        return Carbo(problem, seed)
    from benchmarks.rivals.rival import BoTorch, Settings

    return BoTorch(problem, seed, Settings.of(name))
