"""Theorem 2 in action: functions with a narrow valley that every algorithm falls into until it has seen enough.

A run takes one of the M hard functions of Theorem 2 and gives every algorithm the true kernel and noise. An algorithm
fails at t if the adversary can push what it reports into the valley, which costs at least η. The theorem's proof says
how often that must happen, averaged over the functions, whatever the algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stableopt import GP, SE, Ball, Grid
from stableopt._arrays import Array
from stableopt.experiments.base import DEFAULT, FULL, QUICK, Claim, Experiment, Plan, Replicate, Results, Size
from stableopt.experiments.output import colour_of
from stableopt.experiments.play import play, run_seed
from stableopt.maxmin import Setting
from stableopt.problems import Problem
from stableopt.rules import ALGORITHMS
from stableopt.theory import HardInstances, consistent, plot_instances

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KERNEL, _NORM, _ETA, _EPS = SE(0.05), 1.0, 0.2, 0.3
_NOISE = 5 * _ETA
_XI = 0.05
_CELLS = 161


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

    @cached_property
    def instances(self) -> HardInstances:
        """The hard functions."""
        return HardInstances(_KERNEL, _ETA, _NORM, _EPS)

    @property
    def bound(self) -> int:
        """Rounds below which no algorithm can succeed on all of them with probability 1 − ξ."""
        return self.instances.rounds_necessary(_XI, _NOISE)

    @property
    def settings(self) -> dict[str, Any]:
        """The constants, and the bound that follows from them."""
        return {
            "kernel": _KERNEL.to_dict(),
            "norm": _NORM,
            "eta": _ETA,
            "eps": _EPS,
            "noise": _NOISE,
            "xi": _XI,
            "domain": f"{_CELLS} points on [0, 1]",
            "hard_functions": len(self.instances),
            "rounds_necessary": self.bound,
            "beta": 4.0,
        }

    def problem(self, number: int) -> Problem:
        """One of the hard functions."""
        domain, uncertainty = Grid.linspace(0.0, 1.0, _CELLS), Ball(_EPS)
        f = _Valley(self.instances, number)
        worst = Setting(domain, uncertainty).solver.minima(f(domain.points))
        best = int(np.argmax(worst))
        return Problem(
            name="lower-bound",
            summary="A narrow valley that the adversary can push decisions into.",
            domain=domain,
            uncertainty=uncertainty,
            f=f,
            noise=_NOISE,
            gp=GP(_KERNEL, noise=_NOISE),
            stable_decision=domain.points[best],
            stable_value=float(worst[best]),
        )

    def replicate(self, plan: Plan, run: int) -> Replicate:
        """One hard function, taken in turn, with the same noise for all algorithms."""
        number = run % len(self.instances)
        problem = self.problem(number)
        noise = _NOISE * np.random.default_rng([plan.seed, run, 1]).standard_normal(plan.rounds)
        none: dict[str, Any] = {"initial": np.empty(0, dtype=np.intp), "initial_noise": np.empty(0)}
        bad = self.instances.bad(problem.domain.points)[number]
        regrets = problem.stable_value - problem.setting.solver.minima(problem.values)
        found = {}
        for name in plan.algorithms:
            reports = play(problem, problem.gp, name, noise=noise, seed=run_seed(plan.seed, run), **none)
            chosen = np.array([problem.domain.locate(np.asarray(report.decision)) for report in reports])
            found[name] = {"curve": regrets[chosen], "failed": bad[chosen].astype(float)}
        return found

    def claims(self, results: Results) -> list[Claim]:
        """Whether failures are as frequent as the theorem says, for every algorithm and round."""
        plan, floor = results.plan, self._floor(results.plan.rounds)
        last = min(plan.rounds, self.bound)
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
                plausible and all(each[last - 1] > _XI for each in shares.values()),
                f"{len(self.instances)} hard functions, of which no algorithm can be sure (ξ = {_XI}) before "
                f"T = {self.bound}; share of runs that fail at t = {last}: {at}; at t = {plan.rounds}: {end}; the "
                f"share is {'never significantly' if plausible else 'somewhere'} below what the proof requires",
            )
        ]

    def _floor(self, rounds: int) -> Array:
        """The smallest probability of failure that any algorithm can have, after each round."""
        return np.array([self.instances.failure_probability(t, _NOISE) for t in range(1, rounds + 1)])

    def figures(self, results: Results) -> dict[str, Figure]:
        """The hard functions, and how often the algorithms fail."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        plot_instances(self.instances, ax=left)
        self._draw_failures(right, results)
        return {"lower-bound": figure}

    def _draw_failures(self, axes: Axes, results: Results) -> None:
        t = np.arange(1, results.plan.rounds + 1)
        for name in results.plan.algorithms:
            axes.plot(t, results.stacked(name, "failed").mean(axis=0), color=colour_of(name), lw=1.6, label=name)
        axes.plot(t, self._floor(len(t)), color="black", ls="--", lw=1.6, label="no algorithm fails less often")
        axes.axvline(self.bound, ymax=0.75, color="black", lw=0.8)
        axes.annotate(f" T = {self.bound}", (self.bound, 0.71), fontsize=9)
        title = f"mean over {results.plan.runs} runs"
        axes.set(xscale="log", xlabel="round $t$", ylabel="share of runs with ε-regret ≥ η", ylim=(0, 1), title=title)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False, ncols=2, loc="upper left")


@dataclass(frozen=True)
class _Valley:
    """One of the hard functions."""

    instances: HardInstances
    number: int

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.instances(X)[self.number])
