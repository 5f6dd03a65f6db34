"""stableopt: find decisions that stay good when they are perturbed.

The paper's words are used throughout (Bogunovic, Scarlett, Jegelka, Cevher: Adversarially Robust Optimization with
Gaussian Processes, NeurIPS 2018): a decision is reported, an adversary turns it into a point, f is seen at points only.
"""

from stableopt.campaign.allowance import Allowance
from stableopt.campaign.calls import ObjectiveError, assess, audit, maximize, minimize
from stableopt.campaign.campaign import Campaign
from stableopt.campaign.comparison import Comparison
from stableopt.campaign.events import Trial
from stableopt.campaign.results import Assessment, Audit, Profile, Result
from stableopt.campaign.widening import Widest, widest
from stableopt.loop.answers import Query, Report
from stableopt.loop.constraints import Constraint
from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.rules import ALGORITHMS, Algorithm
from stableopt.model.gp import GP
from stableopt.model.kernels import SE, Categorical, Linear, Matern
from stableopt.model.learning import Learned
from stableopt.sets.domains import Grid, Points
from stableopt.sets.own import Distance, OwnSet, Within
from stableopt.sets.perturbations import Ball, Ellipsoid, Hamming, Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Estimate, Groups, Parameters, Perturbation, UncertaintySet
from stableopt.sets.variables import Category, Float, Integer

__version__ = "0.1.0"

__all__ = ["ALGORITHMS", "GP", "SE", "Algorithm", "Allowance", "Assessment", "Audit", "Ball", "Campaign"]
__all__ += ["Categorical", "Category", "Comparison"]
__all__ += [
    "Constraint",
    "Distance",
    "Ellipsoid",
    "Estimate",
    "Float",
    "Grid",
    "Groups",
    "Hamming",
    "Integer",
    "Learned",
    "Linear",
    "Matern",
]
__all__ += ["Measurement", "ObjectiveError", "Optimizer", "OwnSet", "Parameters", "Perturbation", "Points", "Profile"]
__all__ += ["Query", "Rectangle", "Relative", "Report", "Result", "Round", "Space", "Trial", "UncertaintySet"]
__all__ += ["Widest", "Within", "assess", "audit", "maximize", "minimize", "widest"]
