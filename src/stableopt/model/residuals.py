"""How well a model foretells each observation from all others: leave-one-out residuals, without fitting again.

Notation (see `gp`)
    K, y, m   covariance of the t observations with their noise, their values, the prior mean
    r_i       (y_i − μ_{−i}(x_i)) / s_{−i}(x_i): the residual of y_i from the posterior of the others, over the standard
              deviation of an observation there. With α = K⁻¹(y − m) and D = diag(K⁻¹), r_i = α_i / √D_i (Rasmussen and
              Williams 2006, Section 5.4.2): the mean of the others is y_i − α_i/D_i, their variance 1/D_i
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from stableopt.base.arrays import Array
from stableopt.model.algebra import Kernel
from stableopt.model.beliefs import Mixture
from stableopt.model.gp import Posterior
from stableopt.model.stationary import total

_FAR, _VERY_FAR = 3.0, 5.0  # standard deviations: less is not unusual; more is no chance
_TIMES = 15.0  # the usual residual. One outlier widens the model, so that its own residual is √t at most
_FEW = 5  # observations: of fewer, none can be called unusual
_ALIKE = 0.5  # of its standard deviation: others that are known better cannot be compared with it


def left_out(posterior: Posterior | Mixture) -> tuple[Array, Array]:
    """Mean and standard deviation of each observation as all others foretell it, (t,) each."""
    if isinstance(posterior, Posterior):
        return posterior.left_out()
    means, stds = np.array([part.left_out() for part in posterior.posteriors]).transpose(1, 0, 2)
    mean, variance = total(means, stds**2, posterior.weights)
    return mean, np.sqrt(variance)


def leave_one_out(posterior: Posterior | Mixture) -> Array:
    """The standardised residual of each observation from what all others say of it (t,): about N(0, 1) if all is well.

    The hyperparameters stay as they are: learned with an outlier, they make it look better than it is.
    """
    mean, std = left_out(posterior)
    return np.asarray((posterior.y - mean) / std)


def distinct(kernel: Kernel, X: Array, share: float) -> int:
    """How many rows of X have values of which none is foretold by the others, up to a share of the prior's variance.

    It is the rank of their covariance to this tolerance: a Cholesky factorisation that takes the row that is known
    least next, and ends where all others are known that well.
    """
    covariance = np.asfortranarray(kernel(X, X))
    return int(lapack.dpstrf(covariance, tol=share * float(covariance.diagonal().max()), lower=1)[2])


def most_unusual(posterior: Posterior | Mixture) -> int | None:
    """Which observation is unlike all others, if one is: far from what they say, and much farther than they are.

    An outlier also shifts what is expected of the others, all by about as much: they are compared with their median.
    And it is compared with those of which all others know as little: a lone one, far from all data, is no outlier
    because others, close together, are foretold without an error. One that no chance explains is compared with all.
    """
    mean, std = left_out(posterior)
    residuals = (posterior.y - mean) / std
    first = int(np.argmax(np.abs(residuals)))
    size = abs(residuals[first])
    others = residuals if size > _VERY_FAR else residuals[std >= _ALIKE * std[first]]
    if len(others) < _FEW or size <= _FAR:
        return None
    middle = np.median(others)
    return first if abs(residuals[first] - middle) > _TIMES * np.median(np.abs(others - middle)) else None
