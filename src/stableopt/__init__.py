"""stableopt: find decisions that stay good when they are perturbed.

The paper's words are used throughout (Bogunovic, Scarlett, Jegelka, Cevher: Adversarially Robust Optimization with
Gaussian Processes, NeurIPS 2018): a decision is reported, an adversary turns it into a point, f is seen at points only.
"""

from typing import TYPE_CHECKING

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

# All names are loaded when somebody first asks for one of them: `import stableopt` alone takes no time. `_FILES` says
# where they are at run time, the imports say the same to type checkers; a test compares the two.
if TYPE_CHECKING:
    from stableopt.campaign.allowance import Allowance
    from stableopt.campaign.calls import ObjectiveError, assess, audit, maximize, minimize
    from stableopt.campaign.campaign import Campaign
    from stableopt.campaign.comparison import Comparison
    from stableopt.campaign.events import Trial
    from stableopt.campaign.profile import Profile
    from stableopt.campaign.results import Assessment, Audit, Result
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
else:
    _FILES = {
        "campaign.allowance": "Allowance",
        "campaign.calls": "ObjectiveError, assess, audit, maximize, minimize",
        "campaign.campaign": "Campaign",
        "campaign.comparison": "Comparison",
        "campaign.events": "Trial",
        "campaign.profile": "Profile",
        "campaign.results": "Assessment, Audit, Result",
        "campaign.widening": "Widest, widest",
        "loop.answers": "Query, Report",
        "loop.constraints": "Constraint",
        "loop.measurements": "Measurement, Round",
        "loop.optimizer": "Optimizer",
        "loop.rules": "ALGORITHMS, Algorithm",
        "model.gp": "GP",
        "model.kernels": "SE, Categorical, Linear, Matern",
        "model.learning": "Learned",
        "sets.domains": "Grid, Points",
        "sets.own": "Distance, OwnSet, Within",
        "sets.perturbations": "Ball, Ellipsoid, Hamming, Rectangle, Relative",
        "sets.spaces": "Space",
        "sets.uncertainty": "Estimate, Groups, Parameters, Perturbation, UncertaintySet",
        "sets.variables": "Category, Float, Integer",
    }

    def __getattr__(name):
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        for file, names in _FILES.items():
            module = import_module(f"stableopt.{file}")
            globals().update({each: getattr(module, each) for each in names.split(", ")})
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__all__})


del TYPE_CHECKING
