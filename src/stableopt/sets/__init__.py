"""Where decisions live, and which points A(d) an adversary can turn a decision d into. It knows nothing of models.

A perturbation moves x within the domain; a parameter set picks an unknown θ that is appended to x; groups let it
pick any member. ``perturbation * parameters`` does both at once. Sets only say what is allowed: the max-min solvers
of `stableopt.maxmin` find the worst case.
"""

from stableopt.sets.candidates import Candidates
from stableopt.sets.domains import Domain, Grid, Points
from stableopt.sets.own import Distance, OwnSet, Within
from stableopt.sets.perturbations import Ball, Ellipsoid, Hamming, Rectangle, Relative
from stableopt.sets.spaces import Space
from stableopt.sets.uncertainty import Combined, Estimate, Groups, Parameters, Perturbation, UncertaintySet
from stableopt.sets.variables import Category, Float, Integer, Variable

__all__ = [
    "Ball",
    "Candidates",
    "Category",
    "Combined",
    "Distance",
    "Domain",
    "Ellipsoid",
    "Estimate",
    "Float",
    "Grid",
    "Groups",
    "Hamming",
    "Integer",
    "OwnSet",
    "Parameters",
    "Perturbation",
    "Points",
    "Rectangle",
    "Relative",
    "Space",
    "UncertaintySet",
    "Variable",
    "Within",
]
