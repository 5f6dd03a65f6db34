"""BoTorch's way, with the settings of its tutorial "Risk averse Bayesian optimization with input perturbations".

    n_w      perturbations per decision, drawn anew for every round; perturbed inputs are clamped to the bounds
    model    SingleTaskGP with its defaults (MAP, standardised outputs) on inputs scaled to the unit cube
    report   the evaluated decision with the largest posterior expectation of the worst case over 128 perturbations

The tutorial has VaR where we have WorstCase, batches of 2 where we have 1, and qNoisyExpectedImprovement where we have
its successor qLogNoisyExpectedImprovement.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import AcquisitionFunction, qLogNoisyExpectedImprovement, qSimpleRegret, qUpperConfidenceBound
from botorch.acquisition.risk_measures import WorstCase
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputPerturbation
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.sampling import draw_sobol_normal_samples, draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.utils.warnings import NumericalWarning

from benchmarks.rivals.methods import Suggestion
from benchmarks.rivals.problems import Array, Problem
from benchmarks.rivals.rows import RowsLogNEI

torch.set_num_threads(1)
torch.set_default_dtype(torch.double)
warnings.filterwarnings("ignore", category=NumericalWarning)  # jitter: equal inputs are common in late rounds

RESTARTS, RAW_SAMPLES, MC_SAMPLES, REPORT_PERTURBATIONS = 10, 128, 128, 128  # as in the tutorial


@dataclass(frozen=True)
class Settings:
    """What a method's name says: qucb16, qlognei64, qlognei16-rows, qucb16-boundary, qucb16-beta4 ..."""

    acquisition: str
    n_w: int
    boundary: bool = False
    beta: float = 0.2
    """Of qUpperConfidenceBound: the default of BoTorch's own input constructor."""
    rows: bool = False
    """Whether qLogNoisyExpectedImprovement is computed with less work (see rows.py)."""

    @classmethod
    def of(cls, name: str) -> Settings:
        """The settings of a name, or a ValueError."""
        found = re.fullmatch(r"(qucb|qlognei)(\d+)(-boundary)?(?:-beta([\d.]+)|(-rows))?", name)
        if not found or (found[4] and found[1] != "qucb") or (found[5] and found[1] != "qlognei"):
            raise ValueError(f"expected a method like ours, qucb16, qlognei64-boundary or qucb16-beta4, got {name!r}")
        beta = float(found[4]) if found[4] else cls.beta
        return cls(found[1], int(found[2]), bool(found[3]), beta, bool(found[5]))


class BoTorch:
    """A run of BoTorch. The model is fitted from scratch to all observations, as in the tutorial."""

    remembers = False

    def __init__(self, problem: Problem, seed: int, settings: Settings) -> None:
        self.problem, self.seed, self.settings = problem, seed, settings
        self.bounds = torch.stack([torch.zeros(problem.dimension), torch.ones(problem.dimension)])

    def initial(self) -> Array:
        """Those that all methods share."""
        return self.problem.initial(self.seed)

    def tell(self, X: Array, y: Array) -> None:
        """Fit the model."""
        problem = self.problem
        torch.manual_seed(1000 * self.seed + len(y))
        self.X = torch.as_tensor((X - problem.lower) / (problem.upper - problem.lower))
        transform = self._perturb(self.settings.n_w)
        Y = torch.as_tensor(y)[:, None]
        self.model = SingleTaskGP(self.X, Y, outcome_transform=Standardize(m=1), input_transform=transform)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))
        self.model.eval()

    def suggest(self) -> Suggestion:
        """The decision that maximises the acquisition function, evaluated where it is."""
        decision = self._user(self._maximise(self._acquisition()))
        return Suggestion(decision, decision)

    def report(self, thorough: bool) -> dict[str, Array]:
        """The tutorial's rule; and by the posterior mean, among the evaluated decisions or in the whole domain."""
        used = self.model.input_transform
        self.model.input_transform = self._perturb(REPORT_PERTURBATIONS)
        try:
            expected = qSimpleRegret(self.model, objective=WorstCase(REPORT_PERTURBATIONS))
            plausible = MeanWorstCase(self.model)
            with torch.no_grad():
                decisions = {
                    "expected": self.X[expected(self.X[:, None]).argmax()],
                    "mean": self.X[plausible(self.X[:, None]).argmax()],
                }
            if thorough:
                decisions["anywhere"] = self._maximise(plausible)
        finally:
            self.model.input_transform = used
        return {rule: self._user(decision) for rule, decision in decisions.items()}

    def _acquisition(self) -> AcquisitionFunction:
        worst = WorstCase(self.settings.n_w)
        sampler = SobolQMCNormalSampler(torch.Size([MC_SAMPLES]))
        if self.settings.acquisition == "qucb":
            return qUpperConfidenceBound(self.model, self.settings.beta, sampler=sampler, objective=worst)
        improvement = RowsLogNEI if self.settings.rows else qLogNoisyExpectedImprovement
        return improvement(self.model, X_baseline=self.X, sampler=sampler, objective=worst, prune_baseline=True)

    def _maximise(self, acquisition: AcquisitionFunction) -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = optimize_acqf(acquisition, self.bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES)
        return found[0].detach()

    def _perturb(self, count: int) -> InputPerturbation:
        """Quasi-random perturbations in the ball or the box, or on its boundary (of a box: its corners)."""
        problem, boundary = self.problem, self.settings.boundary
        d = problem.dimension
        if problem.norm == "linf":
            inside = 2 * draw_sobol_samples(self.bounds, n=count, q=1)[:, 0] - 1
            deltas = inside.sign() if boundary else inside
        else:
            normal = draw_sobol_normal_samples(d=d, n=count)
            directions = normal / normal.norm(dim=1, keepdim=True)
            deltas = directions if boundary else directions * torch.rand(count, 1) ** (1 / d)
        scale = torch.as_tensor(problem.eps / (problem.upper - problem.lower))
        return InputPerturbation(deltas * scale, bounds=self.bounds).eval()

    def _user(self, decision: torch.Tensor) -> Array:
        problem = self.problem
        scaled: Array = problem.lower + (problem.upper - problem.lower) * np.clip(decision.numpy(), 0.0, 1.0)
        return scaled


class MeanWorstCase(AcquisitionFunction):
    """The least posterior mean over the perturbations."""

    def forward(self, X: Any) -> Any:
        """(b, 1, d) decisions to (b,)."""
        return self.model.posterior(X).mean.squeeze(-1).amin(dim=-1)
