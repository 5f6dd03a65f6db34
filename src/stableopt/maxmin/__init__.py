"""Max-min solvers: what the adversary can do to every decision, and the decision that suffers least."""

from stableopt.maxmin.continuous import ContinuousMaxMin
from stableopt.maxmin.listed import ListedMaxMin
from stableopt.maxmin.listing import Decision, Listing
from stableopt.maxmin.region import SpaceRegion
from stableopt.maxmin.solver import Choice, Hints, Solver

__all__ = ["Choice", "ContinuousMaxMin", "Decision", "Hints", "ListedMaxMin", "Listing", "Solver", "SpaceRegion"]
