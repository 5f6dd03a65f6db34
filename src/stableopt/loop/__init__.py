"""Where model, sets and max-min meet: states, rules that look at them, and ask and tell."""

from stableopt.loop.answers import Query, Report
from stableopt.loop.constraints import Constraint
from stableopt.loop.measurements import Measurement, Round
from stableopt.loop.optimizer import Optimizer
from stableopt.loop.outputs import Margin
from stableopt.loop.play import Step, play
from stableopt.loop.rules import (
    ALGORITHMS,
    Algorithm,
    BestExpected,
    BestIntersected,
    BestOfAll,
    BestSoFar,
    BestWhenAsked,
    LargestUcb,
    Last,
    MostPromising,
    OptimisticItself,
    OptimisticPessimistic,
    ReportingRule,
    SamplingRule,
    UniformlyRandom,
)
from stableopt.loop.schedules import (
    Alternating,
    BayesianBox,
    BayesianFinite,
    Calibrated,
    Constant,
    Curious,
    FixedDesign,
    LikelihoodRatio,
    PaperRkhs,
    Rkhs,
    Schedule,
)
from stableopt.loop.setting import Setting
from stableopt.loop.state import State
from stableopt.maxmin.solver import Choice, Index

__all__ = ["ALGORITHMS", "Algorithm", "Alternating", "BayesianBox", "BayesianFinite", "BestExpected"]
__all__ += ["BestIntersected", "BestOfAll", "BestSoFar", "BestWhenAsked", "Calibrated", "Choice", "Constant"]
__all__ += ["Constraint", "Curious", "Margin"]
__all__ += ["FixedDesign", "Index", "LargestUcb", "Last", "LikelihoodRatio", "Measurement", "MostPromising"]
__all__ += ["OptimisticItself", "OptimisticPessimistic", "Optimizer", "PaperRkhs", "Query", "Report", "ReportingRule"]
__all__ += ["Rkhs", "Round", "SamplingRule", "Schedule", "Setting", "State", "Step", "UniformlyRandom", "play"]
