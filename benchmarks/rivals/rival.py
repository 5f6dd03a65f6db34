"""BoTorch's way, with the settings of its tutorial "Risk averse Bayesian optimization with input perturbations".

    n_w      perturbations per decision, drawn anew for every round; perturbed inputs are clamped to the bounds
    model    SingleTaskGP with its defaults (MAP, standardised outputs) on inputs scaled to the unit cube
    report   the evaluated decision with the largest posterior expectation of the worst case over 128 perturbations

With parameters or an environment, the perturbations are pairs (δ, θ): θ is a row of the list, or anywhere in its box.
A decision is then evaluated with a θ drawn at random. Whole numbers are relaxed, and rounded to evaluate them.

The tutorial has VaR where we have WorstCase (``qvar16`` has it, too, with its level of 0.8), batches of 2 where we
have 1, and qNoisyExpectedImprovement where we have its successor qLogNoisyExpectedImprovement.
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
from botorch.acquisition.risk_measures import VaR, WorstCase
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
RISK = 0.8  # its level of value at risk


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
        found = re.fullmatch(r"(qucb|qlognei|qvar)(\d+)(-boundary)?(?:-beta([\d.]+)|(-rows))?", name)
        if not found or (found[4] and found[1] != "qucb") or (found[5] and found[1] == "qucb"):
            raise ValueError(f"expected a method like ours, qucb16, qlognei64-boundary or qucb16-beta4, got {name!r}")
        beta = float(found[4]) if found[4] else cls.beta
        return cls(found[1], int(found[2]), bool(found[3]), beta, bool(found[5]))


class BoTorch:
    """A run of BoTorch. The model is fitted from scratch to all observations, as in the tutorial."""

    remembers = False

    def __init__(self, problem: Problem, seed: int, settings: Settings) -> None:
        self.problem, self.seed, self.settings = problem, seed, settings
        self.width = len(problem.low)
        self.span = np.where(problem.high > problem.low, problem.high - problem.low, 1.0)
        self.bounds = torch.stack([torch.zeros(self.width), torch.ones(self.width)])
        self.fixed = dict.fromkeys(range(problem.dimension, self.width), 0.5) or None  # θ, from where it is perturbed

    def initial(self) -> Array:
        """Those that all methods share."""
        return self.problem.initial(self.seed)

    def tell(self, X: Array, y: Array) -> None:
        """Fit the model."""
        problem = self.problem
        torch.manual_seed(1000 * self.seed + len(y))
        self.X = torch.as_tensor((X - problem.low) / self.span)
        self.decisions = self.X.clone()
        self.decisions[:, problem.dimension :] = 0.5
        transform = self._perturb(self.settings.n_w)
        Y = torch.as_tensor(y)[:, None]
        self.model = SingleTaskGP(self.X, Y, outcome_transform=Standardize(m=1), input_transform=transform)
        self.n_w = len(transform.perturbation_set)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_gpytorch_mll(ExactMarginalLogLikelihood(self.model.likelihood, self.model))
        self.model.eval()

    def suggest(self) -> Suggestion:
        """The decision that maximises the acquisition function, evaluated where it is."""
        chosen = self._maximise(self._acquisition())
        rng = np.random.default_rng([self.seed, 3, len(self.X)])
        theta = self.problem.spread(rng.random((1, self.problem.width)))[0][self.problem.dimension :]
        decision = self._user(chosen)
        return Suggestion(np.append(decision, theta), decision)

    def report(self, thorough: bool) -> dict[str, Array]:
        """The tutorial's rule; and by the posterior mean, among the evaluated decisions or in the whole domain."""
        used = self.model.input_transform
        self.model.input_transform = self._perturb(REPORT_PERTURBATIONS)
        try:
            expected = qSimpleRegret(self.model, objective=self._risk(len(self.model.input_transform.perturbation_set)))
            plausible = MeanWorstCase(self.model)
            with torch.no_grad():
                decisions = {
                    "expected": self.decisions[expected(self.decisions[:, None]).argmax()],
                    "mean": self.decisions[plausible(self.decisions[:, None]).argmax()],
                }
            if thorough:
                decisions["anywhere"] = self._maximise(plausible)
        finally:
            self.model.input_transform = used
        return {rule: self._user(decision) for rule, decision in decisions.items()}

    def _acquisition(self) -> AcquisitionFunction:
        worst = self._risk(self.n_w)
        sampler = SobolQMCNormalSampler(torch.Size([MC_SAMPLES]))
        if self.settings.acquisition == "qucb":
            return qUpperConfidenceBound(self.model, self.settings.beta, sampler=sampler, objective=worst)
        improvement = RowsLogNEI if self.settings.rows else qLogNoisyExpectedImprovement
        return improvement(self.model, X_baseline=self.decisions, sampler=sampler, objective=worst, prune_baseline=True)

    def _risk(self, n_w: int) -> WorstCase | VaR:
        return VaR(RISK, n_w) if self.settings.acquisition == "qvar" else WorstCase(n_w)

    def _maximise(self, acquisition: AcquisitionFunction) -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = optimize_acqf(acquisition, self.bounds, 1, RESTARTS, RAW_SAMPLES, fixed_features=self.fixed)
        return found[0].detach()

    def _perturb(self, count: int) -> InputPerturbation:
        """Quasi-random in the ball or the box, or on its boundary (of a box: its corners), with every θ."""
        problem, boundary = self.problem, self.settings.boundary
        d, rows = problem.dimension, problem.parameters
        if rows is not None:
            count = max(1, count // len(rows)) if problem.reach.any() else 1
        filled = d if problem.norm == "l2" or rows is not None else self.width
        if problem.norm == "linf":
            inside = 2 * draw_sobol_samples(self.bounds[:, :filled], n=count, q=1)[:, 0] - 1
            deltas = inside.sign() if boundary else inside
        else:
            normal = draw_sobol_normal_samples(d=d, n=count)
            directions = normal / normal.norm(dim=1, keepdim=True)
            deltas = directions if boundary else directions * torch.rand(count, 1) ** (1 / d)
        reach = torch.as_tensor(problem.reach / self.span[:d])
        deltas[:, :d] *= reach
        deltas[:, d:] *= 0.5  # of its range, from its middle
        if rows is not None:
            thetas = torch.as_tensor((rows - problem.low[d:]) / self.span[d:] - 0.5)
            deltas = torch.cat([deltas.repeat(len(thetas), 1), thetas.repeat_interleave(count, dim=0)], dim=1)
        return InputPerturbation(deltas, bounds=self.bounds).eval()

    def _user(self, decision: torch.Tensor) -> Array:
        problem, d = self.problem, self.problem.dimension
        scaled = problem.lower + (problem.upper - problem.lower) * np.clip(decision.numpy()[:d], 0.0, 1.0)
        return problem.settled(scaled[None])[0]


class MeanWorstCase(AcquisitionFunction):
    """The least posterior mean over the perturbations."""

    def forward(self, X: Any) -> Any:
        """(b, 1, d) decisions to (b,)."""
        return self.model.posterior(X).mean.squeeze(-1).amin(dim=-1)
