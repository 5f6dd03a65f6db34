"""Evidence for the guarantees: how often bounds and certificates hold on sampled functions, and how loose they are.

The experiments behind ``stableopt verify``. Each returns `Check` values, which judge a frequency by the binomial
distribution, and the curves that the figures show.
"""

from stableopt.paper.verification.bounds import coverage
from stableopt.paper.verification.boxes import boxes
from stableopt.paper.verification.cases import CASES, Case, case
from stableopt.paper.verification.certificates import Certificates, certificates, chain
from stableopt.paper.verification.checks import Check
from stableopt.paper.verification.hard import HardResults, hard_experiment
from stableopt.paper.verification.reports import reports
from stableopt.paper.verification.tradeoff import Tradeoff, tradeoff

__all__ = [
    "CASES",
    "Case",
    "Certificates",
    "Check",
    "HardResults",
    "Tradeoff",
    "boxes",
    "case",
    "certificates",
    "chain",
    "coverage",
    "hard_experiment",
    "reports",
    "tradeoff",
]
