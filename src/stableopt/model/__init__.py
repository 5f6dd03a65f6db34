"""The model of f: kernels, Gaussian processes, learning them. It knows nothing of uncertainty sets."""

from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled, Sum
from stableopt.model.beliefs import Belief, Mixture, TrackedMixture, WarpedOnCandidates, WarpedPosterior
from stableopt.model.checking import check_kernel
from stableopt.model.fit import Fit, fit, log_likelihood, param_names, sample
from stableopt.model.gp import GP, Bound, LinearMean, Posterior
from stableopt.model.hyperparameters import Gamma, LogNormal, LogUniform, Prior, default_priors
from stableopt.model.kernels import SE, Categorical, Linear, Matern, Stationary
from stableopt.model.learning import Learned
from stableopt.model.tracked import TrackedPosterior
from stableopt.model.warps import Warp

__all__ = [
    "GP",
    "SE",
    "Belief",
    "Bound",
    "Categorical",
    "Fit",
    "Gamma",
    "Kernel",
    "Learned",
    "Linear",
    "LinearMean",
    "LogNormal",
    "LogUniform",
    "Matern",
    "Mixture",
    "OnColumns",
    "Posterior",
    "Prior",
    "Product",
    "Scaled",
    "Stationary",
    "Sum",
    "TrackedMixture",
    "TrackedPosterior",
    "Warp",
    "WarpedOnCandidates",
    "WarpedPosterior",
    "check_kernel",
    "default_priors",
    "fit",
    "log_likelihood",
    "param_names",
    "sample",
]
