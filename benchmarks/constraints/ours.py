"""Our side: a `Campaign` with constraints and all defaults; and the workaround, a penalty in place of constraints.

A run reports by three rules:

own      what the campaign reports: guaranteed to keep all limits, if any decision is
likely   the same with bounds of 1.645 standard deviations, which a normal error passes in 5 % of all cases on one side
mean     the best worst-case mean of those whose expected margins are kept

The last two say of our models what BoTorch's rules of the same names say of its models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.constraints.problems import Array, Problem
from stableopt import Campaign, Integer
from stableopt.loop.updates import with_betas

LIKELY = 1.645**2  # β of bounds that a normal error passes on one side in 5 % of all cases
HEAVY = 3.0  # how much a violation of one standard deviation costs, in standard deviations of the value


class Ours:
    """A campaign that is told what the runner measured."""

    def __init__(self, problem: Problem, seed: int, penalty: bool = False) -> None:
        self.problem, self.penalty = problem, penalty
        self.limits = [f"g{j}" for j in range(len(problem.noise) - 1)]
        options: dict[str, Any] = {} if penalty else {"constraints": dict.fromkeys(self.limits, (None, 0.0))}
        if problem.environment:
            options["environment"] = {f"e{i}": ends for i, ends in enumerate(problem.environment)}
        ends = list(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True))
        self.names = [f"x{i}" for i in range(problem.dimension)]
        ranges: dict[str, Any] = dict(zip(self.names, ends, strict=True))
        for j in problem.whole:
            ranges[f"x{j}"] = Integer(*(int(end) for end in ends[j]))
        tolerance = {name: e for name, e in zip(self.names, problem.eps.tolist(), strict=True) if e}
        self.campaign = Campaign(ranges, tolerance, seed=seed, initial=1, **options)
        self._told, self._trial = 0, None

    def tell(self, Z: Array, Y: Array) -> None:
        """Take all observations so far: those that are new, as an answer where they were asked for."""
        if not self._told:  # how large a penalty has to be is judged by the first points
            spread = Y.std(axis=0)
            self._weights = HEAVY * spread[0] / spread[1:]
        for z, y in zip(Z[self._told :], Y[self._told :], strict=True):
            trial = self._point(z) if self._trial is None else self._trial
            self.campaign.tell(trial, self._value(y))
            self._trial = None
        self._told = len(Z)

    def _value(self, y: Array) -> Any:
        if self.penalty:
            return float(y[0] - self._weights @ np.maximum(y[1:], 0.0))
        return {"value": float(y[0]), **dict(zip(self.limits, y[1:].tolist(), strict=True))}

    def suggest(self) -> Array:
        self._trial = self.campaign.ask()
        return np.array([float(v) for v in self._trial.point.values()])

    def report(self) -> dict[str, tuple[Array, str]]:
        """The decision to use by the name of the rule, and what it says of the limits."""
        result = self.campaign.result
        found = {"own": (self._decision(result.decision), "" if self.penalty else str(result.feasible))}
        if not self.penalty:
            state = self.campaign._record.optimizer().state
            bold = with_betas(state, LIKELY, LIKELY, [(LIKELY, LIKELY)] * len(state.constraints))
            for rule, index in (("likely", bold.safest(tried=False)), ("mean", state.expected())):
                found[rule] = self._decision(state.setting.translation.decision(index)), ""
        return found

    def _decision(self, named: Any) -> Array:
        return np.array([float(named[name]) for name in self.names])

    def _point(self, z: Array) -> dict[str, Any]:
        names = [*self.names, *(f"e{i}" for i in range(len(self.problem.environment)))]
        whole = {f"x{j}" for j in self.problem.whole}
        return {name: int(v) if name in whole else v for name, v in zip(names, z.tolist(), strict=True)}
