"""The paper's running example: Figure 1 in three panels, and the supplement's figure of an execution from t = 5 to 15.

The paper does not give its function; this is one with a high narrow peak and a lower wide one, and its eps = 0.06. The
pictures show run 0; the claims are checked on all runs.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stableopt.loop.rules import ALGORITHMS
from stableopt.paper.example import UCB_ROUND, Step, draw_step, figure_1, play
from stableopt.paper.experiments.base import DEFAULT, FULL, QUICK, Claim, Experiment, Plan, Replicate, Results, Size
from stableopt.paper.experiments.output import draw_curves, image
from stableopt.paper.match import run_seed
from stableopt.plots.style import share_legend
from stableopt.problems.base import Problem
from stableopt.problems.perturbed import peaks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INITIAL = 3
_FIRST, _LAST = 5, 15
_FRAME_MS = 900


@dataclass(frozen=True)
class Illustration(Experiment):
    """StableOpt and GP-UCB on a narrow and a wide peak."""

    name: ClassVar = "illustration"
    title: ClassVar = "The running example"
    paper: ClassVar = (
        "The decision that corresponds to the local “wider” maximum of f is the optimal ε-stable decision. GP-UCB "
        "selects a point that nearly maximizes f, but is suboptimal in the ε-stable sense. [...] We observe that after "
        "t = 15 steps, x̃_t [...] corresponds to x*_ε."
    )
    algorithms: ClassVar = tuple(ALGORITHMS)
    sizes: ClassVar = {QUICK: Size(10, 20), DEFAULT: Size(30, 20), FULL: Size(100, 20)}

    @classmethod
    def load(cls, plan: Plan) -> Self:
        """Nothing to load."""
        return cls()

    @property
    def problem(self) -> Problem:
        """The function with two peaks."""
        return peaks()

    @property
    def settings(self) -> dict[str, Any]:
        """The constants."""
        problem = self.problem
        return {
            "domain": "301 points on [0, 1]",
            "eps": 0.06,
            "noise": problem.noise,
            "gp": problem.gp.to_dict(),
            "initial_points": _INITIAL,
            "beta": 4.0,
        }

    def _steps(self, plan: Plan, run: int, algorithm: str, rounds: int) -> Iterator[Step]:
        return play(self.problem, algorithm, rounds=rounds, initial=_INITIAL, seed=run_seed(plan.seed, run))

    def replicate(self, plan: Plan, run: int) -> Replicate:
        """One run of every algorithm."""
        found = {}
        for name in plan.algorithms:
            steps = list(self._steps(plan, run, name, plan.rounds))
            found[name] = {
                "curve": np.array([step.regret for step in steps]),
                "decision": np.array([np.asarray(step.query.decision, dtype=float)[0] for step in steps]),
            }
        return found

    def claims(self, results: Results) -> list[Claim]:
        """Where GP-UCB is at t = 20 and where StableOpt's x̃_t is by t = 15, in all runs."""
        problem, plan = self.problem, results.plan
        peak = problem.domain.points[problem.peak[0], 0]
        stable = float(np.asarray(problem.stable_decision)[0])
        claims = []
        if "GP-UCB" in plan.algorithms and plan.rounds >= UCB_ROUND:
            at = results.stacked("GP-UCB", "decision")[:, UCB_ROUND - 1]
            near = np.abs(at - peak) <= 0.06
            claims.append(
                Claim(
                    f"GP-UCB sits on the narrow peak at t = {UCB_ROUND}",
                    bool(near.mean() > 0.5),
                    f"In {int(near.sum())} of {plan.runs} runs within eps of the maximiser x = {peak:.3f}; its mean "
                    f"ε-regret there is {float(results.stacked('GP-UCB')[:, UCB_ROUND - 1].mean()):.2f}",
                )
            )
        if "StableOpt" in plan.algorithms and plan.rounds >= _LAST:
            at = results.stacked("StableOpt", "decision")[:, :_LAST]
            reached = np.any(np.abs(at - stable) <= 0.02, axis=1)
            near = np.abs(at[:, -1] - stable) <= 0.02
            regret = float(results.stacked("StableOpt")[:, _LAST - 1].mean())
            claims.append(
                Claim(
                    f"StableOpt's x̃_t reaches the stable optimum by t = {_LAST}",
                    bool(reached.mean() > 0.5),
                    f"In {int(reached.sum())} of {plan.runs} runs within 0.02 of x = {stable:.3f}, "
                    f"in {int(near.sum())} of them at t = {_LAST} itself; its report then has a mean "
                    f"ε-regret of {regret:.3f}",
                )
            )
        return claims

    def figures(self, results: Results) -> dict[str, Figure]:
        """Figure 1, the execution in eleven panels, and the regrets."""
        from matplotlib.figure import Figure

        plan = results.plan
        first = figure_1(self.problem, seed=run_seed(plan.seed, 0), initial=_INITIAL)
        execution = Figure(figsize=(14, 12), layout="constrained")
        panels = execution.subplots(4, 3, sharex=True, sharey=True).ravel()
        for axes, (t, step) in zip(panels, self._shown(plan), strict=False):
            draw_step(axes, self.problem, step)
            axes.set_title(f"t = {t}")
        panels[-1].remove()
        share_legend(execution)
        curves = Figure(figsize=(6.4, 4.4), layout="constrained")
        draw_curves(curves.subplots(), self, results)
        return {"illustration": first, "illustration-execution": execution, "illustration-regret": curves}

    def pictures(self, results: Results) -> dict[str, bytes]:
        """The execution as an animation."""
        return {"illustration.gif": self._animation(results.plan)}

    def _shown(self, plan: Plan) -> list[tuple[int, Step]]:
        steps = list(self._steps(plan, 0, "StableOpt", _LAST))
        return [(t, steps[t - 1]) for t in range(_FIRST, _LAST + 1)]

    def _animation(self, plan: Plan) -> bytes:
        from matplotlib.figure import Figure
        from PIL import Image

        figure = Figure(figsize=(10, 5), layout="constrained")
        axes = figure.subplots()
        frames: list[Image.Image] = []
        for t, step in self._shown(plan):
            axes.clear()
            axes.set_ylim(self.problem.values.min() - 0.9, self.problem.values.max() + 0.9)
            draw_step(axes, self.problem, step)
            axes.set_title(f"StableOpt, t = {t}")
            if not frames:
                share_legend(figure)
            elif (own := axes.get_legend()) is not None:
                own.remove()
            picture = Image.open(io.BytesIO(image(figure, "png", dpi=80)))
            frames.append(picture.convert("RGB").quantize(128, dither=Image.Dither.NONE))
            figure.set_layout_engine("none")  # all frames have the layout of the first
        buffer = io.BytesIO()
        shown = [_FRAME_MS] * (len(frames) - 1) + [3 * _FRAME_MS]
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=shown, loop=0)
        return buffer.getvalue()
