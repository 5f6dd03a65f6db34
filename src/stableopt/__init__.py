"""stableopt: find decisions that stay good when they are perturbed.

The paper's words are used throughout (Bogunovic, Scarlett, Jegelka, Cevher: Adversarially Robust Optimization with
Gaussian Processes, NeurIPS 2018): a decision is reported, an adversary turns it into a point, f is seen at points only.
"""

from stableopt.answers import Query, Report
from stableopt.calls import assess, maximize, minimize
from stableopt.domains import Grid, Points
from stableopt.gp import GP
from stableopt.kernels import SE, Categorical, Linear, Matern
from stableopt.learning import Learned
from stableopt.optimizer import Optimizer
from stableopt.rules import ALGORITHMS, Algorithm
from stableopt.spaces import Space
from stableopt.state import Round
from stableopt.uncertainty import (
    Ball,
    Distance,
    Ellipsoid,
    Estimate,
    Groups,
    Hamming,
    Parameters,
    Rectangle,
    Relative,
    Within,
)
from stableopt.variables import Float, Integer

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "GP",
    "SE",
    "Algorithm",
    "Ball",
    "Categorical",
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
    "Optimizer",
    "Parameters",
    "Points",
    "Query",
    "Rectangle",
    "Relative",
    "Report",
    "Round",
    "Space",
    "Within",
    "assess",
    "maximize",
    "minimize",
]
