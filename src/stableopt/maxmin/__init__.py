"""Max-min solvers: what the adversary can do to every decision, and the decision that suffers least.

lists     finite domains, exactly
spaces    continuous and mixed domains, as a search sees them
search    the search itself
"""

from stableopt.maxmin.lists.listing import Decision, Listing
from stableopt.maxmin.lists.solvers import ListedMaxMin
from stableopt.maxmin.search.continuous import ContinuousMaxMin
from stableopt.maxmin.solver import Choice, Hints, Smooth, Solver
from stableopt.maxmin.spaces.region import SpaceRegion

__all__ = [
    "Choice",
    "ContinuousMaxMin",
    "Decision",
    "Hints",
    "ListedMaxMin",
    "Listing",
    "Smooth",
    "Solver",
    "SpaceRegion",
]
