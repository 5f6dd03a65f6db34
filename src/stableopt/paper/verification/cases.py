"""The settings in which everything is checked: perturbed inputs with two kernels, and the paper's Section 4.

A case is small enough for a thousand runs side by side: at most some hundred points, A(d) as rows of candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stableopt.base.arrays import Array, Indices, cartesian
from stableopt.loop.rules import Algorithm, BestOfAll, OptimisticPessimistic
from stableopt.maxmin.lists.listing import Listing
from stableopt.model.gp import GP
from stableopt.model.kernels import SE, Matern
from stableopt.sets.domains import Domain, Grid, Points
from stableopt.sets.perturbations import Ball
from stableopt.sets.uncertainty import Estimate, Groups, Parameters, UncertaintySet
from stableopt.theory.sampling import sample_prior, sample_rkhs

GUARANTEED = Algorithm("StableOpt", OptimisticPessimistic(), BestOfAll())
"""StableOpt, reporting the decision with the best guarantee of all: here certificates are measured."""
_TERMS = (1, 4, 16)  # of the sampled functions: a single feature, a few, many


@dataclass(frozen=True, eq=False)
class Case:
    """A finite domain with an uncertainty set and a known model; functions have the RKHS norm ``norm``."""

    name: str
    domain: Domain
    uncertainty: UncertaintySet
    gp: GP
    norm: float = 1.0

    @cached_property
    def listing(self) -> Listing:
        """Domain and uncertainty set."""
        return Listing(self.domain, self.uncertainty)

    @cached_property
    def points(self) -> Array:
        """All points (n, p)."""
        return cartesian(self.listing.blocks)

    @cached_property
    def members(self) -> Indices:
        """The points of A(d), a row per decision, repeated to fill it up."""
        solver = self.listing.solver
        lists = [solver.members(d) for d in range(solver.n_decisions)]
        return np.array([np.resize(row, max(map(len, lists))) for row in lists], dtype=np.intp)

    def functions(self, count: int, rng: np.random.Generator) -> Array:
        """Functions of exactly this norm at all points (count, n): with few terms, some, and many, in turn."""
        centres = self.points[rng.permutation(len(self.points))[:64]]
        parts = [
            sample_rkhs(self.gp.kernel, centres, self.norm, 1 + count // len(_TERMS), rng, terms)(self.points)
            for terms in _TERMS
        ]
        return np.asarray(np.concatenate(parts)[::-1][:count])

    def draws(self, count: int, rng: np.random.Generator) -> Array:
        """Draws from the prior at all points (count, n)."""
        return sample_prior(self.gp, self.listing.blocks, count, rng)

    def worst(self, functions: Array) -> Array:
        """The true worst case of every decision (functions, decisions)."""
        return np.asarray(functions[:, self.members].min(axis=2))


def _line(kernel: SE | Matern, name: str) -> Case:
    return Case(name, Grid.linspace(0.0, 1.0, 60), Ball(0.08), GP(kernel, noise=0.1))


def _groups() -> Case:
    points = np.random.RandomState(0).rand(48, 2)  # unlike default_rng, its numbers are promised to stay the same
    cells = (points[:, 0] * 3).astype(int) * 3 + (points[:, 1] * 3).astype(int)
    return Case("groups", Points(points), Groups.from_labels(cells.tolist()), GP(SE(0.3), noise=0.1))


def case(name: str) -> Case:
    """A case by its name."""
    if name not in CASES:
        raise ValueError(f"expected a case, one of {list(CASES)}, got {name!r}")
    return CASES[name]


CASES = {
    each.name: each
    for each in (
        _line(SE(0.15), "SE"),
        _line(Matern(2.5, 0.2), "Matérn 5/2"),
        Case(
            "unknown parameter",
            Grid.linspace(0.0, 1.0, 20),
            Parameters(np.linspace(0.0, 1.0, 5)),
            GP(SE((0.2, 0.5)), noise=0.1),
        ),
        Case(
            "robust estimation",
            Grid.linspace(0.0, 1.0, 15),
            Estimate(np.linspace(0.0, 1.0, 7), [0.5], Ball(0.2)),
            GP(SE((0.2, 0.4)), noise=0.1),
        ),
        _groups(),
    )
}
"""All cases by name: two kernels with perturbed inputs, and the variations of Section 4."""
