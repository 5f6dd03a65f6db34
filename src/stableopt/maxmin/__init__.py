"""Max-min solvers: what the adversary can do to every decision, and the decision that suffers least."""

from stableopt.maxmin.continuous import ContinuousMaxMin, Found
from stableopt.maxmin.finite import FiniteMaxMin, Solution
from stableopt.maxmin.region import SpaceRegion
from stableopt.maxmin.setting import Decision, Setting

__all__ = ["ContinuousMaxMin", "Decision", "FiniteMaxMin", "Found", "Setting", "Solution", "SpaceRegion"]
