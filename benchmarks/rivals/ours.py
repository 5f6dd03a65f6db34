"""Our side: stableopt with the defaults of `maximize`, and nothing tuned to the problem.

``ours`` starts from the points that all methods of a seed share, ``ours-design=own`` from those of `maximize`.
``ours-NAME=VALUE-NAME=VALUE`` changes other defaults, for the table of `benchmarks.defaults`. ``paper`` is the paper's
StableOpt, as `Optimizer` has it: β^{1/2} = 2. ``random`` measures at random and reports as ``paper`` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.rivals.methods import Suggestion
from benchmarks.rivals.problems import INITIAL, Array, Problem
from stableopt import Ball, Integer, Optimizer, Parameters, Rectangle, Space
from stableopt.campaign.words import MODEL
from stableopt.loop.defaults import FRONT_DOOR
from stableopt.loop.rules import Algorithm, BestExpected, BestOfAll, BestSoFar
from stableopt.loop.schedules import Alternating, Schedule
from stableopt.model.hyperparameters import LogNormal
from stableopt.model.learning import Learned
from stableopt.sets.uncertainty import UncertaintySet

REPORTING = {"expected": BestExpected(), "all": BestOfAll(), "tried": BestSoFar()}


def space(problem: Problem) -> Space:
    """Where decisions live."""
    ends = list(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True))
    return Space([Integer(int(a), int(b)) if j in problem.whole else (a, b) for j, (a, b) in enumerate(ends)])


def uncertainty(problem: Problem) -> UncertaintySet:
    """What the adversary can do."""
    sets: list[UncertaintySet] = []
    if problem.norm == "l2":
        sets.append(Ball(1.0, scales=problem.reach.tolist()) if np.ndim(problem.eps) else Ball(float(problem.eps)))
    elif problem.reach.any():
        sets.append(Rectangle(problem.reach.tolist()))
    if problem.parameters is not None:
        sets.append(Parameters(problem.parameters))
    if problem.environment:
        sets.append(Parameters(Space(list(problem.environment))))
    return sets[0] if len(sets) == 1 else sets[0] * sets[1]


def _explore(text: str) -> float | Alternating:
    """β, or as in 1:4 that and the one of the wide looks, or as in 1:4:16 that of the widest, too."""
    small, *wide = (float(beta) for beta in text.split(":"))
    return Alternating(small, wide[0], widest=wide[1] if len(wide) > 1 else None) if wide else small


def _options(name: str, dimension: int) -> dict[str, Any]:
    """What a name says to an `Optimizer`: its model, algorithm and betas."""
    if name == "paper":
        return {"gp": Learned(), "algorithm": "StableOpt"}
    if name == "random":
        return {"gp": Learned(), "algorithm": "Stable-GP-Random"}
    changes: dict[str, Any] = dict(part.split("=") for part in name.split("-")[1:])
    changes.pop("design", None)
    reporting = REPORTING[changes.pop("report")] if "report" in changes else FRONT_DOOR.algorithm.reporting
    explore = _explore(changes.pop("explore")) if "explore" in changes else FRONT_DOOR.explore
    beta = float(changes.pop("beta")) if "beta" in changes else FRONT_DOOR.beta
    if "length" in changes:  # the prior of lengthscales: median over √dimension, spread, common spread, as 0.25:0.5:1
        median, *spreads = map(float, changes.pop("length").split(":"))
        changes["priors"] = {"lengthscale": LogNormal(median * dimension**0.5, *spreads)}
    if "warp" in changes:
        changes["warp"] = changes["warp"] == "yes"
    algorithm = Algorithm("StableOpt", FRONT_DOOR.algorithm.sampling, reporting)
    return {"gp": replace(MODEL, **changes), "algorithm": algorithm, "beta": beta, "explore": explore}


class Ours:
    """An optimiser that is told what the runner measured."""

    remembers = True

    def __init__(self, problem: Problem, seed: int, name: str = "ours", explore: Schedule | None = None) -> None:
        """``name`` is what stands on the command line: "ours", or "ours-something" for a variation."""
        options = _options(name, problem.dimension) | ({} if explore is None else {"explore": explore})
        self._shared = None if "-design=own" in name else problem.initial(seed)
        self._optimizer = Optimizer(
            space(problem),
            uncertainty(problem),
            **options,
            initial=1 if self._shared is not None else INITIAL,
            seed=seed,
        )
        self._query = None

    def initial(self) -> Array:
        """Those that all methods share, or those that `maximize` would measure first."""
        return np.array([q.point for q in self._optimizer.ask(INITIAL)]) if self._shared is None else self._shared

    def tell(self, X: Array, y: Array) -> None:
        """Take all observations so far: those that are new, as an answer where they were asked for."""
        known = len(self._optimizer.rounds)
        if self._query is not None and known < len(X) and np.array_equal(X[known], self._query.point):
            self._optimizer.tell(self._query, float(y[known]))
            known += 1
        if known < len(X):
            self._optimizer.tell(X[known:], y[known:])

    def suggest(self) -> Suggestion:
        """The point to evaluate, and the decision it was chosen for."""
        self._query = self._optimizer.ask()
        return Suggestion(np.asarray(self._query.point), np.asarray(self._query.decision))

    def report(self, thorough: bool) -> dict[str, Array]:
        """The decision by our reporting rule."""
        state = self._optimizer.state
        chosen = self._optimizer.algorithm.reporting.choose(state)
        decisions = {"own": np.asarray(state.setting.translation.decision(chosen))}
        if thorough:
            decisions |= {
                name: np.asarray(state.setting.translation.decision(rule.choose(state)))
                for name, rule in REPORTING.items()
            }
        return decisions
