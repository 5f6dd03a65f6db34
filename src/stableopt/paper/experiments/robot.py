"""The paper's robot experiment: push an object so that it ends near two possible targets, whichever is the true one.

The decision is r = (rx, ry, rt) in a box, θ is one of two targets, and f(r, θ) = 5 − distance of the pushed object to
θ. Two discs of radius 5 − v around the targets meet only if v ≤ 5 − ‖θ₁ − θ₂‖/2, so no robust value is larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from stableopt.base.arrays import Array
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.play import play
from stableopt.loop.rules import ALGORITHMS
from stableopt.model.hyperparameters import Gamma, LogUniform
from stableopt.model.learning import Learned
from stableopt.paper.drawing import colour_of
from stableopt.paper.experiments.base import DEFAULT, FULL, QUICK, Claim, Experiment, Plan, Replicate, Results, Size
from stableopt.paper.experiments.output import draw_curves
from stableopt.paper.experiments.pushing import LOWER, UPPER, goals, push
from stableopt.paper.match import run_seed
from stableopt.plots.style import finish
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Parameters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SAMPLES, _EVERY, _BURN_IN, _THIN = 10, 10, 50, 3


def build_optimizer(theta: Array, algorithm: str, seed: int) -> Optimizer:
    """The optimiser of one run: a continuous domain × finite Θ, fully Bayesian hyperparameters.

    Hyperparameters as in max-value entropy search: an SE-ARD kernel on the raw inputs, lengthscales ~ Gamma(shape 2.5,
    rate 5), variances of signal and noise log-uniform. `Learned` measures lengthscales in units of a column's range.
    So the rate of a raw lengthscale is multiplied by that range.
    """
    spans = np.concatenate([UPPER - LOWER, np.ptp(theta, axis=0)]).tolist()
    lengthscales = {f"kernel.lengthscale[{i}]": Gamma(2.5, 5.0 * span) for i, span in enumerate(spans)}
    model = Learned(
        kernel="se",
        method="bayes",
        signal="learned",
        priors={**lengthscales, "variance": LogUniform(), "noise": LogUniform()},
        samples=_SAMPLES,
        every=_EVERY,
        burn_in=_BURN_IN,
        thin=_THIN,
    )
    box = Space(list(zip(LOWER.tolist(), UPPER.tolist(), strict=True)))
    return Optimizer(box, Parameters(theta), model, algorithm=algorithm, beta=4.0, initial=1, seed=seed)


@dataclass(frozen=True)
class Robot(Experiment):
    """Five algorithms that push an object towards two targets."""

    name: ClassVar = "robot"
    title: ClassVar = "Robust robot pushing"
    paper: ClassVar = "StableOpt noticeably outperforms its competitors except in some of the very early rounds."
    measure: ClassVar = "robust objective"
    larger_is_better: ClassVar = True
    algorithms: ClassVar = tuple(ALGORITHMS)
    sizes: ClassVar = {QUICK: Size(2, 12), DEFAULT: Size(10, 60), FULL: Size(30, 100)}

    @classmethod
    def load(cls, plan: Plan) -> Self:
        """Nothing to load; a missing Box2D is found here, not in a worker."""
        import Box2D  # noqa: F401

        return cls()

    @property
    def settings(self) -> dict[str, Any]:
        """The constants."""
        return {
            "domain": [LOWER.tolist(), UPPER.tolist()],
            "targets": "uniform over [-5, 5]^2; uniform over the l1 ball of radius 2 around the first",
            "initial_points": "one random input for each target",
            "hyperparameters": {
                "samples": _SAMPLES,
                "redrawn_every": _EVERY,
                "burn_in": _BURN_IN,
                "thinning": _THIN,
                "lengthscales": "Gamma(shape 2.5, rate 5)",
            },
            "beta": 4.0,
        }

    def replicate(self, plan: Plan, run: int) -> Replicate:
        """One pair of targets, with the same two initial pushes for all algorithms."""
        rng = np.random.default_rng([plan.seed, run, 1])
        theta = goals(rng)
        initial = np.column_stack([rng.uniform(LOWER, UPPER, (2, 3)), theta])
        y = [value(point) for point in initial]
        found = {}
        for name in plan.algorithms:
            optimizer = build_optimizer(theta, name, run_seed(plan.seed, run))
            optimizer.tell(initial, y)
            steps = play(optimizer, lambda query: value(query.point), plan.rounds)
            reports = [np.asarray(optimizer.decide(), dtype=float) for _ in steps]
            curve = np.array([robust(report, theta) for report in reports])
            found[name] = {"curve": curve, "reported": reports[-1], "targets": theta}
        return found

    def claims(self, results: Results) -> list[Claim]:
        """Whether StableOpt ends highest."""
        others = results.others()
        if not others:
            return []
        means = {name: float(results.final(name).mean()) for name in results.plan.algorithms}
        theta = results.stacked("StableOpt", "targets")
        limit = float(np.mean(5.0 - 0.5 * np.linalg.norm(theta[:, 0] - theta[:, 1], axis=1)))
        shown = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
        gaps = ", ".join(f"{results.difference('StableOpt', name)} against {name}" for name in others)
        return [
            Claim(
                "StableOpt's robust objective ends highest",
                all(means["StableOpt"] > means[name] for name in others),
                f"Mean at t = {results.plan.rounds}: {shown} (no decision exceeds {limit:.2f}); paired "
                f"differences {gaps}",
            )
        ]

    def figures(self, results: Results) -> dict[str, Figure]:
        """The left half of the paper's Figure 3, and where the object ends for the first pair of targets."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_curves(left, self, results)
        _table_top(right, results)
        return {"robot": figure}


def value(point: ArrayLike) -> float:
    """f(r, θ) at a point (rx, ry, rt, θx, θy)."""
    coordinates = np.asarray(point, dtype=float)
    return float(5.0 - np.linalg.norm(np.array(push(*coordinates[:3].tolist())) - coordinates[3:]))


def robust(decision: Array, theta: Array) -> float:
    """The smallest f over the targets: 5 minus the larger distance."""
    return float(5.0 - np.linalg.norm(np.array(push(*decision.tolist())) - theta, axis=1).max())


def _table_top(axes: Axes, results: Results) -> None:
    """The first pair of targets, and where the pushes that are reported at the end leave the object."""
    targets = results.stacked(results.plan.algorithms[0], "targets")[0]
    axes.plot(*targets.T, "x", color="black", ms=10, mew=2, ls="none", label="targets")
    axes.plot(0, 0, "o", mfc="none", color="black", ms=14, ls="none", label="the object at the start")
    for name in results.plan.algorithms:
        end = push(*results.stacked(name, "reported")[0].tolist())
        axes.plot(*end, "o", color=colour_of(name), ms=8, ls="none", label=name)
    axes.set(title="where the reported push leaves the object, first run", xlabel="$x$", ylabel="$y$")
    axes.set_aspect("equal", adjustable="datalim")
    finish(axes)
