"""The rivals: OptunaHub's CARBO with its own constraints, and BoTorch with input perturbations and constraint models.

Both relax whole numbers, which neither knows together with perturbations: what they propose or report is rounded.

CARBO    its defaults. An environment is one of its ``const_noisy_param_names``. It reports by its own rule.
BoTorch  a `SingleTaskGP` with an output for every quantity, `InputPerturbation` with 16 perturbations drawn in every
         round, `qLogExpectedImprovement` of the worst case with the worst case of every constraint as a constraint, and
         `qLogProbabilityOfFeasibility` until an evaluated decision is expected to be feasible. The environment is
         perturbed over its whole range, and drawn at random for an evaluation.
         mean     of the evaluated decisions, the best worst-case mean of those whose expected constraints hold
         likely   of the evaluated decisions, the same of those that are feasible in 95 % of the posterior's samples
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import optuna
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import AcquisitionFunction, qLogExpectedImprovement
from botorch.acquisition.logei import qLogProbabilityOfFeasibility
from botorch.acquisition.risk_measures import WorstCase
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputPerturbation
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning
from optuna.samplers._base import _CONSTRAINTS_KEY
from torch import Tensor

from benchmarks.constraints.problems import Array, Problem
from benchmarks.rivals.carbo import _module
from benchmarks.rivals.rival import MC_SAMPLES, RAW_SAMPLES, RESTARTS

warnings.filterwarnings("ignore", category=NumericalWarning)
N_W, REPORTED, LIKELY = 16, 64, 0.95


class Carbo:
    """A study whose trials are the observations."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.names = [f"x{i}" for i in range(len(problem.low))]
        ends = zip(self.names, problem.low.tolist(), problem.high.tolist(), strict=True)
        self.ranges = {name: optuna.distributions.FloatDistribution(low, high) for name, low, high in ends}
        noise = {name: e for name, e in zip(self.names, problem.eps.tolist(), strict=False) if e}
        self.sampler = _module().CARBOSampler(
            seed=seed,
            input_noise_rads=noise,
            const_noisy_param_names=self.names[problem.dimension :],
            constraints_func=lambda trial: trial.user_attrs["g"],
        )
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler)
        self._told = 0

    def tell(self, Z: Array, Y: Array) -> None:
        """Add what is new as trials; what was suggested keeps the decision that it was suggested for."""
        for z, y in zip(Z[self._told :], Y[self._told :], strict=True):
            attributes: dict[str, Any] = {_CONSTRAINTS_KEY: y[1:].tolist()}
            if self._told >= 1 and (asked := getattr(self, "_asked", None)) is not None:
                attributes |= {k: v for k, v in asked.items() if k not in attributes}
            self._asked = None
            trial = optuna.trial.create_trial(
                params=dict(zip(self.names, z.tolist(), strict=True)),
                distributions=self.ranges,
                value=float(y[0]),
                system_attrs=attributes,
            )
            self.study.add_trial(trial)
        self._told = len(Z)

    def suggest(self) -> Array:
        asked = self.study.ask(self.ranges)
        trial = self.study.trials[-1]
        self._asked = dict(trial.system_attrs)
        self.study.tell(asked, state=optuna.trial.TrialState.FAIL)  # told again, rounded, as a trial of its own
        return np.array([trial.params[name] for name in self.names])

    def report(self) -> dict[str, tuple[Array, str]]:
        found = self.sampler.get_robust_params(self.study)
        return {"own": (np.array([found[name] for name in self.names[: self.problem.dimension]]), "")}


class BoTorch:
    """Models that are fitted from scratch to all observations in every round."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.width, self.k = len(problem.low), len(problem.noise) - 1
        self.bounds = torch.stack([torch.zeros(self.width), torch.ones(self.width)])
        self.fixed = dict.fromkeys(range(problem.dimension, self.width), 0.5) or None

    def tell(self, Z: Array, Y: Array) -> None:
        torch.manual_seed(1000 * self.seed + len(Z))
        self.X = torch.as_tensor((Z - self.problem.low) / (self.problem.high - self.problem.low))
        # Outputs are independent, with hyperparameters of their own: as a list of models, in half of the time.
        self.model = SingleTaskGP(self.X, torch.as_tensor(Y), outcome_transform=Standardize(m=self.k + 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))
        self.model.eval()
        self.decisions = self.X.clone()
        self.decisions[:, self.problem.dimension :] = 0.5

    def _perturb(self, count: int) -> None:
        """Of the decision within its tolerance, of the environment from its middle over its whole range."""
        deltas = 2 * torch.quasirandom.SobolEngine(self.width, scramble=True).draw(count).double() - 1
        scale = np.append(self.problem.eps, 0.5 * np.ptp(np.array(self.problem.environment).reshape(-1, 2), axis=1))
        deltas *= torch.as_tensor(scale / (self.problem.high - self.problem.low))
        self.model.input_transform = InputPerturbation(deltas, bounds=self.bounds).eval()

    def suggest(self) -> Array:
        self._perturb(N_W)
        worst = WorstCase(N_W, preprocessing_function=lambda Y: Y[..., 0])
        limits = [lambda samples, j=j: samples[..., j + 1].unflatten(-1, (-1, N_W)).amax(dim=-1) for j in range(self.k)]
        sampler = SobolQMCNormalSampler(torch.Size([MC_SAMPLES]))
        value, broken = self._expected(N_W)
        options: dict[str, Any] = {"model": self.model, "sampler": sampler, "objective": worst, "constraints": limits}
        if (broken <= 0).any():
            acquisition = qLogExpectedImprovement(best_f=value[broken <= 0].max(), **options)
        else:
            acquisition = qLogProbabilityOfFeasibility(**options)
        decision = self._maximise(acquisition)
        z = self.problem.low + (self.problem.high - self.problem.low) * decision.numpy()
        rng = np.random.default_rng([self.seed, 3, len(self.X)])
        for i, (a, b) in enumerate(self.problem.environment):
            z[self.problem.dimension + i] = rng.uniform(a, b)
        return z

    def _maximise(self, acquisition: AcquisitionFunction) -> Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = optimize_acqf(acquisition, self.bounds, 1, RESTARTS, RAW_SAMPLES, fixed_features=self.fixed)
        return found[0].detach()

    def _expected(self, count: int) -> tuple[Tensor, Tensor]:
        """Of every evaluated decision, the smallest mean of f and the largest mean of any constraint."""
        with torch.no_grad():
            mean = self.model.posterior(self.decisions[:, None]).mean.reshape(len(self.X), count, self.k + 1)
        return mean[..., 0].amin(dim=1), mean[..., 1:].amax(dim=(1, 2))

    def report(self) -> dict[str, tuple[Array, str]]:
        self._perturb(REPORTED)
        value, broken = self._expected(REPORTED)
        with torch.no_grad():
            share = []
            for decision in self.decisions:
                samples = self.model.posterior(decision[None]).rsample(torch.Size([256]))
                share.append((samples[..., 1:].amax(dim=(1, 2)) <= 0).double().mean())
        likely = torch.stack(share)
        chosen = {
            "mean": torch.where(broken <= 0, value, -torch.inf).argmax() if (broken <= 0).any() else broken.argmin(),
            "likely": torch.where(likely >= LIKELY, value, -torch.inf).argmax()
            if (likely >= LIKELY).any()
            else likely.argmax(),
        }
        span = (self.problem.high - self.problem.low)[: self.problem.dimension]
        return {
            rule: (self.problem.lower + span * self.decisions[i, : self.problem.dimension].numpy(), "")
            for rule, i in chosen.items()
        }
