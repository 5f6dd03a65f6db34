"""Choices that were tried instead of the defaults: ``python -m benchmarks.field run --with benchmarks.field.choices``.

    chi          β that explores is another one in every round: quantiles of χ² with two degrees of freedom
    four         β that explores is 4 throughout
    turns        β that explores is ½ and 4 by turns
    turns-known  the same, and where that tells nothing new 4 and 25
    four-fifth   4 throughout, and in every fifth round 25 or 400 where that tells nothing new
    turns-fifth  ½ and 4 by turns; in every fifth round the smallest of these, 25 and 400 that tells something new
    late         ½, and where that tells nothing new 4, up to the 20th evaluation, then 4 throughout
    known-4      ½, and where that tells nothing new 4, without the wider looks of the defaults
    known-wide   ½, and where that tells nothing new 4, 25 and 10⁴ by turns
    known-all    the smallest of ½, 4, 25 and 400 that tells something new, in every round: the defaults before
    known-fifth  ½, and where that tells nothing new 4, and 25 in every fifth round: the defaults before that
    looks        ½, and by turns 25 and 6.25 in every fifth round from the 25th on: the defaults in the beginning
    edges        initial points up to the edges and on them: the shared ones, stretched by a tenth and clipped
    inner        initial points in the inner 80 % of every range, as in `maximize`
    unwarped     outputs as they are: the defaults before
    chi-edges, chi-inner    both at once

Every run here is also scored by reports between the best expectation and the best guarantee: the largest worst case of
μ − cσ with c = ½, 1 and 1½ (``ours:half``, ``ours:one``, ``ours:onehalf``).

`benchmarks.field.tails` has functions with a long tail, to compare ``ours`` and ``unwarped`` on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import qmc

from benchmarks.rivals.methods import METHODS
from benchmarks.rivals.ours import REPORTING, Ours
from benchmarks.rivals.problems import INITIAL, Array, Problem
from stableopt.loop.rules import ReportingRule
from stableopt.loop.schedules import Alternating, Constant, Curious, Schedule
from stableopt.loop.state import State
from stableopt.maxmin.solver import Index

_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Chi(Schedule):
    """β_t = −2 log(1 − u_t), where u_t is the golden ratio's sequence: evenly spread, and the same in every run."""

    def at(self, t: int, gain: float) -> float:
        return -2.0 * math.log1p(-(t * _GOLDEN % 1.0))


@dataclass(frozen=True, eq=False)
class Turns(Schedule):
    """Some β by turns, and by turns what explores instead where they tell nothing new."""

    betas: tuple[float, ...]
    larger: tuple[tuple[float, ...], ...] = ((),)

    def at(self, t: int, gain: float) -> float:
        return self.betas[t % len(self.betas)]

    def instead(self, t: int) -> Sequence[float]:
        return self.larger[t % len(self.larger)]


@dataclass(frozen=True, eq=False)
class Late(Schedule):
    """½ for so many evaluations, or 4 where that tells nothing new; then 4."""

    until: int = 20

    def at(self, t: int, gain: float) -> float:
        return 0.5 if t <= self.until else 4.0

    def instead(self, t: int) -> Sequence[float]:
        return (4.0,)


class Leaning(ReportingRule):
    """Of all decisions, the one with the largest worst case of μ − cσ."""

    def __init__(self, c: float) -> None:
        self.c = c

    def choose(self, state: State[Index]) -> Index:
        return state.setting.solver(state.t).maximin(state.judge.bound(-self.c)).decision


def stretched(problem: Problem, seed: int, margin: float) -> Array:
    """The shared initial points, within this margin of every range; with a margin below 0, some are at its ends."""
    sequence = qmc.Sobol(problem.width, scramble=True, rng=np.random.default_rng([seed, 1]))
    unit = sequence.random_base2(4)[:INITIAL]
    inner = [j for j in range(problem.dimension) if j not in problem.whole]
    unit[:, inner] = margin + (1 - 2 * margin) * unit[:, inner]
    return problem.spread(unit)


class Chosen(Ours):
    """Ours, with another schedule, or other initial points."""

    def __init__(self, problem: Problem, seed: int, explore: Schedule | None = None, margin: float = 0.0) -> None:
        super().__init__(problem, seed, explore=explore)
        self._shared = stretched(problem, seed, margin)


METHODS["chi"] = partial(Chosen, explore=Chi())
METHODS["turns"] = partial(Chosen, explore=Turns((0.5, 4.0)))
METHODS["known-4"] = partial(Chosen, explore=Curious(0.5, (4.0,)))
METHODS["known-wide"] = partial(Chosen, explore=Turns((0.5,), ((4.0,), (25.0,), (1e4,))))
METHODS["known-fifth"] = partial(Chosen, explore=Turns((0.5,), ((25.0,), (4.0,), (4.0,), (4.0,), (4.0,))))
METHODS["known-all"] = partial(Chosen, explore=Curious(0.5, (4.0, 25.0, 400.0)))
METHODS["four"] = partial(Chosen, explore=Constant(4.0))
METHODS["turns-known"] = partial(Chosen, explore=Turns((4.0, 0.5), ((25.0,), (4.0, 25.0))))
METHODS["four-fifth"] = partial(Chosen, explore=Turns((4.0,), ((25.0, 400.0), (), (), (), ())))
METHODS["turns-fifth"] = partial(
    Chosen, explore=Turns((0.5, 4.0), ((4.0, 25.0, 400.0), (4.0,), (4.0,), (4.0,), (4.0,)))
)
METHODS["late"] = partial(Chosen, explore=Late())
METHODS["looks"] = partial(Chosen, explore=Alternating(0.5, 6.25, widest=25.0))
METHODS["edges"] = partial(Chosen, margin=-0.05)
METHODS["inner"] = partial(Chosen, margin=0.1)
METHODS["chi-edges"] = partial(Chosen, explore=Chi(), margin=-0.05)
METHODS["chi-inner"] = partial(Chosen, explore=Chi(), margin=0.1)
METHODS["unwarped"] = partial(Ours, name="ours-warp=no")

REPORTING |= {"half": Leaning(0.5), "one": Leaning(1.0), "onehalf": Leaning(1.5)}
