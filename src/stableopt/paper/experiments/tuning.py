"""The paper's open question on real data: do wide maxima in the space of hyperparameters generalise better?

Two classifiers (a support vector machine, a small neural network) on two data sets that come with scikit-learn. f is
the accuracy on validation data after training on a resampled training set; the adversary may change each hyperparameter
by a factor. A reported choice is then trained on other resampled data and tested on noisier features. StableOpt and
GP-UCB differ in eps only: GP-UCB is the same algorithm with eps = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stableopt.base.arrays import Array
from stableopt.loop.answers import Query
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.play import play
from stableopt.loop.rules import Algorithm, BestSoFar, LargestUcb, OptimisticPessimistic
from stableopt.model.fit import fit
from stableopt.model.gp import GP
from stableopt.model.hyperparameters import LogNormal
from stableopt.model.kernels import SE
from stableopt.paper.drawing import colour_of
from stableopt.paper.experiments.base import (
    DEFAULT,
    FULL,
    QUICK,
    Claim,
    Experiment,
    Plan,
    Replicate,
    Results,
    Size,
    paired,
)
from stableopt.paper.experiments.classifiers import CELLS, DATA, MODELS, Trial
from stableopt.paper.experiments.output import draw_curves
from stableopt.paper.match import run_seed
from stableopt.plots.style import finish
from stableopt.sets.domains import Grid
from stableopt.sets.perturbations import Rectangle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INITIAL = 10
_EPS = 2.0  # cells of the grid, in each hyperparameter
RANDOM = "Random-Search"
_RULES = {
    "StableOpt": (Algorithm("StableOpt", OptimisticPessimistic(), BestSoFar()), _EPS),
    "GP-UCB": (Algorithm("GP-UCB", LargestUcb(), BestSoFar()), 0.0),
}
_TASKS = tuple((model, data) for model in MODELS for data in DATA)


@dataclass(frozen=True)
class Tuning(Experiment):
    """StableOpt, GP-UCB and random search tune two models on two data sets."""

    name: ClassVar = "tuning"
    title: ClassVar = "Tuning hyperparameters"
    paper: ClassVar = (
        "One might expect that wide function maxima in hyperparameter space provide better generalization than narrow "
        "maxima, but establishing this requires further investigation."
    )
    measure: ClassVar = "test accuracy after the shift (%)"
    larger_is_better: ClassVar = True
    algorithms: ClassVar = (*_RULES, RANDOM)
    sizes: ClassVar = {QUICK: Size(4, 12), DEFAULT: Size(16, 30), FULL: Size(50, 40)}

    @classmethod
    def load(cls, plan: Plan) -> Self:
        """Nothing to load: the data come with scikit-learn."""
        return cls()

    @property
    def settings(self) -> dict[str, Any]:
        """The constants."""
        return {
            "tasks": [f"{model} on {data}" for model, data in _TASKS],
            "grid": [CELLS, CELLS],
            "eps_in_cells": _EPS,
            "initial_points": _INITIAL,
            "beta": 4.0,
        }

    @cached_property
    def domain(self) -> Grid:
        """Hyperparameters in cells of the grid; each model gives a cell its meaning."""
        return Grid.linspace([0.0, 0.0], [CELLS - 1.0, CELLS - 1.0], CELLS)

    def replicate(self, plan: Plan, run: int) -> Replicate:
        """Every algorithm on every task, with the same splits, initial points and resampled training sets."""
        curves: dict[str, dict[str, list[Array]]] = {name: {"test": [], "valid": []} for name in plan.algorithms}
        for number, (model, data) in enumerate(_TASKS):
            trial = Trial(model, data, (plan.seed, run, number))
            rng = np.random.default_rng([plan.seed, run, number, 0])
            initial = rng.choice(len(self.domain), size=_INITIAL, replace=False)
            y = np.array([trial.validate(int(cell), -1 - t) for t, cell in enumerate(initial)])
            for name in plan.algorithms:
                chosen = self._reports(name, trial, initial, y, plan.rounds, run_seed(plan.seed, run))
                curves[name]["test"].append(np.array([trial.test(cell) for cell in chosen]))
                curves[name]["valid"].append(np.array(trial.valid(chosen[-1])))
        return {
            name: {
                "curve": 100 * np.mean(each["test"], axis=0),
                "tests": 100 * np.array(each["test"])[:, -1],
                "valid": 100 * np.array(each["valid"]),
            }
            for name, each in curves.items()
        }

    def _reports(
        self, name: str, trial: Trial, initial: NDArray[np.intp], y: Array, rounds: int, seed: int
    ) -> list[int]:
        """The cell that the algorithm reports after each round."""
        if name == RANDOM:
            return self._random_reports(trial, initial, y, rounds, seed)
        algorithm, eps = _RULES[name]
        X = self.domain.points[initial]
        # Accuracies lie in [0, 1] and change over a few cells; without priors ten values would say anything.
        priors = {"lengthscale": LogNormal(5.0, 0.5), "variance": LogNormal(0.05, 1.0), "noise": LogNormal(0.03, 0.7)}
        gp = fit(GP(0.05 * SE((5.0, 5.0)), noise=0.03, mean=0.7), X, y, priors=priors, starts=2).gp
        optimizer = Optimizer(self.domain, Rectangle(eps), gp, algorithm=algorithm, seed=seed)
        optimizer.tell(X, y)

        def validated(query: Query) -> float:
            return trial.validate(self.domain.locate(query.point), query.t - 1 - len(initial))

        steps = play(optimizer, validated, rounds)
        return [self.domain.locate(np.asarray(optimizer.report().decision)) for _ in steps]

    def _random_reports(self, trial: Trial, initial: NDArray[np.intp], y: Array, rounds: int, seed: int) -> list[int]:
        """Random search: the cell with the best value that was seen so far."""
        cells = np.random.default_rng([seed, 7]).integers(len(self.domain), size=rounds).tolist()
        best, highest = int(initial[np.argmax(y)]), float(y.max())
        reports = []
        for t, cell in enumerate(cells):
            value = trial.validate(cell, t)
            if value > highest:
                best, highest = cell, value
            reports.append(best)
        return reports

    def claims(self, results: Results) -> list[Claim]:
        """Whether the wide maximum generalises better, and its cost on the validation data."""
        claims = []
        for other in [name for name in results.others() if name != "StableOpt"]:
            gap = results.difference("StableOpt", other)
            tests = results.stacked("StableOpt", "tests") - results.stacked(other, "tests")
            by_task = ", ".join(f"{m} on {d} {tests[:, i].mean():+.2f}" for i, (m, d) in enumerate(_TASKS))
            valid = {name: results.stacked(name, "valid").mean() for name in ("StableOpt", other)}
            cost = paired((results.stacked("StableOpt", "valid") - results.stacked(other, "valid")).mean(axis=1))
            claims.append(
                Claim(
                    f"The wide maximum generalises better: after the shift StableOpt is above {other}",
                    gap.low > 0,
                    f"Test accuracy after the shift, paired difference in percentage points {gap} ({by_task}); mean "
                    f"validation accuracy of the reports {valid['StableOpt']:.2f} against {valid[other]:.2f}, "
                    f"difference {cost}",
                )
            )
        return claims

    def figures(self, results: Results) -> dict[str, Figure]:
        """The test accuracy over the rounds, and validation against test for each task."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_curves(left, self, results)
        heights = np.arange(len(_TASKS), dtype=float)
        for shift, name in enumerate(results.plan.algorithms):
            at = heights + 0.2 * (shift - 1)
            valid, tests = (results.stacked(name, what).mean(axis=0) for what in ("valid", "tests"))
            colour = colour_of(name)
            right.hlines(at, tests, valid, color=colour, lw=1.5)
            right.plot(valid, at, "o", mfc="white", color=colour, ms=6)
            right.plot(tests, at, "o", color=colour, ms=6, label=name)
        right.set_yticks(heights, [f"{model}\n{data}" for model, data in _TASKS])
        right.invert_yaxis()
        right.set(xlabel="accuracy (%)", title="found in validation (hollow) and in the test after the shift (full)")
        finish(right)
        return {"tuning": figure}
