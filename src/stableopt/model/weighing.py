"""What else the data allow: models of shorter and longer scale around the most likely one, weighed by the data.

The most likely model, alone, pretends: with few data, functions twice as rough are nearly as plausible, and their
bounds are wider. The direction that matters is the common factor of all lengthscales, so a handful of factors is tried,
each with the signal variance and the noise that suit it best. Correlations between categories fall and rise together
with the lengthscales.

Notation (see `fit`)
    s         a factor of all lengthscales; the odds of correlations have s²
    R         kernel matrix of the observed points (t, t) for this factor, of variance about 1
    v         signal variance; 1/v has a gamma prior of shape and rate ½·`_PRIOR`, worth that many observations
    η         noise over √v, where the noise is learned
    Q         squared length of the whitened residuals, for v = 1
    a, b      shape and rate after the data: a = ½(`_PRIOR` + t), b = ½(`_PRIOR` + Q)

Given R and η, v has a closed form: b/a. Bounds for an unknown v are those of Student's t with 2a degrees of freedom. At
two to three standard deviations they are about a/(a − 1) times as wide as those for a known v, so that factor is put
into the model: a GP with v and noise² times (a/(a − 1))² has the same mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from stableopt.base.arrays import Array
from stableopt.model.algebra import Kernel, Scaled
from stableopt.model.factors import NOISE_FLOOR
from stableopt.model.gp import GP
from stableopt.model.hyperparameters import Prior, is_named, joint_log_density, kind, lookup, natural_names

_STEP = 0.5  # between factors, as logs
_STEPS = 2  # to each side
_PRIOR = 6.0  # outputs are standardised: v is near 1
_ALONG = {"lengthscale": 1.0, "correlation": 2.0}  # powers of s
_CLIMB = 0.7  # step of the search for η or v, as a log
_LEAST = 0.01  # weight that is worth its time


class _Fitted(NamedTuple):
    """A model for one factor."""

    log_weight: float
    gp: GP
    at: float
    """Where the search for η or v ended, relative to where it began, as a log."""


@dataclass(frozen=True)
class Weighing:
    """The data and the choices that all factors share; outputs are standardised."""

    X: Array
    y: Array
    noise: Array | None
    """Known standard deviations of single observations; NaN where the noise of the model counts."""
    priors: Mapping[str, Prior]
    fixed: tuple[str, ...]
    """Names of hyperparameters that stay as they are."""

    def around(self, gp: GP) -> tuple[list[GP], list[float]]:
        """Models around this one, and their weights, which add up to 1."""
        middle = self._fitted(gp, gp.kernel, 0.0)
        found = [middle]
        moves = self._moves(gp.kernel)
        for direction in (-1, 1) if moves.any() else ():
            last = middle
            for step in range(1, _STEPS + 1):
                kernel = gp.kernel.with_params(np.array(gp.kernel.params) + direction * step * _STEP * moves)
                last = self._fitted(gp, kernel, last.at)
                found.append(last)
                if last.log_weight < max(each.log_weight for each in found) + math.log(_LEAST):
                    break  # even farther away it gets worse, as a rule
        weights = np.array([each.log_weight for each in found])
        if not np.isfinite(weights).any():
            return [gp], [1.0]
        weights = np.exp(weights - weights.max())
        keep = np.flatnonzero(weights >= _LEAST * weights.sum())
        weights = weights[keep] / weights[keep].sum()
        return [found[i].gp for i in keep], weights.tolist()

    def _moves(self, kernel: Kernel) -> Array:
        """How the coordinates of a kernel change with log s."""
        names = natural_names(kernel)
        return np.array([0.0 if is_named(name, self.fixed) else _ALONG.get(kind(name), 0.0) for name in names])

    def _log_prior(self, kernel: Kernel) -> float:
        """Of the hyperparameters that move with s."""
        names = natural_names(kernel)
        moved = [lookup(self.priors, name) if kind(name) in _ALONG else None for name in names]
        return joint_log_density(moved, np.array(kernel.params))[0]

    def _fitted(self, gp: GP, kernel: Kernel, start: float) -> _Fitted:
        """The model of this kernel with the best η or v, uphill from where a neighbour's was."""
        R = kernel(self.X, self.X)
        best = self._at(gp, kernel, R, start)
        for direction in (-1, 1):
            ahead = self._at(gp, kernel, R, best.at + direction * _CLIMB)
            steps = 1
            while ahead.log_weight > best.log_weight and steps < 4:
                best, steps = ahead, steps + 1
                ahead = self._at(gp, kernel, R, best.at + direction * _CLIMB)
            if steps > 1:
                break
        return best._replace(log_weight=best.log_weight + self._log_prior(kernel))

    @np.errstate(all="ignore")
    def _at(self, gp: GP, kernel: Kernel, R: Array, at: float) -> _Fitted:
        """The model with e^at times the noise (or, if that is known, with v = e^at), and how likely the data are."""
        t = len(self.y)
        a = 0.5 * (_PRIOR + t)
        known = self.noise is not None or "noise" in self.fixed
        v = math.exp(at) if known and "variance" not in self.fixed else 1.0
        noise = np.full(t, gp.noise if known else gp.noise * math.exp(at))
        if self.noise is not None:
            noise = np.where(np.isnan(self.noise), noise, self.noise)
        K = v * R
        K.flat[:: t + 1] += np.maximum(noise**2, NOISE_FLOOR**2 * K.diagonal())
        L, failed = lapack.dpotrf(K.T, lower=1, overwrite_a=1)
        centred = self.y - (float(gp.mean) if "mean" in self.fixed else 0.0)  # type: ignore[arg-type]
        white, _ = lapack.dtrtrs(L, np.column_stack([centred, np.ones(t)]), lower=1)
        mean = float(white[:, 0] @ white[:, 1] / (white[:, 1] @ white[:, 1])) if "mean" not in self.fixed else 0.0
        residual = white[:, 0] - mean * white[:, 1]
        Q, half_log_det = float(residual @ residual), float(np.log(L.diagonal()).sum())
        b = 0.5 * (_PRIOR + Q)
        if known or "variance" in self.fixed:
            log_density = -half_log_det - 0.5 * Q - 0.5 * _PRIOR * (math.log(v) + 1 / v)
        else:
            log_density, v = -half_log_det - a * math.log(b), b / a
        if failed or not math.isfinite(log_density):
            return _Fitted(-math.inf, gp, at)
        wider = a / (a - 1) if "variance" not in self.fixed else 1.0
        sigma = gp.noise if known else gp.noise * math.exp(at) * math.sqrt(v)
        if not known and (prior := lookup(self.priors, "noise")) is not None:
            log_density += prior.log_density(math.log(sigma))[0]
        inner, own = (kernel.kernel, kernel.variance) if isinstance(kernel, Scaled) else (kernel, 1.0)
        centre = float(gp.mean) if "mean" in self.fixed else mean  # type: ignore[arg-type]
        scaled = Scaled(inner, own * v * wider**2) if "variance" not in self.fixed else kernel
        return _Fitted(
            log_density, replace(gp, kernel=scaled, noise=sigma if known else sigma * wider, mean=centre), at
        )
