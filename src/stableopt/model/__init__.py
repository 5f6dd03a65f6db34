"""What we believe about f: kernels, Gaussian processes, how they are learned. It knows nothing of uncertainty sets."""

from stableopt.model.algebra import Kernel, OnColumns, Product, Scaled, Sum
from stableopt.model.fit import Fit, fit, log_likelihood, sample
from stableopt.model.gp import GP, Bound, LinearMean, Posterior, TrackedPosterior
from stableopt.model.hyperparameters import param_names
from stableopt.model.kernels import SE, Categorical, Linear, Matern, Stationary
from stableopt.model.learning import Belief, Learned
from stableopt.model.mixtures import Mixture, TrackedMixture
from stableopt.model.priors import Gamma, LogNormal, LogUniform, Prior, default_priors

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
    "default_priors",
    "fit",
    "log_likelihood",
    "param_names",
    "sample",
]
