"""stableopt: find decisions that stay good when they are perturbed.

The paper's words are used throughout (Bogunovic, Scarlett, Jegelka, Cevher: Adversarially Robust Optimization with
Gaussian Processes, NeurIPS 2018): a decision is reported, an adversary turns it into a point, f is seen at points only.
"""

from stableopt.domains import Grid, Points
from stableopt.gp import GP
from stableopt.kernels import SE, Categorical, Linear, Matern
from stableopt.optimizer import Optimizer, Query, Report
from stableopt.rules import ALGORITHMS, Algorithm
from stableopt.state import Round
from stableopt.uncertainty import Ball, Distance, Estimate, Groups, Hamming, Parameters, Rectangle

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "GP",
    "SE",
    "Algorithm",
    "Ball",
    "Categorical",
    "Distance",
    "Estimate",
    "Grid",
    "Groups",
    "Hamming",
    "Linear",
    "Matern",
    "Optimizer",
    "Parameters",
    "Points",
    "Query",
    "Rectangle",
    "Report",
    "Round",
]
