"""How many points a search may evaluate, and how many it has evaluated so far."""

from __future__ import annotations


def usual_budget(dim: int) -> int:
    """How often F is evaluated in one search with so many coordinates on either side: `benchmarks.accuracy`."""
    return 5_000 + 2_500 * dim


class Budget:
    """Evaluated points, counted against a total. It is a plan and no wall: a step that has begun is finished.

    A function with many observations takes as long for one point as for several. So a batch of fewer points than
    ``least`` counts as so many.
    """

    def __init__(self, total: int, least: int = 1) -> None:
        self.total, self._least, self._used = total, least, 0

    @property
    def used(self) -> int:
        """Points that count as evaluated."""
        return self._used

    def left(self, share: float = 1.0) -> int:
        """How many points of this share of the total are left; below 0 if more were evaluated."""
        return int(share * self.total) - self._used

    def spend(self, points: int, each: int = 1) -> None:
        """Count a batch of points; ``each`` is 2 for a value with its gradient."""
        self._used += each * max(points, self._least)

    def reserve(self, share: float) -> None:
        """At least this share of the total is left for what follows, whatever was spent before."""
        self._used = min(self._used, int((1 - share) * self.total))
