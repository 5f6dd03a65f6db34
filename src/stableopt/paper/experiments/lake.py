"""The paper's lake experiment (supplement): where is the concentration high throughout a whole rectangle?

The transect's GP posterior mean on a 50×50 grid is the truth f. The chlorophyll file of the paper is not public: an
open transect of the same kind ships with the package, with the paper's perturbations as fractions of its sides. The
paper's "second (smaller) dataset" for the hyperparameters is not public either: they come from the transect itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stableopt.base.arrays import Array, frozen
from stableopt.loop.play import play
from stableopt.loop.rules import ALGORITHMS
from stableopt.maxmin.lists.listing import Listing
from stableopt.model.fit import fit
from stableopt.model.gp import GP
from stableopt.model.kernels import Matern
from stableopt.paper.drawing import surface, worst_case_surface
from stableopt.paper.experiments.base import (
    DEFAULT,
    FAR_BELOW,
    FULL,
    QUICK,
    Claim,
    Experiment,
    Plan,
    Replicate,
    Results,
    Size,
    far_below,
)
from stableopt.paper.experiments.output import draw_curves
from stableopt.paper.experiments.transect import Transect, open_transect, read_transect
from stableopt.paper.match import Match, run_seed
from stableopt.problems.base import Problem
from stableopt.sets.domains import Grid
from stableopt.sets.perturbations import Rectangle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELLS, _INITIAL = 50, 10
# eps_L = 100 m and eps_D = 1 m of the paper, in a lake section of 1478 m × 18 m.
_FRACTIONS = np.array([100.0 / 1478.0, 1.0 / 18.0])


@dataclass(frozen=True)
class Lake(Experiment):
    """Five algorithms on a transect, with rectangular perturbations."""

    transect: Transect
    gp: GP
    field: Array
    """f on the grid: the posterior mean of the transect's data."""

    name: ClassVar = "lake"
    title: ClassVar = "Lake data"
    paper: ClassVar = (
        "The stability requirement changes the global maximum and its location. Stable-GP-UCB achieves the smallest "
        "ε-regret in the early rounds, while in the later rounds StableOpt is the only method that reports a "
        "near-optimal ε-stable point."
    )
    algorithms: ClassVar = tuple(ALGORITHMS)
    sizes: ClassVar = {QUICK: Size(20, 120), DEFAULT: Size(50, 120), FULL: Size(100, 120)}
    takes_data: ClassVar = True

    @classmethod
    def load(cls, plan: Plan) -> Self:
        """Fit a GP to the transect and take its posterior mean for the truth."""
        transect = open_transect() if plan.data is None else read_transect(plan.data)
        span, y = transect.upper - transect.lower, transect.values
        spread = float(y.std()) or 1.0
        start = GP(spread**2 * Matern(2.5, (0.2 * span).tolist()), noise=0.2 * spread, mean=float(y.mean()))
        gp = fit(start, transect.points, y, starts=3).gp
        grid = Grid.linspace(transect.lower, transect.upper, _CELLS)
        return cls(transect, gp, frozen(gp.condition(transect.points, y)(grid.points)[0]))

    @cached_property
    def problem(self) -> Problem:
        """The transect as a problem whose truth is known."""
        lower, upper = self.transect.lower, self.transect.upper
        domain = Grid.linspace(lower, upper, _CELLS)
        uncertainty = Rectangle((_FRACTIONS * (upper - lower)).tolist())
        worst = Listing(domain, uncertainty).solver.all_minima(self.field)
        best = int(np.argmax(worst))
        return Problem(
            name="lake",
            summary="Where the concentration is high throughout a rectangle.",
            domain=domain,
            uncertainty=uncertainty,
            f=self._truth,
            noise=self.gp.noise,
            gp=self.gp,
            stable_decision=domain.points[best],
            stable_value=float(worst[best]),
        )

    def _truth(self, X: Array) -> Array:
        return self.gp.condition(self.transect.points, self.transect.values)(X)[0]

    @property
    def settings(self) -> dict[str, Any]:
        """The transect and the model."""
        eps = (_FRACTIONS * (self.transect.upper - self.transect.lower)).tolist()
        return {
            "transect": self.transect.source,
            "transect_sha256": self.transect.digest,
            "grid": [_CELLS, _CELLS],
            "lower": self.transect.lower.tolist(),
            "upper": self.transect.upper.tolist(),
            "eps": eps,
            "gp": self.gp.to_dict(),
            "initial_points": _INITIAL,
            "beta": 4.0,
        }

    def replicate(self, plan: Plan, run: int) -> Replicate:
        """One run: initial points and noise for all algorithms alike."""
        problem = self.problem
        rng = np.random.default_rng([plan.seed, run, 1])
        match = Match.drawn(problem, rng, initial=_INITIAL, rounds=plan.rounds, seed=run_seed(plan.seed, run))
        found = {}
        for name in plan.algorithms:
            optimizer = match.optimizer(name)
            reports = [optimizer.report().decision for _ in play(optimizer, match.measure, match.rounds)]
            regrets = np.array([problem.epsilon_regret(decision) for decision in reports])
            found[name] = {"curve": regrets, "reported": np.array(reports[-1], dtype=float)}
        return found

    def claims(self, results: Results) -> list[Claim]:
        """Whether stability moves the optimum, and who finds it in the end."""
        problem = self.problem
        peak = problem.domain.points[problem.peak[0]]
        where = "({:.4g}, {:.4g})".format
        moved = Claim(
            "The stable optimum differs from the maximiser",
            not np.array_equal(peak, problem.stable_decision),
            f"Maximiser of f at {where(*peak)} with worst case {problem.worst_case(peak):.3f}, stable optimum at "
            f"{where(*np.asarray(problem.stable_decision))} with worst case {problem.stable_value:.3f}",
        )
        if not results.others():
            return [moved]
        quarter = max(1, results.plan.rounds // 4)
        early = {name: float(runs[:, :quarter].mean()) for name, runs in results.curves.items()}
        ends = {name: runs[:, -quarter:].mean(axis=1) for name, runs in results.curves.items()}
        late = {name: float(end.mean()) for name, end in ends.items()}
        only = Claim(
            "In the later rounds only StableOpt is near-optimal",
            late["StableOpt"] <= problem.noise
            and far_below(ends["StableOpt"], map(ends.__getitem__, results.others())),
            f"Mean ε-regret in the last {quarter} rounds: {_listed(late)}; near-optimal is what the noise of one "
            f"measurement hides (σ = {problem.noise:.3f}), and only StableOpt if its regret is {FAR_BELOW}",
        )
        first = Claim(
            "In the early rounds Stable-GP-UCB has the smallest ε-regret",
            min(early, key=lambda name: early[name]) == "Stable-GP-UCB",
            f"Mean ε-regret in the first {quarter} rounds: {_listed(early)}",
        )
        return [moved, only] + ([first] if "Stable-GP-UCB" in early else [])

    def figures(self, results: Results) -> dict[str, Figure]:
        """The supplement's figure: the concentration, the robust objective, and the regrets."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(15, 4.2), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        problem, (length, depth, value) = self.problem, self.transect.labels
        surface(left, problem, problem.values, value)
        worst_case_surface(middle, problem, "its minimum over the rectangle")
        for axes in (left, middle):
            axes.set(xlabel=length, ylabel=depth)
            if self.transect.lower[1] >= 0:
                axes.invert_yaxis()  # depth below the surface as a positive number
        draw_curves(right, self, results)
        return {"lake": figure}


def _listed(means: dict[str, float]) -> str:
    return ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
