"""qLogNoisyExpectedImprovement with the same values, from the part of the joint posterior that it uses.

BoTorch evaluates the covariance of all perturbed baseline points with each other for every candidate, differentiates
through it and then takes the last n_w rows. Here only those rows are computed, so that a run of 100 evaluations ends
within minutes. Where rounding leaves no positive definite matrix, BoTorch falls back to sampling all points jointly,
and so does this. `python -m benchmarks.rivals check` compares the two. Speed is measured with BoTorch's own.

    T, B, P    training points (n), perturbed baseline (m), perturbed candidate (n_w)
    L          the Cholesky factor of K_TT + noise
    V_B, V_P   L⁻¹ K_TB and L⁻¹ K_TP, so that the posterior covariance of P and B is K_PB − V_Pᵀ V_B
"""

from __future__ import annotations

from typing import Any

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.utils.low_rank import psd_safe_cholesky
from linear_operator.utils.errors import NotPSDError
from torch import Tensor
from torch.linalg import solve_triangular


class RowsLogNEI(qLogNoisyExpectedImprovement):  # type: ignore[misc]
    """For a `SingleTaskGP` with one output, standardised, in evaluation mode."""

    _samples: Tensor | None = None

    def _get_samples_and_objectives(self, X: Tensor) -> tuple[Tensor, Tensor]:
        if self._samples is None:
            self._prepare(X)
        mean, rows = self._posterior_rows(self.model.transform_inputs(X))
        q = mean.shape[-1]
        left, right = rows[..., :-q], rows[..., -q:]
        left = _solve(self._baseline_L, left.mT).mT
        try:
            right = psd_safe_cholesky(right - left @ left.mT, max_tries=6)
        except NotPSDError:
            return super()._get_samples_and_objectives(X)  # type: ignore[no-any-return]
        samples = mean[..., None] + torch.cat([left, right], dim=-1) @ self._samples
        samples = samples.movedim(-1, 0)[..., None]
        return samples, self.objective(samples, X=X)

    def _prepare(self, X: Tensor) -> None:
        """What does not depend on the candidate; BoTorch's own way once, for its draw of the base samples."""
        with torch.no_grad():
            super()._get_samples_and_objectives(X[:1])
            model, base = self.model, self.sampler.base_samples
            self._samples = base.reshape(base.shape[0], -1).T.contiguous()
            T, y = model.train_inputs[0], model.train_targets
            noise = model.likelihood.noise * torch.eye(len(T))
            self._L = torch.linalg.cholesky(self._k(T, T) + noise)
            self._T, self._B = T, model.transform_inputs(self.X_baseline)
            self._VB = solve_triangular(self._L, self._k(T, self._B), upper=False)
            self._weights = torch.cholesky_solve((y - model.mean_module(T))[:, None], self._L)

    def _posterior_rows(self, P: Tensor) -> tuple[Tensor, Tensor]:
        """Means (b, q), and covariances with the baseline and with each other (b, q, m + q)."""
        model, outcome = self.model, self.model.outcome_transform
        to_data = self._k(self._T, P)
        mean = model.mean_module(P) + (to_data.mT @ self._weights)[..., 0]
        V = _solve(self._L, to_data)
        with_baseline = self._k(P, self._B) - V.mT @ self._VB
        with_itself = self._k(P, P) - V.mT @ V
        scale = outcome.stdvs[..., 0, 0]
        return outcome.means[..., 0, 0] + scale * mean, scale**2 * torch.cat([with_baseline, with_itself], dim=-1)

    def _k(self, A: Tensor, B: Tensor) -> Any:
        batch = torch.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        expanded = A.expand(*batch, *A.shape[-2:]), B.expand(*batch, *B.shape[-2:])
        return self.model.covar_module(*expanded).to_dense()


def _solve(L: Tensor, right: Tensor) -> Tensor:
    """L⁻¹ times each (m, q) matrix of a batch, side by side: L is not copied for each."""
    side_by_side = right.movedim(-2, 0)
    return solve_triangular(L, side_by_side.flatten(1), upper=False).reshape(side_by_side.shape).movedim(0, -2)
