"""What the adversary may do: which points A(d) it can turn a decision d into.

A perturbation moves x within the domain; a parameter set picks an unknown θ that is appended to x; groups let it
pick any member. ``perturbation * parameters`` does both at once. Sets only say what is allowed: the max-min solvers
of `stableopt.maxmin` find the worst case.
"""

from stableopt.uncertainty.base import (
    Combined,
    Estimate,
    Mask,
    Parameters,
    Perturbation,
    UncertaintySet,
    continuous,
)
from stableopt.uncertainty.groups import Groups
from stableopt.uncertainty.perturbations import (
    Ball,
    Distance,
    Ellipsoid,
    Hamming,
    NormBall,
    Rectangle,
    Relative,
    Within,
    boundary,
)

__all__ = [
    "Ball",
    "Combined",
    "Distance",
    "Ellipsoid",
    "Estimate",
    "Groups",
    "Hamming",
    "Mask",
    "NormBall",
    "Parameters",
    "Perturbation",
    "Rectangle",
    "Relative",
    "UncertaintySet",
    "Within",
    "boundary",
    "continuous",
]
