"""OptunaHub's CARBO sampler: the best of some random decisions by max-min ucb, evaluated where its lcb is smallest.

OptunaHub loads it, which needs a network; or ``STABLEOPT_CARBO`` names a local copy of OptunaHub's registry, the
directory that has ``samplers/carbo`` in it. All settings are the sampler's defaults. It knows boxes only: an l2 ball is
a box to it, with the same half-widths, and parameters are anything between the least and the largest. It relaxes whole
numbers. What it proposes is rounded to what exists. It learns while it suggests, and reports by a rule of its own.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import optuna
import optunahub
import torch

from benchmarks.rivals.methods import Suggestion
from benchmarks.rivals.problems import Array, Problem

torch.set_num_threads(1)
optuna.logging.set_verbosity(optuna.logging.ERROR)


def _module() -> Any:
    local = os.environ.get("STABLEOPT_CARBO")
    if local:
        return optunahub.load_local_module("samplers/carbo", registry_root=local)
    return optunahub.load_module("samplers/carbo")


class Carbo:
    """A study whose trials are the observations."""

    remembers = True

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.names = [f"x{i}" for i in range(len(problem.low))]
        ends = zip(self.names, problem.low.tolist(), problem.high.tolist(), strict=True)
        self.ranges = {name: optuna.distributions.FloatDistribution(low, high) for name, low, high in ends}
        noise = {name: eps for name, eps in zip(self.names, problem.reach.tolist(), strict=False) if eps}
        everywhere = self.names[problem.dimension :]
        self.sampler = _module().CARBOSampler(
            seed=seed,
            input_noise_rads=noise,
            **({"const_noisy_param_names": everywhere} if everywhere else {}),
        )
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler)
        self._told, self._asked = 0, None

    def initial(self) -> Array:
        """Those that all methods share."""
        return self.problem.initial(self.seed)

    def tell(self, X: Array, y: Array) -> None:
        """Add what is new as trials; what was suggested keeps what the sampler noted when it suggested it."""
        for point, value in zip(X[self._told :], y[self._told :].tolist(), strict=True):
            trial = optuna.trial.create_trial(
                params=dict(zip(self.names, point.tolist(), strict=True)),
                distributions=self.ranges,
                value=value,
                system_attrs=self._asked or {},
            )
            self.study.add_trial(trial)
            self._asked = None
        self._told = len(y)

    def suggest(self) -> Suggestion:
        """The sampler's point, and the decision for which it is the worst case."""
        asked = self.study.ask(self.ranges)
        trial = self.study.trials[-1]
        self._asked = dict(trial.system_attrs)
        self.study.tell(asked, state=optuna.trial.TrialState.FAIL)  # told again, rounded, as a trial of its own
        return Suggestion(self._row(trial.params), self._row(self.sampler.get_nominal_params(trial), True))

    def report(self, thorough: bool) -> dict[str, Array]:
        """The sampler's own rule."""
        return {"robust": self._row(self.sampler.get_robust_params(self.study), True)}

    def _row(self, params: dict[str, float], decision: bool = False) -> Array:
        names = self.names[: self.problem.dimension] if decision else self.names
        return self.problem.settled(np.array([[params[name] for name in names]]))[0]
