"""A test problem: a known function with its domain, its uncertainty set, a model, and its known stable optimum.

points            arguments of f: x, followed by θ if a parameter is unknown
decisions d       answers: x, or the name of a group
worst_case(d)     min over A(d) of f
stable_value      max over d of worst_case(d), reached by stable_decision
epsilon_regret(d) stable_value − worst_case(d), the paper's r_ε (eq. eps_regret)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array, cartesian, frozen
from stableopt.base.checks import vector
from stableopt.maxmin.lists.listing import Decision, Listing
from stableopt.model.gp import GP
from stableopt.sets.domains import Domain
from stableopt.sets.uncertainty import UncertaintySet


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A function f to be optimised under an uncertainty set, and the best possible answer."""

    name: str
    summary: str
    """The situation it models, in one sentence."""
    domain: Domain
    uncertainty: UncertaintySet
    f: Callable[[Array], Array]
    """The values (n,) at the rows of points (n, p)."""
    noise: float
    """Standard deviation of the noise of `observe`."""
    gp: GP
    """A model with a known kernel and the true noise: StableOpt solves the problem with it."""
    stable_decision: Decision
    """The decision with the best worst case: coordinates, or the name of a group."""
    stable_value: float
    """Its worst case: no decision has a better one."""

    @cached_property
    def listing(self) -> Listing:
        """The domain together with the uncertainty set."""
        return Listing(self.domain, self.uncertainty)

    @cached_property
    def values(self) -> Array:
        """f on all points, in the order of their numbers."""
        return frozen(self.f(cartesian(self.listing.blocks)))

    @cached_property
    def peak(self) -> tuple[int, float]:
        """Number of the point with the largest f if nobody perturbs, and f there.

        An estimated parameter is taken to be the estimate. Who ignores the adversary answers with this point's
        decision, ``listing.decision_of(number)``.
        """
        homes = self.listing.homes
        number = int(homes[np.argmax(self.values[homes])])
        return number, float(self.values[number])

    def observe(self, point: ArrayLike, rng: np.random.Generator) -> float:
        """One noisy value of f at a point, such as ``query.point``."""
        coordinates = vector(point, sum(block.shape[1] for block in self.listing.blocks), "point")
        return float(self.f(coordinates[None])[0] + self.noise * rng.standard_normal())

    def worst_case(self, decision: Any) -> float:
        """The true minimum of f over A(decision)."""
        return self.listing.solver.worst(self.listing.decision_index(decision), self.values).value

    def epsilon_regret(self, decision: Any) -> float:
        """How much worse the worst case of a decision is than that of the best one; 0 for the best."""
        return self.stable_value - self.worst_case(decision)

    def __repr__(self) -> str:
        return f"Problem({self.name!r}: {self.summary})"
