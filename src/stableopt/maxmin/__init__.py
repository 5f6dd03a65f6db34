"""Max-min solvers: what the adversary can do to every decision, and the decision that suffers least."""

from stableopt.maxmin.finite import FiniteMaxMin, Solution
from stableopt.maxmin.setting import Decision, Setting

__all__ = ["Decision", "FiniteMaxMin", "Setting", "Solution"]
