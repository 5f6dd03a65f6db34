"""Theorem 2 in action: functions with a narrow valley that every algorithm falls into until it has seen enough.

A run takes one of the M hard functions of Theorem 2 and gives every algorithm the true kernel and noise. An algorithm
fails at t if the adversary can push its reported decision into the valley; this costs at least η. The theorem's proof
gives a frequency of failures, averaged over the functions. No algorithm fails less often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stableopt.loop.rules import ALGORITHMS
from stableopt.paper.drawing import colour_of
from stableopt.paper.experiments.base import DEFAULT, FULL, QUICK, Claim, Experiment, Plan, Replicate, Results, Size
from stableopt.paper.hard import XI, HardGame
from stableopt.paper.match import run_seed
from stableopt.plots.style import plain
from stableopt.theory.simulation import consistent
from stableopt.theory.theorem2 import plot_instances

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GAME = HardGame()
_HARD = _GAME.instances


@dataclass(frozen=True)
class LowerBound(Experiment):
    """Five algorithms on the hard functions."""

    name: ClassVar = "lower-bound"
    title: ClassVar = "The lower bound"
    paper: ClassVar = (
        "Suppose there exists an algorithm that, for any f in F_k(B), reports a point achieving ε-regret at most η "
        "after T rounds with probability at least 1 − ξ. Then, for the SE kernel, it is necessary that "
        "T = Ω(σ²/η² (log B/η)^{p/2})."
    )
    algorithms: ClassVar = tuple(ALGORITHMS)
    sizes: ClassVar = {QUICK: Size(32, 120), DEFAULT: Size(64, 400), FULL: Size(128, 1000)}

    @classmethod
    def load(cls, plan: Plan) -> Self:
        """Nothing to load."""
        return cls()

    @property
    def settings(self) -> dict[str, Any]:
        """The constants, and the bound that follows from them."""
        return {
            "kernel": _HARD.kernel.to_dict(),
            "norm": _HARD.norm,
            "eta": _HARD.eta,
            "eps": _HARD.eps,
            "noise": _GAME.noise,
            "xi": XI,
            "domain": f"{_GAME.cells} points on [0, 1]",
            "hard_functions": len(_HARD),
            "rounds_necessary": _GAME.bound,
            "beta": _GAME.beta,
        }

    def replicate(self, plan: Plan, run: int) -> Replicate:
        """One hard function, taken in turn, with the same noise for all algorithms."""
        function = run % len(_HARD)
        worst = _GAME.listing.solver.all_minima(_GAME.values[function])
        regrets, bad = worst.max() - worst, _GAME.bad[function]
        errors = _GAME.noise * np.random.default_rng([plan.seed, run, 1]).standard_normal(plan.rounds)
        found = {}
        for name in plan.algorithms:
            chosen = _GAME.reported(function, name, errors, run_seed(plan.seed, run))
            found[name] = {"curve": regrets[chosen], "failed": bad[chosen].astype(float)}
        return found

    def claims(self, results: Results) -> list[Claim]:
        """Whether failures are as frequent as the theorem says, for every algorithm and round."""
        plan, floor = results.plan, _GAME.floor(results.plan.rounds)
        last = min(plan.rounds, _GAME.bound)
        shares = {name: results.stacked(name, "failed").mean(axis=0) for name in plan.algorithms}
        # Each share is a count out of `runs`; 1e-3 spread over all that are looked at.
        level = 1e-3 / (len(shares) * plan.rounds)
        plausible = all(
            consistent(round(share * plan.runs), plan.runs, float(least), level)
            for each in shares.values()
            for share, least in zip(each.tolist(), floor, strict=True)
        )
        at = ", ".join(f"{name} {each[last - 1]:.0%}" for name, each in shares.items())
        end = ", ".join(f"{name} {each[-1]:.0%}" for name, each in shares.items())
        return [
            Claim(
                "Every algorithm fails until T reaches the bound's order",
                plausible and all(each[last - 1] > XI for each in shares.values()),
                f"{len(_HARD)} hard functions, of which no algorithm can be sure (ξ = {XI}) before "
                f"T = {_GAME.bound}; share of runs that fail at t = {last}: {at}; at t = {plan.rounds}: {end}; the "
                f"share is {'never significantly' if plausible else 'somewhere'} below what the proof requires",
            )
        ]

    def figures(self, results: Results) -> dict[str, Figure]:
        """The hard functions, and how often the algorithms fail."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        plot_instances(_HARD, ax=left)
        self._draw_failures(right, results)
        return {"lower-bound": figure}

    def _draw_failures(self, axes: Axes, results: Results) -> None:
        t = np.arange(1, results.plan.rounds + 1)
        for name in results.plan.algorithms:
            axes.plot(t, results.stacked(name, "failed").mean(axis=0), color=colour_of(name), lw=1.6, label=name)
        axes.plot(t, _GAME.floor(len(t)), color="black", ls="--", lw=1.6, label="no algorithm fails less often")
        axes.axvline(_GAME.bound, ymax=0.75, color="black", lw=0.8)
        axes.annotate(f" T = {_GAME.bound}", (_GAME.bound, 0.71), fontsize=9)
        title = f"mean over {results.plan.runs} runs"
        axes.set(xscale="log", xlabel="round $t$", ylabel="share of runs with ε-regret ≥ η", ylim=(0, 1), title=title)
        plain(axes)
        axes.legend(fontsize=8, frameon=False, ncols=2, loc="upper left")
